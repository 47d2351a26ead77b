"""The web pages without a browser: routes, forms, errors, escaping, tables and the way in."""

import base64
import csv
import io
import re
import sys
import time

import numpy as np
import pytest
from browsing import Html, Visitor
from hostile import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS
from servers import in_process
from sklearn.datasets import load_wine

import etana
from etana import AdaptiveClassifier
from etana.commands.classify import classify_file
from etana.modelfile import load_model, save
from etana.service.app import create_app
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.pages.pictures import Pictures
from etana.service.store import Store

NAMES = ("wine", "breast_cancer", "hostile", "digits")


@pytest.fixture(scope="module")
def client(make_client):
    return make_client(*NAMES)


@pytest.fixture
def visitor(client):
    return Visitor(client)


def to_the_end(visitor, row):
    """Answer with the values of a row until the decision."""
    while "ask" in visitor.page.texts:
        feature = visitor.page.texts["ask"]
        visitor.answer(value=repr(float(row[feature])))
    return visitor.page


# --- cases


def test_the_first_page_lists_the_models_and_no_case(visitor):
    page = visitor.start("wine")
    case = visitor.case
    page = visitor.get("/")
    assert all(f"/models/{name}" in page.addresses for name in NAMES)
    assert case.rpartition("/")[2] not in visitor.response.text


@pytest.mark.parametrize("row", [0, 70, 170])
def test_a_case_ends_as_acquire_does(visitor, data, folder, row):
    X, _ = data["wine"]
    visitor.start("wine")
    page = to_the_end(visitor, X.loc[row])
    walk = etana.load(folder / "wine.etana").acquire(X.loc[[row]])
    assert page.texts["decision"] == str(walk.labels[0])
    assert page.texts["cost"] == f"{walk.costs[0]:.2f}"
    assert page.texts["asked"] == str(walk.n_features[0])
    asked = re.findall(r'class="asked"><b>(.*?)</b>', visitor.response.text)
    assert asked == [X.columns[k] for k in walk.features(0)]


def test_a_question_says_what_is_asked_what_it_costs_and_why(visitor, client):
    page = visitor.start("breast_cancer")
    case = client.get(f"/v1{visitor.case}?explain=true").json()
    assert page.texts["ask"] == case["question"]["name"]
    assert "costs 0.003" in page.texts["main"]
    assert case["explanation"].split("\n")[0] in page.texts["main"]
    for words in ("Spent so far", "Expected still to spend", "If we stopped now", "Where the answers lead"):
        assert words in page.texts["main"]


def test_bars_show_the_belief(visitor, client):
    visitor.start("wine")
    visitor.answer(answer="missing")
    belief = client.get(f"/v1{visitor.case}").json()["posterior"]
    bars = visitor.response.text.partition('id="belief"')[2].partition("</section>")[0]
    widths = re.findall(r'class="fill" width="([\d.]+)%"', bars)
    assert [float(w) for w in widths] == pytest.approx([100 * b["probability"] for b in belief], abs=0.006)


def test_undo_takes_the_last_answer_back(visitor):
    first = visitor.start("wine").texts["ask"]
    second = visitor.answer(value="3").texts["ask"]
    assert second != first
    assert visitor.post(f"{visitor.case}/undo").texts["ask"] == first
    assert f"{visitor.case}/undo" not in visitor.page.forms


def test_a_missing_value_is_paid_and_leaves_the_belief(visitor, client):
    visitor.start("wine")
    before = client.get(f"/v1{visitor.case}").json()
    visitor.answer(answer="missing", value="not even a number")
    after = client.get(f"/v1{visitor.case}").json()
    assert after["posterior"] == before["posterior"]
    assert after["cost"] == 0.02
    assert after["history"][0]["value"] is None


def test_a_budget_is_kept(visitor):
    visitor.start("wine", max_cost="0.03")
    page = visitor.answer(answer="missing")
    assert page.texts["asked"] == "1"
    assert "budget does not allow" in page.texts["main"]


