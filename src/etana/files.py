"""Files that appear whole or not at all.

A new file is written beside its target, flushed to the disk, and renamed: a crash leaves the old file or the new one,
never half of either. The temporary file is named ``.<name>.<random>.etana-part`` and locked by its writer; one that a
killed process left behind is not locked, and the next write to the same target removes it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from etana.errors import InputError

if sys.platform != "win32":
    import fcntl

__all__ = ["check_target", "replacing"]

_SUFFIX = ".etana-part"


def check_target(path: Any) -> None:
    """Refuse a path at which no file can be put, before any work is done for it."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"the folder {str(target.parent)!r} of {path} does not exist; make it first")


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of whatever is at the path if the block ends without an error."""
    target = os.path.realpath(path)  # a link stays a link
    folder, name = os.path.split(target)
    _remove_leftovers(folder, name)
    with _temporary(folder, name) as (file, temporary):
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        yield file
        file.flush()
        os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(folder)


@contextlib.contextmanager
def _temporary(folder: str, name: str) -> Iterator[tuple[BinaryIO, str]]:
    """A new file beside the target, locked while it is written, and removed if it was not renamed."""
    # Names of files are limited in length; the random part makes it the writer's own.
    while True:
        temporary = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}{_SUFFIX}")
        try:  # before the file is there: an interrupt may come in the very moment it is made
            with open(temporary, "xb") as file:
                if _lock(file.fileno(), wait=True) and not os.path.exists(temporary):
                    continue  # another save took it for a leftover in the moment before it was locked
                yield file, temporary
                return
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _remove_leftovers(folder: str, name: str) -> None:
    """Remove what killed saves to the same path left behind: temporary files that nobody has locked."""
    start = f".{name[:40]}."
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found = [e.path for e in entries if e.name.startswith(start) and e.name.endswith(_SUFFIX)]
    for leftover in found:
        with contextlib.suppress(OSError), open(leftover, "rb") as file:
            if _lock(file.fileno(), wait=False):
                os.unlink(leftover)


def _lock(descriptor: int, wait: bool) -> bool:
    """Whether the file is now locked by this process; the lock ends with the process, however it ends."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
