"""A scorer for scikit-learn's searches: what rows pay.

A search that is scored by accuracy and may choose the prices of features chooses price 0: whoever asks everything is
right most often. What rows pay, at the prices that hold, has no such bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.costs import ResolvedCosts, resolve_feature_costs, resolve_mistakes
from etana.errors import InputError
from etana.typing import ArrayLike, FeatureCostsLike, MistakeCostsLike, TableLike

__all__ = ["CostScorer"]


class CostScorer:
    """Minus what a row pays in the mean, for features and mistakes; the greater the better, as scorers are.

    Pass it as ``scoring=`` to ``GridSearchCV``, ``cross_val_score`` and their kin. Rows are charged the prices given
    here, whatever prices a candidate was fitted with. A classifier that cannot acquire features is charged for all of
    them. Of a pipeline the last step is charged, for the columns that come to it.

    Parameters
    ----------
    feature_costs : number, sequence of K numbers, mapping from feature name to number, or FeatureCosts
        What features really cost.
    misclassification_costs : array (N, N), optional
        What mistakes really cost; None: 1 each.

    Examples
    --------
    >>> import etana
    >>> from etana.scoring import CostScorer
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> bins = {"n_bins": [2, 4]}
    >>> search = GridSearchCV(etana.ETANAClassifier(temperature=1.0), bins, scoring=CostScorer(0.02), cv=3).fit(X, y)
    >>> search.best_params_, bool(-0.2 < search.best_score_ < -0.05)
    ({'n_bins': 4}, True)
    """

    def __init__(self, feature_costs: FeatureCostsLike, misclassification_costs: MistakeCostsLike = None) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs

    def __repr__(self) -> str:
        mistakes = "" if self.misclassification_costs is None else ", misclassification_costs=..."
        return f"CostScorer({self.feature_costs!r}{mistakes})"

    def __call__(self, estimator: Any, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Minus the mean cost of these rows."""
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return -float(np.average(self.costs(estimator, X, y), weights=weights))

    def costs(self, estimator: Any, X: TableLike, y: ArrayLike) -> np.ndarray:
        """What each row pays, for features and mistakes."""
        classifier, rows = _last_step(estimator, X)
        n_features = getattr(classifier, "n_features_in_", None)
        if n_features is None:
            raise InputError(f"{type(classifier).__name__} does not say how many features it has; fit it first")
        names = getattr(classifier, "feature_names_in_", None)
        prices = resolve_feature_costs(self.feature_costs, n_features, None if names is None else list(names))
        if hasattr(classifier, "acquire"):
            walk = classifier.acquire(rows)
            labels, spent = walk.labels, _charged(walk, prices)
        else:
            labels = np.asarray(classifier.predict(rows))
            spent = np.full(len(labels), prices.total(np.arange(n_features)))
        truth = np.asarray(y)
        classes = np.union1d(classifier.classes_, truth)
        mistakes = resolve_mistakes(self.misclassification_costs, classes.size)
        return spent + mistakes[np.searchsorted(classes, truth), np.searchsorted(classes, labels)]


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The classifier at the end of a pipeline, and the rows as they come to it."""
    while hasattr(estimator, "steps"):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    return estimator, X


def _charged(walk: Any, prices: ResolvedCosts) -> np.ndarray:
    if (prices.group < 0).all():
        return np.array([prices.full[walk.features(i)].sum() for i in range(len(walk))])
    return np.array([prices.total(walk.features(i)) for i in range(len(walk))])
