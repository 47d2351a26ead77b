"""Which feature comes first, by a score of each alone.

``"error"`` (the paper)
    For each class, that class against the rest: type I + type II error of the maximum-likelihood decision on the
    binned feature, ``sum_v min(P(v | i), P(v | not i))``; summed over the classes, times the price, ascending.
``"variance"`` (the authors' program)
    Descending ``sum_v Var_i P(v | T_i)``. Blind to prices.
``"information"``
    Descending mutual information with the class per unit of price.
``"cost"``
    The best of these, improved while the expected cost of its stopping problem falls: see :mod:`etana.ordering.search`.
``"auto"``
    ``"cost"`` or ``"information"``: see :mod:`etana.ordering.choice`.
an array
    Column indices, each once.

Among features of equal score (free ones all score zero under ``"error"``) the more telling one comes first, then the
one further left. Scores are equal if they agree to twelve digits: the same numbers added up in another order,
say with classes renamed, must not change who comes first. Only ``"variance"`` sorts by the last bit, as the authors'
program does.
"""

from __future__ import annotations

from reprlib import repr as short
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.kernels import scores as kernel
from etana.likelihood import Counts

__all__ = ["order_features"]

_ALLOWED = "it must be 'auto', 'error', 'variance', 'information', 'cost' or an array"
_DIGITS = 12


def order_features(
    ordering: Any, counts: Counts, likelihoods: np.ndarray, priors: np.ndarray, costs: np.ndarray
) -> np.ndarray:
    """All column indices by score, or as given; ``"cost"`` and ``"auto"`` are :func:`etana.ordering.choose_order`."""
    n_features = counts.offsets.size - 1
    if not isinstance(ordering, str):
        return _given(ordering, n_features)
    score = np.empty(n_features)
    columns = np.arange(n_features)
    if ordering == "error":
        kernel.error_scores(counts.cells, counts.offsets, score)
        score = np.round(score, _DIGITS)
        return np.lexsort((columns, score, _significant(score * costs)))
    if ordering == "variance":
        kernel.variance_scores(likelihoods, counts.offsets, score)
        return np.lexsort((columns, -score))
    if ordering == "information":
        kernel.information_scores(likelihoods, counts.offsets, priors, score)
        score = np.round(score, _DIGITS)
        free = np.where(score > 0, np.inf, 0.0)
        rate = np.divide(score, costs, out=free, where=costs > 0)
        return np.lexsort((columns, -score, -_significant(rate)))
    if ordering in ("cost", "auto"):
        raise InputError(
            f"the order by {ordering!r} has no scores of features; call etana.ordering.choose_order for it"
        )
    raise InputError(f"ordering is {ordering!r}; {_ALLOWED} of column indices")


def _significant(x: np.ndarray) -> np.ndarray:
    """Rounded in proportion, since prices come in any unit."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.round(fraction, _DIGITS), exponent)


def _given(ordering: Any, n_features: int) -> np.ndarray:
    try:
        order = np.asarray(ordering)
    except ValueError:  # rows of unequal length
        order = np.empty(0, dtype=object)
    whole = order.dtype.kind in "iu" or order.size == 0
    if not whole or order.shape != (n_features,) or not np.array_equal(np.sort(order), np.arange(n_features)):
        raise InputError(
            f"ordering is {short(ordering)}; {_ALLOWED} with each of the column indices 0 to {n_features - 1} once "
            f"(what was given has shape {order.shape} and type {order.dtype})"
        )
    return order.astype(np.int64)
