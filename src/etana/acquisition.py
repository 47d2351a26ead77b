"""The walk of instances through a policy: many at once, or one question at a time.

Both ways run the same kernels on the same arrays, so a row that is classified in a batch and a :class:`Case` that is
answered by hand end with the same label, features, cost and posterior, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as short
from typing import Any, NamedTuple, Protocol

import numpy as np

from etana.binning import Binner
from etana.errors import InputError
from etana.explanation import explain, plain
from etana.kernels import rules
from etana.kernels import walk as kernel
from etana.policies.base import Policy
from etana.problem import Problem
from etana.table import Table, plain_value, read_table
from etana.threads import over_chunks

__all__ = ["Acquisition", "Answer", "AnyModel", "Case", "Model"]

_ROWS_PER_THREAD = 2048


class Acquisition:
    """What a batch of instances was asked, and what came of it.

    Attributes
    ----------
    labels : array (n,)
        Decided classes.
    n_features : array (n,)
        How many features each instance was asked.
    costs : array (n,)
        What those features cost.
    posteriors : array (n, N)
        Belief in each class at the stop.
    """

    def __init__(
        self, labels: np.ndarray, n_features: np.ndarray, costs: np.ndarray, posteriors: np.ndarray, order: np.ndarray
    ) -> None:
        self.labels = labels
        self.n_features = n_features
        self.costs = costs
        self.posteriors = posteriors
        self._order = order

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        if not len(self):
            return "Acquisition(n=0)"
        return (
            f"Acquisition(n={len(self)}, mean n_features={self.n_features.mean():.4g}, "
            f"mean cost={self.costs.mean():.4g})"
        )

    def features(self, i: int) -> np.ndarray:
        """Column indices that instance i was asked, in order."""
        return self._order[: self.n_features[i]]


class AnyModel(Protocol):
    """What every model has, whichever way it chooses what to ask."""

    @property
    def levels(self) -> dict[int, np.ndarray]:
        """Labels of each categorical column."""

    @property
    def classes(self) -> np.ndarray:
        """Class labels."""

    @property
    def names(self) -> list[str] | None:
        """Names of the columns."""

    @property
    def n_features(self) -> int:
        """Columns that a table must have."""

    @property
    def columns(self) -> np.ndarray:
        """Column indices that can be asked for."""

    @property
    def priors(self) -> np.ndarray:
        """Probability of each class before anything is asked."""

    @property
    def mistakes(self) -> np.ndarray:
        """Misclassification costs."""

    @property
    def full_price(self) -> float:
        """What all features together cost."""

    @property
    def expected_cost(self) -> float:
        """What an instance is expected to cost, features and mistakes."""

    @property
    def expected_n_features(self) -> float:
        """How many features are expected to be asked."""

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Between which values it matters where a number lies; None for labels, or if it does not matter."""

    def acquire(self, X: Any, max_cost: float | None = None) -> Acquisition:
        """Classify rows."""

    def start(self, max_cost: float | None = None) -> Case:
        """A case that asks for one value at a time."""