@pytest.mark.parametrize("text", ["", "abc", "12,5", "1_0", "nan", "inf", "1e999", "0x10", "<b>", "9" * 5000])
def test_what_is_no_number_is_asked_again(visitor, client, text):
    visitor.start("wine")
    case = visitor.case
    page = visitor.post(f"{case}", 422, answer="given", value=text)
    assert "write a number" in page.texts["fault"]
    assert client.get(f"/v1{case}").json()["revision"] == 0
    shown = next(given["value"] for tag, given in page.tags if given.get("id") == "value")
    assert shown == text
    # From there it goes on.
    assert visitor.post(f"{case}", page=page, value="3.1", answer="given").texts["ask"] == "proline"


@pytest.mark.parametrize("text", ["-1", "x", "nan"])
def test_a_wrong_budget_is_refused(visitor, text):
    visitor.get("/models/wine")
    assert "budget" in visitor.post("/cases", 422, max_cost=text).texts["main"]


def test_a_stale_answer_changes_nothing(visitor, client):
    stale = visitor.start("wine")
    case = visitor.case
    visitor.answer(value="3")
    page = visitor.post(f"{case}", 409, stale, answer="given", value="1")
    assert page.texts["h1"] == "The case has moved on"
    assert case in page.addresses
    history = client.get(f"/v1{case}").json()["history"]
    assert [step["value"] for step in history] == [3.0]


def test_a_stale_undo_changes_nothing(visitor, client):
    visitor.start("wine")
    stale = visitor.answer(value="3")
    case = visitor.case
    visitor.answer(value="700")
    assert visitor.post(f"{case}/undo", 409, stale).texts["h1"] == "The case has moved on"
    assert len(client.get(f"/v1{case}").json()["history"]) == 2


def test_a_forgotten_case_is_gone(visitor, client):
    visitor.start("wine")
    case = visitor.case
    assert "forgotten" in visitor.post(f"{case}/forget").texts["main"]
    assert client.get(f"/v1{case}").status_code == 404
    visitor.get(case, 404)


def test_another_category_is_no_evidence(visitor, client):
    visitor.start("hostile")
    before = client.get(f"/v1{visitor.case}").json()
    page = visitor.answer(choice="another")
    assert "no evidence" in page.texts["main"]
    assert client.get(f"/v1{visitor.case}").json()["posterior"] == before["posterior"]


@pytest.mark.parametrize("choice", ["", "2", "-1", "²", "9" * 30, "x"])
def test_a_choice_must_be_in_the_list(visitor, choice):
    visitor.start("hostile")
    assert "nothing was chosen" in visitor.answer(422, choice=choice).texts["fault"]


def test_a_truth_value_is_yes_or_no(visitor, client):
    visitor.start("hostile")
    page = visitor.answer(choice="0")
    assert page.texts["ask"] == "flag"
    assert [t for t in ("no", "yes") if f"<span>{t}</span>" in visitor.response.text] == ["no", "yes"]
    visitor.answer(choice="1")
    assert client.get(f"/v1{visitor.case}").json()["history"][1]["value"] is True


def test_features_without_names_get_a_word(visitor):
    assert re.fullmatch(r"feature \d+", visitor.start("digits").texts["ask"])
    assert "other classes: together" in visitor.page.texts["main"]


# --- hostile text, and what keeps scripts out


def walk_all_pages(visitor):
    """Each kind of page once, with the hostile model."""
    yield visitor.get("/")
    yield visitor.get("/models/hostile")
    yield visitor.get("/models/hostile/table")
    yield visitor.post("/models/hostile/table", 422)
    yield visitor.start("hostile")
    yield visitor.answer(422)
    yield visitor.answer(choice="0")
    while "ask" in visitor.page.texts:
        yield visitor.answer(answer="missing")
    yield visitor.get("/nothing", 404)


def test_no_page_holds_scripts_or_styles_of_its_own(visitor):
    for page in walk_all_pages(visitor):
        for tag, given in page.tags:
            assert tag != "style"
            assert "style" not in given
            assert not any(name.startswith("on") for name in given)
            assert tag != "script" or given.keys() == {"src", "defer"}
        assert all(address.startswith(("/", "#")) and address[:2] != "//" for address in page.addresses)
        policy = visitor.response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "form-action 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert visitor.response.headers["Cache-Control"] == "no-store"


