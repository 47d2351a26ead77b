"""A scikit-learn classifier, trained on each prefix of the order."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.estimators import Estimators

__all__ = ["fit_estimators", "fit_one", "takes_missing"]


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator says of itself that it takes NaN."""
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def fit_one(estimator: Any, X: np.ndarray, codes: np.ndarray) -> Any:
    """A fitted copy; None where the rows have one class only, which many estimators refuse."""
    if not X.shape[1] or (codes == codes[0]).all():
        return None
    return clone(estimator).fit(X, codes)


def fit_estimators(
    estimator: Any, features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, n_jobs: int | None
) -> Estimators:
    """The estimator on every prefix of training values (n, K) in the order of acquisition."""
    keep = takes_missing(estimator)
    # Encoded once; each prefix joins what it needs.
    blocks = [f.raw(values[:, k], keep) for k, f in enumerate(features)]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_one)(estimator, np.concatenate(blocks[: k + 1], axis=1), codes) for k in range(len(blocks))
    )
    return Estimators(features, list(fitted), np.bincount(codes, minlength=n_classes) / codes.size, keep)
