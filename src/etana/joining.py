"""Supervised bins from counts in candidate bins: neighbouring candidates are joined where a cut does not pay."""

from __future__ import annotations

import numpy as np

from etana.kernels import columns as kernel
from etana.kernels.scores import Entries, Sides, supervised_cuts

__all__ = ["Joiner"]


class Joiner:
    """Calls the kernel that joins candidate bins, with room that is kept from column to column.

    Parameters
    ----------
    n_classes : int
    most : int
        Bins that may be left.
    logs : array
        x log2 x of whole numbers; see :class:`etana.kernels.columns.Cutting`.
    """

    def __init__(self, n_classes: int, most: int, logs: np.ndarray) -> None:
        fine, entries = kernel.FINE, kernel.FINE * n_classes
        self._most, self._logs = most, logs
        self._histogram = np.empty((max(fine, most), n_classes))
        self._kept = np.empty(most, dtype=np.int64)
        self._entries = Entries(
            np.empty(entries, np.int64), np.empty(entries), np.empty(fine + 1, np.int64), np.empty(fine + 1, np.int64),
        )  # fmt: skip
        self._sides = Sides(*np.empty((5, n_classes)))

    def __call__(self, edges: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edges that are kept of those between candidates, and the counts (bins, N) of what lies between them."""
        histogram, kept = self._histogram, self._kept
        histogram[: len(rows)] = rows
        n = supervised_cuts(histogram, len(rows), self._most, self._logs, self._entries, self._sides, kept)
        return edges[kept[:n]], histogram[: n + 1].copy()
