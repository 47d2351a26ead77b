"""``etana show``: what a model is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from etana.commands.worth import least_factor, worth_asking
from etana.model import Model
from etana.money import about, money
from etana.reading import can_be_read, export_text
from etana.table import plain_value

__all__ = ["Announced", "announced", "doubts", "show_model"]


_MOST_CLASSES = 12


class Announced(NamedTuple):
    """What held-out rows paid, and one standard error of it."""

    cost: float
    error: float


def announced(clf: Any) -> Announced | None:
    """What rows paid that a classifier had not seen; None if its model knows that, or nobody does."""
    if clf.model_.judgement is not None or clf.expected_cost_ == clf.model_.expected_cost:
        return None
    return Announced(clf.expected_cost_, clf.expected_cost_error_)


def doubts(clf: Any) -> Iterator[str]:
    """What somebody should know before using a classifier."""
    model = clf.model_
    at_once = float((model.priors @ model.mistakes).min())
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


def show_model(model: Model, most: int = 20, announced: Announced | None = None) -> None:
    """Print what a model is; ``announced`` is what held-out rows paid, where only its classifier knows."""
    console = Console()
    facts = Grid(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column()
    shares = [f"{plain_value(c)} ({p:.1%})" for c, p in zip(model.classes, model.priors, strict=True)]
    more = f", and {len(shares) - _MOST_CLASSES:,} more" if len(shares) > _MOST_CLASSES else ""
    classes = ", ".join(shares[:_MOST_CLASSES]) + more
    at_once = float((model.priors @ model.mistakes).min())
    for name, value in (
        ("classes", classes),
        ("features", f"{model.n_features:,}, of which {len(model.columns):,} can be asked for"),
        *_held_out(model, announced),
        ("cost by the model itself", about(model.expected_cost, 6)),
        ("cost of asking nothing", about(at_once, 6)),
        ("expected features", f"{model.expected_n_features:.4g}"),
        *model.beliefs.facts(),
        ("policy", model.policy.words),
        *_gap(model),
    ):
        facts.add_row(name, escape(value))
    console.print(facts)
    # A tree of answers can be read only where the chance of each answer is known.
    if model.order is not None or not can_be_read(model):
        console.print(_order(model, most))
    else:
        console.print("[bold]The decision graph[/bold] (branches that one instance in a hundred reaches):")
        console.print(export_text(model), markup=False, highlight=False)


def _held_out(model: Model, announced: Announced | None) -> Iterator[tuple[str, str]]:
    judged = model.judgement
    if judged is not None:
        announced = Announced(judged.cost, judged.standard_error)
    if announced is not None:
        yield "cost of held-out rows", f"{about(announced.cost, 6)} ± {about(announced.error, 2)}"
    if judged is not None:
        yield "on held-out rows", f"{judged.accuracy:.1%} right with {judged.n_features:.4g} features"


def _gap(model: Model) -> Iterator[tuple[str, str]]:
    gap, cost = model.optimality_gap, model.expected_cost
    if gap is not None:
        yield "optimality gap", about(gap, 3) + (f" ({gap / cost:.2%} of the expected cost)" if cost else "")


def _order(model: Model, most: int) -> Grid:
    """The first features, with their prices and how often they are asked."""
    first = model.questions()[:most]
    how = "in the order they are asked" if model.order is not None else "asked of most instances first"
    table = Grid(title=f"The first {len(first)} features, {how}")
    for heading in ("", "feature", "price", "chance to be asked"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for k, question in enumerate(first):
        name = escape(model.column_names[question.column])
        table.add_row(str(k + 1), name, money(question.price), f"{question.chance or 0.0:.1%}")
    return table
