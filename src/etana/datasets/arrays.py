"""The bare arrays of a data set, what is known about them, and the check of one against the other.

A copy that comes from the world is compared with :class:`Facts` on three levels: its structure (rows, columns,
classes, missing cells, range of values) must agree, or it is refused; its *fingerprint*, the SHA-256 of all values
and labels in order, tells whether it is value for value the copy that the documented figures were made with.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from etana.errors import InputError

__all__ = ["DataArrays", "Facts", "check", "fingerprint"]


class DataArrays(NamedTuple):
    """Rows and class codes, those of the given test part (or None), and names as a list or as UTF-8 lines."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None
    names: list[str] | bytes | None = None


@dataclass(frozen=True)
class Facts:
    """What is known about the arrays of a copy; None where something is not known."""

    rows: int
    features: int
    classes: int
    counts: tuple[int, ...] | None = None
    test_rows: int = 0
    test_counts: tuple[int, ...] | None = None
    missing: int = 0
    bounds: tuple[float, float] | None = None
    sparse: bool = False
    ordered: bool = True  # whether the order of the class codes is known, or only how many rows each class has
    fingerprint: str | None = None


def fingerprint(arrays: DataArrays) -> str:
    """SHA-256 of all values in single precision and all labels, in order; every NaN counts as the same."""
    digest = hashlib.sha256()
    for X, y in ((arrays.X, arrays.y), (arrays.X_test, arrays.y_test)):
        if X is None:
            continue
        for array, kind in [*_arrays(X), (y, "<i8")]:
            digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def _arrays(X: Any) -> list[tuple[np.ndarray, str]]:
    if sparse.issparse(X):
        return [(X.data, "<f4"), (X.indices, "<i8"), (X.indptr, "<i8")]
    return [(np.where(np.isnan(X), np.nan, X), "<f4")]


def check(arrays: DataArrays, facts: Facts, what: str) -> None:
    """Refuse arrays whose structure is not the documented one."""
    found = {
        "shape": arrays.X.shape,
        "test shape": None if arrays.X_test is None else arrays.X_test.shape,
        "missing cells": _missing(arrays.X) + _missing(arrays.X_test),
        "sparse": sparse.issparse(arrays.X),
        "classes": int(np.unique(arrays.y).size),
        **_counts(arrays, facts),
    }
    expected = {
        "shape": (facts.rows, facts.features),
        "test shape": (facts.test_rows, facts.features) if facts.test_rows else None,
        "missing cells": facts.missing,
        "sparse": facts.sparse,
        "classes": facts.classes,
        "class counts": facts.counts,
        "test class counts": facts.test_counts,
    }
    wrong = [f"{key} {value}, expected {expected[key]}" for key, value in found.items() if value != expected[key]]
    wrong += _outside(arrays.X, facts) + _outside(arrays.X_test, facts)
    if wrong:
        raise InputError(f"{what} is not what it should be: {'; '.join(wrong)}")


def _counts(arrays: DataArrays, facts: Facts) -> dict[str, tuple[int, ...]]:
    found = {}
    for key, y, known in (
        ("class counts", arrays.y, facts.counts),
        ("test class counts", arrays.y_test, facts.test_counts),
    ):
        if y is not None and known is not None:
            counts = np.bincount(y, minlength=facts.classes).tolist()
            found[key] = tuple(counts if facts.ordered else sorted(counts))
    return found


def _missing(X: Any) -> int:
    if X is None:
        return 0
    return int(np.isnan(X.data if sparse.issparse(X) else X).sum())


def _outside(X: Any, facts: Facts) -> list[str]:
    """Values that are infinite or outside the documented range."""
    if X is None:
        return []
    values = np.asarray(X.data if sparse.issparse(X) else X)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    lowest, highest = facts.bounds or (-np.finfo(np.float32).max, np.finfo(np.float32).max)
    if np.float32(low) < np.float32(lowest) or np.float32(high) > np.float32(highest):
        return [f"values from {low:g} to {high:g}, expected {lowest:g} to {highest:g}"]
    return []
