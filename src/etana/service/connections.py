"""Connections that cannot be held open for nothing.

A client that connects and says nothing, sends its headers one byte at a time, does not read its answer, or goes on
sending a body that was refused, costs a file descriptor and some memory. Each of these states has a deadline here; and
when there are too many connections, the one that has waited longest without a request makes room for the new one, so
that idle connections can never keep others out.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from etana.service.limits import Limits
from etana.service.problems import PROBLEM

__all__ = ["protocol"]


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections under these limits, as uvicorn wants it."""
    waiting: dict[Connection, None] = {}  # without a request, the longest first

    class Limited(Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.limits, self.waiting = limits, waiting

    return Limited


class Connection(H11Protocol):
    """A connection with deadlines for all that is not work on a request."""

    limits: Limits
    waiting: dict[Connection, None]
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: it gets the place of an idle one, if there are too many."""
        if len(self.connections) >= self.limits.connections:
            idle = next(iter(self.waiting), None)
            if idle is None:
                super().connection_made(transport)
                transport.abort()
                return
            idle.transport.abort()
            self.waiting.pop(idle, None)
        super().connection_made(transport)
        self._wait(self.limits.head_time)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Whatever has arrived is read; a request that is complete up to its body ends the wait."""
        before = self.cycle
        idle = before is None or before.response_complete
        if idle and self._deadline is None and not self.transport.is_closing():
            self._wait(self.limits.head_time)  # the head of a further request has begun
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._work()

    def on_response_complete(self) -> None:
        """An answer was sent: the next request, or the rest of a refused body, has to come in time."""
        before = self.cycle
        super().on_response_complete()
        if self.cycle is before:
            refused = self.conn.their_state is h11.SEND_BODY
            self._wait(self.limits.body_time if refused else self.limits.keep_alive + self.limits.head_time)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP in the shape of all errors."""
        detail = f"{msg} Send HTTP/1.1 with headers of at most {self.limits.head} bytes."
        phrase = HTTPStatus.BAD_REQUEST.phrase
        body = json.dumps({"title": phrase, "status": 400, "detail": detail}).encode()
        headers = [("content-type", PROBLEM), ("content-length", str(len(body))), ("connection", "close")]
        try:
            for event in (h11.Response(status_code=400, headers=headers, reason=phrase), h11.Data(data=body)):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError:
            pass  # the answer to this request has begun
        self._close()

    def timeout_keep_alive_handler(self) -> None:
        """No further request has come."""
        super().timeout_keep_alive_handler()
        self._close()

    def _wait(self, seconds: float) -> None:
        """Nothing is worked on: end the connection unless a request comes in time."""
        self._stop_waiting()
        self.waiting[self] = None
        self._deadline = self.loop.call_later(seconds, self._close)

    def _work(self) -> None:
        """A request has come. Whatever becomes of it, it ends some time: its answer may be one that nobody reads."""
        self._stop_waiting()
        longest = self.limits.body_time + self.limits.request_time + self.limits.head_time
        self._deadline = self.loop.call_later(longest, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        """Close; if the client does not take what is still to be sent, cut it off."""
        self.transport.close()
        self._stop_waiting()
        if self in self.connections:
            self._deadline = self.loop.call_later(self.limits.head_time, self.transport.abort)
