"""The paper's largest set: 19,997 x 1,409,654, sparse. Seconds and peak memory of fit, policy and classification.

    python benchmarks/news20.py [--data FOLDER] [--repeats 5]

The measure is ``BernoulliNB().fit`` on the same matrix in the same process, taking turns. Memory is that of a process
which loads the set, fits once and classifies every row; a second process does the same with BernoulliNB. The paper
needed 3,076 s to train ETANA on 20 cores with 256 GB.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial

from rich.console import Console
from rich.table import Table

from bench_data import data_folder
from bench_tools import in_new_process, peak_megabytes, save, take_turns


def load(folder: str):
    from etana import datasets

    found = datasets.load("news20", data_dir=folder)
    return found.X, found.y


def methods():
    from sklearn.naive_bayes import BernoulliNB

    from etana import ETANAClassifier

    return {
        "etana": partial(ETANAClassifier, solver="exact"),
        "etana, 2 uniform bins": partial(ETANAClassifier, solver="exact", binning="uniform", n_bins=2),
        "BernoulliNB": BernoulliNB,
    }


def memory(folder: str, method: str) -> dict[str, float]:
    """Peak memory by step, in a process that does nothing else."""
    make = methods()[method]
    out = {"imports": peak_megabytes()}
    X, y = load(folder)
    out["data"] = peak_megabytes()
    start = time.process_time()
    clf = make().fit(X, y)
    out["fit"], out["fit cpu"] = peak_megabytes(), time.process_time() - start
    clf.predict(X)
    out["classification"] = peak_megabytes()
    return out


def times(folder: str, repeats: int) -> dict[str, dict]:
    X, y = load(folder)
    makers = methods()
    small = X[::100]
    fitted = {}
    for name, make in makers.items():
        make().fit(small, y[::100]).predict(small)
        fitted[name] = make().fit(X, y)
    fits = take_turns({name: (lambda make=make: make().fit(X, y)) for name, make in makers.items()}, repeats)
    walks = take_turns({name: partial(clf.predict, X) for name, clf in fitted.items()}, repeats)
    out = {name: {"fit": fits[name], "walk": walks[name]} for name in makers}
    for name, clf in fitted.items():
        out[name]["right"] = float((clf.predict(X) == y).mean())
        if name != "BernoulliNB":
            out[name]["features"] = float(clf.acquire(X).n_features.mean())
            out[name]["gap"] = clf.optimality_gap_
            solve = take_turns({"solve": clf.with_costs}, 3)["solve"]
            out[name]["order and policy"] = solve
    return {"shape": X.shape, "stored": int(X.nnz), "methods": out}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", help="measure the memory of one method, in this process")
    given = parser.parse_args()
    folder = data_folder(given.data, "news20_rebuilt.npz")
    if folder is None:
        return
    if given.memory:
        print(json.dumps(memory(str(folder), given.memory)))
        return
    results = times(str(folder), given.repeats)
    for name, figures in results["methods"].items():
        figures["memory"] = in_new_process("news20.py", "--data", folder, "--memory", name)
    save("news20", results)
    table = Table("method", "fit s", "processor s", "x BernoulliNB", "classify s", "peak MB", title="News20")
    base = results["methods"]["BernoulliNB"]["fit"]["cpu"]
    for name, m in results["methods"].items():
        row = (m["fit"]["wall"], m["fit"]["cpu"], m["fit"]["cpu"] / base, m["walk"]["wall"])
        table.add_row(name, *(f"{x:.3f}" for x in row), f"{m['memory']['classification']:.0f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
