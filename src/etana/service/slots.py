"""How many requests are worked on at once, and how the others wait.

There are so many *places*. A request that finds none waits in a line, first come, first served; if its turn does not
come in time, it is refused. A client that is refused at once comes back at once, and with enough of them a service does
nothing but refuse: waiting slows them down, and whoever waits costs nothing. Connections join the line before a request
is even parsed (:mod:`etana.service.connections`), so that most refusals are a few bytes written from memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from etana.service.limits import Limits
from etana.service.problems import refusal

__all__ = ["Places", "Slots", "WorkPlace"]

_log = logging.getLogger("etana.service")

WATCHING = ("/health/live", "/health/ready", "/metrics")  # whoever looks after the process must not wait
PLACE = "etana.place"


class Waiter(Protocol):
    """Somebody in the line."""

    def admit(self, place: WorkPlace) -> bool:
        """Take the place; False if it is not wanted any more."""


class WorkPlace:
    """The right to be worked on, until it is given back."""

    def __init__(self, places: Places) -> None:
        self._places: Places | None = places
        self.kept = False  # somebody will give it back when the work has ended

    def give_back(self) -> None:
        """The work has ended; to say so twice does no harm."""
        places, self._places = self._places, None
        if places is not None:
            places.free()


class Places:
    """All places, and the line of those who wait for one.

    Parameters
    ----------
    most : int
        How many there are.
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0
        self.stopping = False
        self.on_stop: list[Callable[[], None]] = []
        self.line: OrderedDict[Waiter, None] = OrderedDict()

    def take(self) -> WorkPlace | None:
        """A place, if one is free and nobody was here before."""
        if self.taken >= self.most or self.line:
            return None
        self.taken += 1
        return WorkPlace(self)

    def free(self) -> None:
        """A place is free: the next in the line gets it."""
        while self.line:
            place = WorkPlace(self)
            if self.line.popitem(last=False)[0].admit(place):
                return
        self.taken -= 1

    def stop(self) -> None:
        """The service ends: nothing more is waited for."""
        self.stopping = True
        for stop in self.on_stop:
            stop()

    def join(self, waiter: Waiter) -> None:
        """Somebody waits, behind all who do already."""
        self.line.setdefault(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Somebody does not want to wait any longer."""
        self.line.pop(waiter, None)


class _Turn:
    """A request that waits within the application."""

    def __init__(self) -> None:
        self.place: asyncio.Future[WorkPlace] = asyncio.get_running_loop().create_future()

    def admit(self, place: WorkPlace) -> bool:
        """Take the place."""
        if self.place.done():
            return False
        self.place.set_result(place)
        return True


class Slots:
    """Lets so many requests work at once, each for so long.

    Work in a thread cannot be broken off. A request that takes too long is answered, but keeps its place until its work
    has ended: otherwise slow requests would pile up behind the limit.
    """

    def __init__(self, app: ASGIApp, limits: Limits, places: Places | None = None) -> None:
        self._app, self._limits = app, limits
        self.places = Places(limits.concurrency) if places is None else places
        self._large = asyncio.Semaphore(limits.large)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] in WATCHING:
            return await self._app(scope, receive, send)
        place = scope.get(PLACE) or self.places.take() or await self._wait()
        if place is None:
            why = f"{self._limits.concurrency} requests are worked on, and no more are allowed at once"
            return await refusal(self._limits.retry_after, why, scope, "full")(scope, receive, send)
        place.kept = True
        gate = _Gate(send)
        task = asyncio.ensure_future(self._work(scope, receive, gate.send))
        task.add_done_callback(_end(place, gate))
        await asyncio.wait([task], timeout=self._limits.request_time)
        if task.done():
            return task.result()
        gate.closed = True
        if gate.used:
            raise _TooSlowError
        why = f"the request took more than {self._limits.request_time:g} seconds; its effect, if any, shows in a GET"
        return await refusal(self._limits.retry_after, why, scope, "slow")(scope, receive, send)

    async def _wait(self) -> WorkPlace | None:
        turn = _Turn()
        self.places.join(turn)
        try:
            async with asyncio.timeout(self._limits.wait_time):
                return await turn.place
        except TimeoutError:
            self.places.leave(turn)
            return None
        except asyncio.CancelledError:
            self.places.leave(turn)
            if turn.place.done() and not turn.place.cancelled():
                turn.place.result().give_back()
            raise

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Large bodies become many objects: a few at a time leave the processor and the memory to the small ones.
        if scope.get("etana.large"):
            async with self._large:
                return await self._app(scope, receive, send)
        return await self._app(scope, receive, send)


def _end(place: WorkPlace, gate: _Gate) -> Callable[[asyncio.Task[None]], None]:
    def end(task: asyncio.Task[None]) -> None:
        place.give_back()
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
