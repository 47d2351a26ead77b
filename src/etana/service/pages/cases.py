"""Pages of a case: start, question or decision, answer, another result, undo, forget, the list, and the export."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response

from etana import __version__
from etana.case import Case
from etana.errors import EtanaError, InputError
from etana.service.case_service import CaseService
from etana.service.errors import Conflict, NotFound
from etana.service.models import Models, Served
from etana.service.pages import wording
from etana.service.pages.facts import case_facts, input_of, money_of, title
from etana.service.pages.forms import AnyFields, Fields, Foreign, check_seal, read_answer, read_known, read_price
from etana.service.pages.look import error_page, go, render
from etana.service.problems import JSON
from etana.service.viewing import feature_view
from etana.service.views import CaseView, FeatureView

__all__ = ["case_routes"]

_LONGEST = 200
_SUGGESTED = 3
_LISTED = 200


def case_routes(router: APIRouter, cases: CaseService, models: Models) -> None:
    """Add the routes."""

    @router.get("/open")
    def listed(request: Request) -> Response:
        return render(request, "cases.html", cases=cases.lines("open", _LISTED), moment=wording.moment)

    @router.get("/cases/{case_id}")
    def show(request: Request, case_id: str) -> Response:
        return _page(request, cases, models, case_id)

    @router.get("/cases/{case_id}/case.json")
    def export(case_id: str) -> Response:
        return _export(cases.get(case_id, suggestions=_SUGGESTED))

    # The form is sent to the address of the case itself, so that this is what a browser shows after a wrong value.
    @router.post("/cases/{case_id}")
    @router.post("/cases/{case_id}/answer")
    def answer(request: Request, case_id: str, fields: AnyFields) -> Response:
        try:
            check_seal(request, fields)
        except Foreign as error:
            return _ask_again(request, cases, case_id, fields, error)
        return _answer(request, cases, models, case_id, fields)

    @router.get("/cases/{case_id}/result")
    def result(request: Request, case_id: str, feature: str = "") -> Response:
        return _result_page(request, cases, models, case_id, feature)

    @router.post("/cases/{case_id}/result")
    def add_result(request: Request, case_id: str, fields: Fields) -> Response:
        return _add_result(request, cases, models, case_id, fields)

    @router.get("/cases/{case_id}/panel")
    def panel(request: Request, case_id: str) -> Response:
        return _panel_page(request, cases, models, case_id)

    @router.post("/cases/{case_id}/panel")
    def add_panel(request: Request, case_id: str, fields: Fields) -> Response:
        return _add_panel(request, cases, models, case_id, fields)

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
        names = ("revision", "value", "choice", "answer", "confirmed")
        again = {name: str(fields[name])[:_LONGEST] for name in names if name in fields}
    shown = None if again is None else _shown(view.question, again)
    return error_page(
        request, error.status, str(error), f"/cases/{case_id}", "Back to the case", again=again, shown=shown
    )


def _shown(question: Any, given: Mapping[str, str]) -> str:
    """An answer as people read it."""
    if given.get("answer") == "unavailable":
        return "cannot be had"
    try:
        return wording.value(read_answer(question, given))
    except InputError:
        return given.get("value", "")


def _answer(request: Request, cases: CaseService, models: Models, case_id: str, fields: Mapping[str, Any]) -> Response:
    revision = _revision(fields)
    try:
        if fields.get("answer") == "unavailable":
            cases.unavailable(case_id, None, revision, explain=False)
        else:
            cases.answer_question(case_id, lambda question: _sure(question, fields), revision, explain=False)
    except Conflict:
        return _moved_on(request, cases, case_id)
    except _DoubtError as doubt:
        return _page(request, cases, models, case_id, 422, given=fields, doubt=str(doubt))
    except InputError as error:
        return _page(request, cases, models, case_id, 422, str(error), fields)
    return go(request, f"/cases/{case_id}")


class _DoubtError(InputError):
    """A value outside of its plausible range, which has to be confirmed."""


def _sure(question: FeatureView, fields: Mapping[str, Any]) -> Any:
    """The value of a form; one outside of its plausible range must have been confirmed, this very value."""
    value = read_answer(question, fields)
    written = str(fields.get("value", "")).strip()
    if question.kind != "number" or value is None or fields.get("confirmed", "") == written != "":
        return value
    low, high = question.lowest, question.highest
    if (low is not None and value < low) or (high is not None and value > high):
        words = wording.plain_range(low, high, question.unit or "")
        raise _DoubtError(f"{wording.text(value)} is outside the plausible range, {words}.")
    return value


def _result_page(
    request: Request, cases: CaseService, models: Models, case_id: str, feature: str, status: int = 200,
    fault: str | None = None, doubt: str | None = None, given: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    """The form for a result that nobody asked for."""
    view, case = cases.open(case_id, explain=False)
    served = models.get(view.model)
    asked = _feature(served, case, feature)
    price = f"{case.price_of(asked.name):.10g}"
    values = {"case": view, "feature": feature, "name": title(served, asked.name), "input": input_of(asked)}
    shown = {"price": price, "fault": fault, "doubt": doubt, "given": dict(given or {})}
    return render(request, "result.html", status, **values, **shown, money=money_of(served))


def _feature(served: Served, case: Case, text: str) -> FeatureView:
    """The feature that a form or an address names, by its column."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) >= len(served.features):
        raise NotFound("there is no such feature; choose one on the page of the case")
    column = int(text)
    view: FeatureView = feature_view(FeatureView, served, column, case.price_of(served.model.name_of(column)))
    return view


