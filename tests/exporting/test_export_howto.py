"""The programs and commands of the how-to, run as they stand there; its Python is run with the other pages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import bundled

import etana

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "export.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.M | re.S)
SAVED = {"c": "main.c", "js": "main.mjs"}

pytestmark = pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("node")), reason="needs gcc and Node")


def test_programs_and_commands_do_as_the_page_says(tmp_path):
    X, y = bundled("breast_cancer")
    labels = [("malignant", "benign")[label] for label in y]
    etana.save(
        etana.ETANAClassifier(feature_costs=0.01, ordering="error").fit(X[::2], labels[::2]), tmp_path / "model.etana"
    )
    (tmp_path / "etana").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m etana.cli "$@"\n')
    (tmp_path / "etana").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    out, checked = "", 0
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language in SAVED:
            (tmp_path / SAVED[language]).write_text(text)
        elif language == "sh":
            done = subprocess.run(["sh", "-e", "-c", text], cwd=tmp_path, env=environment, capture_output=True,
                                  text=True, timeout=300)  # fmt: skip
            assert done.returncode == 0, done.stderr
            out = done.stdout
        elif language == "text":
            assert out == text
            checked += 1
    assert checked == 2
    assert "<title>Ward 3" in (tmp_path / "ward.html").read_text(encoding="utf-8")
