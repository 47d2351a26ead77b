"""The threshold solver against a brute-force tree, NumPy twins, and the laws that its policies keep."""

from __future__ import annotations

import numpy as np
import pytest

from etana.errors import CostWarning, InputError
from etana.kernels import thresholds as kernels
from etana.kernels.rules import LINEAR
from etana.policies.thresholds import ThresholdSolver
from etana.problem import Problem
from problems import optimum


def random_problem(rng: np.random.Generator, zeros: bool = False) -> Problem:
    n, k, v = rng.integers(2, 5), rng.integers(1, 5), rng.integers(2, 4)
    likelihoods = rng.dirichlet(np.full(v, 0.7), size=(k, n)).transpose(0, 2, 1)
    if zeros:
        likelihoods[0, :, 0] = np.eye(v)[0]
    mistakes = rng.uniform(0.5, 2, (n, n)) * (1 - np.eye(n))
    return Problem(rng.dirichlet(np.full(n, 3.0)), likelihoods, rng.uniform(0.005, 0.08, k), mistakes)


def policy_cost(policy, stage: int, w: np.ndarray, forced: bool = False) -> float:
    """Cost of following the policy from an unnormalised belief, by the whole tree."""
    problem = policy.problem
    if w.sum() == 0:
        return 0.0
    if stage == policy.horizon or (not forced and policy.stops(stage, w / w.sum())):
        return (w @ problem.misclassification_costs).min()
    later = sum(policy_cost(policy, stage + 1, w * delta) for delta in problem.stage(stage))
    return problem.feature_costs[stage] * w.sum() + later


def weak_problem(n_features: int = 60) -> Problem:
    rng = np.random.default_rng(7)
    likelihoods = rng.dirichlet(np.full(3, 2.0), size=(n_features, 3)).transpose(0, 2, 1)
    return Problem([0.2, 0.3, 0.5], likelihoods, 0.01)


@pytest.mark.parametrize("seed", range(30))
def test_never_below_the_optimum(seed):
    problem = random_problem(np.random.default_rng(seed), zeros=seed % 4 == 0)
    best = optimum(problem, 0, problem.priors)
    for solver in (ThresholdSolver(), ThresholdSolver(original=True, max_iterations=50)):
        policy = solver.solve(problem)
        assert policy.expected_cost >= best - 1e-12
        assert policy.expected_cost == pytest.approx(policy_cost(policy, 0, problem.priors))


def test_close_to_the_optimum():
    excess = []
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed))
        excess.append(ThresholdSolver().solve(problem).expected_cost / optimum(problem, 0, problem.priors) - 1)
    # Observed: median 0.000, nine in ten below 0.018, at most 0.073.
    assert np.median(excess) < 0.002
    assert np.quantile(excess, 0.9) < 0.03
    assert max(excess) < 0.1


def test_search_improves_on_the_start():
    problem = weak_problem()
    start = ThresholdSolver(max_iterations=0).solve(problem).expectation
    found = ThresholdSolver(max_iterations=1000, restarts=2).solve(problem).expectation
    assert found.cost <= start.cost + 2 * (start.standard_error + found.standard_error)


@pytest.mark.parametrize("max_iterations", [0, 300])
def test_every_threshold_stops_at_its_own_corner(max_iterations):
    policy = ThresholdSolver(max_iterations=max_iterations).solve(weak_problem())
    theta = policy.rule.table.reshape(policy.horizon, 3, 3)
    assert (np.diagonal(theta, axis1=1, axis2=2) <= 0).all()
    for stage in range(policy.horizon):
        assert policy.stops(stage, np.eye(3)).all()
    assert policy.rule.kind == LINEAR


def test_stopping_is_certain_where_a_feature_costs_more_than_all_mistakes():
    problem = weak_problem()
    policy = ThresholdSolver(max_iterations=0).solve(problem)
    near = np.array([0.992, 0.004, 0.004])
    assert all(policy.stops(k, near) for k in range(policy.horizon))


