"""Keys of rows: see :mod:`etana.learning.folds`."""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)  # odd numbers without a pattern
HALF = np.uint64(32)
NOT_A_NUMBER = np.uint64(0x7FF8000000000000)


@njit(nogil=True, cache=True)
def add_keys(block, bits, salts, keys):
    """Add what the values ``block`` float64 (n, b) say of their rows to ``keys`` uint64 (n,).

    ``bits`` is the same block seen as uint64; ``salts`` uint64 (b,) belong to its columns. A value of 0 says nothing.
    """
    for r in range(block.shape[0]):
        total = np.uint64(0)
        for c in range(block.shape[1]):
            x = block[r, c]
            if x != 0.0:
                mixed = (bits[r, c] if x == x else NOT_A_NUMBER) + salts[c]
                mixed = (mixed ^ (mixed >> HALF)) * FIRST
                mixed = (mixed ^ (mixed >> HALF)) * SECOND
                total += mixed ^ (mixed >> HALF)
        keys[r] += total
