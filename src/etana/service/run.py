"""The process: sockets and signals.

====================  ==============================================================================
signal                what happens
====================  ==============================================================================
SIGHUP                model files and users are read again; requests go on meanwhile
SIGTERM, SIGINT       no new connections; half-sent requests are refused; requests that are worked on
                      are finished within the limit ``stop_time``; the store is closed
====================  ==============================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import uvicorn

from etana.errors import InputError
from etana.service.board import Board
from etana.service.connections import protocol
from etana.service.guard import LOOPBACK
from etana.service.limits import Limits
from etana.service.logs import Format, set_up_log
from etana.service.models import Models
from etana.service.settings import Settings
from etana.service.users import Users

if sys.platform != "win32":
    import resource

__all__ = ["address_of", "bind", "run_worker", "serve"]

_log = logging.getLogger("etana.service")
_SPARE_FILES = 64
_SHOWING = 1.0  # seconds between two times that a process shows its metrics to the others


def serve(
    sources: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    users: str | None = None,
    store: str = "etana-cases.sqlite",
    allow_hosts: Sequence[str] = (),
    limits: Limits | None = None,
    trusted: Sequence[str] = (),
    workers: int = 1,
    root_path: str = "",
    proxies: Sequence[str] = (),
    log: Format = "text",
    key: str | None = None,
) -> None:
    """Serve models until a signal ends it.

    Everything that can be wrong with the settings is found before a connection is accepted.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload
    if workers < 1:
        raise InputError(f"workers is {workers}; there must be at least 1")
    if workers > 1 and store == ":memory:":
        raise InputError("several workers cannot share a store in memory; give a file: --store PATH")
    loopback = _is_loopback(host)
    known = Users(token, users)
    _check_guard(known, host, loopback)
    hosts = sorted({*LOOPBACK, host, *allow_hosts} if loopback else {host, *allow_hosts})
    settings = Settings(
        list(sources), list(trusted), store, token, users, hosts if loopback or allow_hosts else None,
        fit_files(Limits() if limits is None else limits), root_path, list(proxies), log, key,
    )  # fmt: skip
    settings.check()
    listener = bind(host, port)
    if workers > 1:
        # Alone first: a port that is shared with processes of our own must not belong to another service.
        port = listener.getsockname()[1]
        listener.close()
        listener = bind(host, port, shared=True)
    try:
        models = Models(settings.sources, settings.trusted)
        cases = settings.open_store()
        try:
            if workers == 1:
                set_up_log(log)
                run_worker(settings, models, cases, known, listener, lambda: _announce(models, listener))
        finally:
            cases.close()
        if workers > 1:
            from etana.service.workers import supervise

            set_up_log(log)
            supervise(settings, workers, listener, lambda: _announce(models, listener))
    finally:
        listener.close()


def _announce(models: Models, listener: socket.socket) -> None:
    _log.info("serving %s on %s", ", ".join(models.names), address_of(listener))


def address_of(listener: socket.socket) -> str:
    """Where a socket listens, as people write it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_worker(
    settings: Settings, models: Models, store: Any, users: Users, listener: socket.socket, ready: Callable[[], None],
    board: Board | None = None,
) -> None:  # fmt: skip
    """Serve in this process until a signal ends it."""
    limits = settings.limits
    app = settings.make_app(models, store, users, board)
    state = app.state
    config = uvicorn.Config(
        app, http=protocol(limits, state.places, state.journal.turned_away), ws="none", lifespan="on", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, timeout_keep_alive=math.ceil(limits.keep_alive),
        h11_max_incomplete_event_size=limits.head, timeout_graceful_shutdown=math.ceil(limits.stop_time), backlog=2048,
    )  # fmt: skip
    # uvicorn raises the signal that stopped it once more; by then everything is done.
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGTERM, signal.SIGINT)}
    server = _Server(config, models, users, ready, board)
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    _log.info("stopped")
    if server.cut:
        # Threads cannot be broken off, and must not keep the process beyond its time.
        store.close()
        logging.shutdown()
        os._exit(0)


class _Server(uvicorn.Server):
    """A server that reads models and users again on SIGHUP, and ends in time."""

    def __init__(
        self, config: uvicorn.Config, models: Models, users: Users, ready: Callable[[], None], board: Board | None
    ) -> None:
        super().__init__(config)
        self._models, self._users, self._ready, self._board = models, users, ready, board
        self._state: Any = config.app.state  # type: ignore[union-attr]
        self._asked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.cut = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and to listen for SIGHUP."""
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._asked.set)
            self._tasks.append(asyncio.create_task(self._reload()))
        if self._board is not None:
            self._tasks.append(asyncio.create_task(self._show(self._board)))
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: what has not come whole by now does not come any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._state.places.stop()
        await super().shutdown(sockets)
        self.cut = self._state.places.taken > 0

    async def _reload(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                # Not in the pool of the requests: a reload has to get through when that is full.
                await asyncio.to_thread(self._users.reload)
                await asyncio.to_thread(self._models.reload)
            except Exception as error:
                self._models.failures += 1
                _log.error("reload failed (%s: %s); what was there stays", type(error).__name__, error)

    async def _show(self, board: Board) -> None:
        while True:
            try:
                board.write(self._state.metrics_text())
            except OSError as error:
                _log.error("the metrics of this process cannot be shown to the others: %s", error.strerror)
            await asyncio.sleep(_SHOWING)


def _is_loopback(host: str) -> bool:
    if host in LOOPBACK:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _check_guard(users: Users, host: str, loopback: bool) -> None:
    if not users.guarded and not loopback:
        raise InputError(
            f"host {host} can be reached from other machines, so a token is needed: set the environment variable "
            "ETANA_TOKEN, give --users FILE, or serve on 127.0.0.1"
        )


def bind(host: str, port: int, shared: bool = False) -> socket.socket:
    """A socket that listens there; other processes may have one for the same port if it is shared."""
    if not 0 <= port <= 65535:
        raise InputError(f"port is {port}; it must be between 0 (any that is free) and 65535")
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, number)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                # The system then spreads connections evenly; with one socket for all, whoever wakes first takes most.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host} port {port}: {reason}; give another --host or --port") from error
    return listener


def fit_files(limits: Limits) -> Limits:
    """As many open files as the limit on connections needs, or fewer connections if the system allows fewer."""
    if sys.platform == "win32":
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return replace(limits, connections=max(min(limits.connections, soft - _SPARE_FILES), 1))
    return limits
