"""What FrugalClassifier pays beside its candidates and asking nothing, on real and made sets; and what it announces.

    python benchmarks/frugal.py --data-dir DATA -o results/frugal.csv            # a feature costs 0.01, a mistake 1
    python benchmarks/frugal.py --data-dir DATA --only heart,pima --splits 20
    python benchmarks/frugal.py --only cube_nm --methods committee --splits 3 --price 0.02 -o results/dearer.csv
    python benchmarks/frugal.py --data-dir DATA --only hepatitis --every-row -o results/every_row.csv

A line for each set, split and method is added to the file, and lines that are there are not made again. Test rows had
no part in the choice of any setting (:mod:`halves`), unless they are drawn from every row; sets with a test part of
their own have one split. Made sets (:mod:`made_sets`) have new training and test rows for each split. At the end:
means, paired differences to the best of the other methods with their standard errors, and paid over announced.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import etana
from bench_tools import Lines
from halves import splits_for_figures
from made_sets import cube, cube_nm, switch

REAL = ("heart", "hepatitis", "pima", "thyroid", "spambase", "madelon", "dexter", "physionet2012")
# What makes rows of a made set, and how many are learnt from.
MADE: dict[str, tuple[Any, int]] = {
    "cube": (cube, 600),
    "cube_nm": (cube_nm, 600),
    **{f"switch{k}": (partial(switch, which=k), 3000) for k in (1, 2, 3)},
}
METHODS: dict[str, Any] = {
    "frugal": etana.FrugalClassifier,
    "etana": etana.ETANAClassifier,
    "adaptive": etana.AdaptiveClassifier,
    "sequential": etana.SequentialClassifier,
    "committee": etana.CommitteeClassifier,
    "nothing": partial(etana.SequentialClassifier, max_features=0),
}
FIELDS = ("set", "split", "method", "cost", "accuracy", "features", "announced", "fit_seconds")


def splits_of(name: str, data_dir: str | None, n_splits: int, every_row: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Training and test rows, one split after another."""
    if name in MADE:
        make, n_rows = MADE[name]
        for seed in range(n_splits):
            yield (*make(n_rows, seed=100 + seed), *make(4000, seed=10_000 + seed))
        return
    data = etana.datasets.load(name, data_dir=data_dir)
    yield from splits_for_figures(data, n_splits, every_row)


def measure(clf: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, ...]:
    """What one fit pays on test rows: the last five fields."""
    started = time.process_time()
    clf.fit(X, y)
    seconds = time.process_time() - started
    walk = clf.acquire(X_test)
    wrong = walk.labels != y_test
    return (walk.costs + wrong).mean(), 1 - wrong.mean(), walk.n_features.mean(), clf.expected_cost_, seconds


def summarise(lines: list[dict[str, str]]) -> None:
    """Print the table."""
    paid: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    told: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in lines:
        paid[line["set"]][line["method"]][int(line["split"])] = float(line["cost"])
        told[line["set"], line["method"]].append(float(line["cost"]) / max(float(line["announced"]), 1e-9))
    for name, methods in paid.items():
        if "frugal" not in methods:
            continue
        own = methods["frugal"]
        cells = [f"{m} {np.mean(list(c.values())):.4f}" for m, c in methods.items()]
        others = {m: c for m, c in methods.items() if m != "frugal" and c.keys() >= own.keys()}
        if others:
            best = min(others, key=lambda m: np.mean([others[m][k] for k in own]))
            extra = np.array([own[k] - others[best][k] for k in own])
            error = extra.std(ddof=1) / np.sqrt(extra.size) if extra.size > 1 else float("nan")
            cells.append(f"| frugal less the best ({best}) {extra.mean():+.4f} ± {error:.4f}")
        print(f"{name} ({len(own)} splits): {', '.join(cells)}; paid/announced {np.mean(told[name, 'frugal']):.2f}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("-o", "--output", default="frugal.csv")
    options.add_argument("--only", default=",".join((*REAL, *MADE)))
    options.add_argument("--methods", default=",".join(METHODS))
    options.add_argument("--splits", type=int, default=20)
    options.add_argument("--price", type=float, default=0.01, help="of a feature; another price needs another file")
    options.add_argument("--every-row", action="store_true", help="test rows from all rows, in another file")
    given = options.parse_args()
    lines = Lines(given.output, FIELDS)
    warnings.simplefilter("ignore")
    for name in given.only.split(","):
        for split, part in enumerate(splits_of(name, given.data_dir, given.splits, given.every_row)):
            for method in given.methods.split(","):
                if not lines.has(name, split, method):
                    figures = measure(METHODS[method](feature_costs=given.price), *part)
                    lines.add(name, split, method, *figures)
                    print(f"{name} {split} {method}: {figures[0]:.4f}", file=sys.stderr)
    summarise(lines.lines)


if __name__ == "__main__":
    main()
