"""Neighbourhoods that size themselves, and the share of them that has the class of their centre.

For row i the other rows are sorted by distance, d_1 <= ... <= d_{n-1}; its neighbourhood N(i) is a prefix.

* ``DENSITY``: neighbour 1, then j while d_j / j <= (1 + parameter) d_{j-1} / (j-1), or d_j = 0;
* ``GAP``: neighbour 1, then j while d_j - d_{j-1} < w_i, with w_i = parameter (d_{n-1} - d_1) / (n - 2).

The row that is taken out as "the centre" is the *lowest row at distance 0*: row i itself, unless an
identical row stands above it.

Both rules never split a group of equal distances (d_j / j falls inside it; its gaps are 0 < w), so N(i) is
"every row up to a cut", and only the cut has to be found.  The one exception is w = 0, where all other rows
are equally far: then N(i) is the lowest other row.  Hence no full sort: ``set_shares`` sorts lazily,
nearest first, and stops at the cut; ``single_shares`` walks outwards from each distinct value of a column.

Callers compare the mean share gamma with a bound.  A share lies between 0 and 1, so what is still missing can
be bounded, and a kernel may stop early; the bounds leave room (``ROOM``) for the rounding of a sum.
"""

import math
from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.lazysort import sort_next

__all__ = [
    "DENSITY",
    "GAP",
    "Kept",
    "Relation",
    "RowBlock",
    "SetRoom",
    "SingleRoom",
    "next_relevant",
    "set_shares",
    "single_shares",
]

DENSITY = 0
GAP = 1

ROOM = 1e-9


class Relation(NamedTuple):
    """Which neighbours belong together: ``kind`` is DENSITY or GAP, ``parameter`` is that of its formula."""

    kind: int
    parameter: float


class RowBlock(NamedTuple):
    """Columns that pass by.

    Attributes
    ----------
    columns : float64 (b, n)
        One row per column.
    orders : int64 (b, n)
        What sorts each column stably.
    inverse_variances : float64 (b,)
        One over the variance; 0 marks a constant.
    """

    columns: np.ndarray
    orders: np.ndarray
    inverse_variances: np.ndarray


class Kept(NamedTuple):
    """Columns that were selected, with room for more.

    Attributes
    ----------
    columns : float64 (room, n)
    nonzero : int32 (room, n)
        ``nonzero[k, :n_nonzero[k]]`` are the rows where column k is not 0.
    n_nonzero : int64 (room,)
    inverse_variances : float64 (room,)
        One over the variance; 0 marks a constant.
    """

    columns: np.ndarray
    nonzero: np.ndarray
    n_nonzero: np.ndarray
    inverse_variances: np.ndarray


class SingleRoom(NamedTuple):
    """Scratch for one column: ``starts`` int64 (n + 1,) of its groups, ``below`` int64 (n + 1, classes)."""

    starts: np.ndarray
    below: np.ndarray


class SetRoom(NamedTuple):
    """Scratch for several columns: ``squared`` distances and ``keys``, float64 (n,), and ``bounds``, int64 (n,)."""

    squared: np.ndarray
    keys: np.ndarray
    bounds: np.ndarray


@njit(nogil=True, cache=True)
def next_relevant(
    block: RowBlock,
    labels: np.ndarray,
    relation: Relation,
    constant_gamma: float,
    first: int,
    threshold: float,
    strict: bool,
    room: SingleRoom,
    shares: np.ndarray,
) -> int:
    """First column from ``first`` on whose own gamma reaches ``threshold`` (or exceeds it, if ``strict``).

    ``labels`` int64 (n,) are the classes; the gamma of a constant column is ``constant_gamma``.  Returns the number
    of columns if there is none.  Scratch: ``room``, and ``shares`` float64 (n,).
    """
    n = labels.size
    for j in range(first, block.columns.shape[0]):
        if block.inverse_variances[j] == 0.0:
            gamma = constant_gamma
        else:
            verdict = single_shares(
                block.columns[j],
                block.orders[j],
                block.inverse_variances[j],
                labels,
                relation,
                (threshold - ROOM) * n,
                (threshold + ROOM) * n,
                room,
                shares,
            )
            if verdict > 0:
                return j
            if verdict < 0:
                continue
            total = 0.0
            for i in range(n):
                total += shares[i]
            gamma = total / n
        if gamma > threshold or (gamma == threshold and not strict):
            return j
    return block.columns.shape[0]


