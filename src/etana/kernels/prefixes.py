"""Posteriors of classifiers on prefixes, and what going on costs by a regression on them.

NumPy does the same in many small steps, each of which takes as long as a row: here a row that comes alone is as cheap
as one of many, and has the same bits. What is done for one row is a function of its own, so that a walk
(:mod:`etana.kernels.prefix_walk`) does the same with each row as those who take rows along feature by feature.

Symbols: n rows, N classes, p inputs.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear
from etana.kernels.rules import stop_cost

__all__ = [
    "add_density",
    "add_tempered",
    "as_shares",
    "bend_rows",
    "density_rows",
    "encode_rows",
    "encoded",
    "log_odds_rows",
    "onward_from",
    "onward_rows",
    "score",
    "score_rows",
    "share_rows",
    "temper_into",
]

OUTERMOST = 0.01  # least rank that a density knows: what lies beyond counts as much


@njit(nogil=True, cache=True)
def as_shares(logs):
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
def share_rows(logs, out):
    """:func:`as_shares` of rows (n, N), into ``out``."""
    for r in range(logs.shape[0]):
        for i in range(logs.shape[1]):
            out[r, i] = logs[r, i]
        as_shares(out[r])


@njit(nogil=True, cache=True)
def temper_into(posterior, prior, temperature, floor, share, odds, out):
    """Add to ``out`` (N,) a share of a posterior at a temperature; see :mod:`etana.beliefs.prefixes.calibration`.
    ``odds`` (N,) is scratch."""
    for i in range(prior.size):
        # Of many rows a part is taken, and a class that is not among them has no prior.
        known = prior[i] if prior[i] > 0 else 1.0
        told = ((1.0 - floor) * posterior[i] + floor * prior[i]) / known
        odds[i] = np.log(known) + temperature * np.log(told)
    as_shares(odds)
    for i in range(prior.size):
        out[i] += share * odds[i]


@njit(nogil=True, cache=True)
def add_tempered(posteriors, prior, temperature, floor, share, out):
    """:func:`temper_into` for posteriors (n, N)."""
    odds = np.empty(prior.size)
    for r in range(posteriors.shape[0]):
        temper_into(posteriors[r], prior, temperature, floor, share, odds, out[r])


@njit(nogil=True, cache=True)
def _rank_of(value, knots, ranks):
    """Rank between 0 and 1, interpolated between knots; what is beyond them lies at the last of them."""
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
    return rank


@njit(nogil=True, cache=True)
def encoded(value, knots, ranks, spread, median, mean, deviation):
    """Two numbers for a value: its rank in units of the spread, and its distance from the mean in standard deviations.
    What is missing lies at the median, what is beyond the knots at the last of them."""
    value = median if np.isnan(value) else value
    value = min(max(value, knots[0]), knots[knots.size - 1])
    return _rank_of(value, knots, ranks) / spread, value / deviation - mean / deviation


@njit(nogil=True, cache=True)
def encode_rows(values, knots, ranks, spread, median, mean, deviation, out):
    """:func:`encoded` for values (n,), into ``out`` (n, 2)."""
    for r in range(values.size):
        out[r, 0], out[r, 1] = encoded(values[r], knots, ranks, spread, median, mean, deviation)


@njit(nogil=True, cache=True)
def _log_odds(value, knots, ranks):
    """Log odds of the rank of a number."""
    rank = min(max(_rank_of(value, knots, ranks), OUTERMOST), 1.0 - OUTERMOST)
    return np.log(rank / (1.0 - rank))


@njit(nogil=True, cache=True)
def log_odds_rows(values, knots, ranks, out):
    """Log odds of the ranks of numbers (n,), none of them missing."""
    for r in range(values.size):
        out[r] = _log_odds(values[r], knots, ranks)


@njit(nogil=True, cache=True)
def add_density(value, knots, ranks, table, logs):
    """Add to ``logs`` (N,) the logarithm of the density of a value within each class; nothing for a missing one.

    A number has a ``table`` (2, N) of means and deviations; labels, which have no knots, one of logarithms (levels, N).
    """
    if knots.size:
        if not np.isnan(value):
            place = _log_odds(value, knots, ranks)
            for i in range(logs.size):
                z = (place - table[0, i]) / table[1, i]
                logs[i] += -0.5 * z * z - np.log(table[1, i])
    elif np.isfinite(value):
        level = np.int64(value)
        for i in range(logs.size):
            logs[i] += table[level, i]


@njit(nogil=True, cache=True)
def density_rows(values, knots, ranks, table, logs):
    """:func:`add_density` for values (n,) and logs (n, N)."""
    for r in range(values.size):
        add_density(values[r], knots, ranks, table, logs[r])


@njit(nogil=True, cache=True)
def score(inputs, weights, out):
    """Posteriors (N,) of logistic regression: inputs (p,), weights (p + 1, N), the levels last."""
    for i in range(out.size):
        out[i] = 0.0
    for j in range(inputs.size):
        for i in range(out.size):
            out[i] += inputs[j] * weights[j, i]
    for i in range(out.size):
        out[i] += weights[inputs.size, i]
    as_shares(out)


@njit(nogil=True, cache=True)
def score_rows(inputs, weights, out):
    """:func:`score` for inputs (n, p), into ``out`` (n, N)."""
    for r in range(inputs.shape[0]):
        score(inputs[r], weights, out[r])


@njit(nogil=True, cache=True)
def bend_rows(moved, posteriors, counted, mean):
    """How the slope of logistic regression changes where scores (N, n) are ``moved``, in place: less their mean by the
    posteriors (N, n), times ``counted``, the posteriors times what rows count for. ``mean`` (n,) is scratch."""
    # Class by class: a long loop over contiguous memory runs several rows at a time.
    clear(mean)
    for c in range(moved.shape[0]):
        own, to = posteriors[c], moved[c]
        for r in range(mean.size):
            mean[r] += own[r] * to[r]
    for c in range(moved.shape[0]):
        own, to = counted[c], moved[c]
        for r in range(mean.size):
            to[r] = own[r] * (to[r] - mean[r])


@njit(nogil=True, cache=True)
def onward_from(belief, stop, unit, centre, scale, slopes, level, price, functions):
    """What going on costs by a regression on the functions of :func:`etana.policies.regression.belief_functions`, where
    stopping costs ``stop``; infinite where it cannot pay. ``functions`` is scratch."""
    n_classes = belief.size
    g, entropy, more = stop / unit, 0.0, 0.0
    for i in range(n_classes):
        entropy -= belief[i] * np.log(max(belief[i], 1e-12))
        functions[4 + i], functions[4 + n_classes + i] = belief[i], belief[i] * g
    functions[0], functions[1], functions[2], functions[3] = g, g * g, entropy, g * entropy
    for f in range(functions.size):
        more += (functions[f] - centre[f]) / scale[f] * slopes[f]
    # Nothing that lies ahead costs less than the next price; a row whose mistake costs less cannot gain.
    possible = stop > price or price == 0.0
    return max(stop + (level + more), price) if possible else np.inf


@njit(nogil=True, cache=True)
def onward_rows(beliefs, mistakes, unit, centre, scale, slopes, level, price, stop, onward):
    """What stopping costs each row of beliefs (n, N), and :func:`onward_from` there."""
    functions = np.empty(4 + 2 * beliefs.shape[1])
    for r in range(beliefs.shape[0]):
        stop[r] = stop_cost(beliefs[r], mistakes)
        onward[r] = onward_from(beliefs[r], stop[r], unit, centre, scale, slopes, level, price, functions)
