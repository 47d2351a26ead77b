"""A policy as an ES module, and its types for TypeScript."""

from __future__ import annotations

import json
from typing import Any

from etana.exporting.document import document_of
from etana.exporting.plan import Plan
from etana.exporting.texts import notes, parts_of, pieces, read_template

__all__ = ["javascript_of", "types_of"]


def javascript_of(plan: Plan) -> str:
    """The text of the module."""
    code = pieces("policy.js.in", "//:")
    head = "\n".join(f"// {line}" for line in ["A policy that asks for one feature at a time.", *notes(plan)])
    data = f"const POLICY = {script_json(document_of(plan))};"
    return "\n\n".join([head, data, code["code"], *(code[name] for name in parts_of(plan))]) + "\n"


def script_json(document: Any) -> str:
    """JSON that may stand in a script, within a page too."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    # A label that reads </script> must not end the script of a page.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def types_of(plan: Plan) -> str:
    """The declarations beside the module."""
    names = [plan.name_of(question.column) for question in plan.questions]
    labels = [label for question in plan.questions for label in plan.levels_of(question.column) or ()]
    return (
        read_template("policy.d.ts.in")
        .replace("@LABEL@", _one_of(plan.classes))
        .replace("@FEATURE@", _one_of(names))
        .replace("@VALUE@", " | ".join(sorted({"number"} | {_kind(label) for label in labels})))
    )


def _one_of(values: list[Any]) -> str:
    """The type of which these are all values."""
    return " | ".join(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values)) or "never"


def _kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
