"""What is announced and chosen comes from rows that had no part in it; each test fails if they had."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine

from etana import AdaptiveClassifier, Binner, FeatureCosts, SequentialClassifier
from etana.costs import resolve_feature_costs
from etana.kernels import neighbours as kernel
from etana.kernels.rules import decide_rows
from etana.kernels.side_by_side import score_beside
from etana.learning.folds import deal_folds, ranked_rows, row_keys, sample_rows
from etana.learning.forward_order import NeighbourSearch
from etana.learning.instance_choice import Way, cheapest_way
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver
from etana.policies.situation import Situation
from etana.table import Table, read_table
from etana.walks.acquisition import read_budget
from problems import random_problem


def noise(n=240, k=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.integers(0, 2, n)


@pytest.mark.parametrize("look_ahead", [False, True])
def test_held_out_rows_of_noise_pay_what_chance_pays(look_ahead):
    """Beliefs that had seen the rows they are judged by would seem to know the labels."""
    X, y = noise(k=5)
    clf = AdaptiveClassifier(0.002, look_ahead=look_ahead, binning=Binner("quantile", 6).fit(X)).fit(X, y)
    assert len(clf.cv_costs_) > 1
    assert min(clf.cv_costs_.values()) > 0.4


def test_beliefs_of_a_fold_are_learnt_from_the_other_rows():
    X, y = noise(n=50)
    clf = AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X, y)
    for part in clf._paths.held_out:
        assert part.beliefs.classes.size == 50 - part.classes.size
        assert part.codes.shape == (part.beliefs.candidates.size, part.classes.size)
    assert sum(part.classes.size for part in clf._paths.held_out) == 2 * 50  # few rows: dealt twice


def pairs(n=40):
    """Rows in pairs that lie together, one of each class, the pairs far apart: the nearest is of the other class."""
    places = np.repeat(np.arange(n, dtype=np.float32), 2) + np.tile([0, 0.1], n).astype(np.float32)
    return places, np.tile([0, 1], n)


def test_a_row_is_not_among_its_own_neighbours():
    places, codes = pairs()
    other = np.random.default_rng(0).permutation(places)
    search = NeighbourSearch([places[:, None], other[:, None]], codes, resolve_feature_costs(0.0, 2), 1.0 - np.eye(2))
    n, votes = codes.size, np.empty((codes.size, 1, 2))

    def score():
        drops = np.full((1, n), np.nan)
        kernel.score_candidates(
            search._rows, search.near, search._alike(1), search.offsets, search._scoring(), np.arange(n), 1,
            np.array([0]), 0, 1, drops,
        )  # fmt: skip
        return drops.mean()

    # By the one nearest row every guess is wrong: the loss rises, along a line, among all rows and in a list.
    assert score() < -0.3
    search.groups = np.arange(n)
    assert score() < -0.3
    search._add(0)
    assert score() < -0.3
    beside, table = np.empty((1, n)), places[:, None].astype(np.float32)
    score_beside(search.near, codes, search._scoring(), table, np.arange(n), 1, 0, n, beside)
    assert np.nanmean(beside) < -0.3
    for reach in (np.inf, -1.0):
        search.near.reach[:] = reach
        kernel.leave_one_out(search._rows, search.near, np.array([1]), 0, n, votes)
        assert (votes[np.arange(n), 0, codes] == 0).all()
        assert (votes[np.arange(n), 0, 1 - codes] == 1).all()


def test_look_ahead_gives_way_only_to_what_is_cheaper_by_more_than_a_standard_error():
    rng = np.random.default_rng(0)
    base, weights = rng.random(400), np.ones(400)
    ahead, information = Way(10.0, 2), Way(10.0, 0)
    spread = rng.normal(size=400)
    spread -= spread.mean()
    error = spread.std() / np.sqrt(400)
    for share, expected in ((0.5, ahead), (0.9, ahead), (1.1, information), (3.0, information)):
        paid = {information: base, ahead: base + spread + share * error}
        assert cheapest_way(paid, weights, 400) == expected
    assert cheapest_way({information: base, ahead: base - 0.1}, weights, 400) == ahead


def test_new_prices_need_neither_bins_nor_folds(monkeypatch):
    X, y = load_wine(return_X_y=True)
    for clf in (AdaptiveClassifier(0.01, m=10.0, look_ahead=False), SequentialClassifier(feature_costs=0.01)):
        clf.fit(X[::2], y[::2])
        with monkeypatch.context() as patch:
            patch.setattr(Binner, "fit_count", lambda *given: pytest.fail("bins were chosen again"))
            patch.setattr(Binner, "encode", lambda *given: pytest.fail("rows were coded again"))
            dear = clf.with_costs(feature_costs=0.2)
        assert dear.expected_n_features_ < clf.expected_n_features_


def test_new_prices_keep_the_way_that_was_chosen():
    X, y = load_wine(return_X_y=True)
    clf = AdaptiveClassifier(0.01).fit(X[::2], y[::2])
    dear = clf.with_costs(feature_costs=0.1)
    assert (dear.m_, dear.look_ahead_) == (clf.m_, clf.look_ahead_)
    assert len(clf.cv_costs_) > 1 >= len(dear.cv_costs_)
    again = clf.with_costs()
    assert again.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


@pytest.mark.parametrize("n_rows", [299, 300, 301, 450, 599, 600, 1797])
def test_no_more_rows_are_left_out_than_must_be(n_rows):
    X, y = load_digits(return_X_y=True)
    kept = sample_rows(y[:n_rows], 300, row_keys(read_table(X[:n_rows])))
    assert kept.size == min(n_rows, 300)
    assert np.unique(kept).size == kept.size
    share = np.bincount(y[kept], minlength=10) / kept.size
    np.testing.assert_allclose(share, np.bincount(y[:n_rows], minlength=10) / n_rows, atol=1.5 / kept.size)


def test_folds_depend_on_what_is_in_the_rows():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    folds = deal_folds(y, 5, row_keys(read_table(X)))
    back = deal_folds(9 - y[::-1], 5, row_keys(read_table(X[::-1])))
    assert (folds == back[::-1]).all()
    assert (folds != deal_folds(y, 5, row_keys(read_table(X), seed=1))).mean() > 0.6
    table = np.array([np.bincount(y[folds == f], minlength=10) for f in range(5)])
    assert (table.max(axis=0) - table.min(axis=0)).max() <= 1


@pytest.mark.parametrize(
    "solver", [ExactSolver(), PointsSolver(), GridSolver(8), ThresholdSolver(batch=64, max_iterations=20)],
    ids=lambda s: type(s).__name__,
)  # fmt: skip
def test_reach_has_a_place_for_every_number_of_features(solver):
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed), n_classes=2)
        policy = solver.solve(problem)
        reach = policy.expectation.reach
        assert reach.shape == (policy.horizon + 1,)
        assert reach[0] == pytest.approx(1)
        assert reach[1:].sum() == pytest.approx(policy.expected_n_features)


def test_what_is_decided_costs_least():
    """argmin_j M_j . pi, against NumPy."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 5):
        beliefs, mistakes = rng.dirichlet(np.ones(n), 50), rng.random((n, n))
        labels = np.empty(50, dtype=np.int64)
        decide_rows(beliefs, mistakes, labels)
        assert labels.tolist() == (beliefs @ mistakes).argmin(axis=1).tolist()


