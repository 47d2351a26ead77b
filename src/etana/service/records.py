"""Routes for admins: the audit trail, and ending the sessions of a user."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from etana.service.problems import JSON, documented
from etana.service.sessions import Sessions
from etana.service.store import AuditLine, Store

__all__ = ["audit_text", "records"]

_ALWAYS = (400, 401, 403, 405, 408, 413, 421, 431, 503)
_LINES = "application/jsonl"

After = Annotated[int, Query(ge=0, le=2**53, description="Only lines whose number is above this.")]
Most = Annotated[int, Query(ge=1, le=10_000, description="How many lines at most.")]
Name = Annotated[str, Path(description="The user's name.", pattern="^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]


class Ended(BaseModel):
    """How many sessions were ended."""

    ended: int


def records(store: Store, sessions: Sessions) -> APIRouter:
    """The routes."""
    router = APIRouter(prefix="/v1", tags=["operation"], generate_unique_id_function=lambda route: route.name)

    @router.get(
        "/audit", response_class=Response,
        responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}, **documented(*_ALWAYS, 422)},
    )  # fmt: skip
    def get_audit(after: After = 0, most: Most = 1000) -> Response:
        """The audit trail, a JSON object a line: number, at, who, address, action, case_id, revision. For admins."""
        return Response(audit_text(store.audit(after, most)), media_type=_LINES)

    @router.delete("/sessions/{name}", responses={200: {"model": Ended}, **documented(*_ALWAYS, 404, 422)})
    def end_sessions(name: Name) -> Response:
        """Sign a user out of all browsers. For admins."""
        return Response(json.dumps({"ended": sessions.end_all(name)}), media_type=JSON)

    return router


def audit_text(lines: list[AuditLine]) -> str:
    """Lines of the audit trail, a JSON object each."""
    return "".join(json.dumps(asdict(line)) + "\n" for line in lines)