@njit(nogil=True, cache=True)
def single_shares(
    x: np.ndarray,
    order: np.ndarray,
    inverse_variance: float,
    labels: np.ndarray,
    relation: Relation,
    low: float,
    high: float,
    room: SingleRoom,
    shares: np.ndarray,
) -> int:
    """Class share of every row's neighbourhood in one column ``x``, which must not be constant.

    ``order`` sorts ``x`` stably.  Returns 1 as soon as the sum of shares is sure to exceed ``high``, -1 as
    soon as it is sure to stay below ``low``, and 0 with all ``shares`` (n,) known.
    """
    starts, below = room
    groups = _group(x, order, labels, starts, below)
    total = 0.0
    for g in range(groups):
        first = starts[g]
        after = starts[g + 1]
        left, right = _span(x, order, starts, groups, g, inverse_variance, relation)
        if left < 0:  # w = 0: the lowest other row
            i = order[first]
            other = 1 if i == 0 else 0
            shares[i] = 1.0 if labels[other] == labels[i] else 0.0
            total += shares[i]
        else:
            dropped = labels[order[first]]
            members = starts[right + 1] - starts[left] - 1
            for t in range(first, after):
                c = labels[order[t]]
                same = below[right + 1, c] - below[left, c] - (1 if c == dropped else 0)
                shares[order[t]] = same / members
                total += same / members
        if total > high:
            return 1
        if total + (x.size - after) < low:
            return -1
    return 0


@njit(nogil=True, cache=True)
def _group(x: np.ndarray, order: np.ndarray, labels: np.ndarray, starts: np.ndarray, below: np.ndarray) -> int:
    """Cut the sorted column into groups of equal value; ``below[g]`` counts classes before group g."""
    n = x.size
    groups = 0
    below[0] = 0
    for t in range(n):
        if t == 0 or x[order[t]] != x[order[t - 1]]:
            starts[groups] = t
            below[groups + 1] = below[groups]
            groups += 1
        below[groups, labels[order[t]]] += 1
    starts[groups] = n
    return groups


@njit(nogil=True, cache=True)
def _span(
    x: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    groups: int,
    g: int,
    inverse_variance: float,
    rule: Relation,
) -> tuple[int, int]:
    """First and last group of the neighbourhood of group ``g``; (-1, -1) where w = 0."""
    relation, parameter = rule
    n = x.size
    taken = starts[g + 1] - starts[g] - 1
    if relation == DENSITY and taken > 0:
        return g, g  # d / j is 0 for the twins and positive after them
    left = g
    right = g
    below = _distance(x, order, starts, groups, g, left - 1, inverse_variance)
    above = _distance(x, order, starts, groups, g, right + 1, inverse_variance)
    width = 0.0
    if relation == GAP:
        farthest = max(
            _distance(x, order, starts, groups, g, np.int64(0), inverse_variance),
            _distance(x, order, starts, groups, g, groups - 1, inverse_variance),
        )
        nearest = 0.0 if taken > 0 else min(below, above)
        width = parameter * (farthest - nearest) / (n - 2) if n > 2 else 0.0
        if not width > 0.0:
            return -1, -1
    previous = 0.0  # d / j of the last neighbour taken (DENSITY), or its distance (GAP)
    while left > 0 or right < groups - 1:
        distance = min(below, above)
        if relation == DENSITY:
            if taken > 0 and distance / (taken + 1) > previous * (1.0 + parameter):
                break
        elif taken > 0 and not distance - previous < width:
            break
        if below <= above:
            left -= 1
            taken += starts[left + 1] - starts[left]
            below = _distance(x, order, starts, groups, g, left - 1, inverse_variance)
        else:
            right += 1
            taken += starts[right + 1] - starts[right]
            above = _distance(x, order, starts, groups, g, right + 1, inverse_variance)
        previous = distance / taken if relation == DENSITY else distance
    return left, right


@njit(nogil=True, cache=True)
def _distance(
    x: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    groups: int,
    g: int,
    h: int,
    inverse_variance: float,
) -> float:
    """Distance between groups ``g`` and ``h``; infinite where there is no group ``h``."""
    if h < 0 or h >= groups:
        return math.inf
    d = x[order[starts[g]]] - x[order[starts[h]]]
    return math.sqrt(d * d * inverse_variance)


@njit(nogil=True, cache=True)
def set_shares(
    kept: Kept,
    ids: np.ndarray,
    labels: np.ndarray,
    relation: Relation,
    floor: float,
    rows: np.ndarray,
    room: SetRoom,
    shares: np.ndarray,
) -> bool:
    """Class share of every row's neighbourhood in the kept columns ``ids``, none of them constant.

    ``labels`` and ``rows`` are int64 (n,), ``shares`` is float64 (n,).  False as soon as the mean share is sure to
    stay below ``floor``; the shares are then not all known.  ``rows`` is the order in which rows are tried, and is
    changed: rows with other classes around them come forward, because they are the ones that decide.
    """
    squared = room.squared
    n = labels.size
    guess = math.inf
    losses = 0
    lost = 0.0
    for t in range(n):
        i = rows[t]
        _squared_distances(kept, ids, i, squared)
        cut = _cut(squared, relation, guess, room.keys, room.bounds)
        if cut > 0.0:
            guess = 2.0 * cut  # neighbourhoods are alike: the next cut is probably below this
        shares[i] = _share(squared, cut, labels, i)
        if shares[i] < 1.0:
            rows[t] = rows[losses]
            rows[losses] = i
            losses += 1
            lost += 1.0 - shares[i]
            if lost > (1.0 - floor + ROOM) * n:
                return False
    return True


