"""How far fit and classification are from the least that they have to do.

    python benchmarks/limits.py [--data FOLDER] [--repeats 7] [--only WORD ...]

The limits are the bare loops of ``bounds.py``: one pass that bins and counts with edges that are already known, and one
that reads the asked values and multiplies, knowing where to stop. They run on one core, and so does etana here; what
is compared are processor seconds of turns A, B, A, B.

A *plain* fit bins, counts, orders by error and solves, which is what the bare pass stands for. The *default* also
chooses a temperature on folds and searches for an order. Classification is that of the default.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from sklearn.base import clone

import bounds
import etana.threads
from bench_tools import made_data, reference_sets, save, take_turns
from etana import ETANAClassifier

BINS = {"default bins": {}, "5 uniform bins": {"binning": "uniform", "n_bins": 5}}
PLAIN = {"temperature": 1.0, "ordering": "error"}
AT_ONCE = 200e6  # bytes of rows that are classified at once


def sets(data: str | None):
    yield "made, 200,000 x 50, 2 classes", *made_data(200_000, 50)
    yield "made, 100,000 x 50, 10 classes", *made_data(100_000, 50, 10)
    for name, d in reference_sets(data, ("madelon", "lung", "car", "dexter", "news20")):
        yield f"{name}, {d.X.shape[0]:,} x {d.X.shape[1]:,}, {len(d.class_names)} classes", d.X, d.y


def fit_limit(clf: ETANAClassifier, X, y):
    """The bare pass over the same data with the bins of the fit; counts agree with the fit's where rows are dense."""
    binner = clf.binner_
    counts = np.zeros((binner.edges.size + X.shape[1], clf.classes_.size))
    if sp.issparse(X):
        parts = X.data, X.indices, X.indptr
        return partial(bounds.count_sparse, *parts, y, binner.edges, binner.edge_offsets, counts)
    bounds.count_dense(X, y, binner.edges, binner.edge_offsets, counts)
    assert np.array_equal(counts, clf.counts_.cells)
    return partial(bounds.count_dense, X, y, binner.edges, binner.edge_offsets, counts)


def walk_limit(clf: ETANAClassifier, X):
    """The bare loop over the same rows; the labels agree."""
    model, walk = clf.model_, clf.acquire(X)
    stages, problem = model.compiled, clf.problem_
    labels = np.empty(len(X), dtype=np.int64)
    job = partial(
        bounds.multiply, X, walk.n_features, stages.columns, stages.bins.edges, stages.bins.offsets,
        problem.cells, stages.cells.offsets, problem.priors, labels,
    )  # fmt: skip
    job()
    assert (clf.classes_[labels] == walk.labels).mean() > 0.9999
    return job, float(walk.n_features.mean())


def measure(X, y, options: dict, repeats: int) -> dict[str, float]:
    clf, plain = (ETANAClassifier(**options, **how).fit(X, y) for how in ({}, PLAIN))
    jobs = {
        "plain": lambda: clone(plain).fit(X, y), "etana": lambda: clone(clf).fit(X, y), "limit": fit_limit(clf, X, y)
    }  # fmt: skip
    turns = take_turns(jobs, repeats)
    out = {"plain fit": turns["plain"]["cpu"], "fit": turns["etana"]["cpu"], "fit limit": turns["limit"]["cpu"]}
    if sp.issparse(X):
        return out
    many = np.tile(X, (max(min(int(AT_ONCE / X.nbytes), 20_000 // len(X)), 1), 1))
    job, asked = walk_limit(clf, many)
    turns = take_turns({"etana": partial(clf.acquire, many), "limit": job}, repeats)
    return out | {
        "asked": asked,
        "row": turns["etana"]["cpu"] / len(many),
        "row limit": turns["limit"]["cpu"] / len(many),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[], help="data sets with one of these words in their name")
    given = parser.parse_args()
    etana.threads.n_cores = lambda: 1
    console, results = Console(width=140), []
    table = Table("data", "bins", title="Against the least that must be done, one core, processor time")
    for heading in ("limit, ms", "plain fit", "ratio", "fit", "ratio", "ns a row", "limit", "ratio", "asked"):
        table.add_column(heading, justify="right")
    for name, X, y in sets(given.data):
        if given.only and not any(word in name for word in given.only):
            continue
        for bins, options in BINS.items():
            console.print(f"measuring {name}, {bins}")
            m = measure(X, np.asarray(y, dtype=np.int64), options, given.repeats)
            results.append({"data": name, "bins": bins, **m})
            cells = [f"{1e3 * m['fit limit']:.2f}"]
            for fit in ("plain fit", "fit"):
                cells += [f"{1e3 * m[fit]:.1f}", f"{m[fit] / m['fit limit']:.1f}"]
            if "row" in m:
                cells += [f"{1e9 * m['row']:.0f}", f"{1e9 * m['row limit']:.0f}", f"{m['row'] / m['row limit']:.2f}"]
                cells += [f"{m['asked']:.2f}"]
            table.add_row(name, bins, *cells)
    if not given.only:
        save("limits", results)
    console.print(table)


if __name__ == "__main__":
    main()
