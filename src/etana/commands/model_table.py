"""A table on disk with the columns of a model, in the model's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.errors import InputError
from etana.model import Model
from etana.table import Table, plain_value
from etana.tablefile import Block, read_columns, to_table

__all__ = ["as_table", "read_true_labels"]


def as_table(model: Model, block: Block, path: str, every: bool = False) -> Table:
    """A block with the model's columns in the model's order.

    Columns that the model does not know are passed over. Only columns that can be asked for must be there and are
    read, unless ``every`` column is wanted; the others are taken as missing.
    """
    names = model.column_names
    needed = [names[k] for k in np.sort(model.columns)]
    absent = [name for name in needed if name not in block.columns]
    if absent:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, absent[:5]))}{', ...' if len(absent) > 5 else ''}, which the "
            f"model can ask for; it has {', '.join(map(repr, list(block.columns)[:8]))}"
        )
    wanted = set(block.columns if every else needed)
    filler: list[Any] = [None] * block.n_rows
    cells = {name: block.columns[name] if name in wanted else filler for name in names}
    numeric = {name for k, name in enumerate(names) if k not in model.levels}
    return to_table(Block(cells, block.lines, block.text), names, path, numeric)


def read_true_labels(model: Model, data: str, target: str | None) -> tuple[Table, np.ndarray]:
    """A whole file as the model's table and the true labels, in the type of the model's classes.

    Without a target, it is the one column that the model does not know.
    """
    block = read_columns(data)
    if target is None:
        others = [name for name in block.columns if name not in set(model.column_names)]
        if len(others) != 1:
            raise InputError(
                f"{data} has {len(others)} columns that are no features of the model; "
                "name the one with the labels: --target COLUMN"
            )
        target = others[0]
    if target not in block.columns:
        raise InputError(f"{data} has no column {target!r}; its columns are {', '.join(map(repr, block.columns))}")
    if not block.n_rows:
        raise InputError(f"{data} has a header but no rows; a report needs rows with known labels")
    known = {str(plain_value(c)): c for c in model.classes}
    known |= {str(float(c)): c for c in model.classes if model.classes.dtype.kind in "iuf"}
    labels = []
    for r, cell in enumerate(block.columns[target]):
        if str(cell) not in known:
            raise InputError(
                f"{data}, line {block.lines[r]}: the label {cell!r} is not among the model's classes "
                f"{[plain_value(c) for c in model.classes]}"
            )
        labels.append(known[str(cell)])
    return as_table(model, block, data, every=True), np.array(labels, dtype=model.classes.dtype)
