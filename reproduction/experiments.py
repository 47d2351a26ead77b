"""Every experiment by name: how a cell of it is prepared, and how many training and test parts it runs through.

The paper's are in :mod:`reproduction.paper`, comparisons with others in :mod:`reproduction.measurements`. A further
experiment is a further entry of ``EXPERIMENTS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from etana.errors import InputError
from reproduction import experiment_data
from reproduction.cells import Cell, Record
from reproduction.experiment_data import load_data
from reproduction.measurements import costbench, medical_prices, peers, targets
from reproduction.paper.measuring import prepare_measurement, prepare_regions

__all__ = ["EXPERIMENTS", "Experiment", "differs", "n_parts", "prepare"]


class Experiment(NamedTuple):
    """What loads data and loops and returns the work, the number of parts, and whether the data is the paper's kind."""

    prepare: Callable[[Cell, str | None], Callable[[], list[Record]]]
    n_parts: Callable[[Cell], int]
    has_story: bool = True  # whether its data can differ from the paper's


def _parts_of_the_set(cell: Cell) -> int:
    return experiment_data.n_parts(cell.dataset)


EXPERIMENTS = {
    "tables": Experiment(prepare_measurement, _parts_of_the_set),
    "bins": Experiment(prepare_measurement, _parts_of_the_set),
    "prices": Experiment(prepare_measurement, _parts_of_the_set),
    "regions": Experiment(prepare_regions, _parts_of_the_set),
    "target": Experiment(targets.prepare, targets.n_parts),
    "costbench": Experiment(costbench.prepare, costbench.n_parts, has_story=False),
    "dollars": Experiment(medical_prices.prepare, _parts_of_the_set),
    "peers": Experiment(peers.prepare, peers.n_parts, has_story=False),
}


def _experiment(cell: Cell) -> Experiment:
    if cell.experiment not in EXPERIMENTS:
        raise InputError(f"there is no experiment {cell.experiment!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[cell.experiment]


def prepare(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data and loops; what is returned does the work that is measured."""
    return _experiment(cell).prepare(cell, data_dir)


def n_parts(cell: Cell) -> int:
    """How many training and test parts a cell runs through."""
    return _experiment(cell).n_parts(cell)


def differs(cell: Cell, data_dir: str | None) -> str | None:
    """How the data of a cell differs from the paper's, if it does."""
    return load_data(cell.dataset, data_dir).differs if _experiment(cell).has_story else None
