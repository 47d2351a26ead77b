"""How often each feature was asked, and how many were."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from etana.model import Model
from etana.plots._canvas import (
    INK,
    MAIN,
    class_colour,
    drawing_axes,
    label,
    name_columns,
    one_of,
    quiet_axes,
    write_cells,
)
from etana.plots._outcome import Outcome, column_title, model_of, walk_labelled
from etana.typing import ArrayLike, Axes, Figure, Fitted, TableLike

__all__ = ["FeatureUsageDisplay"]

_LONGEST_NAME = 24
_MOST_COLUMNS_WITH_TEXT = 12
_MOST_BARS = 40


class FeatureUsageDisplay:
    """How often each feature was asked, in all and by true class.

    Parameters
    ----------
    features : array (F,)
        Column indices of the features that were asked at all, in the order of acquisition.
    names : list of str, length F
    counts : array (F, N)
        Rows of each true class that were asked the feature.
    class_sizes : array (N,)
        Rows of each true class.
    numbers : array (most + 1, N)
        Rows of each true class that were asked 0, 1, 2, ... features.
    classes : array (N,)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import ETANAClassifier
    >>> from etana.plots import FeatureUsageDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ETANAClassifier(feature_costs=0.02).fit(X, y)
    >>> display = FeatureUsageDisplay.from_estimator(clf, X, y)
    >>> display.names[0]
    'feature 3'
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        features: np.ndarray,
        names: list[str],
        counts: np.ndarray,
        class_sizes: np.ndarray,
        numbers: np.ndarray,
        classes: np.ndarray,
    ) -> None:
        self.features = features
        self.names = names
        self.counts = counts
        self.class_sizes = class_sizes
        self.numbers = numbers
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Fitted,
        X: TableLike,
        y: ArrayLike,
        *,
        kind: Literal["features", "classes", "number"] = "features",
        n_top: int = 15,
        max_cost: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Classify labelled rows and draw what they were asked; see :meth:`plot`."""
        outcome = walk_labelled(estimator, X, y, max_cost)
        return cls.from_outcome(model_of(estimator), outcome).plot(kind=kind, n_top=n_top, ax=ax)

    @classmethod
    def from_outcome(cls, model: Model, outcome: Outcome) -> Self:
        """From a walk that was made before; nothing is drawn yet."""
        n_classes, asked = model.classes.size, outcome.walk.n_features
        numbers = np.zeros((int(asked.max(initial=0)) + 1, n_classes), dtype=np.int64)
        np.add.at(numbers, (asked, outcome.truth), 1)
        features, counts = _count(model, outcome, numbers)
        names = [column_title(model, int(column)) for column in features]
        return cls(features, names, counts, numbers.sum(axis=0), numbers, model.classes)

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["features", "classes", "number"] = "features", n_top: int = 15
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"features", "classes", "number"}
            Bars: share of all rows that were asked each feature. Heat map: the same by true class. Histogram: how
            many features a row was asked.
        n_top : int
            Only the first so many features.
        """
        one_of("kind", kind, ("features", "classes", "number"))
        ax = drawing_axes(self, ax)
        if kind == "number":
            self._draw_numbers(ax)
        elif kind == "classes":
            self._draw_classes(ax, n_top)
        else:
            self._draw_features(ax, n_top)
        return self

    def _draw_features(self, ax: Any, n_top: int) -> None:
        shares = self.counts[:n_top].sum(axis=1) / self.class_sizes.sum()
        rows = np.arange(len(shares))
        ax.barh(rows, 100 * shares, color=MAIN, height=0.72)
        for row, share in zip(rows, shares, strict=True):
            ax.text(100 * share + 1.5, row, _percent(share), va="center", color=INK, fontsize="small")
        self._name_rows(ax, n_top)
        ax.set_xlim(0, 114)
        ax.set_xticks([0, 25, 50, 75, 100])
        ax.set_xlabel("rows that were asked (%)")
        quiet_axes(ax, "x")

    def _draw_classes(self, ax: Any, n_top: int) -> None:
        sizes = np.maximum(self.class_sizes, 1)
        shares = 100 * self.counts[:n_top] / sizes
        n_classes = self.classes.size
        if len(shares):
            mesh = ax.pcolormesh(
                np.arange(n_classes), np.arange(len(shares)), shares,
                shading="nearest", cmap="Blues", vmin=0, vmax=100, edgecolors="white", linewidth=1.2,
            )  # fmt: skip
            if n_classes <= _MOST_COLUMNS_WITH_TEXT:
                write_cells(ax, mesh, np.vectorize("{:.0f}".format, otypes=[object])(shares), 7.5)
        self._name_rows(ax, n_top)
        name_columns(ax, self.classes)
        ax.set_xlabel("rows of each true class that were asked (%)")
        ax.tick_params(length=0, labelcolor=INK)
        for spine in ax.spines.values():
            spine.set_visible(False)

    def _name_rows(self, ax: Any, n_top: int) -> None:
        names = [label(name, _LONGEST_NAME) for name in self.names[:n_top]]
        ax.set_yticks(np.arange(len(names)), names)
        ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
        if not names:
            ax.text(0.5, 0.5, "no feature was asked", transform=ax.transAxes, ha="center", color=INK)

    def _draw_numbers(self, ax: Any) -> None:
        width = -(-len(self.numbers) // _MOST_BARS)
        n_bars = -(-len(self.numbers) // width)
        padded = np.zeros((n_bars * width, self.classes.size))
        padded[: len(self.numbers)] = self.numbers
        bars = padded.reshape(n_bars, width, -1).sum(axis=1)
        centres = np.arange(n_bars) * width + (width - 1) / 2
        below = np.zeros(n_bars)
        # More classes than colours are drawn as one.
        stacked = self.classes.size > 1 and class_colour(0, self.classes.size) is not None
        for i, height in enumerate(bars.T if stacked else [bars.sum(axis=1)]):
            colour = class_colour(i, self.classes.size) if stacked else MAIN
            name = label(self.classes[i], 20) if stacked else None
            ax.bar(centres, height, bottom=below, width=0.85 * width, color=colour, label=name)
            below = below + height
        if stacked:
            ax.legend(title="true class", frameon=False, fontsize="small", title_fontsize="small")
        ax.set_xlabel("features asked" if width == 1 else f"features asked (in steps of {width})")
        ax.set_ylabel("rows")
        ax.xaxis.get_major_locator().set_params(integer=True)
        quiet_axes(ax)


def _percent(share: float) -> str:
    """Small shares keep a digit, so that they do not read as nothing."""
    return f"{100 * share:.1f}" if 0 < share < 0.0995 else f"{100 * share:.0f}"


def _count(model: Model, outcome: Outcome, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features that were asked, and how many rows of each class were asked them."""
    if model.order is not None:
        # With a fixed order, the k-th feature was asked of all rows that were asked more than k.
        counts = numbers[::-1].cumsum(axis=0)[::-1][1:]
        return np.asarray(model.order[: len(counts)]), counts
    table: dict[int, np.ndarray] = {}
    for i, code in enumerate(outcome.truth):
        for column in outcome.walk.features(i).tolist():
            table.setdefault(column, np.zeros(numbers.shape[1], dtype=np.int64))[code] += 1
    features = sorted(table, key=lambda column: (-int(table[column].sum()), column))
    counts = np.array([table[column] for column in features], dtype=np.int64).reshape(-1, numbers.shape[1])
    return np.array(features, dtype=np.int64), counts
