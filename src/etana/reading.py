"""What an instance may be asked, as a reader meets it: questions, answers and decisions in the order of a tree.

Any model whose beliefs know how likely each answer is can be read so, whichever way it chooses what to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from etana.beliefs.base import Knowledge
from etana.model import Model
from etana.money import about
from etana.policies.base import Askable
from etana.table import plain_value

__all__ = ["Branch", "branches", "can_be_read", "export_text", "questions_by_chance"]

_DEPTH, _LEAST, _MOST_STATES = 8, 0.002, 4000  # of the tree that says how often each feature is asked


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


def can_be_read(model: Model) -> bool:
    """Whether the chance of every answer is known."""
    return model.beliefs.has_likelihoods


def branches(model: Model, max_depth: int, least: float) -> Iterator[Branch]:
    """States in reading order, a parent before its branches; answers in the order of their values."""
    todo: list[tuple[Knowledge, int, str, float]] = [(model.beliefs.begin(1), -1, "", 1.0)]
    position = -1
    while todo:
        knowledge, parent, answer, reach = todo.pop()
        position += 1
        depth, move, belief = len(knowledge.known), model.policy.act(knowledge), knowledge.posteriors[0]
        stops = bool(move.stops[0])
        cut = not stops and depth >= max_depth
        asks = -1 if stops else int(move.columns[0])
        decides = int(model.policy.decide(belief[None, :])[0])
        yield Branch(depth, parent, answer, reach, belief, decides, asks, float(move.prices[0]), cut)
        if not stops and not cut:
            todo.extend(reversed(list(_answers(model, knowledge, asks, position, reach, least))))


def _answers(
    model: Model, knowledge: Knowledge, column: int, position: int, reach: float, least: float
) -> Iterator[tuple[Knowledge, int, str, float]]:
    for possible in model.beliefs.possibilities(knowledge, column):
        assert possible.chance is not None
        if reach * possible.chance >= least:
            yield possible.after, position, possible.words, reach * possible.chance


def questions_by_chance(model: Model) -> list[Askable]:
    """What may be asked, with how often: in the order of asking if there is one, else what is asked most often first.

    Where each instance has an order of its own, chances are those of the first questions, up to a depth; what comes up
    deeper or hardly ever has the chance 0.
    """
    asked = model.questions()
    if model.order is not None or not can_be_read(model):
        return asked
    chances: dict[int, float] = {}
    for branch in islice(branches(model, _DEPTH, _LEAST), _MOST_STATES):
        if branch.asks >= 0:
            chances[branch.asks] = chances.get(branch.asks, 0.0) + branch.reach
    known = [one._replace(chance=min(chances.get(one.column, 0.0), 1.0)) for one in asked]
    return sorted(known, key=lambda one: -(one.chance or 0.0))


def export_text(model: Model, max_depth: int = 4, least: float = 0.01) -> str:
    """One line per state: the answer, how many instances in a hundred come there, and what is asked or decided."""
    return "\n".join(_line(model, b) for b in branches(model, max_depth, least))


def _line(model: Model, branch: Branch) -> str:
    start = "|   " * (branch.depth - 1) + f"|-- {branch.answer} ({branch.reach:.0%}): " if branch.depth else ""
    label = plain_value(model.classes[branch.decides])
    if branch.asks < 0:
        return f"{start}decide {label!r} ({branch.belief[branch.decides]:.0%} sure)"
    name = model.name_of(branch.asks)
    return f"{start}ask {name!r} (price {about(branch.price)})" + (" ..." if branch.cut else "")
