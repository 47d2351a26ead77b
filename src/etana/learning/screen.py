"""The cheap screen before the search for an order: which features may stand as candidates.

Each feature is scored alone, by its mutual information with the class in supervised bins, per unit of price.  One
reading of the data serves all features, dense, sparse or categorical.

The fewer rows there are, the more easily one of many features fits them by chance, so ``"auto"`` keeps half as many
candidates as there are rows, and at least 300.  What a screen by single features cannot see are features that tell
something only together; where there are more columns than that and such features are expected, keep more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.binning import Binner
from etana.likelihood import Counts
from etana.ordering import order_features
from etana.table import Table

__all__ = ["screen_features"]

_LEAST = 300


def screen_features(
    table: Table, codes: np.ndarray, weights: np.ndarray, rows: np.ndarray, n_classes: int, prices: np.ndarray,
    screen: Any, silent: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Columns that stay, in ascending order, judged by these rows alone; ``silent`` ones never do."""
    able = np.setdiff1d(np.arange(table.n_features), silent)
    most = max(_LEAST, rows.size // 2) if screen == "auto" else screen
    if most is None or able.size <= most:
        return able
    # Rows of weight 0 are not counted: no copy of the table is made for the rows that judge.
    counted = np.zeros(table.n_rows)
    counted[rows] = weights[rows]
    counts = Counts.learn(Binner("supervised"), table, codes, counted, n_classes)
    # The columns stand in ascending order again, so that the screen says nothing about what comes first.
    order = order_features("information", counts, counts.likelihoods(), counts.priors(), prices)
    return np.sort(order[np.isin(order, able)][:most])
