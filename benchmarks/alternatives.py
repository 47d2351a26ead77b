"""etana beside what a user would take instead: same machine, data and split, one run.

    python benchmarks/alternatives.py [--data FOLDER] [--data-sets lung,mll] [--quick]

The rivals read every feature: CategoricalNB on five uniform bins, BernoulliNB on values above the median of the
column, HistGradientBoosting, 3 nearest neighbours; and 3 nearest neighbours on what each of the six selectors keeps.
Sets with a given test part are split so; of the others the first of five stratified folds is the test part. Shown are
seconds of the fit, accuracy, features read, rows per second in one call, and microseconds of a call with one row
(median and 99 %), all on one thread. --quick leaves out three selections that take long: OFSA3M on Dexter, and OFSA3M
and OFSDensity on Madelon.
"""

from __future__ import annotations

import argparse
import json
import os
import time

# One thread for everybody: the comparison is of methods, and threads that wait for a busy core would decide it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from bench_data import data_folder
from bench_tools import in_new_process, made_data, one_row, save, take_turns

SETS = ("madelon", "lung", "mll", "dexter", "car", "lung2", "made")
SLOW = {("OFSA3M", "dexter"), ("OFSDensity", "madelon"), ("OFSA3M", "madelon")}


def split(name: str, folder: str):
    """Training and test rows, dense."""
    if name == "made":
        X, y = made_data(200_000, 50)
        return X[:150_000], y[:150_000], X[150_000:], y[150_000:]
    from etana import datasets

    d = datasets.load(name, data_dir=folder)
    dense = d.X.toarray() if sp.issparse(d.X) else np.ascontiguousarray(d.X, dtype=np.float64)
    if d.X_test is not None:
        test = d.X_test.toarray() if sp.issparse(d.X_test) else np.ascontiguousarray(d.X_test, dtype=np.float64)
        return dense, d.y, test, d.y_test
    train, test = next(d.folds(5, seed=0))
    return dense[train], d.y[train], dense[test], d.y[test]


def methods(n_classes: int):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, RobustScaler

    from etana import ETANAClassifier, selection

    def bins():
        return KBinsDiscretizer(5, encode="ordinal", strategy="uniform", subsample=None)

    out = {
        "etana": ETANAClassifier,
        "CategoricalNB": lambda: make_pipeline(bins(), CategoricalNB(min_categories=5)),
        "BernoulliNB": lambda: make_pipeline(RobustScaler(with_scaling=False), BernoulliNB()),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "3-NN, all features": lambda: KNeighborsClassifier(3),
    }
    for name in selection.__all__:
        kind = getattr(selection, name)
        out[f"{name} + 3-NN"] = lambda kind=kind: make_pipeline(kind(), KNeighborsClassifier(3))
    return out


def features_read(clf, X) -> float:
    if hasattr(clf, "acquire"):
        return float(clf.acquire(X).n_features.mean())
    first = clf[0] if hasattr(clf, "steps") else None
    return float(len(first.selected_)) if hasattr(first, "selected_") else float(X.shape[1])


def measure(name: str, folder: str, quick: bool) -> dict[str, dict]:
    X, y, X_test, y_test = split(name, folder)
    out = {}
    makers = methods(int(y.max()) + 1)
    makers["etana"]().fit(X[:50], y[:50])
    for method, make in makers.items():
        if (method.split(" ")[0], name) in SLOW and quick:
            continue
        if name == "made" and "+ 3-NN" in method:
            continue  # 150,000 rows: neighbourhoods of all pairs of rows
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            clf = make().fit(X, y)
        except ValueError as error:  # a selector that keeps nothing leaves 3-NN without features
            out[method] = {"failed": str(error).splitlines()[0]}
            continue
        fit = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if method == "etana":
            fit = take_turns({"fit": lambda make=make: make().fit(X, y)}, 3)["fit"]
        test = X_test if not ("3-NN" in method and name == "made") else X_test[:2000]
        batch = take_turns({"walk": lambda clf=clf, test=test: clf.predict(test)}, 3)["walk"]
        right = float((clf.predict(test) == (y_test if test is X_test else y_test[:2000])).mean())
        out[method] = {
            "fit": fit,
            "accuracy": right,
            "features": features_read(clf, test),
            "rows per second": len(test) / batch["wall"],
            "row cpu": batch["cpu"] / len(test),
            **one_row(clf, X_test, 0.5),
        }
    return {"train": X.shape, "test": len(y_test), "methods": out}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--data-sets", default=",".join(SETS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", help="measure one data set, in this process")
    given = parser.parse_args()
    folder = data_folder(given.data, "lung.npz")
    if given.one:
        print(json.dumps(measure(given.one, str(folder), given.quick)))
        return
    console, results = Console(width=130), {}
    table = Table("data", "method", title="etana and what a user would take instead")
    for heading in ("fit s", "accuracy", "features", "rows a second", "one row, us", "99 %"):
        table.add_column(heading, justify="right")
    for name in given.data_sets.split(","):
        if folder is None and name != "made":
            continue
        with console.status(name):
            arguments = ["--data", folder] * (folder is not None) + ["--quick"] * given.quick + ["--one", name]
            found = in_new_process("alternatives.py", *arguments, timeout=1800)
        results[name] = found
        for method, m in found["methods"].items() if found else ():
            if "failed" in m:
                table.add_row(name, method, m["failed"])
                continue
            row = (f"{m['fit']['wall']:.3f}", f"{m['accuracy']:.3f}", f"{m['features']:.1f}")
            table.add_row(name, method, *row, f"{m['rows per second']:,.0f}", f"{m['p50']:,.0f}", f"{m['p99']:,.0f}")
        table.add_section()
    save("alternatives", results)
    console.print(table)


if __name__ == "__main__":
    main()
