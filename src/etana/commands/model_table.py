"""A table on disk with the columns of a model, in the model's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.model import Model
from etana.table import Table, plain_value
from etana.tablefile import Block, Spellings, read_columns, to_table
from etana.walks import Acquisition

__all__ = ["as_table", "blanked", "check_asked", "read_true_labels"]


def blanked(model: Model, block: Block, path: str, missing: Sequence[str] = ()) -> Block:
    """The block without cells that mean a missing value: by the spellings that are given, else by those that the model
    was fitted with."""
    if not missing:
        return Spellings(model.dictionary.missing).blank(block)
    spellings = Spellings(missing)
    spellings.check(block.columns, path)
    return spellings.blank(block)


def as_table(model: Model, block: Block, path: str, every: bool = False) -> Table:
    """A block with the model's columns in the model's order.

    Columns that the model does not know are passed over. Only columns that can be asked for are read, unless ``every``
    column is wanted; the others are taken as missing. Columns that the model expects to ask of no row need not be
    there: see :func:`check_asked`.
    """
    names = model.column_names
    needed = [names[k] for k in np.sort(model.columns)]
    absent = [name for name in needed if name not in block.columns]
    if absent and not every:
        absent = [name for name in absent if name not in _idle(model)]
    if absent:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, absent[:5]))}{', ...' if len(absent) > 5 else ''}, which the "
            f"model can ask for; it has {', '.join(map(repr, list(block.columns)[:8]))}"
        )
    wanted = block.columns.keys() if every else block.columns.keys() & set(needed)
    filler: list[Any] = [None] * block.n_rows
    cells = {name: block.columns[name] if name in wanted else filler for name in names}
    numeric = {name for k, name in enumerate(names) if k not in model.levels}
    return to_table(Block(cells, block.lines, block.text), names, path, numeric)


def _idle(model: Model) -> set[str]:
    """Columns that the model expects to ask of no row."""
    return {model.column_names[one.column] for one in model.questions() if one.chance == 0.0}


def check_asked(model: Model, block: Block, walk: Acquisition, path: str) -> None:
    """Refuse a table if a row was asked for a column that is not there: what no row was expected to be asked, some row
    may be after all."""
    absent = [k for k in model.columns.tolist() if model.column_names[k] not in block.columns]
    for i in range(len(walk)) if absent else ():
        lacking = np.intersect1d(walk.features(i), absent)
        if lacking.size:
            raise InputError(
                f"{path}, line {block.lines[i]}: {model.column_names[lacking[0]]!r} is asked for, but {path} has no "
                "such column; add it, empty where the value is missing"
            )


def read_true_labels(
    model: Model, data: str, target: str | None, missing: Sequence[str] = ()
) -> tuple[Table, np.ndarray]:
    """A whole file as the model's table and the true labels, in the type of the model's classes.

    Without a target, it is the one column that the model does not know.
    """
    block = blanked(model, read_columns(data), data, missing)
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
