"""How FrugalClassifier should choose among its candidates: rules tried on rows that no figure is reported on.

    python benchmarks/choice_rules.py --data-dir DATA -o choices.csv
    python benchmarks/choice_rules.py --data-dir DATA --only heart,pima:80 --draws 4

A set is named with the rows that are learnt from (``pima:80``); without, four fifths of its rows are. For each draw the
candidates are judged on the training rows, and each is fitted and pays on the others. So every rule can be asked which
candidate it takes, and what that one pays: a candidate replaces the default if it is cheaper by so many standard errors
(*clear*), and asking has to be cheaper than asking nothing by so many (*earned*). Differences are to the rule (1, 0).
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import etana
import etana.classifiers.frugal
from bench_tools import Lines, paid_more
from etana.learning.judging import NOTHING, Judged, judge
from settings import rows_of

SETS = (
    "heart", "hepatitis", "pima", "bupa", "breast_cancer", "wine", "spambase:100", "physionet2012:150", "pima:80",
    "thyroid:600",
)  # fmt: skip
RULES = [(clear, earned) for clear in (0.0, 0.5, 1.0, 2.0, math.inf) for earned in (0.0, 0.5, 1.0)]
USUAL = (1.0, 0.0)
FIELDS = ("set", "draw", "clear", "earned", "cost")
MOST_ROWS, MOST_TEST = 3000, 1000


def judged_and_paid(X: Any, y: np.ndarray, X_held: Any, y_held: np.ndarray) -> tuple[Judged, dict[str, float]]:
    """What training rows say of the candidates, and what each pays on other rows."""
    seen: list[Any] = []

    def remember(*args: Any) -> Judged:
        seen.append((args[1], judge(*args)))
        return seen[-1][1]

    etana.classifiers.frugal.judge = remember
    try:
        etana.FrugalClassifier().fit(X, y)
    finally:
        etana.classifiers.frugal.judge = judge
    makers, judged = seen[0]
    costs = {}
    for name in judged.paid:
        walk = makers[name]().fit(X, y).acquire(X_held)
        costs[name] = float((walk.costs + (walk.labels != y_held)).mean())
    return judged, costs


def choose(judged: Judged, clear: float, earned: float) -> str:
    """The candidate that a rule takes."""

    def less(name: str, other: str) -> tuple[float, float]:
        saved, shares = judged.paid[other] - judged.paid[name], judged.weights / judged.weights.sum()
        mean = float(shares @ saved)
        return mean, float(np.sqrt((shares**2 * (saved - mean) ** 2).sum()))

    best, most = judged.default, 0.0
    for name in judged.paid:
        mean, error = less(name, judged.default)
        if name not in (NOTHING, judged.default) and mean > max(clear * error, most):
            best, most = name, mean
    mean, error = less(best, NOTHING)
    return best if mean > earned * error else NOTHING


def parts_of(name: str, data_dir: str | None, draw: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training rows, and rows to pay on."""
    title, _, size = name.partition(":")
    X, y = rows_of(title, data_dir, MOST_ROWS)
    sizes = {"train_size": int(size), "test_size": min(len(y) - int(size), MOST_TEST)} if size else {"test_size": 0.2}
    learning, held = train_test_split(np.arange(len(y)), random_state=draw, stratify=y, **sizes)
    return X[learning], y[learning], X[held], y[held]


def summarise(lines: list[dict[str, str]]) -> None:
    """Differences to the usual rule, in the mean over the sets."""
    found: dict[tuple[float, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        found[float(line["clear"]), float(line["earned"])][line["set"]].append(float(line["cost"]))
    for (clear, earned), sets in found.items():
        print(f"clear {clear:g}, earned {earned:g}: {paid_more(sets, found[USUAL])}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("-o", "--output", default="choices.csv")
    options.add_argument("--only", default=",".join(SETS))
    options.add_argument("--draws", type=int, default=5)
    given = options.parse_args()
    lines = Lines(given.output, FIELDS)
    warnings.simplefilter("ignore")
    for name in given.only.split(","):
        for draw in range(given.draws):
            if lines.has(name, draw):
                continue
            judged, costs = judged_and_paid(*parts_of(name, given.data_dir, draw))
            for clear, earned in RULES:
                lines.add(name, draw, clear, earned, costs[choose(judged, clear, earned)])
            print(name, draw, {key: round(cost, 4) for key, cost in costs.items()}, file=sys.stderr)
    summarise(lines.lines)


if __name__ == "__main__":
    main()
