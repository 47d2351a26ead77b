"""Short columns put in order side by side.

The comparisons of a merging network (Batcher's odd-even merge sort) do not depend on what is compared: each is done for
all columns at once, and no branch has to be guessed. A column is a *lane* of an array int32 (n, b): what is compared
are the leading bits of its keys (see :mod:`etana.kernels.sorting`), and behind them the places, so that equal keys stay
in order. Keys that agree in these bits are put right afterwards.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.sorting import PATIENCE, insertion_sort, key_of, radix_sort

LANES, FEW = 32, 16  # columns that are sorted at once, and fewer than which are not
_BITS = 9  # of a place; what is left is for the key
LONGEST = 2**_BITS  # values of a column, at most
_LAST = np.int32(2**31 - 1)


@njit(nogil=True, cache=True)
def fill_lane(column, keys, lane):
    """Put the values of a column that are neither zero nor missing into ``lane`` int32 (n,); ``keys`` int64 (n,) is
    room."""
    n, whole = column.size, True
    for r in range(n):
        x = column[r]
        keys[r] = key_of(x)
        whole &= (x != 0.0) & (x == x)
    m = n if whole else 0
    for r in range(m, n):
        keys[m] = keys[r]
        m += (column[r] != 0.0) & (column[r] == column[r])
    shift, low, high = 0, keys[0], keys[0]
    for r in range(m):
        low, high = min(low, keys[r]), max(high, keys[r])
    # Keys of both signs can be further apart than a signed number tells; then the difference is negative.
    apart, room = high - low, 31 - _BITS
    while apart < 0 or apart >> room > 0:
        shift += 1
        apart = apart >> 1 & 0x7FFFFFFFFFFFFFFF
    mask = (np.int64(1) << room) - 1
    for r in range(m):
        lane[r] = ((keys[r] - low) >> shift & mask) << _BITS | r
    for r in range(m, n):
        lane[r] = _LAST


@njit(nogil=True, cache=True)
def exchange(lanes, first, second, count):
    """The smaller of each pair into the first run of ``count`` numbers, the larger into the second."""
    before, after = lanes[first : first + count], lanes[second : second + count]
    for e in range(count):
        a, b = before[e], after[e]
        before[e], after[e] = a if a < b else b, b if a < b else a


@njit(nogil=True, cache=True)
def merge_lanes(lanes, n, stride):
    """Sort each lane of ``lanes`` int32 (n * stride,): runs of one row, of two, of four, are merged in pairs."""
    run = 1
    while run < n:
        for first in range(0, n - run, 2 * run):
            exchange(lanes, first * stride, (first + run) * stride, min(run, n - first - run) * stride)
        step = run >> 1
        while step > 0:
            for first in range(0, n, 2 * run):
                end = min(first + 2 * run, n)
                for a in range(first + step, end - step, 2 * step):
                    exchange(lanes, a * stride, (a + step) * stride, min(step, end - a - step) * stride)
            step >>= 1
        run *= 2


@njit(nogil=True, cache=True)
def sort_lanes(turned, first, last, keys, lanes):
    """Put columns first..last-1, at most ``LANES``, each a row of ``turned`` float64 (b, n), in order, in ``lanes``."""
    n, stride = turned.shape[1], last - first
    for c in range(stride):
        fill_lane(turned[first + c], keys, lanes[c : n * stride : stride])
    merge_lanes(lanes, n, stride)


@njit(nogil=True, cache=True)
def read_lane(lane, values, m, sorting):
    """Keys and places of a column in order, from its ``lane``: its m ``values`` are neither zero nor missing."""
    keys, places, mask, in_order = sorting.keys, sorting.places, LONGEST - 1, True
    for r in range(m):
        place = lane[r] & mask
        # Without a sign: as an index, a number that may be negative takes longer.
        keys[r], places[r] = key_of(values[np.uint64(place)]), place
    for r in range(1, m):
        in_order &= keys[r - 1] <= keys[r]
    if in_order or insertion_sort(keys, places, m, PATIENCE * m):
        return keys, places
    # Too many keys agree in their leading bits. Places are in order no longer, which equal keys have to be.
    for r in range(m):
        keys[r], places[r] = key_of(values[r]), r
    return radix_sort(keys, places, m, sorting.other_keys, sorting.other_places, sorting.tally)