@dataclass(frozen=True)
class Model:
    """All that classification needs: bins, order, problem and policy. Knows nothing of estimators."""

    binner: Binner
    classes: np.ndarray
    order: np.ndarray
    problem: Problem
    policy: Policy
    names: list[str] | None = None

    @property
    def n_features(self) -> int:
        """Columns that a table must have."""
        return self.binner.n_features

    @property
    def levels(self) -> dict[int, np.ndarray]:
        """Labels of each categorical column."""
        return self.binner.levels

    def range_of(self, column: int) -> tuple[float, float] | None:
        """The outermost edges of a column's bins; None for labels, or where all values share a bin."""
        return self.binner.range_of(column)

    @property
    def columns(self) -> np.ndarray:
        """Column indices that can be asked for, in the order of asking."""
        return self.plan.columns

    @property
    def priors(self) -> np.ndarray:
        """Probability of each class before anything is asked."""
        return self.problem.priors

    @property
    def expected_cost(self) -> float:
        """What an instance is expected to cost, features and mistakes."""
        return self.policy.expected_cost

    @property
    def expected_n_features(self) -> float:
        """How many features are expected to be asked."""
        return self.policy.expected_n_features

    @property
    def mistakes(self) -> np.ndarray:
        """Misclassification costs."""
        return self.problem.misclassification_costs

    @property
    def full_price(self) -> float:
        """What all features together cost."""
        return float(self.problem.feature_costs.sum())

    @cached_property
    def plan(self) -> _Plan:
        """The stages that the policy can reach, as flat arrays."""
        return _Plan.of(self)

    def acquire(self, X: Any, max_cost: float | None = None) -> Acquisition:
        """Take every row through the policy; no instance is charged more than ``max_cost``."""
        budget = read_budget(max_cost)
        table = read_table(X)
        check_columns(table, self.n_features, self.names)
        n, n_classes = table.n_rows, self.problem.n_classes
        labels, asked = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        spent, posteriors = np.empty(n), np.empty((n, n_classes))
        if hasattr(self.policy, "rule"):
            self._walk(table, budget, labels, asked, spent, posteriors)
        else:
            self._walk_by_stage(table, budget, labels, asked, spent, posteriors)
        return Acquisition(self.classes[labels], asked, spent, posteriors, self.order)

    def start(self, max_cost: float | None = None) -> Case:
        """A case that asks for one value at a time."""
        return Case(self, read_budget(max_cost))

    def _walk(self, table: Table, budget: float, *outputs: np.ndarray) -> None:
        plan = self.plan
        storage = storage_of(table, plan.columns, self.binner)

        def run(first: int, last: int) -> None:
            kernel.walk(*self.policy.rule.arguments(), *storage, *plan.arguments(), budget, first, last, *outputs)

        over_chunks(run, table.n_rows, _ROWS_PER_THREAD)

    def _walk_by_stage(self, table: Table, budget: float, labels: Any, asked: Any, spent: Any, posteriors: Any) -> None:
        """The same for a policy that has only ``stops`` and ``decide``: all rows that go on, stage by stage."""
        plan, table = self.plan, table.by_column()
        logs = np.tile(plan.log_priors, (table.n_rows, 1))
        going = np.arange(table.n_rows)
        asked[:], spent[:] = 0, 0.0
        for k, column in enumerate(plan.columns):
            beliefs = np.exp(logs[going])
            beliefs /= beliefs.sum(axis=1, keepdims=True)
            stop = np.asarray(self.policy.stops(k, beliefs), dtype=bool)
            price = self.problem.feature_costs[k]
            going = going[~stop & (spent[going] + price <= budget)]
            if not going.size:
                break
            values = table.block([column], self.binner.levels)[going, 0]
            for row, value in zip(going, values, strict=True):
                plan.observe(k, float(value), logs[row])
            asked[going] += 1
            spent[going] += price
        for row in range(table.n_rows):
            rules.normalise(logs[row], posteriors[row])
            labels[row] = self.policy.decide(posteriors[row])


class _Plan(NamedTuple):
    """Arrays of the first ``horizon`` stages, in the order of acquisition."""

    columns: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    missing: np.ndarray
    log_cells: np.ndarray
    cell_offsets: np.ndarray
    log_priors: np.ndarray

    @classmethod
    def of(cls, model: Model) -> _Plan:
        horizon = getattr(model.policy, "horizon", model.problem.n_features)
        columns = np.ascontiguousarray(model.order[:horizon], dtype=np.int64)
        cell_offsets = np.ascontiguousarray(model.problem.offsets[: horizon + 1])
        with np.errstate(divide="ignore"):
            log_cells = np.log(model.problem.cells[: cell_offsets[-1]])
            log_priors = np.log(model.problem.priors)
        return cls(columns, *model.binner.edges_of(columns), log_cells, cell_offsets, log_priors)

    def arguments(self) -> tuple[np.ndarray, ...]:
        return tuple(self)[1:]

    def observe(self, k: int, value: float, logs: np.ndarray) -> int:
        """Update log beliefs by the answer at stage k; returns its code, -1 if it is no evidence."""
        code = kernel.bin_of(value, self.edges, self.edge_offsets[k], self.edge_offsets[k + 1], self.missing[k])
        if not 0 <= code < self.cell_offsets[k + 1] - self.cell_offsets[k]:
            return -1
        kernel.update(logs, self.log_cells[self.cell_offsets[k] + code])
        return int(code)


