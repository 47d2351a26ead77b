"""Values as FHIR writes them in the items of a QuestionnaireResponse.

A number comes as ``valueDecimal``, ``valueInteger`` or ``valueQuantity``, a label as ``valueCoding``, ``valueString``
or ``valueBoolean``. A value that is not there has the core extension ``data-absent-reason``, on the item, on its answer
or on the value: some reasons say that the test cannot be had, which costs nothing; the others that it was done and came
back empty, which is paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from reprlib import repr as short
from typing import Any, NamedTuple

from etana.errors import InputError
from etana.service.fhir.questionnaires import code_of
from etana.service.models import Served
from etana.service.rows import read_value

__all__ = ["Told", "read_item"]

_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
# Reasons of the code system that mean that nobody did the test.
_NOT_DONE = frozenset(
    ("not-performed", "not-asked", "not-permitted", "unsupported", "not-applicable", "asked-declined", "masked")
)


class Told(NamedTuple):
    """What an item tells: a value, that it came back empty (value None), or that it cannot be had."""

    value: Any
    available: bool


def read_item(served: Served, column: int, item: Mapping[str, Any]) -> Told | None:
    """What an item of a response tells of its feature; None if it tells nothing yet."""
    name = served.features[column]
    answers = item.get("answer", [])
    if not isinstance(answers, list) or len(answers) > 1 or not all(isinstance(a, dict) for a in answers):
        raise InputError(f"the answer of {name!r} is {short(answers)}; it must be a list with one answer")
    answer = answers[0] if answers else {}
    values = {key: value for key, value in answer.items() if key.startswith("value") and value is not None}
    if len(values) > 1:
        raise InputError(f"the answer of {name!r} has {', '.join(values)}; give one of them")
    for kind, value in values.items():
        return Told(read_value(served, column, _value(served, column, kind, value)), True)
    reason = next(_reasons(item, answer), None)
    return None if reason is None else Told(None, reason not in _NOT_DONE)


def _reasons(*holders: Mapping[str, Any]) -> Iterator[str]:
    """Why a value is absent, wherever that may be said."""
    for holder in holders:
        parts = [holder, *(v for key, v in holder.items() if key.startswith("_value") and isinstance(v, dict))]
        for part in parts:
            for extension in part.get("extension") or []:
                if isinstance(extension, dict) and extension.get("url") == _ABSENT:
                    yield str(extension.get("valueCode", "unknown"))


def _value(served: Served, column: int, kind: str, value: Any) -> Any:
    """A FHIR value as JSON has it under ``/v1``."""
    name, levels = served.features[column], served.categories(column)
    if kind in ("valueDecimal", "valueInteger", "valueBoolean"):
        return value
    if kind == "valueString":
        return _number(value, name) if levels is None else _label(levels, value)
    if kind == "valueCoding" and isinstance(value, dict):
        return _coded(served, column, value)
    if kind == "valueQuantity" and isinstance(value, dict):
        return _quantity(served, column, value)
    raise InputError(
        f"the answer of {name!r} is a {kind}, {short(value)}; it must be valueDecimal, valueInteger, valueQuantity, "
        "valueBoolean, valueCoding or valueString"
    )


def _label(levels: list[Any], text: Any) -> Any:
    return next((level for level in levels if str(level) == text), text)


def _number(text: Any, name: str) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise InputError(f"the answer of {name!r} is {short(text)}; it must be a number") from None


def _coded(served: Served, column: int, coding: Mapping[str, Any]) -> Any:
    name, levels, code = served.features[column], served.categories(column), coding.get("code", coding.get("display"))
    if levels is None:
        return _number(code, name)
    for k, level in enumerate(levels):
        if code == code_of(level, k):
            return level
    codes = [code_of(level, k) for k, level in enumerate(levels)]
    raise InputError(f"the answer of {name!r} has the code {short(code)}; it must be one of {short(codes)}")


def _quantity(served: Served, column: int, quantity: Mapping[str, Any]) -> Any:
    """A number with a unit, which must be that of the dictionary if it has one."""
    wanted = served.model.description_of(column).unit
    given = [quantity[key] for key in ("unit", "code") if quantity.get(key)]
    if wanted and given and wanted not in given:
        raise InputError(
            f"the answer of {served.features[column]!r} is in {short(given[0])}; the model takes {wanted!r}: convert it"
        )
    return quantity.get("value")
