"""Posteriors of classifiers on prefixes, and what going on costs by a regression on them.

NumPy does the same in many small steps, each of which takes as long as a row: here a row that comes alone is as cheap
as one of many, and has the same bits.

Symbols: n rows, N classes, p inputs.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.rules import stop_cost

__all__ = ["add_tempered", "encode_rows", "onward_rows", "score_rows"]


@njit(nogil=True, cache=True)
def _as_shares(logs):
    """Turn log odds (N,) into shares of 1, in place."""
    most, total = -np.inf, 0.0
    for i in range(logs.size):
        most = max(most, logs[i])
    for i in range(logs.size):
        logs[i] = np.exp(logs[i] - most)
        total += logs[i]
    for i in range(logs.size):
        logs[i] /= total


@njit(nogil=True, cache=True)
def add_tempered(posteriors, prior, temperature, floor, share, out):
    """Add to ``out`` a share of posteriors (n, N) at a temperature; see :mod:`etana.beliefs.prefixes.calibration`."""
    odds = np.empty(prior.size)
    for r in range(posteriors.shape[0]):
        for i in range(prior.size):
            # Of many rows a part is taken, and a class that is not among them has no prior.
            known = prior[i] if prior[i] > 0 else 1.0
            told = ((1.0 - floor) * posteriors[r, i] + floor * prior[i]) / known
            odds[i] = np.log(known) + temperature * np.log(told)
        _as_shares(odds)
        for i in range(prior.size):
            out[r, i] += share * odds[i]


@njit(nogil=True, cache=True)
def encode_rows(values, knots, ranks, spread, median, mean, deviation, out):
    """Two numbers (n, 2) for each value: its rank between 0 and 1, interpolated between knots, in units of the spread,
    and its distance from the mean in standard deviations. What is missing lies at the median, what is beyond the knots
    at the last of them."""
    for r in range(values.size):
        value = median if np.isnan(values[r]) else values[r]
        value = min(max(value, knots[0]), knots[knots.size - 1])
        # The last knot that is not above the value.
        low, high = 0, knots.size
        while high - low > 1:
            middle = (low + high) // 2
            if knots[middle] <= value:
                low = middle
            else:
                high = middle
        rank = ranks[low]
        if value > knots[low]:
            slope = (ranks[low + 1] - rank) / (knots[low + 1] - knots[low])
            rank += slope * (value - knots[low])
        out[r, 0], out[r, 1] = rank / spread, value / deviation - mean / deviation


@njit(nogil=True, cache=True)
def score_rows(inputs, weights, out):
    """Posteriors (n, N) of logistic regression: inputs (n, p), weights (p + 1, N), the levels last."""
    n_inputs = inputs.shape[1]
    for r in range(inputs.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = 0.0
        for j in range(n_inputs):
            for i in range(out.shape[1]):
                out[r, i] += inputs[r, j] * weights[j, i]
        for i in range(out.shape[1]):
            out[r, i] += weights[n_inputs, i]
        _as_shares(out[r])


@njit(nogil=True, cache=True)
def onward_rows(beliefs, mistakes, unit, centre, scale, slopes, level, price, stop, onward):
    """What stopping costs each row, and what going on costs by a regression on the functions of
    :func:`etana.policies.regression.belief_functions`; infinite where it cannot pay."""
    n_classes = beliefs.shape[1]
    functions = np.empty(4 + 2 * n_classes)
    for r in range(beliefs.shape[0]):
        stop[r] = stop_cost(beliefs[r], mistakes)
        g, entropy, more = stop[r] / unit, 0.0, 0.0
        for i in range(n_classes):
            entropy -= beliefs[r, i] * np.log(max(beliefs[r, i], 1e-12))
            functions[4 + i], functions[4 + n_classes + i] = beliefs[r, i], beliefs[r, i] * g
        functions[0], functions[1], functions[2], functions[3] = g, g * g, entropy, g * entropy
        for f in range(functions.size):
            more += (functions[f] - centre[f]) / scale[f] * slopes[f]
        # Nothing that lies ahead costs less than the next price; a row whose mistake costs less cannot gain.
        possible = stop[r] > price or price == 0.0
        onward[r] = max(stop[r] + (level + more), price) if possible else np.inf
