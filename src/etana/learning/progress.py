"""A line that tells how far a long fit has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Tell", "progress", "progress_bar"]

Tell = Callable[[str], object]


@contextmanager
def progress(name: str, shown: bool) -> Iterator[Tell]:
    """A function that shows what is being done; it does nothing unless ``shown``."""
    if not shown:
        yield lambda text: None
        return
    from rich.console import Console  # only who asks for it pays for the import
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda text: bar.update(task, description=f"{name}: {text}")


@contextmanager
def progress_bar(name: str, total: int, shown: bool) -> Iterator[Tell]:
    """A bar for so many steps, with the time that is left; each call of the function is a step."""
    if not shown:
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=total)
        yield lambda text: bar.update(task, advance=1, description=f"{name}: {text}")
