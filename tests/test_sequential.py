"""The stopping problem over any classifier."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from etana import Acquisition, Case, FeatureCosts, SequentialClassifier
from etana.beliefs.prefixes.calibration import fit_temperature, temper
from etana.beliefs.prefixes.encoding import learn_feature
from etana.beliefs.prefixes.linear import Linear, fit_linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import Pool, travel
from etana.costs import resolve_feature_costs
from etana.errors import CostError, InputError
from etana.kernels import neighbours as kernel
from etana.learning.folds import deal_folds, row_keys, sample_rows
from etana.learning.forward_order import NeighbourSearch
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import learn_stopping
from etana.table import read_table

WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
# A copy of a row is a neighbour of it, and falls into another fold; a row of weight 2 is held out whole. The check
# deals the folds itself, by cv=, which is a number here.
COPIES_ARE_ROWS = "a row is held out with all of its weight, copies of a row are held out one by one"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        SequentialClassifier(),
        SequentialClassifier(nested=True, cv=2, max_features=3),
        SequentialClassifier(GaussianNB(), cv=2, max_features=4),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(WEIGHT_CHECKS, COPIES_ARE_ROWS),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[::2], y.iloc[::2], X.iloc[1::2], y.iloc[1::2]


@pytest.fixture(scope="module")
def fitted(cancer):
    return SequentialClassifier(feature_costs=0.005).fit(cancer[0], cancer[1])


def votes_by_hand(distances, codes, k, n_classes, weights=None):
    """Votes of the k nearest rows, those at the last distance sharing what is left."""
    weights = np.ones(codes.size) if weights is None else weights
    nearest = np.sort(distances)[min(k, distances.size) - 1]
    nearer, level = distances < nearest, distances == nearest
    share = (min(k, distances.size) - nearer.sum()) / level.sum()
    return np.bincount(codes, weights * (nearer + share * level), minlength=n_classes)


# --- neighbours -------------------------------------------------------------------------------------------------


def whole_numbers(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, p)).astype(float)
    return X, (X[:, 0] + rng.integers(0, 2, n) > 2).astype(np.int64) + (X[:, 1] > 2)


@pytest.mark.parametrize("levels", [None, np.arange(4)], ids=["numbers", "labels"])
def test_leave_one_out_posteriors_are_those_of_a_full_search(levels):
    X, codes = whole_numbers()
    features = [learn_feature(X[:, k], levels) for k in range(X.shape[1])]
    scaled = [f.scaled(X[:, k]) for k, f in enumerate(features)]
    found = NeighbourSearch(scaled, codes, resolve_feature_costs(0.0, 4), 1.0 - np.eye(3)).run(4)
    assert found.features.size >= 2
    prior = np.bincount(codes) / codes.size
    for stage, size in enumerate(found.sizes):
        Z = np.concatenate([scaled[f] for f in found.features[: stage + 1]], axis=1)
        for i in (0, 17, 59):
            distances = np.zeros(len(Z), dtype=np.float32)
            for column in Z.T:
                distances += (column[i] - column) ** 2
            others = np.arange(len(Z)) != i
            votes = votes_by_hand(distances[others], codes[others], size, 3)
            np.testing.assert_allclose(found.posteriors[stage, i], (votes + prior) / (votes.sum() + 1), rtol=1e-12)


def gains_by_hand(search, feature, rows, k):
    """Gain of one candidate on each row, by distances to all others."""
    own = search.columns[slice(*search._own(feature))]
    gains = []
    for i in rows:
        apart = search.distances[i].copy()
        for column in own:
            apart += (column[i] - column) ** 2
        others = np.arange(apart.size) != i
        votes = votes_by_hand(apart[others], search.codes[others], k, search.prior.size, search.counted[others])
        posterior = (votes + search.prior) / (votes.sum() + 1)
        gains.append(search.losses[i] + search.weights[i] * np.log(posterior[search.codes[i]]))
    return np.mean(gains), np.std(gains) / np.sqrt(len(gains))


def lined_up(kind, n):
    """Encoded columns on which neighbours are found along lines, in lists, and among all rows."""
    rng = np.random.default_rng(3)
    whole = rng.integers(0, 3, size=(n, 4)).astype(float)
    often_zero = np.where(rng.random((n, 4)) < 0.8, 0.0, rng.random((n, 4)))
    X = {"whole": whole, "often zero": often_zero, "any": rng.normal(size=(n, 4))}[kind]
    codes = (X[:, 0] + X[:, 1] + rng.normal(size=n) > np.median(X.sum(axis=1))).astype(np.int64) + (X[:, 2] > 1)
    return [learn_feature(x, None).scaled(x) for x in X.T], codes


@pytest.mark.parametrize("n", [80, 600])
@pytest.mark.parametrize("kind", ["whole", "often zero", "any"])
@pytest.mark.parametrize("even", [True, False])
def test_gains_are_those_of_a_full_search(kind, n, even):
    """However the nearest are found, they are the nearest, ties at the last distance included; candidates side by side
    where all rows have one vote, and else one by one."""
    scaled, codes = lined_up(kind, n)
    n_classes = int(codes.max()) + 1
    weights = None if even else np.random.default_rng(4).integers(1, 4, n).astype(float)
    search = NeighbourSearch(scaled, codes, resolve_feature_costs(0.0, 4), 1.0 - np.eye(n_classes), weights)
    assert search.even == even
    rows = np.arange(0, n, 7)
    for feature in (1, 0, 3):
        left = search._left()
        every = np.arange(n) if not search.chosen else rows  # along lines all rows are scored
        expected = np.array([gains_by_hand(search, int(f), every, 10) for f in left]).T
        np.testing.assert_allclose(search._score(left, rows), expected, rtol=1e-9, atol=1e-12)
        search._add(feature)


def test_gains_of_many_candidates_are_those_of_a_full_search():
    """More than are gone through side by side at a time."""
    rng = np.random.default_rng(5)
    X = np.where(np.arange(70) % 2, rng.normal(size=(300, 70)), rng.integers(0, 9, size=(300, 70)))
    codes = (X[:, 0] + X[:, 69] + rng.normal(size=300) > 4).astype(np.int64)
    scaled = [learn_feature(x, None).scaled(x) for x in X.T]
    search = NeighbourSearch(scaled, codes, resolve_feature_costs(0.0, 70), 1.0 - np.eye(2))
    for feature in (1, 4, 3):
        search._add(feature)
    left, rows = search._left(), np.arange(0, 300, 11)
    gains, errors = search._score(left, rows)
    for place in (0, 30, 62, 63, 64, 66):
        expected = gains_by_hand(search, int(left[place]), rows, 10)
        np.testing.assert_allclose((gains[place], errors[place]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["whole", "often zero", "any"])
def test_votes_do_not_depend_on_how_far_a_list_reaches(kind):
    scaled, codes = lined_up(kind, 600)
    search = NeighbourSearch(scaled, codes, resolve_feature_costs(0.0, 4), 1.0 - np.eye(int(codes.max()) + 1))
    search._add(0)
    search._add(2)
    votes = np.empty((2, 600, search.sizes.size, search.prior.size))
    kernel.leave_one_out(search._rows, search.near, search.sizes, 0, 600, votes[0])
    search.near.reach[:] = -1.0
    kernel.leave_one_out(search._rows, search.near, search.sizes, 0, 600, votes[1])
    assert np.array_equal(votes[0], votes[1])


def test_travelling_neighbours_are_those_of_scikit_learn(cancer):
    X, y, new, _ = (np.asarray(part) for part in cancer)
    features = [learn_feature(X[:, k], None) for k in range(6)]
    prefixes = Neighbours.of(features, X[:, :6], y, np.full(6, 7), 2)
    walked = travel(prefixes, new[:, :6])
    known = np.concatenate([f.scaled(X[:, k]) for k, f in enumerate(features)], axis=1)
    asked = np.concatenate([f.scaled(new[:, k]) for k, f in enumerate(features)], axis=1)
    _, index = NearestNeighbors(n_neighbors=7).fit(known).kneighbors(asked)
    positive = (y[index].sum(axis=1) + y.mean()) / 8
    assert np.mean(np.isclose(walked[5, :, 1], positive)) > 0.99  # ties in single precision aside


# --- logistic regression, and both together -----------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_logistic_regression_is_that_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    features = [learn_feature(X[:, k], None) for k in range(5)]
    linear = fit_linear(features, X[:, :5], y, int(y.max()) + 1)
    inputs = np.concatenate([f.inputs(X[:, k]) for k, f in enumerate(features)], axis=1)
    # Of two classes scikit-learn has one set of weights, the difference of the two here: half the penalty.
    C = 1.0 if y.max() > 1 else 2.0
    for k in (0, 2, 4):
        other = LogisticRegression(C=C, max_iter=1000, tol=1e-8).fit(inputs[:, : 2 * k + 2], y)
        np.testing.assert_allclose(travel(linear, X[:, :5])[k], other.predict_proba(inputs[:, : 2 * k + 2]), atol=1e-3)


@pytest.mark.parametrize("n_levels", [20, 150])
def test_logistic_regression_on_labels_is_that_of_scikit_learn(n_levels):
    """With few inputs, which are brought into axes, and with many, which are not; rows count as much as they weigh."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_levels, size=(600, 2)).astype(float)
    y = (rng.random(600) < (X[:, 0] + X[:, 1]) / (2 * n_levels)).astype(np.int64) + (X[:, 1] < 5)
    weights = rng.integers(1, 4, 600).astype(float)
    features = [learn_feature(X[:, k], np.arange(n_levels)) for k in range(2)]
    walked = travel(fit_linear(features, X, y, 3, weights), X)
    inputs = np.concatenate([f.inputs(X[:, k]) for k, f in enumerate(features)], axis=1)
    for k in range(2):
        own = inputs[:, : n_levels * (k + 1)]
        other = LogisticRegression(max_iter=2000, tol=1e-8).fit(own, y, sample_weight=weights)
        np.testing.assert_allclose(walked[k], other.predict_proba(own), atol=5e-3)


