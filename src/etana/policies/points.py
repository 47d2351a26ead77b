"""Near the optimum for any number of classes, with a certificate.

The recursion (in regrets, for normalised beliefs)::

    J_k(pi) = min( g(pi), C_k(pi) )        C_k(pi) = c_{k+1} + sum_v P(v | pi) J_{k+1}(pi_v)

is solved at *points*: beliefs that are reachable from the prior.

**Few reachable beliefs.** If the tree of answers is small, every reachable belief is a point. Each then has a plan
whose cost is a linear function alpha . pi, and the policy stops where g(pi) <= min_alpha alpha . pi. This is the
optimum, and the gap is zero.

**Many.** Beliefs are drawn forwards from the model, survivors of g(pi) > c_{k+1} multiplied so that late stages
have enough of them. Going backwards, C_k is computed at the points of stage k and generalised to all beliefs by
least squares on functions that are homogeneous and concave as C_k is::

    pi_i,   g(pi),   -pi_i log pi_i,   p q / (p + q)  and  p q  for pairs p, q of entries of pi

(the pairs that the drawn beliefs confuse most, if there are many classes). The policy stops where g(pi) is at most
the fitted C_k(pi).

**Certificate.** Let D_k = J_k(pi_k) - E[J_k(pi_k) | pi_{k-1}] with J as fitted; the expectation is an exact sum over
the answers, so D_1 + ... + D_k is a martingale whatever the quality of the fit. Hence (the dual of optimal stopping)::

    E[ min_k  c_1 + ... + c_k + g(pi_k) - D_1 - ... - D_k ]  <=  optimum  <=  E[ the same at the policy's stop ]

Both means are estimated on instances drawn from the model; with the true J both sides have no variance at all, so
a good fit needs few of them. ``expected_cost`` is the right-hand mean; ``lower_bound`` is the left-hand mean less
3.3 standard errors, so it holds with a confidence of 99.95 %.

Stops at two prices that are close to each other may differ by the error of the fits: at the dearer price more features
may be asked than at the cheaper one, but no more than ``(gap + gap') / (c' - c)``
(:func:`etana.checks.check_dearer_features`).

**Effective horizon.** Points stop being drawn at a stage H that beliefs reach with a chance below ``min_reach``. There
the policy stops, and the dual bound assumes that one further feature would tell the class for sure: whatever is lost
beyond H is part of the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.errors import InputError
from etana.kernels import points as kernel
from etana.kernels.rules import ALPHA, FITTED, NEVER
from etana.parameters import check_parameters, number, whole
from etana.policies.stopping import LARGEST_SEED, StoppingPolicy
from etana.problem import Problem
from etana.threads import one_blas_thread

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["PointsSolver"]

_LARGEST_TREE = 2048
_MAX_PAIRS = 64
_STORED = 2**25  # numbers held as points, at most
_RIDGE = 1e-6
_MOST_OF_THEM = 0.9
_CONFIDENCE = 3.3  # standard errors
_PRECISION = 2e-3  # of the lower bound, relative, that the certificate aims at
_DRAWS = 2048
_MOST_DRAWS, _SEEDS = 65536, 16
_CLEARLY = 5.0  # standard errors: chance says so once in a million
_SIDE_BY_SIDE, _ANSWERS = 2048, 2**22  # instances that are certified at a time, and their answers, at most


class PointsSolver:
    """Backed-up costs at reachable beliefs, for any number of classes.

    Parameters
    ----------
    n_points : int
        Beliefs drawn per stage where the tree of answers is too large to follow.
    min_reach : float
        Stages that are reached with a smaller chance are not solved; what that may cost is part of the gap.
    random_state : int
        Seed of the drawn beliefs and of the certificate.
    """

    _parameters: ClassVar = {
        "n_points": whole(least=8),
        "min_reach": number(above=0, below=1),
        "random_state": whole(0, LARGEST_SEED),
    }

    def __init__(self, n_points: int = 1000, min_reach: float = 3e-4, random_state: int = 0) -> None:
        self.n_points = n_points
        self.min_reach = min_reach
        self.random_state = random_state

    def solve(self, problem: Problem) -> StoppingPolicy:
        """Solve a problem with any number of classes."""
        check_parameters(self)
        if not problem.regrets.any() or problem.n_features == 0:
            return AlphaPolicy(problem, [], float((problem.priors @ problem.regrets).min()))
        levels = _reachable(problem)
        if levels is not None:
            return _solve_tree(problem, levels)
        if not problem.feature_costs.any():
            return FreePolicy(problem, NEVER, np.zeros((1, 1)), problem.n_features, random_state=self.random_state)
        return self._solve_points(problem)

    def _solve_points(self, problem: Problem) -> FittedPolicy:
        # Classes are put into an order that does not depend on how they are numbered, so that the same seed
        # draws the same beliefs for any numbering.
        order = problem.canonical
        model = _Model(problem, order)
        points = _draw_points(model, self.n_points, self.min_reach, np.random.default_rng(self.random_state))
        pairs = _confused_pairs(points)
        table = _fit_backwards(model, points, pairs)
        n = problem.n_classes
        # Back to the caller's numbering of classes and unit of cost.
        inverse = np.argsort(order)
        table[:, :n] = table[:, :n][:, inverse]
        table[:, n + 1 : 2 * n + 1] = table[:, n + 1 : 2 * n + 1][:, inverse]
        table[:, :n] *= problem.scale
        table[:, n + 1 :] *= problem.scale
        return FittedPolicy(problem, table, order[pairs], self.random_state)


class _Model:
    """A problem with classes re-ordered and costs in units of the largest regret."""

    def __init__(self, problem: Problem, order: np.ndarray) -> None:
        self.priors = problem.priors[order]
        self.regrets = np.ascontiguousarray(problem.regrets[order][:, order] / problem.scale)
        self.costs = problem.feature_costs / problem.scale
        self._problem, self._order = problem, order

    def stage(self, k: int) -> np.ndarray:
        return np.ascontiguousarray(self._problem.stage(k)[:, self._order])


def _reachable(problem: Problem) -> list[np.ndarray] | None:
    """Joint probabilities (path, class) of all paths that can pay to go on, by stage; None if there are many."""
    weights = problem.priors[None, :]
    levels = [weights]
    for k in range(problem.n_features):
        weights = levels[-1][_may_continue(problem, k, levels[-1])]
        if not len(weights):
            break
        # Joint probabilities P(path, T_i) need no division; a belief is their direction.
        children = (weights[:, None, :] * problem.stage(k)[None]).reshape(-1, problem.n_classes)
        if len(children) > _LARGEST_TREE:
            return None
        levels.append(children)
    return levels


def _may_continue(problem: Problem, k: int, weights: np.ndarray) -> np.ndarray:
    stop = (weights @ problem.regrets).min(axis=1)
    mass = weights.sum(axis=1)
    # Theorem 2 of the paper, and J >= 0: who risks less than the next price stops, and so does who is certain.
    return (stop > problem.feature_costs[k] * mass) & ((weights > 0).sum(axis=1) > 1)


def _solve_tree(problem: Problem, levels: list[np.ndarray]) -> AlphaPolicy:
    """Plans of all reachable beliefs, from the leaves to the root."""
    vectors: list[np.ndarray] = []
    last = levels[-1] @ problem.regrets
    plans, cost = problem.regrets.T[last.argmin(axis=1)], last.min(axis=1)
    for k in range(len(levels) - 2, -1, -1):
        weights = levels[k]
        goes_on = _may_continue(problem, k, weights)
        delta = problem.stage(k)
        # alpha_i = c + sum_v P(v | T_i) alpha_v,i: the cost of a plan is linear in the belief (Lemma 4 of the paper).
        onward = (delta[None] * plans.reshape(-1, len(delta), problem.n_classes)).sum(axis=1)
        onward += problem.feature_costs[k]
        decisions = weights @ problem.regrets
        plans, cost = problem.regrets.T[decisions.argmin(axis=1)].copy(), decisions.min(axis=1)
        total = (onward * weights[goes_on]).sum(axis=1)
        better = total < cost[goes_on] * (1 - 1e-13)
        if problem.feature_costs[k] == 0.0:
            better[:] = True
        chosen = np.flatnonzero(goes_on)[better]
        plans[chosen], cost[chosen] = onward[better], total[better]
        vectors.append(_distinct(onward[better], problem.scale))
    return AlphaPolicy(problem, vectors[::-1], float(cost[0]))


def _distinct(vectors: np.ndarray, scale: float) -> np.ndarray:
    _, first = np.unique(np.round(vectors / scale, 12), axis=0, return_index=True)
    return vectors[np.sort(first)]


def _draw_points(model: _Model, n_points: int, min_reach: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Beliefs by stage, drawn from the model and kept while they can pay for the next feature."""
    n = model.priors.size
    width = 2 * n + 1 + 2 * min(n * (n - 1) // 2, _MAX_PAIRS)
    least = min(4 * width, n_points)
    beliefs = np.tile(model.priors, (n_points, 1))
    points: list[np.ndarray] = []
    reach, stored = 1.0, 0
    for k in range(model.costs.size):
        alive = beliefs[(beliefs @ model.regrets).min(axis=1) > model.costs[k]]
        reach *= len(alive) / len(beliefs)
        if reach < min_reach or stored > _STORED:
            break
        # Copies of survivors part again at the next answer; a regression needs several points for each coefficient.
        wanted = max(len(alive), least)
        beliefs = alive[np.arange(wanted) % len(alive)]
        points.append(beliefs.copy())
        stored += beliefs.size
        kernel.advance(beliefs, rng.random(len(beliefs)), model.stage(k))
    return points


def _confused_pairs(points: list[np.ndarray]) -> np.ndarray:
    """Pairs of classes, those that the drawn beliefs confuse most first, at most _MAX_PAIRS of them."""
    beliefs = np.concatenate(points[:64]) if points else np.empty((0, 2))
    first, second = np.triu_indices(beliefs.shape[1], 1)
    if first.size > _MAX_PAIRS:
        share = np.zeros(first.size)
        for r, (i, j) in enumerate(zip(first, second, strict=True)):
            p, q = beliefs[:, i], beliefs[:, j]
            share[r] = (p * q / np.maximum(p + q, 1e-300)).mean()
        best = np.argsort(-share, kind="stable")[:_MAX_PAIRS]
        first, second = first[best], second[best]
    return np.ascontiguousarray(np.stack([first, second], axis=1), dtype=np.int64)


def _fit_backwards(model: _Model, points: list[np.ndarray], pairs: np.ndarray) -> np.ndarray:
    """Coefficients of the fitted cost to go, one row per stage, from the last to the first."""
    from scipy.linalg.lapack import dposv  # not needed where policies are only followed

    horizon, n = len(points), model.priors.size
    width = 2 * n + 1 + 2 * len(pairs)
    table = np.zeros((horizon, width))
    # Memory that is new at every stage would take as long to be had as the work in it.
    most = max(map(len, points), default=0)
    room, other, counts = np.empty(width * most), np.empty(width * most), np.empty(width, dtype=np.bool_)
    lanes = [np.empty((3 * n + 3) * most) for _ in range(2)]
    # Hundreds of small least-squares problems: threads inside each would only wait for one another.
    with one_blas_thread():
        for k in range(horizon - 1, -1, -1):
            beliefs = _Beliefs(points[k], *lanes)
            ahead = _ahead(table, k + 1, model.costs)
            target = model.costs[k] + beliefs.back_up(model.stage(k), model.regrets, pairs, *ahead)[0]
            x = room[: width * target.size].reshape(width, target.size)
            kernel.features(beliefs.lanes.beliefs, beliefs.lanes.logs, model.regrets, pairs, x, counts)
            # Functions of pairs that never meet are all zero at some stages; others may be nearly so: a little ridge.
            used = np.flatnonzero(counts)
            if used.size <= _MOST_OF_THEM * width:
                x = np.take(x, used, axis=0, out=other[: used.size * target.size].reshape(used.size, -1), mode="clip")
            gram = x @ x.T
            gram.flat[:: len(x) + 1] += _RIDGE * target.size
            table[k, used if len(x) < width else slice(None)] = dposv(gram, x @ target)[1]
    return table


def _ahead(table: np.ndarray, stage: int, costs: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients of a stage, none beyond the table, and the price of its feature."""
    row = table[stage] if stage < len(table) else np.empty(0)
    return row, float(costs[stage]) if stage < costs.size else 0.0


def _logs(chances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(chances)


class _Beliefs:
    """Beliefs (n, N) side by side for the kernels; the first ``left`` of them go on, the others wait.

    ``rooms`` are two arrays that have at least n (3 N + 3) numbers.
    """

    def __init__(self, beliefs: np.ndarray, *rooms: np.ndarray) -> None:
        n, n_classes = beliefs.shape
        rooms = rooms or tuple(np.empty((2, n * (3 * n_classes + 3))))
        self.lanes, self.children = (kernel.make_lanes(n_classes, n, room) for room in rooms)
        self.lanes.beliefs[:] = beliefs.T
        with np.errstate(divide="ignore"):
            np.log(self.lanes.beliefs, out=self.lanes.logs)
        self.answers, self.left = np.zeros(n, dtype=np.int64), n

    def back_up(
        self, delta: np.ndarray, regrets: np.ndarray, pairs: np.ndarray, coefficients: np.ndarray, price: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """J of the next stage, expected over its answers and after each one's own answer."""
        expected, seen = np.empty((2, self.left))
        kernel.back_up(
            self.lanes, self.children, delta, _logs(delta), regrets, coefficients, pairs, price,
            self.answers[: self.left], expected, seen,
        )  # fmt: skip
        return expected, seen

    def stop_costs(self, regrets: np.ndarray) -> np.ndarray:
        """g, in place."""
        kernel.stop_costs(self.lanes.beliefs, regrets, self.left, self.lanes.value, self.lanes.stop)
        return self.lanes.stop[: self.left]

    def fitted_costs(self, coefficients: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """The fitted cost to go, in place; :meth:`stop_costs` must be those of now."""
        kernel.fitted_costs(self.lanes, coefficients, pairs, self.left)
        return self.lanes.value[: self.left]

    def take_answers(self, delta: np.ndarray) -> None:
        """Each belief after its own answer."""
        answers, beliefs = self.answers[: self.left], self.lanes.beliefs[:, : self.left]
        beliefs *= delta.T[:, answers]
        mass = beliefs.sum(axis=0)
        beliefs /= mass
        self.lanes.logs[:, : self.left] += _logs(delta).T[:, answers] - np.log(mass)


def _certify(
    problem: Problem, table: np.ndarray, pairs: np.ndarray, seed: int, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Policy cost and dual bound of instances drawn from the model, with the same martingale under both.

    With D_k = J_k(pi_k) - E[J_k(pi_k) | pi_{k-1}], J the function that the solver holds, and the walk of one
    instance, the first is c_1 + ... + c_R + g(pi_R) - (D_1 + ... + D_R) at the policy's stop R, and the second the
    least such value over all R.
    """
    # Systematic sampling: classes come in the proportions of the priors.
    shift = kernel.first_uniform(seed)
    classes = np.searchsorted(problem.priors.cumsum()[:-1], (np.arange(draws) + shift) / draws, side="right")
    paid, bound = np.empty(draws), np.empty(draws)
    at_once = max(min(_SIDE_BY_SIDE, _ANSWERS // max(len(table), 1)), 1)
    for a in range(0, draws, at_once):
        part = slice(a, a + at_once)
        paid[part], bound[part] = _certify_some(problem, table, pairs, classes[part])
    return paid, bound


def _certify_some(
    problem: Problem, table: np.ndarray, pairs: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    costs, regrets, horizon, n = problem.feature_costs, problem.regrets, len(table), classes.size
    answers, lengths = np.empty((n, horizon), dtype=np.int32), np.empty(n, dtype=np.int64)
    kernel.draw_answers(problem.priors, problem.cells, problem.offsets, costs, regrets, classes, answers, lengths)
    # Those that go on longest come first, so that those that still go are always the first so many.
    order = np.argsort(-lengths, kind="stable")
    answers, lengths = answers[order], lengths[order]
    walks = _Beliefs(np.tile(problem.priors, (n, 1)))
    martingale, least, paid, stopped = np.zeros(n), np.full(n, np.inf), np.empty(n), np.zeros(n, dtype=bool)
    spent = 0.0
    for k in range(horizon + 1):
        left = walks.left
        stop = walks.stop_costs(regrets)
        # The clairvoyant may stop at any k; the martingale takes off what foresight gains, all of it if J is true.
        here = spent + stop - martingale[:left]
        np.minimum(least[:left], here, out=least[:left])
        if k == horizon and horizon < problem.n_features:
            # Beyond the table one further feature, for its price, would tell the class: no policy does better.
            np.minimum(least[:left], here - np.maximum(stop - costs[k], 0.0), out=least[:left])
        stops = lengths[:left] <= k
        if k < horizon and costs[k] > 0.0:
            stops |= stop <= walks.fitted_costs(table[k], pairs)
        now = stops & ~stopped[:left]
        paid[:left][now] = here[now]
        stopped[:left] |= stops
        walks.left = left = int(np.searchsorted(-lengths, -k, side="left"))
        if left == 0:
            break
        delta = problem.stage(k)
        walks.answers[:left] = answers[:left, k]
        expected, seen = walks.back_up(delta, regrets, pairs, *_ahead(table, k + 1, costs))
        # Summed over all answers and not sampled: D_k has mean 0 exactly, whatever J is.
        martingale[:left] += seen - expected
        walks.take_answers(delta)
        spent += costs[k]
    back = np.argsort(order)
    return paid[back], least[back]


class AlphaPolicy(StoppingPolicy):
    """The optimum over a small tree of answers; stops where g(pi) <= min_alpha alpha . pi.

    Attributes
    ----------
    vectors : list of arrays (n, N)
        For each stage, the plans that go on: costs (in regrets) given each class.
    """

    words: ClassVar[str] = "the optimum"

    kinds = (ALPHA,)

    def __init__(self, problem: Problem, vectors: list[np.ndarray], cost: float) -> None:
        self.vectors = vectors
        first = np.concatenate(([0], np.cumsum([len(v) for v in vectors], dtype=np.int64)))
        table = np.concatenate([np.empty((0, problem.n_classes)), *vectors])
        super().__init__(problem, ALPHA, table, horizon=len(vectors), index=first[:, None])
        self._cost = cost

    @property
    def expected_cost(self) -> float:
        """The optimum."""
        return self._cost + self.problem.floor_cost

    @cached_property
    def lower_bound(self) -> float:
        """The optimum."""
        return self.expected_cost

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The plans, and what the best costs."""
        arrays, numbers = super().state()
        return arrays, numbers | {"optimum": self._cost}

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        table = state.array("table", (None, problem.n_classes))
        first = state.array("index", (horizon + 1, 1), np.int64)[:, 0]
        if first[0] != 0 or first[-1] != len(table) or (first[1:] < first[:-1]).any():
            raise InputError("the first rows of the stages do not divide the table of plans")
        return cls(problem, np.split(table, first[1:-1]) if horizon else [], state.number("optimum"))

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        if not len(self.vectors[stage]):
            return np.full(len(beliefs), np.inf)
        return (beliefs @ self.vectors[stage].T).min(axis=1)


class FreePolicy(StoppingPolicy):
    """All features cost nothing: asks for them all."""

    words: ClassVar[str] = "nothing, for all features are free"

    kinds = (NEVER,)

    @cached_property
    def lower_bound(self) -> float:
        """No policy is better than the one that knows all features, so its own cost."""
        return self.expected_cost


@dataclass(frozen=True)
class Certificate:
    """Estimates of the policy's cost and of the dual bound, in regrets."""

    cost: float
    cost_error: float
    bound: float
    bound_error: float
    draws: int


class FittedPolicy(StoppingPolicy):
    """Stops where g(pi) is at most a fitted cost to go."""

    words: ClassVar[str] = "a fitted cost to go, with a certified gap"

    kinds = (FITTED,)

    def __init__(self, problem: Problem, table: np.ndarray, pairs: np.ndarray, random_state: int) -> None:
        super().__init__(problem, FITTED, table, len(table), index=pairs, random_state=random_state)

    @cached_property
    def certificate(self) -> Certificate:
        """Policy cost and lower bound; more instances are drawn until the bound is precise enough."""
        paid, bound = self._first_look
        for seed in range(1, _SEEDS + 1):
            error = float(bound.std(ddof=1) / np.sqrt(bound.size))
            allowed = _PRECISION * abs(float(bound.mean())) / _CONFIDENCE
            if error <= allowed or paid.size >= _MOST_DRAWS or seed == _SEEDS:
                break
            needed = 1.1 * paid.size * (error / allowed) ** 2 if allowed > 0 else np.inf
            p, b = self._look(seed, int(max(min(needed, _MOST_DRAWS) - paid.size, _DRAWS)))
            paid, bound = np.concatenate([paid, p]), np.concatenate([bound, b])
        cost_error = float(paid.std(ddof=1) / np.sqrt(paid.size))
        return Certificate(float(paid.mean()), cost_error, float(bound.mean()), error, paid.size)

    @cached_property
    def _first_look(self) -> tuple[np.ndarray, np.ndarray]:
        return self._look(0, _DRAWS)

    def _look(self, number: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
        seed = np.random.SeedSequence(self.random_state).spawn(_SEEDS)[number]
        return _certify(self.problem, self.rule.table, self.rule.index, int(seed.generate_state(1)[0]), draws)

    def costs_less(self, other: StoppingPolicy) -> bool:
        """As of any policy; where the first instances of both certificates say it clearly, no others are drawn."""
        if isinstance(other, FittedPolicy):
            looks = self._first_look[0] + self.problem.floor_cost, other._first_look[0] + other.problem.floor_cost
            less = looks[1].mean() - looks[0].mean()
            if abs(less) > _CLEARLY * np.sqrt(sum(look.var(ddof=1) / look.size for look in looks)):
                return bool(less > 0)
        return super().costs_less(other)

    @property
    def expected_cost(self) -> float:
        """Mean cost over instances drawn from the model; ``certificate`` has its standard error."""
        return self.certificate.cost + self.problem.floor_cost

    @cached_property
    def lower_bound(self) -> float:
        """A cost that no policy beats, with a confidence of 99.95 %."""
        c = self.certificate
        return min(max(c.bound - _CONFIDENCE * c.bound_error, 0.0), c.cost) + self.problem.floor_cost

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The fitted coefficients and the certificate."""
        arrays, numbers = super().state()
        return arrays, numbers | {f"certified_{name}": value for name, value in vars(self.certificate).items()}

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        n = problem.n_classes
        pairs = state.array("index", (None, 2), np.int64)
        if ((pairs < 0) | (pairs >= n)).any():
            raise InputError("a pair names a class that is not there")
        table = state.array("table", (horizon, 2 * n + 1 + 2 * len(pairs)))
        self = cls(problem, table, pairs, state.whole("random_state", 0, LARGEST_SEED))
        vars(self)["certificate"] = Certificate(
            state.number("certified_cost"),
            state.number("certified_cost_error"),
            state.number("certified_bound"),
            state.number("certified_bound_error"),
            state.whole("certified_draws", 1, 2**62),
        )
        return self

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        at = _Beliefs(beliefs)
        at.stop_costs(self.rule.regrets)
        return np.maximum(at.fitted_costs(self.rule.table[stage], self.rule.index), self.problem.feature_costs[stage])
