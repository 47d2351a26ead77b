"""The optimum for two classes.

With x the belief in class 1 and costs in regrets, J_k is a concave, piecewise linear function on [0, 1] with
J_k(0) = J_k(1) = 0, and (Theorem 2 of the paper)::

    J_k(x) = min( g(x), C_k(x) )        C_k(x) = c_{k+1} + sum_v P(v | x) J_{k+1}(x_v)

Because g is linear on either side of its peak and C_k is concave, the beliefs that continue form one interval
(lo_k, hi_k) around the peak: a policy is two numbers per stage (Theorem 3 for N = 2).

**Two bounds.** Each J_k is held by chords between breakpoints, refined until the triangle between chord and tangents
is lower than a tolerance tau: what is held, L_k, satisfies L_k <= J_k. The policy continues where C_k computed from
L_{k+1} is below g. At every breakpoint stands also the line of a plan: the price, and for each answer a plan of the
stage behind; at the corners, the plan to stop. The least of all plans at x is never below what the policy costs: by
induction, where it continues it pays at most C_k computed from the least plans behind, which no line of stage k is
below; where it stops, no line is below g. So neither is U_k(x), the smaller of the two plans next to x. Hence::

    L_0  <=  optimum  <=  cost of the policy  <=  U_0

and tau is lowered until U_0 - L_0, at the prior, is small. What is announced is U_0.

**Precision by stage.** An error of J_k costs what is at stake at the beliefs that go on at stage k. With s_k of it
expected there, breakpoints are fewest, for errors that add up to as much, where tau_k grows as s_k^(-2/3) does. Of
problems with more than 64 stages a look on a grid of beliefs gives s_k, and a first tau that is seldom lowered; at
stages that hardly anybody comes to, tau_k is up to 64 tau. The bounds hold whatever the tau_k are.

**Skewed costs.** Beliefs are weighed by what missing a class costs, so that g always has its peak in the middle (see
:mod:`etana.kernels.exact`): a class of one in a million that must not be missed is solved as precisely as any other.

**Effective horizon.** The recursion starts at a stage H that is doubled until it no longer matters: started from
g it gives the cost of a policy that stops at H; started from min(g, c_{H+1}), the cost if one further feature
told the class for sure, it gives a bound that no policy beats. Their difference at the prior is part of the gap.

**Promise.** ``expected_cost - lower_bound`` is at most ``tolerance`` times ``lower_bound`` less the cost that no
decision avoids, or times a ten-thousandth of the cost of deciding at once where that is more; unless breakpoints run
out (``max_points``) on a problem with very many nearly free stages, in which case the gap says so.
Memory is two numbers per stage up to H.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.errors import InputError, SolverError
from etana.kernels import exact as kernel
from etana.kernels import rough
from etana.kernels.rules import INTERVAL
from etana.parameters import check_parameters, number, whole
from etana.policies.belief_grid import MOST_ODDS, rung
from etana.policies.stopping import StoppingPolicy
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["ExactPolicy", "ExactSolver", "RoughBounds", "quick_bound"]

_FIRST_HORIZON = 64
_KEPT_STAGES = 1024
_GUIDE = 2049
_LEAST_POINTS, _MOST_POINTS = 16, 2**24
_NOTHING = 1e-4  # share of the cost of deciding at once below which a cost is not resolved further
_CORNER = 0.25  # share of what is at stake at the start below which a belief counts as close to a corner
_FIRST_TAU = 0.5  # of the distance that is allowed
_LEAST_TAU = 1e-12
_LEAST_STAKE = 1 / 512  # of what is at stake at the start, below which chords are not any rougher
# Of the distance that is allowed, what tau_k s_k add up to at first: a fifth of it is what becomes of them.
_SHARE = 3.0
_DEPTH_POINTS = 512
_ROUGHLY = 0.001  # tolerance of a first look at a problem


class ExactSolver:
    """Backward induction on breakpoints; two classes only.

    Parameters
    ----------
    tolerance : float
        Largest distance from the optimum, as a share of it.
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

    def __init__(self, tolerance: float = 3e-5, max_points: int = 8192) -> None:
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


