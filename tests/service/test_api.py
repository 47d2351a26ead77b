"""The JSON routes: what they answer, and the documented status and message for everything that does not fit."""

import json

import pytest
from hostile import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS

from etana.service.limits import Limits
from etana.service.problems import PROBLEM, REASONS


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("wine", "hostile", limits=Limits(body=200_000, rows=50, cases=500))


def is_problem(response, status, said="", reason=None):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    content = response.json()
    assert content["status"] == status
    assert content["title"]
    assert content["reason"] in REASONS
    assert reason in (None, content["reason"]), content["reason"]
    assert said in content["detail"], content["detail"]
    return True


def start(client, **body):
    response = client.post("/v1/cases", json=body)
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/cases/{response.json()['id']}"
    return response.json()


def test_a_case_from_start_to_end(client):
    case = start(client, model="wine", max_cost=0.05)
    url = f"/v1/cases/{case['id']}"
    assert case["revision"] == 0
    assert case["explanation"] is None
    while case["question"] is not None:
        body = {"feature": case["question"]["name"], "value": 1.0, "revision": case["revision"]}
        response = client.post(f"{url}/observations", json=body)
        assert response.status_code == 200
        case = response.json()
        assert client.get(url).json() == case
    assert case["cost"] <= 0.05
    assert case["stopped_by"] in ("policy", "budget")
    assert is_problem(client.post(f"{url}/observations", json=body), 409, "revision")
    del body["revision"]
    assert is_problem(client.post(f"{url}/observations", json=body), 409, "asks for nothing")
    before = client.delete(f"{url}/observations/last").json()
    assert len(before["history"]) == len(case["history"]) - 1
    assert "Ask for" in client.get(url, params={"explain": "true"}).json()["explanation"]
    assert client.delete(url).status_code == 204
    for method, path in (("GET", url), ("DELETE", url), ("DELETE", f"{url}/observations/last")):
        assert is_problem(client.request(method, path), 404, "no such case")


def test_models_say_what_they_are(client, folder):
    from etana.modelfile import load_model, read_metadata

    listed = client.get("/v1/models").json()
    assert [m["name"] for m in listed] == ["wine", "hostile"]
    view, model = client.get("/v1/model", params={"name": "hostile"}).json(), load_model(folder / "hostile.etana")
    assert view["digest"] == read_metadata(folder / "hostile.etana")["sha256"]
    assert [f["name"] for f in view["features"]] == [model.names[k] for k in model.order]
    assert [f["price"] for f in view["features"]] == model.policy.stage_prices.tolist()
    assert view["expected_cost"] == model.expected_cost
    assert view["expected_n_features"] == model.expected_n_features
    assert view["optimality_gap"] == model.optimality_gap
    assert [c["probability"] for c in view["classes"]] == model.priors.tolist()
    assert is_problem(client.get("/v1/model"), 422, "several models are served")
    assert is_problem(client.get("/v1/model", params={"name": "nix"}), 404, "there is wine, hostile")


def test_hostile_names_pass_unharmed(client):
    case = start(client, model="hostile")
    assert case["question"]["name"] == HOSTILE
    assert sorted(case["question"]["categories"]) == sorted(HOSTILE_LEVELS)
    assert [b["label"] for b in case["posterior"]] == sorted(HOSTILE_CLASSES)
    url = f"/v1/cases/{case['id']}/observations"
    assert is_problem(client.post(url, json={"feature": HOSTILE + " ", "value": None}), 409, "asks for")
    after = client.post(url, json={"feature": HOSTILE, "value": HOSTILE_LEVELS[0]}).json()
    assert after["history"][0]["value"] == HOSTILE_LEVELS[0]
    assert after["history"][0]["feature"] == HOSTILE
    batch = client.post("/v1/classify", json={"model": "hostile", "rows": [{HOSTILE: HOSTILE_LEVELS[1]}]}).json()
    assert batch["rows"][0]["label"] in HOSTILE_CLASSES
    assert batch["rows"][0]["features"][0] == HOSTILE
    page = client.get("/docs").text
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\n/é" not in client.get("/metrics").text


def test_of_two_answers_with_one_revision_the_second_is_refused(client):
    case = start(client, model="wine")
    url = f"/v1/cases/{case['id']}/observations"
    body = {"feature": case["question"]["name"], "value": 1.0, "revision": 0}
    assert client.post(url, json=body).status_code == 200
    assert is_problem(client.post(url, json=body), 409, "revision 1, not 0")


