"""The decision graph in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from etana.adaptive.graph import State
from etana.adaptive.model import AdaptiveModel
from etana.explanation import plain
from etana.kernels import graph as kernel

__all__ = ["Branch", "branches", "export_text"]


class Branch(NamedTuple):
    """A state as a reader meets it: the answer that leads there, its chance, and what happens there."""

    depth: int
    parent: int
    answer: str
    reach: float
    belief: np.ndarray
    decides: int
    asks: int
    price: float
    cut: bool


def branches(model: AdaptiveModel, max_depth: int, least: float) -> Iterator[Branch]:
    """States in reading order, a parent before its branches; the likely answers first in value order."""
    graph, columns = model.graph.twig(), model.columns
    shared = model.graph
    todo = [(0, 0, -1, "", 1.0)]
    position = -1
    while todo:
        node, other, parent, answer, reach = todo.pop()
        position += 1
        state = graph.state(node)
        belief = np.empty(model.classes.size)
        kernel.believe(state.logs, belief)
        asks = -1 if state.stops else int(columns[state.feature])
        cut = not state.stops and state.depth >= max_depth
        decides = int(kernel.decide(belief, model.mistakes))
        yield Branch(state.depth, parent, answer, reach, belief, decides, asks, float(state.price), cut)
        if state.stops or cut:
            continue
        todo.extend(reversed(list(_answers(model, graph, shared, state, other, belief, reach, position, least))))


def _answers(
    model: AdaptiveModel, graph: object, shared: object, state: State, other: int, belief: np.ndarray, reach: float,
    position: int, least: float,
) -> Iterator[tuple[int, int, int, str, float]]:  # fmt: skip
    chances = np.exp(state.answers) @ belief
    for code in np.flatnonzero(reach * chances >= least).tolist():
        known = shared.known(other, code) if other >= 0 else -1  # type: ignore[attr-defined]
        after = graph.after(state.node, code)  # type: ignore[attr-defined]
        if known >= 0:
            graph.copy_node(after, shared, known)  # type: ignore[attr-defined]
        answer = model.binner.describe(int(model.columns[state.feature]), code)
        yield after, known, position, answer, reach * float(chances[code])


def export_text(model: AdaptiveModel, max_depth: int = 4, least: float = 0.01) -> str:
    """One line per state: the answer, how many instances in a hundred come there, and what is asked or decided."""
    return "\n".join(_line(model, b) for b in branches(model, max_depth, least))


def _line(model: AdaptiveModel, branch: Branch) -> str:
    start = "|   " * (branch.depth - 1) + f"|-- {branch.answer} ({branch.reach:.0%}): " if branch.depth else ""
    label = plain(model.classes[branch.decides])
    if branch.asks < 0:
        return f"{start}decide {label!r} ({branch.belief[branch.decides]:.0%} sure)"
    name = model.name_of(branch.asks)
    return f"{start}ask {name!r} (price {branch.price:.4g})" + (" ..." if branch.cut else "")
