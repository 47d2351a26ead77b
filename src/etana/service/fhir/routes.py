"""FHIR over HTTP, under ``/fhir``: what we can do, questionnaires, and ``$next-question``."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from etana import __version__
from etana.errors import EtanaError, InputError
from etana.service.bodies import read_fields
from etana.service.errors import TooLarge, WrongType, reason_of, status_of
from etana.service.fhir.questionnaires import questionnaire
from etana.service.fhir.responses import model_of, next_question
from etana.service.models import Models, Served
from etana.service.problems import JSON
from etana.service.proxy import prefix_of

__all__ = ["FHIR", "fhir_routes"]

FHIR = "application/fhir+json"
_OPERATION = "http://hl7.org/fhir/uv/sdc/OperationDefinition/Questionnaire-next-question"
_LARGEST = 256 * 2**10  # what is parsed in one call
# Codes of FHIR's value set of issue types.
_ISSUES = {400: "structure", 404: "not-found", 409: "conflict", 413: "too-long", 415: "not-supported", 422: "value"}


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]


def fhir_routes(models: Models) -> APIRouter:
    """The routes. They describe themselves as FHIR does, by a CapabilityStatement, not in the OpenAPI document."""
    router = APIRouter(prefix="/fhir", include_in_schema=False)

    @router.get("/metadata")
    def metadata(request: Request) -> Response:
        return _answer(lambda: _capabilities(_base(request)))

    @router.get("/Questionnaire")
    def questionnaires(request: Request) -> Response:
        return _answer(lambda: _bundle(list(models), _base(request)))

    @router.get("/Questionnaire/{name}")
    def get_questionnaire(request: Request, name: str) -> Response:
        return _answer(lambda: questionnaire(models.get(name), _base(request)))

    @router.post("/Questionnaire/$next-question")
    def ask_next(request: Request, body: Body) -> Response:
        return _answer(lambda: _operate(request, body, lambda response: model_of(models, response)))

    @router.post("/Questionnaire/{name}/$next-question")
    def ask_next_of(request: Request, name: str, body: Body) -> Response:
        return _answer(lambda: _operate(request, body, lambda _: models.get(name)))

    return router


def _answer(make: Callable[[], dict[str, Any]]) -> Response:
    """A resource, or an OperationOutcome that says what is wrong."""
    try:
        return Response(json.dumps(make()), media_type=FHIR)
    except EtanaError as error:
        status = status_of(error)
        if status >= 500:
            raise
        issue = {
            "severity": "error", "code": _ISSUES.get(status, "processing"), "diagnostics": str(error),
            "details": {"text": reason_of(error) or "value"},
        }  # fmt: skip
        return Response(json.dumps({"resourceType": "OperationOutcome", "issue": [issue]}), status, media_type=FHIR)


def _operate(request: Request, body: bytes, find: Callable[[dict[str, Any]], Served]) -> dict[str, Any]:
    if not body:
        raise InputError("there is no body; send a QuestionnaireResponse, or Parameters with one")
    kind = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    if kind not in (FHIR, JSON):
        raise WrongType(f"the body is not declared as FHIR; send the header 'Content-Type: {FHIR}'")
    if len(body) > _LARGEST:
        raise TooLarge(f"the body has {len(body)} bytes, and {_LARGEST} are allowed", "too_large")
    resource = read_fields(body, (), 1, 1)
    if not isinstance(resource, dict):
        raise InputError("the body is no resource; send a QuestionnaireResponse, or Parameters with one")
    response = _unwrapped(resource)
    answered = next_question(find(response), response, _base(request))
    if response is resource:
        return answered
    # Who sends Parameters gets them back.
    return {"resourceType": "Parameters", "parameter": [{"name": "return", "resource": answered}]}


def _unwrapped(resource: dict[str, Any]) -> dict[str, Any]:
    """The QuestionnaireResponse of an operation's Parameters, or the resource itself."""
    if resource.get("resourceType") != "Parameters":
        return resource
    parameters = resource.get("parameter")
    for parameter in parameters if isinstance(parameters, list) else []:
        if isinstance(parameter, dict) and parameter.get("name") == "questionnaire-response":
            found = parameter.get("resource")
            if isinstance(found, dict):
                return found
    raise InputError("the Parameters have no questionnaire-response; add one whose resource is a QuestionnaireResponse")


def _base(request: Request) -> str:
    """The address of the FHIR service as the client knows it."""
    host = request.scope.get("etana.host") or "localhost"
    return f"{request.scope['scheme']}://{host}{prefix_of(request.scope)}/fhir"


def _bundle(served: list[Served], base: str) -> dict[str, Any]:
    entries = [{"fullUrl": f"{base}/Questionnaire/{s.name}", "resource": questionnaire(s, base)} for s in served]
    return {"resourceType": "Bundle", "type": "searchset", "total": len(entries), "entry": entries}


def _capabilities(base: str) -> dict[str, Any]:
    interactions = [{"code": "read"}, {"code": "search-type"}]
    operations = [{"name": "next-question", "definition": _OPERATION}]
    resource = {"type": "Questionnaire", "interaction": interactions, "operation": operations}
    return {
        "resourceType": "CapabilityStatement", "status": "active", "kind": "instance", "fhirVersion": "4.0.1",
        "date": datetime.now(UTC).date().isoformat(), "format": ["json"],
        "software": {"name": "etana", "version": __version__}, "implementation": {"description": "etana", "url": base},
        "rest": [{"mode": "server", "resource": [resource]}],
    }  # fmt: skip
