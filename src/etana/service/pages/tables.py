"""Pages to classify a table: a CSV file goes up, a CSV file with the decisions comes back, and neither is kept.

Where cells are not what the model was made for (labels that training did not have, numbers outside of the usual range,
words taken as missing), a page says how many, and holds the decisions itself, as the address of a link.

What comes back is opened in spreadsheets, which take a cell that begins with ``=``, ``+``, ``-`` or ``@`` for something
to run. Text that begins so gets an apostrophe in front, which spreadsheets show as text; numbers stay as they are.
"""

from __future__ import annotations

import base64
import csv
import io
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from etana.commands.classify import Classified, classify_file
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
_RUNS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPARE_COLUMNS, _LONGEST_COLUMN = 1000, 200
_IDS = ("id", "row_id", "row id", "rowid")
_CSV = "text/csv; charset=utf-8"


def table_routes(router: APIRouter, models: Models, limits: Limits) -> None:
    """Add the routes."""

    @router.get("/models/{name}/table")
    def table(request: Request, name: str) -> Response:
        return _page(request, models.get(name), limits)

    @router.get("/models/{name}/template.csv")
    def template(name: str) -> Response:
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\r\n").writerow(map(_harmless, _columns(models.get(name))))
        return Response(lines.getvalue(), headers=_download(f"{name}-template.csv"), media_type=_CSV)

    @router.post("/models/{name}/table")
    def classify(request: Request, name: str, fields: Fields) -> Response:
        served = models.get(name)
        try:
            content, done = _classify(served, fields, limits)
        except (InputError, TooLarge) as error:
            status = 413 if isinstance(error, TooLarge) else 422
            return _page(request, served, limits, status, str(error), fields)
        request.app.state.metrics.classified(name, done.n_rows)
        if done.findings and "text/html" in request.headers.get("accept", ""):
            return _odd(request, served, content, done)
        return Response(content, headers=_download(f"{name}-decisions.csv"), media_type=_CSV)


def _page(
    request: Request, served: Served, limits: Limits, status: int = 200, fault: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    columns = _columns(served)
    return render(
        request, "table.html", status, name=served.name, columns=columns[:_MOST_NAMED],
        more=max(len(columns) - _MOST_NAMED, 0), limits=limits, fault=fault,
        missing=served.model.dictionary.missing,
        budget=str((given or {}).get("max_cost", "")), id_column=str((given or {}).get("id_column", "")),
    )  # fmt: skip


def _odd(request: Request, served: Served, content: bytes, done: Classified) -> Response:
    """The decisions, with what was unusual in what they were made of."""
    address = f"data:text/csv;charset=utf-8;base64,{base64.b64encode(content).decode('ascii')}"
    return render(
        request, "decisions.html", name=served.name, findings=done.findings, rows=done.n_rows, address=address,
        file=f"{served.name}-decisions.csv",
    )  # fmt: skip


def _columns(served: Served) -> list[str]:
    """Columns that the model can ask for, as they stand in the table it was fitted on."""
    return [served.features[k] for k in np.sort(served.model.columns)]


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _classify(served: Served, fields: Mapping[str, Any], limits: Limits) -> tuple[bytes, Classified]:
    """The decisions as CSV, how many there are, and what was unusual."""
    given, budget = fields.get("table"), read_cost(fields)
    if not isinstance(given, tuple) or not given[1]:
        raise InputError("no file was chosen, or it is empty; choose a CSV file with a header line")
    _check_header(given[1], served)
    with tempfile.TemporaryDirectory(prefix="etana-") as folder:
        source, target = Path(folder) / "table.csv", Path(folder) / "decisions.csv"
        source.write_bytes(_plain_header(given[1], served))
        try:
            names = _read_names(str(source), str(fields.get("id_column", "")).strip(), served, limits)
            done = classify_file(served.model, str(source), str(target), budget)
        except InputError as error:
            # The reader names the file by where it lies here, which nobody outside knows or should know.
            raise InputError(str(error).replace(str(source), _shown(given[0]))) from None
        return _decisions(target, names), done


def _check_header(content: bytes, served: Served) -> None:
    """Refuse a table with far more columns than the model has features, before anything compares their names."""
    most = len(served.features) + _SPARE_COLUMNS
    head = content[: _LONGEST_COLUMN * most]
    end = _end_of_line(head)
    whole = end >= 0 or len(head) == len(content)
    if not whole or head[: end if end >= 0 else len(head)].count(b",") >= most:
        raise InputError(
            f"the table has more than {most:,} columns, or a header longer than {len(head):,} bytes, and the model has "
            f"{len(served.features):,} features; leave out what it does not need"
        )


def _end_of_line(text: bytes) -> int:
    """Where the first line ends; a line break between quotes does not count. -1 if it does not end."""
    at = quotes = 0
    while (end := text.find(b"\n", at)) >= 0:
        quotes += text.count(b'"', at, end)
        if quotes % 2 == 0:
            return end
        at = end + 1
    return -1


def _read_names(path: str, wanted: str, served: Served, limits: Limits) -> list[str] | None:
    """What the rows are called, with the name of that column before them; checks how many rows there are."""
    names: list[str] = []
    rows, column = 0, wanted
    for block in read_blocks(path, rows=limits.rows):
        rows += block.n_rows
        if rows > limits.rows:
            raise TooLarge(f"the table has more than the {limits.rows:,} rows that are allowed; send it in parts")
        if wanted and wanted not in block.columns:
            raise InputError(f"the table has no column {wanted!r}; it has {', '.join(list(block.columns)[:8])}")
        column = column or next((c for c in block.columns if c.lower() in _IDS and c not in served.columns), "")
        names += map(str, block.columns[column]) if column else ()
    return [column, *names] if column else None


def _decisions(path: Path, names: list[str] | None) -> bytes:
    """The decisions as spreadsheets may read them, each with the name of its row."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    with open(path, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file)):
            writer.writerow(map(_harmless, row if names is None else [names[number], *row]))
    return lines.getvalue().encode()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for something to run."""
    if not cell.startswith(_RUNS) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _plain_header(content: bytes, served: Served) -> bytes:
    """The table with its own names: those that we have given an apostrophe lose it again."""
    if b"'" not in content.partition(b"\n")[0]:
        return content
    lines = iter(content.decode("utf-8-sig", "surrogateescape").splitlines(keepends=True))
    header = next(csv.reader(lines), [])
    known = [name[1:] if name[:1] == "'" and name[1:] in served.columns else name for name in header]
    first = io.StringIO()
    csv.writer(first, lineterminator="\n").writerow(known)
    return (first.getvalue() + "".join(lines)).encode("utf-8", "surrogateescape")


def _shown(name: str) -> str:
    plain = "".join(c for c in name if c.isprintable()).replace("\\", "/").rpartition("/")[2]
    return plain[:_LONGEST_NAME] or "the table"
