"""Behind a proxy: prefixes, forwarded headers, and a real nginx with nothing but ``proxy_pass``."""

import shutil
import socket
import subprocess
import time

import databases
import httpx
import pytest
from browsing import Visitor
from servers import DIRECT

from etana.errors import InputError
from etana.service.proxy import Proxy, check_networks, check_prefix

TOKEN = "correct-horse-battery"


# --- the layer alone


def put_right(headers=(), client="127.0.0.1", path="/v1/models", **settings):
    scope = {"type": "http", "client": (client, 5), "path": path, "scheme": "http", "method": "GET"}
    scope["headers"] = [(k.lower().encode(), v.encode()) for k, v in dict(headers).items()]
    Proxy(None, **settings)._put_right(scope)
    return scope


FORWARDED = {
    "Host": "127.0.0.1:8000", "X-Forwarded-For": "203.0.113.5", "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "clinic.example", "X-Forwarded-Prefix": "/etana", "X-Request-ID": "abc-1",
}  # fmt: skip


def test_a_trusted_proxy_is_believed():
    scope = put_right(FORWARDED)
    assert scope["client"] == ("203.0.113.5", 0)
    assert (scope["scheme"], scope["etana.host"], scope["etana.prefix"], scope["etana.id"]) == (
        "https", "clinic.example", "/etana", "abc-1",
    )  # fmt: skip


