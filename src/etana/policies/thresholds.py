"""F-ETANA: linear thresholds found by stochastic approximation (the paper's Theorem 3 and Algorithm 1).

The regions where stopping is right begin at the corners of the simplex, one for each decision. F-ETANA bounds
each by a plane, theta_{k,j} in R^N for stage k and decision j::

    stop at stage k  when  theta_{k,j} . pi <= 0  for some j;        then decide argmin_j M_j . pi

An instance that no threshold stops is decided at the horizon. The thresholds of decision j minimise (Function
H of the paper)::

    H_j(theta_j) = E[ c_1 + ... + c_R + M_j . pi_R ]        R = the first k with theta_{k,j} . pi_k <= 0

over instances of class j drawn from the model. The beliefs of an instance do not depend on theta, so that
a batch of paths is drawn once and serves every evaluation (common random numbers). Algorithm 1 moves along
random signs alpha_t with simultaneous perturbations (SPSA)::

    theta <- theta - a_t (H_j(theta + b_t alpha_t) - H_j(theta - b_t alpha_t)) / (2 b_t) alpha_t
    a_t = epsilon (t + 1 + shift)^-kappa        b_t = mu (t + 1)^-nu

until the norm of that gradient is at most ``gradient_tolerance`` or ``max_iterations`` is reached.

What the paper leaves open is chosen so:

* Costs and theta are measured in units of the mean price of a feature: the currency does not matter.
* Start: theta_{k,j} = R_j - t_k, "stop where the regret of j is at most t_k". t_k is the level that is
  cheapest on the batch given the later ones, found from the last stage back, and at least c_{k+1}, where
  stopping is right.
* theta_{k,j} keeps the corners of those classes i for which j is the best decision, theta_{k,j,i} <= 0, as Theorem 3
  demands, and is trained on instances of these classes. Where the right answer is the best decision that is class j.
* The cheapest theta met is kept, not the last, and it replaces the start only if the policy of all thresholds
  together becomes cheaper on a second batch that took no part in the search.
* A feature that is free is always asked.
* Only stages up to a horizon get thresholds; there the policy stops. Going on can pay only while
  g > c_{k+1}, and then it saves less than g; the horizon is where the mean of that over the batch falls to
  ``tolerance`` times the cost of deciding at once. Its value there is kept as ``truncation``: an estimate
  of the most that is lost.

``original=True`` is the authors' program in place of these choices: theta_0 = 1, costs in units of the
largest regret, each gradient on a single instance, corners not kept, the last theta taken, all stages (as
far as 2^24 numbers of paths reach). Both perturbed thresholds often stop an instance at the same stage;
the gradient is then exactly zero and training ends on the spot, be it at the first iteration: that is what
was published.

Promise: the policy can be carried out, so that its cost is never below the optimum. Nothing more is
guaranteed; ``lower_bound`` and ``gap`` say how far off it can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.kernels import thresholds as kernels
from etana.kernels.rules import LINEAR, NEVER
from etana.parameters import check_parameters, either, flag, none, number, whole
from etana.policies.bounds import BoundedPolicy
from etana.policies.stopping import LARGEST_SEED
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["ThresholdPolicy", "ThresholdSolver"]

_MOST_DRAWS = 4096  # paths in a batch, all classes together
_POOL = 64  # paths of each class from which the authors' program takes its single instances
_LARGEST = 2**24  # numbers in a batch: 128 MiB
_ROLL_OUTS = 2000


class ThresholdPolicy(BoundedPolicy):
    """Stops where one of N linear thresholds says so.

    Attributes
    ----------
    truncation : float
        Estimate of the most that the stages beyond the horizon could save; 0 where there are none.
    iterations : array (N,)
        Iterations of Algorithm 1 made for each decision.
    """

    words: ClassVar[str] = "linear thresholds on the belief"

    kinds = (LINEAR, NEVER)
    truncation: float = 0.0
    iterations: np.ndarray

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The thresholds, and how they were found."""
        arrays, numbers = super().state()
        return arrays | {"iterations": self.iterations}, numbers | {"truncation": float(self.truncation)}

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        n = problem.n_classes
        if state.values["kind"] == LINEAR:
            state.array("table", (horizon * n, n))
        self = super()._build(problem, horizon, state)
        self.truncation = state.number("truncation")
        self.iterations = state.array("iterations", (n,), np.int64)
        return self

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        """By simulation: thresholds hold no values."""
        problem, out = self.problem, np.empty(len(beliefs))
        draws, seed = max(_ROLL_OUTS // problem.n_classes, 1), _seeds(self.random_state)[3]
        model = _model(problem, self.horizon)
        kernels.roll_out(self.rule, model, self.horizon, stage, beliefs, draws, seed, out)
        return out


@dataclass(frozen=True)
class _Batch:
    """Paths of instances drawn from the model, with what they weigh and what stopping costs along them."""

    labels: np.ndarray  # (D,)
    weights: np.ndarray  # (D,), the sum of which is 1
    beliefs: np.ndarray  # (D, H + 1, N)
    stop: np.ndarray  # (D, H + 1): g

    def cost(self, theta: np.ndarray, spent: np.ndarray) -> float:
        """Mean cost of the policy of all thresholds (H, N, N)."""
        halts = np.empty(len(self.labels), dtype=np.int64)
        kernels.first_stops(theta, self.beliefs, halts)
        return float(self.weights @ (spent[halts] + self.stop[np.arange(len(halts)), halts]))


class ThresholdSolver:
    """Linear thresholds by SPSA: the paper's F-ETANA.

    Parameters
    ----------
    max_iterations : int, optional
        Most iterations of Algorithm 1 for each decision and restart: 200 if not given, and the paper's
        100,000 with ``original``. 0 keeps the start.
    batch : int, default 1024
        Most paths of each class on which costs are estimated; all classes together get 4096.
    restarts : int, default 1
        Times that Algorithm 1 is run for each decision, each from the best so far with fresh gains.
    epsilon, shift, kappa, mu, nu : float
        The gains a_t and b_t, by default those of the authors' program.
    gradient_tolerance : float, default 1e-5
        Norm of the gradient at which training ends.
    tolerance : float, default 1e-4
        What may be lost beyond the horizon, as a share of the cost of deciding at once.
    original : bool, default False
        The authors' program; see the module.
    random_state : int, default 0
        Seed of all draws.

    Examples
    --------
    >>> import etana
    >>> problem = etana.Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], feature_costs=0.05)
    >>> policy = etana.policies.ThresholdSolver().solve(problem)
    >>> policy.stops(0, [0.5, 0.5]), round(policy.expected_cost, 3)
    (False, 0.2)
    """

    _parameters: ClassVar = {
        "max_iterations": either(none, whole(least=0)),
        "batch": whole(least=1),
        "restarts": whole(least=1),
        **dict.fromkeys(("epsilon", "shift", "kappa", "mu", "nu"), number(above=0)),
        "gradient_tolerance": number(above=0),
        "tolerance": number(above=0),
        "original": flag,
        "random_state": whole(0, LARGEST_SEED),
    }

    def __init__(
        self,
        max_iterations: int | None = None,
        batch: int = 1024,
        restarts: int = 1,
        epsilon: float = 0.1667,
        shift: float = 0.5,
        kappa: float = 0.602,
        mu: float = 2.0,
        nu: float = 0.2,
        gradient_tolerance: float = 1e-5,
        tolerance: float = 1e-4,
        original: bool = False,
        random_state: int = 0,
    ) -> None:
        self.max_iterations = max_iterations
        self.batch = batch
        self.restarts = restarts
        self.epsilon = epsilon
        self.shift = shift
        self.kappa = kappa
        self.mu = mu
        self.nu = nu
        self.gradient_tolerance = gradient_tolerance
        self.tolerance = tolerance
        self.original = original
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"ThresholdSolver(max_iterations={self.max_iterations}, original={self.original})"

    def solve(self, problem: Problem) -> ThresholdPolicy:
        """Find the thresholds of every decision."""
        check_parameters(self)
        n = problem.n_classes
        # The same paths are drawn and the same directions tried however the classes are numbered; the authors' program
        # takes them as they are.
        classes = np.arange(n) if self.original else problem.canonical
        given, problem = problem, problem.renumbered(classes)
        iterations = np.zeros(n, dtype=np.int64)
        if n == 1 or not problem.feature_costs.any():
            # Nothing to decide, or nothing to pay: the walk ends at a corner or with the last feature.
            kind, table, horizon, truncation = NEVER, np.zeros((1, 1)), problem.n_features, 0.0
        else:
            horizon, truncation = self._horizon(problem)
            prices = problem.feature_costs[:horizon]
            # Where all stages up to the horizon are free no threshold is trained, and any unit serves.
            paid = prices.any() and not self.original
            unit = float(prices[prices > 0].mean()) if paid else problem.scale
            train = self._train_original if self.original else self._train
            theta = train(problem, prices / unit, problem.regrets / unit, iterations)
            back = np.argsort(classes)
            kind, table, iterations = LINEAR, theta[:, back][:, :, back].reshape(-1, n), iterations[back]
        policy = ThresholdPolicy(given, kind, table, horizon, random_state=self.random_state)
        policy.truncation, policy.iterations = truncation, iterations
        return policy

    @property
    def _most_iterations(self) -> int:
        if self.max_iterations is None:
            return 100_000 if self.original else 200
        return self.max_iterations

    def _per_class(self, n_classes: int) -> int:
        return max(1, min(_POOL if self.original else self.batch, _MOST_DRAWS // n_classes))

    def _horizon(self, problem: Problem) -> tuple[int, float]:
        """The number of stages that get thresholds, and what the others could save at most."""
        n, per_class = problem.n_classes, self._per_class(problem.n_classes)
        limit = min(problem.n_features, max(1, _LARGEST // (per_class * n * n)))
        left = np.empty(limit + 1)
        prices, regrets = problem.feature_costs / problem.scale, problem.regrets / problem.scale
        seed = _seeds(self.random_state)[0]
        kernels.remainders(_model(problem, limit), prices, regrets, per_class, seed, left)
        enough = np.flatnonzero(left <= self.tolerance * left[0])
        horizon = limit if self.original or not enough.size else int(enough[0])
        return horizon, float(left[horizon] * problem.scale) if horizon < problem.n_features else 0.0

    def _draw(self, problem: Problem, horizon: int, regrets: np.ndarray, seed: int) -> _Batch:
        n, per_class = problem.n_classes, self._per_class(problem.n_classes)
        labels = np.repeat(np.arange(n), per_class)
        beliefs = np.empty((len(labels), horizon + 1, n))
        kernels.draw_paths(_model(problem, horizon), labels, seed, beliefs)
        stop = np.empty(beliefs.shape[:2])
        kernels.path_costs(beliefs, regrets, stop)
        return _Batch(labels, problem.priors[labels] / per_class, beliefs, stop)

    def _train(self, problem: Problem, prices: np.ndarray, regrets: np.ndarray, iterations: np.ndarray) -> np.ndarray:
        """Start, then Algorithm 1 decision by decision; each result is taken only if it helps."""
        seeds = _seeds(self.random_state)
        batch = self._draw(problem, len(prices), regrets, seeds[1])
        judge = self._draw(problem, len(prices), regrets, seeds[2])
        spent, free = np.concatenate(([0.0], np.cumsum(prices))), prices == 0
        theta = _start(batch, prices, regrets)
        cost = judge.cost(theta, spent)
        kernels.seed_generator(seeds[3])
        best = _best_decisions(regrets)
        for i in np.flatnonzero(problem.priors > 0):
            j = int(best[i])
            found, corners = theta[:, j].copy(), np.flatnonzero(best == j)
            for _ in range(self.restarts):
                iterations[j] += self._spsa(found, int(i), j, corners, free, batch, regrets, spent)
            tried = theta.copy()
            tried[:, j] = found
            if (now := judge.cost(tried, spent)) < cost:
                theta, cost = tried, now
        return theta

    def _train_original(
        self, problem: Problem, prices: np.ndarray, regrets: np.ndarray, iterations: np.ndarray
    ) -> np.ndarray:
        """Algorithm 1 as the authors' program runs it."""
        seeds = _seeds(self.random_state)
        batch = self._draw(problem, len(prices), regrets, seeds[1])
        spent, free = np.concatenate(([0.0], np.cumsum(prices))), np.zeros(len(prices), dtype=bool)
        theta = np.ones((len(prices), problem.n_classes, problem.n_classes))
        kernels.seed_generator(seeds[3])
        for j in np.flatnonzero(problem.priors > 0):
            found = theta[:, j].copy()
            none = np.empty(0, dtype=np.int64)
            iterations[j] = self._spsa(found, int(j), int(j), none, free, batch, regrets, spent)
            theta[:, j] = found
        return theta

    def _spsa(
        self,
        theta: np.ndarray,
        i: int,
        j: int,
        corners: np.ndarray,
        free: np.ndarray,
        batch: _Batch,
        regrets: np.ndarray,
        spent: np.ndarray,
    ) -> int:
        """Algorithm 1 for decision j, over the paths of class i; theta is changed in place."""
        beliefs = batch.beliefs[batch.labels == i]
        gains = kernels.Gains(*(float(getattr(self, name)) for name in kernels.Gains._fields))
        return kernels.spsa(
            theta,
            corners,
            free,
            beliefs,
            beliefs @ regrets[:, j],
            spent,
            gains,
            float(self.gradient_tolerance),
            self._most_iterations,
            self.original,
        )


def _start(batch: _Batch, prices: np.ndarray, regrets: np.ndarray) -> np.ndarray:
    """theta_{k,j} = R_j - t_k with its corners kept; a free stage never stops."""
    levels = np.empty(len(prices))
    order = np.ascontiguousarray(np.argsort(batch.stop, axis=0, kind="stable").T)
    kernels.fit_levels(batch.stop, order, prices, batch.weights, levels)
    theta = regrets.T[None, :, :] - levels[:, None, None]
    classes, best = np.arange(regrets.shape[0]), _best_decisions(regrets)
    theta[:, best, classes] = np.minimum(theta[:, best, classes], 0.0)
    theta[prices == 0] = 1.0
    return theta


def _best_decisions(regrets: np.ndarray) -> np.ndarray:
    """The decision without regret for each class: its own if that is one, else the first."""
    own = np.arange(len(regrets))
    return np.where(regrets[own, own] == 0.0, own, regrets.argmin(axis=1))


def _model(problem: Problem, horizon: int) -> kernels.ProblemArrays:
    with np.errstate(divide="ignore"):
        log_cells, log_priors = np.log(problem.cells[: problem.offsets[horizon]]), np.log(problem.priors)
    return kernels.ProblemArrays(problem.cells, log_cells, problem.offsets, log_priors)


def _seeds(random_state: int) -> list[int]:
    """Independent seeds: of the horizon, the two batches, and the directions or roll-outs."""
    return [int(s) for s in np.random.SeedSequence(random_state).generate_state(4)]
