"""One instance, asked one feature at a time.

A case holds what is known (:class:`~etana.beliefs.Knowledge`, which never changes) after each answer, and asks the
policy what to do next. A row that is classified in a batch and a case that is answered by hand end with the same label,
features, cost and posterior, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.beliefs.base import Knowledge
from etana.errors import InputError
from etana.explanation import explain
from etana.policies.base import Move
from etana.table import plain_value

if TYPE_CHECKING:
    from etana.model import Model

__all__ = ["Answer", "Case", "run_case"]


class Answer(NamedTuple):
    """One step of a case: the feature, the value given, its price, and what was understood of the value."""

    feature: Any
    value: Any
    price: float
    meaning: str


class _Step(NamedTuple):
    """Where a case stands: what is known, what was spent, and what the policy says to that."""

    knowledge: Knowledge
    spent: float
    move: Move


class Case:
    """One instance, asked one feature at a time.

    Made by ``clf.start()``. While :attr:`next_feature` is not None, find out its value and :meth:`observe` it.
    """

    def __init__(self, model: Model, budget: float = np.inf) -> None:
        self.model = model
        self._budget = budget
        self._history: list[Answer] = []
        self._steps: list[_Step] = []
        self._go_to(model.beliefs.begin(1), 0.0)

    def _go_to(self, knowledge: Knowledge, spent: float) -> None:
        self._steps.append(_Step(knowledge, spent, self.model.policy.act(knowledge)))

    def __repr__(self) -> str:
        state = f"decides {plain_value(self.label)!r}"
        if self.next_feature is not None:
            state = f"asks for {self.next_feature!r}"
        return f"Case({state} after {len(self._history)} features, cost {self.cost:g})"

    @property
    def history(self) -> tuple[Answer, ...]:
        """The answers so far, in order."""
        return tuple(self._history)

    @property
    def knowledge(self) -> Knowledge:
        """What is known now."""
        return self._steps[-1].knowledge

    @property
    def move(self) -> Move:
        """What the policy says to that, whether the budget allows it or not."""
        return self._steps[-1].move

    @property
    def cost(self) -> float:
        """What was paid for features so far."""
        return self._steps[-1].spent

    @property
    def posterior(self) -> np.ndarray:
        """Belief in each class now."""
        return self.knowledge.posteriors[0].copy()

    @property
    def beliefs(self) -> list[np.ndarray]:
        """Belief in each class at the start and after each answer."""
        return [step.knowledge.posteriors[0].copy() for step in self._steps]

    @property
    def label(self) -> Any:
        """The class that would be decided now."""
        return self.model.classes[self.model.policy.decide(self.knowledge.posteriors)[0]]

    @property
    def stopped_by(self) -> str | None:
        """Why no further feature is asked: "policy", "budget", "features" (none is left), or None."""
        move = self.move
        if move.stops[0]:
            return "features" if move.exhausted[0] else "policy"
        return "budget" if self.cost + self.next_price > self._budget else None

    @property
    def next_feature(self) -> Any:
        """Name (or column index, if there are no names) of the feature to ask for; None when it is time to stop."""
        return None if self.stopped_by else self.model.name_of(int(self.move.columns[0]))

    @property
    def next_column(self) -> int | None:
        """Column index of the feature to ask for; None when it is time to stop."""
        return None if self.stopped_by else int(self.move.columns[0])

    @property
    def next_price(self) -> float:
        """What the feature that comes next costs, asked or not; 0 if there is none."""
        return float(self.move.prices[0])

    @property
    def stop_cost(self) -> float:
        """Expected cost of deciding now."""
        return float(self.model.policy.stop_cost(self.knowledge.posteriors)[0])

    @property
    def expected_cost(self) -> float:
        """What the whole case is expected to cost, mistakes included: spent so far and still to come."""
        return self.cost + (self.stop_cost if self.stopped_by else min(float(self.move.onward[0]), self.stop_cost))

    def observe(self, value: Any) -> Case:
        """Give the value of :attr:`next_feature`; None or NaN if it is not to be had."""
        column = self.next_column
        if column is None:
            raise InputError("the case has stopped and asks for nothing; read its label, or undo() an answer")
        feature, price = self.model.name_of(column), self.next_price
        number = self._number(column, value)
        self._go_to(self.knowledge.after(column, np.array([number])), self.cost + price)
        self._history.append(Answer(feature, value, price, self.model.beliefs.meaning(column, number)))
        return self

    def undo(self) -> Case:
        """Take the last answer back; its price is taken back too."""
        if not self._history:
            raise InputError("no answer was given yet, so there is none to take back")
        self._history.pop()
        self._steps.pop()
        return self

    def explain(self) -> str:
        """Why this feature is next, or why it is time to stop: costs, chances, and what would change it."""
        return explain(self)

    def _number(self, column: int, value: Any) -> float:
        """A value as beliefs take it: the number, or the index of the label."""
        levels = self.model.levels.get(column)
        value = plain_value(value)
        if value is None:
            return np.nan
        if levels is not None:
            return float(next((code for code, label in enumerate(levels) if label == value), np.inf))
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"the value of {self.model.name_of(column)!r} is {value!r}; it must be a number, or None if it is not "
                "to be had"
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
