"""What a policy is expected to pay and to ask.

Of a fixed order under naive Bayes it is what the policy pays under its own model. For each class T_i the walk is
followed through the tree of answers, branch v of stage k taken with probability P(F_k = v | T_i). While the tree stays
small it is followed whole and the result is exact; otherwise instances are drawn from the model, the same number for
each class, and every figure comes with its standard error::

    E[cost]  =  sum_i p_i ( E[ c_1 + ... + c_R | T_i ]  +  E[ M_{i, D_R} | T_i ] )

Of other policies it is an average over walks (:meth:`Expectation.of_walks`): of instances drawn from the model, or of
held-out training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.errors import InputError
from etana.kernels import rules
from etana.kernels.walk import Cells, simulate
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.modelfile.state import State
    from etana.policies.stopping import StoppingPolicy

__all__ = ["Expectation", "expect"]

_LARGEST_TREE = 4096
_DRAWS = 20_000


@dataclass(frozen=True)
class Expectation:
    """Expected cost and number of features of a policy, under its model.

    Attributes
    ----------
    cost, n_features : float
        Means over the classes, weighted by the priors.
    class_cost, class_n_features : array (N,)
        Means given the true class.
    reach : array (horizon + 1,)
        Chance that at least k features are asked, for k = 0, 1, ...
    standard_error, n_features_standard_error : float
        Standard errors of ``cost`` and ``n_features``; 0 where the tree was followed whole.
    """

    cost: float
    n_features: float
    class_cost: np.ndarray
    class_n_features: np.ndarray
    reach: np.ndarray
    standard_error: float
    n_features_standard_error: float

    @property
    def exact(self) -> bool:
        """Whether the tree of answers was followed whole."""
        return self.standard_error == 0.0 and self.n_features_standard_error == 0.0

    @classmethod
    def of_walks(
        cls, costs: np.ndarray, asked: np.ndarray, truth: np.ndarray, weights: np.ndarray, shape: tuple[int, int],
        by_class: bool = False,
    ) -> Expectation:  # fmt: skip
        """Averages over walks: what each paid and was asked, its class, and its weight; weights sum to 1.

        ``shape`` is the number of classes, and the most features that can be asked. ``by_class`` says that the number
        of walks of each class was fixed and not drawn, which makes the averages more certain.
        """
        n_classes, horizon = shape
        # A class that no walk has, has no mean; 0 stands for it.
        share = np.bincount(truth, weights, minlength=n_classes)

        def means(numbers: np.ndarray) -> np.ndarray:
            total = np.bincount(truth, weights * numbers, minlength=n_classes)
            return np.divide(total, share, out=np.zeros(n_classes), where=share > 0)

        def error(numbers: np.ndarray) -> float:
            centre = means(numbers)[truth] if by_class else weights @ numbers
            return float(np.sqrt((weights**2 * (numbers - centre) ** 2).sum()))

        stopped = np.bincount(asked, weights, minlength=horizon + 1)
        at_least = stopped[::-1].cumsum()[::-1]
        return cls(
            float(weights @ costs), float(weights @ asked), means(costs), means(asked),
            at_least / at_least[0], error(costs), error(asked),
        )  # fmt: skip

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a model file holds of it."""
        arrays = {"class_cost": self.class_cost, "class_n_features": self.class_n_features, "reach": self.reach}
        names = ("cost", "n_features", "standard_error", "n_features_standard_error")
        return arrays, {name: float(getattr(self, name)) for name in names}

    @classmethod
    def restore(cls, stored: State, n_classes: int) -> Expectation:
        """The expectation whose :meth:`state` this is."""
        reach = stored.within("reach", (None,), 0.0, 1.0 + 1e-9)
        if not reach.size or (np.diff(reach) > 1e-9).any():
            raise InputError("the chances to be asked so many features do not fall")
        return cls(
            stored.number("cost", 0.0), stored.number("n_features", 0.0),
            stored.array("class_cost", (n_classes,)), stored.array("class_n_features", (n_classes,)), reach,
            stored.number("standard_error", 0.0, finite=False),  # of costs beyond 1e150 it is infinite
            stored.number("n_features_standard_error", 0.0),
        )  # fmt: skip


def expect(problem: Problem, policy: StoppingPolicy, seed: int, draws: int = _DRAWS) -> Expectation:
    """Follow the tree of answers if it is small, else simulate ``draws`` instances."""
    # A small tree gives the sum without any error, often faster than drawing.
    exact = _follow_tree(problem, policy)
    return exact if exact is not None else _simulate(problem, policy, seed, draws)


