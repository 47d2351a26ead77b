"""Errors as pages, for those who look at them in a browser.

The layers and the routes answer every error in one shape, ``application/problem+json``. This layer, the outermost,
turns it into a page with the same status where the client asked for HTML. The API stays as it is.
"""

from __future__ import annotations

import json
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from etana.service.pages.entrance import sign_in_page
from etana.service.pages.look import error_page
from etana.service.problems import PROBLEM

__all__ = ["Friendly"]

_API = ("/v1/", "/fhir/", "/health/", "/metrics", "/openapi.json")
_CASE = re.compile(r"/cases/[A-Za-z0-9_-]{24}")
_REPLACED = ("content-length", "content-type", "referrer-policy", "www-authenticate")


class Friendly:
    """Turns problems into pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not _wants_page(scope):
            return await self._app(scope, receive, send)
        start: Message | None = None
        body = bytearray()

        async def turning(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if Headers(scope=message).get("content-type", "").startswith(PROBLEM):
                    start = message
                    return
            elif start is not None:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _page(scope, start, bytes(body))(scope, receive, send)
                return
            await send(message)

        return await self._app(scope, receive, turning)


def _wants_page(scope: Scope) -> bool:
    return "text/html" in Headers(scope=scope).get("accept", "") and not scope["path"].startswith(_API)


def _page(scope: Scope, start: Message, body: bytes) -> Response:
    request, status = Request(scope), int(start["status"])
    case = _CASE.match(scope["path"])
    if status == 401:
        # Whoever was signed out over an answer comes back to the case.
        onward = scope["path"] if scope["method"] == "GET" else case[0] if case else "/"
        response = sign_in_page(request, onward, 401)
    else:
        back = (case[0], "Back to the case") if case and status != 404 else ("/", "To the models")
        response = error_page(request, status, _sentence(json.loads(body)["detail"]), *back)
    kept = MutableHeaders(raw=[(k, v) for k, v in start["headers"] if k.decode("latin-1").lower() not in _REPLACED])
    for name, value in kept.items():
        response.headers.append(name, value)
    return response


def _sentence(detail: str) -> str:
    return detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "!", "?")) else ".")
