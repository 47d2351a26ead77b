"""Drives a real Chromium over our pages: starts cases, answers, presses keys."""

import re
import shutil

import numpy as np
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=20_000)

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PHONE = {"width": 390, "height": 844}


def start(page, model) -> str:
    """Start a case; returns its id."""
    page.goto("/")
    follow(page, page.locator(f"form:has([value={model}]) button").click)
    return re.search(r"/cases/([\w-]{24})$", page.url)[1]


def follow(page, act) -> None:
    """Do something that leads to another page, and wait for that."""
    with page.expect_navigation(wait_until="domcontentloaded"):
        act()


def press(page, name) -> None:
    follow(page, page.get_by_role("button", name=name, exact=True).click)


def asked(page) -> str | None:
    """The name of the feature that is asked, as it stands in the page; None at the decision."""
    return page.evaluate("document.getElementById('ask')?.textContent ?? null")


def answer(page, value):
    if value is None or (isinstance(value, float) and np.isnan(value)):
        follow(page, page.locator("button[value=missing]").click)
        return
    choices = page.locator(".choice span").all_text_contents()
    if choices:
        text = ("no", "yes")[int(value)] if isinstance(value, bool | np.bool_) else value
        field = page.locator(".choice input").nth(choices.index(text))
        field.check()
    else:
        field = page.locator("#value")
        field.fill(repr(float(value)))
    follow(page, lambda: field.press("Enter"))


def to_the_end(page, row):
    while (name := asked(page)) is not None:
        answer(page, row[name])


def press_until(page, selector):
    """Press Tab until this is focused, which must be seen to be so."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            visible = "s => { const f = document.activeElement, e = f.closest('.choice') ?? f;"
            assert page.evaluate(visible + " return parseFloat(getComputedStyle(e).outlineWidth) }") >= 2
            return
    raise AssertionError(f"the keyboard does not reach {selector}")