def test_an_undo_that_is_sent_twice_takes_one_answer_back(client):
    case = start(client, model="wine")
    url = f"/v1/cases/{case['id']}"
    for feature, value in ((case["question"]["name"], 3.06), ("malic_acid", 1.7)):
        case = client.post(f"{url}/observations", json={"feature": feature, "value": value}).json()
    for tell in ({"params": {"revision": 2}}, {"headers": {"If-Match": '"2"'}}):
        client.delete(f"{url}/observations/last", **tell)
    assert len(client.get(url).json()["history"]) == 1
    by_header = client.delete(f"{url}/observations/last", headers={"If-Match": '"2"'})
    assert is_problem(by_header, 412, "revision 3, not 2", "revision")
    by_parameter = client.delete(f"{url}/observations/last", params={"revision": 2})
    assert is_problem(by_parameter, 409, "revision 3, not 2", "revision")
    assert client.delete(f"{url}/observations/last").json()["history"] == []  # without either, as ever


def test_the_tag_of_a_case_is_its_revision_and_guards_every_change(client):
    created = client.post("/v1/cases", json={"model": "wine"})
    url, tag = created.headers["location"], created.headers["etag"]
    assert tag == '"0"'
    body = {"feature": created.json()["question"]["name"], "value": 3.06}
    answered = client.post(f"{url}/observations", json=body, headers={"If-Match": tag})
    assert answered.headers["etag"] == client.get(url).headers["etag"] == '"1"'
    again = client.post(f"{url}/observations", json=body, headers={"If-Match": tag})
    assert is_problem(again, 412, "revision 1, not 0", "revision")
    assert is_problem(client.delete(url, headers={"If-Match": tag}), 412, "revision 1", "revision")
    assert is_problem(client.delete(url, params={"revision": 0}), 409, "revision 1", "revision")
    undone = client.delete(f"{url}/observations/last", headers={"If-Match": "*"})
    assert undone.headers["etag"] == '"2"'
    both = client.post(f"{url}/observations", json=body | {"revision": 2}, headers={"If-Match": '"1"'})
    assert is_problem(both, 412, "send one of them", "revision")
    for wrong in ("two", 'W/"2"', '"a"', '"1", "2"'):
        response = client.delete(url, headers={"If-Match": wrong})
        assert is_problem(response, 422, "If-Match", "parameter")
    assert client.delete(url, headers={"If-Match": '"2"'}).status_code == 204


def test_every_refusal_has_a_reason_for_programs(client):
    case = start(client, model="wine")
    url = f"/v1/cases/{case['id']}"
    name = case["question"]["name"]

    def tell(**body):
        return client.post(f"{url}/observations", json=body)

    assert is_problem(client.get("/v1/cases/" + "x" * 24), 404, reason="no_case")
    assert is_problem(client.get("/v1/cases/x"), 404, reason="no_case")
    assert is_problem(client.post("/v1/cases", json={"model": "nix"}), 404, reason="no_model")
    assert is_problem(client.get("/v1/nothing"), 404, reason="no_page")
    assert is_problem(client.put(url), 405, reason="method")
    assert is_problem(client.delete(f"{url}/observations/last"), 409, reason="nothing_to_undo")
    assert is_problem(tell(feature=name, value="high"), 422, reason="value")
    assert is_problem(tell(feature=name), 422, reason="body")
    assert is_problem(client.post(f"{url}/observations", content=b"{}"), 415, reason="media_type")
    assert is_problem(client.get(url, params={"explain": "perhaps"}), 422, reason="parameter")


# A body, the status it gets, and something its message says.
BODIES = [
    (b"", 400, "cannot be read"),
    (b"{", 400, "cannot be read"),
    (b"\xff\xfe{}", 400, "cannot be read"),
    (b'{"model": "\xff"}', 400, "send JSON in UTF-8"),
    (b'{"model": "\\ud800"}', 400, "cannot be read"),
    (b"\xef\xbb\xbf{}", 400, "cannot be read"),
    (b"[" * 100_000, 400, "recursion limit"),
    (b'{"a":' * 30_000, 400, "recursion limit"),
    (b'{"max_cost": ' + b"9" * 5000 + b"}", 400, "out of range"),
    (b"null", 422, "object"),
    (b"[]", 422, "object"),
    (b'"model"', 422, "object"),
    (b'{"model": 3}', 422, "model"),
    (b'{"model": "wine", "max_cost": NaN}', 422, "finite"),
    (b'{"model": "wine", "max_cost": -Infinity}', 422, "finite"),
    (b'{"model": "wine", "max_cost": 1e999}', 422, "finite"),
    (b'{"model": "wine", "max_cost": -0.1}', 422, "greater than or equal to 0"),
    (b'{"model": "wine", "max_cost": "1"}', 422, "number"),
    (b'{"model": "wine", "max_cost": true}', 422, "number"),
    (b'{"model": "wine", "extra": 1}', 422, "extra"),
    (b'{"model": "../../etc/passwd"}', 404, "no model has the name"),
    (b'{"model": "' + b"x" * 101 + b'"}', 422, "100 characters"),
    (b"{}", 422, "several models"),
]


