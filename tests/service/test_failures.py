"""Failures are seen: full disks, broken stores, models that cannot be read, stops with half a request."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from attacks import post
from servers import Server, until
from test_api import is_problem

from etana.service.limits import Limits
from etana.service.store import Record, Store


@pytest.fixture
def begin():
    """Starts servers that end with the test, whatever becomes of it."""
    running = []

    def start(*arguments, **options):
        running.append(Server(*arguments, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()


def metric(client, name):
    return sum(
        float(line.rpartition(" ")[2]) for line in client.get("/metrics").text.splitlines() if line.startswith(name)
    )


def test_a_full_disk_is_seen_and_passes(begin, folder, tmp_path):
    """No file of the process may grow: what SQLite does on a full disk, it does then."""
    server = begin(tmp_path, folder / "wine.etana", "--log", "json")
    with server.client() as client:
        case = client.post("/v1/cases", json={}).json()
        assert client.get("/health/ready").status_code == 200
        size = max((tmp_path / name).stat().st_size for name in os.listdir(tmp_path) if name.startswith("cases"))
        # The log is a file too, and may still grow.
        most = max(size, server.log_file.stat().st_size + 200_000)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, -1))
        refused = None
        for _ in range(3000):
            refused = client.post("/v1/cases", json={})
            if refused.status_code != 201:
                break
        assert is_problem(refused, 503, "nothing was changed")
        time.sleep(1.1)
        assert client.get("/health/ready").status_code == 503
        assert client.get("/health/live").status_code == 200
        assert metric(client, 'etana_store_errors_total{operation="write"}') >= 1
        assert metric(client, 'etana_refusals_total{reason="store"}') >= 1
        lines = [json.loads(line) for line in server.log.splitlines()]
        assert any(n["level"] == "ERROR" and "the store cannot write" in n["message"] for n in lines)
        assert client.get(f"/v1/cases/{case['id']}").json() == case  # what is there can be read
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        until(lambda: client.get("/health/ready").status_code == 200)
        assert client.post("/v1/cases", json={}).status_code == 201
    assert server.stop() == 0


def test_a_broken_store_takes_only_the_cases_down(make_client, tmp_path):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    client = make_client("wine", store=store)
    case = client.post("/v1/cases", json={}).json()
    for name in ("c.sqlite", "c.sqlite-wal"):
        with open(tmp_path / name, "r+b") as file:
            file.write(os.urandom(max((tmp_path / name).stat().st_size, 1)))
    store.database.engine._reader.execute("PRAGMA shrink_memory")
    with contextlib.suppress(sqlite3.Error):
        store.database.engine._writer.execute("PRAGMA shrink_memory")
    assert client.get(f"/v1/cases/{case['id']}").status_code == 503
    assert client.get("/health/ready").status_code == 503
    text = client.get("/metrics")
    assert text.status_code == 200
    assert 'etana_store_errors_total{operation="read"}' in text.text
    assert metric(client, 'etana_store_errors_total{operation="read"}') >= 1
    assert client.post("/v1/classify", json={"rows": [{}]}).status_code == 200
    assert client.get("/health/live").status_code == 200


def test_metrics_of_100_000_cases_are_as_fast_as_of_ten(make_client, tmp_path):
    store = Store(tmp_path / "c.sqlite", 1e6, 200_000)
    client = make_client("wine", store=store)
    client.get("/metrics")

    def seconds():
        times = []
        for _ in range(15):
            began = time.perf_counter()
            assert client.get("/metrics").status_code == 200
            times.append(time.perf_counter() - began)
        return sorted(times)[5]

    for _ in range(10):
        store.add(Record.new("wine", "ab", None, "open"))
    few = seconds()
    rows = [Record.new("wine", "ab", None, "open" if i % 3 else "decided") for i in range(100_000)]
    marks = ", ".join("?" * len(rows[0].row))
    values = [(*r.row[:-2], 1e12, "anyone") for r in rows]
    store._change(lambda run: run.executemany(f"INSERT INTO cases VALUES ({marks})", values))
    store.sweep()
    assert metric(client, "etana_cases{") == 100_010
    assert seconds() < 3 * few + 0.01


# --- the log


def test_every_line_of_the_log_says_which_request_whose_and_from_where(start_server, folder):
    server = start_server(folder / "wine.etana", "--log", "json", token="correct-horse-battery")
    with server.client() as client:
        case = client.post("/v1/cases", json={}).json()
        seen = client.get(f"/v1/cases/{case['id']}", headers={"X-Forwarded-For": "203.0.113.4", "X-Request-ID": "r-77"})
        assert seen.headers["x-request-id"] == "r-77"
        client.post("/v1/cases", content=b"x" * 9_000_000, headers={"Content-Type": "application/json"})
        client.get("/v1/models", headers={"Host": "evil.example"})
        client.post("/v1/cases", json={}, headers={"Origin": "http://evil.example"})
        client.get("/nowhere/at/all")
    with httpx.Client(base_url=server.url, trust_env=False) as stranger:
        refused = stranger.get(f"/v1/cases/{case['id']}")
        stranger.get("/health/live")
    until(lambda: "/health/live" in server.log.splitlines()[-1])
    lines = [json.loads(line) for line in server.log.splitlines()]
    requests = [n for n in lines if "route" in n][1:]
    assert [(n["route"], n["status"], n["user"], n.get("reason")) for n in requests] == [
        ("/v1/cases", 201, "token", None),
        ("/v1/cases/{case_id}", 200, "token", None),
        ("/v1/cases", 413, "token", "too_large"),
        ("/v1/models", 421, "nobody", "host"),
        ("/v1/cases", 403, "nobody", "origin"),
        ("unmatched", 404, "token", None),
        ("/v1/cases/{case_id}", 401, "nobody", "token"),
        ("/health/live", 200, "nobody", None),
    ]
    assert requests[1]["client"] == "203.0.113.4"
    assert requests[1]["request"] == "r-77"
    assert requests[6]["request"] == refused.headers["x-request-id"]
    assert len({n["request"] for n in requests}) == len(requests)
    assert all(n["client"] and n["method"] and n["seconds"] >= 0 for n in requests)
    assert case["id"] not in server.log


def test_what_is_no_request_is_logged_and_counted_too(start_server, folder):
    server = start_server(folder / "wine.etana", "--log", "json", "--limit", "connections=2")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    with contextlib.ExitStack() as stack:
        for _ in range(2):  # both connections are at work: the third has no place
            stack.enter_context(post(server.port, b"/v1/classify", b"x" * 1000, hold=500))
        time.sleep(0.2)
        late = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        assert late.recv(100) == b""
    until(lambda: '"reason": "connections"' in server.log)
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert [(n["status"], n["client"]) for n in lines if n.get("reason") == "malformed"] == [(400, "127.0.0.1")]
    with server.client() as client:
        assert metric(client, 'etana_refusals_total{reason="malformed"}') == 1
        assert metric(client, 'etana_refusals_total{reason="connections"}') == 1


def test_metrics_tell_what_is_refused_in_flight_and_used(make_client):
    client = make_client("wine", hosts=["localhost"])
    client.get("/v1/models", headers={"Host": "evil.example"})
    client.post("/v1/cases", json={})
    text = client.get("/metrics").text
    for line in (
        'etana_refusals_total{reason="host"} 1', "etana_requests_in_flight 1", "etana_requests_waiting 0",
        'etana_store_seconds_count{operation="write"}', 'etana_store_errors_total{operation="write"} 0',
        "process_resident_memory_bytes ", "process_cpu_seconds_total ", "process_open_fds ",
        'etana_cases{status="open"} 1',
    ):  # fmt: skip
        assert line in text, line


def test_spans_tell_routes_and_no_ids(make_client, tmp_path):
    """In a process of its own: a tracer is set up once and for all."""
    script = """
