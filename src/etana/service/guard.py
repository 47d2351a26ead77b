"""What a request must pass before a route sees it: plain ASGI layers, each with one duty.

From the outside in:

:class:`Watch`        measures, logs one line without any value, adds security headers, turns a crash into a 500
:class:`Door`         size, Host, Origin and token, from the headers alone
:class:`BodyReader`   reads the body whole, within its size and its time, before any work is reserved for it
:class:`Slots`        lets a limited number of requests work at once, each for a limited time

Reading bodies comes before the slots, so that clients who send slowly take no slot from the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
import traceback
from collections.abc import Callable, Collection, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from etana.service.limits import Limits
from etana.service.metrics import Metrics
from etana.service.problems import problem

__all__ = ["LOOPBACK", "SESSION_COOKIE", "BodyReader", "Door", "Slots", "Watch", "session_value", "token_matches"]

_log = logging.getLogger("etana.service")

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
SESSION_COOKIE = "etana_session"
_API = "/v1/"  # for programs, which send the token itself; the cookie is for the pages
_UNGUARDED = ("/health/live", "/health/ready")  # whoever looks after the process has no token and must not wait
_UNLIMITED = (*_UNGUARDED, "/metrics")
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_HEADERS = {
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
    """Measures and logs every request, and lets no error out as it is.

    A log line has the method, the route (not the path, which holds the id of a case), the status and the time: no value
    of a feature, whatever a client sends.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

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
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            _log.error("a fault of the service: %s", _anonymous(error))
            if not status:
                await problem(500, "the service has a fault; its log says where")(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "unmatched")
            self._metrics.request(scope["method"], route, status or 499, seconds)
            _log.info("%s %s %d %.1f ms", _word(scope["method"]), route, status or 499, 1000 * seconds)


def _anonymous(error: Exception) -> str:
    """Where an error happened and of which type, without its message, which may hold values."""
    frames = (f"{f.filename}:{f.lineno} in {f.name}" for f in traceback.extract_tb(error.__traceback__))
    return f"{type(error).__name__} at {' < '.join(reversed(list(frames)))}"


def _word(method: str) -> str:
    return method if method.isalpha() and method.isascii() and len(method) < 20 else "?"


