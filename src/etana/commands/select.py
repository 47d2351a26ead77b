"""``etana select``: the columns that a streaming selector keeps."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np

from etana import selection
from etana.commands.doubts import CellNotes
from etana.commands.labels import as_classes, read_labelled
from etana.errors import InputError
from etana.tablefile import atomic_text, check_output, to_table

__all__ = ["select_columns"]


def select_columns(
    data: str, target: str, method: str, output: str | None = None, ignore: Sequence[str] = ()
) -> list[str]:
    """Names of the columns that a streaming selector keeps; writes them and the target to ``output``."""
    kinds = {name.lower(): getattr(selection, name) for name in selection.__all__}
    if method.replace("-", "").lower() not in kinds:
        raise InputError(
            f"method is {method!r}; it must be saola, osfs, fast-osfs, alpha-investing, ofs-density or ofs-a3m"
        )
    check_output(output, data)
    block, labels = read_labelled(data, target, ignore)
    names = list(block.columns)
    table = to_table(block, names, data)
    CellNotes.of(block, table).warn(data)
    if table.categorical:
        raise InputError(
            f"{data}: column {names[table.categorical[0]]!r} holds text; the streaming selectors take numbers only: "
            "leave it out (--ignore), or code it as numbers"
        )
    X = np.asarray(table.block(slice(None)), dtype=np.float64)
    holes = np.argwhere(np.isnan(X))
    if holes.size:
        row, column = holes[0]
        raise InputError(
            f"{data}, line {block.lines[row]}: column {names[column]!r} has a missing value; "
            "the streaming selectors need complete rows: fill it or leave the row out"
        )
    selector = kinds[method.replace("-", "").lower()](verbose=True).fit(X, as_classes(labels))
    kept = [names[k] for k in selector.selected_]
    if output is not None:
        with atomic_text(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*kept, target])
            writer.writerows(zip(*(block.columns[name] for name in kept), labels, strict=True))
    return kept
