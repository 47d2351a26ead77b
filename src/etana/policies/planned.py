"""The part of a fixed order that is worth most when no more than a budget can be spent on an instance.

A *plan* is a set of stages that can all be paid, asked in their order, those that cost nothing first; when to stop is
the solution of its problem. Whatever is answered, a plan never spends more than the budget. Of the plans that fit, the
one with the least expected cost is taken::

    J(B)  =  min { J(S) :  S among the plans,  price(S) <= B }

Which plans are looked at does not depend on the budget. A larger one leaves all that fitted before, so that J never
rises with B. With up to six stages that cost something all sets are plans: J is the least that any set can have. With
more, plans are the beginnings of four rankings: the order, the cheapest first, what decides best alone, and the same
per price.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from etana.policies.rest import RestOfOrder
from etana.policies.stopping import StoppingPolicy
from etana.problem import Problem

__all__ = ["plan_order"]

_ALL_SETS = 6  # stages that cost something, of which every set is a plan
_MOST_STAGES = 64  # that are looked at
_MOST_PLANS = 16  # of each ranking, where problems take long


def plan_order(rest: RestOfOrder, budget: float) -> tuple[np.ndarray, StoppingPolicy]:
    """The columns of the best plan in their order, and its solution."""
    best: tuple[np.ndarray, StoppingPolicy] | None = None
    for columns in _plans(rest):
        prices = rest.prices.in_order(columns)
        if prices.sum() > budget:
            continue
        solution = rest.solution(columns, prices)
        # Of equal plans the first stands: the fewer stages, the better.
        if best is None or solution.expected_cost < best[1].expected_cost * (1 - 1e-12):
            best = columns, solution
    assert best is not None  # what costs nothing fits any budget
    return best


def _plans(rest: RestOfOrder) -> Iterator[np.ndarray]:
    """Sets of stages in the order of asking, free ones first; none twice."""
    order = rest.order
    free = rest.prices.full[order] == 0.0
    paid = order[~free][:_MOST_STAGES]
    seen: set[tuple[int, ...]] = set()
    for chosen in _sets(rest, paid):
        key = tuple(sorted(chosen))
        if key not in seen:
            seen.add(key)
            yield np.concatenate([order[free], paid[np.isin(paid, list(chosen))]])


def _sets(rest: RestOfOrder, paid: np.ndarray) -> Iterator[tuple[int, ...]]:
    columns = paid.tolist()
    if len(columns) <= _ALL_SETS:
        for size in range(len(columns) + 1):
            yield from combinations(columns, size)
        return
    prices = rest.prices.full[paid]
    alone = _alone(rest.stopping.problem, rest.stages(paid))
    rankings = [np.arange(paid.size), *(np.argsort(key, kind="stable") for key in (prices, -alone, -alone / prices))]
    # For two classes a problem takes a millisecond.
    sizes = np.arange(paid.size + 1)
    if rest.stopping.problem.n_classes != 2:
        # Closest together where a budget is small: one feature more or less matters most there.
        sizes = np.unique(np.append(np.rint(np.geomspace(1, paid.size, _MOST_PLANS)), 0)).astype(np.int64)
    for ranked in rankings:
        for size in sizes.tolist():
            yield tuple(paid[ranked[:size]].tolist())


def _alone(problem: Problem, stages: np.ndarray) -> np.ndarray:
    """What each stage saves when it is decided right after it, at the prior, its price aside."""
    stop = float(problem.stop_cost(problem.priors))
    weighed = [(problem.stage(int(k)) * problem.priors) @ problem.misclassification_costs for k in stages]
    return stop - np.array([costs.min(axis=1).sum() for costs in weighed])
