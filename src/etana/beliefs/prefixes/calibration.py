"""Making posteriors honest: one temperature for each stage.

    r_i = ((1 - e) p_i + e prior_i) / prior_i          q_i  proportional to  prior_i r_i^t

with t chosen so that the log loss of held-out rows is least. r_i is what the values say for class i; t below 1 says
that the classifier is surer of it than it should be, and t = 0 leaves the prior: who doubts the evidence does not doubt
that a rare class is rare. e is small: it keeps a class that no neighbour or tree voted for from being impossible.
"""

from __future__ import annotations

import numpy as np

from etana.kernels.prefixes import add_tempered

__all__ = ["fit_temperature", "temper"]

_CAUTION = 2.0  # rows' worth of belief in t = 1
_RANGE = 1.6  # of log t


def temper(posteriors: np.ndarray, prior: np.ndarray, temperature: float, floor: float) -> np.ndarray:
    """Posteriors (n, N) at this temperature."""
    out, posteriors = np.zeros(posteriors.shape), np.ascontiguousarray(posteriors, dtype=np.float64)
    add_tempered(posteriors, prior, temperature, floor, 1.0, out)
    return out


def fit_temperature(
    posteriors: np.ndarray, prior: np.ndarray, codes: np.ndarray, floor: float, weights: np.ndarray | None = None
) -> float:
    """The temperature with the least log loss on rows that had no part in the posteriors."""
    from scipy.optimize import minimize_scalar  # classification does without it

    # Class by class: sums over rows of a few classes are slow, those over classes take many rows at a time.
    base, told = _evidence(posteriors.T, prior[:, None], floor)
    own = codes, np.arange(codes.size)
    counted = np.ones(codes.size) if weights is None else weights

    def loss(log_t: float) -> float:
        logs = np.exp(log_t) * told
        logs += base
        logs -= logs.max(axis=0)
        right = logs[own]
        np.exp(logs, out=logs)
        return float(counted @ (np.log(logs.sum(axis=0)) - right) + _CAUTION * log_t**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-_RANGE, _RANGE), method="bounded").x))


def _evidence(posteriors: np.ndarray, prior: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the prior (N, 1) and of r (N, n)."""
    # Of many rows a part is taken, and a class that is not among them has no prior.
    known = np.where(prior > 0, prior, 1.0)
    with np.errstate(divide="ignore"):
        return np.log(known), np.log(np.ascontiguousarray(((1.0 - floor) * posteriors + floor * prior) / known))
