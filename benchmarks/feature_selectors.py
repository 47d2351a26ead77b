"""Seconds of the six selectors beside those of the paper's Table 4 (row F, feature selection).

    python benchmarks/feature_selectors.py   # five data sets; OFSA3M on Dexter takes minutes
    python benchmarks/feature_selectors.py --data-sets mll,car
    python benchmarks/feature_selectors.py --methods SAOLA,OSFS
    python benchmarks/feature_selectors.py --quick   # without OFSA3M on Dexter

The data come from --data, $ETANA_DATA or ../shared: a folder with data/*.npz, or the data folder itself.
Each figure is the best of the fits (at least one, at most 50) that begin within two seconds, with default options,
after the kernels have been compiled.  Madelon, MLL and Dexter: the training part.  Lung and Car: all rows, where the
paper has four fifths of them in each fold.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from bench_data import data_folder
from bench_tools import save
from etana.selection import OFSA3M, OSFS, SAOLA, AlphaInvesting, FastOSFS, OFSDensity

METHODS = [OFSDensity(), OFSA3M(), SAOLA(), FastOSFS(), OSFS(), AlphaInvesting()]
# The paper's Table 4, row F: measured on an Intel i7-7700 at 3.6 GHz.
PAPER = {
    "madelon": (188.85, 225.48, 0.136, 0.199, 0.203, 0.043),
    "lung": (13.455, 39.031, 4.692, 2.644, 37.868, 1.207),
    "mll": (1.524, 5.122, 3.079, 1.495, 9.354, 0.463),
    "dexter": (98.482, 43554.0, 1.006, 1.513, 3.195, 15.663),
    "car": (7.882, 37.205, 2.249, 1.092, 14.144, 0.956),
}
ENOUGH = 2.0  # seconds spent on one figure


def load(path: Path) -> tuple[np.ndarray | sparse.csc_array, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        y = archive["y"].astype(np.int64)
        if "X" in archive:
            return archive["X"].astype(np.float64), y
        parts = archive["data"].astype(np.float64), archive["indices"], archive["indptr"]
        return sparse.csr_array(parts, shape=tuple(archive["shape"])).tocsc(), y


def measure(method, X, y) -> tuple[float, int]:
    """Best seconds, and the number of selected columns."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH and len(seconds) < 50):
        selector = clone(method)
        start = time.perf_counter()
        selector.fit(X, y)
        seconds.append(time.perf_counter() - start)
    return min(seconds), len(selector.selected_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the .npz files")
    parser.add_argument("--data-sets", default=",".join(PAPER), help="comma-separated")
    parser.add_argument("--methods", default=",".join(type(m).__name__ for m in METHODS), help="comma-separated")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data, "madelon.npz")
    if folder is None:
        return

    X, y = load_breast_cancer(return_X_y=True)
    for method in METHODS:
        clone(method).fit(X, y)  # compile the kernels, or load them

    console, results = Console(), []
    table = Table("data set", "selector", title="Feature selection, seconds")
    for heading in ("features", "etana", "paper", "times faster"):
        table.add_column(heading, justify="right")
    for name in arguments.data_sets.split(","):
        X, y = load(folder / f"{name}.npz")
        for method, paper in zip(METHODS, PAPER[name]):
            slow = arguments.quick and (name, type(method).__name__) == ("dexter", "OFSA3M")
            if type(method).__name__ in arguments.methods.split(",") and not slow:
                with console.status(f"{name}: {type(method).__name__}"):
                    seconds, selected = measure(method, X, y)
                chosen = {"data": name, "method": type(method).__name__, "features": selected}
                results.append({**chosen, "seconds": seconds, "paper": paper})
                figures = (str(selected), f"{seconds:.3f}", f"{paper:g}", f"{paper / seconds:.0f}")
                table.add_row(name, type(method).__name__, *figures)
        table.add_section()
    save("selectors", results)
    console.print(table)


if __name__ == "__main__":
    main()
