"""Tables on disk: CSV and Parquet in, CSV out, a block of rows at a time.

A CSV file has a header line with column names and is UTF-8. An empty cell, and ``NA``, ``NaN``, ``nan``, ``null``,
``None`` and ``?``, is missing. A column is numeric if every cell that is present is a number. Parquet needs pyarrow.
``-`` is standard input, or standard output.

A folder of parts holds CSV files only or Parquet files only, all with the same columns in any order. Files whose names
start with a dot or an underscore, which other programs leave as marks, are passed over.
"""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from etana.errors import InputError
from etana.files import check_target, replacing
from etana.table import Table

__all__ = ["Block", "atomic_text", "check_parts", "list_parts", "read_blocks", "read_columns", "to_table"]

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "None", "?"})

_ROWS = 20_000
_PARQUET = (".parquet", ".pq")


@dataclass
class Block:
    """Some rows of a file: raw cells by column name, and where they stand."""

    columns: dict[str, Any]  # lists, or arrays of numbers with NaN for missing ones
    first_line: int  # line of the first row in a CSV file, row number otherwise
    text: bool  # whether cells are text that has to be read as numbers

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))


def read_blocks(path: str, rows: int = _ROWS, arrays: Collection[str] = ()) -> Iterator[Block]:
    """Blocks of rows of a CSV or Parquet file; at least one, perhaps without rows.

    Of a Parquet file, columns of numbers that are named in ``arrays`` come as arrays, which is much faster.
    """
    if path != "-" and not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise InputError(f"{path} {what}; give a CSV or Parquet file, or - for standard input")
    if path.endswith(_PARQUET):
        yield from _read_parquet(path, rows, arrays)
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


@contextlib.contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow; pip install pyarrow, or convert the file to CSV") from None
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from None


def _read_parquet(path: str, rows: int, arrays: Collection[str]) -> Iterator[Block]:
    with _open_parquet(path) as file:
        done = 0
        fast = {f.name for f in file.schema_arrow if f.name in arrays and _holds(f.type) == "numbers"}
        for batch in file.iter_batches(batch_size=rows):
            read = zip(batch.schema.names, batch.columns, strict=True)
            columns = {name: _as_floats(column) if name in fast else column.to_pylist() for name, column in read}
            yield Block(columns, done + 1, False)
            done += batch.num_rows
        if not done:
            yield Block({name: [] for name in file.schema_arrow.names}, 1, False)


def _as_floats(column: Any) -> np.ndarray:
    return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))


def list_parts(folder: str) -> list[str]:
    """The files of a folder of parts, by name."""
    inside = sorted(p for p in Path(folder).iterdir() if not p.name.startswith((".", "_")))
    if not inside:
        raise InputError(f"{folder} holds no files; it must hold CSV files or Parquet files")
    for path in inside:
        if path.suffix not in (".csv", *_PARQUET) or not path.is_file():
            raise InputError(
                f"{folder} is a folder, but {path.name} in it is no part; a folder of parts holds .csv files or "
                ".parquet files and no others"
            )
    parquet = [path.suffix in _PARQUET for path in inside]
    if any(parquet) and not all(parquet):
        raise InputError(f"{folder} holds both CSV and Parquet files ({inside[0].name}, ...); convert them to one kind")
    return [str(path.resolve()) for path in inside]


def check_parts(paths: list[str]) -> list[str]:
    """Column names of the first part; all parts must have them, of the same kind."""
    first = _header(paths[0])
    for path in paths[1:]:
        other = _header(path)
        for name in sorted(first.keys() ^ other.keys()):
            has, lacks = (paths[0], path) if name in first else (path, paths[0])
            raise InputError(f"{lacks} has no column {name!r}, but {has} has; give all parts the same columns")
        for name in first:
            if first[name] != other[name] and None not in (first[name], other[name]):
                raise InputError(
                    f"column {name!r} holds {first[name]} in {paths[0]} and {other[name]} in {path}; "
                    "give it one type in all parts"
                )
    return list(first)


def _header(path: str) -> dict[str, str | None]:
    """Column names, and what the columns hold if the file says so."""
    if not path.endswith(_PARQUET):
        return dict.fromkeys(next(read_blocks(path, 1)).columns)
    with _open_parquet(path) as file:
        return {field.name: _holds(field.type) for field in file.schema_arrow}


def _holds(kind: Any) -> str | None:
    import pyarrow.types as types

    if types.is_null(kind):
        return None
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return "text" if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) else str(kind)


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


def to_table(
    block: Block, names: list[str], path: str, numeric: set[str] | None = None, text: Collection[str] = ()
) -> Table:
    """These columns of a block as a table.

    Columns in ``numeric`` must hold numbers; None decides by their content: a column is numeric if it can be and is not
    in ``text``.
    """
    columns = []
    for name in names:
        if isinstance(block.columns[name], np.ndarray):
            columns.append(block.columns[name])
            continue
        cells = [None if c is None or c in MISSING else c for c in block.columns[name]] if block.text else (
            block.columns[name]
        )  # fmt: skip
        if numeric is None and name not in text:
            columns.append(_guess(cells))
        elif numeric is not None and name in numeric:
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
