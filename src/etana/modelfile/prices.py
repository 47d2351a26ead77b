"""Costs and probabilities as every kind of model stores them, checked when they are read."""

from __future__ import annotations

import numpy as np

from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.policies.base import State

__all__ = ["price_arrays", "read_costs", "read_prices", "read_priors"]

_SUM_TOLERANCE = 1e-6


def price_arrays(prices: ResolvedCosts) -> dict[str, np.ndarray]:
    """Prices of all features, by name of the array."""
    return {"prices.full": prices.full, "prices.discounted": prices.discounted, "prices.group": prices.group}


def read_costs(state: State, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Costs: finite and not negative."""
    costs = state.array(name, shape)
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise InputError("a cost is negative or not finite")
    return costs


def read_prices(state: State, n_features: int | None) -> ResolvedCosts:
    """Prices of all features; None takes as many as there are."""
    full = read_costs(state, "prices.full", (n_features,))
    discounted = read_costs(state, "prices.discounted", full.shape)
    group = state.array("prices.group", full.shape, np.int64)
    if (group < -1).any() or (discounted > full).any():
        raise InputError("a discounted price is above the full one, or a group is negative")
    return ResolvedCosts(full, discounted, group)


def read_priors(state: State, name: str, n: int) -> np.ndarray:
    """Probabilities of the classes."""
    priors = state.array(name, (n,))
    if not (priors >= 0).all() or not abs(priors.sum() - 1) <= _SUM_TOLERANCE:
        raise InputError("priors are no probabilities")
    return priors
