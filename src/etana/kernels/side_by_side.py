"""Many candidates beside the same neighbours: what one row's list of near rows says of all of them at once.

Candidates of one column each, and voters that count one each, are the rule. The near rows of a row are then gone
through once for a block of candidates: the distance that each adds, and the k least distances by each, are a few
operations on as many numbers as the processor takes at a time. A list that is not enough for some candidate
(:mod:`etana.kernels.neighbours`) leaves its place empty.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear

__all__ = ["score_beside"]

_LANES = 64  # candidates at a time


@njit(nogil=True, cache=True)
def _sink(before, here, width):
    """Exchange distances (width,) that are less than those before them; returns whether there were any."""
    moved = False
    for c in range(width):
        a, b = before[c], here[c]
        moved |= b < a
        before[c] = b if b < a else a
        here[c] = a if b < a else b
    return moved


@njit(nogil=True, cache=True)
def _put_in(least, filled, k, new, width):
    """Put one new distance of each candidate (width,) among its least (k, width), ascending; returns how many there
    are."""
    p = min(filled, k - 1)
    last, nearer = least[p], filled < k
    for c in range(width):
        # Where there is room, whatever stands there gives way.
        less = new[c] < last[c] or filled < k
        nearer |= less
        last[c] = new[c] if less else last[c]
    if not nearer:
        return filled
    # Near rows come first: what is new stands near the end.
    while p > 0 and _sink(least[p - 1], least[p], width):
        p -= 1
    return min(filled + 1, k)


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})  # distances are no NaN; a maximum needs no order
def _greatest(values, width):
    most = values[0]
    for c in range(1, width):
        most = max(most, values[c])
    return most


@njit(nogil=True, cache=True)
def _find_least(base, order, i, table, first, width, k, least, apart):
    """The k least distances of row i by each candidate, itself left out; ``apart`` (entries, width) are all that were
    looked at. Returns how many of each there are, and how many were looked at."""
    filled, looked, top, own = np.int64(0), np.int64(0), np.float32(np.inf), table[i, first : first + width]
    for a in range(base.size):
        # A further feature only adds: what is too far without it is too far with it.
        far = base[a]
        if far > top:
            break
        looked += 1
        there, j = apart[a], order[a]
        other = table[j, first : first + width]
        for c in range(width):
            t = own[c] - other[c]
            there[c] = far + t * t
        if j == i:
            for c in range(width):
                there[c] = np.inf
            continue
        filled = _put_in(least, filled, k, there, width)
        if filled == k:
            top = _greatest(least[k - 1], width)
    return filled, looked


@njit(nogil=True, cache=True)
def score_beside(near, codes, scoring, table, rows, k, first, last, drops):
    """How much the weighted log loss of the rows ``rows[first:last]`` drops by each candidate, by its k nearest rows;
    NaN where the list of a row is not enough to know them.

    ``table`` float32 (n, C) has the column of each candidate; ``drops`` is (C, rows). ``rows`` of -1 are left out.
    """
    weights, current, prior = scoring
    least, apart = np.empty((k, _LANES), table.dtype), np.empty((near.rows.shape[1], _LANES), table.dtype)
    level, own, own_level = np.empty(_LANES, table.dtype), np.empty(_LANES, table.dtype), np.empty(_LANES, table.dtype)
    for a in range(first, last):
        i = rows[a]
        reach = near.reach[i] if i >= 0 else np.float32(-1.0)
        for start in range(0, drops.shape[0], _LANES):
            width = min(_LANES, drops.shape[0] - start)
            filled, looked = np.int64(0), np.int64(0)
            if reach >= 0:
                filled, looked = _find_least(near.distances[i], near.rows[i], i, table, start, width, k, least, apart)
            if not filled:
                for c in range(width):
                    drops[start + c, a] = np.nan
                continue
            y, worst = codes[i], least[filled - 1]
            clear(level)
            clear(own)
            clear(own_level)
            for e in range(looked):
                there = apart[e]
                for c in range(width):
                    level[c] += there[c] == worst[c]
                if codes[near.rows[i, e]] == y:
                    for c in range(width):
                        own[c] += there[c] < worst[c]
                        own_level[c] += there[c] == worst[c]
            for c in range(width):
                nearer = 0
                for p in range(filled):
                    nearer += least[p, c] < worst[c]
                # Ties at the last distance share what is left of the k votes; one more is spread like the prior.
                votes = own[c] + (filled - nearer) / np.float64(level[c]) * own_level[c] + prior[y]
                known = reach == np.inf or (filled == k and worst[c] <= reach)
                drops[start + c, a] = current[i] + weights[i] * np.log(votes / (filled + 1.0)) if known else np.nan
