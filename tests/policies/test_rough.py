"""A first look at problems with two classes on a grid of beliefs: against plain interpolation, and what it leaves as it
was."""

from __future__ import annotations

import numpy as np
import pytest

from etana import Problem
from etana.kernels import rough
from etana.policies import ExactSolver, exact
from etana.policies.belief_grid import rung
from etana.policies.exact import RoughBounds, quick_bound


def made(seed, n_features, price=0.01, skewed=False):
    rng = np.random.default_rng(seed)
    likelihoods = np.moveaxis(rng.dirichlet(np.full(3, 2.0), size=(n_features, 2)), 1, 2)
    prices = price * rng.choice([0.5, 1, 3], n_features)
    mistakes = [[0, 1], [20, 0]] if skewed else None
    return Problem([0.7, 0.3] if not skewed else [0.97, 0.03], likelihoods, prices, mistakes)


def by_interpolation(problem, order, points):
    """The same backward induction with chords between points that are equally far apart in the belief."""
    x = np.linspace(0, 1, points)
    stop = np.minimum(x * problem.regrets[1, 0], (1 - x) * problem.regrets[0, 1])
    value = stop
    for k in reversed(order):
        onward = np.full(points, problem.feature_costs[k])
        for a, b in problem.stage(k):
            chance = a * (1 - x) + b * x
            onward += chance * np.interp(b * x / chance, x, value)
        value = np.minimum(stop, onward)
    return np.interp(problem.priors[1], x, value)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_come_near_plain_interpolation(seed, skewed):
    problem, rng = made(seed, 9, skewed=skewed), np.random.default_rng(seed)
    bounds, kept = RoughBounds(problem, (0.01, 1e-5)), np.arange(8)
    bounds.keep(bounds.stages(kept, problem.feature_costs[kept]))
    orders = np.stack([kept, *(np.concatenate([rng.permutation(k), kept[k:]]) for k in (2, 5, 8)), kept + 1])
    same = np.array([0, 2, 5, 8, 8])
    rough, fine = (bounds.lowest(rung, orders, problem.feature_costs[orders], same) for rung in (0, 1))
    want = [by_interpolation(problem, order, 200_001) for order in orders]
    np.testing.assert_allclose(fine, want, rtol=2e-4)
    np.testing.assert_allclose(rough, want, rtol=0.03)
    assert (rough <= fine * (1 + 1e-9)).all()


@pytest.mark.parametrize("n_features", [6, 200])
def test_a_quick_bound_is_a_bound(n_features):
    for seed in range(5):
        problem = made(seed, n_features, price=0.002)
        policy = ExactSolver().solve(problem)
        assert 0.9 * policy.expected_cost < quick_bound(problem) <= policy.expected_cost
    assert quick_bound(Problem([0.5, 0.5], np.ones((1, 1, 2)), 0.1, [[0, 0], [1, 1]])) <= 0.5


def test_horizons_that_surely_fall_short_are_passed_over(monkeypatch):
    """The solution is that of a solver which tries them all."""
    problem, tried = made(0, 300, price=0.0002), []
    bounds = exact._Induction._bounds
    monkeypatch.setattr(exact._Induction, "_bounds", lambda self: tried.append(self.horizon) or bounds(self))
    policy, fewer = ExactSolver().solve(problem), tried.copy()
    tried.clear()
    monkeypatch.setattr(exact._Induction, "roughly", lambda *given: (0.0, 0.0))
    other = ExactSolver().solve(problem)
    assert tried[0] == 64 < fewer[0]
    assert set(fewer) < set(tried)
    np.testing.assert_array_equal(policy.thresholds, other.thresholds)
    assert (policy.expected_cost, policy.lower_bound) == (other.expected_cost, other.lower_bound)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_what_is_at_stake_by_stage_is_that_of_all_paths(skewed, free):
    """A tree of seven stages, in which those go on whom the policy asks."""
    problem = made(1, 7, price=0.002, skewed=skewed)
    if free:
        problem.feature_costs[2] = 0.0
    policy = ExactSolver().solve(problem)
    induction = policy._induction
    features, grid = rung(induction, 7, 1e-5)
    stakes = np.empty(7)
    value = rough.stakes(features, grid, problem.feature_costs, 1e-3, stakes)
    assert value * induction.unit == pytest.approx(policy.expected_cost, rel=1e-3)
    paths = problem.priors[None, :]
    for k in range(7):
        odds = np.log(paths[:, 1] / paths[:, 0])
        paths = paths[(odds > policy.thresholds[k, 0]) & (odds < policy.thresholds[k, 1])]
        weighed = paths * induction.weights / induction.unit
        risk = np.maximum(weighed.min(axis=1), 1e-3 * weighed.sum(axis=1)).sum()
        assert stakes[k] == pytest.approx(risk, rel=0.05)
        paths = (paths[:, None, :] * problem.stage(k)[None]).reshape(-1, 2)


@pytest.mark.parametrize("price", [0.02, 0.002, 0.0002])
def test_stages_that_are_seldom_reached_are_rougher_and_bounds_hold(price):
    problem = made(3, 200, price=price)
    policy, finer = ExactSolver().solve(problem), ExactSolver(tolerance=1e-7).solve(problem)
    ease = policy._induction.ease
    assert ease[0] == 1.0
    assert 2.0 < ease.max() <= 64.0001
    assert policy.lower_bound <= finer.expected_cost
    assert finer.lower_bound <= policy.expected_cost
    assert policy.gap <= 3e-5 * policy.lower_bound
    # Early stages, where most is at stake, are as precise as ever.
    np.testing.assert_allclose(policy.thresholds[:3], finer.thresholds[:3], atol=1e-3)
    restored = exact._Induction.__new__(exact._Induction)
    restored.__dict__ |= {k: v for k, v in policy._induction.__dict__.items() if k != "ease"}
    np.testing.assert_array_equal(restored.ease, ease)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_the_depth_is_that_of_instances(skewed, free):
    """Chances that are not close to the one asked for must not be told apart wrongly."""
    for seed in range(5):
        problem = made(seed, 30, price=0.002, skewed=skewed)
        if free:
            problem.feature_costs[::7] = 0.0
        policy = ExactSolver().solve(problem)
        reach = policy.expectation.reach[1:]
        for chance in (0.5, 0.1, 0.01):
            depth = policy.depth(chance, 25)
            assert (reach[:25] >= 1.3 * chance).sum() <= depth <= (reach[:25] >= 0.7 * chance).sum()