@pytest.mark.parametrize(("body", "status", "said"), BODIES, ids=[str(b[0][:24]) for b in BODIES])
def test_bodies_that_do_not_fit(client, body, status, said):
    headers = {"Content-Type": "application/json"}
    assert is_problem(client.post("/v1/cases", content=body, headers=headers), status, said)


def test_deep_json_in_a_value(client):
    case = start(client, model="wine")
    url, headers = f"/v1/cases/{case['id']}/observations", {"Content-Type": "application/json"}
    for depth, status in ((150, 422), (100_000, 400)):
        value = b"[" * depth + b"]" * depth
        body = b'{"feature": "flavanoids", "value": ' + value + b"}"
        assert is_problem(client.post(url, content=body[:200_000], headers=headers), status)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("[{}, {}, 3]", "row 2 is 3"),
        ('{"alcohol": 1}', "array"),
        ('[{"alcohol": NaN}]', "finite"),
        ('[{"alcohol": Infinity}]', "finite"),
        ('[{"alcohol": 1e999}]', "finite"),
        ('[{"alcohol": "1"}]', "must be a number"),
        ('[{"alcohol": [1]}]', "a number, text"),
        ('[{"Alcohol": 1}]', "'Alcohol' is not a feature"),
        ("[[1, 2, 3]]", "3 values and the model 13"),
    ],
)
def test_rows_that_do_not_fit(client, rows, said):
    body = f'{{"model": "wine", "rows": {rows}}}'
    response = client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    assert is_problem(response, 422, said)


def test_too_many_rows(client):
    assert is_problem(client.post("/v1/classify", json={"model": "wine", "rows": [{}] * 51}), 422, "50 are allowed")


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "json"]
)
def test_a_body_that_is_not_declared_as_json(client, kind):
    headers = {"Content-Type": kind} if kind else {}
    assert is_problem(client.post("/v1/cases", content=b'{"model":"wine"}', headers=headers), 415, "application/json")


def test_a_declared_charset_is_fine(client):
    headers = {"Content-Type": 'Application/JSON; charset="UTF-8"'}
    assert client.post("/v1/cases", content=b'{"model":"wine"}', headers=headers).status_code == 201


@pytest.mark.parametrize(
    "path",
    [
        "/v1/cases/../../etc/passwd", "/v1/cases/%2e%2e%2fetc%2fpasswd", "/v1//cases", "//v1/models", "/v1/models/",
        "/v1/cases/" + "a" * 10_000, "/v1/cases/é日本", "/v1/cases/%00", "/v1/cases/%ff", "/v1/cases/a b",
        "/v1/cases/" + "a" * 24, "/v1/cases/'%20OR%201=1--", "/V1/models", "/v1/cases/",
    ],
)  # fmt: skip
def test_path_tricks_lead_nowhere(client, path):
    assert is_problem(client.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("HEAD", "/v1/models", "GET"),
        ("OPTIONS", "/v1/classify", "POST"),
        ("PUT", "/v1/cases/" + "a" * 24, "DELETE, GET"),
        ("TRACE", "/health/live", "GET, HEAD"),
        ("GET", "/v1/classify", "POST"),
        ("BREW", "/v1/models", "GET"),
    ],
)
def test_other_methods_are_refused_and_told_which(client, method, path, allow):
    response = client.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == allow
    assert response.headers["content-type"] == PROBLEM


@pytest.mark.parametrize("query", ["explain=yes", "explain=", "explain=1"])
def test_query_parameters_are_checked(client, query):
    case = start(client, model="wine")
    assert is_problem(client.get(f"/v1/cases/{case['id']}?{query}"), 422, "explain")


@pytest.mark.parametrize("revision", ["-1", "x", "1.5", "1e3", "9" * 30])
def test_revisions_are_checked(client, revision):
    case = start(client, model="wine")
    url = f"/v1/cases/{case['id']}/observations/last"
    assert is_problem(client.delete(url, params={"revision": revision}), 422, "revision")