def test_inputs_of_logistic_regression():
    x = np.array([1.0, 1.0, 2.0, 8.0, np.nan])
    numbers = learn_feature(x, None)
    ranks, apart = numbers.inputs(x).T
    np.testing.assert_allclose(apart[:4], (x[:4] - 3) / np.std(x[:4]))
    assert apart[4] == apart[0]  # missing: the median
    assert (np.diff(ranks[1:4]) > 0).all()
    assert np.isfinite(numbers.inputs(np.array([np.inf, -np.inf]))).all()
    huge = learn_feature(np.array([-1.7e308, 0.0, 1.7e308]), None)
    assert (np.abs(huge.inputs(huge.knots)) < 10).all()
    labels = learn_feature(np.array([0.0, 1.0, np.nan]), np.array(["a", "b"], dtype=object))
    assert labels.inputs(np.array([1.0, np.nan])).tolist() == [[0, 1], [0, 0]]
    assert labels.raw(np.array([1.0, np.nan]), True).tolist() == [[0, 1], [0, 0]]


def test_values_as_estimators_take_them():
    x = np.array([1.0, 5.0, 3.0, np.nan])
    numbers = learn_feature(x, None)
    given = np.array([np.nan, -np.inf, np.inf, 7.0])
    np.testing.assert_array_equal(numbers.raw(given, True)[:, 0], [np.nan, 1.0, 5.0, 7.0])
    np.testing.assert_array_equal(numbers.raw(given, False)[:, 0], [3.0, 1.0, 5.0, 7.0])


