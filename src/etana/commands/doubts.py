"""What is perhaps not meant in a table that somebody learns from: cells, and class labels. Columns are judged where the
fit reads them, :mod:`etana.learning.identifiers`.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etana.errors import TableWarning
from etana.table import Table
from etana.tablefile import Block
from etana.tablefile.missing import is_missing

__all__ = ["CellNotes", "listed", "warn_of_labels"]

_MOST_NAMED = 5
_NEARLY_ALL = 0.9  # numbers among the cells of a column that was probably meant to hold numbers
_LEAST_NUMBERS = 10
_DRESSED = re.compile(r"\s*[+-]?[$€£¥]?\s*[+-]?\d{1,3}(?:\d*|([, '’\u00a0\u202f]\d{3})*)([.,]\d+)?\s*[%$€£¥]?\s*")
_FIRST = 200  # cells of a column that tell whether it holds words
_MANY, _SHARE = 20, 0.1  # numeric labels, and their share of the rows, from which on they are no classes
_TOO_MANY = 100  # whatever their share


def listed(words: Iterable[str]) -> str:
    """The first of some words."""
    words = list(words)
    return ", ".join(words[:_MOST_NAMED]) + (", ..." if len(words) > _MOST_NAMED else "")


@dataclass
class CellNotes:
    """Cells that were taken as missing by what they say, and those that make text of a column of numbers.

    Gathered from blocks of a table, each on its own, and merged.

    Attributes
    ----------
    spelt : counts by column and word
        How often each word stood for a missing value; empty cells are nothing to speak of.
    numbers, others, dressed : counts by column
        Of columns that are read as text: cells that are numbers, cells that are something else, and those of them that
        are numbers with thousands, a currency, a per cent sign or a decimal comma: ``$1,200``.
    where : dict
        Of these columns, the first cells that are no numbers, each with its place in words.
    """

    spelt: Counter[tuple[str, str]] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    dressed: Counter[str] = field(default_factory=Counter)
    where: dict[str, list[tuple[Any, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: Block, table: Table, part: str = "") -> CellNotes:
        """What a block has, as it was read; ``part`` is the file, where there are several."""
        notes = cls()
        for k, name in enumerate(table.names or ()):
            cells = block.columns.get(name, ()) if block.text else ()
            if not len(cells):
                continue
            if table.is_categorical(k):
                empty = [cell for cell in cells if is_missing(cell)]
                notes._look_for_numbers(name, cells, block.lines, f" of {part}" if part else "")
            else:
                empty = [cells[r] for r in np.flatnonzero(np.isnan(table.block([k])[:, 0]))]
            notes.spelt.update((name, cell.strip()) for cell in empty if cell is not None and cell.strip())
        return notes

    def _look_for_numbers(self, name: str, cells: Sequence[Any], lines: Sequence[int], part: str) -> None:
        present = [r for r, cell in enumerate(cells) if not is_missing(cell)]
        first = [_is_number(cells[r]) for r in present[:_FIRST]]
        # Where the first cells are mostly words, the column is one of words; its other cells need not be read.
        others = present if 2 * sum(first) < len(first) else [r for r in present if not _is_number(cells[r])]
        self.numbers[name] += len(present) - len(others)
        self.others[name] += len(others)
        self.dressed[name] += sum(1 for r in others if _DRESSED.fullmatch(cells[r]))
        self.where[name] = [(cells[r], f"line {lines[r]}{part}") for r in others[: _MOST_NAMED + 1]]

    @classmethod
    def merge(cls, parts: Sequence[CellNotes]) -> CellNotes:
        """What all of them have."""
        whole = cls()
        for part in parts:
            whole.spelt += part.spelt
            whole.numbers += part.numbers
            whole.others += part.others
            whole.dressed += part.dressed
            for name, found in part.where.items():
                whole.where[name] = [*whole.where.get(name, ()), *found][: _MOST_NAMED + 1]
        return whole

    def warn(self, data: str) -> None:
        """Count and name them."""
        if self.spelt:
            warnings.warn(_say_spellings(self.spelt), TableWarning, stacklevel=2)
        for name, others in self.others.items():
            n, dressed = self.numbers[name], self.dressed[name]
            least = max(_LEAST_NUMBERS, _NEARLY_ALL * (n + others))
            if n >= least:
                warnings.warn(self._odd_ones(name, data), TableWarning, stacklevel=2)
            elif n + dressed >= least:
                warnings.warn(self._dressed_ones(name, data), TableWarning, stacklevel=2)

    def _dressed_ones(self, name: str, data: str) -> str:
        """A column of numbers that are written in another way than numbers are read."""
        cell, place = self.where[name][0]
        return (
            f"{data}: {name!r} holds numbers that are written as {cell!r} ({place}), so that the column is read as "
            "text, each of them a category; write plain numbers, 1200.5, without marks of thousands, money or per cent"
        )

    def _odd_ones(self, name: str, data: str) -> str:
        """A column nearly all of whose cells are numbers, and those that are none."""
        n, first = self.others[name], self.where[name]
        where = listed(f"{cell!r} in {place}" for cell, place in first)
        are = "1 cell is none" if n == 1 else f"{n:,} cells are none"
        return (
            f"{data}: {name!r} holds {self.numbers[name]:,} numbers, but {are} ({where}), so that all of the column is "
            f"read as text; correct them, or say that they are missing: --missing-values {first[0][0]!r}"
        )


def _say_spellings(found: Counter[tuple[str, str]]) -> str:
    each = (f"{n:,} {'cell' if n == 1 else 'cells'} {word!r} of {name!r}" for (name, word), n in found.most_common())
    return f"taken as missing: {listed(each)}"


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def warn_of_labels(labels: np.ndarray, n_rows: int, target: str) -> None:
    """Say that there is one class only, or that the labels, each given once, look like measurements."""
    if labels.size == 1:
        warnings.warn(
            f"{target!r} is {str(labels[0])!r} in every row: with one class there is nothing to tell apart, and "
            "nothing will be asked; check --target, or give rows of other classes",
            TableWarning,
            stacklevel=2,
        )
    many = labels.size > _MANY and (labels.size > _SHARE * n_rows or labels.size >= _TOO_MANY)
    if many and all(map(_is_number, labels)):
        warnings.warn(
            f"{target!r} holds {labels.size:,} different numbers in {n_rows:,} rows, and each is taken as a class of "
            "its own; if they were measured, make a few classes of them, such as low, normal and high",
            TableWarning,
            stacklevel=2,
        )
