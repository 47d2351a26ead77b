"""What the service does, without HTTP. The JSON routes and the HTML pages are two windows of it.

A case is kept as what happened in it. To go on with it, its model takes the same events again, which gives the same
state bit for bit: a :class:`~etana.case.Case` depends on the model and the events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from reprlib import repr as short
from typing import Any

from etana.case import Case
from etana.errors import InputError
from etana.service.errors import Conflict, NotFound
from etana.service.events import known_events, last_events, read_known, replay
from etana.service.limits import Limits
from etana.service.models import Models, Served
from etana.service.rows import read_value, to_tables
from etana.service.store import Record, Store
from etana.service.users import acting
from etana.service.viewing import case_view, model_view, question_of, row_views
from etana.service.views import Batch, CaseLine, CaseView, ModelView, Question, RowView

__all__ = ["CaseService"]

_LONGEST_ID = 64


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
        return model_view(self.models.get(name), most)

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
            views += row_views(served, served.model.acquire(table, max_cost))
        return Batch(served.name, served.digest, served.labels, views)

    # --- cases

    def start(
        self, model: str | None = None, max_cost: float | None = None, explain: bool = True,
        known: Mapping[str, Any] | None = None, suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """A new case, with its first question.

        No more than ``max_cost`` is spent on it. What is ``known`` costs nothing. With so many ``suggestions``, the
        view has the best features to ask now.
        """
        served, known = self.models.get(model), known or {}
        case = served.model.start(max_cost, read_known(served, known), warn=False)
        record = Record.new(served.name, served.digest, max_cost, _status(case), known_events(case, known))
        return case_view(served, self.store.add(record), case, explain, suggestions)

    def lines(self, status: str = "open", most: int = 100) -> list[CaseLine]:
        """The cases of whoever asks, those changed last first."""
        found = self.store.owned(acting.get().name, status, most)
        return [
            CaseLine(r.id, r.model, r.digest, r.revision, r.status, len(r.answers), r.created, r.updated, r.expires)  # type: ignore[arg-type]
            for r in found
        ]

    def get(self, id: str, explain: bool = True, suggestions: int = 0) -> CaseView:
        """A case as it is."""
        return self.open(id, explain, suggestions)[0]

    def open(self, id: str, explain: bool = True, suggestions: int = 0) -> tuple[CaseView, Case]:
        """A case as a client sees it, and the case itself, for who wants to know more of it."""
        record, served, case = self._opened(id)
        return case_view(served, record, case, explain, suggestions), case

    def answer(
        self, id: str, feature: str, value: Any, revision: int | None = None, explain: bool = True, *,
        suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """Answer the question of a case; ``None`` if it was done, is paid for, and came back empty.

        ``feature`` must be the one that is asked, and ``revision``, if given, that of the case: an answer to a question
        that somebody else has answered in the meantime is refused with :class:`~etana.service.errors.Conflict`.
        """

        def read(question: Question) -> Any:
            if feature != question.name:
                raise _not_asked(question.name, feature)
            return value

        return self.answer_question(id, read, revision, explain, suggestions=suggestions)

    def answer_question(
        self, id: str, read: Callable[[Question], Any], revision: int | None = None, explain: bool = True, *,
        suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """The same for who makes the answer of the question, whatever it is; what ``read`` raises changes nothing."""
        record, served, case = self._opened(id, revision)
        question = question_of(served, case)
        if question is None:
            raise Conflict("the case is decided and asks for nothing; undo an answer, or start another case", "decided")
        value = read(question)
        case.observe(read_value(served, served.columns[question.name], value))
        return self._happened(served, record, case, value, explain, suggestions)

    def tell(
        self, id: str, feature: str, value: Any, revision: int | None = None, explain: bool = True, *,
        price: float | None = None, suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """Give the value of any feature: the one that is asked, or another result that came in.

        It is charged at its price, or at ``price``: 0 if it was free. Nothing is taken in twice.
        """
        record, served, case = self._opened(id, revision)
        self._check_open_to(served, case, feature)
        read = read_value(served, served.columns[feature], value)
        charged = case.price_of(feature) if price is None else price
        if not case.situation.fits(charged):
            raise Conflict(
                f"{feature!r} costs {charged:.10g}, which the budget does not allow; say price 0 if it was free",
                "budget",
            )
        case.observe(read, feature, price)
        return self._happened(served, record, case, value, explain, suggestions)

    def tell_panel(
        self, id: str, values: Mapping[str, Any], revision: int | None = None, explain: bool = True, *,
        suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """Give the results of features that were ordered together: waiting is paid once for all of them."""
        record, served, case = self._opened(id, revision)
        if not values:
            raise InputError("no result was given; send the values of what was ordered together, by feature name")
        for feature in values:
            self._check_open_to(served, case, feature)
        read = {name: read_value(served, served.columns[name], value) for name, value in values.items()}
        price = sum(case.together([served.columns[name] for name in values]))
        if not case.situation.fits(price):
            raise Conflict(f"they cost {price:.10g} together, which the budget does not allow; order fewer", "budget")
        case.observe_panel(read)
        events = last_events(case, list(values.values()))
        return self._changed(served, record, case, record.answers + events, explain, suggestions, "answer")

    def unavailable(
        self, id: str, feature: str | None = None, revision: int | None = None, explain: bool = True, *,
        suggestions: int = 0,
    ) -> CaseView:  # fmt: skip
        """A feature, the one that is asked if none is named, cannot be had: not charged, and not asked again."""
        record, served, case = self._opened(id, revision)
        if feature is None and case.next_column is None:
            raise Conflict("the case is decided and asks for nothing; name the feature that cannot be had", "decided")
        name = served.features[case.next_column] if feature is None else feature  # type: ignore[index]
        self._check_open_to(served, case, name)
        if any(str(e.feature) == name and e.came == "unavailable" for e in case.history):
            raise Conflict(f"{name!r} cannot be had, as is known already; undo takes that back", "known")
        case.unavailable(name)
        return self._happened(served, record, case, None, explain, suggestions)

    def undo(self, id: str, revision: int | None = None, explain: bool = True, *, suggestions: int = 0) -> CaseView:
        """Take back what was last told to a case, also after the decision; its price is taken back too."""
        record, served, case = self._opened(id, revision)
        if not any(event.came != "known" for event in case.history):
            raise Conflict("no answer was given yet, so there is none to take back", "nothing_to_undo")
        return self._changed(served, record, case.undo(), record.answers[:-1], explain, suggestions, "undo")

    def delete(self, id: str, revision: int | None = None) -> None:
        """Forget a case."""
        if revision is not None:
            self._record(id, revision)
        if not _may_be_id(id) or not self.store.remove(id, revision):
            raise _unknown() if revision is None else _moved()

    @staticmethod
    def _check_open_to(served: Served, case: Case, feature: str) -> None:
        """Refuse what is no feature, and what is known."""
        asked = case.next_column
        if feature not in served.columns:
            raise _not_asked(None if asked is None else served.features[asked], feature)
        if any(str(event.feature) == feature and event.came != "unavailable" for event in case.history):
            rest = "the case asks for nothing" if asked is None else f"the case asks for {served.features[asked]!r}"
            raise Conflict(f"the value of {feature!r} is known already, and {rest}; undo takes answers back", "known")

    def _happened(
        self, served: Served, record: Record, case: Case, value: Any, explain: bool, suggestions: int
    ) -> CaseView:
        """Keep what was just told to a case."""
        events = last_events(case, [value])
        action = "unavailable" if events[0]["came"] == "unavailable" else "answer"
        return self._changed(served, record, case, record.answers + events, explain, suggestions, action)

    def _changed(
        self, served: Served, record: Record, case: Case, answers: tuple[Any, ...], explain: bool, suggestions: int,
        action: str,
    ) -> CaseView:  # fmt: skip
        new = self.store.change(record, answers, _status(case), action)
        if new is None:
            raise _moved()
        return case_view(served, new, case, explain, suggestions)

    def _opened(self, id: str, revision: int | None = None) -> tuple[Record, Served, Case]:
        """A case as it is stored, its model, and the case itself."""
        record = self._record(id, revision)
        served = self._served(record)
        return record, served, replay(served, record)

    def _record(self, id: str, revision: int | None = None) -> Record:
        record = self.store.get(id) if _may_be_id(id) else None
        if record is None:
            raise _unknown()
        if revision is not None and revision != record.revision:
            raise Conflict(f"the case is at revision {record.revision}, not {revision}; get it again", "revision")
        return record

    def _served(self, record: Record) -> Served:
        """The model that the case was started with; it goes on with no other."""
        try:
            served = self.models.get(record.model)
        except NotFound:
            gone = f"model {record.model} is no longer served; start a case with another one"
            raise Conflict(gone, "model_gone") from None
        if served.digest != record.digest:
            raise Conflict(f"model {record.model} has changed since the case was started; start again", "model_changed")
        return served


def _may_be_id(id: str) -> bool:
    return len(id) <= _LONGEST_ID and id.isascii()


def _unknown() -> NotFound:
    return NotFound("there is no such case; it may have been deleted or have expired: start another one", "no_case")


def _moved() -> Conflict:
    return Conflict(
        "the case was changed or removed meanwhile; get it again and answer what it asks for now", "revision"
    )


def _not_asked(asked: str | None, told: str) -> Conflict:
    what = "nothing" if asked is None else repr(asked)
    return Conflict(f"the case asks for {what} and was told {short(told)}; answer what it asks for", "not_asked")


def _status(case: Case) -> str:
    return "open" if case.stopped_by is None else "decided"
