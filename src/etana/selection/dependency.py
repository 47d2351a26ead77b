"""How well the neighbours of a row agree with its class: the dependency gamma(B) of a set of columns.

With v_k the variance (divisor n - 1) of column k, rows are compared by

    D_ij = sqrt( sum_{k in B} (x_ik - x_jk)^2 / v_k ),

columns in order of arrival.  Each row i has a neighbourhood N(i) that sizes itself, by one of the two
relations in :mod:`etana.kernels.neighbourhood`; c_i is the share of N(i) that has the class of i; and

    gamma(B) = (c_0 + ... + c_{n-1}) / n,

summed in row order.  Shares are ratios of whole numbers, so gamma is the same number whichever way the
neighbourhoods were found.

A constant column has no standardised distance.  Under the density relation its gamma is NaN.  Under the gap
relation all other rows are equally undefined, the lowest one comes first, and gamma is about the share of the
class of row 0; the same holds for any set with a constant in it.
"""

import math
from collections.abc import Sequence

import numpy as np

from etana.kernels.correlation import centred_moments, column_means
from etana.kernels.neighbourhood import (
    DENSITY,
    GAP,
    Kept,
    Relation,
    RowBlock,
    SetRoom,
    SingleRoom,
    next_relevant,
    set_shares,
    single_shares,
)
from etana.selection.base import Target

__all__ = ["DENSITY", "GAP", "Dependency"]


class Dependency:
    """gamma for the classes of a target, by the relation ``DENSITY`` or ``GAP`` with its parameter.

    Holds the kept columns, oldest first, and the block that passes by.  With ``takes_constants`` False a
    constant column is never relevant.
    """

    def __init__(self, target: Target, relation: int, parameter: float, takes_constants: bool = True) -> None:
        n = target.codes.size
        self._labels = target.codes
        self._relation = Relation(relation, float(parameter))
        same_as_first = self._labels == self._labels[0]
        same_as_first[0] = same_as_first[1]  # the lowest other row of row 0 is row 1
        self._constant_gamma = math.nan if relation == DENSITY else _mean(same_as_first)
        self._takes_constants = takes_constants
        self._kept = Kept(
            np.empty((8, n)),
            np.empty((8, n), dtype=np.int32),
            np.empty(8, dtype=np.int64),
            np.empty(8),
        )
        self.size = 0
        self._rows = np.arange(n)
        self._shares = np.empty(n)
        self._single_room = SingleRoom(
            np.empty(n + 1, dtype=np.int64),
            np.empty((n + 1, target.n_classes), dtype=np.int64),
        )
        self._set_room = SetRoom(np.empty(n), np.empty(n), np.empty(n, dtype=np.int64))

    def load(self, block: np.ndarray) -> None:
        """Make the columns of ``block`` (n, b) those that pass by."""
        n, b = block.shape
        means, squares, products, varies = np.empty(b), np.empty(b), np.empty(b), np.empty(b, dtype=bool)
        column_means(block, means, varies)
        centred_moments(block, means, np.zeros(n), squares, products)
        measurable = varies & (squares > n * np.finfo(float).tiny)
        inverses = np.divide(1.0, squares / (n - 1), out=np.zeros(b), where=measurable)
        columns = np.ascontiguousarray(block.T)
        self._block = RowBlock(columns, np.argsort(columns, axis=1, kind="stable"), inverses)

    def unload(self) -> None:
        """Forget the block."""
        del self._block

    def next_relevant(self, start: int, threshold: float, strict: bool) -> int:
        """First column from ``start`` on with gamma >= (``strict``: >) ``threshold``; else the width."""
        return int(
            next_relevant(
                self._block,
                self._labels,
                self._relation,
                self._constant_gamma if self._takes_constants else math.nan,
                start,
                threshold,
                strict,
                self._single_room,
                self._shares,
            )
        )

    def push(self, j: int) -> None:
        """Keep column ``j`` of the block."""
        m = self.size
        if m == self._kept.columns.shape[0]:
            self._kept = Kept(*(np.concatenate([array, np.empty_like(array)]) for array in self._kept))
        columns, nonzero, n_nonzero, inverse_variances = self._kept
        columns[m] = self._block.columns[j]
        rows = np.flatnonzero(columns[m])
        nonzero[m, : rows.size] = rows
        n_nonzero[m] = rows.size
        inverse_variances[m] = self._block.inverse_variances[j]
        self.size = m + 1

    def keep(self, positions: Sequence[int]) -> None:
        """Forget all kept columns but these (ascending)."""
        m = len(positions)
        if m > 0 and positions[-1] != m - 1:  # not simply the oldest m
            for array in self._kept:
                array[:m] = array[positions]
        self.size = m

    def gamma(self, positions: Sequence[int], floor: float = -math.inf) -> float:
        """gamma of these kept columns (ascending, at least one); -inf if it is sure to be below ``floor``."""
        ids = np.array(positions, dtype=np.int64)
        if (self._kept.inverse_variances[ids] == 0.0).any():
            return self._constant_gamma
        if ids.size == 1:
            return self._single(int(ids[0]))
        complete = set_shares(
            self._kept,
            ids,
            self._labels,
            self._relation,
            floor,
            self._rows,
            self._set_room,
            self._shares,
        )
        return _mean(self._shares) if complete else -math.inf

    def _single(self, position: int) -> float:
        x = self._kept.columns[position]
        single_shares(
            x,
            np.argsort(x, kind="stable"),
            self._kept.inverse_variances[position],
            self._labels,
            self._relation,
            -math.inf,
            math.inf,
            self._single_room,
            self._shares,
        )
        return _mean(self._shares)


def _mean(shares: np.ndarray) -> float:
    # cumsum adds one by one; sum adds pairwise, in an order that depends on the length
    return float(np.cumsum(shares, dtype=np.float64)[-1]) / shares.size
