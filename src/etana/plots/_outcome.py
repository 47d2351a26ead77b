"""What came of the walk of labelled rows, and the model behind whatever can classify them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etana.costs import FeatureCosts
from etana.errors import InputError
from etana.model import Model
from etana.table import read_table
from etana.typing import ArrayLike, Fitted, TableLike
from etana.walks import Acquisition

__all__ = ["Outcome", "at_prices", "check_labels", "column_title", "model_of", "walk_labelled"]


def model_of(estimator: Fitted) -> Model:
    """The model of a fitted classifier, or the model itself."""
    model = estimator if isinstance(estimator, Model) else getattr(estimator, "model_", None)
    if not isinstance(model, Model):
        raise InputError(f"{type(estimator).__name__} has no model; pass a fitted etana classifier or an etana.Model")
    return model


def column_title(model: Model, column: int) -> str:
    """Name of a feature; its number where features have no names."""
    return model.names[column] if model.names is not None else f"feature {column}"


def walk_labelled(estimator: Fitted, X: TableLike, y: ArrayLike, max_cost: float | None = None) -> Outcome:
    """Take labelled rows through a classifier or a model."""
    model = model_of(estimator)
    truth = check_labels(y, read_table(X).n_rows, model.classes)
    walk = estimator.acquire(X, max_cost=max_cost)
    return Outcome(walk, truth, _codes(walk.labels, model.classes), model.mistakes)


def at_prices(estimator: Fitted, factor: float) -> Any:
    """The same classifier or model with every price of a feature multiplied; no new fit."""
    model = model_of(estimator)
    if not isinstance(estimator, Model):
        return estimator.with_costs(feature_costs=_scale(estimator.feature_costs, factor))
    new = model.at_prices(model.prices.times(factor))
    if new is None:
        raise InputError(
            f"this model ({model.policy.words}) cannot be made for other prices without its training rows; pass the "
            "fitted classifier"
        )
    return new


@dataclass(frozen=True)
class Outcome:
    """What labelled rows were asked and how it ended; classes as codes, arrays of length n."""

    walk: Acquisition
    truth: np.ndarray
    decided: np.ndarray
    mistakes: np.ndarray

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether each decision was right."""
        return self.truth == self.decided

    @cached_property
    def penalties(self) -> np.ndarray:
        """Misclassification cost of each row."""
        return self.mistakes[self.truth, self.decided]

    @cached_property
    def totals(self) -> np.ndarray:
        """Cost of each row: features and mistakes."""
        return self.walk.costs + self.penalties


def check_labels(y: ArrayLike, n_rows: int, classes: np.ndarray) -> np.ndarray:
    """The codes of true labels, or an error that says what is wrong with them."""
    if y is None:
        raise InputError("y is None; pass the true label of every row of X")
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise InputError(f"X has {n_rows} rows and y has shape {y.shape}; give one label per row, shape ({n_rows},)")
    if n_rows == 0:
        raise InputError("X has no rows; pass at least one")
    return _codes(y, classes)


def _codes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    position = {name: code for code, name in enumerate(classes.tolist())}
    codes = np.array([position.get(name, -1) for name in labels.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(codes < 0)
    if unknown.size:
        raise InputError(
            f"y has the label {labels[unknown[0]]!r} in row {unknown[0]}, which is not among the classes of the "
            f"model: {', '.join(map(repr, classes.tolist()[:12]))}{', ...' if classes.size > 12 else ''}"
        )
    return codes


def _scale(costs: Any, factor: float) -> Any:
    """Feature costs in any accepted form, multiplied."""
    if isinstance(costs, FeatureCosts):
        discounted = None if costs.discounted is None else _scale(costs.discounted, factor)
        return FeatureCosts(_scale(costs.costs, factor), costs.groups, discounted, costs.round * factor, costs.delayed)
    if isinstance(costs, Mapping):
        return {name: price * factor for name, price in costs.items()}
    return np.asarray(costs, dtype=np.float64) * factor
