"""A case as it really happens, in a real Chromium: known values, other results, warnings, lists, print, export."""

import json
import re
import shutil

import numpy as np
import pytest
from driving import CHROMIUM, PHONE, answer, asked, expect, follow, press, press_until, start

import etana

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

WORDS = {
    "flavanoids": {"description": "Flavanoids in the must", "unit": "mg/l", "lowest": 0, "highest": 10},
    "hue": {"choices": {"1": "pale", "0.6": "deep"}},
}


@pytest.fixture(scope="module")
def server(data, adaptive, tmp_path_factory, start_server):
    folder = tmp_path_factory.mktemp("clinic")
    X, y = data["wine"]
    etana.save(
        etana.ETANAClassifier(0.02, ordering="error", temperature=1.0).fit(X, y).describe(WORDS),
        folder / "described.etana",
    )
    shutil.copy(adaptive, folder)
    etana.save(etana.SequentialClassifier(feature_costs=0.02).fit(X, y), folder / "sequential.etana")
    waits = etana.FeatureCosts(0.01, round=0.1, delayed=list(X.columns))
    etana.save(etana.ETANAClassifier(waits, ordering="error", temperature=1.0).fit(X, y), folder / "lab.etana")
    return start_server(folder, "--store", ":memory:")


@pytest.fixture(scope="module")
def api(server):
    with server.client() as client:
        yield client


def stored(api, page):
    return api.get(f"/v1/cases/{re.search(r'/cases/([^/?]{24})', page.url)[1]}").json()


def told(page):
    return page.locator(".path .asked b").all_inner_texts()


def test_the_question_says_what_the_dictionary_says(page):
    start(page, "described")
    assert asked(page) == "flavanoids"
    expect(page.locator(".ask .about")).to_have_text("Flavanoids in the must")
    expect(page.get_by_label("Value in mg/l")).to_be_focused()
    expect(page.locator("#hint")).to_contain_text("Plausible: 0 to 10 mg/l.")


def test_an_implausible_value_is_taken_after_a_warning(page, api):
    start(page, "described")
    page.locator("#value").fill("306")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("306 is outside the plausible range, 0 to 10 mg/l")
    assert stored(api, page)["history"] == []
    page.locator("#value").fill("3060")  # another value is another doubt
    press(page, "Use it all the same")
    expect(page.get_by_role("alert")).to_contain_text("3060 is outside")
    press(page, "Use it all the same")
    assert [step["value"] for step in stored(api, page)["history"]] == [3060]
    expect(page.locator(".path .doubt")).to_contain_text("outside of its plausible range, 0 to 10 mg/l")
    press(page, "Undo the last answer")
    page.locator("#value").fill("306")
    press(page, "Answer")
    page.locator("#value").fill("3.06")
    press(page, "Use it all the same")
    assert [step["value"] for step in stored(api, page)["history"]] == [3.06]


def test_a_value_beyond_training_is_warned_of(page, api):
    start(page, "described")
    answer(page, 3.06)
    answer(page, 5000.0)
    assert len(stored(api, page)["history"]) == 2
    expect(page.locator(".path .doubt")).to_contain_text("outside of its training range")


def test_known_values_up_front(page, api):
    page.goto("/models/described")
    page.get_by_role("link", name="Start with known values").click()
    page.get_by_label("magnesium").fill("127")
    page.get_by_label("hue").select_option(label="1 – pale")
    page.get_by_label("Budget").fill("0.5")
    press(page, "Start the case")
    case = stored(api, page)
    assert [(s["feature"], s["value"], s["came"]) for s in case["history"]] == [
        ("magnesium", 127.0, "known"), ("hue", 1.0, "known")
    ]  # fmt: skip
    assert (case["cost"], case["max_cost"]) == (0.0, 0.5)
    expect(page.locator("#spent")).to_contain_text("0.00")
    expect(page.locator(".path .tag").first).to_have_text("known up front, free")
    expect(page.get_by_role("button", name="Undo the last answer")).to_have_count(0)


