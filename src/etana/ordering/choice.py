"""The order in which features are asked: those that tell anything, by the way that was chosen.

A feature whose likelihoods are the same for all classes cannot change any belief. It is not asked, whatever it costs
and whatever the order: cheap columns that say nothing would come first otherwise.

``"auto"`` is ``"cost"`` where that search is affordable, and ``"information"`` where there are more classes or cells of
features than it can work through in seconds, or where nothing costs anything: then all is asked, in whatever order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.costs import ResolvedCosts
from etana.likelihood import Counts, reorder_cells, telling
from etana.ordering.scores import order_features
from etana.ordering.search import Ordered, search_order

__all__ = ["choose_order"]

_MOST_CLASSES = 64
_MOST_NUMBERS = 2**21  # likelihoods of the features that tell anything


def choose_order(
    ordering: Any, counts: Counts, likelihoods: np.ndarray, priors: np.ndarray, prices: ResolvedCosts,
    mistakes: np.ndarray, seed: int = 0,
) -> Ordered:  # fmt: skip
    """Column indices of the features that can change a belief, in the order of asking; a search adds its policy."""
    useful = telling(likelihoods, counts.offsets, priors)
    if not isinstance(ordering, str):
        order = order_features(ordering, counts, likelihoods, priors, prices.full)
        return Ordered(order[np.isin(order, useful)])
    # The others take no part in the search either: a trial with them in it would be spent on nothing.
    cells, offsets = reorder_cells(counts.cells, counts.offsets, useful)
    some, likely = Counts(cells, offsets, counts.classes), reorder_cells(likelihoods, counts.offsets, useful)[0]
    costs = prices.of(useful)
    if ordering == "auto":
        ordering = "cost" if costs.full.any() and _affordable(likely) else "information"
    if ordering == "cost":
        found = search_order(some, likely, priors, costs, mistakes, seed)
        return found._replace(order=useful[found.order])
    return Ordered(useful[order_features(ordering, some, likely, priors, costs.full)])


def _affordable(likelihoods: np.ndarray) -> bool:
    return likelihoods.shape[1] <= _MOST_CLASSES and likelihoods.size <= _MOST_NUMBERS
