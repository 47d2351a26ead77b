"""A case as it really happens, over HTTP: known values, other results, what cannot be had, undo after the decision."""

import json

import pytest
from browsing import Visitor
from servers import in_process

import etana
from etana.modelfile import load_model
from etana.service.app import create_app
from etana.service.case_service import CaseService
from etana.service.events import replay
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.store import Record, Store
from etana.service.users import Actor, acting


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("wine", "hostile")


@pytest.fixture(scope="module")
def wine(folder):
    return load_model(folder / "wine.etana")


def start(client, **body):
    response = client.post("/v1/cases", json={"model": "wine"} | body, params={"suggestions": 3, "explain": "true"})
    assert response.status_code == 201, response.text
    return response.json()


def tell(client, case, status=200, /, **body):
    response = client.post(f"/v1/cases/{case['id']}/observations", json=body, params={"suggestions": 3})
    assert response.status_code == status, response.text
    return response.json()


def bar(client, case, status=200, /, **body):
    response = client.post(f"/v1/cases/{case['id']}/unavailable", json=body)
    assert response.status_code == status, response.text
    return response.json()


def undo(client, case):
    return client.delete(f"/v1/cases/{case['id']}/observations/last", params={"revision": case["revision"]}).json()


def same(view, case):
    assert [b["probability"] for b in view["posterior"]] == case.posterior.tolist()
    assert view["cost"] == case.cost
    asked = None if view["question"] is None else view["question"]["name"]
    assert asked == case.next_feature
    assert [(s["feature"], s["price"], s["came"]) for s in view["history"]] == [
        (str(a.feature), a.price, a.came) for a in case.history
    ]


def test_what_is_known_costs_nothing_and_is_not_asked(client, wine):
    known = {"proline": 1065, "hue": 1.04, "ash": None}
    view, case = start(client, known=known, max_cost=0.5), wine.start(0.5, {"proline": 1065.0, "hue": 1.04})
    same(view, case)
    assert [(s["feature"], s["value"], s["came"]) for s in view["history"]] == [
        ("hue", 1.04, "known"), ("proline", 1065, "known")
    ]  # fmt: skip
    same(client.get(f"/v1/cases/{view['id']}").json(), case)
    response = client.delete(f"/v1/cases/{view['id']}/observations/last")
    assert (response.status_code, response.json()["reason"]) == (409, "nothing_to_undo")


@pytest.mark.parametrize(
    ("known", "said"),
    [({"prolin": 1.0}, "is not a feature"), ({"proline": "high"}, "must be a number"), ({"proline": [1]}, "a number")],
)
def test_what_cannot_be_known_is_refused(client, known, said):
    response = client.post("/v1/cases", json={"model": "wine", "known": known})
    assert response.status_code == 422
    assert said in response.json()["detail"]


def test_results_come_in_any_order_and_at_any_price(client, wine):
    view, case = start(client), wine.start()
    for told in ({"feature": "hue", "value": 1.04}, {"feature": "ash", "value": 2.43, "price": 0}):
        view = tell(client, view, **told)
        case.observe(told["value"], feature=told["feature"], price=told.get("price"))
        same(view, case)
    assert [s["came"] for s in view["history"]] == ["volunteered", "volunteered"]
    view = tell(client, view, feature=view["question"]["name"], value=3.06)
    case.observe(3.06)
    same(view, case)
    again = tell(client, view, 409, feature="hue", value=1.04)
    assert again["reason"] == "known"
    assert tell(client, view, 409, feature="nothing", value=1.0)["reason"] == "not_asked"
    for _ in range(3):
        view = undo(client, view)
    same(view, wine.start())


def test_what_cannot_be_had_is_free_and_the_next_best_comes_up(client, wine):
    view, case = start(client), wine.start()
    first = view["question"]["name"]
    view = bar(client, view, revision=0)
    case.unavailable()
    same(view, case)
    assert view["question"]["name"] != first
    assert (view["cost"], view["history"][0]["came"], view["revision"]) == (0.0, "unavailable", 1)
    view = bar(client, view, feature="hue")
    case.unavailable("hue")
    same(view, case)
    assert bar(client, view, 409, feature="hue")["reason"] == "known"
    assert bar(client, view, 409, revision=0)["reason"] == "revision"
    view = tell(client, view, feature="hue", value=1.04)  # it could be had after all
    case.observe(1.04, feature="hue")
    same(view, case)
    assert bar(client, view, 409, feature="hue")["reason"] == "known"
    trail = [json.loads(line) for line in client.get("/v1/audit").text.splitlines()]
    actions = [line["action"] for line in trail if line["case_id"] == view["id"]]
    assert actions == ["start", "unavailable", "unavailable", "answer"]


def test_what_came_back_empty_is_paid(client, wine):
    view = start(client)
    view = tell(client, view, feature=view["question"]["name"], value=None)
    same(view, wine.start().observe(None))
    assert (view["history"][0]["came"], view["cost"]) == ("empty", 0.02)


