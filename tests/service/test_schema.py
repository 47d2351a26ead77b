"""Schemathesis finds nothing: the document is true, and no input that it thinks of breaks the service."""

import re
import subprocess
import sys

import pytest

TOKEN = "correct-horse-battery"
# A condition that does not hold is no fault of the request, and may be told before what is wrong with the rest of it.
SETTINGS = """
[checks]
negative_data_rejection.expected-statuses = [
    "400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "428", "429", "5xx",
]
positive_data_acceptance.expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "5xx"]
"""


def run(server, tmp_path, phases, examples, token=None, seconds=300):
    """Schemathesis against a server; returns how many test cases there were."""
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    header = ["-H", f"Authorization: Bearer {token}"] if token else []
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--checks", "all",
            "--phases", phases, "--max-examples", str(examples), "--seed", "7", "--no-shrink",
            "--request-timeout", "60", *header,
        ],
        cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " 500 " not in server.log
    assert "ERROR" not in server.log
    return int(re.search(r"(\d+) generated", done.stdout)[1])


@pytest.mark.parametrize(
    ("models", "token", "phases", "examples", "store"),
    [
        (["wine.etana", "hostile.etana"], TOKEN, "examples,coverage,fuzzing,stateful", 4, "sqlite"),
        (["hostile.etana"], None, "fuzzing,stateful", 4, "postgresql"),
    ],
    ids=["several", "one"],
)
def test_schemathesis_runs_clean(start_server, folder, tmp_path, request, models, token, phases, examples, store):
    place = "cases.sqlite" if store == "sqlite" else request.getfixturevalue("postgres").database()
    server = start_server(*(folder / m for m in models), "--store", place, token=token)
    assert run(server, tmp_path, phases, examples, token) > 50


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_schemathesis_runs_clean_in_5000_cases(start_server, folder, tmp_path, request, store):
    place = "cases.sqlite" if store == "sqlite" else request.getfixturevalue("postgres").database()
    server = start_server(folder / "wine.etana", folder / "hostile.etana", "--store", place, token=TOKEN)
    assert run(server, tmp_path, "examples,coverage,fuzzing,stateful", 400, TOKEN, 3000) >= 5000
