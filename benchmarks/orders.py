"""What an order of features costs on rows that were not learnt from: "error", "information" and "cost".

    python benchmarks/orders.py [--data FOLDER] [--repeats 10] [--sets heart,Wine]

Only training rows are used. Of each costbench set, the training part of the first split is divided at random into two
thirds to learn from and one third to pay for; bins are one for each code. The sets of scikit-learn, here with a capital
letter, are divided into five folds. Shown are the mean cost of a row, features and mistakes, the change from "error" in
percent with its standard error over the repeats, and the seconds of a fit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from bench_data import data_folder
from bench_tools import save
from etana import Binner, ETANAClassifier
from etana.datasets import COSTBENCH, load_costbench

ORDERS = ("error", "information", "cost")
BUNDLED = {"Cancer": load_breast_cancer, "Wine": load_wine, "Digits": load_digits}


class Case(NamedTuple):
    """Rows, prices and ways to divide the rows."""

    name: str
    X: np.ndarray
    y: np.ndarray
    settings: dict[str, Any]
    mistakes: np.ndarray
    parts: Any


def costbench_cases(folder: Any, names: list[str], repeats: int) -> Iterator[Case]:
    for name in names:
        bench = load_costbench(name, folder)
        X, y = bench.X_train[0].astype(float), bench.y_train[0]
        parts = StratifiedShuffleSplit(repeats, test_size=1 / 3, random_state=0)
        bins = Binner.from_edges([np.arange(most) + 0.5 for most in X.max(axis=0)])
        for level, mistakes in bench.mistakes.items():
            settings = {"feature_costs": bench.column_costs, "misclassification_costs": mistakes, "binning": bins}
            yield Case(f"{name} {level}", X, y, settings, mistakes, parts)


def bundled_cases(names: list[str]) -> Iterator[Case]:
    for name in names:
        X, y = BUNDLED[name](return_X_y=True)
        for price in (0.01, 0.05):
            parts = StratifiedKFold(5, shuffle=True, random_state=0)
            yield Case(f"{name} {price}", X, y, {"feature_costs": price}, 1 - np.eye(y.max() + 1), parts)


def measure(case: Case) -> dict[str, dict[str, list[float]]]:
    """Cost of a held-out row and seconds of the fit, for each order and part."""
    out: dict[str, dict[str, list[float]]] = {name: {"cost": [], "seconds": []} for name in ORDERS}
    ETANAClassifier(ordering="cost", **case.settings).fit(case.X, case.y)  # loads the loops
    for train, held in case.parts.split(case.X, case.y):
        for name in ORDERS:
            start = time.perf_counter()
            clf = ETANAClassifier(ordering=name, **case.settings).fit(case.X[train], case.y[train])
            out[name]["seconds"].append(time.perf_counter() - start)
            walk = clf.acquire(case.X[held])
            out[name]["cost"].append(float((walk.costs + case.mistakes[case.y[held], walk.labels]).mean()))
    return out


def change(found: dict[str, dict[str, list[float]]], name: str) -> tuple[float, float]:
    """Percent above "error", and its standard error."""
    usual, cost = np.array(found["error"]["cost"]), np.array(found[name]["cost"])
    percent = 100 * (cost - usual) / usual.mean()
    return float(percent.mean()), float(percent.std(ddof=1) / np.sqrt(percent.size))


def summary(results: dict[str, Any]) -> list[str]:
    """The last line of the table: means over the cases, with the standard errors of the changes."""
    line = []
    for name in ORDERS[1:]:
        percent = np.array([change(found, name)[0] for found in results.values()])
        line.append(f"{percent.mean():+.2f} ± {percent.std(ddof=1) / np.sqrt(percent.size):.2f}")
    return line + [f"{np.mean([np.mean(found[o]['seconds']) for found in results.values()]):.3g}" for o in ORDERS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", default=",".join([*COSTBENCH, *BUNDLED]))
    given = parser.parse_args()
    names = given.sets.split(",")
    folder = data_folder(given.data, "costbench/heart.npz")
    cases = [] if folder is None else [*costbench_cases(folder, [n for n in names if n in COSTBENCH], given.repeats)]
    cases += bundled_cases([n for n in names if n in BUNDLED])
    table, console, results = Table("case", title="mean cost of a held-out row"), Console(width=130), {}
    for heading in (*ORDERS, "information, %", "cost, %", *(f"{name}, s" for name in ORDERS)):
        table.add_column(heading, justify="right", no_wrap=True)
    for case in cases:
        with console.status(case.name):
            results[case.name] = found = measure(case)
        changes = [f"{mean:+.1f} ± {error:.1f}" for mean, error in (change(found, name) for name in ORDERS[1:])]
        costs, seconds = ([f"{np.mean(found[o][what]):.3g}" for o in ORDERS] for what in ("cost", "seconds"))
        table.add_row(case.name, *costs, *changes, *seconds)
    table.add_section()
    table.add_row("mean", "", "", "", *summary(results))
    save("orders", results)
    console.print(table)


if __name__ == "__main__":
    main()
