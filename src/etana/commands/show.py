"""``etana show``: what a model is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from etana.acquisition import AnyModel, Model
from etana.adaptive.export import export_text
from etana.adaptive.model import AdaptiveModel
from etana.commands.model_table import model_names
from etana.commands.money import money
from etana.explanation import plain
from etana.sequential.walking import SequentialModel

__all__ = ["show_model"]


def show_model(model: AnyModel, most: int = 20) -> None:
    """Print what a model is."""
    console = Console()
    facts = Grid(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column()
    classes = ", ".join(f"{plain(c)} ({p:.1%})" for c, p in zip(model.classes, model.priors, strict=True))
    at_once = float((model.priors @ model.mistakes).min())
    for name, value in (
        ("classes", classes),
        ("features", f"{model.n_features:,}, of which {len(model.columns):,} can be asked for"),
        ("expected cost", f"{model.expected_cost:.6g} (deciding at once: {at_once:.6g})"),
        ("expected features", f"{model.expected_n_features:.4g}"),
        *(_of_policy(model) if isinstance(model, Model) else ()),
    ):
        facts.add_row(name, escape(value))
    console.print(facts)
    if isinstance(model, Model):
        reach = model.policy.expectation.reach
        console.print(_order(model, model.order, model.problem.feature_costs, reach, most))
    elif isinstance(model, SequentialModel):
        console.print(_order(model, model.order, model.rule.prices, model.rule.reach, most))
    elif isinstance(model, AdaptiveModel):
        console.print("[bold]The decision graph[/bold] (branches that one instance in a hundred reaches):")
        console.print(export_text(model), markup=False, highlight=False)


def _of_policy(model: Model) -> Iterator[tuple[str, str]]:
    policy, cost = model.policy, model.policy.expected_cost
    yield "policy", type(policy).__name__
    share = f" ({policy.gap / cost:.2%} of the expected cost)" if cost else ""
    yield "optimality gap", f"{policy.gap:.3g}{share}"


def _order(model: AnyModel, order: np.ndarray, prices: np.ndarray, reach: np.ndarray, most: int) -> Grid:
    """The first features, with their prices and how often they are asked."""
    names = model_names(model)
    table = Grid(title=f"The first {min(most, order.size)} features, in the order they are asked")
    for heading in ("", "feature", "price", "chance to be asked"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for k in range(min(most, order.size)):
        chance = reach[k + 1] if k + 1 < len(reach) else 0.0
        table.add_row(str(k + 1), escape(names[order[k]]), money(prices[k]), f"{chance:.1%}")
    return table
