"""What an instance may be asked, as a reader meets it: questions, answers and decisions in the order of a tree.

Any model whose beliefs know how likely each answer is can be read answer by answer, whichever way it chooses what to
ask. Of another the policy's outline is read (:mod:`etana.policies.outline`): the order of its questions, the share of
rows that is asked each, how sure one must be to decide instead, and where orders part.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from etana.beliefs.base import Knowledge
from etana.model import Model
from etana.money import about
from etana.policies.base import Askable
from etana.policies.outline import Step
from etana.table import plain_value

__all__ = ["Branch", "branches", "can_be_read", "decided_from", "export_text", "questions_by_chance"]

_DEPTH, _LEAST, _MOST_STATES = 8, 0.002, 4000  # of the tree that says how often each feature is asked


class Branch(NamedTuple):
    """A state as a reader meets it: the answer that leads there, its chance, and what happens there.

    A state of an outline has ``sure``, from which certainty on each class is decided for instead of asking, and
    ``asked``, the share of instances that are asked. One that is reached by going on, and not by an answer, has the
    depth of its parent. Where ``decides`` is -1 it is known only in the end what is decided.
    """

    depth: int
    parent: int
    answer: str
    reach: float
    belief: np.ndarray
    decides: int
    asks: int
    price: float
    cut: bool
    sure: np.ndarray | None = None
    asked: float = 0.0

    def goes_on_from(self, parent: Branch) -> bool:
        """Whether no answer but going on leads here from its parent."""
        return self.sure is not None and self.depth == parent.depth


def can_be_read(model: Model) -> bool:
    """Whether the chance of every answer is known, or the policy has an outline."""
    return model.beliefs.has_likelihoods or model.policy.outline(model.beliefs) is not None


def branches(model: Model, max_depth: int, least: float) -> Iterator[Branch]:
    """States in reading order, a parent before its branches; answers in the order of their values."""
    return (_by_answers if model.beliefs.has_likelihoods else _outlined)(model, max_depth, least)


def _by_answers(model: Model, max_depth: int, least: float) -> Iterator[Branch]:
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


def _outlined(model: Model, max_depth: int, least: float) -> Iterator[Branch]:
    steps = model.policy.outline(model.beliefs) or []
    after: list[list[int]] = [[] for _ in steps]
    for i, step in enumerate(steps):
        if step.parent >= 0:
            after[step.parent].append(i)
    places: dict[int, tuple[int, int]] = {}  # where a step stands, and its depth
    for i, step in enumerate(steps):
        parent, depth = places.get(step.parent, (-1, 0))
        hidden = step.parent >= 0 and (step.parent not in places or _rare(step, least))
        depth += bool(step.answer)
        if hidden or depth > max_depth:
            continue
        places[i] = len(places), depth
        further = [k for k in after[i] if not _rare(steps[k], least)]
        cut = bool(after[i]) and (not further or (depth == max_depth and bool(steps[after[i][0]].answer)))
        yield Branch(
            depth, parent, step.answer, step.reach, step.belief, -1, step.asks, step.price, cut, step.sure, step.asked
        )


def _rare(step: Step, least: float) -> bool:
    """Who comes by going on counts where asked again."""
    return (step.reach if step.answer or step.asks < 0 else step.asked) < least


def decided_from(classes: Any, sure: np.ndarray) -> str:
    """From which certainty on a class is decided for, in words."""
    if (sure > 1).any():
        return "never: it is free"
    levels = [f"{level:.0%}" for level in sure]
    if len(set(levels)) == 1:
        return levels[0]
    if len(levels) == 2:
        return " or ".join(f"{level} {plain_value(label)}" for level, label in zip(levels, classes, strict=True))
    return f"{sure.min():.0%} to {sure.max():.0%}, by class"


def questions_by_chance(model: Model) -> list[Askable]:
    """What may be asked, with how often: in the order of asking if there is one, else what is asked most often first.

    Where each instance has an order of its own, chances are those of the first questions, up to a depth; what comes up
    deeper or hardly ever has the chance 0.
    """
    asked = model.questions()
    if model.order is not None or not model.beliefs.has_likelihoods:
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
    if branch.sure is not None:
        return _outlined_line(model, branch, start)
    label = plain_value(model.classes[branch.decides])
    if branch.asks < 0:
        return f"{start}decide {label!r} ({branch.belief[branch.decides]:.0%} sure)"
    name = model.name_of(branch.asks)
    return f"{start}ask {name!r} (price {about(branch.price)})" + (" ..." if branch.cut else "")


def _outlined_line(model: Model, branch: Branch, start: str) -> str:
    assert branch.sure is not None
    if branch.asks < 0:
        return f"{start}decide"
    if branch.answer or branch.parent < 0:
        start += "ask"
    else:
        start = "|   " * branch.depth + "then"
    decided = decided_from(model.classes, branch.sure)
    words = f"price {about(branch.price)}, {branch.asked:.0%} are asked, decides from {decided}"
    return f"{start} {model.name_of(branch.asks)!r} ({words})" + (" ..." if branch.cut else "")
