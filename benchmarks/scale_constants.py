"""Constants for docs/scale.md: what a distributed fit costs per value, per cell, per part, and per merge.

    python benchmarks/scale_constants.py [--rows 10000] [--features 1000] [--repeats 3]

Everything runs on one core in one process, on made-up numbers (two classes, shifted normals), so that figures can be
multiplied by rows, columns and machines. Seconds are processor time, the best of some repeats. Prints the constants;
what they predict for a fit that can be run here, and what that took; and what they come to for a billion rows of 10,000
features.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from etana import Binner, ETANAClassifier, distributed
from etana.distributed.bins import candidate_bins, join_candidates
from etana.distributed.blocks import Rows
from etana.distributed.merging import FAN_IN, reduce_parts
from etana.distributed.summary import Summary
from etana.likelihood import Counts
from etana.table import read_table
from etana.tablefile import read_blocks, to_table

SIZE = 1024


def best(job: Callable[[], object], repeats: int) -> float:
    """Least seconds of processor time of a job that was run once before; other programs on the machine count little."""
    job()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def make_rows(n: int, k: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(y[:, None] * rng.random(k), 1.0, (n, k))
    return Rows(read_table(X), y, np.ones(n))


def measure(n: int, k: int, repeats: int) -> dict[str, float]:
    """Seconds per value or column and bytes per column."""
    parts = [make_rows(n, k, seed) for seed in range(FAN_IN)]
    rows, values = parts[0], n * k
    out = {"range, s per value": best(lambda: Summary.of(rows, "ranges", SIZE), repeats) / values}
    out["sketch, s per value"] = best(lambda: Summary.of(rows, "ranks", SIZE), repeats) / values
    sketches = [Summary.of(part, "ranks", SIZE) for part in parts]
    out["sketch, bytes per column"] = len(pickle.dumps(sketches[0])) / k
    out["merge of four sketches, s per column"] = best(lambda: Summary.merge(sketches), repeats) / k
    whole = Summary.merge(sketches)
    ranges = Summary.of(rows, "ranges", SIZE)
    fine = candidate_bins(Binner("supervised"), whole, 2)
    uniform = candidate_bins(Binner("uniform", 32), ranges, 2)

    def count(bins: Binner) -> Counts:
        return Counts.of(bins, rows.table, rows.y, rows.weights, 2)

    out["count in 256 candidates, s per value"] = best(lambda: count(fine), repeats) / values
    out["count in 32 bins, s per value"] = best(lambda: count(uniform), repeats) / values
    counts = count(fine)
    out["counts, bytes per cell and class"] = len(pickle.dumps(counts)) / counts.cells.size
    merged = best(lambda: counts.merge(counts).merge(counts).merge(counts), repeats)
    out["merge of four counts, s per cell and class"] = merged / counts.cells.size
    out["candidates joined, s per column"] = best(lambda: join_candidates(fine, counts, whole), repeats) / k
    wide = make_rows(200, 10_000, 0)
    clf = ETANAClassifier().fit(wide.table, wide.y)
    out["order and policy of 10,000 columns, s"] = best(clf.with_costs, repeats)
    out["Dask, s per task"] = best(lambda: reduce_parts(_nothing, range(2000), None, _nothing, lazy=True), 1) / 2667
    return out | measure_reading(rows, repeats)


def _nothing(*_: object) -> None:
    """A task that is all overhead."""


def measure_reading(rows: Rows, repeats: int) -> dict[str, float]:
    """Parquet through the reader that the command line uses; the file is in the page cache."""
    n, k = rows.table.n_rows, rows.table.n_features
    names = [f"f{i}" for i in range(k)]
    columns = rows.table.block(slice(None))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "part.parquet")
        pq.write_table(pa.table({name: columns[:, i] for i, name in enumerate(names)}), path)

        def read() -> None:
            for block in read_blocks(path, 10_000, names):
                to_table(block, names, path)

        seconds = best(read, repeats)
        size = Path(path).stat().st_size
    return {"Parquet read, s per value": seconds / (n * k), "Parquet, bytes per value": size / (n * k)}


def check(c: dict[str, float], n: int, k: int) -> None:
    """A fit on 16 blocks in memory, against what the constants say of it; sketches and order are those of 10,000
    columns, which share the room of a sketch and are too many to search for an order."""
    blocks = [(rows.table.dense, rows.y) for rows in (make_rows(n, k, seed) for seed in range(16))]
    start = time.process_time()
    distributed.fit(ETANAClassifier(ordering="information"), blocks, sketch_size=SIZE)
    took = time.process_time() - start
    says = 16 * n * k * (c["sketch, s per value"] + c["count in 256 candidates, s per value"])
    says += 5 * (
        c["merge of four sketches, s per column"] * k + c["merge of four counts, s per cell and class"] * 512 * k
    )
    says += c["candidates joined, s per column"] * k
    print(f"\nfit of {16 * n:,} rows x {k:,} features on one core: predicted {says:.1f} s, took {took:.1f} s")


def show(c: dict[str, float], cores: int, disk: float, network: float) -> None:
    """The sums of docs/scale.md: a billion rows of 10,000 features, two passes, supervised bins, two classes."""
    n, k, block_rows, part_rows = 1e9, 1e4, 1e4, 1e5
    values, parts = n * k, n / part_rows
    sketch, cells = c["sketch, bytes per column"] * k, 256 * 2 * k
    counts = c["counts, bytes per cell and class"] * cells
    merging = c["merge of four sketches, s per column"] * k
    adding = c["merge of four counts, s per cell and class"] * cells
    merges = n / block_rows / (FAN_IN - 1)
    first = values * (c["Parquet read, s per value"] + c["sketch, s per value"]) + merges * merging
    second = values * (c["Parquet read, s per value"] + c["count in 256 candidates, s per value"]) + merges * adding
    size = values * c["Parquet, bytes per value"]
    tail = c["candidates joined, s per column"] * k + c["order and policy of 10,000 columns, s"]
    held = block_rows * k * 8 + 7 * sketch
    print(f"\n{n:.0e} rows x {k:.0f} features: {size / 1e12:.0f} TB of Parquet in {parts:.0f} parts, read twice")
    print(f"a sketch is {sketch / 1e6:.0f} MB, counts are {counts / 1e6:.0f} MB")
    print(f"a block of {block_rows:.0f} rows is {block_rows * k * 8e-6:.0f} MB")
    print(
        f"merging four sketches takes {merging:.1f} s, four counts {adding:.3f} s; the end on the client {tail:.1f} s"
    )
    print(
        f"a core holds a block and seven sketches, {held / 1e9:.1f} GB; {cores} cores hold {cores * held / 1e9:.0f} GB"
    )
    print(f"processor, core hours: {first / 3600:.0f} for the first pass, {second / 3600:.0f} for the second")
    print("machines  pass 1, h  pass 2, h  reading a pass, h  summaries sent by each, GB  s  last merges, s")
    for machines in (1, 10, 100):
        workers = machines * cores
        sent = 0.0 if machines == 1 else parts / machines * (sketch + counts)
        depth = math.ceil(math.log(workers, FAN_IN))
        last = depth * (merging + adding + (FAN_IN - 1) * (sketch + counts) / network)
        reading = size / machines / (disk if machines == 1 else network) / 3600
        print(
            f"{machines:>8} {first / workers / 3600:>10.2f} {second / workers / 3600:>10.2f} {reading:>18.2f} "
            f"{sent / 1e9:>27.0f} {sent / network:>3.0f} {last:>14.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, default=32, help="of a machine, for the sums")
    given = parser.parse_args()
    constants = measure(given.rows, given.features, given.repeats)
    for name, value in constants.items():
        print(f"{name:<45} {value:.3g}")
    check(constants, given.rows, given.features)
    show(constants, given.cores, disk=2e9, network=1.25e9)


if __name__ == "__main__":
    main()
