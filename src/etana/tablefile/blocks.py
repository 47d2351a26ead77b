"""Some rows of a table as they stand on disk, and as a :class:`etana.table.Table`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.table import Table
from etana.tablefile.missing import is_missing, means_no_number

__all__ = ["Block", "to_table"]


@dataclass
class Block:
    """Some rows of a file: raw cells by column name, and where they stand."""

    columns: dict[str, Any]  # lists, or arrays of numbers with NaN for missing ones
    lines: Sequence[int]  # where each row begins: its line in a CSV file, its number otherwise
    text: bool  # whether cells are text that has to be read as numbers

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))


def to_table(
    block: Block, names: list[str], path: str, numeric: set[str] | None = None, text: Collection[str] = ()
) -> Table:
    """These columns of a block as a table.

    Columns in ``numeric`` must hold numbers; None decides by their content: a column is numeric if it can be and is not
    in ``text``.
    """
    columns = []
    for name in names:
        cells = block.columns[name]
        if isinstance(cells, np.ndarray):
            columns.append(cells)
            continue
        if not block.text:
            _check_kinds(cells, name, path)
        if numeric is None and name not in text:
            columns.append(_guess(cells, block.text))
        elif numeric is not None and name in numeric:
            columns.append(_numbers(cells, name, path, block))
        else:
            columns.append(_labels(cells, block.text))
    return Table(columns=columns, names=names)


def _check_kinds(cells: Sequence[Any], name: str, path: str) -> None:
    """Refuse what is neither a number nor text: a Parquet file may hold dates, lists and bytes."""
    odd = next((c for c in cells if not isinstance(c, str | int | float | Decimal | None)), None)
    if odd is not None:
        raise InputError(
            f"{path}: column {name!r} holds {str(odd)[:40]!r} of type {type(odd).__name__}, neither a number nor text; "
            "turn dates into numbers (days since a day that matters) and lists into columns of their own, or leave the "
            "column out (--ignore)"
        )


def _labels(cells: Sequence[Any], text: bool) -> np.ndarray:
    out = np.empty(len(cells), dtype=object)
    out[:] = [None if is_missing(c) else c for c in cells] if text else list(cells)
    return out


def _guess(cells: Sequence[Any], text: bool) -> np.ndarray:
    try:
        numbers = np.array([_number(c, text) for c in cells], dtype=np.float64)
    except (TypeError, ValueError):
        return _labels(cells, text)
    # Without a number among them, "unknown" and "none" are categories.
    only_words = text and bool(np.isnan(numbers).all()) and not all(map(is_missing, cells))
    return _labels(cells, text) if only_words else numbers


def _number(cell: Any, text: bool) -> float:
    try:
        return np.nan if cell is None else float(cell)
    except (TypeError, ValueError):
        if text and means_no_number(cell):
            return np.nan
        raise


def _numbers(cells: Sequence[Any], name: str, path: str, block: Block) -> np.ndarray:
    out = np.empty(len(cells))
    for r, cell in enumerate(cells):
        try:
            out[r] = _number(cell, block.text)
        except (TypeError, ValueError):
            raise InputError(
                f"{path}, line {block.lines[r]}: {cell!r} in column {name!r} is not a number; correct it, leave the "
                f"cell empty if the value is missing, or say that such cells are (--missing-values {cell!r})"
            ) from None
    return out