_NO_DENSE = np.empty((0, 0))
_NO_DATA = np.empty(0)
_NO_INDICES = np.empty(0, dtype=np.int32)


def storage_of(table: Table, columns: np.ndarray, binner: Binner) -> tuple[Any, ...]:
    """How the kernel finds values: storage kind, arrays, and for each stage the column to look in."""
    if table.sparse is not None and not binner.levels:
        m = table.sparse
        kind = kernel.CSR if m.format == "csr" else kernel.CSC
        return kind, _NO_DENSE, m.data, m.indices, m.indptr, columns
    dense = table.dense
    if dense is not None and dense.dtype in (np.float64, np.float32) and dense.dtype.isnative and not binner.levels:
        return kernel.DENSE, dense, _NO_DATA, _NO_INDICES, _NO_INDICES, columns
    # Other types are converted, but only the columns that can be asked for.
    block = table.block(columns, binner.levels)
    return kernel.DENSE, block, _NO_DATA, _NO_INDICES, _NO_INDICES, np.arange(columns.size)


def check_columns(table: Table, n_features: int, names: list[str] | None) -> None:
    """Refuse a table whose columns are not the model's: kernels look values up by position."""
    named = table.names is not None and names is not None
    if table.n_features != n_features or (named and table.names != names):
        raise InputError(
            f"the table has the columns {short(table.names) if named else table.n_features}, but the model was "
            f"fitted on {short(names) if named else n_features}; give the same columns in the same order"
        )


def read_budget(max_cost: float | None) -> float:
    """The most that an instance may be charged."""
    if max_cost is None:
        return np.inf
    if not max_cost >= 0:
        raise InputError(f"max_cost is {max_cost!r}; it must be None (no limit) or a number >= 0")
    # Prices are added up one by one; their rounding must not refuse a feature that fits to the cent.
    return float(max_cost) * (1 + 1e-12)


class Answer(NamedTuple):
    """One step of a case: the feature, the value given, its price, and what was understood of the value."""

    feature: Any
    value: Any
    price: float
    meaning: str


