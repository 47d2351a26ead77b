"""What is left of a fixed order: its problem without the stages that are known, cannot be had, or are too dear.

A stage that will not be asked changes what all stages before it are worth, so the rule of the whole order is no longer
right. Left is a problem of the same kind: the same beliefs, fewer stages. It is solved once for each set of stages, by
the solver that comes closest to the optimum (on the same grid, where the order was solved on a grid)::

    J'_k(w) = min( g(w),  c_{s_k} 1.w + sum_v J'_{k+1}(Delta_{s_k}(v) * w) )        s_1 < s_2 < ...  the stages left

For two classes the solution holds at every belief. For more, plans are made for beliefs that can be reached: stages
whose values are at hand come first in the problem, at no price, so that what they may have said is among them.

Where the next stage does not fit the money, those that do are taken along the order, free ones first, as long as the
money lasts: whatever is answered, the stages of this problem can be paid. Who would stop there looks at what was left
out: nobody stops while something that fits is worth its price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from etana.costs import ResolvedCosts
from etana.kernels.rules import GRID_NEAREST
from etana.likelihood import reorder_cells
from etana.policies.base import Move
from etana.policies.bounds import best_solver
from etana.policies.grid import GridPolicy, GridSolver
from etana.policies.situation import Situation
from etana.policies.stopping import StoppingPolicy
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.beliefs.base import Knowledge

__all__ = ["RestOfOrder", "solve_again"]

_REMEMBERED = 512  # solutions


def solve_again(old: StoppingPolicy, problem: Problem) -> StoppingPolicy:
    """A problem of the same kind as that of a policy, solved the way that policy was, or better."""
    if isinstance(old, GridPolicy):
        lookup = "nearest" if old.rule.kind == GRID_NEAREST else "interpolate"
        return GridSolver(old.rule.index.shape[1] - 2, lookup).solve(problem)
    return best_solver(problem.n_classes, getattr(old, "random_state", 0)).solve(problem)


class RestOfOrder:
    """Problems of what is left of an order, solved when they are first met."""

    def __init__(self, order: np.ndarray, stopping: StoppingPolicy, prices: ResolvedCosts) -> None:
        self.order, self.stopping, self.prices = order, stopping, prices
        self._stage = np.full(prices.full.size, -1, dtype=np.int64)
        self._stage[order] = np.arange(order.size)
        self._solved: dict[tuple[object, ...], StoppingPolicy] = {}

    def act(self, knowledge: Knowledge, situation: Situation) -> Move:
        """The next stage that can be had, or the next that fits the money."""
        bought = situation.bought(knowledge)
        can = self._left(knowledge, situation)
        move = self._ask(can, knowledge, situation, bought)
        blocked = ~move.stops & ~situation.fits(move.prices)
        # All rows are at the same stage: what does not fit fits none of them.
        while blocked.any():
            fitting = self._fitting(can, situation, bought)
            if not fitting.size:
                return move.where(~blocked, Move.none(knowledge.n_rows))
            move = move.where(~blocked, self._ask(fitting, knowledge, situation, bought))
            blocked &= move.stops
            can = can[~np.isin(can, fitting)]
        return move

    def stages(self, columns: np.ndarray) -> np.ndarray:
        """Places of columns in the order."""
        return self._stage[columns]

    def solution(self, columns: np.ndarray, prices: np.ndarray) -> StoppingPolicy:
        """The problem of these columns of the order, in this order and at these prices."""
        key = columns.tobytes(), prices.tobytes()
        found = self._solved.get(key)
        if found is None:
            old = self.stopping.problem
            cells, offsets = reorder_cells(old.cells, old.offsets, self._stage[columns])
            problem = Problem.from_cells(old.priors, cells, offsets, prices, old.misclassification_costs)
            found = solve_again(self.stopping, problem)
            if len(self._solved) >= _REMEMBERED:
                self._solved.clear()
            self._solved[key] = found
        return found

    def _left(self, knowledge: Knowledge, situation: Situation) -> np.ndarray:
        """Columns of the order that are not known and can be had."""
        wanted = np.ones(self._stage.size, dtype=bool)
        wanted[[*knowledge.known, *situation.barred]] = False
        return self.order[wanted[self.order]]

    def _fitting(self, columns: np.ndarray, situation: Situation, bought: list[int]) -> np.ndarray:
        """Those that the money lasts for, taken one after the other, free ones first."""
        free = self.prices.now(columns, bought) == 0.0
        ranked = np.concatenate([columns[free], columns[~free]])
        paid, kept, spent = list(bought), [], situation
        for column in ranked.tolist():
            price = self.prices.price_of(column, paid)
            if spent.fits(price):
                kept.append(column)
                paid.append(column)
                spent = spent.paying(price)
        return np.array(kept, dtype=np.int64)

    def _ask(self, columns: np.ndarray, knowledge: Knowledge, situation: Situation, bought: list[int]) -> Move:
        n = knowledge.n_rows
        if not columns.size:
            return Move.none(n)
        prices = self.prices.in_order(columns, bought)
        behind, paid = self._behind(knowledge, situation)
        solution = self.solution(np.concatenate([behind, columns]), np.concatenate([paid, prices]))
        k = behind.size
        within = k < solution.horizon
        stops = solution.stops_knowing(k, knowledge) if within else np.ones(n, dtype=bool)
        return Move(
            np.full(n, columns[0]), np.full(n, prices[0]), stops, np.zeros(n, dtype=bool),
            lambda: solution.continuation(k, knowledge.posteriors),
        )  # fmt: skip

    def _behind(self, knowledge: Knowledge, situation: Situation) -> tuple[np.ndarray, np.ndarray]:
        """Stages in front of those that are left, and their prices.

        Features that were asked since the last change of the situation are stages of the same problem, so that it is
        solved once for a whole case. What was known by then is there only for the beliefs that it leads to.
        """
        asked = [column for column in situation.asked(knowledge) if self._stage[column] >= 0]
        since = np.array(asked[situation.since :], dtype=np.int64)
        elder = np.empty(0, dtype=np.int64)
        if self.stopping.problem.n_classes != 2:
            # For two classes the optimum holds at every belief, and nothing is needed in front.
            taken = sorted(situation.given.intersection(knowledge.known))
            given = [column for column in taken if self._stage[column] >= 0]
            elder = np.array([*given, *asked[: situation.since]], dtype=np.int64)
        others = [column for column in situation.bought(knowledge) if column not in since.tolist()]
        paid = self.prices.in_order(since, others)
        return np.concatenate([elder, since]), np.concatenate([np.zeros(elder.size), paid])
