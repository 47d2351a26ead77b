"""Columns that number the rows: they know where a row stands in its file, and nothing of a new one.

In a file that is sorted by class, or gathered class by class, a running number tells the class of every training row.
A column is taken for one if its numbers are whole, all different, and in step with the rows, that is rising or falling
from each row to the next; or, whatever the order of the rows, if it also has a name such as ``id`` or ``patient_id``.
Fewer than twenty rows say too little: three measured numbers may well rise.

Labels need no such test. Where they are as good as unique, :meth:`etana.likelihood.Counts.likelihoods` pools them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

import numpy as np

from etana.errors import IdentifierWarning, InputError
from etana.learning.odd_text import warn_of_text
from etana.table import Table

__all__ = ["LEAST_ROWS", "find_identifiers", "likely_identifiers", "resolve_identifiers", "warn_of_identifiers"]

LEAST_ROWS = 20
_FEW, _FIRST = 8, 64  # rows that rule most columns out, and nearly all
# "id" stands alone or ends the name as a word of its own; "paid" and "solid" do not count, "PatientID" does.
_WORD = re.compile(r"(^|[\W_])(id|index|row|rownum|rowid)$|^unnamed: 0$", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z](ID|Id)$")


def find_identifiers(table: Table) -> np.ndarray:
    """Columns whose numbers run with the rows, or that are called identifiers and tell every row apart."""
    if table.n_rows < LEAST_ROWS:
        return np.empty(0, dtype=np.int64)
    likely, named = likely_identifiers(table)
    return np.array([k for k in likely.tolist() if _numbers_rows(table, k, k in named)], dtype=np.int64)


def likely_identifiers(table: Table) -> tuple[np.ndarray, set[int]]:
    """Columns that the first rows do not rule out, and those among them that have the name of an identifier."""
    named = [k for k, name in enumerate(table.names or ()) if _says_so(name)]
    likely = np.union1d(_rising(table, np.arange(_FIRST)), np.array(named, dtype=np.int64)).astype(np.int64)
    return likely, set(named)


def _says_so(name: str) -> bool:
    return bool(_WORD.search(name) or _CAMEL.search(name))


def _rising(table: Table, first: np.ndarray) -> np.ndarray:
    """Numeric columns that rise, or fall, from row to row of the first ones."""
    if table.sparse is None:
        numeric = np.delete(np.arange(table.n_features), table.categorical)
    else:
        # A number for every row leaves at most one zero.
        numeric = np.flatnonzero(table.stored(np.ones(table.n_rows)) >= table.n_rows - 1)
    if not numeric.size:
        return numeric
    for rows in (first[:_FEW], first):
        part, found = table.rows(rows[rows < table.n_rows]), [numeric[:0]]
        for columns in np.array_split(numeric, max(numeric.size // 4096, 1)):
            with np.errstate(invalid="ignore"):  # of infinities, which are no numbers of rows
                steps = np.diff(part.block(columns), axis=0)
            found.append(columns[(steps > 0).all(axis=0) | (steps < 0).all(axis=0)])
        numeric = np.concatenate(found)
        if not numeric.size:
            break
    return numeric


def _numbers_rows(table: Table, column: int, named: bool) -> bool:
    if table.is_categorical(column):
        return False
    values = np.asarray(table.block([column]), dtype=np.float64)[:, 0]
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    steps = np.diff(np.sort(values) if named else values)
    return bool((steps > 0).all() or (steps < 0).all())


def resolve_identifiers(given: Any, table: Table) -> np.ndarray:
    """Columns that are no evidence: those that are given, or with ``"auto"`` those that are found, with a warning."""
    if not isinstance(given, str):
        return _given(given, table)
    warn_of_text(table)
    found = find_identifiers(table)
    warn_of_identifiers(found, table.names, stacklevel=6)
    return found


def warn_of_identifiers(found: np.ndarray, names: Sequence[str] | None, stacklevel: int) -> None:
    """Name the columns that are left out, if there are any, and what can be done about it."""
    if not found.size:
        return
    words = [repr(names[k] if names else k) for k in found.tolist()]
    warnings.warn(
        f"left out as numbers of rows: {', '.join(words[:5])}{', ...' if len(words) > 5 else ''}. Whole numbers that "
        "are all different and in step with the rows, or called an id, tell nothing about a new row. Drop them, or "
        "list them in identifiers=; if they were measured, identifiers=[] leaves no column out (on the command line: "
        "--ignore, and --identifiers none)",
        IdentifierWarning,
        stacklevel=stacklevel,
    )


def _given(given: Sequence[Any], table: Table) -> np.ndarray:
    names = {name: k for k, name in enumerate(table.names or ())}
    columns = []
    for one in given:
        whole = isinstance(one, int | np.integer) and not isinstance(one, bool)
        column = int(one) if whole else names.get(one, -1)
        if not 0 <= column < table.n_features:
            known = f"one of {short(list(names))}, or " if names else ""
            raise InputError(
                f"identifiers has {one!r}; it must be {known}a column index from 0 to {table.n_features - 1}"
            )
        columns.append(column)
    return np.unique(np.array(columns, dtype=np.int64))
