"""Which rows settings may be chosen on, and which ones figures may be reported on.

A set with a test part of its own keeps it for figures, and settings are chosen on its training part. The rows of any
other set are dealt into two halves, every class in proportion: settings are chosen by cross-validation within the first
half alone, and every test row of a figure comes from the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

__all__ = ["rows_for_settings", "splits_for_figures"]

_DEALT = 2026  # seed of the halves
_TEST_SHARE = 0.4  # of the second half, a fifth of all rows


def _halves(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return train_test_split(np.arange(len(y)), test_size=0.5, random_state=_DEALT, stratify=y)


def rows_for_settings(data: Any, most: int) -> tuple[Any, np.ndarray]:
    """Rows that settings may be chosen on, at most so many."""
    rows = np.arange(len(data.y)) if data.X_test is not None else _halves(data.y)[0]
    if rows.size > most:
        rows, _ = train_test_split(rows, train_size=most, random_state=_DEALT, stratify=data.y[rows])
    return data.X[rows], data.y[rows]


def splits_for_figures(
    data: Any, n_splits: int, every_row: bool = False
) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray]]:
    """Training and test rows, one split after another; four fifths of all rows are learnt from.

    With ``every_row`` test rows are drawn from all rows, so that half of them had a part in the choice of settings.
    """
    if data.X_test is not None:
        yield data.X, data.y, data.X_test, data.y_test
        return
    drawn, share = (np.arange(len(data.y)), _TEST_SHARE / 2) if every_row else (_halves(data.y)[1], _TEST_SHARE)
    for seed in range(n_splits):
        _, test = train_test_split(drawn, test_size=share, random_state=seed, stratify=data.y[drawn])
        train = np.setdiff1d(np.arange(len(data.y)), test)
        yield data.X[train], data.y[train], data.X[test], data.y[test]
