"""Connections under small limits, with real sockets: whoever holds one for nothing loses it, the others do not."""

import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from etana.service.connections import protocol
from etana.service.limits import Limits

LIMITS = Limits(head_time=0.4, body_time=0.4, request_time=0.4, keep_alive=0.3, connections=20, head=4096)
LARGE = 2**23


async def application(scope, receive, send):
    """Answers: a small text, a large one, after a while, or without having read the body."""
    import asyncio

    body = b"x" * (LARGE if scope["path"] == "/large" else 2)
    if scope["path"] == "/slow":
        await asyncio.sleep(0.8)
    if scope["path"] != "/refuse":
        while (await receive()).get("more_body"):
            pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def server():
    """The port of a server in a thread, and the server."""
    config = uvicorn.Config(
        application, http=protocol(LIMITS), ws="none", lifespan="off", log_config=None, access_log=False, port=0,
        timeout_keep_alive=LIMITS.keep_alive, h11_max_incomplete_event_size=LIMITS.head,
    )  # fmt: skip
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield running.servers[0].sockets[0].getsockname()[1], running
    running.should_exit = True
    thread.join()


def connect(server, data=b""):
    connection = socket.create_connection(("127.0.0.1", server[0]))
    connection.settimeout(10)
    connection.sendall(data)
    return connection


def request(path="/", method=b"GET", headers=b""):
    return method + b" " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n"


def read_to_end(connection):
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            said += part
    return said


def read_answer(connection):
    """Whether a small answer comes; it may come in parts."""
    said = b""
    while not said.endswith(b"\r\n\r\nxx") and (part := connection.recv(1000)):
        said += part
    return said.startswith(b"HTTP/1.1 200")


def ends_within(connection, least, most):
    began = time.monotonic()
    said = read_to_end(connection)
    assert least <= time.monotonic() - began < most
    return said


def works(server):
    with connect(server, request(headers=b"Connection: close\r\n")) as connection:
        return read_to_end(connection).endswith(b"xx")


@pytest.mark.parametrize("data", [b"", b"GE", b"GET / HTTP/1.1\r\nHost: loc"], ids=["silent", "line", "header"])
def test_half_a_head_is_waited_for_and_no_longer(server, data):
    with connect(server, data) as connection:
        assert ends_within(connection, 0.2, 2.0) == b""


def test_single_bytes_do_not_prolong_the_wait(server):
    with connect(server) as connection, contextlib.suppress(ConnectionError):
        began = time.monotonic()
        for byte in request(headers=b"X: " + b"y" * 200 + b"\r\n"):
            connection.sendall(bytes([byte]))
            time.sleep(0.02)
    assert time.monotonic() - began < 2.0


def test_single_bytes_of_a_second_head_do_not_either(server):
    with connect(server, request()) as connection:
        assert read_answer(connection)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in request(headers=b"X: " + b"y" * 200 + b"\r\n"):
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        assert time.monotonic() - began < 2.0


def test_a_connection_is_kept_for_further_requests_and_then_closed(server):
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(request())
            assert read_answer(connection)
            time.sleep(0.1)
        assert ends_within(connection, 0.05, 2.0) == b""


def test_many_requests_in_one_packet_are_all_answered(server):
    with connect(server, request() * 20 + request(headers=b"Connection: close\r\n")) as connection:
        assert read_to_end(connection).count(b"HTTP/1.1 200") == 21


def test_work_is_not_cut_short_by_the_wait_for_heads(server):
    with connect(server, request("/slow", headers=b"Connection: close\r\n")) as connection:
        assert ends_within(connection, 0.5, 3.0).endswith(b"xx")


def test_an_answer_that_nobody_reads_is_given_up(server):
    with connect(server, request("/large")) as connection:
        time.sleep(3.0)
        assert len(read_to_end(connection)) < LARGE
    assert works(server)


def test_a_refused_body_is_not_taken_in_for_ever(server):
    head = request("/refuse", b"POST", b"Content-Length: 1000000000\r\n")
    with connect(server, head) as connection:
        assert read_answer(connection)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 5:
                connection.sendall(b"z" * 1000)
                time.sleep(0.01)
        assert time.monotonic() - began < 3


def test_the_longest_idle_connection_makes_room(server):
    with contextlib.ExitStack() as stack:
        slow = stack.enter_context(connect(server, request("/slow", headers=b"Connection: close\r\n")))
        time.sleep(0.1)
        idle = [stack.enter_context(connect(server)) for _ in range(30)]
        assert works(server)
        idle[0].settimeout(0.2)
        assert read_to_end(idle[0]) == b""  # ended before its time
        assert read_to_end(slow).endswith(b"xx")  # at work, so it stays


def test_a_connection_too_many_is_refused_when_all_work(server):
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(connect(server, request("/slow"))) for _ in range(20)]
        time.sleep(0.2)
        late = stack.enter_context(connect(server))
        assert ends_within(late, 0.0, 0.4) == b""
        assert all(read_answer(b) for b in busy)
    assert works(server)


def test_nothing_is_left_behind(server):
    deadline = time.monotonic() + 5
    state = server[1].server_state
    while (state.connections or state.tasks) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not state.connections
    assert not state.tasks
