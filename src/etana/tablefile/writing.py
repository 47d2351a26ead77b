"""Writing: output appears whole or not at all, and never in the place of what is read."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from etana.errors import InputError
from etana.files import check_target, replacing

__all__ = ["atomic_text", "check_output"]


def check_output(output: str | None, *inputs: str | None) -> None:
    """Refuse a path at which no file can be put, or that is one of the inputs, under whatever name.

    None and ``-`` are no files. An input that is a folder stands for every file in it.
    """
    if output is None or output == "-":
        return
    check_target(output)
    for given in inputs:
        if given is not None and any(_same(output, path) for path in _files(given)):
            raise InputError(f"{output} is read as {given} and would be replaced by what is written; name another file")


def _files(given: str) -> list[Path]:
    path = Path(given)
    return list(path.iterdir()) if path.is_dir() else [path]


def _same(output: str, path: Path) -> bool:
    """Whether both are one file: by symbolic or hard links, or because the file system does not tell case apart."""
    try:
        return os.path.samefile(output, path)
    except OSError:  # one of them does not exist, and so cannot be replaced
        return False


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
