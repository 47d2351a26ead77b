"""``etana classify``: files through a loaded model, a block of rows at a time, without scikit-learn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from etana.commands.model_table import as_table, blanked, check_asked
from etana.commands.odd_values import OddValues
from etana.errors import InputError
from etana.model import Model
from etana.money import money
from etana.table import plain_value
from etana.tablefile import Block, atomic_text, read_blocks
from etana.walks import Acquisition

__all__ = ["Classified", "classify_file"]


class Classified(NamedTuple):
    """How many rows a file had, and what was unusual in what they were asked for."""

    n_rows: int
    findings: list[str]


def classify_file(
    model: Model, data: str, output: str, max_cost: float | None,
    advance: Callable[[int], object] = lambda rows: None, known: Sequence[str] | None = None,
    keep: Sequence[str] = (), missing: Sequence[str] = (),
) -> Classified:  # fmt: skip
    """Classify the rows of a file into a CSV file. Memory does not grow with the file.

    Columns to ``keep`` stand first in every row, as they are in the file; ``missing`` has spellings of a missing value
    in the place of those that the model was fitted with.
    """
    for name in known or ():
        model.column_of(name)  # before any work
    # With a budget, or with some columns known, others may be worth asking than those of the plain policy.
    every = max_cost is not None or bool(known)
    head = ["label", *(f"p_{plain_value(c)}" for c in model.classes), "n_features", "cost", "features"]
    for name in keep:
        if name in head:
            raise InputError(f"--keep {name} has the name of a column of the output; rename it in the table")
    odd, done = OddValues(model), 0
    with atomic_text(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*keep, *head])
        for read in read_blocks(data):
            kept = _kept(read, keep, known or (), data)
            block = blanked(model, read, data, missing)
            table = as_table(model, block, data, every=every)
            walk = model.acquire(table, max_cost, known)
            check_asked(model, block, walk, data)
            odd.look(block, table, walk)
            for i, row in enumerate(_lines(model, walk)):
                writer.writerow([*(cells[i] for cells in kept), *row])
            done += block.n_rows
            advance(block.n_rows)
    return Classified(done, list(odd.findings()))


def _kept(block: Block, keep: Sequence[str], known: Sequence[str], data: str) -> list[Any]:
    """The columns to keep; they, and those that are known, must be there."""
    for names, why in ((known, "which --known says is there for all rows"), (keep, "which --keep names")):
        absent = [name for name in names if name not in block.columns]
        if absent:
            raise InputError(f"{data} has no column {absent[0]!r}, {why}")
    return [block.columns[name] for name in keep]


def _lines(model: Model, walk: Acquisition) -> Iterator[list[Any]]:
    """Label, belief, number of features, cost and features of each row."""
    names = model.column_names
    for i in range(len(walk)):
        asked = ";".join(names[k] for k in walk.features(i))
        belief = (repr(float(p)) for p in walk.posteriors[i])
        yield [plain_value(walk.labels[i]), *belief, int(walk.n_features[i]), money(walk.costs[i]), asked]