def test_a_known_value_that_is_no_number_is_named(browse):
    page = browse(java_script_enabled=False).new_page()
    page.goto("/models/described/start")
    page.get_by_label("proline").evaluate("e => { e.type = 'text'; e.value = '1,065' }")
    page.get_by_label("ash", exact=True).fill("2.4")
    press(page, "Start the case")
    expect(page.get_by_role("alert")).to_contain_text("proline: the answer is “1,065”")
    expect(page.get_by_label("ash", exact=True)).to_have_value("2.4")


def test_cannot_be_had_is_free_and_came_back_empty_is_charged(page, api):
    start(page, "described")
    first = asked(page)
    follow(page, page.get_by_role("button", name="Cannot be had").click)
    assert asked(page) != first
    case = stored(api, page)
    assert (case["cost"], case["history"][0]["came"]) == (0.0, "unavailable")
    expect(page.locator(".path li").first).to_contain_text("cannot be had")
    expect(page.locator(".so-far")).to_contain_text(f"Cannot be had: {first}.")
    follow(page, page.get_by_role("button", name="Came back empty").click)
    case = stored(api, page)
    assert (case["cost"], case["history"][1]["came"]) == (0.02, "empty")
    expect(page.locator(".path li").nth(1)).to_contain_text("came back empty")


def test_another_result(page, api):
    start(page, "described")
    page.get_by_text("I have another result").click()
    page.get_by_label("Which one?").select_option(label="alcohol")
    follow(page, page.get_by_role("button", name="Go on").click)
    expect(page.get_by_role("heading", level=1)).to_have_text("alcohol")
    page.locator("#value").fill("13.2")
    page.get_by_label("What it cost").fill("0")
    press(page, "Add the result")
    case = stored(api, page)
    assert [(s["feature"], s["value"], s["price"], s["came"]) for s in case["history"]] == [
        ("alcohol", 13.2, 0.0, "volunteered")
    ]
    expect(page.locator(".path .tag")).to_have_text("came in unasked")
    assert asked(page) == "flavanoids"
    page.go_back()
    assert "result" in page.url
    page.locator("#value").fill("12")
    press(page, "Add the result")
    expect(page.get_by_role("heading", level=1)).to_have_text("The case has moved on")


def test_the_three_best_next_tests(page, api):
    case = start(page, "described")
    best = api.get(f"/v1/cases/{case}", params={"suggestions": 3}).json()["suggestions"]
    assert len(best) == 3
    rows = page.locator(".offered tbody tr")
    assert [name.split(" asked now")[0] for name in rows.locator("th").all_inner_texts()] == [
        one["feature"] for one in best
    ]
    for k, one in enumerate(best):
        expect(rows.nth(k).locator("td").nth(0)).to_have_text(f"{one['price']:.2f}")
        expect(rows.nth(k).locator("td").nth(1)).to_have_text(f"{one['saving']:.3f}")
    follow(page, rows.nth(1).get_by_role("link").click)
    expect(page.get_by_role("heading", level=1)).to_have_text(best[1]["feature"])


def test_a_panel_is_ordered_together_with_the_keyboard_alone(page, api, data):
    case = start(page, "lab")
    offered = api.get(f"/v1/cases/{case}", params={"suggestions": 3}).json()["panel"]
    assert len(offered["features"]) > 1
    expect(page.locator("#panel b")).to_have_text(", ".join(offered["features"]))
    expect(page.locator("#panel")).to_contain_text(f"for {offered['price']:.2f} with waiting")
    press_until(page, "#panel a")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Results that were ordered together")
    given = {name: float(data["wine"][0].iloc[0][name]) for name in offered["features"][1:]}
    fields = page.locator("form.known input:visible")
    assert fields.count() == len(offered["features"])
    for name in given:  # the first was not done: its field stays empty
        press_until(page, f"#{page.get_by_label(name, exact=True).get_attribute('id')}")
        page.keyboard.type(repr(given[name]))
    follow(page, lambda: page.keyboard.press("Enter"))
    told_of = stored(api, page)
    assert {s["feature"]: s["value"] for s in told_of["history"]} == given
    assert told_of["cost"] == pytest.approx(0.1 + 0.01 * len(given))
    start(page, "described")  # where waiting costs nothing there is nothing to order together
    assert page.locator("#panel").count() == 0