@pytest.mark.parametrize("original", [False, True])
def test_same_seed_same_bytes(original):
    def table(seed):
        solver = ThresholdSolver(max_iterations=60, original=original, random_state=seed)
        return solver.solve(weak_problem()).rule.table.tobytes()

    assert table(3) == table(3)
    assert table(3) != table(4)


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("factor", [2.0**-7, 1e6, 0.37])
def test_the_currency_does_not_matter(original, factor):
    problem = weak_problem()
    scaled = Problem(
        problem.priors,
        problem.likelihoods,
        problem.feature_costs * factor,
        problem.misclassification_costs * factor,
    )
    solver = ThresholdSolver(max_iterations=40, original=original)
    one, other = solver.solve(problem), solver.solve(scaled)
    assert one.horizon == other.horizon
    np.testing.assert_allclose(other.rule.table, one.rule.table, rtol=1e-9, atol=1e-9)
    assert other.truncation == pytest.approx(one.truncation * factor)


def test_the_horizon_is_short_and_its_loss_stated():
    rng = np.random.default_rng(8)
    problem = Problem([0.5, 0.5], rng.dirichlet(np.ones(2), size=(3000, 2)).transpose(0, 2, 1), 0.01)
    policy = ThresholdSolver(max_iterations=10).solve(problem)
    assert policy.horizon < 300
    assert 0 <= policy.truncation <= 1e-4 * 0.5
    assert policy.stops(policy.horizon, [0.5, 0.5])
    whole = ThresholdSolver(max_iterations=10, tolerance=1e-300).solve(
        Problem([0.5, 0.5], np.full((5, 2, 2), 0.5), 0.01)
    )
    assert (whole.horizon, whole.truncation) == (5, 0.0)


def test_the_continuation_is_that_of_the_policy():
    problem = random_problem(np.random.default_rng(11))
    policy = ThresholdSolver().solve(problem)
    for stage in range(policy.horizon):
        expected = policy_cost(policy, stage, problem.priors, forced=True)
        assert policy.continuation(stage, problem.priors) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("original", [False, True])
def test_degenerate_problems(original):
    solver = ThresholdSolver(max_iterations=5, original=original)
    assert solver.solve(Problem([1.0], np.full((2, 2, 1), 0.5), 0.1)).expected_n_features == 0
    assert solver.solve(Problem([0.5, 0.5], np.empty((0, 2, 2)), 0.1)).expected_cost == 0.5
    free = Problem([0.4, 0.6], [[[0.9, 0.2], [0.1, 0.8]]] * 3, 0.0)
    policy = solver.solve(free)
    assert policy.expected_n_features == pytest.approx(3)
    assert policy.expected_cost == pytest.approx(optimum(free, 0, free.priors))
    no_matter = Problem([0.4, 0.6], [[[0.9, 0.2], [0.1, 0.8]]], 0.1, np.ones((2, 2)))
    assert solver.solve(no_matter).expected_cost >= 1.0


def test_free_features_among_paid_ones_are_asked():
    likelihoods = [[[0.7, 0.3], [0.3, 0.7]]] * 4
    policy = ThresholdSolver().solve(Problem([0.5, 0.5], likelihoods, [0.0, 0.02, 0.0, 0.02]))
    assert not policy.stops(0, [0.999, 0.001])
    assert not policy.stops(2, [0.999, 0.001])
    assert policy.stops(1, [0.999, 0.001])


def test_impossible_classes_and_values():
    likelihoods = [
        [[1.0, 0.0, 0.5], [0.0, 0.6, 0.5], [0.0, 0.4, 0.0]],
        [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5], [0, 0, 0]],
    ]
    problem = Problem([0.5, 0.5, 0.0], likelihoods, 0.01)
    policy = ThresholdSolver().solve(problem)
    assert np.isfinite(policy.rule.table).all()
    assert policy.expected_cost == pytest.approx(0.01)
    assert policy.iterations[2] == 0


