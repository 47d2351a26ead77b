"""The best features to ask for now, with what each is expected to save.

Saving is what deciding now is expected to cost, less what is expected when the feature is asked first and the policy
goes on from each answer::

    saving(f) = g(pi) - c_f - sum_v P(v | pi) V(pi_v)        V: what the policy is expected to pay from there

The feature that the policy asks for comes first. Of the others, those that tell most are worked out, and are offered
if they save anything. Beliefs that do not know how likely answers are offer what comes next in the order, without
saying what it saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.errors import InputError
from etana.kernels.choice import information
from etana.policies.situation import next_move

if TYPE_CHECKING:
    from etana.case import Case

__all__ = ["Suggestion", "offered", "suggest"]

_LOOKED_AT = 2048  # columns, the first of the policy's
_MORE = 4  # columns that are worked out beyond twice those that are wanted


class Suggestion(NamedTuple):
    """A feature that could be asked now: its price, and what it is expected to save (None where that is not known)."""

    feature: Any
    price: float
    saving: float | None


def suggest(case: Case, n: int) -> list[Suggestion]:
    """The best n features, the one that the policy asks for first; none where it is time to stop."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n is {n!r}; it must be a whole number >= 1, how many features to suggest")
    first = case.next_column
    if first is None:
        return []
    others = [column for column in offered(case) if column != first]
    if not case.model.beliefs.has_likelihoods:
        later = others[: n - 1]
        known = case.stop_cost - min(float(case.move.onward[0]), case.stop_cost)
        return [_suggestion(case, first, known), *(_suggestion(case, column, None) for column in later)]
    savings = {column: _saving(case, column) for column in _telling(case, others, 2 * n + _MORE)}
    ranked = sorted((column for column in savings if savings[column] > 0), key=lambda column: -savings[column])
    best = [_suggestion(case, first, max(_saving(case, first), 0.0))]
    return best + [_suggestion(case, column, savings[column]) for column in ranked[: n - 1]]


def offered(case: Case) -> list[int]:
    """Columns of the policy that are not known, can be had and fit the money, in its order."""
    situation, known = case.situation, {*case.situation.given, *case.knowledge.known}
    columns = [k for k in case.model.columns[:_LOOKED_AT].tolist() if k not in known and k not in situation.barred]
    prices = case.model.prices.now(np.array(columns, dtype=np.int64), situation.bought(case.knowledge))
    return [column for column, fits in zip(columns, situation.fits(prices), strict=True) if fits]


def _suggestion(case: Case, column: int, saving: float | None) -> Suggestion:
    feature = case.model.name_of(column)
    return Suggestion(feature, case.price_of(feature), saving)


def _telling(case: Case, columns: list[int], n: int) -> list[int]:
    """Those that tell most about the class per price, and those that save most when it is decided right after."""
    belief, mistakes, knowledge = case.posterior, case.model.mistakes, case.knowledge
    floor = 1e-9 * (case.stop_cost or 1.0)
    told, saved = {}, {}
    for column in columns:
        cells = np.ascontiguousarray(knowledge.likelihoods(column)[0])
        price = case._price(column)
        told[column] = float(information(belief, cells, len(cells))) / max(price, floor)
        saved[column] = -price - float(((cells * belief) @ mistakes).min(axis=1).sum())
    by_each = [sorted(columns, key=lambda column: -worth[column])[:n] for worth in (told, saved)]
    return sorted({*by_each[0], *by_each[1]})


def _saving(case: Case, column: int) -> float:
    policy, price = case.model.policy, case._price(column)
    situation = case.situation.paying(price)
    total = price
    for possible in case.model.beliefs.possibilities(case.knowledge, column):
        assert possible.chance is not None
        act = next_move if column == case.next_column else type(policy).act_in
        move = act(policy, possible.after, situation)
        stop = float(policy.stop_cost(possible.after.posteriors)[0])
        total += possible.chance * (stop if move.stops[0] else min(float(move.onward[0]), stop))
    return case.stop_cost - total
