"""What the public functions take, as names for type checkers; nothing here is needed to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes as _Axes
    from matplotlib.figure import Figure as _Figure

    from etana.binning import Binner
    from etana.classifiers.base import AcquiringClassifier
    from etana.costs import FeatureCosts
    from etana.model import Model
    from etana.table import Table

__all__ = [
    "ArrayLike", "Axes", "BinningLike", "FeatureCostsLike", "Figure", "Fitted", "Identifiers", "MistakeCostsLike",
    "Ordering", "Priors", "RandomState", "Shaped", "TableLike", "Unchanged",
]  # fmt: skip


class Shaped(Protocol):
    """A sparse matrix, or a data frame of pandas or polars: whatever has rows and columns."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """How many rows and columns."""


class Unchanged(Enum):
    """What stands for a price or a cost that is to stay as it is."""

    UNCHANGED = "unchanged"

    def __repr__(self) -> str:
        return "UNCHANGED"


TableLike: TypeAlias = "ArrayLike | Shaped | Table"
"""Rows to learn from or to classify: an array, nested lists, a sparse matrix or a data frame."""

FeatureCostsLike: TypeAlias = "float | Sequence[float] | np.ndarray | Mapping[str, float] | FeatureCosts"
"""Prices of features: one for all, one for each column, by name, or with groups."""

MistakeCostsLike: TypeAlias = Sequence[Sequence[float]] | np.ndarray | None
"""Costs of mistakes, a row for each true class and a column for each decided one; None: 1 each."""

Ordering: TypeAlias = Literal["auto", "error", "variance", "information", "cost"] | Sequence[int] | np.ndarray
"""Which feature comes first: by a score, by a search, or as given."""

Priors: TypeAlias = Literal["empirical", "uniform"] | Sequence[float] | np.ndarray
"""Chances of the classes before anything is known."""

BinningLike: TypeAlias = "Literal['supervised', 'quantile', 'uniform', 'published'] | Binner"
"""How columns are cut into bins."""

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""A seed, a generator, or None."""

Identifiers: TypeAlias = Literal["auto"] | Sequence[str] | Sequence[int]
"""Columns that only name the rows: found out, or given."""

Fitted: TypeAlias = "AcquiringClassifier | Model"
"""A fitted classifier of etana, or the model inside."""

Axes: TypeAlias = "_Axes"
"""Axes of matplotlib to draw into."""

Figure: TypeAlias = "_Figure"
"""A figure of matplotlib."""
