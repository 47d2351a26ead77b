"""The files of a folder of parts."""

from __future__ import annotations

from pathlib import Path

from etana.errors import InputError
from etana.tablefile.parquet_reading import PARQUET, holds, open_parquet
from etana.tablefile.reading import read_blocks

__all__ = ["check_parts", "list_parts"]

_CSV = (".csv", ".csv.gz")


def list_parts(folder: str) -> list[str]:
    """The files of a folder of parts, by name."""
    inside = sorted(p for p in Path(folder).iterdir() if not p.name.startswith((".", "_")))
    if not inside:
        raise InputError(f"{folder} holds no files; it must hold CSV files or Parquet files")
    for path in inside:
        if not path.name.endswith((*_CSV, *PARQUET)) or not path.is_file():
            raise InputError(
                f"{folder} is a folder, but {path.name} in it is no part; a folder of parts holds .csv files (or "
                ".csv.gz) or .parquet files and no others"
            )
    parquet = [path.name.endswith(PARQUET) for path in inside]
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
    if not path.endswith(PARQUET):
        return dict.fromkeys(next(read_blocks(path, 1)).columns)
    with open_parquet(path) as file:
        return {field.name: holds(field.type) for field in file.schema_arrow}
