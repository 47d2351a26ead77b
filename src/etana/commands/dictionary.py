"""Descriptions of features, as they stand in a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etana.dictionary import FIELDS, Dictionary
from etana.errors import InputError
from etana.tablefile import MISSING, read_columns

__all__ = ["read_dictionary"]


def read_dictionary(path: str, ignore: Sequence[str] = ()) -> Dictionary:
    """A dictionary from a file with the column ``name`` and some of ``description, unit, lowest, highest, choices``.

    What it says of columns to ``ignore`` is passed over. Choices stand in one cell, ``value=words`` each or the value
    alone, with ``|`` or ``;`` between them.
    """
    block = read_columns(path)
    known = ("name", *FIELDS)
    for column in block.columns:
        if column not in known:
            raise InputError(f"{path} has a column {column!r}; it may have {', '.join(known)}")
    if "name" not in block.columns:
        raise InputError(f"{path} has no column 'name'; it must have it, and may have {', '.join(FIELDS)}")
    rows = [dict(zip(block.columns, cells, strict=True)) for cells in zip(*block.columns.values(), strict=True)]
    try:
        return Dictionary.of_rows([_read_row(row) for row in rows if row["name"] not in ignore])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_row(row: dict[str, Any]) -> dict[str, Any]:
    found = {key: cell for key, cell in row.items() if cell is not None and (key == "name" or cell not in MISSING)}
    if "choices" in found:
        found["choices"] = _read_choices(str(found["choices"]))
    return found


def _read_choices(cell: str) -> list[tuple[str, str]]:
    """``f=female | m=male`` as pairs."""
    parts = cell.split("|") if "|" in cell else cell.split(";")
    pairs = (part.partition("=") for part in parts if part.strip())
    return [(value.strip(), words.strip()) for value, _, words in pairs]
