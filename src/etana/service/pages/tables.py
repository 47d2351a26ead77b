"""Pages to classify a table: a CSV file goes up, a CSV file with the decisions comes back, and neither is kept."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from etana.commands.classify import classify_file
from etana.errors import InputError
from etana.service.errors import TooLarge
from etana.service.limits import Limits
from etana.service.models import Models, Served
from etana.service.pages.forms import Fields, read_cost
from etana.service.pages.look import render
from etana.tablefile import read_blocks

__all__ = ["table_routes"]

_MOST_NAMED = 60
_LONGEST_NAME = 80
_CSV = "text/csv; charset=utf-8"


def table_routes(router: APIRouter, models: Models, limits: Limits) -> None:
    """Add the routes."""

    @router.get("/models/{name}/table")
    def table(request: Request, name: str) -> Response:
        return _page(request, models.get(name), limits)

    @router.get("/models/{name}/template.csv")
    def template(name: str) -> Response:
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\r\n").writerow(_columns(models.get(name)))
        return Response(lines.getvalue(), headers=_download(f"{name}-template.csv"), media_type=_CSV)

    @router.post("/models/{name}/table")
    def classify(request: Request, name: str, fields: Fields) -> Response:
        served = models.get(name)
        try:
            content, rows = _classify(served, fields, limits)
        except (InputError, TooLarge) as error:
            status = 413 if isinstance(error, TooLarge) else 422
            return _page(request, served, limits, status, str(error), str(fields.get("max_cost", "")))
        request.app.state.metrics.classified(name, rows)
        return Response(content, headers=_download(f"{name}-decisions.csv"), media_type=_CSV)


def _page(
    request: Request, served: Served, limits: Limits, status: int = 200, fault: str | None = None, budget: str = ""
) -> Response:
    columns = _columns(served)
    return render(
        request, "table.html", status, name=served.name, columns=columns[:_MOST_NAMED],
        more=max(len(columns) - _MOST_NAMED, 0), limits=limits, fault=fault, budget=budget,
    )  # fmt: skip


def _columns(served: Served) -> list[str]:
    """Columns that the model can ask for, as they stand in the table it was fitted on."""
    return [served.features[k] for k in np.sort(served.model.columns)]


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _classify(served: Served, fields: Mapping[str, Any], limits: Limits) -> tuple[bytes, int]:
    """The decisions as CSV, and how many there are."""
    given, budget = fields.get("table"), read_cost(fields)
    if not isinstance(given, tuple) or not given[1]:
        raise InputError("no file was chosen, or it is empty; choose a CSV file with a header line")
    with tempfile.TemporaryDirectory(prefix="etana-") as folder:
        source, target = Path(folder) / "table.csv", Path(folder) / "decisions.csv"
        source.write_bytes(given[1])
        try:
            _check_rows(str(source), limits)
            rows = classify_file(served.model, str(source), str(target), budget)
        except InputError as error:
            # The reader names the file by where it lies here, which nobody outside knows or should know.
            raise InputError(str(error).replace(str(source), _shown(given[0]))) from None
        return target.read_bytes(), rows


def _check_rows(path: str, limits: Limits) -> None:
    rows = 0
    for block in read_blocks(path, rows=limits.rows):
        rows += block.n_rows
        if rows > limits.rows:
            raise TooLarge(f"the table has more than the {limits.rows:,} rows that are allowed; send it in parts")


def _shown(name: str) -> str:
    plain = "".join(c for c in name if c.isprintable()).replace("\\", "/").rpartition("/")[2]
    return plain[:_LONGEST_NAME] or "the table"
