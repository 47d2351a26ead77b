"""Laws that every policy obeys, as functions that anyone can run on a policy or a solver of their own.

Each function's docstring is its law. A check returns nothing and raises :class:`AssertionError`, naming the beliefs
or numbers at fault. Checks of one policy take the policy; checks of how solutions change with the problem take a
solver and a problem. Solvers that hold a value only approximately pass their own ``tolerance``, in units of cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.policies import Policy, Solver
from etana.problem import Problem

__all__ = [
    "POLICY_CHECKS",
    "SOLVER_CHECKS",
    "check_announced_cost",
    "check_concave",
    "check_corners_stop",
    "check_dearer_features",
    "check_decision_is_cheapest",
    "check_free_features",
    "check_lower_bound",
    "check_relabelling",
    "check_scaling",
    "check_value_below_stopping",
]


def _beliefs(n_classes: int, n: int, seed: int) -> np.ndarray:
    """Beliefs from all over the simplex: some spread out, some near edges and corners."""
    rng = np.random.default_rng(seed)
    spread = rng.choice([0.1, 1.0, 5.0], size=n)
    return np.array([rng.dirichlet(np.full(n_classes, s)) for s in spread])


def _stages(problem: Problem, most: int = 8) -> np.ndarray:
    return np.unique(np.linspace(0, problem.n_features, num=most).astype(int))


def check_corners_stop(policy: Policy) -> None:
    """Who is certain of the class asks for nothing more."""
    for k in _stages(policy.problem):
        stops = policy.stops(int(k), np.eye(policy.problem.n_classes))
        assert np.all(stops), f"stage {k}: does not stop at corner {int(np.argmin(stops))}"


def check_decision_is_cheapest(policy: Policy, seed: int = 0) -> None:
    """The decision is the class with the least expected misclassification cost."""
    beliefs = _beliefs(policy.problem.n_classes, 50, seed)
    cost = beliefs @ policy.problem.misclassification_costs
    taken = cost[np.arange(len(beliefs)), policy.decide(beliefs)]
    worst = int(np.argmax(taken - cost.min(axis=1)))
    assert taken[worst] <= cost[worst].min() + 1e-12 * policy.problem.scale, f"belief {beliefs[worst]}"


def check_value_below_stopping(policy: Policy, tolerance: float = 1e-9, seed: int = 0) -> None:
    """J_k <= g: the right to go on is never worth less than nothing."""
    beliefs = _beliefs(policy.problem.n_classes, 50, seed)
    stop = policy.problem.stop_cost(beliefs)
    for k in _stages(policy.problem):
        excess = policy.value(int(k), beliefs) - stop
        assert excess.max() <= tolerance, f"stage {k}: {excess.max()} at {beliefs[int(excess.argmax())]}"


def check_concave(policy: Policy, tolerance: float = 1e-9, seed: int = 0) -> None:
    """J_k is concave: to be told which of two beliefs is the right one never costs more than not knowing."""
    n = policy.problem.n_classes
    a, b = _beliefs(n, 50, seed), _beliefs(n, 50, seed + 1)
    share = np.random.default_rng(seed).random((50, 1))
    for k in _stages(policy.problem):
        apart = share[:, 0] * policy.value(int(k), a) + (1 - share[:, 0]) * policy.value(int(k), b)
        lack = apart - policy.value(int(k), share * a + (1 - share) * b)
        assert lack.max() <= tolerance, f"stage {k}: {lack.max()} between {a[lack.argmax()]} and {b[lack.argmax()]}"


def check_lower_bound(policy: Policy, tolerance: float = 1e-9) -> None:
    """No policy announces less than its own lower bound, nor more than deciding at once costs."""
    at_once = float(policy.problem.stop_cost(policy.problem.priors))
    assert policy.lower_bound <= policy.expected_cost + tolerance, f"{policy.lower_bound} > {policy.expected_cost}"
    assert policy.lower_bound <= at_once + tolerance, f"{policy.lower_bound} > {at_once}"


def check_announced_cost(policy: Policy, tolerance: float = 1e-9) -> None:
    """The cost that a policy announces is its average cost over instances drawn from its own model."""
    seen = policy.expectation
    allowed = 4.5 * seen.standard_error + tolerance
    off = abs(seen.cost - policy.expected_cost)
    assert off <= allowed, f"announced {policy.expected_cost}, average {seen.cost} (allowed difference {allowed})"


def check_free_features(solver: Solver, problem: Problem, seed: int = 0) -> None:
    """If features cost nothing, the decision is that of naive Bayes on all of them."""
    free = _copy(problem, feature_costs=np.zeros(problem.n_features))
    policy = solver.solve(free)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        belief, walked, stopped = free.priors, free.priors, False
        true_class = rng.choice(free.n_classes, p=free.priors)
        for k in range(free.n_features):
            stopped = stopped or policy.stops(k, walked)
            delta = free.stage(k)
            seen = delta[rng.choice(len(delta), p=delta[:, true_class] / delta[:, true_class].sum())]
            belief = belief * seen / (belief * seen).sum()
            walked = walked if stopped else belief
        cost = belief @ free.misclassification_costs
        taken = cost[policy.decide(walked)]
        assert taken <= cost.min() + 1e-9 * free.scale, f"decides {policy.decide(walked)} where costs are {cost}"


def check_scaling(solver: Solver, problem: Problem, factor: float = 4.0, seed: int = 0) -> None:
    """Prices and mistakes in another currency change nothing."""
    scaled = _copy(
        problem,
        feature_costs=problem.feature_costs * factor,
        misclassification_costs=problem.misclassification_costs * factor,
    )
    one, other = solver.solve(problem), solver.solve(scaled)
    beliefs = _beliefs(problem.n_classes, 50, seed)
    for k in _stages(problem):
        different = np.flatnonzero(one.stops(int(k), beliefs) != other.stops(int(k), beliefs))
        assert not different.size, f"stage {k}: another decision at {beliefs[different[0]]}"


def check_relabelling(solver: Solver, problem: Problem, tolerance: float = 1e-9) -> None:
    """Numbering the classes in another order changes nothing but the numbers."""
    order = np.roll(np.arange(problem.n_classes), 1)
    other_problem = Problem.from_cells(
        problem.priors[order],
        np.ascontiguousarray(problem.cells[:, order]),
        problem.offsets,
        problem.feature_costs,
        problem.misclassification_costs[np.ix_(order, order)],
    )
    one, other = solver.solve(problem), solver.solve(other_problem)
    off = abs(one.expected_cost - other.expected_cost)
    assert off <= tolerance, f"expected cost {one.expected_cost} becomes {other.expected_cost}"


def check_dearer_features(solver: Solver, problem: Problem, factor: float = 3.0, tolerance: float = 1e-9) -> None:
    """Dearer features never mean more of them in expectation under the model."""
    if not problem.feature_costs.all():
        return  # free features are asked at any price of the others, so only the paid ones can be compared
    dearer = _copy(problem, feature_costs=problem.feature_costs * factor)
    cheap, dear = solver.solve(problem).expectation, solver.solve(dearer).expectation
    allowed = 4.5 * np.hypot(cheap.n_features_standard_error, dear.n_features_standard_error) + tolerance
    assert dear.n_features <= cheap.n_features + allowed, f"{cheap.n_features} became {dear.n_features}"


POLICY_CHECKS: tuple[Any, ...] = (
    check_corners_stop,
    check_decision_is_cheapest,
    check_value_below_stopping,
    check_concave,
    check_lower_bound,
    check_announced_cost,
)
"""The checks that take a policy."""

SOLVER_CHECKS: tuple[Any, ...] = (
    check_free_features,
    check_scaling,
    check_relabelling,
    check_dearer_features,
)
"""The checks that take a solver and a problem."""


def _copy(problem: Problem, **changes: np.ndarray) -> Problem:
    return Problem.from_cells(
        problem.priors,
        problem.cells,
        problem.offsets,
        changes.get("feature_costs", problem.feature_costs),
        changes.get("misclassification_costs", problem.misclassification_costs),
    )
