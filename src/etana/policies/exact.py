"""The optimum for two classes.

With x the belief in class 1 and costs in regrets, J_k is a concave, piecewise linear function on [0, 1] with
J_k(0) = J_k(1) = 0, and (Theorem 2 of the paper)::

    J_k(x) = min( g(x), C_k(x) )        C_k(x) = c_{k+1} + sum_v P(v | x) J_{k+1}(x_v)

Because g is linear on either side of its peak and C_k is concave, the beliefs that continue form one interval
(lo_k, hi_k) around the peak: a policy is two numbers per stage (Theorem 3 for N = 2).

Each J_k is held by chords between breakpoints that are refined until the triangle between chord and tangents is
lower than a tolerance tau, so what is held, L_k, satisfies L_k <= J_k. A policy that stops where g <= C_k
computed from L_{k+1} costs at most tau more for each stage it visits, and it visits at most V_0 / c_min stages
in the mean, where V_0 is its own cost. Hence::

    L_0  <=  optimum  <=  V_0  <=  (L_0 + tau) / (1 - tau / c_min)

**Effective horizon.** The recursion starts at a stage H that is doubled until it no longer matters: started from
g it gives the cost of a policy that stops at H; started from min(g, c_{H+1}), the cost if one further feature
told the class for sure, it gives a bound that no policy beats. Their difference at the prior is part of the gap.

**Promise.** ``expected_cost - lower_bound`` is at most ``tolerance`` times the largest regret, unless
breakpoints run out (``max_points``) on a problem with very many nearly free stages; the gap then says so.
Memory is two numbers per stage up to H.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from etana.errors import InputError, SolverError
from etana.kernels import exact as kernel
from etana.kernels.rules import INTERVAL
from etana.parameters import check_parameters, number, whole
from etana.policies.base import Policy, State
from etana.problem import Problem

__all__ = ["ExactPolicy", "ExactSolver"]

_FIRST_HORIZON = 64
_KEPT_STAGES = 1024
_GUIDE = 2049
_LEAST_POINTS, _MOST_POINTS = 16, 2**24


class ExactSolver:
    """Backward induction on breakpoints; two classes only.

    Parameters
    ----------
    tolerance : float
        Largest distance from the optimum, in units of the largest regret (1 with 0/1 costs).
    max_points : int
        Most breakpoints per stage.

    Examples
    --------
    >>> import etana
    >>> problem = etana.Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], feature_costs=0.05)
    >>> policy = etana.policies.ExactSolver().solve(problem)
    >>> round(policy.expected_cost, 6)
    0.2
    """

    _parameters: ClassVar = {"tolerance": number(above=0), "max_points": whole(_LEAST_POINTS, _MOST_POINTS)}

    def __init__(self, tolerance: float = 1e-5, max_points: int = 8192) -> None:
        self.tolerance = tolerance
        self.max_points = max_points

    def solve(self, problem: Problem) -> ExactPolicy:
        """Solve a problem with two classes."""
        check_parameters(self)
        if problem.n_classes != 2:
            raise SolverError(
                f"the exact solver is for two classes and this problem has {problem.n_classes}; "
                "use solver='points', or 'auto' to choose by the number of classes"
            )
        return ExactPolicy(problem, _Induction(problem, self.tolerance, self.max_points))


class _Induction:
    """One backward induction: buffers, tolerance per stage, and the horizon that was found."""

    def __init__(self, problem: Problem, tolerance: float, max_points: int) -> None:
        self._set(problem, max_points)
        regrets = problem.regrets
        allowed = tolerance * problem.scale
        horizon = self._skip_free(min(_FIRST_HORIZON, problem.n_features))
        if not 0.0 < self._peak() < 1.0:
            self._trivial()
            return
        prior = float(problem.priors[1])
        bound = float((problem.priors @ regrets).min())
        while True:
            self.horizon = horizon
            self.tau = 0.5 * allowed / (1.0 + self._visits(horizon, bound))
            self.thresholds = np.empty((horizon, 2))
            xs, vs, worst, total = self.run(0, horizon, *self._terminal(np.inf), self.thresholds)
            self.value = float(np.interp(prior, xs, vs))
            self.upper = self.value + self._excess(worst, total)
            self.lower = self.value
            bound = min(bound, self.upper)
            if horizon == problem.n_features:
                break
            relaxed = self._terminal(problem.feature_costs[horizon])
            xs, vs, _, _ = self.run(0, horizon, *relaxed, np.empty((horizon, 2)))
            self.lower = float(np.interp(prior, xs, vs))
            if self.value - self.lower <= 0.5 * allowed:
                break
            horizon = self._skip_free(min(2 * horizon, problem.n_features))

    def _set(self, problem: Problem, max_points: int) -> None:
        self.problem = problem
        self.max_points = max_points
        regrets = problem.regrets
        first = 0 if regrets[0, 0] == 0.0 else 1
        # Slopes of g left and right of its peak; a decision that is never wrong leaves nothing to decide.
        self.left, self.right = regrets[1, first], regrets[0, 1 - first]

    @classmethod
    def restore(cls, problem: Problem, horizon: int, state: State) -> _Induction:
        """An induction that was run before; :attr:`early` runs it again if somebody asks for a value."""
        self = cls.__new__(cls)
        self._set(problem, state.whole("max_points", _LEAST_POINTS, _MOST_POINTS))
        self.horizon = horizon
        self.thresholds = state.array("table", (horizon, 2))
        # g must have a peak inside (0, 1), or there is nothing to decide and the policy has no stages.
        if horizon and not 0 < self._peak() < 1:
            raise InputError(f"misclassification costs {self.left} and {self.right} are no match for these stages")
        self.tau = state.number("tau", np.finfo(np.float64).tiny)
        self.value, self.lower = state.number("value"), state.number("lower")
        self.upper = state.number("upper")
        return self

    def _peak(self) -> float:
        """Where g is largest; 0 or 1 if one mistake is free, or beyond measure cheaper than the other."""
        with np.errstate(over="ignore"):
            both = self.left + self.right
        return float(self.right / both) if both > 0 else 0.0

    def _trivial(self) -> None:
        self.horizon, self.tau = 0, 1.0
        self.thresholds = np.empty((0, 2))
        self.value = self.upper = float((self.problem.priors @ self.problem.regrets).min())
        self.lower = 0.0

    def _skip_free(self, horizon: int) -> int:
        """The first stage from ``horizon`` on that costs something: free features are never refused."""
        paid = np.flatnonzero(self.problem.feature_costs[horizon:] > 0)
        return horizon + int(paid[0]) if paid.size else self.problem.n_features

    def _visits(self, horizon: int, bound: float) -> float:
        """Most stages that a policy of at most this cost visits in the mean."""
        cheapest = self.problem.feature_costs[:horizon].min(initial=np.inf)
        return min(float(horizon), bound / cheapest) if cheapest > 0 else float(horizon)

    def _excess(self, worst: float, total: float) -> float:
        cheapest = self.problem.feature_costs[: self.horizon].min(initial=np.inf)
        if worst == 0.0 or cheapest <= worst:
            return total
        return min(total, (self.value + worst) / (1.0 - worst / cheapest) - self.value)

    def _terminal(self, ceiling: float) -> tuple[np.ndarray, np.ndarray]:
        """Breakpoints of min(g, ceiling)."""
        peak = self.right / (self.left + self.right)
        if ceiling >= self.left * peak:
            return np.array([0.0, peak, 1.0]), np.array([0.0, self.left * peak, 0.0])
        low, high = ceiling / self.left, 1.0 - ceiling / self.right
        if low == 0.0:
            return np.array([0.0, 1.0]), np.zeros(2)
        return np.array([0.0, low, high, 1.0]), np.array([0.0, ceiling, ceiling, 0.0])

    def run(
        self, start: int, end: int, xs: np.ndarray, vs: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Back up the function (xs, vs) of stage ``end`` to stage ``start``."""
        size = self.max_points
        x, v, new_x, new_v, at0, at1 = (np.empty(size) for _ in range(6))
        x[: xs.size], v[: vs.size] = xs, vs
        m, worst, total = kernel.backward(
            self.problem.cells, self.problem.offsets, self.problem.feature_costs, self.left, self.right,
            start, end, x, v, xs.size, self.tau, new_x, new_v, at0, at1,
            np.empty(_GUIDE, dtype=np.int64), np.empty((256, 6)), thresholds,
        )  # fmt: skip
        return x[:m].copy(), v[:m].copy(), worst, total

    @cached_property
    def early(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """J_k for the first stages, made when somebody asks for a value."""
        kept = min(self.horizon, _KEPT_STAGES)
        scrap = np.empty((self.horizon, 2))
        xs, vs = self._terminal(np.inf)
        if kept < self.horizon:
            xs, vs, _, _ = self.run(kept, self.horizon, xs, vs, scrap)
        functions = [(xs, vs)]
        for k in range(kept - 1, -1, -1):
            xs, vs, _, _ = self.run(k, k + 1, xs, vs, scrap)
            functions.append((xs, vs))
        return functions[::-1]

    def function(self, stage: int) -> tuple[np.ndarray, np.ndarray]:
        """J_stage as breakpoints."""
        if stage < len(self.early):
            return self.early[stage]
        xs, vs = self._terminal(np.inf)
        if stage >= self.horizon:
            return xs, vs
        return self.run(stage, self.horizon, xs, vs, np.empty((self.horizon, 2)))[:2]


class ExactPolicy(Policy):
    """Continues while the log-odds of class 1 lie between two numbers.

    Attributes
    ----------
    thresholds : array (horizon, 2)
        Log-odds of class 1 between which the policy asks for the next feature; (inf, -inf) where it never does.
    """

    kinds = (INTERVAL,)

    def __init__(self, problem: Problem, induction: _Induction) -> None:
        self._induction = induction
        super().__init__(problem, INTERVAL, induction.thresholds, horizon=induction.horizon)
        self.thresholds = self.rule.table

    @property
    def expected_cost(self) -> float:
        """Cost of the policy under its model, at most the solver's tolerance above the truth."""
        return self._induction.upper + self.problem.floor_cost

    @cached_property
    def lower_bound(self) -> float:
        """A cost that no policy for this problem can beat."""
        return self._induction.lower + self.problem.floor_cost

    def state(self) -> State:
        """Thresholds, and what the induction found."""
        state, found = super().state(), self._induction
        numbers = {name: float(getattr(found, name)) for name in ("tau", "value", "lower", "upper")}
        return State(state.arrays, state.numbers | numbers | {"max_points": int(found.max_points)})

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        if problem.n_classes != 2:
            raise InputError(f"an exact policy is for two classes, not {problem.n_classes}")
        return cls(problem, _Induction.restore(problem, horizon, state))

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        xs, vs = self._induction.function(stage + 1)
        at0, at1 = np.empty(xs.size), np.empty(xs.size)
        guide = np.empty(_GUIDE, dtype=np.int64)
        kernel.segment_lines(xs, vs, xs.size, at0, at1, guide)
        first, last = self.problem.offsets[stage], self.problem.offsets[stage + 1]
        cost = self.problem.feature_costs[stage]
        out = np.empty(len(beliefs))
        for r, x in enumerate(beliefs[:, 1]):
            line0, line1 = kernel.backed_up_line(x, self.problem.cells, first, last, cost, xs, xs.size, at0, at1, guide)
            out[r] = line0 + (line1 - line0) * x
        return out
