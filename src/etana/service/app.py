"""The service as one ASGI application: cases, routes, layers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from etana import __version__
from etana.errors import EtanaError
from etana.service.api import api
from etana.service.board import Board
from etana.service.case_service import CaseService
from etana.service.errors import reason_of, status_of
from etana.service.fhir import fhir_routes
from etana.service.guard import Door, Watch
from etana.service.health import health, metrics_text
from etana.service.journal import Journal
from etana.service.limits import Limits
from etana.service.metrics import Metrics
from etana.service.models import Models
from etana.service.openapi import describe, reference_page
from etana.service.pages import UNGUARDED, Friendly, pages
from etana.service.problems import JSON, problem
from etana.service.proxy import Proxy, prefix_of
from etana.service.reading import BodyReader
from etana.service.records import records
from etana.service.schemas import InvalidBody
from etana.service.sessions import Attempts, Sessions
from etana.service.slots import Places, Slots
from etana.service.store import Store
from etana.service.users import Users

__all__ = ["create_app"]

_log = logging.getLogger("etana.service")
_SWEEP = 15.0  # seconds between two looks for expired cases, and at what other processes have done


def create_app(
    models: Models,
    store: Store,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Collection[str] | None = None,
    *,
    users: Users | None = None,
    root_path: str = "",
    proxies: Sequence[str] = (),
    key: bytes | None = None,
    board: Board | None = None,
) -> FastAPI:
    """The application.

    Parameters
    ----------
    models : Models
        The models to serve.
    store : Store
        Where cases are kept; the caller closes it.
    limits : Limits, optional
        What is allowed.
    token : str, optional
        If given, every route but ``/health/*`` needs it: ``Authorization: Bearer TOKEN``.
    hosts : collection of str, optional
        Names that the Host header may have; None allows all.
    users : Users, optional
        Users with tokens of their own, instead of the one token.
    root_path : str
        The path under which a proxy serves this.
    proxies : sequence of str
        Addresses of proxies whose headers are believed, beside those on this machine.
    key : bytes, optional
        What forms are sealed with; by default one that the store keeps.
    board : Board, optional
        Where the processes of one service show each other their metrics.
    """
    limits = Limits() if limits is None else limits
    users = Users(token) if users is None else users
    key = store.secret() if key is None else key
    cases, metrics, places = CaseService(models, store, limits), Metrics(), Places(limits.concurrency)
    journal, sessions = Journal(metrics), Sessions(store, users, key, limits.session_life)
    store.database.watch = metrics.store
    app = FastAPI(
        title="etana", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=_lifespan(store, limits), redirect_slashes=False,
        # FastAPI's own spans would tell the path, which holds the id of a case.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )  # fmt: skip
    state = app.state
    state.cases, state.users, state.sessions, state.metrics, state.key = cases, users, sessions, metrics, key
    state.attempts, state.places, state.journal = Attempts(limits), places, journal
    _add(app, api(cases, metrics))
    _add(app, records(store, sessions))
    _add(app, fhir_routes(models))
    state.metrics_text = lambda: metrics_text(cases, metrics, journal, places)
    _add(app, health(cases.store, places, state.metrics_text, board))
    _add_reference(app, cases, users.guarded)
    _add(app, pages(cases, models, limits))
    _add_errors(app, limits)
    journal.routes = _routes(app)
    app.add_middleware(Slots, limits=limits, places=places)
    app.add_middleware(BodyReader, limits=limits, places=places)
    app.add_middleware(Door, users=users, sessions=sessions, hosts=hosts, unguarded=UNGUARDED, limits=limits)
    app.add_middleware(Watch, journal=journal)
    app.add_middleware(Friendly)
    app.add_middleware(Proxy, prefix=root_path, proxies=proxies, new_id=journal.new_id)
    return app


def _routes(app: FastAPI) -> Callable[[], list[tuple[re.Pattern[str], str]]]:
    """The patterns of all routes with their names, worked out when they are first needed."""
    found: list[tuple[re.Pattern[str], str]] = []

    def routes() -> list[tuple[re.Pattern[str], str]]:
        if not found:
            found.extend((r.path_regex, r.path) for r in app.routes if isinstance(r, Route))
        return found

    return routes


def _add(app: FastAPI, router: APIRouter) -> None:
    """Take over the routes as they are: ``app.routes`` then lists them all, whatever the version of FastAPI."""
    app.router.routes.extend(router.routes)


def _add_reference(app: FastAPI, cases: CaseService, guarded: bool) -> None:
    known: dict[tuple[str, ...], dict[str, Any]] = {}  # the document of the models as they are now

    def document() -> dict[str, Any]:
        models = tuple(f"{s.name} {s.digest}" for s in cases.models)
        found = known.get(models)
        if found is None:
            known.clear()
            found = known[models] = describe(app, cases, guarded)
        return found

    @app.get("/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> Response:
        prefix = prefix_of(request.scope)
        served = document() | ({"servers": [{"url": prefix}]} if prefix else {})
        return Response(json.dumps(served), media_type=JSON)

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> Response:
        return reference_page(document(), prefix_of(request.scope))


def _add_errors(app: FastAPI, limits: Limits) -> None:
    @app.exception_handler(EtanaError)
    async def own(request: Request, error: EtanaError) -> Response:
        status = status_of(error)
        if status == 500:
            raise error
        headers = {"Retry-After": str(limits.retry_after)} if status == 503 else None
        if status == 503:
            request.scope["etana.refused"] = "store"
        places = error.places if isinstance(error, InvalidBody) else None
        return problem(status, str(error), places, headers, reason_of(error))

    @app.exception_handler(RequestValidationError)
    async def parameters(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        if any(e["loc"][0] == "path" for e in found):
            return problem(404, "there is no such case; ids are as POST /v1/cases gives them", reason="no_case")
        places = [{"where": "/".join(map(str, e["loc"]))[:100], "what": e["msg"]} for e in found[:10]]
        detail = f"the request does not fit: {places[0]['where']}: {places[0]['what']}"
        return problem(422, detail, places, reason="parameter")

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        details = {404: "there is nothing here; /docs lists all routes", 405: "this route does not take this method"}
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(_methods(app, request.scope["path"]))
        return problem(error.status_code, details.get(error.status_code, str(error.detail)), headers=headers)


def _methods(app: FastAPI, path: str) -> list[str]:
    """All methods that a path takes, over all of its routes."""
    routes = (r for r in app.routes if isinstance(r, Route) and r.path_regex.match(path))
    return sorted({method for route in routes for method in route.methods or ()})


def _lifespan(store: Store, limits: Limits) -> Any:
    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = limits.threads
        sweeping = asyncio.create_task(_sweep(store))
        yield
        sweeping.cancel()

    return lifespan


async def _sweep(store: Store) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        try:
            await asyncio.to_thread(store.sweep)
        except Exception as error:
            _log.error("expired cases stay for now: %s", error)
