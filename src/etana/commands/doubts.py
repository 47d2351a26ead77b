"""What is perhaps not meant in a table that somebody learns from: cells, and class labels. Columns are judged where the
fit reads them, :mod:`etana.learning.identifiers`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from etana.errors import TableWarning
from etana.table import Table
from etana.tablefile import Block
from etana.tablefile.missing import is_missing

__all__ = ["count_spellings", "listed", "say_spellings", "warn_of_cells", "warn_of_labels"]

_MOST_NAMED = 5
_NEARLY_ALL = 0.9  # numbers among the cells of a column that was probably meant to hold numbers
_LEAST_NUMBERS = 10
_MANY, _SHARE = 20, 0.1  # numeric labels, and their share of the rows, from which on they are no classes
_TOO_MANY = 100  # whatever their share


def listed(words: Iterable[str]) -> str:
    """The first of some words."""
    words = list(words)
    return ", ".join(words[:_MOST_NAMED]) + (", ..." if len(words) > _MOST_NAMED else "")


def count_spellings(block: Block, table: Table) -> Counter[tuple[str, str]]:
    """How often each word stands for a missing value, by column; empty cells are nothing to speak of."""
    found: Counter[tuple[str, str]] = Counter()
    for k, name in enumerate(table.names or ()):
        cells = block.columns.get(name, ()) if block.text else ()
        if not len(cells):
            continue
        if table.is_categorical(k):
            empty = [cell for cell in cells if is_missing(cell)]
        else:
            empty = [cells[r] for r in np.flatnonzero(np.isnan(table.block([k])[:, 0]))]
        found.update((name, cell.strip()) for cell in empty if cell is not None and cell.strip())
    return found


def say_spellings(found: Counter[tuple[str, str]]) -> str:
    """The count in words."""
    each = (f"{n:,} {'cell' if n == 1 else 'cells'} {word!r} of {name!r}" for (name, word), n in found.most_common())
    return f"taken as missing: {listed(each)}"


def warn_of_cells(block: Block, table: Table, path: str) -> None:
    """Name cells that were taken as missing by what they say, and those that make text of a column of numbers."""
    found = count_spellings(block, table)
    if found:
        warnings.warn(say_spellings(found), TableWarning, stacklevel=2)
    for name in (table.names[k] for k in table.categorical if table.names and block.text):
        for line in _odd_ones(name, block, path):
            warnings.warn(line, TableWarning, stacklevel=2)


def _odd_ones(name: str, block: Block, path: str) -> Iterator[str]:
    """A column nearly all of whose cells are numbers, and those that are none."""
    present = [(r, c) for r, c in enumerate(block.columns[name]) if not is_missing(c)]
    odd = [(r, c) for r, c in present if not _is_number(c)]
    n = len(present) - len(odd)
    if n < max(_LEAST_NUMBERS, _NEARLY_ALL * len(present)):
        return
    where = listed(f"{cell!r} in line {block.lines[r]}" for r, cell in odd)
    are = "1 cell is none" if len(odd) == 1 else f"{len(odd):,} cells are none"
    yield (
        f"{path}: {name!r} holds {n:,} numbers, but {are} ({where}), so that all of the column is read as text; "
        f"correct them, or say that they are missing: --missing-values {odd[0][1]!r}"
    )


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def warn_of_labels(y: np.ndarray, target: str) -> None:
    """Say that there is one class only, or that the labels look like measurements."""
    labels = np.unique(y)
    if labels.size == 1:
        warnings.warn(
            f"{target!r} is {str(labels[0])!r} in every row: with one class there is nothing to tell apart, and "
            "nothing will be asked; check --target, or give rows of other classes",
            TableWarning,
            stacklevel=2,
        )
    many = labels.size > _MANY and (labels.size > _SHARE * y.size or labels.size >= _TOO_MANY)
    if many and all(map(_is_number, labels)):
        warnings.warn(
            f"{target!r} holds {labels.size:,} different numbers in {y.size:,} rows, and each is taken as a class of "
            "its own; if they were measured, make a few classes of them, such as low, normal and high",
            TableWarning,
            stacklevel=2,
        )
