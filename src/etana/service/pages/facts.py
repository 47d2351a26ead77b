"""What a page says about a case, worked out from the case service's view and the case behind it."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.case import Case
from etana.dictionary import words_of_range
from etana.service.models import Served
from etana.service.pages.forms import ANOTHER, offers_another
from etana.service.pages.wording import Money, moment, percent, text
from etana.service.views import Belief, CaseView, FeatureView, Step, SuggestionView

__all__ = [
    "MOST_BARS",
    "Bar",
    "CaseFacts",
    "Input",
    "Leg",
    "Offer",
    "PanelOffer",
    "bar",
    "bars",
    "case_facts",
    "input_of",
    "money_of",
    "title",
]

MOST_BARS = 8
_MOST_RADIOS = 8
_MOST_TO_TELL = 1000
_CAME = {"known": "known up front, free", "volunteered": "came in unasked", "unavailable": "not charged"}


@dataclass(frozen=True)
class Bar:
    """A share with a name: its width is in per cent of the whole."""

    name: str
    share: str
    width: str
    chosen: bool = False


@dataclass(frozen=True)
class Input:
    """How a question is put: a number, a choice of few, or of many; with what the dictionary says of it."""

    kind: str
    choices: list[tuple[str, str]]
    hint: str
    unit: str
    description: str


@dataclass(frozen=True)
class Offer:
    """A test that could be done now: its name, column, price, and what it is expected to save."""

    name: str
    column: int
    price: str
    saving: str | None


@dataclass(frozen=True)
class PanelOffer:
    """Tests to order together: names, price with waiting, and what that is expected to save."""

    names: list[str]
    price: str
    saving: str | None


@dataclass(frozen=True)
class Leg:
    """A step of the path: what it is about, the answer, and the belief in the class that is now chosen after it."""

    feature: str
    value: str
    meaning: str
    price: str
    belief: Bar | None
    note: str
    warning: str | None


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
    fees: str | None
    mistakes: str | None
    risk: str
    asked: int
    n_features: int
    panel: str
    panel_share: str | None
    path: list[Leg]
    can_undo: bool
    offers: list[Offer]
    panel_offer: PanelOffer | None
    others_to_tell: list[tuple[int, str]]
    barred: list[str]
    waiting: list[str]
    unused: list[str]
    kept_until: str
    now: str


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
    shown, others = bars(view.posterior, view.label)
    question = view.question
    return CaseFacts(
        bars=shown, others=others,
        label=text(view.label), confidence=percent(_belief_in(view.posterior, view.label)),
        likeliest=text(view.posterior[int(beliefs.argmax())].label),
        question=None if question is None else title(served, question.name),
        price=None if question is None else money(question.price),
        input=None if question is None else input_of(question),
        spent=money(view.cost), budget=None if view.max_cost is None else money(view.max_cost),
        remaining=money.estimate(view.expected_remaining),
        fees=None if view.expected_fees is None else money.estimate(view.expected_fees),
        mistakes=None if view.expected_risk is None else money.estimate(view.expected_risk),
        risk=money.estimate(float((beliefs @ model.mistakes).min())),
        asked=case.n_asked, n_features=model.n_features, panel=money(model.full_price),
        panel_share=f"{100 * view.cost / model.full_price:.0f} %" if model.full_price else None,
        path=_path(served, view, case, money), can_undo=any(step.came != "known" for step in view.history),
        offers=[_offer(served, one, money) for one in view.suggestions],
        panel_offer=_panel_offer(served, view, money),
        others_to_tell=_others_to_tell(served, case),
        barred=[title(served, served.features[k]) for k in sorted(case.situation.barred)],
        waiting=[title(served, name) for name in view.waiting], unused=[title(served, name) for name in view.unused],
        kept_until=moment(view.expires), now=moment(time.time()),
    )  # fmt: skip


def _offer(served: Served, one: SuggestionView, money: Money) -> Offer:
    saving = None if one.saving is None else money.estimate(one.saving)
    return Offer(title(served, one.feature), served.columns[one.feature], money(one.price), saving)


def _panel_offer(served: Served, view: CaseView, money: Money) -> PanelOffer | None:
    panel = view.panel
    if panel is None:
        return None
    saving = None if panel.saving is None else money.estimate(panel.saving)
    return PanelOffer([title(served, name) for name in panel.features], money(panel.price), saving)


def _others_to_tell(served: Served, case: Case) -> list[tuple[int, str]]:
    """Features whose results may come in without having been asked for, what is asked first first."""
    known = {served.columns[str(e.feature)] for e in case.history if e.came != "unavailable"} | {case.next_column}
    columns = (one.column for one in served.questions if one.column not in known)
    return [(k, title(served, served.features[k])) for k in itertools.islice(columns, _MOST_TO_TELL)]


def _belief_in(posterior: list[Belief], label: Any) -> float:
    return next(b.probability for b in posterior if b.label == label and type(b.label) is type(label))


def bar(name: Any, probability: float, chosen: bool = False) -> Bar:
    """A share as a bar."""
    return Bar(text(name), percent(probability), f"{100 * probability:.2f}%", chosen)


def bars(posterior: list[Belief], label: Any) -> tuple[list[Bar], str | None]:
    """A bar for each class in the order of the model; of many classes the likeliest, and a word on the others."""
    shown = posterior
    if len(posterior) > MOST_BARS:
        shown = sorted(posterior, key=lambda b: -b.probability)[: MOST_BARS - 1]
    drawn = [bar(b.label, b.probability, b.label == label) for b in shown]
    rest = len(posterior) - len(shown)
    share = max(1.0 - sum(b.probability for b in shown), 0.0)
    return drawn, f"{rest} other classes: together {percent(share)}" if rest else None


def input_of(question: FeatureView) -> Input:
    """How a value of a feature is asked for."""
    unit, description = question.unit or "", question.description or ""
    if question.kind == "number" and not question.choices:
        return Input("number", [], f"{_plausible(question)}{_range(question.low, question.high)}", unit, description)
    words = {choice.value: choice.words for choice in question.choices or ()}
    values = question.categories if question.kind == "category" else list(words)
    choices = [(str(i), _choice(value, words.get(value, ""))) for i, value in enumerate(values or ())]
    if offers_another(question.categories or []):
        choices.append((ANOTHER, "another one, not in this list"))
    kind = "few" if len(choices) <= _MOST_RADIOS else "many"
    return Input(kind, choices, _plausible(question).strip(), unit, description)


def _choice(value: Any, words: str) -> str:
    return f"{text(value)} – {words}" if words else text(value)


def _plausible(question: FeatureView) -> str:
    if question.lowest is None and question.highest is None:
        return ""
    return f"Plausible: {words_of_range(question.lowest, question.highest, question.unit or '')}. "


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "Any number."
    if low == high:
        return f"What matters is whether it is below {low:.6g}, or {low:.6g} and more."
    return f"What matters is where it lies between {low:.6g} and {high:.6g}; numbers outside are fine."


def _path(served: Served, view: CaseView, case: Case, money: Money) -> list[Leg]:
    """What happened, in order, with the belief after each; what was known up front shares one belief."""
    chosen = served.labels.index(view.label)
    beliefs = case.beliefs
    known = sum(step.came == "known" for step in view.history)
    legs = []
    for k, step in enumerate(view.history):
        belief = None if k + 1 < known else bar(view.label, float(beliefs[k + 1 - known][chosen]), True)
        category = served.categories(served.columns[step.feature]) is not None
        legs.append(
            Leg(
                title(served, step.feature), _given(served, step), _meaning(step, category), money(step.price), belief,
                _CAME.get(step.came, ""), step.warning,
            )
        )  # fmt: skip
    return legs


def _given(served: Served, step: Step) -> str:
    """A value as people read it, with its unit, or what its choice means."""
    if step.value is None:
        return "cannot be had" if step.came == "unavailable" else "came back empty"
    said = served.model.description_of(served.columns[step.feature])
    words = said.words_of(step.value)
    return f"{text(step.value)} – {words}" if words else f"{text(step.value)} {said.unit}".strip()


def _meaning(step: Step, category: bool) -> str:
    """What was understood of an answer, where that says more than the answer."""
    known = category and step.meaning not in ("no evidence", "not seen")
    return "" if step.value is None or known else step.meaning
