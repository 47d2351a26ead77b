"""How much dearer mistakes would have to be for a question to pay.

Asking saves at most what deciding at once costs, so that nothing can pay before that exceeds the cheapest price. From
there on mistakes are made dearer, twice as dear each time, until the classifier asks; between the last two, halving
finds the place. Only the stopping problem is solved again, no data are read.
"""

from __future__ import annotations

from typing import Any

__all__ = ["least_factor", "worth_asking"]

_DOUBLINGS = 14
_HALVINGS = 5  # to two digits


def worth_asking(clf: Any) -> float | None:
    """The factor on all mistakes at which a classifier that asks nothing begins to ask; None if there is none."""
    low = least_factor(clf.model_)
    if low is None or not clf.model_.columns.size:
        return None
    high = next((low * 2.0**k for k in range(_DOUBLINGS) if _asks(clf, low * 2.0**k)), None)
    if high is None or high == low:
        return high
    low = high / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _asks(clf, middle) else (middle, high)
    return high


def least_factor(model: Any) -> float | None:
    """The factor on all mistakes below which nothing can pay; None where mistakes, or some features, cost nothing."""
    at_once, prices = float((model.priors @ model.mistakes).min()), model.prices.full
    if at_once <= 0.0 or not prices.size or prices.min() <= 0.0:
        return None
    return max(float(prices.min()) / at_once, 1.0)


def _asks(clf: Any, factor: float) -> bool:
    dearer = clf.with_costs(misclassification_costs=clf.model_.mistakes * factor)
    return bool(dearer.model_.expected_n_features > 0)
