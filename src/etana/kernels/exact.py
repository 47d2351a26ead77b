"""Backward induction for two classes on piecewise linear functions of one number.

Classes are weighed by what missing them costs: with w the unnormalised belief and R_i the regret of class i where it
is missed, the state is v_i = R_i w_i and the coordinate x = v_1 / (v_0 + v_1). Functions are homogeneous in v, so that
they are held for v_0 + v_1 = 1, as values at x. Stopping then costs g(x) = min(x, 1 - x) whatever the regrets are, a
feature costs its price divided by R_i under class i, and neither rare classes nor dear mistakes crowd the interesting
beliefs into a corner.

A line is the pair of its values at x = 0 and at x = 1. Two functions are carried along (see :class:`Ahead`): chords
between breakpoints, which are never above the optimum since that is concave, and lines of plans that the policy
carries out or improves on, which are never below its cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit

PEAK = 0.5  # where g is largest


class Stages(NamedTuple):
    """The problem, stage by stage.

    Attributes
    ----------
    cells : float64 (cells, 2)
        P(F_k = v | T_i).
    begins, ends : int64 (K,)
        Rows ``begins[k]`` to ``ends[k] - 1`` of ``cells`` belong to stage k: orders differ in these alone.
    prices : float64 (K, 2)
        Price of each feature in units of the regret of each class.
    """

    cells: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    prices: np.ndarray


class Held(NamedTuple):
    """What is held of one stage: ``m`` breakpoints, in arrays with room for more.

    Attributes
    ----------
    xs, vs : float64 (room,)
        Breakpoints, from 0 to 1, and the lower function there; between them it is the chord.
    up0, up1 : float64 (room,)
        For each breakpoint a line of the upper function, which at x is the smaller of the lines of the breakpoints
        left and right of x.
    """

    xs: np.ndarray
    vs: np.ndarray
    up0: np.ndarray
    up1: np.ndarray


class Ahead(NamedTuple):
    """The stage behind the one that is backed up, prepared by :func:`segment_lines`.

    ``at0`` and ``at1``, float64 (room,), are the lines of its chords; ``guide`` int64 tells where to look for them.
    """

    held: Held
    m: int
    at0: np.ndarray
    at1: np.ndarray
    guide: np.ndarray


class Tangent(NamedTuple):
    """Lines of the cost to go at x: that of the lower function, which touches it there, and that of a plan."""

    x: float
    low0: float
    low1: float
    up0: float
    up1: float


class Room(NamedTuple):
    """Scratch: ``at0``, ``at1`` and ``guide`` of :class:`Ahead`, and a stack of intervals, float64 (., 10)."""

    at0: np.ndarray
    at1: np.ndarray
    guide: np.ndarray
    stack: np.ndarray


class Precision(NamedTuple):
    """Chords may be off by ``tolerance`` times g, or times ``least`` where g is smaller.

    Beliefs come to a corner in proportion to what is at stake there, so that errors may be larger where g is. Close to
    a corner, where g is small beside what is at stake at the start, nothing is gained by more.
    """

    tolerance: float
    least: float


@njit(nogil=True, cache=True)
def guide_cells(m, guide):
    """Eight times as many cells as segments, if there is room: most searches end where they start."""
    return min(guide.size - 1, 8 * m)


@njit(nogil=True, cache=True)
def segment_lines(xs, vs, m, at0, at1, guide):
    """For each segment, the value of its line at x = 0 and at x = 1.

    [0, 1] is cut into ``guide_cells(m, guide)`` equal cells; ``guide[c]`` becomes the last segment that starts
    at or before cell c, from which a search for a point of that cell starts.
    """
    cells = guide_cells(m, guide)
    cell = 0
    for s in range(m - 1):
        slope = (vs[s + 1] - vs[s]) / (xs[s + 1] - xs[s])
        at0[s] = vs[s] - slope * xs[s]
        at1[s] = vs[s] + slope * (1.0 - xs[s])
        while cell <= cells and cell < xs[s + 1] * cells:
            guide[cell] = s
            cell += 1
    while cell <= cells:
        guide[cell] = m - 2
        cell += 1


@njit(nogil=True, cache=True, forceinline=True)
def cost_to_go(x, stages, k, ahead):
    """Price of stage k and, over its answers, what follows: C_k at x as two lines."""
    cells, held, m, guide = stages.cells, ahead.held, ahead.m, ahead.guide
    low0, low1 = stages.prices[k, 0], stages.prices[k, 1]
    up0, up1 = low0, low1
    width = guide_cells(m, guide)
    for cell in range(stages.begins[k], stages.ends[k]):
        a, b = cells[cell, 0], cells[cell, 1]
        w0, w1 = a * (1.0 - x), b * x
        if w0 + w1 > 0.0:
            child = w1 / (w0 + w1)
        else:
            child = 1.0 if a == 0.0 else 0.0
        s = guide[int(child * width)]
        while s < m - 2 and held.xs[s + 1] <= child:
            s += 1
        low0 += a * ahead.at0[s]
        low1 += b * ahead.at1[s]
        # The plan to go on with is that of whichever end of the segment is cheaper here.
        here = held.up0[s] + (held.up1[s] - held.up0[s]) * child
        s += held.up0[s + 1] + (held.up1[s + 1] - held.up0[s + 1]) * child < here
        up0 += a * held.up0[s]
        up1 += b * held.up1[s]
    return Tangent(x, low0, low1, up0, up1)


@njit(nogil=True, cache=True)
def lower(tangent, x):
    """The lower line at x."""
    return tangent.low0 + (tangent.low1 - tangent.low0) * x


@njit(nogil=True, cache=True)
def upper(tangent, x):
    """The line of the plan at x."""
    return tangent.up0 + (tangent.up1 - tangent.up0) * x


@njit(nogil=True, cache=True)
def triangle(x, at0, at1, y, end0, end1, least):
    """Where two lines that touch a concave function at x and at y meet, and by how much that is above its chord.

    The function lies inside the triangle, so that its height bounds the error of the chord. It is measured in units of
    g, or of ``least`` where that is more.
    """
    bend = (at1 - at0) - (end1 - end0)
    if not (bend > 1e-15 and y - x > 1e-13 * y):
        return x, 0.0
    tip = (end0 - at0) / bend
    if not x < tip < y:
        return x, 0.0  # the lines meet at an end: one of them is the chord
    low, high = at0 + (at1 - at0) * x, end0 + (end1 - end0) * y
    height = at0 + (at1 - at0) * tip - (low + (high - low) * (tip - x) / (y - x))
    return tip, height / max(min(tip, 1.0 - tip), least)


@njit(nogil=True, cache=True)
def put(held, at, tangent):
    """Make a tangent the breakpoint number ``at``."""
    held.xs[at], held.vs[at] = tangent.x, lower(tangent, tangent.x)
    held.up0[at], held.up1[at] = tangent.up0, tangent.up1


@njit(nogil=True, cache=True)
def put_stop(held, at, x):
    """Make a corner of g, where stopping is right, the breakpoint number ``at``."""
    held.xs[at], held.vs[at] = x, min(x, 1.0 - x)
    held.up0[at], held.up1[at] = (0.0, 1.0) if x <= PEAK else (1.0, 0.0)


@njit(nogil=True, cache=True)
def push(stack, depth, left, right):
    """Put an interval between two tangents on the stack."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3], stack[depth, 4] = left
    stack[depth, 5], stack[depth, 6], stack[depth, 7], stack[depth, 8], stack[depth, 9] = right


