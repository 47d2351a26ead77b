"""The web pages in a real Chromium: whole cases, two tabs, the back button, no scripts, a phone, a keyboard."""

import csv
import re
import socket
import threading

import httpx
import numpy as np
import pytest
import uvicorn
from answers import as_json
from driving import CHROMIUM, PHONE, answer, asked, expect, follow, press, press_until, start, to_the_end
from hostile import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS
from servers import Server

import etana
from etana.service.app import create_app
from etana.service.models import Models
from etana.service.store import Store

TOKEN = "a-token-of-the-tests"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def server(folder, start_server) -> Server:
    files = (folder / f"{name}.etana" for name in ("wine", "breast_cancer", "hostile"))
    return start_server(*files, "--store", ":memory:")


@pytest.fixture(scope="module")
def api(server):
    with server.client() as client:
        yield client


@pytest.mark.parametrize(("name", "n"), [("breast_cancer", 3), ("wine", 3), ("hostile", 4)])
def test_page_api_and_classifier_agree(page, api, data, folder, name, n):
    """Ten instances in all, spread over each table."""
    X, _ = data[name]
    clf = etana.load(folder / f"{name}.etana")
    rows = np.linspace(0, len(X) - 1, n).astype(int)
    walk, decided = clf.acquire(X.iloc[rows]), clf.predict(X.iloc[rows])
    for i, row in enumerate(rows):
        values = X.iloc[row]
        case = start(page, name)
        to_the_end(page, values)
        features = [X.columns[k] for k in walk.features(i)]
        assert page.locator("#decision").evaluate("e => e.textContent") == str(walk.labels[i]) == str(decided[i])
        assert page.locator("#asked").inner_text() == str(len(features))
        assert float(page.locator("#cost").inner_text()) == pytest.approx(walk.costs[i], abs=5e-4)
        assert page.locator(".path .asked b").evaluate_all("es => es.map(e => e.textContent)") == features
        stored = api.get(f"/v1/cases/{case}").json()
        sent = {"model": name, "rows": [{k: as_json(values[k]) for k in X.columns}]}
        batch = api.post("/v1/classify", json=sent).json()["rows"][0]
        assert stored["label"] == batch["label"] == walk.labels[i]
        assert stored["cost"] == batch["cost"] == walk.costs[i]
        assert [step["feature"] for step in stored["history"]] == batch["features"] == features
        assert [b["probability"] for b in stored["posterior"]] == batch["posterior"] == walk.posteriors[i].tolist()


def test_undo_missing_and_refresh(page, api):
    case = start(page, "wine")
    first = asked(page)
    answer(page, 3.06)
    second = asked(page)
    page.reload()
    assert asked(page) == second
    answer(page, None)
    page.reload()
    history = api.get(f"/v1/cases/{case}").json()["history"]
    assert [(step["feature"], step["value"]) for step in history] == [(first, 3.06), (second, None)]
    expect(page.locator(".path li").nth(1)).to_contain_text("came back empty")
    press(page, "Undo the last answer")
    page.reload()
    assert asked(page) == second
    press(page, "Undo the last answer")
    assert asked(page) == first
    expect(page.get_by_role("button", name="Undo the last answer")).to_have_count(0)


def test_the_back_button_never_answers_twice(page, api, data):
    row = data["wine"][0].iloc[0]
    case = start(page, "wine")
    answer(page, row[asked(page)])
    second = asked(page)
    page.go_back()
    # The page is not kept: what comes is the case as it is.
    assert asked(page) == second
    answer(page, row[second])
    page.go_back()
    page.go_forward()
    assert len(api.get(f"/v1/cases/{case}").json()["history"]) == 2


def test_an_answer_from_a_stale_tab(browse, api):
    context = browse()
    one, other = context.new_page(), context.new_page()
    case = start(one, "wine")
    other.goto(one.url)
    answer(one, 3.06)
    now = asked(one)
    answer(other, 1.0)
    expect(other.get_by_role("heading", level=1)).to_have_text("The case has moved on")
    assert [step["value"] for step in api.get(f"/v1/cases/{case}").json()["history"]] == [3.06]
    follow(other, other.get_by_role("link", name="Go on with the case").click)
    assert asked(other) == now


def test_two_cases_in_two_tabs(browse, data, folder):
    X, _ = data["wine"]
    clf = etana.load(folder / "wine.etana")
    context = browse()
    tabs = [(context.new_page(), row) for row in (0, 150)]
    cases = [start(tab, "wine") for tab, _ in tabs]
    assert cases[0] != cases[1]
    while any(asked(tab) for tab, _ in tabs):
        for tab, row in tabs:
            if (name := asked(tab)) is not None:
                answer(tab, X.iloc[row][name])
    for tab, row in tabs:
        expect(tab.locator("#decision")).to_have_text(str(clf.predict(X.iloc[[row]])[0]))