def test_hostile_names_are_text(visitor):
    assert visitor.start("hostile").texts["ask"] == HOSTILE
    assert visitor.page.texts["title"] == f"{HOSTILE} – etana"
    for name in (*HOSTILE_LEVELS, *HOSTILE_CLASSES):
        assert name in visitor.page.texts["main"]
    while "ask" in visitor.page.texts:
        visitor.answer(answer="missing", choice="0")
    assert visitor.page.texts["decision"] in HOSTILE_CLASSES
    page = visitor.get("/models/hostile")
    assert HOSTILE in page.texts["main"]


def test_pages_have_labels_headings_and_landmarks(visitor):
    for page in walk_all_pages(visitor):
        names = [tag for tag, _ in page.tags]
        assert [names.count(n) for n in ("h1", "main", "nav", "footer", "title")] == [1] * 5
        ids = [given["id"] for _, given in page.tags if "id" in given]
        assert len(ids) == len(set(ids))
        labelled = {given.get("for") for tag, given in page.tags if tag == "label"}
        for tag, given in page.tags:
            if tag in ("input", "select") and given.get("type") not in ("hidden", "radio"):
                assert given["id"] in labelled
            for reference in (given.get("aria-labelledby", "") + " " + given.get("aria-describedby", "")).split():
                assert reference in ids


# --- foreign forms


def test_a_form_without_the_seal_is_refused(visitor, client):
    page = visitor.start("wine")
    case = visitor.case
    for wrong in ("", "0" * 64, "é"):
        assert "form" in visitor.post(f"{case}", 403, page, seal=wrong, value="1").texts["h1"]
    client.cookies.clear()
    again = visitor.post(f"{case}", 403, page, value="2.5")
    assert client.get(f"/v1{case}").json()["revision"] == 0
    # The page leads back to the case, and has kept what was typed: one more click sends it.
    assert case in again.addresses
    assert again.texts["entered"] == "2.5"
    visitor.post(case, page=again)
    assert client.get(f"/v1{case}").json()["history"][0]["value"] == 2.5


def test_the_seal_of_another_browser_is_refused(visitor, client):
    theirs = visitor.start("wine").forms[f"{visitor.case}"]["seal"]
    client.cookies.clear()
    visitor.start("wine")
    visitor.answer(403, seal=theirs, value="1")


def test_a_form_of_another_site_is_refused(visitor, client):
    page = visitor.start("wine")
    for origin in ("http://evil.example", "null"):
        sent = page.forms[f"{visitor.case}"] | {"value": "1"}
        headers = {"Origin": origin, "Accept": "text/html"}
        response = client.post(f"{visitor.case}", data=sent, headers=headers)
        assert response.status_code == 403
        assert "text/html" in response.headers["content-type"]


def test_cookies_are_strict(visitor):
    visitor.get("/")
    cookie = visitor.response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


# --- models


def test_the_page_of_a_model(visitor, folder):
    clf = etana.load(folder / "breast_cancer.etana")
    text = visitor.get("/models/breast_cancer").texts["main"]
    for column in clf.feature_order_:
        assert clf.feature_names_in_[column] in text
    assert f"{clf.expected_n_features_:.1f} of 30" in " ".join(text.split())
    assert f"{clf.expected_cost_:.4f}" in text


@pytest.mark.parametrize(("name", "words"), [("breast_cancer", "decide 0"), ("wine", "before the first"),
                                             ("digits", "features asked"), ("hostile", "ask on")])  # fmt: skip
def test_the_picture_of_a_policy(visitor, client, name, words):
    page = visitor.get(f"/models/{name}")
    address = next(given["src"] for tag, given in page.tags if given.get("class") == "picture")
    picture = client.get(address)
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in picture.headers["Content-Security-Policy"]
    assert words in picture.text
    assert "<script" not in picture.text
    assert client.get(address).content == picture.content


def test_without_matplotlib_the_page_says_how_to_install_it(visitor, client, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'etana[plot]'" in visitor.get("/models/wine").texts["main"]
    assert client.get("/models/wine/policy.svg").status_code == 404


def test_a_decision_graph_is_drawn(tmp_path):
    X, y = load_wine(return_X_y=True)
    save(AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X, y), tmp_path / "graph.etana")
    models = Models([tmp_path / "graph.etana"])
    pictures = Pictures(models)
    assert "graph" in pictures.words(models.get())
    assert pictures.available()
    assert b"price 0.01" in pictures.svg(models.get())


