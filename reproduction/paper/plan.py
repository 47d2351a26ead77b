"""Which cells make which table and figure of the paper.

Tables 2, 3 and 4 are three views of the same cells. c is 0.01, and 0.001 for News20; V is the number of classes;
mistakes cost 1. ``quick`` is the same on small sets: those of scikit-learn, and MLL if it is at hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from etana.datasets.locations import data_folders
from reproduction.cells import Cell
from reproduction.experiment_data import BUNDLED, PAPER_SETS

__all__ = [
    "BINS",
    "PRICES",
    "REGIONS",
    "TABLE_METHODS",
    "full",
    "has_paper_sets",
    "is_slow",
    "quick",
    "seconds_expected",
]

TABLE_METHODS = (
    "etana-published",
    "etana",
    "f-etana-published",
    "f-etana",
    "ofs-density",
    "ofs-a3m",
    "saola",
    "fast-osfs",
    "osfs",
    "alpha-investing-published",
    "decision-tree",
)
BINS = (2, 3, 5, 10, 20, 30, 40, 50, 100)
PRICES = (0.1, 0.08, 0.06, 0.04, 0.02, 0.01, 0.001, 0.0)
REGIONS = {"cost": 0.01, "stages": "1+4", "magnify": 3}
_FIGURE_SETS = ("lung", "dexter", "madelon", "mll")

# Measured on two cores, in seconds; what is not named here takes a second or two.
_EXPECTED = {
    ("car", "etana-published"): 900.0,
    ("dexter", "ofs-a3m"): 200.0,
    ("madelon", "ofs-density"): 15.0,
    ("madelon", "ofs-a3m"): 20.0,
    ("lung", "ofs-a3m"): 20.0,
    ("car", "ofs-a3m"): 20.0,
    ("lung2", "ofs-a3m"): 10.0,
    ("news20", "f-etana-published"): 150.0,
    **{("news20", m): 600.0 for m in (*TABLE_METHODS[4:], "decision-tree")},
}
_SLOW = 180.0


def full(seed: int = 0) -> list[Cell]:
    """Every cell of the paper's tables and figures."""
    cells = [_table_cell(name, method, seed) for name in PAPER_SETS for method in TABLE_METHODS]
    presence = {"cost": 0.001, "presence": 1}
    cells += [Cell("tables", "news20", method, presence, seed) for method in TABLE_METHODS[:4]]
    for name in _FIGURE_SETS:
        cells += [Cell("bins", name, "etana-published", {"n_bins": bins, "cost": 0.01}, seed) for bins in BINS]
        for method in ("etana-published", "etana"):
            cells += [Cell("prices", name, method, {"cost": cost}, seed) for cost in PRICES]
    cells.append(Cell("regions", "mll", "etana", REGIONS, seed))
    return sorted(cells, key=_order)


def quick(data_dir: str | None = None, seed: int = 0) -> list[Cell]:
    """Cells that take a minute or two together."""
    cells = [_table_cell(name, method, seed) for name in BUNDLED for method in TABLE_METHODS]
    cells += [Cell("bins", "wine", "etana-published", {"n_bins": b, "cost": 0.01}, seed) for b in BINS[:4]]
    cells += [Cell("prices", "wine", "etana", {"cost": c}, seed) for c in PRICES[::2]]
    regions = "iris"
    if any((folder / "mll.npz").is_file() for folder in data_folders(data_dir)):
        cells += [_table_cell("mll", method, seed) for method in TABLE_METHODS]
        regions = "mll"
    return [*cells, Cell("regions", regions, "etana", REGIONS, seed)]


def has_paper_sets(cells: Iterable[Cell]) -> bool:
    """Whether anything among these cells can stand beside a figure of the paper."""
    return any(cell.dataset in PAPER_SETS for cell in cells)


def seconds_expected(cell: Cell) -> float:
    """About how long a cell takes, for the time left."""
    return _EXPECTED.get((cell.dataset, cell.method), 10.0 if cell.dataset == "news20" else 2.0)


def is_slow(cell: Cell) -> bool:
    """Whether ``--skip-slow`` leaves it out: a rival that takes minutes."""
    return not cell.method.startswith("etana") and seconds_expected(cell) >= _SLOW


def _table_cell(name: str, method: str, seed: int) -> Cell:
    return Cell("tables", name, method, {"cost": 0.001 if name == "news20" else 0.01}, seed)


def _order(cell: Cell) -> tuple[bool, int, float]:
    """Set by set, so that each is loaded once; the slow cells of all sets last."""
    place = PAPER_SETS.index(cell.dataset)
    return seconds_expected(cell) >= _SLOW, place, seconds_expected(cell)
