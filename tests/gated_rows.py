"""Rows in which one column says which of two others tells the class."""

import numpy as np


def gated(n=600, seed=0):
    """The sign of column 3 says whether column 0 or column 1 tells the class; 2, 4 and 5 are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    told = np.where(X[:, 3] < 0, X[:, 0], X[:, 1])
    return X, (told + 0.3 * rng.normal(size=n) > 0).astype(np.int64)
