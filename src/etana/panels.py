"""Which features to order together, where waiting for results has a price.

A lab takes a panel, not a single value, and the patient comes back when the results are there. With a price r for each
round, features that are ordered together pay it once; but what is ordered is paid for, although the first result may
have been enough. The panel is the set with the largest expected saving::

    saving(S) = g(pi) - price(S) - r - sum_v P(v | pi) V(pi_v)          v: the answers of all features of S

V is what the case is expected to pay from there when it goes on one by one, each question with its round: an amount
that can be kept to, so that a panel saves what is announced, or more. One feature alone is a panel too; the one that
the policy asks for is among them, so that no panel is worse than going on one by one.

What is at hand at once needs no panel: it is asked first, by itself. Where there are at most six delayed features that
can be had, all sets are looked at; with more, sets grow by the feature that adds most, from each beginning alone. The
answers of a set are followed one by one as long as there are no more than a thousand; of more, some are drawn.

Beliefs that do not know how likely answers are know how often each stage of the order is reached. A later stage is
ordered along if the round that it is expected to spare is worth more than the price that it is expected to waste.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.base import BinnedKnowledge
from etana.policies.situation import Situation
from etana.suggestions import offered

if TYPE_CHECKING:
    from etana.case import Case

__all__ = ["Panel", "best_panel"]

_ALL_SETS = 6  # delayed features of which every set is looked at
_BEGINNINGS = 4  # features that sets grow from, where there are more
_LARGEST = 8  # features of a panel that grows
_BRANCHES = 1024  # answers of a set that are followed
_TINY = 1e-12


class Panel(list[Any]):
    """Features to order together now, in the order of asking.

    Attributes
    ----------
    price : float
        What they cost together, waiting included.
    saving : float or None
        What ordering them is expected to save against deciding now; None where that is not known.
    """

    def __init__(self, features: list[Any], price: float, saving: float | None) -> None:
        super().__init__(features)
        self.price, self.saving = price, saving


def best_panel(case: Case) -> Panel:
    """The panel with the largest expected saving; empty where nothing pays."""
    model, first, waiting = case.model, case.next_column, case.model.prices.waiting
    if waiting is None or (first is not None and not waiting.delayed[first]):
        return _alone(case, first)
    columns = [column for column in offered(case) if waiting.delayed[column]]
    if not model.beliefs.has_likelihoods:
        return _along(case, columns)
    best: tuple[int, ...] = () if first is None else (first,)
    most = 0.0
    for chosen, saving in _savings(case, first, columns):
        # Of equal sets the first stands: the smaller.
        if saving > most + _TINY * case.stop_cost:
            best, most = chosen, saving
    return _panel(case, best, most)


def _alone(case: Case, column: int | None) -> Panel:
    if column is None:
        return Panel([], 0.0, 0.0)
    saving = case.stop_cost - float(case.move.onward[0])
    return _panel(case, (column,), saving if np.isfinite(saving) else None)


def _panel(case: Case, columns: tuple[int, ...], saving: float | None) -> Panel:
    return Panel([case.model.name_of(k) for k in columns], sum(case.together(columns), 0.0), saving)


def _savings(case: Case, first: int | None, columns: list[int]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Sets and what they save, small ones first."""
    if first is not None:
        yield (first,), case.stop_cost - float(case.move.onward[0])
    if len(columns) <= _ALL_SETS:
        for size in range(1, len(columns) + 1):
            for chosen in combinations(columns, size):
                if (saving := _saving(case, chosen)) is not None:
                    yield chosen, saving
        return
    singles = {column: _saving(case, (column,)) or -np.inf for column in columns}
    ranked = sorted(columns, key=lambda column: -singles[column])
    for beginning in dict.fromkeys([*([first] if first is not None else []), *ranked[:_BEGINNINGS]]):
        yield (beginning,), singles[beginning]
        yield from _grown(case, beginning, ranked)


