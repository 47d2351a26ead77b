"""The walk of rows for any beliefs and any policy, and its simulation.

Rows that know the same columns go together. All of them are asked what to do next; those that stop are written down,
and those that go on part by the column they are asked for. Only values that are asked for are read.

Compiled walks (:mod:`etana.walks.registry`) do the same for pairs of beliefs and policy that are worth it; this is what
they are tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from etana.beliefs.base import Beliefs, BinnedBeliefs, Knowledge
from etana.errors import InputError
from etana.kernels.walk import Outcomes
from etana.policies.base import Move, Policy
from etana.policies.expectation import Expectation
from etana.policies.situation import ORDINARY, Situation, closed_to, next_move
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes
from etana.walks.registry import Walked

__all__ = ["simulate", "spending", "walk"]

_DRAWS = 1024

Read = Callable[[int, np.ndarray], np.ndarray]


def walk(
    beliefs: Beliefs, policy: Policy, table: Table, situation: Situation = ORDINARY, known: Sequence[int] = ()
) -> Walked:
    """Take every row of a table through the policy.

    Columns that are ``known`` are taken in without being asked, for all rows.
    """
    n = table.n_rows
    outcomes = empty_outcomes(n, beliefs.priors.size)
    paths: list[tuple[int, ...]] = [()] * n
    given = frozenset(known)
    begin = replace(situation, given=given, free=given) if given else situation

    def read(column: int, rows: np.ndarray) -> np.ndarray:
        return table.values(column, rows, beliefs.levels)

    def run(first: int, last: int) -> None:
        size = beliefs.rows_at_once or max(last - first, 1)
        for start in range(first, last, size):
            _Walk(beliefs, policy, read, outcomes, paths).run(np.arange(start, min(start + size, last)), begin)

    over_chunks(run, n, beliefs.rows_at_once or max(n, 1))
    outcomes.labels[:] = policy.decide(outcomes.posteriors) if n else 0
    flat = np.array([column for path in paths for column in path], dtype=np.int64)
    return Walked(outcomes, flat, np.concatenate(([0], np.cumsum(outcomes.asked)))[:-1])


class _Party(NamedTuple):
    """Rows that know the same columns, came to know them in the same order, and paid the same."""

    rows: np.ndarray
    knowledge: Knowledge
    situation: Situation


@dataclass(frozen=True)
class _Walk:
    """One walk of some rows, and where its outcomes go."""

    beliefs: Beliefs
    policy: Policy
    read: Read
    outcomes: Outcomes
    paths: list[tuple[int, ...]]

    def run(self, rows: np.ndarray, situation: Situation) -> None:
        """Take rows through."""
        todo = [_Party(rows, self.beliefs.begin(rows.size), situation)]
        while todo:
            # Depth first: what waits are the siblings along one path, not the whole breadth of the tree.
            party = self._taking_in(todo.pop())
            move = next_move(self.policy, party.knowledge, party.situation)
            if move.stops.any():
                self._end(party, move.stops)
            if not move.stops.all():
                todo.extend(self._asked(party, move))

    def _taking_in(self, party: _Party) -> _Party:
        """The same rows with what is known of them, as far as the beliefs can take it in now."""
        rows, knowledge, situation = party
        if not situation.given:
            return party
        closed = closed_to(self.beliefs, self.policy.prices, situation.bought(knowledge), situation)
        asked = situation.asked(knowledge)
        for column in self.beliefs.arranged(situation.given, asked, closed).taken:
            if column not in knowledge.known:
                knowledge = knowledge.after(column, self.read(column, rows))
        return _Party(rows, knowledge, situation)

    def _end(self, party: _Party, over: np.ndarray) -> None:
        rows, asked = party.rows[over], party.situation.asked(party.knowledge)
        self.outcomes.asked[rows] = len(asked)
        self.outcomes.spent[rows] = party.situation.spent
        self.outcomes.posteriors[rows] = party.knowledge.posteriors[over]
        for row in rows.tolist():
            self.paths[row] = asked

    def _asked(self, party: _Party, move: Move) -> Iterator[_Party]:
        """Rows that go on part by the column they are asked for."""
        going = ~move.stops
        wanted = move.columns[going]
        one = int(wanted[0])
        # Along an order all are asked the same: nothing to sort.
        columns = [one] if (wanted == one).all() else np.unique(wanted).tolist()
        for column in columns:
            index = np.flatnonzero(going if len(columns) == 1 else going & (move.columns == column))
            values = self.read(column, party.rows[index])
            every = index.size == party.rows.size
            knowledge = party.knowledge if every else party.knowledge.take(index)
            # What a column costs follows from the path alone, so all who are asked it here pay the same.
            situation = party.situation.paying(float(move.prices[index[0]]))
            yield _Party(party.rows[index], knowledge.after(column, values), situation)


class _Drawn(NamedTuple):
    """Instances that were drawn: their classes, what each paid for features, what mistakes cost, how much was asked."""

    truth: np.ndarray
    spent: np.ndarray
    lost: np.ndarray
    asked: np.ndarray


def simulate(beliefs: Beliefs, policy: Policy, seed: int = 0, draws: int = _DRAWS) -> Expectation:
    """What instances pay and are asked that are drawn from the beliefs: the class, then each answer that is asked."""
    drawn = _draw(beliefs, policy, seed, draws)
    shape = (beliefs.priors.size, int(drawn.asked.max(initial=0)))
    return Expectation.of_walks(drawn.spent + drawn.lost, drawn.asked, drawn.truth, np.full(draws, 1.0 / draws), shape)


def spending(beliefs: Beliefs, policy: Policy, seed: int = 0, draws: int = _DRAWS) -> float:
    """What such instances pay for features in the mean."""
    return float(_draw(beliefs, policy, seed, draws).spent.mean())


def _draw(beliefs: Beliefs, policy: Policy, seed: int, draws: int) -> _Drawn:
    if not isinstance(beliefs, BinnedBeliefs):
        raise InputError(f"{type(beliefs).__name__} cannot be drawn from: it does not know how likely answers are")
    rng = np.random.default_rng(seed)
    truth = rng.choice(beliefs.priors.size, size=draws, p=beliefs.priors)
    costs, lost, asked = np.empty(draws), np.empty(draws), np.empty(draws, dtype=np.int64)
    for i, true_class in enumerate(truth.tolist()):
        knowledge, spent = beliefs.begin(1), 0.0
        while not (move := policy.act(knowledge)).stops[0]:
            column = int(move.columns[0])
            chances = knowledge.likelihoods(column)[0][:, true_class]
            # Answers one after the other, given the class and what was answered: the joint distribution of the model.
            code = int(rng.choice(chances.size, p=chances / chances.sum()))
            knowledge, spent = beliefs.after_code(knowledge, column, code), spent + float(move.prices[0])
        # Mistakes as they happen, not as the belief expects them: beliefs that are surer than right are found out.
        lost[i] = policy.mistakes[true_class, policy.decide(knowledge.posteriors)[0]]
        costs[i], asked[i] = spent, len(knowledge.known)
    return _Drawn(truth, costs, lost, asked)
