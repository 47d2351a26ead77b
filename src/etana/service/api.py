"""The JSON routes under ``/v1``: thin, for the case service does the work.

Handlers are plain functions and run in threads. A body is parsed there too: a large batch must not hold up the loop
that serves all connections.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import TypeAdapter

from etana.service.case_service import CaseService
from etana.service.errors import Conflict, Outdated, WrongType
from etana.service.metrics import Metrics
from etana.service.problems import JSON, documented
from etana.service.proxy import prefix_of
from etana.service.schemas import (
    ClassifyRequest,
    ObservationRequest,
    PanelRequest,
    StartRequest,
    UnavailableRequest,
    read_body,
)
from etana.service.views import Batch, CaseLine, CaseView, ModelView

__all__ = ["api"]

_ALWAYS = (400, 401, 403, 405, 408, 413, 421, 431, 503)
_BATCH, _CASE, _MODEL = TypeAdapter(Batch), TypeAdapter(CaseView), TypeAdapter(ModelView)
_MODELS, _LINES = TypeAdapter(list[ModelView]), TypeAdapter(list[CaseLine])
_SHOWN = 1000

CaseId = Annotated[str, Path(description="As POST /v1/cases gave it.", pattern="^[A-Za-z0-9_-]{24}$")]
Explain = Annotated[
    Literal["true", "false"], Query(description="Say in words why this is asked, or why the case stops.")
]
Suggestions = Annotated[int, Query(ge=0, le=10, description="How many of the best features to ask now to name.")]
Revision = Annotated[int | None, Query(ge=0, le=2**53, description="Refuse with 409 if the case is at another one.")]
IfMatch = Annotated[
    str,
    Header(
        alias="If-Match", pattern=r'^(\*|[0-9]{1,15}|"[0-9]{1,15}")$',
        description="Change the case only if its ETag is this one; otherwise the answer is 412.",
    ),
]  # fmt: skip
CaseStatus = Annotated[Literal["open", "decided"], Query(description="Which cases to list.")]
Most = Annotated[int, Query(ge=1, le=1000, description="How many cases at most.")]
ModelName = Annotated[str | None, Query(max_length=100, description="Needed where several models are served.")]


async def _body(request: Request) -> bytes:
    kind, _, parameter = request.headers.get("content-type", "").lower().partition(";")
    if kind.strip() != JSON or parameter.strip().replace('"', "") not in ("", "charset=utf-8"):
        raise WrongType("the body is not declared as JSON; send the header 'Content-Type: application/json'")
    return await request.body()


Body = Annotated[bytes, Depends(_body)]


def _takes(name: str) -> dict[str, Any]:
    """The OpenAPI entry of a body; :mod:`etana.service.openapi` writes the schema of this name."""
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def _answer(adapter: TypeAdapter[Any], content: Any, status: int = 200, **headers: str) -> Response:
    return Response(adapter.dump_json(content), status, headers, media_type=JSON)


def _case(view: CaseView, status: int = 200, **headers: str) -> Response:
    """A case; its ETag is the revision, which every change makes another one."""
    return _answer(_CASE, view, status, ETag=f'"{view.revision}"', **headers)


@contextlib.contextmanager
def _matching(if_match: str, revision: int | None = None) -> Iterator[int | None]:
    """The revision that a change is for; whoever says it in the header is told of another one by 412."""
    named = None if if_match == "*" else int(if_match.strip('"'))
    if named is not None and revision not in (None, named):
        raise Outdated(f"If-Match names revision {named}, and the request {revision}; send one of them")
    try:
        yield revision if named is None else named
    except Conflict as error:
        if named is None or error.reason != "revision":
            raise
        raise Outdated(str(error)) from None


def _shown_case(status: int = 200, **more: Any) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entry of a response that is a case."""
    tag = {"description": "The revision in quotes, for If-Match.", "schema": {"type": "string"}}
    return {status: {"model": CaseView, "headers": {"ETag": tag}, **more}}


def _most(cases: CaseService) -> tuple[int, int]:
    """How many rows any model may get at once, and how many values a row of any model may have."""
    return max(map(cases.most_rows, cases.models)), max(len(served.features) for served in cases.models)


def _links() -> dict[str, Any]:
    """The operations that a new case can go on with, for programs that read the OpenAPI document."""
    operations = ("get_case", "delete_case", "observe", "observe_panel", "set_unavailable", "undo")
    return {name: {"operationId": name, "parameters": {"case_id": "$response.body#/id"}} for name in operations}


def api(cases: CaseService, metrics: Metrics) -> APIRouter:
    """The routes."""
    router = APIRouter(prefix="/v1", default_response_class=Response, generate_unique_id_function=lambda r: r.name)
    _model_routes(router, cases, metrics)
    _case_routes(router, cases)
    _change_routes(router, cases)
    return router


def _model_routes(router: APIRouter, cases: CaseService, metrics: Metrics) -> None:
    @router.get("/model", responses={200: {"model": ModelView}, **documented(*_ALWAYS, 404, 422)}, tags=["models"])
    def get_model(name: ModelName = None) -> Response:
        """A model: classes with their priors, features in the order they are asked (the first 1,000), expectations."""
        return _answer(_MODEL, cases.model(name, most=_SHOWN))

    @router.get("/models", responses={200: {"model": list[ModelView]}, **documented(*_ALWAYS)}, tags=["models"])
    def get_models() -> Response:
        """All models, without their features."""
        return _answer(_MODELS, [cases.model(name, most=0) for name in cases.models.names])

    @router.post(
        "/classify", openapi_extra=_takes("ClassifyRequest"), tags=["models"],
        responses={200: {"model": Batch}, **documented(*_ALWAYS, 404, 415, 422)},
    )  # fmt: skip
    def classify(body: Body) -> Response:
        """Classify full rows; of each, only the features that pay are looked at and charged."""
        request = read_body(ClassifyRequest, body, *_most(cases))
        batch = cases.classify(request.rows, request.model, request.max_cost)
        metrics.classified(batch.model, len(batch.rows))
        return _answer(_BATCH, batch)


