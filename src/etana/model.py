"""The model: beliefs, policy, classes and names. All that classification needs; knows nothing of estimators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from reprlib import repr as short
from typing import Any

import numpy as np

from etana.beliefs.base import Beliefs
from etana.case import Case
from etana.costs import ResolvedCosts
from etana.dictionary import Description, Dictionary, words_of_range
from etana.errors import InputError
from etana.judgement import Judgement
from etana.policies.base import Askable, Policy
from etana.policies.expectation import Expectation
from etana.policies.situation import Situation
from etana.table import plain_value, read_table
from etana.walks import Acquisition, CompiledWalk, compiled_walk
from etana.walks.acquisition import check_columns, read_budget
from etana.walks.generic import simulate, spending
from etana.walks.rows import walk_rows

__all__ = ["Model"]


@dataclass(frozen=True, repr=False)
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
    dictionary : Dictionary
        What people may want to know of the features; it changes nothing that is decided.
    judgement : Judgement, optional
        What training rows paid that were held out, where that is known.
    """

    beliefs: Beliefs
    policy: Policy
    classes: np.ndarray
    names: list[str] | None = None
    dictionary: Dictionary = field(default_factory=Dictionary)
    judgement: Judgement | None = None

    def __post_init__(self) -> None:
        self.policy.check(self.beliefs)
        if self.dictionary:
            self.dictionary.check(self.column_names, self.levels)

    def __repr__(self) -> str:
        parts = type(self.beliefs).__name__, type(self.policy).__name__
        classes = [plain_value(label) for label in self.classes]
        return f"Model({parts[0]}, {parts[1]}, {self.n_features:,} features, classes {short(classes)})"

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

    @cached_property
    def expected_spend(self) -> float:
        """What an instance is expected to pay for features alone."""
        known = self.policy.spending(self.expectation)
        return spending(self.beliefs, self.policy) if known is None else known

    @property
    def optimality_gap(self) -> float | None:
        """How far above the least possible the expected cost can be at most; None if that is not known."""
        return self.policy.gap

    @property
    def cost_at_once(self) -> float:
        """What an instance is expected to cost if nothing is asked."""
        return float((self.priors @ self.mistakes).min())

    def with_policy(self, policy: Policy) -> Model:
        """The same beliefs with another policy, which no held-out row has walked by."""
        return replace(self, policy=policy, judgement=None)

    def asking(self, n_features: int) -> Model | None:
        """The same with the policy that always asks the first so many features; None if there is no first."""
        policy = self.policy.asking(n_features)
        return None if policy is None else self.with_policy(policy)

    def at_prices(self, prices: ResolvedCosts) -> Model | None:
        """The same at other prices of features, without training rows; None if these are needed."""
        policy = self.policy.at_prices(prices)
        return None if policy is None else self.with_policy(policy)

    def within_budget(self, max_cost: float) -> Model:
        """The same beliefs with a policy that plans with a budget for each instance, and never spends more on it."""
        policy = self.policy.within(read_budget(max_cost))
        if policy is None:
            raise InputError(
                "this policy needs training rows to plan with a budget; call within_budget of the classifier that was "
                "fitted, or pass max_cost to start and acquire"
            )
        return self.with_policy(policy)

    def questions(self) -> list[Askable]:
        """Features that may be asked for, with their prices and how often they are asked, where that is known."""
        return self.policy.questions(self.expectation)

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Between which values it matters where a number lies; None for labels, or if it does not matter."""
        return self.beliefs.range_of(column)

    def described(self, dictionary: Dictionary) -> Model:
        """The same with these descriptions of features; what was worked out already is kept."""
        return self._noting(dictionary=dictionary)

    def judged(self, judgement: Judgement) -> Model:
        """The same with what held-out rows paid; what was worked out already is kept."""
        return self._noting(judgement=judgement)

    def _noting(self, **changes: Any) -> Model:
        new = replace(self, **changes)
        vars(new).update({name: vars(self)[name] for name in ("expectation", "compiled") if name in vars(self)})
        return new

    def description_of(self, column: int) -> Description:
        """What people may want to know of a column."""
        return self.dictionary[str(self.name_of(column))]

    def training_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest value of a column in training; None for labels, or where it is not known."""
        return None if column in self.levels else self.beliefs.seen_range(column)

    def usual_range(self, column: int) -> tuple[float, float] | None:
        """Between which values a number raises no doubt: its plausible range or, without one, that of training."""
        said = self.description_of(column)
        if column in self.levels or not said.has_range:
            return self.training_range(column)
        low, high = said.lowest, said.highest
        return -math.inf if low is None else low, math.inf if high is None else high

    def doubt(self, column: int, value: Any) -> str | None:
        """What is unusual about a number: outside the plausible range or, where none is given, that of training."""
        if column in self.levels or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        said, seen = self.description_of(column), self.training_range(column)
        name = self.name_of(column)
        if said.has_range:
            if said.is_plausible(value):
                return None
            return f"{name!r} is {value:.10g}, outside of its plausible range, {said.range_words()}"
        if seen is None or seen[0] <= value <= seen[1]:
            return None
        words = words_of_range(*seen, said.unit)
        return f"{name!r} is {value:.10g}, outside of its training range, {words}"

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

    def column_of(self, feature: Any) -> int:
        """Column index of a feature, given by its name, or by its index if the columns have no names."""
        found = self._columns_by_name.get(feature) if isinstance(feature, str) else None
        if found is None and isinstance(feature, int | np.integer) and not isinstance(feature, bool):
            found = int(feature) if self.names is None and 0 <= feature < self.n_features else None
        if found is None:
            some = ", ".join(map(repr, (self.names or range(self.n_features))[:8]))
            raise InputError(
                f"there is no feature {feature!r}; the features of this model are {some}"
                f"{', ...' if self.n_features > 8 else ''}"
            )
        return found

    @cached_property
    def _columns_by_name(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.column_names)}

    def acquire(self, X: Any, max_cost: float | None = None, known: Sequence[Any] | None = None) -> Acquisition:
        """Take every row through the policy.

        Parameters
        ----------
        X : table
        max_cost : float, optional
            No instance is charged more; of what fits the money left, the best is asked.
        known : sequence of features, optional
            Columns that are there for all rows and cost nothing: they are taken in before anything is asked.
        """
        situation = Situation(budget=read_budget(max_cost))
        columns = sorted({self.column_of(feature) for feature in self._features(known)})
        table = read_table(X)
        check_columns(table, self.n_features, self.names)
        outcomes, asked, starts, _ = walk_rows(self, table, situation, columns)
        labels = self.classes[outcomes.labels]
        return Acquisition(labels, outcomes.asked, outcomes.spent, outcomes.posteriors, asked, starts, self.names)

    @staticmethod
    def _features(known: Any) -> list[Any]:
        if known is None:
            return []
        if isinstance(known, str) or not hasattr(known, "__iter__"):
            raise InputError(f"known is {known!r}; it must be a list of features whose columns are there for all rows")
        return list(known)

    def start(self, max_cost: float | None = None, known: Mapping[Any, Any] | None = None, warn: bool = True) -> Case:
        """A case that asks for one value at a time.

        Parameters
        ----------
        max_cost : float, optional
            The case is charged no more.
        known : mapping from feature to value, optional
            What is known already; it costs nothing.
        warn : bool
            Whether values outside of the plausible range, or that of training, are warned of; :meth:`doubt` tells too.
        """
        if known is not None and not isinstance(known, Mapping):
            raise InputError(f"known is {known!r}; it must be a mapping from feature to value")
        return Case(self, max_cost, known, warn)

    def replay(self, record: Mapping[str, Any]) -> Case:
        """The case that :meth:`etana.Case.record` tells of."""
        return Case.replay(self, record)
