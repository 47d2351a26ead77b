"""The layers in front of the routes: tokens, hosts, origins, sizes and times, over every route there is."""

import asyncio
import re
import time

import pytest
from starlette.routing import Route
from test_api import is_problem

from etana.service.guard import _host
from etana.service.limits import Limits
from etana.service.reading import BodyReader
from etana.service.slots import Slots
from etana.service.users import Users

TOKEN = "correct-horse-battery"
OPEN = {"/health/live", "/health/ready"}


@pytest.fixture(scope="module")
def guarded(make_client):
    return make_client("wine", token=TOKEN, hosts=["localhost", "127.0.0.1", "::1"])


def every_route(client):
    """Method and path of all routes, ids filled in, so that a new one cannot be forgotten."""
    app = client._transport._inner.app
    routes = [r for r in app.routes if isinstance(r, Route)]
    assert len(routes) >= 12
    for route in routes:
        for method in sorted(route.methods):
            yield method, re.sub(r"\{[^}]*\}", "a" * 24, route.path)


def unguarded(client):
    """Paths that need no token: those of the watchers, and those that the pages name."""
    import importlib.util

    if importlib.util.find_spec("etana.service.pages") is None:
        return OPEN
    from etana.service import pages

    return OPEN | set(getattr(pages, "UNGUARDED", ()))


def state(client):
    return client._transport._inner.app.state


def with_cookie(client, headers):
    """Headers with the name of the session's cookie, which depends on the store."""
    if "Cookie" not in headers:
        return headers
    return {"Cookie": headers["Cookie"].replace("SESSION", state(client).sessions.cookie)}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong-horse-battery"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer"},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN.upper()}"},
        {"Authorization": "Bearer \xff\xfe".encode("latin-1")},
        {"Cookie": f"SESSION={TOKEN}"},
        {"Cookie": f"SESSION={'a' * 43}"},
        {"Cookie": "SESSION="},
        {"Cookie": "\x01;;=;SESSION"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Original-URL": "/health/live"},
    ],
    ids=str,
)
def test_without_the_token_no_route_opens(guarded, headers):
    headers = with_cookie(guarded, headers)
    for method, path in every_route(guarded):
        guarded.cookies.clear()
        response = guarded.request(method, path, headers=headers)
        if path in unguarded(guarded):
            assert response.status_code != 401, (method, path)
        else:
            assert is_problem(response, 401, "a token is needed"), (method, path)
            assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        {"Authorization": f"bearer  {TOKEN} "},
        {"Cookie": "other=1; SESSION=THEIRS"},
        {"Cookie": 'x={"theme":"dark"}; foo; SESSION=THEIRS; "=;,'},
    ],
    ids=["bearer", "case and blanks", "session", "session among foreign cookies"],
)
def test_with_the_token_every_route_opens(guarded, headers):
    sessions = state(guarded).sessions
    if "Cookie" in headers:
        theirs = sessions.open(state(guarded).users.find(TOKEN), TOKEN)
        headers = {"Cookie": with_cookie(guarded, headers)["Cookie"].replace("THEIRS", theirs)}
    for method, path in every_route(guarded):
        guarded.cookies.clear()  # what a page has set would take the place of the header
        response = guarded.request(method, path, headers=headers)
        if path.startswith("/v1/") and "Cookie" in headers:  # the cookie is for the pages alone
            assert is_problem(response, 401)
            continue
        fine = (200, 201, 204, 404, 415, 422) if path.startswith("/v1/") else (200, 303, 403, 404, 422)
        assert response.status_code in fine, (method, path, response.text)


def test_path_tricks_do_not_go_around_the_token(guarded):
    for path in (
        "/health/live/../../v1/models", "//v1/models", "/health/live%2f..%2f..%2fv1%2fmodels", "/v1/models;/health",
        "/v1/models?/health/live", "/health/live/", "/HEALTH/live",
    ):  # fmt: skip
        assert guarded.get(path).status_code == 401, path


def test_tokens_are_compared_whole():
    users = Users(TOKEN)
    assert users.find(TOKEN)
    for wrong in ("", TOKEN[:-1], TOKEN + "x", "x" * len(TOKEN), "\udcff"):
        assert users.find(wrong) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost"]
)
def test_a_foreign_host_is_refused(guarded, host):
    headers = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
    assert is_problem(guarded.get("/v1/models", headers=headers), 421, "--allow-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"])
