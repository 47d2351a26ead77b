"""What the command line shows: the demonstration, a model, and a conversation about one case."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from etana.acquisition import AnyModel, Case, Model
from etana.adaptive.export import export_text
from etana.adaptive.model import AdaptiveModel
from etana.errors import InputError
from etana.explanation import plain
from etana.scoring import model_names
from etana.sequential.walking import SequentialModel

__all__ = ["converse", "show_demo", "show_model"]

_BUNDLED = ("breast_cancer", "wine", "iris", "digits")
_BAR = 30


def show_demo(cost: float, seed: int) -> None:
    """Fit on bundled data sets and print what is saved."""
    from rich.progress import Progress, SpinnerColumn, TextColumn

    console = Console()
    console.print(
        f"A feature costs {cost:g}, a mistake costs 1. etana asks for one feature at a time and stops when the "
        "next would cost more than it saves.\n[dim](The first run compiles its loops, which takes about half a "
        "minute; they are kept on disk.)[/dim]"
    )
    table = Table(
        title="etana, and the same naive Bayes on all features, on test rows",
        caption="cost: features and mistakes of a test row; by model: the same as the model expects it; "
        "gap: the latter less what no policy can beat",
    )
    table.add_column("data", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for heading in ("accuracy", "asked", "cost", "by model", "gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    beginnings = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("starting")
        from etana.demo import demonstrate

        for name in _BUNDLED:
            progress.update(task, description=f"fitting and classifying {name}")
            rows, clf = demonstrate(name, cost, seed)
            for row in rows:
                etana = row.method == "etana"
                table.add_row(
                    row.data if etana else "", row.method, f"{row.accuracy:.3f}", f"{row.n_features:.2f}",
                    f"{row.cost:.4f}", f"{row.expected_cost:.4f}", f"{row.gap:.4f}", end_section=not etana,
                )  # fmt: skip
            beginnings.append(clf.start().explain())
    console.print(table)
    console.print(f"[bold]How a case begins[/bold] ({_BUNDLED[0]}):")
    console.print(beginnings[0], markup=False, highlight=False)


def show_model(model: AnyModel, most: int = 20) -> None:
    """Print what a model is."""
    console = Console()
    facts = Table(show_header=False, box=None, pad_edge=False)
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


def _order(model: AnyModel, order: np.ndarray, prices: np.ndarray, reach: np.ndarray, most: int) -> Table:
    """The first features, with their prices and how often they are asked."""
    names = model_names(model)
    table = Table(title=f"The first {min(most, order.size)} features, in the order they are asked")
    for heading in ("", "feature", "price", "chance to be asked"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for k in range(min(most, order.size)):
        chance = reach[k + 1] if k + 1 < len(reach) else 0.0
        table.add_row(str(k + 1), escape(names[order[k]]), f"{prices[k]:g}", f"{chance:.1%}")
    return table


def converse(model: AnyModel, max_cost: float | None = None) -> None:
    """Ask for one value after another until the policy stops."""
    console = Console()
    console.print(
        "Give each value that is asked for. Empty or [bold]skip[/bold]: not available. [bold]why[/bold]: explain. "
        "[bold]undo[/bold]: take the last answer back. [bold]quit[/bold]: leave."
    )
    case = model.start(max_cost)
    _show_belief(console, model, case)
    while (feature := case.next_feature) is not None:
        price = case.next_price
        try:
            question = f"[bold]{escape(str(feature))}[/bold] (price {price:g}){_levels(model, case)}: "
            text = console.input(question).strip()
        except EOFError:
            text = "quit"
        if text == "quit":
            console.print("left without a decision")
            return
        if text == "why":
            console.print(case.explain(), markup=False, highlight=False)
            continue
        try:
            if text == "undo":
                case.undo()
            else:
                case.observe(_read(model, case, text))
        except InputError as error:
            console.print(f"[red]{escape(str(error))}[/red]")
            continue
        _show_belief(console, model, case)
    console.print(
        f"[bold]Decision: {escape(str(plain(case.label)))}[/bold], {len(case.history)} features asked, "
        f"{case.cost:g} spent; the full panel costs {model.full_price:g}."
    )


def _levels(model: AnyModel, case: Case) -> str:
    levels = model.levels.get(case.next_column)
    return "" if levels is None else escape(f" [{', '.join(map(str, levels))}]")


def _read(model: AnyModel, case: Case, text: str) -> object:
    """An answer as it was typed: the level it names, or the text itself, which the case reads as a number."""
    if text in ("", "skip"):
        return None
    levels = model.levels.get(case.next_column)
    if levels is None:
        return text
    for level in levels:
        if str(level) == text:
            return level
    raise InputError(f"{text!r} is not among {', '.join(map(str, levels))}; leave it empty if it is not available")


def _show_belief(console: Console, model: AnyModel, case: Case) -> None:
    belief = case.posterior
    width = max(len(str(plain(c))) for c in model.classes)
    for i in (-belief).argsort(kind="stable")[:8]:
        bar = "█" * round(_BAR * belief[i])
        line = f"  {plain(model.classes[i])!s:<{width}} {bar:<{_BAR}} {belief[i]:6.1%}"
        console.print(line, markup=False, highlight=False)
    console.print(f"  spent {case.cost:g}, expected in all {case.expected_cost:.4g}", highlight=False)
