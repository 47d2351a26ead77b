"""Policies whose own solver knows no lower bound: that of the solver that does is taken."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from etana.errors import InputError
from etana.kernels.rules import NEVER
from etana.policies.exact import ExactSolver
from etana.policies.points import PointsSolver
from etana.policies.stopping import StoppingPolicy
from etana.problem import Problem

__all__ = ["AskingPolicy", "BoundedPolicy", "ForeignPolicy", "best_solver"]


def best_solver(n_classes: int, random_state: int = 0) -> ExactSolver | PointsSolver:
    """The solver that comes closest to the optimum: exact for two classes, points for any other number."""
    return ExactSolver() if n_classes == 2 else PointsSolver(random_state=random_state)


class BoundedPolicy(StoppingPolicy):
    """A policy that is bounded by the best solution of its problem."""

    @cached_property
    def lower_bound(self) -> float:
        """A cost that no policy for this problem can beat."""
        # No policy for this problem beats the optimum, so a lower bound of it bounds this one as well.
        best = best_solver(self.problem.n_classes).solve(self.problem)
        return min(best.lower_bound, self.expected_cost)


class AskingPolicy(BoundedPolicy):
    """Asks for the first so many features, whatever they say."""

    words: ClassVar[str] = "a number of features"

    def __init__(self, problem: Problem, n_features: int) -> None:
        # NEVER stops before its horizon, unless the class is certain; table and index are not read.
        super().__init__(problem, NEVER, np.zeros((1, 1)), n_features)


class ForeignPolicy(BoundedPolicy):
    """A policy of somebody else's solver, which needs only ``stops(stage, beliefs)`` and ``decide(beliefs)``.

    What else a policy offers is worked out from these: costs to go as those of one feature and a stop (unless it has a
    ``continuation`` of its own), and the expectation by playing instances that are drawn from the model.
    """

    words: ClassVar[str] = "a solver of one's own"

    compiled: ClassVar[bool] = False

    def __init__(self, problem: Problem, policy: Any) -> None:
        if not callable(getattr(policy, "stops", None)) or not callable(getattr(policy, "decide", None)):
            raise InputError(
                f"the solver gave {policy!r}, which is no policy: it needs stops(stage, beliefs) and decide(beliefs)"
            )
        self.problem, self.policy, self.random_state = problem, policy, 0
        self.horizon = int(getattr(policy, "horizon", problem.n_features))

    def stops_at(self, stage: int, logs: np.ndarray) -> np.ndarray:
        """Whether to stop after ``stage`` features with these log beliefs (n, N)."""
        beliefs = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(self.policy.stops(stage, beliefs / beliefs.sum(axis=1, keepdims=True)), dtype=bool)

    def decide(self, belief: Any) -> Any:
        """The class that the policy decides for."""
        rows, single = self._beliefs(belief)
        out = np.array([self.policy.decide(row) for row in rows], dtype=np.int64)
        return int(out[0]) if single else out

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        own = getattr(self.policy, "continuation", None)
        if own is None:
            return super()._continuation(stage, beliefs)
        # Others reckon in full costs, here it is regrets.
        return np.asarray(own(stage, beliefs)) - beliefs @ self.problem.floor
