"""Connections that cannot be held open for nothing.

A client that connects and says nothing, sends its headers one byte at a time, does not read its answer, or goes on
sending a body that was refused, costs a file descriptor and some memory. Each of these states has a deadline here; and
when there are too many connections, the one that has waited longest without a request makes room for the new one, so
that idle connections can never keep others out.

When all places are taken, a connection waits in the line before its request is parsed. If its turn does not come in
time, the refusal is a few bytes from memory, so that refusing costs next to nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from etana.service.limits import Limits
from etana.service.problems import PROBLEM
from etana.service.slots import PLACE, Places, WorkPlace

__all__ = ["protocol"]

TurnedAway = Callable[[Any, str, str, int, float, str], None]

_MOST_HELD = 16 * 2**10  # a request that is longer is parsed as it comes
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,8})[ \t]*\r\n", re.IGNORECASE)
_UNUSUAL = re.compile(rb"\r\n(transfer-encoding|expect|upgrade):", re.IGNORECASE)
_LAST = re.compile(rb"^[^\r]* HTTP/1\.0\r\n|\r\nconnection:[ \t]*close[ \t]*\r\n", re.IGNORECASE)
_LINE = re.compile(rb"(GET|POST|DELETE) (/[!-~]*) HTTP/1\.[01]\r\n")
_WATCHING = (b"/health/", b"/metrics")  # whoever looks after the process must not wait


def protocol(
    limits: Limits, places: Places | None = None, turned_away: TurnedAway | None = None
) -> type[asyncio.Protocol]:
    """The class of connections under these limits, as uvicorn wants it."""
    waiting: dict[HttpConnection, None] = {}  # without a request, the longest first
    line = Places(limits.concurrency) if places is None else places

    class Limited(HttpConnection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.limits, self.waiting, self.places, self.turned_away = limits, waiting, line, turned_away

    return Limited


class HttpConnection(H11Protocol):
    """A connection with deadlines for all that is not work on a request."""

    limits: Limits
    waiting: dict[HttpConnection, None]
    places: Places
    turned_away: TurnedAway | None
    _deadline: asyncio.TimerHandle | None = None
    _place: WorkPlace | None = None
    _held: bytes = b""  # of a request that waits for its turn, not parsed yet
    _since: float = 0.0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: it gets the place of an idle one, if there are too many."""
        if len(self.connections) >= self.limits.connections:
            idle = next(iter(self.waiting), None)
            if idle is None:
                super().connection_made(transport)
                transport.abort()
                self._note(499, "connections")
                return
            idle.transport.abort()
            self.waiting.pop(idle, None)
        super().connection_made(transport)
        self._wait(self.limits.head_time)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop_waiting()
        self._leave_line()
        self._give_back()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come: a request may begin if a place is free, and otherwise waits for its turn."""
        if self._held:
            self._held += data
            self._join_line()
        elif not self._is_idle():
            super().data_received(data)
        elif _is_whole(data):
            self._place = self.places.take()
            if self._place is not None:
                super().data_received(data)
            else:
                self._hold(data)
        elif self.places.taken >= self.places.most and len(data) <= _MOST_HELD:
            self._hold(data)
        else:
            super().data_received(data)

    def _is_idle(self) -> bool:
        """Whether what comes next is the beginning of a request."""
        done = self.cycle is None or self.cycle.response_complete
        return done and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _hold(self, data: bytes) -> None:
        self._held, self._since = data, time.perf_counter()
        self._unset_keepalive_if_required()
        self._stop_waiting()
        self._patience = self.loop.call_later(self.limits.wait_time, self._lose_patience)
        self._join_line()

    def _join_line(self) -> None:
        """Wait, if there is a whole request to wait with; what is too long or unusual is parsed as it comes."""
        if len(self._held) > _MOST_HELD or _is_watching(self._held):
            self._go_on()
        elif _is_whole(self._held):
            self._place = self.places.take()
            if self._place is not None:
                self._go_on()
            else:
                self.places.join(self)

    def admit(self, place: WorkPlace) -> bool:
        """It is this connection's turn."""
        if not self._held or self.transport.is_closing():
            return False
        self._place = place
        self._go_on()
        return True

    def _go_on(self) -> None:
        held = self._held
        self._leave_line()
        super().data_received(held)

    def _lose_patience(self) -> None:
        """The turn did not come in time."""
        held = self._held
        self._leave_line()
        if self.transport.is_closing():
            return
        if not _is_whole(held):
            super().data_received(held)
            return
        last = self._refuse(held, "full")
        if last:
            self._close()
        else:
            self._wait(self.limits.keep_alive + self.limits.head_time)

    def _refuse(self, held: bytes, reason: str) -> bool:
        """Write a refusal; returns whether the connection ends with it."""
        last = _LAST.search(held) is not None or self.places.stopping
        self.transport.write(_refusal(self.limits, b"text/html" in held, last))
        found = _LINE.match(held)
        if self.turned_away is not None and found is not None:
            path = found[2].partition(b"?")[0].decode("ascii")
            seconds = time.perf_counter() - self._since
            self.turned_away(self.client, found[1].decode("ascii"), path, 503, seconds, reason)
        return last

    def _leave_line(self) -> None:
        self._held = b""
        self.places.leave(self)
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_back(self) -> None:
        """The place of a request that was answered before anybody began to work on it."""
        place, self._place = self._place, None
        if place is not None and not place.kept:
            place.give_back()

    def shutdown(self) -> None:
        """The service ends: whoever waits is told."""
        if self._held:
            held = self._held
            self._leave_line()
            if _is_whole(held):
                self._refuse(held, "stopping")
            self._close()
        else:
            super().shutdown()

    def handle_events(self) -> None:
        """Whatever has arrived is read; a request that is complete up to its body ends the wait."""
        before = self.cycle
        idle = before is None or before.response_complete
        if idle and self._deadline is None and not self.transport.is_closing():
            self._wait(self.limits.head_time)  # the head of a further request has begun
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            if self._place is not None:
                # The task that works on it begins in the next turn of the loop.
                self.cycle.scope[PLACE] = self._place  # type: ignore[literal-required]
            self._work()
        elif idle and self.cycle is before:
            self._give_back()  # these bytes were no request

    def on_response_complete(self) -> None:
        """An answer was sent: the next request, or the rest of a refused body, has to come in time."""
        before = self.cycle
        self._give_back()
        super().on_response_complete()
        if self.cycle is before:
            refused = self.conn.their_state is h11.SEND_BODY
            self._wait(self.limits.body_time if refused else self.limits.keep_alive + self.limits.head_time)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP in the shape of all errors."""
        detail = f"{msg} Send HTTP/1.1 with headers of at most {self.limits.head} bytes."
        phrase = HTTPStatus.BAD_REQUEST.phrase
        body = json.dumps({"title": phrase, "status": 400, "reason": "malformed", "detail": detail}).encode()
        headers = [("content-type", PROBLEM), ("content-length", str(len(body))), ("connection", "close")]
        try:
            for event in (h11.Response(status_code=400, headers=headers, reason=phrase), h11.Data(data=body)):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError:
            pass  # the answer to this request has begun
        self._note(400, "malformed")
        self._close()

    def _note(self, status: int, reason: str) -> None:
        """Write down a refusal of something that is no request yet."""
        if self.turned_away is not None:
            self.turned_away(self.client, "?", "", status, 0.0, reason)

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


def _is_whole(data: bytes) -> bool:
    """Whether these bytes are one whole request of the usual kind, and nothing else."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or _LINE.match(data) is None or len(data) > _MOST_HELD or _is_watching(data):
        return False
    head = data[: end + 4]
    found = _LENGTH.search(head)
    length = 0 if found is None else int(found[1])
    return len(data) == end + 4 + length and _UNUSUAL.search(head) is None


def _is_watching(data: bytes) -> bool:
    line = data[: data.find(b"\r\n")]
    return any(path in line for path in _WATCHING)


def _refusal(limits: Limits, page: bool, last: bool) -> bytes:
    """The refusal as it goes over the wire."""
    detail = f"{limits.concurrency} requests are worked on, and no more are allowed at once"
    detail += f"; try again in {limits.retry_after} s"
    phrase = HTTPStatus.SERVICE_UNAVAILABLE.phrase
    body = json.dumps({"title": phrase, "status": 503, "reason": "full", "detail": detail})
    if page:
        body = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Too busy just now \u2013 etana</title>'
            f'<meta name="viewport" content="width=device-width"><h1>Too busy just now</h1><p>{detail}.'
        )
    content = body.encode()
    lines = [
        f"HTTP/1.1 503 {phrase}", f"content-type: {'text/html; charset=utf-8' if page else PROBLEM}",
        f"content-length: {len(content)}", f"retry-after: {limits.retry_after}", "cache-control: no-store",
        "x-content-type-options: nosniff", "content-security-policy: default-src 'none'",
        *(["connection: close"] if last else []),
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode() + content