def test_a_class_without_rows_has_no_probability():
    x, codes = np.linspace(0, 1, 20)[:, None], np.repeat([0, 2], 10)
    linear = fit_linear([learn_feature(x[:, 0], None)], x, codes, 4)
    posteriors = travel(linear, x)[0]
    assert posteriors[:, [1, 3]].max() == 0
    assert (posteriors.argmax(axis=1) == codes).mean() > 0.9


def test_two_classifiers_travel_together():
    X, y = load_wine(return_X_y=True)
    features = [learn_feature(X[:, k], None) for k in range(3)]
    parts = Neighbours.of(features, X[:, :3], y, np.full(3, 5), 3), fit_linear(features, X[:, :3], y, 3)
    # After each feature another share and another temperature of each.
    shares, temperatures = (
        np.array([[0.75, 0.25], [0.5, 0.5], [0.1, 0.9]]),
        np.array([[1.0, 2.0], [0.5, 1.0], [1.0, 1.0]]),
    )
    pool = Pool(parts, shares, temperatures, 0.01)
    both = travel(pool, X[:, :3])
    apart = [travel(part, X[:, :3]) for part in parts]
    for k in range(3):
        tempered = [temper(apart[m][k], pool.prior, temperatures[k, m], 0.01) for m in (0, 1)]
        np.testing.assert_allclose(both[k], shares[k, 0] * tempered[0] + shares[k, 1] * tempered[1])
    traveller, _ = pool.depart(len(X)).after(X[:, 0])
    _, some = traveller.take(np.arange(5, 9)).after(X[5:9, 1])
    np.testing.assert_allclose(some, both[1, 5:9])


