"""Programs of others: an optimal tree (STreeD), and boosting with charges for features (LightGBM).

Each is an estimator with ``fit`` and ``acquire``, so that it is measured as our classifiers are. The packages
``pystreed`` and ``lightgbm`` are needed only when such an estimator is fitted.
"""

from __future__ import annotations

import importlib
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.errors import InputError
from etana.evaluation.baselines import Walk

__all__ = ["CostEffectiveBoosting", "OptimalTree"]


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"{package} is not installed; pip install 'etana[bench]'") from None


class OptimalTree(ClassifierMixin, BaseEstimator):
    """STreeD's optimal tree of a given depth for the total of tests and mistakes; columns are category codes.

    A column of V codes becomes V binary ones, a code each (one if there are only two codes); asking any of them pays
    for the column, once along a path, with the discount of its group.

    Parameters
    ----------
    feature_costs, misclassification_costs : as for :class:`etana.ETANAClassifier`
    max_depth : int
        Depth of the tree in binary tests.
    """

    def __init__(self, feature_costs: Any = 0.01, misclassification_costs: Any = None, max_depth: int = 3) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any) -> Self:
        """Search the best tree."""
        streed = _needed("pystreed")
        X = np.asarray(X, dtype=np.int64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._prices = resolve_feature_costs(self.feature_costs, X.shape[1])
        self._mistakes = resolve_mistakes(self.misclassification_costs, self.classes_.size)
        self._n_codes = X.max(axis=0) + 1
        model = streed.STreeDCostSensitiveClassifier(max_depth=self.max_depth)
        model.fit(self._binary(X).astype(np.int64), codes, self._specification(streed))
        self.tree_ = model.get_tree()
        return self

    def acquire(self, X: Any) -> Walk:
        """Each row down the tree."""
        X = np.asarray(X, dtype=np.int64)
        ends = [self._descend(row) for row in self._binary(X)]
        labels = self.classes_[[label for label, _ in ends]]
        asked = [np.array(columns, dtype=np.int64) for _, columns in ends]
        return Walk(
            labels, np.array([c.size for c in asked]), np.array([self._prices.total(c) if c.size else 0 for c in asked])
        )

    def _widths(self) -> np.ndarray:
        return np.where(self._n_codes > 2, self._n_codes, 1)

    def _binary(self, X: np.ndarray) -> np.ndarray:
        """One column for each code; that of the second code alone where there are two."""
        parts = [
            X[:, [k]] == (np.arange(width) if width > 1 else np.array([1])) for k, width in enumerate(self._widths())
        ]
        return np.hstack(parts)

    def _specification(self, streed: Any) -> Any:
        data = importlib.import_module(f"{streed.__name__}.data")
        ends = np.cumsum(self._widths())
        starts = ends - self._widths()
        features = [
            data.FeatureCostSpecifier(
                float(self._prices.full[k]), float(self._prices.discounted[k]),
                "x" if self._prices.group[k] < 0 else f"group{self._prices.group[k]}", int(starts[k]), int(ends[k]) - 1,
            )
            for k in range(len(ends))
        ]  # fmt: skip
        return data.CostSpecifier(self._mistakes.tolist(), features)

    def _descend(self, row: np.ndarray) -> tuple[int, list[int]]:
        """Label and columns asked, in order."""
        owner = np.repeat(np.arange(self._n_codes.size), self._widths())
        node, asked = self.tree_, {}
        while not node.is_leaf_node():
            asked[int(owner[node.feature])] = True
            node = node.right_child if row[node.feature] else node.left_child
        return int(node.label), list(asked)


class CostEffectiveBoosting(ClassifierMixin, BaseEstimator):
    """LightGBM with a penalty for features; a row uses the distinct features on its paths through all trees.

    The price of a feature is set against the loss summed over rows, which is what LightGBM's gains are. It has no price
    in units of a mistake, so that ``feature_costs`` only orders the operating points.

    Parameters
    ----------
    feature_costs : float
        Penalty for a feature: for each row that uses it (``cegb_penalty_feature_lazy``), or this times the number of
        training rows once in the model (``cegb_penalty_feature_coupled``).
    each_row : bool
        Which of the two.
    n_estimators : int
    seed : int
    """

    def __init__(
        self, feature_costs: float = 0.01, each_row: bool = False, n_estimators: int = 100, seed: int = 0
    ) -> None:
        self.feature_costs = feature_costs
        self.each_row = each_row
        self.n_estimators = n_estimators
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Boost."""
        lightgbm = _needed("lightgbm")
        X = np.asarray(X, dtype=np.float64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        price = float(self.feature_costs)
        penalty = (
            {"cegb_penalty_feature_lazy": [price] * X.shape[1]}
            if self.each_row
            else {"cegb_penalty_feature_coupled": [price * len(X)] * X.shape[1]}
        )
        task = {"objective": "binary"} if self.classes_.size == 2 else {
            "objective": "multiclass", "num_class": self.classes_.size,
        }  # fmt: skip
        options = {**task, **penalty, "verbose": -1, "seed": self.seed, "num_threads": 1, "deterministic": True}
        self.booster_ = lightgbm.train(options, lightgbm.Dataset(X, codes), num_boost_round=self.n_estimators)
        self._paths = [_leaf_features(tree["tree_structure"]) for tree in self.booster_.dump_model()["tree_info"]]
        return self

    def acquire(self, X: Any) -> Walk:
        """Labels, and distinct features on the paths of each row."""
        X = np.asarray(X, dtype=np.float64)
        leaves = self.booster_.predict(X, pred_leaf=True).astype(np.int64).reshape(len(X), -1)
        used = np.zeros(X.shape, dtype=bool)
        for tree, paths in enumerate(self._paths):
            for leaf, features in paths.items():
                used[np.ix_(leaves[:, tree] == leaf, features)] = True
        n = used.sum(axis=1)
        return Walk(self.predict(X), n, n * float(self.feature_costs))

    def predict(self, X: Any) -> np.ndarray:
        """Decided class of each row, without looking at what it used."""
        chances = self.booster_.predict(np.asarray(X, dtype=np.float64))
        codes = (chances > 0.5).astype(np.int64) if chances.ndim == 1 else chances.argmax(axis=1)
        return self.classes_[codes]


def _leaf_features(tree: dict[str, Any]) -> dict[int, list[int]]:
    """Features on the way to each leaf of a tree."""
    found: dict[int, list[int]] = {}
    waiting: list[tuple[dict[str, Any], frozenset[int]]] = [(tree, frozenset())]
    while waiting:
        node, features = waiting.pop()
        if "split_feature" not in node:
            found[int(node.get("leaf_index", 0))] = sorted(features)
            continue
        on = features | {int(node["split_feature"])}
        waiting += [(node["left_child"], on), (node["right_child"], on)]
    return found
