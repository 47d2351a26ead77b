"""Backward induction on the quantised simplex.

Grid points are compositions of the resolution into N parts, in lexicographic order; ``counts[n, r]`` is the
number of compositions of r into n parts. Costs are regrets. The last column of ``counts`` is the order of the classes,
see :mod:`etana.kernels.rules`.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.rules import grid_interpolate, grid_rank, round_to_grid, stop_cost


@njit(nogil=True, cache=True)
def compositions(resolution, points):
    """All compositions of the resolution, one a row, in the order of :func:`grid_rank`."""
    d, n = points.shape
    points[0] = 0
    points[0, n - 1] = resolution
    for row in range(1, d):
        points[row] = points[row - 1]
        # The successor: the last nonzero part gives one to its left neighbour and the rest moves to the end.
        i = n - 1
        while points[row, i] == 0:
            i -= 1
        rest = points[row, i] - 1
        points[row, i] = 0
        points[row, i - 1] += 1
        points[row, n - 1] = rest


@njit(nogil=True, cache=True)
def stop_costs(points, resolution, regrets, out):
    """g at every grid point."""
    for row in range(points.shape[0]):
        out[row] = stop_cost(points[row] / resolution, regrets)


@njit(nogil=True, cache=True)
def look_up(nearest, beliefs, resolution, values, counts, out):
    """Grid values at each belief: at the nearest point, or interpolated."""
    parts = np.empty(beliefs.shape[1], dtype=np.int64)
    for row in range(beliefs.shape[0]):
        if nearest:
            round_to_grid(beliefs[row], resolution, parts)
            out[row] = values[grid_rank(parts, counts)]
        else:
            out[row] = grid_interpolate(beliefs[row], resolution, values, counts)


@njit(nogil=True, cache=True)
def back_up(nearest, points, counts, stop, regrets, delta, price, ahead, out):
    """C_k at every grid point from C_{k+1} (``ahead``): price + sum_v p_v J_{k+1}(child v).

    ``nearest`` takes J_{k+1} = min(g, C_{k+1}) at the grid point that the child is rounded to; otherwise
    J_{k+1} is min(g, C_{k+1}) at the child itself, with C_{k+1} interpolated. ``stop`` is g at grid points.
    """
    d, n = points.shape
    resolution = counts.shape[1] - 2
    child = np.empty(n)
    parts = np.empty(n, dtype=np.int64)
    alive = np.empty(n, dtype=np.int64)
    for row in range(d):
        n_alive = 0
        for i in range(n):
            child[i] = 0.0
            if points[row, i] > 0:
                # Classes without belief stay without: on a face of the simplex there is less to do.
                alive[n_alive] = i
                n_alive += 1
        total = price
        for v in range(delta.shape[0]):
            mass = 0.0
            for a in range(n_alive):
                i = alive[a]
                child[i] = points[row, i] / resolution * delta[v, i]
                mass += child[i]
            if mass <= 0.0:
                continue
            for a in range(n_alive):
                child[alive[a]] /= mass
            if nearest:
                round_to_grid(child, resolution, parts)
                rank = grid_rank(parts, counts)
                # Both at the rounded child, as the authors' program reads them.
                total += mass * min(stop[rank], ahead[rank])
            else:
                later = grid_interpolate(child, resolution, ahead, counts)
                # g is known at the child itself; C, which is concave (Lemma 4 of the paper), is met from below.
                total += mass * min(stop_cost(child, regrets), later)
        out[row] = total


@njit(nogil=True, cache=True)
def induce(nearest, points, counts, stop, regrets, cells, offsets, costs, horizon, last, table):
    """Fill ``table[k]`` with C_k for k = horizon - 1 down to 0, C_horizon being ``last``.

    A table of fewer rows than the horizon is reused, row k mod rows, for callers that want C_0 only.
    """
    rows = table.shape[0]
    for k in range(horizon - 1, -1, -1):
        ahead = last if k == horizon - 1 else table[(k + 1) % rows]
        delta = cells[offsets[k] : offsets[k + 1]]
        back_up(nearest, points, counts, stop, regrets, delta, costs[k], ahead, table[k % rows])
