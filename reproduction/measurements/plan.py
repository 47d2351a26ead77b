"""Which cells go beyond the paper: the table to beat, total cost in money, and curves beside published methods.

``full`` and ``quick`` list cells as :mod:`reproduction.paper.plan` does; ``quick`` needs only data that is bundled with
scikit-learn, and a few splits of what else is at hand.
"""

from __future__ import annotations

from etana.datasets import COSTBENCH
from etana.datasets.locations import data_folders
from reproduction.cells import Cell
from reproduction.measurements import costbench, medical_prices, peers

__all__ = ["OWN_METHODS", "RESPLITS", "TARGET_METHODS", "full", "is_slow", "quick", "seconds_expected"]

# Those that the best is chosen from on training rows, then what stands beside them.
OWN_METHODS = ("committee", "naive-instance", "adaptive", "sequential", "etana-cost")
TARGET_METHODS = (*OWN_METHODS, "frugal", "etana", "decision-tree")
RESPLITS = 5
_TARGET_SETS = ("mll", "madelon", "dexter", "lung2", "lung", "car")

# Measured on two cores, in seconds; what is not named here takes a few.
_EXPECTED = {
    ("target", "mll", "adaptive"): 60.0,
    ("target", "dexter", "adaptive"): 60.0,
    ("target", "madelon", "adaptive"): 60.0,
    ("target", "madelon", "sequential"): 120.0,
    ("target", "lung", "adaptive"): 600.0,
    ("target", "lung2", "adaptive"): 400.0,
    ("target", "car", "adaptive"): 800.0,
    ("target", "news20", "decision-tree"): 1800.0,
}
_SLOW = 180.0


def full(seed: int = 0) -> list[Cell]:
    """Every cell, cheap ones first."""
    cells = [
        Cell("costbench", name, method, {"level": level}, seed)
        for name in COSTBENCH
        for level in costbench.LEVELS
        for method in costbench.METHODS
    ]
    cells += [
        Cell("dollars", name, method, {"multiple": multiple}, seed)
        for name in medical_prices.SETS
        for multiple in medical_prices.MULTIPLES
        for method in medical_prices.METHODS
    ]
    cells += [Cell("peers", name, method, (), seed) for name in peers.SETS for method in peers.METHODS]
    cells += [Cell("target", name, method, (), seed) for name in _TARGET_SETS for method in TARGET_METHODS]
    for k in range(1, RESPLITS + 1):
        cells += [Cell("target", "mll", method, {"resplit": 1}, seed + k) for method in OWN_METHODS]
    for k in range(1, RESPLITS):
        cells += [Cell("target", "lung", method, (), seed + k) for method in OWN_METHODS]
    # The price of the paper and about it; the other two take many minutes for one fit to 1.4 million features.
    few = {"presence": 1, "prices": "0.002+0.001+0.0005"}
    cells += [Cell("target", "news20", method, few, seed) for method in ("etana-cost", "etana", "decision-tree")]
    return cells


def quick(data_dir: str | None = None, seed: int = 0) -> list[Cell]:
    """Cells that take a minute together."""
    few = {"splits": 2, "prices": "0.1+0.01"}
    methods = ("adaptive", "sequential", "etana", "decision-tree")
    cells = [Cell("peers", "wine", method, few, seed) for method in methods]
    cells += [Cell("target", "iris", method, {"prices": "0.1+0.01"}, seed) for method in methods]
    if any((folder / "costbench" / "heart.npz").is_file() for folder in data_folders(data_dir)):
        some = {"level": "middle", "splits": 2}
        cells += [Cell("costbench", "heart", m, some, seed) for m in ("nothing", "adaptive", "etana-information")]
    if any((folder / "bupa.npz").is_file() for folder in data_folders(data_dir)):
        cells += [Cell("dollars", "bupa", method, {"multiple": 2.0}, seed) for method in medical_prices.METHODS[:4]]
    return cells


def seconds_expected(cell: Cell) -> float:
    """About how long a cell takes, for the time left."""
    return _EXPECTED.get((cell.experiment, cell.dataset, cell.method), 5.0)


def is_slow(cell: Cell) -> bool:
    """Whether ``--skip-slow`` leaves it out: minutes on a large set."""
    return seconds_expected(cell) >= _SLOW
