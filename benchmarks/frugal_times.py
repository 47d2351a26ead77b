"""Processor seconds of FrugalClassifier.fit beside LightGBM's, in one process, one thread each.

python benchmarks/frugal_times.py --data-dir DATA [--repeats 2]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import load_digits

import etana
from halves import splits_for_figures


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Four fifths of the rows."""
    X, y = load_digits(return_X_y=True)
    return X[:1437], y[:1437]


def seconds(fit: Callable[[], Any], repeats: int) -> float:
    """The least of several turns."""
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        fit()
        taken.append(time.process_time() - started)
    return min(taken)


def main() -> None:
    """Measure and print a table in Markdown."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("--repeats", type=int, default=2)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    spambase = next(splits_for_figures(etana.datasets.load("spambase", data_dir=given.data_dir), 1))[:2]
    for name, (X, y) in {"spambase": spambase, "digits": digits()}.items():
        few = np.concatenate([np.flatnonzero(y == label)[:40] for label in np.unique(y)])
        limit = seconds(lambda X=X, y=y: LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y), given.repeats)
        cells = [f"{limit:.2f}"]
        for effort in ("fast", "auto"):
            clf = etana.FrugalClassifier(effort=effort).fit(X[few], y[few])  # compiles
            took = seconds(lambda X=X, y=y, clf=clf: clf.fit(X, y), given.repeats)
            cells += [f"{took:.1f}", f"{took / limit:.0f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
