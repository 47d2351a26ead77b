"""Signs that a column numbers the rows, or holds text that rows do not share, gathered from blocks of rows.

The rules are those of :mod:`etana.learning.identifiers` and :mod:`etana.learning.odd_text`. Blocks are merged in the
order of the rows. That the numbers of a column *called* an identifier differ is seen within each block, and between
blocks where they rise or fall; numbers in any order are believed to differ between blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.learning.identifiers import LEAST_ROWS, likely_identifiers
from etana.learning.odd_text import are_dates, are_different
from etana.table import Table

__all__ = ["Signs"]

_ANY = 2  # a column that is called an identifier, its numbers different but in no order


@dataclass(frozen=True)
class Signs:
    """What some rows say.

    Attributes
    ----------
    n_rows : int
    columns : array
        Columns that may number the rows, sorted.
    first, last : arrays
        Their numbers in the first row and in the last.
    steps : array
        1 if they rise, -1 if they fall, 0 if there is one row, 2 if they are only different.
    named : array of bool
        Whether they are called identifiers.
    present : dict
        Rows that have a label, by column of text.
    """

    n_rows: int
    columns: np.ndarray
    first: np.ndarray
    last: np.ndarray
    steps: np.ndarray
    named: np.ndarray
    present: dict[int, int]

    @classmethod
    def of(cls, table: Table) -> Signs:
        """The signs of a block."""
        present = {k: int((~np.isnan(table.block([k], {k: np.empty(0, dtype=object)}))).sum())
                   for k in table.categorical}  # fmt: skip
        likely, named = likely_identifiers(table) if table.n_rows else (np.empty(0, dtype=np.int64), set())
        kept = [(k, *run) for k in likely.tolist() if (run := _run(table, k, k in named)) is not None]
        found = np.array(kept, dtype=np.float64).reshape(-1, 4)
        columns = found[:, 0].astype(np.int64)
        called = np.isin(columns, np.array(sorted(named), dtype=np.int64))
        return cls(table.n_rows, columns, found[:, 1], found[:, 2], found[:, 3].astype(np.int8), called, present)

    @classmethod
    def merge(cls, parts: Sequence[Signs]) -> Signs:
        """The signs of blocks that follow one another."""
        some = [part for part in parts if part.n_rows] or [parts[0]]
        whole = some[0]
        for part in some[1:]:
            whole = whole._and(part)
        present: dict[int, int] = {}
        for part in some:
            for k, n in part.present.items():
                present[k] = present.get(k, 0) + n
        return cls(whole.n_rows, whole.columns, whole.first, whole.last, whole.steps, whole.named, present)

    def _and(self, then: Signs) -> Signs:
        columns, mine, others = np.intersect1d(self.columns, then.columns, return_indices=True)
        one, two, named = self.steps[mine], then.steps[others], self.named[mine]
        between = np.sign(then.first[others] - self.last[mine]).astype(np.int8)
        in_step = (between != 0) & np.isin(one * between, (0, 1)) & np.isin(two * between, (0, 1))
        steps = np.where(in_step, between, _ANY).astype(np.int8)
        kept = in_step | (named & (between != 0))
        return Signs(
            self.n_rows + then.n_rows, columns[kept], self.first[mine][kept], then.last[others][kept], steps[kept],
            named[kept], {},
        )  # fmt: skip

    def identifiers(self) -> np.ndarray:
        """Columns that number the rows."""
        return self.columns if self.n_rows >= LEAST_ROWS else np.empty(0, dtype=np.int64)

    def dates(self, levels: Mapping[int, set[Any]]) -> list[int]:
        """Columns of dates, by the labels of all text columns."""
        return [k for k in sorted(levels) if self.n_rows >= LEAST_ROWS and are_dates(levels[k])]

    def free_text(self, levels: Mapping[int, set[Any]]) -> list[int]:
        """Columns with a label of its own for most rows."""
        return [k for k in sorted(levels) if are_different(len(levels[k]), self.present.get(k, 0))]


def _run(table: Table, column: int, named: bool) -> tuple[float, float, int] | None:
    """First and last number of a column and its step; None if it cannot number the rows."""
    if table.is_categorical(column):
        return None
    values = np.asarray(table.block([column]), dtype=np.float64)[:, 0]
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return None
    steps = np.diff(values)
    for step in (1, -1):
        if (step * steps > 0).all():
            return values[0], values[-1], step if steps.size else 0
    different = named and np.unique(values).size == values.size
    return (values[0], values[-1], _ANY) if different else None
