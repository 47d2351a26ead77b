"""Load on a real server: requests per second and waiting times, every answer checked.

    python benchmarks/service_load.py [--requests 5000] [--cases 1000] [--connections 64] [--folder FOLDER]

The server is ``etana serve`` in a process of its own, with its default limits, on this machine; the client shares the
machine with it. Measured are

* classification of one row per request, over 1 and over all connections, and of 1,000 rows per request;
* cases that are all open at once, each of 10 steps: a start and 10 answers, each of which is on the disk before it is
  acknowledged.

Each answer is compared with what the same model answers in this process: label, cost, posterior, features and the next
question. A difference ends the run. --folder says where the cases are kept: what a commit costs depends on the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

import etana

STEPS = 10


class Connection:
    """One HTTP connection: as little client as possible, so that the server is what is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def post(self, path: str, body: Any) -> Any:
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        head_back = await self.reader.readuntil(b"\r\n\r\n")
        answer = await self.reader.readexactly(int(re.search(rb"content-length: (\d+)", head_back)[1]))
        if head_back[9:12] not in (b"200", b"201"):
            raise SystemExit(f"{path}: {head_back[:40]!r} {answer[:300]!r}")
        return json.loads(answer)


class Pool:
    """Connections that requests take turns on; keeps the time of each request."""

    def __init__(self, free: asyncio.Queue[Connection]) -> None:
        self.free = free
        self.times: list[float] = []

    async def post(self, path: str, body: Any) -> Any:
        connection = await self.free.get()
        start = time.perf_counter()
        answer = await connection.post(path, body)
        self.times.append(time.perf_counter() - start)
        self.free.put_nowait(connection)
        return answer


@asynccontextmanager
async def pool(port: int, size: int) -> AsyncIterator[Pool]:
    free: asyncio.Queue[Connection] = asyncio.Queue()
    opened = [Connection(*await asyncio.open_connection("127.0.0.1", port, limit=2**26)) for _ in range(size)]
    for connection in opened:
        free.put_nowait(connection)
    yield Pool(free)
    for connection in opened:
        connection.writer.close()


def check(same: bool, what: str) -> None:
    if not same:
        raise SystemExit(f"a wrong answer: {what}")


async def classify(client: Pool, rows: list[list[float]], walk: Any, names: list[str], size: int, i: int) -> None:
    """One request for ``size`` rows from row i on."""
    chosen = [(i + k) % len(rows) for k in range(size)]
    answer = await client.post("/v1/classify", {"model": "panel", "rows": [rows[k] for k in chosen]})
    check(len(answer["rows"]) == size, "number of rows")
    for k, row in zip(chosen, answer["rows"], strict=True):
        check(row["label"] == walk.labels[k], f"label of row {k}")
        check(row["cost"] == walk.costs[k], f"cost of row {k}")
        check(row["posterior"] == walk.posteriors[k].tolist(), f"posterior of row {k}")
        check(row["features"] == [names[f] for f in walk.features(k)], f"features of row {k}")


async def converse(client: Pool, model: Any, row: dict[str, float]) -> None:
    """One case from its start to its decision, in step with the same case in this process."""
    case = model.start()
    view = await client.post("/v1/cases", {"model": "ten"})
    for step in range(STEPS + 1):
        check(view["revision"] == step, "revision")
        check(view["label"] == case.label, "label")
        check(view["cost"] == case.cost, "cost")
        check([b["probability"] for b in view["posterior"]] == case.posterior.tolist(), "posterior")
        feature = case.next_feature
        check((view["question"] or {}).get("name") == feature, "next question")
        if feature is None:
            break
        case.observe(row[feature])
        body = {"feature": feature, "value": row[feature], "revision": step}
        view = await client.post(f"/v1/cases/{view['id']}/observations", body)
    check(len(case.history) == STEPS, f"a case of {len(case.history)} steps")


async def measure(
    port: int, connections: int, n: int, job: Callable[[Pool, int], Awaitable[None]]
) -> tuple[float, np.ndarray]:
    """Seconds for n jobs at once over so many connections, and the time of each request."""
    async with pool(port, connections) as client:
        start = time.perf_counter()
        await asyncio.gather(*(job(client, i) for i in range(n)))
        return time.perf_counter() - start, np.array(client.times)


def start_server(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    log = folder / "server.log"
    command = [sys.executable, "-m", "etana.cli", "serve", str(folder), "--port", "0", "--store", str(folder / "cases")]
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file)
    for _ in range(600):
        found = re.search(rb"on http://\S+:(\d+)", log.read_bytes())
        if found:
            return process, int(found[1])
        if process.poll() is not None:
            raise SystemExit(log.read_text())
        time.sleep(0.1)
    raise SystemExit("the server does not start")


def processor_time(process: int) -> float:
    """Seconds that a process has worked so far; what a busy machine does to the other figures, it does not to this."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(arguments: argparse.Namespace, folder: Path) -> Table:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    panel = etana.ETANAClassifier(feature_costs=0.005, random_state=0).fit(X, y)
    # Features that cost nothing are all asked: every case has exactly ten steps.
    informative = [X.columns[k] for k in panel.feature_order_[:STEPS]]
    ten = etana.ETANAClassifier(feature_costs=0.0, random_state=0).fit(X[informative], y)
    etana.save(panel, folder / "panel.etana")
    etana.save(ten, folder / "ten.etana")
    rows, walk, names = X.to_numpy().tolist(), panel.acquire(X), list(X.columns)
    cases = [dict(zip(informative, row, strict=True)) for row in X[informative].to_numpy().tolist()]
    many, n = arguments.connections, arguments.requests
    table = Table(title="etana serve: every answer checked")
    for heading in ("what", "connections", "requests", "requests/s", "p50 ms", "p99 ms", "server CPU ms"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    process, port = start_server(folder)
    try:
        for what, connections, count, job in (
            ("classify, 1 row", 1, n // 5, lambda c, i: classify(c, rows, walk, names, 1, i)),
            ("classify, 1 row", many, n, lambda c, i: classify(c, rows, walk, names, 1, i)),
            ("classify, 1,000 rows", 4, max(n // 100, 4), lambda c, i: classify(c, rows, walk, names, 1000, i)),
            (
                f"{arguments.cases:,} cases at once, {STEPS} steps", many, arguments.cases,
                lambda c, i: converse(c, ten.model_, cases[i % len(cases)]),
            ),
        ):  # fmt: skip
            before = processor_time(process.pid)
            seconds, times = asyncio.run(measure(port, connections, count, job))
            worked = (processor_time(process.pid) - before) / len(times)
            p50, p99 = np.percentile(1000 * times, (50, 99))
            figures = (len(times), len(times) / seconds, p50, p99, 1000 * worked)
            table.add_row(what, f"{connections}", f"{figures[0]:,}", *(f"{f:,.1f}" for f in figures[1:]))
    finally:
        process.terminate()
        process.wait()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000, help="single classifications")
    parser.add_argument("--cases", type=int, default=1000, help="cases that are open at once")
    parser.add_argument("--connections", type=int, default=64, help="connections of the client")
    parser.add_argument("--folder", help="folder for the store of cases; temporary if not given")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        Console(width=120).print(run(arguments, Path(folder)))


if __name__ == "__main__":
    main()
