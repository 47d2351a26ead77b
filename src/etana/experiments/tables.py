"""Tables of results beside the paper's: rows are methods, columns are data sets.

Each entry has our figure, the paper's and the difference. A cell that took too long says so, as the paper's do; one
that failed, or was not run, says that. The same table is written to the terminal, as CSV, as Markdown and as HTML.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from etana.experiments.cells import Cell
from etana.experiments.methods import method_of
from etana.experiments.published import ACCURACY, FEATURES, NEWS20_NOTE, SECONDS
from etana.experiments.store import Result
from etana.report.page import table as html_table
from etana.report.page import text

__all__ = ["Entry", "Table", "paper_tables", "to_csv", "to_html", "to_markdown", "to_terminal"]

TITLES = {
    "madelon": "Madelon", "lung": "Lung", "mll": "MLL", "dexter": "Dexter", "car": "Car", "lung2": "Lung2",
    "news20": "News20", "breast_cancer": "Breast cancer", "wine": "Wine", "iris": "Iris", "spambase": "Spam",
    "digits": "Digits", "heart": "Heart", "hepatitis": "Hepatitis", "thyroid": "Thyroid", "pima": "Pima",
    "bupa": "Bupa", "diabetes": "Diabetes", "glass": "Glass", "tictactoe": "Tic-tac-toe", "flare": "Flare",
    "car_evaluation": "Car evaluation",
}  # fmt: skip
_TIMES = (
    ("selection_seconds", "F"),
    ("classification_seconds", "C"),
    ("training_seconds", "T"),
)


@dataclass(frozen=True)
class Entry:
    """A figure, the paper's, and words in place of a figure that is not there."""

    ours: float | None
    paper: float | None
    words: str = ""
    digits: int = 4

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    def shown(self) -> str:
        """Our figure, or why there is none."""
        return self.words if self.ours is None else _figure(self.ours, self.digits)

    def beside(self) -> str:
        """The paper's figure and the difference."""
        if self.paper is None:
            return ""
        known = _figure(self.paper, self.digits)
        return known if self.difference is None else f"{known} ({_signed(self.difference, self.digits)})"


@dataclass(frozen=True)
class Table:
    """A title, column and row headings, entries (None: there is no such cell), notes, and what an entry shows."""

    name: str
    title: str
    columns: list[str]
    rows: list[tuple[str, list[Entry | None]]]
    notes: list[str]
    corner: str = "ours / paper"
    caption: str = "ours; below it the paper's (difference)."


def _figure(value: float, digits: int) -> str:
    if digits < 0:  # seconds
        digits = 4 if value < 1 else 2 if value < 100 else 0
    return f"{value:.{digits}f}"


def _signed(value: float, digits: int) -> str:
    shown = _figure(abs(value), digits)
    return shown if not shown.strip("0.") else f"{'+' if value > 0 else '−'}{shown}"


def paper_tables(results: dict[Cell, Result | None]) -> list[Table]:
    """Tables 2, 3 and 4 from the cells of the experiment ``tables`` (None: not run)."""
    cells = [cell for cell in results if cell.experiment == "tables"]
    if not cells:
        return []
    grid = _Grid(cells, results)
    accuracy = grid.table("table2", "Table 2: accuracy", [("accuracy", "", ACCURACY)], 4)
    features = grid.table("table3", "Table 3: average number of features", [("n_features", "", FEATURES)], 2)
    seconds = grid.table(
        "table4",
        "Table 4: seconds of feature selection (F), classification (C), both as one (F + C) and training (T)",
        [(name, letter, SECONDS[name]) for name, letter in _TIMES],
        -1,
    )
    return [accuracy, features, seconds]


