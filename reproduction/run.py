"""``etana reproduce``: run what has to be run, then draw everything from what is stored.

There are two suites of cells, a module each: the paper's, and what goes beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etana.errors import InputError
from etana.files import replacing
from etana.plots._canvas import matplotlib
from reproduction.cells import Cell
from reproduction.measurements import plan as measurements
from reproduction.measurements.page import beyond_page
from reproduction.measurements.tables import beyond_tables
from reproduction.paper import plan as paper
from reproduction.paper.figures import Found
from reproduction.paper.page import reproduction_page
from reproduction.paper.tables import paper_tables
from reproduction.runner import choose, run_cells, unfinished
from reproduction.store import Result, ResultStore
from reproduction.tables import to_csv, to_markdown, to_terminal

__all__ = ["Plan", "draw", "plan", "reproduce"]

_LONGEST = 1e7  # seconds: some months


@dataclass(frozen=True)
class Plan:
    """All cells of the run, those that are left to do, where results are, and the suite that they belong to."""

    cells: list[Cell]
    left: list[Cell]
    store: ResultStore
    data_dir: str | None
    limit: float | None
    jobs: int
    suite: Any = paper


def plan(
    output: str,
    *,
    quick: bool = False,
    beyond: bool = False,
    data_dir: str | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    limit: float | None = 600.0,
    skip_slow: bool = False,
    jobs: int = 1,
    seed: int = 0,
) -> Plan:
    """Check every option and say what has to be done."""
    if limit is not None and not 0 < limit <= _LONGEST:
        raise InputError(f"the time limit is {limit!r}; it must be a positive number of seconds, at most {_LONGEST:g}")
    if jobs < 1:
        raise InputError(f"jobs is {jobs!r}; it must be at least 1")
    if data_dir is not None and not Path(data_dir).is_dir():
        raise InputError(f"the data folder {data_dir!r} does not exist; name one with the .npz files, or with data/")
    matplotlib()  # the page is drawn last, but what it needs is missed first
    store = ResultStore(Path(output) / "cells")
    store.check()
    suite = measurements if beyond else paper
    cells = suite.quick(data_dir, seed) if quick else suite.full(seed)
    wanted = choose(cells, only, "--only") if only else cells
    anew = choose(wanted, again, "--again") if again else []
    left = unfinished(wanted, store, limit, anew)
    if skip_slow:
        left = [cell for cell in left if not suite.is_slow(cell)]
    return Plan(cells, left, store, data_dir, limit, jobs, suite)


def reproduce(planned: Plan, console: Any) -> None:
    """Run the cells that are left, with a bar that tells the cell and the time left."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.fields[done]} of {task.fields[cells]} cells"), TimeElapsedColumn(),
               TextColumn("about {task.fields[rest]} left"), TextColumn("{task.description}"))  # fmt: skip
    total = sum(map(planned.suite.seconds_expected, planned.left))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total, done=0, cells=len(planned.left), rest=_duration(total))
        state = {"done": 0, "expected": 0.0, "spent": 0.0}

        def finish(result: Result) -> None:
            expected = planned.suite.seconds_expected(result.cell)
            state["done"] += 1
            state["expected"] += expected
            state["spent"] += result.seconds
            pace = min(max(state["spent"] / state["expected"], 0.2), 5.0)
            rest = _duration(pace * (total - state["expected"]) / planned.jobs)
            progress.update(task, advance=expected, done=int(state["done"]), rest=rest)
            if result.ended != "done":
                why = result.message or f"ended at its limit of {result.limit:g} s for each part"
                progress.console.print(f"{result.cell.key}: {why}", markup=False, highlight=False)

        run_cells(
            planned.left, planned.store, data_dir=planned.data_dir, limit=planned.limit, jobs=planned.jobs,
            begin=lambda cell: progress.update(task, description=cell.key), finish=finish,
        )  # fmt: skip


def _duration(seconds: float) -> str:
    minutes = int(seconds / 60 + 0.5)
    if minutes < 1:
        return "a minute"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def draw(planned: Plan, output: str, console: Any, markdown: bool = False) -> list[Path]:
    """Tables to the terminal and as CSV, the page, and tables as Markdown if they are wanted; from what is stored."""
    results: Found = {cell: planned.store.read(cell) for cell in planned.cells}
    further = planned.suite is measurements
    tables = beyond_tables(results) if further else paper_tables(results)
    for table in tables:
        console.print(to_terminal(table))
    page = beyond_page(results, tables) if further else reproduction_page(results, tables)
    name = "beyond" if further else "tables"
    files = {f"{name}.csv": to_csv(tables), "beyond.html" if further else "index.html": page}
    if markdown:
        files[f"{name}.md"] = "\n".join(to_markdown(table) for table in tables)
    return [_write(Path(output) / name, content) for name, content in files.items()]


def _write(path: Path, content: str) -> Path:
    with replacing(path) as file:
        file.write(content.encode())
    return path
