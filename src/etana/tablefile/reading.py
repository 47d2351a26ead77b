"""Reading a file of either kind, whole or a block of rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from etana.errors import InputError
from etana.tablefile.blocks import Block
from etana.tablefile.csv_reading import read_csv
from etana.tablefile.parquet_reading import PARQUET, read_parquet

__all__ = ["read_blocks", "read_columns"]

_ROWS = 20_000


def read_blocks(path: str, rows: int = _ROWS, arrays: Collection[str] = ()) -> Iterator[Block]:
    """Blocks of rows of a CSV or Parquet file; at least one, perhaps without rows.

    Of a Parquet file, columns of numbers that are named in ``arrays`` come as arrays, which is much faster.
    """
    if path != "-" and not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise InputError(f"{path} {what}; give a CSV or Parquet file, or - for standard input")
    if path.endswith(PARQUET):
        yield from read_parquet(path, rows, arrays)
    else:
        yield from read_csv(path, rows)


def read_columns(path: str) -> Block:
    """A whole file."""
    blocks = read_blocks(path)
    whole = next(blocks)
    lines = list(whole.lines)
    for block in blocks:
        lines.extend(block.lines)
        for name, cells in block.columns.items():
            whole.columns[name].extend(cells)
    whole.lines = lines
    return whole
