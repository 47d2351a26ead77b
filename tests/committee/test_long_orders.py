"""Behind the features that neighbours choose, an order goes on with what trees gain most by, where that pays."""

import numpy as np
import pytest

from etana import CommitteeClassifier, FeatureCosts
from etana.beliefs.prefixes.encoding import learn_feature
from etana.learning import prefixes
from etana.learning.boosting import gains_of_trees


def many_weak(n, seed):
    """Sixteen columns that tell a little each, and eight that tell nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 24))
    return X, (np.sign(X[:, :16]).sum(axis=1) + rng.normal(size=n) > 0).astype(np.int64)


def order_and_cost(monkeypatch, longest, price=0.0005):
    monkeypatch.setattr(prefixes, "_LONGEST", longest)
    clf = CommitteeClassifier(feature_costs=price, splits=False, cv=3).fit(*many_weak(1300, 0))
    X, y = many_weak(1500, 1)
    walk = clf.acquire(X)
    return clf.model_.beliefs.order.tolist(), walk.costs.mean() + (walk.labels != y).mean()


def test_an_order_goes_on_with_what_trees_gain_by(monkeypatch):
    short, dear = order_and_cost(monkeypatch, 0)
    long, cheap = order_and_cost(monkeypatch, 24)
    assert len(long) > len(short)
    assert long[: prefixes._HEAD] == short[: prefixes._HEAD]
    assert set(long) >= set(range(16))
    assert cheap < dear - 0.01


def test_where_features_are_dear_nothing_changes(monkeypatch):
    # Asking nothing pays best: what is behind the first features makes no difference, and the plain order stays.
    assert order_and_cost(monkeypatch, 24, price=1.0) == order_and_cost(monkeypatch, 0, price=1.0)


def test_a_price_that_does_not_pay_comes_late():
    X, y = many_weak(1300, 0)
    prices = np.full(24, 0.0005)
    prices[15] = 0.1
    clf = CommitteeClassifier(feature_costs=FeatureCosts(prices), splits=False, cv=3).fit(X, y)
    order = clf.model_.beliefs.order.tolist()
    assert 15 not in order[:15]


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_the_columns_that_tell(weighted):
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"], dtype=object)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 3, 600), rng.normal(size=600)])
    y = ((X[:, 1] == 1) ^ (X[:, 2] > 0)).astype(np.int64)
    weights = np.ones(600)
    if weighted:
        weights[300:] = 0.0
        y[300:] = X[300:, 0] > 0  # rows that do not count
    features = [learn_feature(X[:, k], labels if k == 1 else None) for k in range(3)]
    gains = gains_of_trees(features, X, y, 2, weights)
    assert gains.shape == (3,)
    assert gains[0] < 0.1 * gains[1:].min()


def test_one_class_has_no_gains():
    X = np.random.default_rng(0).normal(size=(50, 2))
    features = [learn_feature(X[:, k], None) for k in range(2)]
    assert gains_of_trees(features, X, np.zeros(50, dtype=np.int64), 2, np.ones(50)).tolist() == [0.0, 0.0]
