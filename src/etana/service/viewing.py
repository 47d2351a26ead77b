"""Cases, models and rows as clients see them, worked out from the model."""

from __future__ import annotations

from typing import Any

from etana.case import Answer, Case
from etana.dictionary import Description
from etana.service.events import given_values
from etana.service.models import Served, json_label
from etana.service.store import Record
from etana.service.views import (
    Belief,
    CaseView,
    Choice,
    FeatureView,
    ModelView,
    PanelView,
    Question,
    RowView,
    Step,
    SuggestionView,
)
from etana.suggestions import Suggestion
from etana.walks import Acquisition

__all__ = ["case_view", "feature_view", "model_view", "question_of", "row_views"]


def model_view(served: Served, most: int | None = None) -> ModelView:
    """A model; only its first ``most`` features, if that is given."""
    model, gap = served.model, served.model.optimality_gap
    return ModelView(
        served.name, served.digest,
        [Belief(c, float(p)) for c, p in zip(served.labels, model.priors, strict=True)],
        int(model.n_features),
        [feature_view(FeatureView, served, one.column, one.price) for one in served.questions[:most]],
        float(model.expected_cost), float(model.expected_n_features),
        None if gap is None else float(gap), None if model.judgement is None else float(model.judgement.cost),
    )  # fmt: skip


def feature_view(kind: Any, served: Served, column: int, price: float) -> Any:
    """A feature as clients see it."""
    categories = served.categories(column)
    ends = served.model.range_of(column) or (None, None)
    said, seen = served.model.description_of(column), served.model.training_range(column) or (None, None)
    return kind(
        served.features[column], "number" if categories is None else "category", price, categories, *ends,
        said.description or None, said.unit or None, said.lowest, said.highest, _choices(said, categories), *seen,
    )  # fmt: skip


def _choices(said: Description, categories: list[Any] | None) -> list[Choice] | None:
    """The choices of the dictionary as values that can be sent."""
    if not said.choices:
        return None
    if categories is None:
        return [Choice(float(value), words) for value, words in said.choices]
    return [Choice(level, words) for level in categories if (words := said.words_of(level)) or said.has_choice(level)]


def question_of(served: Served, case: Case) -> Question | None:
    """What a case asks for; None when it is decided."""
    column = case.next_column
    return None if column is None else feature_view(Question, served, column, case.next_price)


def case_view(served: Served, record: Record, case: Case, explain: bool, suggestions: int) -> CaseView:
    """A case as clients see it."""
    expected = case.expected_cost
    posterior = zip(served.labels, case.posterior.tolist(), strict=True)
    steps = zip(case.history, given_values(record), strict=True)
    fees = case.expected_fees if explain else None
    return CaseView(
        id=record.id, model=record.model, digest=record.digest, revision=record.revision,
        question=question_of(served, case), label=json_label(case.label),
        posterior=[Belief(label, p) for label, p in posterior],
        cost=case.cost, max_cost=record.max_cost,
        expected_cost=expected, expected_remaining=expected - case.cost,
        history=[_step(served, a, given) for a, given in steps],
        stopped_by=case.stopped_by,  # type: ignore[arg-type]
        explanation=case.explain() if explain else None,
        expires=record.expires, created=record.created, updated=record.updated,
        expected_fees=fees, expected_risk=None if fees is None else expected - case.cost - fees,
        suggestions=[_suggestion(one) for one in (case.suggestions(suggestions) if suggestions else ())],
        panel=_panel(case) if suggestions else None,
        waiting=[str(name) for name in case.waiting], unused=[str(name) for name in case.unused],
    )  # fmt: skip


def _panel(case: Case) -> PanelView | None:
    """What is best ordered together, if that is more than one feature."""
    if case.model.prices.waiting is None:
        return None
    panel = case.panel()
    return PanelView([str(name) for name in panel], panel.price, panel.saving) if len(panel) > 1 else None


def _suggestion(one: Suggestion) -> SuggestionView:
    return SuggestionView(str(one.feature), one.price, one.saving)


def _step(served: Served, answer: Answer, given: Any) -> Step:
    doubt = served.model.doubt(served.columns[str(answer.feature)], given)
    return Step(str(answer.feature), given, answer.price, answer.meaning, answer.came, doubt)  # type: ignore[arg-type]


def row_views(served: Served, walk: Acquisition) -> list[RowView]:
    """What became of rows."""
    names, beliefs, costs = served.features, walk.posteriors.tolist(), walk.costs.tolist()
    return [
        RowView(json_label(walk.labels[i]), beliefs[i], [names[k] for k in walk.features(i)], costs[i])
        for i in range(len(walk))
    ]
