"""Speed of fit and classification against scikit-learn, on the same data, in one run.

    make bench            # or: python benchmarks/speed.py [--data FOLDER] [--repeats 5]

The peer is ``make_pipeline(KBinsDiscretizer(encode="ordinal", strategy="uniform"), CategoricalNB())``: the same kind of
model, bins and counts, reading every feature. Methods take turns, and each figure is a median, so that a busy machine
slows all of them alike. Compiled loops are warm; what the first call of a process costs is shown at the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# One thread each: the comparison is of methods, not of linear algebra libraries.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from bench_data import data_folder
from etana import ETANAClassifier
from etana.policies import ExactSolver, PointsSolver

console = Console()


def pipeline():
    bins = KBinsDiscretizer(encode="ordinal", strategy="uniform", subsample=None)
    return make_pipeline(bins, CategoricalNB(min_categories=5))


METHODS = {
    "KBins + CategoricalNB": pipeline,
    "etana, default": ETANAClassifier,
    "etana, 5 uniform bins": lambda: ETANAClassifier(binning="uniform", n_bins=5),
}


def take_turns(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each job, all of them warm: short ones run often enough in their turn to take 0.1 s."""
    times = {}
    for name, job in jobs.items():
        job()
        start = time.perf_counter()
        job()
        times[name] = max(int(0.1 / (time.perf_counter() - start)), 1)
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(times[name]):
                job()
            seconds[name].append((time.perf_counter() - start) / times[name])
    return {name: float(np.median(s)) for name, s in seconds.items()}


def fit_new(make: Callable, X, y):
    return make().fit(X, y)


def made_data(rows: int, columns: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    shift = rng.normal(size=columns) * 0.5
    return rng.normal(size=(rows, columns)) + y[:, None] * shift, y


def data_sets(folder: Path | None):
    for name in ("lung", "car"):
        if folder is not None and (folder / f"{name}.npz").exists():
            with np.load(folder / f"{name}.npz") as z:
                yield f"{name} {z['X'].shape[0]} x {z['X'].shape[1]}", z["X"].astype(np.float64), z["y"]
    yield "made 200,000 x 50", *made_data(200_000, 50)


def compare(folder: Path | None, repeats: int) -> None:
    fit = Table(title="Fit: bins, counts, order and policy")
    walk = Table(title="Classification of the same rows, warm")
    for table, heading in ((fit, "seconds"), (walk, "rows per second")):
        table.add_column("data")
        table.add_column("method")
        table.add_column(heading, justify="right")
        table.add_column("against the pipeline", justify="right")
    for name, X, y in data_sets(folder):
        console.print(f"measuring {name}")
        fitted = {m: make().fit(X, y) for m, make in METHODS.items()}
        fits = take_turns({m: partial(fit_new, make, X, y) for m, make in METHODS.items()}, repeats)
        walks = take_turns({m: partial(clf.predict, X) for m, clf in fitted.items()}, repeats)
        peer = "KBins + CategoricalNB"
        for m in METHODS:
            fit.add_row(name, m, f"{fits[m]:.4f}", f"{fits[m] / fits[peer]:.2f} x its time")
            walk.add_row(name, m, f"{len(X) / walks[m]:,.0f}", f"{walks[peer] / walks[m]:,.1f} x its speed")
    console.print(fit, walk)


def growth() -> None:
    """Cost per instance against the number of features: what matters is how many are asked."""
    table = Table(title="Microseconds per instance as features are added (2,000 rows, one thread's work)")
    for heading in ("features", "features asked", "etana", "pipeline"):
        table.add_column(heading, justify="right")
    for columns in (100, 1_000, 10_000, 100_000):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 2, 400)
        X = rng.normal(size=(400, columns)).astype(np.float32)
        X[:, :100] += y[:, None] * np.linspace(1.2, 0.2, 100, dtype=np.float32)
        clf = ETANAClassifier().fit(X, y)
        test = np.tile(X, (5, 1))
        jobs = {"etana": lambda clf=clf, test=test: clf.acquire(test)}
        if columns <= 10_000:
            peer = pipeline().fit(X, y)
            jobs["pipeline"] = lambda peer=peer, test=test: peer.predict(test)
        seconds = take_turns(jobs, 3)
        asked = clf.acquire(test).n_features.mean()
        shown = f"{seconds['pipeline'] / 2000 * 1e6:,.0f}" if "pipeline" in seconds else "not run"
        table.add_row(f"{columns:,}", f"{asked:.2f}", f"{seconds['etana'] / 2000 * 1e6:.2f}", shown)
    console.print(table)