import sys
sys.path[:0] = sys.argv[2:]
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
from servers import in_process
from etana.service.app import create_app
from etana.service.models import Models
from etana.service.store import Store
store = Store(":memory:", 10.0, 10)
client = in_process(create_app(Models([sys.argv[1]]), store))
case = client.post("/v1/cases", json={}).json()["id"]
parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
client.get(f"/v1/cases/{case}", headers={"traceparent": parent})
client.close()
store.close()
done = spans.get_finished_spans()
assert [s.name for s in done] == ["POST /v1/cases", "GET /v1/cases/{case_id}"], [s.name for s in done]
assert done[1].attributes["http.response.status_code"] == 200
assert f"{done[1].context.trace_id:032x}" == parent[3:35]
assert case not in repr([(s.name, dict(s.attributes)) for s in done])
"""
    from hostile import __file__ as here

    client = make_client("wine")
    model = client._transport._inner.app.state.cases.models._sources[0]
    folders = [os.path.dirname(here), os.path.dirname(os.path.dirname(here))]
    command = [sys.executable, "-c", script, model, *folders]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr


# --- signals


@pytest.fixture
def own(folder, tmp_path):
    (tmp_path / "models").mkdir()
    shutil.copy(folder / "wine.etana", tmp_path / "models")
    server = Server(tmp_path, tmp_path / "models")
    yield server
    server.stop()


def test_a_reload_that_cannot_read_a_model_says_so(own, tmp_path):
    path = tmp_path / "models" / "wine.etana"
    with own.client() as client:
        for spoil, said in (
            (lambda: path.write_bytes(b"rubbish"), "model wine"),
            (path.unlink, "no model file is left in"),
            (lambda: shutil.rmtree(path.parent), "models"),
        ):
            before, log = metric(client, "etana_reload_failures_total"), len(own.log)
            spoil()
            own.signal(signal.SIGHUP)
            until(lambda n=before: metric(client, "etana_reload_failures_total") == n + 1)
            line = next(n for n in own.log[log:].splitlines() if "ERROR reload" in n)
            assert said in line
            assert client.post("/v1/classify", json={"rows": [{}]}).status_code == 200  # the old model stays


def test_users_are_read_again_and_a_bad_file_changes_nothing(begin, folder, tmp_path):
    from etana.service.users import add_user

    path = str(tmp_path / "users")
    first = add_user(path, "carl", "case")
    server = begin(tmp_path, folder / "wine.etana", "--users", path)
    with server.client() as client:

        def status(token):
            return client.get("/v1/models", headers={"Authorization": f"Bearer {token}"}).status_code

        assert status(first) == 200
        second = add_user(path, "dora", "read")
        assert status(second) == 401
        server.signal(signal.SIGHUP)
        until(lambda: status(second) == 200)
        (tmp_path / "users").write_text("nonsense")
        server.signal(signal.SIGHUP)
        until(lambda: "ERROR reload failed" in server.log)
        assert "users, line 1" in server.log
        assert status(first) == status(second) == 200
    assert server.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_does_not_wait_for_half_a_body(begin, folder, tmp_path, workers):
    server = begin(tmp_path, folder / "wine.etana", "--workers", workers, "--limit", "stop_time=5")
    halves = [post(server.port, b"/v1/classify", b"x" * 1000, hold=500) for _ in range(5)]
    heads = [post(server.port, b"/v1/classify", b"x" * 1000, b"X-Half: ", hold=1000) for _ in range(2)]
    time.sleep(0.3)
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
    assert time.monotonic() - began < 5
    assert any(b"503" in half.recv(1000)[:20] for half in halves)
    for connection in (*halves, *heads):
        connection.close()


def test_a_stop_ends_in_time_whatever_is_worked_on(begin, folder, tmp_path):
    server = begin(tmp_path, folder / "breast_cancer.etana", "--limit", "stop_time=1", "--limit", "rows=1000000",
                    "--limit", "cells=100000000", "--limit", "body=100000000")  # fmt: skip
    rows = json.dumps({"rows": [[1.0] * 30] * 150_000}).encode()
    with ThreadPoolExecutor(1) as pool, post(server.port, b"/v1/classify", rows) as connection:
        pool.submit(connection.recv, 1000)
        with server.client() as client:
            until(lambda: metric(client, "etana_requests_working") == 1)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert time.monotonic() - began < 6


def test_a_server_that_stops_is_not_ready(make_client):
    client = make_client("wine", limits=Limits())
    assert client.head("/health/ready").status_code == 200
    client._transport._inner.app.state.places.stop()
    assert is_problem(client.get("/health/ready"), 503, "stopping")
    client._transport._inner.app.state.places.stopping = False
