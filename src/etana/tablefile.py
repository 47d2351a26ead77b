"""Tables on disk: CSV and Parquet in, CSV out, a block of rows at a time.

A CSV file has a header line with column names and is UTF-8. An empty cell, and ``NA``, ``NaN``, ``nan``, ``null``,
``None`` and ``?``, is missing. A column is numeric if every cell that is present is a number. Parquet needs pyarrow.
``-`` is standard input, or standard output.
"""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from etana.errors import InputError
from etana.files import check_target, replacing
from etana.table import Table

__all__ = ["Block", "atomic_text", "read_blocks", "read_columns", "to_table"]

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "None", "?"})

_ROWS = 20_000


@dataclass
class Block:
    """Some rows of a file: raw cells by column name, and where they stand."""

    columns: dict[str, list[Any]]
    first_line: int  # line of the first row in a CSV file, row number otherwise
    text: bool  # whether cells are text that has to be read as numbers

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))


def read_blocks(path: str, rows: int = _ROWS) -> Iterator[Block]:
    """Blocks of rows of a CSV or Parquet file; at least one, perhaps without rows."""
    if path != "-" and not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise InputError(f"{path} {what}; give a CSV or Parquet file, or - for standard input")
    if path.endswith((".parquet", ".pq")):
        yield from _read_parquet(path, rows)
        return
    with contextlib.ExitStack() as stack:
        if path == "-":
            source: TextIO = sys.stdin
        else:
            source = stack.enter_context(open(path, encoding="utf-8-sig", newline=""))
        yield from _read_csv(path, source, rows)


def _read_csv(path: str, source: TextIO, rows: int) -> Iterator[Block]:
    reader = csv.reader(source)
    try:
        header = next(reader, None)
        if not header or all(not name.strip() for name in header):
            raise InputError(f"{path} is empty; the first line must hold the column names")
        names = [name.strip() for name in header]
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise InputError(f"{path} has two columns named {sorted(doubled)[0]!r}; give each column a name of its own")
        block: list[list[str]] = []
        first, sent = reader.line_num + 1, False
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, but the header has {len(names)}; "
                    "put text that holds commas between quotes"
                )
            block.append(row)
            if len(block) == rows:
                yield Block(_transpose(names, block), first, True)
                block, first, sent = [], reader.line_num + 1, True
        if block or not sent:
            yield Block(_transpose(names, block), first, True)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}); save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None


def _transpose(names: list[str], rows: list[list[str]]) -> dict[str, list[Any]]:
    if not rows:
        return {name: [] for name in names}
    return {name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}


def _read_parquet(path: str, rows: int) -> Iterator[Block]:
    try:
        import pyarrow
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow; pip install pyarrow, or convert the file to CSV") from None
    try:
        with pq.ParquetFile(path) as file:
            done = 0
            for batch in file.iter_batches(batch_size=rows):
                columns = {name: batch.column(i).to_pylist() for i, name in enumerate(batch.schema.names)}
                yield Block(columns, done + 1, False)
                done += batch.num_rows
            if not done:
                yield Block({name: [] for name in file.schema_arrow.names}, 1, False)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from None


def read_columns(path: str) -> Block:
    """A whole file."""
    whole: Block | None = None
    for block in read_blocks(path):
        if whole is None:
            whole = block
        else:
            for name, cells in block.columns.items():
                whole.columns[name].extend(cells)
    assert whole is not None
    return whole


def to_table(block: Block, names: list[str], path: str, numeric: set[str] | None = None) -> Table:
    """These columns of a block as a table.

    Columns in ``numeric`` must hold numbers; None decides by their content: a column is numeric if it can be.
    """
    columns = []
    for name in names:
        cells = [None if c is None or c in MISSING else c for c in block.columns[name]] if block.text else (
            block.columns[name]
        )  # fmt: skip
        if numeric is None:
            columns.append(_guess(cells))
        elif name in numeric:
            columns.append(_numbers(cells, name, path, block))
        else:
            columns.append(np.array([*cells, None], dtype=object)[:-1])
    return Table(columns=columns, names=names)


def _guess(cells: list[Any]) -> np.ndarray:
    try:
        return np.array([np.nan if c is None else float(c) for c in cells], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([*cells, None], dtype=object)[:-1]


def _numbers(cells: list[Any], name: str, path: str, block: Block) -> np.ndarray:
    out = np.empty(len(cells))
    for r, cell in enumerate(cells):
        try:
            out[r] = np.nan if cell is None else float(cell)
        except (TypeError, ValueError):
            raise InputError(
                f"{path}, line {block.first_line + r}: {cell!r} in column {name!r} is not a number; "
                "correct it, or leave the cell empty if the value is missing"
            ) from None
    return out


@contextlib.contextmanager
def atomic_text(path: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is whole; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    check_target(path)
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()
