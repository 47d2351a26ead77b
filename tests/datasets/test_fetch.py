import hashlib
import threading
import time
import urllib.request

import pytest
from raw_server import closed_address, redirect, slow, status, truncated, whole, without_length

from etana.datasets.fetch import FetchError, FetchLimits, _SafeRedirects, fetch

CONTENT = bytes(range(256)) * 2000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
SHORT = FetchLimits(timeout=0.3, attempts=2, pause=0.01)


@pytest.mark.parametrize("answer", [whole(CONTENT), without_length(CONTENT), slow(CONTENT, 0.01, 4)])
def test_a_complete_answer(server, answer):
    server.routes["/file"] = answer
    assert fetch(f"{server.url}/file", len(CONTENT), DIGEST) == CONTENT
    assert server.requests == ["/file"]


def test_an_answer_cut_short_is_tried_again(server):
    server.routes["/file"] = [truncated(CONTENT), whole(CONTENT)]
    assert fetch(f"{server.url}/file", 10**6) == CONTENT


def test_an_answer_always_cut_short(server):
    server.routes["/file"] = truncated(CONTENT, missing=7)
    with pytest.raises(FetchError, match=r"ended after 512000 of 512007 bytes \(3 attempts\)"):
        fetch(f"{server.url}/file", 10**6)


def test_wrong_bytes_are_final(server):
    server.routes["/file"] = whole(CONTENT[1:] + b"x")
    with pytest.raises(FetchError, match=f"expected {DIGEST}; it was changed or damaged"):
        fetch(f"{server.url}/file", 10**6, DIGEST)
    assert len(server.requests) == 1


def test_a_server_that_falls_silent(server):
    server.routes["/file"] = slow(CONTENT, 2)
    start = time.monotonic()
    with pytest.raises(FetchError, match=r"timed out \(2 attempts\)"):
        fetch(f"{server.url}/file", 10**6, limits=SHORT)
    assert time.monotonic() - start < 2


def test_a_server_that_drips(server):
    server.routes["/file"] = slow(CONTENT, 0.05, 100)
    with pytest.raises(FetchError, match=r"not complete after 0.2 seconds"):
        fetch(f"{server.url}/file", 10**6, limits=FetchLimits(deadline=0.2))


@pytest.mark.parametrize("code", [400, 403, 404, 410])
def test_a_refusal_is_final(server, code):
    server.routes["/file"] = status(code)
    with pytest.raises(FetchError, match=f"HTTP status {code}$"):
        fetch(f"{server.url}/file", 10**6)
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_a_passing_trouble_is_tried_again(server, code):
    server.routes["/file"] = [status(code), status(code, {"Retry-After": "0"}), whole(CONTENT)]
    assert fetch(f"{server.url}/file", 10**6) == CONTENT
    assert len(server.requests) == 3


def test_the_pause_that_a_server_asks_for_is_kept(server):
    server.routes["/file"] = [status(503, {"Retry-After": "1"}), whole(CONTENT)]
    start = time.monotonic()
    fetch(f"{server.url}/file", 10**6, limits=FetchLimits(pause=0.0))
    assert time.monotonic() - start >= 1


def test_a_redirect_is_followed(server):
    server.routes |= {"/old": redirect(f"{server.url}/new"), "/new": whole(CONTENT)}
    assert fetch(f"{server.url}/old", 10**6, DIGEST) == CONTENT


def test_a_redirect_in_a_circle_ends(server):
    server.routes["/old"] = redirect(f"{server.url}/old")
    with pytest.raises(FetchError, match="HTTP status 302"):
        fetch(f"{server.url}/old", 10**6)


@pytest.mark.parametrize("target", ["http://example.org/file", "file:///etc/passwd", "ftp://example.org/file"])
def test_no_way_leads_from_https_to_an_open_line(target):
    request = urllib.request.Request("https://example.org/file")
    with pytest.raises(FetchError, match="is not followed"):
        _SafeRedirects().redirect_request(request, None, 302, "", {}, target)


def test_a_redirect_to_a_file_is_not_followed(server):
    server.routes["/old"] = redirect("file:///etc/hostname")
    with pytest.raises(FetchError, match=r"is not followed|HTTP status 302"):
        fetch(f"{server.url}/old", 10**6)


@pytest.mark.parametrize("answer", [whole(CONTENT), without_length(CONTENT)])
def test_too_many_bytes(server, answer):
    server.routes["/file"] = answer
    with pytest.raises(FetchError, match=r"at most 1000 are expected|more than the 1000 bytes"):
        fetch(f"{server.url}/file", 1000)


def test_nobody_listens():
    with pytest.raises(FetchError, match=r"refused.*\(3 attempts\)"):
        fetch(f"{closed_address()}/file", 10)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "somewhere"])
def test_only_http_is_fetched(url):
    with pytest.raises(FetchError, match="only http and https"):
        fetch(url, 10)


def test_threads_do_not_disturb_each_other(server):
    server.routes["/file"] = slow(CONTENT, 0.01, 5)
    found = []
    threads = [threading.Thread(target=lambda: found.append(fetch(f"{server.url}/file", 10**6))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT] * 4
