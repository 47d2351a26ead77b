"""Pages of a case: start, question or decision, answer, undo, forget."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from etana.case import Case
from etana.errors import EtanaError, InputError
from etana.service.case_service import CaseService, CaseView
from etana.service.errors import Conflict
from etana.service.models import Models
from etana.service.pages import wording
from etana.service.pages.facts import case_facts
from etana.service.pages.forms import AnyFields, Fields, Foreign, check_seal, read_answer, read_cost
from etana.service.pages.look import error_page, go, render

__all__ = ["case_routes"]

_LONGEST = 200


def case_routes(router: APIRouter, cases: CaseService, models: Models) -> None:
    """Add the routes."""

    @router.post("/cases")
    def start(request: Request, fields: Fields) -> Response:
        view = cases.start(str(fields.get("model", "")), read_cost(fields), explain=False)
        return go(request, f"/cases/{view.id}")

    @router.get("/cases/{case_id}")
    def show(request: Request, case_id: str) -> Response:
        return _page(request, models, *cases.open(case_id))

    # The form is sent to the address of the case itself, so that this is what a browser shows after a wrong value.
    @router.post("/cases/{case_id}")
    @router.post("/cases/{case_id}/answer")
    def answer(request: Request, case_id: str, fields: AnyFields) -> Response:
        try:
            check_seal(request, fields)
        except Foreign as error:
            return _ask_again(request, cases, case_id, fields, error)
        return _answer(request, cases, models, case_id, fields)

    @router.post("/cases/{case_id}/undo")
    def undo(request: Request, case_id: str, fields: Fields) -> Response:
        try:
            cases.undo(case_id, _revision(fields), explain=False)
        except Conflict:
            return _moved_on(request, cases, case_id)
        return go(request, f"/cases/{case_id}")

    @router.post("/cases/{case_id}/forget")
    def forget(request: Request, case_id: str, fields: Fields) -> Response:
        cases.delete(case_id)
        return go(request, "/?forgotten=1")


def _ask_again(
    request: Request, cases: CaseService, case_id: str, fields: Mapping[str, Any], error: Foreign
) -> Response:
    """A form that is no longer good changes nothing, but what was typed is not lost: one more click sends it."""
    view = cases.get(case_id, explain=False)
    again = None
    if view.question is not None and str(view.revision) == fields.get("revision"):
        names = ("revision", "value", "choice", "answer")
        again = {name: str(fields[name])[:_LONGEST] for name in names if name in fields}
    shown = None if again is None else _shown(view.question, again)
    return error_page(
        request, error.status, str(error), f"/cases/{case_id}", "Back to the case", again=again, shown=shown
    )


def _shown(question: Any, given: Mapping[str, str]) -> str:
    """An answer as people read it."""
    try:
        return wording.value(read_answer(question, given))
    except InputError:
        return given.get("value", "")


def _answer(request: Request, cases: CaseService, models: Models, case_id: str, fields: Mapping[str, Any]) -> Response:
    revision = _revision(fields)
    try:
        cases.answer_question(case_id, lambda question: read_answer(question, fields), revision, explain=False)
    except Conflict:
        return _moved_on(request, cases, case_id)
    except InputError as error:
        return _page(request, models, *cases.open(case_id), 422, str(error), fields)
    return go(request, f"/cases/{case_id}")


def _revision(fields: Mapping[str, Any]) -> int:
    text = str(fields.get("revision", ""))
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise InputError("the form does not say which question it answers; open the page of the case again")
    return int(text)


def _page(
    request: Request, models: Models, view: CaseView, case: Case, status: int = 200, fault: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    served = models.get(view.model)
    facts = case_facts(served, view, case)
    template = "question.html" if view.question is not None else "decision.html"
    return render(request, template, status, case=view, facts=facts, fault=fault, given=dict(given or {}))


def _moved_on(request: Request, cases: CaseService, case_id: str) -> Response:
    """Tell somebody whose page is out of date where the case is now."""
    view = None
    with contextlib.suppress(EtanaError):
        view = cases.get(case_id, explain=False)
    if view is None:
        detail = "It cannot be continued here: it was removed, or its model was replaced. Start another one."
        return error_page(request, 409, detail)
    given = "1 answer" if len(view.history) == 1 else f"{len(view.history)} answers"
    now = "it is decided" if view.question is None else f"it asks for “{view.question.name}” now"
    detail = (
        "Your answer came from a page that is out of date: the question was answered or taken back meanwhile, perhaps "
        f"in another tab. Nothing was changed by it. The case has {given}, and {now}."
    )
    return error_page(request, 409, detail, f"/cases/{case_id}", "Go on with the case")
