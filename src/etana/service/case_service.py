"""What the service does, without HTTP. The JSON routes and the HTML pages are two windows of it.

A case is kept as its answers. To go on with it, its model takes the same answers again, which gives the same state bit
for bit: a :class:`~etana.case.Case` depends on the model and the answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, Literal

from etana.case import Case
from etana.errors import InputError
from etana.service.errors import Conflict, NotFound
from etana.service.limits import Limits
from etana.service.models import Models, Served, json_label
from etana.service.rows import read_value, to_tables
from etana.service.store import Record, Store
from etana.walks import Acquisition

__all__ = ["Batch", "Belief", "CaseService", "CaseView", "FeatureView", "ModelView", "Question", "RowView", "Step"]

Label = bool | int | float | str
Value = bool | int | float | str | None

_LONGEST_ID = 64


@dataclass(frozen=True)
class FeatureView:
    """A feature of a model.

    ``low`` and ``high`` are the outermost edges of a number's bins, None where it has none: values below or above fall
    into the first or last bin. A model without bins gives its least and greatest training value. ``categories`` are the
    levels of a category seen in training.
    """

    name: str
    kind: Literal["number", "category"]
    price: float
    categories: list[Label] | None
    low: float | None
    high: float | None


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
    """An answer that was given: the feature, its value, its price, and what the model understood."""

    feature: str
    value: Value
    price: float
    meaning: str


@dataclass(frozen=True)
class CaseView:
    """A case as a client sees it.

    ``question`` is None when the case is decided, and ``stopped_by`` then says why: "policy" (nothing further pays),
    "budget" or "features" (all were asked). ``label`` is the class that would be decided now. ``cost`` is what the
    features cost so far, ``expected_cost`` what the whole case is expected to cost with mistakes,
    ``expected_remaining`` the part of it that is still to come. ``revision`` grows with every change.
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

    @property
    def decided(self) -> bool:
        """Whether the case asks for nothing more."""
        return self.question is None


@dataclass(frozen=True)
class ModelView:
    """A model: its classes, its features in the order they are asked, and what it expects of itself.

    A model that chooses what to ask by the answers has no order: its features stand in the order of its columns, and no
    gap to the optimum is known.
    """

    name: str
    digest: str
    classes: list[Belief]
    n_features: int
    features: list[FeatureView]
    expected_cost: float
    expected_n_features: float
    optimality_gap: float | None


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


