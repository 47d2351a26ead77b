"""Bodies of requests, read whole before any work is reserved for them.

A body may be as large as its route needs: what programs send and tables are large, everything else is small. Each
connection may hold a small body; what goes beyond that comes from one buffer, of which one client gets at most half. So
clients that send slowly, or never end, take nothing from those who send a few bytes.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from etana.service.limits import Limits
from etana.service.problems import problem, refusal
from etana.service.slots import Places
from etana.service.users import acting

__all__ = ["BodyReader"]

_LARGE = re.compile(r"/v1/.*|/fhir/.*|/models/[^/]+/table")  # by POST: what programs send, and tables
_SHARE = 2  # one client may hold this part of the buffer


class BodyReader:
    """Reads the body of a request whole: at most so large, within so long, all bodies together at most so much."""

    def __init__(self, app: ASGIApp, limits: Limits, places: Places | None = None) -> None:
        self._app, self._limits = app, limits
        self._places = places
        if places is not None:
            places.on_stop.append(self.stop)
        self._held: Counter[str] = Counter()  # beyond what each connection may hold, by client
        self._reading: set[asyncio.Timeout] = set()

    @property
    def held(self) -> int:
        """How much of the buffer is used."""
        return self._held.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most = self._most(scope)
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > most:
            return await _too_large(most, scope)(scope, receive, send)
        body, holding = bytearray(), _Share(self._held, self._limits, _client(scope))
        try:
            refused = await self._read(body, holding, most, receive, scope)
            if refused is None:
                scope["etana.large"] = len(body) > self._limits.small_body
                await self._app(scope, _replaying(bytes(body), receive), send)
            else:
                await refused(scope, receive, send)
        except _GoneError:
            pass
        finally:
            holding.give_back()

    def stop(self) -> None:
        """Refuse what is not sent whole by now: the service ends."""
        for reading in self._reading:
            reading.reschedule(0)

    def _most(self, scope: Scope) -> int:
        large = scope["method"] == "POST" and _LARGE.fullmatch(scope["path"])
        return self._limits.body if large else min(self._limits.small_body, self._limits.body)

    async def _read(
        self, body: bytearray, holding: _Share, most: int, receive: Receive, scope: Scope
    ) -> ASGIApp | None:
        """Fill the body; returns an answer if it is refused."""
        try:
            async with asyncio.timeout(self._limits.body_time) as reading:
                self._reading.add(reading)
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _GoneError
                    chunk, more = message.get("body", b""), message.get("more_body", False)
                    if len(body) + len(chunk) > most:
                        return _too_large(most, scope)
                    if not holding.grow(len(body) + len(chunk)):
                        return refusal(self._limits.retry_after, "too many large requests at once", scope, "buffer")
                    body += chunk
        except TimeoutError:
            if self._places is not None and self._places.stopping:
                return refusal(self._limits.retry_after, "the service is stopping", scope, "stopping", close=True)
            detail = f"the body did not arrive within {self._limits.body_time:g} seconds; send it faster or in parts"
            scope["etana.refused"] = "body_time"
            return problem(408, detail, headers={"Connection": "close"})
        finally:
            self._reading.discard(reading)
        return None


class _Share:
    """What one request holds of the common buffer."""

    def __init__(self, held: Counter[str], limits: Limits, client: str) -> None:
        self._held, self._limits, self._client = held, limits, client
        self._mine = 0

    def grow(self, size: int) -> bool:
        """Hold a body of this size; False if there is no room for it."""
        more = max(size - self._limits.small_body, 0) - self._mine
        if more <= 0:
            return True
        most = max(self._limits.buffered // _SHARE, self._limits.body)
        if self._held.total() + more > self._limits.buffered or self._held[self._client] + more > most:
            return False
        self._held[self._client] += more
        self._mine += more
        return True

    def give_back(self) -> None:
        """The body is not needed any more."""
        self._held[self._client] -= self._mine
        if not self._held[self._client]:
            del self._held[self._client]
        self._mine = 0


class _GoneError(Exception):
    """The client went away while it sent."""


def _client(scope: Scope) -> str:
    """Whose share it is: the user's, or that of the address where users have no names."""
    actor = acting.get()
    return f"{actor.name} {actor.address}"


def _too_large(most: int, scope: Scope) -> ASGIApp:
    scope["etana.refused"] = "too_large"
    return problem(413, f"the body has more than the {most} bytes that are allowed here; send it in parts")


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Gives the body once; after that, whatever comes from the connection."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
