"""Wheel and source distribution: what they hold, and that an empty environment can be made from them."""

import email
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

import etana
from reference import ROOT

pytestmark = pytest.mark.slow
PIP = ("-m", "pip", "--disable-pip-version-check", "-q")
PLAIN = os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}  # .ci/first_hour.py follows the wheel with compiled loops


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution of the checkout, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    venv.create(folder / "build", with_pip=True)
    python = folder / "build" / "bin" / "python"
    subprocess.run([python, *PIP, "install", "hatchling"], check=True)
    subprocess.run([python, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], cwd=ROOT, check=True)
    sdist = next(folder.glob("etana-*.tar.gz"))
    # From the source distribution: what it lacks would be missing here.
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, sdist], env=PLAIN, check=True)
    return sdist, next(folder.glob("etana-*.whl"))


def test_the_source_distribution_has_pictures_and_no_leftovers(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "docs/screenshots/case.png", "tests/conftest.py", ".ci/compiled_loops.py"} <= names
    assert not [name for name in names if name.endswith((".pyc", ".nbc", ".nbi")) or ".venv" in name]


def test_the_wheel_has_types_tables_and_templates_and_nothing_of_the_checkout(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = wheel.namelist()
        data = next(name for name in names if name.endswith("METADATA"))
        metadata = email.message_from_bytes(wheel.read(data))
    for name in ("py.typed", "datasets/tables/heart/processed.cleveland.data", "service/templates/base.html"):
        assert f"etana/{name}" in names
    assert {name.partition("/")[0] for name in names} == {"etana", data.partition("/")[0]}
    text = metadata.get_payload()
    assert "# etana" in text
    assert "FrugalClassifier" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert not [link for link in links if not link.startswith(("https://", "#"))]


def test_a_wheel_is_built_where_loops_cannot_be_compiled(built, tmp_path):
    """The plain one, for any machine, and a line that says why."""
    python = built[0].parent / "build" / "bin" / "python"  # without Numba
    command = [python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    (line,) = re.findall("a wheel without compiled loops.*", done.stdout + done.stderr)
    assert line.endswith("No module named 'numba'")
    (wheel,) = tmp_path.glob("etana-*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")


def test_an_empty_environment_from_the_wheel(built, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, *PIP, "install", built[1]], check=True)
    done = subprocess.run(
        [python.with_name("etana"), "data", "heart"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
    )
    assert "heart.csv written" in done.stderr
    program = "import etana, importlib.util as u; print(etana.__version__, u.find_spec('pandas'))"
    said = subprocess.run(
        [python, "-I", "-c", program], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
    )
    assert said.stdout.split() == [etana.__version__, "None"]