def test_without_scripts(browse, data, folder):
    X, _ = data["hostile"]
    page = browse(java_script_enabled=False).new_page()
    start(page, "hostile")
    row = X.iloc[3]
    while page.locator("#ask").count():
        answer(page, row[page.locator("#ask").text_content()])
        if page.locator("#ask").count() and page.locator(".path li").count() == 2:
            press(page, "Undo the last answer")
            answer(page, row[page.locator("#ask").text_content()])
            break
    while page.locator("#ask").count():
        answer(page, row[page.locator("#ask").text_content()])
    walk = etana.load(folder / "hostile.etana").acquire(X.iloc[[3]])
    assert page.locator("#decision").text_content() == walk.labels[0]
    assert page.locator("#asked").inner_text() == str(walk.n_features[0])


@pytest.mark.parametrize("size", [pytest.param(PHONE, marks=pytest.mark.slow), {"width": 320, "height": 640}])
def test_a_phone_needs_no_sideways_scrolling(browse, size):
    page = browse(viewport=size, has_touch=True, is_mobile=True).new_page()

    def fits():
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        small = page.evaluate(
            "[...document.querySelectorAll('button, .button, input:not([type=hidden], [type=radio]), .choice')]"
            ".filter(e => e.offsetHeight < 40).map(e => e.outerHTML)"
        )
        assert small == []

    for address in ("/", "/models/hostile", "/models/wine/table", "/nothing"):
        page.goto(address)
        fits()
    start(page, "hostile")
    while asked(page) is not None:
        fits()
        follow(page, page.get_by_role("button", name="Came back empty").tap)
    fits()


def test_keyboard_only(page, data, folder):
    X, _ = data["wine"]
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    press_until(page, "[action='/cases']:has([value=wine]) button")
    follow(page, lambda: page.keyboard.press("Enter"))
    row = X.iloc[60]
    while (name := asked(page)) is not None:
        # The answer has the focus already.
        expect(page.locator("#value")).to_be_focused()
        page.keyboard.type(repr(float(row[name])))
        follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.locator("#decision")).to_have_text(str(etana.load(folder / "wine.etana").predict(X.iloc[[60]])[0]))
    press_until(page, "[action$='/undo'] button")
    follow(page, lambda: page.keyboard.press("Space"))
    press_until(page, "button[value=missing]")
    follow(page, lambda: page.keyboard.press("Enter"))


def test_keyboard_chooses_a_category(page, api):
    case = start(page, "hostile")
    expect(page.locator(".choice input").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    follow(page, lambda: page.keyboard.press("Enter"))
    levels = sorted(HOSTILE_LEVELS)
    assert api.get(f"/v1/cases/{case}").json()["history"][0]["value"] == levels[1]


def test_hostile_names_are_only_text(page, browse):
    start(page, "hostile")
    assert asked(page) == HOSTILE
    assert page.evaluate("document.title") == " ".join(f"{HOSTILE} – etana".split())
    choices = page.locator(".choice span").evaluate_all("es => es.map(e => e.textContent)")
    assert choices[:2] == sorted(HOSTILE_LEVELS)
    assert page.locator(".bars .name").evaluate_all("es => es.map(e => e.textContent)") == sorted(HOSTILE_CLASSES)
    assert page.evaluate("document.querySelectorAll('main script, main b > b, main h1 *').length") == 0
    for address in ("/", "/models/hostile", "/models/hostile/table"):
        page.goto(address)
    picture = page.goto("/models/hostile/policy.svg")
    assert picture.status == 200
    assert browse.dialogs == []


def test_a_wrong_value_is_explained_beside_the_question(browse):
    # Without scripts or the browser's own checks, the service answers.
    page = browse(java_script_enabled=False).new_page()
    start(page, "wine")
    page.locator("#value").fill("")
    page.locator("#value").evaluate("e => { e.type = 'text'; e.required = false; e.value = '12,5' }")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("“12,5”; write a number")
    expect(page.locator("#value")).to_have_attribute("aria-invalid", "true")
    answer(page, 3.0)
    expect(page.locator(".path li")).to_have_count(1)


def test_an_empty_answer_is_not_sent(page):
    start(page, "wine")
    before = page.url
    page.get_by_role("button", name="Answer", exact=True).click()
    assert page.evaluate("document.querySelector('#value').validity.valueMissing")
    assert page.url == before


def test_a_double_click_answers_once(page, api):
    case = start(page, "wine")
    page.locator("#value").fill("3.06")
    page.get_by_role("button", name="Answer", exact=True).dblclick(no_wait_after=True)
    expect(page.locator(".path li")).to_have_count(1)
    assert len(api.get(f"/v1/cases/{case}").json()["history"]) == 1


def test_a_form_on_a_page_of_another_site_is_refused(chromium, server, api):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.url)
    seal = page.locator("form:has([value=wine]) [name=seal]").get_attribute("value")
    page.goto("data:text/html,<form></form>")
    fields = f'<input name=model value=wine><input name=seal value="{seal}"><button>go</button>'
    page.set_content(f'<form method=post action="{server.url}/cases">{fields}</form>')
    before = httpx.get(f"{server.url}/metrics", trust_env=False).text
    page.get_by_role("button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This form is no longer good")
    cases = re.compile(r"^etana_cases\{.*$", re.MULTILINE)
    after = httpx.get(f"{server.url}/metrics", trust_env=False).text
    assert cases.findall(before) == cases.findall(after)
    context.close()


