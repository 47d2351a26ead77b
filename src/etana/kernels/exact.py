"""Backward induction for two classes on piecewise linear functions of x = P(class 1).

A function is held as breakpoints ``xs`` with values ``vs``; between them it is the chord, so for a concave
function it is never above the truth. All costs are regrets, hence g(x) = min(left * x, right * (1 - x)).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def guide_cells(m, guide):
    """Twice as many cells as segments, if there is room."""
    return min(guide.size - 1, 2 * m)


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


@njit(nogil=True, cache=True)
def backed_up_line(x, cells, first, last, cost, xs, m, at0, at1, guide):
    """The line of the cost to go that touches it at x, as its values at 0 and at 1."""
    line0, line1 = cost, cost
    width = guide_cells(m, guide)
    for cell in range(first, last):
        a, b = cells[cell, 0], cells[cell, 1]
        w0, w1 = a * (1.0 - x), b * x
        if w0 + w1 > 0.0:
            child = w1 / (w0 + w1)
        else:
            child = 1.0 if a == 0.0 else 0.0
        s = guide[int(child * width)]
        while s < m - 2 and xs[s + 1] <= child:
            s += 1
        line0 += a * at0[s]
        line1 += b * at1[s]
    return line0, line1


@njit(nogil=True, cache=True)
def sandwich(
    cells, first, last, cost, xs, m, at0, at1, guide, xl, l0, l1, xr, r0, r1, tolerance, stack, out_x, out_v, count
):
    """Chords of the cost to go between xl and xr, refined until no chord is off by more than the tolerance.

    The two tangents at the ends of an interval and its chord enclose the concave function in a triangle, whose
    height bounds the error of the chord; where it is too high, the function is evaluated under its tip.
    Appends breakpoints right of xl to ``out_x``, ``out_v`` from position ``count``; returns the new count and
    the largest height that was accepted, or (0, 0) if the room does not suffice for this tolerance.
    """
    worst = 0.0
    limit = out_x.size - 3
    depth = 1
    stack[0] = xl, l0, l1, xr, r0, r1
    while depth > 0:
        depth -= 1
        xl, l0, l1, xr, r0, r1 = stack[depth]
        vl = l0 + (l1 - l0) * xl
        vr = r0 + (r1 - r0) * xr
        bend = (l1 - l0) - (r1 - r0)
        height = 0.0
        x = xl
        if bend > 1e-15 and xr - xl > 1e-13:
            x = min(max((r0 - l0) / bend, xl), xr)
            tip = l0 + (l1 - l0) * x
            height = tip - (vl + (vr - vl) * (x - xl) / (xr - xl))
        if height > tolerance:
            if count + depth >= limit or depth + 2 > stack.shape[0]:
                return 0, 0.0
            m0, m1 = backed_up_line(x, cells, first, last, cost, xs, m, at0, at1, guide)
            value = m0 + (m1 - m0) * x
            if tip - value > 1e-3 * tolerance:
                stack[depth] = x, m0, m1, xr, r0, r1
                stack[depth + 1] = xl, l0, l1, x, m0, m1
                depth += 2
                continue
            # The tip lies on the function: a corner between two straight pieces.
            out_x[count], out_v[count] = x, value
            count += 1
            height = tip - value
        worst = max(worst, height)
        out_x[count], out_v[count] = xr, vr
        count += 1
    return count, worst


@njit(nogil=True, cache=True)
def left_end(slope, x, l0, l1, cells, first, last, cost, xs, m, at0, at1, guide):
    """Newton steps from x down to where the cost to go meets slope * x; they never overshoot."""
    for _ in range(200):
        step = l0 / (slope + l0 - l1)
        if not step < x * (1.0 - 1e-15):
            break
        x = step
        l0, l1 = backed_up_line(x, cells, first, last, cost, xs, m, at0, at1, guide)
    return x, l0, l1


@njit(nogil=True, cache=True)
def right_end(slope, y, l0, l1, cells, first, last, cost, xs, m, at0, at1, guide):
    """The same from the other side, in y = 1 - x, where it meets slope * y."""
    for _ in range(200):
        step = l1 / (slope - l0 + l1)
        if not step < y * (1.0 - 1e-15):
            break
        y = step
        l0, l1 = backed_up_line(1.0 - y, cells, first, last, cost, xs, m, at0, at1, guide)
    return y, l0, l1


@njit(nogil=True, cache=True)
def backward(
    cells, offsets, costs, left, right, start, end, xs, vs, m, tolerance,
    new_x, new_v, at0, at1, guide, stack, thresholds,
):  # fmt: skip
    """Back up J_end (in xs, vs) to J_start; thresholds[k] = log-odds between which stage k continues.

    Returns the number of breakpoints of J_start (left in xs, vs), the largest and the summed chord error.
    """
    worst, total = 0.0, 0.0
    peak = right / (left + right)
    tau = tolerance
    for k in range(end - 1, start - 1, -1):
        first, last, cost = offsets[k], offsets[k + 1], costs[k]
        segment_lines(xs, vs, m, at0, at1, guide)
        p0, p1 = backed_up_line(peak, cells, first, last, cost, xs, m, at0, at1, guide)
        error = 0.0
        new_x[0], new_v[0] = 0.0, 0.0
        if cost > 0.0 and p0 + (p1 - p0) * peak >= left * peak * (1.0 - 1e-14):
            thresholds[k, 0], thresholds[k, 1] = np.inf, -np.inf
            new_x[1], new_v[1] = peak, left * peak
            new_x[2], new_v[2] = 1.0, 0.0
            count = 3
        else:
            if cost > 0.0:
                lo, l0, l1 = left_end(left, peak, p0, p1, cells, first, last, cost, xs, m, at0, at1, guide)
                y, r0, r1 = right_end(right, 1.0 - peak, p0, p1, cells, first, last, cost, xs, m, at0, at1, guide)
                thresholds[k, 0] = np.log(lo / (1.0 - lo))
                thresholds[k, 1] = np.log((1.0 - y) / y)
            else:
                lo, y = 0.0, 0.0
                l0, l1 = backed_up_line(0.0, cells, first, last, cost, xs, m, at0, at1, guide)
                r0, r1 = backed_up_line(1.0, cells, first, last, cost, xs, m, at0, at1, guide)
                thresholds[k, 0], thresholds[k, 1] = -np.inf, np.inf
            new_x[1], new_v[1] = lo, l0 + (l1 - l0) * lo
            tau = max(tolerance, tau / 16.0)
            while True:
                count, error = sandwich(
                    cells, first, last, cost, xs, m, at0, at1, guide,
                    lo, l0, l1, 1.0 - y, r0, r1, tau, stack, new_x, new_v, 2,
                )  # fmt: skip
                if count > 0:
                    break
                tau *= 4.0
            new_x[count], new_v[count] = 1.0, 0.0
            count += 1
        m = 0
        for s in range(count):
            # Points that coincide in floating point would make a segment without a slope.
            if m == 0 or new_x[s] - xs[m - 1] > 1e-14:
                xs[m], vs[m] = new_x[s], new_v[s]
                m += 1
            elif new_x[s] == 1.0:
                xs[m - 1], vs[m - 1] = 1.0, 0.0
        worst = max(worst, error)
        total += error
    return m, worst, total