def test_the_better_member_is_heard_more():
    """A line is for logistic regression, a ring for neighbours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    flat = (X @ [1.0, 1.0] + rng.logistic(scale=0.3, size=150) > 0).astype(int)
    ring = ((X**2).sum(axis=1) > 1.4).astype(int)
    line, ring = (SequentialClassifier(feature_costs=0.001, nested=False).fit(X, y) for y in (flat, ring))
    members = [clf.model_.beliefs.member for clf in (line, ring)]
    assert [type(member) for member in members[0].members] == [Neighbours, Linear]
    assert members[0].shares[-1, 1] > 0.6
    assert members[1].shares[-1, 0] > 0.6


def test_order_finds_an_exclusive_or():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = (X[:, 3] * X[:, 8] > 0).astype(int)
    clf = SequentialClassifier(feature_costs=0.001).fit(X, y)
    assert {3, 8} <= set(clf.feature_order_[:3].tolist())
    new = rng.normal(size=(400, 12))
    assert clf.score(new, new[:, 3] * new[:, 8] > 0) > 0.85


def test_order_sees_prices_and_group_fees():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 150)
    signal = y + rng.normal(scale=0.4, size=300)
    X = np.column_stack([signal, signal + rng.normal(scale=0.01, size=300), rng.normal(size=300)])
    cheap = SequentialClassifier(feature_costs=[0.05, 0.01, 0.05]).fit(X, y)
    assert cheap.feature_order_[0] == 1
    dear = SequentialClassifier(feature_costs=[0.01, 0.05, 0.05]).fit(X, y)
    assert dear.feature_order_[0] == 0
    fee = FeatureCosts(0.02, groups=["a", "a", None], discounted=0.005)
    clf = SequentialClassifier(feature_costs=fee).fit(X, y)
    walk, order = clf.acquire(X), clf.feature_order_
    bought = [[int(c) for c in walk.features(i)] for i in range(len(X))]
    prices = resolve_feature_costs(fee, 3)
    assert walk.costs.tolist() == pytest.approx([prices.total(np.array(b, dtype=int)) if b else 0.0 for b in bought])
    assert len(set(order.tolist())) == len(order)


# --- calibration and stopping -----------------------------------------------------------------------------------


def test_temperature_is_recovered():
    rng = np.random.default_rng(0)
    honest = rng.dirichlet([1, 1, 1], size=4000)
    codes = np.array([rng.choice(3, p=p) for p in honest])
    prior = np.full(3, 1 / 3)
    surer = temper(honest, prior, 2.0, 0.0)
    assert fit_temperature(surer, prior, codes, 0.0) == pytest.approx(0.5, rel=0.1)


def test_evidence_that_counts_twice_is_taken_back_and_a_rare_class_stays_rare():
    rng = np.random.default_rng(1)
    prior = np.array([0.95, 0.05])
    codes = (rng.random(20_000) < prior[1]).astype(int)
    value = rng.normal(codes * 1.5)
    likelihoods = np.exp(-0.5 * (value[:, None] - np.array([0.0, 1.5])) ** 2)
    honest, twice = (prior * likelihoods**power for power in (1, 2))
    honest, twice = honest / honest.sum(axis=1, keepdims=True), twice / twice.sum(axis=1, keepdims=True)
    temperature = fit_temperature(twice, prior, codes, 0.0)
    assert temperature == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(temper(twice, prior, 0.5, 0.0), honest)
    np.testing.assert_allclose(temper(twice, prior, 0.0, 0.0), np.tile(prior, (codes.size, 1)))


def coin_walks(n=4000, seed=0):
    """Two classes; each feature is the class told right with 80 %. Posteriors are exact."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    told = np.where(rng.random((4, n)) < 0.8, codes, 1 - codes)
    logs = np.zeros((5, n))
    logs[1:] = np.cumsum(np.where(told == 1, np.log(4.0), -np.log(4.0)), axis=0)
    p = 1 / (1 + np.exp(-logs))
    return np.stack([1 - p, p], axis=2), codes


@pytest.mark.parametrize(("price", "first", "agreed", "split"), [(0.05, False, True, False), (0.4, True, True, True)])
def test_rule_agrees_with_the_exact_solution(price, first, agreed, split):
    """With posteriors known exactly, dynamic programming by hand gives these decisions."""
    walks, codes = coin_walks()
    rule = learn_stopping(walks, codes, np.full(4, price), 1.0 - np.eye(2))
    sure = 16 / 17  # after two answers that agree: another one saves less than 0.05
    assert rule.stops(0, np.array([[0.5, 0.5]]))[0] == first
    assert rule.stops(2, np.array([[1 - sure, sure]]))[0] == agreed
    assert rule.stops(2, np.array([[0.5, 0.5]]))[0] == split
    assert rule.stops(1, np.array([[0.0, 1.0]]))[0]


