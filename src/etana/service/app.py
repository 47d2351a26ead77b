"""The service as one ASGI application: desk, routes, layers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Collection
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from etana import __version__
from etana.errors import EtanaError
from etana.service.api import api
from etana.service.desk import Desk
from etana.service.errors import status_of
from etana.service.guard import BodyReader, Door, Slots, Watch
from etana.service.health import health
from etana.service.limits import Limits
from etana.service.metrics import Metrics
from etana.service.models import Models
from etana.service.openapi import describe, reference_page
from etana.service.pages import UNGUARDED, Friendly, pages
from etana.service.problems import JSON, problem
from etana.service.schemas import InvalidBody
from etana.service.store import Store

__all__ = ["create_app"]

_log = logging.getLogger("etana.service")
_SWEEP = 60.0  # seconds between two looks for expired cases


def create_app(
    models: Models,
    store: Store,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Collection[str] | None = None,
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
    """
    limits = Limits() if limits is None else limits
    desk, metrics = Desk(models, store, limits), Metrics()
    app = FastAPI(
        title="etana", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=_lifespan(store, limits), redirect_slashes=False,
    )  # fmt: skip
    app.state.desk, app.state.token, app.state.metrics = desk, token, metrics
    _add(app, api(desk, metrics))
    _add(app, health(desk, metrics))
    _add_reference(app, desk, token)
    _add(app, pages(desk, models, limits))
    _add_errors(app, limits)
    app.add_middleware(Slots, limits=limits)
    app.add_middleware(BodyReader, limits=limits)
    app.add_middleware(Door, token=token, hosts=hosts, unguarded=UNGUARDED, largest=limits.head)
    app.add_middleware(Watch, metrics=metrics)
    app.add_middleware(Friendly)
    return app


def _add(app: FastAPI, router: APIRouter) -> None:
    """Take over the routes as they are: ``app.routes`` then lists them all, whatever the version of FastAPI."""
    app.router.routes.extend(router.routes)


def _add_reference(app: FastAPI, desk: Desk, token: str | None) -> None:
    known: dict[tuple[str, ...], dict[str, Any]] = {}  # the document of the models as they are now

    def document() -> dict[str, Any]:
        models = tuple(f"{s.name} {s.digest}" for s in desk.models)
        found = known.get(models)
        if found is None:
            known.clear()
            found = known[models] = describe(app, desk, token is not None)
        return found

    @app.get("/openapi.json", include_in_schema=False)
    def openapi() -> Response:
        return Response(json.dumps(document()), media_type=JSON)

    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:
        return reference_page(document())


def _add_errors(app: FastAPI, limits: Limits) -> None:
    @app.exception_handler(EtanaError)
    async def own(request: Request, error: EtanaError) -> Response:
        status = status_of(error)
        if status == 500:
            raise error
        headers = {"Retry-After": str(limits.retry_after)} if status == 503 else None
        places = error.places if isinstance(error, InvalidBody) else None
        return problem(status, str(error), places, headers)

    @app.exception_handler(RequestValidationError)
    async def parameters(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        if any(e["loc"][0] == "path" for e in found):
            return problem(404, "there is no such case; ids are as POST /v1/cases gives them")
        places = [{"where": "/".join(map(str, e["loc"]))[:100], "what": e["msg"]} for e in found[:10]]
        return problem(422, f"the request does not fit: {places[0]['where']}: {places[0]['what']}", places)

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
        except EtanaError as error:
            _log.error("expired cases stay for now: %s", error)
