"""What a case is expected still to pay for features, apart from the risk of a mistake.

A policy says what going on is expected to cost in all. How much of that are fees is found by following the answers that
may come, all of them while they are few::

    fees(pi) = 0 where it stops,  else  c_f + sum_v P(v | pi) fees(pi_v)        f: what is asked there

Where they are too many, instances are drawn: the class by the belief, then each answer that is asked by its chance.
Beliefs that do not know how likely answers are say nothing about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from etana.beliefs.base import BinnedKnowledge, Knowledge
from etana.policies.situation import Situation, next_move

if TYPE_CHECKING:
    from etana.case import Case

__all__ = ["expected_fees"]

_MOST_STATES = 64  # that are followed one by one
_DRAWS = 512


def expected_fees(case: Case) -> float | None:
    """What features are still expected to cost; None where that is not known."""
    if case.next_column is None:
        return 0.0
    if not isinstance(case.knowledge, BinnedKnowledge):
        return None
    fees = _followed(case)
    if fees is None:
        fees = _drawn(case, case.knowledge)
    # A policy may expect less in all than these chances make of it, but no risk is below nothing.
    return min(fees, max(case.expected_cost - case.cost, 0.0))


def _followed(case: Case) -> float | None:
    """Fees along every branch; None if there are too many."""
    beliefs, policy = case.model.beliefs, case.model.policy
    todo: list[tuple[float, Knowledge, Situation]] = [(1.0, case.knowledge, case.situation)]
    fees, states = 0.0, 0
    while todo:
        share, knowledge, situation = todo.pop()
        move = next_move(policy, knowledge, situation)
        if move.stops[0]:
            continue
        states += 1
        if states > _MOST_STATES:
            return None
        price = float(move.prices[0])
        fees += share * price
        for possible in beliefs.possibilities(knowledge, int(move.columns[0])):
            todo.append((share * (possible.chance or 0.0), possible.after, situation.paying(price)))
    return fees


def _drawn(case: Case, knowledge: BinnedKnowledge) -> float:
    """The mean over instances that go on from here; rows that are asked different features part."""
    rng, policy = np.random.default_rng(0), case.model.policy
    truth = rng.choice(case.posterior.size, size=_DRAWS, p=case.posterior / case.posterior.sum())
    todo = [(truth, knowledge.take(np.zeros(_DRAWS, dtype=np.int64)), case.situation)]
    fees = 0.0
    while todo:
        truth, rows, situation = todo.pop()
        move = next_move(policy, rows, situation)
        going = ~move.stops
        for column in np.unique(move.columns[going]).tolist():
            index = np.flatnonzero(going & (move.columns == column))
            # They know the same columns, so that they pay the same.
            price = float(move.prices[index[0]])
            fees += price * index.size
            asked = rows.take(index)
            assert isinstance(asked, BinnedKnowledge)
            chances = asked.likelihoods(column)[np.arange(index.size), :, truth[index]].cumsum(axis=1)
            codes = (rng.random((index.size, 1)) * chances[:, -1:] >= chances).sum(axis=1)
            todo.append((truth[index], asked.answered(column, codes), situation.paying(price)))
    return fees / _DRAWS