def test_the_own_names_are_fine(guarded, host):
    assert guarded.get("/v1/models", headers={"Host": host, "Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_names_in_host_headers():
    assert [_host(h) for h in ("a:1", "[::1]:8", "[::1", "A", "x@y", ":80")] == ["a", "::1", "", "a", "", ""]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:81", "http://[", "http://"])
def test_a_page_of_another_site_cannot_change_anything(make_client, origin):
    client = make_client("wine")
    headers = {"Origin": origin, "Host": "localhost:80"}
    assert is_problem(client.post("/v1/cases", json={}, headers=headers), 403, "another site")
    assert client.get("/v1/models", headers=headers).status_code == 200
    headers["Origin"] = "http://localhost:80"
    assert client.post("/v1/cases", json={}, headers=headers).status_code == 201


def test_no_cross_origin_header_is_ever_sent(guarded):
    for method in ("GET", "OPTIONS"):
        response = guarded.request(method, "/v1/models", headers={"Origin": "https://evil.example"})
        assert not [h for h in response.headers if h.startswith("access-control")]


def test_a_head_that_is_too_large_is_refused(make_client):
    client = make_client("wine", limits=Limits(head=2000))
    assert is_problem(client.get("/v1/models", headers={"X": "y" * 2000}), 431, "2000 bytes")
    assert is_problem(client.get("/v1/model", params={"name": "y" * 2000}), 431)
    assert client.get("/v1/models").status_code == 200


# --- the layers alone


def run_layer(layer, body=(b"",), headers=(), delay=0.0, path="/v1/x"):
    """What a layer sends for a body that comes in these parts, one every ``delay`` seconds."""
    parts, sent = list(body), []

    async def receive():
        if not parts:
            await asyncio.sleep(3600)
        await asyncio.sleep(delay)
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": list(headers)}
    return layer(scope, receive, send), sent


async def echo(scope, receive, send):
    message = await receive()
    assert not message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def status(sent):
    return sent[0]["status"]


def test_a_body_comes_through_whole():
    running, sent = run_layer(BodyReader(echo, Limits(body=6)), [b"ab", b"", b"cdef"])
    asyncio.run(running)
    assert status(sent) == 200
    assert sent[1]["body"] == b"abcdef"


def test_a_body_without_a_length_is_counted_while_it_comes():
    layer = BodyReader(echo, Limits(body=5))
    running, sent = run_layer(layer, [b"ab", b"cdef", b"never read"])
    asyncio.run(running)
    assert status(sent) == 413
    assert layer.held == 0


def test_a_body_that_announces_too_much_is_not_read():
    async def receive():
        raise AssertionError("read")

    layer, sent = BodyReader(echo, Limits(body=5)), []

    async def send(message):
        sent.append(message)

    for length in (b"6", b"99999999999999999999", b"9" * 4000):
        sent.clear()
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", length)]}
        asyncio.run(layer(scope, receive, send))
        assert status(sent) == 413


def test_a_body_that_comes_too_slowly_is_given_up():
    layer = BodyReader(echo, Limits(body_time=0.1))
    running, sent = run_layer(layer, [b"x"] * 100, delay=0.03)
    began = time.monotonic()
    asyncio.run(running)
    assert time.monotonic() - began < 1
    assert status(sent) == 408
    assert layer.held == 0


def test_all_bodies_together_are_bounded():
    async def both():
        layer = BodyReader(echo, Limits(body=8, small_body=1, buffered=10))
        first, sent_first = run_layer(layer, [b"12345678", b""], delay=0.1)
        second, sent_second = run_layer(layer, [b"12345678"], delay=0.15)
        await asyncio.gather(first, second)
        third, sent_third = run_layer(layer, [b"12345678"])
        await third
        return [status(s) for s in (sent_first, sent_second, sent_third)]

    assert asyncio.run(both()) == [200, 503, 200]


def test_a_client_that_goes_away_is_forgotten():
    layer, sent = BodyReader(echo, Limits()), []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(layer({"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send))
    assert sent == []


def test_slots_are_limited_and_given_back():
    async def slow(scope, receive, send):
        await asyncio.sleep(0.1)
        await echo(scope, receive, send)

    async def rush():
        layer = Slots(slow, Limits(concurrency=3, wait_time=0.05))
        pairs = [run_layer(layer) for _ in range(30)]
        await asyncio.gather(*(running for running, _ in pairs))
        again, sent = run_layer(layer)
        await again
        health, health_sent = run_layer(Slots(echo, Limits(concurrency=1)), path="/health/live")
        await health
        return [status(s) for _, s in pairs], status(sent), status(health_sent)

    first, later, health = asyncio.run(rush())
    assert sorted(first) == [200] * 3 + [503] * 27
    assert later == health == 200


def test_a_request_that_takes_too_long_is_answered_and_keeps_its_slot_until_it_ends():
    ended = asyncio.Event()

    async def stuck(scope, receive, send):
        await ended.wait()
        await echo(scope, receive, send)

    async def scenario():
        layer = Slots(stuck, Limits(concurrency=1, request_time=0.05, wait_time=0.01))
        seen = []
        for _ in range(2):
            running, sent = run_layer(layer)
            await running
            seen.append((status(sent), len(sent)))
        ended.set()
        await asyncio.sleep(0.05)
        running, sent = run_layer(layer)
        await running
        return seen, status(sent), layer.places.taken

    seen, after, working = asyncio.run(scenario())
    assert seen == [(503, 2), (503, 2)]
    assert (after, working) == (200, 0)
