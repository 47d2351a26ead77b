"""Pages of the models: the list to choose from, and one for each with its order, prices and policy."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from etana.service.case_service import CaseService
from etana.service.errors import NotFound
from etana.service.models import Models
from etana.service.pages.look import render
from etana.service.pages.model_facts import model_page
from etana.service.pages.pictures import HEADERS, Pictures

__all__ = ["about_routes"]

_MOST_FEATURES = 100


def about_routes(router: APIRouter, cases: CaseService, models: Models) -> None:
    """Add the routes."""
    pictures = Pictures(models)

    @router.get("/")
    def home(request: Request, forgotten: str = "") -> Response:
        shown = [model_page(served, cases.model(served.name, most=0)) for served in models]
        return render(request, "home.html", models=shown, forgotten=bool(forgotten))

    @router.get("/models/{name}")
    def model(request: Request, name: str) -> Response:
        served = models.get(name)
        facts = model_page(served, cases.model(name, most=_MOST_FEATURES))
        return render(request, "model.html", model=facts, picture=pictures.words(served), drawn=pictures.available())

    @router.get("/models/{name}/policy")
    def large(request: Request, name: str) -> Response:
        served = models.get(name)
        if not pictures.available():
            raise NotFound("there is no picture of this model; pictures need matplotlib: pip install 'etana[plot]'")
        return render(request, "policy.html", name=name, digest=served.digest, picture=pictures.words(served))

    @router.get("/models/{name}/policy.svg")
    def policy(name: str, v: str = "") -> Response:
        served = models.get(name)
        if not pictures.available():
            raise NotFound("there is no picture of this model; pictures need matplotlib: pip install 'etana[plot]'")
        kept = {"Cache-Control": "private, max-age=86400"} if v == served.digest[:12] else {}
        return Response(pictures.svg(served), headers=HEADERS | kept, media_type="image/svg+xml")