class RoughBounds:
    """Lower bounds of many small problems that ask for features of one problem, in this order and that; no policy is
    made of them.

    Parameters
    ----------
    problem : Problem
        All features that are asked for, by index.
    tolerances : tuple of float
        What the best policy is above the bounds by, about.
    """

    def __init__(self, problem: Problem, tolerances: tuple[float, ...]) -> None:
        like = _Induction.__new__(_Induction)
        like._set(problem, _LEAST_POINTS)
        self.decides = like._decides()
        if not self.decides:
            return
        self._unit, self._floor = like.unit, problem.floor_cost
        self._rungs = [rung(like, problem.n_features, tolerance) for tolerance in tolerances]

    def stages(self, order: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The problem that asks for these features, by index, at these prices."""
        return order[None, :], prices[None, :]

    def keep(self, stages: tuple[np.ndarray, np.ndarray]) -> None:
        """Problems that follow end as this one does, from some stage on: what is behind it is not worked out again."""
        self._kept = []
        count = stages[0].shape[1]
        for features, grid in self._rungs if self.decides else ():
            self._kept.append(np.empty((count + 1, 2, grid.stop.size + 1)))
            same, out = np.array([count]), np.empty(1)
            rough.lower_bounds(features, grid, *stages, same, grid.stop, self._kept[-1], True, out)

    def lower(self, rung: int, stages: tuple[np.ndarray, np.ndarray], same: int) -> float:
        """A cost that no policy for this problem can beat, by the tolerance of this number.

        From stage ``same`` on the problem is that which was kept.
        """
        return float(self.lowest(rung, *stages, np.array([same]))[0])

    def lowest(self, rung: int, orders: np.ndarray, prices: np.ndarray, same: np.ndarray) -> np.ndarray:
        """The same for problems by rows."""
        out = np.full(len(orders), -np.inf)
        if self.decides and len(orders):
            features, grid = self._rungs[rung]
            rough.lower_bounds(features, grid, orders, prices, same, np.empty(0), self._kept[rung], False, out)
            out = out * self._unit + self._floor
        return out


def quick_bound(problem: Problem) -> float:
    """A cost that no policy for this problem can beat, in a hundredth of the time of a solution."""
    like = _Induction.__new__(_Induction)
    like._set(problem, _LEAST_POINTS)
    if not like._decides():
        return -np.inf
    return like.roughly(min(_FIRST_HORIZON, problem.n_features))[1] * like.unit + problem.floor_cost


def _room(points: int) -> kernel.Room:
    """Scratch for functions of so many breakpoints."""
    at0, at1 = np.empty((2, points))
    return kernel.Room(at0, at1, np.empty(_GUIDE, dtype=np.int64), np.empty((256, 10)))


def _segment(held: kernel.Held, m: int, x: float) -> int:
    """The breakpoint before x."""
    return min(max(int(held.xs[:m].searchsorted(x, side="right")) - 1, 0), m - 2)


def _chord(held: kernel.Held, m: int, x: float) -> float:
    """The lower function at x."""
    s = _segment(held, m, x)
    (a, b), (low, high) = held.xs[s : s + 2].tolist(), held.vs[s : s + 2].tolist()
    return (high - low) / (b - a) * (x - a) + low


def _begin(held: kernel.Held, xs: np.ndarray, vs: np.ndarray) -> int:
    """Hold the function that the last stage is followed by; how many breakpoints it has."""
    m = xs.size
    held.xs[:m], held.vs[:m] = xs, vs
    # Stopping left and right of the middle.
    held.up0[:m], held.up1[:m] = xs > 0.5, xs <= 0.5
    return m


class _Induction:
    """One backward induction: buffers, tolerance per stage, and the horizon that was found.

    Functions are held in the coordinate of :mod:`etana.kernels.exact`; ``weights`` are the regrets R_i of the classes.
    ``value``, ``lower`` and ``upper`` are in the unit of the costs.
    """

    def __init__(self, problem: Problem, tolerance: float, max_points: int) -> None:
        self._set(problem, max_points)
        if not self._decides():
            self._trivial()
            return
        stop = self.at_stake
        horizon = self._skip_free(min(_FIRST_HORIZON, problem.n_features))
        while horizon < problem.n_features:
            value, lower = self.roughly(horizon)
            if value - lower <= tolerance * max(lower, _NOTHING * stop):
                break  # half of it would do, if these were precise
            horizon = self._skip_free(min(2 * horizon, problem.n_features))
        self._look(horizon, tolerance)
        while True:
            value, upper, lower, precise = self._bounds()
            allowed = tolerance * max(lower, _NOTHING * stop)
            if value - lower > 0.5 * allowed and self.horizon < problem.n_features:
                self._look(self._skip_free(min(2 * self.horizon, problem.n_features)), tolerance)
            elif upper - lower > allowed and precise and self.tau > _LEAST_TAU:
                # The gap falls about as tau does.
                self.tau *= float(np.clip(0.4 * allowed / (upper - lower), 1 / 64, 0.5))
            else:
                break
        self.value, self.upper, self.lower = (v * self.unit for v in (value, upper, lower))

    def _set(self, problem: Problem, max_points: int) -> None:
        self.problem = problem
        self.max_points = max_points
        regrets = problem.regrets
        first = 0 if regrets[0, 0] == 0.0 else 1
        # What each class costs where it is missed; a decision that is never wrong leaves nothing to decide.
        self.weights = np.array([regrets[0, 1 - first], regrets[1, first]])
        # x is the share of the class with less at stake: near 0 floating point is finer than near 1.
        at_stake = self.weights * problem.priors
        self.turned = bool(at_stake[1] > at_stake[0])
        self.at_stake = float(at_stake.min() / at_stake.sum()) if at_stake.any() else 0.0
        with np.errstate(invalid="ignore"):
            x, scale = self._coordinate(problem.priors[None, :])
        self.prior, self.unit = float(x[0]), float(scale[0])

    def _look(self, horizon: int, tolerance: float) -> None:
        """Set the horizon, and begin with a tolerance that may do."""
        self.horizon, (self.ease, first) = horizon, self._eased(horizon)
        self.tau = max(min(_FIRST_TAU, first) * tolerance, _LEAST_TAU)

    def _eased(self, horizon: int) -> tuple[np.ndarray, float]:
        """By how much more than the tolerance chords may be off at each stage, and what share of the distance from the
        optimum that is allowed the tolerance may be, about."""
        if self.problem.n_features <= _FIRST_HORIZON:
            return np.ones(horizon), _FIRST_TAU
        features, grid = rung(self, horizon, _ROUGHLY)
        stakes, costs = np.empty(horizon), self.problem.feature_costs[:horizon]
        value = rough.stakes(features, grid, costs, _CORNER * self.at_stake, stakes)
        if not stakes[0] > 0.0:
            return np.ones(horizon), _FIRST_TAU
        ease = np.minimum(np.maximum(stakes / stakes[0], _LEAST_STAKE), 1.0) ** (-2 / 3)
        return ease, float(_SHARE * max(value, _NOTHING * self.at_stake) / (ease @ stakes))

    @cached_property
    def ease(self) -> np.ndarray:  # of an induction that was run before
        """By how much more than the tolerance chords may be off at each stage."""
        return self._eased(self.horizon)[0]

    def roughly(self, horizon: int) -> tuple[float, float]:
        """At the prior, on a grid: the cost of stopping at the horizon, and a bound for all stages."""
        features, grid = rung(self, horizon, _ROUGHLY)
        asked = np.arange(horizon)[None, :], self.problem.feature_costs[None, :horizon], np.array([horizon])
        ends = [grid.stop]
        if horizon < self.problem.n_features:
            ends.append(np.minimum(grid.stop, self.stages.prices[horizon] @ grid.weights))
        room, out = np.empty((horizon + 1, 2, grid.stop.size + 1)), np.empty(1)
        found = []
        for end in ends:
            rough.lower_bounds(features, grid, *asked, end, room, False, out)
            found.append(float(out[0]))
        return found[0], found[-1]

    @classmethod
    def restore(cls, problem: Problem, horizon: int, state: State) -> _Induction:
        """An induction that was run before; :attr:`early` runs it again if somebody asks for a value."""
        self = cls.__new__(cls)
        self._set(problem, state.whole("max_points", _LEAST_POINTS, _MOST_POINTS))
        self.horizon = horizon
        self.thresholds = state.array("table", (horizon, 2))
        # g must have a peak inside (0, 1), or there is nothing to decide and the policy has no stages.
        if horizon and not self._decides():
            raise InputError(f"misclassification costs {self.weights} are no match for these stages")
        self.tau = state.number("tau", np.finfo(np.float64).tiny)
        self.value, self.lower = state.number("value"), state.number("lower")
        self.upper = state.number("upper")
        return self

    def _decides(self) -> bool:
        """Whether both mistakes cost something, and neither is beyond measure cheaper than the other."""
        with np.errstate(over="ignore"):
            both = self.weights.sum()
        return bool(0.0 < self.weights[0] / both < 1.0) if both > 0 else False

    def _trivial(self) -> None:
        self.horizon, self.tau = 0, 1.0
        self.thresholds = np.empty((0, 2))
        self.value = self.upper = float((self.problem.priors @ self.problem.regrets).min())
        self.lower = 0.0

    def _skip_free(self, horizon: int) -> int:
        """The first stage from ``horizon`` on that costs something: free features are never refused."""
        paid = np.flatnonzero(self.problem.feature_costs[horizon:] > 0)
        return horizon + int(paid[0]) if paid.size else self.problem.n_features

    @cached_property
    def stages(self) -> kernel.Stages:
        """The problem as the kernels read it."""
        problem = self.problem
        cells, weights = problem.cells, self.weights
        if self.turned:
            cells, weights = np.ascontiguousarray(cells[:, ::-1]), weights[::-1]
        return kernel.Stages(cells, problem.offsets[:-1], problem.offsets[1:], problem.feature_costs[:, None] / weights)

    def _coordinate(self, beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x of each belief, and what a cost at x is to be multiplied by."""
        weighed = beliefs * self.weights
        scale = weighed.sum(axis=1)
        return weighed[:, 0 if self.turned else 1] / scale, scale

    def _bounds(self) -> tuple[float, float, float, bool]:
        """At the prior: L_0 and U_0 of stopping at the horizon, a bound for all stages, and whether room sufficed."""
        thresholds = np.empty((self.horizon, 2))
        held, m, worst = self.run(0, self.horizon, *self._terminal(None), thresholds)
        # The kernel's log-odds are those of x; a policy compares those of class 1.
        odds = -thresholds[:, ::-1] if self.turned else thresholds
        self.thresholds = odds + np.log(self.weights[0] / self.weights[1])
        value, upper = self._read(held, m)
        lower, precise = value, worst <= self.tau
        if self.horizon < self.problem.n_features:
            scrap = np.empty_like(thresholds)
            held, m, worst = self.run(0, self.horizon, *self._terminal(self.stages.prices[self.horizon]), scrap)
            lower, precise = self._read(held, m)[0], precise and worst <= self.tau
        return value, max(upper, lower), lower, precise

    def _read(self, held: kernel.Held, m: int) -> tuple[float, float]:
        """The lower and the upper function at the prior."""
        s, x = _segment(held, m, self.prior), self.prior
        plans = held.up0[s : s + 2] * (1.0 - x) + held.up1[s : s + 2] * x
        return _chord(held, m, x), float(plans.min())

    def _terminal(self, prices: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Breakpoints of g, or of the smaller of g and one further price."""
        if prices is None or prices.sum() >= 1.0:
            return np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.0])
        low = prices[0] / (1.0 + prices[0] - prices[1])
        away = prices[1] / (1.0 + prices[1] - prices[0])
        if low == 0.0:
            return np.array([0.0, 1.0]), np.zeros(2)
        return np.array([0.0, low, 1.0 - away, 1.0]), np.array([0.0, low, away, 0.0])

    def run(
        self, start: int, end: int, xs: np.ndarray, vs: np.ndarray, thresholds: np.ndarray
    ) -> tuple[kernel.Held, int, float]:
        """Back up the function (xs, vs) of stage ``end`` to stage ``start``; the largest error of a chord."""
        held, other = (kernel.Held(*np.empty((4, self.max_points))) for _ in range(2))
        m, room = _begin(held, xs, vs), _room(self.max_points)
        precision = kernel.Precision(self.tau, _CORNER * self.at_stake)
        m, worst = kernel.backward(self.stages, start, end, held, m, other, room, precision, self.ease, thresholds)
        return held, m, worst

    def _function(self, held: kernel.Held, m: int) -> tuple[np.ndarray, np.ndarray]:
        return held.xs[:m].copy(), held.vs[:m].copy()

    @cached_property
    def early(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """J_k for the first stages, made when somebody asks for a value."""
        kept = min(self.horizon, _KEPT_STAGES)
        scrap = np.empty((self.horizon, 2))
        function = self._terminal(None)
        if kept < self.horizon:
            function = self._function(*self.run(kept, self.horizon, *function, scrap)[:2])
        functions = [function]
        for k in range(kept - 1, -1, -1):
            function = self._function(*self.run(k, k + 1, *function, scrap)[:2])
            functions.append(function)
        return functions[::-1]

    def function(self, stage: int) -> tuple[np.ndarray, np.ndarray]:
        """J_stage as breakpoints."""
        if stage < len(self.early):
            return self.early[stage]
        terminal = self._terminal(None)
        if stage >= self.horizon:
            return terminal
        return self._function(*self.run(stage, self.horizon, *terminal, np.empty((self.horizon, 2)))[:2])

    def continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        """C_stage at each belief."""
        xs, vs = self.function(stage + 1)
        at0, at1 = np.empty((2, xs.size))
        guide = np.empty(_GUIDE, dtype=np.int64)
        kernel.segment_lines(xs, vs, xs.size, at0, at1, guide)
        ahead = kernel.Ahead(kernel.Held(xs, vs, np.zeros(xs.size), np.zeros(xs.size)), xs.size, at0, at1, guide)
        where, scale = self._coordinate(beliefs)
        tangents = [kernel.cost_to_go(x, self.stages, stage, ahead) for x in where]
        return scale * np.array([kernel.lower(t, x) for t, x in zip(tangents, where, strict=True)])


class ExactPolicy(StoppingPolicy):
    """Continues while the log-odds of class 1 lie between two numbers.

    Attributes
    ----------
    thresholds : array (horizon, 2)
        Log-odds of class 1 between which the policy asks for the next feature; (inf, -inf) where it never does.
    """

    words: ClassVar[str] = "the optimum for two classes"

    kinds = (INTERVAL,)

    def __init__(self, problem: Problem, induction: _Induction) -> None:
        self._induction = induction
        super().__init__(problem, INTERVAL, induction.thresholds, horizon=induction.horizon)
        self.thresholds = self.rule.table

    @property
    def expected_cost(self) -> float:
        """Cost of the policy under its model: never below the truth, and above it by the solver's tolerance at most."""
        return self._induction.upper + self.problem.floor_cost

    @cached_property
    def lower_bound(self) -> float:
        """A cost that no policy for this problem can beat."""
        return self._induction.lower + self.problem.floor_cost

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Thresholds, and what the induction found."""
        (arrays, own), found = super().state(), self._induction
        numbers = {name: float(getattr(found, name)) for name in ("tau", "value", "lower", "upper")}
        return arrays, own | numbers | {"max_points": int(found.max_points)}

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        if problem.n_classes != 2:
            raise InputError(f"an exact policy is for two classes, not {problem.n_classes}")
        return cls(problem, _Induction.restore(problem, horizon, state))

    def depth(self, chance: float, most: int) -> int:
        """The number of stages, counted up to ``most``, that are reached with at least this chance: beliefs are moved
        from answer to answer along a grid of log-odds, and parted between the points next to them."""
        most = min(most, self.horizon)
        ends = self.thresholds[:most][np.isfinite(self.thresholds[:most])]
        with np.errstate(divide="ignore"):
            start, logs = np.log(self.problem.priors), np.log(self.problem.cells[: self.problem.offsets[most]])
        if not (ends.size and np.isfinite(start).all()):
            return super().depth(chance, most)
        prior = start[1] - start[0]
        # Where something is free, beliefs go on that would stop at any price, and may come back.
        beyond = 1.0 if ends.size == 2 * most else MOST_ODDS
        low, high = min(ends.min(), prior) - beyond, max(ends.max(), prior) + beyond
        step = (high - low) / (_DEPTH_POINTS - 1)
        begin = int((prior - low) / step)
        # The prior is a point: all beliefs begin there.
        odds = prior + step * (np.arange(_DEPTH_POINTS) - begin)
        beliefs = np.zeros((2, _DEPTH_POINTS))
        beliefs[:, begin] = self.problem.priors
        for k in range(most):
            beliefs[:, (odds <= self.thresholds[k, 0]) | (odds >= self.thresholds[k, 1])] = 0.0
            if beliefs.sum() < chance:
                return k
            answers, cells = self.problem.stage(k), logs[self.problem.offsets[k] : self.problem.offsets[k + 1]]
            beliefs = _moved(beliefs, answers, np.clip((cells[:, 1] - cells[:, 0]) / step, -odds.size, odds.size))
        return most

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        return self._induction.continuation(stage, beliefs)


def _moved(beliefs: np.ndarray, answers: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Chances (2, G) of points after answers that move them by so many points; the ends take what goes beyond."""
    size = beliefs.shape[1]
    whole = np.floor(moves)
    out = np.zeros((2, 3 * size + 1))
    for chances, first, part in zip(answers, (whole + size).astype(np.int64).tolist(), moves - whole, strict=True):
        moved = beliefs * chances[:, None]
        out[:, first : first + size] += (1 - part) * moved
        out[:, first + 1 : first + 1 + size] += part * moved
    kept = out[:, size : 2 * size].copy()
    kept[:, 0] += out[:, :size].sum(axis=1)
    kept[:, -1] += out[:, 2 * size :].sum(axis=1)
    return kept
