"""A case put into words: why it asks for this feature, or why it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from etana.acquisition import Case

__all__ = ["explain", "plain", "why_ask", "why_stop"]

_MOST_ANSWERS = 6


def explain(case: Case) -> str:
    """A few sentences on the state of the case."""
    model, belief, k = case._model, case.posterior, len(case.history)
    stop = float(model.problem.stop_cost(belief))
    likely = int(belief.argmax())
    lines = [
        f"After {k} feature{'s' * (k != 1)} (cost {case.cost:.4g}) the most likely class is "
        f"{plain(model.classes[likely])!r}, with {belief[likely]:.1%}. Deciding now for {plain(case.label)!r} "
        f"is expected to cost {stop:.4g}."
    ]
    reason = case.stopped_by
    if reason == "features":
        lines.append("Stop: every feature has been asked.")
        return "\n".join(lines)
    price, onward = float(model.problem.feature_costs[k]), float(model.policy.continuation(k, belief))
    feature = case._feature(k)
    if reason == "budget":
        lines.append(f"Stop: the next feature, {feature!r}, costs {price:.4g}, which the budget does not allow.")
    elif reason == "policy":
        lines.append(why_stop(feature, price, onward, stop))
    else:
        lines.append(why_ask(feature, price, onward, stop))
        lines.extend(_chances(case, k, belief))
    return "\n".join(lines)


def plain(label: Any) -> Any:
    """A label as Python prints it, not as NumPy does."""
    return label.item() if isinstance(label, np.generic) else label


def why_stop(feature: object, price: float, onward: float, stop: float) -> str:
    """Why a feature is not asked for."""
    if not np.isfinite(onward):
        return f"Stop: neither {feature!r} nor anything after it can pay for itself."
    text = f"Stop: asking for {feature!r} (price {price:.4g}) and going on is expected to cost {onward:.4g}."
    worth = price - (onward - stop)
    if worth > 1e-6 * price:  # less is rounding
        text += f" It would be asked at a price below {worth:.4g}."
    return text


def why_ask(feature: object, price: float, onward: float, stop: float) -> str:
    """Why a feature is asked for."""
    text = f"Ask for {feature!r} (price {price:.4g}): going on with it is expected to cost {onward:.4g} in all"
    if onward < stop:
        return f"{text}, {stop - onward:.4g} less. It would not be asked at a price above {price + stop - onward:.4g}."
    return text + "."


def _chances(case: Case, k: int, belief: np.ndarray) -> list[str]:
    """What each answer would lead to, the likely ones first."""
    model = case._model
    column = int(model.order[k])
    delta = model.problem.stage(k)
    joint = delta * belief
    chance = joint.sum(axis=1)
    lines = []
    for code in np.argsort(-chance, kind="stable")[:_MOST_ANSWERS]:
        if chance[code] <= 0:
            continue
        after = joint[code] / chance[code]
        best = plain(model.classes[model.policy.decide(after)])
        goes_on = not model.policy.stops(k + 1, after)
        what = "goes on" if goes_on else f"decides {best!r}"
        lines.append(
            f"  {model.binner.describe(column, int(code))} ({chance[code]:.0%}): {what}, "
            f"{after.max():.1%} sure of {plain(model.classes[int(after.argmax())])!r}"
        )
    return lines
