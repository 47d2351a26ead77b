"""Which feature comes first.

``"error"``, ``"variance"``, ``"information"``, an array
    By a score of each feature alone, or as given: :mod:`etana.ordering.scores`.
``"cost"``
    The best of these, improved while the expected cost of its stopping problem falls: :mod:`etana.ordering.search`.
``"auto"``
    ``"cost"`` where it is affordable, else ``"information"``.

Only features that can change a belief are in an order: :mod:`etana.ordering.choice`.
"""

from etana.likelihood import reorder_cells
from etana.ordering.choice import choose_order
from etana.ordering.scores import order_features
from etana.ordering.search import search_order

__all__ = ["choose_order", "order_features", "reorder_cells", "search_order"]