def test_what_costs_nothing_is_asked():
    """Free features are asked whatever is known, as far as the order goes; priced ones after them only if they pay."""
    walks, codes = coin_walks(n=500)
    rule = learn_stopping(walks, codes, np.array([0.0, 0.0, 0.0, 0.4]), 1.0 - np.eye(2))
    beliefs = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    for stage in range(3):
        assert not rule.stops(stage, beliefs).any()
    assert rule.stops(3, beliefs).all()
    assert rule.expectation.reach.tolist() == [1, 1, 1, 1, 0]
    X, y = load_wine(return_X_y=True)
    free = SequentialClassifier(feature_costs=0.0, max_features=4).fit(X, y)
    assert free.feature_order_.size > 1
    assert (free.acquire(X).n_features == free.feature_order_.size).all()
    assert free.acquire(X).costs.max() == 0
    assert free.expected_n_features_ == free.feature_order_.size


def test_announced_cost_is_the_average_over_walks():
    walks, codes = coin_walks()
    rule = learn_stopping(walks, codes, np.full(4, 0.05), 1.0 - np.eye(2))
    new, truth = coin_walks(seed=1)
    paid, asked = np.zeros(codes.size), np.zeros(codes.size)
    for i in range(codes.size):
        k = 0
        while not rule.stops(k, new[k, i : i + 1])[0]:
            k += 1
        asked[i], paid[i] = k, 0.05 * k + (rule.decide(new[k, i : i + 1])[0] != truth[i])
    assert paid.mean() == pytest.approx(rule.expected_cost, abs=4 * paid.std() / 60)
    assert asked.mean() == pytest.approx(rule.expected_n_features, abs=0.1)
    said = rule.expectation
    assert said.standard_error == pytest.approx(paid.std() / np.sqrt(codes.size), rel=0.1)
    for one in (0, 1):
        assert paid[truth == one].mean() == pytest.approx(said.class_cost[one], abs=6 * paid.std() / np.sqrt(2000))
        assert asked[truth == one].mean() == pytest.approx(said.class_n_features[one], abs=0.15)


def test_scaling_all_costs_and_renaming_classes_change_nothing(cancer):
    X, y, new, _ = cancer
    X, y = X[::3], y[::3]
    one = SequentialClassifier(feature_costs=0.01).fit(X, y).acquire(new)
    scaled = SequentialClassifier(feature_costs=0.04, misclassification_costs=4.0 * (1 - np.eye(2))).fit(X, y)
    np.testing.assert_array_equal(one.labels, scaled.acquire(new).labels)
    np.testing.assert_array_equal(one.n_features, scaled.acquire(new).n_features)
    renamed = SequentialClassifier(feature_costs=0.01).fit(X, np.where(y == 1, "a", "b")).acquire(new)
    np.testing.assert_array_equal(one.labels == 1, renamed.labels == "a")


def test_dear_features_are_not_bought_and_mistakes_are_weighed(cancer):
    X, y, new, truth = cancer
    clf = SequentialClassifier(feature_costs=1.0).fit(X, y)
    assert clf.acquire(new).n_features.max() == 0
    assert clf.expected_n_features_ == 0
    missed = np.array([[0, 50.0], [1, 0]])  # class 0 taken for 1 is the dear mistake
    careful = SequentialClassifier(feature_costs=0.01, misclassification_costs=missed).fit(X, y).predict(new)
    plain = SequentialClassifier(feature_costs=0.01).fit(X, y).predict(new)
    assert ((careful == 1) & (truth == 0)).sum() < ((plain == 1) & (truth == 0)).sum()


# --- the classifier ---------------------------------------------------------------------------------------------


