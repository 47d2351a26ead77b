"""A feature that cannot change the belief is never asked, whatever the order."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import etana
from etana import AdaptiveClassifier, ETANAClassifier, FETANAClassifier
from etana.likelihood import telling

ORDERS = ["auto", "cost", "error", "information", "variance", np.arange(12)[::-1]]


def with_useless(n=400, seed=0):
    """Two columns that tell, dear, among ten that are constant or noise in one bin, and cheap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.zeros((n, 12))
    X[:, 3], X[:, 8] = y + 0.6 * rng.normal(size=n), y + 0.8 * rng.normal(size=n)
    X[:, 10] = 7.0
    prices = np.full(12, 0.001)
    prices[[3, 8]] = 0.05
    return X, y, prices


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("kind", [ETANAClassifier, FETANAClassifier])
def test_useless_features_are_not_asked(kind, order):
    X, y, prices = with_useless()
    clf = kind(prices, ordering=order).fit(X, y)
    walk = clf.acquire(X)
    assert sorted(clf.feature_order_.tolist()) == [3, 8]
    assert {int(k) for i in range(len(X)) for k in walk.features(i)} <= {3, 8}
    assert walk.n_features.mean() >= 1


def test_free_ones_neither():
    X, y, prices = with_useless()
    clf = ETANAClassifier(np.where(prices < 0.01, 0.0, prices)).fit(X, y)
    assert clf.acquire(X).n_features.max() <= 2


@pytest.mark.parametrize("kind", [ETANAClassifier, FETANAClassifier, AdaptiveClassifier])
def test_where_nothing_tells_nothing_is_asked(kind, tmp_path):
    X, y = np.ones((30, 3)), np.arange(30) % 3
    clf = kind(0.01).fit(X, y)
    assert (clf.acquire(X).n_features == 0).all()
    assert clf.expected_cost_ == pytest.approx(2 / 3)
    assert clf.start().next_feature is None
    etana.save(clf, tmp_path / "m.etana")
    assert (etana.load(tmp_path / "m.etana").predict(X) == clf.predict(X)).all()


def test_what_differs_only_in_a_class_that_cannot_be_tells_nothing():
    cells = np.array([[0.5, 0.5, 0.9], [0.5, 0.5, 0.1], [0.3, 0.4, 0.4], [0.7, 0.6, 0.6]])
    assert telling(cells, np.array([0, 2, 4]), np.array([0.5, 0.5, 0.0])).tolist() == [1]
    assert telling(cells, np.array([0, 2, 4]), np.full(3, 1 / 3)).tolist() == [0, 1]
    assert telling(cells, np.array([0, 2, 4]), np.array([1.0, 0.0, 0.0])).size == 0


def test_auto_is_the_searched_order_where_that_is_affordable(monkeypatch):
    X, y = load_iris(return_X_y=True)
    prices = [0.05, 0.001, 0.1, 0.03]
    made = {order: ETANAClassifier(prices, ordering=order).fit(X, y) for order in ("auto", "cost", "information")}
    assert made["auto"].feature_order_.tolist() == made["cost"].feature_order_.tolist()
    assert ETANAClassifier().ordering == "auto"
    monkeypatch.setattr("etana.ordering.choice._MOST_NUMBERS", 3)
    quick = ETANAClassifier(prices).fit(X, y)
    assert quick.feature_order_.tolist() == made["information"].feature_order_.tolist()


def test_the_policy_that_asks_everything_asks_what_tells():
    X, y, prices = with_useless()
    every = ETANAClassifier(prices, temperature=1.0).fit(X, y).model_.asking(12)
    assert (every.acquire(X).n_features == 2).all()
    assert every.expected_n_features == 2