# --- tables


def upload(visitor, name, content, status=200, **fields):
    visitor.get(f"/models/{name}/table")
    sent = visitor.page.forms[f"/models/{name}/table"] | fields
    files = {"table": ("my table.csv", content, "text/csv")}
    response = visitor.client.post(f"/models/{name}/table", data=sent, files=files, headers={"Accept": "text/html"})
    assert response.status_code == status, response.text
    return response


@pytest.mark.parametrize("budget", ["", "0.03"])
def test_a_table_is_classified_as_the_command_line_does(visitor, data, folder, tmp_path, budget):
    X, _ = data["wine"]
    X.to_csv(tmp_path / "in.csv", index=False)
    response = upload(visitor, "wine", (tmp_path / "in.csv").read_bytes(), max_cost=budget)
    model = load_model(folder / "wine.etana")
    classify_file(model, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), float(budget) if budget else None)
    assert response.content == (tmp_path / "out.csv").read_bytes()
    assert response.headers["content-disposition"] == 'attachment; filename="wine-decisions.csv"'
    rows = list(csv.DictReader(io.StringIO(response.text)))
    walk = model.acquire(X, float(budget) if budget else None)
    assert [row["label"] for row in rows] == [str(c) for c in walk.labels]
    assert [float(row["cost"]) for row in rows] == pytest.approx(walk.costs.tolist(), rel=1e-11)


def test_the_template_of_a_table_can_be_sent(visitor, client):
    empty = client.get("/models/hostile/template.csv")
    assert next(csv.reader(io.StringIO(empty.text, newline="")))[-2] == HOSTILE
    assert upload(visitor, "wine", client.get("/models/wine/template.csv").content).text.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no file was chosen"),
        (b"a,b\n1,2\n", "has no column"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a,a\n1,2\n", "two columns"),
        (b"flavanoids\n1,2\n", "my table.csv, line 2"),
        (b"PAR1" + b"\0" * 100, "is a Parquet file"),
    ],
)
def test_a_table_that_does_not_fit(visitor, content, words):
    response = upload(visitor, "wine", content, 422)
    assert words in Html(response.text).texts["fault"]
    assert "/tmp" not in response.text


def test_a_cell_that_is_no_number_is_named(visitor, data):
    X, _ = data["wine"]
    table = X.head(3).astype(object)
    table.loc[1, "flavanoids"] = "<i>lots"
    text = Html(upload(visitor, "wine", table.to_csv(index=False).encode(), 422).text).texts["fault"]
    assert "my table.csv, line 3: '<i>lots' in column 'flavanoids' is not a number" in text


def test_odd_cells_are_counted_as_on_the_command_line(visitor, client, data, folder, tmp_path):
    X, _ = data["wine"]
    table = X.head(40).astype(object)
    first = X.columns[load_model(folder / "wine.etana").order[0]]
    table.loc[3, first] = 1e6
    table.loc[5, first] = "n/a"
    table.to_csv(tmp_path / "in.csv", index=False)
    done = classify_file(load_model(folder / "wine.etana"), str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), None)
    assert len(done.findings) == 2
    page = Html(upload(visitor, "wine", (tmp_path / "in.csv").read_bytes()).text)
    assert page.texts["h1"] == "40 rows decided"
    assert page.texts["findings"].strip() == "".join(done.findings)
    (link,) = [given for _, given in page.tags if given.get("download")]
    assert link["download"] == "wine-decisions.csv"
    kind, _, held = link["href"].partition(",")
    assert kind == "data:text/csv;charset=utf-8;base64"
    assert base64.b64decode(held) == (tmp_path / "out.csv").read_bytes()
    # A program gets what it asked for.
    sent = visitor.get("/models/wine/table").forms["/models/wine/table"]
    files = {"table": ("in.csv", (tmp_path / "in.csv").read_bytes(), "text/csv")}
    response = client.post("/models/wine/table", data=sent, files=files, headers={"Accept": "text/csv"})
    assert response.content == (tmp_path / "out.csv").read_bytes()