def test_many_classes_and_features():
    rng = np.random.default_rng(9)
    problem = Problem(np.full(11, 1 / 11), rng.dirichlet(np.ones(11), size=(9183, 11)).transpose(0, 2, 1), 0.01)
    policy = ThresholdSolver(max_iterations=20).solve(problem)
    assert policy.horizon < 400
    assert policy.expected_cost < 0.5 * problem.stop_cost(problem.priors)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iterations": -1},
        {"batch": 0},
        {"restarts": 1.5},
        {"mu": 0},
        {"kappa": "x"},
        {"random_state": None},
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        ThresholdSolver(**parameters).solve(weak_problem(2))


def test_in_the_original_a_gradient_of_zero_ends_training_at_once():
    # One worthless feature: theta + 2 alpha stops at stage 0 for alpha = (-1, -1) only, theta - 2 alpha for
    # (1, 1) only. With mixed signs neither stops, both cost the same, and theta_0 = 1 is the result.
    problem = Problem([0.5, 0.5], [[[0.5, 0.5], [0.5, 0.5]]], 0.01)
    ended = 0
    for seed in range(20):
        policy = ThresholdSolver(original=True, random_state=seed).solve(problem)
        for j in np.flatnonzero(policy.iterations == 1):
            np.testing.assert_array_equal(policy.rule.table[j], 1.0)
            ended += 1
    assert 10 <= ended <= 30


def test_the_original_asks_far_more_than_the_solver():
    problem = weak_problem()
    published = ThresholdSolver(original=True, max_iterations=100).solve(problem)
    assert published.expected_cost > 1.5 * ThresholdSolver().solve(problem).expected_cost


# NumPy twins of the kernels.


@pytest.fixture
def sample():
    rng = np.random.default_rng(10)
    paths = rng.dirichlet(np.ones(3), (50, 5))
    spent = np.concatenate(([0.0], rng.uniform(0.1, 1, 4).cumsum()))
    return rng, np.ascontiguousarray(paths), rng.uniform(0, 3, (50, 5)), spent


def test_mean_cost_against_its_twin(sample):
    rng, paths, costs, spent = sample
    theta = rng.normal(size=(4, 3))
    total = 0.0
    for b in range(10, 30):
        stage = next((k for k in range(4) if theta[k] @ paths[b, k] <= 0), 4)
        total += (spent[stage] + costs[b, stage]) / 20
    assert kernels.mean_cost(theta, paths, costs, spent, 10, 30) == pytest.approx(total)


def test_first_stops_against_its_twin(sample):
    rng, paths, _, _ = sample
    theta = rng.normal(size=(4, 3, 3)) + 0.4
    halts = np.empty(50, dtype=np.int64)
    kernels.first_stops(theta, paths, halts)
    for b in range(50):
        assert halts[b] == next((k for k in range(4) if (theta[k] @ paths[b, k] <= 0).any()), 4)


def test_levels_against_every_cut(sample):
    rng, _, costs, spent = sample
    costs = np.round(costs, 1)  # ties
    prices, weights, levels = np.diff(spent), rng.dirichlet(np.ones(50)), np.empty(4)
    order = np.ascontiguousarray(np.argsort(costs, axis=0).T)
    kernels.fit_levels(costs, order, prices, weights, levels)
    ahead = costs[:, 4]
    for k in reversed(range(4)):
        cuts = [prices[k], *costs[:, k][costs[:, k] > prices[k]]]
        total = [weights @ np.where(costs[:, k] <= t, costs[:, k], ahead + prices[k]) for t in cuts]
        ahead = np.where(costs[:, k] <= levels[k], costs[:, k], ahead + prices[k])
        assert weights @ ahead == pytest.approx(min(total))
        assert levels[k] >= prices[k]


