"""Routes for those who look after the process: is it alive, can it work, what has it done."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from etana import __version__
from etana.service.desk import Desk
from etana.service.metrics import CONTENT_TYPE, Family, Metrics, Values
from etana.service.problems import documented

__all__ = ["health"]


class Health(BaseModel):
    """The service works."""

    status: Literal["ok"] = "ok"


def health(desk: Desk, metrics: Metrics) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["operation"], generate_unique_id_function=lambda route: route.name)
    usual = (400, 403, 405, 408, 413, 421, 431)

    @router.get("/health/live", responses=documented(*usual))
    async def live() -> Health:
        """The process answers. Needs no token."""
        return Health()

    @router.get("/health/ready", responses=documented(*usual, 503))
    def ready() -> Health:
        """Models are loaded and the store of cases can be read. Needs no token."""
        desk.store.check()
        return Health()

    @router.get(
        "/metrics", response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **documented(*usual, 401, 503)},
    )  # fmt: skip
    def prometheus() -> Response:
        """Counters in Prometheus' text format."""
        return Response(metrics.text(_gauges(desk)), media_type=CONTENT_TYPE)

    return router


def _gauges(desk: Desk) -> dict[str, Family]:
    cases = desk.store.by_status()
    models: Values = {(("model", s.name), ("digest", s.digest)): s.loaded for s in desk.models}
    return {
        "etana_cases": ("gauge", "Cases kept.", {(("status", k),): n for k, n in cases.items()}),
        "etana_model_loaded_seconds": ("gauge", "When each model was loaded, since 1970.", models),
        "etana_reloads_total": ("counter", "Reloads of the model files.", {(): desk.models.reloads}),
        "etana_reload_failures_total": ("counter", "Files that could not be reloaded.", {(): desk.models.failures}),
        "etana_info": ("gauge", "The version of etana.", {(("version", __version__),): 1}),
    }
