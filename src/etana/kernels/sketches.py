"""A column to the short list that stands for it: sorted, equal values counted, and shortened.

NumPy's sort is slow on some processors that have the widest instructions, and a sketch spends most of its time there.
Values of a column mostly lie evenly enough between their ends: put into as many drawers as there are values, by where
they lie, each has few others in its drawer. Skewed ones of one sign lie so by their logarithm, roughly, which is what
the bits of a float say when they are read as a whole number.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear, copy

PATIENCE = 16  # moves per value after which values count as badly spread
SKEWED = 1 / 16  # where the mean lies between the ends, at most
LARGEST = np.finfo(np.float64).max


@njit(nogil=True, cache=True)
def place_by_value(values, low, scale, drawers):
    """Drawers int32 (m,) of values, as far above the lowest as these are."""
    for r in range(values.size):
        drawers[r] = int((values[r] - low) * scale)


@njit(nogil=True, cache=True)
def place_by_bits(values, bits, n_drawers, drawers):
    """The same of values >= 0, by their bits int64 (m,); zeros in the first."""
    low, high = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(0)
    for r in range(values.size):
        if values[r] > 0.0:
            low, high = min(low, bits[r]), max(high, bits[r])
    shift = 0
    while (high - low) >> shift >= n_drawers - 1:
        shift += 1
    for r in range(values.size):
        drawers[r] = ((bits[r] - low) >> shift) + 1 if values[r] > 0.0 else 0


@njit(nogil=True, cache=True)
def sort_spread(values, drawers, starts, out):
    """Sort ``values`` float64 (m,), none of them NaN, into ``out``; False if they are too badly spread.

    ``drawers`` int32 (m,) and ``starts`` int32 (d + 1,), for d drawers, are room.
    """
    low, high, total, n = values[0], values[0], 0.0, starts.size - 1
    for r in range(values.size):
        low, high = min(low, values[r]), max(high, values[r])
        total += values[r]
    width = high - low
    if not 0.0 < width < LARGEST or n / width > LARGEST:
        return False
    if low >= 0.0 and total / values.size - low < SKEWED * width:
        place_by_bits(values, values.view(np.int64), n, drawers)
    else:
        place_by_value(values, low, (n - 1) / width, drawers)
    clear(starts)
    for r in range(values.size):
        starts[drawers[r] + 1] += 1
    for d in range(1, n):
        starts[d] += starts[d - 1]
    for r in range(values.size):
        out[starts[drawers[r]]] = values[r]
        starts[drawers[r]] += 1
    return sort_nearly_sorted(out, PATIENCE * values.size)


@njit(nogil=True, cache=True)
def sort_nearly_sorted(values, patience):
    """Insertion sort, in place; gives up, False, after so many moves."""
    for r in range(1, values.size):
        x, s = values[r], r
        while s > 0 and values[s - 1] > x:
            values[s] = values[s - 1]
            s -= 1
        values[s] = x
        patience -= r - s
        if patience < 0:
            return False
    return True


@njit(nogil=True, cache=True)
def count_equal(values, out_values, out_mass):
    """Different values and how often each occurs, of ``values`` float64 (m,), m > 0, that are sorted; how many.

    There is one zero, and it has no sign. The different values may take the place of the others.
    """
    n = 0
    for r in range(values.size):
        if r == 0 or values[r] != values[r - 1]:
            out_values[n], out_mass[n] = values[r] + 0.0, 1.0
            n += 1
        else:
            out_mass[n - 1] += 1.0
    return n


@njit(nogil=True, cache=True)
def shorten(values, mass, size, out_values, out_mass):
    """At most ``size`` of the sorted values, with the weight up to each; how many, and the most that moved past a rank.

    The scale of ranks is cut into ``size`` cells; of the values whose ranks end in one cell the last stays, that is the
    one before the first that ends in a later cell. No more values than that stay as they are.
    """
    if values.size <= size:
        copy(values, out_values)
        copy(mass, out_mass)
        return values.size, 0.0
    total = 0.0
    for r in range(values.size):
        total += mass[r]
    n, reached, last, cell, error, per = 0, 0.0, 0.0, 0.0, 0.0, size / total
    for r in range(values.size):
        reached += mass[r]
        ends = size if r == values.size - 1 else np.floor(reached * per)
        if ends > cell:
            out_values[n], out_mass[n] = values[r], reached - last
            error = max(error, out_mass[n] - mass[r])
            last, cell = reached, ends
            n += 1
    return n, error


@njit(nogil=True, cache=True)
def merge_sorted(values, mass, heads, ends, out_values, out_mass):
    """One sorted list of different values from several, list i being entries heads[i]..ends[i]-1; how many there are.

    Weights of equal values are added in the order of the lists, those after the first before they are added to it.
    ``heads`` int64 (k,) move on to the ends.
    """
    n = 0
    while True:
        first, least = -1, np.inf
        for i in range(heads.size):
            if heads[i] < ends[i] and (first < 0 or values[heads[i]] < least):
                first, least = i, values[heads[i]]
        if first < 0:
            return n
        rest = 0.0
        for i in range(first + 1, heads.size):
            if heads[i] < ends[i] and values[heads[i]] == least:
                rest += mass[heads[i]]
                heads[i] += 1
        out_values[n], out_mass[n] = least, mass[heads[first]] + rest
        heads[first] += 1
        n += 1
