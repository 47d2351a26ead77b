"""What a user would try first: a decision tree, naive Bayes on everything, and deciding without any feature.

A decision tree also asks few features of each instance: those on its path, each paid once. Its depth is chosen on the
training rows by cross-validation for the least cost, a mistake costing 1 as everywhere here. The trees of the folds are
grown once; a tree of depth d is what remains of a full one when it is cut there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from etana.classifiers.fixed import ETANAClassifier
from etana.costs import ResolvedCosts, resolve_feature_costs, resolve_mistakes
from etana.evaluation.complete_numbers import CompleteNumbers
from etana.typing import ArrayLike, FeatureCostsLike, MistakeCostsLike

__all__ = ["AcquiringTree", "EveryFeature", "Nothing", "Walk"]


@dataclass(frozen=True)
class Walk:
    """What was decided, asked and paid, row by row."""

    labels: np.ndarray
    n_features: np.ndarray
    costs: np.ndarray


class AcquiringTree(ClassifierMixin, BaseEstimator):
    """A decision tree that asks each row for the features on its path, and for no others.

    Parameters
    ----------
    feature_costs : as for :class:`etana.ETANAClassifier`
    depths : sequence of int
        Depths to choose from; the full tree is tried as well.
    n_splits : int
        Folds for the choice, fewer if a class has fewer rows.
    random_state : int

    Attributes
    ----------
    depth_ : int
        The depth that was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana.evaluation.baselines import AcquiringTree
    >>> X, y = load_iris(return_X_y=True)
    >>> walk = AcquiringTree(feature_costs=0.01).fit(X[::2], y[::2]).acquire(X[1::2])
    >>> bool((walk.labels == y[1::2]).mean() > 0.9), bool(walk.n_features.max() <= 4)
    (True, True)
    """

    def __init__(
        self,
        feature_costs: FeatureCostsLike = 0.01,
        depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10),
        n_splits: int = 5,
        random_state: int = 0,
    ) -> None:
        self.feature_costs = feature_costs
        self.depths = depths
        self.n_splits = n_splits
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose a depth and grow the tree."""
        self._encoder = CompleteNumbers(fill=False).fit(X)
        X, y = self._encoder.transform(X), np.asarray(y)
        self._prices = resolve_feature_costs(self.feature_costs, X.shape[1])
        self.depth_ = self._choose(X, y)
        self.tree_ = self._grow(X, y, self.depth_)
        self.classes_ = self.tree_.classes_
        return self

    def acquire(self, X: Any) -> Walk:
        """Labels, number of distinct features on the path, and their price, for each row."""
        return _walk(self.tree_, self._encoder.transform(X), None, self._prices)

    def predict(self, X: Any) -> np.ndarray:
        """Decided class of each row."""
        return self.acquire(X).labels

    def _grow(self, X: Any, y: np.ndarray, depth: int | None = None) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(max_depth=depth, random_state=self.random_state).fit(X, y)

    def _choose(self, X: Any, y: np.ndarray) -> int:
        n_splits = min(self.n_splits, int(np.unique(y, return_counts=True)[1].min()))
        if n_splits < 2:
            return max(self._grow(X, y).get_depth(), 1)
        folds = list(StratifiedKFold(n_splits, shuffle=True, random_state=self.random_state).split(np.zeros(len(y)), y))
        trees = [self._grow(X[train], y[train]) for train, _ in folds]
        deepest = max(max(tree.get_depth() for tree in trees), 1)
        candidates = sorted({min(d, deepest) for d in self.depths} | {deepest})
        costs = [
            np.mean([self._cost(tree, X[test], y[test], depth) for tree, (_, test) in zip(trees, folds)])
            for depth in candidates
        ]
        return candidates[int(np.argmin(costs))]

    def _cost(self, tree: DecisionTreeClassifier, X: Any, y: np.ndarray, depth: int) -> float:
        walk = _walk(tree, X, depth, self._prices)
        return float(np.mean((walk.labels != y) + walk.costs))


def _walk(tree: DecisionTreeClassifier, X: Any, depth: int | None, prices: ResolvedCosts) -> Walk:
    """The rows through a tree cut at a depth; rows that end at the same node asked the same."""
    paths = tree.decision_path(X)  # nodes are numbered so that along a path they rise
    lengths = np.diff(paths.indptr)
    steps = lengths - 1 if depth is None else np.minimum(depth, lengths - 1)
    ends = paths.indices[paths.indptr[:-1] + steps]
    asked, paid = np.zeros(tree.tree_.node_count, dtype=np.int64), np.zeros(tree.tree_.node_count)
    nodes, rows = np.unique(ends, return_index=True)
    for node, row in zip(nodes, rows):
        path = paths.indices[paths.indptr[row] : paths.indptr[row] + steps[row]]
        features = np.array(list(dict.fromkeys(tree.tree_.feature[path].tolist())), dtype=np.int64)
        asked[node], paid[node] = features.size, prices.total(features)
    labels = tree.classes_[tree.tree_.value[ends, 0].argmax(axis=1)]
    return Walk(labels, asked[ends], paid[ends])


class EveryFeature(ClassifierMixin, BaseEstimator):
    """The naive Bayes that ETANA stops early, carried to its end: every feature is asked and paid.

    Parameters
    ----------
    feature_costs : as for :class:`etana.ETANAClassifier`
    """

    def __init__(self, feature_costs: FeatureCostsLike = 0.01) -> None:
        self.feature_costs = feature_costs

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn bins and counts."""
        self.model_ = ETANAClassifier(feature_costs=0.0).fit(X, y)
        self.classes_ = self.model_.classes_
        self._price = resolve_feature_costs(self.feature_costs, X.shape[1]).total(np.arange(X.shape[1]))
        return self

    def acquire(self, X: Any) -> Walk:
        """Labels; the number of features and their price are the same for all rows."""
        labels = self.model_.predict(X)
        return Walk(labels, np.full(len(labels), X.shape[1]), np.full(len(labels), self._price))


class Nothing(ClassifierMixin, BaseEstimator):
    """Asks nothing, and decides for the class that is cheapest over the training rows.

    Parameters
    ----------
    misclassification_costs : array (N, N), optional
        Row true class, column decided class; None means 1 for every mistake.

    Examples
    --------
    >>> from etana.evaluation.baselines import Nothing
    >>> Nothing([[0, 1], [9, 0]]).fit([[0], [0], [0]], [0, 0, 1]).acquire([[5]]).labels.tolist()
    [1]
    """

    def __init__(self, misclassification_costs: MistakeCostsLike = None) -> None:
        self.misclassification_costs = misclassification_costs

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Count the classes."""
        self.classes_, counts = np.unique(y, return_counts=True)
        mistakes = resolve_mistakes(self.misclassification_costs, self.classes_.size)
        self.decision_ = self.classes_[int((counts @ mistakes).argmin())]
        return self

    def acquire(self, X: Any) -> Walk:
        """The same label for all rows, at no cost."""
        n = np.shape(X)[0]
        return Walk(np.full(n, self.decision_), np.zeros(n, dtype=np.int64), np.zeros(n))
