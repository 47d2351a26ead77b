"""The one shape of every error that goes over the wire: RFC 9457, ``application/problem+json``.

``title`` is the name of the status, ``detail`` says what was given, what is allowed and what to do; a body that does
not fit its schema has the places in ``errors``.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

__all__ = ["JSON", "PROBLEM", "Place", "Problem", "documented", "problem", "refusal"]

PROBLEM, JSON = "application/problem+json", "application/json"

_MEANINGS = {
    400: "The body is no JSON: malformed, not UTF-8, or nested too deeply.",
    401: "The bearer token is missing or wrong.",
    403: "The request comes from a page of another site, or the user may not do this.",
    404: "There is no such case, model or page.",
    405: "The route does not take this method; Allow names those that it takes.",
    408: "The body did not arrive in time.",
    409: "The request does not fit the state of the case.",
    413: "The body is larger than allowed.",
    415: "The body is not declared as application/json.",
    421: "The Host header names another machine.",
    422: "The content does not fit; detail says where and what is allowed.",
    429: "Too many wrong tokens; try again after the time that Retry-After names.",
    431: "Path and headers are larger than allowed.",
    503: "The service is at a limit; try again after the time that Retry-After names.",
}


class Place(BaseModel):
    """A place in the body, and what is wrong there."""

    model_config = ConfigDict(extra="forbid")

    where: str
    what: str


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    model_config = ConfigDict(extra="forbid")

    title: str
    status: int
    detail: str
    errors: list[Place] | None = None


def problem(
    status: int, detail: str, errors: list[dict[str, str]] | None = None, headers: dict[str, str] | None = None
) -> Response:
    """An error as a response."""
    content: dict[str, Any] = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if errors:
        content["errors"] = errors
    # ASCII only, so that no name in a message can break the encoding.
    return Response(json.dumps(content), status, headers, media_type=PROBLEM)


def refusal(seconds: int, why: str, scope: Any, reason: str, close: bool = False) -> Response:
    """A 503 for what may work a little later; the reason, one word, is for the log and the metrics."""
    scope["etana.refused"] = reason
    headers = {"Retry-After": str(seconds)} | ({"Connection": "close"} if close else {})
    return problem(503, f"{why}; try again in {seconds} s", headers=headers)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The entries of these statuses in the OpenAPI document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    entries: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        entries[status] = {"description": _MEANINGS[status], "content": {PROBLEM: {"schema": schema}}}
        if status == 503:
            entries[status]["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
        if status == 401:
            entries[status]["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return entries
