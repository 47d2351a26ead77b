"""A fit on a local Dask cluster against the same fit in one process: seconds per row, processor seconds, memory.

    python benchmarks/cluster.py [--rows 10000000] [--alone-rows 10000000] [--block-rows 200000] [--workers 2]

Rows are made, 50 columns of four-byte numbers in two classes, block by block where they are counted, once in each of
the two passes; no more than a block of each process is there at a time. What making them takes is measured by a pass
over a tenth of the blocks that does nothing else, and is shown apart: figures without it are less two such passes.

One process reads its blocks one after the other, without Dask. Both run in one call, with one thread each, and take
turns, one process first and last; the least of each is shown. On a machine that others use, processor seconds (of the
workers, and of the client and its scheduler) say what the wall clock cannot. Memory is the sum of what the processes
hold, by its highest mark. The cluster is set up as ``etana fit --engine dask`` does. The machine needs a core for each
worker; the client's thread works when they have nothing to do.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import dask
import numpy as np
from distributed import Client, LocalCluster

from etana import ETANAClassifier, distributed
from etana.distributed.merging import QUIET, reduce_parts

COLUMNS = 50
LIMIT = 1.3  # times the rate that so many processes would have if nothing were lost


def make(block: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns whose means differ by class, more and more from column to column."""
    rng = np.random.default_rng([0, block])
    y = rng.integers(0, 2, rows)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    X[y == 1] += np.linspace(0, 0.5, COLUMNS, dtype=np.float32)
    return X, y


def readers(rows: int, block_rows: int) -> list[partial[Any]]:
    """Functions that make the blocks."""
    sizes = [min(block_rows, rows - a) for a in range(0, rows, block_rows)]
    return [partial(make, block, size) for block, size in enumerate(sizes)]


class Took(NamedTuple):
    """Wall seconds, and processor seconds of this process and of the workers together."""

    wall: float
    here: float
    workers: float

    def per_million(self, rows: int) -> Took:
        return Took(*(seconds / rows * 1e6 for seconds in self))

    def __sub__(self, other: Took) -> Took:
        return Took(*(a - b for a, b in zip(self, other, strict=True)))


def measure(job: Callable[[], object], client: Client | None) -> Took:
    """What a job takes."""

    def clock() -> tuple[float, float, float]:
        workers = sum(client.run(time.process_time).values()) if client else 0.0
        return time.perf_counter(), time.process_time(), workers

    before = clock()
    job()
    return Took(*(b - a for a, b in zip(before, clock(), strict=True)))


def make_only(parts: list[Any], lazy: bool) -> None:
    """A pass that makes every block and looks at none."""
    reduce_parts(lambda part, _: len(part()[1]), parts, None, sum, lazy)


class Memory:
    """The most that some processes held together, looked at twice a second."""

    def __init__(self, pids: list[int]) -> None:
        self.most, self._pids, self._done = 0, pids, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._done.wait(0.5):
            held = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in self._pids]
            self.most = max(self.most, sum(held))

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def fit(parts: list[Any]) -> ETANAClassifier:
    return distributed.fit(ETANAClassifier(), parts)


def compare(client: Client, rows: int, alone_rows: int, block_rows: int, rounds: int) -> dict[str, Any]:
    """One process and the cluster in turns; the least wall seconds of each, per million rows."""
    sides = {"alone": (alone_rows, readers(alone_rows, block_rows), None)}
    sides["cluster"] = rows, [dask.delayed(reader) for reader in readers(rows, block_rows)], client
    workers = list(client.run(os.getpid).values())
    found: dict[str, list[Took]] = {}
    with Memory([os.getpid(), *workers]) as memory:
        for turn in range(2 * rounds + 1):
            name = list(sides)[turn % 2]
            n, parts, where = sides[name]
            some = parts[: max(len(parts) // 10, 1)]
            made = measure(partial(make_only, some, where is not None), where)
            found.setdefault(f"{name}, made", []).append(made.per_million(min(len(some) * block_rows, n)))
            found.setdefault(name, []).append(measure(partial(fit, parts), where).per_million(n))
            print(f"{name}: {found[name][-1]}, load {os.getloadavg()[0]:.1f}", flush=True)
    per = {name: min(took) for name, took in found.items()}
    for name in sides:
        per[f"{name}, without making"] = per[name] - per[f"{name}, made"] - per[f"{name}, made"]
    return {
        "rows": rows, "alone_rows": alone_rows, "block_rows": block_rows, "workers": len(workers),
        "per_million_rows": {name: took._asdict() for name, took in per.items()}, "peak_gb": memory.most / 1e9,
    }  # fmt: skip


def show(found: dict[str, Any]) -> None:
    per, n = found["per_million_rows"], found["workers"]
    print(f"\n{found['rows']:,} rows on {n} workers, {found['alone_rows']:,} in one process; blocks of "
          f"{found['block_rows']:,} rows x {COLUMNS} columns; s per million rows:")  # fmt: skip
    print(f"{'':<26} {'wall':>7} {'processor here':>15} {'of workers':>11}")
    for name, took in per.items():
        print(f"{name:<26} {took['wall']:7.3f} {took['here']:15.3f} {took['workers']:11.3f}")
    for words in ("", ", without making"):
        one, many = (per[name + words] for name in ("alone", "cluster"))
        # A worker's share, and then the client's work: what the clock would say if nobody else were there.
        busy = (many["workers"] / n + many["here"]) / one["here"] * n
        print(f"wall{words}: {many['wall'] / one['wall'] * n:.2f} times a {n}th of one process (limit {LIMIT}); "
              f"by processor seconds {busy:.2f}")  # fmt: skip
    print(f"all processes together held at most {found['peak_gb']:.1f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="on the cluster")
    parser.add_argument("--alone-rows", type=int, default=10_000_000, help="in one process")
    parser.add_argument("--block-rows", type=int, nargs="+", default=[200_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", type=Path, help="append results to this file, a line of JSON each")
    given = parser.parse_args()
    fit(readers(5000, 1000))  # what has to be compiled is
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=given.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit="3GB"
        ) as cluster,
        Client(cluster) as client,
    ):
        fit([dask.delayed(reader) for reader in readers(5000, 1000)])
        for block_rows in given.block_rows:
            found = compare(client, given.rows, given.alone_rows, block_rows, given.rounds)
            show(found)
            if given.output:
                with given.output.open("a") as file:
                    file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
