"""Pages to sign in and out, where the service asks for tokens.

Whoever shows a token gets a session (:mod:`etana.service.sessions`). The token itself comes in the body of a form,
never in an address, and too many wrong ones from one address have to wait.
"""

from __future__ import annotations

import math

from fastapi import APIRouter, Request, Response

from etana.service.pages.forms import Fields, cookie_path, keep_cookie
from etana.service.pages.look import go, render
from etana.service.users import acting

__all__ = ["entrance_routes", "sign_in_page"]


def entrance_routes(router: APIRouter) -> None:
    """Add the routes."""

    @router.get("/sign-in")
    def form(request: Request) -> Response:
        return sign_in_page(request, "/", 200) if request.app.state.users.guarded else go(request, "/")

    @router.post("/sign-in")
    def enter(request: Request, fields: Fields) -> Response:
        return _enter(request, str(fields.get("token", "")).strip(), _local(str(fields.get("onward", ""))))

    @router.post("/sign-out")
    def leave(request: Request, fields: Fields) -> Response:
        sessions = request.app.state.sessions
        sessions.end(request.cookies.get(sessions.cookie, ""))
        response = go(request, "/sign-in")
        response.delete_cookie(sessions.cookie, path=cookie_path(request), httponly=True, samesite="strict")
        return response


def _enter(request: Request, token: str, onward: str) -> Response:
    state, address = request.app.state, acting.get().address
    if not state.users.guarded:
        return go(request, onward)
    wait = state.attempts.wait(address)
    if wait:
        seconds = math.ceil(wait)
        request.scope["etana.refused"] = "attempts"
        response = sign_in_page(request, onward, 429, f"Too many wrong tokens came from here; wait {seconds} s.")
        response.headers["Retry-After"] = str(seconds)
        return response
    user = state.users.find(token)
    if user is None:
        state.attempts.failed(address)
        state.cases.store.note("sign-in refused")
        whose = "of any user here" if state.users.several else "the service runs with"
        return sign_in_page(request, onward, 403, f"This is not the token {whose}.")
    state.attempts.succeeded(address)
    response = go(request, onward)
    keep_cookie(response, request, state.sessions.cookie, state.sessions.open(user, token))
    return response


def sign_in_page(request: Request, onward: str, status: int, fault: str | None = None) -> Response:
    """The page that asks for the token; afterwards it leads on to where somebody wanted to go."""
    return render(request, "sign_in.html", status, onward=_local(onward), fault=fault)


def _local(address: str) -> str:
    """An address within this service, or the start page."""
    fine = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isascii()
    return address if fine and address.isprintable() and len(address) < 500 else "/"
