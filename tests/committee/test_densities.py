"""Naive Bayes with smooth densities, against the same numbers written out."""

import numpy as np
import pytest
from scipy.stats import norm

from etana.beliefs.prefixes.densities import evidence, fit_densities
from etana.beliefs.prefixes.encoding import learn_feature
from etana.beliefs.prefixes.travel import travel

LABELS = np.array(["low", "middle", "high"], dtype=object)


def sample(n=80, seed=0):
    """A number, one with another spread in each class, and labels; some missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    numbers = np.stack([rng.normal(y), rng.normal(size=n) * (1 + 2 * y)], axis=1)
    labels = np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n)).astype(float)
    X = np.column_stack([numbers, labels])
    X[rng.random(X.shape) < 0.1] = np.nan
    features = [learn_feature(X[:, 0], None), learn_feature(X[:, 1], None), learn_feature(X[:, 2], LABELS)]
    return features, X, y, rng.integers(1, 5, n).astype(float)


def log_odds_of_rank(feature, value):
    rank = min(max(float(np.interp(value, feature.knots, feature.ranks)), 0.01), 0.99)
    return np.log(rank / (1 - rank))


def number_by_hand(feature, values, y, weights, n_classes):
    """A mean and a deviation for each class: one row's worth of the mean of all, a hundred of the spread of all."""
    known = [i for i in range(len(values)) if not np.isnan(values[i])]
    z = {i: log_odds_of_rank(feature, values[i]) for i in known}
    centre = sum(weights[i] * z[i] for i in known) / sum(weights[i] for i in known)
    count, mean, squares = [np.zeros(n_classes) for _ in range(3)]
    for c in range(n_classes):
        own = [i for i in known if y[i] == c]
        count[c] = sum(weights[i] for i in own)
        mean[c] = (sum(weights[i] * z[i] for i in own) + centre) / (count[c] + 1)
        squares[c] = sum(weights[i] * (z[i] - mean[c]) ** 2 for i in own)
    pooled = (squares.sum() + 1) / (count.sum() + 1)
    return mean, np.sqrt((squares + 100 * pooled) / (count + 100))


def labels_by_hand(values, y, weights, n_classes, n_labels):
    counts = np.zeros((n_labels, n_classes))
    for value, c, weight in zip(values, y, weights, strict=True):
        if not np.isnan(value):
            counts[int(value), c] += weight
    overall = (counts.sum(axis=1) + 1) / (counts.sum() + n_labels)
    shares = np.empty_like(counts)
    for c in range(n_classes):
        shares[:, c] = (counts[:, c] + 2 * overall) / (counts[:, c].sum() + 2)
    return shares


@pytest.mark.parametrize("n_classes", [3, 4])  # of the fourth class there is no row
def test_posteriors_are_those_of_the_formulas(n_classes):
    features, X, y, weights = sample()
    member = fit_densities(features, X, y, n_classes, weights)
    counted = weights / weights.mean()
    numbers = [number_by_hand(features[k], X[:, k], y, counted, n_classes) for k in range(2)]
    shares = labels_by_hand(X[:, 2], y, counted, n_classes, 3)
    prior = np.bincount(y, weights, minlength=n_classes) / weights.sum()
    fresh = sample(seed=1)[1]
    for i, walked in enumerate(travel(member, fresh).transpose(1, 0, 2)):
        odds = prior.copy()
        for k, value in enumerate(fresh[i]):
            if not np.isnan(value):
                z = log_odds_of_rank(features[k], value) if k < 2 else None
                odds = odds * (shares[int(value)] if k == 2 else norm.pdf(z, *numbers[k]))
            assert np.allclose(walked[k], odds / odds.sum(), rtol=1e-10, atol=1e-300)


def test_a_class_without_rows_has_the_densities_of_all_and_no_chance():
    features, X, y, weights = sample()
    member = fit_densities(features, X, np.where(y == 1, 0, y), 3, weights)
    assert np.isfinite(np.concatenate(member.tables)).all()
    assert (travel(member, X)[:, :, 1] == 0).all()


def test_missing_says_nothing():
    features, X, y, weights = sample()
    member = fit_densities(features, X, y, 3, weights)
    assert np.allclose(travel(member, np.full((1, 3), np.nan)), member.prior, rtol=1e-12)
    for feature, table in zip(features, member.tables, strict=True):
        assert (evidence(feature, table, np.array([np.nan])) == 0).all()


def test_outliers_count_as_the_outermost_values_do():
    features, X, y, weights = sample()
    member = fit_densities(features, X, y, 3, weights)
    ends = np.array([np.nanmin(X[:, 0]), np.nanmax(X[:, 0])])
    said = [evidence(features[0], member.tables[0], at) for at in (ends, np.array([-1e300, np.inf]))]
    assert (said[0] == said[1]).all()


def test_spread_alone_tells():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 1000)
    x = rng.normal(size=2000) * (1 + 4 * y)
    member = fit_densities([learn_feature(x, None)], x[:, None], y, 2, np.ones(2000))
    posteriors = travel(member, np.array([[0.0], [10.0], [-10.0]]))[0]
    assert posteriors[0, 0] > 0.7
    assert (posteriors[1:, 1] > 0.9).all()


def test_a_column_without_values_says_nothing():
    x = np.full(20, np.nan)
    member = fit_densities([learn_feature(x, None)], x[:, None], np.arange(20) % 2, 2, np.ones(20))
    assert np.allclose(travel(member, np.array([[3.0], [np.nan]]))[0], 0.5)


def test_scale_of_weights_does_not_matter():
    features, X, y, weights = sample()
    a, b = (fit_densities(features, X, y, 3, scale * weights) for scale in (1, 8))
    assert all((s == t).all() for s, t in zip(a.tables, b.tables, strict=True))
