"""Votes of nearest neighbours when one feature is added to a distance.

Distances are squared and Euclidean, so a feature only ever adds to them.  That gives three ways to the k nearest rows
of a row, each with a proof that it found them; a candidate feature thus costs little more than reading it:

* Rows that nothing known tells apart lie at distance 0, and by a feature of one column they lie on a line. Walking
  outwards along it, over runs of equal values, finds k neighbours; they are the nearest if the last of them is nearer
  than any row of another group.
* The nearest rows without the new feature are listed, sorted. The search along the list ends at the first row that is
  already farther than the worst neighbour found; they are the nearest if the worst lies within reach of the list.
* Otherwise every row is looked at.

Neighbours at exactly the same distance as the farthest one share its votes, so whole-number and sparse columns,
where such ties are the rule, depend on no order of rows, nor on which of the three ways was taken.

Symbols: n training rows, D encoded columns, of which a feature owns those from ``first`` to ``last``, N classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear, copy

__all__ = [
    "Alike",
    "Near",
    "Neighbourhood",
    "Scoring",
    "VoteRoom",
    "Voters",
    "add_column",
    "bring_apart",
    "leave_one_out",
    "list_near",
    "mean_drops",
    "nearest",
    "posterior_among",
    "score_candidates",
]  # fmt: skip

_FINITE = np.float32(3.4e38)
_SPARSE = 8  # of so many rows one says how far the nearest are


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
    distances : float32 (n, n)
        Squared.
    columns : float32 (D, n)
        The encoded data.
    voters : Voters
    """

    distances: np.ndarray
    columns: np.ndarray
    voters: Voters


class Near(NamedTuple):
    """The nearest rows of each row, itself among them.

    Attributes
    ----------
    distances : float32 (n, m)
        Ascending, infinite behind the last.
    rows : uint32 (n, m)
    reach : float32 (n,)
        Every row that is not listed is farther away; -1 where there is no list.
    """

    distances: np.ndarray
    rows: np.ndarray
    reach: np.ndarray


class Alike(NamedTuple):
    """Rows in G groups that nothing known tells apart.

    Attributes
    ----------
    groups : int64 (n,)
    starts : int64 (G + 1,)
        Where each group would begin if rows were sorted by it.
    gaps : float32 (G,)
        How far the nearest row of another group is, at least.
    lines : int32 (D, n)
        Rows sorted by each column.
    """

    groups: np.ndarray
    starts: np.ndarray
    gaps: np.ndarray
    lines: np.ndarray


class VoteRoom(NamedTuple):
    """Room to work in."""

    least: np.ndarray  # float32 (k,), the least distances
    apart: np.ndarray  # float32 (n,)
    hits: np.ndarray  # int32 (n + 1,), rows that are looked at
    found: np.ndarray  # float64 (2, N), votes of those nearer than the last, and of those at its distance


class _Runs(NamedTuple):
    """The rows of each group along one column, equal values as one run; R runs."""

    line: np.ndarray  # int64 (n,), rows by group and value
    of: np.ndarray  # int64 (n,), the run of each row
    begins: np.ndarray  # int64 (G + 1,), the first run of each group
    values: np.ndarray  # float32 (R,)
    sizes: np.ndarray  # int64 (R,)
    votes: np.ndarray  # float64 (R, N)


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
def _among_near(base, order, reach, columns, first, last, voters, i, k, scratch, votes):
    """Votes of the k nearest of row i, itself left out, if the list of its near rows is enough to know them."""
    least, apart, _, found = scratch
    filled, looked, worst = np.int64(0), 0, _FINITE
    first_own, first_column = columns[first, i], columns[first]
    for a in range(base.size):
        # A further feature only adds: what is too far without it is too far with it.
        if base[a] > worst:
            break
        looked = a + 1
        j = order[a]
        t = first_own - first_column[j]
        d = base[a] + t * t
        for c in range(first + 1, last):
            t = columns[c, i] - columns[c, j]
            d += t * t
        apart[a] = d
        if d < worst and j != i:
            filled = _insert(least, filled, k, d)
            worst = least[k - 1] if filled == k else worst
    if reach < np.inf and (filled < k or worst > reach):
        return False
    _clear_both(found)
    n_nearer, n_level = np.int64(0), np.int64(0)
    worst = least[filled - 1] if filled else worst
    # A second pass, now that the last distance is known: ties at it share what is left of the k votes.
    for a in range(looked):
        j = order[a]
        if apart[a] <= worst and j != i:
            level = int(apart[a] == worst)
            found[level, voters.codes[j]] += voters.weights[j]
            n_level += level
            n_nearer += 1 - level
    _share(found[0], found[1], n_nearer, n_level, filled, votes)
    return True


