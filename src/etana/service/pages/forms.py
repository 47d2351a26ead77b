"""What browsers send, and the seal that keeps foreign forms out.

Each browser has a random number in a cookie, and each form of ours holds a *seal*: the HMAC of that number under a key
which only this process knows. A page of another site can make a browser send a form here, but cannot know the seal; the
cookie, which is SameSite=Strict, does not even come along. (The door has compared the Origin before that.)
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from starlette.datastructures import UploadFile

from etana.errors import InputError
from etana.service.desk import Question
from etana.service.errors import ServiceError

__all__ = [
    "ANOTHER",
    "Fields",
    "Foreign",
    "browser_of",
    "keep_browser",
    "keep_cookie",
    "offers_another",
    "read_answer",
    "read_cost",
    "seal",
]

_COOKIE = "etana_browser"
_KEY = secrets.token_bytes(32)
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LONGEST_SHOWN = 40

ANOTHER = "another"  # the choice of a category that is not in the list


class Foreign(ServiceError):
    """A form that this browser did not get from here."""

    status = 403


def browser_of(request: Request) -> tuple[str, bool]:
    """The number of a browser, and whether it is new."""
    known = request.cookies.get(_COOKIE, "")
    return (known, False) if _SHAPE.fullmatch(known) else (secrets.token_urlsafe(24), True)


def keep_browser(response: Response, request: Request, browser: str) -> None:
    """Give a browser its number."""
    keep_cookie(response, request, _COOKIE, browser)


def keep_cookie(response: Response, request: Request, name: str, content: str) -> None:
    """A cookie for this site's own requests only, out of reach of scripts, until the browser is closed."""
    response.set_cookie(name, content, httponly=True, samesite="strict", secure=request.url.scheme == "https")


def seal(browser: str) -> str:
    """What a form of this browser has to hold."""
    return hmac.new(_KEY, browser.encode(), hashlib.sha256).hexdigest()


async def _fields(request: Request) -> dict[str, Any]:
    """The fields of a form; of a file its name and content. Refuses a form without the right seal."""
    fields: dict[str, Any] = {}
    async with request.form(max_files=1, max_fields=12) as form:
        for name, given in form.items():
            fields[name] = (given.filename or "", await given.read()) if isinstance(given, UploadFile) else given
    browser, new = browser_of(request)
    shown = fields.get("seal")
    if new or not isinstance(shown, str) or not hmac.compare_digest(shown.encode(), seal(browser).encode()):
        raise Foreign(
            "the page was opened before the service was started again, or in another browser, or cookies are off; "
            "nothing was changed: open the page again and repeat your answer"
        )
    return fields


Fields = Annotated[dict[str, Any], Depends(_fields)]


def read_cost(fields: Mapping[str, Any]) -> float | None:
    """The budget of a form; None if it is left empty."""
    text = str(fields.get("max_cost", "")).strip()
    return None if not text else _number(text, "the budget", "leave it empty for no limit", least=0.0)


def read_answer(question: Question, fields: Mapping[str, Any]) -> Any:
    """The value that a form holds for a question; None if it is not to be had."""
    if fields.get("answer") == "missing":
        return None
    if question.kind == "number":
        return _number(
            str(fields.get("value", "")).strip(), "the answer", "choose “Not available” if you do not have it"
        )
    return _category(question.categories or [], str(fields.get("choice", "")))


def _number(text: str, what: str, otherwise: str, least: float = -math.inf) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number) or number < least:
        given = f"“{text[:_LONGEST_SHOWN]}”" if text else "empty"
        wanted = "a number of at least 0" if least == 0 else "a number"
        raise InputError(f"{what} is {given}; write {wanted}, with a point as in 12.5, or {otherwise}")
    return number


def _category(categories: list[Any], choice: str) -> Any:
    if choice == ANOTHER and offers_another(categories):
        name = "another"
        while name in categories:
            name += "’"
        return name
    if not choice.isascii() or not choice.isdecimal() or len(choice) > 9 or int(choice) >= len(categories):
        raise InputError("nothing was chosen; choose one from the list, or “Not available”")
    return categories[int(choice)]


def offers_another(categories: list[Any]) -> bool:
    """Whether an answer that training has not seen makes sense: for text, not for numbers or truth values."""
    return bool(categories) and all(isinstance(c, str) for c in categories)
