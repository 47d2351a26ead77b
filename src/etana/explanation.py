"""A case put into words: why it asks for this feature, or why it stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from etana.kernels.choice import information
from etana.money import about
from etana.policies.situation import next_move
from etana.table import plain_value

if TYPE_CHECKING:
    from etana.case import Case

__all__ = ["explain"]

_MOST_ANSWERS = 6
_NOTHING = 1e-9  # bits: less is rounding


def explain(case: Case) -> str:
    """A few sentences on the state of the case."""
    model, belief, k = case.model, case.posterior, case.n_asked
    likely = int(belief.argmax())
    state = (
        f"After {k} feature{'s' * (k != 1)} (cost {about(case.cost)}) the most likely class is "
        f"{plain_value(model.classes[likely])!r}, with {belief[likely]:.1%}. Deciding now for "
        f"{plain_value(case.label)!r} is expected to cost {about(case.stop_cost)}."
    )
    return "\n".join([state, *_circumstances(case), *(_why_stop(case) if case.stopped_by else _why_ask(case))])


def _circumstances(case: Case) -> Iterator[str]:
    """What came unasked, what waits, what is of no use and what cannot be had."""
    came = [entry.feature for entry in case.history if entry.came in ("known", "volunteered")]
    barred = [case.model.name_of(column) for column in sorted(case.situation.barred)]
    parts = [
        ("Known without being asked for", came), ("Waiting for their turn in the order", case.waiting),
        ("Of no use to these beliefs", case.unused), ("Cannot be had", barred),
    ]  # fmt: skip
    for words, features in parts:
        if features:
            yield f"{words}: {', '.join(map(repr, features))}."


def _why_stop(case: Case) -> Iterator[str]:
    policy, move = case.model.policy, case.wish if case.stopped_by == "budget" else case.move
    column = int(move.columns[0])
    if case.stopped_by == "features":
        yield "Stop: no feature is left that could tell more about the class."
        return
    if column < 0:
        yield f"Stop: {policy.why_none}."
        return
    feature, price = case.model.name_of(column), float(move.prices[0])
    if case.stopped_by == "budget":
        yield (
            f"Stop: the next feature, {feature!r}, costs {about(price)}, which the budget does not allow, and nothing "
            "that fits it is worth its price."
        )
    elif case.n_asked >= policy.most_features and not policy.columns.size <= policy.most_features:
        yield f"Stop: no more than {policy.most_features} features are asked of an instance."
    elif not np.isfinite(move.onward[0]):
        yield f"Stop: neither {feature!r} nor anything after it can pay for itself."
    else:
        yield _not_worth(feature, price, float(move.onward[0]), case.stop_cost) + _tells(case, column)


def _not_worth(feature: object, price: float, onward: float, stop: float) -> str:
    expected = about(max(onward, stop))
    text = f"Stop: asking for {feature!r} (price {about(price)}) and going on is expected to cost {expected}."
    worth = price - (onward - stop)
    if onward > stop and worth > 1e-6 * price:  # less is rounding
        text += f" It would be asked at a price below {about(worth)}."
    return text


def _why_ask(case: Case) -> Iterator[str]:
    column, price, stop = int(case.move.columns[0]), case.next_price, case.stop_cost
    onward = float(case.move.onward[0])
    text = (
        f"Ask for {case.model.name_of(column)!r} (price {about(price)}): {case.model.policy.why_next}. Going on with "
        f"it is expected to cost {about(onward)} in all"
    )
    if onward < stop:
        text += f", {about(stop - onward)} less. It would not be asked at a price above {about(price + stop - onward)}"
    yield text + "." + _tells(case, column)
    yield from _answers(case, column)


def _tells(case: Case, column: int) -> str:
    """How much a feature tells about the class, where that is known."""
    if not case.model.beliefs.has_likelihoods:
        return ""
    cells = np.ascontiguousarray(case.knowledge.likelihoods(column)[0])
    bits = information(case.posterior, cells, len(cells)) / np.log(2)
    if bits < _NOTHING:
        return " It tells nothing about the class."
    return f" It tells {bits:.3g} bits about the class."


def _answers(case: Case, column: int) -> Iterator[str]:
    """What answers would lead to, the likely ones first."""
    model, after = case.model, case.situation.paying(case.next_price)
    likely = sorted(model.beliefs.possibilities(case.knowledge, column), key=lambda one: -(one.chance or 0.0))
    for possible in likely[:_MOST_ANSWERS]:
        belief, move = possible.after.posteriors, next_move(model.policy, possible.after, after)
        chance = "" if possible.chance is None else f" ({possible.chance:.0%})"
        what = f"decides {plain_value(model.classes[model.policy.decide(belief)[0]])!r}"
        if not move.stops[0]:
            what = f"asks for {model.name_of(int(move.columns[0]))!r}"
        sure = f"{belief.max():.1%} sure of {plain_value(model.classes[int(belief.argmax())])!r}"
        yield f"  {possible.words}{chance}: {what}, {sure}"
