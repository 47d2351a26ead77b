"""Tables with a column of class labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.errors import InputError
from etana.tablefile import MISSING, Block, read_columns

__all__ = ["as_classes", "check_labels", "read_labelled"]


def read_labelled(data: str, target: str) -> tuple[Block, list[Any]]:
    """A whole file, the column with the labels set apart."""
    block = read_columns(data)
    if target not in block.columns:
        raise InputError(f"{data} has no column {target!r}; its columns are {', '.join(map(repr, block.columns))}")
    if not block.n_rows:
        raise InputError(f"{data} has a header but no rows; give a table with a row for each instance")
    labels = block.columns.pop(target)
    check_labels(labels, block, target, data)
    return block, labels


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
