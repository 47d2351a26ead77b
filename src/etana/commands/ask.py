"""``etana ask``: a conversation about one case."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from etana.case import Case, wanted
from etana.dictionary import words_of_range
from etana.errors import InputError, PlausibilityWarning
from etana.model import Model
from etana.money import about, money
from etana.table import plain_value
from etana.tablefile import Block, Spellings

__all__ = ["converse", "read_known"]

_BAR = 30
_MOST_CLASSES = 8
_DIGITS = 6  # of sums that were spent
_EMPTY = ("", "skip", "empty")
_CANNOT = ("cannot", "unavailable")
_ASKS_HELP = ("?", "help")
_HELP = (
    "Give each value that is asked for. Empty or [bold]skip[/bold]: it came back empty, and is paid. "
    "[bold]cannot[/bold]: it cannot be had, and is not paid. [bold]NAME=VALUE[/bold]: another result that came in, "
    "with [bold]free[/bold] behind it if it cost nothing. [bold]best[/bold]: what else could be asked. "
    "[bold]why[/bold]: explain. [bold]undo[/bold]: take the last answer back. [bold]help[/bold]: this. "
    "[bold]quit[/bold]: leave."
)


def read_known(model: Model, given: Sequence[str]) -> dict[str, Any]:
    """Values that are known before the first question, each ``NAME=VALUE``."""
    known: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--known {text} is no value; give a feature and its value: --known age=63")
        column = model.column_of(_feature(model, name.strip()))
        known[model.name_of(column)] = _read(model, column, value.strip())
    return known


def converse(model: Model, max_cost: float | None = None, known: Sequence[str] = ()) -> None:
    """Ask for one value after another, or one panel after another, until the policy stops."""
    console = Console()
    values = read_known(model, known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlausibilityWarning)
        case = model.start(max_cost, values)
    _show_warnings(console, caught)
    console.print(_HELP)
    _Conversation(console, model, case).run()


class _Conversation:
    """A case and the terminal that it is talked about in."""

    def __init__(self, console: Console, model: Model, case: Case) -> None:
        self.console, self.model, self.case = console, model, case

    def run(self) -> None:
        """Until the decision stands, or somebody leaves."""
        self._show_belief()
        while True:
            panel = wanted(self.case)
            if not panel:
                self._show_decision()
                text = self._input("[bold]undo[/bold], NAME=VALUE, or Enter to end: ")
                if text in (None, "", "quit"):
                    return
                self._change(text or "")
                continue
            if len(panel) > 1:
                self._say(f"Order together: {', '.join(map(str, panel))} (price {money(self.case.panel().price)})")
            if not (self._ask_panel(panel) if len(panel) > 1 else self._ask_one(panel[0])):
                self.console.print("left without a decision")
                return

    def _ask_one(self, feature: Any) -> bool:
        text = self._input(self._question(feature))
        if text in (None, "quit"):
            return False
        self._change(text or "", feature)
        return True

    def _ask_panel(self, panel: list[Any]) -> bool:
        """The results of what was ordered together; another word than a result leaves the panel."""
        results: dict[Any, Any] = {}
        missing: list[Any] = []
        for feature in panel:
            text = self._input(self._question(feature))
            if text in (None, "quit"):
                return False
            assert text is not None
            if text in _CANNOT:
                missing.append(feature)
                continue
            if text in ("undo", "why", "best", *_ASKS_HELP) or self._other(text) is not None:
                self._change(text)
                return True
            try:
                column = self.model.column_of(feature)
                results[feature] = _read(self.model, column, text)
                self.case._number(column, results[feature])
            except InputError as error:
                self.console.print(f"[red]{escape(str(error))}[/red]")
                return True
        self._do(lambda: self._give(results, missing))
        return True

    def _give(self, results: dict[Any, Any], missing: list[Any]) -> None:
        if results:
            self.case.observe_panel(results)
        for feature in missing:
            self.case.unavailable(feature)

    def _change(self, text: str, feature: Any = None) -> None:
        """What was typed: a word, another result, or the value that was asked for."""
        other = self._other(text)
        if text in _ASKS_HELP:
            self.console.print(_HELP)
        elif text == "why":
            self._say(self.case.explain())
        elif text == "best":
            self._show_suggestions()
        elif text == "undo":
            self._do(self.case.undo)
        elif other is not None:
            name, value, price = other
            self._do(lambda: self.case.observe(_read(self.model, self.model.column_of(name), value), name, price))
        elif feature is None:
            self.console.print(f"[red]{escape(repr(text))} is neither undo, why, help nor NAME=VALUE[/red]")
        elif text in _CANNOT:
            self._do(lambda: self.case.unavailable(feature))
        else:
            column = self.model.column_of(feature)
            self._do(lambda: self.case.observe(_read(self.model, column, text), feature))

    def _other(self, text: str) -> tuple[Any, str, float | None] | None:
        """Feature, value and price of another result; None if this is none."""
        name, equals, value = text.partition("=")
        if not equals or name.strip() not in self.model.column_names:
            return None
        value, free = value.strip(), value.strip().endswith(" free")
        value = value.removesuffix(" free").strip() if free else value
        return _feature(self.model, name.strip()), value, 0.0 if free else None

    def _do(self, event: Any) -> None:
        """Let something happen to the case; what is wrong with it is said, and nothing has happened."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PlausibilityWarning)
            try:
                event()
            except InputError as error:
                self.console.print(f"[red]{escape(str(error))}[/red]")
                return
        _show_warnings(self.console, caught)
        self._show_belief()

    def _input(self, question: str) -> str | None:
        try:
            return self.console.input(question).strip()
        except EOFError:
            return None

    def _question(self, feature: Any) -> str:
        about = escape(_about(self.model, self.model.column_of(feature)))
        price = money(self.case.price_of(feature))
        return f"[bold]{escape(str(feature))}[/bold] (price {price}){about}: "

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False)

    def _show_suggestions(self) -> None:
        for one in self.case.suggestions(5):
            saves = "" if one.saving is None else f", expected to save {about(one.saving)}"
            self._say(f"  {one.feature} (price {money(one.price)}){saves}")

    def _show_belief(self) -> None:
        belief, classes = self.case.posterior, self.model.classes
        width = max(len(str(plain_value(c))) for c in classes)
        # In the order of the classes, so that a bar can be followed from one answer to the next.
        for i in sorted((-belief).argsort(kind="stable")[:_MOST_CLASSES]):
            bar = "█" * round(_BAR * belief[i])
            self._say(f"  {plain_value(classes[i])!s:<{width}} {bar:<{_BAR}} {belief[i]:6.1%}")
        self._say(f"  spent {_sum(self.case.cost)}, expected in all {about(self.case.expected_cost)}")

    def _show_decision(self) -> None:
        n = self.case.n_asked
        self.console.print(
            f"[bold]Decision: {escape(str(plain_value(self.case.label)))}[/bold], {n} feature{'s' * (n != 1)} asked, "
            f"{_sum(self.case.cost)} spent; the full panel costs {_sum(self.model.full_price)}."
        )


