"""Boosted trees that serve every prefix of the order.

One forest, not one for each prefix: it was trained on rows of which only the first so many features were shown
(:mod:`etana.learning.boosting`), and takes what is not known for missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import PrefixMember, Traveller
from etana.errors import InputError
from etana.kernels.trees import Forest, Trees, tree_posteriors

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Boosted"]

_LARGEST = 1e6  # of what a leaf adds; sums of many stay finite


@dataclass(frozen=True)
class Boosted(PrefixMember):
    """Sums over trees, as odds.

    Attributes
    ----------
    trees : Trees
        Over the encoded columns of all features, side by side.
    base : array (outputs,)
        What the sums begin with: one for each class of ``classes``, or a single one for two classes.
    classes : array
        Classes that the trees know.
    """

    features: list[Feature]
    trees: Trees
    base: np.ndarray
    classes: np.ndarray
    prior: np.ndarray

    @property
    def words(self) -> str:
        """What it is."""
        return "boosted trees"

    @cached_property
    def ends(self) -> list[int]:
        """Where the encoded columns of each feature end."""
        return np.cumsum([f.width for f in self.features], dtype=np.int64).tolist()

    def depart(self, n_rows: int) -> Traveller:
        """Rows of which nothing is known."""
        return _Rows(self, 0, np.full((n_rows, self.ends[-1] if self.ends else 0), np.nan))

    def posteriors(self, rows: np.ndarray) -> np.ndarray:
        """Of encoded rows (n, columns), NaN where nothing is known."""
        out = np.empty((len(rows), self.prior.size))
        # A class that no training row had gets its share from the calibration's floor.
        tree_posteriors(rows, self.forest, self.prior, out)
        return out

    @property
    def forest(self) -> Forest:
        """The trees as kernels take them."""
        return Forest(self.trees, self.base, self.classes)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The trees as they are."""
        arrays = self.trees._asdict() | {"base": self.base, "classes": self.classes, "priors": self.prior}
        return arrays, {}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Boosted:
        """The trees whose :meth:`state` this is."""
        base = stored.within("base", (None,), -_LARGEST, _LARGEST)
        classes = stored.array("classes", (None,), np.int64)
        if (np.diff(classes) <= 0).any() or (classes < 0).any() or (classes >= n_classes).any():
            raise InputError("boosted trees have a class twice, or one that is not there")
        if base.size != (1 if classes.size <= 2 else classes.size):
            raise InputError(f"boosted trees have {base.size} sums for {classes.size} classes")
        trees = _restore_trees(stored, sum(f.width for f in features), base.size)
        return cls(features, trees, base, classes, stored.priors(n_classes))


@dataclass(frozen=True)
class _Rows(Traveller):
    boosted: Boosted
    stage: int
    rows: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Rows(self.boosted, self.stage, self.rows[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.boosted, self.stage
        rows = self.rows.copy()
        rows[:, of.ends[k] - of.features[k].width : of.ends[k]] = of.features[k].raw(values, keep_missing=True)
        return _Rows(of, k + 1, rows), of.posteriors(rows)


def _restore_trees(stored: State, n_columns: int, n_outputs: int) -> Trees:
    columns = stored.array("columns", (None,), np.int32)
    n = columns.size
    thresholds = stored.array("thresholds", (n,))
    lefts, rights, missing = (stored.array(name, (n,), np.int32) for name in ("lefts", "rights", "missing"))
    roots = stored.array("roots", (None,), np.int32)
    outputs = stored.array("outputs", roots.shape, np.int32)
    leaves = columns < 0
    if (columns >= n_columns).any() or not (np.abs(thresholds[leaves]) <= _LARGEST).all():
        raise InputError("a node of a boosted tree looks at a column that is not there, or adds too much")
    # Nodes lead onward only: no row can go round in a circle, whatever the file says.
    for after in (lefts, rights, missing):
        if ((after <= np.arange(n)) & ~leaves).any() or (after >= n).any():
            raise InputError("a node of a boosted tree leads nowhere or back")
    if (roots < 0).any() or (roots >= n).any() or (outputs < 0).any() or (outputs >= n_outputs).any():
        raise InputError("a boosted tree begins nowhere, or adds to no class")
    return Trees(columns, thresholds, lefts, rights, missing, roots, outputs)
