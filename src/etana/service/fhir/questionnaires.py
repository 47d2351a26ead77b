"""A Questionnaire made from a model and its dictionary: an item for each feature that may be asked.

The ``linkId`` of an item is the name of the feature. A number is an item of type ``decimal``, with its unit as the
extension that the core specification has for that; labels, and numbers with choices, are of type ``choice``; truth
values are ``boolean``. What the dictionary says of the plausible range, and the price, stand in a help text, because a
value outside is accepted and must not be refused by whoever shows the form.
"""

from __future__ import annotations

import re
from typing import Any

from etana.service.models import Served

__all__ = ["ADAPTIVE", "Result", "code_of", "contained", "item_of", "questionnaire", "results_of"]

_CORE = "http://hl7.org/fhir/StructureDefinition"
_SDC = "http://hl7.org/fhir/uv/sdc/StructureDefinition"
ADAPTIVE = f"{_SDC}/sdc-questionnaireresponse-adapt"
_CODE = re.compile(r"[^\s]+(\s[^\s]+)*")
_MOST_ITEMS = 1000

Result = dict[str, Any]


def questionnaire(served: Served, base: str) -> dict[str, Any]:
    """The Questionnaire of a model: everything that may be asked, what comes first first."""
    asked = served.questions[:_MOST_ITEMS]
    return {
        "resourceType": "Questionnaire",
        "id": _id(served.name),
        "meta": {"versionId": served.digest[:12]},
        "extension": [{"url": f"{_SDC}/sdc-questionnaire-questionnaireAdaptive", "valueUrl": base}],
        "url": canonical(served, base),
        "version": served.digest[:12],
        "name": re.sub(r"\W", "_", served.name),
        "title": served.name,
        "status": "active",
        "subjectType": ["Patient"],
        "description": f"Tells apart {', '.join(map(str, served.labels))}, with only the questions that pay. Which is "
        "asked next depends on the answers: Questionnaire/$next-question.",
        "item": [item_of(served, one.column, one.price) for one in asked],
    }


def contained(served: Served, base: str, id: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The questionnaire as far as it was asked, to be contained in a response."""
    derived = f"{canonical(served, base)}|{served.digest[:12]}"
    found: dict[str, Any] = {
        "resourceType": "Questionnaire", "id": id, "meta": {"profile": [f"{_SDC}/sdc-questionnaire-adapt"]},
        "extension": [{"url": f"{_SDC}/sdc-questionnaire-questionnaireAdaptive", "valueUrl": base}],
        "url": f"{canonical(served, base)}-adapt", "derivedFrom": [derived],
        "title": served.name, "status": "active", "subjectType": ["Patient"],
    }  # fmt: skip
    return found | ({"item": items} if items else {})


def canonical(served: Served, base: str) -> str:
    """The address that a model's Questionnaire is known by."""
    return f"{base}/Questionnaire/{served.name}"


def _id(name: str) -> str:
    # An id of FHIR has no underscore and at most 64 characters; models may be named so.
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)[:64]


def item_of(served: Served, column: int, price: float, known: bool = False) -> dict[str, Any]:
    """The question for a feature; what was known before anything was asked cannot be changed any more."""
    said, levels = served.model.description_of(column), served.categories(column)
    name = served.features[column]
    item: dict[str, Any] = {"linkId": name, "text": said.description or name}
    if said.unit:
        item["extension"] = [{"url": f"{_CORE}/questionnaire-unit", "valueCoding": _coding(said.unit, said.unit)}]
    options = _options(served, column)
    if levels is not None and all(isinstance(level, bool) for level in levels):
        item["type"] = "boolean"
    elif options:
        item |= {"type": "choice", "answerOption": options}
    else:
        item["type"] = "decimal" if levels is None else "string"
    item |= {"required": not known, "repeats": False} | ({"readOnly": True} if known else {})
    return item | {"item": [_help(served, column, price)]}


def _options(served: Served, column: int) -> list[dict[str, Any]]:
    said, levels = served.model.description_of(column), served.categories(column)
    values = [value for value, _ in said.choices] if levels is None else levels
    return [
        {"valueCoding": _coding(code_of(value, k), said.words_of(_as_choice(value, levels)) or str(value))}
        for k, value in enumerate(values)
    ]


def _as_choice(value: Any, levels: list[Any] | None) -> Any:
    return float(value) if levels is None else value


def code_of(value: Any, position: int) -> str:
    """The code of a choice: its text, or its place where the text is none that a code may have."""
    return str(value) if _CODE.fullmatch(str(value)) else f"choice-{position}"


def _coding(code: str, display: str) -> dict[str, str]:
    return {"code": code, "display": display} if _CODE.fullmatch(code) else {"display": display}


def _help(served: Served, column: int, price: float) -> dict[str, Any]:
    said, seen = served.model.description_of(column), served.model.training_range(column)
    words = [f"Costs {price:.10g}."]
    if said.has_range:
        words.append(f"Plausible: {said.range_words()}.")
    elif seen is not None:
        words.append(f"In training: {seen[0]:.6g} to {seen[1]:.6g}{f' {said.unit}' if said.unit else ''}.")
    control = {"system": "http://hl7.org/fhir/questionnaire-item-control", "code": "help"}
    return {
        "linkId": f"{served.features[column]}/help", "text": " ".join(words), "type": "display",
        "extension": [{"url": f"{_CORE}/questionnaire-itemControl", "valueCodeableConcept": {"coding": [control]}}],
    }  # fmt: skip


def results_of(served: Served, label: Any, probability: float, cost: float) -> list[tuple[Result, Result]]:
    """Read-only items that a decided case ends with, each with its answer."""
    prefix = "etana:"
    while any(f"{prefix}{word}" in served.columns for word in ("decision", "probability", "cost")):
        prefix = f"etana-{prefix}"
    rows: list[tuple[str, str, str, dict[str, Any]]] = [
        ("decision", "Decision", "string", {"valueString": str(label)}),
        ("probability", "Probability of the decided class", "decimal", {"valueDecimal": probability}),
        ("cost", "Cost of the features", "decimal", {"valueDecimal": cost}),
    ]
    return [
        (
            {"linkId": prefix + word, "text": text, "type": kind, "readOnly": True},
            {"linkId": prefix + word, "text": text, "answer": [answer]},
        )
        for word, text, kind, answer in rows
    ]
