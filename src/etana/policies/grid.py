"""ETANA on a quantised simplex, as the paper carries it out (its Theorem 2 and the paragraph after it).

Each probability takes the values 0, 1/n, ..., 1, n being the resolution, so that a belief is one of
d = C(n + N - 1, N - 1) grid points. With q a grid point, from the last stage to the first::

    C_k(q) = c_{k+1} + sum_v m_v J_{k+1}(q_v)        m_v = Delta_{k+1}(v) . q, q_v = Delta_{k+1}(v) * q / m_v
    J_K = g        J_k = min(g, C_k)                 stop at stage k when g <= C_k

A child q_v falls between grid points, and so does the belief of an instance. ``lookup`` is how to read them:

``"nearest"``
    g and C_k at the grid point that the belief is rounded to, the parts of which still sum to one. With
    n = 10 this is the authors' own program. It promises nothing about the optimum: a feature too weak to
    move a belief to another point looks worthless, however many of its kind follow.
``"interpolate"``
    g at the belief itself, and C_k interpolated between the corners of the triangle of Freudenthal that
    holds it. C_k is concave, interpolation of a concave function lies below it, and backing up keeps the
    order; so by induction every value is a *lower bound* on the true C_k and J_k, at every stage and every
    belief. Which triangle it is depends on the order of the classes, from four on; it is one that does not
    depend on how they are numbered. It rises to the optimum as the resolution grows through multiples. The
    policy itself costs the optimum or more.

Stages. A table of up to 2^22 numbers is solved for all K stages. A larger problem is solved from a horizon
H < K twice: with J_H = g, which is too dear, and with J_H = min(g, c_{H+1}), which is too cheap, for going
on costs at least the next price. Both look-ups are monotone, so that the result of all K stages lies
between the two; H doubles until they differ at the prior by at most ``tolerance`` times the largest
regret. The difference is kept as ``truncation``, to be taken off where a lower bound is wanted. A feature
that is free is always asked. Costs are regrets, as in :mod:`etana.problem`.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.errors import InputError, SolverError
from etana.kernels import grid as kernels
from etana.kernels.rules import GRID_INTERPOLATE, GRID_NEAREST
from etana.parameters import check_parameters, number, one_of, whole
from etana.policies.bounds import BoundedPolicy
from etana.problem import Problem
from etana.threads import over_chunks

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["GridPolicy", "GridSolver"]

_WHOLE = 2**22  # entries of a table that is solved for all stages: 32 MiB
_LARGEST = 2**27  # entries of the largest table: 1 GiB
_FIRST_HORIZON = 64
_POINTS_PER_THREAD = 2000  # a stage of them takes a millisecond or so


class GridPolicy(BoundedPolicy):
    """A table of costs to go at grid points.

    Attributes
    ----------
    truncation : float
        Most that the stages beyond the horizon would lower the value at the prior; 0 where all are solved.
    """

    words: ClassVar[str] = "the optimum on a grid of beliefs"

    kinds = (GRID_NEAREST, GRID_INTERPOLATE)
    truncation: float = 0.0

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The table, and what it leaves out."""
        arrays, numbers = super().state()
        return arrays, numbers | {"truncation": float(self.truncation)}

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        n = problem.n_classes
        counts = state.array("index", (n + 1, None), np.int64)
        resolution = counts.shape[1] - 2
        # More points than 2^60 fit no file; their number would take long to compute.
        d = comb(resolution + n - 1, n - 1) if resolution > 0 and min(resolution, n - 1) <= 60 else -1
        usual = _counts(n, resolution) if d > 0 else counts[:0]
        if state.array("table", (horizon, None)).shape[1] != d or not np.array_equal(counts[:, :-1], usual[:, :-1]):
            raise InputError("the table of the grid has not one column for each grid point")
        if not np.array_equal(np.sort(counts[:n, -1]), np.arange(n)):
            raise InputError("the grid does not name each class once")
        self = super()._build(problem, horizon, state)
        self.truncation = state.number("truncation")
        return self

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        nearest = self.rule.kind == GRID_NEAREST
        out = np.empty(len(beliefs))
        resolution = self.rule.index.shape[1] - 2
        kernels.look_up(nearest, beliefs, resolution, self.rule.table[stage], self.rule.index, out)
        return out


