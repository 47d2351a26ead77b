"""Pieces of code that targets are put together from, and numbers as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from etana import __version__
from etana.exporting.plan import Plan

__all__ = ["notes", "parts_of", "pieces", "read_template", "wrapped"]

_FOLDER = Path(__file__).parent / "templates"


def read_template(name: str) -> str:
    """The text of a template."""
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def pieces(name: str, mark: str) -> dict[str, str]:
    """The pieces of a template by name; a line of ``mark`` and a name begins one."""
    found: dict[str, str] = {}
    current: list[str] = []
    key = ""
    for line in read_template(name).splitlines():
        if line.startswith(mark):
            found[key], current, key = "\n".join(current).strip("\n"), [], line.removeprefix(mark).strip()
        else:
            current.append(line)
    return found


def parts_of(plan: Plan) -> list[str]:
    """Which pieces a plan needs, the same names in every language."""
    if plan.stages is None:
        return ["graph"]
    kind = plan.stages.kind
    return ["stages", *(["grid"] if kind.startswith("grid") else []), kind]


def notes(plan: Plan) -> list[str]:
    """What a reader of the file wants to know, in lines."""
    model = plan.model
    lines = [
        f"Written by etana {__version__}. The policy: {model.policy.words}, over {model.beliefs.words}.",
        plan.coverage,
        "A missing value was asked for and is paid. Posteriors need exp and log, which differ in the last digit from "
        "one library to another: where a stop test compares a posterior, one within 1e-12 of the threshold may fall on "
        "the other side.",
    ]
    return [part for line in lines for part in textwrap.wrap(line, 112)]


def wrapped(words: Iterable[str], indent: str = "    ", width: int = 118) -> str:
    """Words with commas between, in lines of at most this width."""
    lines, line = [], indent
    for word in words:
        if len(line) + len(word) + 2 > width and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += word + ", "
    if line.strip():
        lines.append(line.rstrip())
    return "\n".join(lines)
