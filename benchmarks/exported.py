"""Exported C beside the compiled walk: the same rows, the same arrays filled, one thread each, turn by turn.

    python benchmarks/exported.py                # prints nanoseconds a row, and how many rows differ (none)

Needs gcc. Rows are those of the test half of a bundled set, repeated until there are --rows of them.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn import datasets

import etana
from bench_tools import take_turns

BATCH = r"""
#include <math.h>
#include "policy.h"

void batch(const double *rows, long n, long *labels, long *asked, double *spent, double *posteriors)
{
    policy_case one;
    for (long r = 0; r < n; r++) {
        labels[r] = policy_classify(rows + r * POLICY_COLUMNS, INFINITY, &one);
        asked[r] = one.asked;
        spent[r] = one.cost;
        policy_posterior(&one, posteriors + r * POLICY_CLASSES);
    }
}
"""

JOBS = {
    "breast_cancer, exact": ("breast_cancer", lambda: etana.ETANAClassifier(feature_costs=0.01)),
    "breast_cancer, thresholds": ("breast_cancer", lambda: etana.FETANAClassifier(feature_costs=0.01)),
    "wine, fitted points": ("wine", lambda: etana.ETANAClassifier(feature_costs=0.01)),
    "digits, fitted points": ("digits", lambda: etana.ETANAClassifier(feature_costs=0.01)),
    "iris, grid": ("iris", lambda: etana.ETANAClassifier.as_published(feature_costs=0.01)),
    "wine, adaptive": ("wine", lambda: etana.AdaptiveClassifier(feature_costs=0.01)),
}


def compiled(clf, test: np.ndarray, rows: np.ndarray, folder: str):
    """The exported policy as a function of rows, compiled with -O2 and nothing else."""
    etana.export(clf, Path(folder) / "policy.c", rows=test, max_nodes=20_000)
    (Path(folder) / "batch.c").write_text(BATCH)
    command = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", "policy.so", "batch.c", "policy.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    call = ctypes.CDLL(str(Path(folder) / "policy.so")).batch
    n, n_classes = len(rows), clf.classes_.size

    def run():
        # Allocated in each call, as acquire does it.
        labels, asked = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        spent, posteriors = np.empty(n), np.empty((n, n_classes))
        arrays = (rows, labels, asked, spent, posteriors)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        call(pointers[0], ctypes.c_long(n), *pointers[1:])
        return labels, asked, spent, posteriors

    return run


def measure(name: str, n_rows: int, repeats: int) -> None:
    set_name, make = JOBS[name]
    X, y = getattr(datasets, f"load_{set_name}")(return_X_y=True)
    clf, test = make().fit(X[::2], y[::2]), X[1::2]
    rows = np.ascontiguousarray(np.resize(test, (n_rows, X.shape[1])), dtype=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        in_c = compiled(clf, test, rows, folder)
        labels, asked, spent, _ = in_c()
        walk = clf.acquire(rows)
        differ = (clf.classes_[labels] != walk.labels) | (asked != walk.n_features) | (spent != walk.costs)
        found = take_turns({"walk": lambda: clf.acquire(rows), "C": in_c}, repeats)
    walk_ns, c_ns = (1e9 * found[who]["cpu"] / n_rows for who in ("walk", "C"))
    print(f"{name:28} {walk.n_features.mean():8.2f} {walk_ns:10.0f} {c_ns:8.0f} {walk_ns / c_ns:7.2f} {differ.sum():8}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    print(f"{'':28} {'features':>8} {'walk, ns':>10} {'C, ns':>8} {'ratio':>7} {'differ':>8}")
    for name in JOBS:
        measure(name, given.rows, given.repeats)


if __name__ == "__main__":
    main()