def test_fees_and_the_risk_of_a_mistake_are_told_apart(page):
    start(page, "described")
    total, fees, risk = (float(page.locator(f"#{id}").inner_text()) for id in ("remaining", "fees", "mistakes"))
    assert fees > 0
    assert risk > 0
    assert fees + risk == pytest.approx(total, abs=0.0015)
    start(page, "sequential")  # which knows no chances of answers, and so no fees
    assert page.locator("#fees").count() == 0
    expect(page.locator(".money")).to_contain_text("further features and the risk of a mistake")


def test_a_decision_can_be_taken_back_and_told_more(page, api, data):
    row = data["wine"][0].iloc[0]
    start(page, "described")
    while (name := asked(page)) is not None:
        answer(page, row[name])
    decided = stored(api, page)
    page.get_by_text("I have another result").click()
    page.get_by_label("Which one?").select_option(label="ash")
    follow(page, page.get_by_role("button", name="Go on").click)
    page.locator("#value").fill("2.43")
    press(page, "Add the result")
    assert stored(api, page)["history"][-1]["feature"] == "ash"
    press(page, "Undo the last answer")
    assert stored(api, page)["history"] == decided["history"]
    press(page, "Undo the last answer")
    assert asked(page) == decided["history"][-1]["feature"]


def test_open_cases_are_listed_until_they_are_decided(page, api, data):
    case = start(page, "described")
    answer(page, 3.06)
    follow(page, page.get_by_role("link", name="Cases").click)
    row = page.locator("tbody tr").first
    expect(row).to_contain_text(case[:8])
    expect(row.locator("td").nth(1)).to_have_text("1")
    follow(page, row.get_by_role("link").click)
    assert page.url.endswith(case)
    while (name := asked(page)) is not None:
        answer(page, data["wine"][0].iloc[0][name])
    page.goto("/open")
    assert case[:8] not in page.locator("main").inner_text()


