"""Names, labels and numbers as every database reads them."""

from __future__ import annotations

from typing import Any

__all__ = ["labelled", "name", "number", "text_of"]

_INFINITE = 1e300


def name(given: str) -> str:
    """A name in quotation marks."""
    return '"' + given.replace('"', '""') + '"'


def number(x: float) -> str:
    """A number that is read as the same double: with an exponent it is no decimal fraction to any of them."""
    text = repr(float(min(max(x, -_INFINITE), _INFINITE)))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def text_of(label: Any) -> str:
    """A label as a value."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return number(label)
    return "'" + str(label).replace("'", "''") + "'"


def labelled(choice: str, classes: list[Any]) -> str:
    """The label of a class that is known by its number."""
    cases = " ".join(f"WHEN {i} THEN {text_of(label)}" for i, label in enumerate(classes))
    return f"CASE {choice} {cases} END"
