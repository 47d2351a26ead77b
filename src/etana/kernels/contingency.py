"""Counts of discrete columns and the statistics made from them, over plain arrays."""

import math

import numpy as np

from etana.kernels.compiling import njit

__all__ = ["chi2_statistic", "g2_statistic", "symmetrical_uncertainty", "tabulate"]


@njit(nogil=True, cache=True)
def tabulate(a: np.ndarray, b: np.ndarray, strata: np.ndarray, table: np.ndarray) -> None:
    """Count into ``table[stratum, a, b]``; codes start at 0."""
    table[:] = 0
    for i in range(a.size):
        table[strata[i], a[i], b[i]] += 1


@njit(nogil=True, cache=True)
def g2_statistic(table: np.ndarray) -> float:
    """2 sum O ln(O / E), with E from the margins of each stratum; empty cells count 0."""
    total = 0.0
    rows = np.empty(table.shape[1], dtype=np.int64)
    columns = np.empty(table.shape[2], dtype=np.int64)
    for s in range(table.shape[0]):
        n = _margins(table, s, rows, columns)
        for i in range(rows.size):
            for j in range(columns.size):
                observed = table[s, i, j]
                if observed > 0:
                    # one integer ratio, so that exact independence gives ln 1 = 0 exactly
                    total += observed * math.log((observed * n) / (rows[i] * columns[j]))
    return 2.0 * total


@njit(nogil=True, cache=True)
def chi2_statistic(table: np.ndarray) -> float:
    """Sum (|O - E| - c)^2 / E, with the continuity correction c = 0.5 where E < 10, else 0."""
    total = 0.0
    rows = np.empty(table.shape[1], dtype=np.int64)
    columns = np.empty(table.shape[2], dtype=np.int64)
    for s in range(table.shape[0]):
        n = _margins(table, s, rows, columns)
        for i in range(rows.size):
            for j in range(columns.size):
                if rows[i] > 0 and columns[j] > 0:
                    expected = rows[i] * columns[j] / n
                    excess = abs(table[s, i, j] - expected)
                    if expected < 10.0:
                        excess -= 0.5
                    total += excess * excess / expected
    return total


@njit(nogil=True, cache=True)
def _margins(table: np.ndarray, s: int, rows: np.ndarray, columns: np.ndarray) -> int:
    """Margins of stratum ``s`` into ``rows`` and ``columns``; their total."""
    rows[:] = 0
    columns[:] = 0
    n = 0
    for i in range(rows.size):
        for j in range(columns.size):
            rows[i] += table[s, i, j]
            columns[j] += table[s, i, j]
            n += table[s, i, j]
    return n


@njit(nogil=True, cache=True)
def symmetrical_uncertainty(table: np.ndarray) -> float:
    """2 I(a; b) / (H(a) + H(b)) of ``table[0]``; 0 where both columns are constant."""
    rows = np.empty(table.shape[1], dtype=np.int64)
    columns = np.empty(table.shape[2], dtype=np.int64)
    n = _margins(table, np.int64(0), rows, columns)
    entropies = 0.0
    for i in range(rows.size):
        if rows[i] > 0:
            entropies -= rows[i] / n * math.log(rows[i] / n)
    for j in range(columns.size):
        if columns[j] > 0:
            entropies -= columns[j] / n * math.log(columns[j] / n)
    if entropies <= 0.0:
        return 0.0
    return g2_statistic(table[:1]) / n / entropies
