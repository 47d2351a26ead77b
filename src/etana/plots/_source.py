"""The parts of a classifier that pictures and reports read, and what came of its walk through labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from etana.acquisition import Acquisition, Case, Model
from etana.binning import Binner
from etana.costs import FeatureCosts, resolve_mistakes
from etana.errors import InputError
from etana.kernels.rules import NEVER
from etana.policies import Policy, solver_for
from etana.problem import Problem
from etana.table import read_table

__all__ = ["Outcome", "Source", "check_labels"]


@dataclass(frozen=True)
class Source:
    """A fitted classifier, or an :class:`etana.acquisition.Model`, behind one set of names.

    Attributes
    ----------
    estimator : object
        What was given; it can ``acquire`` and ``start``.
    classes : array (N,)
    mistakes : array (N, N)
        Misclassification costs.
    names : list of str, or None
    problem, policy, order, binner
        None for a classifier that has no fixed order of features.
    """

    estimator: Any
    classes: np.ndarray
    mistakes: np.ndarray
    names: list[str] | None
    problem: Problem | None
    policy: Policy | None
    order: np.ndarray | None
    binner: Binner | None

    @classmethod
    def of(cls, estimator: Any) -> Source:
        """Read the parts, or say what is missing."""
        # The attributes of a scikit-learn classifier end in an underscore; those of a bare model do not.
        end = "_" if hasattr(estimator, "classes_") else ""
        if not hasattr(estimator, f"classes{end}") or not hasattr(estimator, "acquire"):
            raise InputError(
                f"{type(estimator).__name__} has no classes and no acquire(); pass a fitted etana classifier "
                "or an etana.acquisition.Model"
            )
        order = getattr(estimator, "feature_order_" if end else "order", None)
        problem, policy, binner = (getattr(estimator, name + end, None) for name in ("problem", "policy", "binner"))
        names = getattr(estimator, "feature_names_in_" if end else "names", None)
        classes = np.asarray(getattr(estimator, f"classes{end}"))
        model = getattr(estimator, "model_", estimator)
        if hasattr(model, "mistakes"):
            mistakes = model.mistakes
        else:
            mistakes = resolve_mistakes(getattr(estimator, "misclassification_costs", None), classes.size)
        return cls(estimator, classes, mistakes, None if names is None else list(names), problem, policy, order, binner)

    @property
    def model(self) -> Any:
        """The model behind the classifier, or what was given if there is none."""
        return getattr(self.estimator, "model_", self.estimator)

    @property
    def prices(self) -> np.ndarray | None:
        """Prices of features: in the order of asking if there is one, else in full; None if they are not known."""
        if self.problem is not None:
            return self.problem.feature_costs
        prices = getattr(self.model, "prices", None)
        return None if prices is None else prices.full

    @property
    def expected_cost(self) -> float | None:
        """What the model itself expects a row to cost; None if it expects nothing."""
        if self.policy is not None:
            return self.policy.expected_cost
        return getattr(self.model, "expected_cost", None)

    def name(self, column: int) -> str:
        """Name of a feature; its number where features have no names."""
        return self.names[column] if self.names is not None else f"feature {column}"

    def outcome(self, X: Any, y: Any, max_cost: float | None = None) -> Outcome:
        """Walk labelled rows."""
        truth = check_labels(y, read_table(X).n_rows, self.classes)
        walk = self.estimator.acquire(X, max_cost=max_cost)
        return Outcome(walk, truth, _codes(walk.labels, self.classes), self.mistakes)

    def start(self) -> Case:
        """A case that asks for one feature at a time."""
        return self.estimator.start()

    def scaled(self, factor: float) -> Source:
        """The same with every feature price multiplied by ``factor``; no new fit."""
        if hasattr(self.estimator, "with_costs"):
            prices = _scale(self.estimator.feature_costs, factor)
            return Source.of(self.estimator.with_costs(feature_costs=prices))
        p = self._fixed_order()
        problem = Problem.from_cells(p.priors, p.cells, p.offsets, p.feature_costs * factor, self.mistakes)
        return self._with_policy(problem, solver_for("auto", problem).solve(problem))

    def asking(self, n_features: int) -> Source:
        """The same, but with the policy that always asks the first ``n_features`` features."""
        problem = self._fixed_order()
        return self._with_policy(problem, Policy(problem, NEVER, np.zeros((1, 1)), n_features))

    def _fixed_order(self) -> Problem:
        if self.problem is None or self.order is None or self.binner is None:
            raise InputError(f"{type(self.estimator).__name__} has no fixed order of features, so this cannot be made")
        return self.problem

    def _with_policy(self, problem: Problem, policy: Policy) -> Source:
        assert self.order is not None
        assert self.binner is not None
        model = Model(self.binner, self.classes, self.order, problem, policy, self.names)
        return replace(self, estimator=model, problem=problem, policy=policy)


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


def check_labels(y: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
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
        return FeatureCosts(_scale(costs.costs, factor), costs.groups, discounted)
    if isinstance(costs, Mapping):
        return {name: price * factor for name, price in costs.items()}
    return np.asarray(costs, dtype=np.float64) * factor
