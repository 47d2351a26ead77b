"""Walks: of given rows through a policy, and of instances drawn from a model.

A walk adds log likelihoods, so that ten thousand features do not underflow, and reads a value only when the
rule asks for it. Rows are stored as a dense matrix or as the three arrays of a CSR or CSC matrix.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from etana.kernels.rules import INTERVAL, decide, interval_stops, normalise, stops

DENSE, CSR, CSC = range(3)

FEW_EDGES = 32


@njit(nogil=True, cache=True)
def bin_of(value, edges, first, last, missing):
    """Number of edges at or below the value; ``missing`` for NaN."""
    if np.isnan(value):
        return missing
    if last - first <= FEW_EDGES:
        # Counting them all needs no branch that could be guessed wrongly, and runs several at a time.
        below = 0
        for e in range(first, last):
            below += edges[e] <= value
        return below
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first


@njit(nogil=True, cache=True)
def sparse_value(data, indices, low, high, wanted):
    """Value at index ``wanted`` of one sorted compressed row or column; 0 where nothing is stored."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < end and indices[low] == wanted:
        return np.float64(data[low])
    return 0.0


@njit(nogil=True, cache=True)
def fetch(storage, dense, data, indices, indptr, row, column):
    """One value of the matrix, whichever way it is stored."""
    if storage == DENSE:
        return np.float64(dense[row, column])
    if storage == CSR:
        return sparse_value(data, indices, indptr[row], indptr[row + 1], column)
    return sparse_value(data, indices, indptr[column], indptr[column + 1], row)


@njit(nogil=True, cache=True)
def update(logs, log_likelihood):
    """logs += log_likelihood, shifted so that the largest is 0 (Lemma 1 of the paper, in logarithms)."""
    top = -np.inf
    for i in range(logs.size):
        logs[i] += log_likelihood[i]
        if logs[i] > top:
            top = logs[i]
    if top > -np.inf:
        for i in range(logs.size):
            logs[i] -= top


@njit(nogil=True, cache=True)
def walk(
    kind,
    table,
    index,
    costs,
    regrets,
    storage,
    dense,
    data,
    indices,
    indptr,
    columns,
    edges,
    edge_offsets,
    missing,
    log_cells,
    cell_offsets,
    log_priors,
    budget,
    first_row,
    last_row,
    labels,
    asked,
    spent,
    posteriors,
):
    """Take rows first_row..last_row-1 through the rule; fill labels, asked, spent, posteriors."""
    n = log_priors.size
    logs, belief, scratch = np.empty(n), np.empty(n), np.empty(n)
    # Before the first answer all rows share one belief, and so one decision.
    begins = not stops(kind, table, index, costs, regrets, 0, log_priors, belief, scratch)
    for row in range(first_row, last_row):
        logs[:] = log_priors
        paid = 0.0
        k = 0
        while k < columns.size:
            if k == 0:
                if not begins:
                    break
            # The test for two classes is a comparison; it must not pay for a call with all those arguments.
            elif kind == INTERVAL:
                if interval_stops(table, k, logs):
                    break
            elif stops(kind, table, index, costs, regrets, k, logs, belief, scratch):
                break
            if paid + costs[k] > budget:
                break
            value = fetch(storage, dense, data, indices, indptr, row, columns[k])
            code = bin_of(value, edges, edge_offsets[k], edge_offsets[k + 1], missing[k])
            if 0 <= code < cell_offsets[k + 1] - cell_offsets[k]:
                update(logs, log_cells[cell_offsets[k] + code])
            paid += costs[k]
            k += 1
        normalise(logs, belief)
        labels[row] = decide(belief, regrets)
        asked[row] = k
        spent[row] = paid
        posteriors[row] = belief


@njit(nogil=True, cache=True)
def draw(cells, first, last, class_index):
    """A value of a feature, drawn given the class."""
    u = np.random.random()
    total = 0.0
    for cell in range(first, last):
        total += cells[cell, class_index]
        if u < total:
            return cell
    # Rounding can leave u above the sum; the last value that is possible takes the rest.
    cell = last - 1
    while cell > first and cells[cell, class_index] == 0.0:
        cell -= 1
    return cell


@njit(nogil=True, cache=True)
def simulate(
    kind,
    table,
    index,
    costs,
    regrets,
    cells,
    log_cells,
    offsets,
    log_priors,
    horizon,
    seed,
    asked,
    decided,
):
    """Walk instances of every class drawn from the model; row i of the outputs belongs to class i."""
    np.random.seed(seed)
    n = log_priors.size
    logs, belief, scratch = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        if log_priors[i] == -np.inf:
            asked[i] = 0
            decided[i] = 0
            continue
        for s in range(asked.shape[1]):
            logs[:] = log_priors
            k = 0
            while k < horizon and not stops(kind, table, index, costs, regrets, k, logs, belief, scratch):
                update(logs, log_cells[draw(cells, offsets[k], offsets[k + 1], i)])
                k += 1
            normalise(logs, belief)
            asked[i, s] = k
            decided[i, s] = decide(belief, regrets)
