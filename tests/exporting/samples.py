"""Classifiers to export, and rows to decide: 2 to 15 classes, missing values, categories, groups of prices."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import datasets

import etana
from reference import Reference


class Sample(NamedTuple):
    """A fitted classifier and test rows, as a frame."""

    clf: Any
    test: pd.DataFrame


def bundled(name: str, gaps: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """A set of scikit-learn's, with a share of its values gone."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if gaps:
        X = X.mask(np.random.default_rng(0).random(X.shape) < gaps)
    return X, y.to_numpy()


@cache
def clinic(n_classes: int = 3, n: int = 900) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and labels that depend on the class, with gaps; names and labels that are hard to quote."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=n)
    numbers = {f"lab {k}": np.round(rng.normal((y * (k + 1)) % n_classes, 1.0), 2) for k in range(6)}
    colours = np.array(["it's red", 'blue "deep"', "gréen", "</script>", "50% @p@"])
    X = pd.DataFrame(numbers)
    X['a "quoted" name'] = colours[(y + rng.integers(2, size=n)) % 5]
    X["smoker"] = rng.random(n) < 0.2 + 0.6 * (y == 0)
    X = X.mask(rng.random(X.shape) < 0.08)
    X["smoker"] = X["smoker"].map(lambda v: None if v != v else bool(v)).astype(object)
    # A label that no training row has.
    X.loc[n - 5 :, 'a "quoted" name'] = "unheard of"
    labels = np.array([f"class {i}; -- 'it'" for i in range(n_classes)])
    return X, labels[y]


def groups_of(X: pd.DataFrame) -> etana.FeatureCosts:
    """Every second column is of one blood draw, which is paid once."""
    names = list(X.columns)
    costs = {name: 0.01 + 0.003 * k for k, name in enumerate(names)}
    blood = names[::2]
    return etana.FeatureCosts(costs, dict.fromkeys(blood, "blood"), {name: costs[name] / 3 for name in blood})


def _half(X: pd.DataFrame, y: np.ndarray, clf: Any) -> Sample:
    return Sample(clf.fit(X[::2], y[::2]), X[1::2])


def _reference(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A set of the reference data, training and test rows together, gaps as gaps."""
    found = Reference.find()
    X, y, X_test, y_test = found.split(name)
    with found.data(name) as archive:
        if "missing" in archive:
            X = np.where(archive["missing"] > 0, np.nan, X)
        names = [f"column {k}" for k in range(X.shape[1])]
    if X_test is not None:
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        X, y = stack([X, X_test]), np.concatenate([y, y_test])
    return pd.DataFrame(X.toarray() if sparse.issparse(X) else X, columns=names), y


def _set(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name.startswith("clinic"):
        return clinic(int(name.removeprefix("clinic") or 3))
    if name in REFERENCE:
        return _reference(name)
    bare, _, gaps = name.partition("+")
    return bundled(bare, 0.1 if gaps else 0.0)


BUNDLED = ("breast_cancer", "wine", "iris", "digits", "wine+gaps", "clinic2", "clinic3", "clinic15")
REFERENCE = (
    "heart", "hepatitis", "bupa", "pima", "spambase", "thyroid", "physionet2012", "madelon", "mll", "lung2_1543", "car",
    "dexter",
)  # fmt: skip

WAYS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "etana": lambda X: etana.ETANAClassifier(feature_costs=0.01),
    "groups": lambda X: etana.ETANAClassifier(feature_costs=groups_of(X), missing="bin"),
    "uneven": lambda X: etana.ETANAClassifier(feature_costs=0.0, ordering="information"),
    "grid": lambda X: etana.ETANAClassifier(feature_costs=0.01, solver="grid", ordering="error"),
    "interpolated": lambda X: etana.ETANAClassifier(
        feature_costs=[0.0, *[0.01] * (X.shape[1] - 1)], solver=etana.policies.GridSolver(5, lookup="interpolate")
    ),
    "published": lambda X: etana.ETANAClassifier.as_published(feature_costs=0.01),
    "thresholds": lambda X: etana.FETANAClassifier(feature_costs=0.005, random_state=0),
    "adaptive": lambda X: etana.AdaptiveClassifier(feature_costs=0.01),
    "adaptive groups": lambda X: etana.AdaptiveClassifier(feature_costs=groups_of(X), missing="bin"),
}


@lru_cache(maxsize=32)
def sample(name: str, way: str) -> Sample:
    """A classifier of this kind, fitted on half of a set, and the other half."""
    X, y = _set(name)
    return _half(X, y, WAYS[way](X))


def numbers_of(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Rows as C and other languages of numbers take them: labels are numbers among the levels."""
    from etana.table import read_table

    return np.ascontiguousarray(read_table(rows).block(np.arange(model.n_features), model.levels))