class CaseService:
    """Starts, answers, shows and ends cases, and classifies rows.

    Safe to call from many threads. Errors: :class:`~etana.service.errors.NotFound`,
    :class:`~etana.service.errors.Conflict`, :class:`~etana.service.errors.Busy` and
    :class:`~etana.errors.InputError`.

    Parameters
    ----------
    models : Models
        The models that are served.
    store : Store
        Where cases are kept.
    limits : Limits
        What is allowed.
    """

    def __init__(self, models: Models, store: Store, limits: Limits) -> None:
        self.models, self.store, self.limits = models, store, limits

    # --- models

    def model(self, name: str | None = None, most: int | None = None) -> ModelView:
        """What a model is; only its first ``most`` features, if that is given."""
        served = self.models.get(name)
        model = served.model
        asked, gap = model.questions()[:most], model.optimality_gap
        return ModelView(
            served.name, served.digest,
            [Belief(c, float(p)) for c, p in zip(served.labels, model.priors, strict=True)],
            int(model.n_features), [_feature(FeatureView, served, one.column, one.price) for one in asked],
            float(model.expected_cost), float(model.expected_n_features),
            None if gap is None else float(gap),
        )  # fmt: skip

    def most_rows(self, served: Served) -> int:
        """How many rows of this model one request may have."""
        return min(self.limits.rows, max(self.limits.cells // max(served.model.columns.size, 1), 1))

    def classify(self, rows: Sequence[Any], model: str | None = None, max_cost: float | None = None) -> Batch:
        """Take full rows through a model: each an object by feature names, or a list in the order of the columns."""
        served = self.models.get(model)
        most = self.most_rows(served)
        if len(rows) > most:
            raise InputError(f"{len(rows)} rows were sent and {most} are allowed at once; send several parts")
        views: list[RowView] = []
        for table in to_tables(served, rows):
            views += _rows(served, served.model.acquire(table, max_cost))
        return Batch(served.name, served.digest, served.labels, views)

    # --- cases

    def start(self, model: str | None = None, max_cost: float | None = None, explain: bool = True) -> CaseView:
        """A new case, with its first question; no more than ``max_cost`` is spent on it."""
        served = self.models.get(model)
        case = served.model.start(max_cost)
        record = self.store.add(Record.new(served.name, served.digest, max_cost, _status(case)))
        return _view(served, record, case, explain)

    def get(self, id: str, explain: bool = True) -> CaseView:
        """A case as it is."""
        return self.open(id, explain)[0]

    def open(self, id: str, explain: bool = True) -> tuple[CaseView, Case]:
        """A case as a client sees it, and the case itself, for who wants to know more of it."""
        record = self._record(id)
        served = self._served(record)
        case = _replay(served, record)
        return _view(served, record, case, explain), case

    def answer(self, id: str, feature: str, value: Any, revision: int | None = None, explain: bool = True) -> CaseView:
        """Answer the question of a case; ``None`` if the value is not to be had.

        ``feature`` must be the one that is asked, and ``revision``, if given, that of the case: an answer to a question
        that somebody else has answered in the meantime is refused with :class:`~etana.service.errors.Conflict`.
        """

        def read(question: Question) -> Any:
            if feature != question.name:
                asked = repr(question.name)
                raise Conflict(f"the case asks for {asked} and was told {short(feature)}; answer what it asks for")
            return value

        return self.answer_question(id, read, revision, explain)

    def answer_question(
        self, id: str, read: Callable[[Question], Any], revision: int | None = None, explain: bool = True
    ) -> CaseView:
        """The same for who makes the answer of the question, whatever it is; what ``read`` raises changes nothing."""
        record = self._record(id, revision)
        served = self._served(record)
        case = _replay(served, record)
        question = _question(served, case)
        if question is None:
            raise Conflict("the case is decided and asks for nothing; undo an answer, or start another case")
        value = read(question)
        case.observe(read_value(served, int(case.move.columns[0]), value))
        return self._changed(served, record, case, (*record.answers, value), explain)

    def undo(self, id: str, revision: int | None = None, explain: bool = True) -> CaseView:
        """Take the last answer of a case back; its price is taken back too."""
        record = self._record(id, revision)
        served = self._served(record)
        if not record.answers:
            raise Conflict("no answer was given yet, so there is none to take back")
        case = _replay(served, record).undo()
        return self._changed(served, record, case, record.answers[:-1], explain)

    def delete(self, id: str) -> None:
        """Forget a case."""
        if not _may_be_id(id) or not self.store.remove(id):
            raise _unknown()

    def _changed(self, served: Served, record: Record, case: Case, answers: tuple[Any, ...], explain: bool) -> CaseView:
        new = self.store.change(record, answers, _status(case))
        if new is None:
            raise Conflict("the case was changed or removed meanwhile; get it again and answer what it asks for now")
        return _view(served, new, case, explain)

    def _record(self, id: str, revision: int | None = None) -> Record:
        record = self.store.get(id) if _may_be_id(id) else None
        if record is None:
            raise _unknown()
        if revision is not None and revision != record.revision:
            raise Conflict(f"the case is at revision {record.revision}, not {revision}; get it again")
        return record

    def _served(self, record: Record) -> Served:
        """The model that the case was started with; it goes on with no other."""
        try:
            served = self.models.get(record.model)
        except NotFound:
            raise Conflict(f"model {record.model} is no longer served; start a case with another one") from None
        if served.digest != record.digest:
            raise Conflict(f"model {record.model} has changed since the case was started; start again")
        return served


def _may_be_id(id: str) -> bool:
    return len(id) <= _LONGEST_ID and id.isascii()


def _unknown() -> NotFound:
    return NotFound("there is no such case; it may have been deleted or have expired: start another one")


def _replay(served: Served, record: Record) -> Case:
    case = served.model.start(record.max_cost)
    for value in record.answers:
        case.observe(read_value(served, int(case.move.columns[0]), value))
    return case


def _status(case: Case) -> str:
    return "open" if case.stopped_by is None else "decided"


def _feature(kind: Any, served: Served, column: int, price: float) -> Any:
    categories = served.categories(column)
    ends = served.model.range_of(column) or (None, None)
    name = served.features[column]
    return kind(name, "number" if categories is None else "category", price, categories, *ends)


def _question(served: Served, case: Case) -> Question | None:
    column = case.next_column
    return None if column is None else _feature(Question, served, column, case.next_price)


def _view(served: Served, record: Record, case: Case, explain: bool) -> CaseView:
    expected = case.expected_cost
    posterior = zip(served.labels, case.posterior.tolist(), strict=True)
    steps = zip(case.history, record.answers, strict=True)
    return CaseView(
        id=record.id, model=record.model, digest=record.digest, revision=record.revision,
        question=_question(served, case), label=json_label(case.label),
        posterior=[Belief(label, p) for label, p in posterior],
        cost=case.cost, max_cost=record.max_cost,
        expected_cost=expected, expected_remaining=expected - case.cost,
        history=[Step(str(a.feature), given, a.price, a.meaning) for a, given in steps],
        stopped_by=case.stopped_by,  # type: ignore[arg-type]
        explanation=case.explain() if explain else None, expires=record.expires,
    )  # fmt: skip


def _rows(served: Served, walk: Acquisition) -> list[RowView]:
    names, beliefs, costs = served.features, walk.posteriors.tolist(), walk.costs.tolist()
    return [
        RowView(json_label(walk.labels[i]), beliefs[i], [names[k] for k in walk.features(i)], costs[i])
        for i in range(len(walk))
    ]
