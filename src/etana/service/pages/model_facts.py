"""What a page says about a model."""

from __future__ import annotations

from dataclasses import dataclass

from etana.service.models import Served
from etana.service.pages.facts import MOST_BARS, Bar, bar, bars, money_of, title
from etana.service.pages.wording import Money, text
from etana.service.views import ModelView

__all__ = ["ModelPage", "model_page"]

_RARE = 0.001


@dataclass(frozen=True)
class ModelPage:
    """A model for its page."""

    name: str
    digest: str
    classes: list[Bar]
    others: str | None
    n_features: int
    expected_cost: str
    held_out: str | None
    nothing: str
    expected_n_features: str
    gap: str | None
    panel: str
    features: list[tuple[str, str, Bar | None]]
    rare: list[tuple[str, str]]
    hidden: int
    never: int
    mistakes: list[tuple[str, list[str]]] | None
    beliefs: str
    policy: str
    in_order: bool


def model_page(served: Served, view: ModelView) -> ModelPage:
    """What the page of a model shows."""
    money, model = money_of(served), served.model
    classes, others = bars(view.classes, None)
    usual, rare = _order(served, view, money)
    never = model.n_features - len(served.questions)
    return ModelPage(
        name=view.name, digest=view.digest, classes=classes, others=others, n_features=view.n_features,
        expected_cost=money.estimate(view.expected_cost), expected_n_features=f"{view.expected_n_features:.1f}",
        held_out=None if model.judgement is None else money.estimate(model.judgement.cost),
        nothing=money.estimate(model.cost_at_once),
        gap=_gap(view.optimality_gap, money), panel=money(model.full_price),
        features=usual, rare=rare, hidden=max(view.n_features - len(view.features) - never, 0), never=never,
        mistakes=None if len(view.classes) > MOST_BARS else _mistakes(served, money),
        beliefs=model.beliefs.words, policy=model.policy.words, in_order=model.order is not None,
    )  # fmt: skip


def _gap(gap: float | None, money: Money) -> str | None:
    if gap is None:
        return None
    smallest = 0.5 * 10.0 ** -(money.decimals + money.small)
    return "none" if gap <= 0 else f"under {2 * smallest:g}" if gap < smallest else money.estimate(gap)


def _order(
    served: Served, view: ModelView, money: Money
) -> tuple[list[tuple[str, str, Bar | None]], list[tuple[str, str]]]:
    """Features in order with their prices and how often the model expects to ask them; those it hardly asks apart."""
    usual: list[tuple[str, str, Bar | None]] = []
    rare = []
    for feature, question in zip(view.features, served.questions, strict=False):
        name, price, chance = title(served, feature.name), money(feature.price), question.chance
        if chance is not None and chance < _RARE:
            rare.append((name, price))
        else:
            usual.append((name, price, None if chance is None else bar("asked", min(chance, 1.0), True)))
    return usual, rare


def _mistakes(served: Served, money: Money) -> list[tuple[str, list[str]]]:
    rows = zip(served.labels, served.model.mistakes, strict=True)
    return [(text(label), [money(cost) for cost in row]) for label, row in rows]
