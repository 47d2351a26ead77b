"""Our trees are scikit-learn's, to the last digits; prefixes are shown as they will be met."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from etana.beliefs.prefixes.encoding import learn_feature
from etana.beliefs.prefixes.travel import travel
from etana.learning import boosting
from etana.learning.boosting import fit_boosted


def rows_with_gaps(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    y = (X @ [2.0, 1.0, -1.0, 0.0] + 0.5 * rng.normal(size=n)).argsort().argsort() * n_classes // n
    X[rng.random(X.shape) < 0.2] = np.nan
    # What is missing tells something too, so that trees split on it.
    X[(y == 0) & (rng.random(n) < 0.5), 3] = np.nan
    return X, y, rng.integers(1, 4, n).astype(float)


def fitted(X, y, n_classes, weights):
    features = [learn_feature(X[:, k], None) for k in range(X.shape[1])]
    return fit_boosted(features, X, y, n_classes, weights)


@pytest.mark.parametrize(("n_classes", "rounds"), [(2, 120), (5, 120), (6, 100), (12, 60)])
@pytest.mark.parametrize("weighted", [False, True])
def test_posteriors_are_those_of_two_forests_of_scikit_learn(n_classes, rounds, weighted):
    X, y, weights = rows_with_gaps(200, n_classes)
    weights = weights if weighted else np.ones(y.size)
    ours = fitted(X, y, n_classes, weights)
    shown, which = boosting._partly_hidden(X, np.arange(1, 5))
    small = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, l2_regularization=1.0, early_stopping=False)
    large = HistGradientBoostingClassifier(
        max_iter=rounds, max_leaf_nodes=16, l2_regularization=5.0, early_stopping=False
    )
    fresh = rows_with_gaps(300, n_classes, seed=1)[0]
    fresh[:50] = np.nan
    hidden = [np.where(np.arange(4) < length, fresh, np.nan) for length in range(1, 5)]
    with threadpool_limits(1, "openmp"):
        for forest in (small, large):
            forest.fit(shown, y[which], sample_weight=weights[which] if weighted else None)
        sums = np.array([(small.decision_function(known) + large.decision_function(known)) / 2 for known in hidden])
    if n_classes == 2:
        sums = np.stack([np.zeros_like(sums), sums], axis=2)
    expected = softmax(sums, axis=2)
    assert np.abs(travel(ours, fresh) - expected).max() < 1e-12
    assert (expected.std(axis=(1, 2)) > 0.02).all()


def test_weights_change_the_trees():
    X, y, weights = rows_with_gaps(300, 2)
    plain, weighted = fitted(X, y, 2, np.ones(y.size)), fitted(X, y, 2, weights)
    assert not np.allclose(plain.posteriors(X), weighted.posteriors(X))
    assert (fitted(X, y, 2, 2 * np.ones(y.size)).posteriors(X) == plain.posteriors(X)).all()


def test_rows_of_weight_0_are_as_good_as_not_there():
    X, y, _ = rows_with_gaps(200, 3)
    weights = np.ones(y.size)
    weights[150:] = 0
    some, all_of_them = fitted(X[:150], y[:150], 3, weights[:150]), fitted(X, y, 3, weights)
    assert (some.posteriors(X) == all_of_them.posteriors(X)).all()


def test_a_class_without_rows_has_no_tree_and_no_chance():
    X, y, weights = rows_with_gaps(200, 3)
    ours = fitted(X, np.where(y == 1, 2, y), 4, weights)
    assert ours.classes.tolist() == [0, 2]
    posteriors = ours.posteriors(X)
    assert (posteriors[:, [1, 3]] == 0).all()
    assert np.allclose(posteriors.sum(axis=1), 1)
    only = fitted(X, np.full(y.size, 2), 4, weights)
    assert (only.posteriors(X) == [0, 0, 1, 0]).all()


@pytest.mark.parametrize("n", [2, 3, 30])
def test_columns_without_a_value_say_nothing(n):
    """Missing in all rows, or hidden in all of them because these are few."""
    X, y, weights = rows_with_gaps(n, 2)
    X[:, 1] = np.nan
    ours = fitted(X, y, 2, weights)
    other = X.copy()
    other[:, 1] = 7.0
    assert (ours.posteriors(other) == ours.posteriors(X)).all()


def test_short_prefixes_are_shown_as_often_as_long_ones():
    """Lengths are log-uniform: as many of 1 as of 2 to 3, of 4 to 7 and of 8 to 15."""
    rows = np.random.default_rng(0).normal(size=(500, 15))
    shown, which = boosting._partly_hidden(rows, np.arange(1, 16))
    assert np.bincount(which).tolist() == [boosting._SHOWN] * 500
    known = ~np.isnan(shown)
    lengths = known.sum(axis=1)
    assert (known == (np.arange(15) < lengths[:, None])).all()
    assert (shown[known] == rows[which][known]).all()
    counts = np.histogram(lengths, [1, 2, 4, 8, 16])[0] / lengths.size
    assert np.abs(counts - 0.25).max() < 0.02
    # Of each row, too: no row is only ever shown short.
    assert (np.array([lengths[which == i].max() for i in range(500)]) >= 6).all()


def test_a_feature_of_several_columns_is_hidden_whole():
    rows = np.arange(60.0).reshape(10, 6)
    shown, _ = boosting._partly_hidden(rows, np.array([3, 4, 6]))
    assert set(np.isnan(shown).sum(axis=1).tolist()) <= {0, 2, 3}


def test_many_rows_are_shown_once(monkeypatch):
    monkeypatch.setattr(boosting, "_MOST_SHOWN", 250)
    _, which = boosting._partly_hidden(np.zeros((100, 8)), np.arange(1, 9))
    assert np.bincount(which).tolist() == [2] * 100
    assert len(boosting._partly_hidden(np.zeros((300, 8)), np.arange(1, 9))[0]) == 300