class _Grid:
    """The cells by row (method, presence) and column (data set)."""

    def __init__(self, cells: Sequence[Cell], results: dict[Cell, Result | None]) -> None:
        self.sets = list(dict.fromkeys(cell.dataset for cell in cells))
        known = list(TITLES)
        self.sets.sort(key=known.index)
        self.results = results
        self.at = {(cell.method, bool(dict(cell.parameters).get("presence")), cell.dataset): cell for cell in cells}
        order = list(dict.fromkeys((m, p) for m, p, _ in self.at))
        self.methods = sorted(order, key=lambda row: (list(_method_order()).index(row[0]), row[1]))

    def table(self, name: str, title: str, lines: Iterable[tuple[str, str, Any]], digits: int) -> Table:
        rows: list[tuple[str, list[Entry | None]]] = []
        for method, presence in self.methods:
            for figure, letter, known in lines:
                entries = [self._entry(method, presence, s, figure, known, digits) for s in self.sets]
                if letter == "F" and not any(e is not None and e.ours for e in entries):
                    continue  # a method that acquires selects while it classifies
                label = method_of(method).title + (", presence only" if presence else "")
                acquires = letter == "C" and not any(row[0] == f"{label}, F" for row in rows)
                shown = "F + C" if acquires else letter
                rows.append((f"{label}, {shown}" if letter else label, entries))
        return Table(name, title, [TITLES[s] for s in self.sets], rows, self._notes())

    def _entry(self, method: str, presence: bool, name: str, figure: str, known: Any, digits: int) -> Entry | None:
        cell = self.at.get((method, presence, name))
        if cell is None:
            return None
        paper = known.get((name, method_of(method).paper))
        result = self.results[cell]
        if result is None:
            return Entry(None, paper, "not run", digits)
        if result.ended == "done":
            return Entry(result.mean(figure), paper, digits=digits)
        words = "failed" if result.ended == "failed" else f"> {(result.limit or 0) * cell.parts:.0f} s"
        return Entry(None, paper, words, digits)

    def _notes(self) -> list[str]:
        found = [r for cell in self.at.values() if (r := self.results[cell]) is not None]
        notes = list(dict.fromkeys(r.differs for r in found if r.differs))
        if "news20" in self.sets:
            notes.append(
                "The paper does not say how News20 was split; here a quarter is held out. "
                "A feature costs 0.001 there, 0.01 elsewhere."
            )
            notes.append(NEWS20_NOTE)
        if any(presence for _, presence, _ in self.at):
            notes.append("“Presence only”: the same with each value replaced by whether it is there.")
        if any(r.ended == "limit" for r in found):
            notes.append("“>” marks a cell that was ended at its time limit; the paper allowed 12 days.")
        failed = [f"{r.cell.key}: {r.message}" for r in found if r.ended == "failed"]
        return notes + ([f"Failed: {'; '.join(failed)}."] if failed else [])


def _method_order() -> Iterable[str]:
    from etana.experiments.methods import METHODS

    return METHODS


def to_terminal(table: Table) -> Any:
    """A rich table: our figure above, the paper's and the difference below."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    caption = " ".join([table.caption, *table.notes])
    out = RichTable(title=escape(table.title), caption=escape(caption), caption_justify="left", pad_edge=False)
    out.add_column("method", overflow="fold", min_width=16)
    for column in table.columns:
        out.add_column(column, justify="right", overflow="fold")
    for label, entries in table.rows:
        out.add_row(escape(label), *("" if e is None else _two_lines(e) for e in entries))
    return out


def _two_lines(entry: Entry) -> str:
    return f"{entry.shown()}\n[dim]{entry.beside()}[/dim]" if entry.beside() else entry.shown()


def to_csv(tables: Iterable[Table]) -> str:
    """All tables as one tidy CSV file: a line for each entry."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "method", "data", "ours", "paper", "difference", "remark"])
    for table in tables:
        for label, entries in table.rows:
            for column, entry in zip(table.columns, entries, strict=True):
                if entry is not None:
                    figures = ("" if v is None else repr(v) for v in (entry.ours, entry.paper, entry.difference))
                    writer.writerow([table.name, label, column, *figures, entry.words])
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """For a page of documentation: ours, paper's in brackets."""

    def shown(entry: Entry | None) -> str:
        if entry is None:
            return ""
        return entry.shown() if entry.paper is None else f"{entry.shown()} / {_figure(entry.paper, entry.digits)}"

    return _markdown(table, shown, table.corner)


def _markdown(table: Table, shown: Callable[[Entry | None], str], corner: str) -> str:
    lines = [f"**{table.title}**", "", f"| {corner} | {' | '.join(table.columns)} |"]
    lines.append("|---|" + "---:|" * len(table.columns))
    lines += [f"| {label} | {' | '.join(shown(e) for e in entries)} |" for label, entries in table.rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def to_html(table: Table) -> str:
    """For the page: the paper's figure and the difference in small print."""
    rows = [[text(label), *("" if e is None else _html(e) for e in entries)] for label, entries in table.rows]
    numeric = range(1, len(table.columns) + 1)
    notes = "".join(f'<p class="muted"><small>{text(note)}</small></p>' for note in table.notes)
    return html_table(["", *table.columns], rows, tuple(numeric), table.title) + notes


def _html(entry: Entry) -> str:
    small = f"<br><small>{text(entry.beside())}</small>" if entry.beside() else ""
    exact = entry.difference is not None and not _signed(entry.difference, entry.digits).strip("0.")
    ours = text(entry.shown())
    return (f"<b>{ours}</b>" if exact and entry.digits >= 0 else ours) + small
