"""Sorting no further than is asked for.

A caller who walks through an array from its least entry upwards, and will probably stop early, sorts it piece
by piece: ``sort_next`` makes the next few positions final.  Walking to the end costs as much as a quicksort,
stopping after k of n entries costs O(n + k log k).
"""

import numpy as np

from etana.kernels.compiling import njit

__all__ = ["sort_next"]

SHORT = 16  # pieces up to this length are sorted by insertion


@njit(nogil=True, cache=True)
def sort_next(keys: np.ndarray, ready: int, bounds: np.ndarray, depth: int) -> tuple[int, int]:
    """Sort one more piece of ``keys`` (incremental quicksort); new ``ready`` and ``depth``.

    ``keys[:ready]`` is final.  ``bounds[:depth]`` is a stack of positions, the innermost last: no key before
    a bound exceeds a key after it.
    """
    high = bounds[depth - 1]
    while high - ready > SHORT and depth < bounds.size:
        high = _partition(keys, ready, high)
        bounds[depth] = high
        depth += 1
    for t in range(ready + 1, high):
        key = keys[t]
        s = t - 1
        while s >= ready and keys[s] > key:
            keys[s + 1] = keys[s]
            s -= 1
        keys[s + 1] = key
    return high, depth - 1


@njit(nogil=True, cache=True)
def _partition(keys: np.ndarray, low: int, high: int) -> int:
    """Hoare's partition of ``keys[low:high]`` about the median of three; where the upper part begins."""
    a, b, c = keys[low], keys[(low + high) // 2], keys[high - 1]
    pivot = max(min(a, b), min(max(a, b), c))
    i = low - 1
    j = high
    while True:
        i += 1
        while keys[i] < pivot:
            i += 1
        j -= 1
        while keys[j] > pivot:
            j -= 1
        if i >= j:
            return j + 1
        keys[i], keys[j] = keys[j], keys[i]
