"""Rows on their way through order and stopping rule: many at once, or one question at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etana.acquisition import Acquisition, Answer, Case, check_columns, read_budget
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.explanation import plain, why_ask, why_stop
from etana.sequential.encoding import Numbers
from etana.sequential.learnt import Learnt
from etana.sequential.prefixes import Traveller
from etana.sequential.stopping import StoppingRule
from etana.table import plain_value, read_table
from etana.threads import over_chunks

__all__ = ["SequentialCase", "SequentialModel"]

_ROWS_AT_ONCE = 512  # distances of so many rows stay near the processor
_EXAMPLES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class SequentialModel:
    """All that classification needs: what was learnt, and a stopping rule for these prices."""

    learnt: Learnt
    rule: StoppingRule
    classes: np.ndarray
    levels: dict[int, np.ndarray]
    prices: ResolvedCosts
    names: list[str] | None = None

    @property
    def n_features(self) -> int:
        """Columns that a table must have."""
        return self.prices.full.size

    @property
    def order(self) -> np.ndarray:
        """Column indices in the order of acquisition."""
        return self.learnt.columns

    @property
    def columns(self) -> np.ndarray:
        """Column indices that can be asked for at these prices, in the order of asking."""
        return self.order[: self.rule.horizon]

    @property
    def priors(self) -> np.ndarray:
        """Probability of each class before anything is asked."""
        return self.learnt.prefixes.prior

    @property
    def mistakes(self) -> np.ndarray:
        """Misclassification costs."""
        return self.rule.mistakes

    @property
    def full_price(self) -> float:
        """What all features together cost."""
        return self.prices.total(np.arange(self.n_features))

    @property
    def expected_cost(self) -> float:
        """What an instance is expected to cost, features and mistakes."""
        return self.rule.expected_cost

    @property
    def expected_n_features(self) -> float:
        """How many features are expected to be asked."""
        return self.rule.expected_n_features

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric feature in the order; None for another."""
        place = np.flatnonzero(self.order == column)
        feature = self.learnt.prefixes.features[place[0]] if place.size else None
        return (float(feature.knots[0]), float(feature.knots[-1])) if isinstance(feature, Numbers) else None

    @cached_property
    def prior(self) -> np.ndarray:
        """Belief before any feature is known, (1, N)."""
        return self.learnt.prefixes.prior[None, :]

    def acquire(self, X: Any, max_cost: float | None = None) -> Acquisition:
        """Take every row through the rule; no instance is charged more than ``max_cost``."""
        budget = read_budget(max_cost)
        table = read_table(X)
        check_columns(table, self.n_features, self.names)
        values = np.asarray(table.by_column().block(self.columns, self.levels), dtype=np.float64)
        n = table.n_rows
        asked, spent = np.zeros(n, dtype=np.int64), np.zeros(n)
        posteriors = np.tile(self.prior, (n, 1))

        def run(first: int, last: int) -> None:
            for start in range(first, last, _ROWS_AT_ONCE):
                part = slice(start, min(start + _ROWS_AT_ONCE, last))
                self._walk(values[part], budget, asked[part], spent[part], posteriors[part])

        if self.learnt.prefixes.by_block:
            over_chunks(run, n, _ROWS_AT_ONCE)
        else:
            self._walk(values, budget, asked, spent, posteriors)
        labels = self.classes[self.rule.decide(posteriors)]
        return Acquisition(labels, asked, spent, posteriors, self.order)

    def _walk(
        self, values: np.ndarray, budget: float, asked: np.ndarray, spent: np.ndarray, posteriors: np.ndarray
    ) -> None:
        going = np.arange(len(values))
        traveller: Traveller | None = None
        for k in range(values.shape[1]):
            on = ~self.rule.stops(k, posteriors[going]) & (spent[going] + self.rule.prices[k] <= budget)
            going = going[on]
            if not going.size:
                return
            traveller = self.learnt.prefixes.depart(going.size) if traveller is None else traveller.take(on)
            traveller, raw = traveller.after(values[going, k])
            posteriors[going] = self.learnt.calibrated(k, raw)
            asked[going] += 1
            spent[going] += self.rule.prices[k]

    def start(self, max_cost: float | None = None) -> SequentialCase:
        """A case that asks for one value at a time."""
        return SequentialCase(self, read_budget(max_cost))


