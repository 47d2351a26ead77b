"""Every instance is asked the same features in the same order; what differs is when it stops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.beliefs.naive_bayes import NaiveBayes
from etana.beliefs.prefixes.belief import Prefixed
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.kernels.rules import Rule
from etana.likelihood import reorder_cells
from etana.policies.base import Askable, Move, Policy
from etana.policies.bounds import AskingPolicy, best_solver
from etana.policies.expectation import Expectation
from etana.policies.outline import Step, certainty
from etana.policies.planned import plan_order
from etana.policies.regression import RegressionStopping
from etana.policies.rest import RestOfOrder
from etana.policies.situation import ORDINARY, Situation
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

    @property
    def stage_rule(self) -> Rule | None:
        """That of a solver of the package; one that is Python, somebody's own or a regression, has none."""
        stopping = self.stopping
        return stopping.rule if isinstance(stopping, StoppingPolicy) and stopping.compiled else None

    def outline(self, beliefs: Beliefs) -> list[Step]:
        """The order, as far as anyone is asked."""
        priors, steps = beliefs.priors, []
        reach = 1.0
        for k, one in enumerate(self.questions(self.expectation)[: self.stopping.horizon]):
            sure = certainty(partial(self.stopping.stops, k), priors)
            steps.append(Step(k - 1, "", reach, one.chance or 0.0, one.column, one.price, priors, sure))
            reach = one.chance or 0.0
        return steps or [Step(-1, "", 1.0, 0.0, -1, 0.0, priors, np.zeros(priors.size))]

    def asking(self, n_features: int) -> Policy | None:
        """The policy that always asks the first so many features; None where no stopping problem is known."""
        if not isinstance(self.stopping, StoppingPolicy):
            return None
        # Columns that tell nothing are not in the order.
        first = min(n_features, self.order.size)
        return replace(self, stopping=AskingPolicy(self.stopping.problem, first))

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

    def within(self, budget: float) -> Policy | None:
        """The part of the order that is worth most for the money; None where no stopping problem is known."""
        if not isinstance(self.stopping, StoppingPolicy):
            return None
        order, stopping = plan_order(self._rest, budget)
        return replace(self, order=order, stopping=stopping)

    def act(self, knowledge: Knowledge) -> Move:
        """The next column of the order for all rows."""
        n, k = knowledge.n_rows, len(knowledge.known)
        # Every row that knows as much is asked the same, so one knowledge is one stage (the paper's k).
        if knowledge.known != self._ordered[:k]:
            return self.act_in(knowledge, ORDINARY)
        if k >= self.order.size:
            return Move.none(n)
        within = k < self.stopping.horizon
        stops = self.stopping.stops_knowing(k, knowledge) if within else np.ones(n, dtype=bool)
        return Move(
            np.full(n, self.order[k]), np.full(n, self.stage_prices[k]), stops, np.zeros(n, dtype=bool),
            lambda: self.stopping.continuation(k, knowledge.posteriors),
        )  # fmt: skip

    def act_in(self, knowledge: Knowledge, situation: Situation) -> Move:
        """The next column that can be had and fits the money.

        Where the order is the solution of a problem, the problem without the other stages is solved again; a rule that
        was learnt from walks takes stages that are passed over as missing.
        """
        if isinstance(self.stopping, StoppingPolicy):
            return self._rest.act(knowledge, situation)
        return self._along(knowledge, situation)

    @cached_property
    def _rest(self) -> RestOfOrder:
        assert isinstance(self.stopping, StoppingPolicy)
        return RestOfOrder(self.order, self.stopping, self.prices)

    def __getstate__(self) -> dict[str, Any]:
        # Problems that were solved for cases are not copied with the policy.
        return {name: value for name, value in vars(self).items() if name != "_rest"}

    @cached_property
    def _ordered(self) -> tuple[int, ...]:
        return tuple(self.order.tolist())

    @cached_property
    def _places(self) -> dict[int, int]:
        return {column: k for k, column in enumerate(self.order.tolist())}

    def _along(self, knowledge: Knowledge, situation: Situation) -> Move:
        n, out, bought = knowledge.n_rows, {*situation.barred, *knowledge.known}, situation.bought(knowledge)
        asked = (self._places.get(column, -1) for column in situation.asked(knowledge))
        first = max(1 + max(asked, default=-1), knowledge.stage)
        for stage in range(first, self.stopping.horizon):
            column = int(self.order[stage])
            price = self.prices.price_of(column, bought)
            if column in out or not situation.fits(price):
                continue
            return self._at(stage, price, knowledge.before(column))
        return Move.none(n)

    def _at(self, stage: int, price: float, knowledge: Knowledge) -> Move:
        """Ask for the column of a stage or stop, all before it being known or passed over."""
        n, less = knowledge.n_rows, self.stage_prices[stage] - price
        return Move(
            np.full(n, self.order[stage]), np.full(n, price), self.stopping.stops_knowing(stage, knowledge),
            np.zeros(n, dtype=bool), lambda: self.stopping.continuation(stage, knowledge.posteriors) - less,
        )  # fmt: skip

    @property
    def expectation(self) -> Expectation:
        """That of the stopping rule."""
        return self.stopping.expectation

    def announced_cost(self, expectation: Expectation) -> float:
        """What the solver announces."""
        return float(self.stopping.expected_cost)

    def spending(self, expectation: Expectation) -> float:
        """Prices of the stages, by the chance that they are asked."""
        reach = expectation.reach[1:]
        return float(reach @ self.stage_prices[: reach.size])

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
            if expectation.reach.size != order.size + 1:
                raise InputError(f"the chances to be reached are {expectation.reach.size}, not {order.size + 1}")
            stopping = stored.part("stopping", RegressionStopping, *given, expectation)
        else:
            stopping = stored.part("stopping", StoppingPolicy, problem, expectation)
        return cls(order, stopping, prices, mistakes)
