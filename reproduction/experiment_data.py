"""The data of an experiment and how it is split, in one form for the paper's sets and for those of scikit-learn.

Given test parts are used as they are; other sets are measured by stratified folds. News20 is far larger than the others
and is measured on a quarter held out, stratified and drawn with the seed: the paper does not say how it split this set.
Classes are coded as in the original files, which matters to Alpha-Investing: -1 and 1 if there are two, else 1, 2, ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.evaluation.measuring import Folds, HoldOut

__all__ = ["BUNDLED", "N_SPLITS", "PAPER_SETS", "ExperimentData", "load_data", "n_parts"]

PAPER_SETS = ("madelon", "lung", "mll", "dexter", "car", "lung2", "news20")
BUNDLED = ("breast_cancer", "wine", "iris")
N_SPLITS = 5
_GIVEN = ("madelon", "mll", "dexter", "thyroid")
_HELD_OUT = {"news20": 0.25}


@dataclass(frozen=True, eq=False)
class ExperimentData:
    """A data set ready to be measured on; ``differs`` says how it differs from the paper's, if it does."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: Any
    class_names: list[str]
    differs: str | None = None

    def with_presence(self) -> ExperimentData:
        """The same with every value replaced by whether it is there (not zero)."""
        test = None if self.X_test is None else _presence(self.X_test)
        return replace(self, X=_presence(self.X), X_test=test)

    def training(self, seed: int) -> tuple[Any, np.ndarray, HoldOut | Folds]:
        """Rows, coded labels and protocol, as :func:`etana.evaluation.measuring` takes them."""
        labels = _coded(self.y, len(self.class_names))
        if self.X_test is not None:
            return self.X, labels, HoldOut(self.X_test, _coded(self.y_test, len(self.class_names)))
        if self.name not in _HELD_OUT:
            return self.X, labels, Folds(N_SPLITS, seed=seed)
        from sklearn.model_selection import train_test_split

        rows = np.arange(len(labels))
        kept, held = train_test_split(rows, test_size=_HELD_OUT[self.name], stratify=labels, random_state=seed)
        return self.X[kept], labels[kept], HoldOut(self.X[held], labels[held])


def n_parts(name: str) -> int:
    """How many training and test parts a set is measured on."""
    return 1 if name in _GIVEN or name in _HELD_OUT else N_SPLITS


@lru_cache(maxsize=1)
def load_data(name: str, data_dir: str | None = None) -> ExperimentData:
    """A set of the paper from :mod:`etana.datasets`, or one that is bundled with scikit-learn."""
    if name in BUNDLED:
        from sklearn import datasets as bundled

        bunch = getattr(bundled, f"load_{name}")()
        return ExperimentData(name, bunch.data, bunch.target, None, None, [str(c) for c in bunch.target_names])
    from etana import datasets

    found = datasets.load(name, data_dir=data_dir)
    if found.X_test is None and name in _GIVEN:
        raise InputError(f"{name} came without its test part; put {name}.npz into the data folder")
    return ExperimentData(name, found.X, found.y, found.X_test, found.y_test, found.class_names, found.differs)


def _coded(y: np.ndarray, n_classes: int) -> np.ndarray:
    return 2 * np.asarray(y) - 1 if n_classes == 2 else np.asarray(y) + 1


def _presence(X: Any) -> Any:
    present = (X != 0).astype(np.float64)
    return present.tocsr() if hasattr(present, "tocsr") else present
