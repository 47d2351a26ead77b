"""Time and memory as data grow: rows, features, classes, bins. Each point is a process of its own.

    python benchmarks/growth.py [--quick]

Made-up normal columns, float32. Rows: 10^4 to 10^7 x 50 in memory, and the same by ``partial_fit`` in blocks of
100,000, where only a block is in memory. Features: 10^2 to 10^6 x 200 rows. Classes: 2 to 50, 20,000 x 50. Bins:
2 to 100 uniform ones, 100,000 x 50. Seconds are processor time (all threads), the best of some repeats while small.
Exponents are slopes of log seconds over log size, by least squares over all points, and between the last two.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from bench_tools import in_new_process, made_data, peak_megabytes, save

SIZES = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "rows in blocks": (100_000, 1_000_000, 10_000_000),
    "features": (100, 1_000, 10_000, 100_000, 1_000_000),
    "classes": (2, 3, 5, 10, 20, 50),
    "bins": (2, 5, 10, 20, 50, 100),
}
BLOCK = 100_000


def best(job: Callable[[], object]) -> float:
    """Least processor seconds of up to seven runs, fewer if they are long."""
    seconds: list[float] = []
    while len(seconds) < 7 and sum(seconds) < 2.0:
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return min(seconds)


def point(kind: str, size: int) -> dict[str, float]:
    """Measure one size, here."""
    from etana import Binner, ETANAClassifier
    from etana.table import read_table

    if kind == "rows in blocks":
        return blocks(size)
    shape = {"rows": (size, 50), "features": (200, size), "classes": (20_000, 50), "bins": (100_000, 50)}[kind]
    options = {"binning": "uniform", "n_bins": size} if kind == "bins" else {}
    X, y = made_data(*shape, size if kind == "classes" else 2, dtype=np.float32)
    small, few = made_data(500, 50, size if kind == "classes" else 2, dtype=np.float32)
    ETANAClassifier(**options).fit(small, few).acquire(small)
    out = {"data megabytes": X.nbytes / 2**20, "fit": best(lambda: ETANAClassifier(**options).fit(X, y))}
    out["megabytes"] = peak_megabytes()
    clf = ETANAClassifier(**options).fit(X, y)
    binner, table, ones = Binner(clf.binning, clf.n_bins), read_table(X), np.ones(len(y))
    out["bins and counts"] = best(lambda: binner.fit_count(table, y, ones, clf.classes_.size))
    out["order and policy"] = best(clf.with_costs)
    rows = X if len(X) < 2_000_000 else X[:2_000_000]
    out["row"] = best(lambda: clf.acquire(rows)) / len(rows)
    out["asked"] = float(clf.acquire(rows).n_features.mean())
    return out


def blocks(size: int) -> dict[str, float]:
    """partial_fit over blocks that are made as they are needed; making them is not counted."""
    from etana import ETANAClassifier

    small = made_data(500, 50, dtype=np.float32)
    ETANAClassifier().partial_fit(*small).partial_fit(*small).predict(small[0])
    clf, seconds = ETANAClassifier(), 0.0
    for part in range(size // BLOCK):
        # The same columns in each block: only the rows differ.
        X, y = made_data(BLOCK, 50, dtype=np.float32)
        shift = np.random.default_rng(part).standard_normal(X.shape[1], dtype=np.float32) * np.float32(0.01)
        X += shift
        start = time.process_time()
        clf.partial_fit(X, y)
        seconds += time.process_time() - start
    start = time.process_time()
    clf.predict(X[:100])
    return {"fit": seconds + time.process_time() - start, "megabytes": peak_megabytes()}


def exponents(sizes: list[int], seconds: list[float]) -> dict[str, float]:
    """Slope over all points, and between the last two."""
    x, y = np.log(sizes), np.log(seconds)
    return {"all": float(np.polyfit(x, y, 1)[0]), "last": float((y[-1] - y[-2]) / (x[-1] - x[-2]))}


def fit_exponents(kind: str, points: list[dict]) -> dict[str, dict[str, float]]:
    # Two classes have a solver of their own, so the exponent for classes begins at three.
    used = [p for p in points if kind != "classes" or p["size"] > 2]
    sizes = [p["size"] for p in used]
    wanted = [w for w in ("fit", "bins and counts", "order and policy", "row", "megabytes") if w in used[0]]
    return {w: exponents(sizes, [p[w] for p in used]) for w in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest sizes")
    parser.add_argument("--point", nargs=2, metavar=("KIND", "SIZE"), help="measure one size, in this process")
    given = parser.parse_args()
    if given.point:
        print(json.dumps(point(given.point[0], int(given.point[1]))))
        return
    console, results = Console(width=120), {}
    table = Table("growth in", "size", title="Growth: processor seconds and peak megabytes")
    for heading in ("fit s", "policy s", "ns a row", "asked", "peak MB"):
        table.add_column(heading, justify="right")
    for kind, sizes in SIZES.items():
        points = []
        for size in sizes[:-1] if given.quick else sizes:
            with console.status(f"{kind}: {size:,}"):
                p = in_new_process("growth.py", "--point", kind, size, timeout=900)
            if p is None:
                raise SystemExit(f"{kind} {size:,} took more than a quarter of an hour")
            points.append({"size": size, **p})
            row = [f"{p['fit']:.3f}", f"{p['order and policy']:.4f}" if "row" in p else ""]
            row += [f"{1e9 * p['row']:,.0f}", f"{p['asked']:.2f}"] if "row" in p else ["", ""]
            table.add_row(kind, f"{size:,}", *row, f"{p['megabytes']:,.0f}")
        table.add_section()
        results[kind] = {"points": points, "exponents": fit_exponents(kind, points)}
    save("growth", results)
    console.print(table)
    for kind, r in results.items():
        shown = (f"{what} {e['all']:.2f} (last {e['last']:.2f})" for what, e in r["exponents"].items())
        console.print(f"exponents, {kind}: " + "; ".join(shown))


if __name__ == "__main__":
    main()
