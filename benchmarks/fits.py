"""Fits against what they are compared with: LightGBM, a plainer fit of the same data, the same rows in blocks.

    python benchmarks/fits.py [--data FOLDER] [--repeats 3] [--only WORD ...]

Each row is a job and its rival, taking turns in one process on one thread; what counts is the ratio of processor
seconds. "New prices" has no rival: its row is milliseconds. The long table, 10^7 x 50 numbers of four bytes, is fitted
in processes of their own, in memory and by ``partial_fit`` in blocks of 100,000 rows, whose peak memory is told beside
the size of the data. Rows without their data, or without LightGBM, are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import etana.threads
from bench_tools import in_new_process, made_data, peak_megabytes, reference_sets, save, take_turns
from etana import AdaptiveClassifier, ETANAClassifier, SequentialClassifier

LONG, BLOCK = 10_000_000, 100_000
Job = Callable[[], object]


def sets(data: str | None) -> dict[str, tuple[Any, Any]]:
    from sklearn.datasets import load_breast_cancer, load_digits

    found = {"digits": load_digits(return_X_y=True), "breast cancer": load_breast_cancer(return_X_y=True)}
    for name, d in reference_sets(data, ("spambase", "heart", "hepatitis", "pima")):
        found[name] = np.asarray(d.X), np.asarray(d.y)
    return found


def pairs(data: str | None) -> Iterator[tuple[str, str, Job, str, Job]]:
    """What, on which data, the job, what it is compared with, and that job."""
    known = sets(data)
    for name in ("digits", "spambase"):
        if name not in known or (boosting := _boosting(*known[name])) is None:
            continue
        X, y = known[name]
        yield "AdaptiveClassifier.fit", name, lambda X=X, y=y: AdaptiveClassifier().fit(X, y), "LightGBM.fit", boosting
        yield (
            "SequentialClassifier.fit",
            name,
            lambda X=X, y=y: SequentialClassifier().fit(X, y),
            "LightGBM.fit",
            boosting,
        )
    made = {"made, 20,000 x 50, 2 classes": made_data(20_000, 50)}
    small = {name: known[name] for name in ("breast cancer", "heart", "hepatitis", "pima", "spambase") if name in known}
    for name, (X, y) in (small | made).items():
        orders = (
            lambda o=order, X=X, y=y: ETANAClassifier(ordering=o, temperature=1.0).fit(X, y)
            for order in ("cost", "error")
        )
        yield 'ordering="cost"', name, next(orders), 'ordering="error"', next(orders)
    for name, d in reference_sets(data, ("news20",)):
        X, y = d.X, d.y
        fits = (lambda c=c, X=X, y=y: c().fit(X, y) for c in (AdaptiveClassifier, ETANAClassifier))
        yield "AdaptiveClassifier.fit", name, next(fits), "ETANAClassifier.fit", next(fits)


def _boosting(X: Any, y: Any) -> Job | None:
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return None
    return lambda: LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)


def prices(data: str | None) -> Iterator[tuple[str, Job]]:
    """A classifier under new prices."""
    for name in ("digits", "spambase"):
        if name in (known := sets(data)):
            clf = AdaptiveClassifier().fit(*known[name])
            yield name, lambda clf=clf: clf.with_costs(feature_costs=0.02)


def long_table(how: str, size: int) -> dict[str, float]:
    """Seconds and peak memory of one fit of a long table, here."""
    X, y = made_data(size, 50, dtype=np.float32)
    small = made_data(1000, 50, dtype=np.float32)
    ETANAClassifier().fit(*small)
    ETANAClassifier().partial_fit(*small).partial_fit(*small).predict(small[0])
    before, start, clf = peak_megabytes(), time.process_time(), ETANAClassifier()
    if how == "memory":
        clf.fit(X, y)
    else:
        for a in range(0, size, BLOCK):
            clf.partial_fit(X[a : a + BLOCK], y[a : a + BLOCK])
        clf.model_  # noqa: B018  (solved when it is asked for)
    seconds = time.process_time() - start
    return {"fit": seconds, "before": before, "megabytes": peak_megabytes(), "data": X.nbytes / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="rows with one of these words")
    parser.add_argument("--rows", type=int, default=LONG, help="rows of the long table")
    parser.add_argument("--long", choices=("memory", "blocks"))
    given = parser.parse_args()
    etana.threads.n_cores = lambda: 1
    if given.long:
        print(json.dumps(long_table(given.long, given.rows)))
        return

    def wanted(*words: str) -> bool:
        return not given.only or any(one in word for one in given.only for word in words)

    results: dict[str, Any] = {"pairs": [], "prices": {}}
    table = Table("what", "data", "s", "against", "s", "ratio", title="Fits, one thread, processor time")
    for what, name, job, rival, other in pairs(given.data):
        if wanted(what, name):
            turns = take_turns({"job": job, "rival": other}, given.repeats)
            mine, its = turns["job"]["cpu"], turns["rival"]["cpu"]
            results["pairs"].append({"what": what, "data": name, "fit": mine, "rival": rival, "rival fit": its})
            table.add_row(what, name, f"{mine:.3f}", rival, f"{its:.3f}", f"{mine / its:.1f}")
    if wanted("prices"):
        for name, job in prices(given.data):
            results["prices"][name] = take_turns({"job": job}, given.repeats)["job"]["cpu"]
            table.add_row("with_costs of an AdaptiveClassifier", name, f"{results['prices'][name]:.3f}", "", "", "")
    if wanted("long"):
        memory, blocks = (
            in_new_process("fits.py", "--long", how, "--rows", given.rows) for how in ("memory", "blocks")
        )
        results["long"] = {"rows": given.rows, "memory": memory, "blocks": blocks}
        ratio = memory["fit"] / blocks["fit"]
        table.add_row("fit in memory", f"{given.rows:,} x 50", f"{memory['fit']:.2f}", "the same in blocks",
                      f"{blocks['fit']:.2f}", f"{ratio:.1f}")  # fmt: skip
        table.add_row("peak memory, MB", f"{given.rows:,} x 50", f"{memory['megabytes']:.0f}", "the data",
                      f"{memory['data']:.0f}", f"{memory['megabytes'] / memory['data']:.2f}")  # fmt: skip
    if not given.only:
        save("fits", results)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