def _follow_tree(problem: Problem, policy: StoppingPolicy) -> Expectation | None:
    n, horizon = problem.n_classes, policy.horizon
    with np.errstate(divide="ignore"):
        logs = np.log(problem.priors)[None, :]
    chance = np.ones((1, n))  # of the path, given each class
    class_cost, class_asked, reach = np.zeros(n), np.zeros(n), np.zeros(horizon + 1)
    spent = 0.0
    for k in range(horizon + 1):
        # Paths that stopped are no longer among these: what is left is the chance to get here.
        reach[k] = problem.priors @ chance.sum(axis=0)
        stop = policy.stops_at(k, logs)
        if k == horizon:
            stop[:] = True
        beliefs = np.empty((int(stop.sum()), n))
        rules.normalise_rows(logs[stop], beliefs)
        if len(beliefs):
            ended, decided = chance[stop], policy.decide(beliefs)
            class_cost = _added(class_cost, ended * (spent + problem.misclassification_costs.T[decided]))
            class_asked = _added(class_asked, ended * k)
        if stop.all():
            break
        delta = problem.stage(k)
        chance = (chance[~stop][:, None, :] * delta[None]).reshape(-1, n)
        if len(chance) > _LARGEST_TREE:
            return None
        with np.errstate(divide="ignore"):
            logs = (logs[~stop][:, None, :] + np.log(delta)[None]).reshape(-1, n)
        # A path that no class takes has no belief; logs of the others are shifted, so that nothing underflows.
        possible = (chance * problem.priors > 0).any(axis=1)
        logs, chance = logs[possible], chance[possible]
        logs = logs - logs.max(axis=1, keepdims=True)
        spent += problem.feature_costs[k]
    p = problem.priors
    return Expectation(float(p @ class_cost), float(p @ class_asked), class_cost, class_asked, reach, 0.0, 0.0)


def _added(total: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The total with terms (n, N) added one after the other."""
    return np.add.reduce(np.concatenate([total[None, :], terms]), axis=0)


def _simulate(problem: Problem, policy: StoppingPolicy, seed: int, draws: int) -> Expectation:
    # Strata: as many of each class, weighed by its prior. A rare class that is dear to miss is seen often enough.
    per_class = max(draws // problem.n_classes, 2)
    asked = np.empty((problem.n_classes, per_class), dtype=np.int64)
    decided = np.empty_like(asked)
    if not policy.compiled:
        _play(problem, policy, np.random.default_rng(seed), asked, decided)
    else:
        with np.errstate(divide="ignore"):
            log_cells, log_priors = np.log(problem.cells[: problem.offsets[policy.horizon]]), np.log(problem.priors)
        cells = Cells(log_cells, problem.offsets, log_priors)
        simulate(policy.rule, problem.cells, cells, policy.horizon, seed, asked, decided)
    spent = np.concatenate(([0.0], np.cumsum(problem.feature_costs[: policy.horizon])))
    costs = spent[asked] + problem.misclassification_costs[np.arange(problem.n_classes)[:, None], decided]
    weights = np.repeat(problem.priors[:, None] / per_class, per_class, axis=1)
    truth = np.repeat(np.arange(problem.n_classes)[:, None], per_class, axis=1)
    shape = problem.n_classes, policy.horizon
    return Expectation.of_walks(costs.ravel(), asked.ravel(), truth.ravel(), weights.ravel(), shape, by_class=True)


def _play(
    problem: Problem, policy: StoppingPolicy, rng: np.random.Generator, asked: np.ndarray, decided: np.ndarray
) -> None:
    """The same draws for a policy that has only ``stops`` and ``decide``: all instances of a class, stage by stage."""
    with np.errstate(divide="ignore"):
        log_priors = np.log(problem.priors)
    for i in range(problem.n_classes):
        logs = np.tile(log_priors, (asked.shape[1], 1))
        going = np.arange(len(logs) if problem.priors[i] > 0 else 0)
        asked[i] = 0
        for k in range(policy.horizon):
            going = going[~policy.stops_at(k, logs[going])]
            if not going.size:
                break
            delta = problem.stage(k)
            values = rng.choice(len(delta), size=going.size, p=delta[:, i] / delta[:, i].sum())
            with np.errstate(divide="ignore"):
                logs[going] += np.log(delta)[values]
            logs[going] -= logs[going].max(axis=1, keepdims=True)
            asked[i, going] += 1
        beliefs = np.exp(logs - logs.max(axis=1, keepdims=True))
        decided[i] = policy.decide(beliefs / beliefs.sum(axis=1, keepdims=True))
