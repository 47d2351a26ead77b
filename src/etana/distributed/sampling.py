"""Some rows of data that no machine holds, every class in proportion: what is chosen and judged is so on them.

The first pass counts the rows of each class. Of n rows, n_i of class i, a sample of s has s n_i / n of that class, but
at least a hundred (fewer where there are so many classes that these would be more than half of the sample), or all that
there are: what is rare is often what is dear. Rows that are there beyond their share weigh less, so that the class
keeps its share; all others weigh what they weighed.

In the second pass each row gets a key between 0 and 1, drawn by the seed, the number of its part and its place there,
and those of a class with the smallest keys are the sample. So few rows travel: a part keeps only those whose key is
below what the last one of the sample will hardly exceed. The same parts in the same order give the same sample, here or
on any number of machines; no more rows than the sample may have are all in it, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from etana.table import Table

__all__ = ["Drawn", "FittedRows", "Quotas", "SampleDraw", "join_tables"]

LEAST = 100  # rows of each class, if there are so many
_SLACK = 6.0  # standard deviations: one sample in a billion has a row too few


@dataclass(frozen=True)
class FittedRows:
    """How many rows a classifier was fitted on, and how many of them it was chosen and judged on.

    Attributes
    ----------
    n_rows : int
    n_sampled : int
    counted : bool
        Whether bins and counts are those of all rows; else all is learnt from the sample.
    """

    n_rows: int
    n_sampled: int
    counted: bool

    @property
    def words(self) -> str:
        """The same in a sentence."""
        if self.n_sampled == self.n_rows:
            return f"fitted on all {self.n_rows:,} rows"
        some = f"{self.n_sampled:,} of {self.n_rows:,} rows, every class among them"
        if self.counted:
            return f"chosen and judged on {some}; bins and counts are those of all rows"
        return f"fitted on {some}: what it learns cannot be added up from parts, as counts can"


class Quotas(NamedTuple):
    """Rows of each class that a sample has, int64 (N,), and what their weights are multiplied by, float64 (N,)."""

    rows: np.ndarray
    factors: np.ndarray

    @classmethod
    def of(cls, members: np.ndarray, most: int, least: int = LEAST) -> Quotas:
        """Shares of ``most`` rows for classes with so many members."""
        n = int(members.sum())
        if n <= most:
            return cls(members, np.ones(members.size))
        shares = members * (most / n)
        # However many classes there are, at most half as many rows come on top.
        rare = np.minimum(members, max(min(least, most // (2 * members.size)), 1))
        rows = np.where(shares < rare, rare, np.floor(shares + 0.5)).astype(np.int64)
        return cls(rows, np.where(shares < rare, shares / np.maximum(rows, 1), 1.0))

    def draw(self, members: np.ndarray, seed: int) -> SampleDraw:
        """How rows are drawn for a sample of these."""
        wanted = self.rows + _SLACK * np.sqrt(self.rows) + _SLACK**2
        # One more than any key where all are wanted.
        below = np.where(self.rows < members, wanted / np.maximum(members, 1), 2.0)
        return SampleDraw(seed, below)


class SampleDraw(NamedTuple):
    """A seed, and the key below which rows of each class are kept, (N,)."""

    seed: int
    below: np.ndarray

    def keys_of(self, part: int) -> np.random.Generator:
        """Gives the keys of a part's rows, one block after the other."""
        return np.random.default_rng([self.seed, part])

    def of(self, keys: np.ndarray, table: Table, codes: np.ndarray, weights: np.ndarray) -> Drawn:
        """The rows of a block that may be in the sample."""
        kept = np.flatnonzero(keys < self.below[codes])
        if kept.size == codes.size:
            return Drawn((table,), codes, weights, keys)
        return Drawn((table.rows(kept),), codes[kept], weights[kept], keys[kept])


class Drawn(NamedTuple):
    """Rows that may be in the sample, in their order: tables one after the other, and codes of the classes, weights and
    keys (n,) of all."""

    tables: tuple[Table, ...]
    codes: np.ndarray
    weights: np.ndarray
    keys: np.ndarray

    @classmethod
    def merge(cls, parts: Sequence[Drawn]) -> Drawn:
        """The rows of all parts."""
        every = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
        return cls(tuple(table for part in parts for table in part.tables), *every)

    def chosen(self, quotas: Quotas, labels: Sequence[int]) -> tuple[Table, np.ndarray, np.ndarray]:
        """The sample: table, codes and weights; ``labels`` are the columns that hold text in some part."""
        table, order = join_tables(self.tables, labels), np.lexsort((self.keys, self.codes))
        members = np.bincount(self.codes, minlength=quotas.rows.size)
        # Rows stand class by class, and within a class by their keys.
        places = np.arange(order.size) - np.repeat(np.cumsum(members) - members, members)
        kept = np.sort(order[places < quotas.rows[self.codes[order]]])
        codes, weights = self.codes[kept], self.weights[kept]
        some = table if kept.size == table.n_rows else table.rows(kept)
        return some, codes, weights * quotas.factors[codes]


def join_tables(tables: Sequence[Table], labels: Sequence[int] = ()) -> Table:
    """One table of the rows of several with the same columns, those in ``labels`` being text."""
    some = [table for table in tables if table.n_rows] or list(tables[:1])
    names = some[0].names
    if all(table.sparse is not None for table in some):
        return Table(sparse=sp.vstack([table.sparse for table in some], format="csr"))
    if all(table.dense is not None for table in some) and not labels:
        return Table(dense=np.concatenate([table.dense for table in some]), names=names)
    columns = [np.concatenate([_column(table, k, k in labels) for table in some]) for k in range(some[0].n_features)]
    return Table(columns=columns, names=names)


def _column(table: Table, k: int, as_labels: bool) -> np.ndarray:
    """A column as a table of columns holds it; one without any value says nothing of its kind."""
    if not as_labels:
        return np.asarray(table.block([k]), dtype=np.float64)[:, 0]
    if table.is_categorical(k):
        assert table._columns is not None
        return table._columns[k]
    numbers = table.block([k])[:, 0]
    out = np.empty(numbers.size, dtype=object)
    out[:] = [None if x != x else float(x) for x in numbers]
    return out
