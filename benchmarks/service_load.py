"""Load on real servers: requests per second and waiting times, every answer checked.

    python benchmarks/service_load.py --write [--requests 3000] [--cases 300] [--connections 64] [--folder FOLDER]
                                              [--postgres postgresql://USER@HOST/NAME]

The servers are ``etana serve`` with one process and with two, and, to compare with, an endpoint of bare FastAPI that
does nothing, all with their default limits, one after the other on this machine; the client shares the machine with
them. ``--write`` puts the tables into docs/service_load.inc. Measured are

* classification of one row per request, over 1 and over all connections, and of 1,000 rows per request;
* cases that are all open at once, each of 10 steps: a start and 10 answers, each of which is on the disk before it is
  acknowledged;
* overload: clients that come back at once when they are refused, as many as there are places and ten times as many.

Each answer is compared with what the same model answers in this process: label, cost, posterior, features and the next
question. A difference ends the run. --folder says where the cases are kept: what a commit costs depends on the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import etana

STEPS = 10
PAGE = Path(__file__).resolve().parents[1] / "docs" / "service_load.inc"


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


@dataclass(frozen=True)
class Setup:
    """A server to measure."""

    name: str
    arguments: tuple[str, ...] = ()
    bare: bool = False


BARE = """
import sys, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Rows(BaseModel):
    model: str
    rows: list[list[float]]

@app.post("/v1/classify")
def classify(body: Rows) -> dict:
    return {"rows": [0] * len(body.rows)}

uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(setup: Setup, folder: Path, store: str) -> Iterator[tuple[int, int]]:
    """A server; gives its process and its port."""
    port = free_port()
    command = [sys.executable, "-m", "etana.cli", "serve", str(folder), "--port", str(port), "--store", store]
    if setup.bare:
        command = [sys.executable, "-c", BARE, str(port)]
    with open(folder / "server.log", "wb") as log:
        process = subprocess.Popen([*command, *setup.arguments], stderr=log, stdout=log)
    try:
        wait_for(process, port, folder / "server.log", not setup.bare)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def wait_for(process: subprocess.Popen[bytes], port: int, log: Path, announced: bool) -> None:
    for _ in range(1200):
        if process.poll() is not None:
            raise SystemExit(log.read_text())
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            if not announced or b" on http://" in log.read_bytes():
                return
        time.sleep(0.1)
    raise SystemExit("the server does not start")


def processor_time(process: int) -> float:
    """Seconds that a process and those below it have worked; other work on the machine does not change it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    below = (c for task in Path(f"/proc/{process}/task").glob("*/children") for c in task.read_text().split())
    return own + sum(processor_time(int(child)) for child in below)


async def post_only(client: Pool, rows: list[list[float]], size: int, i: int) -> None:
    """A request to the bare endpoint."""
    chosen = [rows[(i + k) % len(rows)] for k in range(size)]
    answer = await client.post("/v1/classify", {"model": "panel", "rows": chosen})
    check(len(answer["rows"]) == size, "number of rows")


def fit(folder: Path) -> tuple[Any, Any, Any, list[str]]:
    """Two models in a folder, their data, and the columns of the second."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    panel = etana.ETANAClassifier(feature_costs=0.005, random_state=0).fit(X, y)
    # Features that cost nothing are all asked: every case has exactly ten steps.
    informative = [X.columns[k] for k in panel.feature_order_[:STEPS]]
    ten = etana.ETANAClassifier(feature_costs=0.0, random_state=0).fit(X[informative], y)
    etana.save(panel, folder / "panel.etana")
    etana.save(ten, folder / "ten.etana")
    return panel, ten, X, informative


