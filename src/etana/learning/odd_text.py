"""Text columns that are no categories: dates, and text that is different in nearly every row.

Each of their values is a label of its own, and a label that hardly two rows share says nothing about a new row. They
are read all the same; whoever fits is told of them. Fewer than twenty rows say too little.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from etana.errors import TableWarning
from etana.table import Table

__all__ = ["are_dates", "are_different", "find_dates", "find_free_text", "name_text", "warn_of_text"]

_LEAST_ROWS = 20
_MOST_NAMED = 5
_DATES = 0.9  # share of the labels of a column of dates that look like dates: some cells hold words
_DIFFERENT = 0.5  # more labels than this share of the rows, and hardly two rows share one
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    r"|\d{1,2}[ -][A-Za-z]{3,9}\.?,?[ -]\d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})([T ]+\d{1,2}:\d{2}.*)?\s*"
)


def find_dates(table: Table) -> list[int]:
    """Text columns whose labels look like dates, with or without a time of the day."""
    if table.n_rows < _LEAST_ROWS:
        return []
    return [k for k in table.categorical if are_dates(table.levels(k))]


def are_dates(labels: Collection[Any]) -> bool:
    """Whether the labels of a column look like dates."""
    like = sum(1 for label in labels if isinstance(label, str) and _DATE.fullmatch(label))
    return bool(len(labels)) and like >= _DATES * len(labels)


def find_free_text(table: Table) -> list[int]:
    """Text columns with a label of its own for most rows: names, remarks, identifiers that are no numbers."""
    return [k for k in table.categorical if _is_different(table, k)]


def _is_different(table: Table, column: int) -> bool:
    labels = table.levels(column)
    if labels.size < _LEAST_ROWS * _DIFFERENT:
        return False
    return are_different(labels.size, int(np.isfinite(table.block([column], {column: labels})).sum()))


def are_different(n_labels: int, n_present: int) -> bool:
    """Whether hardly two of the rows that have a label share it."""
    return n_present >= _LEAST_ROWS and n_labels > _DIFFERENT * n_present


def warn_of_text(table: Table) -> None:
    """Name the columns of dates and of free text, and what can be done about each."""
    name_text(find_dates(table), find_free_text(table), table.names, stacklevel=7)


def name_text(dates: Sequence[int], texts: Sequence[int], all_names: Sequence[str] | None, stacklevel: int) -> None:
    """The same for columns that are found already; dates are no free text."""
    texts = [k for k in texts if k not in dates]
    for columns, what, cure in (
        (dates, "dates, each a label of its own", "turn them into numbers (days since a day that matters)"),
        (texts, "text that is different in most rows", "make categories or numbers of what matters in it"),
    ):
        if columns:
            names = [repr(all_names[k] if all_names else k) for k in columns]
            more = ", ..." if len(names) > _MOST_NAMED else ""
            warnings.warn(
                f"{', '.join(names[:_MOST_NAMED])}{more}: {what}, which says next to nothing about a new row; {cure}, "
                "or leave the column out (--ignore)",
                TableWarning,
                stacklevel=stacklevel,
            )
