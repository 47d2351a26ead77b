"""Several processes that serve the same models on one port: one for each core.

The first process only looks after the others. It hands each its settings on standard input, and keeps that open: when
the first process ends, however it ends, the others read the end of it and stop. One that dies is started again. Signals
are passed on, so that models are reloaded everywhere.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from etana.service.board import Board
from etana.service.logs import set_up_log
from etana.service.models import Models
from etana.service.run import bind, fit_files, run_worker
from etana.service.settings import Settings
from etana.service.users import Users

__all__ = ["supervise"]

_log = logging.getLogger("etana.service")
_TICK = 0.1
_QUICK = 10.0  # a process that ends sooner than this is started again after a pause
_LONGEST_PAUSE = 30.0
_MARGIN = 10.0


@dataclass
class _Worker:
    """A process and how often it has ended quickly."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    failures: int = 0
    again: float = field(default=0.0)
    ready: bool = False


def supervise(settings: Settings, count: int, reserved: socket.socket, ready: Callable[[], None]) -> None:
    """Keep so many processes running until a signal ends it."""
    stopping = threading.Event()
    before = {s: signal.signal(s, lambda *_: stopping.set()) for s in (signal.SIGTERM, signal.SIGINT)}
    with tempfile.TemporaryDirectory(prefix="etana-workers-") as folder:
        workers = [_Worker(number) for number in range(count)]
        if hasattr(signal, "SIGHUP"):
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: _pass_on(workers, signal.SIGHUP))
        try:
            _look_after(settings, workers, reserved, folder, ready, stopping)
        finally:
            _stop(workers, settings.limits.stop_time + _MARGIN)
            for number, handler in before.items():
                signal.signal(number, handler)
    _log.info("stopped")


def _look_after(
    settings: Settings, workers: list[_Worker], reserved: socket.socket, folder: str, ready: Callable[[], None],
    stopping: threading.Event,
) -> None:  # fmt: skip
    announced = False
    while not stopping.wait(_TICK):
        for worker in workers:
            _see_to(worker, settings, reserved, folder)
        if not announced and all(worker.ready for worker in workers):
            announced = True
            ready()


def _see_to(worker: _Worker, settings: Settings, reserved: socket.socket, folder: str) -> None:
    process = worker.process
    if process is None:
        if time.monotonic() >= worker.again:
            _start(worker, settings, reserved, folder)
    elif process.poll() is not None:
        lived = time.monotonic() - worker.since
        worker.failures = worker.failures + 1 if lived < _QUICK else 0
        pause = min(2.0**worker.failures - 1.0, _LONGEST_PAUSE)
        _log.error("worker %d ended with %d; it is started again in %g s", worker.number, process.returncode, pause)
        _close_pipes(process)
        worker.process, worker.ready, worker.again = None, False, time.monotonic() + pause
    elif not worker.ready and process.stdout is not None and select.select([process.stdout], [], [], 0)[0]:
        worker.ready = process.stdout.readline() == b"ready\n"


def _start(worker: _Worker, settings: Settings, reserved: socket.socket, folder: str) -> None:
    address = list(reserved.getsockname()[:2])
    orders = {"settings": settings.write(), "address": address, "folder": folder, "number": worker.number}
    worker.process = subprocess.Popen(
        [sys.executable, "-m", "etana.service.workers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the first process, which passes it on
    )  # fmt: skip
    worker.since = time.monotonic()
    with contextlib.suppress(BrokenPipeError):
        assert worker.process.stdin is not None
        worker.process.stdin.write(json.dumps(orders).encode() + b"\n")
        worker.process.stdin.flush()


def _pass_on(workers: list[_Worker], number: int) -> None:
    for worker in workers:
        if worker.process is not None and worker.ready:
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(number)


def _stop(workers: list[_Worker], seconds: float) -> None:
    """End all processes; those that do not end in time are killed."""
    deadline = time.monotonic() + seconds
    running = [worker.process for worker in workers if worker.process is not None]
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    for process in running:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            _log.error("a worker did not end in time and is killed")
            process.kill()
            process.wait()
        _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


# --- in the worker


def main() -> None:
    """Serve as one of several processes, as standard input says."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    orders: dict[str, Any] = json.loads(sys.stdin.readline())
    settings = Settings.read(orders["settings"])
    fit_files(settings.limits)
    set_up_log(settings.log)
    users = Users(settings.token, settings.users)
    models = Models(settings.sources, settings.trusted)
    host, port = orders["address"]
    listener = bind(host, port, shared=True)
    store = settings.open_store()
    try:
        threading.Thread(target=_end_with_the_first, daemon=True).start()
        board = Board(orders["folder"], orders["number"])
        run_worker(settings, models, store, users, listener, _say_ready, board)
    finally:
        store.close()
        listener.close()


def _say_ready() -> None:
    print("ready", flush=True)


def _end_with_the_first() -> None:
    """Nothing more comes on standard input; its end means that the first process is gone."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
