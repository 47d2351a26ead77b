"""Routes for those who look after the process: is it alive, can it work, what has it done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from etana import __version__
from etana.service.board import Board
from etana.service.case_service import CaseService
from etana.service.errors import Busy
from etana.service.journal import Journal
from etana.service.metrics import CONTENT_TYPE, Family, Metrics, Values, process
from etana.service.problems import documented
from etana.service.slots import Places
from etana.service.store import Store

__all__ = ["health", "metrics_text"]


class Health(BaseModel):
    """The service works."""

    status: Literal["ok"] = "ok"


def health(store: Store, places: Places, text: Callable[[], str], board: Board | None = None) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["operation"], generate_unique_id_function=lambda route: route.name)
    usual = (400, 403, 405, 408, 413, 421, 431)

    @router.get("/health/live", responses=documented(*usual))
    async def live() -> Health:
        """The process answers. Needs no token."""
        return Health()

    @router.get("/health/ready", responses=documented(*usual, 503))
    def ready() -> Health:
        """Models are loaded and the store of cases can be read and written. Needs no token."""
        if places.stopping:
            raise Busy("the service is stopping; ask another one")
        store.check()
        return Health()

    router.add_api_route("/health/live", live, methods=["HEAD"], include_in_schema=False)
    router.add_api_route("/health/ready", ready, methods=["HEAD"], include_in_schema=False)

    @router.get(
        "/metrics", response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **documented(*usual, 401, 503)},
    )  # fmt: skip
    def prometheus() -> Response:
        """Counters in Prometheus' text format."""
        return Response(text() if board is None else board.with_others(text()), media_type=CONTENT_TYPE)

    return router


def metrics_text(cases: CaseService, metrics: Metrics, journal: Journal, places: Places) -> str:
    """The metrics of this process; nothing of it touches the store, which may be out of order."""
    return metrics.text(_gauges(cases) | _state(journal, places) | process())


def _state(journal: Journal, places: Places) -> dict[str, Family]:
    return {
        "etana_requests_in_flight": ("gauge", "Requests that are not answered yet.", {(): journal.in_flight}),
        "etana_requests_working": ("gauge", "Requests that are worked on.", {(): places.taken}),
        "etana_requests_waiting": ("gauge", "Requests that wait for their turn.", {(): len(places.line)}),
    }


def _gauges(cases: CaseService) -> dict[str, Family]:
    kept = cases.store.by_status()
    models: Values = {(("model", s.name), ("digest", s.digest)): s.loaded for s in cases.models}
    return {
        "etana_cases": ("gauge", "Cases kept.", {(("status", k),): n for k, n in kept.items()}),
        "etana_model_loaded_seconds": ("gauge", "When each model was loaded, since 1970.", models),
        "etana_reloads_total": ("counter", "Reloads of the model files.", {(): cases.models.reloads}),
        "etana_reload_failures_total": ("counter", "Files that could not be reloaded.", {(): cases.models.failures}),
        "etana_info": ("gauge", "The version of etana.", {(("version", __version__),): 1}),
    }
