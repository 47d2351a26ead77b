"""Schemathesis finds nothing: the document is true, and no input that it thinks of breaks the service."""

import re
import subprocess
import sys

import pytest

TOKEN = "correct-horse-battery"


@pytest.mark.parametrize(
    ("models", "token", "phases", "examples"),
    [
        (["wine.etana", "hostile.etana"], TOKEN, "examples,coverage,fuzzing,stateful", 8),
        (["hostile.etana"], None, "fuzzing,stateful", 6),
    ],
    ids=["several", "one"],
)
def test_schemathesis_runs_clean(start_server, folder, tmp_path, models, token, phases, examples):
    server = start_server(*(folder / m for m in models), token=token)
    header = ["-H", f"Authorization: Bearer {token}"] if token else []
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--checks", "all",
            "--phases", phases, "--max-examples", str(examples), "--seed", "7", "--no-shrink",
            "--request-timeout", "60", *header,
        ],
        cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout.rpartition("Test cases:")[2])[1]) > 50
    assert " 500 " not in server.log
    assert "ERROR" not in server.log
