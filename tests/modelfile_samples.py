"""Classifiers of every kind, and a frame with labels and missing values, for the tests of model files."""

import json
from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from etana import CommitteeClassifier, ETANAClassifier, FETANAClassifier, SequentialClassifier
from etana.modelfile import container
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver

QUICK = {"batch": 64, "max_iterations": 20}


def wine():
    return load_wine(return_X_y=True)


def few_digits(return_X_y=True):
    """Ten classes, and too many answers to follow them all; no more columns than that takes."""
    X, y = load_digits(return_X_y=return_X_y)
    return X[:, 20:30], y


def some_of_breast_cancer(return_X_y=True):
    """Two classes; a dozen columns, because every question of a free model is explained in a test."""
    X, y = load_breast_cancer(return_X_y=return_X_y)
    return X[:, 18:], y


SOLVERS = {
    "auto": (ETANAClassifier(0.01), load_breast_cancer),
    "exact": (ETANAClassifier(0.002, solver=ExactSolver(1e-4, 4096)), some_of_breast_cancer),
    "exact, free": (ETANAClassifier(0.0), some_of_breast_cancer),
    "points, a tree": (ETANAClassifier(0.05), load_iris),
    "points, fitted": (ETANAClassifier(0.002, n_bins=4, ordering="error", random_state=3), few_digits),
    "points, free": (ETANAClassifier(0.0, solver=PointsSolver(random_state=2)), few_digits),
    "grid, nearest": (ETANAClassifier(0.01, ordering="error", solver="grid"), load_wine),
    "grid, interpolate": (ETANAClassifier(0.01, ordering="error", solver=GridSolver(7, "interpolate")), load_wine),
    "thresholds": (
        ETANAClassifier(0.01, ordering="error", solver=ThresholdSolver(max_iterations=5, batch=64)),
        load_wine,
    ),
    "published": (ETANAClassifier.as_published(), load_wine),
    "F-ETANA": (FETANAClassifier(0.01, **QUICK), load_wine),
    "F-ETANA, free": (FETANAClassifier(0.0, **QUICK), load_wine),
    "F-ETANA, original": (FETANAClassifier(0.01, original=True, max_iterations=50), load_iris),
}

SEQUENTIAL = SequentialClassifier(feature_costs=0.01), load_wine
REGIONS_APART = CommitteeClassifier(0.02, max_features=3, cv=2)  # on rows with a gate


@cache
def _fit(name):
    clf, data = SOLVERS[name]
    X, y = data(return_X_y=True)
    return deepcopy(clf).fit(X, y), X, y


def fitted(name):
    """One of these classifiers, fitted once and given to each who asks as a copy; and its training rows."""
    return deepcopy(_fit(name))


def frame():
    rng = np.random.default_rng(1)
    n = 400
    colour = rng.choice(["rot", "grün", "bläu", "黄"], n)
    data = {
        'größe ✓ "quoted" \\ 😀': rng.normal(size=n),
        "colour": colour,
        "smoker": rng.random(n) < 0.4,
        "": rng.integers(0, 5, n),
    }
    table = pd.DataFrame(data)
    table["stage"] = pd.Categorical.from_codes(rng.integers(0, 3, n), [1, 2, 3])
    table["dose"] = pd.Categorical.from_codes(rng.integers(0, 2, n), [0.5, float("inf")])
    table.loc[::7, "colour"] = None
    table.iloc[::5, 0] = np.nan
    y = np.where(colour == "rot", "ja", np.where(rng.random(n) < 0.5, "nein", "vielleicht"))
    return table, y


def crafted(data, path, change):
    """Write a file with changed content and a right checksum; change(content, arrays) edits in place.

    What ``change`` returns is the name of the class, if it is a text.
    """
    path.write_bytes(data)
    metadata, arrays = container.read(str(path), lambda name: True)
    content = json.loads(metadata["content"])
    named = change(content, arrays)
    estimator = named if isinstance(named, str) else metadata["estimator"]
    metadata = {"package_version": "0", "estimator": estimator, "content": json.dumps(content)}
    container.write(str(path), metadata, arrays)


def put(name, at, value):
    def change(_, arrays):
        arrays[name][at] = value

    return change


def cut(name):
    def change(_, arrays):
        arrays[name] = np.ascontiguousarray(arrays[name][:-1])

    return change


def note(*keys, value):
    def change(content, _):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change
