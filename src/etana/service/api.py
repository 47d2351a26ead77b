"""The JSON routes under ``/v1``: thin, for the case service does the work.

Handlers are plain functions and run in threads. A body is parsed there too: a large batch must not hold up the loop
that serves all connections.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import TypeAdapter

from etana.service.case_service import Batch, CaseService, CaseView, ModelView
from etana.service.errors import WrongType
from etana.service.metrics import Metrics
from etana.service.problems import JSON, documented
from etana.service.proxy import prefix_of
from etana.service.schemas import ClassifyRequest, ObservationRequest, StartRequest, read_body

__all__ = ["api"]

_ALWAYS = (400, 401, 403, 405, 408, 413, 421, 431, 503)
_BATCH, _CASE, _MODEL = TypeAdapter(Batch), TypeAdapter(CaseView), TypeAdapter(ModelView)
_MODELS = TypeAdapter(list[ModelView])
_SHOWN = 1000

CaseId = Annotated[str, Path(description="As POST /v1/cases gave it.", pattern="^[A-Za-z0-9_-]{24}$")]
Explain = Annotated[
    Literal["true", "false"], Query(description="Say in words why this is asked, or why the case stops.")
]
Revision = Annotated[int | None, Query(ge=0, le=2**53, description="Refuse with 409 if the case is at another one.")]
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


def _most(cases: CaseService) -> tuple[int, int]:
    """How many rows any model may get at once, and how many values a row of any model may have."""
    return max(map(cases.most_rows, cases.models)), max(len(served.features) for served in cases.models)


def _links() -> dict[str, Any]:
    """The operations that a new case can go on with, for programs that read the OpenAPI document."""
    operations = ("get_case", "delete_case", "observe", "undo")
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
        responses={201: {"model": CaseView, "links": _links()}, **documented(*_ALWAYS, 404, 415, 422)},
    )  # fmt: skip
    def start_case(http: Request, body: Body, explain: Explain = "false") -> Response:
        """Start a case and get its first question."""
        request = read_body(StartRequest, body)
        view = cases.start(request.model, request.max_cost, explain == "true")
        return _answer(_CASE, view, 201, Location=f"{prefix_of(http.scope)}/v1/cases/{view.id}")

    @router.get(
        "/cases/{case_id}", tags=["cases"], responses={200: {"model": CaseView}, **documented(*_ALWAYS, 404, 409, 422)}
    )
    def get_case(case_id: CaseId, explain: Explain = "false") -> Response:
        """A case as it is now: also the way to see what became of an answer whose response was lost."""
        return _answer(_CASE, cases.get(case_id, explain == "true"))

    @router.delete(
        "/cases/{case_id}", status_code=204, tags=["cases"], responses=documented(*_ALWAYS, 404, 422)
    )  # fmt: skip
    def delete_case(case_id: CaseId) -> Response:
        """Forget a case."""
        cases.delete(case_id)
        return Response(status_code=204)


def _change_routes(router: APIRouter, cases: CaseService) -> None:
    @router.post(
        "/cases/{case_id}/observations", openapi_extra=_takes("ObservationRequest"), tags=["cases"],
        responses={200: {"model": CaseView}, **documented(*_ALWAYS, 404, 409, 415, 422)},
    )  # fmt: skip
    def observe(case_id: CaseId, body: Body, explain: Explain = "false") -> Response:
        """Answer the question; get the next one or the decision. Of two answers to one question the second gets 409."""
        request = read_body(ObservationRequest, body)
        given = request.feature, request.value, request.revision
        return _answer(_CASE, cases.answer(case_id, *given, explain == "true"))

    @router.delete(
        "/cases/{case_id}/observations/last", tags=["cases"],
        responses={200: {"model": CaseView}, **documented(*_ALWAYS, 404, 409, 422)},
    )  # fmt: skip
    def undo(case_id: CaseId, revision: Revision = None, explain: Explain = "false") -> Response:
        """Take the last answer back."""
        return _answer(_CASE, cases.undo(case_id, revision, explain == "true"))
