"""Real servers under what happens to servers: overload, slow clients, reloads, stops, huge bodies."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from servers import DIRECT, Server, until
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.modelfile import read_metadata

CONCURRENCY = 8


@pytest.fixture(scope="module")
def own_folder(folder, tmp_path_factory):
    """Models that a test may replace."""
    own = tmp_path_factory.mktemp("own")
    for name in ("wine", "breast_cancer"):
        shutil.copy(folder / f"{name}.etana", own)
    return own


@pytest.fixture(scope="module")
def server(start_server, own_folder):
    """A server with small limits, for all tests that do not end it."""
    limits = [
        f"concurrency={CONCURRENCY}",
        "body=1000000",
        "head_time=3",
        "body_time=4",
        "connections=700",
        "wait_time=0.3",
    ]
    return start_server(own_folder, *(a for limit in limits for a in ("--limit", limit)))


def answers(server):
    """Whether a whole case goes through."""
    with server.client() as client:
        case = client.post("/v1/cases", json={"model": "wine"}).json()
        body = {"feature": case["question"]["name"], "value": 1.0}
        return client.post(f"/v1/cases/{case['id']}/observations", json=body).status_code == 200


def test_of_answers_at_once_one_is_taken(server):
    with server.client() as client, ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            case = client.post("/v1/cases", json={"model": "wine"}).json()
            url, feature = f"/v1/cases/{case['id']}", case["question"]["name"]
            bodies = [{"feature": feature, "value": float(v), "revision": 0} for v in range(6)]
            responses = list(pool.map(lambda b, url=url: client.post(f"{url}/observations", json=b), bodies))
            assert Counter(r.status_code for r in responses) == {200: 1, 409: 5}
            winner = next(r for r in responses if r.status_code == 200)
            assert client.get(url).json() == winner.json()


def test_overload_gives_200_and_503_and_passes(server):
    """Ten times as many clients as may work at once, for a while; then everything is as before."""
    rows = [{"mean radius": 1.0}] * 300
    before = server.memory

    async def client(http, deadline):
        seen = Counter()
        while time.monotonic() < deadline:
            response = await http.post("/v1/classify", json={"model": "breast_cancer", "rows": rows})
            seen[response.status_code] += 1
            if response.status_code == 503:
                assert int(response.headers["retry-after"]) >= 1
                assert response.json()["detail"]
            else:
                assert len(response.json()["rows"]) == 300
        return seen

    async def rush():
        many = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=server.url, limits=many, **DIRECT) as http:
            deadline = time.monotonic() + 3
            seen = await asyncio.gather(*(client(http, deadline) for _ in range(10 * CONCURRENCY)))
            return sum(seen, Counter())

    total = asyncio.run(rush())
    assert set(total) == {200, 503}, total
    began = time.monotonic()
    until(lambda: answers(server), 10)
    assert time.monotonic() - began < 5
    assert server.memory - before < 200e6


def open_socket(server, data=b""):
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(data)
    return connection


def test_500_slow_connections_do_not_stop_the_others(server):
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    kinds = [
        b"",  # says nothing
        b"GET /v1/models HT",  # half a line
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",  # half a header
        head + b"Content-Length: 1000\r\n\r\n{",  # half a body
        head + b"Transfer-Encoding: chunked\r\n\r\n400\r\n{",  # half a chunk
    ]
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(open_socket(server, kinds[i % 5])) for i in range(500)]
        times = []
        for _ in range(20):
            began = time.monotonic()
            assert answers(server)
            times.append(time.monotonic() - began)
        assert sorted(times)[10] < 2.0
        for connection in slow[:250]:  # one more byte does not buy more time
            with contextlib.suppress(OSError):
                connection.sendall(b"x")
        # After its time each one is closed, the half bodies with a 408.
        deadline = time.monotonic() + 15
        for i, connection in enumerate(slow):
            connection.settimeout(max(deadline - time.monotonic(), 0.1))
            said = b""
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(65536):
                    said += part
            if i % 5 >= 3 and said:
                assert said.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400")), said[:100]
    assert answers(server)


def test_idle_connections_make_room_for_new_ones(server):
    """More idle connections than are allowed at all: new clients still get through."""
    with contextlib.ExitStack() as stack:
        for _ in range(800):
            stack.enter_context(open_socket(server))
        assert answers(server)


def test_a_body_of_100_mb_is_refused_without_being_kept(server):
    before = server.memory
    chunk = b"x" * 2**20

    def chunked():
        for _ in range(100):
            yield chunk

    headers = {"Content-Type": "application/json"}
    with server.client() as client:
        announced = client.post("/v1/classify", content=chunk * 100, headers=headers)
        assert announced.status_code == 413
        assert "1000000 bytes" in announced.json()["detail"]
        streamed = client.post("/v1/classify", content=chunked(), headers=headers)
        assert streamed.status_code == 413
        assert client.get("/v1/models").status_code == 200
    assert server.memory - before < 30e6


def test_bytes_that_are_no_http_get_a_400(server):
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with open_socket(server) as connection:
            connection.settimeout(10)
            with contextlib.suppress(OSError):
                connection.sendall(data)
            said = b""
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(65536):
                    said += part
            assert said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), (data[:60], said[:100])
            assert b"application/problem+json" in said
    assert answers(server)


def test_a_reload_fails_no_request_and_a_bad_file_keeps_the_old_model(server, own_folder, folder, data):
    """Requests go on while the file is replaced by another model, by rubbish, and by the first one."""
    path, good = own_folder / "wine.etana", (folder / "wine.etana").read_bytes()
    other = own_folder.parent / "other.etana"
    etana.save(etana.ETANAClassifier(feature_costs=0.1, ordering="error", temperature=1.0).fit(*data["wine"]), other)
    digests = {read_metadata(p)["sha256"] for p in (other, folder / "wine.etana")}
    stop, seen, seen_digests = threading.Event(), Counter(), set()

    def client():
        with server.client() as http:
            while not stop.is_set():
                response = http.post("/v1/classify", json={"model": "wine", "rows": [{"flavanoids": 1.0}]})
                seen[response.status_code] += 1
                seen_digests.add(response.json().get("digest"))

    def counted(name):
        with server.client() as http:
            text = http.get("/metrics").text
        return int(next(line for line in text.splitlines() if line.startswith(name)).rpartition(" ")[2])

    threads = [threading.Thread(target=client) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        reloads, failures = counted("etana_reloads_total"), counted("etana_reload_failures_total")
        for content, bad in ((other.read_bytes(), 0), (b"rubbish", 1), (good, 0), (good[:-5], 1), (good, 0)):
            path.with_suffix(".new").write_bytes(content)
            os.replace(path.with_suffix(".new"), path)
            server.signal(signal.SIGHUP)
            reloads += 1
            failures += bad
            until(lambda n=reloads: counted("etana_reloads_total") >= n)
            assert counted("etana_reload_failures_total") == failures
            time.sleep(0.1)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert set(seen) == {200}
    assert seen_digests == digests
    assert server.log.count("the old model stays") >= 2


def test_a_stop_finishes_what_is_worked_on(folder, tmp_path):
    server = Server(tmp_path, folder / "breast_cancer.etana")
    rows = [[1.0] * 30] * 8000
    with server.client() as client, ThreadPoolExecutor(1) as pool:
        client.get("/health/live")
        running = pool.submit(client.post, "/v1/classify", json={"rows": rows})
        until(lambda: server.process.poll() is None and _working(server))
        server.signal(signal.SIGTERM)
        response = running.result(60)
    assert response.status_code == 200
    assert len(response.json()["rows"]) == 8000
    assert server.process.wait(60) == 0
    assert "stopped" in server.log
    with pytest.raises(httpx.ConnectError):
        server.client().get("/health/live")


def _working(server):
    """Whether the server has a request to work on: its processor time grows."""
    stat = Path(f"/proc/{server.process.pid}/stat")

    def ticks():
        return int(stat.read_text().rpartition(")")[2].split()[11])

    before = ticks()
    time.sleep(0.1)
    return ticks() >= before + 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wine.etana", "--host", "0.0.0.0"], "a token is needed: set the environment variable ETANA_TOKEN"),
        (["wine.etana", "--host", "::"], "a token is needed"),
        (["wine.etana", "--token", "short"], "at least 8"),
        (["wine.etana", "--token", "with a blank in it"], "without blanks"),
        (["wine.etana", "--limit", "nonsense=1"], "limit 'nonsense=1' is not known"),
        (["wine.etana", "--port", "70000"], "port is 70000"),
        (["wine.etana", "--host", "no.such.host.invalid", "--token", "12345678"], "cannot listen on"),
        (["nix.etana"], "cannot be read"),
        (["wine.etana", "wine.etana"], "two models have the name"),
        (["wine.etana", "--store", "wine.etana"], "cannot hold the cases"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_wrong_settings_end_it_before_it_starts(folder, tmp_path, monkeypatch, arguments, said):
    shutil.copy(folder / "wine.etana", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ETANA_TOKEN", raising=False)
    done = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    assert done.exit_code == 3, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "wine.etana").read_bytes() == (folder / "wine.etana").read_bytes()


def test_a_port_that_is_taken_is_named(server, folder, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "etana.cli", "serve", str(folder), "--port", str(server.port)],
        cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert f"port {server.port}" in done.stderr


def test_the_log_has_no_values_and_no_ids(server):
    with server.client() as client:
        case = client.post("/v1/cases", json={"model": "wine"}).json()
        client.post(f"/v1/cases/{case['id']}/observations", json={"feature": "flavanoids", "value": 47.11})
        client.get("/v1/model?name=secret-4711", headers={"User-Agent": "secret-4711\tx"})
    until(lambda: "/v1/model 404" in server.log)
    for secret in (case["id"], "47.11", "4711"):
        assert secret not in server.log
