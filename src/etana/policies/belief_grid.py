"""Grids of beliefs, even in log-odds, for :mod:`etana.kernels.rough`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from etana.kernels import rough

if TYPE_CHECKING:
    from etana.policies.exact import _Induction

__all__ = ["MOST_ODDS", "rung"]

_POINTS = 6.4  # over the root of the tolerance
_LEAST_ODDS, MOST_ODDS = 2.0, 18.0  # logarithms between which a grid ends


def rung(like: _Induction, count: int, tolerance: float) -> tuple[rough.Features, rough.Grid]:
    """The first features of a problem, on a grid for this tolerance."""
    cells, begins, ends, prices = like.stages
    begins, ends = begins[:count], ends[:count]
    cells = cells[: int(ends.max(initial=0))]
    grid, step = _grid(like.prior, prices[:count], int(_POINTS / np.sqrt(tolerance)))
    with np.errstate(divide="ignore"):
        odds = np.log(cells[:, 1]) - np.log(cells[:, 0])
    # What an answer rules out is beyond all points.
    moves = np.clip(odds / step, -2.0 * grid.stop.size, 2.0 * grid.stop.size)
    units = np.ascontiguousarray(like.weights[::-1] if like.turned else like.weights)
    return rough.Features(cells, moves, begins, ends, units), grid


def _grid(prior: float, prices: np.ndarray, points: int) -> tuple[rough.Grid, float]:
    """About so many points, one of them where g has its peak, and how far they are apart in log-odds."""
    # Who risks less than the least price stops: there g is linear, and needs no points.
    least = np.where(prices > 0, prices, np.inf).min(axis=0, initial=1.0)
    low, high = np.clip(-np.log(least), _LEAST_ODDS, MOST_ODDS).tolist()
    step = (low + high) / (points - 2)
    before = int(np.ceil(low / step))
    odds = step * (np.arange(points) - before)
    weights = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])
    left, right = weights
    across = np.stack([right[1:], right[:-1], left[:-1], left[1:]]) / (left[:-1] * right[1:] - left[1:] * right[:-1])
    with np.errstate(divide="ignore"):
        place = np.clip((np.log(prior) - np.log1p(-prior)) / step + before, -points, 2.0 * points)
    return rough.Grid(weights, weights.min(axis=0), across, np.array([1 - prior, prior, place])), step
