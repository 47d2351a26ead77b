"""``etana ask``: a conversation about one case."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from etana.case import Case
from etana.commands.money import money
from etana.errors import InputError
from etana.model import Model
from etana.table import plain_value

__all__ = ["converse"]

_BAR = 30


def converse(model: Model, max_cost: float | None = None) -> None:
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
            question = f"[bold]{escape(str(feature))}[/bold] (price {money(price)}){_levels(model, case)}: "
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
        f"[bold]Decision: {escape(str(plain_value(case.label)))}[/bold], {len(case.history)} features asked, "
        f"{money(case.cost)} spent; the full panel costs {money(model.full_price)}."
    )


def _levels(model: Model, case: Case) -> str:
    levels = model.levels.get(int(case.move.columns[0]))
    return "" if levels is None else escape(f" [{', '.join(map(str, levels))}]")


def _read(model: Model, case: Case, text: str) -> object:
    """An answer as it was typed: the level it names, or the text itself, which the case reads as a number."""
    if text in ("", "skip"):
        return None
    levels = model.levels.get(int(case.move.columns[0]))
    if levels is None:
        return text
    for level in levels:
        if str(level) == text:
            return level
    raise InputError(f"{text!r} is not among {', '.join(map(str, levels))}; leave it empty if it is not available")


def _show_belief(console: Console, model: Model, case: Case) -> None:
    belief = case.posterior
    width = max(len(str(plain_value(c))) for c in model.classes)
    for i in (-belief).argsort(kind="stable")[:8]:
        bar = "█" * round(_BAR * belief[i])
        line = f"  {plain_value(model.classes[i])!s:<{width}} {bar:<{_BAR}} {belief[i]:6.1%}"
        console.print(line, markup=False, highlight=False)
    console.print(f"  spent {money(case.cost)}, expected in all {case.expected_cost:.4g}", highlight=False)
