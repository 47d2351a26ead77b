"""Where a case stands: what is known after each event, and what the policy would do then. It never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from etana.beliefs.base import Arrangement, Knowledge
from etana.policies.base import Move
from etana.policies.situation import Situation, closed_to, next_move

if TYPE_CHECKING:
    from etana.model import Model

__all__ = ["CaseState"]


@dataclass(frozen=True)
class CaseState:
    """Where a case stands after an event: values at hand by column, and what is so besides them."""

    model: Model
    situation: Situation
    values: Mapping[int, float] = field(default_factory=dict)
    asked: tuple[int, ...] = ()

    @cached_property
    def arrangement(self) -> Arrangement:
        """The order in which values are taken into the belief, and which are not."""
        bought = [*self.asked, *self.situation.also_bought]
        closed = closed_to(self.model.beliefs, self.model.prices, bought, self.situation)
        return self.model.beliefs.arranged(self.situation.given, self.asked, closed)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What is known by the values at hand."""
        knowledge = self.model.beliefs.begin(1)
        for column in self.arrangement.taken:
            knowledge = knowledge.after(column, np.array([self.values[column]]))
        return knowledge

    @cached_property
    def move(self) -> Move:
        """What the policy does next, among what can be had and fits the money."""
        return next_move(self.model.policy, self.knowledge, self.situation)

    @cached_property
    def wish(self) -> Move:
        """What the policy would do if there were no budget."""
        return replace(self, situation=self.situation.without_limit()).move

    def answered(self, column: int, number: float, price: float) -> CaseState:
        """The value of the feature that was asked for."""
        values = {**self.values, column: number}
        state = replace(self, situation=self.situation.paying(price), values=values, asked=(*self.asked, column))
        if not self.situation.given:
            # What is known is taken on, not made again: a case goes the way that a row goes in a batch.
            state.__dict__["knowledge"] = self.knowledge.after(column, np.array([number]))
        return state

    def told(self, values: Mapping[int, float], price: float, bought: bool) -> CaseState:
        """Values that came unasked."""
        old = self.situation
        situation = replace(
            old, given=old.given | set(values), barred=old.barred - set(values), spent=old.spent + price,
            free=old.free if bought else old.free | set(values), since=len(self.asked),
            also_bought=old.also_bought | set(values) if bought else old.also_bought,
        )  # fmt: skip
        return replace(self, situation=situation, values={**self.values, **values})

    def unpaid(self, column: int) -> CaseState:
        """The same when what was asked for turned out to cost nothing."""
        state = replace(self, situation=replace(self.situation, free=self.situation.free | {column}))
        state.__dict__.update({name: value for name, value in vars(self).items() if name == "knowledge"})
        return state

    def without(self, column: int) -> CaseState:
        """The same when a column cannot be had."""
        situation = replace(self.situation, barred=self.situation.barred | {column}, since=len(self.asked))
        return replace(self, situation=situation)
