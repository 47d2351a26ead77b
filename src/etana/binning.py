"""Columns to small integer codes.

A numeric column is cut at *edges*: bin v holds the values with exactly v edges at or below them, so every number,
infinities and values outside the training range included, has a bin. How edges are chosen:

``"uniform"``
    Equal widths between the smallest and the largest finite value, ``n_bins`` of them (fewer only where floats lie
    too close to tell so many apart). A constant column has one bin.
``"published"``
    The same between floor(min) and ceil(max), as the program of the paper's authors does.
``"quantile"``
    Equal weight as far as whole values allow; equal values are never separated.
``"supervised"``
    Cuts that tell classes apart. Each range of values has one best cut, the one that leaves least entropy; it is
    worth its gain less its description length (Fayyad and Irani's criterion). The range whose cut is worth most is
    cut first, while a cut is worth anything and there are fewer than ``n_bins`` bins. Candidates are the cuts
    between neighbouring values or, where there are more than 256 different values, 255 quantiles. A column that
    says nothing about the class has one bin.

``n_bins="auto"`` is at most 32 for supervised bins; for the others the cube root of the number of rows, but not
fewer than the number of classes (the paper's choice) nor more than 32.

A categorical column has one bin per level seen in training. A level that was not seen is no evidence (code -1).
A missing value is no evidence under ``missing="skip"``; under ``"bin"`` it has a bin of its own in those columns
that had missing values in training, and is no evidence in the others.

Edges depend on training rows with positive weight only, weighted as if rows were repeated. Where a column has more
than 20,000 values other than zero, quantiles are taken from 20,000 of them, evenly spread over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from etana.errors import InputError
from etana.kernels import columns as kernel
from etana.kernels.walk import codes_of
from etana.long_tables import fit_long, is_long
from etana.parameters import check_parameters, either, one_of, whole
from etana.table import Table, check_labels, read_table
from etana.threads import over_chunks

__all__ = ["Binner", "bins_for", "round_ranges"]

_METHODS = {
    "uniform": kernel.UNIFORM,
    "published": kernel.PUBLISHED,
    "quantile": kernel.QUANTILE,
    "supervised": kernel.SUPERVISED,
}
_MOST_AUTO_BINS = 32
SAMPLE = 20_000
_BLOCK = 2**22  # numbers held at once while columns are read
_CACHE = 2**16  # numbers that stay near the processor
_NEAR = 2**13  # and nearer
_LINE = 8  # columns of a table stored by row that one cache line covers
_LOG_TABLE = 2**20


def round_ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranges rounded outwards, to a hundredth of the power of ten that is in their width."""
    known = low <= high
    # The widest range of floats is wider than any float; such a one stays as it is.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = np.where(known, np.maximum(high - low, np.abs(high) * 1e-3), 1.0)
        step = 10.0 ** (np.floor(np.log10(np.maximum(width, 1e-290))) - 2.0)
        down, up = np.floor(low / step + 1e-9) * step, np.ceil(high / step - 1e-9) * step
    # A step more where rounding went the wrong way; what is too large for steps stays as it is.
    down, up = np.where(down > low, down - step, down), np.where(up < high, up + step, up)
    whole = known & np.isfinite(down) & np.isfinite(up)
    return np.where(whole, down, low), np.where(whole, up, high)


def bins_for(binning: str | Binner, n_bins: int | str = "auto", missing: str = "skip") -> Binner:
    """Bins that are given, or an unfitted binner that chooses them in the way that is named."""
    return binning if isinstance(binning, Binner) else Binner(binning, n_bins, missing)


