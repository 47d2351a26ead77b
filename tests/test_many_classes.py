"""The walk with many classes settles most stops roughly; every stop is nevertheless that of the exact test."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from etana import ETANAClassifier
from etana.kernels import fitted as kernel
from etana.kernels import walk as exact
from etana.kernels.rules import FITTED, fitted_cost, make_rule, normalise, stop_cost
from etana.kernels.walk import Cells

RNG = np.random.default_rng(0)
UNEQUAL = RNG.uniform(0.5, 3.0, (10, 10)) * (1 - np.eye(10))


def rows():
    """Digits with gaps."""
    X, y = load_digits(return_X_y=True)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return X, y


def both_ways(clf, X, max_cost=None):
    """What the rough walk and the exact one make of the same rows."""
    stages = clf.model_.compiled
    assert stages.rule.kind == FITTED
    rough, found = stages.loop, clf.acquire(X, max_cost)
    assert rough.func is kernel.walk_fitted
    try:
        stages.loop = partial(exact.walk, stages.rule)
        return found, clf.acquire(X, max_cost)
    finally:
        stages.loop = rough


def assert_same(found, expected):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.fixture(scope="module", params=[(None, 1.0), (UNEQUAL, 1.0), (UNEQUAL, 1e150), (UNEQUAL, 1e-150)])
def fitted(request):
    mistakes, unit = request.param
    prices = np.where(np.arange(64) % 7 == 0, 0.0, 0.004) * unit  # some features are free
    mistakes = unit * (1 - np.eye(10) if mistakes is None else mistakes)
    # Neither an order nor a temperature is searched for: the walk is the point.
    plain = {"ordering": "error", "temperature": 1.0}
    return ETANAClassifier(feature_costs=prices, misclassification_costs=mistakes, **plain).fit(*rows()), unit


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("max_cost", [None, 0.03, 0.0])
def test_dense_rows(fitted, form, max_cost):
    clf, unit = fitted
    found, expected = both_ways(clf, form(rows()[0]), None if max_cost is None else max_cost * unit)
    assert_same(found, expected)
    assert max_cost is not None or len(set(found.n_features.tolist())) > 10


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_rows(fitted, form):
    assert_same(*both_ways(fitted[0], form(np.nan_to_num(rows()[0]))))


def test_any_number_of_rows(fitted):
    """Blocks that are not full, and rows that are alone."""
    clf, _ = fitted
    X = np.repeat(rows()[0], 2, axis=0)
    whole = clf.acquire(X)
    for first, last in [(0, 1), (3, 3 + kernel.BLOCK), (5, 6 + kernel.BLOCK), (1700, 3594)]:
        part = clf.acquire(X[first:last])
        assert np.array_equal(part.posteriors, whole.posteriors[first:last])
        assert np.array_equal(part.n_features, whole.n_features[first:last])


def made_rule(rng, n, table=None, mistakes=None):
    """A rule of three stages with all pairs of classes, and cells of one feature with four values."""
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    table = rng.normal(size=(3, 2 * n + 1 + 2 * len(pairs))) if table is None else table
    mistakes = 1 - np.eye(n) if mistakes is None else mistakes
    logs = np.log(rng.dirichlet(np.ones(4), n).T)
    return make_rule(FITTED, table, pairs, np.full(3, 0.01), mistakes), Cells(
        logs, np.array([0, 4]), np.log(rng.dirichlet(np.ones(n)))
    )


def lanes_of(beliefs):
    """Lanes that hold these beliefs (n, N)."""
    count, n = beliefs.shape
    with np.errstate(divide="ignore"):
        logs = np.log(beliefs).T - np.log(beliefs.max(axis=1))
    single, double = np.empty(count, np.float32), [np.empty(count) for _ in range(4)]
    whole = np.arange(count), np.zeros(count, np.uint64)
    tables = np.ascontiguousarray(logs), np.ascontiguousarray(beliefs.T), np.empty((n, count), np.float32)
    return kernel.Lanes(*whole, *tables, np.zeros(count), *double, single, np.empty(count, np.int8))


@pytest.mark.parametrize("mistakes", ["equal", "unequal"])
@pytest.mark.parametrize("n", [3, 10, 12])
def test_the_rough_cost_is_off_by_less_than_its_margin(n, mistakes):
    """Also with classes of very small shares, some just beside the share below which a class counts for nothing."""
    rng = np.random.default_rng(n)
    costs = rng.uniform(1, 5, (n, n)) if mistakes == "unequal" else np.ones((n, n))
    rule, cells = made_rule(rng, n, mistakes=costs * (1 - np.eye(n)))
    scale = rule.regrets.max()
    quick = kernel.quick_of(rule, cells)
    beliefs = rng.dirichlet(np.full(n, 0.2), 1500)
    beliefs[::3, 0] = 1e-6 * (1 + rng.choice([-1e-15, 0, 1e-15], len(beliefs[::3])))
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    lanes = lanes_of(beliefs)
    worst = 0.0
    for stage in range(3):
        kernel.judge(quick, rule.index, stage, lanes, len(beliefs))
        rough = lanes.ahead + lanes.sums
        for g in range(len(beliefs)):
            logs, p, large = np.ascontiguousarray(lanes.logs[:, g]), np.empty(n), np.empty(n)
            shift = normalise(logs, p)
            now = stop_cost(p, rule.regrets)
            cost = fitted_cost(p, logs, shift, now, rule.table[stage], rule.index, large)
            off = abs(cost / scale - rough[g])
            assert off <= quick.margins[stage]
            worst = max(worst, off)
            stops = now <= rule.costs[stage] or now <= cost
            assert lanes.verdicts[g] in (kernel.UNSURE, kernel.STOP if stops else kernel.GO_ON)
            assert abs(lanes.now[g] - now / scale) < 1e-12
        assert np.mean(lanes.verdicts == kernel.UNSURE) < 0.02
    assert worst > 1e-9  # single precision is that rough


def test_a_tie_is_left_to_the_test():
    """A cost to go that differs from g by less than rounding: the rough form must not say anything."""
    rng = np.random.default_rng(5)
    n = 6
    table = np.zeros((3, 2 * n + 1 + n * (n - 1)))
    table[:, n] = 1.0, 1.0 + 1e-12, 1.0 - 1e-12
    rule, cells = made_rule(rng, n, table)
    lanes = lanes_of(rng.dirichlet(np.full(n, 2.0), 500))
    for stage in range(3):
        kernel.judge(kernel.quick_of(rule, cells), rule.index, stage, lanes, 500)
        assert (lanes.verdicts == kernel.UNSURE).all()


def test_answers_are_taken_in_as_in_other_walks():
    """Logarithms to the bit, an answer that says nothing included; the belief beside them to fifteen digits."""
    rng = np.random.default_rng(6)
    rule, cells = made_rule(rng, 5)
    quick = kernel.quick_of(rule, cells)
    lanes = lanes_of(np.tile(quick.belief, (40, 1)))
    lanes.logs[:] = cells.log_priors[:, None]
    expected = np.tile(cells.log_priors, (40, 1))
    for _ in range(30):
        codes = rng.integers(0, 5, 40)
        lanes.answers[:] = codes
        kernel.take_answers(quick, lanes, 40)
        exact.update_rows(expected, np.where(codes < 4, codes, -1), cells.logs)
        assert np.array_equal(lanes.logs.T, expected)
        assert np.array_equal(lanes.tops, expected.max(axis=1))
    belief = np.empty(5)
    for g in range(40):
        normalise(expected[g], belief)
        assert np.allclose(lanes.beliefs[:, g], belief, rtol=1e-12, atol=0)
