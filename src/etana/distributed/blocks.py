"""From what a user hands in to parts, and from a part to checked rows.

A *part* is what one task works on: a block ``(X, y)`` or ``(X, y, sample_weight)``, a function that returns one, or an
object whose method ``blocks(labels)`` yields some, with the columns named in ``labels`` read as text, each perhaps with
notes of what was met while it was read (:class:`Noted`). Dask collections
become a list of lazy parts, one for each chunk or partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from etana.errors import InputError
from etana.table import Table, check_labels, plain_value, read_table

__all__ = ["BlockSource", "Noted", "Rows", "encode", "read_part", "read_source"]


class Rows(NamedTuple):
    """A block that was checked."""

    table: Table
    y: np.ndarray
    weights: np.ndarray
    notes: Any = None


class Noted(NamedTuple):
    """A block with notes of its reader: an object whose class has ``merge(notes)``."""

    table: Table
    y: np.ndarray
    notes: Any


@dataclass(frozen=True)
class BlockSource:
    """The parts of a data set, and what is known of its columns before any is read."""

    parts: Sequence[Any]
    lazy: bool  # whether Dask is to run the tasks
    n_features: int | None = None
    names: list[str] | None = None


def read_part(part: Any, labels: frozenset[str]) -> Iterator[Rows]:
    """The blocks of a part, checked."""
    if hasattr(part, "blocks"):
        for block in part.blocks(labels):
            if isinstance(block, Noted):
                yield _read_block(block[:2])._replace(notes=block.notes)
            else:
                yield _read_block(block)
    else:
        yield _read_block(part() if callable(part) else part)


def _read_block(block: Any) -> Rows:
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise InputError(f"a block is of type {type(block).__name__}; it must be (X, y) or (X, y, sample_weight)")
    X, y, *weights = block
    table = read_table(X)
    check_labels(y)
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0), warn=True)
    if len(y) != table.n_rows:
        raise InputError(f"X has {table.n_rows} rows and y has {len(y)} labels; give one label per row")
    given = weights[0] if weights else None
    if given is None or not len(y):
        return Rows(table, y, np.ones(len(y)))
    return Rows(table, y, _check_sample_weight(given, y, dtype=np.float64, ensure_non_negative=True))


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels among sorted classes."""
    if not y.size:
        return np.empty(0, dtype=np.int64)
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if unknown.size:
        raise InputError(
            f"y has the label {plain_value(y[unknown[0]])!r}, which is not among the classes {classes.tolist()}; "
            "name all of them: classes=..."
        )
    return codes


def read_source(X: Any, y: Any, weights: Any) -> BlockSource:
    """The parts of whatever was handed in; nothing is computed."""
    kind = _kind(X)
    if kind == "array":
        return _read_array(X, y, weights)
    if kind == "frame":
        return _read_frame(X, y, weights)
    if not isinstance(X, list | tuple):
        raise InputError(
            f"X is of type {type(X).__name__}; it must be a Dask array or data frame, or a list of blocks (X, y), each "
            "of them delayed, at hand, or a function that returns it (data are read twice, so a generator will not do)"
        )
    if y is not None or weights is not None:
        raise InputError("blocks bring their own labels: give (X, y) or (X, y, sample_weight) in the list, and no y")
    if not X:
        raise InputError("the list of blocks is empty; give at least one (X, y)")
    return BlockSource(X, any(_is_lazy(part) for part in X))


def _kind(X: Any) -> str:
    """Which Dask collection this is, without importing Dask for those who do not use it."""
    if not hasattr(X, "__dask_graph__"):
        return "other"
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return "frame"
    return "array" if hasattr(X, "map_blocks") and hasattr(X, "chunks") else "other"


def _is_lazy(part: Any) -> bool:
    items = part if isinstance(part, tuple | list) else [part]
    return any(hasattr(item, "__dask_graph__") for item in items)


def _read_array(X: Any, y: Any, weights: Any) -> BlockSource:
    if X.ndim != 2:
        raise InputError(f"X is a Dask array with {X.ndim} dimensions; it must have 2, rows and columns")
    if len(X.chunks[1]) != 1:
        raise InputError(
            f"X is cut into {len(X.chunks[1])} chunks of columns; a chunk must hold whole rows: X.rechunk({{1: -1}})"
        )
    blocks = X.to_delayed().ravel().tolist()
    columns = [_beside(X, y, "y"), _beside(X, weights, "sample_weight")]
    width = X.shape[1]
    return BlockSource(_zip(blocks, columns), True, None if np.isnan(width) else int(width))


def _beside(X: Any, column: Any, what: str) -> list[Any] | None:
    """The pieces of a column that stand beside the row chunks of X."""
    if column is None:
        return None
    rows = X.chunks[0]
    if _kind(column) != "array":
        column = _as_dask(column, rows, what)
    if not np.isnan([*rows, *column.chunks[0]]).any():
        if column.shape[0] != X.shape[0]:
            raise InputError(f"X has {X.shape[0]} rows and {what} has {column.shape[0]}; give one per row")
        column = column.rechunk((rows, *column.chunks[1:]))
    if len(column.chunks[0]) != len(rows):
        raise InputError(
            f"X has {len(rows)} chunks of rows and {what} has {len(column.chunks[0])}; cut both alike, or call "
            "compute_chunk_sizes() on both"
        )
    return column.to_delayed().ravel().tolist()


def _as_dask(column: Any, rows: tuple[float, ...], what: str) -> Any:
    import dask.array as da

    if hasattr(column, "to_dask_array"):
        return column.to_dask_array()
    if np.isnan(rows).any():
        raise InputError(f"{what} is at hand, but the chunks of X have unknown lengths; X.compute_chunk_sizes() first")
    return da.from_array(np.asarray(column), chunks=-1)


def _read_frame(X: Any, y: Any, weights: Any) -> BlockSource:
    if isinstance(y, str):
        if y not in X.columns:
            raise InputError(f"y is {y!r}, but X has no such column; its columns are {list(X.columns)}")
        X, y = X.drop(columns=[y]), X[y]
    columns = []
    for column, what in ((y, "y"), (weights, "sample_weight")):
        if column is not None and getattr(column, "npartitions", None) != X.npartitions:
            raise InputError(
                f"X is a Dask data frame with {X.npartitions} partitions, and {what} is {_shape(column)}; it must be a "
                "Dask series with the same partitions" + (", or the name of a column of X" if what == "y" else "")
            )
        columns.append(None if column is None else column.to_delayed())
    named = all(isinstance(c, str) for c in X.columns)
    return BlockSource(_zip(X.to_delayed(), columns), True, len(X.columns), list(X.columns) if named else None)


def _shape(column: Any) -> str:
    parts = getattr(column, "npartitions", None)
    return f"of type {type(column).__name__}" + ("" if parts is None else f" with {parts} partitions")


def _zip(blocks: list[Any], columns: list[list[Any] | None]) -> list[tuple[Any, ...]]:
    labels, weights = columns
    if labels is None:
        raise InputError("y is None; pass the class labels as well")
    return list(zip(blocks, labels, weights or [None] * len(blocks), strict=True))
