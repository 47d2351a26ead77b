"""How much dearer mistakes would have to be for a question to pay.

Asking saves at most what deciding at once costs, so that nothing can pay before that exceeds the cheapest price. From
there on mistakes are made dearer, twice as dear each time, until the classifier asks; between the last two, halving
finds the place. Only the stopping problem is solved again, no data are read.
"""

from __future__ import annotations

from typing import Any

__all__ = ["worth_asking"]

_DOUBLINGS = 14
_HALVINGS = 5  # to two digits


def worth_asking(clf: Any) -> float | None:
    """The factor on all mistakes at which a classifier that asks nothing begins to ask; None if there is none."""
    model = clf.model_
    at_once = float((model.priors @ model.mistakes).min())
    prices = model.prices.full
    cheapest = float(prices.min()) if prices.size else 0.0
    if at_once <= 0.0 or cheapest <= 0.0:
        return None
    low = max(cheapest / at_once, 1.0)
    high = next((low * 2.0**k for k in range(_DOUBLINGS) if _asks(clf, low * 2.0**k)), None)
    if high is None or high == low:
        return high
    low = high / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _asks(clf, middle) else (middle, high)
    return high


def _asks(clf: Any, factor: float) -> bool:
    dearer = clf.with_costs(misclassification_costs=clf.model_.mistakes * factor)
    return bool(dearer.model_.expected_n_features > 0)