def test_expiry_print_and_export(page, api, tmp_path):
    case = start(page, "described")
    answer(page, 3.06)
    known = api.get(f"/v1/cases/{case}").json()
    expect(page.locator("#kept-until")).to_have_text(re.compile(r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC"))
    expect(page.locator(".identity")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#case-id")).to_have_text(case)
    expect(page.locator("#digest")).to_have_text(known["digest"])
    expect(page.locator("#date")).to_be_visible()
    expect(page.locator("form.answer")).to_be_hidden()
    expect(page.locator(".top")).to_be_hidden()
    page.emulate_media(media="screen")
    page.evaluate("window.print = () => { document.title = 'printed' }")
    page.get_by_role("button", name="Print").click()
    assert page.title() == "printed"
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON").click()
    assert download.value.suggested_filename == f"case-{case}.json"
    download.value.save_as(tmp_path / "case.json")
    exported = json.loads((tmp_path / "case.json").read_text())["case"]
    assert {key: exported[key] for key in ("id", "digest", "history", "posterior")} == {
        key: known[key] for key in ("id", "digest", "history", "posterior")
    }


def test_an_adaptive_model_lists_first_what_it_asks_first(page, api):
    first = api.post("/v1/cases", json={"model": "adaptive"}).json()["question"]["name"]
    page.goto("/models/adaptive")
    expect(page.locator("#order")).to_have_text("What it asks, most often first")
    rows = page.locator("section:has(#order) tbody tr")
    expect(rows.first.locator("th")).to_have_text(first)
    shares = [float(re.search(r"[\d.]+", text)[0]) for text in rows.locator(".usage span").all_inner_texts()]
    assert shares[0] == 100
    assert shares == sorted(shares, reverse=True)


def test_the_graph_can_be_enlarged(browse):
    page = browse(viewport=PHONE).new_page()
    page.goto("/models/adaptive")
    small = page.locator("img.picture").bounding_box()["width"]
    follow(page, page.get_by_role("link", name="Enlarge the picture").click)
    page.locator("img.full").evaluate("e => e.decode()")
    assert page.locator("img.full").bounding_box()["width"] > 2 * small
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    region = page.get_by_role("region")
    region.focus()
    page.keyboard.press("End")
    expect(region).to_be_focused()


def test_keyboard_only(page, api):
    page.goto("/models/described/start")
    press_until(page, "[name^=known]")
    page.keyboard.press("Shift+Tab")
    page.get_by_label("proline").focus()
    page.keyboard.type("1065")
    follow(page, lambda: page.keyboard.press("Enter"))
    press_until(page, "button[value=unavailable]")
    follow(page, lambda: page.keyboard.press("Enter"))
    press_until(page, "details.another summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "feature"
    page.keyboard.type("alcohol")
    page.keyboard.press("Tab")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.locator("#value")).to_be_focused()
    page.keyboard.type("13.2")
    follow(page, lambda: page.keyboard.press("Enter"))
    assert [s["came"] for s in stored(api, page)["history"]] == ["known", "unavailable", "volunteered"]


def visited(page, data):
    """Every kind of page that belongs to a case, one after the other."""
    for address in ("/", "/open", "/models/adaptive", "/models/adaptive/policy", "/models/described/start"):
        page.goto(address)
        yield address
    start(page, "described")
    yield "question"
    page.locator("#value").fill("306")
    press(page, "Answer")
    yield "doubt"
    press(page, "Use it all the same")
    yield "warning"
    page.get_by_text("I have another result").click()
    yield "another result"
    page.get_by_label("Which one?").select_option(label="hue")
    follow(page, page.get_by_role("button", name="Go on").click)
    yield "result"
    page.locator(".choice input").first.check()
    press(page, "Add the result")
    follow(page, page.get_by_role("button", name="Cannot be had").click)
    yield "path"
    while (name := asked(page)) is not None:
        answer(page, data["wine"][0].iloc[0][name])
    yield "decision"
    page.goto("/open")
    yield "list"
    start(page, "lab")
    yield "panel that is offered"
    follow(page, page.get_by_role("link", name="Give the results").click)
    yield "panel"
    follow(page, page.get_by_role("button", name="Add the results").click)
    yield "panel without a result"


def phone(width):
    return {"viewport": {"width": width, "height": 800}, "has_touch": True, "is_mobile": True}


def check_fit(page, width, place):
    """Nothing is wider than the screen, or too low for a finger."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, place
    low = page.locator("main button:visible, main .button:visible, main input:visible:not([type=radio])")
    heights = [box["height"] for box in (one.bounding_box() for one in low.all())]
    assert np.min(heights, initial=99) >= 40, place


@pytest.mark.parametrize(("scheme", "width"), [("light", None), ("dark", 320)])
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(browse, data, scheme, width):
    page = browse(color_scheme=scheme, **(phone(width) if width else {})).new_page()
    checker = axe.Axe()
    for place in visited(page, data):
        found = checker.run(page).response["violations"]
        assert [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in found] == [], place
        if width:
            check_fit(page, width, place)


@pytest.mark.slow
def test_a_larger_phone_needs_no_sideways_scrolling(browse, data):
    page = browse(**phone(PHONE["width"])).new_page()
    for place in visited(page, data):
        check_fit(page, PHONE["width"], place)