def test_a_table_is_read_with_the_spellings_of_the_fit(data, tmp_path):
    X, y = data["wine"]
    first = X.columns[6]
    clf = etana.ETANAClassifier(0.02, ordering=[6, *(k for k in range(13) if k != 6)]).fit(X, y)
    etana.save(clf.describe(etana.Dictionary(missing=[f"{first}=-9"])), tmp_path / "m.etana")
    models, store = Models([tmp_path / "m.etana"]), Store(":memory:", 60, 10)
    with in_process(create_app(models, store)) as client:
        visitor, table = Visitor(client), X.head(5).copy()
        assert f"{first}=-9" in visitor.get("/models/m/table").texts["main"]
        table.loc[2, first] = -9.0
        spelt = upload(visitor, "m", table.to_csv(index=False).encode()).text
        table.loc[2, first] = None
        assert spelt == upload(visitor, "m", table.to_csv(index=False).encode()).text
        assert spelt.startswith("label,")
    store.close()


def test_a_table_may_be_only_so_long(make_client, data):
    client = make_client("wine", limits=Limits(rows=10, body=20_000))
    X, _ = data["wine"]
    visitor = Visitor(client)
    assert upload(visitor, "wine", X.head(10).to_csv(index=False).encode()).text.count("\n") == 11
    response = upload(visitor, "wine", X.head(11).to_csv(index=False).encode(), 413)
    assert "10 rows" in Html(response.text).texts["fault"]
    response = upload(visitor, "wine", b"x" * 30_000, 413)
    assert Html(response.text).texts["h1"] == "That is too large"


# --- errors


@pytest.mark.parametrize("address", ["/nothing", "/cases/" + "x" * 24, "/cases/" + "y" * 500, "/models/none",
                                     "/models/none/table", "/models/none/policy.svg", "/static/none.js"])  # fmt: skip
def test_what_is_not_there_is_a_page_for_people_and_json_for_programs(visitor, client, address):
    page = visitor.get(address, 404)
    assert page.texts["h1"] == "There is nothing here"
    assert "/" in page.addresses
    assert client.get(address).headers["content-type"] == "application/problem+json"


def test_the_api_stays_json(client):
    response = client.get("/v1/cases/" + "x" * 24, headers={"Accept": "text/html"})
    assert response.headers["content-type"] == "application/problem+json"


def test_a_wrong_method_is_a_page(visitor):
    visitor.get("/cases", 405)
    assert "POST" in visitor.response.headers["Allow"]


def test_no_room_for_another_case(make_client):
    visitor = Visitor(make_client("wine", limits=Limits(cases=1)))
    visitor.start("wine")
    visitor.get("/models/wine")
    page = visitor.post("/cases", 503)
    assert page.texts["h1"] == "Too busy just now"
    assert visitor.response.headers["Retry-After"] == "1"


@pytest.mark.parametrize("body", [b"--x\r\nbroken", b"\xff" * 20])
def test_a_broken_form_is_a_page(client, body):
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Accept": "text/html"}
    response = client.post("/cases", content=body, headers=headers)
    assert response.status_code in (400, 403)
    assert "text/html" in response.headers["content-type"]


def test_a_replaced_model_ends_its_cases(folder, tmp_path, data):
    file = tmp_path / "wine.etana"
    file.write_bytes((folder / "wine.etana").read_bytes())
    models, store = Models([file]), Store(":memory:", 60, 10)
    with in_process(create_app(models, store)) as client:
        visitor = Visitor(client)
        visitor.start("wine")
        page, case = visitor.answer(value="3"), visitor.case
        etana.save(etana.ETANAClassifier(0.03, ordering="error", temperature=1.0).fit(*data["wine"]), file)
        assert models.reload() == []
        assert "has changed" in visitor.get(case, 409).texts["main"]
        assert "Start another one" in visitor.post(f"{case}/undo", 409, page).texts["main"]
        visitor.post(f"{case}", 409, page, value="1")
    store.close()


# --- the way in


TOKEN = "a-token-of-the-tests"


@pytest.fixture
def guarded(make_client):
    client = make_client("wine", token=TOKEN)
    return Visitor(client)


def test_a_guarded_service_asks_for_the_token(guarded):
    page = guarded.get("/models/wine", 401)
    assert page.texts["h1"] == "Sign in"
    assert page.forms["/sign-in"]["onward"] == "/models/wine"
    assert all(guarded.client.get(a).status_code == 200 for a in page.addresses if a.startswith("/static/"))
    assert "/sign-out" not in page.forms


