"""Any table as complete numbers, in the simplest way: for methods that take nothing else.

A missing number becomes the median of the training rows, a label its rank among the sorted labels of the training
rows; a label that is missing, or was not there in training, becomes -1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from etana.selection.base import StreamingSelector
from etana.table import read_table

__all__ = ["CompleteNumbers", "SelectorOnNumbers"]


class CompleteNumbers(TransformerMixin, BaseEstimator):
    """Medians for missing numbers, ranks for labels; learnt on the rows given to ``fit``.

    Parameters
    ----------
    fill : bool
        Whether missing numbers are filled; otherwise they stay NaN.

    Examples
    --------
    >>> from etana.evaluation.complete_numbers import CompleteNumbers
    >>> CompleteNumbers().fit_transform([[1.0, "b"], [None, "a"], [3.0, "b"]]).tolist()
    [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    """

    def __init__(self, fill: bool = True) -> None:
        self.fill = fill

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and labels."""
        if sparse.issparse(X):
            return self
        table = read_table(X)
        self.levels_ = {k: table.levels(k) for k in table.categorical}
        values = table.block(slice(None), self.levels_)
        self.medians_ = np.zeros(values.shape[1])
        known = ~np.isnan(values).all(axis=0)
        self.medians_[known] = np.nanmedian(values[:, known], axis=0)
        return self

    def transform(self, X: Any) -> Any:
        """Numbers; a sparse matrix holds complete numbers already and is returned as it is."""
        if sparse.issparse(X):
            return X
        values = np.array(read_table(X).block(slice(None), self.levels_), dtype=np.float64)
        for k in self.levels_:
            values[~np.isfinite(values[:, k]), k] = -1.0
        if self.fill:
            values = np.where(np.isnan(values), self.medians_, values)
        return values


class SelectorOnNumbers(BaseEstimator):
    """A selector that is given :class:`CompleteNumbers` numbers."""

    def __init__(self, selector: StreamingSelector) -> None:
        self.selector = selector

    def fit(self, X: Any, y: Any) -> Self:
        """Encode and select."""
        self.selector.fit(CompleteNumbers().fit_transform(X), y)
        return self

    def get_support(self, indices: bool = False) -> np.ndarray:
        """The selected columns, which are those of the table."""
        return self.selector.get_support(indices)
