"""``etana classify``: files through a loaded model, a block of rows at a time, without scikit-learn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence

from etana.commands.model_table import as_table
from etana.commands.money import money
from etana.errors import InputError
from etana.model import Model
from etana.table import plain_value
from etana.tablefile import atomic_text, read_blocks

__all__ = ["classify_file"]


def classify_file(
    model: Model,
    data: str,
    output: str,
    max_cost: float | None,
    advance: Callable[[int], object] = lambda rows: None,
    known: Sequence[str] | None = None,
) -> int:
    """Classify the rows of a file into a CSV file; returns how many. Memory does not grow with the file."""
    for name in known or ():
        model.column_of(name)  # before any work
    # With a budget, or with some columns known, others may be worth asking than those of the plain policy.
    every = max_cost is not None or bool(known)
    names = model.column_names
    classes = [plain_value(c) for c in model.classes]
    done = 0
    with atomic_text(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["label", *(f"p_{c}" for c in classes), "n_features", "cost", "features"])
        for block in read_blocks(data):
            absent = [name for name in known or () if name not in block.columns]
            if absent:
                raise InputError(f"{data} has no column {absent[0]!r}, which --known says is there for all rows")
            walk = model.acquire(as_table(model, block, data, every=every), max_cost, known)
            for i in range(len(walk)):
                asked = ";".join(names[k] for k in walk.features(i))
                belief = (repr(float(p)) for p in walk.posteriors[i])
                cost = money(walk.costs[i])
                writer.writerow([plain_value(walk.labels[i]), *belief, int(walk.n_features[i]), cost, asked])
            done += block.n_rows
            advance(block.n_rows)
    return done