@njit(nogil=True, cache=True)
def sandwich(stages, k, ahead, left, right, precision, stack, out, count):
    """Breakpoints of the cost to go between two tangents, refined until both functions are within the tolerance.

    Where the triangle of one of the functions is too high, both are evaluated under its tip. Appends breakpoints right
    of ``left`` to ``out`` from position ``count``; returns the new count and the largest height that was accepted, or
    (0, 0) if the room does not suffice for this tolerance.
    """
    tolerance, least = precision
    worst = 0.0
    limit = out.xs.size - 3
    depth = 1
    push(stack, np.int64(0), left, right)
    while depth > 0:
        depth -= 1
        e = stack[depth]
        left = Tangent(e[0], e[1], e[2], e[3], e[4])
        right = Tangent(e[5], e[6], e[7], e[8], e[9])
        x, height = triangle(left.x, left.low0, left.low1, right.x, right.low0, right.low1, least)
        tip, above = triangle(left.x, left.up0, left.up1, right.x, right.up0, right.up1, least)
        if above > height:
            x, height = tip, above
        if height > tolerance:
            if count + depth >= limit or depth + 2 > stack.shape[0]:
                return 0, 0.0
            middle = cost_to_go(x, stages, k, ahead)
            if upper(left, x) - upper(middle, x) <= 1e-3 * tolerance * max(min(x, 1.0 - x), least):
                # No better plan than those of the ends: with one of them the triangle is gone.
                middle = Tangent(x, middle.low0, middle.low1, left.up0, left.up1)
            push(stack, depth, middle, right)
            push(stack, depth + 1, left, middle)
            depth += 2
            continue
        worst = max(worst, height)
        put(out, count, right)
        count += 1
    return count, worst


