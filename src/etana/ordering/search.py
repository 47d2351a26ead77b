"""The order that sees all prices, searched for on the expected cost itself.

The scores of :mod:`etana.ordering.scores` look at features one by one. They know neither what the features before
have told already, nor what mistakes cost, nor that the second test of a group is cheaper. Here an order is worth what
its stopping problem costs under the model, with the price of each stage as the order makes it.

**Starts.** The stopping problems of the orders ``"error"``, ``"information"`` and, if there are discounts,
``"information"`` at discounted prices are solved. The cheapest order is improved.

**Moves.** Only a *window* of the order is worked on: the places that its policy reaches with a chance of at least
1/100 and two more, 24 at most, and the next 16 features of each start. For each place in turn, features from behind
are put there, alone, in exchange, or together with one that they make cheaper, and the feature that stands there is put
at the end of the window. The best of these trials is kept if it lowers the cost by more than 1/1000. Sweeps over the
places end when none does, or after 2000 trials (600 for two classes, where each is a problem solved; fewer for more
than 45 classes, 64 at least); this bounds the work for any number of features.

**Trials.** For two classes, the stopping problem over the places and the next 8 features is solved exactly, unless a
bound on a grid of beliefs (:class:`etana.policies.exact.RoughBounds`) shows that the move does not pay. For more
classes, the same stages are played by instances that are drawn from the model once and give the same answers in every
order. They stop where g(pi) <= t_k, and t_k is the number for which the mean cost from stage k on is least, found from
the last stage to the first. A move changes few stages, and only these are played again. Of the features behind a place
only those are tried that tell most per price about the instances still asked there, 8 at most.

**Promise.** What was found is solved whole, as the starts were, and the cheapest of all is the answer, with its policy.
With the solver ``"auto"`` and the same seed its expected cost is therefore never above that of ``"error"`` or
``"information"``; where instances are drawn to tell, the first of them decide what they say by five standard errors
(:meth:`etana.policies.points.FittedPolicy.costs_less`). It is a local optimum: another order may be cheaper still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from etana.costs import ResolvedCosts
from etana.kernels import played as kernel
from etana.likelihood import Counts, reorder_cells
from etana.ordering.scores import order_features
from etana.policies import ExactSolver, StoppingPolicy, solver_for
from etana.policies.exact import RoughBounds, quick_bound
from etana.problem import Problem

__all__ = ["Ordered", "search_order"]

_REACH = 0.01
_MORE, _MOST_PLACES = 2, 24
_NEXT = 16  # features of each start behind the places
_BEYOND = 8  # stages behind the places that a trial has
_GAIN = 1e-3
_ABOVE = 1 + 1e-9  # more than rounding
_ROUGH = (0.03, 0.001)  # tolerances at which trials that do not pay are given up
_TRIALS, _SOLVED_TRIALS, _LEAST_TRIALS = 2000, 600, 64
_PRODUCTS = 2**22  # squares of the number of classes: what a trial's stop costs take
_PROMISING = 8
_MATES = 3
_NUMBERS, _LEAST_DRAWS = 2**14, 256  # numbers in the beliefs of drawn instances
_LEVELS = 256  # of stop costs between which a threshold can lie


def search_order(
    counts: Counts,
    likelihoods: np.ndarray,
    priors: np.ndarray,
    prices: ResolvedCosts,
    mistakes: np.ndarray,
    random_state: int = 0,
) -> Ordered:
    """Column indices in an order whose stopping problem has a low expected cost, and the solution of that problem."""
    model = _Model(counts, likelihoods, priors, prices, mistakes, random_state)
    starts = _starts(model)
    decides = bool(np.ptp(mistakes, axis=1).any())
    if not decides or starts[0].size < 2:
        return Ordered(starts[0])
    start, policy = _cheapest(model, starts)
    places = min(policy.depth(_REACH, _MOST_PLACES) + _MORE, _MOST_PLACES, start.size)
    window = _window([start, *starts], places)
    trials: _Trials = _Solved(model, window) if priors.size == 2 else _Played(model, window)
    found = _improve(window, places, prices, trials, _trials_left(priors.size))
    order = np.concatenate([found, start[~np.isin(start, found)]])
    if np.array_equal(order, start):
        return Ordered(start, policy)
    found_policy = model.solve(order)
    return Ordered(order, found_policy) if found_policy.costs_less(policy) else Ordered(start, policy)


class Ordered(NamedTuple):
    """Column indices in the order of asking, and the policy that ``"auto"`` finds for them, if it was asked for one."""

    order: np.ndarray
    policy: StoppingPolicy | None = None


@dataclass(frozen=True)
class _Model:
    """All that the cost of an order depends on besides the order."""

    counts: Counts
    likelihoods: np.ndarray
    priors: np.ndarray
    prices: ResolvedCosts
    mistakes: np.ndarray
    seed: int

    def ranked(self, ordering: str, costs: np.ndarray) -> np.ndarray:
        """The order by scores."""
        return order_features(ordering, self.counts, self.likelihoods, self.priors, costs)

    def problem(self, order: np.ndarray) -> Problem:
        """The stopping problem over these features, all or some, in this order."""
        cells, offsets = reorder_cells(self.likelihoods, self.counts.offsets, order)
        return Problem.from_cells(self.priors, cells, offsets, self.prices.in_order(order), self.mistakes)

    def solve(self, order: np.ndarray) -> StoppingPolicy:
        """The policy that ``"auto"`` finds."""
        problem = self.problem(order)
        return solver_for("auto", problem.n_classes, self.seed).solve(problem)


class _Trials(Protocol):
    """What the first stages cost with features in another order."""

    def look(self, trials: np.ndarray, enough: float) -> None:
        """The trials that follow are among these orders, by rows, and must cost less than ``enough``."""

    def cost(self, stages: np.ndarray, enough: float = np.inf) -> float:
        """Expected cost of asking these features in this order, and no others; infinite if it is surely not below
        ``enough``."""

    def keep(self, stages: np.ndarray) -> None:
        """The trials that follow are moves in this order."""

    def promising(self, features: np.ndarray, place: int) -> np.ndarray:
        """Which of these features, by index, are worth a trial at this place."""


def _starts(model: _Model) -> list[np.ndarray]:
    full, discounted = model.prices.full, model.prices.discounted
    starts = [model.ranked("error", full), model.ranked("information", full)]
    if not np.array_equal(full, discounted):
        starts.append(model.ranked("information", discounted))
    return starts


def _cheapest(model: _Model, starts: list[np.ndarray]) -> tuple[np.ndarray, StoppingPolicy]:
    """The cheapest order, the first of equals, and its policy."""
    bounds = [quick_bound(model.problem(order)) if model.priors.size == 2 else -np.inf for order in starts]
    best = int(np.argmin(bounds))
    policy = model.solve(starts[best])
    for k, order in enumerate(starts):
        # An order that is surely dearer need not be solved.
        if k != best and (bounds[k] == -np.inf or bounds[k] <= policy.expected_cost * _ABOVE):
            other = model.solve(order)
            if other.costs_less(policy) or (k < best and not policy.costs_less(other)):
                best, policy = k, other
    return starts[best], policy


def _window(starts: list[np.ndarray], places: int) -> np.ndarray:
    """The first features of the starts, those of the first start in front."""
    features = np.concatenate([order[: places + _NEXT] for order in starts])
    _, first = np.unique(features, return_index=True)
    return features[np.sort(first)]


def _trials_left(n_classes: int) -> int:
    if n_classes == 2:
        return _SOLVED_TRIALS
    return max(min(_TRIALS, _PRODUCTS // n_classes**2), _LEAST_TRIALS)


def _improve(window: np.ndarray, places: int, prices: ResolvedCosts, trials: _Trials, left: int) -> np.ndarray:
    """Sweeps over the places until no move pays."""
    stages = places + _BEYOND
    trials.keep(window[:stages])
    cost, pays = trials.cost(window[:stages]), True
    # Trials come again in the next sweep. What must be beaten only falls, so that what was given up stays so.
    known: dict[bytes, float] = {}
    while pays:
        pays = False
        for place in range(places if left else 0):
            behind = trials.promising(window[place + 1 :], place) + place + 1
            moved = _moves(window, place, behind, prices)[:left]
            left -= len(moved)
            least, best = cost * (1 - _GAIN), None
            tried = np.ascontiguousarray(moved[:, :stages])
            keys = [trial.tobytes() for trial in tried]
            fresh = [t for t, key in enumerate(keys) if key not in known]
            trials.look(tried[fresh], least)
            for t, key in enumerate(keys):
                if key not in known:
                    known[key] = trials.cost(tried[t], least)
                if known[key] < least:
                    least, best = known[key], moved[t]
            if best is not None:
                cost, window, pays = least, best, True
                trials.keep(window[:stages])
    return window


def _moves(window: np.ndarray, place: int, behind: np.ndarray, prices: ResolvedCosts) -> np.ndarray:
    """The window with the feature of this place at the end, and with features from behind at this place, by rows."""
    at = np.arange(window.size)
    last = at.copy()
    last[place:-1], last[-1] = at[place + 1 :], place
    # Two rows for each feature from behind: put here, or in exchange; of neighbours that is the same.
    pairs = np.repeat(behind, 2)
    rows = np.tile(at, (pairs.size, 1))
    rows[::2] -= (at > place) & (at <= behind[:, None])
    rows[np.arange(1, pairs.size, 2), behind] = place
    rows[:, place] = pairs
    same = np.zeros(pairs.size, dtype=bool)
    same[1::2] = behind == place + 1
    orders = [window[last][None, :], window[rows[~same]]]
    group = prices.group[window]
    cheaper = prices.discounted[window] < prices.full[window]
    for k in behind[group[behind] >= 0]:
        mates = np.flatnonzero((group == group[k]) & cheaper)
        for mate in mates[(mates > place) & (mates != k)][:_MATES]:
            rest = np.delete(at, [k, mate])
            orders.append(window[np.insert(rest, place, [k, mate])][None, :])
    return np.concatenate(orders)


def _places(model: _Model, window: np.ndarray) -> np.ndarray:
    """Where in the window each feature is."""
    places = np.zeros(model.prices.full.size, dtype=np.int64)
    places[window] = np.arange(window.size)
    return places


def _changed(trials: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """For each order, by rows, the first place where it differs from the one that was kept, and the first from which
    on they agree again, features asked before included."""
    changed = trials != kept
    first, last = changed.argmax(axis=1), kept.size - changed[:, ::-1].argmax(axis=1)
    # Where a new feature came in, beliefs differ to the end.
    new = (np.sort(trials, axis=1) != np.sort(kept)).any(axis=1)
    return np.stack([first, np.where(new, kept.size, np.where(changed.any(axis=1), last, 0))], axis=1)


class _Solved:
    """Trials by the exact solver, for two classes."""

    def __init__(self, model: _Model, window: np.ndarray) -> None:
        self.model = model
        self.solver = ExactSolver(tolerance=_GAIN / 10)  # precise enough to tell which move pays
        self.bounds = RoughBounds(model.problem(window), _ROUGH)
        self.place, self.grouped = _places(model, window), bool((model.prices.group >= 0).any())
        self.least: dict[bytes, float] = {}

    def look(self, trials: np.ndarray, enough: float) -> None:
        # Most moves are far from paying, which bounds show that take a hundredth of the time.
        self.least = {}
        if not len(trials):
            return
        costs = self.model.prices
        if self.grouped:
            prices = np.stack([costs.in_order(trial) for trial in trials])
        else:
            prices = costs.full[trials]
        terms, left = (self.place[trials], prices, _changed(trials, self.kept)[:, 1]), np.arange(len(trials))
        least = np.full(len(trials), -np.inf)
        for rung in range(len(_ROUGH)):
            least[left] = self.bounds.lowest(rung, *(each[left] for each in terms))
            left = np.flatnonzero(least <= enough * _ABOVE)
            if not left.size:
                break
        self.least = {trial.tobytes(): bound for trial, bound in zip(trials, least.tolist(), strict=True)}

    def cost(self, stages: np.ndarray, enough: float = np.inf) -> float:
        if self.least.get(stages.tobytes(), -np.inf) > enough * _ABOVE:
            return np.inf
        return self.solver.solve(self.model.problem(stages)).expected_cost

    def keep(self, stages: np.ndarray) -> None:
        self.kept = stages
        self.bounds.keep(self.bounds.stages(self.place[stages], self.model.prices.in_order(stages)))

    def promising(self, features: np.ndarray, place: int) -> np.ndarray:
        return np.arange(features.size)


class _Played:
    """Trials on drawn instances, for any number of classes.

    ``true`` are their classes; ``likely[feature]`` is P(answer | T_i) of their answers, a column for each instance. For
    the order that was kept, ``beliefs[k]``, ``stages`` and ``onward[k]`` are the instances after k features, what
    stopping costs them and what they pay then on.
    """

    def __init__(self, model: _Model, window: np.ndarray) -> None:
        self.problem, self.prices = model.problem(window), model.prices
        self.true, self.likely = _drawn(self.problem, model.seed)
        self.place = _places(model, window)
        self.changed: dict[bytes, list[int]] = {}
        n, draws, most = self.problem.n_classes, self.true.size, window.size
        self.stages, self.tried = (kernel.make_stages(most, draws, _LEVELS) for _ in range(2))
        self.onward, self.ahead = np.empty((2, most + 1, draws))
        self.beliefs = np.empty((most + 1, n, draws))
        self.beliefs[0] = self.problem.priors[:, None]
        self.unseen = np.empty((0, n, draws))
        self.per_level = _LEVELS / self.problem.scale
        stop, level, stopping = (part[0] for part in self.stages)
        stop[:] = (self.problem.priors @ self.problem.regrets).min()
        level[:] = (stop * self.per_level).astype(np.int64)
        stopping[:] = np.bincount(level, stop, minlength=_LEVELS + 1).cumsum()

    def keep(self, stages: np.ndarray) -> None:
        self.kept, self.changed = stages, {}
        self.play(stages, 0, self.stages, self.beliefs)
        self.onward[stages.size] = self.stages.stop[stages.size]
        kernel.settle(self.stages, self.stages, 0, self.prices.in_order(stages), self.onward[: stages.size + 1])

    def play(self, features: np.ndarray, first: int, stages: kernel.PlayedStages, beliefs: np.ndarray) -> None:
        """The stages after the first so many, with these features."""
        kernel.play(
            self.beliefs[first], self.likely, self.place[features], first, self.problem.regrets, self.per_level, stages,
            beliefs,
        )  # fmt: skip

    def look(self, trials: np.ndarray, enough: float) -> None:
        changed = _changed(trials, self.kept)
        self.changed = {trial.tobytes(): places for trial, places in zip(trials, changed.tolist(), strict=True)}

    def cost(self, stages: np.ndarray, enough: float = np.inf) -> float:
        key = stages.tobytes()
        first, again = self.changed[key] if key in self.changed else _changed(stages[None, :], self.kept)[0].tolist()
        self.play(stages[first:again], first, self.tried, self.unseen)
        self.ahead[again] = self.tried.stop[again] if again == stages.size else self.onward[again]
        kernel.settle(self.stages, self.tried, first, self.prices.in_order(stages[:again]), self.ahead)
        return float(self.ahead[0].mean()) + self.problem.floor_cost

    def promising(self, features: np.ndarray, place: int) -> np.ndarray:
        """Those with most information per price about the instances that go on at this place."""
        going = (self.onward[: place + 1] != self.stages.stop[: place + 1]).all(axis=0)
        told = kernel.information(self.beliefs[place], self.likely, self.place[features], going, self.true)
        prices = self.prices.now(features, self.kept[:place].tolist())
        rate = told / np.maximum(prices, 1e-12 * self.problem.scale)
        return np.argsort(-rate, kind="stable")[:_PROMISING]


def _drawn(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes of instances drawn from the model, and P(answer | T_i) of their answers: (features, N, instances)."""
    rng = np.random.default_rng(seed)
    draws = max(_NUMBERS // problem.n_classes, _LEAST_DRAWS)
    # Classes come in the proportions of the priors, in an order that does not depend on how they are numbered.
    signature = np.round(problem.cells.T @ np.arange(len(problem.cells)), 9)
    turn = np.lexsort((signature, problem.priors))
    below = problem.priors[turn].cumsum()[:-1]
    true = turn[np.searchsorted(below, (np.arange(draws) + rng.random()) / draws, side="right")]
    likely = np.empty((problem.n_features, problem.n_classes, draws))
    for k in range(problem.n_features):
        delta = problem.stage(k)
        answers = (rng.random(draws)[:, None] >= delta.cumsum(axis=0).T[true]).sum(axis=1)
        likely[k] = delta[np.minimum(answers, len(delta) - 1)].T
    return true, likely
