"""All routes of the pages."""

from __future__ import annotations

from fastapi import APIRouter

from etana.service.case_service import CaseService
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.pages.about import about_routes
from etana.service.pages.beginnings import beginning_routes
from etana.service.pages.cases import case_routes
from etana.service.pages.entrance import entrance_routes
from etana.service.pages.look import static_routes
from etana.service.pages.tables import table_routes

__all__ = ["pages"]


def pages(cases: CaseService, models: Models, limits: Limits) -> APIRouter:
    """The routes, none of which is part of the API's description."""
    router = APIRouter(include_in_schema=False)
    about_routes(router, cases, models)
    beginning_routes(router, cases, models)
    case_routes(router, cases, models)
    table_routes(router, models, limits)
    entrance_routes(router)
    static_routes(router)
    return router