class Case:
    """One instance, asked one feature at a time.

    Made by ``clf.start()``. While :attr:`next_feature` is not None, find out its value and :meth:`observe` it.
    """

    def __init__(self, model: Model, budget: float = np.inf) -> None:
        self._model = model
        self._budget = budget
        self._logs = [model.plan.log_priors.copy()]
        self._spent = [0.0]
        self._history: list[Answer] = []

    def __repr__(self) -> str:
        state = f"decides {plain(self.label)!r}" if self.next_feature is None else f"asks for {self.next_feature!r}"
        return f"Case({state} after {len(self._history)} features, cost {self.cost:g})"

    @property
    def history(self) -> tuple[Answer, ...]:
        """The answers so far, in order."""
        return tuple(self._history)

    @property
    def cost(self) -> float:
        """What was paid for features so far."""
        return self._spent[-1]

    @property
    def posterior(self) -> np.ndarray:
        """Belief in each class now."""
        belief = np.empty(self._logs[-1].size)
        rules.normalise(self._logs[-1], belief)
        return belief

    @property
    def label(self) -> Any:
        """The class that would be decided now."""
        policy, belief = self._model.policy, self.posterior
        own = hasattr(policy, "rule")
        return self._model.classes[rules.decide(belief, policy.rule.regrets) if own else policy.decide(belief)]

    @property
    def stopped_by(self) -> str | None:
        """Why no further feature is asked: "policy", "budget", "features" (all were asked), or None."""
        k = len(self._history)
        if k >= self._model.problem.n_features:
            return "features"
        if k >= self._model.plan.columns.size or self._policy_stops(k):
            return "policy"
        return "budget" if self._spent[-1] + self._price(k) > self._budget else None

    @property
    def next_feature(self) -> Any:
        """Name (or column index, if there are no names) of the feature to ask for; None when it is time to stop."""
        return None if self.stopped_by else self._feature(len(self._history))

    @property
    def next_column(self) -> int:
        """Column index of the feature that comes next, asked or not."""
        return int(self._model.order[len(self._history)])

    @property
    def next_price(self) -> float:
        """What the feature that comes next costs."""
        return self._price(len(self._history))

    @property
    def expected_cost(self) -> float:
        """What the whole case is expected to cost, mistakes included: spent so far and still to come."""
        k, belief = len(self._history), self.posterior
        ahead = self._model.problem.stop_cost(belief) if self.stopped_by else self._model.policy.value(k, belief)
        return self.cost + float(ahead)

    def observe(self, value: Any) -> Case:
        """Give the value of :attr:`next_feature`; None or NaN if it is not to be had."""
        feature = self.next_feature
        if feature is None:
            raise InputError("the case has stopped and asks for nothing; read its label, or undo() an answer")
        column, price = self.next_column, self.next_price
        number = self._number(column, value, feature)
        code = self._advance(number)
        meaning = "missing" if np.isnan(number) else self._model.binner.describe(column, code)
        self._spent.append(self._spent[-1] + price)
        self._history.append(Answer(feature, value, price, meaning))
        return self

    def _advance(self, number: float) -> int:
        """Take in an answer; returns its code."""
        logs = self._logs[-1].copy()
        code = self._model.plan.observe(len(self._history), number, logs)
        self._logs.append(logs)
        return code

    def undo(self) -> Case:
        """Take the last answer back; its price is taken back too."""
        if not self._history:
            raise InputError("no answer was given yet, so there is none to take back")
        self._history.pop()
        self._spent.pop()
        self._retreat()
        return self

    def _retreat(self) -> None:
        """Go back to the belief before the last answer."""
        self._logs.pop()

    def explain(self) -> str:
        """Why this feature is next, or why it is time to stop: costs, chances, and what would change it."""
        return explain(self)

    def _policy_stops(self, k: int) -> bool:
        policy = self._model.policy
        if not hasattr(policy, "rule"):
            return bool(policy.stops(k, self.posterior))
        n = self._logs[-1].size
        return bool(rules.stops(*policy.rule.arguments(), k, self._logs[-1], np.empty(n), np.empty(n)))

    def _price(self, k: int) -> float:
        return float(self._model.problem.feature_costs[k])

    def _feature(self, k: int) -> Any:
        column = int(self._model.order[k])
        return self._model.names[column] if self._model.names is not None else column

    def _number(self, column: int, value: Any, feature: Any) -> float:
        levels = self._model.binner.levels.get(column)
        value = plain_value(value)
        if value is None:
            return np.nan
        if levels is not None:
            return float(next((code for code, label in enumerate(levels) if label == value), np.inf))
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"the value of {feature!r} is {value!r}; it must be a number, or None if it is not to be had"
            ) from None


def run_case(case: Case, fetch: Callable[[Any], Any] | Mapping[Any, Callable[[], Any]]) -> Case:
    """Answer a case by calling ``fetch`` for each feature it asks, and for nothing else."""
    while (feature := case.next_feature) is not None:
        if isinstance(fetch, Mapping):
            if feature not in fetch:
                raise InputError(f"fetch has no entry for {feature!r}, which is needed now; add one that returns it")
            case.observe(fetch[feature]())
        else:
            case.observe(fetch(feature))
    return case
