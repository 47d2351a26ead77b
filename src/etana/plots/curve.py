"""What accuracy costs: the trade between features and mistakes.

A curve is traced without a new fit. Multiplying all feature prices by a factor gives the policy for dearer or
cheaper features; each policy is then charged the *true* prices, so that the total cost of the curve is least near the
factor 1. A hard budget gives another curve: the policy is left as it is, and no row may be charged more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from etana.errors import InputError
from etana.plots._canvas import CLASS_COLOURS, MUTED, drawing_axes, label, one_of, quiet_axes
from etana.plots._outcome import Outcome, at_prices, walk_labelled
from etana.typing import ArrayLike, Axes, Figure, Fitted, TableLike

__all__ = ["CostCurve", "CostCurveDisplay", "trace_budgets", "trace_prices"]

_FACTORS = 2.0 ** np.arange(-5, 6)
_AXES = {
    "n_features": "features asked, mean",
    "spend": "spent on features, mean",
    "accuracy": "accuracy",
    "cost": "cost of a row, mean",
}
_MARKERS = "osD^vPX"


@dataclass(frozen=True)
class CostCurve:
    """Means over labelled rows at each setting; arrays of equal length.

    Attributes
    ----------
    settings : array
        Factors on the feature prices, or budgets.
    n_features, spend, accuracy, cost : arrays
        Features asked, what they cost at the true prices, share of right decisions, and spend plus mistakes.
    own : int or None
        Position of the setting that is the classifier as it is.
    """

    settings: np.ndarray
    n_features: np.ndarray
    spend: np.ndarray
    accuracy: np.ndarray
    cost: np.ndarray
    own: int | None = None

    @classmethod
    def of(cls, settings: Any, outcomes: Sequence[Outcome], scales: Any = None, own: int | None = None) -> Self:
        """From walks, whose prices were the true ones multiplied by ``scales``."""
        scales = np.ones(len(outcomes)) if scales is None else scales
        spends = [outcome.walk.costs.mean() / scale for outcome, scale in zip(outcomes, scales, strict=True)]
        wrong = [outcome.penalties.mean() for outcome in outcomes]
        return cls(
            np.asarray(settings, dtype=np.float64),
            np.array([outcome.walk.n_features.mean() for outcome in outcomes]),
            np.array(spends),
            np.array([outcome.correct.mean() for outcome in outcomes]),
            np.array(spends) + np.array(wrong),
            own,
        )


def trace_prices(estimator: Fitted, X: TableLike, y: ArrayLike, factors: ArrayLike | None = None) -> CostCurve:
    """The curve of policies made for feature prices multiplied by each of ``factors`` (1/32 to 32 if not given).

    A classifier solves again by its own ``with_costs``; a bare :class:`etana.Model` by the default solver.
    """
    given = np.sort(np.asarray(_FACTORS if factors is None else factors, dtype=np.float64).ravel())
    if not given.size or not (np.isfinite(given).all() and (given > 0).all()):
        raise InputError(f"factors is {factors!r}; it must be one or more finite numbers above 0")
    outcomes = [walk_labelled(estimator if f == 1 else at_prices(estimator, float(f)), X, y) for f in given]
    own = np.flatnonzero(given == 1)
    return CostCurve.of(given, outcomes, given, int(own[0]) if own.size else None)


def trace_budgets(estimator: Fitted, X: TableLike, y: ArrayLike, budgets: ArrayLike | None = None) -> CostCurve:
    """The curve of hard budgets; if not given, eleven from nothing to the most that any row is charged."""
    if budgets is None:
        free = walk_labelled(estimator, X, y)
        budgets = np.unique(np.linspace(0.0, float(free.walk.costs.max()), 11))
    given = np.sort(np.asarray(budgets, dtype=np.float64).ravel())
    if not given.size or not (given >= 0).all():
        raise InputError(f"budgets is {budgets!r}; it must be one or more numbers >= 0")
    return CostCurve.of(given, [walk_labelled(estimator, X, y, float(b)) for b in given])


class CostCurveDisplay:
    """Accuracy, or mean cost, against the mean number of features or the mean spend.

    Parameters
    ----------
    points : mapping from name to (x, y)
        Curves to overlay; one of a single point is drawn as a mark.
    xlabel, ylabel : str
    own : mapping from name to position, optional
        The point of a curve that is emphasised.
    levels : mapping from name to y, optional
        Dashed lines across the picture, for what is too far to the right to be shown as a point.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from etana.plots import CostCurveDisplay
    >>> points = {"etana": ([1, 2, 3], [0.8, 0.9, 0.91]), "tree": ([2, 4], [0.8, 0.88])}
    >>> display = CostCurveDisplay.from_points(points, ylabel="accuracy")
    >>> len(display.ax_.lines)
    2
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        points: Mapping[Any, Any],
        xlabel: str = "",
        ylabel: str = "",
        own: Mapping[Any, int] | None = None,
        levels: Mapping[Any, float] | None = None,
    ) -> None:
        self.points = {
            name: (np.asarray(x, dtype=float), np.asarray(y, dtype=float)) for name, (x, y) in points.items()
        }
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.own = dict(own or {})
        self.levels = dict(levels or {})
        for name, (x, y) in self.points.items():
            if x.ndim != 1 or x.shape != y.shape or not x.size:
                raise InputError(
                    f"the curve {name!r} has x of shape {x.shape} and y of shape {y.shape}; "
                    "they must be equally many numbers, at least one"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Fitted,
        X: TableLike,
        y: ArrayLike,
        *,
        factors: ArrayLike | None = None,
        against: Literal["n_features", "spend"] = "n_features",
        response: Literal["accuracy", "cost"] = "accuracy",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Trace by feature prices, see :func:`trace_prices`, and draw."""
        curve = trace_prices(estimator, X, y, factors)
        return cls.from_curves({name or type(estimator).__name__: curve}, against=against, response=response, ax=ax)

    @classmethod
    def from_budgets(
        cls,
        estimator: Fitted,
        X: TableLike,
        y: ArrayLike,
        *,
        budgets: ArrayLike | None = None,
        against: Literal["n_features", "spend"] = "n_features",
        response: Literal["accuracy", "cost"] = "accuracy",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Trace by hard budgets, see :func:`trace_budgets`, and draw."""
        curve = trace_budgets(estimator, X, y, budgets)
        return cls.from_curves({name or type(estimator).__name__: curve}, against=against, response=response, ax=ax)

    @classmethod
    def compare(
        cls,
        estimators: Mapping[str, Fitted],
        X: TableLike,
        y: ArrayLike,
        *,
        budgets: ArrayLike | None = None,
        factors: ArrayLike | None = None,
        against: Literal["n_features", "spend"] = "n_features",
        response: Literal["accuracy", "cost"] = "accuracy",
        ax: Axes | None = None,
    ) -> Self:
        """Trace several fitted classifiers on the same rows, and draw them over each other.

        Parameters
        ----------
        estimators : mapping from name to fitted classifier
        X, y : rows and their true classes
        budgets : numbers, optional
            Trace by these hard budgets, the same for all; otherwise by feature prices.
        factors : numbers, optional
            Factors on the feature prices, see :func:`trace_prices`; not together with ``budgets``.
        against : {"n_features", "spend"}
        response : {"accuracy", "cost"}
        ax : matplotlib Axes, optional

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> import etana
        >>> X, y = load_wine(return_X_y=True)
        >>> fixed = etana.ETANAClassifier().fit(X[::2], y[::2])
        >>> adaptive = etana.AdaptiveClassifier().fit(X[::2], y[::2])
        >>> names = {"fixed order": fixed, "adaptive": adaptive}
        >>> display = etana.plots.CostCurveDisplay.compare(names, X[1::2], y[1::2], budgets=[0.01, 0.02, 0.05])
        >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
        ['fixed order', 'adaptive']
        """
        if not estimators:
            raise InputError("there are no classifiers to compare; pass {name: fitted classifier}")
        if budgets is not None and factors is not None:
            raise InputError("budgets and factors were both given; a curve is traced by one of them")
        curves = {
            name: trace_prices(estimator, X, y, factors) if budgets is None else trace_budgets(estimator, X, y, budgets)
            for name, estimator in estimators.items()
        }
        return cls.from_curves(curves, against=against, response=response, ax=ax)

    @classmethod
    def from_curves(
        cls,
        curves: Mapping[Any, CostCurve],
        *,
        against: Literal["n_features", "spend"] = "n_features",
        response: Literal["accuracy", "cost"] = "accuracy",
        levels: Mapping[Any, float] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw curves that were traced before.

        Parameters
        ----------
        curves : mapping from name to CostCurve
        against : {"n_features", "spend"}
        response : {"accuracy", "cost"}
        levels : mapping from name to y, optional
            Dashed lines across the picture.
        ax : matplotlib Axes, optional
        """
        one_of("against", against, ("n_features", "spend"))
        one_of("response", response, ("accuracy", "cost"))
        points = {name: (getattr(c, against), getattr(c, response)) for name, c in curves.items()}
        own = {name: c.own for name, c in curves.items() if c.own is not None}
        return cls(points, _AXES[against], _AXES[response], own, levels).plot(ax)

    @classmethod
    def from_points(
        cls, points: Mapping[Any, Any], *, xlabel: str = "", ylabel: str = "", ax: Axes | None = None
    ) -> Self:
        """Draw any curves: ``{name: (x, y)}``."""
        return cls(points, xlabel or _AXES["n_features"], ylabel).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw."""
        ax = drawing_axes(self, ax)
        for i, (name, (x, y)) in enumerate(self.points.items()):
            colour, marker = CLASS_COLOURS[i % len(CLASS_COLOURS)], _MARKERS[i % len(_MARKERS)]
            single = x.size == 1
            ax.plot(
                x, y, marker=marker, markersize=8 if single else 4, color=colour, label=label(name, 40),
                linestyle="none" if single else "-", linewidth=1.6,
            )  # fmt: skip
            if name in self.own:
                k = self.own[name]
                ax.scatter(x[k], y[k], s=110, facecolors="none", edgecolors=colour, linewidths=1.8, zorder=3)
        for i, (name, level) in enumerate(self.levels.items()):
            style = "--" if i == 0 else ":"
            ax.axhline(level, color=MUTED, linestyle=style, linewidth=1.2, zorder=1, label=label(name, 40))
        if len(self.points) + len(self.levels) > 1:
            ax.legend(frameon=False, fontsize="small")
        ax.set_xlabel(self.xlabel)
        ax.set_ylabel(self.ylabel)
        quiet_axes(ax, "both")
        return self
