"""What a policy pays and asks under its own model.

For each class T_i the walk is followed through the tree of answers, branch v of stage k taken with probability
P(F_k = v | T_i). While the tree stays small it is followed whole and the result is exact; otherwise instances
are drawn from the model, the same number for each class, and every figure comes with its standard error::

    E[cost]  =  sum_i p_i ( E[ c_1 + ... + c_R | T_i ]  +  E[ M_{i, D_R} | T_i ] )
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from etana.kernels import rules
from etana.kernels.walk import simulate
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.policies.base import Rule

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


def expect(problem: Problem, rule: Rule, horizon: int, seed: int, draws: int = _DRAWS) -> Expectation:
    """Follow the tree of answers if it is small, else simulate ``draws`` instances."""
    exact = _follow_tree(problem, rule, horizon)
    return exact if exact is not None else _simulate(problem, rule, horizon, seed, draws)


def _follow_tree(problem: Problem, rule: Rule, horizon: int) -> Expectation | None:
    n = problem.n_classes
    with np.errstate(divide="ignore"):
        logs = np.log(problem.priors)[None, :]
    chance = np.ones((1, n))  # of the path, given each class
    belief, scratch = np.empty(n), np.empty(n)
    class_cost, class_asked, reach = np.zeros(n), np.zeros(n), []
    spent = 0.0
    for k in range(horizon + 1):
        reach.append(problem.priors @ chance.sum(axis=0))
        stop = np.array([rules.stops(*rule.arguments(), k, row, belief, scratch) for row in logs], dtype=bool)
        if k == horizon:
            stop[:] = True
        for row, given in zip(logs[stop], chance[stop], strict=True):
            rules.normalise(row, belief)
            choice = rules.decide(belief, problem.regrets)
            class_cost += given * (spent + problem.misclassification_costs[:, choice])
            class_asked += given * k
        if stop.all():
            break
        delta = problem.stage(k)
        chance = (chance[~stop][:, None, :] * delta[None]).reshape(-1, n)
        if len(chance) > _LARGEST_TREE:
            return None
        with np.errstate(divide="ignore"):
            logs = (logs[~stop][:, None, :] + np.log(delta)[None]).reshape(-1, n)
        possible = (chance * problem.priors > 0).any(axis=1)
        logs, chance = logs[possible], chance[possible]
        logs = logs - logs.max(axis=1, keepdims=True)
        spent += problem.feature_costs[k]
    p = problem.priors
    return Expectation(
        float(p @ class_cost), float(p @ class_asked), class_cost, class_asked, np.array(reach), 0.0, 0.0
    )


def _simulate(problem: Problem, rule: Rule, horizon: int, seed: int, draws: int) -> Expectation:
    p = problem.priors
    n = problem.n_classes
    per_class = max(draws // n, 2)
    asked = np.empty((n, per_class), dtype=np.int64)
    decided = np.empty((n, per_class), dtype=np.int64)
    with np.errstate(divide="ignore"):
        log_cells, log_priors = np.log(problem.cells[: problem.offsets[horizon]]), np.log(p)
    simulate(*rule.arguments(), problem.cells, log_cells, problem.offsets, log_priors, horizon, seed, asked, decided)
    spent = np.concatenate(([0.0], np.cumsum(problem.feature_costs[:horizon])))
    costs = spent[asked] + problem.misclassification_costs[np.arange(n)[:, None], decided]
    reach = np.zeros(horizon + 1)
    for i in range(n):
        counts = np.bincount(asked[i], minlength=horizon + 1)
        reach += p[i] * counts[::-1].cumsum()[::-1] / per_class

    def error(sample: np.ndarray) -> float:
        return float(np.sqrt((p**2 * sample.var(axis=1, ddof=1)).sum() / per_class))

    return Expectation(
        float(p @ costs.mean(axis=1)),
        float(p @ asked.mean(axis=1)),
        costs.mean(axis=1),
        asked.mean(axis=1),
        reach,
        error(costs),
        error(asked),
    )