def test_a_decision_can_be_taken_back_and_told_more(client, wine):
    view, case = start(client), wine.start(warn=False)
    while view["question"] is not None:
        view = tell(client, view, feature=view["question"]["name"], value=1.0)
        case.observe(1.0)
    same(view, case)
    assert bar(client, view, 409)["reason"] == "decided"
    left = next(name for name in wine.names if name not in {s["feature"] for s in view["history"]})
    told = tell(client, view, feature=left, value=1.0, price=0)
    case.observe(1.0, feature=left, price=0)
    same(told, case)
    same(undo(client, told), case.undo())
    view = undo(client, client.get(f"/v1/cases/{view['id']}").json())
    same(view, case.undo())
    assert view["question"] is not None


def test_suggestions_name_the_question_first(client, wine):
    view = start(client)
    case = wine.start()
    assert [(s["feature"], s["price"], s["saving"]) for s in view["suggestions"]] == [
        tuple(one) for one in case.suggestions(3)
    ]
    assert view["suggestions"][0]["feature"] == view["question"]["name"]
    assert client.get(f"/v1/cases/{view['id']}").json()["suggestions"] == []


def test_fees_and_risk_are_told_apart(client):
    view = start(client)
    assert view["expected_fees"] > 0
    assert view["expected_risk"] > 0
    assert view["expected_fees"] + view["expected_risk"] == pytest.approx(view["expected_remaining"])
    assert client.get(f"/v1/cases/{view['id']}").json()["expected_fees"] is None  # it takes time, so only on demand


def test_a_result_that_the_budget_does_not_allow(client):
    view = start(client, max_cost=0.03)
    view = tell(client, view, feature="hue", value=1.04)
    assert view["stopped_by"] == "budget"
    assert tell(client, view, 409, feature="ash", value=2.0)["reason"] == "budget"
    assert tell(client, view, feature="ash", value=2.0, price=0)["cost"] == 0.02


def test_a_value_beyond_training_is_taken_with_a_warning(client):
    view = start(client)
    view = tell(client, view, feature="alcohol", value=99.0, price=0)
    assert "outside of its training range, 11.03 to 14.83" in view["history"][0]["warning"]
    assert tell(client, view, feature="hue", value=1.0, price=0)["history"][1]["warning"] is None


def test_a_list_of_ones_own_cases(make_client):
    client = make_client("wine")
    one, other = start(client), start(client)
    tell(client, one, feature="hue", value=1.0)
    listed = client.get("/v1/cases").json()
    assert [line["id"] for line in listed] == [one["id"], other["id"]]
    assert [(line["answers"], line["revision"], line["status"]) for line in listed] == [(1, 1, "open"), (0, 0, "open")]
    assert client.get("/v1/cases", params={"most": 1}).json() == listed[:1]
    assert client.get("/v1/cases", params={"status": "decided"}).json() == []


def test_nobody_is_listed_the_cases_of_others(folder, where):
    store = Store(where, 60, 10)
    cases = CaseService(Models([folder / "wine.etana"]), store, Limits())
    before = acting.get()
    try:
        mine = {}
        for name in ("ann", "bob"):
            acting.set(Actor(name))
            mine[name] = cases.start().id
            assert [line.id for line in cases.lines()] == [mine[name]]
    finally:
        acting.set(before)
    assert cases.lines() == []
    store.close()


def test_cases_of_earlier_versions_go_on(folder, where):
    """Their answers are plain values, in the order in which they were asked."""
    models = Models([folder / "wine.etana"])
    served = models.get()
    store = Store(where, 60, 10)
    old = store.add(Record.new("wine", served.digest, None, "open", (3.06, None)))
    back = "PRAGMA user_version = 2" if "://" not in where else "UPDATE settings SET value = '2' WHERE name = 'version'"
    store.database.engine.writer().execute(back)
    store.close()
    again = Store(where, 60, 10)
    case = replay(served, again.get(old.id))
    same_case = served.model.start().observe(3.06).observe(None)
    assert case.posterior.tolist() == same_case.posterior.tolist()
    assert case.history == same_case.history
    cases = CaseService(models, again, Limits())
    view = cases.tell(old.id, "hue", 1.04)
    assert [step.value for step in view.history] == [3.06, None, 1.04]
    assert cases.undo(old.id).history == view.history[:2]
    again.close()


def test_events_are_stored_as_they_were_sent(folder, tmp_path, make_client):
    store = Store(str(tmp_path / "cases.sqlite"), 60, 10)
    client = make_client("wine", store=store)
    view = start(client, known={"ash": 2})
    view = tell(client, view, feature="hue", value=1, price=0)
    bar(client, view, feature="alcohol")
    events = store.get(view["id"]).answers
    assert json.loads(json.dumps(events)) == [
        {"feature": "ash", "value": 2, "price": 0.0, "came": "known"},
        {"feature": "hue", "value": 1, "price": 0.0, "came": "volunteered"},
        {"feature": "alcohol", "value": None, "price": 0.0, "came": "unavailable"},
    ]


