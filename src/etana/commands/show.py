"""``etana show``: what a model is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from etana.commands.complaints import warn
from etana.commands.worth import least_factor, worth_asking
from etana.model import Model
from etana.money import about, money
from etana.reading import can_be_read, decided_from, export_text
from etana.table import plain_value

__all__ = ["doubts", "show_fit", "show_model"]

_MOST_CLASSES = 12
_DUST = 1e-12  # share of a cost below which a difference is what binary fractions leave


def show_fit(clf: Any) -> None:
    """Print what was fitted, and what somebody should know before using it."""
    rows = getattr(clf, "fitted_rows_", None)
    if rows is not None and rows.n_sampled < rows.n_rows:
        typer.echo(f"etana: {rows.words}", err=True)
    show_model(clf.model_, most=5)
    for line in doubts(clf):
        warn(line)


def doubts(clf: Any) -> Iterator[str]:
    """What somebody should know before using a classifier."""
    model = clf.model_
    at_once = model.cost_at_once
    if model.classes.size == 1:
        return
    if model.expected_n_features == 0:
        yield (
            f"nothing is worth asking at these prices: every row is decided at once, at a cost of {about(at_once)}. "
            f"{_cure(clf)}"
        )
    elif clf.expected_cost_ >= at_once:
        yield f"asking nothing would be cheaper: {about(at_once)} against {about(clf.expected_cost_)}"


def _cure(clf: Any) -> str:
    """What a mistake would have to cost for a question to pay."""
    mistakes, factor, least = clf.model_.mistakes, worth_asking(clf), least_factor(clf.model_)
    if factor is None and least is None:
        return "Mistakes cost nothing, or features do; check --costs and --mistakes"
    alike = np.array_equal(mistakes, mistakes.max() * (1 - np.eye(len(mistakes))))
    if factor is None:
        # A classifier that chose its columns at these prices holds none that it could ask at others.
        what = (
            f"it costs more than {_sum(mistakes, least)}" if alike else f"they cost more than {least:.2g} times as much"
        )
        return f"A question can pay only where a mistake is dearer ({what}): fit again with dearer --mistakes"
    if alike:
        now, then = money(mistakes.max()), _sum(mistakes, factor)
        return (
            f"A mistake costs {now}; questions begin to pay when it costs about {then}: give --mistakes {then} or more"
        )
    return f"Questions begin to pay when mistakes cost about {factor:.2g} times as much; check --costs and --mistakes"


def _sum(mistakes: np.ndarray, factor: float | None) -> str:
    return money(_rounded_up(float(mistakes.max()) * (factor or 1.0)))


def _rounded_up(value: float) -> float:
    """To two digits, so that what is announced is enough."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit - 1e-9) * unit


def show_model(model: Model, most: int = 20) -> None:
    """Print what a model is."""
    console = Console()
    facts = Grid(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column()
    shares = [f"{plain_value(c)} ({p:.1%})" for c, p in zip(model.classes, model.priors, strict=True)]
    more = f", and {len(shares) - _MOST_CLASSES:,} more" if len(shares) > _MOST_CLASSES else ""
    classes = ", ".join(shares[:_MOST_CLASSES]) + more
    for name, value in (
        ("classes", classes),
        ("features", f"{model.n_features:,}, of which {len(model.columns):,} can be asked for"),
        *_held_out(model),
        ("cost by the model itself", about(model.expected_cost, 6)),
        ("cost of asking nothing", about(model.cost_at_once, 6)),
        ("expected features", f"{model.expected_n_features:.4g}"),
        *model.beliefs.facts(),
        *([("missing in its table", ", ".join(model.dictionary.missing))] if model.dictionary.missing else []),
        ("policy", model.policy.words),
        *_gap(model),
    ):
        facts.add_row(name, escape(value))
    console.print(facts)
    if not model.columns.size:
        console.print("No feature can be asked for: every row is decided at once.")
    elif model.order is not None or not can_be_read(model):
        console.print(_order(model, most))
    else:
        console.print("[bold]The decision graph[/bold] (branches that one instance in a hundred reaches):")
        console.print(export_text(model), markup=False, highlight=False)


def _held_out(model: Model) -> Iterator[tuple[str, str]]:
    judged = model.judgement
    if judged is not None:
        yield "cost of held-out rows", f"{about(judged.cost, 6)} ± {about(judged.standard_error, 2)}"
        yield "on held-out rows", f"{judged.accuracy:.1%} right with {judged.n_features:.4g} features"


def _gap(model: Model) -> Iterator[tuple[str, str]]:
    gap, cost = model.optimality_gap, model.expected_cost
    if gap is not None:
        gap = gap if gap > _DUST * cost else 0.0
        yield "optimality gap", about(gap, 3) + (f" ({gap / cost:.2%} of the expected cost)" if cost else "")


def _order(model: Model, most: int) -> Grid:
    """The first features, with their prices and how often they are asked."""
    first = model.questions()[:most]
    how = "in the order they are asked" if model.order is not None else "asked of most instances first"
    table = Grid(title=f"The first {len(first)} features, {how}" if len(first) > 1 else "The feature that may be asked")
    decided = _decided(model)
    for heading in ("", "feature", "price", "chance to be asked", *(["or decided, if sure"] if decided else [])):
        table.add_column(heading, justify="left" if heading in ("feature", "or decided, if sure") else "right")
    for k, question in enumerate(first):
        cells = escape(model.column_names[question.column]), money(question.price), f"{question.chance or 0.0:.1%}"
        table.add_row(str(k + 1), *cells, *([escape(decided.get(question.column, ""))] if decided else []))
    return table


def _decided(model: Model) -> dict[int, str]:
    """How sure one must be to decide instead of being asked each column, where no tree of answers tells."""
    steps = [] if model.beliefs.has_likelihoods else model.policy.outline(model.beliefs) or []
    return {step.asks: decided_from(model.classes, step.sure) for step in steps if step.asks >= 0}
