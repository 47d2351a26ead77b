"""Class-conditional counts, and the probabilities made of them.

Three steps, each of which knows nothing of the others: *count* a table, in bins that are given (:meth:`Counts.of`) or
learnt in the same reading (:meth:`Counts.learn`), *merge* counts of parts by adding them, *finalise* into
probabilities::

    P(F_k = v | T_i) = (S_kiv + 1) / (S_ki + V_k)        P(T_i) = S_i / S

with S_kiv the weight of training rows of class i whose feature k has code v, S_ki their sum over v (rows whose value is
no evidence are not counted), and V_k the number of codes of feature k. Counts of whole numbers add without rounding,
so merging parts gives the counts of the whole bit for bit, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from etana.binning import Binner
from etana.errors import InputError
from etana.kernels import scores as kernel
from etana.table import Table

__all__ = ["Counts", "reorder_cells"]


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
    """

    cells: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray

    @classmethod
    def learn(cls, binner: Binner, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> Counts:
        """Choose the bins of an unfitted binner and count in them, from one reading of the table."""
        cells = binner.fit_count(table, classes, weights, n_classes)
        return cls._in(binner, cells, classes, weights)

    @classmethod
    def of(cls, binner: Binner, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> Counts:
        """Count a table in bins that are given."""
        cells = binner.count(table, classes, weights, n_classes)
        return cls._in(binner, cells, classes, weights)

    @classmethod
    def _in(cls, binner: Binner, cells: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Counts:
        totals = np.bincount(classes, weights, minlength=cells.shape[1])
        return cls(cells, binner.cell_offsets, totals.astype(np.float64))

    def merge(self, other: Counts) -> Counts:
        """Counts of both parts together."""
        if not np.array_equal(self.offsets, other.offsets) or self.classes.size != other.classes.size:
            raise InputError("counts of different bins or classes cannot be merged; count both with one Binner")
        return Counts(self.cells + other.cells, self.offsets, self.classes + other.classes)

    def likelihoods(self) -> np.ndarray:
        """P(F_k = v | T_i) for every cell and class, with the paper's smoothing."""
        n_values = np.diff(self.offsets)
        if not n_values.size:
            return self.cells.copy()
        seen = np.add.reduceat(self.cells, self.offsets[:-1], axis=0)
        return (self.cells + 1.0) / np.repeat(seen + n_values[:, None], n_values, axis=0)

    def priors(self) -> np.ndarray:
        """P(T_i), the share of each class."""
        return self.classes / self.classes.sum()


def reorder_cells(cells: np.ndarray, offsets: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and offsets of features, all or some, in a new order."""
    new = np.concatenate(([0], np.cumsum(np.diff(offsets)[order], dtype=np.int64)))
    out = np.empty((int(new[-1]), cells.shape[1]))
    kernel.gather_cells(cells, offsets, order, new, out)
    return out, new
