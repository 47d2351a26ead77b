"""What a page says about a case or a model, worked out from the case service's views and the model behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.case import Case
from etana.service.case_service import Belief, CaseView, ModelView, Question, Step
from etana.service.models import Served
from etana.service.pages.forms import ANOTHER, offers_another
from etana.service.pages.wording import Money, percent, text

__all__ = ["Bar", "CaseFacts", "Input", "Leg", "ModelPage", "case_facts", "model_page", "money_of", "title"]

_MOST_BARS = 8
_MOST_RADIOS = 8
_RARE = 0.001


@dataclass(frozen=True)
class Bar:
    """A share with a name: its width is in per cent of the whole."""

    name: str
    share: str
    width: str
    chosen: bool = False


@dataclass(frozen=True)
class Input:
    """How a question is put: a number, a choice of few, or of many."""

    kind: str
    choices: list[tuple[str, str]]
    hint: str


@dataclass(frozen=True)
class Leg:
    """A step of the path: what was asked, the answer, and the belief in the class that is now chosen after it."""

    feature: str
    value: Any
    meaning: str
    price: str
    belief: Bar


@dataclass(frozen=True)
class CaseFacts:
    """A case for its page; costs are written out."""

    bars: list[Bar]
    others: str | None
    label: str
    confidence: str
    likeliest: str
    question: str | None
    price: str | None
    input: Input | None
    spent: str
    budget: str | None
    remaining: str
    risk: str
    asked: int
    n_features: int
    panel: str
    panel_share: str | None
    path: list[Leg]


def title(served: Served, name: str) -> str:
    """A feature's name; a number gets a word before it."""
    return name if served.model.names is not None else f"feature {name}"


def money_of(served: Served) -> Money:
    """How costs of this model are written."""
    return Money.of(served.model.prices.full)


def case_facts(served: Served, view: CaseView, case: Case) -> CaseFacts:
    """What the page of a case shows."""
    money, model = money_of(served), served.model
    beliefs = np.array([b.probability for b in view.posterior])
    bars, others = _bars(view.posterior, view.label)
    question = view.question
    return CaseFacts(
        bars=bars, others=others,
        label=text(view.label), confidence=percent(_belief_in(view.posterior, view.label)),
        likeliest=text(view.posterior[int(beliefs.argmax())].label),
        question=None if question is None else title(served, question.name),
        price=None if question is None else money(question.price),
        input=None if question is None else _input(question),
        spent=money(view.cost), budget=None if view.max_cost is None else money(view.max_cost),
        remaining=money.estimate(view.expected_remaining),
        risk=money.estimate(float((beliefs @ model.mistakes).min())),
        asked=len(view.history), n_features=model.n_features, panel=money(model.full_price),
        panel_share=f"{100 * view.cost / model.full_price:.0f} %" if model.full_price else None,
        path=_path(served, view, case, money),
    )  # fmt: skip


def _belief_in(posterior: list[Belief], label: Any) -> float:
    return next(b.probability for b in posterior if b.label == label and type(b.label) is type(label))


def _bar(name: Any, probability: float, chosen: bool = False) -> Bar:
    return Bar(text(name), percent(probability), f"{100 * probability:.2f}%", chosen)


def _bars(posterior: list[Belief], label: Any) -> tuple[list[Bar], str | None]:
    """A bar for each class in the order of the model; of many classes the likeliest, and a word on the others."""
    shown = posterior
    if len(posterior) > _MOST_BARS:
        shown = sorted(posterior, key=lambda b: -b.probability)[: _MOST_BARS - 1]
    bars = [_bar(b.label, b.probability, b.label == label) for b in shown]
    rest = len(posterior) - len(shown)
    share = max(1.0 - sum(b.probability for b in shown), 0.0)
    return bars, f"{rest} other classes: together {percent(share)}" if rest else None


def _input(question: Question) -> Input:
    if question.kind == "number":
        return Input("number", [], _range(question.low, question.high))
    categories = question.categories or []
    choices = [(str(i), text(c)) for i, c in enumerate(categories)]
    if offers_another(categories):
        choices.append((ANOTHER, "another one, not in this list"))
    return Input("few" if len(choices) <= _MOST_RADIOS else "many", choices, "")


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "Any number."
    if low == high:
        return f"What matters is whether it is below {low:.6g}, or {low:.6g} and more."
    return f"What matters is where it lies between {low:.6g} and {high:.6g}; numbers outside are fine."


def _path(served: Served, view: CaseView, case: Case, money: Money) -> list[Leg]:
    """The answers in order, with the belief after each."""
    chosen = served.labels.index(view.label)
    legs = []
    for step, belief in zip(view.history, case.beliefs[1:], strict=True):
        bar = _bar(view.label, float(belief[chosen]), True)
        meaning = _meaning(step, served.categories(served.columns[step.feature]) is not None)
        legs.append(Leg(title(served, step.feature), step.value, meaning, money(step.price), bar))
    return legs


def _meaning(step: Step, category: bool) -> str:
    """What was understood of an answer, where that says more than the answer."""
    known = category and step.meaning not in ("no evidence", "not seen")
    return "" if step.value is None or known else step.meaning


@dataclass(frozen=True)
class ModelPage:
    """A model for its page."""

    name: str
    digest: str
    classes: list[Bar]
    others: str | None
    n_features: int
    expected_cost: str
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
    classes, others = _bars(view.classes, None)
    usual, rare = _order(served, view, money)
    never = model.n_features - len(model.questions())
    return ModelPage(
        name=view.name, digest=view.digest, classes=classes, others=others, n_features=view.n_features,
        expected_cost=money.estimate(view.expected_cost), expected_n_features=f"{view.expected_n_features:.1f}",
        gap=_gap(view.optimality_gap, money), panel=money(model.full_price),
        features=usual, rare=rare, hidden=max(view.n_features - len(view.features) - never, 0), never=never,
        mistakes=None if len(view.classes) > _MOST_BARS else _mistakes(served, money),
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
    for feature, question in zip(view.features, served.model.questions(), strict=False):
        name, price, chance = title(served, feature.name), money(feature.price), question.chance
        if chance is not None and chance < _RARE:
            rare.append((name, price))
        else:
            usual.append((name, price, None if chance is None else _bar("asked", min(chance, 1.0), True)))
    return usual, rare


def _mistakes(served: Served, money: Money) -> list[tuple[str, list[str]]]:
    rows = zip(served.labels, served.model.mistakes, strict=True)
    return [(text(label), [money(cost) for cost in row]) for label, row in rows]
