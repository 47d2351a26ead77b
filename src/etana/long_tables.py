"""Bins and counts of a long table that is stored by row, read by row.

A column of such a table lies scattered over all of it: to read the columns one after the other is to read the table as
many times as it has columns. Edges need few values only (:mod:`etana.binning`), so they are taken first, from these
rows; then blocks of rows are counted in candidate bins, and candidates are joined. The bins are those that reading by
column gives, bit for bit, and nothing as long as a column is held besides the table.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from etana.joining import Joiner
from etana.kernels import columns as kernel
from etana.table import Table
from etana.threads import over_chunks

__all__ = ["LongColumns", "fit_long", "is_long"]

_LONG = 2**19  # rows
_FEW_HOLES = 2**14  # rows of a column that are remembered at most
_NUMBERS, _LEAST_ROWS = 2**19, 2**11  # numbers in a block, and its rows at least


class LongColumns(NamedTuple):
    """Bins of all columns: ``n_edges`` (K,), ``edges`` and ``counts`` (cells, N) one column after the other, weights by
    class of missing values, ``lost`` (K, N), and the least and greatest number of each, ``ranges`` (2, K)."""

    n_edges: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    lost: np.ndarray
    ranges: np.ndarray


def is_long(table: Table, weights: np.ndarray, method: int) -> bool:
    """Whether a table is worth reading by row, and can be: counts of blocks add up exactly if weights are whole."""
    if table.dense is None or table.n_rows < _LONG or method not in (kernel.QUANTILE, kernel.SUPERVISED):
        return False
    if not table.dense.flags.c_contiguous:
        return False
    parts = (weights[a : a + _NUMBERS] for a in range(0, weights.size, _NUMBERS))
    return all(bool((part > 0).all() and (part == np.floor(part)).all()) for part in parts)


def fit_long(
    dense: np.ndarray, classes: np.ndarray, weights: np.ndarray, n_classes: int, cutting: kernel.Cutting
) -> LongColumns:
    """Bins and counts of all columns of an array (n, K)."""
    bins = kernel.FINE if cutting.method == kernel.SUPERVISED else cutting.bins
    samples = (_sampled(dense[:, k], weights, holes, cutting.sample) for k, holes in enumerate(_holes(dense)))
    edges, cuts = [], np.empty(2 * bins)
    for sample in samples:
        edges.append(cuts[: kernel.quantile_cuts(*sample, bins, cuts)].copy())
    n_edges = np.array([e.size for e in edges], dtype=np.int64)
    cells, offsets, ranges = _count(dense, classes, weights, n_classes, edges)
    # The last cell of each column is that of missing values.
    histograms = [cells[a : b - 1] for a, b in pairwise(offsets.tolist())]
    lost = cells[offsets[1:] - 1]
    if cutting.method == kernel.SUPERVISED:
        joiner = Joiner(n_classes, cutting.bins, cutting.table)
        joined = [joiner(e, h) for e, h in zip(edges, histograms, strict=True)]
        edges, histograms = [e for e, _ in joined], [h for _, h in joined]
        n_edges = np.array([e.size for e in edges], dtype=np.int64)
    return LongColumns(n_edges, np.concatenate(edges), np.concatenate(histograms), lost, ranges)


def _holes(dense: np.ndarray) -> list[np.ndarray | None]:
    """Rows of each column whose value is zero or missing; None where there are many."""
    found: list[list[np.ndarray]] = [[] for _ in range(dense.shape[1])]
    left, height = np.full(dense.shape[1], _FEW_HOLES), _height(dense.shape[1])
    for a in range(0, len(dense), height):
        part = dense[a : a + height]
        # Zeros are rare or frequent; a column that has many is read by itself, once, and not looked at again.
        hole = (part == 0) | (part != part)
        for k in np.flatnonzero(hole.any(axis=0) & (left > 0)).tolist():
            found[k].append(a + np.flatnonzero(hole[:, k]))
            left[k] -= found[k][-1].size
    none = np.empty(0, dtype=np.int64)
    return [np.concatenate([none, *found[k]]) if left[k] > 0 else None for k in range(len(found))]


def _height(n_columns: int) -> int:
    return max(_NUMBERS // max(n_columns, 1), _LEAST_ROWS)


def _sampled(
    column: np.ndarray, weights: np.ndarray, holes: np.ndarray | None, most: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Values that edges are taken from, evenly spread over those that are neither zero nor missing, their weights, and
    that of the zeros, in proportion."""
    if holes is None:
        holes = np.flatnonzero((column == 0) | (column != column))
    m, zeros = column.size - holes.size, float(weights[holes[column[holes] == 0]].sum())
    chosen = np.arange(m) if m <= most else np.arange(most) * m // most
    zeros = zeros if m <= most else zeros * (most / m)
    # Each hole before it puts a value one row further on.
    counted = chosen + np.searchsorted(holes - np.arange(holes.size), chosen, side="right")
    return column[counted].astype(np.float64), weights[counted].astype(np.float64), zeros


def _count(
    dense: np.ndarray, classes: np.ndarray, weights: np.ndarray, n_classes: int, edges: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (cells, N) in the bins between these edges, and of missing values, where those of a column begin, and the
    least and greatest number of each column."""
    n_edges = np.array([e.size for e in edges], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(n_edges)))
    offsets = np.concatenate(([0], np.cumsum(n_edges + 2)))
    bins = kernel.CountingBins(np.concatenate(edges), starts, offsets, np.ones(n_edges.size, dtype=bool))
    height, parts = _height(dense.shape[1]), []

    def run(first: int, last: int) -> None:
        cells, ranges = np.zeros((offsets[-1], n_classes)), np.repeat([[np.inf], [-np.inf]], n_edges.size, axis=1)
        for a in range(first, last, height):
            rows = slice(a, min(a + height, last))
            turned = np.array(dense[rows].T, dtype=np.float64, order="C")
            labels, mass = np.array(classes[rows], dtype=np.int64), np.array(weights[rows], dtype=np.float64)
            members = np.bincount(labels, minlength=n_classes)
            source = kernel.ColumnSource(False, turned, *_NO_CSC, labels, mass, members * 1.0, members)
            kernel.count_columns(source, 0, len(turned), bins, cells)
            # While the block is near: to read the table once more for this takes as long as a fifth of the counting.
            np.fmin(ranges[0], np.fmin.reduce(turned, axis=1), out=ranges[0])
            np.fmax(ranges[1], np.fmax.reduce(turned, axis=1), out=ranges[1])
        parts.append((cells, ranges))

    over_chunks(run, len(dense), height)
    low, high = np.array([ranges for _, ranges in parts]).transpose(1, 0, 2)
    return np.sum([cells for cells, _ in parts], axis=0), offsets, np.array([low.min(axis=0), high.max(axis=0)])


_NO_CSC = np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
