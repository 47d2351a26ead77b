"""Lower bounds of the cost of many orders of few features, two classes, on a grid of beliefs.

Beliefs are weighed as in :mod:`etana.kernels.exact`. Grid points are equally far apart in log-odds, so that an answer
moves all of them by the same number of points: what follows it is read from neighbouring cells of an array, for many
points at a time. Between points functions are chords, which are never above a concave function.

A line is the pair of its values at x = 0 and at x = 1. ``lines`` float64 (2, G + 1) are the chords of a function
before the first of G points, between them, and behind the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit


class Grid(NamedTuple):
    """Points equally far apart in log-odds.

    Attributes
    ----------
    weights : float64 (2, G)
        1 - x and x.
    stop : float64 (G,)
        g.
    across : float64 (4, G - 1)
        What makes a chord of two values: see :func:`chords`.
    prior : float64 (3,)
        1 - x and x of the prior, and its place among the points.
    """

    weights: np.ndarray
    stop: np.ndarray
    across: np.ndarray
    prior: np.ndarray


class Features(NamedTuple):
    """What can be asked.

    Attributes
    ----------
    cells : float64 (cells, 2)
        P(F = v | T_i).
    moves : float64 (cells,)
        By how many points an answer moves a belief.
    begins, ends : int64 (features,)
        Rows of ``cells`` that belong to each feature.
    units : float64 (2,)
        What missing each class costs.
    """

    cells: np.ndarray
    moves: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    units: np.ndarray


@njit(nogil=True, cache=True)
def chords(grid, value, lo, hi, lines):
    """The lines between points ``lo`` to ``hi`` of a function, and to the corners, where it is 0."""
    weights, size = grid.weights, value.size
    first, last = value[lo:hi], value[lo + 1 : hi + 1]
    at0, at1 = lines[0, lo + 1 : hi + 1], lines[1, lo + 1 : hi + 1]
    a, b, c, d = grid.across[0, lo:hi], grid.across[1, lo:hi], grid.across[2, lo:hi], grid.across[3, lo:hi]
    for s in range(hi - lo):
        at0[s] = first[s] * a[s] - last[s] * b[s]
        at1[s] = last[s] * c[s] - first[s] * d[s]
    if lo == 0:
        lines[0, 0], lines[1, 0] = 0.0, value[0] / weights[1, 0]
    if hi == size - 1:
        lines[0, size], lines[1, size] = value[size - 1] / weights[0, size - 1], 0.0


@njit(nogil=True, cache=True)
def back_up(features, grid, feature, price, ahead, span, room, lines):
    """The chords of J at the points of ``span``, from those of the stage behind, ``ahead``; ``room`` float64 (3, G)."""
    lo, hi = span[0], span[1]
    size, units = grid.stop.size, features.units
    at0, at1, value = room[0], room[1], room[2]
    for s in range(lo, hi + 1):
        at0[s], at1[s] = price / units[0], price / units[1]
    for cell in range(features.begins[feature], features.ends[feature]):
        a, b = features.cells[cell, 0], features.cells[cell, 1]
        # Line number s + by for point s, or that of a corner.
        by = np.int64(np.floor(features.moves[cell])) + 1
        begin, end = min(max(-by, lo), hi + 1), max(min(size - by, hi + 1), lo)
        for s in range(lo, begin):
            at1[s] += b * ahead[1, 0]
        for s in range(end, hi + 1):
            at0[s] += a * ahead[0, size]
        if end > begin:
            to0, to1 = at0[begin:end], at1[begin:end]
            from0, from1 = ahead[0, begin + by : end + by], ahead[1, begin + by : end + by]
            for s in range(end - begin):
                to0[s] += a * from0[s]
                to1[s] += b * from1[s]
    for s in range(lo, hi + 1):
        onward = at0[s] * grid.weights[0, s] + at1[s] * grid.weights[1, s]
        value[s] = min(grid.stop[s], onward)
    chords(grid, value, lo, hi, lines)


@njit(nogil=True, cache=True)
def lower_bounds(features, grid, orders, prices, same, last, kept, keep, out):
    """J of the first stage at the prior for each of ``orders`` int64 (T, S) at ``prices`` (T, S), into ``out`` (T,).

    From stage same[t] on, order t is the one of which ``kept`` (S + 1, 2, G + 1) has the chords; with ``keep`` the only
    order becomes that one. What follows the last stage are the values ``last`` (G,), or if empty what was kept.
    """
    cells, moves, begins, ends, units = features
    left, right, place = grid.prior[0], grid.prior[1], grid.prior[2]
    size = grid.stop.size
    room, two = np.empty((3, size)), np.empty((2, 2, size + 1))
    spans = np.empty((orders.shape[1] + 1, 2), dtype=np.int64)
    if last.size > 0:
        chords(grid, last, np.int64(0), size - 1, kept[orders.shape[1]])
    for t in range(orders.shape[0]):
        end = max(same[t], 1)
        # The points that beliefs can come to, from the prior on; all of them if they are kept.
        low = high = place
        for k in range(1, end):
            least, most = np.inf, -np.inf
            for cell in range(begins[orders[t, k - 1]], ends[orders[t, k - 1]]):
                least, most = min(least, moves[cell]), max(most, moves[cell])
            low = 0.0 if keep else min(max(np.floor(low + np.floor(least)), 0.0), size - 2.0)
            high = size - 1.0 if keep else max(min(np.floor(high + np.floor(most)) + 2.0, size - 1.0), 1.0)
            spans[k, 0], spans[k, 1] = np.int64(low), np.int64(high)
        ahead = kept[end]
        for k in range(end - 1, 0, -1):
            lines = kept[k] if keep else two[k % 2]
            back_up(features, grid, orders[t, k], prices[t, k], ahead, spans[k], room, lines)
            ahead = lines
        onward = prices[t, 0] / units[0] * left + prices[t, 0] / units[1] * right
        for cell in range(begins[orders[t, 0]], ends[orders[t, 0]]):
            line = min(max(np.int64(np.floor(place + moves[cell])) + 1, 0), size)
            onward += cells[cell, 0] * left * ahead[0, line] + cells[cell, 1] * right * ahead[1, line]
        out[t] = min(left, right, onward)


@njit(nogil=True, cache=True)
def part_evenly(place, amount, out):
    """Add an amount to ``out`` (G,) at a place between two points, to both in proportion; the ends take what lies
    beyond."""
    last = out.size - 1
    at = min(max(place, 0.0), np.float64(last))
    low = min(np.int64(at), last - 1)
    out[low] += (low + 1 - at) * amount
    out[low + 1] += (at - low) * amount


@njit(nogil=True, cache=True)
def stakes(features, grid, prices, least, out):
    """What is at stake at beliefs that go on at each stage, expected from the prior on: g, or ``least`` where that is
    more; into ``out`` (S,). Returns J of the first stage at the prior.

    Stage k asks for feature k at prices[k]; after the last, all stop. Beliefs are moved from answer to answer along the
    grid, and parted between the points next to them.
    """
    size, count = grid.stop.size, prices.size
    room, lines, span = np.empty((3, size)), np.empty((2, 2, size + 1)), np.empty(2, np.int64)
    onward, now, after = np.empty((count, size), np.bool_), np.zeros((2, size)), np.empty((2, size))
    span[0], span[1] = 0, size - 1
    chords(grid, grid.stop, span[0], span[1], lines[count % 2])
    for k in range(count - 1, -1, -1):
        back_up(features, grid, k, prices[k], lines[(k + 1) % 2], span, room, lines[k % 2])
        for s in range(size):
            onward[k, s] = room[2, s] < grid.stop[s] or prices[k] == 0.0
    for i in range(2):
        part_evenly(grid.prior[2], grid.prior[i], now[i])
    for k in range(count):
        out[k] = 0.0
        for s in range(size):
            if not onward[k, s]:
                now[0, s] = now[1, s] = 0.0
            out[k] += (now[0, s] + now[1, s]) * max(grid.stop[s], least)
        for i in range(2):
            for s in range(size):
                after[i, s] = 0.0
            for cell in range(features.begins[k], features.ends[k]):
                chance, move = features.cells[cell, i], features.moves[cell]
                for s in range(size):
                    if now[i, s] > 0.0:
                        part_evenly(s + move, chance * now[i, s], after[i])
        now, after = after, now
    line = min(max(np.int64(np.floor(grid.prior[2])) + 1, 0), size)
    return lines[0, 0, line] * grid.prior[0] + lines[0, 1, line] * grid.prior[1]
