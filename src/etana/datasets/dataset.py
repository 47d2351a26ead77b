"""A data set in the hands of a user: arrays, names, prices, and how it is meant to be split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from etana.costs import FeatureCosts
from etana.datasets.prices import Prices
from etana.errors import InputError

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with its story.

    Attributes
    ----------
    name, title, description, source, licence : str
        What it is called, what it is about, where it comes from, and its terms.
    X : ndarray or csr_array of shape (n, K)
        Training rows if the set has a given test part, else all rows; NaN where the source has no value.
    y : ndarray of shape (n,)
        Class codes 0 to C - 1, int64.
    X_test, y_test
        The given test part; None where there is none.
    class_names : list of str
        Names of the classes, in the order of their codes.
    differs : str or None
        How this copy differs from the paper's; None if it does not.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    X: Any = field(repr=False)
    y: np.ndarray = field(repr=False)
    X_test: Any = field(repr=False)
    y_test: np.ndarray | None = field(repr=False)
    class_names: list[str]
    differs: str | None
    _names: list[str] | bytes | None = field(repr=False, default=None)
    _prices: Prices | None = field(repr=False, default=None)

    @cached_property
    def names(self) -> list[str] | None:
        """Names of the features, or None where there are none."""
        # A million names take longer to unpack than most users of the set ever look at them.
        return self._names.decode().split("\n") if isinstance(self._names, bytes) else self._names

    @property
    def split(self) -> str:
        """``"given"`` if the set has a test part of its own, else ``"folds"``."""
        return "folds" if self.X_test is None else "given"

    @property
    def feature_costs(self) -> FeatureCosts | None:
        """Prices by feature name, for data frames; None where the features have no known prices."""
        return None if self._prices is None else self._prices.by_name()

    @property
    def column_costs(self) -> FeatureCosts | None:
        """The same prices by position, for arrays such as ``X``."""
        return None if self._prices is None else self._prices.by_column()

    @property
    def delayed(self) -> list[str] | None:
        """Names of the features whose result is not at hand at once; None where that is not known."""
        known = None if self._prices is None else self._prices.delayed
        return None if known is None else list(known)

    def folds(self, n_splits: int = 5, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of training and test rows, stratified and shuffled; the same seed gives the same folds."""
        if self.split == "given":
            raise InputError(
                f"{self.name} has a given test part; train on X, y and test on X_test, y_test, "
                "or split the training rows with sklearn.model_selection.StratifiedKFold"
            )
        smallest = int(np.bincount(self.y).min())
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or not 2 <= n_splits <= smallest:
            raise InputError(
                f"n_splits={n_splits!r}; the smallest class of {self.name} has {smallest} rows, "
                f"so give a whole number from 2 to {smallest}"
            )
        return self._folds(int(n_splits), seed)

    def _folds(self, n_splits: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        from sklearn.model_selection import StratifiedKFold

        yield from StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(np.zeros(len(self.y)), self.y)

    def as_frame(self) -> Any:
        """``X`` as a pandas data frame with the features' names; columns ``x0``, ``x1``, ... where there are none."""
        return self._frame(self.X)

    def test_as_frame(self) -> Any:
        """``X_test`` as a pandas data frame; None where there is no given test part."""
        return None if self.X_test is None else self._frame(self.X_test)

    def _frame(self, X: Any) -> Any:
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError("as_frame needs pandas, which is not installed; install it, or use X and names") from error
        if sparse.issparse(X):
            raise InputError(
                f"{self.name} is sparse with {X.shape[1]} columns, too many for a data frame; use X and names"
            )
        return pd.DataFrame(X, columns=self.names or [f"x{k}" for k in range(X.shape[1])])
