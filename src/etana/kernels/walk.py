"""Walks: of given rows through a policy, and of instances drawn from a model.

A walk adds log likelihoods, so that ten thousand features do not underflow, and reads a value only when the
rule asks for it. Rows are stored as a dense matrix or as the three arrays of a CSR or CSC matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import copy
from etana.kernels.rules import decide, interval_stops, normalise, rule_stops

DENSE, CSR, CSC, TURNED = range(4)

FEW_EDGES = 32
BLOCK = 128  # rows that walk side by side


class Storage(NamedTuple):
    """Where the values of a table of n rows lie; which arrays are used follows from the kind.

    Attributes
    ----------
    kind : int
        ``DENSE``, ``CSR`` or ``CSC``; for :func:`fetch` also ``TURNED``, dense columns as rows.
    dense : float32 or float64 (n, ..)
        (.., n) where it is turned.
    data, indices, indptr : arrays
        Of a sparse matrix, indices sorted.
    columns : int64 (K,)
        For each stage, or each candidate, the column to look in.
    """

    kind: int
    dense: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray


class Bins(NamedTuple):
    """Edges of K features: those of feature k are ``edges[offsets[k]:offsets[k + 1]]``.

    Attributes
    ----------
    edges : float64 (total,)
    offsets : int64 (K + 1,)
    missing : int64 (K,)
        The code of a missing value; -1 where it is no evidence.
    """

    edges: np.ndarray
    offsets: np.ndarray
    missing: np.ndarray


class Cells(NamedTuple):
    """What each value of K features says: rows ``offsets[k]`` to ``offsets[k + 1]`` of ``logs`` belong to feature k.

    Attributes
    ----------
    logs : float64 (cells, N)
        log P(F_k = v | T_i).
    offsets : int64 (K + 1,)
    log_priors : float64 (N,)
    """

    logs: np.ndarray
    offsets: np.ndarray
    log_priors: np.ndarray


class Outcomes(NamedTuple):
    """What became of n rows, filled by the kernels.

    Attributes
    ----------
    labels, asked : int64 (n,)
    spent : float64 (n,)
    posteriors : float64 (n, N)
    """

    labels: np.ndarray
    asked: np.ndarray
    spent: np.ndarray
    posteriors: np.ndarray


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
        # Sorted indices: a row with thousands of entries is searched and not read through.
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
    if storage == TURNED:
        return np.float64(dense[column, row])
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
    # Only differences of logs count; with the largest at 0 they stay small however many features are added.
    if top > -np.inf:
        for i in range(logs.size):
            logs[i] -= top


@njit(nogil=True, cache=True)
def fetch_rows(storage, rows, column, out):
    """One column's values of some rows, into out; nothing else is read."""
    kind, dense, data, indices, indptr, _ = storage
    for r in range(rows.size):
        out[r] = fetch(kind, dense, data, indices, indptr, rows[r], column)


@njit(nogil=True, cache=True)
def codes_of(values, edges, first, last, missing, n_cells, out):
    """Codes of values (n,) of a feature with the edges first..last-1, into out (n,); -1 where one is no evidence."""
    for r in range(values.size):
        code = bin_of(values[r], edges, first, last, missing)
        out[r] = code if 0 <= code < n_cells else -1


@njit(nogil=True, cache=True)
def update_rows(logs, codes, log_likelihoods):
    """:func:`update` for each row of logs (n, N) by its answer; ``log_likelihoods`` (V, N) are those of the feature."""
    for r in range(codes.size):
        if codes[r] >= 0:
            update(logs[r], log_likelihoods[codes[r]])


@njit(nogil=True, cache=True)
def update_two(a, b, more_a, more_b):
    """The same for two classes, in registers."""
    a += more_a
    b += more_b
    top = b if b > a else a
    return (a - top, b - top) if top > -np.inf else (a, b)


