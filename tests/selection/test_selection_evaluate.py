"""Measuring selectors and classifiers that acquire."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import etana
from etana.errors import InputError
from etana.evaluation import Folds, HoldOut, LowestRowKNeighbors, evaluate
from etana.selection import SAOLA, FastOSFS


class AcquiringTree(ClassifierMixin, BaseEstimator):
    """A decision tree asks each row for the features on its path, and for no others."""

    def __init__(self, price=2.0):
        self.price = price

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        return self

    def acquire(self, X):
        paths = self.tree_.decision_path(X)
        asked = self.tree_.tree_.feature
        n = np.array([len({asked[node] for node in path.indices if asked[node] >= 0}) for path in paths])
        return SimpleNamespace(labels=self.tree_.predict(X), n_features=n, costs=self.price * n)


def test_folds_are_those_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    result = evaluate(SAOLA(), X, y, protocol=Folds(5, seed=3))
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    expected = cross_val_score(make_pipeline(SAOLA(), KNeighborsClassifier(3)), X, y, cv=folds)
    assert [fold.accuracy for fold in result.folds] == pytest.approx(expected)
    assert result.accuracy == pytest.approx(expected.mean())
    assert result.cost is None
    for name in ("selection_seconds", "training_seconds", "classification_seconds"):
        seconds = [getattr(fold, name) for fold in result.folds]
        assert min(seconds) > 0
        assert getattr(result, name) == pytest.approx(np.mean(seconds))


def test_a_given_test_part():
    X, y = load_iris(return_X_y=True)
    result = evaluate(FastOSFS(), X[::2], y[::2], protocol=HoldOut(X[1::2], y[1::2]))
    assert len(result.folds) == 1
    columns = FastOSFS().fit(X[::2], y[::2]).selected_
    model = LowestRowKNeighbors(3).fit(X[::2][:, columns], y[::2])
    assert result.accuracy == model.score(X[1::2][:, columns], y[1::2])
    assert result.n_features == len(columns)


def test_another_classifier_may_follow():
    X, y = load_iris(return_X_y=True)
    protocol = HoldOut(X, y)
    trees = evaluate(SAOLA(), X, y, protocol=protocol, classifier=DecisionTreeClassifier(random_state=0))
    assert trees.accuracy >= evaluate(SAOLA(), X, y, protocol=protocol).accuracy


def test_a_classifier_that_acquires():
    X, y = load_breast_cancer(return_X_y=True)
    method = AcquiringTree(price=2.0)
    result = evaluate(method, X, y, protocol=Folds(4))
    assert not hasattr(method, "tree_")  # a clone was measured
    assert result.accuracy > 0.85
    assert 1 <= result.n_features <= 3
    assert result.cost == pytest.approx(2 * result.n_features)
    assert result.selection_seconds == 0.0
    assert result.training_seconds > 0
    assert result.classification_seconds > 0


def test_the_classifier_of_this_package():
    X, y = load_breast_cancer(return_X_y=True)
    result = evaluate(etana.ETANAClassifier(feature_costs=0.01), X, y, protocol=Folds(3))
    assert result.accuracy > 0.85
    assert 0 < result.n_features < 30
    assert result.cost == pytest.approx(0.01 * result.n_features)


def test_data_frames_and_sparse_matrices_give_the_same_figures():
    X, y = load_iris(return_X_y=True)
    expected = [fold.accuracy for fold in evaluate(SAOLA(), X, y).folds]
    for form in (pd.DataFrame(X, columns=list("abcd")), sparse.csc_array(X), X.tolist()):
        assert [fold.accuracy for fold in evaluate(SAOLA(), form, y).folds] == expected
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert evaluate(SAOLA(), frame, y, protocol=HoldOut(frame, y)).accuracy > 0.9


def test_nothing_selected_is_the_most_frequent_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [20, 40])
    result = evaluate(SAOLA(alpha=1e-12), X, y, protocol=HoldOut(X, y))
    assert (result.n_features, result.accuracy) == (0.0, pytest.approx(2 / 3))


def test_what_neither_selects_nor_acquires_is_refused():
    with pytest.raises(InputError, match="LogisticRegression neither selects nor acquires"):
        evaluate(LogisticRegression(), np.eye(4), [0, 1, 0, 1])


# --- the neighbour rule ----------------------------------------------------------------------------------


def by_stable_sort(X, y, X_test, k):
    labels = []
    for x in X_test:
        nearest = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:k]
        values, counts = np.unique(y[nearest], return_counts=True)
        labels.append(values[counts.argmax()])
    return np.array(labels)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 500])
def test_neighbours_by_stable_sort(k):
    rng = np.random.default_rng(k)
    X, X_test = rng.integers(0, 4, (80, 2)).astype(float), rng.integers(0, 4, (50, 2)).astype(float)
    y = rng.choice(list("cab"), 80)
    got = LowestRowKNeighbors(k).fit(X, y).predict(X_test)
    assert np.array_equal(got, by_stable_sort(X, y, X_test, k))


def test_ties_go_to_the_lowest_row_and_the_smallest_label():
    X = [[1.0], [-1.0], [1.0], [-1.0]]
    assert LowestRowKNeighbors(3).fit(X, [2, 2, 1, 1]).predict([[0.0]]).tolist() == [2]
    assert LowestRowKNeighbors(2).fit(X, [2, 1, 0, 0]).predict([[0.0]]).tolist() == [1]


def test_at_least_one_neighbour_votes():
    with pytest.raises(InputError, match="n_neighbors=0"):
        LowestRowKNeighbors(0).fit([[0.0], [1.0]], [0, 1])
