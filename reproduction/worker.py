"""The process that runs cells: asked on standard input, answering on standard output, a JSON line each.

It is a process of its own so that a cell that takes too long can be ended, and one that crashes or eats all memory
takes nothing else with it. It ends when its standard input is closed, also in the middle of a cell: no worker outlives
the program that started it. Interrupts are for that program to handle.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, TextIO

__all__ = ["peak_memory", "serve"]


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer every request: ``started`` when data and loops are loaded, then ``records`` or ``error``."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in requests:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        request = json.loads(waiting.get())
        try:
            _answer(request, answers)
        except Exception as error:  # whatever it is, it is this cell's failure and is told
            _say(answers, {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"})


def _answer(request: dict[str, Any], answers: TextIO) -> None:
    from reproduction.cells import Cell
    from reproduction.experiments import differs, prepare

    cell = Cell.of(request["cell"])
    run = prepare(cell, request["data_dir"])
    _say(answers, {"started": True})
    start = time.perf_counter()
    records = run()
    seconds = time.perf_counter() - start
    story = differs(cell, request["data_dir"])
    _say(answers, {"records": records, "seconds": seconds, "differs": story, "memory": peak_memory()})


def peak_memory() -> int:
    """Most bytes that this process has taken so far; 0 where the system does not tell."""
    # Linux counts what the starting program had taken into ru_maxrss, so it is asked elsewhere first.
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Answers go out on a copy of standard output; what a library prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    _main()
