"""Who is who: users with roles, sessions that end, wrong tokens that have to wait, and the trail of what was done."""

import json
import stat
import time

import pytest
from browsing import Visitor
from servers import in_process
from test_api import is_problem
from typer.testing import CliRunner

from etana.cli import app as commands
from etana.errors import InputError
from etana.service.app import create_app
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.sessions import Attempts
from etana.service.store import Store
from etana.service.users import Users, add_user, read_users, remove_user

ROLES = {"rita": "read", "carl": "case", "anna": "admin"}


@pytest.fixture
def people(tmp_path):
    """A file of users, and their tokens."""
    path = str(tmp_path / "users")
    return path, {name: add_user(path, name, role) for name, role in ROLES.items()}


@pytest.fixture
def service(people, folder, tmp_path):
    """A client of a service with these users, on a store that a second service can share."""
    made = []

    def make(**settings):
        store = Store(tmp_path / "cases.sqlite", 1000.0, 100, quota=3)
        users = Users(path=people[0])
        client = in_process(create_app(Models([folder / "wine.etana"]), store, users=users, **settings))
        client.users = users
        made.append((client, store))
        return client

    yield make
    for client, store in made:
        client.close()
        store.close()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_each_role_may_do_what_it_may(service, people):
    client, tokens = service(), people[1]
    case = client.post("/v1/cases", json={}, headers=bearer(tokens["carl"])).json()
    url = f"/v1/cases/{case['id']}"
    answer = {"feature": "flavanoids", "value": 1.0}
    for name, role in ROLES.items():
        head = bearer(tokens[name])
        for request in (
            client.get("/v1/models", headers=head), client.get(url, headers=head), client.get("/metrics", headers=head),
            client.post("/v1/classify", json={"rows": [{}]}, headers=head), client.get("/", headers=head),
        ):  # fmt: skip
            assert request.status_code == 200, (name, request.text)
        changes = (
            client.post("/v1/cases", json={}, headers=head), client.delete(f"{url}/observations/last", headers=head),
            client.post(f"{url}/observations", json=answer, headers=head),
        )  # fmt: skip
        for request in changes:
            assert (request.status_code == 403) == (role == "read"), (name, request.text)
        for request in (client.get("/v1/audit", headers=head), client.delete("/v1/sessions/carl", headers=head)):
            assert (request.status_code == 200) == (role == "admin")
            assert request.status_code in (200, 403)
    detail = "rita has the role read, and this needs case; ask an admin"
    assert is_problem(client.delete(url, headers=bearer(tokens["rita"])), 403, detail)


def test_the_audit_trail_names_users_and_addresses(service, people):
    client, tokens = service(), people[1]
    case = client.post("/v1/cases", json={}, headers=bearer(tokens["carl"])).json()
    url = f"/v1/cases/{case['id']}"
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    body = {"feature": "flavanoids", "value": 47.25}
    client.post(f"{url}/observations", json=body, headers=bearer(tokens["anna"]) | forwarded)
    client.delete(f"{url}/observations/last", headers=bearer(tokens["carl"]))
    client.delete(url, headers=bearer(tokens["anna"]))
    text = client.get("/v1/audit", headers=bearer(tokens["anna"])).text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(n["who"], n["action"], n["revision"]) for n in lines] == [
        ("carl", "start", 0), ("anna", "answer", 1), ("carl", "undo", 2), ("anna", "delete", 2),
    ]  # fmt: skip
    assert {n["case_id"] for n in lines} == {case["id"]}
    assert [n["address"] for n in lines] == ["127.0.0.1", "203.0.113.9", "127.0.0.1", "127.0.0.1"]
    assert all(abs(n["at"] - time.time()) < 60 for n in lines)
    assert "47.25" not in text
    later = client.get("/v1/audit", params={"after": lines[1]["number"]}, headers=bearer(tokens["anna"])).text
    assert [json.loads(line)["action"] for line in later.splitlines()] == ["undo", "delete"]


