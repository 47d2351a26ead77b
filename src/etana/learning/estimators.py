"""A scikit-learn classifier, trained on each prefix of the order."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.estimators import Estimators
from etana.beliefs.prefixes.travel import shares_of

__all__ = ["fit_estimators", "fit_one", "takes_missing", "weight_name"]


def takes_missing(estimator: Any) -> bool:
    """Whether the estimator says of itself that it takes NaN."""
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def weight_name(estimator: Any) -> str | None:
    """What the estimator calls weights of rows when it is fitted; None if it takes none."""
    steps = getattr(estimator, "steps", None)
    if not steps:
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    # A pipeline hands on what is named after a step; the classifier is the last.
    last, step = steps[-1]
    inner = weight_name(step)
    return None if inner is None else f"{last}__{inner}"


def fit_one(estimator: Any, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Any:
    """A fitted copy; None where the rows have one class only, which many estimators refuse."""
    if not X.shape[1] or (codes == codes[0]).all():
        return None
    # Without a difference in them, weights need not be taken.
    counted = {} if (weights == 1.0).all() else {str(weight_name(estimator)): weights}
    return clone(estimator).fit(X, codes, **counted)


def fit_estimators(
    estimator: Any, features: list[Feature], values: np.ndarray, codes: np.ndarray, weights: np.ndarray,
    n_classes: int, n_jobs: int | None,
) -> Estimators:  # fmt: skip
    """The estimator on every prefix of training values (n, K) in the order of acquisition."""
    keep = takes_missing(estimator)
    # Encoded once; each prefix joins what it needs.
    blocks = [f.raw(values[:, k], keep) for k, f in enumerate(features)]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_one)(estimator, np.concatenate(blocks[: k + 1], axis=1), codes, weights) for k in range(len(blocks))
    )
    return Estimators(features, list(fitted), shares_of(codes, n_classes, weights), keep)