class GridSolver:
    """Dynamic programming on a quantised simplex: the paper's ETANA.

    Parameters
    ----------
    resolution : int, default 10
        Number of steps into which each probability is cut.
    lookup : {"nearest", "interpolate"}, default "nearest"
        How beliefs between grid points are read: as in the authors' program, or better.
    tolerance : float, default 1e-6
        Largest error at the prior, in units of the largest regret, that leaving out late stages may cause.

    Examples
    --------
    >>> import etana
    >>> problem = etana.Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], feature_costs=0.05)
    >>> policy = etana.policies.GridSolver(resolution=10, lookup="interpolate").solve(problem)
    >>> policy.stops(0, [0.5, 0.5]), round(policy.value(0, [0.5, 0.5]), 3)
    (False, 0.2)
    """

    _parameters: ClassVar = {
        "resolution": whole(least=1),
        "lookup": one_of("nearest", "interpolate"),
        "tolerance": number(above=0),
    }

    def __init__(self, resolution: int = 10, lookup: str = "nearest", tolerance: float = 1e-6) -> None:
        self.resolution = resolution
        self.lookup = lookup
        self.tolerance = tolerance

    def __repr__(self) -> str:
        return f"GridSolver(resolution={self.resolution}, lookup={self.lookup!r})"

    def solve(self, problem: Problem) -> GridPolicy:
        """Solve by backward induction at every grid point."""
        check_parameters(self)
        resolution = int(self.resolution)
        d, n_stages = comb(resolution + problem.n_classes - 1, resolution), problem.n_features
        if d * max(min(n_stages, _FIRST_HORIZON), problem.n_classes) > _LARGEST:
            raise _too_large(resolution, d, problem)
        nearest = self.lookup == "nearest"
        # The authors' program takes classes as they are numbered.
        classes = np.arange(problem.n_classes) if nearest else problem.canonical
        table, truncation = self._solve(nearest, problem.renumbered(classes), resolution, d, n_stages)
        kind = GRID_NEAREST if nearest else GRID_INTERPOLATE
        policy = GridPolicy(problem, kind, table, len(table), _counts(problem.n_classes, resolution, classes))
        policy.truncation = truncation
        return policy

    def _solve(
        self, nearest: bool, problem: Problem, resolution: int, d: int, n_stages: int
    ) -> tuple[np.ndarray, float]:
        """The table of all stages, or of so many as suffice, and the bound on what it leaves out."""
        points = np.empty((d, problem.n_classes), dtype=np.int64)
        kernels.compositions(resolution, points)
        stop = np.empty(d)
        kernels.stop_costs(points, resolution, problem.regrets, stop)
        counts = _counts(problem.n_classes, resolution)
        shared = (nearest, points, counts, stop, problem.regrets, problem.cells, problem.offsets)
        if d * n_stages <= _WHOLE:
            return _induce(shared, problem, n_stages), 0.0
        return self._shorten(shared, problem, resolution)

    def _shorten(self, shared: tuple[Any, ...], problem: Problem, resolution: int) -> tuple[np.ndarray, float]:
        """The table of the first horizon that is long enough, and the bound on what it leaves out."""
        d = len(shared[1])
        horizon = min(_FIRST_HORIZON, problem.n_features)
        while True:
            table = _induce(shared, problem, horizon)
            if horizon == problem.n_features:
                return table, 0.0
            # Both ends of the bracket: C_H infinite stops at H, C_H = c_{H+1} is told the class for one price more.
            two_rows = _induce(shared, problem, horizon, problem.feature_costs[horizon], rows=2)
            bound = _value(shared, table[0], problem) - _value(shared, two_rows[0], problem)
            if bound <= self.tolerance * problem.scale:
                return table, max(bound, 0.0)
            horizon = min(2 * horizon, problem.n_features)
            if d * horizon > _LARGEST:
                raise _too_large(resolution, d, problem)


def _counts(n_classes: int, resolution: int, classes: np.ndarray | None = None) -> np.ndarray:
    """counts[n, r]: number of compositions of r into n parts, the sum of a row of counts[n - 1]; and in the last column
    the order of the classes, theirs if none is given."""
    counts = np.zeros((n_classes + 1, resolution + 2), dtype=np.int64)
    counts[0, 0] = 1
    for n in range(1, n_classes + 1):
        # A composition of r into n parts: any last part up to r, and the rest of it into n - 1.
        np.cumsum(counts[n - 1], out=counts[n])
    counts[:n_classes, -1] = np.arange(n_classes) if classes is None else classes
    counts[n_classes, -1] = 0
    return counts


def _induce(
    shared: tuple[Any, ...], problem: Problem, horizon: int, last: float = np.inf, rows: int | None = None
) -> np.ndarray:
    """C_k for k below the horizon, or as many of the first of them as there are ``rows``."""
    d = len(shared[1])
    table = np.empty((horizon if rows is None else rows, d))
    ahead = np.full(d, last)
    # Small grids stay in one compiled loop: to share a stage out takes longer than to work it out.
    if d < 2 * _POINTS_PER_THREAD:
        kernels.induce(*shared, problem.feature_costs, horizon, ahead, table)
        return table
    for k in range(horizon - 1, -1, -1):
        _back_up(shared, k, problem.feature_costs[k], ahead, table[k % len(table)])
        ahead = table[k % len(table)]
    return table


def _back_up(shared: tuple[Any, ...], k: int, price: float, ahead: np.ndarray, out: np.ndarray) -> None:
    """One stage, in threads."""
    nearest, points, counts, stop, regrets, cells, offsets = shared
    delta = cells[offsets[k] : offsets[k + 1]]

    def run(a: int, b: int) -> None:
        kernels.back_up(nearest, points[a:b], counts, stop, regrets, delta, price, ahead, out[a:b])

    over_chunks(run, len(points), _POINTS_PER_THREAD)


def _value(shared: tuple[Any, ...], cost_to_go: np.ndarray, problem: Problem) -> float:
    """J_0 at the prior, read as the walk reads it."""
    nearest, _, counts, stop, regrets = shared[:5]
    belief, out = problem.priors[None, :], np.empty(1)
    resolution = counts.shape[1] - 2
    if nearest:
        kernels.look_up(True, belief, resolution, np.minimum(stop, cost_to_go), counts, out)
        return float(out[0])
    kernels.look_up(False, belief, resolution, cost_to_go, counts, out)
    return float(min(out[0], (belief @ regrets).min()))


def _too_large(resolution: int, d: int, problem: Problem) -> SolverError:
    return SolverError(
        f"resolution {resolution} with {problem.n_classes} classes makes d = {d:,} grid points, and their "
        f"table for K = {problem.n_features:,} stages {d * problem.n_features * 8 / 2**30:,.1f} GiB; at most "
        f"{_LARGEST * 8 / 2**30:.0f} GiB is allowed and a shorter horizon did not suffice: lower the "
        "resolution, or use solver='points'"
    )