def jobs(arguments: argparse.Namespace, made: Any, bare: bool) -> list[tuple[str, int, int, Any]]:
    """What is measured: words, connections, how often, and the request."""
    panel, ten, X, informative = made
    rows, names, many, n = X.to_numpy().tolist(), list(X.columns), arguments.connections, arguments.requests
    walk = panel.acquire(X)
    cases = [dict(zip(informative, row, strict=True)) for row in X[informative].to_numpy().tolist()]

    def one(size: int) -> Any:
        if bare:
            return lambda c, i: post_only(c, rows, size, i)
        return lambda c, i: classify(c, rows, walk, names, size, i)

    found = [
        ("classify one row", 1, n // 5, one(1)), ("classify one row", many, n, one(1)),
        ("classify 1,000 rows", 4, max(n // 100, 4), one(1000)),
    ]  # fmt: skip
    if not bare:
        talk = lambda c, i: converse(c, ten.model_, cases[i % len(cases)])  # noqa: E731
        found.append((f"{arguments.cases:,} cases at once, {STEPS} steps each", many, arguments.cases, talk))
    return found


def load_table(arguments: argparse.Namespace, folder: Path, made: Any) -> list[str]:
    """A line for each server and kind of request."""
    setups = [
        Setup("bare FastAPI, 1 process", bare=True), Setup("1 worker, SQLite"),
        Setup("2 workers, SQLite", ("--workers", "2")),
    ]  # fmt: skip
    if arguments.postgres:
        setups.append(Setup("2 workers, PostgreSQL", ("--workers", "2", "--store", arguments.postgres)))
    lines = [
        "| what | server | connections | requests/s | p50 | p99 | processor time per request |",
        "|---|---|---|---|---|---|---|",
    ]
    found: dict[tuple[str, int], list[str]] = {}
    for number, setup in enumerate(setups):
        with running(setup, folder, str(folder / f"cases{number}")) as (process, port):
            for what, connections, count, job in jobs(arguments, made, setup.bare):
                before = processor_time(process)
                seconds, times = asyncio.run(measure(port, connections, count, job))
                worked = 1000 * (processor_time(process) - before) / len(times)
                p50, p99 = np.percentile(1000 * times, (50, 99))
                line = f"| {what} | {setup.name} | {connections} | {len(times) / seconds:,.0f} | {p50:.1f} ms "
                found.setdefault((what, connections), []).append(f"{line}| {p99:.1f} ms | {worked:.1f} ms |")
                print(found[what, connections][-1], flush=True)
    return lines + [line for group in found.values() for line in group]


async def flood(port: int, connections: int, seconds: float) -> Counter[int]:
    """Connections that ask again at once, whatever they are told; returns how often they were told what."""
    body = json.dumps({"model": "panel", "rows": [{}] * 20}).encode()
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    seen: Counter[int] = Counter()
    end = time.monotonic() + seconds

    async def keep_busy() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        while time.monotonic() < end:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer)[1]))
            seen[int(answer[9:12])] += 1
        writer.close()

    await asyncio.gather(*(keep_busy() for _ in range(connections)))
    return seen


def overload_table(folder: Path) -> list[str]:
    """Useful answers a second with as many clients as places, and with more."""
    lines = ["| clients, for 128 places | useful answers/s | refused/s |", "|---|---|---|"]
    with running(Setup("1 worker"), folder, str(folder / "overload")) as (_, port):
        asyncio.run(flood(port, 16, 1.0))
        for clients in (16, 128, 512, 1280):
            seen = asyncio.run(flood(port, clients, 6.0))
            lines.append(f"| {clients:,} | {seen[200] / 6:,.0f} | {seen[503] / 6:,.0f} |")
            print(lines[-1], flush=True)
    return lines


TEXT = """\
`python benchmarks/service_load.py --write` (`--postgres ADDRESS` for the lines of PostgreSQL) starts the servers one
after the other with their default limits, loads them from the same machine and compares every answer with what the
model answers in its own process. On {cores} cores, which the client and other work used as well:

{load}

The bare endpoint parses the same bodies and answers without doing anything: what is left is the framework's own price.

Under overload, with clients that come back at once when they are refused:

{overload}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=3000, help="single classifications")
    parser.add_argument("--cases", type=int, default=300, help="cases that are open at once")
    parser.add_argument("--connections", type=int, default=64, help="connections of the client")
    parser.add_argument("--folder", help="folder for the store of cases; temporary if not given")
    parser.add_argument("--postgres", help="address of an empty PostgreSQL database, to measure that too")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/service_load.inc")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        made = fit(folder)
        load, overload = load_table(arguments, folder, made), overload_table(folder)
    text = TEXT.format(cores=os.cpu_count(), load="\n".join(load), overload="\n".join(overload))
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