def test_each_user_has_a_quota_of_open_cases(service, people):
    client, tokens = service(), people[1]
    for name in ("carl", "anna"):
        for _ in range(3):
            assert client.post("/v1/cases", json={}, headers=bearer(tokens[name])).status_code == 201
        more = client.post("/v1/cases", json={}, headers=bearer(tokens[name]))
        assert is_problem(more, 503, f"{name} has 3 open cases")


def sign_in(visitor, token, status=200):
    visitor.get("/", 401)
    return visitor.post("/sign-in", status, token=token)


def session_of(client):
    return next(c for c in client.cookies.jar if c.name.startswith("etana_session_"))


def test_a_session_ends_at_sign_out_everywhere(service, people):
    client = service()
    visitor = Visitor(client)
    sign_in(visitor, people[1]["carl"])
    copy = session_of(client)
    other = service()  # another process on the same store
    other.cookies.set(copy.name, copy.value)
    assert Visitor.get(Browser(other), "/").texts["h1"].startswith("Decide")
    visitor.get("/")
    visitor.post("/sign-out")
    for c in (client, other):
        c.cookies.set(copy.name, copy.value)
        assert c.get("/").status_code == 401


class Browser(Visitor):
    """A visitor who keeps the cookies of the client."""

    def __init__(self, client):
        self.client = client


def test_sessions_are_random_and_named_after_the_store(service, people, make_client):
    client = service()
    values = set()
    for _ in range(3):
        visitor = Visitor(client)
        sign_in(visitor, people[1]["carl"])
        values.add(session_of(client).value)
    assert len(values) == 3
    another = make_client("wine", token="another-service")
    name = another._transport._inner.app.state.sessions.cookie
    assert name != session_of(client).name


def test_a_session_ends_with_the_token_and_with_the_user(service, people):
    client = service()
    ends = {"carl": lambda: add_user(people[0], "carl", "case"), "anna": lambda: remove_user(people[0], "anna")}
    for name, end in ends.items():
        sign_in(Visitor(client), people[1][name])
        assert client.get("/").status_code == 200
        end()
        client.users.reload()
        assert client.get("/").status_code == 401
        assert client.get("/v1/models", headers=bearer(people[1][name])).status_code == 401


def test_an_admin_ends_the_sessions_of_a_user(service, people):
    client = service()
    sign_in(Visitor(client), people[1]["carl"])
    kept = session_of(client)
    client.cookies.clear()
    gone = client.delete("/v1/sessions/carl", headers=bearer(people[1]["anna"]))
    assert gone.json() == {"ended": 1}
    client.cookies.set(kept.name, kept.value)
    assert client.get("/").status_code == 401


@pytest.mark.parametrize("foreign", ['x={"theme":"dark"}', "foo", "a=b=c; =; ;;", 'q="un;closed', "é=ü; x=\x7f"])
def test_foreign_cookies_lock_nobody_out(service, people, foreign):
    client = service()
    visitor = Visitor(client)
    sign_in(visitor, people[1]["carl"])
    own = "; ".join(f"{c.name}={c.value}" for c in client.cookies.jar)
    client.cookies.clear()
    for header in (f"{foreign}; {own}", f"{own}; {foreign}"):
        assert client.get("/", headers={"Cookie": header.encode("latin-1", "replace")}).status_code == 200


def test_wrong_tokens_have_to_wait(service, people):
    client = service(limits=Limits(attempts=3))
    visitor = Visitor(client)
    for _ in range(3):
        sign_in(visitor, "wrong", 403)
    page = sign_in(visitor, people[1]["carl"], 429)
    assert "wait" in page.texts["fault"]
    assert int(visitor.response.headers["retry-after"]) >= 1
    # Another address is not held up.
    sent = visitor.page.forms["/sign-in"] | {"token": people[1]["carl"]}
    other = client.post("/sign-in", data=sent, headers={"X-Forwarded-For": "203.0.113.7"})
    assert other.status_code == 303
    trail = client.get("/v1/audit", headers=bearer(people[1]["anna"])).text.splitlines()
    assert [json.loads(line)["action"] for line in trail].count("sign-in refused") == 3


