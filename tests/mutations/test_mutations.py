"""A wrong edit of one line is noticed by the tests that are named for it.

Sources are copied, edited in the copy and tested there; the checkout is never touched.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutations.mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "etana"
LIST = ROOT / "docs" / "mutations.md"
_LONGEST = 900  # seconds


def names(mutant):
    return mutant.what.replace(" ", "-")


@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_the_line_stands_once_and_its_tests_are_there(mutant):
    """An edit that no longer applies, or tests that were renamed, would guard nothing."""
    lines = [line.strip() for line in (PACKAGE / mutant.file).read_text().splitlines()]
    assert lines.count(mutant.old) == 1
    assert mutant.new != mutant.old
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert not function or f"def {function}(" in (ROOT / path).read_text()


def test_the_list_in_the_docs_is_this_one():
    text = LIST.read_text()
    assert len(MUTANTS) >= 30
    for mutant in MUTANTS:
        assert f"| {mutant.what} | `{mutant.file}` |" in text


def edited(mutant, folder: Path) -> Path:
    """A copy of the sources with one line changed."""
    sources = folder / "src"
    # Compiled loops come along, and hold as long as no kernel is edited: modification times are kept.
    shutil.copytree(ROOT / "src", sources)
    path = sources / "etana" / mutant.file
    lines = path.read_text().splitlines(keepends=True)
    (at,) = (k for k, line in enumerate(lines) if line.strip() == mutant.old)
    lines[at] = lines[at].replace(mutant.old, mutant.new)
    path.write_text("".join(lines))
    return sources


def run(sources: Path, tests, compiled: bool) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(sources), "NUMBA_DISABLE_JIT": "0" if compiled else "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "", *tests]
    if not compiled:
        command += ["-W", "ignore::RuntimeWarning"]  # compiled loops take the logarithm of 0 without a word
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_LONGEST)


@pytest.mark.slow
def test_uncompiled_loops_pass_without_an_edit():
    """Else a kernel's mutant would die of being uncompiled."""
    tests = sorted({test for mutant in MUTANTS if not mutant.compiled for test in mutant.tests})
    done = run(ROOT / "src", tests, compiled=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_a_wrong_edit_is_noticed(mutant, tmp_path):
    """A failed test ends pytest with 1; anything else (0: none failed, 2 to 5: none was run) is no kill."""
    done = run(edited(mutant, tmp_path), mutant.tests, mutant.compiled)
    assert done.returncode == 1, done.stdout[-3000:]
