"""What became of each request: one line in the log and a few counters, also for those that never reach a route."""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from collections.abc import Callable
from typing import Any

from starlette.types import Scope

from etana.service.metrics import Metrics

__all__ = ["Journal"]

_log = logging.getLogger("etana.service")

_LETTERS = str.maketrans("0123456789", "ghijklmnop")

Routes = list[tuple[re.Pattern[str], str]]


class Journal:
    """Writes down what became of requests.

    A line has the method, the route (not the path, which holds the id of a case), the status and the time: no value of
    a feature, whatever a client sends.
    """

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.in_flight = 0
        self.routes: Callable[[], Routes] = list
        # Unlike random numbers, letters and a count cost nothing; the letters tell processes apart.
        self._run, self._count = secrets.token_hex(4).translate(_LETTERS), itertools.count(1)

    def new_id(self) -> str:
        """An id that no other request has."""
        return f"{self._run}-{f'{next(self._count):x}'.translate(_LETTERS)}"

    def answered(self, scope: Scope, status: int, seconds: float) -> str:
        """A request was answered; returns its route."""
        route = getattr(scope.get("route"), "path", None) or self.route_of(scope["path"])
        client = scope.get("client")
        fields = {
            "request": scope.get("etana.id"), "client": client[0] if client else None,
            "user": scope.get("etana.user", "nobody"), "reason": scope.get("etana.refused"),
        }  # fmt: skip
        self._write(_word(scope["method"]), route, status, seconds, fields)
        return route

    def turned_away(self, client: Any, method: str, path: str, status: int, seconds: float, reason: str) -> None:
        """A request was refused before it was read."""
        fields = {"request": self.new_id(), "client": client[0] if client else None, "user": "nobody", "reason": reason}
        self._write(_word(method), self.route_of(path), status, seconds, fields)

    def _write(self, method: str, route: str, status: int, seconds: float, fields: dict[str, Any]) -> None:
        self.metrics.request(method, route, status, seconds)
        if fields["reason"]:
            self.metrics.refused(fields["reason"])
        fields |= {"method": method, "route": route, "status": status, "seconds": round(seconds, 6)}
        _log.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds, extra={"fields": fields})

    def route_of(self, path: str) -> str:
        """The route that a path belongs to."""
        return next((name for pattern, name in self.routes() if pattern.match(path)), "unmatched")


def _word(method: str) -> str:
    return method if method.isalpha() and method.isascii() and len(method) < 20 else "?"
