"""Running many cells: what is there is kept, what takes too long is ended, what fails is noted, the rest goes on.

Cells run in worker processes, one at a time unless more are asked for (seconds are honest only for one). The limit is
for one training and test part, so that a cell on five folds may take five times as long; loading data and compiled
loops is not counted. A result is on disk before the next cell starts: an interrupted run goes on when it is run again.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import etana
from etana.errors import InputError
from reproduction.cells import Cell
from reproduction.experiments import n_parts
from reproduction.store import Result, ResultStore

__all__ = ["Worker", "choose", "run_cells", "unfinished"]

_LOADING = 900.0  # seconds after which loading data and loops counts as a failure
_MEMORY = 2**30  # bytes above which a worker is replaced: what one data set took is not kept for the next


class WorkerError(Exception):
    """A worker that died, or did not get ready."""


class TimeOutError(Exception):
    """A cell that took longer than it was allowed."""


class Worker:
    """A process that runs one cell after another; it is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def run(self, cell: Cell, data_dir: str | None, limit: float | None) -> Result:
        """Run a cell to its end, its limit or its failure."""
        allowed = None if limit is None else limit * n_parts(cell)
        start = time.perf_counter()
        try:
            answer = self._ask(cell, data_dir, allowed)
        except TimeOutError:
            self.stop()
            return Result(cell, "limit", time.perf_counter() - start, limit)
        except WorkerError as error:
            self.stop()
            return Result(cell, "failed", time.perf_counter() - start, limit, message=str(error))
        if "error" in answer:
            return Result(cell, "failed", time.perf_counter() - start, limit, message=answer["error"])
        if answer["memory"] > _MEMORY:
            self.stop()
        return Result(cell, "done", answer["seconds"], limit, answer["records"], differs=answer["differs"])

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(OSError):
                self._process.stdin.close()  # type: ignore[union-attr]
            self._process = None

    def _ask(self, cell: Cell, data_dir: str | None, allowed: float | None) -> dict[str, Any]:
        process = self._ready()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"cell": cell.fields(), "data_dir": data_dir}) + "\n")
            process.stdin.flush()
        except OSError:
            raise WorkerError(self._obituary(process)) from None
        try:
            answer = self._next(process, _LOADING)
        except TimeOutError:
            raise WorkerError(f"data and loops were not loaded within {_LOADING:g} s") from None
        return answer if "error" in answer else self._next(process, allowed)

    def _next(self, process: subprocess.Popen[str], allowed: float | None) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=allowed)
        except queue.Empty:
            raise TimeOutError from None
        if line is None:
            raise WorkerError(self._obituary(process))
        return json.loads(line)

    def _ready(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._answers = queue.SimpleQueue()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "reproduction.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
                env=_environment(),
            )  # fmt: skip
            threading.Thread(target=_listen, args=(self._process, self._answers), daemon=True).start()
        return self._process

    def _obituary(self, process: subprocess.Popen[str]) -> str:
        code = process.wait()
        return f"the process was ended by signal {-code}" if code < 0 else f"the process ended with code {code}"


def _environment() -> dict[str, str]:
    """For a worker: it finds this folder, and the etana that is running here."""
    folders = [str(Path(__file__).parents[1]), str(Path(etana.__file__).parents[1])]
    given = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, given] if given else folders)}


def _listen(process: subprocess.Popen[str], answers: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            answers.put(line)
    answers.put(None)


def choose(cells: Sequence[Cell], patterns: Iterable[str], option: str) -> list[Cell]:
    """The cells whose key fits one of the patterns; a pattern that fits none is an error.

    ``mll`` fits every cell that has it as a part of its key, ``tables/mll/*`` fits by the shell's rules.
    """
    chosen = []
    for pattern in patterns:
        fitting = [c for c in cells if fnmatch.fnmatchcase(c.key, pattern) or pattern in c.key.split("/")]
        if not fitting:
            example = cells[0].key if cells else "none"
            raise InputError(f"{option} is {pattern!r}, which fits no cell; cells are named like {example}")
        chosen.extend(fitting)
    return [cell for cell in cells if cell in set(chosen)]


def unfinished(
    cells: Iterable[Cell], store: ResultStore, limit: float | None, again: Iterable[Cell] = ()
) -> list[Cell]:
    """The cells that have to be run."""
    anew = set(again)
    left = []
    for cell in cells:
        result = None if cell in anew else store.read(cell)
        if result is None or not result.settles(limit):
            left.append(cell)
    return left


def run_cells(
    cells: Sequence[Cell],
    store: ResultStore,
    *,
    data_dir: str | None = None,
    limit: float | None = None,
    jobs: int = 1,
    begin: Callable[[Cell], object] = lambda cell: None,
    finish: Callable[[Result], object] = lambda result: None,
) -> None:
    """Run cells in ``jobs`` processes and store each result as it comes; ``begin`` and ``finish`` are told."""
    waiting = list(reversed(cells))
    lock, errors, stopping = threading.Lock(), [], threading.Event()
    workers = [Worker() for _ in range(max(1, min(jobs, len(cells))))]

    def work(worker: Worker) -> None:
        while not stopping.is_set():
            with lock:
                if not waiting:
                    return
                cell = waiting.pop()
                begin(cell)
            result = worker.run(cell, data_dir, limit)
            if stopping.is_set():
                return
            with lock:
                store.write(result)
                finish(result)

    def guarded(worker: Worker) -> None:
        try:
            work(worker)
        except BaseException as error:
            errors.append(error)
            stopping.set()

    threads = [threading.Thread(target=guarded, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    finally:
        stopping.set()
        for worker in workers:
            worker.stop()
    if errors:
        raise errors[0]
