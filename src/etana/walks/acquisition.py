"""What a batch of rows was asked, and what a walk needs to begin: a budget, the right columns, values on demand."""

from __future__ import annotations

from reprlib import repr as short

import numpy as np

from etana.errors import InputError
from etana.kernels import walk as kernel
from etana.kernels.walk import Outcomes, Storage
from etana.notebook import show_acquisition
from etana.table import Table

__all__ = ["Acquisition", "check_columns", "empty_outcomes", "read_budget", "short_of_money", "storage_of", "turned"]


class Acquisition:
    """What a batch of instances was asked, and what came of it.

    Attributes
    ----------
    labels : array (n,)
        Decided classes.
    n_features : array (n,)
        How many features each instance was asked.
    costs : array (n,)
        What those features cost.
    posteriors : array (n, N)
        Belief in each class at the stop.
    names : list of str, or None
        Names of the columns, where the model has some.
    """

    def __init__(
        self, labels: np.ndarray, n_features: np.ndarray, costs: np.ndarray, posteriors: np.ndarray,
        asked: np.ndarray, starts: np.ndarray | None = None, names: list[str] | None = None,
    ) -> None:  # fmt: skip
        self.labels = labels
        self.n_features = n_features
        self.costs = costs
        self.posteriors = posteriors
        self.names = names
        # Instance i was asked the columns from starts[i] on; all from the first one, if there is one order for all.
        self._asked = asked
        self._starts = starts

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        if not len(self):
            return "Acquisition(n=0)"
        return (
            f"Acquisition(n={len(self)}, mean n_features={self.n_features.mean():.4g}, "
            f"mean cost={self.costs.mean():.4g})"
        )

    def _repr_html_(self) -> str:
        return show_acquisition(self)

    def features(self, i: int) -> np.ndarray:
        """Column indices that instance i was asked, in order."""
        first = 0 if self._starts is None else self._starts[i]
        return self._asked[first : first + self.n_features[i]]


_NO_DENSE = np.empty((0, 0))
_NO_DATA = np.empty(0)
_NO_INDICES = np.empty(0, dtype=np.int32)
NOTHING_STORED = Storage(kernel.DENSE, _NO_DENSE, _NO_DATA, _NO_INDICES, _NO_INDICES, np.empty(0, dtype=np.int64))


def storage_of(table: Table, columns: np.ndarray, levels: dict[int, np.ndarray]) -> Storage:
    """How kernels find the values of these columns."""
    if table.sparse is not None and not levels:
        m = table.sparse
        kind = kernel.CSR if m.format == "csr" else kernel.CSC
        return Storage(kind, _NO_DENSE, m.data, m.indices, m.indptr, columns)
    dense = table.dense
    if dense is not None and dense.dtype in (np.float64, np.float32) and dense.dtype.isnative and not levels:
        return Storage(kernel.DENSE, dense, _NO_DATA, _NO_INDICES, _NO_INDICES, columns)
    # Other types are converted, but only the columns that can be asked for.
    block = table.block(columns, levels)
    return Storage(kernel.DENSE, block, _NO_DATA, _NO_INDICES, _NO_INDICES, np.arange(columns.size))


def turned(storage: Storage) -> Storage:
    """The same values, columns as rows if columns lie together: one loop serves both ways to lay out a table."""
    flags = storage.dense.flags
    if flags.f_contiguous and not flags.c_contiguous:
        return storage._replace(kind=kernel.TURNED, dense=storage.dense.T)
    return storage


def check_columns(table: Table, n_features: int, names: list[str] | None) -> None:
    """Refuse a table whose columns are not the model's: kernels look values up by position."""
    named = table.names is not None and names is not None
    if table.n_features != n_features or (named and table.names != names):
        raise InputError(
            f"the table has the columns {short(table.names) if named else table.n_features}, but the model was "
            f"fitted on {short(names) if named else n_features}; give the same columns in the same order"
        )


def read_budget(max_cost: float | None) -> float:
    """The most that an instance may be charged."""
    if max_cost is None:
        return np.inf
    if not max_cost >= 0:
        raise InputError(f"max_cost is {max_cost!r}; it must be None (no limit) or a number >= 0")
    # Prices are added up one by one; their rounding must not refuse a feature that fits to the cent.
    return float(max_cost) * (1 + 1e-12)


def empty_outcomes(n_rows: int, n_classes: int) -> Outcomes:
    """Arrays for what becomes of rows."""
    labels, asked = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    return Outcomes(labels, asked, np.empty(n_rows), np.empty((n_rows, n_classes)))


def short_of_money(outcomes: Outcomes, prices: np.ndarray, budget: float) -> np.ndarray | None:
    """Rows along an order whose next stage does not fit, some of which would have stopped anyway; None: no row.
    ``prices`` are those of the stages."""
    if budget == np.inf:
        return None
    # Behind the last stage nothing is asked, whatever it costs.
    return outcomes.spent + np.append(prices, 0.0)[outcomes.asked] > budget
