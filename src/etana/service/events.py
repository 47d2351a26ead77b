"""What happened in a case, as the store keeps it: a list of events, which the model takes again one by one.

An event says which feature it is about, the value as it was sent, what was charged, and how it came: "asked", "empty",
"known", "volunteered" or "unavailable" (:mod:`etana.case`). A plain value, without all that, answers the question that
is asked at its place: that is how stores of earlier versions kept every answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from reprlib import repr as short
from typing import Any

from etana.case import Answer, Case
from etana.errors import InputError
from etana.service.models import Served
from etana.service.rows import read_value
from etana.service.store import Record

__all__ = ["given_values", "known_events", "last_events", "read_known", "replay"]


def read_known(served: Served, known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known before the first question, by name, as the model takes it; nulls say nothing."""
    found = {}
    for name, value in known.items():
        if name not in served.columns:
            raise InputError(
                f"{short(name)} is known, but is not a feature of model {served.name}; its features are "
                f"{short(served.features)}"
            )
        if value is not None:
            found[name] = read_value(served, served.columns[name], value)
    return found


def known_events(case: Case, known: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The events of a case that has just begun."""
    return tuple(_event(answer, known[str(answer.feature)]) for answer in case.history)


def last_events(case: Case, values: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """The last events of a case; ``values`` as they were sent, one for each."""
    return tuple(_event(answer, value) for answer, value in zip(case.history[-len(values) :], values, strict=True))


def _event(answer: Answer, value: Any) -> dict[str, Any]:
    return {"feature": str(answer.feature), "value": value, "price": answer.price, "came": answer.came}


def replay(served: Served, record: Record) -> Case:
    """The case as it stands after all of its events."""
    events = [_read(served, event) for event in _explicit(served, record)]
    case = served.model.replay({"max_cost": record.max_cost, "events": events})
    case.warns = False  # what is unusual, views say
    return case


def _explicit(served: Served, record: Record) -> list[dict[str, Any]]:
    """All events in full, also those that are plain values."""
    plain = [event for event in record.answers if not isinstance(event, dict)]
    if not plain:
        return list(record.answers)
    case = served.model.start(record.max_cost, warn=False)
    for value in plain:
        case.observe(read_value(served, int(case.move.columns[0]), value))
    told = [_event(answer, value) for answer, value in zip(case.history, plain, strict=True)]
    return told + [event for event in record.answers if isinstance(event, dict)]


def _read(served: Served, event: dict[str, Any]) -> dict[str, Any]:
    return event | {"value": read_value(served, served.columns[event["feature"]], event["value"])}


def given_values(record: Record) -> list[Any]:
    """The values of all events as they were sent."""
    return [event["value"] if isinstance(event, dict) else event for event in record.answers]
