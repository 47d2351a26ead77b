"""``etana compare``: all methods side by side on a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etana.commands.doubts import CellNotes, warn_of_labels
from etana.commands.labels import as_classes, read_labelled
from etana.commands.prices import read_costs, read_mistakes
from etana.errors import InputError
from etana.evaluation.comparison import COMPARED, compare
from etana.plots._canvas import matplotlib
from etana.table import Table
from etana.tablefile import atomic_text, check_output, to_table

__all__ = ["compare_file"]


def compare_file(
    data: str,
    target: str,
    *,
    costs: str,
    mistakes: str | None = None,
    folds: int,
    repeats: int,
    methods: list[str] | None,
    seed: int,
    page: str | None,
    table: str | None,
    console: Any,
    ignore: Sequence[str] = (),
    missing_values: Sequence[str] = (),
) -> Any:
    """Compare all methods on a file, with a progress bar; writes a page and a CSV file if they are wanted."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if page is not None and page == table:
        raise InputError(f"{page} is named both for the page and for the CSV file; name two files")
    check_output(page, data, costs, mistakes)
    check_output(table, data, costs, mistakes)
    if page is not None:
        matplotlib()
    block, labels = read_labelled(data, target, ignore, missing_values)
    names = list(block.columns)
    cells = to_table(block, names, data)
    X = _as_array(cells)
    prices, y = read_costs(costs, ignore=ignore), as_classes(labels)
    CellNotes.of(block, cells).warn(data)
    warn_of_labels(np.unique(y), y.size, target)
    matrix = None if mistakes is None else read_mistakes(mistakes, np.unique(y))
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=repeats * len(methods or COMPARED), completed=-1)
        comparison = compare(
            X, y, feature_costs=prices, misclassification_costs=matrix, names=names, folds=folds, repeats=repeats,
            methods=methods, seed=seed,
            begin=lambda method, repeat: progress.update(task, advance=1, description=f"{method}, repeat {repeat + 1}"),
        )  # fmt: skip
    title = f"Methods compared on {Path(data).name}"
    for path, write in ((page, lambda: comparison.to_html(title)), (table, comparison.to_csv)):
        if path is not None:
            with atomic_text(path) as file:
                file.write(write())
    return comparison


def _as_array(table: Table) -> np.ndarray:
    """Numbers, or objects where a column holds text, so that rows can be taken."""
    texts = set(table.categorical)
    if not texts:
        return np.asarray(table.block(slice(None)), dtype=np.float64)
    out = np.empty((table.n_rows, table.n_features), dtype=object)
    for k in range(table.n_features):
        if k not in texts:
            out[:, k] = table.block([k])[:, 0]
            continue
        levels = table.levels(k)
        codes = table.block([k], {k: levels})[:, 0]
        out[:, k] = [None if np.isnan(code) else levels[int(code)] for code in codes]
    return out
