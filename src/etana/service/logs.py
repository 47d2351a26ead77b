"""Log lines: what happened, to which request, from where and by whom; as text, or as JSON for programs.

No line holds a value, the id of a case or a token, whatever a client sends.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Literal

__all__ = ["Format", "set_up_log"]

Format = Literal["text", "json"]

_FIELDS = ("request", "client", "user", "method", "route", "status", "seconds", "reason")
_SHOWN = ("request", "client", "user", "reason")  # the others are in the text itself


class TextFormatter(logging.Formatter):
    """One line for people: time, level, what happened, and the fields that are known."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        fields = getattr(record, "fields", {})
        known = (f" {name}={fields[name]}" for name in _SHOWN if fields.get(name))
        return super().format(record).replace("\n", " ") + "".join(known)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z", "level": record.levelname, "message": record.getMessage(),
        }  # fmt: skip
        fields = getattr(record, "fields", {})
        line |= {name: fields[name] for name in _FIELDS if fields.get(name) is not None}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_log(form: Format = "text") -> None:
    """One line per event on standard error; uvicorn's own lines only where they warn."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    for name, level in (("etana.service", logging.INFO), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers, logger.propagate = [handler], False
