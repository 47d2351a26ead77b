"""Values as they come in JSON, checked against a model and turned into what the model reads.

JSON has numbers, text, truth values and null. A numeric feature takes a finite number; a categorical one takes a value
of the kind its levels have, and one that is not among them is no evidence, as in a table. null is a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from reprlib import repr as short
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.service.models import Served
from etana.table import Table

__all__ = ["read_value", "to_tables"]

_CELLS = 2**22  # of one table
_PLAIN = frozenset((float, int, type(None)))


def read_value(served: Served, column: int, value: Any) -> Any:
    """A value as the model's case and tables take it; None if it is missing."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | str):
        raise _wrong(served, column, value, "a number, text, true, false, or null")
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(served, column, value, "finite, or null if it is not to be had")
    levels = served.model.levels.get(column)
    if levels is not None:
        return _level(served, column, levels, value)
    if isinstance(value, bool | str):
        raise _wrong(served, column, value, "a number, or null if it is not to be had")
    try:
        return float(value)
    except OverflowError:
        raise _wrong(served, column, value, "within the range of 64-bit numbers, or null") from None


def _level(served: Served, column: int, levels: np.ndarray, value: Any) -> Any:
    for level, written in zip(levels, served.categories(column) or (), strict=True):
        if written == value and _kind(written) == _kind(value):
            return level
    kinds = {_kind(v) for v in served.categories(column) or ()}
    if kinds and _kind(value) not in kinds:
        raise _wrong(served, column, value, f"{' or '.join(sorted(kinds))}, as {_some(served, column)}, or null")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    return "true or false" if isinstance(value, bool) else "a number"


def _some(served: Served, column: int) -> str:
    return short((served.categories(column) or [])[:6])


def _wrong(served: Served, column: int, value: Any, wanted: str) -> InputError:
    return InputError(f"the value of {served.features[column]!r} is {short(value)}; it must be {wanted}")


def to_tables(served: Served, rows: Sequence[Any]) -> list[Table]:
    """Rows as tables of the model's columns, each table small enough to hold in memory.

    Only columns that can be asked for are filled; the others share one empty column, so that a short request cannot
    make a model with a million columns take a million columns of memory.
    """
    needed = served.model.columns.tolist()
    size = max(_CELLS // max(len(needed), 1), 1)
    return [_to_table(served, needed, rows[a : a + size], a) for a in range(0, len(rows), size)]


def _to_table(served: Served, needed: list[int], rows: Sequence[Any], first: int) -> Table:
    n, levels = len(rows), served.model.levels
    columns: list[np.ndarray] = [np.full(n, np.nan)] * len(served.features)
    numbers = None if levels else _numbers(served, needed, rows)
    if numbers is not None:
        for c, k in enumerate(needed):
            columns[k] = numbers[:, c]
        return Table(columns=columns, names=served.model.names)
    for k in needed:
        columns[k] = np.full(n, None, dtype=object) if k in levels else np.full(n, np.nan)
    filled = set(needed)
    for r, row in enumerate(rows):
        for k, given in _cells(served, row, first + r):
            try:
                value = read_value(served, k, given)
            except InputError as error:
                raise InputError(f"row {first + r}: {error}") from None
            if k in filled and value is not None:
                columns[k][r] = value
    return Table(columns=columns, names=served.model.names)


def _numbers(served: Served, needed: list[int], rows: Sequence[Any]) -> np.ndarray | None:
    """The needed columns, if all that was sent is finite numbers and nulls: what nearly every batch is, read fast.

    Returns None for anything else, which is then looked at value by value, and refused with its place.
    """
    n, names, known = len(served.features), [served.features[k] for k in needed], served.columns.keys()
    picked = []
    try:
        for row in rows:
            if type(row) is list and len(row) == n:
                values, chosen = row, [row[k] for k in needed]
            elif type(row) is dict and row.keys() <= known:
                values, chosen = list(row.values()), [row.get(name) for name in names]
            else:
                return None
            # One infinite or undefined value makes the sum so; a sum that overflows only costs the fast way.
            if not _PLAIN.issuperset(map(type, values)) or not math.isfinite(sum(filter(None, values))):
                return None
            picked.append(chosen)
        return np.array(picked, dtype=np.float64).reshape(len(rows), len(needed))
    except OverflowError:
        return None


def _cells(served: Served, row: Any, number: int) -> Any:
    """Column and value of what a row holds."""
    if isinstance(row, Mapping):
        known = served.columns
        for name in row:
            if name not in known:
                raise InputError(
                    f"row {number}: {short(name)} is not a feature of model {served.name}; "
                    f"its features are {short(served.features)}"
                )
        return ((known[name], value) for name, value in row.items())
    if not isinstance(row, list | tuple):
        raise InputError(
            f"row {number} is {short(row)}; it must be an object by feature names, or a list of all columns"
        )
    if len(row) != len(served.features):
        raise InputError(
            f"row {number} has {len(row)} values and the model {len(served.features)} features; give one value for "
            "each, or an object with the names of those you have"
        )
    return enumerate(row)