def _grown(case: Case, beginning: int, columns: list[int]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Sets that grow by the feature that adds most, as long as any adds something."""
    chosen: tuple[int, ...] = (beginning,)
    most = _saving(case, chosen) or -np.inf
    while len(chosen) < _LARGEST:
        larger = [(*chosen, column) for column in columns if column not in chosen]
        savings = [(-np.inf if (saving := _saving(case, one)) is None else saving) for one in larger]
        if not savings or max(savings) <= most:
            return
        best = int(np.argmax(savings))
        chosen, most = larger[best], savings[best]
        yield chosen, most


def _saving(case: Case, columns: tuple[int, ...]) -> float | None:
    """What a set saves against deciding now; None if it does not fit the money."""
    price = sum(case.together(columns), 0.0)
    if not case.situation.fits(price):
        return None
    assert isinstance(case.knowledge, BinnedKnowledge)
    after, chances = answers(case.knowledge, columns)
    return case.stop_cost - price - float(chances @ _ahead(case, after, case.situation.paying(price)))


def answers(knowledge: BinnedKnowledge, columns: tuple[int, ...]) -> tuple[BinnedKnowledge, np.ndarray]:
    """Knowledge with a row for each set of answers to some columns, and their chances."""
    rng, chances = np.random.default_rng(0), np.ones(1)
    for column in columns:
        likely = (knowledge.likelihoods(column) * knowledge.posteriors[:, None, :]).sum(axis=2)
        n, n_values = likely.shape
        if n * n_values <= _BRANCHES:
            rows, codes = np.repeat(np.arange(n), n_values), np.tile(np.arange(n_values), n)
            chances = (chances[:, None] * likely).ravel()
        else:
            # One answer for each branch, drawn by its chance: the mean stays what it is.
            drawn = rng.random((n, 1)) * likely.sum(axis=1, keepdims=True)
            codes = np.minimum((likely.cumsum(axis=1) <= drawn).sum(axis=1), n_values - 1)
            rows = np.arange(n)
        possible = chances > 0
        rows, codes, chances = rows[possible], codes[possible], chances[possible]
        taken = knowledge.take(rows)
        assert isinstance(taken, BinnedKnowledge)
        knowledge = taken.answered(column, codes.astype(np.int64))  # type: ignore[assignment]
    return knowledge, chances / chances.sum()


def _ahead(case: Case, knowledge: BinnedKnowledge, situation: Situation) -> np.ndarray:
    """V: what each row is expected to pay from there, one by one; with more than two classes, for one feature more."""
    policy = case.model.policy
    stop = policy.stop_cost(knowledge.posteriors)
    if policy.order is not None and len(policy.mistakes) != 2:
        return np.minimum(stop, _one_more(case, knowledge, situation))
    move = policy.act_in(knowledge, situation)
    return np.where(move.stops, stop, np.minimum(move.onward, stop))


def _one_more(case: Case, knowledge: BinnedKnowledge, situation: Situation) -> np.ndarray:
    """The least that asking one feature and deciding then is expected to cost each row."""
    prices, mistakes = case.model.prices, case.model.mistakes
    least = np.full(knowledge.n_rows, np.inf)
    left = [column for column in offered(case) if column not in knowledge.known]
    for column, price in zip(left, prices.now(np.array(left, dtype=np.int64), knowledge.known), strict=True):
        if situation.fits(price):
            joint = knowledge.likelihoods(column) * knowledge.posteriors[:, None, :]
            np.minimum(least, price + (joint @ mistakes).min(axis=2).sum(axis=1), out=least)
    return least


def _along(case: Case, columns: list[int]) -> Panel:
    """The next stage, and those after it that are likely enough to be asked."""
    model, first = case.model, case.next_column
    if first is None or model.order is None or model.prices.waiting is None:
        return _alone(case, first)
    stage = {column: k for k, column in enumerate(model.order.tolist())}
    reach = model.expectation.reach
    chosen: tuple[int, ...] = (first,)
    for column in (k for k in columns if stage[k] > stage[first]):
        chance = float(reach[stage[column] + 1] / max(reach[stage[first] + 1], 1e-300))
        alone = case.together((*chosen, column))[-1]
        larger = (*chosen, column)
        spared, wasted = chance * model.prices.waiting.price, (1.0 - chance) * alone
        if spared <= wasted or not case.situation.fits(sum(case.together(larger), 0.0)):
            break
        chosen = larger
    saving = case.stop_cost - float(case.move.onward[0]) if len(chosen) == 1 else None
    return _panel(case, chosen, saving)