class Door:
    """Checks size of the head, Host, Origin and token.

    On loopback the Host header must name the machine itself: otherwise a page in the user's browser could have its own
    domain point to 127.0.0.1 and use the service from there (DNS rebinding). A change that a browser sends for a page
    of another origin is refused, so that no foreign form can post here with the user's cookie.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: Collection[str] | None,
        unguarded: Iterable[str] = (),
        largest: int = Limits.head,
    ) -> None:
        self._app, self._token, self._largest = app, token, largest
        self._hosts = None if hosts is None else frozenset(h.lower() for h in hosts)
        self._unguarded = (*_UNGUARDED, *unguarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            refusal = self._refuse_size(scope) or self._refuse_host(headers)
            refusal = refusal or self._refuse_origin(scope, headers) or self._refuse_token(scope, headers)
            if refusal is not None:
                return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)

    def _refuse_size(self, scope: Scope) -> ASGIApp | None:
        # The connection limits a head that comes in pieces; one that comes at once is measured here.
        size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) for name, value in scope["headers"])
        if size <= self._largest:
            return None
        return problem(431, f"path and headers have more than {self._largest} bytes; send less in them")

    def _refuse_host(self, headers: Headers) -> ASGIApp | None:
        if self._hosts is None or _host(headers.get("host", "")) in self._hosts:
            return None
        return problem(421, "the Host header names another machine; use localhost, or serve with --allow-host NAME")

    def _refuse_origin(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        origin = headers.get("origin")
        if scope["method"] in _SAFE or origin is None or _netloc(origin) == headers.get("host", "").lower():
            return None
        return problem(403, "the request comes from a page of another site; send it from a program, or from here")

    def _refuse_token(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if self._token is None or scope["path"] in self._unguarded or self._knows(scope, headers):
            return None
        detail = "a token is needed: send the header 'Authorization: Bearer TOKEN' with the one the service runs with"
        return problem(401, detail, headers={"WWW-Authenticate": "Bearer"})

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        assert self._token is not None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token_matches(self._token, given.strip()):
            return True
        if scope["path"].startswith(_API):
            return False
        session = _cookie(headers.get("cookie", ""), SESSION_COOKIE)
        return session is not None and hmac.compare_digest(session.encode(), session_value(self._token).encode())


def token_matches(token: str, given: str) -> bool:
    """Whether a token is the right one, in a time that does not depend on how much of it is right."""
    # Digests are of equal length, so that not even the length of the token shows.
    digests = (hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (token, given))
    return hmac.compare_digest(*digests)


def session_value(token: str) -> str:
    """What the cookie of a browser that has shown the token holds: proof of it, not the token itself."""
    return hmac.new(token.encode("utf-8", "surrogateescape"), b"etana session", hashlib.sha256).hexdigest()


def _cookie(header: str, name: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return None if morsel is None else morsel.value


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


class BodyReader:
    """Reads the body of a request whole: at most so large, within so long, all bodies together at most so much."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._limits.body:
            return await self._too_large()(scope, receive, send)
        body = bytearray()
        try:
            refusal = await self._read(body, receive)
            if refusal is None:
                await self._app(scope, _replaying(bytes(body), receive), send)
            else:
                await refusal(scope, receive, send)
        except _GoneError:
            pass
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, receive: Receive) -> ASGIApp | None:
        """Fill the body; returns an answer if it is refused."""
        try:
            async with asyncio.timeout(self._limits.body_time):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _GoneError
                    chunk, more = message.get("body", b""), message.get("more_body", False)
                    if len(body) + len(chunk) > self._limits.body:
                        return self._too_large()
                    if self._held + len(chunk) > self._limits.buffered:
                        return _busy(self._limits, "too many large requests at once")
                    self._held += len(chunk)
                    body += chunk
        except TimeoutError:
            detail = f"the body did not arrive within {self._limits.body_time:g} seconds; send it faster or in parts"
            return problem(408, detail, headers={"Connection": "close"})
        return None

    def _too_large(self) -> ASGIApp:
        return problem(413, f"the body has more than the {self._limits.body} bytes that are allowed; send it in parts")


class _GoneError(Exception):
    """The client went away while it sent."""


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Gives the body once; after that, whatever comes from the connection."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _busy(limits: Limits, why: str) -> ASGIApp:
    detail = f"{why}; try again in {limits.retry_after} s"
    return problem(503, detail, headers={"Retry-After": str(limits.retry_after)})


class Slots:
    """Lets so many requests work at once, each for so long.

    Work in a thread cannot be broken off. A request that takes too long is answered, but keeps its slot until its work
    has ended: otherwise slow requests would pile up behind the limit.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._working: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] in _UNLIMITED:
            return await self._app(scope, receive, send)
        if len(self._working) >= self._limits.concurrency:
            why = f"{self._limits.concurrency} requests are worked on, and no more are allowed at once"
            return await _busy(self._limits, why)(scope, receive, send)
        gate = _Gate(send)
        task = asyncio.ensure_future(self._app(scope, receive, gate.send))
        self._working.add(task)
        task.add_done_callback(self._end(gate))
        await asyncio.wait([task], timeout=self._limits.request_time)
        if task.done():
            return task.result()
        gate.closed = True
        if gate.used:
            raise _TooSlowError
        why = f"the request took more than {self._limits.request_time:g} seconds; its effect, if any, shows in a GET"
        return await _busy(self._limits, why)(scope, receive, send)

    def _end(self, gate: _Gate) -> Callable[[asyncio.Task[None]], None]:
        def end(task: asyncio.Task[None]) -> None:
            self._working.discard(task)
            if gate.closed and not task.cancelled() and task.exception() is not None:
                _log.error("a request that took too long failed: %s", type(task.exception()).__name__)

        return end


class _TooSlowError(Exception):
    """An answer was begun and not ended in time; the connection has to be closed."""


class _Gate:
    """Passes messages on until it is closed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.closed = self.used = False

    async def send(self, message: Any) -> None:
        """Pass a message on."""
        if not self.closed:
            self.used = True
            await self._send(message)
