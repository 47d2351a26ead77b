"""Making posteriors honest: one temperature for each stage.

    q_i  proportional to  ((1 - e) p_i + e prior_i)^t

with t chosen so that the log loss of held-out rows is least.  t below 1 says that the classifier is surer than it
should be.  e is small: it keeps a class that no neighbour or tree voted for from being impossible.
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

    logs = _logs(posteriors, prior, floor)
    logs -= logs.max(axis=1, keepdims=True)
    true = logs[np.arange(codes.size), codes]
    counted = np.ones(codes.size) if weights is None else weights

    def loss(log_t: float) -> float:
        t = np.exp(log_t)
        return float(counted @ (np.log(np.exp(t * logs).sum(axis=1)) - t * true) + _CAUTION * log_t**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-_RANGE, _RANGE), method="bounded").x))


def _logs(posteriors: np.ndarray, prior: np.ndarray, floor: float) -> np.ndarray:
    # Of many rows a part is taken, and a class that is not among them has no prior.
    with np.errstate(divide="ignore"):
        return np.log((1.0 - floor) * posteriors + floor * prior)
