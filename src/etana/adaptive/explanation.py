"""A case of an adaptive policy put into words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from etana.explanation import plain
from etana.kernels import graph as kernel

if TYPE_CHECKING:
    from etana.adaptive.model import AdaptiveCase

__all__ = ["explain"]

_MOST_ANSWERS = 6


def explain(case: AdaptiveCase) -> str:
    """A few sentences on the state of the case."""
    model, belief, k = case._model, case.posterior, len(case.history)
    likely = int(belief.argmax())
    lines = [
        f"After {k} feature{'s' * (k != 1)} (cost {case.cost:.4g}) the most likely class is "
        f"{plain(model.classes[likely])!r}, with {belief[likely]:.1%}. Deciding now for {plain(case.label)!r} "
        f"is expected to cost {case.stop_cost:.4g}."
    ]
    reason = case.stopped_by
    if reason == "features":
        lines.append("Stop: no feature that is left tells anything more about the class.")
        return "\n".join(lines)
    state, levels = case.state, model.graph.levels
    if state.feature < 0:
        lines.append(f"Stop: no plan of up to {levels} further features is expected to pay for itself.")
        return "\n".join(lines)
    feature, price = model.name_of(case.next_column), case.next_price
    share = f"{state.information / np.log(2):.3g} bits"
    if reason == "budget":
        lines.append(f"Stop: the next feature, {feature!r}, costs {price:.4g}, which the budget does not allow.")
    elif state.depth >= model.graph.deepest:
        lines.append(f"Stop: no more than {model.graph.deepest} features are asked of an instance.")
    elif reason == "policy":
        lines.append(
            f"Stop: {feature!r} (price {price:.4g}) would tell most per price, {share}, and that is not expected to "
            "pay for itself and for what would follow."
        )
    else:
        ahead = case.expected_cost - case.cost
        why = (
            f"it begins the best plan of up to {levels} features and tells"
            if levels
            else "of all features it tells most"
        )
        lines.append(
            f"Ask for {feature!r} (price {price:.4g}): {why}{'' if levels else ' per price'} here, {share}; going "
            f"on with it is expected to cost {ahead:.4g} in all."
        )
        lines.extend(_chances(case, belief))
    return "\n".join(lines)


def _chances(case: AdaptiveCase, belief: np.ndarray) -> list[str]:
    """What each answer would lead to, the likely ones first."""
    model, column = case._model, case.next_column
    node, shared = case._nodes[len(case.history)]
    chance = np.exp(case.state.answers) @ belief
    lines = []
    for code in np.argsort(-chance, kind="stable")[:_MOST_ANSWERS].tolist():
        after, _ = case.answer(node, shared, code)
        state, next_belief = case._twig.state(after), np.empty(belief.size)
        kernel.believe(state.logs, next_belief)
        decided = plain(model.classes[kernel.decide(next_belief, model.mistakes)])
        what = (
            f"decides {decided!r}" if state.stops else f"asks for {model.name_of(int(model.columns[state.feature]))!r}"
        )
        lines.append(
            f"  {model.binner.describe(column, code)} ({chance[code]:.0%}): {what}, {next_belief.max():.1%} sure of "
            f"{plain(model.classes[int(next_belief.argmax())])!r}"
        )
    return lines
