"""What clients send. Unknown fields, NaN, infinity and values of a wrong kind are refused.

Values of features are checked where the model is known, in :mod:`etana.service.rows`, so that a message can say what
this feature takes. What they get back is defined where it is made, in :mod:`etana.service.case_service`.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from etana.errors import InputError
from etana.service.bodies import read_fields

__all__ = [
    "ClassifyRequest",
    "InvalidBody",
    "ObservationRequest",
    "PanelRequest",
    "StartRequest",
    "UnavailableRequest",
    "read_body",
]

_MOST_PLACES = 10
_LONGEST_NAME = 100

ModelName = Annotated[str, Field(max_length=_LONGEST_NAME, description="Needed where several models are served.")]
Cost = Annotated[float, Field(ge=0, description="Spend no more than this on features.")]


def _whole(value: Any) -> Any:
    # JSON knows one kind of number: 3.0 is as whole as 3.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Revision = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=2**53)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ClassifyRequest(_Request):
    """Rows to classify: each an object by feature names (what is left out is missing), or a list of all columns."""

    rows: list[Any]
    model: ModelName | None = None
    max_cost: Cost | None = None


class StartRequest(_Request):
    """A new case; ``known`` has by feature name what is known already, which costs nothing."""

    model: ModelName | None = None
    max_cost: Cost | None = None
    known: dict[str, Any] | None = None


class ObservationRequest(_Request):
    """The value of a feature, the one that is asked or another; null if it was done, is paid for, and came back empty.

    It is charged at its price, or at ``price``: 0 if it was free. With ``revision``, it is refused if the case is at
    another one.
    """

    feature: str
    value: Any
    price: Cost | None = None
    revision: Revision | None = None


class PanelRequest(_Request):
    """Results of features that were ordered together, by name; null if one came back empty."""

    values: dict[str, Any]
    revision: Revision | None = None


class UnavailableRequest(_Request):
    """A feature that cannot be had; without its name, the one that is asked."""

    feature: str | None = None
    revision: Revision | None = None


class InvalidBody(InputError):
    """A body that is JSON but does not fit its schema; knows the places."""

    reason = "body"

    def __init__(self, places: list[dict[str, str]]) -> None:
        self.places = places[:_MOST_PLACES]
        super().__init__(f"the body does not fit: {places[0]['where']}: {places[0]['what']}")


R = TypeVar("R", bound=_Request)


def read_body(kind: type[R], body: bytes, rows: int = 1, cells: int = 1) -> R:
    """A body as a request of this kind, with at most so many rows of so many cells."""
    names = kind.model_fields
    fields = read_fields(body, names, rows, cells)
    if not isinstance(fields, dict):
        raise InvalidBody([{"where": "body", "what": "Input should be an object"}])
    unknown = [name for name in itertools.islice(fields, len(names) + _MOST_PLACES) if name not in names]
    if unknown:
        raise InvalidBody([{"where": _where((name,)), "what": "Extra inputs are not permitted"} for name in unknown])
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        # What was sent stays out of the places: they may be logged by whoever is between.
        found = error.errors(include_url=False, include_context=False, include_input=False)
        words = (e["msg"].replace("valid list", "valid array") for e in found)  # as JSON calls it
        raise InvalidBody([{"where": _where(e["loc"]), "what": w} for e, w in zip(found, words, strict=True)]) from None


def _where(location: tuple[int | str, ...]) -> str:
    text = "/".join(str(part)[:60] for part in location[:6])
    return text.encode("ascii", "backslashreplace").decode() or "body"