def test_few_features_suffice(cancer, fitted):
    walk = fitted.acquire(cancer[2])
    assert isinstance(walk, Acquisition)
    assert np.mean(walk.labels == cancer[3]) > 0.9  # these test rows are hard: naive Bayes gets 0.915 of them
    assert walk.n_features.mean() < 3
    assert walk.costs == pytest.approx(0.005 * walk.n_features)
    assert fitted.expected_n_features_ == pytest.approx(walk.n_features.mean(), abs=1)
    realised = walk.costs + (walk.labels != cancer[3])
    assert fitted.expected_cost_ == pytest.approx(realised.mean(), abs=0.06)


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(10),
        LogisticRegression(max_iter=1000),
        RandomForestClassifier(15, min_samples_leaf=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, learning_rate=0.3, min_samples_leaf=5),
    ],
    ids=lambda e: type(e).__name__,
)
def test_any_estimator_serves(estimator):
    X, y = load_wine(return_X_y=True)
    X[::7, 3] = np.nan
    if isinstance(estimator, LogisticRegression):
        X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    with threadpool_limits(1):  # boosting's own threads wait for each other on a busy machine
        clf = SequentialClassifier(estimator, feature_costs=0.01, max_features=4, cv=2).fit(X[::2], y[::2])
        walk = clf.acquire(X[1::2])
    assert np.mean(walk.labels == y[1::2]) > 0.8
    assert 0 < walk.n_features.mean() < 4


def test_estimator_may_choose_the_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 2] + 2 * X[:, 1] + 0.5 * rng.normal(size=200) > 0).astype(int)
    clf = SequentialClassifier(LogisticRegression(), selection="estimator", cv=2, max_features=2).fit(X, y)
    assert clf.feature_order_.tolist() == [1, 2]


def test_new_prices_need_no_fit(cancer, fitted):
    _, _, new, _ = cancer
    dear = fitted.with_costs(feature_costs=0.1)
    assert dear.acquire(new).n_features.mean() < fitted.acquire(new).n_features.mean()
    np.testing.assert_array_equal(dear.feature_order_, fitted.feature_order_)
    again = dear.with_costs(feature_costs=0.005)
    np.testing.assert_array_equal(again.acquire(new).posteriors, fitted.acquire(new).posteriors)
    assert again.expected_cost_ == fitted.expected_cost_
    first = fitted.feature_names_in_[fitted.feature_order_[0]]
    by_name = dict.fromkeys(fitted.feature_names_in_, 0.005) | {first: 10.0}
    assert fitted.with_costs(by_name).acquire(new).n_features.max() == 0


def test_budget_is_kept(cancer, fitted):
    walk = fitted.acquire(cancer[2], max_cost=0.01)
    assert walk.costs.max() <= 0.01 + 1e-12
    assert walk.n_features.max() == 2
    assert fitted.start(max_cost=0).stopped_by == "budget"
    with pytest.raises(InputError, match="max_cost"):
        fitted.acquire(cancer[2], max_cost=-1)


def test_a_policy_is_refused_for_beliefs_of_another_order(fitted):
    model = fitted.model_
    policy = FixedOrder(model.order[::-1], model.policy.stopping, model.prices, model.mistakes)
    with pytest.raises(InputError, match="make the policy for the order of the beliefs"):
        replace(model, policy=policy)


def test_a_row_does_not_depend_on_its_neighbours_in_a_batch():
    X, y = load_wine(return_X_y=True)
    clf = SequentialClassifier(LogisticRegression(), feature_costs=0.0, max_features=2, cv=2).fit(X, y)
    rows = np.array([2 * X.max(axis=0), X[0], np.full(13, np.inf)])
    assert clf.predict_proba(rows)[:2].tobytes() == clf.predict_proba(rows[:2]).tobytes()


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(10, random_state=0)], ids=["neighbours", "forest"])
def test_case_and_batch_agree(cancer, estimator):
    X, y, new, _ = cancer
    clf = SequentialClassifier(estimator, feature_costs=0.005, max_features=6, cv=3).fit(X, y)
    walk = clf.acquire(new)
    for i in range(0, len(new), 23):
        case = clf.ask(lambda name, row=new.iloc[i]: row[name])
        assert isinstance(case, Case)
        assert case.label == walk.labels[i]
        assert [a.feature for a in case.history] == new.columns[walk.features(i)].tolist()
        assert case.cost == pytest.approx(walk.costs[i])
        np.testing.assert_allclose(case.posterior, walk.posteriors[i], rtol=1e-12)


def test_case_tells_and_takes_back(cancer, fitted):
    case = fitted.start()
    first = fitted.feature_names_in_[fitted.feature_order_[0]]
    assert case.next_feature == first
    assert case.stopped_by is None
    assert first in case.explain()
    assert case.explain().count("\n") >= 3  # what answers would lead to
    before = case.posterior
    expected = case.expected_cost
    assert expected == pytest.approx(fitted.expected_cost_, abs=0.05)
    case.observe(cancer[2].iloc[0][first])
    assert "of the training rows" in case.history[0].meaning
    assert case.cost == 0.005
    assert not np.array_equal(case.posterior, before)
    case.undo()
    np.testing.assert_array_equal(case.posterior, before)
    assert case.cost == 0
    with pytest.raises(InputError, match="take back"):
        case.undo()
    with pytest.raises(InputError, match="must be a number"):
        case.observe("much")
    assert case.observe(None).history[0].meaning == "missing"
    while case.next_feature is not None:
        case.observe(0.0)
    assert "Stop" in case.explain()
    with pytest.raises(InputError, match="stopped"):
        case.observe(1.0)
    assert "decides" in repr(case)
    assert "budget" in fitted.start(max_cost=0).explain()


