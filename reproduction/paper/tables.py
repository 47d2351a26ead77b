"""The paper's Tables 2, 3 and 4: rows are methods, columns are data sets.

Each entry has our figure, the paper's and the difference. A cell that took too long says so, as the paper's do; one
that failed, or was not run, says that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reproduction.cells import Cell
from reproduction.experiments import n_parts
from reproduction.methods import METHODS, method_of
from reproduction.paper.plan import has_paper_sets
from reproduction.paper.published import ACCURACY, FEATURES, NEWS20_NOTE, SECONDS
from reproduction.store import Result
from reproduction.tables import TITLES, Entry, ResultTable

__all__ = ["paper_tables"]

_TIMES = (
    ("selection_seconds", "F"),
    ("classification_seconds", "C"),
    ("training_seconds", "T"),
)


def paper_tables(results: dict[Cell, Result | None]) -> list[ResultTable]:
    """Tables 2, 3 and 4 from the cells of the experiment ``tables`` (None: not run)."""
    cells = [cell for cell in results if cell.experiment == "tables"]
    if not cells:
        return []
    grid = _Grid(cells, results)
    accuracy = grid.table(2, "accuracy", [("accuracy", "", ACCURACY)], 4)
    features = grid.table(3, "average number of features", [("n_features", "", FEATURES)], 2)
    seconds = grid.table(
        4,
        "seconds of feature selection (F), classification (C), both as one (F + C) and training (T)",
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
        self.methods = sorted(order, key=lambda row: (list(METHODS).index(row[0]), row[1]))

    def table(self, number: int, what: str, lines: Iterable[tuple[str, str, Any]], digits: int) -> ResultTable:
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
        return self._titled(number, what, rows)

    def _titled(self, number: int, what: str, rows: list[tuple[str, list[Entry | None]]]) -> ResultTable:
        """The paper's number and words beside its sets; without them, a table of its own."""
        columns = [TITLES[s] for s in self.sets]
        if has_paper_sets(self.at.values()):
            return ResultTable(f"table{number}", f"Table {number}: {what}", columns, rows, self._notes())
        title = what[0].upper() + what[1:]
        return ResultTable(f"table{number}", title, columns, rows, self._notes(), "", "No set of the paper is at hand.")

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
        words = "failed" if result.ended == "failed" else f"> {(result.limit or 0) * n_parts(cell):.0f} s"
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
