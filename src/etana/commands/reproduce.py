"""``etana reproduce``: the door to the folder ``reproduction``, which is part of a checkout and of no installation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from etana.errors import InputError

__all__ = ["reproduce"]

_CHECKOUT = Path(__file__).resolve().parents[3]


def reproduce(
    output: str,
    console: Any,
    progress: Any,
    *,
    draw_only: bool,
    markdown: bool,
    interrupted: Callable[[], object],
    **options: Any,
) -> list[Path]:
    """Run the cells that are left unless it is to ``draw_only``, then draw; the files that were written."""
    _find(_CHECKOUT)
    from reproduction import run

    planned = run.plan(output, **options)
    if not draw_only:
        try:
            run.reproduce(planned, progress)
        except KeyboardInterrupt:
            interrupted()
    return run.draw(planned, output, console, markdown)


def _find(checkout: Path) -> None:
    """Make the folder importable; where there is none, say how to get it."""
    if not (checkout / "reproduction" / "run.py").is_file():
        raise InputError(
            f"the folder 'reproduction' is not at {checkout}: an installed etana does not hold the paper's "
            "experiments; get the source of etana, and in its folder run: make install && .venv/bin/etana reproduce"
        )
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
