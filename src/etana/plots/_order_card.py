"""An order of questions as a card: a line for each, with its price, who is asked it, and when it is decided instead."""

from __future__ import annotations

from typing import Any

from etana.plots._canvas import GRID, INK, MAIN, MUTED, label
from etana.reading import Branch, decided_from

__all__ = ["CARD_WIDTH", "card_height", "draw_card"]

CARD_WIDTH = 6.1
_LINE, _MARGIN = 0.5, 0.14
_NAME, _LABEL, _DECIDED = 24, 12, 34  # letters
# From the left edge: names, ends of prices, the bar and the end of its figure, and when it is decided.
_AT_NAME, _AT_PRICE, _BAR, _AT_SHARE, _AT_DECIDED = 0.14, 2.5, (2.66, 3.26), 3.82, 4.0


def card_height(states: list[Branch]) -> float:
    """Of a card with these questions: a heading, and a line for each; one more where the order goes on."""
    return _LINE * (1 + len(states) + states[-1].cut) + 2 * _MARGIN


def draw_card(ax: Any, left: float, top: float, states: list[Branch], names: list[str], classes: Any) -> None:
    """Draw it; ``names`` has one for each question."""
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch(
        (left, top), CARD_WIDTH, card_height(states), boxstyle="round,pad=0,rounding_size=0.12", facecolor="white",
        edgecolor=MUTED, linewidth=0.8, zorder=2,
    )  # fmt: skip
    ax.add_patch(box)
    y = top + _MARGIN + _LINE / 2
    for x, words, side in (
        (_AT_NAME, "ask in this order", "left"),
        (_AT_PRICE, "price", "right"),
        (_AT_SHARE, "are asked", "right"),
        (_AT_DECIDED, "or decide, if sure", "left"),
    ):
        ax.text(left + x, y, words, ha=side, va="center", fontsize=6, color=MUTED, zorder=3)
    for name, state in zip(names, states, strict=True):
        y += _LINE
        _draw_line(ax, left, y, name, state, classes)
    if states[-1].cut:
        ax.text(left + _AT_NAME, y + _LINE, "…", ha="left", va="center", fontsize=7.5, color=MUTED, zorder=3)


def _draw_line(ax: Any, left: float, y: float, name: str, state: Branch, classes: Any) -> None:
    assert state.sure is not None
    first, last = left + _BAR[0], left + _BAR[1]
    line = {"linewidth": 4.5, "solid_capstyle": "butt", "zorder": 3}
    ax.plot([first, last], [y, y], color=GRID, **line)
    ax.plot([first, first + (last - first) * min(state.asked, 1.0)], [y, y], color=MAIN, **line)
    decided = label(decided_from([label(c, _LABEL) for c in classes], state.sure), _DECIDED)
    for x, words, side, size, colour in (
        (_AT_NAME, label(name, _NAME), "left", 7.5, INK),
        (_AT_PRICE, f"{state.price:.4g}", "right", 6.5, MUTED),
        (_AT_SHARE, f"{state.asked:.0%}", "right", 6.5, INK),
        (_AT_DECIDED, decided, "left", 6.5, MUTED),
    ):
        ax.text(left + x, y, words, ha=side, va="center", fontsize=size, color=colour, zorder=3)
