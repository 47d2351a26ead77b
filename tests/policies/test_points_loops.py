"""The loops of the points solver and of the search for an order, against slow twins in plain NumPy."""

import numpy as np
import pytest

from etana.kernels import played, points
from etana.kernels.rules import NEGLIGIBLE
from etana.ordering import search
from etana.policies import PointsSolver
from etana.policies import points as solving
from etana.problem import Problem

PAIRS = np.array([[0, 1], [1, 3], [2, 3]])


def mistakes(equal):
    return 2.0 * (1 - np.eye(4)) if equal else np.random.default_rng(5).random((4, 4)) * (1 - np.eye(4))


def some_beliefs(n=300):
    beliefs = np.random.default_rng(1).dirichlet(np.full(4, 0.2), n)
    beliefs[:3] = np.eye(4)[:3]
    return beliefs


def fitted(beliefs, regrets, row):
    """The sum that the layout of the coefficients says."""
    out = row[4] * (beliefs @ regrets).min(axis=1)
    large = np.where(beliefs > NEGLIGIBLE, beliefs, 0.0)
    out += large @ row[:4] - (large * np.log(np.maximum(large, 1e-300))) @ row[5:9]
    for r, (i, j) in enumerate(PAIRS):
        p, q = large[:, i], large[:, j]
        both = np.where(p * q > 0, p * q / np.maximum(p + q, 1e-300), 0.0)
        out += row[9 + 2 * r] * both + row[10 + 2 * r] * p * q
    return out


@pytest.mark.parametrize("equal", [True, False])
def test_functions_and_fitted_costs(equal):
    beliefs, regrets = some_beliefs(), mistakes(equal)
    row = np.random.default_rng(2).normal(size=15)
    at = solving._Beliefs(beliefs)
    assert at.stop_costs(regrets) == pytest.approx((beliefs @ regrets).min(axis=1), abs=1e-14)
    assert at.fitted_costs(row, PAIRS) == pytest.approx(fitted(beliefs, regrets, row), rel=1e-12, abs=1e-14)
    x = np.empty((15, len(beliefs)))
    counts = np.empty(len(x), dtype=bool)
    points.features(at.lanes.beliefs, at.lanes.logs, regrets, PAIRS, x, counts)
    assert row @ x == pytest.approx(fitted(beliefs, regrets, row), rel=1e-12, abs=1e-14)
    assert counts.all()
    at.lanes.beliefs[3] = 0.0
    points.features(at.lanes.beliefs, at.lanes.logs, regrets, PAIRS, x, counts)
    assert np.array_equal(counts, x.any(axis=1))
    assert not counts.all()


@pytest.mark.parametrize("with_fit", [True, False])
def test_backed_up_costs(with_fit):
    rng, beliefs, regrets = np.random.default_rng(3), some_beliefs(), mistakes(False)
    delta, row, price = rng.dirichlet(np.ones(5), 4).T.copy(), rng.random(15), 0.05
    delta[1] = 0.0  # an answer that nobody gives
    delta[2, :3] = 0.0
    delta /= delta.sum(axis=0)
    at = solving._Beliefs(beliefs)
    at.answers[:] = 3
    expected, seen = at.back_up(delta, regrets, PAIRS, row if with_fit else np.empty(0), price)
    total = np.zeros(len(beliefs))
    for v, likely in enumerate(delta):
        mass = beliefs @ likely
        child = beliefs * likely / np.maximum(mass, 1e-300)[:, None]
        stop = (child @ regrets).min(axis=1)
        held = stop
        if with_fit:
            go_on = np.maximum(fitted(child, regrets, row), price)
            held = np.where(stop > price, np.minimum(stop, go_on), stop)
        total += mass * held
        if v == 3:
            assert seen[mass > 0] == pytest.approx(held[mass > 0], rel=1e-10, abs=1e-13)
    assert expected == pytest.approx(total, rel=1e-10, abs=1e-13)
    at.take_answers(delta)
    after = beliefs * delta[3]
    assert at.lanes.beliefs == pytest.approx((after / after.sum(axis=1, keepdims=True)).T, rel=1e-12)
    assert np.exp(at.lanes.logs) == pytest.approx(at.lanes.beliefs, rel=1e-12)


def hard_problem(seed=0, k=12):
    rng = np.random.default_rng(seed)
    return Problem(np.full(4, 0.25), rng.dirichlet(np.full(3, 3.0), (k, 4)).transpose(0, 2, 1), 0.01, 1.0 - np.eye(4))


