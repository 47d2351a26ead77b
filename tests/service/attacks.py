"""Attacks on a server, and a watcher beside them that measures how long ``/health/live`` takes.

The watcher is a process of its own: what the attack costs this one must not count against the server.
"""

import contextlib
import re
import socket
import subprocess
import sys
import time

_WATCHER = """
import socket, sys, time
port, seconds = int(sys.argv[1]), float(sys.argv[2])
worst, count, end = 0.0, 0, time.monotonic() + seconds
connection = socket.create_connection(("127.0.0.1", port))
connection.settimeout(30)
while time.monotonic() < end:
    began = time.monotonic()
    connection.sendall(b"GET /health/live HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    answer = b""
    while not answer.endswith(b'"ok"}'):
        answer += connection.recv(65536) or b"closed}"
    worst, count = max(worst, time.monotonic() - began), count + 1
    assert answer.startswith(b"HTTP/1.1 200"), answer
    time.sleep(0.01)
print(worst, count)
"""


@contextlib.contextmanager
def watched(port, seconds):
    """Runs the watcher beside what is done; gives a list with the longest wait when that has ended."""
    found = []
    watcher = subprocess.Popen([sys.executable, "-c", _WATCHER, str(port), str(seconds)], stdout=subprocess.PIPE)
    time.sleep(0.2)
    try:
        yield found
    finally:
        out, _ = watcher.communicate(timeout=60)
        worst, count = map(float, out.split())
        assert count > 5
        found.append(worst)


def post(port, path, body, headers=b"Content-Type: application/json\r\n", hold=0):
    """An open connection with a request on it; the last ``hold`` bytes of the body are kept back."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(60)
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + b"Content-Length: %d\r\n\r\n" % len(body)
    with contextlib.suppress(ConnectionError):
        connection.sendall(head + (body[:-hold] if hold else body))
    return connection


def answer(connection):
    """Status and content of an answer."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in said and (part := connection.recv(65536)):
            said += part
        if not said:
            return 0, b""
        head, _, body = said.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        while len(body) < length and (part := connection.recv(65536)):
            body += part
    return int(head[9:12]), body


def timed(action):
    began = time.monotonic()
    return action(), time.monotonic() - began


FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
AMPERSANDS = b"&" * (8 * 2**20 - 1)
KEYS = b"{" + b",".join(b'"k%06d":0' % i for i in range(699_000)) + b"}"
EMPTY_ROWS = b'{"rows":[' + b",".join([b"{}"] * 2_700_000) + b"]}"
ONE_WIDE_ROW = b'{"rows":[{' + b",".join(b'"k%06d":0' % i for i in range(699_000)) + b"}]}"
NESTED = b'{"rows":' + b"[" * 8_000_000
LONG_LIST = b'{"rows":[[' + b",".join([b"0"] * 4_000_000) + b"]]}"
