"""Votes of nearest neighbours when one feature is added to a distance.

Distances are squared and Euclidean, so a feature only ever adds to them.  If the other rows are sorted by the distance
without the new feature, the search for neighbours with it may end at the first row that is already farther than the
worst neighbour found: a few hundred rows instead of all.  Scoring a candidate feature thus costs little more than
reading it.

Neighbours at exactly the same distance as the farthest one share its votes, so whole-number and sparse columns,
where such ties are the rule, depend on no order of rows.

Symbols: n training rows, D encoded columns, of which a feature owns those from ``first`` to ``last``, N classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit

__all__ = ["Neighbourhood", "Scoring", "Voters", "leave_one_out", "nearest", "score_candidates", "score_first"]


class Voters(NamedTuple):
    """Training rows as voters.

    Attributes
    ----------
    codes : int64 (n,)
        Classes.
    weights : float64 (n,)
        Votes of each; 1 on average.
    """

    codes: np.ndarray
    weights: np.ndarray


class Neighbourhood(NamedTuple):
    """Rows, and how far apart they are by the features known so far.

    Attributes
    ----------
    base : float32 (n, n)
        Squared distances, along each row the least ``n_sorted`` sorted and the others behind them in any order.
    order : int32 (n, n)
        The rows that these distances belong to.
    n_sorted : int
    columns : float32 (D, n)
        The encoded data.
    voters : Voters
    """

    base: np.ndarray
    order: np.ndarray
    n_sorted: int
    columns: np.ndarray
    voters: Voters


class Scoring(NamedTuple):
    """What a candidate is compared with.

    Attributes
    ----------
    weights : float64 (n,)
        How much each row counts.
    losses : float64 (n,)
        Weighted log loss of each row without the candidate.
    prior : float64 (N,)
    """

    weights: np.ndarray
    losses: np.ndarray
    prior: np.ndarray


@njit(nogil=True, cache=True)
def _insert(nearest, filled, k, d):
    """Put ``d`` among the ``k`` least distances, ascending; returns how many there are."""
    if filled < k:
        p = filled
        filled += 1
    elif d < nearest[k - 1]:
        p = k - 1
    else:
        return filled
    while p > 0 and nearest[p - 1] > d:
        nearest[p] = nearest[p - 1]
        p -= 1
    nearest[p] = d
    return filled


@njit(nogil=True, cache=True)
def _share(nearer, level, n_nearer, n_level, filled, votes):
    """Votes of ``filled`` neighbours: whole ones of those nearer, and the ``n_level`` at the last distance share the
    places that are left."""
    share = (filled - n_nearer) / n_level if n_level > 0 else 0.0
    for c in range(votes.size):
        votes[c] = nearer[c] + share * level[c]


@njit(nogil=True, cache=True)
def _pruned(base, order, n_sorted, columns, first, last, voters, i, k, least, found, votes):
    """Votes of the k nearest of row i, itself left out; scratch: ``least`` (at least k) and ``found`` (2, N)."""
    n = order.size
    filled, looked = np.int64(0), 0
    for a in range(n):
        looked = a + 1
        # A further feature only adds: what is too far without it is too far with it. Behind the sorted part others may
        # still be near, so there each is looked at.
        if filled == k and base[a] > least[k - 1]:
            if a < n_sorted:
                break
            continue
        j = order[a]
        if j == i:
            continue
        d = base[a]
        for c in range(first, last):
            t = columns[c, i] - columns[c, j]
            d += t * t
        filled = _insert(least, filled, k, d)
    found[:] = 0.0
    n_nearer, n_level = np.int64(0), np.int64(0)
    # A second pass, now that the last distance is known: ties at it share what is left of the k votes.
    worst = least[filled - 1] if filled else 0.0
    for a in range(looked):
        j = order[a]
        if j == i:
            continue
        d = base[a]
        for c in range(first, last):
            t = columns[c, i] - columns[c, j]
            d += t * t
        if d < worst:
            found[0, voters.codes[j]] += voters.weights[j]
            n_nearer += 1
        elif d == worst:
            found[1, voters.codes[j]] += voters.weights[j]
            n_level += 1
    _share(found[0], found[1], n_nearer, n_level, filled, votes)


@njit(nogil=True, cache=True)
def _on_a_line(x, sorted_rows, voters, place, k, found, votes):
    """Votes of the k nearest of the row at ``place`` by one column alone, walking outwards along its sorted rows."""
    n = sorted_rows.size
    own = x[sorted_rows[place]]
    left, right, taken, n_nearer = place - 1, place + 1, 0, np.int64(0)
    last = x.dtype.type(-1.0)
    found[:] = 0.0
    while left >= 0 or right < n:
        to_left = own - x[sorted_rows[left]] if left >= 0 else np.inf
        to_right = x[sorted_rows[right]] - own if right < n else np.inf
        # On a line the next nearest is the next on either side.
        if to_left <= to_right:
            distance, j = to_left, sorted_rows[left]
            left -= 1
        else:
            distance, j = to_right, sorted_rows[right]
            right += 1
        # A further distance: those before it are in for sure, those at it wait for their equals.
        if distance > last:
            if taken >= k:
                break
            found[0] += found[1]
            found[1] = 0.0
            last, n_nearer = distance, taken
        found[1, voters.codes[j]] += voters.weights[j]
        taken += 1
    _share(found[0], found[1], n_nearer, taken - n_nearer, min(k, taken), votes)


@njit(nogil=True, cache=True)
def _gain(votes, prior, y, loss, weight):
    """How much less than ``loss`` the weighted log loss of these votes is."""
    n_votes = 0.0
    for c in range(votes.size):
        n_votes += votes[c]
    # One vote more, spread like the prior, so that no loss is infinite.
    return loss + weight * np.log((votes[y] + prior[y]) / (n_votes + 1.0))


@njit(nogil=True, cache=True)
def _mean_and_error(total, squares, n):
    mean = total / n
    return mean, np.sqrt(max(squares / n - mean * mean, 0.0) / n)


@njit(nogil=True, cache=True)
def score_first(hood, places, scoring, k, chosen, first, last, gains, errors):
    """As :func:`score_candidates` for features of one column each, when no feature is known yet.

    ``chosen[first:last]`` are the columns to score, ``places[f]`` (n,) the rows sorted by column ``chosen[f]``.
    """
    _, _, _, columns, voters = hood
    weights, current, prior = scoring
    codes, n = voters.codes, voters.codes.size
    found, votes = np.empty((2, prior.size)), np.empty(prior.size)
    for f in range(first, last):
        c = chosen[f]
        total, squares = 0.0, 0.0
        for place in range(n):
            i = places[f, place]
            _on_a_line(columns[c], places[f], voters, place, k, found, votes)
            gain = _gain(votes, prior, codes[i], current[i], weights[i])
            total += gain
            squares += gain * gain
        gains[f], errors[f] = _mean_and_error(total, squares, n)


@njit(nogil=True, cache=True)
def score_candidates(hood, offsets, scoring, rows, k, features, first, last, gains, errors):
    """Gain of each candidate: mean drop of the weighted log loss on ``rows``, and its standard error.

    ``features[first:last]`` are scored, by the k nearest rows; feature f owns the columns ``offsets[f]`` to
    ``offsets[f + 1]``. ``gains`` and ``errors`` have a place for each of ``features``.
    """
    base, order, n_sorted, columns, voters = hood
    weights, current, prior = scoring
    codes = voters.codes
    least, found, votes = np.empty(k, columns.dtype), np.empty((2, prior.size)), np.empty(prior.size)
    for f in range(first, last):
        lo, hi = offsets[features[f]], offsets[features[f] + 1]
        total, squares = 0.0, 0.0
        for r in range(rows.size):
            i = rows[r]
            _pruned(base[i], order[i], n_sorted, columns, lo, hi, voters, i, k, least, found, votes)
            gain = _gain(votes, prior, codes[i], current[i], weights[i])
            total += gain
            squares += gain * gain
        gains[f], errors[f] = _mean_and_error(total, squares, rows.size)


@njit(nogil=True, cache=True)
def leave_one_out(hood, lo, hi, sizes, first, last, votes):
    """``votes[s, i]`` (N,) of the ``sizes[s]`` nearest of row i in ``first`` to ``last``, itself left out, when the
    feature that owns the columns ``lo`` to ``hi`` is added."""
    base, order, n_sorted, columns, voters = hood
    n_classes = votes.shape[2]
    least, found = np.empty(sizes.max(), columns.dtype), np.empty((2, n_classes))
    for i in range(first, last):
        for s in range(sizes.size):
            _pruned(base[i], order[i], n_sorted, columns, lo, hi, voters, i, sizes[s], least, found, votes[s, i])


@njit(nogil=True, cache=True)
def nearest(distances, added, columns, voters, k, votes):
    """Votes for new rows.

    ``distances`` (m, n) to the training rows are first brought up to date with the feature whose encoded values are
    ``added`` (m, w) for the new rows and ``columns`` (w, n) for the training rows.
    """
    n_classes = votes.shape[1]
    n = distances.shape[1]
    least, found = np.empty(k, distances.dtype), np.empty((2, n_classes))
    for i in range(distances.shape[0]):
        row = distances[i]
        # Column by column over all training rows: long loops over contiguous memory, which run several at a time.
        for c in range(columns.shape[0]):
            x, column = added[i, c], columns[c]
            for j in range(n):
                t = x - column[j]
                row[j] += t * t
        filled, worst = np.int64(0), row.dtype.type(np.inf)
        for j in range(n):
            if row[j] < worst or filled < k:
                filled = _insert(least, filled, k, row[j])
                if filled == k:
                    worst = least[k - 1]
        worst = least[filled - 1]
        found[:] = 0.0
        n_nearer, n_level = np.int64(0), np.int64(0)
        for j in range(n):
            if row[j] <= worst:
                at_worst = int(row[j] == worst)
                found[at_worst, voters.codes[j]] += voters.weights[j]
                n_level += at_worst
                n_nearer += 1 - at_worst
        _share(found[0], found[1], n_nearer, n_level, filled, votes[i])