def test_the_right_token_lets_in(guarded):
    guarded.get("/models/wine", 401)
    page = guarded.post("/sign-in", token=TOKEN)
    assert page.texts["h1"] == "wine"
    first = guarded.response.history[0]
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in str(first.headers) + str(guarded.client.cookies)
    kept = next(c for c in guarded.client.cookies.jar if c.name.startswith("etana_session_"))
    assert len(kept.value) == 43
    guarded.post("/cases")
    assert guarded.page.texts["ask"] == "flavanoids"
    # The API takes the token itself.
    assert guarded.client.get("/v1/models").status_code == 401
    guarded.post("/sign-out")
    guarded.get("/", 401)
    guarded.client.cookies.set(kept.name, kept.value)  # a copy of it is worth nothing any more
    guarded.get("/", 401)


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_stays_outside(guarded, token):
    guarded.get("/", 401)
    page = guarded.post("/sign-in", 403, token=token)
    assert "not the token" in page.texts["fault"]
    guarded.get("/", 401)


def test_a_forged_session_stays_outside(guarded):
    name = guarded.client._transport._inner.app.state.sessions.cookie
    for forged in (TOKEN, "0" * 64, "a" * 43, ""):
        guarded.client.cookies.set(name, forged)
        guarded.get("/", 401)


@pytest.mark.parametrize("onward", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)",
                                    "/x\r\nSet-Cookie: a=b", ""])  # fmt: skip
def test_signing_in_leads_nowhere_else(guarded, onward):
    guarded.get("/", 401)
    sent = guarded.page.forms["/sign-in"] | {"onward": onward, "token": TOKEN}
    response = guarded.client.post("/sign-in", data=sent, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/")


def test_an_open_service_needs_no_signing_in(visitor):
    assert visitor.get("/sign-in").texts["h1"].startswith("Decide")


# --- looks


def test_colours_have_contrast():
    """WCAG: 4.5 for text, 3 for the borders of what can be operated."""
    from etana.service.pages.look import _FILES

    css = _FILES["style.css"].decode()
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(
        r":root \{(.*?)\}", css, re.DOTALL))  # fmt: skip
    text = [("ink", "ground"), ("ink", "card"), ("muted", "ground"), ("muted", "card"), ("accent", "card"),
            ("accent", "ground"), ("on-accent", "accent"), ("on-accent", "accent-strong"), ("bad", "bad-wash"),
            ("ink", "wash"), ("accent", "wash"), ("ink", "track"), ("muted", "track")]  # fmt: skip
    for colours in (light, dark):
        for front, back in text:
            assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
        assert contrast(colours["other"], colours["card"]) >= 3


def contrast(one: str, other: str) -> float:
    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_static_files_are_kept_by_browsers(visitor):
    page = visitor.get("/")
    for address in page.addresses:
        if address.startswith("/static/"):
            assert "immutable" in visitor.client.get(address).headers["Cache-Control"]


def test_pages_are_not_part_of_the_api_document(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if not path.startswith(("/v1", "/health", "/metrics"))]


