"""Text columns that are no categories: dates, and text that is different in nearly every row.

Each of their values is a label of its own, and a label that hardly two rows share says nothing about a new row. They
are read all the same; whoever fits is told of them. Fewer than twenty rows say too little.
"""

from __future__ import annotations

import re
import warnings

import numpy as np

from etana.errors import TableWarning
from etana.table import Table

__all__ = ["find_dates", "find_free_text", "warn_of_text"]

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
    return [k for k in table.categorical if _are_dates(table.levels(k))]


def _are_dates(labels: np.ndarray) -> bool:
    like = sum(1 for label in labels if isinstance(label, str) and _DATE.fullmatch(label))
    return bool(labels.size) and like >= _DATES * labels.size


def find_free_text(table: Table) -> list[int]:
    """Text columns with a label of its own for most rows: names, remarks, identifiers that are no numbers."""
    return [k for k in table.categorical if _are_different(table, k)]


def _are_different(table: Table, column: int) -> bool:
    labels = table.levels(column)
    if labels.size < _LEAST_ROWS * _DIFFERENT:
        return False
    present = int(np.isfinite(table.block([column], {column: labels})).sum())
    return present >= _LEAST_ROWS and labels.size > _DIFFERENT * present


def warn_of_text(table: Table) -> None:
    """Name the columns of dates and of free text, and what can be done about each."""
    dates = find_dates(table)
    texts = [k for k in find_free_text(table) if k not in dates]
    for columns, what, cure in (
        (dates, "dates, each a label of its own", "turn them into numbers (days since a day that matters)"),
        (texts, "text that is different in most rows", "make categories or numbers of what matters in it"),
    ):
        if columns:
            names = [repr(table.names[k] if table.names else k) for k in columns]
            more = ", ..." if len(names) > _MOST_NAMED else ""
            warnings.warn(
                f"{', '.join(names[:_MOST_NAMED])}{more}: {what}, which says next to nothing about a new row; {cure}, "
                "or leave the column out (--ignore)",
                TableWarning,
                stacklevel=6,
            )
