"""What the first call of a process costs, what new prices cost, a row alone, and a row as useless features are added.

python benchmarks/startup.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits

from bench_tools import made_data, one_row, reference_sets, save, take_turns
from etana import AdaptiveClassifier, CommitteeClassifier, ETANAClassifier, SequentialClassifier

PROGRAMS = {
    "nothing": "pass",
    "import etana": "import etana",
    "import etana.model": "import etana.model",
    "import sklearn.naive_bayes": "import sklearn.naive_bayes",
    "first fit and prediction": (
        "import etana, numpy as np; etana.ETANAClassifier().fit(np.eye(20), np.arange(20) % 2).predict(np.eye(20))"
    ),
}


def start_up() -> dict[str, float]:
    """Least processor seconds of three new processes, compiled loops on disk."""
    out = {}
    for name, program in PROGRAMS.items():
        code = f"import time, os\n{program}\nt = os.times()\nprint(t.user + t.system)"
        runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in "abc"]
        out[name] = min(float(run.stdout) for run in runs)
    return out


def new_prices(data: str | None) -> dict[str, float]:
    """Processor seconds of order and policy for new prices, from stored counts."""
    sets = [("breast cancer", *load_breast_cancer(return_X_y=True)), ("made, 200,000 x 50", *made_data(200_000, 50))]
    sets += [(name, d.X, d.y) for name, d in reference_sets(data, ("lung", "car", "news20"))]
    out = {}
    for name, X, y in sets:
        clf = ETANAClassifier().fit(X, y)
        out[name] = take_turns({"prices": partial(clf.with_costs, feature_costs=0.02)}, 5)["prices"]["cpu"]
    return out


def single_rows(data: str | None) -> dict[str, dict[str, dict[str, float]]]:
    """Microseconds of a call with one row, by data and classifier: fitted on every other row, asked of the others."""
    sets = [("breast cancer", *load_breast_cancer(return_X_y=True)), ("digits", *load_digits(return_X_y=True))]
    sets += [(name, np.asarray(d.X, dtype=np.float64), d.y) for name, d in reference_sets(data, ("spambase", "pima"))]
    kinds = (ETANAClassifier, AdaptiveClassifier, SequentialClassifier, CommitteeClassifier)
    return {
        name: {kind.__name__: one_row(kind().fit(X[::2], y[::2]), X[1::2], 0.5) for kind in kinds}
        for name, X, y in sets
    }


def useless_features() -> list[dict[str, float]]:
    """Nanoseconds a row against the number of features: what matters is how many are asked."""
    out = []
    for columns in (100, 1_000, 10_000, 100_000):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 2, 400)
        X = rng.standard_normal((400, columns), dtype=np.float32)
        X[:, :100] += y[:, None] * np.linspace(1.2, 0.2, 100, dtype=np.float32)
        clf = ETANAClassifier().fit(X, y)
        test = np.tile(X, (5, 1))
        seconds = take_turns({"walk": partial(clf.acquire, test)}, 5)["walk"]["cpu"]
        asked = float(clf.acquire(test).n_features.mean())
        out.append({"features": columns, "asked": asked, "row": seconds / len(test)})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    given = parser.parse_args()
    results = {
        "start": start_up(), "prices": new_prices(given.data), "one row": single_rows(given.data),
        "useless": useless_features(),
    }  # fmt: skip
    save("startup", results)
    console = Console(width=120)
    for title, what, unit in (("New process", "start", 1.0), ("New prices", "prices", 1e3)):
        table = Table("", "s" if unit == 1 else "ms", title=f"{title}, processor time")
        for name, seconds in results[what].items():
            table.add_row(name, f"{unit * seconds:.2f}")
        console.print(table)
    table = Table("data", "classifier", "us", "99 %", title="A call of predict with one row")
    for name, classifiers in results["one row"].items():
        for kind, m in classifiers.items():
            table.add_row(name, kind, f"{m['p50']:.0f}", f"{m['p99']:.0f}")
    console.print(table)
    table = Table("features", "asked", "ns a row", title="Useless features are added")
    for r in results["useless"]:
        table.add_row(f"{r['features']:,}", f"{r['asked']:.2f}", f"{1e9 * r['row']:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