@njit(nogil=True, cache=True)
def left_end(stages, k, ahead, tangent):
    """Newton steps down to where the cost to go meets g(x) = x; they never overshoot, since it is concave."""
    for _ in range(200):
        step = tangent.low0 / (1.0 + tangent.low0 - tangent.low1)
        if not step < tangent.x * (1.0 - 1e-15):
            break
        tangent = cost_to_go(step, stages, k, ahead)
    return tangent


@njit(nogil=True, cache=True)
def right_end(stages, k, ahead, tangent):
    """The same from the other side, in y = 1 - x, where it meets g = y; returns y as well, which 1 - x would round."""
    y = 1.0 - tangent.x
    for _ in range(200):
        step = tangent.low1 / (1.0 - tangent.low0 + tangent.low1)
        if not step < y * (1.0 - 1e-15):
            break
        y = step
        tangent = cost_to_go(1.0 - y, stages, k, ahead)
    return tangent, y


@njit(nogil=True, cache=True)
def back_up(stages, k, ahead, precision, stack, out, threshold):
    """J_k from J_{k+1}, into ``out``; how many breakpoints it has, and the tolerance and largest error of its chords.

    ``threshold`` float64 (2,) becomes the log-odds of x between which stage k continues, (inf, -inf) if it never does.
    """
    tolerance, least = precision
    free = stages.prices[k, 0] == 0.0
    top = cost_to_go(PEAK, stages, k, ahead)
    if not free and lower(top, PEAK) >= PEAK * (1.0 - 1e-14):
        threshold[0], threshold[1] = np.inf, -np.inf
        put_stop(out, np.int64(0), 0.0)
        put_stop(out, np.int64(1), PEAK)
        put_stop(out, np.int64(2), 1.0)
        return 3, tolerance, 0.0
    if free:
        # What costs nothing is never refused, not even where it cannot help.
        left, right = cost_to_go(0.0, stages, k, ahead), cost_to_go(1.0, stages, k, ahead)
        threshold[0], threshold[1] = -np.inf, np.inf
        first = 0
    else:
        left = left_end(stages, k, ahead, top)
        right, y = right_end(stages, k, ahead, top)
        threshold[0], threshold[1] = np.log(left.x / (1.0 - left.x)), np.log((1.0 - y) / y)
        put_stop(out, np.int64(0), 0.0)
        first = 1
    put(out, first, left)
    while True:
        count, error = sandwich(stages, k, ahead, left, right, Precision(tolerance, least), stack, out, first + 1)
        if count > 0:
            break
        tolerance *= 4.0
    if not free:
        put_stop(out, count, 1.0)
        count += 1
    return count, tolerance, error


@njit(nogil=True, cache=True)
def copy_distinct(source, count, target):
    """Breakpoints without those that coincide in floating point, which would make a segment without a slope."""
    m = 0
    for s in range(count):
        if m > 0 and source.xs[s] - target.xs[m - 1] <= 1e-14 * source.xs[s]:
            if source.xs[s] < 1.0:
                continue
            m -= 1
        target.xs[m], target.vs[m] = source.xs[s], source.vs[s]
        target.up0[m], target.up1[m] = source.up0[s], source.up1[s]
        m += 1
    return m


@njit(nogil=True, cache=True)
def backward(stages, start, end, held, m, other, room, precision, ease, thresholds):
    """Back up J_end, ``m`` breakpoints in ``held``, to J_start, which takes its place; ``other`` is room for one more.

    At stage k chords may be off by ease[k] times the tolerance. thresholds[k], of an array float64 (>= end, 2), becomes
    the log-odds of x between which stage k continues. Returns the number of breakpoints, and the largest error of a
    chord, over ease[k].
    """
    at0, at1, guide, stack = room
    tolerance, least = precision
    worst, spare = 0.0, 0.0
    for k in range(end - 1, start - 1, -1):
        segment_lines(held.xs, held.vs, m, at0, at1, guide)
        ahead = Ahead(held, m, at0, at1, guide)
        # Where the room did not suffice, it may again at an earlier stage.
        wanted = Precision(max(tolerance * ease[k], spare), least)
        count, tau, error = back_up(stages, k, ahead, wanted, stack, other, thresholds[k])
        spare = tau / 16.0 if tau > tolerance * ease[k] else 0.0
        m = copy_distinct(other, count, held)
        worst = max(worst, error / ease[k])
    return m, worst
