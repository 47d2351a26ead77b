"""Total cost in money, split by split: for methods whose fits take too long for all splits of all cells.

    python -m reproduction.measurements.by_split --data-dir DATA --splits 4 -o by_split.csv

The first splits of every cell of :mod:`reproduction.measurements.costbench`, one split of all cells after another, so
that a run that is stopped has the same splits of all sets. A line for each split, set, level and method is added to the
file, and lines that are there are not made again. At the end: what a method pays more than each rival, mean over cells,
with a standard error over the splits that all have; and the same for each set and level.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from etana.datasets import COSTBENCH
from reproduction.cells import Cell
from reproduction.measurements.costbench import LEVELS, measure

__all__ = ["main", "paid_more"]

FIELDS = ("split", "set", "level", "method", "cost")
Paid = dict[tuple[int, str, str, str], float]


def read(path: Path) -> Paid:
    """What is there already."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(int(x["split"]), x["set"], x["level"], x["method"]): float(x["cost"]) for x in csv.DictReader(file)}


def add(path: Path, key: tuple[int, str, str, str], cost: float) -> None:
    """One more line."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([FIELDS] if new else [])
        writer.writerow([*key, cost])


def paid_more(paid: Paid, method: str, rival: str, cells: Sequence[tuple[str, str]]) -> tuple[float, float, int] | None:
    """By a method than by a rival, mean over cells; a standard error over the splits; and how many splits have all."""
    splits = sorted({key[0] for key in paid})
    whole = [s for s in splits if all((s, *cell, m) in paid for cell in cells for m in (method, rival))]
    if len(whole) < 2:
        return None
    extra = [np.mean([paid[s, *cell, method] - paid[s, *cell, rival] for cell in cells]) for s in whole]
    return float(np.mean(extra)), float(np.std(extra, ddof=1) / np.sqrt(len(whole))), len(whole)


def summary(paid: Paid, methods: Sequence[str]) -> Iterator[str]:
    """The first method beside each other one: all cells, then cell by cell."""
    cells = [(name, level) for name in COSTBENCH for level in LEVELS]
    groups = [("all cells", cells), *((f"{name}, {level}", [(name, level)]) for name, level in cells)]
    for label, group in groups:
        for rival in methods[1:]:
            found = paid_more(paid, methods[0], rival, group)
            if found is not None:
                yield f"{label}: {methods[0]} less {rival} {found[0]:+.3f} ± {found[1]:.3f} ({found[2]} splits)"


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("-o", "--output", default="by_split.csv")
    options.add_argument("--splits", type=int, default=4)
    options.add_argument("--methods", default="frugal,streed,streed-4", help="the first beside the others")
    given = options.parse_args()
    path, methods = Path(given.output), given.methods.split(",")
    paid = read(path)
    warnings.simplefilter("ignore")
    for split in range(given.splits):
        for name in COSTBENCH:
            for level in LEVELS:
                for method in methods:
                    key = split, name, level, method
                    if key not in paid:
                        cell = Cell("costbench", name, method, {"level": level})
                        paid[key] = float(measure(cell, given.data_dir, split)["cost"])
                        add(path, key, paid[key])
                        print(*key, f"{paid[key]:.3f}", file=sys.stderr)
    print("\n".join(summary(paid, methods)))


if __name__ == "__main__":
    main()
