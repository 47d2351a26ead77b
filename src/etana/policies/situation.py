"""What a policy has to go by besides knowledge: what came unasked, what cannot be had, and what is left of the money.

A *situation* is that of rows that know the same columns. In the ordinary one everything that is known was asked for and
paid, everything can be had, and policies act as they were made. In any other they choose among what can be had and
fits the money (:meth:`etana.policies.base.Policy.act_in`).

A feature of a group costs its discounted price once another of the group was *bought*: asked for, or come in at a
price. What was known or came in for nothing gives no discount, because nobody paid the fee of its group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from etana.beliefs.base import Beliefs, Knowledge
    from etana.costs import ResolvedCosts
    from etana.policies.base import Move, Policy

__all__ = ["ORDINARY", "Situation", "closed_to", "next_move"]

_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Situation:
    """What is so for rows that know the same columns.

    Attributes
    ----------
    given : frozenset of int
        Columns whose values are at hand without having been asked for.
    barred : frozenset of int
        Columns that cannot be had.
    free : frozenset of int
        Columns whose values are at hand and were not paid for: they give no discount to their group.
    also_bought : frozenset of int
        Columns that were paid for although beliefs do not know them.
    spent, budget : float
        What was paid so far, and the most that may be.
    since : int
        How many features had been asked for when something last came unasked or turned out not to be had.
    """

    given: frozenset[int] = _NONE
    barred: frozenset[int] = _NONE
    free: frozenset[int] = _NONE
    also_bought: frozenset[int] = _NONE
    spent: float = 0.0
    budget: float = np.inf
    since: int = 0

    @property
    def ordinary(self) -> bool:
        """Whether everything known was asked for and paid, and everything can be had."""
        return not (self.given or self.barred or self.free)

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self.budget < np.inf

    @property
    def left(self) -> float:
        """What is left of the money."""
        return self.budget - self.spent

    def fits(self, price: Any) -> Any:
        """Whether a price, or each of some prices, can be paid."""
        return self.spent + price <= self.budget

    def asked(self, knowledge: Knowledge) -> tuple[int, ...]:
        """Columns that were asked for, in order."""
        return tuple(column for column in knowledge.known if column not in self.given)

    def bought(self, knowledge: Knowledge) -> list[int]:
        """Columns that were paid for."""
        return [column for column in knowledge.known if column not in self.free] + sorted(self.also_bought)

    def without_limit(self) -> Situation:
        """The same without a budget."""
        return replace(self, budget=np.inf)

    def paying(self, price: float) -> Situation:
        """The same after a price was paid."""
        return replace(self, spent=self.spent + price)


ORDINARY = Situation()


def closed_to(beliefs: Beliefs, prices: ResolvedCosts, bought: list[int], situation: Situation) -> frozenset[int]:
    """Columns that will not be asked: they cannot be had, or do not fit the money, which only grows less."""
    if not (beliefs.bound and situation.limited):
        return situation.barred
    dear = beliefs.columns[~situation.fits(prices.now(beliefs.columns, bought))]
    return situation.barred | set(dear.tolist())


def next_move(policy: Policy, knowledge: Knowledge, situation: Situation = ORDINARY) -> Move:
    """What to do next: as the policy was made where that can be done, else the best of what can.

    A budget changes nothing for rows whose next feature fits, nor for rows that stop without it.
    """
    if not situation.ordinary:
        return policy.act_in(knowledge, situation)
    move = policy.act(knowledge)
    if not situation.limited:
        return move
    can = move.stops | situation.fits(move.prices)
    return move if can.all() else move.where(can, policy.act_in(knowledge, situation))
