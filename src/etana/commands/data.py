"""``etana data``: a data set as the CSV files that the other commands read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from etana.datasets import Dataset, load
from etana.datasets.bundled import BUNDLED, bundled
from etana.datasets.prices import PRICES, Prices
from etana.errors import InputError
from etana.files import replacing

__all__ = ["write_data"]

_TEST_SHARE = 0.4
_TARGETS = {"heart": ("disease", ("no", "yes")), "hepatitis": ("outcome", ("die", "live"))}


def write_data(name: str, folder: str, seed: int = 0, data_dir: str | None = None) -> list[Path]:
    """Write a set's training rows, its test rows and, where they are known, its prices; returns the files.

    Rows are split as the set gives it, else two fifths of them, drawn with ``seed`` from each class, are for testing.
    """
    data = bundled(name) if name in BUNDLED else load(name, data_dir)
    if sparse.issparse(data.X):
        raise InputError(
            f"{name} is sparse with {data.X.shape[1]:,} columns, too many for CSV; use etana.datasets.load({name!r})"
        )
    files = f"{data.name}.csv", f"{data.name}-test.csv"
    texts = {file: _rows(data, *part) for file, part in zip(files, _parts(data, seed))}
    if data.name in PRICES:
        texts["costs.csv"] = _prices(PRICES[data.name])
    return _put(texts, Path(folder))


def _parts(data: Dataset, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Training and test rows with their class codes."""
    if data.X_test is not None:
        return (data.X, data.y), (data.X_test, data.y_test)
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=_TEST_SHARE, stratify=data.y, random_state=seed)
    return (X, y), (X_test, y_test)


def _rows(data: Dataset, X: np.ndarray, y: np.ndarray) -> str:
    target, labels = _TARGETS.get(data.name, ("class", data.class_names))
    names = data.names or [f"x{k}" for k in range(X.shape[1])]
    return _csv([*names, target], ([*map(_number, row), labels[code]] for row, code in zip(X, y)))


def _number(value: float) -> str:
    """The shortest text that is this number as the source had it; empty if it is missing."""
    # Sets are read in single precision: the digits beyond it are not the source's.
    return "" if np.isnan(value) else np.format_float_positional(np.float32(value), trim="-")


def _prices(prices: Prices) -> str:
    columns = ["feature", "cost", "group", "discounted", "delayed"]
    if prices.delayed is None:
        columns.remove("delayed")
    if not prices.groups:
        columns = [name for name in columns if name not in ("group", "discounted")]
    late = prices.delayed or ()
    rows = (
        {
            "feature": name, "cost": f"{price:g}", "group": prices.groups.get(name, ""),
            "discounted": f"{prices.discounted[name]:g}" if name in prices.discounted else "",
            "delayed": "yes" if name in late else "no",
        }
        for name, price in prices.full.items()
    )  # fmt: skip
    return _csv(columns, ([row[name] for name in columns] for row in rows))


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _put(texts: dict[str, str], folder: Path) -> list[Path]:
    """Write the files; one that is there with other content is somebody's, and nothing is written."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; make it first, or name another with -o")
    for name, text in texts.items():
        path = folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != text.encode()):
            raise InputError(f"{path} is there already with other content; remove it, or name another folder with -o")
    for name, text in texts.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]
