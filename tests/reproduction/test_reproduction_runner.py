"""Running cells in processes: limits, crashes, interrupts and going on."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from etana.errors import InputError
from reproduction import runner
from reproduction.cells import Cell
from reproduction.runner import Worker, choose, run_cells, unfinished
from reproduction.store import Result, ResultStore

QUICK = Cell("tables", "iris", "saola", {"cost": 0.01})
LONG = Cell("tables", "breast_cancer", "ofs-a3m", {"cost": 0.01})  # far longer than 0.01 s
WRONG = Cell("tables", "iris", "etana", {"cost": -1.0})


@pytest.fixture(scope="module")
def worker():
    """One for all tests: starting its process takes longer than any of them."""
    made = Worker()
    yield made
    made.stop()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_one_worker_meets_success_limit_and_failure(worker):
    done = worker.run(QUICK, None, 600.0)
    assert (done.ended, len(done.records)) == ("done", 5)
    first = worker._process.pid
    failed = worker.run(WRONG, None, 600.0)
    assert failed.ended == "failed"
    assert failed.message.startswith("CostError: ")
    assert worker._process.pid == first  # an error does not end the process
    late = worker.run(LONG, None, 0.01)
    assert (late.ended, late.limit, late.records) == ("limit", 0.01, [])
    wait_for(lambda: not alive(first))  # the limit does
    assert worker.run(QUICK, None, 600.0).records[0]["accuracy"] == done.records[0]["accuracy"]


def test_memory_of_the_starting_program_is_not_the_workers(worker):
    worker.stop()
    ballast = bytearray(b"x") * (runner._MEMORY + 2**27)
    assert worker.run(QUICK, None, None).ended == "done"
    assert worker._process is not None
    del ballast


def test_a_worker_that_took_much_is_replaced(worker, monkeypatch):
    monkeypatch.setattr(runner, "_MEMORY", 2**20)
    assert worker.run(QUICK, None, None).ended == "done"
    assert worker._process is None


def test_a_crash_is_one_cells_failure(worker):
    assert worker.run(QUICK, None, None).ended == "done"
    threading.Timer(0.3, os.kill, (worker._process.pid, signal.SIGKILL)).start()
    crashed = worker.run(Cell("target", "breast_cancer", "adaptive"), None, 600.0)  # far longer than that
    assert (crashed.ended, crashed.message) == ("failed", "the process was ended by signal 9")
    assert worker.run(QUICK, None, None).ended == "done"


def test_every_result_is_stored_and_nothing_is_run_twice(tmp_path):
    store, cells = ResultStore(tmp_path), [QUICK, WRONG, Cell("tables", "iris", "osfs")]
    begun, finished = [], []
    run_cells(cells, store, limit=600.0, jobs=2, begin=begun.append, finish=finished.append)
    assert set(begun) == set(cells) == {r.cell for r in finished} == {r.cell for r in store}
    assert unfinished(cells, store, 600.0) == [WRONG]  # failures are tried again
    assert unfinished(cells, store, 600.0, again=[QUICK]) == [QUICK, WRONG]
    store.write(Result(QUICK, "limit", 1.0, 1.0))
    assert QUICK in unfinished(cells, store, 600.0)
    assert QUICK not in unfinished(cells, store, 1.0)


def test_a_store_that_fails_stops_the_run(tmp_path):
    class Full(ResultStore):
        def write(self, result):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run_cells([QUICK, LONG], Full(tmp_path))


def test_patterns():
    cells = [QUICK, WRONG, LONG]
    assert choose(cells, ["iris"], "--only") == [QUICK, WRONG]
    assert choose(cells, ["tables/*/ofs*", "saola"], "--only") == [QUICK, LONG]
    with pytest.raises(InputError, match=r"--only is 'mlll', which fits no cell.*tables/iris/saola"):
        choose(cells, ["mlll"], "--only")


def start(folder):
    some = ["--only", "tables/iris/*", "--only", "tables/wine/*"]
    command = [sys.executable, "-m", "etana.cli", "reproduce", "--quick", "-o", str(folder), *some]
    environment = {k: v for k, v in os.environ.items() if k != "ETANA_DATA"}
    environment["ETANA_CACHE"] = str(folder / "none")
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)


def children(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes through /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_keeps_what_is_finished_and_leaves_no_process(tmp_path, how):
    run = start(tmp_path)
    cells = tmp_path / "cells"
    wait_for(lambda: len(list(cells.glob("*.jsonl"))) >= 3, 120)
    workers = [
        int(t) for task in Path(f"/proc/{run.pid}/task").iterdir() for t in (task / "children").read_text().split()
    ]
    assert workers
    run.send_signal(how)
    _, errors = run.communicate(timeout=120)
    for pid in workers:
        wait_for(lambda pid=pid: not alive(pid), 120)
    results = list(ResultStore(cells))
    assert len(results) >= 3
    assert {r.ended for r in results} == {"done"}
    if how == signal.SIGINT:
        assert run.returncode == 130
        assert "the same command goes on" in errors
    assert not (tmp_path / "index.html").exists()
