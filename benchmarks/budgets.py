"""Accuracy within a budget for the mean: a classifier is fitted at the usual price, then told what instances may cost.

    python benchmarks/budgets.py -o results/budgets.csv                                  # CUBE-NM, 8.5 features
    python benchmarks/budgets.py --only cube --features 8 --methods committee --draws 3

Made sets alone (:mod:`made_sets`), whose best accuracy for a number of features is known; new training and test rows
for each draw, which serve nothing else. A line for each draw and method: accuracy and features of test rows at the
price of the fit, and after ``for_budget``. Lines that are there are not made again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np

import etana
from bench_tools import Lines
from made_sets import cube, cube_nm

SETS: dict[str, Any] = {"cube": cube, "cube_nm": cube_nm}
METHODS: dict[str, Any] = {
    "committee": etana.CommitteeClassifier,
    "frugal": etana.FrugalClassifier,
    "sequential": etana.SequentialClassifier,
}
FIELDS = ("set", "features_allowed", "draw", "method", "accuracy", "features", "accuracy_within", "features_within")
_TRAINING, _TEST = 600, 4000  # rows
_FIRST_TRAINING, _FIRST_TEST = 20_000, 30_000  # seeds


def figures(clf: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy, and features for each row."""
    walk = clf.acquire(X)
    return float(np.mean(walk.labels == y)), float(walk.n_features.mean())


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-o", "--output", default="budgets.csv")
    options.add_argument("--only", default="cube_nm")
    options.add_argument("--features", type=float, default=8.5, help="that a row may be asked in the mean")
    options.add_argument("--methods", default="committee,frugal")
    options.add_argument("--draws", type=int, default=3)
    options.add_argument("--price", type=float, default=0.01, help="of a feature; another price needs another file")
    given = options.parse_args()
    lines = Lines(given.output, FIELDS)
    warnings.simplefilter("ignore")
    for name in given.only.split(","):
        for draw in range(given.draws):
            X, y = SETS[name](_TRAINING, seed=_FIRST_TRAINING + draw)
            test = SETS[name](_TEST, seed=_FIRST_TEST + draw)
            for method in given.methods.split(","):
                if not lines.has(name, given.features, draw, method):
                    clf = METHODS[method](feature_costs=given.price).fit(X, y)
                    within = clf.for_budget(given.price * given.features)
                    lines.add(name, given.features, draw, method, *figures(clf, *test), *figures(within, *test))
                    print(*lines.lines[-1].values(), file=sys.stderr)
    for key in dict.fromkeys((line["set"], line["features_allowed"], line["method"]) for line in lines.lines):
        own = [line for line in lines.lines if (line["set"], line["features_allowed"], line["method"]) == key]
        mean, spread = (
            f([[float(line[field]) for field in FIELDS[4:]] for line in own], axis=0) for f in (np.mean, np.std)
        )
        print(
            f"{key[0]}, {key[2]} ({len(own)} draws): {mean[0]:.3f} with {mean[1]:.2f}; "
            f"within {key[1]} features {mean[2]:.3f} ± {spread[2]:.3f} with {mean[3]:.2f} ± {spread[3]:.2f}"
        )


if __name__ == "__main__":
    main()
