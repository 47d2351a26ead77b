"""The operation ``$next-question``: a QuestionnaireResponse comes in, and goes out with the next question.

The response carries everything. Its contained Questionnaire lists what was asked, in order; an item that is answered
but was not asked, or is marked ``readOnly``, was known up front and costs nothing. The case is made from that again,
each time, so that an answer that was changed or taken back changes what follows. When nothing further pays, the status
is ``completed``, and read-only items tell the decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from reprlib import repr as short
from typing import Any

from etana.case import Case
from etana.errors import InputError
from etana.service.errors import Conflict, NotFound
from etana.service.fhir.answers import Told, read_item
from etana.service.fhir.questionnaires import ADAPTIVE, contained, item_of, results_of
from etana.service.models import Models, Served

__all__ = ["model_of", "next_question"]

_MOST_ITEMS = 2000


def model_of(models: Models, response: Mapping[str, Any]) -> Served:
    """The model whose questionnaire is answered, as the contained Questionnaire or the response itself names it."""
    named = _questionnaire_of(response)
    addresses = [*_list(named, "derivedFrom"), named.get("url"), response.get("questionnaire")]
    for address in addresses:
        if isinstance(address, str) and "Questionnaire/" in address:
            plain, _, version = address.rpartition("Questionnaire/")[2].partition("|")
            try:
                served = models.get(plain.removesuffix("-adapt"))
            except NotFound:
                continue
            if version and version != served.digest[:12]:
                raise Conflict(f"model {served.name} has changed since it was asked; start again", "model_changed")
            return served
    if len(models) == 1:
        return models.get()
    raise InputError(
        f"the response does not say which questionnaire it answers; its contained Questionnaire must have derivedFrom "
        f"with the address of one of {', '.join(models.names)}"
    )


def next_question(served: Served, response: Mapping[str, Any], base: str) -> dict[str, Any]:
    """The response with the next question, or completed."""
    if response.get("resourceType") != "QuestionnaireResponse":
        raise InputError(
            f"the resource is a {short(response.get('resourceType'))}; it must be a QuestionnaireResponse, or "
            "Parameters with one as questionnaire-response"
        )
    named = _questionnaire_of(response)
    given = _items(served, response)
    told = {name: read for name, item in given.items() if (read := read_item(served, served.columns[name], item))}
    asked = _asked(served, named)
    known = {name: one.value for name, one in told.items() if name not in asked and one.value is not None}
    case = _replay(served, told, asked, known)
    id = str(named.get("id") or "questionnaire")
    items, answers = _written(served, case, given)
    if case.next_column is None:
        decided = int(served.model.policy.decide(case.knowledge.posteriors)[0])
        sure = float(case.posterior[decided])
        for item, answer in results_of(served, served.labels[decided], sure, case.cost):
            items.append(item)
            answers.append(answer)
    out = {key: value for key, value in response.items() if key not in ("item", "contained", "text")}
    out |= {
        "contained": [contained(served, base, id, items), *_others(response, named)],
        "questionnaire": f"#{id}",
        "status": "completed" if case.next_column is None else "in-progress",
        "authored": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if not response.get("meta"):
        out["meta"] = {"profile": [ADAPTIVE]}
    return out | ({"item": answers} if answers else {})


def _questionnaire_of(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The contained Questionnaire that the response refers to; an empty one if there is none."""
    reference = response.get("questionnaire")
    for resource in _list(response, "contained"):
        if not isinstance(resource, dict) or resource.get("resourceType") != "Questionnaire":
            continue
        if reference in (None, f"#{resource.get('id')}"):
            return resource
    return {}


def _others(response: Mapping[str, Any], named: Mapping[str, Any]) -> list[Any]:
    return [resource for resource in _list(response, "contained") if resource is not named]


def _list(holder: Mapping[str, Any], field: str) -> list[Any]:
    found = holder.get(field)
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > _MOST_ITEMS:
        raise InputError(f"{field} is {short(found)}; it must be a list of at most {_MOST_ITEMS}")
    return found


def _link(item: Any) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("linkId"), str):
        raise InputError(f"an item is {short(item)}; it must have a linkId")
    return str(item["linkId"])


def _items(served: Served, response: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The items of the response by feature; what we have added ourselves is left out."""
    own = {item["linkId"] for item, _ in results_of(served, "", 0.0, 0.0)}
    found: dict[str, Mapping[str, Any]] = {}
    for item in _list(response, "item"):
        name = _link(item)
        if name in own:
            continue
        if name not in served.columns:
            raise InputError(f"an item has the linkId {short(name)}, which is no feature of model {served.name}")
        if name in found:
            raise InputError(f"two items have the linkId {short(name)}; keep one of them")
        found[name] = item
    return found


def _asked(served: Served, named: Mapping[str, Any]) -> list[str]:
    """What was asked, in order: the items of the contained Questionnaire that are not marked as known."""
    items = [(_link(item), item.get("readOnly")) for item in _list(named, "item")]
    names = [name for name, known in items if name in served.columns and known is not True]
    return list(dict.fromkeys(names))


def _replay(served: Served, told: Mapping[str, Told], asked: list[str], known: Mapping[str, Any]) -> Case:
    case = served.model.start(known=known, warn=False)
    for name in asked:
        if name not in told:
            continue
        if not told[name].available:
            case.unavailable(name)
        else:
            case.observe(told[name].value, feature=name)
    for name, one in told.items():
        if not one.available and name not in asked:
            case.unavailable(name)
    return case


def _written(
    served: Served, case: Case, given: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items of the contained Questionnaire and of the response: what happened, warnings, and the next question."""
    items, answers = [], []
    for event in case.history:
        name = str(event.feature)
        column = served.columns[name]
        items.append(item_of(served, column, event.price, known=event.came == "known"))
        answers.append(dict(given[name]))
        doubt = served.model.doubt(column, event.value)
        if doubt is not None:
            items.append({"linkId": f"{name}/warning", "text": f"Warning: {doubt}.", "type": "display"})
    if case.next_column is not None:
        item = item_of(served, case.next_column, case.next_price)
        items.append(item)
        answers.append({"linkId": item["linkId"], "text": item["text"]})
    return items, answers
