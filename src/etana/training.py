"""From a table on disk to a model file."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from etana.classifiers import ETANAClassifier, FETANAClassifier
from etana.costs import FeatureCosts
from etana.errors import CostError, InputError
from etana.files import check_target
from etana.modelfile import save
from etana.tablefile import MISSING, Block, atomic_text, read_columns, to_table

__all__ = ["read_costs", "read_mistakes", "select_columns", "train"]


def train(
    data: str, target: str, *, costs: str, mistakes: str | None, output: str, options: dict[str, Any]
) -> ETANAClassifier | FETANAClassifier:
    """Fit a classifier on a file and save it; everything that can be wrong is found before the fit."""
    check_target(output)
    block, labels = _read_labelled(data, target)
    table = to_table(block, list(block.columns), data)
    y = _labels(labels)
    chosen = dict(options)
    kind = ETANAClassifier
    if chosen.get("solver") == "thresholds":
        kind = FETANAClassifier  # type: ignore[assignment]
        chosen.pop("solver")
    clf = kind(
        feature_costs=read_costs(costs),
        misclassification_costs=None if mistakes is None else read_mistakes(mistakes, np.unique(y)),
        **chosen,
    )
    clf.fit(table, y)
    save(clf, output)
    return clf


def _read_labelled(data: str, target: str) -> tuple[Block, list[Any]]:
    """A whole file, the column with the labels set apart."""
    block = read_columns(data)
    if target not in block.columns:
        raise InputError(f"{data} has no column {target!r}; its columns are {', '.join(map(repr, block.columns))}")
    labels = block.columns.pop(target)
    for r, label in enumerate(labels):
        if label is None or (block.text and label in MISSING):
            raise InputError(
                f"{data}, line {block.first_line + r}: the label in column {target!r} is missing; "
                "give it, or leave the row out"
            )
    return block, labels


def _labels(cells: list[Any]) -> np.ndarray:
    """Labels as integers if all of them are, else as text."""
    texts = [str(c).strip() for c in cells]
    try:
        numbers = [int(t) for t in texts]
    except ValueError:
        return np.array(texts)
    return np.array(numbers) if [str(n) for n in numbers] == texts else np.array(texts)


def select_columns(data: str, target: str, method: str, output: str | None = None) -> list[str]:
    """Names of the columns that a streaming selector keeps; writes them and the target to ``output``."""
    from etana import selection

    kinds = {name.lower(): getattr(selection, name) for name in selection.__all__}
    if method.replace("-", "").lower() not in kinds:
        raise InputError(
            f"method is {method!r}; it must be saola, osfs, fast-osfs, alpha-investing, ofs-density or ofs-a3m"
        )
    if output is not None and output != "-":
        check_target(output)
    block, labels = _read_labelled(data, target)
    names = list(block.columns)
    table = to_table(block, names, data)
    if table.categorical:
        raise InputError(
            f"{data}: column {names[table.categorical[0]]!r} holds text; the streaming selectors take numbers only"
        )
    X = np.asarray(table.block(slice(None)), dtype=np.float64)
    holes = np.argwhere(np.isnan(X))
    if holes.size:
        row, column = holes[0]
        raise InputError(
            f"{data}, line {block.first_line + row}: column {names[column]!r} has a missing value; "
            "the streaming selectors need complete rows: fill it or leave the row out"
        )
    selector = kinds[method.replace("-", "").lower()](verbose=True).fit(X, _labels(labels))
    kept = [names[k] for k in selector.selected_]
    if output is not None:
        with atomic_text(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*kept, target])
            writer.writerows(zip(*(block.columns[name] for name in kept), labels, strict=True))
    return kept


def read_costs(given: str) -> Any:
    """One price for all, or the prices in a CSV file by feature name, with groups if there are any."""
    try:
        return float(given)
    except ValueError:
        pass
    block = read_columns(given)
    for column in ("feature", "cost"):
        if column not in block.columns:
            raise CostError(
                f"{given} has no column {column!r}; it must have the columns feature and cost, and may have group and "
                "discounted"
            )
    names = [str(n).strip() for n in block.columns["feature"]]
    prices = dict(zip(names, to_table(block, ["cost"], given, {"cost"}).block([0])[:, 0], strict=True))
    if "group" not in block.columns:
        return {name: float(price) for name, price in prices.items()}
    labels = zip(names, block.columns["group"], strict=True)
    groups = {name: str(group).strip() for name, group in labels if group is not None and group not in MISSING}
    lower = None
    if "discounted" in block.columns:
        values = to_table(block, ["discounted"], given, {"discounted"}).block([0])[:, 0]
        lower = {n: float(v) for n, v in zip(names, values, strict=True) if not np.isnan(v)}
    return FeatureCosts({n: float(p) for n, p in prices.items()}, groups=groups, discounted=lower)


def read_mistakes(path: str, classes: np.ndarray) -> np.ndarray:
    """The cost of each mistake: a column of true classes first, then one column per decided class, by name."""
    block = read_columns(path)
    names = list(block.columns)
    wanted = [str(c) for c in classes]
    rows = [str(c).strip() for c in block.columns[names[0]]]
    if sorted(rows) != sorted(wanted) or sorted(names[1:]) != sorted(wanted):
        raise CostError(
            f"{path} has rows {rows} and columns {names[1:]}; the first column must hold the true classes {wanted}, "
            "and the others must be named after the decided ones"
        )
    values = to_table(block, wanted, path, set(wanted)).block(slice(None))
    return values[[rows.index(c) for c in wanted]]