def test_no_more_cases_than_allowed(make_client):
    client = make_client("wine", limits=Limits(cases=3))
    made = [start(client) for _ in range(3)]
    response = client.post("/v1/cases", json={})
    assert is_problem(response, 503, "3 cases are kept")
    assert response.headers["retry-after"] == "1"
    client.delete(f"/v1/cases/{made[0]['id']}")
    start(client)


def test_every_response_has_the_security_headers(client):
    for path in ("/v1/models", "/nix", "/docs", "/health/live"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]


def test_metrics_count_what_happened(make_client):
    client = make_client("wine")
    case = start(client)
    client.post("/v1/classify", json={"rows": [{}] * 7})
    client.get("/v1/cases/" + "a" * 24)
    client.get("/nowhere/" + "b" * 24)
    client.request("BREW", "/v1/models")
    text = client.get("/metrics").text
    for line in (
        'etana_requests_total{method="POST",route="/v1/cases",status="201"} 1',
        'etana_requests_total{method="GET",route="/v1/cases/{case_id}",status="404"} 1',
        'etana_requests_total{method="GET",route="unmatched",status="404"} 1',
        'etana_requests_total{method="other",route="/v1/models",status="405"} 1',
        'etana_rows_classified_total{model="wine"} 7',
        'etana_cases{status="open"} 1',
        "etana_reload_failures_total 0",
        'etana_request_seconds_count{route="/v1/classify"} 1',
        'etana_request_seconds_bucket{route="/v1/classify",le="+Inf"} 1',
    ):
        assert line in text.splitlines(), line
    assert case["id"] not in text
    assert "aaaa" not in text
    assert "bbbb" not in text


def test_the_health_routes_tell_a_store_that_cannot_be_read(make_client, tmp_path):
    from etana.service.store import Store

    store = Store(tmp_path / "c.sqlite", 10.0, 10)
    client = make_client("wine", store=store)
    assert client.get("/health/ready").json() == {"status": "ok"}
    store.database.engine.writer().execute("ALTER TABLE cases RENAME TO lost")
    assert is_problem(client.get("/health/ready"), 503, "cannot be used now")
    assert client.get("/health/live").status_code == 200
    assert is_problem(client.post("/v1/cases", json={}), 503, "nothing was changed")


def test_a_fault_is_a_500_that_tells_nothing(make_client, monkeypatch, caplog):
    from etana.service.case_service import CaseService

    def fail(*_):
        raise RuntimeError("the secret value 4711")

    client = make_client("wine")
    monkeypatch.setattr(CaseService, "start", fail)
    response = client.post("/v1/cases", json={})
    assert is_problem(response, 500, "its log says where")
    assert "4711" not in response.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert "test_api.py" in caplog.text


def test_no_value_of_a_feature_is_logged(make_client, caplog):
    import logging

    caplog.set_level(logging.DEBUG)
    client = make_client("wine", "hostile")
    case = start(client, model="wine")
    url = f"/v1/cases/{case['id']}/observations"
    for value in (123456.789, "secret-4711", [["secret-4711"]]):
        client.post(url, json={"feature": "flavanoids", "value": value})
        client.post(url, json={"feature": "secret-4711", "value": value})
        client.post("/v1/classify", json={"model": "wine", "rows": [{"alcohol": value}]})
        client.post("/v1/classify", content=json.dumps({"rows": value})[:-1])
    own = [r.getMessage() for r in caplog.records if r.name.startswith(("etana", "uvicorn"))]
    assert len(own) >= 12
    assert not [line for line in own if "123456" in line or "4711" in line or case["id"] in line]


def test_the_document_follows_the_models(client, make_client):
    several, one = client.get("/openapi.json").json(), make_client("wine").get("/openapi.json").json()
    assert several["components"]["schemas"]["StartRequest"]["required"] == ["model"]
    assert one["components"]["schemas"]["StartRequest"]["required"] == []
    row = one["components"]["schemas"]["ClassifyRequest"]["properties"]["rows"]["items"]["anyOf"][0]
    assert "flavanoids" in row["properties"]
    hostile = several["components"]["schemas"]["ClassifyRequest"]["anyOf"][1]["properties"]["rows"]["items"]["anyOf"]
    assert hostile[0]["properties"][HOSTILE]["type"] == ["string", "null"]
    assert hostile[0]["properties"]["flag"]["type"] == ["boolean", "null"]
