"""How much each member of a pool is heard: a stack, shrunk towards equal shares.

Held-out rows say how likely each member took their true class to be. The shares with which the pool makes these classes
likeliest are found by expectation-maximisation, in two steps: first one set of shares for all stages, drawn towards
equal shares as if :data:`_TOWARDS_EQUAL` rows had voted for them; then the shares of each stage, drawn towards the
first. With few rows all members are heard alike; many rows let the best one speak.
"""

from __future__ import annotations

import numpy as np

from etana.beliefs.prefixes.calibration import fit_temperature, temper
from etana.beliefs.prefixes.travel import Pool, PrefixMember

__all__ = ["fit_pool"]

_TOWARDS_EQUAL = 20.0  # rows
_TOWARDS_COMMON = 50.0
_ROUNDS = 60


def fit_pool(
    members: list[PrefixMember], held_out: list[np.ndarray], codes: np.ndarray, floor: float, weights: np.ndarray
) -> tuple[Pool, np.ndarray]:
    """The pool of members whose posteriors (K, n, N) of held-out rows these are; and its own posteriors of them."""
    prior = members[0].prior
    weights = weights / weights.mean()
    n_stages = len(held_out[0])
    temperatures = np.empty((n_stages, len(members)))
    honest = [np.empty_like(walks) for walks in held_out]
    for m, walks in enumerate(held_out):
        for k in range(n_stages):
            temperatures[k, m] = fit_temperature(walks[k], prior, codes, floor, weights)
            honest[m][k] = temper(walks[k], prior, float(temperatures[k, m]), floor)
    # (K, M, n): how likely each member took the true class to be.
    right = np.stack([walks[:, np.arange(codes.size), codes] for walks in honest], axis=1)
    shares = _shares(right, weights)
    pooled = sum(shares[:, m, None, None] * walks for m, walks in enumerate(honest))
    return Pool(tuple(members), shares, temperatures, floor), np.asarray(pooled)


def _shares(right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(K, M) that sum to 1 at each stage."""
    n_stages, n_members, _ = right.shape
    equal = np.full(n_members, 1.0 / n_members)
    if not n_stages:
        return np.empty((0, n_members))
    # The same rows at every stage: together they count once.
    common = _improved(right, weights / n_stages, equal, _TOWARDS_EQUAL)
    return np.stack([_improved(stage[None], weights, common, _TOWARDS_COMMON) for stage in right])


def _improved(right: np.ndarray, weights: np.ndarray, towards: np.ndarray, strength: float) -> np.ndarray:
    """Shares with the greatest likelihood of right (stages, M, n), drawn towards others."""
    shares = towards
    for _ in range(_ROUNDS):
        # What each member is due of a row is its part of the sum; that of all rows is a product of matrices.
        due = weights / np.matmul(shares, right)
        votes = shares * np.matmul(right, due[:, :, None]).sum(axis=(0, 2)) + strength * towards
        shares = votes / votes.sum()
    return shares
