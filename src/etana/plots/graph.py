"""What is asked, as a graph, as far as a reader can follow it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from etana.errors import InputError
from etana.plots._canvas import GRID, INK, MAIN, MUTED, PALE, class_colour, drawing_axes, label
from etana.plots._outcome import model_of
from etana.reading import Branch, branches, can_be_read

__all__ = ["GraphDisplay"]

_STEP, _WIDTH, _HEIGHT = 3.4, 1.9, 0.72  # from column to column, and of a box
_INCHES_PER_COLUMN, _INCHES_PER_LEAF = 2.9, 0.42
_NAME, _LABEL, _ANSWER = 24, 18, 17
_WIDEST_LINE = 7.0


class GraphDisplay:
    """Questions, answers and decisions, from left to right.

    A box is a question with its price, an edge an answer, as wide as the share of instances that the model expects to
    give it, and a coloured box a decision with how sure it is. A dotted box stands for questions that are not drawn.

    Parameters
    ----------
    branches : sequence of Branch
        States in reading order, a parent before its branches; see :func:`etana.reading.branches`.
    classes : array (N,)
    names : list of str, optional
        Names of the columns.

    Attributes
    ----------
    positions : array (n, 2)
        Where each state stands: column, and place from the top.
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import AdaptiveClassifier
    >>> from etana.plots import GraphDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AdaptiveClassifier(feature_costs=0.02, m=5, look_ahead=False).fit(X, y)
    >>> display = GraphDisplay.from_estimator(clf, max_depth=2)
    >>> display.branches[0].depth, len(display.branches) > 3
    (0, True)
    """

    def __init__(self, branches: Any, classes: Any, names: list[str] | None = None) -> None:
        self.branches: list[Branch] = list(branches)
        if not self.branches:
            raise InputError("there are no states to draw; give those of etana.reading.branches")
        self.classes = np.asarray(classes)
        self.names = names
        self.positions = _places(self.branches)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, max_depth: int = 3, least: float = 0.01) -> Self:
        """Draw what a classifier asks, as a graph.

        Parameters
        ----------
        estimator : fitted classifier over bins, or its Model
        ax : matplotlib Axes, optional
        max_depth : int
            Questions after which a branch is cut short.
        least : float
            Branches that are reached by a smaller share of instances than this are left out.
        """
        model = model_of(estimator)
        if not can_be_read(model):
            raise InputError(
                f"{type(estimator).__name__} does not know how likely each answer is, so that its questions cannot be "
                "drawn; draw where it stops: etana.plots.PolicyDisplay"
            )
        if not max_depth >= 0 or not 0 <= least <= 1:
            raise InputError(
                f"max_depth is {max_depth!r} and least {least!r}; they must be >= 0, and a share from 0 to 1"
            )
        return cls(branches(model, max_depth, least), model.classes, model.names).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which all text can be read."""
        columns, places = self.positions.max(axis=0) + 1
        return max(_INCHES_PER_COLUMN * float(columns), 4.0), max(_INCHES_PER_LEAF * float(places) + 0.3, 1.6)

    def plot(self, ax: Any = None) -> Self:
        """Draw; new axes are as large as the graph needs."""
        fresh = ax is None
        ax = drawing_axes(self, ax)
        if fresh:
            ax.figure.set_size_inches(*self.size)
        for position, branch in enumerate(self.branches):
            if branch.parent >= 0:
                self._edge(ax, position, branch)
        for position, branch in enumerate(self.branches):
            self._box(ax, position, branch)
        columns, places = self.positions.max(axis=0)
        ax.set_xlim(-_WIDTH / 2 - 0.1, columns * _STEP + _WIDTH / 2 + 0.1)
        ax.set_ylim(places + 0.6, -0.6)
        ax.axis("off")
        return self

    def _edge(self, ax: Any, position: int, branch: Branch) -> None:
        (from_column, from_place), (column, place) = self.positions[[branch.parent, position]]
        start, end = from_column * _STEP + _WIDTH / 2, column * _STEP - _WIDTH / 2
        bend = start + 0.22 * (end - start)
        width = 0.6 + _WIDEST_LINE * branch.reach
        ax.plot([start, bend, end], [from_place, place, place], color=GRID, linewidth=width, solid_joinstyle="round",
                solid_capstyle="butt", zorder=1)  # fmt: skip
        words = f"{label(branch.answer, _ANSWER)}  {_percent(branch.reach)}"
        ax.text(end - 0.04, place - 0.06, words, ha="right", va="bottom", fontsize=6.5, color=MUTED, zorder=3)

    def _box(self, ax: Any, position: int, branch: Branch) -> None:
        from matplotlib.patches import FancyBboxPatch

        column, place = self.positions[position]
        decides = branch.asks < 0
        face = PALE
        if decides:
            face = class_colour(branch.decides, self.classes.size) or MAIN
        corner = (column * _STEP - _WIDTH / 2, place - _HEIGHT / 2)
        box = FancyBboxPatch(
            corner, _WIDTH, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.12", facecolor=face,
            edgecolor="none" if decides else MUTED, linewidth=0.8, linestyle=":" if branch.cut else "-", zorder=2,
        )  # fmt: skip
        ax.add_patch(box)
        ink = "white" if decides and _dark(face) else INK
        ax.text(column * _STEP, place, self._words(branch), ha="center", va="center", fontsize=7.5, color=ink,
                linespacing=1.15, zorder=3)  # fmt: skip

    def _words(self, branch: Branch) -> str:
        if branch.asks < 0:
            sure = _percent(float(branch.belief[branch.decides]))
            return f"{label(self.classes[branch.decides], _LABEL)}\n{sure} sure"
        name = self.names[branch.asks] if self.names is not None else f"feature {branch.asks}"
        return f"{label(name, _NAME)}{'?' * (not branch.cut)}\nprice {branch.price:.4g}{' …' * branch.cut}"


def _places(states: list[Branch]) -> np.ndarray:
    """Leaves one below the other, every question in the middle of its answers."""
    places = np.zeros((len(states), 2))
    ends: list[list[int]] = [[] for _ in states]
    for position, branch in enumerate(states):
        places[position, 0] = branch.depth
        if branch.parent >= 0:
            ends[branch.parent].append(position)
    leaf = 0
    for position in range(len(states)):  # reading order meets leaves from top to bottom
        if not ends[position]:
            places[position, 1] = leaf
            leaf += 1
    for position in range(len(states) - 1, -1, -1):
        if ends[position]:
            first, last = ends[position][0], ends[position][-1]
            places[position, 1] = (places[first, 1] + places[last, 1]) / 2
    return places


def _percent(share: float) -> str:
    """Neither certainty nor impossibility is made of rounding."""
    return "over 99%" if 0.995 < share < 1 else "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _dark(colour: str) -> bool:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.6
