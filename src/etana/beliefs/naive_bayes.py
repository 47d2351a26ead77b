"""Naive Bayes on binned features: the beliefs of the paper.

Features are independent given the class, so that an answer multiplies the belief by its likelihoods (the paper's
Lemma 1), in any order::

    pi_i  proportional to  P(T_i) prod_k P(F_k = v_k | T_i)

Products are kept as sums of logarithms, the largest 0: ten thousand features do not underflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.base import BinnedBeliefs, BinnedKnowledge, Knowledge
from etana.binning import Binner
from etana.kernels import walk as kernel
from etana.kernels.walk import Bins, Cells
from etana.likelihood import reorder_cells, telling

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["NaiveBayes"]


@dataclass(frozen=True)
class NaiveBayes(BinnedBeliefs):
    """Bins, and the likelihood of each bin.

    Attributes
    ----------
    binner : Binner
    cells : array (cells, N)
        P(F_k = v | T_i); rows ``binner.cell_offsets[k]`` to ``[k + 1]`` belong to column k.
    priors : array (N,)
    """

    binner: Binner
    cells: np.ndarray
    priors: np.ndarray

    @cached_property
    def columns(self) -> np.ndarray:
        """Columns that can change a belief."""
        return telling(self.cells, self.binner.cell_offsets, self.priors)

    @property
    def words(self) -> str:
        """What these are."""
        return "naive Bayes"

    def begin(self, n_rows: int) -> Knowledge:
        """Rows at the priors."""
        return _Products(self, (), np.tile(self._log_priors, (n_rows, 1)))

    @cached_property
    def _log_priors(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.priors)

    def of_column(self, column: int) -> np.ndarray:
        """Likelihoods of one column, (V, N)."""
        return self.cells[self.binner.cell_offsets[column] : self.binner.cell_offsets[column + 1]]

    @cached_property
    def _logs(self) -> dict[int, np.ndarray]:
        return {}

    def logs_of(self, column: int) -> np.ndarray:
        """Log likelihoods of one column, (V, N), worked out once for each column that is asked."""
        found = self._logs.get(column)
        if found is None:
            with np.errstate(divide="ignore"):
                found = self._logs[column] = np.log(self.of_column(column))
        return found

    def in_order(self, columns: np.ndarray) -> tuple[Bins, Cells]:
        """Bins and log likelihoods of some columns, as the kernels take them."""
        bins = Bins(*self.binner.edges_of(columns))
        cells, offsets = reorder_cells(self.cells, self.binner.cell_offsets, columns)
        with np.errstate(divide="ignore"):
            return bins, Cells(np.log(cells), offsets, np.log(self.priors))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Bins are stored beside it."""
        return {"cells": self.cells, "priors": self.priors}, {"binner": self.binner}

    @classmethod
    def restore(cls, stored: State, n_classes: int) -> NaiveBayes:
        """The beliefs whose :meth:`state` this is."""
        # Likelihoods are those of training counts with the paper's smoothing, so none of them may be zero.
        binner = stored.binner("binner")
        return cls(binner, stored.likelihoods("cells", binner.cell_offsets, n_classes), stored.priors(n_classes))


@dataclass(frozen=True)
class _Products(BinnedKnowledge):
    """Log beliefs (n, N), unnormalised."""

    beliefs: NaiveBayes
    known: tuple[int, ...]
    logs: np.ndarray

    def answered(self, column: int, codes: np.ndarray) -> Knowledge:
        logs = self.logs.copy()
        kernel.update_rows(logs, codes, self.beliefs.logs_of(column))
        return _Products(self.beliefs, (*self.known, column), logs)

    def take(self, rows: np.ndarray) -> Knowledge:
        return _Products(self.beliefs, self.known, self.logs[rows])

    def likelihoods(self, column: int) -> np.ndarray:
        cells = self.beliefs.of_column(column)
        # What was answered does not matter here: all rows share one array, which nobody may write to.
        return np.broadcast_to(cells, (len(self.logs), *cells.shape))
