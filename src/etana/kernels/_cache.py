"""Where compiled loops are kept, and a word to who waits for them."""

from __future__ import annotations

import gc
import logging
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core import event

__all__ = ["tell_when_compiling", "use_a_writable_folder"]

_log = logging.getLogger("etana.kernels")
_COMPILE = "numba:compile"


def use_a_writable_folder() -> None:
    """Keep compiled loops in a temporary folder if there is no other place for them."""
    try:
        numba.njit(cache=True)(_nothing)  # looks for a place, and compiles nothing
    except RuntimeError:  # "no locator available": neither the package's folder nor the user's can be written to
        folder = _folder_of_ones_own()
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(folder)  # processes that are started use it too
        _log.warning(
            "etana: neither the folder of the package nor a cache folder of the user can be written to; compiled loops "
            "are kept in %s. NUMBA_CACHE_DIR names a lasting place.", folder,
        )  # fmt: skip


def _nothing() -> None:
    """What the search for a place is tried with."""


def _folder_of_ones_own() -> Path:
    """A temporary folder that nobody else can write to: what is read from it is run.

    The same for all processes of a user, unless somebody else made it first.
    """
    if hasattr(os, "getuid"):
        path = Path(tempfile.gettempdir()) / f"etana-loops-{os.getuid()}"
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077:
            return path
    return Path(tempfile.mkdtemp(prefix="etana-loops-"))


class _Announcement(event.Listener):
    """Says that a loop of etana is being compiled, the first time that it happens in this process.

    Meanwhile no garbage is collected: the compiler makes objects by the million, most of which live until it is done,
    and looking through them again and again is a tenth of its time.
    """

    def on_start(self, event: Any) -> None:
        # Compilations nest, and only one thread compiles at a time.
        self._depth += 1
        if self._depth > 1 or not event.data["dispatcher"].py_func.__module__.startswith("etana."):
            return
        self._collects = gc.isenabled()
        gc.disable()
        if not self._told:
            self._told = True
            _log.warning("etana: compiling loops, which takes up to a minute and happens once; they are kept on disk")

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collects:
            self._collects = False
            gc.enable()

    _told = False
    _depth = 0
    _collects = False


def tell_when_compiling() -> None:
    """Have the first compilation of this process announced; loops that are on disk are not compiled."""
    event.register(_COMPILE, _Announcement())