@njit(nogil=True, cache=True)
def _squared_distances(kept: Kept, ids: np.ndarray, i: int, squared: np.ndarray) -> None:
    """Standardised squared distances from row ``i``, columns added in the order of ``ids``."""
    columns, nonzero, n_nonzero, inverse_variances = kept
    n = squared.size
    squared[:] = 0.0
    for k in ids:
        column = columns[k]
        x_i = column[i]
        w = inverse_variances[k]
        if x_i == 0.0 and 4 * n_nonzero[k] < n:  # the others add exactly 0
            for t in range(n_nonzero[k]):
                j = nonzero[k, t]
                squared[j] += column[j] * column[j] * w
        else:
            for j in range(n):
                d = x_i - column[j]
                squared[j] += d * d * w


@njit(nogil=True, cache=True)
def _share(squared: np.ndarray, cut: float, labels: np.ndarray, i: int) -> float:
    """Share of the rows up to ``cut`` that have the class of row ``i``; the dropped row does not count."""
    if cut < 0.0:  # w = 0: the lowest other row
        other = 1 if i == 0 else 0
        return 1.0 if labels[other] == labels[i] else 0.0
    label = labels[i]
    members = -1
    same = 0
    for j in range(squared.size):
        inside = squared[j] <= cut
        members += inside
        same += inside & (labels[j] == label)
    dropped = 0
    while squared[dropped] != 0.0:
        dropped += 1
    if labels[dropped] == label:
        same -= 1
    return same / members


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})  # distances are finite; minima need no order
def _extremes(squared: np.ndarray) -> tuple[int, float, float]:
    """Number of zeros, least positive entry, greatest entry."""
    zeros = 0
    least = math.inf
    greatest = 0.0
    for j in range(squared.size):
        s = squared[j]
        zeros += s == 0.0
        positive = s if s > 0.0 else math.inf
        least = min(least, positive)
        greatest = max(greatest, s)
    return zeros, least, greatest


@njit(nogil=True, cache=True)
def _cut(squared: np.ndarray, rule: Relation, guess: float, keys: np.ndarray, bounds: np.ndarray) -> float:
    """Largest squared distance inside the neighbourhood; -1 where w = 0."""
    relation, parameter = rule
    n = squared.size
    zeros, least, greatest = _extremes(squared)
    width = 0.0
    if relation == DENSITY:
        if zeros > 1:
            return 0.0  # d / j is 0 for the twins and positive after them
    else:
        nearest = 0.0 if zeros > 1 else math.sqrt(least)
        width = parameter * (math.sqrt(greatest) - nearest) / (n - 2) if n > 2 else 0.0
        if not width > 0.0:
            return -1.0
    taken = zeros - 1
    previous = 0.0
    cut = 0.0
    # The keys up to the guess first; only if the walk passes all of them, the others.
    for far in range(2):
        m = np.int64(0)
        for j in range(n):
            s = squared[j]
            keys[m] = s
            m += (s > 0.0) & ((s > guess) if far else (s <= guess))
        stopped, taken, previous, cut = _walk(keys, m, taken, previous, cut, rule, width, bounds)
        if stopped or greatest <= guess:
            break
    return cut


@njit(nogil=True, cache=True)
def _walk(
    keys: np.ndarray,
    m: int,
    taken: int,
    previous: float,
    cut: float,
    rule: Relation,
    width: float,
    bounds: np.ndarray,
) -> tuple[bool, int, float, float]:
    """Go through ``keys[:m]``, nearest first, until the neighbourhood ends.

    Whether it ended, how many neighbours are taken, the last one's d / j (DENSITY) or d (GAP), and its key.
    """
    relation, parameter = rule
    bounds[0] = m
    depth = np.int64(1)
    ready = np.int64(0)
    for t in range(m):
        while ready <= t:
            ready, depth = sort_next(keys, ready, bounds, depth)
        measure = math.sqrt(keys[t])
        if relation == DENSITY:
            measure /= taken + 1
            if taken > 0 and measure > previous * (1.0 + parameter):
                return True, taken, previous, cut
        elif taken > 0 and not measure - previous < width:
            return True, taken, previous, cut
        taken += 1
        previous = measure
        cut = keys[t]
    return False, taken, previous, cut
