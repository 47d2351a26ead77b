"""Training rows dealt into folds, by what is in them and not by how they are written down.

Each row has a key, made of its values and the seed. Rows are sorted by key within their class, and classes by their
size and the keys of their rows; folds are dealt along that order. So neither the order of the rows nor the names of the
classes changes who falls into which fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from etana.kernels import keys as kernel
from etana.table import Table
from etana.threads import over_chunks

__all__ = ["TrainingRows", "deal_folds", "in_folds", "ranked_rows", "row_keys", "sample_rows"]

_BLOCK = 2**20  # values at once
_NEAR = 2**16  # values that stay near the processor
_LEADING, _PARTS = np.uint64(48), 2**16  # a key has so many bits besides the leading ones, which make so many parts


class TrainingRows(NamedTuple):
    """Training rows: table, classes, weights."""

    table: Table
    classes: np.ndarray
    weights: np.ndarray

    def take(self, index: np.ndarray) -> TrainingRows:
        """Some of the rows."""
        return TrainingRows(self.table.rows(index), self.classes[index], self.weights[index])


def row_keys(table: Table, seed: int = 0) -> np.ndarray:
    """A key for each row (n,), uint64: the same for the same values, whatever row they stand in."""
    salts = np.random.default_rng(seed).integers(1, 2**63, table.n_features, dtype=np.uint64)
    if table.sparse is not None:
        by_row = table.sparse.tocsr()
        told = _mix(by_row.data.astype(np.float64), salts[by_row.indices])
        rows = np.repeat(np.arange(table.n_rows), np.diff(by_row.indptr))
        keys = np.zeros(table.n_rows, dtype=np.uint64)
        np.add.at(keys, rows, told)
        return keys
    keys = np.zeros(table.n_rows, dtype=np.uint64)
    if (dense := table.dense) is not None:
        height = max(_NEAR // max(table.n_features, 1), 1)

        def run(first: int, last: int) -> None:
            for a in range(first, last, height):
                block = np.array(dense[a : min(a + height, last)], dtype=np.float64, order="C")
                kernel.add_keys(block, block.view(np.uint64), salts, keys[a : a + len(block)])

        over_chunks(run, table.n_rows, height)
        return keys
    levels = {k: table.levels(k) for k in table.categorical}
    width = max(_BLOCK // max(table.n_rows, 1), 1)
    for first in range(0, table.n_features, width):
        columns = slice(first, min(first + width, table.n_features))
        block = np.asarray(table.block(columns, levels), dtype=np.float64)
        # A sum: columns can be added block by block, in any order, and each has a salt of its own.
        keys += _mix(block, salts[columns]).sum(axis=1, dtype=np.uint64)
    return keys


def _mix(values: np.ndarray, salts: np.ndarray) -> np.ndarray:
    """Numbers that look random; 0 for a value of 0, which a sparse table does not store."""
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64) + salts
    for factor in (kernel.FIRST, kernel.SECOND):
        bits = (bits ^ (bits >> kernel.HALF)) * factor
    return np.where(values == 0, np.uint64(0), bits ^ (bits >> kernel.HALF))


def ranked_rows(codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Rows class by class, in the order of their keys: the same rows, whatever the order in which they came."""
    return np.lexsort((keys, np.argsort(_ranked_classes(codes, keys))[codes]))


def _ranked_classes(codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Classes told apart by their size and rows, and not by their names."""
    totals = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint64)
    np.add.at(totals, codes, keys)
    return np.lexsort((totals, np.bincount(codes, minlength=totals.size)))


def deal_folds(codes: np.ndarray, n_folds: int, keys: np.ndarray) -> np.ndarray:
    """A fold for each row, classes dealt out evenly."""
    folds = np.empty(codes.size, dtype=np.int64)
    folds[ranked_rows(codes, keys)] = np.arange(codes.size) % n_folds
    return folds


def in_folds(folds: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training rows and held-out rows of each fold."""
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


def sample_rows(codes: np.ndarray, most: int, keys: np.ndarray) -> np.ndarray:
    """At most so many rows, every class in proportion; all of them if there are no more."""
    if codes.size <= most:
        return np.arange(codes.size)
    # Rows lie class by class; steps of equal length meet each class as often as its share.
    wanted, found, first = (np.arange(most) * codes.size) // most, [], 0
    sizes = np.bincount(codes)
    for label in _ranked_classes(codes, keys):
        inside = wanted[(wanted >= first) & (wanted < first + sizes[label])] - first
        found.append(_at_ranks(keys, codes, label, inside))
        first += sizes[label]
    return np.sort(np.concatenate(found))


def _at_ranks(keys: np.ndarray, codes: np.ndarray, label: int, ranks: np.ndarray) -> np.ndarray:
    """The rows of a class whose keys have these ranks among its own; of equal keys the one that comes first.

    Some rows at a time, so that nothing as long as the table is made.
    """
    blocks = [slice(a, a + _BLOCK) for a in range(0, keys.size, _BLOCK)]
    # Keys look random: their leading bits part them evenly, and only parts in which a rank lies are sorted.
    parts = sum(np.bincount(_leading(keys[b][codes[b] == label]), minlength=_PARTS) for b in blocks)
    ends = np.cumsum(parts)
    chosen = np.searchsorted(ends, ranks, side="right")
    sizes = np.zeros(_PARTS, dtype=np.int64)
    sizes[chosen] = np.diff(ends, prepend=0)[chosen]
    here = sizes > 0
    some = np.concatenate([b.start + np.flatnonzero((codes[b] == label) & here[_leading(keys[b])]) for b in blocks])
    some = some[np.argsort(keys[some], kind="stable")]
    return some[ranks - ends[chosen] + np.cumsum(sizes)[chosen]]


def _leading(keys: np.ndarray) -> np.ndarray:
    return (keys >> _LEADING).astype(np.int32)