def _case_routes(router: APIRouter, cases: CaseService) -> None:
    @router.post(
        "/cases", status_code=201, openapi_extra=_takes("StartRequest"), tags=["cases"],
        responses={**_shown_case(201, links=_links()), **documented(*_ALWAYS, 404, 415, 422)},
    )  # fmt: skip
    def start_case(http: Request, body: Body, explain: Explain = "false", suggestions: Suggestions = 0) -> Response:
        """Start a case, with what is known already, and get its first question."""
        request = read_body(StartRequest, body, 1, _most(cases)[1])
        view = cases.start(request.model, request.max_cost, explain == "true", request.known, suggestions)
        return _case(view, 201, Location=f"{prefix_of(http.scope)}/v1/cases/{view.id}")

    @router.get("/cases", tags=["cases"], responses={200: {"model": list[CaseLine]}, **documented(*_ALWAYS, 422)})
    def get_cases(status: CaseStatus = "open", most: Most = 100) -> Response:
        """Your cases that are open, or decided and kept, those changed last first."""
        return _answer(_LINES, cases.lines(status, most))

    @router.get("/cases/{case_id}", tags=["cases"], responses={**_shown_case(), **documented(*_ALWAYS, 404, 409, 422)})
    def get_case(case_id: CaseId, explain: Explain = "false", suggestions: Suggestions = 0) -> Response:
        """A case as it is now: also the way to see what became of an answer whose response was lost."""
        return _case(cases.get(case_id, explain == "true", suggestions))

    @router.delete(
        "/cases/{case_id}", status_code=204, tags=["cases"], responses=documented(*_ALWAYS, 404, 409, 412, 422)
    )  # fmt: skip
    def delete_case(case_id: CaseId, revision: Revision = None, if_match: IfMatch = "*") -> Response:
        """Forget a case."""
        with _matching(if_match, revision) as expected:
            cases.delete(case_id, expected)
        return Response(status_code=204)


def _change_routes(router: APIRouter, cases: CaseService) -> None:
    @router.post(
        "/cases/{case_id}/observations", openapi_extra=_takes("ObservationRequest"), tags=["cases"],
        responses={**_shown_case(), **documented(*_ALWAYS, 404, 409, 412, 415, 422)},
    )  # fmt: skip
    def observe(
        case_id: CaseId, body: Body, explain: Explain = "false", suggestions: Suggestions = 0, if_match: IfMatch = "*"
    ) -> Response:
        """Answer the question, or give another result that came in; get the next question or the decision.

        Nothing is taken in twice: of two answers to one question the second gets 409.
        """
        request = read_body(ObservationRequest, body)
        with _matching(if_match, request.revision) as expected:
            given = case_id, request.feature, request.value, expected, explain == "true"
            return _case(cases.tell(*given, price=request.price, suggestions=suggestions))

    @router.post(
        "/cases/{case_id}/panel", openapi_extra=_takes("PanelRequest"), tags=["cases"],
        responses={**_shown_case(), **documented(*_ALWAYS, 404, 409, 412, 415, 422)},
    )  # fmt: skip
    def observe_panel(
        case_id: CaseId, body: Body, explain: Explain = "false", suggestions: Suggestions = 0, if_match: IfMatch = "*"
    ) -> Response:
        """Give the results of features that were ordered together: waiting is paid once for all of them."""
        request = read_body(PanelRequest, body, 1, _most(cases)[1])
        with _matching(if_match, request.revision) as expected:
            given = case_id, request.values, expected, explain == "true"
            return _case(cases.tell_panel(*given, suggestions=suggestions))

    @router.post(
        "/cases/{case_id}/unavailable", openapi_extra=_takes("UnavailableRequest"), tags=["cases"],
        responses={**_shown_case(), **documented(*_ALWAYS, 404, 409, 412, 415, 422)},
    )  # fmt: skip
    def set_unavailable(
        case_id: CaseId, body: Body, explain: Explain = "false", suggestions: Suggestions = 0, if_match: IfMatch = "*"
    ) -> Response:
        """Say that a feature cannot be had: it is not charged and not asked again, and the next best comes up."""
        request = read_body(UnavailableRequest, body)
        with _matching(if_match, request.revision) as expected:
            given = case_id, request.feature, expected, explain == "true"
            return _case(cases.unavailable(*given, suggestions=suggestions))

    @router.delete(
        "/cases/{case_id}/observations/last", tags=["cases"],
        responses={**_shown_case(), **documented(*_ALWAYS, 404, 409, 412, 422)},
    )  # fmt: skip
    def undo(
        case_id: CaseId, revision: Revision = None, explain: Explain = "false", suggestions: Suggestions = 0,
        if_match: IfMatch = "*",
    ) -> Response:  # fmt: skip
        """Take back what was last told, also after the decision.

        With a revision or If-Match, a request that is sent twice takes back one answer.
        """
        with _matching(if_match, revision) as expected:
            return _case(cases.undo(case_id, expected, explain == "true", suggestions=suggestions))