def _add_result(
    request: Request, cases: CaseService, models: Models, case_id: str, fields: Mapping[str, Any]
) -> Response:
    revision, feature = _revision(fields), str(fields.get("feature", ""))
    view, case = cases.open(case_id, explain=False)
    asked = _feature(models.get(view.model), case, feature)
    try:
        if fields.get("answer") == "unavailable":
            cases.unavailable(case_id, asked.name, revision, explain=False)
        else:
            value, price = _sure(asked, fields), read_price(fields)
            cases.tell(case_id, asked.name, value, revision, explain=False, price=price)
    except Conflict as error:
        if error.reason != "budget":
            return _moved_on(request, cases, case_id)
        return _result_page(request, cases, models, case_id, feature, 422, str(error), None, fields)
    except _DoubtError as doubt:
        return _result_page(request, cases, models, case_id, feature, 422, None, str(doubt), fields)
    except InputError as error:
        return _result_page(request, cases, models, case_id, feature, 422, str(error), None, fields)
    return go(request, f"/cases/{case_id}")


def _panel_features(served: Served, view: CaseView, case: Case) -> list[tuple[int, FeatureView]]:
    columns = [served.columns[name] for name in (view.panel.features if view.panel is not None else ())]
    prices = case.together(columns)
    return [(k, feature_view(FeatureView, served, k, price)) for k, price in zip(columns, prices, strict=True)]


def _panel_page(
    request: Request, cases: CaseService, models: Models, case_id: str, status: int = 200, fault: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    """The form for results that were ordered together."""
    view, case = cases.open(case_id, explain=False, suggestions=1)
    served = models.get(view.model)
    features = _panel_features(served, view, case)
    if not features:
        return _moved_on(request, cases, case_id)
    rows = [(k, title(served, feature.name), input_of(feature)) for k, feature in features]
    values = {"case": view, "features": rows, "fault": fault, "given": dict(given or {})}
    return render(request, "panel.html", status, **values)


def _add_panel(
    request: Request, cases: CaseService, models: Models, case_id: str, fields: Mapping[str, Any]
) -> Response:
    revision = _revision(fields)
    view, case = cases.open(case_id, explain=False, suggestions=1)
    served = models.get(view.model)
    try:
        values = read_known(_panel_features(served, view, case), fields)
        cases.tell_panel(case_id, values, revision, explain=False)
    except Conflict:
        return _moved_on(request, cases, case_id)
    except InputError as error:
        return _panel_page(request, cases, models, case_id, 422, str(error), fields)
    return go(request, f"/cases/{case_id}")


def _export(view: CaseView) -> Response:
    """All of a case as a file."""
    content = json.dumps({"etana": __version__, "case": asdict(view)}, indent=1)
    headers = {"Content-Disposition": f'attachment; filename="case-{view.id}.json"'}
    return Response(content, headers=headers, media_type=JSON)


def _revision(fields: Mapping[str, Any]) -> int:
    text = str(fields.get("revision", ""))
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise InputError("the form does not say which question it answers; open the page of the case again")
    return int(text)


def _page(
    request: Request, cases: CaseService, models: Models, case_id: str, status: int = 200, fault: str | None = None,
    given: Mapping[str, Any] | None = None, doubt: str | None = None,
) -> Response:  # fmt: skip
    view, case = cases.open(case_id, suggestions=_SUGGESTED)
    facts = case_facts(models.get(view.model), view, case)
    template = "question.html" if view.question is not None else "decision.html"
    shown = {"fault": fault, "doubt": doubt, "given": dict(given or {})}
    return render(request, template, status, case=view, facts=facts, **shown)


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
