"""Single clients that try to freeze the service: none keeps it from the others, and refusing costs little."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import attacks
import pytest
from attacks import FORM, answer, post, timed, watched
from flood import REQUEST
from servers import until

TOKEN = "correct-horse-battery"
JSON = b"Content-Type: application/json\r\n"
STALL = 0.2  # seconds that /health/live may take at most


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server(folder / "wine.etana", folder / "breast_cancer.etana", "--limit", "body_time=6")


def calm(attempt, times=3):
    """Other work on the machine can hold anybody up for a moment; what the attack does, it does each time."""
    worst = []
    for _ in range(times):
        worst.append(attempt())
        if worst[-1] < STALL:
            return
    raise AssertionError(f"/health/live took {worst} s")


@pytest.mark.parametrize(
    ("path", "headers", "body", "statuses", "seconds"),
    [
        (b"/sign-in", FORM, attacks.AMPERSANDS, {413}, 1.0),
        (b"/health/live", JSON, attacks.AMPERSANDS, {413}, 1.0),
        (b"/v1/cases", JSON, attacks.KEYS, {422}, 2.0),
        (b"/v1/classify", JSON, attacks.EMPTY_ROWS, {422}, 2.0),
        (b"/v1/classify", JSON, attacks.ONE_WIDE_ROW, {422}, 2.0),
        (b"/v1/classify", JSON, attacks.NESTED, {400}, 2.0),
        (b"/v1/classify", JSON, attacks.LONG_LIST, {422}, 2.0),
    ],
    ids=["ampersands", "health", "keys", "empty rows", "wide row", "nested", "long list"],
)
def test_large_nonsense_is_refused_soon_and_holds_nobody_up(server, path, headers, body, statuses, seconds):
    before, times = server.memory, []

    def attempt():
        with watched(server.port, 1.5) as worst:
            connections = [post(server.port, path, body, headers) for _ in range(3)]
            found, took = timed(lambda: {answer(c)[0] for c in connections})
            for connection in connections:
                connection.close()
        assert found <= statuses | {0}  # a refused sender may be cut off before it has read the answer
        times.append(took)
        return worst[0]

    calm(attempt)
    assert min(times) < seconds
    assert server.memory - before < 150e6


def test_the_head_of_a_large_body_is_refused_without_waiting_for_it(server):
    for path, length in ((b"/sign-in", 17_000), (b"/health/live", 17_000), (b"/v1/classify", 9_000_000)):
        connection = post(server.port, path, b"x" * length, FORM, hold=length)
        (status, _), took = timed(lambda c=connection: answer(c))
        assert (status, took < 1.0) == (413, True)
        connection.close()
    with server.client() as client:
        for path in ("/v1/models", "/", "/health/live", "/metrics"):
            assert client.request("GET", path, content=b"x" * 17_000).status_code == 413
            assert client.request("GET", path, content=b"x" * 1000).status_code == 200


def test_bodies_that_never_end_take_nothing_from_small_ones(server):
    """Sixteen connections send all but one byte of 8 MB, two a few bytes: cases go on all the while."""
    body = attacks.EMPTY_ROWS[: 8 * 2**20 - 1].ljust(8 * 2**20 - 1, b" ")
    with contextlib.ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(post(server.port, b"/v1/classify", body, JSON, hold=1))
        for _ in range(2):
            stack.enter_context(post(server.port, b"/v1/classify", b"{" + b" " * 1000, JSON, hold=999))
        end, seen = time.monotonic() + 2, []
        with server.client() as client:
            while time.monotonic() < end:
                seen.append(client.post("/v1/cases", json={"model": "wine"}).status_code)
    assert set(seen) == {201}
    assert len(seen) > 10


def test_a_real_batch_of_the_largest_size_is_answered_and_holds_nobody_up(server):
    rows = [[float(i % 17) + k / 7 for k in range(30)] for i in range(10_000)]
    body = json.dumps({"model": "breast_cancer", "rows": rows}).encode()
    assert 4e6 < len(body) < 8 * 2**20

    def attempt():
        with watched(server.port, 4) as worst, post(server.port, b"/v1/classify", body) as connection:
            status, content = answer(connection)
        assert status == 200
        assert len(json.loads(content)["rows"]) == 10_000
        return worst[0]

    calm(attempt)


def test_without_a_token_no_body_is_read_at_all(start_server, folder):
    server = start_server(folder / "wine.etana", token=TOKEN)
    connection = post(server.port, b"/v1/classify", b"x" * 8_000_000, JSON, hold=8_000_000)
    (status, _), took = timed(lambda: answer(connection))
    assert (status, took < 1.0) == (401, True)
    connection.close()


# --- overload


def get(server, path):
    with server.client() as client:
        return client.get(path)


def flood(server, connections, seconds=2.0):
    command = [sys.executable, str(Path(__file__).with_name("flood.py")), str(server.port), str(connections)]
    done = subprocess.run([*command, str(seconds)], capture_output=True, encoding="utf-8", timeout=60, check=True)
    return {int(status): count for status, count in json.loads(done.stdout).items()}


def test_ten_times_too_much_leaves_four_fifths_of_the_best(start_server, folder):
    """Whoever is refused comes back at once; useful answers hardly become fewer."""
    server = start_server(folder / "wine.etana", "--limit", "concurrency=16", "--limit", "wait_time=0.5")
    flood(server, 16, 1.0)
    shares = []
    for _ in range(4):
        best, over = flood(server, 16).get(200, 0), flood(server, 160).get(200, 0)
        shares.append(over / best)
        if shares[-1] > 0.8:
            break
    assert max(shares) > 0.8, shares


@pytest.fixture(scope="module")
def full(start_server, folder):
    """A server with one place and little patience."""
    limits = ("concurrency=1", "wait_time=0.02", "keep_alive=5")
    arguments = [a for limit in limits for a in ("--limit", limit)]
    return start_server(folder / "breast_cancer.etana", *arguments, "--log", "json")


def test_refusals_are_logged_and_counted_as_all_requests_are(full):
    seen = flood(full, 30, 1.5)
    assert min(seen[503], seen[200]) > 50
    lines = [json.loads(line) for line in full.log.splitlines() if '"reason": "full"' in line]
    assert len(lines) == seen[503]
    assert {(n["route"], n["status"], n["client"], n["method"]) for n in lines} == {
        ("/v1/classify", 503, "127.0.0.1", "POST")
    }
    assert len({n["request"] for n in lines}) == len(lines)
    with full.client() as client:
        text = client.get("/metrics").text
        assert f'etana_refusals_total{{reason="full"}} {seen[503]}' in text
        assert "etana_requests_working 0" in text
        assert "etana_requests_waiting 0" in text
    assert full.log.count('"status": 200') >= seen[200]


def test_whoever_waits_gets_the_next_place(full):
    """Requests that come while the only place is taken are answered as soon as it is free."""
    rows = json.dumps({"rows": [[1.0] * 30] * 50}).encode()
    for _ in range(20):
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(post(full.port, b"/v1/classify", rows))
            others = [stack.enter_context(post(full.port, b"/v1/classify", b'{"rows": [{}]}')) for _ in range(3)]
            assert answer(first)[0] == 200
            if [answer(c)[0] for c in others] == [200, 200, 200]:
                return
    raise AssertionError("nobody who waited was answered")


@contextlib.contextmanager
def at_work(server):
    """The only place of a server is taken, for some tenths of a second."""
    rows = json.dumps({"rows": [[1.0] * 30] * 9900}).encode()
    with post(server.port, b"/v1/classify", rows) as first, server.client() as client:
        until(lambda: "etana_requests_working 1" in client.get("/metrics").text)
        yield first


@pytest.mark.parametrize(
    ("request_bytes", "said"),
    [
        (REQUEST, b"application/problem+json"),
        (REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0"), b"connection: close"),
        (REQUEST.replace(b"Host", b"Connection: close\r\nHost"), b"connection: close"),
        (REQUEST.replace(b"Host", b"Accept: text/html\r\nHost"), b"Too busy just now"),
    ],
    ids=["program", "1.0", "close", "browser"],
)
def test_a_refusal_is_an_answer_like_others(full, request_bytes, said):
    with contextlib.ExitStack() as stack:
        stack.enter_context(at_work(full))
        late = stack.enter_context(socket.create_connection(("127.0.0.1", full.port)))
        late.settimeout(30)
        for part in (request_bytes[:40], request_bytes[40:]):  # in two parts, as many clients send
            late.sendall(part)
            time.sleep(0.01)
        text = b""
        while b"\r\n\r\n" not in text or not text.rstrip().endswith((b"}", b".")):
            part = late.recv(65536)
            if not part:
                break
            text += part
    assert text.startswith(b"HTTP/1.1 503"), text[:200]
    assert b"retry-after: 1" in text.lower()
    assert said.lower() in text.lower()
    until(lambda: get(full, "/v1/models").status_code == 200)


def test_the_watchers_never_wait(full):
    with at_work(full) as first:
        with full.client() as client:
            for path in ("/health/live", "/health/ready", "/metrics"):
                assert client.get(path).status_code == 200
        assert answer(first)[0] == 200


def test_clients_that_leave_the_line_leave_no_trace(full):
    with at_work(full) as first:
        for _ in range(20):
            post(full.port, b"/v1/classify", b'{"rows": [{}]}').close()
        assert answer(first)[0] == 200
    until(lambda: "etana_requests_waiting 0" in get(full, "/metrics").text)
    assert get(full, "/v1/models").status_code == 200
