"""The least that fit and classification have to do, as bare loops: what the speed of etana is measured against.

``count_dense`` and ``count_sparse`` read every value once, find its bin among edges that are given, and count: a fit
that knew the bins beforehand, and that needed neither an order nor a policy. ``multiply`` reads of each row the values
that were asked of it, finds their bins and multiplies: a walk that knew beforehand where to stop. Both run on one core.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def bin_below(value, edges, first, last):
    """Number of edges at or below the value."""
    if last - first > 32:
        return np.searchsorted(edges[first:last], value, side="right")
    below = 0
    for e in range(first, last):
        below += edges[e] <= value
    return below


@njit(nogil=True, cache=True)
def count_dense(X, classes, edges, edge_offsets, counts):
    """counts[bin, class] of all columns, one after the other; X is stored by row and read in that order."""
    for r in range(X.shape[0]):
        i = classes[r]
        for c in range(X.shape[1]):
            b = bin_below(X[r, c], edges, edge_offsets[c], edge_offsets[c + 1])
            counts[edge_offsets[c] + c + b, i] += 1.0


@njit(nogil=True, cache=True)
def count_sparse(data, indices, indptr, classes, edges, edge_offsets, counts):
    """The same for a CSR matrix; what is not stored is not looked at."""
    for r in range(classes.size):
        i = classes[r]
        for e in range(indptr[r], indptr[r + 1]):
            c = indices[e]
            b = bin_below(data[e], edges, edge_offsets[c], edge_offsets[c + 1])
            counts[edge_offsets[c] + c + b, i] += 1.0


@njit(nogil=True, cache=True)
def multiply(X, asked, columns, edges, edge_offsets, cells, cell_offsets, priors, labels):
    """Belief of each row after the values that were asked of it, and the class it favours."""
    belief = np.empty(priors.size)
    for r in range(X.shape[0]):
        belief[:] = priors
        for k in range(asked[r]):
            b = bin_below(X[r, columns[k]], edges, edge_offsets[k], edge_offsets[k + 1])
            likelihood = cells[cell_offsets[k] + b]
            for i in range(priors.size):
                belief[i] *= likelihood[i]
        best = 0
        for i in range(1, priors.size):
            if belief[i] > belief[best]:
                best = i
        labels[r] = best
