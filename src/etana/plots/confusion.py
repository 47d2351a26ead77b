"""Which mistakes were made, and what they cost."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from etana.errors import InputError
from etana.model import Model
from etana.money import about
from etana.plots._canvas import INK, class_ticks, drawing_axes, name_columns, one_of, write_cells
from etana.plots._outcome import Outcome, model_of, walk_labelled
from etana.typing import ArrayLike, Axes, Figure, Fitted, TableLike

__all__ = ["ConfusionCostDisplay"]

_MOST_WITH_COSTS = 10
_MOST_WITH_TEXT = 24
_MOST_VECTOR_CELLS = 40


class ConfusionCostDisplay:
    """Confusion matrix in units of cost: how many rows, and how much they cost together.

    Parameters
    ----------
    counts : array (N, N)
        Rows by true class (row) and decided class (column).
    misclassification_costs : array (N, N)
    classes : array (N,)

    Attributes
    ----------
    costs : array (N, N)
        ``counts * misclassification_costs``: what each kind of decision cost in all.
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from etana.plots import ConfusionCostDisplay
    >>> display = ConfusionCostDisplay([[8, 2], [1, 9]], [[0, 1], [50, 0]], ["well", "ill"]).plot()
    >>> display.costs.tolist()
    [[0.0, 2.0], [50.0, 0.0]]
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, counts: ArrayLike, misclassification_costs: ArrayLike, classes: ArrayLike) -> None:
        self.counts = np.asarray(counts)
        self.classes = np.asarray(classes)
        self.misclassification_costs = np.asarray(misclassification_costs, dtype=np.float64)
        n = self.classes.size
        if self.counts.shape != (n, n) or self.misclassification_costs.shape != (n, n):
            raise InputError(
                f"counts has shape {self.counts.shape} and misclassification_costs "
                f"{self.misclassification_costs.shape}; for {n} classes both must be ({n}, {n})"
            )
        self.costs = self.counts * self.misclassification_costs

    @classmethod
    def from_estimator(
        cls,
        estimator: Fitted,
        X: TableLike,
        y: ArrayLike,
        *,
        values: Literal["cost", "count"] = "cost",
        max_cost: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Classify labelled rows and draw; see :meth:`plot`."""
        outcome = walk_labelled(estimator, X, y, max_cost)
        return cls.from_outcome(model_of(estimator), outcome).plot(ax, values=values)

    @classmethod
    def from_outcome(cls, model: Model, outcome: Outcome) -> Self:
        """From a walk that was made before; nothing is drawn yet."""
        counts = np.zeros(model.mistakes.shape, dtype=np.int64)
        np.add.at(counts, (outcome.truth, outcome.decided), 1)
        return cls(counts, model.mistakes, model.classes)

    def plot(self, ax: Axes | None = None, *, values: Literal["cost", "count"] = "cost") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        values : {"cost", "count"}
            What the colour shows. The text is the number of rows and, unless every mistake costs 1, their cost.
        """
        one_of("values", values, ("cost", "count"))
        ax = drawing_axes(self, ax)
        n = self.classes.size
        shown = self.costs if values == "cost" else self.counts
        mesh = ax.pcolormesh(
            np.arange(n), np.arange(n), shown, shading="nearest", cmap="Oranges", vmin=0,
            vmax=max(float(shown.max()), 1e-12), edgecolors="#d8dee3", linewidth=0.8, rasterized=n > _MOST_VECTOR_CELLS,
        )  # fmt: skip
        if n <= _MOST_WITH_TEXT:
            write_cells(ax, mesh, self._texts(), 10 if n <= 4 else 7)
        self._name(ax)
        ax.set_aspect("equal")
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return self

    def _texts(self) -> np.ndarray:
        texts = np.empty(self.counts.shape, dtype=object)
        wrong = ~np.eye(self.classes.size, dtype=bool)
        same = np.array_equal(self.costs[wrong], self.counts[wrong])
        with_costs = self.classes.size <= _MOST_WITH_COSTS and not same
        for cell, count in np.ndenumerate(self.counts):
            texts[cell] = f"{count:,}" if count or cell[0] == cell[1] else ""
            if with_costs and self.costs[cell]:
                texts[cell] += f"\n{'cost ' * (self.classes.size <= 4)}{about(float(self.costs[cell]))}"
        return texts

    def _name(self, ax: Any) -> None:
        name_columns(ax, self.classes)
        ax.set_yticks(*class_ticks(self.classes))
        ax.tick_params(length=0, labelcolor=INK)
        ax.set_xlabel("decided class")
        ax.set_ylabel("true class")
