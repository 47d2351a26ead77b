"""All methods side by side on one table, by repeated cross-validation.

Accuracy, features and cost of a method are means over R x k training and test parts. These overlap, so that their
spread alone promises too much; the intervals are Nadeau and Bengio's (2003), which correct it: with J = R k values of
standard deviation s, and k - 1 times as many training as test rows::

    mean +- t_{0.975, J-1} s sqrt(1 / J + 1 / (k - 1))

Cost is what the features of a row cost, plus what its mistake costs: 1 unless a matrix is given. The streaming
selectors and nearest neighbours take complete numbers only: for them a missing number is the median of the training
rows, a label its rank (:mod:`etana.evaluation.complete_numbers`). A method that cannot serve the table says why; the
others go on.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.pipeline import make_pipeline

from etana import __version__
from etana.costs import FeatureCosts, ResolvedCosts, resolve_feature_costs, resolve_mistakes
from etana.errors import EtanaError, InputError
from etana.evaluation.complete_numbers import CompleteNumbers, SelectorOnNumbers
from etana.evaluation.measuring import Fold, Folds, LowestRowKNeighbors, evaluate
from etana.evaluation.methods import Setting, method_of
from etana.plots._canvas import CLASS_COLOURS, INK, counted, label, quiet_axes
from etana.report.page import figures, page, paragraph, section, table, text
from etana.report.picture import figure
from etana.table import read_table
from etana.typing import ArrayLike, FeatureCostsLike, MistakeCostsLike, TableLike

__all__ = ["COMPARED", "Comparison", "Interval", "Line", "compare", "corrected_interval"]

COMPARED = (
    "frugal",
    "nothing",
    "committee",
    "adaptive",
    "sequential",
    "etana",
    "f-etana",
    "etana-published",
    "f-etana-published",
    "decision-tree",
    "all-features",
    "ofs-density",
    "ofs-a3m",
    "saola",
    "fast-osfs",
    "osfs",
    "alpha-investing",
)
_FIGURES = (("accuracy", "accuracy", 4), ("n_features", "features", 2), ("cost", "cost", 4))


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def shown(self, digits: int) -> str:
        """``0.91 ± 0.02``."""
        return f"{self.mean:.{digits}f} ± {(self.high - self.low) / 2:.{digits}f}"


@dataclass(frozen=True)
class Line:
    """A method's figures; or, in ``message``, why it has none."""

    method: str
    figures: dict[str, Interval]
    seconds: float = 0.0
    message: str | None = None

    @property
    def title(self) -> str:
        """The method's name for people."""
        return method_of(self.method).title


def corrected_interval(values: ArrayLike, n_splits: int) -> Interval:
    """Mean and 95 % interval over the parts of a repeated cross-validation (see the module).

    Examples
    --------
    >>> from etana.evaluation.comparison import corrected_interval
    >>> corrected_interval([0.8, 0.9, 1.0, 0.9], n_splits=2).shown(2)
    '0.90 ± 0.29'
    """
    values = np.asarray(values, dtype=np.float64)
    n = values.size
    if n < 2:
        raise InputError(f"{n} values make no interval; give at least two")
    spread = float(values.std(ddof=1)) * np.sqrt(1 / n + 1 / (n_splits - 1))
    half = float(stats.t.ppf(0.975, n - 1)) * spread
    mean = float(values.mean())
    return Interval(mean, mean - half, mean + half)


