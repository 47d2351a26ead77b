"""What a second core is worth: wall seconds with one thread and with two, taking turns.

    python benchmarks/cores.py [--repeats 9]

The figure is the best of the turns: on a machine that others use, a second core is not always there to be had. For rows
through a decision graph a second figure does not need it: the processor seconds of the longer thread at each step, and
of what is done by one thread alone, are what a walk takes where nobody else is at work. Results of one and of two
threads are compared bit by bit. At the end eight threads make 1,000 predictions each.
"""

from __future__ import annotations

import argparse
import copy
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

import etana.threads
from bench_tools import made_data, save
from etana import AdaptiveClassifier, ETANAClassifier
from etana.walks import graph_walk


def bits(clf, walk) -> tuple[bytes, ...]:
    arrays = clf.counts_.cells, clf.binner_.edges, walk.labels, walk.n_features, walk.costs, walk.posteriors
    return tuple(a.tobytes() for a in arrays)


def measure(X, y, repeats: int) -> dict[str, dict[str, float]]:
    """Best wall seconds of fit and classification by number of threads."""
    best: dict[str, dict[str, float]] = {"fit": {}, "classification": {}}
    seen = set()
    for _ in range(repeats):
        for n in (1, 2):
            etana.threads.n_cores = lambda n=n: n
            start = time.perf_counter()
            clf = ETANAClassifier().fit(X, y)
            middle = time.perf_counter()
            walk = clf.acquire(X)
            end = time.perf_counter()
            seen.add(bits(clf, walk))
            for what, seconds in (("fit", middle - start), ("classification", end - middle)):
                best[what][str(n)] = min(best[what].get(str(n), np.inf), seconds)
    assert len(seen) == 1, "results depend on the number of threads"
    return best


@contextmanager
def spared() -> Iterator[list[float]]:
    """What rows through a graph spare where threads run side by side: of each step the processor seconds of all its
    threads but the longest."""
    found: list[float] = []
    real = graph_walk.over_chunks

    def timed(run: Callable[[int, int], object], n: int, least: int) -> None:
        took: list[float] = []

        def one(first: int, last: int) -> None:
            start = time.thread_time()
            run(first, last)
            took.append(time.thread_time() - start)

        real(one, n, least)
        found.append(sum(took) - max(took))

    graph_walk.over_chunks = timed
    try:
        yield found
    finally:
        graph_walk.over_chunks = real


def adaptive(repeats: int) -> dict[str, dict[str, float]]:
    """Best wall and processor seconds of rows through a decision graph that grows as they come, and the latter of the
    longest threads."""
    X, y = made_data(100_000, 30, 3)
    clf = AdaptiveClassifier(m=10.0, look_ahead=False, temperature=1.0).fit(X[:2000], y[:2000])
    best: dict[str, dict[str, float]] = {}
    seen = set()
    for _ in range(repeats):
        for n in (1, 2):
            fresh = copy.deepcopy(clf)  # with the states that training rows reach, and no others
            etana.threads.n_cores = lambda n=n: n
            with spared() as others:
                start, cpu = time.perf_counter(), time.process_time()
                walk = fresh.acquire(X)
                took = {"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu}
            took["longest"] = took["cpu"] - sum(others)
            best[str(n)] = {what: min(s, best.get(str(n), took)[what]) for what, s in took.items()}
            seen.add(bits(clf, walk))
    assert len(seen) == 1, "results depend on the number of threads"
    return best


def many_callers() -> dict[str, float]:
    X, y = load_breast_cancer(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    expected, wrong, most = clf.predict(X), 0, 0

    def work(first: int) -> int:
        nonlocal most
        most = max(most, threading.active_count())
        rows = np.random.default_rng(first).integers(0, len(X) - 1, 1000).tolist()
        return sum(int(clf.predict(X[r : r + 1])[0] != expected[r]) for r in rows)

    start = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        wrong = sum(pool.map(work, range(8)))
    return {"seconds": time.perf_counter() - start, "wrong": wrong, "threads": most}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    table = Table("data", "what", title="One thread and two")
    for heading in ("1 thread, s", "2 threads, s", "times faster"):
        table.add_column(heading, justify="right")
    results = {"cores": []}
    real = etana.threads.n_cores
    for shape in ((200_000, 50, 2), (50_000, 50, 10), (200, 20_000, 2)):
        X, y = made_data(*shape)
        name = f"made, {shape[0]:,} x {shape[1]:,}, {shape[2]} classes"
        for what, s in measure(X, y, given.repeats).items():
            if what == "classification" and shape[0] < 5000:
                continue  # so few rows are one chunk
            results["cores"].append({"data": name, "what": what, "one": s["1"], "two": s["2"]})
            table.add_row(name, what, f"{s['1']:.3f}", f"{s['2']:.3f}", f"{s['1'] / s['2']:.2f}")
    found = adaptive(given.repeats)
    etana.threads.n_cores = real
    name = "made, 100,000 x 30, 3 classes"
    for what, kind in (
        ("classification, Adaptive", "wall"),
        ("classification, Adaptive, the longer thread", "longest"),
    ):
        one, two = (found[n][kind] for n in ("1", "2"))
        results["cores"].append({"data": name, "what": what, "one": one, "two": two})
        table.add_row(name, what, f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}")
    extra = found["2"]["cpu"] / found["1"]["cpu"] - 1
    results["callers"] = many_callers()
    save("cores", results)
    console = Console(width=120)
    console.print(table)
    console.print(f"two threads that grow a graph each take {extra:.0%} more processor time than one")
    c = results["callers"]
    console.print(f"8 threads x 1,000 predictions of one row: {c['seconds']:.2f} s, {c['wrong']} of them wrong")


if __name__ == "__main__":
    main()
