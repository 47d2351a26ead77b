"""How a cell says that there is no value.

Some spellings mean it wherever they stand (:data:`MISSING`). Others are good categories, ``unknown`` or ``-`` say, and
mean it only in a column whose other cells are numbers (:func:`means_no_number`). A user adds spellings of their own,
for all columns or for one: ``-9``, ``glucose=0``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.errors import InputError

if TYPE_CHECKING:
    from etana.tablefile.blocks import Block

__all__ = ["MISSING", "Spellings", "is_missing", "means_no_number"]

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "NaT", "NULL", "null", "None", "?"}
)
_AMONG_NUMBERS = frozenset(
    {
        "-", "--", "---", "–", "—", ".", "..", "na", "n.a.", "n.d.", "nd", "nil", "none", "unknown", "missing",
        "not available", "#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!",
    }
)  # fmt: skip


def is_missing(cell: Any) -> bool:
    """Whether a cell of a text file holds no value, whatever its column."""
    return cell is None or cell in MISSING or cell.strip() in MISSING


def means_no_number(cell: Any) -> bool:
    """Whether a cell holds no value if its column is one of numbers."""
    return is_missing(cell) or cell.strip().lower() in _AMONG_NUMBERS


class Spellings:
    """Cells that a user declares missing, in all columns or in one.

    A spelling that reads as a number stands for every cell of that value: ``-9`` for ``-9.0`` too.

    Parameters
    ----------
    given : texts
        Each a spelling, or ``column=spelling``.

    Examples
    --------
    >>> from etana.tablefile import Block, Spellings
    >>> block = Block({"glucose": ["0", "148"], "pregnancies": ["0", "-9"]}, [2, 3], True)
    >>> Spellings(["-9", "glucose=0"]).blank(block).columns
    {'glucose': [None, '148'], 'pregnancies': ['0', None]}
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._given = list(given)

    def check(self, columns: Iterable[str], path: str) -> None:
        """Refuse a column that the file does not have."""
        known = set(columns)
        for text in self._given:
            name, equals, _ = text.rpartition("=")
            if equals and name not in known:
                raise InputError(
                    f"--missing-values {text}: {path} has no column {name!r}; give a spelling, or one of a column: "
                    "glucose=0"
                )

    def among(self, columns: Iterable[str]) -> list[str]:
        """Those that count in some of these columns."""
        known = set(columns)
        return [text for text in self._given if (name := text.rpartition("=")[0]) in known or not name]

    def blank(self, block: Block) -> Block:
        """The block without the cells that are declared missing."""
        if not self._given:
            return block
        columns = {name: _without(cells, self._of(name)) for name, cells in block.columns.items()}
        return replace(block, columns=columns)

    def _of(self, column: str) -> set[Any]:
        """The spellings that count in a column: as text, and as the number that they read as."""
        words = [text.rpartition("=") for text in self._given]
        spelt = {word.strip() for name, equals, word in words if not equals or name == column}
        return spelt | {number for word in spelt if (number := _number(word)) is not None}


def _without(cells: Any, spelt: set[Any]) -> Any:
    if isinstance(cells, np.ndarray):
        numbers = [word for word in spelt if isinstance(word, float)]
        return np.where(np.isin(cells, numbers), np.nan, cells)
    return [None if cell in spelt or _number(cell) in spelt or _stripped(cell) in spelt else cell for cell in cells]


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def _number(cell: Any) -> float | None:
    try:
        return None if cell is None else float(cell)
    except (TypeError, ValueError):
        return None