def compare(
    X: TableLike,
    y: ArrayLike,
    *,
    feature_costs: FeatureCostsLike = 0.01,
    misclassification_costs: MistakeCostsLike = None,
    names: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 5,
    methods: Sequence[str] | None = None,
    seed: int = 0,
    begin: Callable[[str, int], object] = lambda method, repeat: None,
) -> Comparison:
    """Compare methods on a table.

    Parameters
    ----------
    X : array, sparse matrix or pandas data frame, (n, K)
        May hold text and missing values.
    y : array (n,)
    feature_costs : number, array (K,), prices by name or FeatureCosts
    misclassification_costs : array (N, N), optional
        Row true class, column decided class, classes in sorted order; None means 1 for every mistake. The streaming
        selectors and trees do not see it when they learn.
    names : names of the columns, optional
        For prices by name, where X is no data frame.
    folds, repeats : int
        Folds of a cross-validation, and how many of them, each shuffled with a seed of its own.
    methods : names in ``COMPARED`` or of registered methods, optional
    seed : int
        The same seed gives the same figures, but for seconds.
    begin : callable, optional
        Told the method and the repeat that start.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana.evaluation.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, methods=["etana", "saola"], repeats=2)
    >>> [line.method for line in result.lines]
    ['etana', 'saola']
    """
    y = np.asarray(y)
    n_features = read_table(X).n_features
    named = list(X.columns) if names is None and hasattr(X, "columns") else names
    prices = resolve_feature_costs(feature_costs, n_features, named)
    chosen = _check(y, folds, repeats, methods)
    mistakes = resolve_mistakes(misclassification_costs, np.unique(y).size)
    given = None if misclassification_costs is None else mistakes
    setting = Setting(len(np.unique(y)), _by_position(feature_costs, prices), None, seed, given)
    lines = []
    for name in chosen:
        parts: list[Fold] = []
        message = None
        for repeat in range(repeats):
            begin(name, repeat)
            if message is not None:
                continue
            try:
                protocol = Folds(folds, seed=seed + repeat)
                estimator, follower = _prepared(name, setting)
                found = evaluate(
                    estimator, X, y, protocol=protocol, classifier=follower, prices=prices, mistakes=mistakes
                )
                parts.extend(found.folds)
            except (EtanaError, ValueError, MemoryError) as error:
                message = " ".join(str(error).split())
        lines.append(Line(name, {}, message=message) if message else _line(name, parts, folds))
    return Comparison(lines, len(y), n_features, folds, repeats, seed)


def _by_position(given: Any, prices: ResolvedCosts) -> Any:
    """The same prices for every method, also for one that sees no names; a number stays what it is."""
    if np.isscalar(given):
        return given
    if (prices.group < 0).all():
        return FeatureCosts(prices.full)
    groups = [None if group < 0 else int(group) for group in prices.group]
    return FeatureCosts(prices.full, groups=groups, discounted=prices.discounted)


def _prepared(name: str, setting: Setting) -> tuple[Any, Any]:
    """The estimator, and what classifies with the columns of a selector; selectors are given plain numbers."""
    estimator = method_of(name).make(setting)
    if hasattr(estimator, "acquire"):
        return estimator, None
    return SelectorOnNumbers(estimator), make_pipeline(CompleteNumbers(), LowestRowKNeighbors(3))


def _check(y: np.ndarray, folds: int, repeats: int, methods: Sequence[str] | None) -> list[str]:
    names = list(COMPARED if methods is None else dict.fromkeys(methods))
    for name in names:
        method_of(name)
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise InputError(f"the labels have {counted(len(classes), 'class')}; a comparison needs at least two")
    if not 2 <= folds <= sizes.min():
        rarest = classes[sizes.argmin()]
        raise InputError(
            f"folds is {folds}; the rarest class {rarest!s} has {counted(int(sizes.min()), 'row')}, so give 2 to "
            f"{max(int(sizes.min()), 2)}, or leave out classes with a single row"
        )
    if repeats < 1:
        raise InputError(f"repeats is {repeats}; it must be at least 1")
    return names


def _line(name: str, parts: list[Fold], folds: int) -> Line:
    values = {
        "accuracy": [p.accuracy for p in parts],
        "n_features": [p.n_features for p in parts],
        "cost": [(p.cost or 0.0) + p.mistakes for p in parts],
    }
    seconds = [p.selection_seconds + p.training_seconds + p.classification_seconds for p in parts]
    intervals = {figure: corrected_interval(found, folds) for figure, found in values.items()}
    return Line(name, intervals, float(np.median(seconds)))  # the first part may load compiled loops