def _sum(value: float) -> str:
    """What was spent, to the cent or better."""
    return money(float(f"{value:.{_DIGITS}g}") if value < 10 ** (_DIGITS - 2) else round(value, 2))


def _about(model: Model, column: int) -> str:
    """What the dictionary says of a feature, its plausible range or that of training, and the labels that it takes."""
    said, levels = model.description_of(column), model.levels.get(column)
    words = f", {said.description}" if said.description else ""
    if said.has_range:
        words += f", plausible: {said.range_words()}"
    elif (seen := model.training_range(column)) is not None:
        words += f", {words_of_range(*seen, said.unit)} in training"
    elif said.unit:
        words += f", in {said.unit}"
    choices = dict(said.choices) or {str(level): "" for level in (() if levels is None else levels)}
    listed = ", ".join(f"{value} = {meaning}" if meaning else value for value, meaning in choices.items())
    return f"{words} [{listed}]" if listed else words


def _feature(model: Model, name: str) -> Any:
    """A feature as the model calls it: columns without names are numbers."""
    return int(name) if model.names is None and name.isdigit() else name


def _read(model: Model, column: int, text: str) -> object:
    """An answer as it was typed: the level that it names, or a number; None if it came back empty.

    What means a missing value in the table that the model was fitted on does so here.
    """
    levels, name = model.levels.get(column), model.column_names[column]
    (cell,) = Spellings(model.dictionary.missing).blank(Block({name: [text]}, [1], True)).columns[name]
    if cell is None or text in _EMPTY:
        return None
    if levels is None:
        try:
            return float(text)
        except ValueError:
            raise InputError(
                f"{text!r} is not a number; leave it empty if it came back empty, or write cannot if it cannot be had"
            ) from None
    for level in levels:
        if str(level) == text:
            return level
    raise InputError(f"{text!r} is not among {', '.join(map(str, levels))}; leave it empty if it came back empty")


def _show_warnings(console: Console, caught: list[warnings.WarningMessage]) -> None:
    for warning in caught:
        console.print(f"[yellow]{escape(str(warning.message))}[/yellow]", highlight=False)
