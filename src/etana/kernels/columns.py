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
from etana.kernels.scores import Entries, Sides, supervised_cuts
from etana.kernels.walk import bin_of

UNIFORM, PUBLISHED, QUANTILE, SUPERVISED = range(4)

FINE = 256  # candidate bins of one column, at most
BATCH = 256  # values that are looked up side by side
SHORT = 32  # up to here an insertion sort is the faster one
CELLS, CROWD, MANY = 4, 4, 2048  # cells for an edge, edges in a cell that are too many, values for which a guide pays
PATIENCE = 16  # moves per key after which keys count as badly spread
LARGEST = np.finfo(np.float64).max


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


class Cutting(NamedTuple):
    """How edges are chosen.

    Attributes
    ----------
    method : int
        UNIFORM, PUBLISHED, QUANTILE or SUPERVISED.
    bins : int
        CountingBins of a column, or the most there may be.
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


class Sorting(NamedTuple):
    """Room for sorting m values: four int64 (m,) arrays, and a tally int64 (8, 256)."""

    keys: np.ndarray
    places: np.ndarray
    other_keys: np.ndarray
    other_places: np.ndarray
    tally: np.ndarray


@njit(nogil=True, cache=True)
def gather_dense(column, classes, weights, values, labels, mass, zeros, missing):
    """Values of a dense column that are neither zero nor missing; returns how many there are."""
    clear(zeros)
    clear(missing)
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
    return m


@njit(nogil=True, cache=True)
def gather_sparse(data, rows, start, end, classes, weights, totals, members, room, zeros, missing):
    """The same for entries start..end-1 of a CSC matrix; zeros are what is left of the totals.

    Arrays one by one: to hand a :class:`ColumnSource` on for each of a million short columns costs a third more time.
    """
    values, labels, mass = room
    clear(missing)
    copy(totals, zeros)
    absent = members.copy()
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
    if whole:
        clear(zeros)
        clear(missing)
        return column, classes, weights, column.size
    values, labels, mass = room
    m = gather_dense(column, classes, weights, values, labels, mass, zeros, missing)
    return values, labels, mass, m


@njit(nogil=True, cache=True)
def insertion_sort(keys, places, m, patience):
    """Sort keys[:m] with their places, equal ones left in order; gives up, False, after so many moves."""
    for r in range(1, m):
        key, place, s = keys[r], places[r], r
        while s > 0 and keys[s - 1] > key:
            keys[s], places[s] = keys[s - 1], places[s - 1]
            s -= 1
        keys[s], places[s] = key, place
        patience -= r - s
        if patience < 0:
            return False
    return True


@njit(nogil=True, cache=True)
def spread(values, keys, places, m, other_keys, other_places, starts):
    """Put keys[:m] roughly in order in the other arrays, equal ones left in order; False if it cannot be done.

    Keys of one sign go by their leading bits, which suits skewed values; keys of both signs by the value.
    """
    low, high = keys[0], keys[0]
    first, last = 0, 0
    for r in range(m):
        if keys[r] < low:
            low, first = keys[r], r
        if keys[r] > high:
            high, last = keys[r], r
    one_sign, shift, scale = (low ^ high) >= 0, 0, 0.0
    if one_sign:
        while (high - low) >> shift >= starts.size - 1:
            shift += 1
    else:
        base = values[places[first]]
        scale = (starts.size - 2) / (values[places[last]] - base)
        if not 0.0 < scale < LARGEST:
            return False
    clear(starts)
    for r in range(m):
        b = (keys[r] - low) >> shift if one_sign else int((values[places[r]] - base) * scale)
        starts[b + 1] += 1
    for b in range(1, starts.size):
        starts[b] += starts[b - 1]
    for r in range(m):
        b = (keys[r] - low) >> shift if one_sign else int((values[places[r]] - base) * scale)
        other_keys[starts[b]] = keys[r]
        other_places[starts[b]] = places[r]
        starts[b] += 1
    return True


@njit(nogil=True, cache=True)
def sort_keys(values, keys, places, m, other_keys, other_places, tally):
    """Sort keys[:m] with their places, equal ones left in order; returns the two arrays that hold the result."""
    if m <= SHORT:
        insertion_sort(keys, places, m, m * m)
        return keys, places
    starts = np.empty(min(4 * m, tally.size), np.int64)
    if spread(values, keys, places, m, other_keys, other_places, starts):
        if insertion_sort(other_keys, other_places, m, PATIENCE * m):
            return other_keys, other_places
        keys, other_keys = other_keys, keys
        places, other_places = other_places, places
    return radix_sort(keys, places, m, other_keys, other_places, tally)


@njit(nogil=True, cache=True)
def radix_sort(keys, places, m, other_keys, other_places, tally):
    """The same byte by byte, the least first: no order of the keys makes it slow."""
    for byte in range(8):
        clear(tally[byte])
    for r in range(m):
        key = keys[r]
        for byte in range(8):
            tally[byte, (key >> (8 * byte)) & 255] += 1
    for byte in range(8):
        shift, counts = 8 * byte, tally[byte]
        if counts[(keys[0] >> shift) & 255] == m:
            continue
        # Keys are signed: of the last byte the upper half comes first.
        start, flip = 0, 128 if byte == 7 else 0
        for digit in range(256):
            held = counts[digit ^ flip]
            counts[digit ^ flip] = start
            start += held
        for r in range(m):
            digit = (keys[r] >> shift) & 255
            other_keys[counts[digit]] = keys[r]
            other_places[counts[digit]] = places[r]
            counts[digit] += 1
        keys, other_keys = other_keys, keys
        places, other_places = other_places, places
    return keys, places


@njit(nogil=True, cache=True)
def take_keys(values, m, sample, keys, places):
    """Keys that order m values, and their places: all, or every (m / sample)-th.

    Returns how many there are.
    """
    chosen = m if m <= sample else sample
    for r in range(chosen):
        place = r if m <= sample else r * m // sample
        # Read as an integer a float is ordered by size, the negative ones the wrong way round.
        b = np.float64(values[place]).view(np.int64)
        keys[r], places[r] = b ^ ((b >> 63) & 0x7FFFFFFFFFFFFFFF), place
    return chosen


@njit(nogil=True, cache=True)
def merge_equal(values, mass, m, sample, zero_weight, keys, places, ranks, out_values, out_mass):
    """Distinct values with their weights, zero among them, from keys that are sorted; see :func:`distinct_values`."""
    chosen = m if m <= sample else sample
    count, share = 0, zero_weight if m <= sample else zero_weight * (sample / m)
    pending = zero_weight > 0.0
    for r in range(chosen):
        if pending and keys[r] > 0:
            out_values[count], out_mass[count] = 0.0, share
            count += 1
            pending = False
        if r > 0 and keys[r] == keys[r - 1]:
            out_mass[count - 1] += mass[places[r]]
        else:
            out_values[count], out_mass[count] = values[places[r]], mass[places[r]]
            count += 1
        if m <= sample:
            ranks[places[r]] = count - 1
    if pending:
        out_values[count], out_mass[count] = 0.0, share
        count += 1
    return count


@njit(nogil=True, cache=True)
def distinct_values(values, mass, m, sample, zero_weight, sorting, ranks, out_values, out_mass):
    """Sorted distinct values with their weights, zero among them; every (m / sample)-th value if m is larger.

    If m is not larger, ranks[r] is where values[r] stands among them.
    """
    keys, places, other_keys, other_places, tally = sorting
    chosen = take_keys(values, m, sample, keys, places)
    keys, places = sort_keys(values, keys, places, chosen, other_keys, other_places, tally)
    return merge_equal(values, mass, m, sample, zero_weight, keys, places, ranks, out_values, out_mass)


@njit(nogil=True, cache=True)
def between(low, high):
    """A cut that leaves ``low`` below it and ``high`` at or above it, finite and halfway if there is such a one."""
    a, b = max(low, -LARGEST), min(high, LARGEST)
    width = b - a
    middle = a + 0.5 * width if width < np.inf else 0.5 * a + 0.5 * b
    return middle if low < middle <= high else high


@njit(nogil=True, cache=True)
def quantile_edges(values, weights, count, bins, edges):
    """Cuts between distinct values that split the weight as evenly as whole values allow."""
    if count <= bins:
        for r in range(count - 1):
            edges[r] = between(values[r], values[r + 1])
        return max(count - 1, 0)
    total = 0.0
    for r in range(count):
        total += weights[r]
    made, seen, target = 0, 0.0, total / bins
    for r in range(count - 1):
        if made == bins - 1:
            break
        seen += weights[r]
        if seen >= target * (1.0 - 1e-12):
            edges[made] = between(values[r], values[r + 1])
            made += 1
            # A value heavier than its bin leaves less weight for the bins that remain.
            target = seen + (total - seen) / (bins - made)
    return made


@njit(nogil=True, cache=True)
def uniform_edges(values, m, has_zero, bins, rounded, edges):
    """Equal widths between the smallest and the largest finite value, or between their floor and ceiling."""
    low, high = (0.0, 0.0) if has_zero else (np.inf, -np.inf)
    for r in range(m):
        if abs(values[r]) <= LARGEST:
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
def guide_to(edges, n_edges, guide):
    """Cut the range of the edges into equal cells; guide[c] becomes how many edges lie in cells before c.

    Returns the factor that makes a distance from the first edge the number of a cell, and the most edges in a cell;
    a factor of 0 if the range is none.
    """
    width = edges[n_edges - 1] - edges[0]
    factor = (guide.size - 1) / width if width > 0.0 else 0.0
    if not 0.0 < factor < LARGEST:
        return 0.0, n_edges
    cell, most = 0, 0
    for e in range(n_edges):
        own = int((edges[e] - edges[0]) * factor)
        while cell <= own and cell < guide.size:
            guide[cell] = e
            cell += 1
        most = max(most, e + 1 - guide[own])
    while cell < guide.size:
        guide[cell] = n_edges
        cell += 1
    return factor, most


@njit(nogil=True, cache=True)
def add_counts(values, labels, mass, m, zeros, edges, n_edges, histogram):
    """Add the weights of a column to histogram[bin, class]; ``edges`` has room for a power of two above n_edges."""
    size = 1
    while size <= n_edges:
        size *= 2
    found, factor = np.empty(BATCH, np.int64), 0.0
    guide = np.empty(CELLS * size if m > MANY and n_edges > CROWD else 1, np.int64)
    if guide.size > 1 and n_edges + 2 * CROWD <= edges.size:
        factor, most = guide_to(edges, n_edges, guide)
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
    add_zeros(zeros, edges, n_edges, histogram)


@njit(nogil=True, cache=True)
def add_zeros(zeros, edges, n_edges, histogram):
    """Add the weights of zeros to the bin that holds zero."""
    zero_bin = bin_of(0.0, edges, np.int64(0), n_edges, np.int64(-1))
    for i in range(zeros.size):
        histogram[zero_bin, i] += zeros[i]


def least_weight_that_pays(totals: np.ndarray, table: np.ndarray) -> float:
    """A column whose values other than zero weigh less than this has no supervised cut; 0 if weights are fractions.

    A cut leaves the zeros on one side; let the other, A, weigh a of n. Its gain is at most what A and the rest B lose
    in divergence from the whole: a KL(A | all) + (n - a) KL(B | all) <= a (log2(n / least class) + log2 e). Its price
    is at least log2(n - 1) + log2(3^k - 2) - k H, for k classes (see :func:`etana.kernels.scores.best_cut`).
    """
    present = totals[totals > 0.0].tolist()
    n, k = sum(present), len(present)
    if table.size <= 1 or k < 2:
        return 0.0
    inner = sum(x * math.log2(x) for x in present)
    three_to_k = k * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0**-k)
    price = math.log2(max(n - 1.0, 1.0)) + three_to_k - k * (math.log2(n) - inner / n)
    # A hundredth is more than rounding can make of it.
    return 0.99 * price / (math.log2(n / min(present)) + math.log2(math.e))


@njit(nogil=True, cache=True)
def add_whole(labels, mass, m, zeros, totals, too_light, histogram):
    """Count a column in one bin if it is complete and weighs too little to be cut; whether it was."""
    if m >= too_light:
        return False
    weight, seen, n = 0.0, 0.0, 0.0
    for i in range(zeros.size):
        histogram[0, i] = zeros[i]
        seen += zeros[i]
        n += totals[i]
    for r in range(m):
        histogram[0, labels[r]] += mass[r]
        weight += mass[r]
    return weight < too_light and seen + weight == n


@njit(nogil=True, cache=True)
def merge_bins(histogram, edges, n_edges, kept, n_kept):
    """Keep some of the edges, in place; bins between them are added up."""
    first = 0
    for p in range(n_kept + 1):
        last = n_edges + 1
        if p < n_kept:
            last = kept[p] + 1
            edges[p] = edges[kept[p]]
        for i in range(histogram.shape[1]):
            histogram[p, i] = histogram[first, i]
            for b in range(first + 1, last):
                histogram[p, i] += histogram[b, i]
        first = last


@njit(nogil=True, cache=True)
def fit_columns(source, first, last, cutting, too_light, n_edges, edges, counts, missing):
    """Edges and counts of columns first..last-1, b of them, one after the other in ``edges`` and ``counts``.

    A column whose values other than zero weigh less than ``too_light`` is not cut.

    Outputs: ``n_edges`` int64 (b,); ``edges`` float64 and ``counts`` float64 (., N), with room for ``cutting.bins`` of
    each column; ``missing`` float64 (b, N), the weights by class of missing values.
    """
    method, bins, sample, table = cutting
    sparse, turned, data, rows, indptr, classes, weights, totals, members = source
    n, n_classes = classes.size, totals.size
    cuts, kept, zeros = np.empty(2 * max(FINE, bins)), np.empty(bins, np.int64), np.empty(n_classes)
    histogram = np.empty((max(FINE, bins), n_classes))
    room = Gathered(np.empty(n), np.empty(n, np.int64), np.empty(n))
    part = min(n, sample)
    values_seen, mass_seen = np.empty(part + 1), np.empty(part + 1)
    sorting = Sorting(
        np.empty(part, np.int64), np.empty(part, np.int64), np.empty(part, np.int64), np.empty(part, np.int64),
        np.empty((8, 256), np.int64),
    )  # fmt: skip
    most = FINE * n_classes
    entries = Entries(
        np.empty(most, np.int64), np.empty(most), np.empty(FINE + 1, np.int64), np.empty(FINE + 1, np.int64)
    )
    sides = Sides(
        np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    )
    ranks = np.empty(part, np.int64)
    edge, cell = 0, 0
    for c in range(last - first):
        values, labels, mass = room
        if sparse:
            start, end = indptr[first + c], indptr[first + c + 1]
            m = gather_sparse(data, rows, start, end, classes, weights, totals, members, room, zeros, missing[c])
        else:
            values, labels, mass, m = gather(turned[c], classes, weights, room, zeros, missing[c])
        made = 0
        if not add_whole(labels, mass, m, zeros, totals, too_light, histogram):
            zero_weight = 0.0
            for i in range(zeros.size):
                zero_weight += zeros[i]
            fine = FINE if method == SUPERVISED else bins
            ranked = False
            if method in (UNIFORM, PUBLISHED):
                made = uniform_edges(values, m, zero_weight > 0.0, bins, method == PUBLISHED, cuts)
            else:
                # distinct_values(), step by step: what it calls is not compiled once more for being called from there.
                chosen = take_keys(values, m, sample, sorting.keys, sorting.places)
                keys, places = sort_keys(
                    values,
                    sorting.keys,
                    sorting.places,
                    chosen,
                    sorting.other_keys,
                    sorting.other_places,
                    sorting.tally,
                )
                seen = merge_equal(values, mass, m, sample, zero_weight, keys, places, ranks, values_seen, mass_seen)
                made = quantile_edges(values_seen, mass_seen, seen, fine, cuts)
                ranked = m <= sample and seen <= fine
            for b in range(made + 1):
                clear(histogram[b])
            if ranked:
                # Each value has a bin of its own, and its rank is known from sorting.
                for r in range(m):
                    histogram[ranks[r], labels[r]] += mass[r]
                add_zeros(zeros, cuts, made, histogram)
            else:
                add_counts(values, labels, mass, m, zeros, cuts, made, histogram)
            if method == SUPERVISED:
                n_kept = supervised_cuts(histogram, made + 1, bins, table, entries, sides, kept)
                merge_bins(histogram, cuts, made, kept, n_kept)
                made = n_kept
        n_edges[c] = made
        copy(cuts[:made], edges[edge:])
        for b in range(made + 1):
            copy(histogram[b], counts[cell + b])
        edge, cell = edge + made, cell + made + 1


@njit(nogil=True, cache=True)
def count_columns(source, first, last, bins, cells):
    """Add the counts of columns first..last-1 to cells[cell, class], with edges that are given."""
    edges, edge_offsets, cell_offsets, has_missing = bins
    sparse, turned, data, rows, indptr, classes, weights, totals, members = source
    n, n_classes = classes.size, totals.size
    room = Gathered(np.empty(n), np.empty(n, np.int64), np.empty(n))
    missing, zeros = np.empty(n_classes), np.empty(n_classes)
    cuts = np.empty(2 * (np.diff(edge_offsets[first : last + 1]).max() + 1))
    for c in range(last - first):
        column = first + c
        values, labels, mass = room
        if sparse:
            start, end = indptr[column], indptr[column + 1]
            m = gather_sparse(data, rows, start, end, classes, weights, totals, members, room, zeros, missing)
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
