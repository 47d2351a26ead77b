"""Rows of a column in order, and where it is cut.

A column is cut between rows whose values differ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear
from etana.kernels.ladders import Ladders, make_ladders
from etana.kernels.scores import Entries, Sides
from etana.kernels.sorting import LARGEST, Sorting

FINE = 256  # candidate bins of one column, at most


class InOrder(NamedTuple):
    """Rows of a column from its least value to its greatest, see :func:`put_in_order`, in groups.

    ``keys`` int64, ``labels`` int64 and ``mass`` float64 (m + N + 1,); ``ends`` int64 (m + N + 1,), where each group
    ends.
    """

    keys: np.ndarray
    labels: np.ndarray
    mass: np.ndarray
    ends: np.ndarray


class CutRoom(NamedTuple):
    """Scratch for :func:`etana.kernels.columns.cut_column`.

    Attributes
    ----------
    sums : float64 (m + N,)
        Weight of each distinct value.
    lasts, kept : int64 (bins,)
        Last value of each group, and groups behind which a cut is kept.
    histogram : float64 (bins, N)
    entries, sides, ladders : Entries, Sides, Ladders
    """

    sums: np.ndarray
    lasts: np.ndarray
    kept: np.ndarray
    histogram: np.ndarray
    entries: Entries
    sides: Sides
    ladders: Ladders


@njit(nogil=True, cache=True)
def make_room(m, bins, n_classes, table):
    """Room for m values of a column, sorted, in order, and cut; ``table`` is that of a :class:`Cutting`."""
    most, many = FINE * n_classes, m + n_classes + 1
    sorting = Sorting(
        np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64),
        np.empty((8, 256), np.int64),
    )  # fmt: skip
    entries = Entries(
        np.empty(most, np.int64), np.empty(most), np.empty(FINE + 1, np.int64), np.empty(FINE + 1, np.int64)
    )
    sides = Sides(
        np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    )
    rows = InOrder(np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many), np.empty(many, np.int64))
    room = CutRoom(
        np.empty(many), np.empty(bins, np.int64), np.empty(bins, np.int64), np.empty((bins, n_classes)), entries, sides,
        make_ladders(table, many, bins, n_classes),
    )  # fmt: skip
    return sorting, rows, room


@njit(nogil=True, cache=True)
def between(low, high):
    """A cut that leaves ``low`` below it and ``high`` at or above it, finite and halfway if there is such a one."""
    a, b = max(low, -LARGEST), min(high, LARGEST)
    width = b - a
    middle = a + 0.5 * width if width < np.inf else 0.5 * a + 0.5 * b
    return middle if low < middle <= high else high


@njit(nogil=True, cache=True)
def quantile_groups(weights, count, bins, lasts):
    """Groups of neighbouring distinct values that split the weight as evenly as whole values allow.

    ``lasts`` int64 becomes the last value of each group but the last one; returns how many these are.
    """
    if count <= bins:
        for r in range(count - 1):
            lasts[r] = r
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
            lasts[made] = r
            made += 1
            # A value heavier than its bin leaves less weight for the bins that remain.
            target = seen + (total - seen) / (bins - made)
    return made


@njit(nogil=True, cache=True)
def put_in_order(column, keys, places, m, zeros, rows):
    """Rows of a column from its least value to its greatest, without those that weigh nothing; how many there are.

    ``keys`` and ``places`` are those of m values, sorted. The zeros, whose weights by class are ``zeros``, are a row of
    each class.
    """
    labels, mass, count, negative = column.labels, column.mass, 0, 0
    for r in range(m):
        negative += keys[r] < 0
    for side in range(2):
        # No branch that would have to be guessed: what weighs nothing is written over. Indices without a sign: those
        # that may be negative take longer.
        for r in range(side * negative, m if side else negative):
            place = np.uint64(places[r])
            w = mass[place]
            to = np.uint64(count)
            rows.keys[to], rows.labels[to], rows.mass[to] = keys[r], labels[place], w
            count += w > 0.0
        for i in range(0 if side else zeros.size):
            rows.keys[count], rows.labels[count], rows.mass[count] = 0, i, zeros[i]
            count += zeros[i] > 0.0
    return count


@njit(nogil=True, cache=True)
def group_rows(rows, count, bins, room):
    """Rows with one value, or with neighbouring values if there are more than ``bins``, are a group.

    ``rows.ends`` tell where each group ends; returns how many there are, and whether each has one value.
    """
    keys, ends, seen = rows.keys, rows.ends, 0
    ends[0] = min(count, 1)
    for r in range(1, count):
        seen += keys[r] != keys[r - 1]
        ends[seen] = r + 1
    if seen < bins:
        return seen + 1, True
    sums, begin = rows.mass, 0
    if seen + 1 < count:
        sums = room.sums
        for d in range(seen + 1):
            sums[d] = 0.0
            for r in range(begin, ends[d]):
                sums[d] += rows.mass[r]
            begin = ends[d]
    made = quantile_groups(sums, seen + 1, bins, room.lasts)
    for g in range(made):
        ends[g] = ends[room.lasts[g]]
    ends[made] = count
    return made + 1, False


@njit(nogil=True, cache=True)
def cuts_between(rows, groups, edges):
    """Edges between groups of rows."""
    for g in range(groups - 1):
        # A key is the number that it stands for as the number is its key: the way is the same.
        low, high = rows.keys[rows.ends[g] - 1], rows.keys[rows.ends[g]]
        low, high = low ^ ((low >> 63) & 0x7FFFFFFFFFFFFFFF), high ^ ((high >> 63) & 0x7FFFFFFFFFFFFFFF)
        edges[g] = between(np.int64(low).view(np.float64), np.int64(high).view(np.float64))


@njit(nogil=True, cache=True)
def may_gain(rows, count, totals, bits, sides):
    """Whether a cut of rows in order may gain so many bits; False: none does.

    With l_i of n1 rows left of a cut in class i, and P the shares p_i of the classes, a cut gains
    n1 KL(left | P) + n2 KL(right | P), and a divergence in nats is at most the chi-squared distance. Together these
    are n (sum_i l_i^2 / p_i - n1^2) / (n1 n2), which takes no logarithm and changes with one class from row to row.
    ``totals`` (N,) are the weights of the rows by class.
    """
    left, inverse, n = sides.left, sides.right, 0.0
    for i in range(totals.size):
        left[i], inverse[i] = 0.0, 1.0 / totals[i] if totals[i] > 0.0 else 0.0
        n += totals[i]
    squares, below, enough = 0.0, 0.0, bits * math.log(2.0) / n
    for r in range(count - 1):
        i, w = rows.labels[r], rows.mass[r]
        squares += (2.0 * left[i] + w) * w * inverse[i]
        left[i] += w
        below += w
        if squares * n - below * below >= enough * below * (n - below):
            return True
    return False


@njit(nogil=True, cache=True)
def count_rows(rows, groups, histogram):
    """Weights by class of groups of rows, histogram[group, class]."""
    begin = 0
    for g in range(groups):
        clear(histogram[g])
        for r in range(begin, rows.ends[g]):
            histogram[g, rows.labels[r]] += rows.mass[r]
        begin = rows.ends[g]
