"""Where data sets are looked for: a folder that was named, ``ETANA_DATA``, the cache, and the package itself.

A folder that is named with ``data_dir`` is the only one looked into: who names a folder wants the data of that folder.
``ETANA_DATA`` may hold some sets only; the others come from the cache. Two small sets travel with the package, as their
publisher's own files, so that an example can be followed anywhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from etana.errors import InputError

__all__ = ["PACKAGED", "cache_folder", "data_folders", "mirror"]


PACKAGED = Path(__file__).parent / "tables"


def cache_folder() -> Path:
    """The folder for downloaded sets: ``ETANA_CACHE``, or ``etana`` in the user's cache folder."""
    named = os.environ.get("ETANA_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path("~/.cache").expanduser()) / "etana"


def data_folders(data_dir: Any = None) -> list[Path]:
    """The folders to look into, in order; a folder that is named but does not exist is an error."""
    if data_dir is not None:
        return _with_inner(data_dir, "data_dir")
    named = os.environ.get("ETANA_DATA")
    cache = cache_folder()
    folders = _with_inner(named, "the environment variable ETANA_DATA") if named else []
    return [*folders, cache, cache / "data", PACKAGED]


def _with_inner(folder: Any, what: str) -> list[Path]:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise InputError(
            f"{what} is {str(folder)!r}, which is not a folder; name one with the .npz files, or with data/"
        )
    return [path, path / "data"]


def mirror() -> str | None:
    """Address of a server that holds the archives under their own names: ``ETANA_MIRROR``."""
    address = os.environ.get("ETANA_MIRROR")
    return address.rstrip("/") if address else None