def test_a_table_goes_up_and_comes_back(page, data, folder, tmp_path):
    X, _ = data["wine"]
    X.to_csv(tmp_path / "new.csv", index=False)
    page.goto("/models/wine/table")
    page.get_by_label("CSV file").set_input_files(tmp_path / "new.csv")
    with page.expect_download() as download:
        page.get_by_role("button", name="Classify and download").click()
    assert download.value.suggested_filename == "wine-decisions.csv"
    download.value.save_as(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert labels == [str(c) for c in etana.load(folder / "wine.etana").predict(X)]


def test_odd_cells_of_a_table_are_told_before_the_download(page, data, folder, tmp_path):
    X, _ = data["wine"]
    table = X.head(30).copy()
    table.loc[2, X.columns[etana.load(folder / "wine.etana").feature_order_[0]]] = 1e6
    table.to_csv(tmp_path / "new.csv", index=False)
    page.goto("/models/wine/table")
    page.get_by_label("CSV file").set_input_files(tmp_path / "new.csv")
    press(page, "Classify and download")
    expect(page.get_by_role("heading", level=1)).to_have_text("30 rows decided")
    expect(page.locator("#findings li")).to_contain_text("outside of the training range")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the decisions").click()
    assert download.value.suggested_filename == "wine-decisions.csv"
    download.value.save_as(tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 31


def test_a_table_that_is_too_large_gets_a_page(page, tmp_path):
    (tmp_path / "large.csv").write_bytes(b"0" * (9 * 2**20))
    page.goto("/models/wine/table")
    page.get_by_label("CSV file").set_input_files(tmp_path / "large.csv")
    press(page, "Classify and download")
    expect(page.get_by_role("heading", level=1)).to_have_text("That is too large")


def test_forgetting_asks_first(page, browse, api):
    case = start(page, "wine")
    page.get_by_role("button", name="Forget this case").click()
    expect(page.get_by_role("status")).to_have_text("The case is forgotten.")
    assert browse.dialogs == ["Forget this case and all its answers?"]
    assert api.get(f"/v1/cases/{case}").status_code == 404


@pytest.mark.parametrize("model", ["breast_cancer", "wine"])
def test_the_picture_of_the_policy_is_drawn(page, model):
    page.goto(f"/models/{model}")
    picture = page.locator("img.picture")
    picture.evaluate("e => e.decode()")
    assert picture.evaluate("e => e.naturalWidth") > 300


def test_dark_is_dark(browse):
    shades = {}
    for scheme in ("light", "dark"):
        page = browse(color_scheme=scheme).new_page()
        page.goto("/")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades[scheme] = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert shades["dark"] < 100 < 650 < shades["light"]


def test_the_reference_is_readable_on_a_phone_and_in_the_dark(browse):
    shades = {}
    for scheme in ("light", "dark"):
        page = browse(viewport=PHONE, color_scheme=scheme).new_page()
        page.goto("/docs")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades[scheme] = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert shades["dark"] < 100 < 650 < shades["light"]


def test_no_motion_for_those_who_want_none(browse):
    page = browse(reduced_motion="reduce").new_page()
    page.goto("/")
    button = page.get_by_role("button", name="Start a case").first
    assert button.evaluate("e => getComputedStyle(e).transitionDuration") == "0s"


@pytest.fixture
def guarded(folder):
    """The address of a service with a token, which runs in a thread."""
    store = Store(":memory:", 600, 10)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(Models([folder / "wine.etana"]), store, token=TOKEN)
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        running.should_exit = True
        thread.join()
    store.close()


def test_signing_in(browse, guarded):
    context = browse(guarded)
    page = context.new_page()
    page.goto("/models/wine")
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This is not the token the service runs with.")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("wine")
    cookies = {c["name"]: c for c in context.cookies()}
    assert all(c["httpOnly"] and c["sameSite"] == "Strict" for c in cookies.values())
    assert TOKEN not in str(cookies) + page.url
    press(page, "Start a case")
    answer(page, 3.06)
    expect(page.locator(".path li")).to_have_count(1)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert page.goto("/").status == 401
