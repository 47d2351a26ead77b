"""All solvers against each other, on the paper's sets: seconds, expected cost under the model, gap, features.

    python benchmarks/solvers.py [--data FOLDER] [--data-sets mll,car] [--patience 120]

The paper's set-up: as many uniform bins as classes, every feature costs 0.01, 0/1 costs of mistakes, all training rows.
Each fit is a process of its own that is given up after --patience seconds. ``fit`` is all of it; ``solve`` the policy
alone; cost, gap and features are what the policy announces under its own model. The gap is measured against the best
lower bound that any solver proves for the same model. Beside it: the paper's Table 4, row T, on an Intel i7-7700
(News20: 20 cores, 256 GB).
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from rich.console import Console
from rich.table import Table

from bench_data import data_folder
from bench_tools import HERE, in_new_process, save

SETS = ("madelon", "lung", "mll", "dexter", "car", "lung2", "news20")
SOLVERS = {"exact": None, "points": None, "grid": "ETANA", "thresholds": "F-ETANA"}


def measure(name: str, solver: str, folder: str) -> dict[str, float]:
    """One fit, here; compiled before."""
    from sklearn.datasets import load_breast_cancer, load_wine

    from etana import ETANAClassifier, datasets
    from etana.policies import solver_for

    data = datasets.load(name, data_dir=folder)
    X, y, n = data.X, data.y, len(data.class_names)
    warm = load_breast_cancer if n == 2 else load_wine
    ETANAClassifier(solver=solver).fit(*warm(return_X_y=True))
    if not isinstance(X, type(warm(return_X_y=True)[0])):
        ETANAClassifier(solver=solver, binning="uniform").fit(X[:: max(len(y) // 50, 1)], y[:: max(len(y) // 50, 1)])
    clf = ETANAClassifier(solver=solver, binning="uniform", n_bins=n)
    wall, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y)
    out = {"fit": time.perf_counter() - wall, "fit cpu": time.process_time() - cpu}
    cpu = time.process_time()
    policy = solver_for(solver, clf.problem_.n_classes).solve(clf.problem_)
    out["solve cpu"] = time.process_time() - cpu
    out |= {"cost": policy.expected_cost, "features": policy.expected_n_features, "classes": n}
    lower = "exact" if n == 2 else "points"
    bound = (
        policy.lower_bound
        if solver == lower
        else solver_for(lower, clf.problem_.n_classes).solve(clf.problem_).lower_bound
    )
    return out | {"lower": min(bound, out["cost"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--data-sets", default=",".join(SETS))
    parser.add_argument("--patience", type=float, default=120)
    parser.add_argument("--one", nargs=2, metavar=("SET", "SOLVER"), help="measure one, in this process")
    given = parser.parse_args()
    folder = data_folder(given.data, "lung.npz")
    if folder is None:
        return
    if given.one:
        print(json.dumps(measure(*given.one, str(folder))))
        return
    sys.path.insert(0, str(HERE.parent))  # where the paper's figures are
    from reproduction.paper.published import SECONDS

    console, results = Console(width=130), []
    table = Table("data", "classes", "solver", title=f"Solvers; given up after {given.patience:g} s")
    for heading in ("fit s", "processor s", "solve s", "expected cost", "gap", "features", "paper, s"):
        table.add_column(heading, justify="right")
    two_classes = ("madelon", "lung", "dexter", "news20")
    for name in given.data_sets.split(","):
        for solver, column in SOLVERS.items():
            if solver == "exact" and name not in two_classes:
                continue
            with console.status(f"{name}: {solver}"):
                m = in_new_process("solvers.py", "--data", folder, "--one", name, solver, timeout=given.patience)
            paper = SECONDS["training_seconds"].get((name, column)) if column else None
            results.append({"data": name, "solver": solver, "paper": paper, "measured": m, "patience": given.patience})
            if m is None:
                table.add_row(name, "", solver, "given up", "", "", "", "", "", f"{paper or ''}")
                continue
            row = (f"{m['fit']:.3f}", f"{m['fit cpu']:.3f}", f"{m['solve cpu']:.3f}", f"{m['cost']:.5f}")
            gap = f"{(m['cost'] - m['lower']) / m['cost']:.2%}"
            table.add_row(name, str(m["classes"]), solver, *row, gap, f"{m['features']:.2f}", f"{paper or ''}")
        table.add_section()
    save("solvers", results)
    console.print(table)


if __name__ == "__main__":
    main()