class Binner:
    """Learns bins from a table and turns tables into codes.

    Parameters
    ----------
    method : {"supervised", "quantile", "uniform", "published"}
        How edges are chosen; see :mod:`etana.binning`.
    n_bins : int or "auto"
        Number of bins of a numeric column; the largest number for supervised bins.
    missing : {"skip", "bin"}
        Whether a missing value is no evidence or has a bin of its own.

    Attributes
    ----------
    edges, edge_offsets : arrays
        Edges of all columns one after the other; those of column k are ``edges[edge_offsets[k]:edge_offsets[k+1]]``.
    cell_offsets : array (K + 1,)
        Column k has codes 0 to ``cell_offsets[k + 1] - cell_offsets[k] - 1``.
    levels : dict
        Labels of the categorical columns, by column index.
    missing_codes : array (K,)
        Code of a missing value by column; -1 where it is no evidence.
    seen : pair of arrays (K,), or None
        Least and greatest number of each column among the rows that bins were fitted on, rounded outwards so that no
        training value is given away, (inf, -inf) where there is none; None if bins were given.

    Examples
    --------
    >>> from etana import Binner
    >>> binner = Binner("quantile", n_bins=2).fit([[1.0], [2.0], [3.0], [4.0]])
    >>> binner.transform([[0.0], [2.6], [float("nan")]]).ravel().tolist()
    [0, 1, -1]
    """

    _parameters: ClassVar = {
        "method": one_of(*_METHODS).called("binning"),
        "n_bins": either(one_of("auto"), whole(least=1)),
        "missing": one_of("skip", "bin"),
    }

    def __init__(self, method: str = "supervised", n_bins: int | str = "auto", missing: str = "skip") -> None:
        self.method = method
        self.n_bins = n_bins
        self.missing = missing

    @classmethod
    def from_edges(cls, edges: Sequence[Any], missing: str = "skip") -> Binner:
        """Bins that are given: one increasing sequence of edges per column, all columns numeric."""
        self = cls("given", missing=missing)
        check_parameters(self, "missing")
        flat = [np.asarray(e, dtype=np.float64).ravel() for e in edges]
        for k, e in enumerate(flat):
            if not np.isfinite(e).all() or (np.diff(e) <= 0).any():
                raise InputError(f"edges of column {k} are {e}; they must be finite and increasing")
        n_edges = np.array([e.size for e in flat], dtype=np.int64)
        joined = np.concatenate([np.empty(0), *flat])
        self._set(n_edges, joined, n_edges + 1, np.full(len(flat), missing == "bin"), {}, None)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Binner:
        """Choose bins for the columns of X; supervised bins need y."""
        if y is None and self.method == "supervised":
            raise InputError("supervised bins need y; pass it, or use method='quantile' or 'uniform'")
        table = read_table(X)
        codes = np.zeros(table.n_rows, dtype=np.int64)
        if y is not None:
            check_labels(y)
            codes = np.unique(np.asarray(y), return_inverse=True)[1]
        weights = np.ones(table.n_rows)
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
        for given, what in ((codes, "y"), (weights, "sample_weight")):
            if given.shape != (table.n_rows,):
                raise InputError(f"{what} has shape {given.shape}, but X has {table.n_rows} rows; give one per row")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError("sample_weight has a negative or infinite entry, or NaN; weights are finite and >= 0")
        self.fit_count(table, codes, weights, int(codes.max(initial=0)) + 1)
        return self

    def fit_count(self, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
        """Choose bins and return their counts, shape (cells, classes), from one reading of the data."""
        check_parameters(self)
        method = _METHODS[self.method]
        if is_long(table, weights, method):
            assert table.dense is not None
            bins, logs = self.most_bins(n_classes, float(weights.sum())), _logs_for(method, weights)
            long = fit_long(table.dense, classes, weights, n_classes, kernel.Cutting(method, bins, SAMPLE, logs))
            self.seen = round_ranges(*(long.ranges if np.isfinite(long.ranges).all() else table.ranges()))
            every = _Columns(long.n_edges, long.edges, long.n_edges + 1, long.counts, long.lost)
            return self._assemble(every, table.names, n_classes)
        (columns,) = self._cut(table, classes, weights[None, :], n_classes)
        counted = weights > 0
        self.seen = round_ranges(*(table if counted.all() else table.rows(np.flatnonzero(counted))).ranges())
        return self._assemble(columns, table.names, n_classes)

    def fit_parts(
        self, table: Table, classes: np.ndarray, parts: np.ndarray, n_classes: int, every_column: bool = False
    ) -> list[tuple[Binner, np.ndarray, np.ndarray]]:
        """Bins like these for several parts of the rows: ``parts`` (F, n) are the weights of the rows in each.

        Returns the bins of each part, their counts, and the columns that they are of: those that have more than one
        bin, for the others tell nothing, unless ``every_column`` is wanted. What was seen is not noted.
        """
        check_parameters(self)
        if table.n_rows > SAMPLE and len(parts) > 1:
            # Edges of so many rows are those of a sample of the part.
            alone = (self.fit_parts(table, classes, part[None, :], n_classes, every_column) for part in parts)
            return [found for (found,) in alone]
        every, made = np.arange(table.n_features), []
        may = None if every_column else self.divisible(table, classes, parts, n_classes)
        if may is not None:
            table, every = table.some(may), may
        for columns in self._cut(table, classes, parts, n_classes):
            own, kept = Binner(self.method, self.n_bins, self.missing), np.arange(every.size)
            if not every_column:
                kept, columns = columns.divided(self.missing == "bin")
            made.append((own, own._assemble(columns, None, n_classes), every[kept]))
        return made

    def _cut(self, table: Table, classes: np.ndarray, parts: np.ndarray, n_classes: int) -> list[_Columns]:
        """Bins and counts of all columns in each part."""
        method = _METHODS[self.method]
        source = _Source(table, classes, parts.max(axis=0), n_classes, table.categorical)
        bins = np.array([self.most_bins(n_classes, float(part.sum())) for part in parts])
        logs = _logs_for(method, source.weights)
        cutting = kernel.Cutting(method, int(bins.max()), SAMPLE, logs)
        cut = source.parts(parts, bins, logs)
        spans = source.spans(_BLOCK // (cutting.bins * n_classes * len(parts)))
        found: list[dict[int, _Columns]] = [{} for _ in parts]

        def run(first: int, last: int) -> None:
            for a, b in spans[first:last]:
                shape, room = (len(parts), b - a), (b - a) * cutting.bins
                n_edges, lost = np.empty(shape, dtype=np.int64), np.empty((*shape, n_classes))
                edges, counts = np.empty((len(parts), room)), np.empty((len(parts), room, n_classes))
                kernel.fit_columns(source.columns(a, b), a, b, cutting, cut, n_edges, edges, counts, lost)
                for f, made in enumerate(n_edges.sum(axis=1).tolist()):
                    kept = edges[f, :made].copy(), n_edges[f] + 1, counts[f, : made + b - a].copy()
                    found[f][a] = _Columns(n_edges[f], *kept, lost[f])

        over_chunks(run, len(spans), 1)
        for f, part in enumerate(parts):
            if table.categorical:
                own = _Source(table, classes, part, n_classes, table.categorical)
                found[f] |= {k: self._fit_labels(own, k) for k in table.categorical}
        return [_Columns.joined([made[a] for a in sorted(made)], n_classes) for made in found]

    def divisible(self, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray | None:
        """Columns of a sparse table that may have more than one bin, if bins are chosen by these rows; None: any may.

        Of a million columns most store too few values to be cut, and what tells nothing need not be carried along.
        Weights are those of the rows (n,), or of the rows in each of several parts (F, n), for each of which bins are
        chosen.
        """
        if table.sparse is None:
            return None
        parts = np.atleast_2d(weights)
        least, counted = 0.0, np.maximum(parts.max(axis=0), 0.0)
        if self.method == "supervised" and self.missing == "skip":
            logs = _log_table(counted)
            least = min(kernel.least_weight_that_pays(totals, logs) for totals in _totals(classes, parts, n_classes))
        stored = table.stored(counted)
        may = (stored >= least) & (stored > 0)
        # What is missing takes weight from the zeros, of which the bound knows nothing.
        by_row = table.sparse.tocsr()
        may[by_row.indices[np.isnan(by_row.data)]] = True
        may[:1] = True  # a table has a column
        return np.flatnonzero(may)

    def _fit_labels(self, source: _Source, k: int) -> _Columns:
        """One bin per level; sentinel edges put labels that are not among the levels past the last bin."""
        levels = source.table.levels(k, source.rows)
        counts, lost = source.count_labels(k, levels)
        extra = int(self.missing == "bin" and lost.any())
        edges = np.arange(len(counts) + extra) + 0.5
        return _Columns(np.array([edges.size]), edges, np.array([len(counts)]), counts, lost[None, :], {k: levels})

    def _assemble(self, columns: _Columns, names: list[str] | None, n_classes: int) -> np.ndarray:
        """Take over bins, and return their counts with those of missing values among them."""
        has_missing = np.zeros(len(columns.lost), dtype=bool)
        if self.missing == "bin":
            columns.lost.any(axis=1, out=has_missing)
        self._set(columns.n_edges, columns.edges, columns.n_bins, has_missing, columns.levels or {}, names)
        if not has_missing.any():
            return columns.counts
        cells = np.zeros((self.cell_offsets[-1], n_classes))
        own = np.ones(len(cells), dtype=bool)
        own[self.cell_offsets[1:][has_missing] - 1] = False
        cells[own] = columns.counts
        cells[~own] = columns.lost[has_missing]
        return cells

    seen: tuple[np.ndarray, np.ndarray] | None = None

    def seeing(self, table: Table) -> Binner:
        """The same bins, having seen the numbers of another table too."""
        if self.seen is None:
            return self
        low, high = table.ranges()
        wider = copy(self)
        wider.seen = round_ranges(np.minimum(self.seen[0], low), np.maximum(self.seen[1], high))
        return wider

    def seen_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric column; None for labels, or where that is not known."""
        if self.seen is None or column in self.levels or not self.seen[0][column] <= self.seen[1][column]:
            return None
        return float(self.seen[0][column]), float(self.seen[1][column])

    def _set(
        self,
        n_edges: np.ndarray,
        edges: np.ndarray,
        n_bins: np.ndarray,
        has_missing: np.ndarray,
        levels: dict[int, np.ndarray],
        names: list[str] | None,
    ) -> None:
        self.edges = edges
        self.edge_offsets = np.concatenate(([0], np.cumsum(n_edges, dtype=np.int64)))
        self.cell_offsets = np.concatenate(([0], np.cumsum(n_bins + has_missing, dtype=np.int64)))
        self.missing_codes = np.where(has_missing, n_bins, -1).astype(np.int64)
        self.levels = levels
        self.names = names

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.missing_codes.size

    @property
    def pooled(self) -> tuple[int, ...]:
        """Columns of labels the rare ones of which are taken together; the authors' program knows no labels."""
        return () if self.method == "published" else tuple(sorted(self.levels))

    def count(self, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
        """Counts of a table in the bins that were chosen, shape (cells, classes)."""
        self._check_width(table)
        cells = np.zeros((self.cell_offsets[-1], n_classes))
        has_missing = self.missing_codes >= 0
        bins = kernel.CountingBins(self.edges, self.edge_offsets, self.cell_offsets, has_missing)
        source = _Source(table, classes, weights, n_classes, sorted(self.levels))
        spans = source.spans(_CACHE)

        def run(first: int, last: int) -> None:
            for a, b in spans[first:last]:
                kernel.count_columns(source.columns(a, b), a, b, bins, cells)

        over_chunks(run, len(spans), 1)
        for k, levels in self.levels.items():
            counts, lost = source.count_labels(k, levels)
            first = self.cell_offsets[k]
            cells[first : first + len(counts)] = counts
            if has_missing[k]:
                cells[first + len(counts)] = lost
        return cells

    def transform(self, X: Any) -> np.ndarray:
        """Codes of a table, shape (n, K); -1 where a value is no evidence."""
        table = read_table(X).by_column()
        self._check_width(table)
        codes = np.empty((table.n_rows, self.n_features), dtype=np.int32)
        n_cells = np.diff(self.cell_offsets)

        def run(first: int, last: int) -> None:
            for a in range(first, last, width):
                columns = slice(a, min(a + width, last))
                block = table.block(columns, self.levels)
                kernel.encode_columns(
                    block, a, self.edges, self.edge_offsets, self.missing_codes, n_cells, codes[:, columns]
                )

        width = max(_BLOCK // max(table.n_rows, 1), 1)
        over_chunks(run, self.n_features, width)
        return codes

    def edges_of(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges of some columns one after the other, their offsets, and the codes of missing values."""
        starts, ends = self.edge_offsets[columns], self.edge_offsets[columns + 1]
        offsets = np.concatenate(([0], np.cumsum(ends - starts, dtype=np.int64)))
        where = np.repeat(starts - offsets[:-1], ends - starts) + np.arange(offsets[-1])
        return self.edges[where], offsets, self.missing_codes[columns]

    def encode(self, table: Table, columns: np.ndarray) -> np.ndarray:
        """Codes of some columns, one row per column, shape (columns, n); -1 where a value is no evidence."""
        self._check_width(table)
        table, n_cells = table.by_column(), np.diff(self.cell_offsets)
        out = np.empty((columns.size, table.n_rows), dtype=np.int32)
        if table.sparse is not None and not self.levels:
            self._encode_stored(table.sparse, columns, out)
            return out
        width = max(_BLOCK // max(table.n_rows, 1), 1)

        def run(first: int, last: int) -> None:
            for a in range(first, last, width):
                part = columns[a : min(a + width, last)]
                block = table.block(part, self.levels)
                codes = np.empty((table.n_rows, part.size), dtype=np.int32)
                kernel.encode_columns(block, 0, *self.edges_of(part), n_cells[part], codes)
                out[a : a + part.size] = codes.T

        over_chunks(run, columns.size, width)
        return out

    def _encode_stored(self, matrix: Any, columns: np.ndarray, out: np.ndarray) -> None:
        """The same for a CSC matrix: the code of zero, and those of the values that are stored."""
        for codes, column in zip(out, columns.tolist(), strict=True):
            stored = slice(matrix.indptr[column], matrix.indptr[column + 1])
            found = self.codes_of(column, np.append(matrix.data[stored].astype(np.float64), 0.0))
            codes[:] = found[-1]
            codes[matrix.indices[stored]] = found[:-1]

    def codes_of(self, column: int, values: np.ndarray) -> np.ndarray:
        """Codes of values (n,) of one column, labels given by their index; -1 where a value is no evidence."""
        first, last = self.edge_offsets[column], self.edge_offsets[column + 1]
        n_cells = self.cell_offsets[column + 1] - self.cell_offsets[column]
        out = np.empty(len(values), dtype=np.int64)
        codes_of(values, self.edges, first, last, self.missing_codes[column], n_cells, out)
        return out

    def _check_width(self, table: Table) -> None:
        if table.n_features != self.n_features:
            raise InputError(
                f"the table has {table.n_features} columns, but bins were made for {self.n_features}; "
                "pass the columns of the training table"
            )

    def range_of(self, column: int) -> tuple[float, float] | None:
        """The outermost edges of a numeric column; None for labels, or where all values share a bin."""
        edges = self.edges[self.edge_offsets[column] : self.edge_offsets[column + 1]]
        return None if column in self.levels or not edges.size else (float(edges[0]), float(edges[-1]))

    def describe(self, column: int, code: int) -> str:
        """The values that have this code, in words."""
        if code == self.missing_codes[column] or code < 0:
            return "missing" if code >= 0 else "no evidence"
        if column in self.levels:
            return repr(self.levels[column][code]) if len(self.levels[column]) else "any"
        edges = self.edges[self.edge_offsets[column] : self.edge_offsets[column + 1]]
        if not edges.size:
            return "any value"
        if code == 0:
            return f"below {edges[0]:.6g}"
        if code == edges.size:
            return f"at least {edges[-1]:.6g}"
        return f"{edges[code - 1]:.6g} to {edges[code]:.6g}"

    def most_bins(self, n_classes: int, weight: float) -> int:
        """Bins of a numeric column, or the most there may be of supervised ones, for rows of this weight."""
        if self.n_bins != "auto":
            return int(self.n_bins)
        if self.method == "supervised":
            return _MOST_AUTO_BINS
        return min(max(n_classes, 2, round(weight ** (1 / 3))), max(_MOST_AUTO_BINS, n_classes))


@dataclass(frozen=True)
class _Columns:
    """Bins and counts of columns, one after the other."""

    n_edges: np.ndarray
    edges: np.ndarray
    n_bins: np.ndarray
    counts: np.ndarray
    lost: np.ndarray
    levels: dict[int, np.ndarray] | None = None

    @classmethod
    def joined(cls, runs: list[_Columns], n_classes: int) -> _Columns:
        """All of them."""
        if len(runs) == 1:
            return runs[0]
        none, levels = np.empty(0, dtype=np.int64), {}
        for run in runs:
            levels.update(run.levels or {})
        return cls(
            np.concatenate([none, *(r.n_edges for r in runs)]), np.concatenate([np.empty(0), *(r.edges for r in runs)]),
            np.concatenate([none, *(r.n_bins for r in runs)]),
            np.concatenate([np.empty((0, n_classes)), *(r.counts for r in runs)]),
            np.concatenate([np.empty((0, n_classes)), *(r.lost for r in runs)]), levels,
        )  # fmt: skip

    def divided(self, missing_have_bins: bool) -> tuple[np.ndarray, _Columns]:
        """Those that have more than one bin, by number, or the first if there is none; a table has a column."""
        may = (self.n_bins > 1) | (missing_have_bins & self.lost.any(axis=1))
        may[:1] |= not may.any()
        kept = np.flatnonzero(may)
        known = self.levels or {}
        levels = {new: known[k] for new, k in enumerate(kept.tolist()) if k in known}
        return kept, _Columns(
            self.n_edges[kept], self.edges[np.repeat(may, self.n_edges)], self.n_bins[kept],
            self.counts[np.repeat(may, self.n_bins)], self.lost[kept], levels,
        )  # fmt: skip


class _Source:
    """Hands columns of a table to the kernels, dense or sparse, for the rows that carry weight."""

    def __init__(
        self, table: Table, classes: np.ndarray, weights: np.ndarray, n_classes: int, categorical: Sequence[int]
    ) -> None:
        self.table = table
        self.categorical = categorical
        self.rows = np.flatnonzero(weights > 0)
        self.classes = np.array(classes[self.rows], dtype=np.int64)
        self.weights = np.array(weights[self.rows], dtype=np.float64)
        self.totals = np.bincount(self.classes, self.weights, minlength=n_classes).astype(np.float64)
        self._members = np.bincount(self.classes, minlength=n_classes).astype(np.int64)
        self._csc: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        if table.sparse is not None:
            m = table.by_column().sparse
            # One type of array for all input, so that kernels are compiled once.
            self._csc = (
                np.require(m.data, np.float64, ["C", "W"]),
                np.require(m.indices, np.int32, ["C", "W"]),
                np.require(m.indptr, np.int64, ["C", "W"]),
            )
            self._all_classes = np.array(classes, dtype=np.int64)
            self._all_weights = np.array(weights, dtype=np.float64)

    def spans(self, widest: int) -> list[tuple[int, int]]:
        """Numeric columns in runs that are read at once."""
        n = max(self.rows.size, 1)
        if self._csc is None:
            # Wide enough to use whole cache lines of a table that is stored by row, unless it is very long.
            widest = min(widest, max(_CACHE // n, min(_LINE, _BLOCK // n)))
        widest = max(widest, 1)
        stops = [-1, *self.categorical, self.table.n_features]
        runs = [(a + 1, b) for a, b in pairwise(stops)]
        return [(a, min(a + widest, end)) for start, end in runs for a in range(start, end, widest)]

    def columns(self, first: int, last: int) -> kernel.ColumnSource:
        """Columns first..last-1 as the kernels read them."""
        if self._csc is not None:
            rows = self._all_classes, self._all_weights
            return kernel.ColumnSource(True, _NO_BLOCK, *self._csc, *rows, self.totals, self._members)
        block = self.table.block(slice(first, last))
        if self.rows.size < self.table.n_rows:
            block = block[self.rows]
        turned, width = np.empty(block.shape[::-1]), max(_NEAR // max(len(block), 1), _LINE)
        for a in range(0, last - first, width):
            turned[a : a + width] = block[:, a : a + width].T
        return kernel.ColumnSource(False, turned, *_NO_CSC, self.classes, self.weights, self.totals, self._members)

    def parts(self, weights: np.ndarray, bins: np.ndarray, logs: np.ndarray) -> kernel.Parts:
        """Parts of the rows, by the weights (F, n) of all rows in each."""
        own, classes = (weights, self._all_classes) if self._csc is not None else (weights[:, self.rows], self.classes)
        own = np.array(own, dtype=np.float64, order="C")
        totals = _totals(classes, own, self.totals.size)
        members = _totals(classes, own > 0, self.totals.size).astype(np.int64)
        light = [kernel.least_weight_that_pays(part, logs) for part in totals]
        price = [kernel.least_price(part, logs) for part in totals]
        return kernel.Parts(own, totals, members, bins, np.array(light), np.array(price))

    def count_labels(self, k: int, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights by level and class of a categorical column, and those of missing values by class."""
        codes = self.table.block([k], {k: levels})[self.rows, 0]
        n_classes, n_levels = self.totals.size, max(len(levels), 1)
        known, absent = np.isfinite(codes), np.isnan(codes)
        cells = codes[known].astype(np.int64) * n_classes + self.classes[known]
        counts = np.bincount(cells, self.weights[known], minlength=n_levels * n_classes)
        lost = np.bincount(self.classes[absent], self.weights[absent], minlength=n_classes)
        return counts.astype(np.float64).reshape(n_levels, n_classes), lost.astype(np.float64)


_NO_BLOCK = np.empty((0, 0))
_NO_CSC = np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)


def _totals(classes: np.ndarray, parts: np.ndarray, n_classes: int) -> np.ndarray:
    """Weight of each class in each part, (F, N)."""
    return np.array([np.bincount(classes, part, minlength=n_classes) for part in parts], dtype=np.float64)


def _logs_for(method: int, weights: np.ndarray) -> np.ndarray:
    """What supervised cuts look up; nothing for others."""
    return _log_table(weights) if method == kernel.SUPERVISED else np.empty(0)


def _log_table(weights: np.ndarray) -> np.ndarray:
    """x log2 x of whole numbers, if weights are whole."""
    whole = bool((weights == np.floor(weights)).all())
    table = np.arange(int(min(weights.sum(), _LOG_TABLE)) + 1 if whole else 1, dtype=np.float64)
    table[1:] *= np.log2(table[1:])
    return table