def test_blocks_of_instances_certify_as_one_block_does(monkeypatch):
    policy = PointsSolver(n_points=100).solve(hard_problem())
    terms = policy.problem, policy.rule.table, policy.rule.index, 7, 300
    paid, bound = solving._certify(*terms)
    monkeypatch.setattr(solving, "_SIDE_BY_SIDE", 64)
    assert np.array_equal(solving._certify(*terms), (paid, bound))
    assert (bound <= paid).all()


def test_the_first_look_decides_as_the_whole_certificate(monkeypatch):
    policies = [
        PointsSolver(n_points=100).solve(hard_problem(seed, k)) for seed, k in ((0, 12), (0, 3), (1, 8), (0, 11))
    ]
    early = [[one.costs_less(other) for other in policies] for one in policies]
    assert any("certificate" not in vars(policy) for policy in policies)
    assert early == [[one.expected_cost < other.expected_cost for other in policies] for one in policies]
    assert not policies[0].costs_less(policies[0])


def play_slowly(priors, likely, regrets, prices):
    """Beliefs, stop costs, and what is paid from each stage on, by the level that is best."""
    beliefs = [np.repeat(priors[:, None], likely.shape[2], axis=1)]
    for each in likely:
        beliefs.append(beliefs[-1] * each / (beliefs[-1] * each).sum(axis=0))
    stop = [(regrets.T @ each).min(axis=0) for each in beliefs]
    onward = [stop[-1]]
    for k in range(len(prices) - 1, -1, -1):
        go_on, level = prices[k] + onward[0], (stop[k] * 256).astype(int)
        ways = [np.where(level <= most, stop[k], go_on) for most in range(-1, 257)]
        onward.insert(0, ways[int(np.argmin([way.mean() for way in ways]))])
    return beliefs, stop, onward


@pytest.mark.parametrize("equal", [True, False])
def test_played_stages(equal):
    problem = hard_problem()
    regrets = mistakes(equal) / mistakes(equal).max()
    true, likely = search._drawn(problem, 3)
    prices, n = np.full(5, 0.02), true.size
    beliefs, stop, onward = play_slowly(problem.priors, likely[:5], regrets, prices)
    stages, seen = played.make_stages(5, n, 256), np.empty((6, 4, n))
    stages.stop[0], stages.level[0] = stop[0], (stop[0] * 256).astype(int)
    stages.stopping[0] = np.bincount(stages.level[0], stop[0], minlength=257).cumsum()
    played.play(beliefs[0], likely, np.arange(5), 0, regrets, 256.0, stages, seen)
    assert seen[1:] == pytest.approx(np.array(beliefs[1:]), rel=1e-12)
    assert stages.stop == pytest.approx(np.array(stop), abs=1e-14)
    paid = np.empty((6, n))
    paid[5] = stages.stop[5]
    played.settle(stages, stages, 0, prices, paid)
    assert paid.mean(axis=1) == pytest.approx(np.mean(onward, axis=1), rel=1e-12)
    going = np.arange(n) % 3 > 0
    told = played.information(beliefs[2], likely, np.array([7, 4]), going, true)
    for nats, feature in zip(told, (7, 4), strict=True):
        chance = (likely[feature] * beliefs[2]).sum(axis=0)
        assert nats == pytest.approx(np.log(likely[feature][true, np.arange(n)] / chance)[going].sum(), rel=1e-11)


def test_functions_that_are_zero_at_a_stage_take_no_part_in_its_fit(monkeypatch):
    """Two groups of classes that the first answer parts for good: pairs across them never meet again."""
    rng = np.random.default_rng(2)
    delta = rng.dirichlet(np.full(4, 0.8), size=(12, 6)).transpose(0, 2, 1)
    delta[0] = 0.0
    delta[0, 0, :3] = delta[0, 1, 3:] = 1.0
    problem = Problem(np.full(6, 1 / 6), delta, 0.004)
    table = PointsSolver().solve(problem).rule.table
    monkeypatch.setattr(solving, "_MOST_OF_THEM", -1.0)
    whole = PointsSolver().solve(problem).rule.table
    assert (table[3] == 0).sum() >= 18
    np.testing.assert_allclose(table, whole, atol=1e-9)
    np.testing.assert_array_equal(table[0] == 0, whole[0] == 0)


def test_the_depth_of_a_drawn_policy_is_that_of_all_its_instances():
    policy = PointsSolver().solve(hard_problem())
    reach = PointsSolver().solve(hard_problem()).expectation.reach[1:]
    for chance, most in ((0.9, 2), (0.01, 3), (0.2, 50), (0.5, 50)):
        assert policy.depth(chance, most) == min(int((reach >= chance).sum()), most)