# --- small things


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A client of a model whose names and classes a spreadsheet would run."""
    X, y = load_wine(return_X_y=True)
    frame = {"=1+1": X[:, 6], "@sum": X[:, 12], "-plain": X[:, 9]}
    import pandas as pd

    path = tmp_path_factory.mktemp("runs") / "runs.etana"
    labels = np.array(["=cmd|' /C calc'!A0", "+1", "fine"])[y]
    save(
        etana.ETANAClassifier(feature_costs=0.001, ordering="error", temperature=1.0).fit(pd.DataFrame(frame), labels),
        path,
    )
    store = Store(":memory:", 100.0, 10)
    client = in_process(create_app(Models([path]), store))
    yield client
    client.close()
    store.close()


def test_no_cell_of_a_download_can_be_run(runs):
    visitor = Visitor(runs)
    template = runs.get("/models/runs/template.csv").text
    names = next(csv.reader(io.StringIO(template)))
    assert names == ["'=1+1", "'@sum", "'-plain"]
    # What was given an apostrophe is understood when it comes back.
    ids = ["=HYPERLINK(1)", "-5", "+x", "@y", "plain", "\tz"]
    rows = [[*row, id] for row, id in zip(load_wine().data[::35][:, [6, 12, 9]].tolist(), ids)]
    table = io.StringIO()
    csv.writer(table).writerows([[*names, "ID"], *rows])
    visitor.get("/models/runs/table")
    sent = visitor.page.forms["/models/runs/table"]
    done = runs.post("/models/runs/table", data=sent, files={"table": ("t.csv", table.getvalue().encode())})
    assert done.status_code == 200, done.text
    header, *lines = csv.reader(io.StringIO(done.text))
    assert header[:2] == ["ID", "label"]
    assert [line[0] for line in lines] == ["'=HYPERLINK(1)", "-5", "'+x", "'@y", "plain", lines[5][0]]
    cells = [cell for line in (header, *lines) for cell in line]
    numbers = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?")
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert not any(cell[:1] in "=+-@\t\r" and cell and not numbers.fullmatch(cell) for cell in cells)


def test_the_column_that_names_the_rows_can_be_chosen(visitor, client, data):
    X, _ = data["wine"]
    table = X.iloc[:3].assign(patient=["a", "b", "c"], id=[7, 8, 9]).to_csv(index=False)
    visitor.get("/models/wine/table")
    sent = visitor.page.forms["/models/wine/table"]
    for column, wanted in (("", ["id", "7", "8", "9"]), ("patient", ["patient", "a", "b", "c"])):
        files = {"table": ("t.csv", table.encode())}
        done = client.post("/models/wine/table", data=sent | {"id_column": column}, files=files)
        assert [line[0] for line in csv.reader(io.StringIO(done.text))] == wanted
    files = {"table": ("t.csv", table.encode())}
    wrong = client.post("/models/wine/table", data=sent | {"id_column": "nix"}, files=files)
    assert wrong.status_code == 422
    assert "no column" in wrong.text


def test_after_a_wrong_value_the_address_is_that_of_the_case(visitor):
    visitor.start("wine")
    address = visitor.response.url.path
    visitor.answer(422, value="abc")
    assert visitor.response.url.path == address
    assert visitor.get(address).texts["ask"] == "flavanoids"  # and can be loaded again


def test_health_answers_head(client):
    for path in ("/health/live", "/health/ready"):
        response = client.head(path)
        assert (response.status_code, response.content) == (200, b"")
        assert client.get(path).json() == {"status": "ok"}


def test_the_reference_fits_a_phone_and_the_dark(client):
    page = client.get("/docs")
    assert 'name="viewport"' in page.text
    assert "prefers-color-scheme:dark" in page.text
    assert "max-width:40rem" in page.text


def test_a_form_with_too_many_fields_or_parts_is_refused(client):
    many = {f"f{i}": "x" for i in range(50)}
    assert client.post("/sign-in", data=many).status_code == 400
    assert client.post("/models/wine/table", data=many, files={"table": ("t.csv", b"x")}).status_code == 400
    odd = client.post("/models/wine/table", content=b"--x", headers={"Content-Type": "multipart/form-data; boundary=y"})
    assert odd.status_code in (400, 403)
    assert client.post("/models/wine/table", headers={"Content-Type": "multipart/form-data"}).status_code == 400


@pytest.mark.parametrize(
    "content",
    [
        ",".join(f"c{i}" for i in range(800_000)) + "\n",
        '"\n"' + ",a" * 400_000,
        '"' + "\n" * 1_000_000,
        "x" * 8_000_000,
        '"a\nb",' + ",".join(f"c{i}" for i in range(2000)) + "\n1",
    ],
    ids=["many", "behind a break", "breaks", "one", "quoted"],
)
def test_a_table_of_too_many_columns_is_refused_soon(visitor, content):
    began = time.monotonic()
    response = upload(visitor, "wine", content.encode(), 422)
    assert time.monotonic() - began < 5
    assert "more than 1,013 columns" in response.text


def test_a_header_may_have_breaks_between_quotes(visitor, data):
    X, _ = data["wine"]
    table = X.iloc[:2].assign(**{"a\nb": 1}).to_csv(index=False)
    assert upload(visitor, "wine", table.encode()).text.count("\n") == 3
