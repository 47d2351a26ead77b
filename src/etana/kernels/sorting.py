"""Values of a column put in order, by keys: a float read as an integer is ordered by size.

Keys are spread over cells by their leading bits or by their value, which leaves few to be moved; where that does not
help, they are sorted byte by byte. Equal values stay in the order of their places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit

SHORT = 32  # up to here an insertion sort is the faster one
PATIENCE = 16  # moves per key after which keys count as badly spread
LARGEST = np.finfo(np.float64).max


class Sorting(NamedTuple):
    """Room for sorting m values: four int64 (m,) arrays, and a tally int64 (8, 256)."""

    keys: np.ndarray
    places: np.ndarray
    other_keys: np.ndarray
    other_places: np.ndarray
    tally: np.ndarray


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
    for b in range(starts.size):
        starts[b] = 0
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
        for digit in range(256):
            tally[byte, digit] = 0
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
def key_of(value):
    """An integer by which a float is ordered."""
    # Read as an integer a float is ordered by size, the negative ones the wrong way round.
    b = np.float64(value).view(np.int64)
    return b ^ ((b >> 63) & 0x7FFFFFFFFFFFFFFF)


@njit(nogil=True, cache=True)
def take_keys(values, m, sample, keys, places):
    """Keys that order m values, and their places: all, or every (m / sample)-th.

    Returns how many there are.
    """
    chosen = m if m <= sample else sample
    for r in range(chosen):
        place = r if m <= sample else r * m // sample
        keys[r], places[r] = key_of(values[place]), place
    return chosen
