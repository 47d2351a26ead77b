"""Prices of features and costs of mistakes, as they stand on the command line or in CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etana.commands.labels import as_classes
from etana.costs import FeatureCosts
from etana.errors import CostError
from etana.tablefile import MISSING, Block, read_columns, to_table

__all__ = ["read_costs", "read_mistakes", "read_mistakes_file"]

_YES, _NO = ("yes", "true", "1", "1.0"), ("no", "false", "0", "0.0", "")


def read_costs(given: str, wait: float = 0.0, ignore: Sequence[str] = ()) -> Any:
    """One price for all, or the prices in a CSV file by feature name, with groups and delays if there are any.

    ``wait`` is what a round of waiting costs; columns to ``ignore`` may have a price there, which nobody pays.
    """
    try:
        return FeatureCosts(float(given), round=wait) if wait else float(given)
    except ValueError:
        pass
    block = read_columns(given)
    for column in ("feature", "cost"):
        if column not in block.columns:
            raise CostError(
                f"{given} has no column {column!r}; it must have the columns feature and cost, and may have group, "
                "discounted and delayed"
            )
    if not block.n_rows:
        raise CostError(f"{given} has a header but no rows; give a row for each feature")
    block = _without(block, ignore)
    names = [str(n).strip() for n in block.columns["feature"]]
    prices = dict(zip(names, to_table(block, ["cost"], given, {"cost"}).block([0])[:, 0], strict=True))
    delayed = _delayed(given, names, block.columns["delayed"]) if "delayed" in block.columns else None
    if "group" not in block.columns:
        costs = {name: float(price) for name, price in prices.items()}
        return FeatureCosts(costs, round=wait, delayed=delayed) if wait else costs
    labels = zip(names, block.columns["group"], strict=True)
    groups = {name: str(group).strip() for name, group in labels if group is not None and group not in MISSING}
    lower = None
    if "discounted" in block.columns:
        values = to_table(block, ["discounted"], given, {"discounted"}).block([0])[:, 0]
        lower = {n: float(v) for n, v in zip(names, values, strict=True) if not np.isnan(v)}
    return FeatureCosts({n: float(p) for n, p in prices.items()}, groups, lower, wait, delayed if wait else None)


def _without(block: Block, ignore: Sequence[str]) -> Block:
    """The rows of other features than these."""
    rows = [r for r, name in enumerate(block.columns["feature"]) if str(name).strip() not in ignore]
    columns = {name: [cells[r] for r in rows] for name, cells in block.columns.items()}
    return Block(columns, [block.lines[r] for r in rows], block.text)


def _delayed(path: str, names: list[str], cells: Sequence[Any]) -> list[str]:
    """Features whose results have to be waited for."""
    waits = []
    for name, cell in zip(names, cells, strict=True):
        word = "" if cell is None else str(cell).strip().lower()
        if word not in (*_YES, *_NO):
            raise CostError(f"{path}: delayed of {name!r} is {cell!r}; it must be yes or no, or empty for no")
        waits += [name] if word in _YES else []
    return waits


def read_mistakes(path: str, classes: np.ndarray) -> np.ndarray:
    """What each mistake costs: one number for all of them, or a file as :func:`read_mistakes_file` reads it."""
    try:
        return float(path) * (1.0 - np.eye(classes.size))
    except ValueError:
        return read_mistakes_file(path, classes)


def read_mistakes_file(path: str, classes: np.ndarray | None = None) -> np.ndarray:
    """The cost of each mistake: a column of true classes first, then one column per decided class, by name.

    Rows and columns come in the order of ``classes``; if they are not known yet, in that of the file's labels, sorted.
    """
    if path.replace(".", "", 1).isdigit():
        raise CostError(
            f"--mistakes is {path}, but of a folder of parts the classes are not known yet; name a CSV file"
        )
    block = read_columns(path)
    names = list(block.columns)
    rows = [str(c).strip() for c in block.columns[names[0]]]
    wanted = [str(c) for c in (np.unique(as_classes(rows)) if classes is None else classes)]
    if sorted(rows) != sorted(wanted) or sorted(names[1:]) != sorted(wanted):
        raise CostError(
            f"{path} has rows {rows} and columns {names[1:]}; the first column must hold the true classes {wanted}, "
            "and the others must be named after the decided ones"
        )
    values = to_table(block, wanted, path, set(wanted)).block(slice(None))
    return values[[rows.index(c) for c in wanted]]
