"""Column moments and partial correlations, over plain arrays.

Matrices of data are ``(n, b)``, row-major: ``n`` instances, ``b`` columns.  Every sum runs over the
instances in order, one accumulator per column, so the result for a column does not depend on which other
columns share its block.  The inner loop runs along the columns, which the compiler vectorises without
reordering any sum.
"""

import math

import numpy as np

from etana.kernels.compiling import njit

__all__ = ["centred_moments", "column_means", "partial_correlation", "separated", "weighted_sums"]

# A residual variance this small, as a share of the variance, is rounding noise: the column is a linear
# function of the conditioning set.
COLLINEAR = 1e-12


@njit(nogil=True, cache=True)
def column_means(X: np.ndarray, means: np.ndarray, varies: np.ndarray) -> None:
    """Mean of each column into ``means``; ``varies`` becomes False for a column of one value."""
    n, b = X.shape
    means[:] = 0.0
    varies[:] = False
    for i in range(n):
        for j in range(b):
            means[j] += X[i, j]
        for j in range(b):
            varies[j] |= X[i, j] != X[0, j]
    for j in range(b):
        means[j] /= n


@njit(nogil=True, cache=True)
def centred_moments(
    X: np.ndarray, means: np.ndarray, centred_y: np.ndarray, squares: np.ndarray, products: np.ndarray
) -> None:
    """Sum of squares about the mean, and of products with ``centred_y``, of each column."""
    n, b = X.shape
    squares[:] = 0.0
    products[:] = 0.0
    for i in range(n):
        y_i = centred_y[i]
        for j in range(b):
            d = X[i, j] - means[j]
            squares[j] += d * d
            products[j] += d * y_i


@njit(nogil=True, cache=True)
def weighted_sums(X: np.ndarray, first: int, weights: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> None:
    """``sums[k, j] = sum_i weights[k, i] X[i, j]`` and ``squares[j] = sum_i X[i, j]^2``, for j >= ``first``."""
    n = X.shape[0]
    sums[:] = 0.0
    squares[:] = 0.0
    for i in range(n):
        x = X[i, first:]  # slices that begin at 0 are what the compiler vectorises
        into = squares[first:]
        for j in range(x.size):
            into[j] += x[j] * x[j]
        for k in range(weights.shape[0]):
            w = weights[k, i]
            into = sums[k, first:]
            for j in range(x.size):
                into[j] += w * x[j]


@njit(nogil=True, cache=True)
def partial_correlation(R: np.ndarray, a: int, b: int, given: np.ndarray, k: int, work: np.ndarray) -> float:
    """Correlation of variables ``a`` and ``b`` given the first ``k`` entries of ``given``.

    ``R`` is a correlation matrix.  Gaussian elimination of the conditioning variables leaves the 2 x 2
    Schur complement P, and r = P01 / sqrt(P00 P11).  A conditioning variable that the earlier ones
    determine adds nothing and is passed over.  NaN where ``a`` or ``b`` is determined by ``given``.
    """
    m = k + 2
    for p in range(m):
        row = given[p] if p < k else (a if p == k else b)
        for q in range(p, m):
            column = given[q] if q < k else (a if q == k else b)
            work[p, q] = R[row, column]
    for p in range(k):
        pivot = work[p, p]
        if pivot <= COLLINEAR:
            continue
        for i in range(p + 1, m):
            factor = work[p, i] / pivot
            for j in range(i, m):
                work[i, j] -= factor * work[p, j]
    if work[k, k] <= COLLINEAR or work[k + 1, k + 1] <= COLLINEAR:
        return math.nan
    return work[k, k + 1] / math.sqrt(work[k, k] * work[k + 1, k + 1])


@njit(nogil=True, cache=True)
def separated(
    R: np.ndarray,
    v: int,
    others: np.ndarray,
    cutoffs: np.ndarray,
    newest_only: bool,
    chosen: np.ndarray,
    work: np.ndarray,
) -> bool:
    """True if variables ``v`` and 0 are independent given some non-empty subset of ``others``.

    Subsets have at most ``len(cutoffs) - 1`` members; a subset of size k separates if its partial
    correlation is below ``cutoffs[k]`` or undefined.  With ``newest_only``, only subsets that contain the
    last of ``others`` count.  Scratch, with m = ``len(cutoffs)``: ``chosen`` (2, m), positions in ``others``
    and what stands there, and ``work`` (m + 2, m + 2).
    """
    m = others.size
    places, given = chosen[0], chosen[1]
    for k in range(1, min(cutoffs.size - 1, m) + 1):
        for t in range(k):
            places[t] = t
        if newest_only:
            places[k - 1] = m - 1
        free = k - 1 if newest_only else k  # positions that move; the rest stay
        top = m - 1 if newest_only else m  # they stay below this
        while True:
            for t in range(k):
                given[t] = others[places[t]]
            r = abs(partial_correlation(R, v, np.int64(0), given, k, work))
            if not r >= cutoffs[k]:
                return True
            t = free - 1
            while t >= 0 and places[t] == top - free + t:
                t -= 1
            if t < 0:
                break
            places[t] += 1
            for s in range(t + 1, free):
                places[s] = places[s - 1] + 1
    return False
