"""The one shape of every error that goes over the wire: RFC 9457, ``application/problem+json``.

``title`` is the name of the status, ``reason`` a word for programs, one of :data:`REASONS`; ``detail`` says to people
what was given, what is allowed and what to do; a body that does not fit its schema has the places in ``errors``.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

__all__ = ["JSON", "PROBLEM", "REASONS", "Place", "Problem", "documented", "problem", "refusal"]

PROBLEM, JSON = "application/problem+json", "application/json"

_MEANINGS = {
    400: "The body is no JSON: malformed, not UTF-8, or nested too deeply.",
    401: "The bearer token is missing or wrong.",
    403: "The request comes from a page of another site, or the user may not do this.",
    404: "There is no such case, model or page.",
    405: "The route does not take this method; Allow names those that it takes.",
    408: "The body did not arrive in time.",
    409: "The request does not fit the state of the case.",
    412: "The case is not at the revision that If-Match names.",
    413: "The body is larger than allowed.",
    415: "The body is not declared as application/json.",
    421: "The Host header names another machine.",
    422: "The content does not fit; detail says where and what is allowed.",
    429: "Too many wrong tokens; try again after the time that Retry-After names.",
    431: "Path and headers are larger than allowed.",
    503: "The service is at a limit; try again after the time that Retry-After names.",
}


Reason = Literal[
    "malformed", "token", "origin", "role", "seal", "no_case", "no_model", "no_page", "method", "body_time",
    "revision", "not_asked", "decided", "known", "budget", "nothing_to_undo", "model_gone", "model_changed",
    "too_large", "media_type", "host", "body", "parameter", "value", "attempts", "head", "fault", "busy", "buffer",
    "store", "stopping", "full", "slow", "quota",
]  # fmt: skip
REASONS: tuple[str, ...] = get_args(Reason)

# Where whoever refuses gives no reason of its own.
_USUAL = {
    400: "malformed", 401: "token", 403: "role", 404: "no_page", 405: "method", 408: "body_time", 409: "revision",
    412: "revision", 413: "too_large", 415: "media_type", 421: "host", 422: "value", 429: "attempts", 431: "head",
    500: "fault", 503: "busy",
}  # fmt: skip


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
    reason: Reason
    detail: str
    errors: list[Place] | None = None


def problem(
    status: int, detail: str, errors: list[dict[str, str]] | None = None, headers: dict[str, str] | None = None,
    reason: str | None = None,
) -> Response:  # fmt: skip
    """An error as a response."""
    word = _USUAL.get(status, "fault") if reason is None else reason
    content: dict[str, Any] = {
        "title": HTTPStatus(status).phrase, "status": status, "reason": word, "detail": detail
    }  # fmt: skip
    if errors:
        content["errors"] = errors
    # ASCII only, so that no name in a message can break the encoding.
    return Response(json.dumps(content), status, headers, media_type=PROBLEM)


def refusal(seconds: int, why: str, scope: Any, reason: str, close: bool = False) -> Response:
    """A 503 for what may work a little later; the reason, one word, is for the log and the metrics."""
    scope["etana.refused"] = reason
    headers = {"Retry-After": str(seconds)} | ({"Connection": "close"} if close else {})
    return problem(503, f"{why}; try again in {seconds} s", headers=headers, reason=reason)


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
