"""The price at which a population pays a given mean.

A budget for a population is kept in the mean, not by every instance: who is hard to classify may be asked more. It is
kept by dearer features. Let a unit of money count for ``price`` units against mistakes; the dearer, the less is asked.
The price at which a population pays a given mean is found by halving, on the walks that the classifier has::

    spend(price) = mean over walks of what is paid for features when decisions are made at that price

Decisions depend on the ratio of prices and mistakes alone, so that mistakes are divided by the price: what features
cost stays as it is, in the unit in which it is paid.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.errors import CostWarning, InputError

if TYPE_CHECKING:
    from etana.classifiers.base import AcquiringClassifier

__all__ = ["at_price", "price_for"]

_LEAST, _MOST = 2.0**-20, 2.0**60
_PRECISION = 1e-3  # of the price


def at_price(clf: AcquiringClassifier, price: float) -> Any:
    """The same classifier when a unit of money counts for so many units against mistakes."""
    with warnings.catch_warnings():
        # Costs that look like a mistake were warned of when the classifier was fitted.
        warnings.simplefilter("ignore", CostWarning)
        return clf.with_costs(misclassification_costs=clf.model_.mistakes / price)


def price_for(clf: AcquiringClassifier, mean_cost: Any) -> float:
    """The least price at which walks pay no more than this in the mean."""
    number = isinstance(mean_cost, int | float | np.number) and not isinstance(mean_cost, bool)
    if not number or not 0 <= mean_cost < np.inf:
        raise InputError(f"mean_cost is {mean_cost!r}; it must be a number >= 0, what an instance may cost in the mean")

    def too_much(price: float) -> bool:
        return at_price(clf, price).mean_spend() > mean_cost * (1 + 1e-9)

    low = high = 1.0
    if too_much(1.0):
        while too_much(high := high * 4.0) and high < _MOST:
            low = high
    else:
        while not too_much(low := low / 4.0):
            high = low
            if low <= _LEAST:
                return high  # all that tells anything is asked, and is paid
    while high / low > 1 + _PRECISION:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if too_much(middle) else (low, middle)
    return high
