"""``etana export``: a policy as code, a statement or a page, and how large it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from etana.commands.model_table import as_table, blanked
from etana.exporting.c import table_bytes
from etana.exporting.targets import Wishes
from etana.exporting.writing import export_model
from etana.model import Model
from etana.tablefile import read_columns

__all__ = ["export_file"]


def export_file(model: Model, output: str, rows: str | None, **wishes: Any) -> None:
    """Write the files, and say on standard error what they hold."""
    table = None if rows is None else as_table(model, blanked(model, read_columns(rows), rows), rows, every=True)
    given = Wishes(Path(output).stem, rows=table, **wishes)
    written, plan = export_model(model, output, given)
    for file in written:
        typer.echo(f"etana: {file} written, {file.stat().st_size:,} bytes", err=True)
    typer.echo(plan.coverage, err=True)
    if Path(output).suffix == ".c":
        typer.echo(f"Tables: {table_bytes(plan, given.real):,} bytes of read-only memory, names apart.", err=True)
