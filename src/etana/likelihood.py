"""Class-conditional counts, and the probabilities made of them.

Three steps, each of which knows nothing of the others: *count* a table, in bins that are given (:meth:`Counts.of`) or
learnt in the same reading (:meth:`Counts.learn`), *merge* counts of parts by adding them, *finalise* into
probabilities::

    P(F_k = v | T_i) = (S_kiv + 1) / (S_ki + V_k)        P(T_i) = S_i / S

with S_kiv the weight of training rows of class i whose feature k has code v, S_ki their sum over v (rows whose value is
no evidence are not counted), and V_k the number of codes of feature k. Counts of whole numbers add without rounding,
so merging parts gives the counts of the whole bit for bit, in any order.

*Rare labels.* A label that no other row has tells nothing about a new row, however surely it tells the class of its
own. Labels of a column with at most twenty rows each are therefore pooled from the rarest up, as many of them as makes
each row's class most likely given the other rows' (leave-one-out)::

    P(class i | label) = (n_i - 1 + p_i) / (n - 1 + 1)

with n rows that share the label or the pool, n_i of them of the row's class, and p_i its share among all other rows.

Pooled labels are one value of the feature, which each of them has in proportion to its rows, whatever the class. A
column that numbers the rows by text is pooled whole, and tells nothing.

*Silent* columns, such as numbers of rows, have the same probabilities for every class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from etana.binning import Binner
from etana.errors import InputError
from etana.kernels import scores as kernel
from etana.table import Table

__all__ = ["Counts", "effective_rows", "reorder_cells", "rows_worth", "telling", "tempered"]

_TINY = 1e-12  # differences of probabilities that are rounding
_RARE = 20  # rows that a label has at most which may be pooled with others
_WHOLE = 1e-9  # how near to whole numbers weights must be to count as such


def effective_rows(weights: np.ndarray) -> float:
    """How many rows of equal weight tell as much as these: (sum w)^2 / sum w^2, after Kish."""
    share = weights / weights.max()
    return float(share.sum() ** 2 / (share @ share))


def rows_worth(weights: np.ndarray) -> np.ndarray:
    """Weights in the unit in which a row counts one.

    A weight counts as that many copies of its row. Weights that sum to less than the rows that they stand for
    (:func:`effective_rows`), such as shares of one, only say how rows compare; they are scaled up to sum to that.
    Whole weights never are.
    """
    if weights.size and weights[0] >= 1.0 and (weights == weights[0]).all():
        return weights  # as the sums below would find, without arrays as long as these
    share = weights / weights.max()
    scaled = share * (effective_rows(weights) / share.sum())
    if scaled.max() <= weights.max():
        return weights
    # Shares of one that are all equal are rows that count one each, to the last bit.
    whole = np.rint(scaled)
    return whole if (np.abs(scaled - whole) <= _WHOLE * whole).all() else scaled


@dataclass(frozen=True)
class Counts:
    """Weights of training rows by cell and class.

    Attributes
    ----------
    cells : array (cells, N)
        Weight of rows of each class with each code; rows ``offsets[k]`` to ``offsets[k + 1]`` belong to feature k.
    offsets : array (K + 1,)
    classes : array (N,)
        Weight of rows of each class.
    labels : tuple of int
        Columns of labels, of which rare ones are pooled.
    silent : tuple of int
        Columns that are no evidence.
    """

    cells: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    labels: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()

    @classmethod
    def learn(cls, binner: Binner, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> Counts:
        """Choose the bins of an unfitted binner and count in them, from one reading of the table."""
        cells = binner.fit_count(table, classes, weights, n_classes)
        return cls.in_bins(binner, cells, classes, weights)

    @classmethod
    def of(cls, binner: Binner, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> Counts:
        """Count a table in bins that are given."""
        cells = binner.count(table, classes, weights, n_classes)
        return cls.in_bins(binner, cells, classes, weights)

    @classmethod
    def in_bins(cls, binner: Binner, cells: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Counts:
        """Counts (cells, N) of rows of these classes and weights."""
        totals = np.bincount(classes, weights, minlength=cells.shape[1])
        return cls(cells, binner.cell_offsets, totals.astype(np.float64), binner.pooled)

    def without(self, columns: np.ndarray) -> Counts:
        """The same counts, these columns being no evidence."""
        return replace(self, silent=tuple(columns.tolist()))

    def merge(self, other: Counts) -> Counts:
        """Counts of both parts together."""
        if not np.array_equal(self.offsets, other.offsets) or self.classes.size != other.classes.size:
            raise InputError("counts of different bins or classes cannot be merged; count both with one Binner")
        return replace(self, cells=self.cells + other.cells, classes=self.classes + other.classes)

    def times(self, factor: float) -> Counts:
        """Counts of weights in another unit."""
        return replace(self, cells=self.cells * factor, classes=self.classes * factor)

    def likelihoods(self) -> np.ndarray:
        """P(F_k = v | T_i) for every cell and class, with the paper's smoothing; rare labels are pooled."""
        n_values = np.diff(self.offsets)
        if not n_values.size:
            return self.cells.copy()
        seen = np.add.reduceat(self.cells, self.offsets[:-1], axis=0)
        out = (self.cells + 1.0) / np.repeat(seen + n_values[:, None], n_values, axis=0)
        for column in self.labels:
            rare = self.rare_labels(column)
            if rare.any():
                out[self.offsets[column] : self.offsets[column + 1]] = _pooled(self._of(column), rare)
        for column in self.silent:
            out[self.offsets[column] : self.offsets[column + 1]] = _pooled(self._of(column), np.ones(1, dtype=bool))
        return out

    def _of(self, column: int) -> np.ndarray:
        return self.cells[self.offsets[column] : self.offsets[column + 1]]

    def rare_labels(self, column: int) -> np.ndarray:
        """Which labels of a column are pooled, (V,) of bool."""
        cells = self._of(column)
        sizes = cells.sum(axis=1)
        # A label of one row never stands alone.
        rare = sizes <= 1.0
        best = _left_out(cells, rare)
        for size in np.unique(sizes[(sizes > 1.0) & (sizes <= _RARE)]).tolist():
            likely = _left_out(cells, sizes <= size)
            # Of equally good ways the one that pools more.
            if likely >= best - _TINY * sizes.sum():
                best, rare = max(likely, best), sizes <= size
        # A label of several rows that is alone in its pool is pooled with none.
        return rare & ((rare.sum() > 1) | (sizes <= 1.0))

    def priors(self) -> np.ndarray:
        """P(T_i), the share of each class."""
        return self.classes / self.classes.sum()