class SequentialCase(Case):
    """One instance, asked one feature at a time; as :class:`etana.acquisition.Case`."""

    def __init__(self, model: SequentialModel, budget: float = np.inf) -> None:
        self._sequence = model
        self._budget = budget
        self._travellers = [model.learnt.prefixes.depart(1)]
        self._beliefs = [model.prior]
        self._spent = [0.0]
        self._history: list[Answer] = []

    @property
    def posterior(self) -> np.ndarray:
        """Belief in each class now."""
        return self._beliefs[-1][0].copy()

    @property
    def label(self) -> Any:
        """The class that would be decided now."""
        return self._sequence.classes[self._sequence.rule.decide(self._beliefs[-1])[0]]

    @property
    def stopped_by(self) -> str | None:
        """Why no further feature is asked: "policy", "budget", "features" (the order is at its end), or None."""
        k, rule = len(self._history), self._sequence.rule
        if k >= rule.prices.size:
            return "features"
        if rule.stops(k, self._beliefs[-1])[0]:
            return "policy"
        return "budget" if self._spent[-1] + self._price(k) > self._budget else None

    @property
    def next_column(self) -> int:
        """Column index of the feature that comes next, asked or not."""
        return int(self._sequence.order[len(self._history)])

    @property
    def expected_cost(self) -> float:
        """What the whole case is expected to cost, mistakes included: spent so far and still to come."""
        rule, belief = self._sequence.rule, self._beliefs[-1]
        ahead = rule.stop_cost(belief) if self.stopped_by else rule.continuation(len(self._history), belief)
        return self.cost + float(ahead[0])

    def observe(self, value: Any) -> SequentialCase:
        """Give the value of :attr:`next_feature`; None or NaN if it is not to be had."""
        feature = self.next_feature
        if feature is None:
            raise InputError("the case has stopped and asks for nothing; read its label, or undo() an answer")
        k = len(self._history)
        number = self._number(self.next_column, value, feature)
        traveller, raw = self._travellers[-1].after(np.array([number]))
        self._travellers.append(traveller)
        self._beliefs.append(self._sequence.learnt.calibrated(k, raw))
        self._spent.append(self._spent[-1] + self._price(k))
        self._history.append(Answer(feature, value, self._price(k), self._meaning(k, number)))
        return self

    def undo(self) -> SequentialCase:
        """Take the last answer back; its price is taken back too."""
        if not self._history:
            raise InputError("no answer was given yet, so there is none to take back")
        for kept in (self._history, self._travellers, self._beliefs, self._spent):
            kept.pop()
        return self

    def explain(self) -> str:
        """Why this feature is next, or why it is time to stop: costs, and what answers would lead to."""
        rule, belief, k = self._sequence.rule, self._beliefs[-1], len(self._history)
        likely, stop = int(belief.argmax()), float(rule.stop_cost(belief)[0])
        lines = [
            f"After {k} feature{'s' * (k != 1)} (cost {self.cost:.4g}) the most likely class is "
            f"{plain(self._sequence.classes[likely])!r}, with {belief[0, likely]:.1%}. Deciding now for "
            f"{plain(self.label)!r} is expected to cost {stop:.4g}."
        ]
        reason = self.stopped_by
        if reason == "features":
            lines.append("Stop: no feature after these was found to help.")
            return "\n".join(lines)
        feature, price, onward = self._feature(k), self._price(k), float(rule.continuation(k, belief)[0])
        if reason == "budget":
            lines.append(f"Stop: the next feature, {feature!r}, costs {price:.4g}, which the budget does not allow.")
        elif reason == "policy":
            lines.append(why_stop(feature, price, onward, stop))
        else:
            lines.append(why_ask(feature, price, onward, stop))
            lines.extend(self._examples(k))
        return "\n".join(lines)

    def _examples(self, k: int) -> list[str]:
        """What a low, a middling and a high answer, or each label, would lead to."""
        model = self._sequence
        column, feature = int(model.order[k]), model.learnt.prefixes.features[k]
        if isinstance(feature, Numbers):
            values = np.unique(np.interp(_EXAMPLES, feature.shares(feature.knots), feature.knots))
            words = [f"{value:.4g}" for value in values]
        else:
            values = np.arange(feature.width, dtype=np.float64)
            words = [str(label) for label in model.levels[column]]
        _, raw = self._travellers[-1].take(np.zeros(values.size, dtype=np.int64)).after(values)
        after = model.learnt.calibrated(k, raw)
        stops, decided = model.rule.stops(k + 1, after), model.classes[model.rule.decide(after)]
        return [
            f"  {word}: {f'decides {plain(label)!r}' if stop else 'goes on'}, {belief.max():.1%} sure of "
            f"{plain(model.classes[belief.argmax()])!r}"
            for word, stop, label, belief in zip(words, stops, decided, after, strict=True)
        ]

    def _meaning(self, k: int, number: float) -> str:
        feature = self._sequence.learnt.prefixes.features[k]
        if np.isnan(number):
            return "missing"
        if isinstance(feature, Numbers):
            return f"above {float(feature.shares(np.array([number]))[0]):.0%} of the training rows"
        known = np.isfinite(number)
        return str(self._sequence.levels[int(self._sequence.order[k])][int(number)]) if known else "not seen"

    def _price(self, k: int) -> float:
        return float(self._sequence.rule.prices[k])

    def _feature(self, k: int) -> Any:
        column = int(self._sequence.order[k])
        return self._sequence.names[column] if self._sequence.names is not None else column

    def _number(self, column: int, value: Any, feature: Any) -> float:
        value = plain_value(value)
        if value is None:
            return np.nan
        if column in self._sequence.levels:
            labels = self._sequence.levels[column]
            return float(next((code for code, label in enumerate(labels) if label == value), np.inf))
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"the value of {feature!r} is {value!r}; it must be a number, or None if it is not to be had"
            ) from None
