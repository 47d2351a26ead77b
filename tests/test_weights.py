"""Weights of training rows: copies where they are whole, proportions where they sum to less than the rows."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from etana import AdaptiveClassifier, ETANAClassifier, FETANAClassifier, SequentialClassifier, distributed
from etana.beliefs.prefixes.calibration import fit_temperature
from etana.beliefs.prefixes.encoding import learn_feature
from etana.beliefs.prefixes.linear import fit_linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import travel
from etana.errors import InputError
from etana.learning.walks import Walks, fit_rule
from etana.likelihood import effective_rows, rows_worth
from etana.policies.regression import learn_stopping

FAMILIES = [
    ETANAClassifier(),
    FETANAClassifier(batch=64, max_iterations=20),
    AdaptiveClassifier(m=10.0, look_ahead=False),
    SequentialClassifier(),
    SequentialClassifier(LogisticRegression(max_iter=5000), cv=2, max_features=3),
]


def names(estimator):
    return type(estimator).__name__


def test_whole_weights_stay_and_shares_of_one_become_rows():
    ones, whole = np.ones(7), np.array([0.0, 3.0, 1.0, 2.0])
    assert rows_worth(ones) is ones
    assert rows_worth(whole) is whole
    for n in (3, 49, 124, 178):
        assert rows_worth(np.full(n, 1.0 / n)).tolist() == [1.0] * n
    uneven = np.array([0.5, 0.25, 0.125, 0.125])
    assert effective_rows(uneven) == pytest.approx(1.0 / 0.34375)
    assert rows_worth(uneven).sum() == pytest.approx(1.0 / 0.34375)
    for factor in (1e-320, 1e-9, 0.1, 1.0):
        np.testing.assert_allclose(
            rows_worth(uneven * factor), rows_worth(uneven), rtol=1e-3 if factor < 1e-300 else 1e-12
        )
    # A thousand rows of hardly any weight beside two that count do not make these two count for hundreds.
    assert rows_worth(np.array([1.0, 1.0, *np.full(1000, 0.001)])).max() < 2


@pytest.mark.parametrize("estimator", FAMILIES, ids=names)
def test_weights_that_sum_to_one_are_weights_of_one(estimator):
    X, y = load_wine(return_X_y=True)
    plain = estimator.fit(X[::2], y[::2])
    proba, cost = plain.predict_proba(X[1::2]), plain.expected_cost_
    shares = estimator.fit(X[::2], y[::2], sample_weight=np.full(len(X[::2]), 1 / len(X[::2])))
    assert shares.predict_proba(X[1::2]).tobytes() == proba.tobytes()
    assert shares.expected_cost_ == cost


def test_weights_of_parts_that_sum_to_one():
    X, y = load_wine(return_X_y=True)
    parts = [(X[i::3], y[i::3], np.full(len(X[i::3]), 1 / len(X))) for i in range(3)]
    made = distributed.fit(ETANAClassifier(ordering="error"), parts)
    whole = ETANAClassifier(ordering="error").fit(X, y)
    np.testing.assert_allclose(made.counts_.cells, whole.counts_.cells, rtol=1e-12)
    assert (made.predict(X) == whole.predict(X)).all()


def test_boosting_over_it_works():
    X, y = load_wine(return_X_y=True)
    boosted = AdaBoostClassifier(ETANAClassifier(ordering="error"), n_estimators=5, random_state=0).fit(X[::2], y[::2])
    assert boosted.score(X[1::2], y[1::2]) > 0.9


@pytest.mark.parametrize("estimator", [FAMILIES[2], FAMILIES[3]], ids=names)
def test_rows_of_weight_0_are_not_there(estimator):
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 2, len(X)).astype(float)
    some = estimator.fit(X, y, sample_weight=weight).predict_proba(X)
    assert some.tobytes() == estimator.fit(X[weight > 0], y[weight > 0]).predict_proba(X).tobytes()


@pytest.mark.parametrize("estimator", FAMILIES, ids=names)
def test_weights_change_what_is_believed_before_anything_is_asked(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    weight = np.where(y == 0, 4.0, 1.0)
    clf = estimator.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(clf.model_.priors, np.bincount(y, weight) / weight.sum(), rtol=1e-12)


def random_walks(n, steps, seed):
    rng = np.random.default_rng(seed)
    risks = np.sort(rng.random((n, steps)), axis=1)[:, ::-1].copy()
    basis = np.stack([np.ones_like(risks), risks, *rng.random((6, n, steps))], axis=2)
    prices = np.full((n, steps), 0.05)
    spent = np.cumsum(prices, axis=1) - prices
    return basis, risks, prices, spent, np.zeros((n, steps), dtype=np.int64), rng.integers(1, steps + 1, n)


def joined(*arrays):
    """Walks of arrays (n, steps), of each of which the first states count."""
    *states, lengths = arrays
    there = np.arange(states[0].shape[1]) < lengths[:, None]
    return Walks(*(each[there] for each in states), lengths)


def test_the_rule_of_weighted_walks_is_that_of_repeated_ones():
    arrays, weights = random_walks(60, 6, 0), np.random.default_rng(1).integers(1, 5, 60)
    again = np.repeat(np.arange(60), weights)
    walks, repeated = joined(*arrays), joined(*(each[again] for each in arrays))
    # The ridge counts walks, of which weights make no more.
    np.testing.assert_allclose(fit_rule(walks, weights / 1.0), fit_rule(repeated), rtol=0.2, atol=0.02)
    assert (
        np.abs(fit_rule(walks) - fit_rule(repeated)).max() > np.abs(fit_rule(walks, weights) - fit_rule(repeated)).max()
    )
    assert walks.expected(fit_rule(walks), weights) == pytest.approx(repeated.expected(fit_rule(walks)))


def test_adaptive_stops_by_the_weights():
    """A class that counts twenty times as much is worth more questions."""
    rng = np.random.default_rng(0)
    y = (rng.random(1500) < 0.05).astype(int)
    X = rng.normal(size=(1500, 6)) + 0.9 * y[:, None]
    clf = AdaptiveClassifier(0.03, m=np.inf, look_ahead=False)
    plain = clf.fit(X, y).acquire(X).n_features.mean()
    weighted = clf.fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0)).acquire(X).n_features.mean()
    assert weighted > plain + 0.3


def prefix_rows():
    X, y = load_wine(return_X_y=True)
    X, y = X[:, :4], y.astype(np.int64)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    return X, y, weights, np.repeat(np.arange(len(y)), weights.astype(int))


def test_logistic_regression_calibration_and_stopping_take_weights_as_copies():
    X, y, weights, again = prefix_rows()
    features = [learn_feature(X[:, k], None) for k in range(4)]
    weighted, repeated = fit_linear(features, X, y, 3, weights), fit_linear(features, X[again], y[again], 3)
    walked = travel(weighted, X)
    np.testing.assert_allclose(walked, travel(repeated, X), atol=1e-4)
    prior = np.full(3, 1 / 3)
    assert fit_temperature(walked[3], prior, y, 0.01, weights) == pytest.approx(
        fit_temperature(walked[3][again], prior, y[again], 0.01)
    )
    walks = np.concatenate([np.tile(prior, (1, len(y), 1)), walked])
    one = learn_stopping(walks, y, np.full(4, 0.02), 1.0 - np.eye(3), weights)
    two = learn_stopping(walks[:, again], y[again], np.full(4, 0.02), 1.0 - np.eye(3))
    assert one.expected_cost == pytest.approx(two.expected_cost, rel=1e-9)
    np.testing.assert_allclose(one.continuation(1, walks[1]), two.continuation(1, walks[1]), rtol=1e-9)


def test_votes_of_neighbours_are_weighted():
    X, y, weights, _ = prefix_rows()
    features = [learn_feature(X[:, k], None) for k in range(4)]
    neighbours = Neighbours.of(features, X, y, np.full(4, 7), 3, weights)
    new = X[:20] + 0.013
    votes = weights / weights.mean()
    prior = np.bincount(y, weights) / weights.sum()
    got = travel(neighbours, new)[3]
    encoded = np.concatenate([f.scaled(X[:, k]) for k, f in enumerate(features)], axis=1)
    asked = np.concatenate([f.scaled(new[:, k]) for k, f in enumerate(features)], axis=1)
    for i in range(20):
        distance = ((encoded - asked[i]) ** 2).sum(axis=1)
        near = np.argsort(distance)[:7]
        counted = np.bincount(y[near], votes[near], minlength=3)
        np.testing.assert_allclose(got[i], (counted + prior) / (counted.sum() + 1), rtol=1e-5)


def test_an_estimator_gets_the_weights_or_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :5], y[:200]
    weight = np.where(y == 0, 9.0, 1.0)
    with pytest.raises(InputError, match="KNeighborsClassifier takes none when it is fitted; use an estimator"):
        SequentialClassifier(KNeighborsClassifier(), max_features=2).fit(X, y, sample_weight=weight)
    SequentialClassifier(KNeighborsClassifier(), max_features=2).fit(X, y, sample_weight=np.full(200, 0.1))
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    clf = SequentialClassifier(linear, max_features=2, cv=2).fit(X, y, sample_weight=weight)
    member = clf.model_.beliefs.member.fitted[0]
    order = clf.feature_order_[:1]
    direct = make_pipeline(StandardScaler(), LogisticRegression())
    direct.fit(X[:, order], y, logisticregression__sample_weight=weight)
    np.testing.assert_allclose(member[-1].coef_, direct[-1].coef_, rtol=1e-6)