def test_missing_values_infinities_and_labels():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=200),
            "colour": np.where(rng.random(200) < 0.9, np.array(["red", "blue"])[y], None),
            "size": np.where(rng.random(200) < 0.2, np.nan, y + rng.normal(scale=0.5, size=200)),
        }
    )
    for estimator in (None, LogisticRegression()):
        clf = SequentialClassifier(estimator, feature_costs=0.01).fit(frame, y)
        assert clf.score(frame, y) > 0.9
        assert frame.columns[clf.feature_order_[0]] == "colour"
        case = clf.start()
        assert "red: decides 0" in case.explain()
        assert case.observe("red").history[0].meaning == "red"
        assert clf.start().observe("green").history[0].meaning == "not seen"
        odd = pd.DataFrame({"noise": [np.inf], "colour": ["green"], "size": [-np.inf]})
        assert clf.predict(odd).tolist() == [0]


def test_sparse_input_gives_what_dense_input_gives():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(120, 400)).astype(float)
    y = (X[:, 7] + X[:, 11] > 0).astype(int)
    settings = {"feature_costs": 0.002, "max_features": 4, "cv": 2, "screen": 50}
    one = SequentialClassifier(**settings).fit(X, y)
    other = SequentialClassifier(**settings).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(one.feature_order_, other.feature_order_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(sparse.csc_array(X)))
    assert set(one.feature_order_[:2].tolist()) == {7, 11}


