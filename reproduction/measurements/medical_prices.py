"""Five medical sets in Canadian dollars, from raw columns with missing values.

Every mistake costs a multiple of the price of the whole panel of tests, group discounts counted: 0.5, 2 and 10. The
protocol is that of the other experiments: five folds, and the given test part for Thyroid. The figure is dollars for
each patient, tests and mistakes together. All methods see prices in units of a mistake, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from etana import datasets
from etana.costs import FeatureCosts, resolve_feature_costs
from etana.evaluation.measuring import evaluate
from reproduction.cells import Cell, Record
from reproduction.experiment_data import load_data
from reproduction.methods import Setting, method_of
from reproduction.warm_up import warm_up

__all__ = ["METHODS", "MULTIPLES", "SETS", "prepare"]

SETS = ("heart", "hepatitis", "thyroid", "pima", "bupa")
MULTIPLES = (0.5, 2.0, 10.0)
METHODS = (
    "nothing",
    "all-features",
    "decision-tree",
    "adaptive",
    "etana-cost",
    "etana-information",
    "etana",
    "sequential",
)


def prepare(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data and loops; what is returned does the work."""
    data = load_data(cell.dataset, data_dir)
    prices = datasets.load(cell.dataset, data_dir=data_dir).column_costs
    assert prices is not None
    panel = resolve_feature_costs(prices, data.X.shape[1]).total(np.arange(data.X.shape[1]))
    mistake = float(dict(cell.parameters)["multiple"]) * panel
    warm_up(cell, data)

    def work() -> list[Record]:
        X, y, protocol = data.training(cell.seed)
        setting = Setting(len(data.class_names), _in_mistakes(prices, mistake), seed=cell.seed)
        result = evaluate(method_of(cell.method).make(setting), X, y, protocol=protocol)
        return [
            {
                "part": part,
                "dollars": mistake * (1 - fold.accuracy + (fold.cost or 0.0)),
                "tests": mistake * (fold.cost or 0.0),
                "panel": panel,
                "accuracy": fold.accuracy,
                "n_features": fold.n_features,
                "training_seconds": fold.training_seconds,
            }
            for part, fold in enumerate(result.folds)
        ]

    return work


def _in_mistakes(prices: FeatureCosts, mistake: float) -> FeatureCosts:
    """Prices by column, in units of a mistake."""
    full: Any = prices.costs
    discounted: Any = prices.discounted
    cheaper = None if discounted is None else np.asarray(discounted, dtype=np.float64) / mistake
    return FeatureCosts(np.asarray(full, dtype=np.float64) / mistake, prices.groups, cheaper)
