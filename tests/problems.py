"""Random problems, and the optimum by brute force."""

import numpy as np

from etana import Problem


def random_problem(rng, n_classes=None, most_features=6, zero_costs=True) -> Problem:
    n = n_classes or int(rng.integers(1, 5))
    k, v = int(rng.integers(1, most_features + 1)), int(rng.integers(1, 4))
    likelihoods = rng.dirichlet(np.full(v, rng.choice([0.3, 1.0, 3.0])), size=(k, n)).transpose(0, 2, 1)
    costs = rng.choice([0.001, 0.01, 0.05, 0.1], size=k) * rng.random(k)
    if zero_costs:
        costs *= rng.random(k) > 0.1
    mistakes = rng.random((n, n)) * (1 - np.eye(n)) * rng.choice([1.0, 10.0])
    return Problem(rng.dirichlet(np.ones(n)), likelihoods, costs, mistakes)


def optimum(problem: Problem, stage: int = 0, w: np.ndarray | None = None) -> float:
    """J_stage at an unnormalised belief (the prior, if none is given), by following every branch of the tree."""
    w = problem.priors if w is None else w
    stop = float((w @ problem.misclassification_costs).min())
    if stage == problem.n_features:
        return stop
    later = sum(optimum(problem, stage + 1, w * delta) for delta in problem.stage(stage))
    return min(stop, float(problem.feature_costs[stage] * w.sum()) + later)


def carried_out(problem: Problem, policy) -> float:
    """What a policy costs, by following every branch with its stops and decide."""
    m, costs = problem.misclassification_costs, problem.feature_costs

    def run(k, w):
        if w.sum() == 0:
            return 0.0
        if k == problem.n_features or policy.stops(k, w):
            return (w @ m)[policy.decide(w)]
        return costs[k] * w.sum() + sum(run(k + 1, w * d) for d in problem.stage(k))

    return float(run(0, problem.priors))
