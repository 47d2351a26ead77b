"""Loops are compiled, or loaded, on a small problem before the clock starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from etana.evaluation import HoldOut, evaluate
from reproduction.cells import Cell
from reproduction.experiment_data import ExperimentData
from reproduction.methods import Setting, method_of

__all__ = ["setting_of", "warm_up"]


def setting_of(cell: Cell, n_classes: int) -> Setting:
    """What an estimator of this cell is made for."""
    given = dict(cell.parameters)
    return Setting(n_classes, given.get("cost", 0.01), given.get("n_bins"), cell.seed)


def warm_up(cell: Cell, data: ExperimentData) -> None:
    """One run of the method on a few rows of as many classes, stored in the same way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a handful of rows anything may be strange
        _run_small(cell, data)


def _run_small(cell: Cell, data: ExperimentData) -> None:
    n = len(data.class_names)
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(n), 6)
    X: Any = np.round(y[:, None] + rng.normal(size=(y.size, 6)), 3)
    if sparse.issparse(data.X):
        X = type(data.X)(np.abs(X))
    X = X.astype(data.X.dtype)
    setting = Setting(n, 0.01, min(setting_of(cell, n).bins, 3), 0)
    # A grid of beliefs grows fast with the classes, and its loops are the same for two.
    keep = np.flatnonzero(y < 2) if n > 4 else np.arange(y.size)
    evaluate(method_of(cell.method).make(setting), X[keep], y[keep] + 1, protocol=HoldOut(X[keep], y[keep] + 1))