def _left_out(cells: np.ndarray, rare: np.ndarray) -> float:
    """Log likelihood of the rows' classes, each given the others that share its label, rare ones taken together."""
    n = cells.sum(axis=0)
    together = np.concatenate([cells[~rare], cells[rare].sum(axis=0, keepdims=True)])
    share = np.maximum(n - 1.0, 0.0) / max(n.sum() - 1.0, 1.0)
    # Weights below 1 leave less than nothing behind.
    rest = np.maximum(together - 1.0, 0.0) + share
    total = np.maximum(together.sum(axis=1, keepdims=True) - 1.0, 0.0) + 1.0
    return float((together * np.log(np.maximum(rest / total, _TINY))).sum())


def _pooled(cells: np.ndarray, rare: np.ndarray) -> np.ndarray:
    """Likelihoods of one column when these values are one."""
    rare = np.broadcast_to(rare, len(cells))
    n_values = int((~rare).sum()) + 1
    seen = cells.sum(axis=0) + n_values
    sizes = cells[rare].sum(axis=1) + 1.0
    out = (cells + 1.0) / seen
    out[rare] = (sizes / sizes.sum())[:, None] * ((cells[rare].sum(axis=0) + 1.0) / seen)
    return out


def tempered(cells: np.ndarray, offsets: np.ndarray, priors: np.ndarray, temperature: float) -> np.ndarray:
    """Likelihoods whose ratios between classes are raised to 1/T, near enough.

    With q(v) = sum_i p_i P(v | T_i), what is known of the answer without the class::

        P_T(v | T_i)  proportional to  q(v)^(1 - 1/T) P(v | T_i)^(1/T)

    Infinite T leaves q, which tells nothing. Raising the likelihoods alone would also make rare answers common, and
    plans would count on them.
    """
    if temperature == 1.0 or not len(cells):
        return cells
    power = 1.0 / temperature
    with np.errstate(divide="ignore"):
        mixed = np.log(cells @ priors)[:, None]
        out = np.exp(power * np.log(cells) + (1.0 - power) * np.where(np.isfinite(mixed), mixed, 0.0))
    return out / np.repeat(np.add.reduceat(out, offsets[:-1], axis=0), np.diff(offsets), axis=0)


def telling(cells: np.ndarray, offsets: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Features (their indices) some value of which is likelier in one class than in another that is possible."""
    possible = cells[:, priors > 0]
    if not len(cells) or possible.shape[1] < 2:
        return np.empty(0, dtype=np.int64)
    spread = possible.max(axis=1) - possible.min(axis=1)
    return np.flatnonzero(np.maximum.reduceat(spread, offsets[:-1]) > _TINY)


def reorder_cells(cells: np.ndarray, offsets: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and offsets of features, all or some, in a new order."""
    new = np.concatenate(([0], np.cumsum(np.diff(offsets)[order], dtype=np.int64)))
    out = np.empty((int(new[-1]), cells.shape[1]))
    kernel.gather_cells(cells, offsets, order, new, out)
    return out, new
