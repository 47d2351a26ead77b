"""Whether the belief at the stop can be believed."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from etana.errors import InputError
from etana.plots._canvas import GRID, MAIN, MUTED, drawing_axes, label_bars, one_of, quiet_axes, strip_below
from etana.plots._intervals import wilson
from etana.plots._outcome import Outcome, walk_labelled
from etana.typing import ArrayLike, Axes, Figure, Fitted, TableLike

__all__ = ["CalibrationDisplay"]

# A policy stops when it is rather sure, so most beliefs are near 1, where these edges are dense.
_FINE = np.array([0.0, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 0.999, 1.0])
_TICKS = np.array([0.1, 0.2, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 0.999])
_FARTHEST = 8.0  # log-odds


class CalibrationDisplay:
    """Reliability diagram of the belief in the most likely class, at the stop.

    Rows are put into bins by their belief; a bin holds the beliefs above its lower edge, up to and including its
    upper edge. In each, the mean belief stands against the share of rows whose most likely class was the true one.
    A cautious classifier lies above the dashed line, one that is too sure lies below it.

    Parameters
    ----------
    beliefs : array (n,)
        Belief of each row in its most likely class.
    hits : array (n,) of bool
        Whether that was the true class.
    bins : int, "fine", or increasing edges from 0 to 1
        A number of bins of equal width, or bins that are narrow near 1, where a policy stops.

    Attributes
    ----------
    edges : array (B + 1,)
    counts : array (B,)
        Rows in each bin.
    prob_pred, prob_true : arrays (B,)
        Mean belief and share of hits; NaN for an empty bin.
    error : float
        Mean distance between the two, weighted by rows: the expected calibration error.
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from etana.plots import CalibrationDisplay
    >>> display = CalibrationDisplay([0.9, 0.8, 0.85, 0.55], [True, True, False, True], bins=2)
    >>> display.counts.tolist(), round(display.error, 3)
    ([0, 4], 0.025)
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, beliefs: ArrayLike, hits: ArrayLike, bins: int | ArrayLike | Literal["fine"] = "fine") -> None:
        beliefs, hits = np.asarray(beliefs, dtype=np.float64), np.asarray(hits, dtype=np.float64)
        if beliefs.shape != hits.shape or beliefs.ndim != 1 or not beliefs.size:
            raise InputError(
                f"beliefs has shape {beliefs.shape} and hits {hits.shape}; give one belief and one hit per row, "
                "at least one row"
            )
        self.edges = _edges(bins)
        n_bins = self.edges.size - 1
        where = np.clip(np.searchsorted(self.edges, beliefs, side="left") - 1, 0, n_bins - 1)
        self.counts = np.bincount(where, minlength=n_bins)
        with np.errstate(invalid="ignore"):
            self.prob_pred = np.bincount(where, beliefs, minlength=n_bins) / self.counts
            self.prob_true = np.bincount(where, hits, minlength=n_bins) / self.counts
        filled = self.counts > 0
        distance = np.abs(self.prob_pred - self.prob_true)[filled]
        self.error = float(distance @ self.counts[filled] / self.counts.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Fitted,
        X: TableLike,
        y: ArrayLike,
        *,
        bins: int | ArrayLike | Literal["fine"] = "fine",
        scale: Literal["log-odds", "linear"] = "log-odds",
        max_cost: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Classify labelled rows and draw; see :meth:`plot`."""
        return cls.from_outcome(walk_labelled(estimator, X, y, max_cost), bins).plot(ax, scale=scale)

    @classmethod
    def from_outcome(cls, outcome: Outcome, bins: int | ArrayLike | Literal["fine"] = "fine") -> Self:
        """From a walk that was made before; nothing is drawn yet."""
        posteriors = outcome.walk.posteriors
        return cls(posteriors.max(axis=1), posteriors.argmax(axis=1) == outcome.truth, bins)

    def plot(self, ax: Axes | None = None, *, scale: Literal["log-odds", "linear"] = "log-odds") -> Self:
        """Draw; bars are 95 % intervals, and the strip below shows how many rows each bin holds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : {"log-odds", "linear"}
            Scale of the belief. Log-odds give room to beliefs near 1; calibration is then a curve, not a diagonal.
        """
        one_of("scale", scale, ("log-odds", "linear"))
        ax = drawing_axes(self, ax)
        place = _log_odds if scale == "log-odds" else np.asarray
        filled = self.counts > 0
        n, x, y = self.counts[filled], place(self.prob_pred[filled]), self.prob_true[filled]
        low, high = wilson(np.round(y * n), n)
        ideal = np.linspace(0.0, 1.0, 1001)
        ax.plot(place(ideal), ideal, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        # A share of 0 or 1 is an end of its interval up to rounding.
        ax.errorbar(x, y, np.maximum([y - low, high - y], 0.0), fmt="none", ecolor=GRID, elinewidth=5, zorder=1)
        ax.plot(x, y, marker="o", markersize=6, color=MAIN, linewidth=1.2, zorder=2)
        ax.set_ylim(0, 1.04)
        ax.set_xlabel("belief in the most likely class at the stop")
        ax.set_ylabel("share of rows where it was true")
        quiet_axes(ax, "both")
        self._draw_counts(ax, place, filled)
        return self

    def _draw_counts(self, ax: Any, place: Any, filled: np.ndarray) -> None:
        """The strip below, and the part of the x-axis that has rows."""
        left, right = place(self.edges[:-1])[filled], place(self.edges[1:])[filled]
        if place is _log_odds:
            left = np.maximum(left, right - 1.5)
            ax.set_xticks(_log_odds(_TICKS), [f"{100 * t:g}%" for t in _TICKS])
            ax.set_xlim(min(float(left.min()), 0.0) - 0.1, _FARTHEST + 0.1)
        else:
            ax.set_xlim(0, 1.02)
        strip = strip_below(ax, self.counts[filled], (left + right) / 2, 0.9 * (right - left), "rows")
        label_bars(strip, [f"{count:,}" for count in self.counts[filled]])


def _edges(bins: Any) -> np.ndarray:
    if isinstance(bins, str) and bins == "fine":
        return _FINE
    if isinstance(bins, int | np.integer) and bins >= 1:
        return np.linspace(0.0, 1.0, int(bins) + 1)
    if not isinstance(bins, str | int | np.integer):
        edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim == 1 and edges.size > 1 and (np.diff(edges) > 0).all() and edges[0] == 0 and edges[-1] == 1:
            return edges
    raise InputError(f"bins is {bins!r}; it must be 'fine', a number of at least 1, or increasing edges from 0 to 1")


def _log_odds(share: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(share / (1 - share)), -_FARTHEST, _FARTHEST)
