"""What clients see: cases, models, rows and what they are made of, as plain data that JSON can write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Batch",
    "Belief",
    "CaseLine",
    "CaseView",
    "Choice",
    "FeatureView",
    "Label",
    "ModelView",
    "PanelView",
    "Question",
    "RowView",
    "Step",
    "SuggestionView",
    "Value",
]

Label = bool | int | float | str
Value = bool | int | float | str | None


@dataclass(frozen=True)
class Choice:
    """A value that can be given for a feature, and what it means."""

    value: Label
    words: str


@dataclass(frozen=True)
class FeatureView:
    """A feature of a model.

    ``low`` and ``high`` are the outermost edges of a number's bins, None where it has none: values below or above fall
    into the first or last bin. A model without bins gives its least and greatest training value. ``categories`` are the
    levels of a category seen in training. What the model's dictionary says: ``description``, ``unit``, ``lowest`` and
    ``highest`` (the plausible range), ``choices``. ``least`` and ``greatest`` are those of training.
    """

    name: str
    kind: Literal["number", "category"]
    price: float
    categories: list[Label] | None
    low: float | None
    high: float | None
    description: str | None = None
    unit: str | None = None
    lowest: float | None = None
    highest: float | None = None
    choices: list[Choice] | None = None
    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Question(FeatureView):
    """The feature that a case asks for now."""


@dataclass(frozen=True)
class Belief:
    """A class and how probable it is."""

    label: Label
    probability: float


@dataclass(frozen=True)
class Step:
    """What happened in a case: the feature, its value, what was charged, and what the model understood.

    ``came`` says how: "asked"; "empty" (asked, paid, without a value); "known" (before the first question, free);
    "volunteered" (a result that nobody asked for); "unavailable" (cannot be had, free). ``warning`` says what is
    unusual about the value: it is outside the plausible range, or that of training.
    """

    feature: str
    value: Value
    price: float
    meaning: str
    came: Literal["asked", "empty", "known", "volunteered", "unavailable"] = "asked"
    warning: str | None = None


@dataclass(frozen=True)
class SuggestionView:
    """A feature that could be asked now, its price, and what it is expected to save; None where that is not known."""

    feature: str
    price: float
    saving: float | None


@dataclass(frozen=True)
class PanelView:
    """Features to order together now, what they cost together with waiting, and what that is expected to save."""

    features: list[str]
    price: float
    saving: float | None


@dataclass(frozen=True)
class CaseView:
    """A case as a client sees it.

    ``question`` is None when the case is decided, and ``stopped_by`` then says why: "policy" (nothing further pays),
    "budget" or "features" (all were asked). ``label`` is the class that would be decided now. ``cost`` is what the
    features cost so far, ``expected_cost`` what the whole case is expected to cost with mistakes,
    ``expected_remaining`` the part of it that is still to come, which is ``expected_fees`` for features and
    ``expected_risk`` for mistakes (None where that is not known). ``revision`` grows with every change. ``suggestions``
    are the best features to ask now, the first is the question; ``panel`` are features to order together where waiting
    for results has a price, None where there is nothing to gain by it. ``waiting`` are features whose values are at
    hand and count when their turn in the order comes; ``unused`` those that tell this model nothing.
    """

    id: str
    model: str
    digest: str
    revision: int
    question: Question | None
    label: Label
    posterior: list[Belief]
    cost: float
    max_cost: float | None
    expected_cost: float
    expected_remaining: float
    history: list[Step]
    stopped_by: Literal["policy", "budget", "features"] | None
    explanation: str | None
    expires: float
    created: float
    updated: float
    expected_fees: float | None
    expected_risk: float | None
    suggestions: list[SuggestionView]
    panel: PanelView | None
    waiting: list[str]
    unused: list[str]

    @property
    def decided(self) -> bool:
        """Whether the case asks for nothing more."""
        return self.question is None


@dataclass(frozen=True)
class ModelView:
    """A model: its classes, its features in the order they are asked, and what it expects of itself.

    A model that chooses what to ask by the answers has no order: what it asks most often stands first, and no gap to
    the optimum is known. ``held_out_cost`` is what training rows paid that the model had not seen; None where none
    were held out.
    """

    name: str
    digest: str
    classes: list[Belief]
    n_features: int
    features: list[FeatureView]
    expected_cost: float
    expected_n_features: float
    optimality_gap: float | None
    held_out_cost: float | None


@dataclass(frozen=True)
class RowView:
    """What became of one row: posterior in the order of the batch's classes, features in the order they were asked."""

    label: Label
    posterior: list[float]
    features: list[str]
    cost: float


@dataclass(frozen=True)
class Batch:
    """Classified rows."""

    model: str
    digest: str
    classes: list[Label]
    rows: list[RowView]


@dataclass(frozen=True)
class CaseLine:
    """A case in a list; times are seconds since 1970, ``answers`` how much was told to it."""

    id: str
    model: str
    digest: str
    revision: int
    status: Literal["open", "decided"]
    answers: int
    created: float
    updated: float
    expires: float
