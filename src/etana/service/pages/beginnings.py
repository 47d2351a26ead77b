"""Pages to start a case: at once, or with what is known already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from etana.errors import InputError
from etana.service.case_service import CaseService
from etana.service.models import Models, Served
from etana.service.pages.facts import Input, input_of, title
from etana.service.pages.forms import Fields, read_cost, read_known
from etana.service.pages.look import go, render
from etana.service.viewing import feature_view
from etana.service.views import FeatureView

__all__ = ["beginning_routes"]

_MOST_ASKED = 60  # features that the page has fields for, those that are asked first


def beginning_routes(router: APIRouter, cases: CaseService, models: Models) -> None:
    """Add the routes."""

    @router.get("/models/{name}/start")
    def form(request: Request, name: str) -> Response:
        return _page(request, models.get(name))

    @router.post("/cases")
    def start(request: Request, fields: Fields) -> Response:
        served = models.get(str(fields.get("model", "")))
        known: dict[str, Any] = {}
        try:
            known = read_known(_features(served), fields)
        except InputError as error:
            return _page(request, served, 422, str(error), fields)
        view = cases.start(served.name, read_cost(fields), explain=False, known=known)
        return go(request, f"/cases/{view.id}")


def _features(served: Served) -> list[tuple[int, FeatureView]]:
    asked = served.questions[:_MOST_ASKED]
    return [(one.column, feature_view(FeatureView, served, one.column, one.price)) for one in asked]


def _page(
    request: Request, served: Served, status: int = 200, fault: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    rows: list[tuple[int, str, Input]] = [(k, title(served, f.name), input_of(f)) for k, f in _features(served)]
    more = max(len(served.questions) - len(rows), 0)
    values = {"name": served.name, "features": rows, "more": more}
    return render(request, "start.html", status, **values, fault=fault, given=dict(given or {}))