@dataclass(frozen=True)
class Comparison:
    """The lines of a comparison, in the order of the methods, and how it was made."""

    lines: list[Line]
    n_rows: int
    n_features: int
    folds: int
    repeats: int
    seed: int

    @property
    def note(self) -> str:
        """How the figures were made."""
        return (
            f"{counted(self.repeats, 'repeat')} of {self.folds}-fold cross-validation, seed {self.seed}; ± is half a "
            "95 % interval with Nadeau and Bengio's correction for overlapping training rows. Cost: features of a row, "
            "plus its mistake. For the selectors and 3-NN, missing numbers are medians and labels are ranks."
        )

    @property
    def best(self) -> int:
        """The line with the least cost; -1 if all methods failed."""
        costs = [line.figures["cost"].mean if line.figures else np.inf for line in self.lines]
        return int(np.argmin(costs)) if np.isfinite(costs).any() else -1

    def to_terminal(self) -> Any:
        """A rich table; the least cost is bold."""
        from rich.markup import escape
        from rich.table import Table as Grid

        out = Grid(
            title=f"{self.n_rows:,} rows, {self.n_features:,} features", caption=self.note, caption_justify="left"
        )
        out.add_column("method")
        for _, heading, _ in _FIGURES:
            out.add_column(heading, justify="right", no_wrap=True)
        out.add_column("seconds", justify="right")
        for r, line in enumerate(self.lines):
            if line.message:
                out.add_row(escape(line.title), escape(line.message), "", "", "")
                continue
            cells = [line.figures[name].shown(digits) for name, _, digits in _FIGURES]
            out.add_row(escape(line.title), *cells, f"{line.seconds:.3f}", style="bold" if r == self.best else "")
        return out

    def to_csv(self) -> str:
        """A line for each method: mean and interval of each figure, seconds, and why there are none."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        ends = [f"{name}{end}" for name, _, _ in _FIGURES for end in ("", "_low", "_high")]
        writer.writerow(["method", *ends, "seconds", "remark"])
        for line in self.lines:
            found = [line.figures.get(name) for name, _, _ in _FIGURES]
            values = [x for i in found for x in (("", "", "") if i is None else (i.mean, i.low, i.high))]
            writer.writerow([line.method, *values, line.seconds, line.message or ""])
        return stream.getvalue()

    def to_html(self, title: str) -> str:
        """A self-contained page: the table, and each figure with its intervals."""
        rows = [
            [text(line.title), *(text(line.figures[name].shown(digits)) for name, _, digits in _FIGURES),
             f"{line.seconds:.3f}"]
            if line.figures else [text(line.title), f"<small>{text(line.message)}</small>", "", "", ""]
            for line in self.lines
        ]  # fmt: skip
        head = ["method", *(heading for _, heading, _ in _FIGURES), "seconds"]
        pictures = [
            figure(name, partial(self._draw, name), heading.capitalize(), "", self._words(name), (4.6, 3.6))
            for name, heading, _ in _FIGURES
        ]
        parts = [
            section("Side by side", paragraph(self.note), table(head, rows, (1, 2, 3, 4), own=self.best)),
            section("In pictures", paragraph("Points are means, lines 95 % intervals."), figures(*pictures)),
        ]
        subtitle = f"{counted(self.n_rows, 'row')}, {counted(self.n_features, 'feature')}"
        return page(title, subtitle, parts, f"Made by etana {__version__}. The least cost is in bold.")

    def _shown(self) -> list[Line]:
        return [line for line in self.lines if line.figures]

    def _words(self, name: str) -> str:
        return "; ".join(f"{line.title} {line.figures[name].shown(4)}" for line in self._shown())

    def _draw(self, name: str, ax: Any) -> None:
        lines = self._shown()
        for r, line in enumerate(reversed(lines)):
            found = line.figures[name]
            colour = CLASS_COLOURS[0] if line.method.startswith(("etana", "f-etana")) else INK
            low = max(found.low, 0.0)
            ax.plot([low, found.high], [r, r], color=colour, linewidth=1.4)
            ax.plot(found.mean, r, marker="o", markersize=4, color=colour)
        ax.set_yticks(range(len(lines)), [label(line.title) for line in reversed(lines)])
        if name == "n_features" and max(line.figures[name].mean for line in lines) > 50:
            ax.set_xscale("symlog", linthresh=1)
        quiet_axes(ax, "x")
