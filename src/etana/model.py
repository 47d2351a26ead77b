"""The model: beliefs, policy, classes and names. All that classification needs; knows nothing of estimators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from etana.beliefs.base import Beliefs
from etana.case import Case
from etana.costs import ResolvedCosts
from etana.kernels.walk import Outcomes
from etana.policies.base import Askable, Policy
from etana.policies.expectation import Expectation
from etana.table import read_table
from etana.walks import Acquisition, CompiledWalk, compiled_walk
from etana.walks.acquisition import check_columns, read_budget
from etana.walks.generic import simulate
from etana.walks.generic import walk as generic_walk

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What values say about the class, what to do next, and how classes and columns are called.

    Attributes
    ----------
    beliefs : Beliefs
    policy : Policy
    classes : array (N,)
        Class labels, sorted.
    names : list of str, optional
        Names of the columns.
    """

    beliefs: Beliefs
    policy: Policy
    classes: np.ndarray
    names: list[str] | None = None

    def __post_init__(self) -> None:
        self.policy.check(self.beliefs)

    @property
    def n_features(self) -> int:
        """Columns that a table must have."""
        return self.beliefs.n_features

    @property
    def levels(self) -> dict[int, np.ndarray]:
        """Labels of each categorical column."""
        return self.beliefs.levels

    @property
    def columns(self) -> np.ndarray:
        """Column indices that can be asked for, in the order of asking if there is one."""
        return self.policy.columns

    @property
    def order(self) -> np.ndarray | None:
        """Column indices in the order in which every instance is asked; None if each has its own."""
        return self.policy.order

    @property
    def priors(self) -> np.ndarray:
        """Probability of each class before anything is asked."""
        return self.beliefs.priors

    @property
    def mistakes(self) -> np.ndarray:
        """Misclassification costs."""
        return self.policy.mistakes

    @property
    def prices(self) -> ResolvedCosts:
        """What each column costs."""
        return self.policy.prices

    @property
    def full_price(self) -> float:
        """What all features together cost."""
        return self.prices.total(np.arange(self.n_features))

    @cached_property
    def expectation(self) -> Expectation:
        """What an instance is expected to pay and to be asked."""
        known = self.policy.expectation
        if known is None and self.compiled is not None:
            known = self.compiled.expectation()
        return simulate(self.beliefs, self.policy) if known is None else known

    @property
    def expected_cost(self) -> float:
        """What an instance is expected to cost, features and mistakes."""
        return float(self.policy.announced_cost(self.expectation))

    @property
    def expected_n_features(self) -> float:
        """How many features are expected to be asked."""
        return float(self.expectation.n_features)

    @property
    def optimality_gap(self) -> float | None:
        """How far above the least possible the expected cost can be at most; None if that is not known."""
        return self.policy.gap

    def asking(self, n_features: int) -> Model | None:
        """The same with the policy that always asks the first so many features; None if there is no first."""
        policy = self.policy.asking(n_features)
        return None if policy is None else replace(self, policy=policy)

    def at_prices(self, prices: ResolvedCosts) -> Model | None:
        """The same at other prices of features, without training rows; None if these are needed."""
        policy = self.policy.at_prices(prices)
        return None if policy is None else replace(self, policy=policy)

    def questions(self) -> list[Askable]:
        """Features that may be asked for, with their prices and how often they are asked, where that is known."""
        return self.policy.questions(self.expectation)

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Between which values it matters where a number lies; None for labels, or if it does not matter."""
        return self.beliefs.range_of(column)

    def name_of(self, column: int) -> Any:
        """Name of a column, or its index if there are no names."""
        return self.names[column] if self.names is not None else column

    @cached_property
    def column_names(self) -> list[str]:
        """Names of the columns as text; their numbers if the model was fitted on an array."""
        return self.names if self.names is not None else [str(k) for k in range(self.n_features)]

    @cached_property
    def compiled(self) -> CompiledWalk | None:
        """The compiled walk of this pair of beliefs and policy, if there is one."""
        return compiled_walk(self.beliefs, self.policy)

    def acquire(self, X: Any, max_cost: float | None = None) -> Acquisition:
        """Take every row through the policy; no instance is charged more than ``max_cost``."""
        budget = read_budget(max_cost)
        table = read_table(X)
        check_columns(table, self.n_features, self.names)
        walked: tuple[Outcomes, np.ndarray, np.ndarray | None]
        if self.compiled is None:
            walked = generic_walk(self.beliefs, self.policy, table, budget)
        else:
            walked = self.compiled.walk(table, budget)
        outcomes, asked, starts = walked
        labels = self.classes[outcomes.labels]
        return Acquisition(labels, outcomes.asked, outcomes.spent, outcomes.posteriors, asked, starts)

    def start(self, max_cost: float | None = None) -> Case:
        """A case that asks for one value at a time."""
        return Case(self, read_budget(max_cost))
