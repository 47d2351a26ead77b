"""Quantiles of columns that no machine sees whole: summaries that merge.

A sketch of a column is a short list of values with weights, sorted. While a column has no more than ``size`` different
values it is simply the column, without error. A longer list is shortened: with W its weight, the scale of ranks 0..W is
cut into ``size`` cells of width W / size; of the values whose ranks end in one cell only the one that leaves the cell
stays, and takes over the weight of those below it. So weight moves upwards, by less than a cell::

    0  <=  rank(x) - estimate(x)  <=  error        rank(x) = weight of the values <= x

Merging lists adds their errors, and shortening the merged list adds at most W / size. Each level of a tree of merges
holds the weight of all rows once, so the error is at most (levels + 1) / size of the total, whatever the data are and
in whatever order they come. Each sketch carries the bound that holds for it, by column, which is often much smaller.
Nothing is drawn at random: the same parts in the same order give the same sketch.

The one-machine fit looks at up to 20,000 values of a column. A sketch of that size makes the same of them; it is taken
where the table has few enough columns (:func:`automatic_size`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from etana.binning import SAMPLE
from etana.distributed.columns import Column, read_columns
from etana.kernels import sketches as kernel
from etana.table import Table
from etana.threads import over_chunks

__all__ = ["Sketch", "automatic_size"]

_SIZE = 1024
_ROOM = 2**22  # values of all columns: 64 MiB with their weights

_Pairs = tuple[np.ndarray, np.ndarray, float]


def automatic_size(n_features: int) -> int:
    """As many values as the one-machine fit looks at, if there is room for so many of each column; 1,024 at least."""
    return max(_SIZE, min(SAMPLE, _ROOM // max(n_features, 1)))


@dataclass(frozen=True)
class Sketch:
    """Sorted values and weights of every column of a table, shortened to at most ``size`` each.

    Attributes
    ----------
    values, weights : arrays
        Those of column k are ``values[offsets[k]:offsets[k + 1]]``.
    offsets : array (K + 1,)
    errors : array (K,)
        By how much weight the rank of a value can be underestimated, at most.
    size : int

    Examples
    --------
    >>> import numpy as np
    >>> from etana.distributed import Sketch
    >>> from etana.table import read_table
    >>> parts = np.arange(40_000.0).reshape(4, 10_000, 1)
    >>> sketch = Sketch.merge([Sketch.of(read_table(part), np.ones(10_000), size=100) for part in parts])
    >>> sketch.values.size, bool(sketch.errors[0] <= 2 / 100 * 40_000)
    (100, True)
    """

    values: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    errors: np.ndarray
    size: int

    @classmethod
    def of(
        cls, table: Table, weights: np.ndarray, size: int, visit: Callable[[Column], None] = lambda column: None
    ) -> Sketch:
        """The sketch of a table, its categorical columns left out; ``visit`` sees each column that is read."""
        found: dict[int, _Pairs] = {}

        def run(column: Column) -> None:
            visit(column)
            found[column.index] = _shorten(*column.distinct(), size)

        read_columns(table, weights, run)
        return cls._join(found, table.n_features, size)

    @classmethod
    def merge(cls, sketches: Sequence[Sketch]) -> Sketch:
        """The sketch of all rows together; a single one stays as it is."""
        if len(sketches) == 1:
            return sketches[0]
        n, size = sketches[0].errors.size, sketches[0].size
        found: dict[int, _Pairs] = {}
        lengths = np.sum([np.diff(s.offsets) for s in sketches], axis=0)
        starts = np.concatenate(([0], np.cumsum(np.minimum(lengths, size))))
        out = np.empty((2, int(starts[-1])))

        def run(first: int, last: int) -> None:
            merge = _MergeRoom(int(lengths[first:last].max(initial=0)))
            for k in range(first, last):
                own = out[:, starts[k] : starts[k + 1]]
                m, error = merge([s.column(k) for s in sketches], size, own)
                found[k] = own[0, :m], own[1, :m], error + sum(float(s.errors[k]) for s in sketches)

        over_chunks(run, n, 64)
        return cls._join(found, n, size)

    def column(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and weights of one column."""
        chosen = slice(self.offsets[k], self.offsets[k + 1])
        return self.values[chosen], self.weights[chosen]

    def rank(self, k: int, x: float) -> float:
        """Estimated weight of the values of column k that are at most x: not too high, and too low by ``errors[k]``."""
        values, weights = self.column(k)
        return float(weights[: np.searchsorted(values, x, side="right")].sum())

    @classmethod
    def _join(cls, found: dict[int, _Pairs], n: int, size: int) -> Sketch:
        nothing = np.empty(0), np.empty(0), 0.0
        columns = [found.get(k, nothing) for k in range(n)]
        return cls(
            np.concatenate([np.empty(0), *(c[0] for c in columns)]),
            np.concatenate([np.empty(0), *(c[1] for c in columns)]),
            np.concatenate(([0], np.cumsum([c[0].size for c in columns], dtype=np.int64))),
            np.array([c[2] for c in columns]),
            size,
        )


class _MergeRoom:
    """Merges lists of up to so many values together, with room that is kept from column to column."""

    def __init__(self, most: int) -> None:
        self._side_by_side, self._merged = np.empty((2, most)), np.empty((2, most))

    def __call__(self, lists: Sequence[tuple[np.ndarray, np.ndarray]], size: int, out: np.ndarray) -> tuple[int, float]:
        """Fill ``out`` (2, .), values and weights; see :func:`etana.kernels.sketches.shorten`."""
        ends = np.cumsum([values.size for values, _ in lists])
        heads = np.concatenate(([0], ends[:-1]))
        for (values, weights), first, last in zip(lists, heads.tolist(), ends.tolist(), strict=True):
            self._side_by_side[0, first:last], self._side_by_side[1, first:last] = values, weights
        n = kernel.merge_sorted(*self._side_by_side, heads, ends, *self._merged)
        return kernel.shorten(*self._merged[:, :n], size, *out)


def _shorten(values: np.ndarray, weights: np.ndarray, size: int) -> _Pairs:
    """At most ``size`` of the values, and the largest weight that moved past a rank."""
    out = np.empty((2, min(size, values.size)))
    n, error = kernel.shorten(values, weights, size, *out)
    return out[0, :n], out[1, :n], float(error)
