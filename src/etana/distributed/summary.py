"""What the first pass over the data learns: enough to choose bins, and small enough to send around.

Under ``"uniform"`` and ``"published"`` bins that is the range of each column, which is exact. Under ``"quantile"`` and
``"supervised"`` it is a :class:`~etana.distributed.sketch.Sketch`. With bins that are given, only the labels matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from etana.distributed.blocks import Rows
from etana.distributed.columns import Column, read_columns
from etana.distributed.signs import Signs
from etana.distributed.sketch import Sketch, automatic_size
from etana.errors import InputError
from etana.table import Table

__all__ = ["MixedColumnsError", "Summary", "check_same_columns"]

NUMBERS, LABELS = 1, 2  # what a column was seen to hold; bits, so that both together are a contradiction


class MixedColumnsError(InputError):
    """Columns that hold numbers in some parts and text in others."""

    def __init__(self, message: str, columns: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.columns = list(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.columns)


@dataclass(frozen=True)
class Summary:
    """Labels, weights and columns of some rows.

    Attributes
    ----------
    n_features : int
    names : list of str, or None
    classes : array
        Labels seen, sorted.
    members : array of int
        How many rows have each of them.
    weight, squares : float
        Sums of the weights and of their squares.
    whole : bool
        Whether all weights are whole numbers.
    kinds : array (K,)
        NUMBERS, LABELS, both, or 0 where every value was missing.
    holes : array (K,) of bool
        Columns with missing values.
    levels : dict
        Labels seen in the categorical columns, by column index.
    low, high : arrays (K,)
        Range of the finite numbers.
    sketch : Sketch, or None
    signs : Signs
        Which columns may be no evidence.
    notes : object or None
        What readers of parts noted, merged.
    """

    n_features: int
    names: list[str] | None
    classes: np.ndarray
    members: np.ndarray
    weight: float
    squares: float
    whole: bool
    kinds: np.ndarray
    holes: np.ndarray
    levels: dict[int, set[Any]]
    low: np.ndarray
    high: np.ndarray
    sketch: Sketch | None
    signs: Signs
    notes: Any = None

    @classmethod
    def of(cls, rows: Rows, learn: str, size: int | str) -> Summary:
        """Summarise rows; ``learn`` is "labels", "ranges" or "ranks", ``size`` that of a sketch, or "auto"."""
        table, weights = rows.table, rows.weights
        n = table.n_features
        kinds, holes = np.zeros(n, dtype=np.int8), np.zeros(n, dtype=bool)
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        levels: dict[int, set[Any]] = {}
        sketch = None

        def look(column: Column) -> None:
            k = column.index
            kinds[k] = NUMBERS if column.values.size or column.zeros > 0 else 0
            holes[k] = column.has_missing
            low[k], high[k] = column.range()

        if learn == "ranks":
            sketch = Sketch.of(table, weights, automatic_size(n) if isinstance(size, str) else size, look)
        elif learn == "ranges":
            read_columns(table, weights, look)
        if learn != "labels":
            levels = _look_at_labels(table, np.flatnonzero(weights > 0), kinds, holes)
        whole = bool((weights == np.floor(weights)).all())
        classes, weight, squares = np.unique(rows.y), float(weights.sum()), float(weights @ weights)
        members = np.bincount(np.searchsorted(classes, rows.y), minlength=classes.size)
        return cls(
            n, table.names, classes, members, weight, squares, whole, kinds, holes, levels, low, high, sketch,
            Signs.of(table), rows.notes,
        )  # fmt: skip

    @classmethod
    def merge(cls, parts: Sequence[Summary]) -> Summary:
        """The summary of all rows together."""
        first = parts[0]
        if len(parts) == 1:
            return first
        for other in parts[1:]:
            check_same_columns((first.n_features, first.names), (other.n_features, other.names))
        levels: dict[int, set[Any]] = {}
        for part in parts:
            for k, labels in part.levels.items():
                levels.setdefault(k, set()).update(labels)
        sketches = [p.sketch for p in parts if p.sketch is not None]
        classes = join_classes(p.classes for p in parts)
        return cls(
            first.n_features, first.names, classes, np.sum([p.members_of(classes) for p in parts], axis=0),
            sum(p.weight for p in parts), sum(p.squares for p in parts), all(p.whole for p in parts),
            np.bitwise_or.reduce([p.kinds for p in parts]), np.logical_or.reduce([p.holes for p in parts]), levels,
            np.minimum.reduce([p.low for p in parts]), np.maximum.reduce([p.high for p in parts]),
            Sketch.merge(sketches) if sketches else None, Signs.merge([p.signs for p in parts]), _join_notes(parts),
        )  # fmt: skip

    def members_of(self, classes: np.ndarray) -> np.ndarray:
        """How many rows have each of these labels, sorted, which have all that were seen among them."""
        out = np.zeros(classes.size, dtype=np.int64)
        if self.classes.size:
            out[np.searchsorted(classes, self.classes)] = self.members
        return out

    @property
    def worth(self) -> float:
        """What weights are multiplied by so that a row counts one; see :func:`etana.likelihood.rows_worth`."""
        # Effective rows, weight^2 / squares, over the weight.
        return max(self.weight / self.squares, 1.0) if self.squares > 0 else 1.0

    def check_kinds(self) -> None:
        """Refuse columns that are numeric in some parts and categorical in others."""
        mixed = np.flatnonzero(self.kinds == NUMBERS | LABELS)
        if mixed.size:
            columns = [self.names[k] if self.names else int(k) for k in mixed]
            raise MixedColumnsError(
                f"column {columns[0]!r} holds numbers in some parts and text in others; give it one type in all parts "
                "(as text: column.astype(str))",
                columns,
            )


def _join_notes(parts: Sequence[Summary]) -> Any:
    notes = [part.notes for part in parts if part.notes is not None]
    return type(notes[0]).merge(notes) if notes else None


def _look_at_labels(table: Table, rows: np.ndarray, kinds: np.ndarray, holes: np.ndarray) -> dict[int, set[Any]]:
    """Labels of the categorical columns; fills in what the columns hold and whether some of it is missing."""
    levels = {}
    for k in table.categorical:
        levels[k] = set(table.levels(k, rows).tolist())
        kinds[k] = LABELS
        holes[k] = bool(np.isnan(table.block([k], {k: np.empty(0, dtype=object)})[rows, 0]).any())
    return levels


def join_classes(found: Iterable[np.ndarray]) -> np.ndarray:
    """All labels, sorted."""
    some = [c for c in found if c.size]
    return np.unique(np.concatenate(some)) if some else np.empty(0)


def check_same_columns(one: tuple[int, list[str] | None], other: tuple[int, list[str] | None]) -> None:
    """Refuse parts whose columns differ."""
    if one != other:
        seen = [short(names) if names else f"{n} columns" for n, names in (one, other)]
        raise InputError(f"a part has {seen[0]} and another {seen[1]}; give all parts the same columns in one order")
