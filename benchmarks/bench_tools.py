"""What the benchmarks share: taking turns, calls with one row, new processes, results on disk, made-up data."""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def take_turns(jobs: dict[str, Callable[[], object]], repeats: int, least: float = 0.1) -> dict[str, dict[str, float]]:
    """Median wall and processor seconds of each job, all of them warm, in the order A, B, A, B, ...

    Short jobs run often enough in their turn to take ``least`` seconds. On a shared machine the processor seconds are
    the steadier ones; both are of all threads together and of the same calls.
    """
    often = {}
    for name, job in jobs.items():
        job()
        start = time.perf_counter()
        job()
        often[name] = max(int(least / max(time.perf_counter() - start, 1e-9)), 1)
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(often[name]):
                job()
            seen[name].append(((time.perf_counter() - wall) / often[name], (time.process_time() - cpu) / often[name]))
    medians = {name: np.median(pairs, axis=0) for name, pairs in seen.items()}
    return {name: {"wall": float(m[0]), "cpu": float(m[1])} for name, m in medians.items()}


def one_row(clf: Any, X: np.ndarray, seconds: float) -> dict[str, float]:
    """Microseconds of warm calls of ``predict`` with one row: median and 99 %."""
    rows = [np.ascontiguousarray(X[r : r + 1]) for r in range(min(len(X), 200))]
    for row in rows[:3]:
        clf.predict(row)
    took: list[float] = []
    while len(took) < 50 or (sum(took) < seconds and len(took) < 20_000):
        row = rows[len(took) % len(rows)]
        start = time.perf_counter()
        clf.predict(row)
        took.append(time.perf_counter() - start)
    p50, p99 = np.percentile(took, [50, 99]) * 1e6
    return {"p50": float(p50), "p99": float(p99), "calls": len(took)}


def made_data(rows: int, columns: int, classes: int = 2, seed: int = 0, dtype: Any = np.float64):
    """Normal columns whose means differ by class; made in blocks, so that nothing but the result is held."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    means = rng.normal(size=(classes, columns)).astype(dtype) * dtype(0.5)
    X = np.empty((rows, columns), dtype=dtype)
    for a in range(0, rows, 50_000):
        part = X[a : a + 50_000]
        rng.standard_normal(part.shape, dtype=dtype, out=part)
        part += means[y[a : a + 50_000]]
    return X, y


class Lines:
    """Figures in a CSV file, a line each. A new line is written at once, so that a run goes on where it was stopped."""

    def __init__(self, path: str, fields: tuple[str, ...]) -> None:
        self.path, self.fields, self.lines = Path(path), fields, []
        if self.path.exists():
            with self.path.open(newline="") as file:
                self.lines = list(csv.DictReader(file))

    def has(self, *values: Any) -> bool:
        """Whether there is a line that begins with these."""
        begins = [str(value) for value in values]
        return any([line[name] for name in self.fields[: len(begins)]] == begins for line in self.lines)

    def add(self, *values: Any) -> None:
        """One more line."""
        new = not self.path.exists()
        self.lines.append({name: str(value) for name, value in zip(self.fields, values, strict=True)})
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.fields)
            if new:
                writer.writeheader()
            writer.writerow(self.lines[-1])


def paid_more(costs: dict[str, list[float]], usual: dict[str, list[float]]) -> str:
    """How much more is paid than usual: in the mean over the sets, and on each, with one standard error over its draws.

    Both have the costs of the same draws, by set.
    """
    extra = {name: np.subtract(some, usual[name]) for name, some in costs.items()}
    errors = [e.std(ddof=1) / math.sqrt(e.size) if e.size > 1 else math.nan for e in extra.values()]
    mean, error = np.mean([e.mean() for e in extra.values()]), np.sqrt(np.square(errors).sum()) / len(errors)
    cells = ", ".join(f"{n} {e.mean():+.4f}±{s:.4f}" for (n, e), s in zip(extra.items(), errors, strict=True))
    return f"{mean:+.5f} ± {error:.5f} ({cells})"


def peak_megabytes() -> float:
    """The most memory that this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage() would also count what the parent held when it started this process.
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def in_new_process(script: str, *arguments: Any, timeout: float = 600) -> dict[str, Any] | None:
    """Run one of the benchmarks with these arguments, and read the JSON of its last line; None if it took too long."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def save(name: str, results: Any) -> None:
    """Keep results for the page, with the machine that they are from."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / ".gitignore").write_text("*\n")
    machine = {"cores": len(os.sched_getaffinity(0)), "processor": _processor(), "python": platform.python_version()}
    content = {"machine": machine, "when": time.strftime("%Y-%m-%d"), "results": results}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def reference_sets(data_dir: str | None, names: tuple[str, ...]):
    """Those of the paper's sets that are at hand, as (name, data set)."""
    from bench_data import data_folder
    from etana import datasets

    folder = data_folder(data_dir, "lung.npz")
    for name in names if folder is not None else ():
        yield name, datasets.load(name, data_dir=folder)
