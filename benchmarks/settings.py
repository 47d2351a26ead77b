"""Defaults that rows had a say in, and what rows said: cross-validation on rows that no figure is reported on.

    python benchmarks/settings.py --data-dir DATA -o settings.csv                # all
    python benchmarks/settings.py --data-dir DATA --only temperature,splits --sets heart,pima

Rows are those of :func:`halves.rows_for_settings`, sets that come with scikit-learn, and made sets whose seeds serve
nothing else. For each setting and each of its values: what held-out rows pay (0.01 a feature, 1 a mistake), four times
five folds, less what they pay with the default, and one standard error over the folds. The value that pays least in the
mean over all sets is the default, and of equals the one that asks for less work.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import RepeatedStratifiedKFold

import etana
import etana.beliefs.prefixes.densities
import etana.classifiers.committee
import etana.classifiers.prefixed
import etana.learning.boosting
import etana.learning.instance_choice
import etana.learning.prefixes
import etana.learning.regions
import etana.learning.temperature
from bench_tools import Lines, paid_more
from halves import rows_for_settings
from made_sets import cube, cube_nm, switch

BUNDLED: dict[str, Callable[..., Any]] = {"breast_cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
MADE: dict[str, Callable[[], Any]] = {
    "cube": lambda: cube(600, seed=7001),
    "cube_nm": lambda: cube_nm(600, seed=7002),
    "switch2": lambda: switch(1000, which=2, seed=7003),
}
SMALL = ("heart", "hepatitis", "pima", "bupa", "breast_cancer", "wine")
FORESTS = etana.learning.boosting._FORESTS
ALL_MEMBERS = etana.learning.prefixes.MEMBERS
FIELDS = ("setting", "set", "fold", "value", "cost")


class Setting(NamedTuple):
    """A name in a module, its values with the default first, what it is tried with, and the sets."""

    module: Any
    name: str
    values: tuple[Any, ...]
    make: Callable[[], Any]
    sets: tuple[str, ...]


SETTINGS = {
    # How many standard errors T = 1 may be dearer.
    "temperature": Setting(
        etana.learning.temperature, "_HALF", (0.5, 0.0, 1.0, math.inf), etana.ETANAClassifier,
        (*SMALL, "thyroid", "spambase", "physionet2012", "madelon"),
    ),
    "members": Setting(
        etana.classifiers.committee, "MEMBERS",
        (ALL_MEMBERS, ALL_MEMBERS[:3], ALL_MEMBERS[:2], ALL_MEMBERS[1:]),
        lambda: etana.CommitteeClassifier(splits=False), ("thyroid", "spambase", "physionet2012", "madelon"),
    ),
    # Of up to 500 rows.
    "members_of_few": Setting(
        etana.classifiers.committee, "_MEMBERS_OF_FEW",
        (ALL_MEMBERS[:3], ALL_MEMBERS, ALL_MEMBERS[:2], ALL_MEMBERS[1:3]),
        lambda: etana.CommitteeClassifier(splits=False), SMALL,
    ),
    # Forests whose sums are averaged: small trees, larger ones, or both.
    "forests": Setting(
        etana.learning.boosting, "_FORESTS", (FORESTS, FORESTS[:1], FORESTS[1:]),
        lambda: etana.CommitteeClassifier(splits=False), ("thyroid", "spambase", "physionet2012", "madelon"),
    ),
    # Rows' worth of belief that the deviation of a class is that of all.
    "spread": Setting(
        etana.beliefs.prefixes.densities, "_TOWARDS_SPREAD", (100.0, 4.0, 25.0, 400.0),
        lambda: etana.CommitteeClassifier(splits=False), (*SMALL, "cube", "thyroid", "spambase"),
    ),
    # Rows among which the order is looked for; --rows 3000.
    "search": Setting(
        etana.classifiers.committee, "_SEARCH_ROWS", (2000, 1000, 500),
        lambda: etana.CommitteeClassifier(splits=False), ("spambase", "madelon"),
    ),
    # Rows up to which order and members are made again without each fold.
    "nested": Setting(
        etana.classifiers.prefixed, "_FEW_ROWS", (1000, 0), lambda: etana.CommitteeClassifier(splits=False), SMALL
    ),
    # Steps that are looked ahead at most, and strengths among which held-out rows choose.
    "steps": Setting(
        etana.learning.instance_choice, "_MOST_STEPS", (2, 3, 0), etana.AdaptiveClassifier, SMALL
    ),
    "strengths": Setting(
        etana.learning.instance_choice, "_STRENGTHS_AHEAD", ((50.0, 10.0), (50.0, 20.0, 10.0, 5.0), (10.0,)),
        etana.AdaptiveClassifier, SMALL,
    ),
    "strengths_of_information": Setting(
        etana.learning.instance_choice, "_STRENGTHS",
        ((math.inf, 10.0, 2.0), (math.inf, 20.0, 5.0), (math.inf, 50.0, 20.0, 10.0, 5.0, 2.0)),
        etana.AdaptiveClassifier, (*SMALL, "thyroid", "spambase"),
    ),
    # Standard errors by which a split has to pay.
    "splits": Setting(
        etana.learning.regions, "_CLEAR", (2.0, 1.0, 1.5, 2.5), etana.CommitteeClassifier,
        ("heart", "pima", "breast_cancer", "cube", "cube_nm", "switch2"),
    ),
}  # fmt: skip


def rows_of(name: str, data_dir: str | None, most: int) -> tuple[Any, np.ndarray]:
    """Rows that settings may be chosen on."""
    if name in MADE:
        return MADE[name]()
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return X[:most], y[:most]
    return rows_for_settings(etana.datasets.load(name, data_dir=data_dir), most)


def paid(clf: Any, X: Any, y: np.ndarray, X_held: Any, y_held: np.ndarray) -> float:
    """What held-out rows pay."""
    walk = clf.fit(X, y).acquire(X_held)
    return float((walk.costs + (walk.labels != y_held)).mean())


def measure(key: str, name: str, given: argparse.Namespace, lines: Lines) -> None:
    """What each value pays on each fold."""
    setting = SETTINGS[key]
    X, y = rows_of(name, given.data_dir, given.rows)
    default = getattr(setting.module, setting.name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=given.repeats, random_state=0)
    for fold, (train, held) in enumerate(folds.split(np.zeros(len(y)), y)):
        if lines.has(key, name, fold):
            continue
        for value in setting.values:
            setattr(setting.module, setting.name, value)
            cost = paid(setting.make(), X[train], y[train], X[held], y[held])
            setattr(setting.module, setting.name, default)
            lines.add(key, name, fold, value, cost)


def summarise(lines: list[dict[str, str]]) -> None:
    """Differences to the default, for each set and in the mean."""
    found: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in lines:
        found[line["setting"]][line["value"]][line["set"]].append(float(line["cost"]))
    for key, values in found.items():
        default, *others = (str(value) for value in SETTINGS[key].values)
        level = {name: np.mean(costs) for name, costs in values[default].items()}
        print(f"{key}: default {default}: " + ", ".join(f"{name} {cost:.4f}" for name, cost in level.items()))
        for value in others:
            print(f"  {value}: mean {paid_more(values[value], values[default])}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("-o", "--output", default="settings.csv")
    options.add_argument("--only", default=",".join(SETTINGS))
    options.add_argument("--sets", default="")
    options.add_argument("--repeats", type=int, default=4)
    options.add_argument("--rows", type=int, default=1000, help="most rows of a set")
    given = options.parse_args()
    lines = Lines(given.output, FIELDS)
    warnings.simplefilter("ignore")
    for key in given.only.split(","):
        for name in SETTINGS[key].sets:
            if not given.sets or name in given.sets.split(","):
                measure(key, name, given, lines)
                print(key, name, file=sys.stderr)
    summarise(lines.lines)


if __name__ == "__main__":
    main()
