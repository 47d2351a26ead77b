"""Templates and static files.

Every value passes through jinja2 with escaping on. The pages' content policy allows no inline script and no inline
style, so even a value that slipped through could not run.
"""

from __future__ import annotations

import hashlib
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from etana.service.errors import NotFound
from etana.service.pages import wording
from etana.service.pages.forms import browser_of, keep_browser, seal
from etana.service.proxy import prefix_of

__all__ = ["STATIC", "error_page", "go", "render", "static_routes"]

_HOME = Path(__file__).parent.parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {p.name: p.read_bytes() for p in sorted((_HOME / "static").iterdir()) if p.suffix in _TYPES}

STATIC = tuple(f"/static/{name}" for name in _FILES)

_templates = Environment(
    loader=FileSystemLoader(_HOME / "templates"),
    autoescape=True,
    auto_reload=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _address(prefix: str, name: str) -> str:
    """Where a static file is; another content has another address, so browsers may keep it."""
    return f"{prefix}/static/{name}?v={hashlib.sha256(_FILES[name]).hexdigest()[:12]}"


_templates.filters |= {"percent": wording.percent, "value": wording.value, "paragraphs": wording.paragraphs}

_TITLES = {
    400: "That could not be read",
    403: "This form is no longer good",
    404: "There is nothing here",
    405: "That cannot be done here",
    408: "That took too long to arrive",
    409: "The case has moved on",
    413: "That is too large",
    421: "Wrong address",
    422: "That does not fit",
    429: "Too many wrong tokens",
    500: "Something is wrong on our side",
    503: "Too busy just now",
}


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page."""
    (browser, new), root = browser_of(request), prefix_of(request.scope)
    state, user = request.app.state, request.scope.get("etana.user")
    html = _templates.get_template(template).render(
        seal=seal(browser, state.key), guarded=state.users.guarded, root=root, static=partial(_address, root),
        user=None if user in (None, "nobody", "token") else user, **values,
    )  # fmt: skip
    # Without an own policy, browsers would send "Origin: null" with our forms, as for a page of another site.
    response = HTMLResponse(html, status, {"Referrer-Policy": "same-origin"})
    if new:
        keep_browser(response, request, browser)
    return response


def error_page(
    request: Request, status: int, detail: str, back: str = "/", back_words: str = "To the models",
    again: dict[str, str] | None = None, shown: str | None = None,
) -> Response:  # fmt: skip
    """A page that says what went wrong, and where to go from here; with a form to send ``again`` what was entered."""
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    values = {"title": title, "detail": detail, "back": back, "back_words": back_words, "again": again, "shown": shown}
    return render(request, "error.html", status, **values)


def go(request: Request, address: str) -> Response:
    """Send the browser on to another page with a GET."""
    return RedirectResponse(prefix_of(request.scope) + address, 303, {"Referrer-Policy": "same-origin"})


def static_routes(router: APIRouter) -> None:
    """The style sheet, the script and the icon."""

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in _FILES:
            raise NotFound("there is no such file")
        kept = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(_FILES[name], headers=kept, media_type=_TYPES[Path(name).suffix])
