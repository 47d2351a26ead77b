"""How the processes of one service show each other their metrics.

Each process writes its counters into a folder that they share, once a second; whichever is asked for ``/metrics`` gives
its own and what the others have written, told apart by the label ``worker``.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

__all__ = ["Board"]

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$")


class Board:
    """A folder with a file for each process.

    Parameters
    ----------
    folder : str or path
        A folder of this service alone.
    worker : int
        The number of this process.
    """

    def __init__(self, folder: str | os.PathLike[str], worker: int) -> None:
        self._folder, self._worker = Path(folder), worker

    def write(self, text: str) -> None:
        """Show the others what this process has counted."""
        target = self._folder / f"{self._worker}.metrics"
        new = target.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, target)

    def with_others(self, text: str) -> str:
        """The metrics of this process and of all others."""
        texts = {str(self._worker): text}
        for path in sorted(self._folder.glob("*.metrics")):
            if path.stem != str(self._worker):
                with contextlib.suppress(OSError):
                    texts[path.stem] = path.read_text(encoding="utf-8")
        return _merge(texts)


def _merge(texts: dict[str, str]) -> str:
    """Texts as one: each family once, with the samples of all workers."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for worker, text in texts.items():
        family = ""
        for line in text.splitlines():
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                known = heads.setdefault(family, [])
                if line not in known:
                    known.append(line)
            elif found := _SAMPLE.match(line):
                inner = (found[2] or "{}")[1:-1]
                labels = f'worker="{worker}"' + (f",{inner}" if inner else "")
                samples.setdefault(family, []).append(f"{found[1]}{{{labels}}} {found[3]}")
    lines = (line for family, head in heads.items() for line in (*head, *samples.get(family, ())))
    return "\n".join(lines) + "\n"
