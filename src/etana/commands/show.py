"""``etana show``: what a model is."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from etana.commands.money import money
from etana.model import Model
from etana.reading import export_text
from etana.table import plain_value

__all__ = ["show_model"]


def show_model(model: Model, most: int = 20) -> None:
    """Print what a model is."""
    console = Console()
    facts = Grid(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column()
    classes = ", ".join(f"{plain_value(c)} ({p:.1%})" for c, p in zip(model.classes, model.priors, strict=True))
    at_once = float((model.priors @ model.mistakes).min())
    for name, value in (
        ("classes", classes),
        ("features", f"{model.n_features:,}, of which {len(model.columns):,} can be asked for"),
        ("expected cost", f"{model.expected_cost:.6g} (deciding at once: {at_once:.6g})"),
        ("expected features", f"{model.expected_n_features:.4g}"),
        *model.beliefs.facts(),
        ("policy", model.policy.words),
        *_gap(model),
    ):
        facts.add_row(name, escape(value))
    console.print(facts)
    if model.order is not None:
        console.print(_order(model, most))
    else:
        console.print("[bold]The decision graph[/bold] (branches that one instance in a hundred reaches):")
        console.print(export_text(model), markup=False, highlight=False)


def _gap(model: Model) -> Iterator[tuple[str, str]]:
    gap, cost = model.optimality_gap, model.expected_cost
    if gap is not None:
        yield "optimality gap", f"{gap:.3g}" + (f" ({gap / cost:.2%} of the expected cost)" if cost else "")


def _order(model: Model, most: int) -> Grid:
    """The first features, with their prices and how often they are asked."""
    first = model.questions()[:most]
    table = Grid(title=f"The first {len(first)} features, in the order they are asked")
    for heading in ("", "feature", "price", "chance to be asked"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for k, question in enumerate(first):
        name = escape(model.column_names[question.column])
        table.add_row(str(k + 1), name, money(question.price), f"{question.chance or 0.0:.1%}")
    return table
