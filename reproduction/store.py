"""Results on disk: one file of JSON lines for each cell, written whole or not at all.

The first line tells what was run, how it ended, with which versions, on which machine and when; each further line is a
record of the result. ``ended`` is ``done``, ``limit`` (it took longer than allowed) or ``failed``. Every line carries
the cell, so that all lines of all files together are one tidy table.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from etana import __version__
from etana.errors import InputError
from etana.files import replacing
from etana.threads import n_cores
from reproduction.cells import Cell

__all__ = ["ENDS", "SCHEMA", "Result", "ResultStore", "surroundings"]

SCHEMA = 1
ENDS = ("done", "limit", "failed")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Result:
    """How a cell ended: its records, the seconds it took in all, its limit, what went wrong if
    anything did, and how its data differs from the paper's."""

    cell: Cell
    ended: str
    seconds: float
    limit: float | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    message: str | None = None
    differs: str | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def mean(self, name: str) -> float | None:
        """The mean of a figure over the parts; None where there is none."""
        values = [r[name] for r in self.records if r.get(name) is not None]
        return sum(values) / len(values) if values else None

    def settles(self, limit: float | None) -> bool:
        """Whether there is no reason to run the cell again under this limit."""
        longer = limit is None or (self.limit is not None and self.limit < limit)
        return self.ended == "done" or (self.ended == "limit" and not longer)


def surroundings() -> dict[str, Any]:
    """Versions and machine."""
    versions = {"etana": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # an installation without metadata
            versions[package] = "unknown"
    return {
        "versions": versions,
        "machine": {"processor": _processor(), "cores": n_cores(), "system": platform.system()},
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not on every system
        pass
    return platform.processor() or platform.machine()


class ResultStore:
    """A folder of results.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.cells import Cell
    >>> from reproduction.store import Result, ResultStore
    >>> store = ResultStore(tempfile.mkdtemp())
    >>> cell = Cell("tables", "iris", "saola")
    >>> store.write(Result(cell, "done", 0.1, records=[{"part": 0, "accuracy": 0.9}]))
    >>> store.read(cell).mean("accuracy")
    0.9
    """

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """The file of a cell."""
        return self.folder / f"{cell.experiment}.{cell.dataset}.{cell.method}.{cell.digest}.jsonl"

    def write(self, result: Result) -> None:
        """Put a result in the place of whatever was there for its cell."""
        cell = result.cell.fields()
        head = {
            "schema": SCHEMA,
            **cell,
            "ended": result.ended,
            "seconds": result.seconds,
            "limit": result.limit,
            "message": result.message,
            "differs": result.differs,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            **surroundings(),
        }
        lines = [head, *({**cell, **record} for record in result.records)]
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.path(result.cell)) as file:
            for line in lines:
                file.write(json.dumps(line, allow_nan=False).encode() + b"\n")

    def read(self, cell: Cell) -> Result | None:
        """The result of a cell, or None if there is none; a damaged file is an error that names it."""
        path = self.path(cell)
        if not path.is_file():
            return None
        result = _parse(path)
        if result.cell != cell:
            raise InputError(f"{path} holds the result of {result.cell.key}, not of {cell.key}; remove it")
        return result

    def __iter__(self) -> Iterator[Result]:
        for path in sorted(self.folder.glob("*.jsonl")):
            yield _parse(path)

    def check(self) -> None:
        """Refuse a folder that cannot be written to, before any work is done."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be made ({error.strerror}); give another folder") from None
        if not os.access(self.folder, os.W_OK):
            raise InputError(f"{self.folder} cannot be written to; give another folder")


def _parse(path: Path) -> Result:
    cure = "remove it, and the cell is run again"
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON lines ({error}); {cure}") from None
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise InputError(f"{path} is empty or holds lines that are no objects; {cure}")
    head, records = lines[0], lines[1:]
    if head.get("schema") != SCHEMA:
        raise InputError(f"{path} has schema {head.get('schema')!r}; this version reads {SCHEMA}: {cure}")
    if head.get("ended") not in ENDS or not isinstance(head.get("seconds"), int | float):
        raise InputError(f"{path} does not say how its cell ended; {cure}")
    cell = Cell.of(head)
    if any(Cell.of(record) != cell for record in records) or (head["ended"] == "done") != bool(records):
        raise InputError(f"{path} holds records that are not those of {cell.key}; {cure}")
    own = [{name: value for name, value in record.items() if name not in cell.fields()} for record in records]
    about = {name: head[name] for name in ("when", "versions", "machine") if name in head}
    return Result(
        cell,
        head["ended"],
        float(head["seconds"]),
        head.get("limit"),
        own,
        head.get("message"),
        head.get("differs"),
        about,
    )
