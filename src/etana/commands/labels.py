"""Tables with a column of class labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.tablefile import MISSING, Block, Spellings, read_columns

__all__ = ["as_classes", "check_labels", "evidence", "read_labelled"]


def read_labelled(
    data: str, target: str, ignore: Sequence[str] = (), missing: Sequence[str] = ()
) -> tuple[Block, list[Any]]:
    """A whole file, the column with the labels set apart.

    Columns that ``ignore`` names are left out; ``missing`` has further spellings of a missing value.
    """
    block = read_columns(data)
    names, spellings = evidence(list(block.columns), data, target, ignore), Spellings(missing)
    if not block.n_rows:
        raise InputError(f"{data} has a header but no rows; give a table with a row for each instance")
    spellings.check(block.columns, data)
    block = spellings.blank(block)
    labels = block.columns[target]
    check_labels(labels, block, target, data)
    return Block({name: block.columns[name] for name in names}, block.lines, block.text), labels


def evidence(columns: Sequence[str], path: str, target: str, ignore: Sequence[str]) -> list[str]:
    """The columns of a file that may be learnt from: all but the target and those to ignore."""
    if target not in columns:
        raise InputError(f"{path} has no column {target!r}; its columns are {', '.join(map(repr, columns))}")
    for name in ignore:
        if name == target:
            raise InputError(f"--ignore or --keep {name} is the column with the class labels, --target; name others")
        if name not in columns:
            apart = f"; name each by an option of its own: {_options(name)}" if "," in name else ""
            raise InputError(
                f"--ignore or --keep {name}: {path} has no such column{apart}; its columns are "
                f"{', '.join(map(repr, columns))}"
            )
    left = [name for name in columns if name != target and name not in ignore]
    if not left:
        raise InputError(f"{path} has no column left to learn from beside {target!r}; ignore fewer columns")
    return left


def _options(names: str) -> str:
    """The options for columns that were given in one, with commas between them."""
    return " ".join(f"--ignore {name.strip()}" for name in names.split(","))


def check_labels(labels: list[Any], block: Block, target: str, path: str) -> None:
    """Refuse a row without a label."""
    for r, label in enumerate(labels):
        if label is None or (block.text and label in MISSING):
            raise InputError(
                f"{path}, line {block.lines[r]}: the label in column {target!r} is missing; "
                "give it, or leave the row out"
            )


def as_classes(cells: list[Any]) -> np.ndarray:
    """Labels as integers if all of them are, else as text."""
    texts = [str(c).strip() for c in cells]
    try:
        numbers = [int(t) for t in texts]
    except ValueError:
        return np.array(texts)
    return np.array(numbers) if [str(n) for n in numbers] == texts else np.array(texts)
