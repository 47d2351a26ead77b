"""Reading Parquet files."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.tablefile.blocks import Block

__all__ = ["PARQUET", "holds", "open_parquet", "read_parquet"]

PARQUET = (".parquet", ".pq")


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """The file, for as long as it is read."""
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


def read_parquet(path: str, rows: int, arrays: Collection[str]) -> Iterator[Block]:
    """Blocks of rows; columns of numbers that are named in ``arrays`` come as arrays."""
    with open_parquet(path) as file:
        done = 0
        fast = {f.name for f in file.schema_arrow if f.name in arrays and holds(f.type) == "numbers"}
        for batch in file.iter_batches(batch_size=rows):
            read = zip(batch.schema.names, batch.columns, strict=True)
            columns = {name: _as_floats(column) if name in fast else column.to_pylist() for name, column in read}
            yield Block(columns, range(done + 1, done + 1 + batch.num_rows), False)
            done += batch.num_rows
        if not done:
            yield Block({name: [] for name in file.schema_arrow.names}, (), False)


def _as_floats(column: Any) -> np.ndarray:
    return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))


def holds(kind: Any) -> str | None:
    """What a column of this type holds, in a word; None if it holds nothing but missing cells."""
    import pyarrow.types as types

    if types.is_null(kind):
        return None
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return "text" if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) else str(kind)