def test_anybody_else_is_not():
    scope = put_right(FORWARDED, client="192.0.2.1")
    assert scope["client"] == ("192.0.2.1", 5)
    assert (scope["scheme"], scope["etana.host"], scope["etana.prefix"]) == ("http", "127.0.0.1:8000", "")
    assert put_right(FORWARDED, client="192.0.2.1", proxies=["192.0.2.0/24"])["scheme"] == "https"


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("203.0.113.5, 198.51.100.7", "198.51.100.7"),  # the first could be invented
        ("203.0.113.5, 10.0.0.1, 127.0.0.1", "203.0.113.5"),  # the others are our own
        ("nonsense", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_the_last_address_that_is_not_ours_counts(chain, client):
    assert put_right({"X-Forwarded-For": chain}, proxies=["10.0.0.0/8"])["client"][0] == client


@pytest.mark.parametrize("odd", ["a b", "<script>", "x" * 300, "a\r\nb"])
def test_odd_names_are_passed_over(odd):
    scope = put_right({"Host": "here", "X-Forwarded-Host": odd, "X-Forwarded-Prefix": f"/{odd}", "X-Request-ID": odd})
    assert (scope["etana.host"], scope["etana.prefix"]) == ("here", "")
    assert scope["etana.id"] != odd


def test_the_prefix_is_taken_away_once_whether_the_proxy_did_it_or_not():
    for path, wanted in (("/e/v1/models", "/v1/models"), ("/v1/models", "/v1/models"), ("/e", "/"), ("/ex", "/ex")):
        assert put_right(path=path, prefix="/e/")["path"] == wanted


@pytest.mark.parametrize("prefix", ["etana", "/a b", "/../x", "/<x>", "//x"])
def test_a_root_path_that_makes_no_sense_is_refused(prefix):
    with pytest.raises(InputError, match="root path"):
        check_prefix(prefix)


def test_a_proxy_that_is_no_address_is_refused():
    with pytest.raises(InputError, match=r"10\.0\.0\.5"):
        check_networks(["nginx"])


# --- the pages under a path


def test_every_address_of_every_page_is_under_the_path(make_client):
    client = make_client("wine", root_path="/etana", token=TOKEN)
    visitor = Visitor(client)
    visitor.get("/", 401)
    assert visitor.post("/etana/sign-in", token=TOKEN).texts["h1"].startswith("Decide")
    cookies = [c for c in client.cookies.jar if c.name.startswith("etana_")]
    assert len(cookies) == 2
    assert {c.path for c in cookies} == {"/etana"}
    for address in ("/etana/", "/etana/models/wine", "/etana/models/wine/table"):
        page = visitor.get(address)
        assert all(a.startswith(("/etana/", "#")) for a in page.addresses), page.addresses
    visitor.get("/etana/models/wine")
    visitor.post("/etana/cases")
    assert visitor.response.url.path.startswith("/etana/cases/")
    page = visitor.post(visitor.response.url.path, answer="given", value="3")
    assert page.texts["ask"] == "proline"
    assert all(a.startswith(("/etana/", "#")) for a in page.addresses)
    bad = visitor.get("/etana/nothing", 404)
    assert all(a.startswith(("/etana/", "#")) for a in bad.addresses)
    head = {"Authorization": f"Bearer {TOKEN}"}
    started = client.post("/etana/v1/cases", json={}, headers=head)
    assert started.headers["location"].startswith("/etana/v1/cases/")
    assert client.get(started.headers["location"], headers=head).status_code == 200
    assert client.get("/etana/openapi.json").json()["servers"] == [{"url": "/etana"}]
    assert 'href="/etana/openapi.json"' in client.get("/etana/docs").text


def test_cookies_are_secure_where_the_browser_came_by_tls(make_client):
    client = make_client("wine")
    for headers, secure in (
        ({}, False),
        ({"X-Forwarded-Proto": "https"}, True),
        ({"Origin": "https://localhost", "Sec-Fetch-Site": "same-origin"}, True),
    ):
        client.cookies.clear()
        cookie = client.get("/", headers=headers).headers["set-cookie"]
        assert ("secure" in cookie.lower()) == secure, headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:8081"}, 303),  # a proxy on another port of this machine
        ({"Origin": "https://clinic.example", "X-Forwarded-Host": "clinic.example"}, 303),
        ({"Origin": "https://clinic.example", "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "https://clinic.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:8081", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost:8081", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://evil.example", "X-Forwarded-Host": "clinic.example"}, 403),
    ],
)
def test_forms_of_our_own_pass_through_a_proxy_and_others_do_not(make_client, headers, status):
    client = make_client("wine", hosts=["localhost", "127.0.0.1"])
    visitor = Visitor(client)
    sent = visitor.get("/models/wine").forms["/cases"]
    assert client.post("/cases", data=sent, headers=headers).status_code == status
    assert client.post("/v1/cases", json={}, headers=headers | {"Origin": "http://localhost:8081"}).status_code == 403


# --- a real nginx

CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{plain}; location / {{ proxy_pass http://127.0.0.1:{port}; }} }}
  server {{
    listen 127.0.0.1:{secure} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location / {{
      proxy_pass http://127.0.0.1:{port}; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    }}
  }}
  server {{
    listen 127.0.0.1:{nested};
    location /clinic/etana/ {{ proxy_pass http://127.0.0.1:{under}/; }}
    location /told/ {{ proxy_pass http://127.0.0.1:{port}; proxy_set_header X-Forwarded-Prefix /told; }}
  }}
  server {{
    listen 127.0.0.1:{whole};
    location /clinic/etana/ {{ proxy_pass http://127.0.0.1:{under}; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def nginx(start_server, folder, tmp_path_factory):
    """Addresses of an nginx in front of two servers: as it is, with TLS, and under paths."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    home = tmp_path_factory.mktemp("nginx")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj",
         "/CN=localhost", "-days", "2"], cwd=home, check=True, capture_output=True,
    )  # fmt: skip
    model = folder / "wine.etana"
    plain, under = start_server(model, token=TOKEN), start_server(model, "--root-path", "/clinic/etana", token=TOKEN)
    ports = {name: databases.free_port() for name in ("plain", "secure", "nested", "whole")}
    text = CONFIGURATION.format(folder=home, port=plain.port, under=under.port, **ports)
    (home / "nginx.conf").write_text(text)
    home.chmod(0o755)
    process = subprocess.Popen([program, "-p", str(home), "-c", str(home / "nginx.conf")], stderr=subprocess.DEVNULL)
    try:
        _wait(ports["plain"], process)
        yield ports
    finally:
        process.terminate()
        process.wait(10)


def _wait(port, process):
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)


class Person(Visitor):
    """Sends what a browser sends with a form."""

    def post(self, action, status=200, page=None, **fields):
        self.client.headers["Origin"] = str(self.client.base_url).rstrip("/")
        try:
            return super().post(action, status, page, **fields)
        finally:
            del self.client.headers["Origin"]


@pytest.mark.parametrize(
    ("server", "scheme", "root"),
    [
        ("plain", "http", ""),
        ("secure", "https", ""),
        ("nested", "http", "/clinic/etana"),
        ("whole", "http", "/clinic/etana"),
        ("nested", "http", "/told"),
    ],
    ids=["plain proxy_pass", "TLS", "path taken away", "path passed on", "path told"],
)
def test_a_person_signs_in_and_works_through_nginx(nginx, server, scheme, root):
    with httpx.Client(base_url=f"{scheme}://127.0.0.1:{nginx[server]}", **DIRECT) as client:
        person = Person(client)
        person.get(f"{root}/", 401)
        page = person.post(f"{root}/sign-in", token=TOKEN)
        assert page.texts["h1"].startswith("Decide")
        session = next(c for c in client.cookies.jar if c.name.startswith("etana_session"))
        assert session.secure == (scheme == "https")
        assert session.path == (root or "/")
        person.get(f"{root}/models/wine")
        person.post(f"{root}/cases")
        assert person.post(person.case, answer="given", value="3.1").texts["ask"] == "proline"
        style = next(a for a in person.page.addresses if "style.css" in a)
        assert client.get(style).status_code == 200
        person.post(f"{root}/sign-out")
        person.get(f"{root}/", 401)
        head = {"Authorization": f"Bearer {TOKEN}"}
        assert client.post(f"{root}/v1/classify", json={"rows": [{}]}, headers=head).status_code == 200