def test_nested_walks_are_honest_about_chance():
    """Labels that no feature explains: only nested walks see that nothing can be gained."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2000)), np.repeat([0, 1], 20)
    fooled = SequentialClassifier(feature_costs=0.001, max_features=5, nested=False).fit(X, y)
    honest = SequentialClassifier(feature_costs=0.001, max_features=5).fit(X, y)
    assert fooled.expected_cost_ < 0.3
    assert honest.expected_cost_ > 0.4


def test_rows_are_sampled_beyond_max_rows():
    X, y = load_digits(return_X_y=True)
    clf = SequentialClassifier(max_rows=300, max_features=4).fit(X, y)
    assert clf._learnt.walks[0].codes.size <= 300
    assert np.bincount(clf._learnt.walks[0].codes).min() >= 25
    assert clf.score(X, y) > 0.5


def test_same_seed_same_model(cancer):
    X, y, new = cancer[0][::3], cancer[1][::3], cancer[2]
    make = lambda seed: SequentialClassifier(cv=3, nested=True, max_features=4, random_state=seed).fit(X, y)  # noqa: E731
    one = make(3).predict_proba(new)
    np.testing.assert_array_equal(one, make(3).predict_proba(new))
    np.testing.assert_array_equal(one, make(np.int64(3)).predict_proba(new))
    for source in (np.random.RandomState, np.random.default_rng):
        np.testing.assert_array_equal(make(source(1)).predict_proba(new), make(source(1)).predict_proba(new))


def test_jobs_do_not_change_the_model(cancer):
    X, y, new, _ = cancer
    settings = {"feature_costs": 0.005, "nested": True, "max_features": 3, "cv": 2}
    one = SequentialClassifier(**settings).fit(X, y)
    two = SequentialClassifier(**settings, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(new), two.predict_proba(new))


def test_joblib_keeps_it_whole(tmp_path, cancer, fitted):
    joblib.dump(fitted, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(cancer[2]), fitted.predict_proba(cancer[2]))
    assert again.with_costs(0.1).expected_cost_ == fitted.with_costs(0.1).expected_cost_


def test_one_class_asks_for_nothing():
    clf = SequentialClassifier().fit(np.arange(6.0).reshape(3, 2), ["a", "a", "a"])
    walk = clf.acquire([[0.0, 1.0]])
    assert walk.labels.tolist() == ["a"]
    assert walk.n_features.tolist() == [0]
    assert clf.start().stopped_by == "features"
    assert "no feature" in clf.start().explain()


def test_verbose_tells(cancer, capsys):
    SequentialClassifier(max_features=2, nested=True, cv=2, verbose=True).fit(cancer[0], cancer[1])
    assert "SequentialClassifier" in capsys.readouterr().err


def test_a_class_that_the_sample_misses_is_never_decided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = (X[:, 0] > 0).astype(int)
    y[600], y[601] = 2, 3
    clf = SequentialClassifier(max_rows=300).fit(X, y)
    missed = clf.model_.priors == 0
    assert missed.sum() == 1
    walk = clf.acquire(X)
    assert (walk.posteriors[:, missed] == 0).all()
    assert np.mean(walk.labels == y) > 0.95


def test_reach_is_the_share_of_walks_that_get_so_far(cancer, fitted):
    reach = fitted.expectation_.reach
    assert fitted.rule_.expectation is fitted.expectation_
    assert [question.chance for question in fitted.model_.questions()] == reach[1:].tolist()
    assert reach[0] == 1
    assert (np.diff(reach) <= 0).all()
    assert reach[1:].sum() == pytest.approx(fitted.model_.expected_n_features)
    assert fitted.expected_n_features_ == pytest.approx(fitted.model_.expected_n_features, abs=0.2)
    assert reach[fitted.rule_.horizon + 1 :].sum() == 0


def test_folds_have_all_classes_in_proportion():
    codes = np.repeat([0, 1, 2], [50, 10, 3])
    folds = deal_folds(codes, 5, np.random.default_rng(0).integers(2**63, size=63, dtype=np.uint64))
    table = np.array([np.bincount(codes[folds == f], minlength=3) for f in range(5)])
    assert (table.max(axis=0) - table.min(axis=0)).max() <= 1


def test_folds_and_samples_do_not_depend_on_how_rows_are_written_down():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(200, 7)).astype(float)
    X[:, 0] = rng.normal(size=200)
    codes = rng.integers(0, 3, 200)
    keys, order = row_keys(read_table(X), 3), rng.permutation(200)
    assert np.unique(keys).size == 200
    assert row_keys(read_table(X[order]), 3).tolist() == keys[order].tolist()
    assert row_keys(read_table(sparse.csc_array(X)), 3).tolist() == keys.tolist()
    assert row_keys(read_table(X), 4).tolist() != keys.tolist()
    for split, most in ((deal_folds, 5), (lambda *given: np.isin(np.arange(200), sample_rows(*given)), 60)):
        found = split(codes, most, keys)
        assert split(codes[order], most, keys[order]).tolist() == found[order].tolist()
        assert split(2 - codes, most, keys).tolist() == found.tolist()
    chosen = np.bincount(codes[sample_rows(codes, 60, keys)])
    assert np.abs(chosen - 60 * np.bincount(codes) / 200).max() < 1


class Silent(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": Silent()}, "predict_proba"),
        ({"selection": "best"}, "'neighbours', 'estimator' or an array of column indices"),
        ({"selection": "estimator"}, "pass estimator="),
        ({"max_features": -1}, "max_features is -1"),
        ({"screen": 0}, "screen is 0"),
        ({"nested": "yes"}, "nested is 'yes'"),
        ({"cv": 1}, "cv is 1"),
        ({"max_rows": 1.5}, "max_rows is 1.5"),
        ({"feature_costs": -1}, "price"),
        ({"misclassification_costs": [[0]]}, "shape"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match=message):
        SequentialClassifier(**parameters).fit(X, y)


def test_new_prices_are_checked(fitted):
    with pytest.raises(CostError, match="nothing"):
        fitted.with_costs(feature_costs={"nothing": 1.0})


# --- reference data ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_madelon_is_solved_with_four_features(reference):
    """Features that mean something only together; naive Bayes reaches 0.62."""
    X, y, X_test, y_test = reference.split("madelon")
    clf = SequentialClassifier(feature_costs=0.01).fit(X, y)
    dear = clf.with_costs(feature_costs=0.05)
    assert dear.expected_n_features_ <= 4.09  # so the price can be chosen without the test rows
    walk = dear.acquire(X_test)
    assert np.mean(walk.labels == y_test) >= 0.85
    assert walk.n_features.mean() <= 4.09


def test_mll_needs_few_of_thousands(reference):
    X, y, X_test, y_test = reference.split("mll")
    walk = SequentialClassifier(feature_costs=0.002).fit(X, y).acquire(X_test)
    assert np.mean(walk.labels == y_test) >= 0.9
    assert walk.n_features.mean() < 8
