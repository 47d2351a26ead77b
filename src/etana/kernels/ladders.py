"""Supervised cuts of rows in order whose weights are whole numbers.

With l_i of t_i in class i left of a cut and n1 of n in all, a cut leaves, in bits,

    n1 log2 n1 + n2 log2 n2 - sum_i ( l_i log2 l_i + (t_i - l_i) log2 (t_i - l_i) )

of class information. As rows pass from the right to the left, each term of the sum climbs a *ladder* of its own, whose
rungs depend on t_i alone: a row is a step on one ladder, without a logarithm. Bits are counted in whole fractions of a
bit, so that sums are exact whatever their order.

What a cut must gain, and that none is made between neighbours of one class, is as in :mod:`etana.kernels.scores`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit

_MOST = 2**60  # of a sum, in fractions of a bit
_FINEST = 2**50  # fractions of a bit, at most


class Ladders(NamedTuple):
    """Room for cuts of m rows, N classes, at most ``most`` bins, and weights below ``rungs.size``.

    Attributes
    ----------
    rungs : int64 (.,)
        x log2 x of whole numbers, in fractions of a bit.
    bit : float64 (1,)
        How many fractions a bit has.
    naming : float64 (N + 1,)
        log2(3^k - 2): what it takes to name the classes on either side of a cut, for k of them.
    steps : int64 (m,)
        By how much a ladder is higher at each next step; ladders one class after the other.
    at : int64 (N,)
        Where each class is on its ladder.
    left : int64 (m,)
        What a cut behind each row leaves.
    may : int64 (m,)
        Whether a column may be cut behind each row; see :func:`mark_places`.
    begins, ends, places : int64 (most,)
        Rows of each bin, and where it is best cut.
    gains : float64 (most,)
        Bits gained by that cut, less its price.
    tallies, below : int64 (most, N)
        Weights by class in each bin, and below its best cut.
    """

    rungs: np.ndarray
    bit: np.ndarray
    naming: np.ndarray
    steps: np.ndarray
    at: np.ndarray
    left: np.ndarray
    may: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    places: np.ndarray
    gains: np.ndarray
    tallies: np.ndarray
    below: np.ndarray


@njit(nogil=True, cache=True)
def make_ladders(table, m, most, n_classes):
    """Room for rows in order; ``table`` is x log2 x of whole numbers, in bits."""
    rungs, bit, naming = np.empty(table.size, np.int64), np.empty(1), np.empty(n_classes + 1)
    bit[0] = _FINEST
    while bit[0] * table[table.size - 1] > _MOST:
        bit[0] *= 0.5
    for x in range(table.size):
        rungs[x] = np.int64(np.rint(table[x] * bit[0]))
    for k in range(n_classes + 1):
        naming[k] = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0**-k)
    return Ladders(
        rungs, bit, naming, np.empty(m, np.int64), np.empty(n_classes, np.int64), np.empty(m, np.int64),
        np.empty(m, np.int64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64),
        np.empty(most), np.empty((most, n_classes), np.int64), np.empty((most, n_classes), np.int64),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def mark_places(rows, groups, may):
    """Mark the rows behind which a column may be cut: its groups end there, and are not both of one and the same class
    (Fayyad and Irani's theorem)."""
    labels, ends, begin, alone = rows.labels, rows.ends, 0, -1
    for g in range(groups):
        only = labels[begin]
        for r in range(begin, ends[g]):
            may[r] = 0
            only = only if labels[r] == labels[begin] else -1
        if g > 0:
            may[begin - 1] = only < 0 or only != alone
        begin, alone = ends[g], only


@njit(nogil=True, cache=True)
def parts_classes(rows, count, r):
    """The same for a cut behind row r, where rows with one value are a group."""
    keys, labels = rows.keys, rows.labels
    if keys[r] == keys[r + 1]:
        return False
    only = labels[r]
    if labels[r + 1] != only:
        return True
    for step in (-1, 1):
        s = r if step < 0 else r + 1
        while 0 <= s + step < count and keys[s + step] == keys[s]:
            s += step
            if labels[s] != only:
                return True
    return False


@njit(nogil=True, cache=True)
def climb(rows, begin, end, tally, total, ladders):
    """What a cut behind each of rows begin..end-2 leaves, into ``ladders.left``."""
    rungs, steps, at = ladders.rungs, ladders.steps, ladders.at
    many, labels, mass = end - begin - 1, rows.labels[begin:end], rows.mass[begin:end]
    left, inner, n1, top = ladders.left[begin:end], np.int64(0), np.int64(0), np.int64(0)
    for i in range(tally.size):
        inner += rungs[tally[i]]
    # Numbers without a sign: as an index, one that may be negative costs more than the step.
    if total == end - begin:
        for i in range(tally.size):
            t, ladder = tally[i], steps[top : top + tally[i]]
            at[i] = top
            for x in range(t):
                ladder[x] = rungs[x + 1] - rungs[x] + rungs[t - x - 1] - rungs[t - x]
            top += t
        for r in range(many):
            i = np.uint64(labels[r])
            here = at[i]
            inner += steps[np.uint64(here)]
            at[i] = here + 1
            left[r] = rungs[r + 1] + rungs[total - r - 1] - inner
        return
    for i in range(tally.size):
        at[i] = 0
    for r in range(many):
        i, w = np.uint64(labels[r]), np.int64(mass[r])
        here = at[i]
        there = tally[i] - here
        inner += rungs[np.uint64(here + w)] - rungs[np.uint64(here)]
        inner += rungs[np.uint64(there - w)] - rungs[np.uint64(there)]
        at[i] = here + w
        n1 += w
        left[r] = rungs[np.uint64(n1)] + rungs[np.uint64(total - n1)] - inner


@njit(nogil=True, cache=True)
def best_place(rows, begin, end, marked, tally, table, ladders, below):
    """The cut of rows begin..end-1 that leaves least, the first of several, and the bits it gains less its price.

    ``tally`` (N,) are their weights by class; ``below`` (N,) become those before the cut. Returns the first row behind
    the cut, or (begin, 0) if none pays.
    """
    k, total, inner = 0, np.int64(0), 0.0
    for i in range(tally.size):
        k += tally[i] > 0
        total += tally[i]
        inner += table[tally[i]]
    if k < 2:
        return begin, 0.0
    climb(rows, begin, end, tally, total, ladders)
    slack = 1e-12 * table[total]
    near, place, limit, left = np.int64(slack * ladders.bit[0]), begin, np.int64(4 * _MOST - 1), ladders.left
    for r in range(begin, end - 1):
        # Seldom: hence places are looked at only here.
        if left[r] < limit and (ladders.may[r] > 0 if marked else parts_classes(rows, end, r)):
            place, limit = r + 1, left[r] - near
    if place == begin:
        return begin, 0.0
    tally_below(rows, begin, place, end, tally, below)
    k1, k2, n1, inner1, inner2 = 0, 0, np.int64(0), 0.0, 0.0
    for i in range(tally.size):
        k1 += below[i] > 0
        k2 += below[i] < tally[i]
        n1 += below[i]
        inner1 += table[below[i]]
        inner2 += table[tally[i] - below[i]]
    n, n2 = np.float64(total), np.float64(total - n1)
    h, h1, h2 = table[total] - inner, table[n1] - inner1, table[total - n1] - inner2
    price = np.log2(max(n - 1.0, 1.0)) + ladders.naming[k] - (k * h / n - k1 * h1 / n1 - k2 * h2 / n2)
    gain = h - h1 - h2 - price
    return (place, gain) if gain > slack else (begin, 0.0)


@njit(nogil=True, cache=True)
def tally_below(rows, begin, place, end, tally, below):
    """Weights by class of rows begin..place-1, of rows begin..end-1 whose weights are ``tally``."""
    for i in range(tally.size):
        below[i] = 0
    shorter = place - begin <= end - place
    for r in range(begin if shorter else place, place if shorter else end):
        below[np.uint64(rows.labels[r])] += np.int64(rows.mass[r])
    if not shorter:
        for i in range(tally.size):
            below[i] = tally[i] - below[i]


@njit(nogil=True, cache=True)
def cut_on_ladders(rows, count, groups, by_value, totals, most, table, ladders):
    """Bins of rows in order: the one whose cut gains most is cut first, while cuts pay and there is room.

    ``totals`` float64 (N,) are the weights of the rows by class; ``by_value`` says whether groups are rows with one
    value. Returns how many bins there are; ``begins``, ``ends`` and ``tallies`` of the ladders are theirs, unsorted.
    """
    begins, ends, tallies, below = ladders.begins, ladders.ends, ladders.tallies, ladders.below
    places, gains = ladders.places, ladders.gains
    if not by_value:
        mark_places(rows, groups, ladders.may)
    for i in range(totals.size):
        tallies[0, i] = np.int64(totals[i])
    begins[0], ends[0], bins = 0, count, 1
    new, last = 0, 0  # bins whose best cuts are not known yet
    while True:
        while new <= last:
            places[new], gains[new] = best_place(
                rows, begins[new], ends[new], not by_value, tallies[new], table, ladders, below[new]
            )  # fmt: skip
            new = last if new < last else last + 1
        if bins >= most:
            return bins
        pick = 0
        for p in range(1, bins):
            if gains[p] > gains[pick]:
                pick = p
        if gains[pick] <= 0.0:
            return bins
        begins[bins], ends[bins], ends[pick] = places[pick], ends[pick], places[pick]
        for i in range(totals.size):
            tallies[bins, i] = tallies[pick, i] - below[pick, i]
            tallies[pick, i] = below[pick, i]
        new, last = pick, bins
        bins += 1


@njit(nogil=True, cache=True)
def take_bins(ladders, bins, ends, histogram):
    """Where bins end, in order, and their weights by class, histogram[bin, class]."""
    for p in range(bins):
        at = 0
        for q in range(bins):
            at += ladders.begins[q] < ladders.begins[p]
        ends[at] = ladders.ends[p]
        for i in range(histogram.shape[1]):
            histogram[at, i] = ladders.tallies[p, i]