def test_paths_are_the_beliefs_of_drawn_instances():
    problem = weak_problem(3)
    labels = np.repeat([0, 1, 2], 4000)
    paths = np.empty((12000, 4, 3))
    model = kernels.ProblemArrays(problem.cells, np.log(problem.cells), problem.offsets, np.log(problem.priors))
    kernels.draw_paths(model, labels, 0, paths)
    for k in range(3):
        children = paths[:, k, None] * problem.stage(k)[None]
        children /= children.sum(axis=2, keepdims=True)
        hit = np.abs(children - paths[:, k + 1, None]).max(axis=2) < 1e-12
        assert hit.any(axis=1).all()
        for i in range(3):
            shares = hit[labels == i].mean(axis=0)
            np.testing.assert_allclose(shares, problem.stage(k)[:, i], atol=0.04)


def test_spsa_against_its_twin(sample):
    rng, paths, costs, spent = sample
    start, free = rng.normal(size=(4, 3)) + 0.5, np.zeros(4, dtype=bool)
    gains = kernels.Gains(0.1667, 0.5, 0.602, 2.0, 0.2)
    theta, signs = start.copy(), np.empty((4, 3))
    kernels.seed_generator(1)
    expected = start.copy()
    for t in range(25):
        kernels.draw_signs(free, signs)
        width = 2.0 * (t + 1) ** -0.2
        up = kernels.mean_cost(expected + width * signs, paths, costs, spent, 0, 50)
        down = kernels.mean_cost(expected - width * signs, paths, costs, spent, 0, 50)
        expected -= 0.1667 * (t + 1.5) ** -0.602 * (up - down) / (2 * width) * signs
    kernels.seed_generator(1)
    assert kernels.spsa(theta, np.empty(0, dtype=np.int64), free, paths, costs, spent, gains, 1e-300, 25, False) == 25
    np.testing.assert_allclose(theta, expected, rtol=1e-12)

    kernels.seed_generator(1)
    theta = start.copy()
    free[2] = True
    theta[[0, 1, 3], 1] = np.minimum(theta[[0, 1, 3], 1], 0)
    before = kernels.mean_cost(theta, paths, costs, spent, 0, 50)
    kernels.spsa(theta, np.array([1]), free, paths, costs, spent, gains, 1e-300, 200, False)
    assert kernels.mean_cost(theta, paths, costs, spent, 0, 50) < before
    np.testing.assert_array_equal(theta[2], start[2])
    assert (np.delete(theta[:, 1], 2) <= 0).all()


def test_corners_stop_for_the_decision_that_is_best_there():
    """Deciding the other class is right: what must come out is the policy of the usual costs, with names exchanged."""
    likelihoods = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 4)
    with pytest.warns(CostWarning):
        problem = Problem([0.5, 0.5], likelihoods, 0.01, [[1, 0], [0, 1]])
    policy = ThresholdSolver().solve(problem)
    assert policy.expected_cost < 1.05 * optimum(problem)
    assert policy.expected_cost < 0.1
    assert policy.decide([0.9, 0.1]) == 1


@pytest.mark.parametrize("decisions", [[1, 2, 0], [2, 1, 0], [1, 1, 0]])
def test_which_decision_is_best_for_a_class_does_not_matter(decisions):
    rng = np.random.default_rng(3)
    likelihoods = rng.dirichlet(np.ones(3), size=(5, 3)).transpose(0, 2, 1)
    usual = rng.uniform(0.5, 2, size=(3, 3)) * (1 - np.eye(3))
    with pytest.warns(CostWarning):
        problem = Problem([0.3, 0.3, 0.4], likelihoods, 0.02, usual[:, decisions])
    policy = ThresholdSolver().solve(problem)
    assert policy.expected_cost <= 1.1 * optimum(problem)
    for corner in np.eye(3):
        assert policy.stops(0, corner)
    if sorted(decisions) == [0, 1, 2]:
        plain = ThresholdSolver().solve(Problem([0.3, 0.3, 0.4], likelihoods, 0.02, usual))
        assert policy.expected_cost == pytest.approx(plain.expected_cost, rel=1e-9)