@njit(nogil=True, cache=True)
def _clear_both(found):
    clear(found[0])
    clear(found[1])


@njit(nogil=True, cache=True)
def _within(apart, reach, hits):
    """Put the rows no farther ``apart`` (n,) than ``reach`` into ``hits`` (n + 1); returns how many there are."""
    filled = 0
    # Without a branch, which nobody could predict: a row that is too far is written over by the next.
    for j in range(apart.size):
        hits[filled] = j
        filled += apart[j] <= reach
    return filled


@njit(nogil=True, cache=True)
def _look_around(apart, k, scratch):
    """Put the k nearest of rows that are so far ``apart`` (n,), and some others, into the hits of ``scratch``; returns
    how many there are. Infinity leaves a row out."""
    # One row in so many says how far about the k nearest are, with some to spare; only rows within reach are looked at.
    rank, filled, reach = min(k // _SPARSE + k // (2 * _SPARSE) + 4, k), np.int64(0), _FINITE
    for j in range(0, apart.size, _SPARSE):
        if apart[j] < reach:
            filled = _insert(scratch.least, filled, rank, apart[j])
            reach = scratch.least[rank - 1] if filled == rank else reach
    n_hits = _within(apart, reach, scratch.hits)
    return n_hits if n_hits >= k else _within(apart, _FINITE, scratch.hits)


@njit(nogil=True, cache=True)
def _among_hits(apart, n_hits, voters, sizes, scratch, votes):
    """``votes[s]`` (N,) of the ``sizes[s]`` nearest, sizes ascending, of the first ``n_hits`` of ``scratch.hits``."""
    least, _, hits, found = scratch
    filled, n_nearer, n_level = np.int64(0), np.int64(0), np.int64(0)
    for a in range(n_hits):
        filled = _insert(least, filled, sizes[-1], apart[hits[a]])
    last = np.float32(-1.0)
    for s in range(sizes.size):
        k = min(sizes[s], filled)
        worst = least[k - 1] if k else _FINITE
        # Where many rows are alike, several sizes end at the same distance.
        if worst != last:
            _clear_both(found)
            n_nearer, n_level, last = 0, 0, worst
            for a in range(n_hits):
                j = hits[a]
                if apart[j] <= worst:
                    level = int(apart[j] == worst)
                    found[level, voters.codes[j]] += voters.weights[j]
                    n_level += level
                    n_nearer += 1 - level
        _share(found[0], found[1], n_nearer, n_level, k, votes[s])


@njit(nogil=True, cache=True)
def _line_up(column, sorted_rows, alike, k, voters, ends, runs):
    """Fill ``runs`` for groups of more than k rows; scratch: ``ends`` (G + 1)."""
    line, of, begins, values, sizes, votes = runs
    copy(alike.starts, ends)
    for j in sorted_rows:
        group = alike.groups[j]
        line[ends[group]] = j
        ends[group] += 1
    run = -1
    for group in range(alike.starts.size - 1):
        first, last = alike.starts[group], alike.starts[group + 1]
        begins[group] = run + 1
        for a in range(first, last if last - first > k else first):
            j = line[a]
            if a == first or column[j] != values[run]:
                run += 1
                values[run], sizes[run] = column[j], 0
                clear(votes[run])
            of[j] = run
            sizes[run] += 1
            votes[run, voters.codes[j]] += voters.weights[j]
    begins[alike.starts.size - 1] = run + 1


@njit(nogil=True, cache=True)
def _on_a_line(runs, group, i, voters, k, found, votes):
    """Votes of the k nearest of row i within its group by one column, walking outwards over runs of equal values;
    returns how far the last of them is."""
    begin, end = runs.begins[group], runs.begins[group + 1]
    here = runs.of[i]
    own, none = runs.values[here], runs.values.dtype.type(np.inf)
    left, right, taken, n_nearer = here - 1, here + 1, runs.sizes[here] - 1, np.int64(0)
    last = own - own
    clear(found[0])
    copy(runs.votes[here], found[1])
    found[1, voters.codes[i]] -= voters.weights[i]
    while left >= begin or right < end:
        to_left = own - runs.values[left] if left >= begin else none
        to_right = runs.values[right] - own if right < end else none
        # On a line the next nearest is the next on either side.
        if to_left <= to_right:
            distance, run = to_left * to_left, left
            left -= 1
        else:
            distance, run = to_right * to_right, right
            right += 1
        # A further distance: those before it are in for sure, those at it wait for their equals.
        if distance > last:
            if taken >= k:
                break
            for c in range(votes.size):
                found[0, c] += found[1, c]
                found[1, c] = 0.0
            last, n_nearer = distance, taken
        for c in range(votes.size):
            found[1, c] += runs.votes[run, c]
        taken += runs.sizes[run]
    _share(found[0], found[1], n_nearer, taken - n_nearer, min(k, taken), votes)
    return last


@njit(nogil=True, cache=True)
def _gain(votes, prior, y, loss, weight):
    """How much less than ``loss`` the weighted log loss of these votes is."""
    n_votes = 0.0
    for c in range(votes.size):
        n_votes += votes[c]
    # One vote more, spread like the prior, so that no loss is infinite.
    return loss + weight * np.log((votes[y] + prior[y]) / (n_votes + 1.0))


@njit(nogil=True, cache=True)
def mean_drops(drops, gains, errors):
    """Mean of each row of ``drops`` (features, rows), and its standard error."""
    n = drops.shape[1]
    for f in range(drops.shape[0]):
        total, squares = 0.0, 0.0
        for a in range(n):
            total += drops[f, a]
            squares += drops[f, a] * drops[f, a]
        gains[f] = total / n
        errors[f] = np.sqrt(max(squares / n - gains[f] * gains[f], 0.0) / n)


@njit(nogil=True, cache=True)
def score_candidates(hood, near, alike, offsets, scoring, rows, k, features, first, last, drops):
    """How much the weighted log loss of each of ``rows`` drops by each candidate, where that is not known yet.

    ``features[first:last]`` are scored, by the k nearest rows; feature f owns the columns ``offsets[f]`` to
    ``offsets[f + 1]``. ``drops`` (features, rows) has a place for each of ``features``, NaN where it is not known.
    """
    distances, columns, voters = hood
    weights, current, prior = scoring
    codes, n, n_classes, starts = voters.codes, voters.codes.size, prior.size, alike.starts
    least, found, votes = np.empty(k, columns.dtype), np.empty((2, n_classes)), np.empty((1, n_classes))
    apart, ends, most = np.empty(n, columns.dtype), np.empty(starts.size, np.int64), 0
    scratch, only = VoteRoom(least, apart, np.empty(n + 1, np.int32), found), np.empty(1, np.int64)
    only[0] = k
    for group in range(starts.size - 1):
        most = max(most, starts[group + 1] - starts[group])
    size = n if most > k else 0
    runs = _Runs(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(starts.size, np.int64),
                 np.empty(size, columns.dtype), np.empty(size, np.int64), np.empty((size, n_classes)))  # fmt: skip
    for f in range(first, last):
        lo, hi = offsets[features[f]], offsets[features[f] + 1]
        lined = most > k and hi == lo + 1
        if lined:
            _line_up(columns[lo], alike.lines[lo], alike, k, voters, ends, runs)
        for a in range(rows.size):
            if not np.isnan(drops[f, a]):
                continue
            i = rows[a]
            group, sure = alike.groups[i], False
            if lined and starts[group + 1] - starts[group] > k:
                sure = _on_a_line(runs, group, i, voters, k, found, votes[0]) < alike.gaps[group]
            if not sure:
                sure = _among_near(
                    near.distances[i], near.rows[i], near.reach[i], columns, lo, hi, voters, i, k, scratch, votes[0]
                )
            if not sure:
                copy(distances[i], apart)
                for c in range(lo, hi):
                    add_column(columns[c, i], columns[c], apart)
                apart[i] = np.inf
                _among_hits(apart, _look_around(apart, k, scratch), voters, only, scratch, votes)
            drops[f, a] = _gain(votes[0], prior, codes[i], current[i], weights[i])


@njit(nogil=True, cache=True)
def add_column(own, column, apart):
    """Add to how far rows are ``apart`` (n,) from one with this value what the column says."""
    # Over all rows: a long loop over contiguous memory, which runs several at a time.
    for j in range(apart.size):
        t = own - column[j]
        apart[j] += t * t


@njit(nogil=True, cache=True)
def bring_apart(hood, lo, hi, first, last):
    """Add to the distances of the rows ``first`` to ``last`` what the columns ``lo`` to ``hi`` say."""
    for i in range(first, last):
        for c in range(lo, hi):
            add_column(hood.columns[c, i], hood.columns[c], hood.distances[i])


@njit(nogil=True, cache=True)
def list_near(hood, first, last, near):
    """List the rows within reach of the rows ``first`` to ``last``, not yet sorted; where there are more than fit,
    none, and the reach becomes -1."""
    most, hits = near.rows.shape[1], np.empty(hood.distances.shape[0] + 1, np.int32)
    for i in range(first, last):
        apart = hood.distances[i]
        filled = _within(apart, near.reach[i], hits)
        if filled > most:
            filled, near.reach[i] = 0, -1.0
        for a in range(most):
            near.rows[i, a] = hits[a] if a < filled else 0
            near.distances[i, a] = apart[hits[a]] if a < filled else np.inf


@njit(nogil=True, cache=True)
def leave_one_out(hood, near, sizes, first, last, votes):
    """``votes[i, s]`` (N,) of the ``sizes[s]`` nearest of row i in ``first`` to ``last``, itself left out; sizes
    ascending."""
    distances, columns, voters = hood
    n, most, only = distances.shape[0], sizes[sizes.size - 1], np.int64(0)
    apart, nothing = np.empty(n, columns.dtype), np.empty((1, n), columns.dtype)
    clear(nothing[only])
    scratch = VoteRoom(
        np.empty(most, columns.dtype), np.empty(n, columns.dtype), np.empty(n + 1, np.int32),
        np.empty((2, votes.shape[2])),
    )  # fmt: skip
    for i in range(first, last):
        sure = True
        for s in range(sizes.size):
            sure = sure and _among_near(
                near.distances[i], near.rows[i], near.reach[i], nothing, only, only + 1, voters, i, sizes[s], scratch,
                votes[i, s],
            )  # fmt: skip
        if not sure:
            copy(distances[i], apart)
            apart[i] = np.inf
            _among_hits(apart, _look_around(apart, most, scratch), voters, sizes, scratch, votes[i])


@njit(nogil=True, cache=True)
def posterior_among(apart, voters, prior, sizes, scratch, votes):
    """Posterior (N,) by the votes of the ``sizes[0]`` nearest of rows so far ``apart`` (n,), into ``votes[0]``;
    there is one size."""
    _among_hits(apart, _look_around(apart, sizes[0], scratch), voters, sizes, scratch, votes)
    total = 0.0
    for c in range(prior.size):
        total += votes[0, c]
    # One further vote, spread like the prior: no class has probability 0 for want of a neighbour.
    for c in range(prior.size):
        votes[0, c] = (votes[0, c] + prior[c]) / (total + 1.0)


@njit(nogil=True, cache=True)
def nearest(distances, added, columns, voters, prior, k, posteriors):
    """Posteriors (m, N) of new rows by the votes of the k nearest.

    ``distances`` (m, n) to the training rows are first brought up to date with the feature whose encoded values are
    ``added`` (m, w) for the new rows and ``columns`` (w, n) for the training rows.
    """
    only = np.empty(1, np.int64)
    only[0] = k
    scratch = VoteRoom(
        np.empty(k, distances.dtype), np.empty(0, distances.dtype), np.empty(distances.shape[1] + 1, np.int32),
        np.empty((2, prior.size)),
    )  # fmt: skip
    for i in range(distances.shape[0]):
        for c in range(columns.shape[0]):
            add_column(added[i, c], columns[c], distances[i])
        posterior_among(distances[i], voters, prior, only, scratch, posteriors[i : i + 1])
