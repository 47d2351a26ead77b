"""Make the screenshots of the web page: ``python docs/screenshot.py FOLDER``.

Fits a model with prices on data bundled with scikit-learn, serves it, and drives the system's Chromium through a case.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from sklearn.datasets import load_breast_cancer, load_wine

import etana

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENT = 261


def main(folder: Path) -> None:
    """Write one PNG file per picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        row = fit(Path(scratch))
        server, address = serve(scratch)
        try:
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
                page = chromium.new_page(viewport=DESKTOP)
                walk(page, address, row, last=4)
                page.screenshot(path=folder / "case.png")
                page = chromium.new_page(viewport=PHONE, color_scheme="dark")
                walk(page, address, row)
                page.screenshot(path=folder / "phone.png")
                chromium.close()
        finally:
            server.terminate()
            server.wait()


def fit(folder: Path) -> dict[str, float]:
    """Save models whose features have prices; returns a patient whom no model has seen."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    prices = {name: {"mean": 4.0, "worst": 12.0}.get(name.split()[0], 7.5) for name in X.columns}
    missed, alarm = 3000.0, 800.0
    clf = etana.ETANAClassifier(prices, [[0, alarm], [missed, 0]], random_state=0)
    rest = X.index != PATIENT
    etana.save(clf.fit(X[rest], np.where(y == 0, "malignant", "benign")[rest]), folder / "tumour.etana")
    wine = load_wine(as_frame=True)
    labels = wine.target_names[wine.target]
    etana.save(etana.ETANAClassifier(0.02, random_state=0).fit(wine.data, labels), folder / "wine.etana")
    return X.loc[PATIENT].to_dict()


def serve(folder: str) -> tuple[subprocess.Popen, str]:
    """Start the service on a free port."""
    log = Path(folder) / "log"
    with open(log, "wb") as file:
        command = [sys.executable, "-m", "etana.cli", "serve", folder, "--port", "0", "--store", f"{folder}/cases"]
        environment = {name: value for name, value in os.environ.items() if name != "ETANA_TOKEN"}
        server = subprocess.Popen(command, stderr=file, env=environment)
    for _ in range(1200):
        found = re.search(r"on (http://\S+)", log.read_text())
        if found:
            return server, found[1]
        time.sleep(0.05)
    raise SystemExit(f"the service does not start: {log.read_text()}")


def walk(page: Page, address: str, row: dict[str, float], last: int | None = None) -> None:
    """Start a case and answer until the decision, or up to a question."""
    page.goto(f"{address}/models/tumour")
    page.get_by_role("button", name="Start a case").click()
    asked = 1
    while page.locator("#decision").count() == 0 and asked != last:
        feature = page.locator("#ask").inner_text()
        page.get_by_label("Value").fill(str(row[feature]))
        with page.expect_navigation():
            page.get_by_role("button", name="Answer", exact=True).click()
        asked += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
