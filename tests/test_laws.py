"""Every law of etana.checks, for every solver, on problems that hypothesis chooses."""

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etana import Problem, checks
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver
from etana.policies.points import FittedPolicy
from problems import random_problem

SOLVERS = {
    "exact": ExactSolver(),
    "points": PointsSolver(),
    "grid-interpolate": GridSolver(resolution=16, lookup="interpolate"),
    "grid-nearest": GridSolver(resolution=16, lookup="nearest"),
    "thresholds": ThresholdSolver(batch=128, max_iterations=50),
}

# What a solver does not promise, and why.
NOT_PROMISED = {
    ("grid-nearest", "check_concave"): "values jump where a belief is rounded to another grid point",
    ("grid-interpolate", "check_concave"): "a concave function interpolated in triangles has dents between them",
    ("grid-nearest", "check_value_below_stopping"): "a value belongs to the rounded belief",
    ("grid-nearest", "check_relabelling"): "rounding prefers earlier classes",
    ("grid-nearest", "check_dearer_features"): "values on a coarse grid need not be monotone in the price",
    ("grid-nearest", "check_no_dearer_than_at_once"): "at a rounded belief a feature may seem to pay that does not",
    ("grid-interpolate", "check_no_dearer_than_at_once"): "values between grid points are too low, so it asks too much",
    ("thresholds", "check_no_dearer_than_at_once"): "the search for thresholds may end where asking does not pay",
    ("thresholds", "check_concave"): "thresholds hold no value function",
    ("thresholds", "check_dearer_features"): "the stochastic search takes another path",
}


def _problem(seed, solver):
    return random_problem(np.random.default_rng(seed), n_classes=2 if solver == "exact" else None, most_features=4)


def _slack(check, tolerance):
    return {"tolerance": tolerance} if "tolerance" in inspect.signature(check).parameters else {}


LAW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def _promised(laws):
    """Pairs of solver and law that must hold."""
    pairs = [(name, law) for name in SOLVERS for law in laws if (name, law.__name__) not in NOT_PROMISED]
    return [pytest.param(name, law, id=f"{name}-{law.__name__}") for name, law in pairs]


@pytest.mark.parametrize(("name", "check"), _promised(checks.POLICY_CHECKS))
@given(seed=st.integers(0, 2**31))
@LAW
def test_policy_law(name, check, seed):
    problem = _problem(seed, name)
    check(SOLVERS[name].solve(problem), **_slack(check, 2e-5 * problem.scale))


@pytest.mark.parametrize(("name", "check"), _promised(checks.SOLVER_CHECKS))
@given(seed=st.integers(0, 2**31))
@LAW
def test_solver_law(name, check, seed):
    problem = _problem(seed, name)
    check(SOLVERS[name], problem, **_slack(check, 2e-5 * problem.scale))


def test_every_exception_names_a_solver_and_a_law():
    laws = {law.__name__ for law in (*checks.POLICY_CHECKS, *checks.SOLVER_CHECKS)}
    assert all(name in SOLVERS and law in laws for name, law in NOT_PROMISED)


@pytest.fixture(scope="module")
def fitted():
    """A problem too large for a tree, so that the points solver fits and certifies."""
    rng = np.random.default_rng(5)
    likelihoods = rng.dirichlet(np.ones(4), size=(60, 4)).transpose(0, 2, 1)
    problem = Problem([0.1, 0.2, 0.3, 0.4], likelihoods, 0.02 * (0.5 + rng.random(60)))
    policy = PointsSolver().solve(problem)
    assert isinstance(policy, FittedPolicy)
    return problem, policy


@pytest.mark.parametrize("check", checks.POLICY_CHECKS, ids=lambda c: c.__name__)
def test_policy_law_of_a_fitted_policy(check, fitted):
    _, policy = fitted
    # Its value is a fit, concave only as far as the fit is good: within two per cent of the cost of a mistake.
    slack = {"tolerance": 0.02} if check is checks.check_concave else {}
    check(policy, **slack)


@pytest.mark.parametrize("check", checks.SOLVER_CHECKS, ids=lambda c: c.__name__)
def test_solver_law_of_a_fitted_policy(check, fitted):
    problem, policy = fitted
    # The same points are drawn for any numbering; only the instances of the certificate differ.
    relabelled = check is checks.check_relabelling
    check(PointsSolver(), problem, **({"tolerance": 6 * policy.certificate.cost_error} if relabelled else {}))


def test_checks_can_fail():
    """Each law catches a policy or solver that breaks it."""
    problem = Problem([0.3, 0.7], [[[0.9, 0.2], [0.1, 0.8]]] * 3, 0.05)

    class Stubborn(type(ExactSolver().solve(problem))):
        expected_cost = 0.5
        lower_bound = 0.6

        def stops(self, stage, belief):
            return np.zeros(len(np.atleast_2d(belief)), dtype=bool)

        def decide(self, belief):
            return np.asarray(np.atleast_2d(belief)).argmin(axis=1)

        def value(self, stage, belief):
            return (np.atleast_2d(belief) ** 2).sum(axis=1)

    bad = ExactSolver().solve(problem)
    bad.__class__ = Stubborn
    for check in checks.POLICY_CHECKS:
        with pytest.raises(AssertionError):
            check(bad)

    class Moody:
        """Stops early when prices are scaled or classes renumbered, asks more when dearer, ignores free features."""

        def solve(self, p):
            cheap = p.feature_costs[0] == problem.feature_costs[0] and p.priors[0] == problem.priors[0]
            asks = Problem.from_cells(p.priors, p.cells, p.offsets, p.feature_costs * 0 + 1e-3, 1.0 - np.eye(2))
            never = Problem.from_cells(p.priors, p.cells, p.offsets, p.feature_costs * 0 + 9.0, 1.0 - np.eye(2))
            return ExactSolver().solve(never if cheap or not p.feature_costs.any() else asks)

    for check in checks.SOLVER_CHECKS:
        with pytest.raises(AssertionError):
            check(Moody(), problem)