def test_a_budget_that_fits_to_the_cent_is_enough():
    """0.1 added three times is a little more than 0.3."""
    prices = [0.1, 0.1, 0.1]
    assert sum(prices) > 0.3
    assert sum(prices) <= read_budget(0.3) < 0.3 + 1e-9
    assert read_budget(None) == np.inf


def test_features_without_a_group_share_no_fee():
    prices = resolve_feature_costs(FeatureCosts([3.0, 4.0, 5.0, 6.0], ["a", "a", None, None], [1.0, 2.0, 5.0, 6.0]), 4)
    prices.discounted[2:] = 0.5  # a discount that is nobody's to give
    assert prices.price_of(1, [0]) == 2.0
    assert prices.price_of(2, [3]) == 5.0
    assert prices.now(np.array([1, 2]), [0, 3]).tolist() == [2.0, 5.0]


def test_what_came_for_nothing_gives_no_discount():
    """Nobody paid the fee of its group; what was paid for without being known did."""
    knowledge = SimpleNamespace(known=(0, 1))
    situation = Situation(given=frozenset({1}), free=frozenset({1}), also_bought=frozenset({3}))
    assert situation.bought(knowledge) == [0, 3]
    prices = resolve_feature_costs(FeatureCosts(4.0, ["a", "b", "b", None], 1.0), 4)
    assert prices.price_of(2, situation.bought(knowledge)) == 4.0


@pytest.mark.parametrize("bits", [0, 60])
def test_a_sample_is_every_so_many_of_the_ranked_rows(bits):
    """Also where keys agree in their leading bits, or altogether."""
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 3, 5000)
    keys = rng.integers(0, 2**64 >> bits, 5000, dtype=np.uint64) << np.uint64(bits)
    for most in (1, 7, 600, 4999):
        wanted = np.sort(ranked_rows(codes, keys)[np.arange(most) * 5000 // most])
        np.testing.assert_array_equal(sample_rows(codes, most, keys), wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_keys_are_the_same_however_a_table_is_stored(dtype):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(3000, 30)) * (rng.random((3000, 30)) < 0.7) * 10).astype(dtype)
    if dtype != np.int64:
        X[::9, 2], X[0, 0] = np.nan, -0.0
    keys = row_keys(read_table(X), 5)
    np.testing.assert_array_equal(row_keys(read_table(sp.csr_matrix(X)), 5), keys)
    columns = Table(columns=[column.astype(np.float64) for column in X.T])
    np.testing.assert_array_equal(row_keys(columns, 5), keys)
    assert np.unique(keys).size == 3000