def test_the_wait_doubles_and_ends(monkeypatch):
    import etana.service.sessions as module

    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    attempts, waits = Attempts(Limits(attempts=2)), []
    for _ in range(10):
        attempts.failed("a")
        waits.append(attempts.wait("a"))
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    now += 61
    assert attempts.wait("a") == 0
    attempts.succeeded("a")
    attempts.failed("a")
    assert attempts.wait("a") == attempts.wait("b") == 0


# --- files and settings


def test_the_file_holds_no_token_and_is_the_owners(people, tmp_path):
    path, tokens = people
    text = (tmp_path / "users").read_text()
    assert not any(token in text for token in tokens.values())
    assert stat.S_IMODE((tmp_path / "users").stat().st_mode) == 0o600
    assert {u.name: u.role for u, _ in read_users(path)} == ROLES
    assert all(len(token) >= 43 for token in tokens.values())


def test_a_new_token_replaces_the_old_one(people):
    path, tokens = people
    new = add_user(path, "carl", "read")
    users = Users(path=path)
    assert users.find(tokens["carl"]) is None
    assert users.find(new).role == "read"
    assert users.find(tokens["rita"]).name == "rita"


@pytest.mark.parametrize("line", ["carl", "carl boss " + "0" * 64, "ca:rl case " + "0" * 64, "carl case xyz", "\xff"])
def test_a_file_that_cannot_be_right_is_refused_by_line(tmp_path, line):
    (tmp_path / "users").write_bytes(line.encode("latin-1"))
    with pytest.raises(InputError, match="users"):
        Users(path=tmp_path / "users")
    with pytest.raises(InputError, match="users add"):
        Users(path=tmp_path / "nowhere")


def test_users_on_the_command_line(tmp_path):
    run, path = CliRunner(), str(tmp_path / "users")
    token = run.invoke(commands, ["users", "add", path, "carl", "--role", "case"]).stdout.strip()
    assert Users(path=path).find(token).name == "carl"
    assert run.invoke(commands, ["users", "list", path]).stdout == "carl case\n"
    assert run.invoke(commands, ["users", "remove", path, "carl"]).exit_code == 0
    gone = run.invoke(commands, ["users", "remove", path, "carl"])
    assert gone.exit_code == 3
    assert "no user 'carl'" in gone.stderr
    assert run.invoke(commands, ["users", "add", path, "x y"]).exit_code == 3
    assert run.invoke(commands, ["users", "add", path, "x", "--role", "king"]).exit_code == 3


def test_an_empty_token_does_not_open_the_service(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETANA_TOKEN", "")
    for arguments in ([], ["--host", "0.0.0.0"], ["--token", ""]):
        done = CliRunner().invoke(commands, ["serve", str(folder), "--port", "0", *arguments])
        assert done.exit_code == 3
        assert "set but empty" in done.stderr


# --- restarts


def test_a_form_survives_a_restart(service, people):
    """The page was opened before; the answer is sent to another process on the same store."""
    visitor = Visitor(service())
    sign_in(visitor, people[1]["carl"])
    visitor.start("wine")
    after = Browser(service())
    after.client.cookies.update(visitor.client.cookies)
    after.response, after.page = visitor.response, visitor.page
    assert after.answer(value="3.1").texts["ask"] == "proline"


def test_the_key_can_be_a_setting(make_client):
    clients = [make_client("wine", key=b"k" * 32) for _ in range(2)]
    first = Visitor(clients[0])
    first.get("/models/wine")
    second = Browser(clients[1])
    second.client.cookies.update(clients[0].cookies)
    assert second.post("/cases", page=first.page).texts["ask"] == "flavanoids"


def test_whoever_was_signed_out_over_an_answer_comes_back_to_the_case(service, people):
    client = service()
    visitor = Visitor(client)
    sign_in(visitor, people[1]["carl"])
    visitor.start("wine")
    case = visitor.case
    client.delete("/v1/sessions/carl", headers=bearer(people[1]["anna"]))
    page = visitor.answer(401, value="3.1")
    assert page.forms["/sign-in"]["onward"] == case
