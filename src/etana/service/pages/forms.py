"""What browsers send, and the seal that keeps foreign forms out.

Each browser has a random number in a cookie, and each form of ours holds a *seal*: the HMAC of that number under a key
that the store keeps, so that a page which was opened before a restart, or by another process, is still good. A page of
another site can make a browser send a form here, but cannot know the seal; the cookie, which is SameSite=Strict, does
not even come along. (The door has compared the Origin before that.)

Forms are parsed in a thread, with limits on what they hold: not even a long one holds up the others.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import math
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response
from python_multipart import parse_form
from python_multipart.exceptions import FormParserError

from etana.errors import InputError
from etana.service.errors import Malformed, ServiceError
from etana.service.proxy import prefix_of
from etana.service.views import FeatureView

__all__ = [
    "ANOTHER",
    "AnyFields",
    "Fields",
    "Foreign",
    "browser_of",
    "check_seal",
    "cookie_path",
    "keep_browser",
    "keep_cookie",
    "offers_another",
    "read_answer",
    "read_cost",
    "read_known",
    "read_price",
    "seal",
]

_COOKIE = "etana_browser"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LONGEST_SHOWN = 40
_MOST_FIELDS = 12
_MOST_KNOWN = 200  # fields of the form that starts a case with what is known

ANOTHER = "another"  # the choice of a category that is not in the list


class Foreign(ServiceError):
    """A form that this browser did not get from here."""

    status = 403
    reason = "seal"


def browser_of(request: Request) -> tuple[str, bool]:
    """The number of a browser, and whether it is new."""
    known = request.cookies.get(_COOKIE, "")
    return (known, False) if _SHAPE.fullmatch(known) else (secrets.token_urlsafe(24), True)


def keep_browser(response: Response, request: Request, browser: str) -> None:
    """Give a browser its number."""
    keep_cookie(response, request, _COOKIE, browser)


def keep_cookie(response: Response, request: Request, name: str, content: str) -> None:
    """A cookie for this site's own requests only, out of reach of scripts, until the browser is closed."""
    response.set_cookie(
        name, content, path=cookie_path(request), httponly=True, samesite="strict", secure=_is_secure(request)
    )


def cookie_path(request: Request) -> str:
    """Where cookies are sent: to what is under our prefix, and to no other service of the host."""
    return prefix_of(request.scope) or "/"


def _is_secure(request: Request) -> bool:
    """Whether the browser came by TLS, as far as a proxy lets us know."""
    if request.scope["scheme"] == "https":
        return True
    return bool(request.scope.get("etana.proxied")) and request.headers.get("origin", "").startswith("https://")


def seal(browser: str, key: bytes) -> str:
    """What a form of this browser has to hold."""
    return hmac.new(key, browser.encode(), hashlib.sha256).hexdigest()


async def _body(request: Request) -> bytes:
    return await request.body()


def _any_fields(request: Request, body: Annotated[bytes, Depends(_body)]) -> dict[str, Any]:
    """The fields of a form, whoever has sent it; of a file its name and content."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    path = request.scope["path"]
    most = _MOST_KNOWN if path == "/cases" or path.endswith("/panel") else _MOST_FIELDS
    if kind == "multipart/form-data":
        return _read_multipart(request.headers["content-type"], body)
    if kind != "application/x-www-form-urlencoded":
        return {}  # no page here sends that, so it has no seal either
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=most)
    except ValueError:
        raise Malformed(f"the form has more than {most} fields; open the page and use its form") from None
    return dict(pairs)


def _read_multipart(content_type: str, body: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {}

    def keep(name: bytes | None, value: Any) -> None:
        if len(fields) >= _MOST_FIELDS:
            raise Malformed(f"the form has more than {_MOST_FIELDS} fields; open the page and use its form")
        fields[(name or b"").decode("utf-8", "replace")] = value

    def on_field(field: Any) -> None:
        keep(field.field_name, (field.value or b"").decode("utf-8", "replace"))

    def on_file(file: Any) -> None:
        file.file_object.seek(0)
        keep(file.field_name, ((file.file_name or b"").decode("utf-8", "replace"), file.file_object.read()))
        file.close()

    headers = {"Content-Type": content_type.encode("latin-1"), "Content-Length": str(len(body)).encode()}
    try:
        parse_form(headers, io.BytesIO(body), on_field, on_file)
    except FormParserError as error:
        raise Malformed(f"the form cannot be read ({type(error).__name__}); open the page and use its form") from None
    return fields


def check_seal(request: Request, fields: Mapping[str, Any]) -> None:
    """Refuse a form without the right seal."""
    browser, new = browser_of(request)
    right, shown = seal(browser, request.app.state.key), fields.get("seal")
    if new or not isinstance(shown, str) or not hmac.compare_digest(shown.encode("utf-8", "replace"), right.encode()):
        raise Foreign(
            "the page is from another browser, or cookies are off, or the service has got a new key; nothing was "
            "changed: look at what you have entered, and send it again"
        )


AnyFields = Annotated[dict[str, Any], Depends(_any_fields)]


def _fields(request: Request, fields: AnyFields) -> dict[str, Any]:
    """The fields of a form that has the right seal."""
    check_seal(request, fields)
    return fields


Fields = Annotated[dict[str, Any], Depends(_fields)]


def read_cost(fields: Mapping[str, Any]) -> float | None:
    """The budget of a form; None if it is left empty."""
    text = str(fields.get("max_cost", "")).strip()
    return None if not text else _number(text, "the budget", "leave it empty for no limit", least=0.0)


def read_answer(question: FeatureView, fields: Mapping[str, Any]) -> Any:
    """The value that a form holds for a feature; None if it was done and came back empty."""
    if fields.get("answer") == "missing":
        return None
    if question.kind == "category":
        return _category(question.categories or [], str(fields.get("choice", "")))
    if question.choices:
        return _category([choice.value for choice in question.choices], str(fields.get("choice", "")))
    return _number(
        str(fields.get("value", "")).strip(), "the answer", "choose “Came back empty” or “Cannot be had” without one"
    )


def read_price(fields: Mapping[str, Any]) -> float | None:
    """What a result has cost; None for its price, if the form says nothing."""
    text = str(fields.get("price", "")).strip()
    return None if not text else _number(text, "the price", "write 0 if it was free", least=0.0)


def read_known(features: Iterable[tuple[int, FeatureView]], fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a form says is known up front: values by feature name; empty fields say nothing."""
    found: dict[str, Any] = {}
    for column, feature in features:
        written = str(fields.get(f"known-{column}", "")).strip()
        if written:
            try:
                found[feature.name] = read_answer(feature, {"value": written, "choice": written})
            except InputError as error:
                raise InputError(f"{feature.name}: {error}") from None
    return found


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
        raise InputError(
            "nothing was chosen; choose one from the list, or “Came back empty” or “Cannot be had” if there is none"
        )
    return categories[int(choice)]


def offers_another(categories: list[Any]) -> bool:
    """Whether an answer that training has not seen makes sense: for text, not for numbers or truth values."""
    return bool(categories) and all(isinstance(c, str) for c in categories)
