"""Compiled loops on disk: a file for each kernel, the types of its arguments, and the processor.

Numba's own cache asks whether the file of a kernel has changed. A kernel is made of others as well, which stand in
other files: here loops belong to the content of all sources beside the kernel, and neither to the place nor to the age
of a file. So what was compiled when the package was built is as good after it was packed, sent and unpacked.

A loop is looked for in two places: where this machine keeps what it compiles, which is where Numba would, and in the
folder :data:`SHIPPED` of the package, which is filled when a wheel is built and never written to afterwards. A file for
another processor has another name; one of other sources, of another Numba, or with an error in it is not used, and the
loop is compiled. What is read is run: the first place belongs to the user, the second is part of the package.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import config
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from etana.files import replacing

__all__ = ["SHIPPED", "LoopFiles", "source_stamp"]

SHIPPED = "_compiled"  # beside the sources

_log = logging.getLogger("etana.kernels")
_SIZE = hashlib.sha256().digest_size
_places: dict[Path, str] = {}  # where loops of the sources of a folder are kept; to find it out, a file is written
_COMPILERS = f"{numba.__version__} {llvmlite.__version__}".encode()


@cache
def source_stamp(folder: Path) -> bytes:
    """A digest of all Python files of a folder: their names, and what is in them."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        for part in (path.name.encode(), path.read_bytes()):
            digest.update(hashlib.sha256(part).digest())
    return digest.digest()


class LoopFiles:
    """The files of one kernel; takes the place of Numba's cache.

    Parameters
    ----------
    function : callable
        The function, from a file, and without a closure.
    """

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._folder = Path(function.__code__.co_filename).parent
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        # Now, and not when it is needed: later an edit may have changed the sources of what is running.
        self._stamp = source_stamp(self._folder)

    @property
    def cache_path(self) -> str:
        """Where loops are kept."""
        if self._folder not in _places:
            _places[self._folder] = FunctionCache(self._function).cache_path
        return _places[self._folder]

    def load_overload(self, types: Any, context: Any) -> CompileResult | None:
        """What the kernel was compiled to for these types, if it was."""
        context.refresh()
        name, key = self._name_and_key(types, context.codegen())
        for folder in (Path(self.cache_path), self._folder / SHIPPED):
            content = _read(folder / name, key)
            if content is not None:
                of_types, result = pickle.loads(content)
                if of_types == types:  # two types may have one name
                    return CompileResult._rebuild(context, *result)
        return None

    def save_overload(self, types: Any, result: CompileResult) -> None:
        """Keep what the kernel was compiled to."""
        if result.library.has_dynamic_globals:
            return  # addresses of this process
        name, key = self._name_and_key(types, result.codegen)
        content = dumps((types, result._reduce()))
        try:
            with replacing(Path(self.cache_path) / name) as file:
                file.write(key + hashlib.sha256(content).digest() + content)
        except OSError as error:
            _log.warning("etana: a compiled loop cannot be kept, and will be compiled again: %s", error)

    def flush(self) -> None:
        """Forget what was kept."""
        for path in Path(self.cache_path).glob(f"{self._name}-*.nbc"):
            path.unlink(missing_ok=True)

    def _name_and_key(self, types: Any, codegen: Any) -> tuple[str, bytes]:
        """The name of a file, and what it must begin with.

        The name does not tell sources and Numba: a file of others is replaced, and not left behind.
        """
        abi = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        settings = config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT
        wanted = repr((str(types), codegen.magic_tuple(), settings)).encode()
        name = f"{self._name}-{hashlib.sha256(wanted).hexdigest()[:16]}.{abi}.nbc"
        return name, hashlib.sha256(self._stamp + _COMPILERS + wanted).digest()


def _read(path: Path, key: bytes) -> bytes | None:
    """What a file holds, if it begins with the key and nothing happened to it since."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    digest, content = found[_SIZE : 2 * _SIZE], found[2 * _SIZE :]
    return content if found[:_SIZE] == key and hashlib.sha256(content).digest() == digest else None
