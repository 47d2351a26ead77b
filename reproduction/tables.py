"""Tables of results: each entry has our figure, the paper's where there is one, and the difference.

The same table is written to the terminal, as CSV, as Markdown and as HTML.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from etana.report.page import table as html_table
from etana.report.page import text

__all__ = ["Entry", "ResultTable", "to_csv", "to_html", "to_markdown", "to_terminal"]

TITLES = {
    "madelon": "Madelon", "lung": "Lung", "mll": "MLL", "dexter": "Dexter", "car": "Car", "lung2": "Lung2",
    "news20": "News20", "breast_cancer": "Breast cancer", "wine": "Wine", "iris": "Iris", "spambase": "Spam",
    "digits": "Digits", "heart": "Heart", "hepatitis": "Hepatitis", "thyroid": "Thyroid", "pima": "Pima",
    "bupa": "Bupa", "diabetes": "Diabetes", "glass": "Glass", "tictactoe": "Tic-tac-toe", "flare": "Flare",
    "car_evaluation": "Car evaluation",
}  # fmt: skip


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
class ResultTable:
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


def to_terminal(table: ResultTable) -> Any:
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


def to_csv(tables: Iterable[ResultTable]) -> str:
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


def to_markdown(table: ResultTable) -> str:
    """For a page of documentation: ours, paper's in brackets."""

    def shown(entry: Entry | None) -> str:
        if entry is None:
            return ""
        return entry.shown() if entry.paper is None else f"{entry.shown()} / {_figure(entry.paper, entry.digits)}"

    return _markdown(table, shown, table.corner)


def _markdown(table: ResultTable, shown: Callable[[Entry | None], str], corner: str) -> str:
    lines = [f"**{table.title}**", "", f"| {corner} | {' | '.join(table.columns)} |"]
    lines.append("|---|" + "---:|" * len(table.columns))
    lines += [f"| {label} | {' | '.join(shown(e) for e in entries)} |" for label, entries in table.rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def to_html(table: ResultTable) -> str:
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