def solvers(folder: Path | None) -> None:
    """Time and certified gap of the solvers on the paper's set-up, V = N uniform bins, c = 0.01."""
    table = Table(title="Solvers, one core")
    for heading in ("problem", "classes", "stages", "solver", "solve s", "certificate s", "expected cost", "gap"):
        table.add_column(heading, justify="right")
    for name in ("mll", "lung2_1543", "car"):
        if folder is None or not (folder / f"{name}.npz").exists():
            continue
        with np.load(folder / f"{name}.npz") as z:
            n = int(z["y"].max()) + 1
            problem = ETANAClassifier(binning="uniform", n_bins=n).fit(z["X"].astype(float), z["y"]).problem_
        PointsSolver().solve(problem)
        _solver_row(table, name, problem, PointsSolver())
    rng = np.random.default_rng(0)
    from etana import Problem

    for cost in (1e-2, 1e-3):
        likelihoods = rng.dirichlet(np.ones(2), size=(1_400_000, 2)).transpose(0, 2, 1)
        _solver_row(table, f"random, c = {cost:g}", Problem([0.4, 0.6], likelihoods, cost), ExactSolver())
    console.print(table)


def _solver_row(table: Table, name: str, problem, solver) -> None:
    start = time.perf_counter()
    policy = solver.solve(problem)
    solved = time.perf_counter() - start
    cost, gap = policy.expected_cost, policy.gap
    certified = time.perf_counter() - start - solved
    table.add_row(
        name, str(problem.n_classes), f"{problem.n_features:,}", type(solver).__name__, f"{solved:.3f}",
        f"{certified:.3f}", f"{cost:.5f}", f"{gap / cost:.3%}",
    )  # fmt: skip


def new_prices(folder: Path | None) -> None:
    """Order and policy for new prices, from stored counts."""
    from sklearn.datasets import load_breast_cancer

    table = Table(title="New prices without a new fit")
    table.add_column("data")
    table.add_column("milliseconds", justify="right")
    sets = [("breast_cancer", *load_breast_cancer(return_X_y=True)), *data_sets(folder)]
    for name, X, y in sets:
        clf = ETANAClassifier().fit(X, y)
        seconds = take_turns({"prices": partial(clf.with_costs, feature_costs=0.02)}, 5)
        table.add_row(name, f"{1000 * seconds['prices']:.1f}")
    console.print(table)


def start_up() -> None:
    """CPU seconds of a new process."""
    table = Table(title="CPU seconds of a new process (compiled loops on disk)")
    table.add_column("program")
    table.add_column("seconds", justify="right")
    fit = "import etana, numpy as np; etana.ETANAClassifier().fit(np.eye(20), np.arange(20) % 2).predict(np.eye(20))"
    for program in ("pass", "import etana", "import etana.acquisition", "import sklearn.naive_bayes", fit):
        code = f"import time, os\n{program}\nt = os.times()\nprint(t.user + t.system)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        table.add_row(program, f"{float(done.stdout):.2f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with lung.npz and car.npz")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    folder = data_folder(options.data, "lung.npz")
    compare(folder, options.repeats)
    growth()
    solvers(folder)
    new_prices(folder)
    start_up()


if __name__ == "__main__":
    main()
