"""Which files a policy is written to, by the ending of the path that is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from etana.errors import InputError
from etana.exporting.c import c_of, header_of
from etana.exporting.document import document_of
from etana.exporting.javascript import javascript_of, types_of
from etana.exporting.page import page_of
from etana.exporting.plan import MOST_NODES, Plan
from etana.exporting.python import python_of
from etana.exporting.sql import sql_of
from etana.parameters import anything, either, instance_of, none, number, one_of, whole

__all__ = ["TARGETS", "Wishes", "target_of"]


@dataclass(frozen=True)
class Wishes:
    """What one may want besides the policy itself; :func:`etana.exporting.export` says what each means."""

    stem: str
    max_nodes: int = MOST_NODES
    rows: Any = None
    real: str = "double"
    table: str = "data"
    max_cost: float | None = None
    title: str | None = None

    _parameters: ClassVar = {
        "max_nodes": whole(least=1),
        "rows": anything,
        "real": one_of("double", "float"),
        "table": instance_of(str, "the name of a table"),
        "max_cost": either(none, number(least=0.0)),
        "title": either(none, instance_of(str, "text")),
    }


def _json(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".json": json.dumps(document_of(plan), ensure_ascii=False, allow_nan=False) + "\n"}


def _c(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".c": c_of(plan, wishes.stem, wishes.real), ".h": header_of(plan, wishes.stem, wishes.real)}


def _javascript(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".js": javascript_of(plan), ".d.ts": types_of(plan)}


def _page(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".html": page_of(plan, wishes.title or wishes.stem)}


def _sql(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".sql": sql_of(plan, wishes.table, wishes.max_cost)}


def _python(plan: Plan, wishes: Wishes) -> dict[str, str]:
    return {".py": python_of(plan)}


# By the ending of the path: what gives the text of each file.
TARGETS: dict[str, Callable[[Plan, Wishes], dict[str, str]]] = {
    ".c": _c,
    ".html": _page,
    ".js": _javascript,
    ".json": _json,
    ".py": _python,
    ".sql": _sql,
}


def target_of(path: Any) -> str:
    """The ending of a path, which says what is to be written."""
    ending = Path(path).suffix.lower()
    if ending not in TARGETS:
        raise InputError(
            f"{str(path)!r} does not say what to write; let the path end in one of {', '.join(sorted(TARGETS))}"
        )
    return ending
