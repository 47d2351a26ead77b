"""Sequential classifiers behind the service: the same answers by HTTP as in memory, and pages that say what is so."""

from types import SimpleNamespace

import pytest
from answers import as_json, follow
from browsing import Visitor
from servers import in_process
from sklearn.ensemble import RandomForestClassifier

import etana
from etana.errors import ModelFileError
from etana.service.app import create_app
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.store import Store

TREE = "sklearn.tree._tree.Tree"


@pytest.fixture(scope="module")
def served(data, tmp_path_factory):
    """Classifiers by name, and a client of the service that has their files."""
    folder, limits = tmp_path_factory.mktemp("sequential"), Limits()
    clfs = {}
    for name, options in {
        "breast_cancer": {"feature_costs": 0.005},
        "hostile": {"feature_costs": 0.002, "nested": True, "cv": 2},
        "wine": {"estimator": RandomForestClassifier(5, random_state=0), "max_features": 4, "cv": 2},
    }.items():
        clfs[name] = etana.SequentialClassifier(**options).fit(*data[name])
        etana.save(clfs[name], folder / f"{name}.etana")
    with pytest.raises(ModelFileError, match=r"not trusted: sklearn\.tree.*--trust TYPE"):
        Models([folder])
    cases = Store(":memory:", limits.case_life, limits.cases)
    client = in_process(create_app(Models([folder], [TREE]), cases, limits))
    yield SimpleNamespace(clfs=clfs, client=client, folder=folder)
    client.close()
    cases.close()


@pytest.mark.parametrize("name", ["breast_cancer", "hostile", "wine"])
def test_batches_and_cases_end_as_acquire_does(served, data, name):
    X = data[name][0].iloc[::17]
    clf, client = served.clfs[name], served.client
    walk = clf.acquire(X)
    rows = [{column: as_json(v) for column, v in row.items()} for row in X.to_dict("records")]
    answer = client.post("/v1/classify", json={"model": name, "rows": rows}).json()
    assert answer["classes"] == [as_json(c) for c in clf.classes_]
    for i, row in enumerate(rows):
        end, batch = follow(client, name, row), answer["rows"][i]
        names = [X.columns[k] for k in walk.features(i)]
        assert batch["features"] == [step["feature"] for step in end["history"]] == names
        assert batch["label"] == end["label"] == as_json(walk.labels[i])
        assert batch["cost"] == walk.costs[i]
        assert end["cost"] == pytest.approx(walk.costs[i], rel=1e-12)
        assert batch["posterior"] == walk.posteriors[i].tolist()
        believed = [b["probability"] for b in end["posterior"]]
        assert believed == pytest.approx(walk.posteriors[i].tolist(), rel=1e-9)
    assert walk.n_features.max() >= 2


def test_what_the_service_says_of_a_model(served):
    clf = served.clfs["breast_cancer"]
    view = served.client.get("/v1/model", params={"name": "breast_cancer"}).json()
    order = clf.feature_names_in_[clf.feature_order_].tolist()
    assert [f["name"] for f in view["features"]] == order
    assert [f["price"] for f in view["features"]] == [0.005] * len(order)
    assert view["expected_cost"] == clf.model_.expected_cost
    assert view["held_out_cost"] == clf.expected_cost_ != clf.model_.expected_cost
    assert view["optimality_gap"] is None
    assert view["n_features"] == 30
    first = view["features"][0]
    assert (first["low"], first["high"]) == clf.model_.range_of(int(clf.feature_order_[0]))
    hostile = served.client.get("/v1/model", params={"name": "hostile"}).json()
    kinds = {f["name"]: f["kind"] for f in hostile["features"]}
    assert kinds["flag"] == "category"
    assert kinds["mean texture"] == "number"


def test_the_page_of_a_model(served):
    visitor, clf = Visitor(served.client), served.clfs["breast_cancer"]
    page = visitor.get("/models/breast_cancer")
    text = page.texts["main"]
    for column in clf.feature_order_[:3]:
        assert clf.feature_names_in_[column] in text
    assert "regression on held-out walks" in text
    assert "on every prefix of the order" in text
    assert "Distance from the optimum" not in text
    assert f"{30 - clf.feature_order_.size} further features are never asked" in text
    assert f"{clf.model_.expected_n_features:.1f} of 30" in text
    assert f"{100 * clf.expectation_.reach[1]:.0f}" in text
    assert [tag for tag, given in page.tags if given.get("class") == "picture"] == ["img"]
    assert served.client.get("/models/breast_cancer/policy.svg").content.startswith(b"<?xml")
    assert "breast_cancer" in visitor.get("/").texts["main"]


@pytest.mark.parametrize("row", [0, 301])
def test_a_case_on_the_pages(served, data, row):
    visitor, clf = Visitor(served.client), served.clfs["breast_cancer"]
    values = data["breast_cancer"][0].iloc[row]
    visitor.start("breast_cancer")
    assert "numbers outside are fine" in visitor.page.texts["main"]
    while "ask" in visitor.page.texts:
        visitor.answer(value=repr(float(values[visitor.page.texts["ask"]])))
    assert "of the training rows" in visitor.page.texts["main"]
    assert str(clf.predict(values.to_frame().T)[0]) in visitor.page.texts["main"]


def test_labels_that_training_rows_did_not_have(served):
    visitor = Visitor(served.client)
    visitor.start("hostile")
    chosen = 0
    while "ask" in visitor.page.texts:
        if any(given.get("name") == "choice" for _, given in visitor.page.tags):
            visitor.answer(choice="another")
            chosen += 1
        else:
            visitor.answer(answer="missing")
    assert visitor.page.texts["main"].count("not seen") == chosen > 0


def test_a_server_of_its_own(served, data, start_server):
    server = start_server(served.folder, "--trust", TREE)
    X = data["wine"][0].iloc[[0, 90, 170]]
    walk = served.clfs["wine"].acquire(X)
    with server.client() as client:
        for i, row in enumerate(X.to_dict("records")):
            end = follow(client, "wine", row)
            assert end["label"] == walk.labels[i]
            assert [step["feature"] for step in end["history"]] == [X.columns[k] for k in walk.features(i)]
