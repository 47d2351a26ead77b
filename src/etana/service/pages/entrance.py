"""Pages to sign in and out, where the service runs with a token.

Whoever shows the token gets a cookie that proves it and from which it cannot be worked out. The token itself comes in
the body of a form, never in an address.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from etana.service.guard import SESSION_COOKIE, session_value, token_matches
from etana.service.pages.forms import Fields, keep_cookie
from etana.service.pages.look import go, render

__all__ = ["entrance_routes", "sign_in_page"]


def entrance_routes(router: APIRouter) -> None:
    """Add the routes."""

    @router.get("/sign-in")
    def form(request: Request) -> Response:
        return go("/") if request.app.state.token is None else sign_in_page(request, "/", 200)

    @router.post("/sign-in")
    def enter(request: Request, fields: Fields) -> Response:
        token, onward = request.app.state.token, _local(str(fields.get("onward", "")))
        if token is None:
            return go(onward)
        if not token_matches(token, str(fields.get("token", "")).strip()):
            return sign_in_page(request, onward, 403, "This is not the token the service runs with.")
        response = go(onward)
        keep_cookie(response, request, SESSION_COOKIE, session_value(token))
        return response

    @router.post("/sign-out")
    def leave(fields: Fields) -> Response:
        response = go("/sign-in")
        response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
        return response


def sign_in_page(request: Request, onward: str, status: int, fault: str | None = None) -> Response:
    """The page that asks for the token; afterwards it leads on to where somebody wanted to go."""
    return render(request, "sign_in.html", status, onward=_local(onward), fault=fault)


def _local(address: str) -> str:
    """An address within this service, or the start page."""
    fine = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isascii()
    return address if fine and address.isprintable() and len(address) < 500 else "/"
