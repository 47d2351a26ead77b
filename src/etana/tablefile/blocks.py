"""Some rows of a table as they stand on disk, and as a :class:`etana.table.Table`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.table import Table

__all__ = ["MISSING", "Block", "to_table"]

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "None", "?"})


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
        if isinstance(block.columns[name], np.ndarray):
            columns.append(block.columns[name])
            continue
        cells = [None if c is None or c in MISSING else c for c in block.columns[name]] if block.text else (
            block.columns[name]
        )  # fmt: skip
        if numeric is None and name not in text:
            columns.append(_guess(cells))
        elif numeric is not None and name in numeric:
            columns.append(_numbers(cells, name, path, block))
        else:
            columns.append(np.array([*cells, None], dtype=object)[:-1])
    return Table(columns=columns, names=names)


def _guess(cells: list[Any]) -> np.ndarray:
    try:
        return np.array([np.nan if c is None else float(c) for c in cells], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([*cells, None], dtype=object)[:-1]


def _numbers(cells: list[Any], name: str, path: str, block: Block) -> np.ndarray:
    out = np.empty(len(cells))
    for r, cell in enumerate(cells):
        try:
            out[r] = np.nan if cell is None else float(cell)
        except (TypeError, ValueError):
            raise InputError(
                f"{path}, line {block.lines[r]}: {cell!r} in column {name!r} is not a number; "
                "correct it, or leave the cell empty if the value is missing"
            ) from None
    return out
