"""``etana fit`` on a folder of parts: read block by block, twice; neither table nor part has to fit into memory.

This process reads them, or Dask workers do (:mod:`etana.distributed`). A CSV column that reads as numbers in some
blocks and as text in others is text in all of them, as it would be in one file; that takes a third reading.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from etana.classifiers.base import AcquiringClassifier
from etana.commands.doubts import CellNotes, warn_of_labels
from etana.commands.labels import as_classes, check_labels, evidence
from etana.commands.prices import read_mistakes_file
from etana.distributed.blocks import BlockSource, Noted
from etana.distributed.fitting import SAMPLE_SIZE, fit_parts
from etana.distributed.merging import QUIET, dask
from etana.distributed.summary import MixedColumnsError, Summary
from etana.errors import InputError, SampleWarning
from etana.tablefile import Spellings, check_parts, list_parts, read_blocks, to_table
from etana.tablefile.parquet_reading import PARQUET
from etana.threads import n_cores

__all__ = ["fit_on_parts"]

_CELLS = 2_000_000  # of a CSV part that are in memory at once
_NUMBERS = 20_000_000  # of a Parquet part
_LEAST = 10_000  # rows of a Parquet part; with fewer, merging costs more than reading
_PATIENCE = "10s"  # for a scheduler to answer


@dataclass(frozen=True)
class _PartFile:
    """A file of a folder, as :mod:`etana.distributed` wants its parts."""

    path: str
    target: str
    names: list[str]
    text: frozenset[str]
    missing: tuple[str, ...] = ()

    def blocks(self, labels: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        """Tables and labels, the labels as text."""
        width = len(self.names) + 1
        rows = max(_NUMBERS // width, _LEAST) if self.path.endswith(PARQUET) else max(_CELLS // width, 1)
        for block in read_blocks(self.path, rows, self.names):
            block = Spellings(self.missing).blank(block)
            y = block.columns.pop(self.target)
            check_labels(y, block, self.target, self.path)
            table = to_table(block, self.names, self.path, text=self.text | labels)
            y = np.array([str(c).strip() for c in y], dtype=str)
            # Cells are looked at in the first pass alone, which knows of no labels yet.
            yield (table, y) if labels else Noted(table, y, CellNotes.of(block, table, Path(self.path).name))


def fit_on_parts(
    clf: AcquiringClassifier, data: str, target: str, mistakes: str | None, lazy: bool, scheduler: str | None,
    ignore: Sequence[str] = (), missing: Sequence[str] = (), sample_size: int | None = None,
) -> AcquiringClassifier:  # fmt: skip
    """Fit a classifier on the parts of a folder, or on one file as if it were one; ``lazy`` is on Dask."""
    if data == "-":
        raise InputError("standard input can be read only once; give a file or a folder of parts")
    paths = list_parts(data) if Path(data).is_dir() else [str(Path(data).resolve())]
    columns = check_parts(paths)
    names = evidence(columns, paths[0], target, ignore)
    Spellings(missing).check(columns, paths[0])

    def rename(labels: np.ndarray) -> np.ndarray:
        classes = as_classes(labels.tolist())
        if mistakes is not None:
            read_mistakes_file(mistakes, np.unique(classes))
        return classes

    def fit(text: list[str]) -> AcquiringClassifier:
        parts = [_PartFile(path, target, names, frozenset(text), tuple(missing)) for path in paths]
        source, size = BlockSource(parts, lazy, len(names), names), sample_size or SAMPLE_SIZE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SampleWarning)  # the command says it, of every sample
            return fit_parts(clf, source, sample_size=size, rename=rename, seen=warn)

    def warn(summary: Summary) -> None:
        summary.notes.warn(data)
        warn_of_labels(summary.classes, round(summary.weight), target)

    with _cluster(scheduler, len(paths)) if lazy else contextlib.nullcontext():
        try:
            return fit([])
        except MixedColumnsError as error:
            return fit(error.columns)


@contextlib.contextmanager
def _cluster(scheduler: str | None, n_parts: int) -> Iterator[None]:
    """The cluster at an address, or processes on this machine, for as long as the work lasts."""
    dask()
    from distributed import Client, LocalCluster

    if scheduler is None:
        workers = min(n_cores(), n_parts)
        with (
            dask().config.set(QUIET),
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
            Client(local, set_as_default=False) as client,
            client.as_current(),
        ):
            yield
        return
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r} ({error}); give the address that 'dask scheduler' prints"
        ) from None
    with client, client.as_current():
        yield
