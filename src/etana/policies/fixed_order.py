"""Every instance is asked the same features in the same order; what differs is when it stops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.beliefs.naive_bayes import NaiveBayes
from etana.beliefs.prefixes.belief import Prefixed
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.likelihood import reorder_cells
from etana.policies.base import Askable, Move, Policy
from etana.policies.bounds import AskingPolicy, best_solver
from etana.policies.expectation import Expectation
from etana.policies.regression import RegressionStopping
from etana.policies.stopping import OrderStopping, StoppingPolicy
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["FixedOrder", "problem_of"]


def problem_of(beliefs: NaiveBayes, order: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray) -> Problem:
    """The stopping problem of naive Bayes when features are asked in this order."""
    # Stage k of the problem is column order[k]: its cells are gathered in that order, those of others left out.
    cells, offsets = reorder_cells(beliefs.cells, beliefs.binner.cell_offsets, order)
    return Problem.from_cells(beliefs.priors, cells, offsets, prices.in_order(order), mistakes)


@dataclass(frozen=True)
class FixedOrder(Policy):
    """Columns in one order, and when to stop along it.

    Attributes
    ----------
    order : array (K,)
        Column indices.
    stopping : OrderStopping
        Stage k of it is the k-th column of the order.
    """

    order: np.ndarray
    stopping: OrderStopping
    prices: ResolvedCosts
    mistakes: np.ndarray

    @cached_property
    def stage_prices(self) -> np.ndarray:
        """What each column costs when those before it were bought, (K,)."""
        # In a fixed order it is known which feature of a group comes first and pays the fee.
        return self.prices.in_order(self.order)

    @property
    def most_features(self) -> int:  # type: ignore[override]
        """The horizon of the stopping rule."""
        return self.stopping.horizon

    @property
    def columns(self) -> np.ndarray:
        """Columns within the horizon, in the order of asking."""
        return self.order[: self.stopping.horizon]

    def check(self, beliefs: Beliefs) -> None:
        """Refuse also beliefs that take columns in another order."""
        super().check(beliefs)
        if isinstance(beliefs, Prefixed) and not np.array_equal(self.order, beliefs.order[: self.order.size]):
            raise InputError(
                f"the policy asks for the columns {self.order.tolist()} in this order, and the beliefs know those of "
                f"{beliefs.order.tolist()}; make the policy for the order of the beliefs"
            )

    @property
    def gap(self) -> float | None:
        """How far above the least possible for this order the expected cost can be at most; None: not known."""
        return self.stopping.gap

    @property
    def words(self) -> str:
        """A fixed order, and how it is stopped."""
        return f"a fixed order, stopped by {self.stopping.words}"

    @property
    def stages(self) -> OrderStopping:
        """The stopping rule."""
        return self.stopping

    def asking(self, n_features: int) -> Policy | None:
        """The policy that always asks the first so many features; None where no stopping problem is known."""
        if not isinstance(self.stopping, StoppingPolicy):
            return None
        return replace(self, stopping=AskingPolicy(self.stopping.problem, n_features))

    def at_prices(self, prices: ResolvedCosts) -> Policy | None:
        """The stopping problem solved again; None where none is known."""
        if not isinstance(self.stopping, StoppingPolicy):
            return None
        old = self.stopping.problem
        # The order stays: another one would need the training counts.
        costs = prices.in_order(self.order)
        problem = Problem.from_cells(old.priors, old.cells, old.offsets, costs, old.misclassification_costs)
        solution = best_solver(problem.n_classes).solve(problem)
        return replace(self, stopping=solution, prices=prices)

    def act(self, knowledge: Knowledge) -> Move:
        """The next column of the order for all rows."""
        n, k = knowledge.n_rows, len(knowledge.known)
        # Every row that knows as much is asked the same, so one knowledge is one stage (the paper's k).
        if k >= self.order.size:
            none, yes = np.full(n, -1, dtype=np.int64), np.ones(n, dtype=bool)
            return Move(none, np.zeros(n), yes, yes, lambda: np.full(n, np.inf))
        within = k < self.stopping.horizon
        stops = self.stopping.stops_knowing(k, knowledge) if within else np.ones(n, dtype=bool)
        return Move(
            np.full(n, self.order[k]), np.full(n, self.stage_prices[k]), stops, np.zeros(n, dtype=bool),
            lambda: self.stopping.continuation(k, knowledge.posteriors),
        )  # fmt: skip

    @property
    def expectation(self) -> Expectation:
        """That of the stopping rule."""
        return self.stopping.expectation

    def announced_cost(self, expectation: Expectation) -> float:
        """What the solver announces."""
        return float(self.stopping.expected_cost)

    def questions(self, expectation: Expectation) -> list[Askable]:
        """The order, each with the chance that it is asked."""
        reach = expectation.reach[1:].tolist()
        chances = reach + [0.0] * (self.order.size - len(reach))
        return [Askable(*one) for one in zip(self.order.tolist(), self.stage_prices.tolist(), chances, strict=True)]

    def decide(self, posteriors: np.ndarray) -> np.ndarray:
        """As the stopping rule does: a solver of one's own may decide as it likes."""
        # Solvers of the package decide by the paper's Theorem 1, as every policy does.
        return np.asarray(self.stopping.decide(posteriors), dtype=np.int64)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The order, and the stopping rule within."""
        return {"order": self.order}, {"stopping": self.stopping}

    @classmethod
    def restore(
        cls, stored: State, beliefs: Beliefs, prices: ResolvedCosts, mistakes: np.ndarray, expectation: Expectation
    ) -> FixedOrder:
        """The policy whose :meth:`state` this is."""
        order = stored.array("order", (None,), np.int64)
        if (order < 0).any() or (order >= beliefs.n_features).any() or np.unique(order).size != order.size:
            raise InputError("the order holds a column twice, or one that is not there")
        # The problem follows from beliefs, order and prices, so it is made again and not stored.
        problem = problem_of(beliefs, order, prices, mistakes) if isinstance(beliefs, NaiveBayes) else None
        if problem is None:
            given: tuple[Any, ...] = prices.in_order(order), mistakes
            stopping = stored.part("stopping", RegressionStopping, *given, expectation)
        else:
            stopping = stored.part("stopping", StoppingPolicy, problem, expectation)
        return cls(order, stopping, prices, mistakes)
