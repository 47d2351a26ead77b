"""A policy as a Python module that needs the standard library alone."""

from __future__ import annotations

from typing import Any

from etana.exporting.document import document_of
from etana.exporting.plan import Plan
from etana.exporting.texts import notes, parts_of, pieces, wrapped

__all__ = ["python_of"]


def python_of(plan: Plan) -> str:
    """The text of the module."""
    code = pieces("policy.py.in", "#:")
    head = '"""A policy that asks for one feature at a time.\n\n' + "\n".join(notes(plan)) + '\n"""\n'
    data = "_POLICY = " + _literal(document_of(plan), "")
    return "\n\n".join([head + "\n" + code["head"], data, code["code"], *_apart(code, parts_of(plan))]) + "\n"


def _apart(code: dict[str, str], names: list[str]) -> list[str]:
    """Pieces with two empty lines between definitions, as Python is written."""
    return ["\n" + code[name] for name in names]


def _literal(value: Any, indent: str) -> str:
    """A value as Python writes it, in lines that can be read."""
    if isinstance(value, dict):
        inner = indent + "    "
        return "{\n" + "".join(f"{inner}{k!r}: {_literal(v, inner)},\n" for k, v in value.items()) + indent + "}"
    if isinstance(value, list) and len(repr(value)) > 80:
        inner = indent + "    "
        if isinstance(value[0], list | dict):
            return "[\n" + "".join(f"{inner}{_literal(v, inner)},\n" for v in value) + indent + "]"
        return "[\n" + wrapped(map(repr, value), inner) + "\n" + indent + "]"
    return repr(value)
