"""The way of a few telling instances through the policy, question by question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from etana.case import without_warnings
from etana.model import Model
from etana.plots._canvas import CLASS_COLOURS, INK, clean, drawing_axes, quiet_axes
from etana.plots._outcome import Outcome, column_title, model_of, walk_labelled
from etana.table import Table, read_table
from etana.typing import ArrayLike, Axes, Figure, Fitted, TableLike

__all__ = ["ExamplePath", "ExamplePathsDisplay", "Step"]


@dataclass(frozen=True)
class Step:
    """One question: the feature, the answer, how it was understood, its price, and the belief after it."""

    feature: str
    value: Any
    meaning: str
    price: float
    belief: np.ndarray


@dataclass(frozen=True)
class ExamplePath:
    """One instance from the prior to the decision; classes as codes."""

    row: int
    reason: str
    truth: int
    decided: int
    prior: np.ndarray
    steps: tuple[Step, ...]
    spent: float
    penalty: float

    @property
    def correct(self) -> bool:
        """Whether the decision was right."""
        return self.truth == self.decided


class ExamplePathsDisplay:
    """Paths of a few rows that differ: short and long ones, mistakes, doubtful and typical ones.

    Parameters
    ----------
    paths : list of ExamplePath
    classes : array (N,)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import ETANAClassifier
    >>> from etana.plots import ExamplePathsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ETANAClassifier(feature_costs=0.02).fit(X, y)
    >>> display = ExamplePathsDisplay.from_estimator(clf, X, y, n_paths=4)
    >>> len(display.paths)
    4
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, paths: list[ExamplePath], classes: ArrayLike) -> None:
        self.paths = paths
        self.classes = np.asarray(classes)

    @classmethod
    def from_estimator(
        cls, estimator: Fitted, X: TableLike, y: ArrayLike, *, n_paths: int = 10, ax: Axes | None = None
    ) -> Self:
        """Classify labelled rows, choose examples and draw them."""
        outcome = walk_labelled(estimator, X, y)
        return cls.from_outcome(model_of(estimator), outcome, X, n_paths).plot(ax)

    @classmethod
    def from_outcome(cls, model: Model, outcome: Outcome, X: TableLike, n_paths: int = 10) -> Self:
        """From a walk that was made before; nothing is drawn yet."""
        table = read_table(X)
        chosen = _choose(outcome, model.classes, n_paths)
        values = _values(table, {column for row in chosen for column in outcome.walk.features(row).tolist()}, chosen)
        return cls([_follow(model, outcome, row, why, values) for row, why in chosen.items()], model.classes)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the belief in the true class after each feature; the last point says how it ended."""
        ax = drawing_axes(self, ax)
        integers: Any = ax.xaxis.get_major_locator()
        for path in self.paths:
            beliefs = [100 * float(b[path.truth]) for b in (path.prior, *(step.belief for step in path.steps))]
            colour = CLASS_COLOURS[0] if path.correct else CLASS_COLOURS[1]
            ax.plot(beliefs, color=colour, linewidth=1.3, alpha=0.75)
            ax.plot(len(beliefs) - 1, beliefs[-1], color=colour, marker="o" if path.correct else "X", markersize=7)
        for correct, colour, marker, name in (
            (True, CLASS_COLOURS[0], "o", "decided rightly"),
            (False, CLASS_COLOURS[1], "X", "decided wrongly"),
        ):
            if any(path.correct == correct for path in self.paths):
                ax.plot([], [], color=colour, marker=marker, label=name)
        if self.paths:
            ax.legend(frameon=False, fontsize="small", labelcolor=INK)
        ax.set_ylim(-4, 104)
        ax.set_xlabel("features asked")
        ax.set_ylabel("belief in the true class (%)")
        integers.set_params(integer=True)
        quiet_axes(ax)
        return self


def _choose(outcome: Outcome, classes: np.ndarray, n_paths: int) -> dict[int, str]:
    """Rows and why they were chosen; the same rows for the same walk."""
    chosen: dict[int, str] = {}
    for reason, rows in _candidates(outcome, classes):
        if len(chosen) >= n_paths:
            break
        row = next((int(r) for r in rows if int(r) not in chosen), None)
        if row is not None:
            chosen[row] = reason
    return chosen


def _candidates(outcome: Outcome, classes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Rankings of rows, each by another virtue; sorting is stable, so ties go to the first row."""
    asked, sure = outcome.walk.n_features, outcome.walk.posteriors.max(axis=1)
    right, wrong = np.flatnonzero(outcome.correct), np.flatnonzero(~outcome.correct)
    yield "fewest features", right[np.argsort(asked[right], kind="stable")]
    yield "most features", right[np.argsort(-asked[right], kind="stable")]
    yield "dearest mistake", wrong[np.argsort(-outcome.totals[wrong], kind="stable")]
    yield "surest mistake", wrong[np.argsort(-sure[wrong], kind="stable")]
    yield "least sure", right[np.argsort(sure[right], kind="stable")]
    for _ in range(len(outcome.truth)):
        # Typical rows, class after class, until there are enough.
        for code, name in enumerate(classes):
            own = np.flatnonzero(outcome.correct & (outcome.truth == code))
            if own.size:
                distance = np.abs(asked[own] - np.median(asked[own]))
                yield f"typical of {clean(name)}", own[np.argsort(distance, kind="stable")]
        yield "a mistake", wrong


def _values(table: Table, columns: set[int], rows: Any) -> dict[tuple[int, int], Any]:
    """The values of these columns in these rows, labels as labels; every column is read once."""
    out: dict[tuple[int, int], Any] = {}
    for column in sorted(columns):
        if table.is_categorical(column):
            for row in rows:
                found = table.levels(column, [row])
                out[row, column] = found[0] if len(found) else None
        else:
            numbers = table.block([column])
            out.update({(row, column): float(numbers[row, 0]) for row in rows})
    return out


def _follow(model: Model, outcome: Outcome, row: int, reason: str, values: dict[tuple[int, int], Any]) -> ExamplePath:
    """Answer a case with the values of one row."""
    case = model.start()
    columns = outcome.walk.features(row).tolist()
    with without_warnings():
        for column in columns:
            case.observe(values[row, column])
    prior, *beliefs = case.beliefs
    steps = tuple(
        Step(column_title(model, column), answer.value, answer.meaning, answer.price, belief)
        for column, answer, belief in zip(columns, case.history, beliefs, strict=True)
    )
    truth, decided = int(outcome.truth[row]), int(outcome.decided[row])
    return ExamplePath(row, reason, truth, decided, prior, steps, case.cost, float(outcome.penalties[row]))
