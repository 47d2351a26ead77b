"""The page, opened from disk in a real Chromium: whole cases, a reload, a phone, and no request but for itself."""

import re
import shutil

import numpy as np
import pytest
from samples import sample

import etana

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PHONE = {"width": 390, "height": 844}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens a file; at the end nothing else was asked for, and nothing was complained of."""
    context = chromium.new_context(offline=True, viewport=PHONE)
    context.set_default_timeout(20_000)
    requests, complaints = [], []
    context.on("request", lambda request: requests.append(request.url))
    context.on("console", lambda message: complaints.append(message.text))
    context.on("weberror", lambda error: complaints.append(str(error.error)))

    def open_page(path):
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_page
    context.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


def asked(page) -> str | None:
    return page.evaluate("document.getElementById('ask')?.textContent ?? null")


def words(value) -> str:
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool | str) else value


def answer(page, value) -> None:
    if value is None or value != value:
        page.get_by_role("button", name="Came back empty").click()
        return
    choices = page.locator(".choice span").all_text_contents()
    if choices and words(value) in choices:
        page.locator(".choice input").nth(choices.index(words(value))).check()
    elif choices:
        page.get_by_role("button", name="Came back empty").click()
        return
    else:
        page.locator("#value").fill(repr(float(value)))
    page.get_by_role("button", name="Answer", exact=True).click()


def to_the_end(page, row) -> None:
    while (name := asked(page)) is not None:
        value = row[name]
        answer(page, value.item() if isinstance(value, np.generic) else value)


@pytest.mark.parametrize(("name", "way"), [("clinic3", "adaptive"), ("clinic3", "etana"), ("breast_cancer", "etana")])
def test_a_case_ends_as_the_model_decides(name, way, tmp_path, open_page):
    clf, rows = sample(name, way)
    # A label that nobody has heard of cannot be chosen on a page.
    rows = rows[:6]
    etana.export(clf, tmp_path / "case.html", rows=rows, title='A <clinic> & "more"')
    page = open_page(tmp_path / "case.html")
    assert page.title() == 'A <clinic> & "more" – etana'
    walk = clf.acquire(rows)
    for i in range(len(rows)):
        to_the_end(page, rows.iloc[i])
        assert page.locator("#decision").inner_text() == str(walk.labels[i])
        assert page.locator("#asked").inner_text() == str(walk.n_features[i])
        assert float(page.locator("#cost").inner_text()) == pytest.approx(walk.costs[i], rel=1e-5)
        names = [clf.model_.name_of(column) for column in walk.features(i)]
        assert page.locator(".path .asked b").evaluate_all("es => es.map(e => e.textContent)") == names
        page.get_by_role("button", name="Start another case").click()


def test_it_stays_through_a_reload_and_fits_a_phone(tmp_path, open_page):
    clf, rows = sample("breast_cancer", "etana")
    etana.export(clf, tmp_path / "case.html")
    page = open_page(tmp_path / "case.html")
    first = asked(page)
    assert page.evaluate("localStorage.length") == 0  # a page that opens writes over nothing
    answer(page, float(rows.iloc[0][first]))
    if asked(page) is None:
        pytest.fail("the first answer decides; take another row")
    second, spent = asked(page), page.locator("#spent").inner_text()
    for _ in range(5):  # a busy browser hands over what a page has stored a little later
        page.reload()
        if asked(page) == second:
            break
    assert (asked(page), page.locator("#spent").inner_text()) == (second, spent)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Undo the last answer").click()
    assert asked(page) == first
    page.get_by_role("button", name="Forget this case").click()
    assert page.locator(".path").count() == 0


def test_a_budget_and_a_print_without_buttons(tmp_path, open_page):
    clf, rows = sample("breast_cancer", "etana")
    etana.export(clf, tmp_path / "case.html")
    page = open_page(tmp_path / "case.html")
    to_the_end(page, rows.iloc[0])
    page.locator("#budget").fill("0")
    page.get_by_role("button", name="Start another case").click()
    assert page.locator("#asked").inner_text() == "0"
    page.emulate_media(media="print")
    assert page.locator("#decision").is_visible()
    assert not page.get_by_role("button", name="Start another case").is_visible()
    assert page.pdf()[:4] == b"%PDF"


def test_nothing_in_the_file_points_elsewhere(tmp_path):
    clf, _ = sample("clinic3", "adaptive")
    etana.export(clf, tmp_path / "case.html")
    text = (tmp_path / "case.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'<>%]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert text.count("</script>") == 1