@njit(nogil=True, cache=True)
def walk(rule, storage, bins, cells, budget, first_row, last_row, outcomes):
    """Take rows first_row..last_row-1 through a rule of any kind; fill the outcomes.

    ``rule`` is a :class:`etana.kernels.rules.Rule`; the other tuples are those above, features in the order of stages.
    Rows go in blocks, and a block goes stage by stage: what one row waits for in memory, another uses to compute.
    """
    place, dense, data, indices, indptr, columns = storage
    edges, edge_offsets, missing = bins
    log_cells, cell_offsets, log_priors = cells
    costs, asked, spent = rule.costs, outcomes.asked, outcomes.spent
    n = log_priors.size
    belief, scratch = np.empty(n), np.empty(n)
    logs, going = np.empty((BLOCK, n)), np.empty(BLOCK, np.int64)
    # Before the first answer all rows share one belief, and so one decision.
    begins = not rule_stops(rule, np.int64(0), log_priors, belief, scratch)
    most = columns.size if begins else 0
    for start in range(first_row, last_row, BLOCK):
        count = min(BLOCK, last_row - start)
        for t in range(count):
            copy(log_priors, logs[t])
            going[t] = t
            asked[start + t] = 0
            spent[start + t] = 0.0
        k, paid, left = 0, 0.0, count
        while left > 0 and k < most and paid + costs[k] <= budget:
            first_edge, last_edge, first_cell = edge_offsets[k], edge_offsets[k + 1], cell_offsets[k]
            n_cells, column, lost = cell_offsets[k + 1] - first_cell, columns[k], missing[k]
            paid += costs[k]
            k += 1
            # Rows that go on are moved up in place; the next stage touches no others.
            walking, left = left, 0
            for g in range(walking):
                t = going[g]
                row = start + t
                # Written out: to hand all arrays on to fetch() takes longer than to read a value.
                if place == DENSE:
                    value = np.float64(dense[row, column])
                elif place == CSR:
                    value = sparse_value(data, indices, indptr[row], indptr[row + 1], column)
                else:
                    value = sparse_value(data, indices, indptr[column], indptr[column + 1], row)
                code = bin_of(value, edges, first_edge, last_edge, lost)
                asked[row] = k
                spent[row] = paid
                going[left] = t
                if 0 <= code < n_cells:
                    update(logs[t], log_cells[first_cell + code])
                left += not (k >= most or rule_stops(rule, k, logs[t], belief, scratch))
        for t in range(count):
            normalise(logs[t], belief)
            outcomes.labels[start + t] = decide(belief, rule.regrets)
            copy(belief, outcomes.posteriors[start + t])


@njit(nogil=True, cache=True)
def walk_two(rule, storage, bins, cells, budget, first_row, last_row, outcomes):
    """:func:`walk` for two classes and a rule of kind INTERVAL; the test is a comparison of what is in registers."""
    place, dense, data, indices, indptr, columns = storage
    edges, edge_offsets, missing = bins
    log_cells, cell_offsets, log_priors = cells
    table, costs, regrets, asked, spent = rule.table, rule.costs, rule.regrets, outcomes.asked, outcomes.spent
    belief, logs, going = np.empty(2), np.empty((BLOCK, 2)), np.empty(BLOCK, np.int64)
    most = 0 if interval_stops(table, np.int64(0), log_priors[0], log_priors[1]) else columns.size
    for start in range(first_row, last_row, BLOCK):
        count = min(BLOCK, last_row - start)
        for t in range(count):
            logs[t, 0], logs[t, 1] = log_priors[0], log_priors[1]
            going[t] = t
            asked[start + t] = 0
            spent[start + t] = 0.0
        k, paid, left = 0, 0.0, count
        while left > 0 and k < most and paid + costs[k] <= budget:
            first_edge, last_edge, first_cell = edge_offsets[k], edge_offsets[k + 1], cell_offsets[k]
            n_cells, column, lost = cell_offsets[k + 1] - first_cell, columns[k], missing[k]
            paid += costs[k]
            k += 1
            walking, left = left, 0
            for g in range(walking):
                t = going[g]
                row = start + t
                if place == DENSE:
                    value = np.float64(dense[row, column])
                elif place == CSR:
                    value = sparse_value(data, indices, indptr[row], indptr[row + 1], column)
                else:
                    value = sparse_value(data, indices, indptr[column], indptr[column + 1], row)
                code = bin_of(value, edges, first_edge, last_edge, lost)
                asked[row] = k
                spent[row] = paid
                going[left] = t
                a, b = logs[t, 0], logs[t, 1]
                if 0 <= code < n_cells:
                    a, b = update_two(a, b, log_cells[first_cell + code, 0], log_cells[first_cell + code, 1])
                    logs[t, 0], logs[t, 1] = a, b
                left += k < most and not interval_stops(table, k, a, b)
        for t in range(count):
            normalise(logs[t], belief)
            outcomes.labels[start + t] = decide(belief, regrets)
            outcomes.posteriors[start + t, 0], outcomes.posteriors[start + t, 1] = belief[0], belief[1]


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
def simulate(rule, likelihoods, cells, horizon, seed, asked, decided):
    """Walk instances of every class drawn from the model; row i of ``asked`` and ``decided`` (N, draws) is class i's.

    ``likelihoods`` (cells, N) are those whose logarithms ``cells`` holds.
    """
    log_cells, offsets, log_priors = cells
    np.random.seed(seed)
    n = log_priors.size
    logs, belief, scratch = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        if log_priors[i] == -np.inf:
            for s in range(asked.shape[1]):
                asked[i, s], decided[i, s] = 0, 0
            continue
        for s in range(asked.shape[1]):
            copy(log_priors, logs)
            k = 0
            while k < horizon and not rule_stops(rule, k, logs, belief, scratch):
                update(logs, log_cells[draw(likelihoods, offsets[k], offsets[k + 1], i)])
                k += 1
            normalise(logs, belief)
            asked[i, s] = k
            decided[i, s] = decide(belief, rule.regrets)
