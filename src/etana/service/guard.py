"""What a request must pass before a route sees it: plain ASGI layers, each with one duty.

From the outside in:

``Proxy``             puts right what a proxy in front has changed (:mod:`etana.service.proxy`)
``Friendly``          errors as pages, for those who look at them in a browser (:mod:`etana.service.pages`)
:class:`Watch`        measures, logs one line without any value, adds security headers, turns a crash into a 500
:class:`Door`         size, Host, Origin, token and role, from the headers alone
``BodyReader``        reads the body whole, within its size and its time (:mod:`etana.service.reading`)
``Slots``             lets so many requests work at once, each for so long (:mod:`etana.service.slots`)

Reading bodies comes before the slots, so that clients who send slowly take no slot from the others.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from etana.errors import EtanaError
from etana.service.errors import status_of
from etana.service.journal import Journal
from etana.service.limits import Limits
from etana.service.problems import problem
from etana.service.sessions import Sessions
from etana.service.telemetry import request_span
from etana.service.users import ANYONE, Actor, Role, User, Users, acting

__all__ = ["HEADERS", "LOOPBACK", "Door", "Watch"]

_log = logging.getLogger("etana.service")

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_API = "/v1/"  # for programs, which send the token itself; the cookie is for the pages
_UNGUARDED = ("/health/live", "/health/ready")  # whoever looks after the process has no token and must not wait
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_ADMIN = re.compile(r"/v1/(audit|sessions)(/.*)?")
_READS = re.compile(r"/v1/classify|/fhir/.*|/models/[^/]+/table|/sign-in|/sign-out")  # by POST, but nothing is changed
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}


class Watch:
    """Measures and logs every request, and lets no error out as it is."""

    def __init__(self, app: ASGIApp, journal: Journal) -> None:
        self._app, self._journal = app, journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if "etana.id" in scope:
                    headers["X-Request-ID"] = scope["etana.id"]
            await send(message)

        self._journal.in_flight += 1
        with request_span(scope) as finish:
            try:
                await self._app(scope, receive, noting)
            except Exception as error:
                _log.error(
                    "a fault of the service: %s",
                    _anonymous(error),
                    extra={"fields": {"request": scope.get("etana.id")}},
                )
                if not status:
                    await problem(500, "the service has a fault; its log says where")(scope, receive, noting)
            finally:
                self._journal.in_flight -= 1
                route = self._journal.answered(scope, status or 499, time.perf_counter() - start)
                finish(route, status or 499)


def _anonymous(error: Exception) -> str:
    """Where an error happened and of which type, without its message, which may hold values."""
    frames = (f"{f.filename}:{f.lineno} in {f.name}" for f in traceback.extract_tb(error.__traceback__))
    return f"{type(error).__name__} at {' < '.join(reversed(list(frames)))}"


class Door:
    """Checks size of the head, Host, Origin, token and role.

    On loopback the Host header must name the machine itself: otherwise a page in the user's browser could have its own
    domain point to 127.0.0.1 and use the service from there (DNS rebinding). A change that a browser sends for a page
    of another origin is refused, so that no foreign form can post here with the user's cookie.
    """

    def __init__(
        self,
        app: ASGIApp,
        users: Users,
        sessions: Sessions,
        hosts: Collection[str] | None,
        unguarded: Iterable[str] = (),
        limits: Limits | None = None,
    ) -> None:
        self._app, self._users, self._sessions = app, users, sessions
        self._limits = Limits() if limits is None else limits
        self._hosts = None if hosts is None else frozenset(h.lower() for h in hosts)
        self._unguarded = (*_UNGUARDED, *unguarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        refused = self._refuse_size(scope) or self._refuse_host(scope, headers) or self._refuse_origin(scope, headers)
        if refused is None:
            refused = await self._refuse_user(scope, headers)
        return await (self._app if refused is None else refused)(scope, receive, send)

    def _refuse_size(self, scope: Scope) -> ASGIApp | None:
        # The connection limits a head that comes in pieces; one that comes at once is measured here.
        size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) for name, value in scope["headers"])
        if size <= self._limits.head:
            return None
        return _refuse(scope, "head", 431, f"path and headers have more than {self._limits.head} bytes; send less")

    def _refuse_host(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if self._hosts is None or _host(headers.get("host", "")) in self._hosts:
            return None
        detail = "the Host header names another machine; use localhost, or serve with --allow-host NAME"
        return _refuse(scope, "host", 421, detail)

    def _refuse_origin(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        origin = headers.get("origin")
        if scope["method"] in _SAFE or origin is None or self._is_own(origin, scope, headers):
            return None
        detail = "the request comes from a page of another site; send it from a program, or from here"
        return _refuse(scope, "origin", 403, detail)

    def _is_own(self, origin: str, scope: Scope, headers: Headers) -> bool:
        """Whether a page of ours has sent it."""
        if _netloc(origin) == scope.get("etana.host", headers.get("host", "")).lower():
            return True
        # A proxy that passes its own name on and not that of the site: what the browser says itself then counts, or,
        # where it says nothing, the names that we are known by, together with the seal that each form has.
        if not scope.get("etana.proxied") or scope.get("etana.named") or scope["path"].startswith(_API):
            return False
        site = headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        return self._hosts is not None and _host(_netloc(origin)) in self._hosts

    async def _refuse_user(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        client = scope.get("client")
        address = client[0] if client else ""
        try:
            user = await self._user(scope, headers)
        except EtanaError as error:
            return problem(status_of(error), str(error), headers={"Retry-After": str(self._limits.retry_after)})
        name = "nobody" if user is None else user.name
        scope["etana.user"] = name
        acting.set(Actor(name, address))
        if scope["path"] in self._unguarded:
            return None
        if user is None:
            detail = "a token is needed: send the header 'Authorization: Bearer TOKEN' with the one you were given"
            return _refuse(scope, "token", 401, detail, {"WWW-Authenticate": "Bearer"})
        role = _needed(scope)
        if user.may(role):
            return None
        return _refuse(scope, "role", 403, f"{user.name} has the role {user.role}, and this needs {role}; ask an admin")

    async def _user(self, scope: Scope, headers: Headers) -> User | None:
        if not self._users.guarded:
            return ANYONE
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._users.find(given.strip())
        if scope["path"].startswith(_API) or scope["path"] in _UNGUARDED:
            return None
        cookie = cookie_parser(headers.get("cookie", "")).get(self._sessions.cookie, "")
        if not self._sessions.may_be(cookie):
            return None
        return await anyio.to_thread.run_sync(self._sessions.find, cookie)


def _needed(scope: Scope) -> Role:
    """The role that a request needs."""
    if _ADMIN.fullmatch(scope["path"]):
        return "admin"
    return "read" if scope["method"] in _SAFE or _READS.fullmatch(scope["path"]) else "case"


def _refuse(scope: Scope, reason: str, status: int, detail: str, headers: dict[str, str] | None = None) -> Any:
    scope["etana.refused"] = reason
    return problem(status, detail, headers=headers, reason=reason)


def _host(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower() if "@" not in header else ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
