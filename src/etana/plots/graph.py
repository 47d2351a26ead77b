"""What is asked, as a graph, as far as a reader can follow it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from etana.errors import InputError
from etana.plots._canvas import GRID, INK, MAIN, MUTED, PALE, class_colour, drawing_axes, label
from etana.plots._order_card import CARD_WIDTH, card_height, draw_card
from etana.plots._outcome import model_of
from etana.reading import Branch, branches, can_be_read
from etana.typing import ArrayLike, Axes, Figure, Fitted

__all__ = ["GraphDisplay"]

_STEP, _WIDTH, _HEIGHT = 3.4, 1.9, 0.72  # from column to column, and of a box
_INCHES_PER_COLUMN, _INCHES_PER_LEAF = 2.9, 0.42
_NAME, _LABEL, _ANSWER = 24, 18, 21
_WIDEST_LINE = 7.0


class GraphDisplay:
    """Questions, answers and decisions, from left to right.

    A box is a question with its price, an edge an answer, as wide as the share of instances that the model expects to
    give it, and a coloured box a decision with how sure it is. A dotted box stands for questions that are not drawn.

    Where the chances of answers are not known, boxes are the splits of a policy tree, edges as wide as the share of
    training rows, and each region is a card with its order: the price of each question, the share of all rows that is
    asked it, and how sure one must be to decide instead, the other classes being as likely as in the region.

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
        Where each state stands: column, and place from the top; questions of a card stand where the card does.
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

    ax_: Axes
    figure_: Figure

    def __init__(self, branches: Any, classes: ArrayLike, names: list[str] | None = None) -> None:
        self.branches: list[Branch] = list(branches)
        if not self.branches:
            raise InputError("there are no states to draw; give those of etana.reading.branches")
        self.classes = np.asarray(classes)
        self.names = names
        self._blocks = _blocks(self.branches)
        self.positions = _places(self.branches, self._blocks)

    @classmethod
    def from_estimator(
        cls, estimator: Fitted, *, ax: Axes | None = None, max_depth: int = 3, least: float = 0.01
    ) -> Self:
        """Draw what a classifier asks, as a graph.

        Parameters
        ----------
        estimator : fitted classifier, or its Model
        ax : matplotlib Axes, optional
        max_depth : int
            Answers after which a branch is cut short.
        least : float
            Branches that are reached by a smaller share of instances than this are left out.
        """
        model = model_of(estimator)
        if not can_be_read(model):
            raise InputError(
                f"{type(estimator).__name__} does not know how likely each answer is, and its policy has no order, so "
                "that its questions cannot be drawn; draw what rows were asked: etana.plots.ExamplePathsDisplay"
            )
        if not max_depth >= 0 or not 0 <= least <= 1:
            raise InputError(
                f"max_depth is {max_depth!r} and least {least!r}; they must be >= 0, and a share from 0 to 1"
            )
        return cls(branches(model, max_depth, least), model.classes, model.names).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which all text can be read."""
        right, bottom = self._extent()
        width = _INCHES_PER_COLUMN * (right + _WIDTH / 2 + _STEP - _WIDTH) / _STEP
        return max(width, 4.0), max(_INCHES_PER_LEAF * (bottom + 0.5) + 0.3, 1.6)

    def _extent(self) -> tuple[float, float]:
        """How far the drawing reaches to the right and down."""
        ends = [(self._left(b) + self._width(b), self.positions[b[0], 1] + self._height(b) / 2) for b in self._blocks]
        right, bottom = np.array(ends).max(axis=0).tolist()
        return right, bottom

    def _is_card(self, block: list[int]) -> bool:
        """An order of its own; a question that parts rows, or stands alone in a tree of answers, is a box."""
        head = self.branches[block[0]]
        return head.sure is not None and head.asks >= 0 and not any(b.parent == block[-1] for b in self.branches)

    def _left(self, block: list[int]) -> float:
        return float(self.positions[block[0], 0]) * _STEP - _WIDTH / 2

    def _width(self, block: list[int]) -> float:
        return CARD_WIDTH if self._is_card(block) else _WIDTH

    def _height(self, block: list[int]) -> float:
        return card_height([self.branches[k] for k in block]) if self._is_card(block) else _HEIGHT

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; new axes are as large as the graph needs."""
        fresh = ax is None
        ax = drawing_axes(self, ax)
        if fresh:
            self.figure_.set_size_inches(*self.size)
        for position, branch in enumerate(self.branches):
            if branch.parent >= 0 and not branch.goes_on_from(self.branches[branch.parent]):
                self._edge(ax, position, branch)
        for block in self._blocks:
            if self._is_card(block):
                self._card(ax, block)
            else:
                for position in block:
                    self._box(ax, position, self.branches[position])
        right, bottom = self._extent()
        ax.set_xlim(-_WIDTH / 2 - 0.1, right + 0.1)
        ax.set_ylim(bottom + 0.24, -0.6)
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

    def _card(self, ax: Any, block: list[int]) -> None:
        states = [self.branches[k] for k in block]
        top = float(self.positions[block[0], 1]) - card_height(states) / 2
        draw_card(ax, self._left(block), top, states, [self._name(state.asks) for state in states], self.classes)

    def _box(self, ax: Any, position: int, branch: Branch) -> None:
        from matplotlib.patches import FancyBboxPatch

        column, place = self.positions[position]
        decides = branch.asks < 0 and branch.decides >= 0
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

    def _name(self, column: int) -> str:
        return self.names[column] if self.names is not None else f"feature {column}"

    def _words(self, branch: Branch) -> str:
        if branch.asks < 0 and branch.decides < 0:
            return "decide"
        if branch.asks < 0:
            sure = _percent(float(branch.belief[branch.decides]))
            return f"{label(self.classes[branch.decides], _LABEL)}\n{sure} sure"
        name = label(self._name(branch.asks), _NAME)
        return f"{name}{'?' * (not branch.cut)}\nprice {branch.price:.4g}{' …' * branch.cut}"


def _blocks(states: list[Branch]) -> list[list[int]]:
    """States that stand together: a question, and those that follow it by going on."""
    blocks: list[list[int]] = []
    for position, branch in enumerate(states):
        if branch.parent >= 0 and branch.goes_on_from(states[branch.parent]):
            blocks[-1].append(position)
        else:
            blocks.append([position])
    return blocks


def _places(states: list[Branch], blocks: list[list[int]]) -> np.ndarray:
    """Leaves one below the other, every question in the middle of its answers."""
    places = np.zeros((len(states), 2))
    ends: list[list[int]] = [[] for _ in states]
    for block in blocks:
        head = states[block[0]]
        places[block, 0] = head.depth
        if head.parent >= 0:
            ends[head.parent].append(block[0])
    top = -0.5
    for block in blocks:  # reading order meets leaves from top to bottom
        if not ends[block[-1]]:
            card = states[block[0]].sure is not None and states[block[0]].asks >= 0
            room = card_height([states[k] for k in block]) + 1 - _HEIGHT if card else 1.0
            places[block, 1] = top + room / 2
            top += room
    for block in reversed(blocks):
        if ends[block[-1]]:
            first, last = ends[block[-1]][0], ends[block[-1]][-1]
            places[block, 1] = (places[first, 1] + places[last, 1]) / 2
    return places


def _percent(share: float) -> str:
    """Neither certainty nor impossibility is made of rounding."""
    return "over 99%" if 0.995 < share < 1 else "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _dark(colour: str) -> bool:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.6
