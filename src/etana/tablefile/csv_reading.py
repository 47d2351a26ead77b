"""Reading CSV files as people have them: commas, semicolons, tabs or bars; UTF-8 or UTF-16; as they are or ``.gz``.

The header is the first line that is not blank. It tells what separates the cells: a comma if it splits the line, else
the semicolon, tab or bar that splits it most. A column without a name gets one, ``Unnamed: 0`` by its place. Where
semicolons separate, ``1,5`` is the number 1.5, as spreadsheets write it in many countries. UTF-16 is known by its mark.
A file of another kind is refused with its name and the cure.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import TextIO

from etana.errors import InputError
from etana.tablefile.blocks import Block

__all__ = ["read_csv"]

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_FOREIGN = {
    b"PK\x03\x04": "is a spreadsheet or a zip archive; export the table as CSV, or unpack it",
    b"\x1f\x8b": "is compressed; unpack it, or give its name the ending .gz",
    b"PAR1": "is a Parquet file; give its name the ending .parquet",
}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


def read_csv(path: str, rows: int) -> Iterator[Block]:
    """Blocks of rows; at least one, perhaps without rows."""
    try:
        with _open(path) as source:
            yield from _read(path, source, rows)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} {_undecodable(error)}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); it is damaged or cut short: get it again") from None


def _undecodable(error: UnicodeDecodeError) -> str:
    if error.encoding.startswith("utf-16"):
        return f"is not the UTF-16 that its first bytes announce ({error.reason}); save it as UTF-8"
    return f"is not UTF-8 ({error.reason}); save it as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8"


@contextlib.contextmanager
def _open(path: str) -> Iterator[TextIO]:
    if path == "-":
        yield sys.stdin
        return
    unpack = gzip.open if path.endswith(".gz") else open
    with unpack(path, "rb") as file:
        start = file.read(4)
    for mark, cause in _FOREIGN.items():
        if start.startswith(mark):
            raise InputError(f"{path} {cause}")
    encoding = "utf-16" if start.startswith(_UTF16) else "utf-8-sig"
    with unpack(path, "rt", encoding=encoding, newline="") as text:
        yield text


def _read(path: str, source: TextIO, rows: int) -> Iterator[Block]:
    blank, first = _header_line(source)
    if "\0" in first:
        raise InputError(f"{path} holds zero bytes: it is no text, or UTF-16 without its mark; save it as UTF-8")
    separator = _separator(first)
    lines = itertools.chain(itertools.repeat("\n", blank), [first] if first else [], source)
    reader = csv.reader(lines, delimiter=separator)  # blank lines before the header are counted
    try:
        names = _names(path, next((row for row in reader if any(cell.strip() for cell in row)), []))
        sent = False
        numbered = _numbered(path, reader, len(names), separator)
        while block := list(itertools.islice(numbered, rows)):
            yield Block(_transpose(names, [row for _, row in block]), [line for line, _ in block], True)
            sent = True
        if not sent:
            yield Block({name: [] for name in names}, (), True)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None


def _header_line(source: TextIO) -> tuple[int, str]:
    """The first line that is not blank, and how many are before it."""
    for blank in itertools.count():
        line = source.readline()
        if not line or line.strip("\ufeff \t\r\n"):
            return blank, line.removeprefix("\ufeff")
    raise AssertionError


def _separator(header: str) -> str:
    """What splits the header line; a comma wherever it does."""
    widths = {separator: len(next(csv.reader([header], delimiter=separator), [])) for separator in _SEPARATORS}
    return "," if widths[","] > 1 else max(widths, key=widths.__getitem__)


def _names(path: str, header: list[str]) -> list[str]:
    if not any(name.strip() for name in header):
        raise InputError(f"{path} is empty; the first line must hold the column names")
    names = [name.strip() or f"Unnamed: {k}" for k, name in enumerate(header)]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise InputError(f"{path} has two columns named {sorted(doubled)[0]!r}; give each column a name of its own")
    return names


def _numbered(path: str, reader: Iterable[list[str]], width: int, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line that it begins at."""
    before, first = reader.line_num, True  # type: ignore[attr-defined]
    for row in reader:
        line, before = before + 1, reader.line_num  # type: ignore[attr-defined]
        if not row:
            continue
        if len(row) != width:
            cure = f"put text that holds {_SEPARATORS[separator]} between quotes"
            if first and len(row) > width:
                cure = f"remove what stands before the line with the column names, or {cure}"
            raise InputError(f"{path}, line {line}: {len(row)} cells, but the header has {width}; {cure}")
        first = False
        yield line, [_with_point(cell) for cell in row] if separator == ";" else row


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _transpose(names: list[str], rows: list[list[str]]) -> dict[str, list[str]]:
    return {name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
