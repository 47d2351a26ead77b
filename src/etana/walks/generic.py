"""The walk of rows for any beliefs and any policy, and its simulation.

Rows that know the same columns go together. All of them are asked what to do next; those that stop are written down,
and those that go on part by the column they are asked for. Only values that are asked for are read.

Compiled walks (:mod:`etana.walks.registry`) do the same for pairs of beliefs and policy that are worth it; this is what
they are tested against.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etana.beliefs.base import Beliefs, BinnedBeliefs, Knowledge
from etana.errors import InputError
from etana.kernels.walk import Outcomes
from etana.policies.base import Policy
from etana.policies.expectation import Expectation
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes

__all__ = ["simulate", "walk"]

_DRAWS = 1024

Read = Callable[[int, np.ndarray], np.ndarray]


def walk(
    beliefs: Beliefs, policy: Policy, table: Table, budget: float = np.inf
) -> tuple[Outcomes, np.ndarray, np.ndarray]:
    """Take every row of a table through the policy; gives outcomes, and the columns of each row (flat, starts)."""
    n = table.n_rows
    outcomes = empty_outcomes(n, beliefs.priors.size)
    # With one order for all, what a row was asked follows from how much.
    paths: list[tuple[int, ...]] | None = [()] * n if policy.order is None else None

    def read(column: int, rows: np.ndarray) -> np.ndarray:
        return table.values(column, rows, beliefs.levels)

    def run(first: int, last: int) -> None:
        size = beliefs.rows_at_once or max(last - first, 1)
        for start in range(first, last, size):
            _walk(beliefs, policy, np.arange(start, min(start + size, last)), read, budget, outcomes, paths)

    over_chunks(run, n, beliefs.rows_at_once or max(n, 1))
    outcomes.labels[:] = policy.decide(outcomes.posteriors) if n else 0
    if paths is None:
        assert policy.order is not None
        return outcomes, policy.order, np.zeros(n, dtype=np.int64)
    flat = np.array([column for path in paths for column in path], dtype=np.int64)
    return outcomes, flat, np.concatenate(([0], np.cumsum(outcomes.asked)))[:-1]


def _walk(
    beliefs: Beliefs, policy: Policy, rows: np.ndarray, read: Read, budget: float, outcomes: Outcomes,
    paths: list[tuple[int, ...]] | None,
) -> None:  # fmt: skip
    todo: list[tuple[np.ndarray, Knowledge, np.ndarray]] = [(rows, beliefs.begin(rows.size), np.zeros(rows.size))]
    while todo:
        # Depth first: what waits are the siblings along one path, not the whole breadth of the tree.
        rows, knowledge, spent = todo.pop()
        move = policy.act(knowledge)
        after = spent + move.prices
        going = ~move.stops & (after <= budget)
        if not going.all():
            over = rows[~going]
            outcomes.asked[over] = len(knowledge.known)
            outcomes.spent[over] = spent[~going]
            outcomes.posteriors[over] = knowledge.posteriors[~going]
            if paths is not None:
                for row in over.tolist():
                    paths[row] = knowledge.known
            if len(over) == len(rows):
                continue
            rows, knowledge, after, columns = rows[going], knowledge.take(going), after[going], move.columns[going]
        else:
            columns = move.columns
        first = int(columns[0])
        if (columns == first).all():
            todo.append((rows, knowledge.after(first, read(first, rows)), after))
            continue
        for column in np.unique(columns).tolist():
            index = np.flatnonzero(columns == column)
            values = read(column, rows[index])
            todo.append((rows[index], knowledge.take(index).after(column, values), after[index]))


def simulate(beliefs: Beliefs, policy: Policy, seed: int = 0, draws: int = _DRAWS) -> Expectation:
    """What instances pay and are asked that are drawn from the beliefs: the class, then each answer that is asked."""
    if not isinstance(beliefs, BinnedBeliefs):
        raise InputError(f"{type(beliefs).__name__} cannot be drawn from: it does not know how likely answers are")
    rng = np.random.default_rng(seed)
    truth = rng.choice(beliefs.priors.size, size=draws, p=beliefs.priors)
    costs, asked = np.empty(draws), np.empty(draws, dtype=np.int64)
    for i, true_class in enumerate(truth.tolist()):
        knowledge, spent = beliefs.begin(1), 0.0
        while not (move := policy.act(knowledge)).stops[0]:
            column = int(move.columns[0])
            chances = knowledge.likelihoods(column)[0][:, true_class]
            # Answers one after the other, given the class and what was answered: the joint distribution of the model.
            code = int(rng.choice(chances.size, p=chances / chances.sum()))
            knowledge, spent = beliefs.after_code(knowledge, column, code), spent + float(move.prices[0])
        # Mistakes as they happen, not as the belief expects them: beliefs that are surer than right are found out.
        costs[i] = spent + policy.mistakes[true_class, policy.decide(knowledge.posteriors)[0]]
        asked[i] = len(knowledge.known)
    shape = (beliefs.priors.size, int(asked.max(initial=0)))
    return Expectation.of_walks(costs, asked, truth, np.full(draws, 1.0 / draws), shape)
