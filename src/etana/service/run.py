"""The process: sockets, signals, logs.

====================  ==============================================================================
signal                what happens
====================  ==============================================================================
SIGHUP                model files are read again; requests go on meanwhile
SIGTERM, SIGINT       no new connections; requests that are worked on are finished; the store is closed
====================  ==============================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import math
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

import uvicorn

from etana.errors import InputError
from etana.service.app import create_app
from etana.service.connections import protocol
from etana.service.guard import LOOPBACK
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.store import Store

if sys.platform != "win32":
    import resource

__all__ = ["serve"]

_log = logging.getLogger("etana.service")
_SHORTEST_TOKEN = 8
_SPARE_FILES = 64
_GRACE = 1.0


def serve(
    sources: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    store: str = "etana-cases.sqlite",
    allow_hosts: Sequence[str] = (),
    limits: Limits | None = None,
    trusted: Sequence[str] = (),
) -> None:
    """Serve models until a signal ends it.

    Everything that can be wrong with the settings is found before a connection is accepted.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload
    limits = _fit_files(Limits() if limits is None else limits)
    loopback = _is_loopback(host)
    _check_token(token, host, loopback)
    listener = _bind(host, port)
    try:
        models = Models(sources, trusted)
        cases = Store(store, limits.case_life, limits.cases)
        try:
            hosts = {*LOOPBACK, host, *allow_hosts} if loopback else ({host, *allow_hosts} if allow_hosts else None)
            app = create_app(models, cases, limits, token, hosts)
            _set_up_log()
            _run(app, models, limits, listener)
        finally:
            cases.close()
    finally:
        listener.close()


def _run(app: Any, models: Models, limits: Limits, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app, http=protocol(limits), ws="none", lifespan="on", log_config=None, access_log=False,
        server_header=False, proxy_headers=False, timeout_keep_alive=math.ceil(limits.keep_alive),
        h11_max_incomplete_event_size=limits.head,
        timeout_graceful_shutdown=math.ceil(limits.request_time + _GRACE),
    )  # fmt: skip
    # uvicorn raises the signal that stopped it once more; by then everything is done.
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        _Server(config, models).run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    _log.info("stopped")


class _Server(uvicorn.Server):
    """A server that reads the model files again on SIGHUP."""

    def __init__(self, config: uvicorn.Config, models: Models) -> None:
        super().__init__(config)
        self._models = models
        self._asked = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and to listen for SIGHUP."""
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._asked.set)
            self._reloading = asyncio.create_task(self._reload())
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            where = f"[{host}]" if ":" in host else host
            _log.info("serving %s on http://%s:%d", ", ".join(self._models.names), where, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        if hasattr(signal, "SIGHUP"):
            self._reloading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reloading
        await super().shutdown(sockets)

    async def _reload(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                # Not in the pool of the requests: a reload has to get through when that is full.
                await asyncio.to_thread(self._models.reload)
            except Exception as error:
                _log.error("reload failed (%s); the old models stay", type(error).__name__)


def _is_loopback(host: str) -> bool:
    if host in LOOPBACK:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _check_token(token: str | None, host: str, loopback: bool) -> None:
    if token is None:
        if not loopback:
            raise InputError(
                f"host {host} can be reached from other machines, so a token is needed: set the environment variable "
                "ETANA_TOKEN, or serve on 127.0.0.1"
            )
    elif len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"the token has {len(token)} characters, or others than ASCII without blanks; take at least "
            f"{_SHORTEST_TOKEN} random letters and digits"
        )


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"port is {port}; it must be between 0 (any that is free) and 65535")
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, number)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host} port {port}: {reason}; give another --host or --port") from error
    return listener


def _fit_files(limits: Limits) -> Limits:
    """As many open files as the limit on connections needs, or fewer connections if the system allows fewer."""
    if sys.platform == "win32":
        return limits
    from dataclasses import replace

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return replace(limits, connections=max(min(limits.connections, soft - _SPARE_FILES), 1))
    return limits


def _set_up_log() -> None:
    """One line per event on standard error; uvicorn's own lines only where they warn."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("etana.service", logging.INFO), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers, logger.propagate = [handler], False
