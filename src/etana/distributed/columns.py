"""The numbers of a table, one column after the other, for the first pass over a part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.kernels import sketches as kernel
from etana.table import Table
from etana.threads import over_chunks

__all__ = ["Column", "SortingRoom", "read_columns"]

_AT_ONCE = 2**20  # numbers that are copied out of a table stored by row
_LEAST = 8  # columns that one cache line of such a table covers


@dataclass(frozen=True)
class Column:
    """The values of a numeric column that carry weight.

    Attributes
    ----------
    index : int
    values : array
        All that are not missing; of a sparse column those that are not zero either.
    weights : array, or None if each is 1
    zeros : float
        Weight of the zeros of a sparse column.
    has_missing : bool
    room : SortingRoom, optional
        Where its values are sorted.
    """

    index: int
    values: np.ndarray
    weights: np.ndarray | None
    zeros: float
    has_missing: bool
    room: SortingRoom | None = None

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted different values and their weights, until the next column is there."""
        values, weights = self.values, self.weights
        if self.zeros > 0:
            weights = np.ones(values.size) if weights is None else weights
            values, weights = np.append(values, 0.0), np.append(weights, self.zeros)
        if not values.size:
            return np.empty(0), np.empty(0)
        if weights is None:
            return (self.room or SortingRoom(values.size)).distinct(values)
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        firsts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
        # + 0.0: there is one zero, and it has no sign
        return values[firsts] + 0.0, np.add.reduceat(weights, firsts)

    def range(self) -> tuple[float, float]:
        """Smallest and largest finite value; (inf, -inf) if there is none."""
        low, high = (0.0, 0.0) if self.zeros > 0 else (np.inf, -np.inf)
        values = self.values
        if values.size and not (np.isfinite(values.min()) and np.isfinite(values.max())):
            values = values[np.isfinite(values)]
        return float(np.min(values, initial=low)) + 0.0, float(np.max(values, initial=high)) + 0.0


class SortingRoom:
    """Arrays for sorting columns of up to so many values, kept from column to column.

    Workers of a Dask cluster give memory back to the system as soon as they can, so that a new array costs more there
    than what is done with it.
    """

    def __init__(self, most: int) -> None:
        self._sorted, self._mass = np.empty(most), np.empty(most)
        self._drawers, self._starts = np.empty(most, dtype=np.int32), np.empty(most + 1, dtype=np.int32)

    def sort(self, values: np.ndarray) -> np.ndarray:
        """Values (m,), none of them missing, in order, until the next are sorted."""
        m = values.size
        out = self._sorted[:m]
        if not m or not kernel.sort_spread(values, self._drawers[:m], self._starts[: m + 1], out):
            out[:] = values
            out.sort()
        return out

    def distinct(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sorted different values of (m,), and how often each occurs, until the next are sorted."""
        out = self.sort(values)
        n = kernel.count_equal(out, out, self._mass)
        return out[:n], self._mass[:n]


def read_columns(table: Table, weights: np.ndarray, visit: Callable[[Column], None]) -> None:
    """Show the numeric columns to ``visit``, in threads; rows without weight are left out.

    A column is there for as long as it is visited.
    """
    rows = np.flatnonzero(weights > 0)
    mass = None if (weights[rows] == 1).all() else weights[rows]
    numeric = [k for k in range(table.n_features) if not table.is_categorical(k)]
    if table.sparse is not None:
        _read_sparse(table, weights, rows, mass is None, visit)
        return
    width = max(_AT_ONCE // max(table.n_rows, 1), _LEAST)

    def run(first: int, last: int) -> None:
        room, turned = SortingRoom(rows.size), np.empty((min(width, last - first), rows.size))
        for a in range(first, last, width):
            chosen = numeric[a : min(a + width, last)]
            block = table.block(_span(chosen))
            turned[: len(chosen)] = (block if rows.size == table.n_rows else block[rows]).T
            for k, values in zip(chosen, turned, strict=False):
                present = values == values
                if present.all():
                    visit(Column(k, values, mass, 0.0, False, room))
                else:
                    visit(Column(k, values[present], None if mass is None else mass[present], 0.0, True, room))

    over_chunks(run, len(numeric), width)


def _span(columns: list[int]) -> Any:
    """Columns as a slice, where they are neighbours: an array need not copy those."""
    together = bool(columns) and columns[-1] - columns[0] == len(columns) - 1
    return slice(columns[0], columns[-1] + 1) if together else columns


def _read_sparse(
    table: Table, weights: np.ndarray, rows: np.ndarray, unit: bool, visit: Callable[[Column], None]
) -> None:
    matrix = table.by_column().sparse
    total = float(weights.sum())

    def run(first: int, last: int) -> None:
        for k in range(first, last):
            stored = slice(matrix.indptr[k], matrix.indptr[k + 1])
            values, mass = np.asarray(matrix.data[stored], dtype=np.float64), weights[matrix.indices[stored]]
            counts = (mass > 0) & (values != 0)
            values, mass = values[counts], mass[counts]
            # A difference of fractions need not come out as the nothing that it stands for.
            zeros = max(total - float(mass.sum()), 0.0) if values.size < rows.size else 0.0
            present = values == values
            whole = bool(present.all())
            if not whole:
                values, mass = values[present], mass[present]
            visit(Column(k, values, None if unit else mass, zeros, not whole))

    over_chunks(run, table.n_features, 256)
