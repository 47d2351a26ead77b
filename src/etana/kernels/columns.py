"""Columns to bins, and bins to counts.

A column reaches the loops as its values that are neither zero nor missing, with the class and weight of each, and
the weight by class of its zeros. So a dense column and a sparse one give the same bins, and zeros cost little. Bin v
of a column holds the values with exactly v edges at or below them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear, copy
from etana.kernels.cuts import (
    FINE,
    between,
    count_rows,
    cuts_between,
    group_rows,
    make_room,
    may_gain,
    put_in_order,
    quantile_groups,
)
from etana.kernels.ladders import cut_on_ladders, take_bins
from etana.kernels.lanes import FEW, LANES, LONGEST, read_lane, sort_lanes
from etana.kernels.scores import supervised_cuts
from etana.kernels.sorting import LARGEST, SHORT, sort_keys, take_keys
from etana.kernels.walk import bin_of

UNIFORM, PUBLISHED, QUANTILE, SUPERVISED = range(4)

BATCH = 256  # values that are looked up side by side
CELLS, CROWD, MANY = 4, 4, 2048  # cells for an edge, edges in a cell that are too many, values for which a guide pays


class ColumnSource(NamedTuple):
    """Columns of a table, stored dense or as a CSC matrix, and the rows that they run over.

    Attributes
    ----------
    sparse : bool
        Which of the two it is; the arrays of the other are empty.
    turned : float64 (b, n)
        Dense: the columns that are read now, one a row, of the rows that carry weight.
    data, rows, indptr : float64 (nnz,), int32 (nnz,), int64 (K + 1,)
        Sparse: all columns.
    classes, weights : int64 (n,), float64 (n,)
        Class and weight of each row.
    totals, members : float64 (N,), int64 (N,)
        Weight of each class, and how many of its rows carry weight.
    """

    sparse: bool
    turned: np.ndarray
    data: np.ndarray
    rows: np.ndarray
    indptr: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    members: np.ndarray


class Parts(NamedTuple):
    """Several fits of the same rows, each of which weighs them in its own way; a row of weight 0 is not in it.

    Attributes
    ----------
    weights : float64 (F, n)
    totals, members : float64 (F, N), int64 (F, N)
        Weight of each class, and how many of its rows are in the fit.
    bins : int64 (F,)
        Bins of a column, or the most there may be.
    too_light, price : float64 (F,)
        A column whose values other than zero weigh less is not cut, nor is a complete one by a cut that gains fewer
        bits; 0 where that is not known.
    """

    weights: np.ndarray
    totals: np.ndarray
    members: np.ndarray
    bins: np.ndarray
    too_light: np.ndarray
    price: np.ndarray


class Cutting(NamedTuple):
    """How edges are chosen.

    Attributes
    ----------
    method : int
        UNIFORM, PUBLISHED, QUANTILE or SUPERVISED.
    bins : int
        Bins of a column that there may be at most.
    sample : int
        Values that quantiles are taken from, at most.
    table : float64 (m,)
        x log2 x of the whole numbers below m, for supervised cuts.
    """

    method: int
    bins: int
    sample: int
    table: np.ndarray


class CountingBins(NamedTuple):
    """Edges that are given.

    Attributes
    ----------
    edges, edge_offsets : float64 (edges,), int64 (K + 1,)
        Edges of all columns one after the other, and where those of each column begin.
    cell_offsets : int64 (K + 1,)
        Where the cells of each column begin.
    has_missing : bool (K,)
        Whether the last cell of a column is that of missing values.
    """

    edges: np.ndarray
    edge_offsets: np.ndarray
    cell_offsets: np.ndarray
    has_missing: np.ndarray


class Gathered(NamedTuple):
    """Room for one column: ``values`` float64 (n,), ``labels`` int64 (n,) and ``mass`` float64 (n,) of its rows."""

    values: np.ndarray
    labels: np.ndarray
    mass: np.ndarray


@njit(nogil=True, cache=True)
def gather_sparse(data, rows, start, end, classes, weights, totals, members, room, zeros, missing, absent):
    """The same for entries start..end-1 of a CSC matrix; zeros are what is left of the totals.

    ``absent`` int64 (N,) is room. Arrays one by one: to hand a :class:`ColumnSource` on for each of a million short
    columns costs a third more time.
    """
    values, labels, mass = room
    clear(missing)
    copy(totals, zeros)
    copy(members, absent)
    m = 0
    for e in range(start, end):
        i, w, x = classes[rows[e]], weights[rows[e]], data[e]
        if w > 0.0 and x != 0.0:
            zeros[i] -= w
            absent[i] -= 1
            if x == x:
                values[m], labels[m], mass[m] = x, i, w
                m += 1
            else:
                missing[i] += w
    for i in range(zeros.size):
        # A difference of fractions need not come out as the nothing that it stands for.
        zeros[i] = max(zeros[i], 0.0) if absent[i] > 0 else 0.0
    return m


@njit(nogil=True, cache=True)
def gather(column, classes, weights, room, zeros, missing):
    """A dense column: values, labels, weights, and how many of them count.

    ``zeros`` and ``missing``, float64 (N,), become the weights by class of zeros and of missing values. A column with
    neither is not copied.
    """
    whole = True
    for r in range(column.size):
        whole &= (column[r] != 0.0) & (column[r] == column[r])
    clear(zeros)
    clear(missing)
    if whole:
        return column, classes, weights, column.size
    values, labels, mass = room
    m = 0
    for r in range(column.size):
        x = column[r]
        if x != 0.0 and x == x:
            values[m], labels[m], mass[m] = x, classes[r], weights[r]
            m += 1
        elif x == 0.0:
            zeros[classes[r]] += weights[r]
        else:
            missing[classes[r]] += weights[r]
    return values, labels, mass, m


@njit(nogil=True, cache=True)
def quantile_edges(values, weights, count, bins, edges):
    """Cuts between distinct values that split the weight as evenly as whole values allow."""
    lasts = np.empty(bins, np.int64)
    made = quantile_groups(weights, count, bins, lasts)
    for p in range(made):
        edges[p] = between(values[lasts[p]], values[lasts[p] + 1])
    return made


@njit(nogil=True, cache=True)
def uniform_edges(values, mass, m, has_zero, bins, rounded, edges):
    """Equal widths between the smallest and the largest finite value, or between their floor and ceiling."""
    low, high = (0.0, 0.0) if has_zero else (np.inf, -np.inf)
    for r in range(m):
        if abs(values[r]) <= LARGEST and mass[r] > 0.0:
            low, high = min(low, values[r]), max(high, values[r])
    if not low < high:
        return 0
    if rounded:
        low, high = np.floor(low), np.ceil(high)
    made, last, whole = 0, low, high - low < np.inf
    for b in range(1, bins):
        edge = low + (high - low) * b / bins if whole else low * (1.0 - b / bins) + high * (b / bins)
        if edge > last:
            edges[made] = last = edge
            made += 1
    return made


@njit(nogil=True, cache=True)
def add_counts(values, labels, mass, m, zeros, edges, n_edges, histogram):
    """Add the weights of a column to histogram[bin, class]; ``edges`` has room for a power of two above n_edges."""
    if m > SHORT:
        add_many(values, labels, mass, m, edges, n_edges, histogram)
    else:
        # Room for a search side by side would take longer to be had than few values take.
        for r in range(m):
            histogram[bin_of(values[r], edges, np.int64(0), n_edges, np.int64(-1)), labels[r]] += mass[r]
    zero_bin = bin_of(0.0, edges, np.int64(0), n_edges, np.int64(-1))
    for i in range(zeros.size):
        histogram[zero_bin, i] += zeros[i]


@njit(nogil=True, cache=True)
def add_many(values, labels, mass, m, edges, n_edges, histogram):
    """The same for many values, and no zeros."""
    size = 1
    while size <= n_edges:
        size *= 2
    found, factor = np.empty(BATCH, np.int64), 0.0
    guide = np.empty(CELLS * size if m > MANY and n_edges > CROWD else 1, np.int64)
    if guide.size > 1 and n_edges + 2 * CROWD <= edges.size:
        # Equal cells; guide[c] becomes how many edges lie in cells before c.
        width, cell, most = edges[n_edges - 1] - edges[0], 0, 0
        factor = (guide.size - 1) / width if width > 0.0 else 0.0
        factor = factor if 0.0 < factor < LARGEST else 0.0
        for e in range(n_edges):
            own = int((edges[e] - edges[0]) * factor)
            while cell <= own and cell < guide.size:
                guide[cell] = e
                cell += 1
            most = max(most, e + 1 - guide[own])
        while cell < guide.size:
            guide[cell] = n_edges
            cell += 1
        # A guide pays where few edges share a cell: the search among them is short.
        factor = factor if most < CROWD else 0.0
    widest = CROWD if factor > 0.0 else size
    edges[n_edges : max(size, n_edges + widest)] = np.nan  # at or below nothing
    last = guide.size - 1.0
    for start in range(0, m, BATCH):
        many = min(BATCH, m - start)
        found[:many] = 0
        if factor > 0.0:
            # A larger value never has a smaller cell, so that all edges of cells before its own are below it.
            for r in range(many):
                found[r] = guide[int(min(max((values[start + r] - edges[0]) * factor, 0.0), last))]
        half = widest >> 1
        # Binary searches side by side: each step is the same for all, and no branch has to be guessed.
        while half > 0:
            for r in range(many):
                b = found[r]
                found[r] = b + half if edges[b + half - 1] <= values[start + r] else b
            half >>= 1
        for r in range(many):
            histogram[found[r], labels[start + r]] += mass[start + r]


def least_price(totals: np.ndarray, table: np.ndarray) -> float:
    """Bits that a supervised cut of a complete column gains at least; 0 if weights are fractions.

    It is log2(n - 1) + log2(3^k - 2) - k H, for k classes (see :func:`etana.kernels.scores.best_cut`).
    """
    present = totals[totals > 0.0].tolist()
    n, k = sum(present), len(present)
    if table.size <= 1 or k < 2:
        return 0.0
    inner = sum(x * math.log2(x) for x in present)
    three_to_k = k * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0**-k)
    price = math.log2(max(n - 1.0, 1.0)) + three_to_k - k * (math.log2(n) - inner / n)
    # A hundredth is more than rounding can make of it.
    return 0.99 * price


def least_weight_that_pays(totals: np.ndarray, table: np.ndarray) -> float:
    """A column whose values other than zero weigh less than this has no supervised cut; 0 if weights are fractions.

    A cut leaves the zeros on one side; let the other, A, weigh a of n. Its gain is at most what A and the rest B lose
    in divergence from the whole: a KL(A | all) + (n - a) KL(B | all) <= a (log2(n / least class) + log2 e). Its price
    is at least :func:`least_price`.
    """
    present = totals[totals > 0.0]
    if present.size < 2:
        return 0.0
    return least_price(totals, table) / (math.log2(present.sum() / present.min()) + math.log2(math.e))


@njit(nogil=True, cache=True)
def quantile_cuts(values, mass, zero_weight, bins, cuts):
    """Cuts that split the weight of some values, and of zeros, as evenly as whole values allow; how many there are."""
    m, zeros = values.size, np.empty(1)
    sorting, rows, room = make_room(m, bins, np.int64(1), np.zeros(1))
    keys, places, other_keys, other_places, tally = sorting
    take_keys(values, m, m, keys, places)
    keys, places = sort_keys(values, keys, places, m, other_keys, other_places, tally)
    zeros[0] = zero_weight
    count = put_in_order(Gathered(values, np.zeros(m, np.int64), mass), keys, places, m, zeros, rows)
    groups, _ = group_rows(rows, count, bins, room)
    cuts_between(rows, groups, cuts)
    return groups - 1


@njit(nogil=True, cache=True)
def cut_column(column, m, zeros, rows, count, totals, price, cutting, bins, room, cuts):
    """Edges of a column, into ``cuts``, and its counts, into ``room.histogram``; the number of edges.

    Its rows are in order, all of them or a sample; all are counted. Supervised cuts of whole weights are found on
    ladders, those of fractions or of a sample by :func:`etana.kernels.scores.supervised_cuts`. ``totals`` (N,) are the
    weights of the rows by class, and ``price`` is in bits what a cut must gain at least; 0: not known.
    """
    complete, supervised = m <= cutting.sample, cutting.method == SUPERVISED
    table, histogram = cutting.table, room.histogram
    if complete and price > 0.0 and not may_gain(rows, count, totals, price, room.sides):
        copy(totals, histogram[0])
        return 0
    groups, by_value = group_rows(rows, count, FINE if supervised else bins, room)
    total = 0.0
    for i in range(totals.size):
        total += totals[i]
    if complete and supervised and count > 0 and table.size > max(total, 1.0):
        groups = cut_on_ladders(rows, count, groups, by_value, totals, bins, table, room.ladders)
        take_bins(room.ladders, groups, rows.ends, histogram)
        cuts_between(rows, groups, cuts)
        return groups - 1
    cuts_between(rows, groups, cuts)
    if complete:
        count_rows(rows, groups, histogram)
    else:
        for g in range(groups):
            clear(histogram[g])
        add_counts(column.values, column.labels, column.mass, m, zeros, cuts, groups - 1, histogram)
    if not supervised or count == 0:
        return groups - 1
    kept = supervised_cuts(histogram, groups, bins, table, room.entries, room.sides, room.kept)
    for p in range(kept):
        cuts[p], rows.ends[p] = cuts[room.kept[p]], rows.ends[room.kept[p]]
    if complete:
        # Once more, row by row: sums of fractions are those of rows in order.
        rows.ends[kept] = count
        count_rows(rows, kept + 1, histogram)
    return kept


@njit(nogil=True, cache=True)
def fit_columns(source, first, last, cutting, parts, n_edges, edges, counts, missing):
    """Edges and counts of columns first..last-1, b of them, in each of F parts, one after the other in ``edges`` and
    ``counts``.

    A dense column is sorted once: the order of a part of the rows is that of all rows without the others. Where there
    are several parts, no column has more than ``cutting.sample`` values.

    Outputs: ``n_edges`` int64 (F, b); ``edges`` float64 (F, .) and ``counts`` float64 (F, ., N), with room for
    ``cutting.bins`` of each column; ``missing`` float64 (F, b, N), the weights by class of missing values.
    """
    sparse, turned, data, stored, indptr, classes, _, _, _ = source
    n, n_parts, n_classes = classes.size, parts.weights.shape[0], parts.totals.shape[1]
    most, sample = max(FINE, cutting.bins), cutting.sample
    cuts, zeros, shares = np.empty(2 * most), np.empty(n_classes), np.empty(n_classes)
    gathered = Gathered(np.empty(n), np.empty(n, np.int64), np.empty(n))
    sorting, rows, room = make_room(min(n, sample), most, n_classes, cutting.table)
    keys, places, chosen = sorting.keys, sorting.places, 0
    edge, cell, absent = np.zeros(n_parts, np.int64), np.zeros(n_parts, np.int64), np.empty(n_classes, np.int64)
    by_width = cutting.method == UNIFORM or cutting.method == PUBLISHED
    together = not (by_width or sparse) and last - first >= FEW and n <= min(LONGEST, sample)
    lanes, stride = np.empty(n * LANES if together else 0, np.int32), LANES
    for c in range(last - first):
        is_sorted = False
        if together and c % LANES == 0:
            stride = min(LANES, last - first - c)
            sort_lanes(turned, c, c + stride, sorting.keys, lanes)
        for f in range(n_parts):
            start, end = (indptr[first + c], indptr[first + c + 1]) if sparse else (np.int64(0), np.int64(0))
            weight = 0.0 if sparse else np.inf
            for e in range(start, end):
                # What is missing weighs as much as can be: its column is not complete.
                weight += parts.weights[f, stored[e]] if data[e] == data[e] else np.inf
                if weight >= parts.too_light[f]:
                    break
            if weight < parts.too_light[f] or (sparse and start == end):
                for i in range(n_classes):
                    counts[f, cell[f], i], missing[f, c, i] = parts.totals[f, i], 0.0
                n_edges[f, c] = 0
                cell[f] += 1
                continue
            weights, totals, members = parts.weights[f], parts.totals[f], parts.members[f]
            bins, lost, column, m, made = parts.bins[f], missing[f, c], gathered, 0, 0
            if sparse:
                m = gather_sparse(
                    data, stored, start, end, classes, weights, totals, members, gathered, zeros, lost, absent
                )  # fmt: skip
            else:
                values, labels, mass, m = gather(turned[c], classes, weights, gathered, zeros, lost)
                column = Gathered(values, labels, mass)
            of_zeros, of_missing = 0.0, 0.0
            for i in range(n_classes):
                of_zeros, of_missing = of_zeros + zeros[i], of_missing + lost[i]
            if together and not is_sorted:
                keys, places = read_lane(lanes[c % LANES : n * stride : stride], column.values, m, sorting)
                is_sorted = True
            elif not by_width and (sparse or not is_sorted):
                chosen, is_sorted = take_keys(column.values, m, sample, sorting.keys, sorting.places), True
                keys, places = sort_keys(
                    column.values, sorting.keys, sorting.places, chosen, sorting.other_keys, sorting.other_places,
                    sorting.tally,
                )  # fmt: skip
            if by_width:
                equal = cutting.method == PUBLISHED
                made = uniform_edges(column.values, column.mass, m, of_zeros > 0.0, bins, equal, cuts)
                for b in range(made + 1):
                    clear(room.histogram[b])
                add_counts(column.values, column.labels, column.mass, m, zeros, cuts, made, room.histogram)
            else:
                taken, price = m if m <= sample else chosen, parts.price[f] if of_missing == 0.0 else 0.0
                for i in range(n_classes):
                    shares[i] = zeros[i] if m <= sample else 0.0
                if m > sample:
                    shares[0] = of_zeros * (sample / m)
                count = put_in_order(column, keys, places, taken, shares, rows)
                for i in range(n_classes):
                    shares[i] = totals[i] - lost[i]
                made = cut_column(column, m, zeros, rows, count, shares, price, cutting, bins, room, cuts)
            n_edges[f, c] = made
            copy(cuts[:made], edges[f, edge[f] :])
            for b in range(made + 1):
                copy(room.histogram[b], counts[f, cell[f] + b])
            edge[f], cell[f] = edge[f] + made, cell[f] + made + 1


@njit(nogil=True, cache=True)
def count_columns(source, first, last, bins, cells):
    """Add the counts of columns first..last-1 to cells[cell, class], with edges that are given."""
    edges, edge_offsets, cell_offsets, has_missing = bins
    sparse, turned, data, rows, indptr, classes, weights, totals, members = source
    n, n_classes = classes.size, totals.size
    room = Gathered(np.empty(n), np.empty(n, np.int64), np.empty(n))
    missing, zeros, absent = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes, np.int64)
    cuts = np.empty(2 * (np.diff(edge_offsets[first : last + 1]).max() + 1))
    for c in range(last - first):
        column = first + c
        values, labels, mass = room
        if sparse:
            start, end = indptr[column], indptr[column + 1]
            m = gather_sparse(data, rows, start, end, classes, weights, totals, members, room, zeros, missing, absent)
        else:
            values, labels, mass, m = gather(turned[c], classes, weights, room, zeros, missing)
        made = edge_offsets[column + 1] - edge_offsets[column]
        copy(edges[edge_offsets[column] : edge_offsets[column + 1]], cuts)
        out = cells[cell_offsets[column] : cell_offsets[column + 1]]
        add_counts(values, labels, mass, m, zeros, cuts, made, out)
        if has_missing[column]:
            out[out.shape[0] - 1] += missing


@njit(nogil=True, cache=True)
def encode_columns(block, first, edges, edge_offsets, missing, n_cells, codes):
    """codes[:, c] = bin of block[:, c], which is column first + c; -1 where a value is no evidence.

    ``edges`` and ``edge_offsets`` as in :class:`CountingBins`; ``missing`` int64 (K,) are the codes of missing values,
    ``n_cells`` int64 (K,) how many codes each column has: labels that were not seen in training lie past them.
    """
    for c in range(block.shape[1]):
        low, high = edge_offsets[first + c], edge_offsets[first + c + 1]
        for r in range(block.shape[0]):
            code = bin_of(np.float64(block[r, c]), edges, low, high, missing[first + c])
            codes[r, c] = code if code < n_cells[first + c] else -1
