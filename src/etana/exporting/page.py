"""A case on one page: no network, no server, the look of the service."""

from __future__ import annotations

import hashlib
import html
import re
from pathlib import Path
from urllib.parse import quote

from etana.exporting.javascript import javascript_of
from etana.exporting.plan import Plan
from etana.exporting.texts import read_template

__all__ = ["page_of"]

# The service's own files are read, not imported: a page needs nothing that serves.
_LOOK = Path(__file__).parents[1] / "service" / "static"


def page_of(plan: Plan, title: str) -> str:
    """The text of the page."""
    policy = javascript_of(plan)
    # Answers that were kept are those to this policy: another one, under the same title, asks other things.
    key = f"etana {hashlib.sha256(policy.encode()).hexdigest()[:16]}"
    icon = "data:image/svg+xml," + quote((_LOOK / "icon.svg").read_text(encoding="utf-8").strip())
    fields = {
        "TITLE": html.escape(title),
        "ICON": icon,
        "STYLE": (_LOOK / "style.css").read_text(encoding="utf-8").strip(),
        "COVERAGE": html.escape(plan.coverage),
        "CODE": policy + "\n" + read_template("page.js.in").replace("@KEY@", key),
    }
    # In one go: what a title or a label says is not taken for a field.
    return re.sub("@([A-Z]+)@", lambda field: fields[field[1]], read_template("page.html.in"))