@pytest.fixture(scope="module")
def waiting(data, tmp_path_factory):
    """A model with a price for each round of waiting, and a client of it."""
    X, y = data["wine"]
    costs = etana.FeatureCosts(0.01, round=0.1, delayed=list(X.columns))
    path = tmp_path_factory.mktemp("waiting") / "waiting.etana"
    etana.save(etana.ETANAClassifier(costs, ordering="error", temperature=1.0).fit(X, y), path)
    store = Store(":memory:", 60, 10)
    client = in_process(create_app(Models([path]), store))
    yield client, load_model(path)
    client.close()
    store.close()


def test_a_panel_is_ordered_and_answered_together(waiting, data):
    client, model = waiting
    view = client.post("/v1/cases", json={}, params={"suggestions": 3}).json()
    case = model.start()
    panel = case.panel()
    assert len(panel) > 1
    assert view["panel"] == {"features": list(panel), "price": panel.price, "saving": panel.saving}
    values = {name: float(data["wine"][0].loc[0, name]) for name in panel}
    url = f"/v1/cases/{view['id']}/panel"
    response = client.post(url, json={"values": values, "revision": 0})
    case.observe_panel(values)
    assert (response.status_code, response.headers["etag"]) == (200, '"1"')
    same(response.json(), case)
    same(client.get(f"/v1/cases/{view['id']}").json(), case)
    assert response.json()["cost"] == pytest.approx(0.1 + 0.01 * len(panel))
    again = client.post(url, json={"values": values})
    assert (again.status_code, again.json()["reason"]) == (409, "known")
    assert client.post(url, json={"values": {}}).status_code == 422
    assert client.post(url, json={"values": {"colour": 1.0}}).json()["reason"] == "not_asked"
    undone = client.delete(f"/v1/cases/{view['id']}/observations/last").json()
    same(undone, case.undo())


def test_a_panel_on_the_page(waiting, data):
    client, model = waiting
    visitor = Visitor(client)
    visitor.start("waiting")
    panel = model.start().panel()
    assert all(name in visitor.page.texts["panel"] for name in panel)
    case = visitor.case
    page = visitor.get(f"{case}/panel")
    columns = [model.column_of(name) for name in panel]
    fields = {f"known-{k}": repr(float(data["wine"][0].iloc[0, k])) for k in columns}
    wrong = visitor.post(f"{case}/panel", 422, page, **fields | {f"known-{columns[0]}": "high"})
    assert "“high”" in wrong.texts["fault"]
    visitor.post(f"{case}/panel", 422, page)  # nothing filled in
    visitor.post(f"{case}/panel", 200, page, **fields)
    history = client.get(f"/v1{case}").json()["history"]
    assert [step["feature"] for step in history] == list(panel)
    assert {step["came"] for step in history} == {"asked"}
    visitor.post(f"{case}/panel", 409, page, **fields)


def test_a_panel_beyond_the_budget(waiting):
    client, _ = waiting
    view = client.post("/v1/cases", json={"max_cost": 0.11}).json()
    response = client.post(f"/v1/cases/{view['id']}/panel", json={"values": {"ash": 2.0, "hue": 1.0}})
    assert (response.status_code, response.json()["reason"]) == (409, "budget")


def test_a_dictionary_is_part_of_the_question(data, tmp_path, request):
    X, y = data["hostile"]
    clf = etana.ETANAClassifier(0.002, ordering=[5, 0, 1, 2, 3, 4]).fit(X, y)
    clf.describe({"flag": {"description": "Large?", "choices": {"True": "large", "False": "small"}},
                  "mean area": {"unit": "mm2", "lowest": 0, "highest": 5000}})  # fmt: skip
    etana.save(clf, tmp_path / "said.etana")
    store = Store(":memory:", 60, 10)
    client = in_process(create_app(Models([tmp_path / "said.etana"]), store))
    request.addfinalizer(lambda: (client.close(), store.close()))
    view = client.post("/v1/cases", json={}).json()
    question = view["question"]
    assert (question["name"], question["description"]) == ("flag", "Large?")
    assert question["choices"] == [{"value": False, "words": "small"}, {"value": True, "words": "large"}]
    area = next(f for f in client.get("/v1/model").json()["features"] if f["name"] == "mean area")
    assert (area["unit"], area["lowest"], area["highest"]) == ("mm2", 0.0, 5000.0)
    assert area["least"] <= X["mean area"].min() < X["mean area"].max() <= area["greatest"]
    told = tell(client, view, feature="mean area", value=6000.0)
    assert "outside of its plausible range, 0 to 5000 mm2" in told["history"][0]["warning"]
