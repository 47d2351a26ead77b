"""Compiled loops: who waits for them is told once, and a package that cannot be written to works."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import etana
from etana.kernels import _cache

LOOP = """
import numpy as np
from etana.kernels.rules import normalise
belief = np.empty(2)
normalise(np.log([1.0, 3.0]), belief)
print(belief.round(12).tolist())
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package: beside its kernels no folder can be made, by whoever it is."""
    copy = tmp_path / "site" / "etana"
    shutil.copytree(Path(etana.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "__pycache__").touch()
    return copy


def run(package, **env):
    leave = ("NUMBA_CACHE_DIR", "PYTHONPATH")
    given = {name: value for name, value in os.environ.items() if name not in leave}
    given |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | env
    done = subprocess.run([sys.executable, "-c", LOOP], env=given, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.25, 0.75]\n"
    return done.stderr.splitlines()


def test_a_package_and_a_home_that_cannot_be_written_to(package, tmp_path):
    """Numba by itself says "no locator available" and nothing can be imported."""
    env = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "TMPDIR": str(tmp_path)}
    place, waiting = run(package, **env)
    (folder,) = tmp_path.glob("etana-loops-*")
    assert f"compiled loops are kept in {folder}." in place
    assert "NUMBA_CACHE_DIR" in place
    assert waiting == "etana: compiling loops, which takes up to a minute and happens once; they are kept on disk"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (again,) = run(package, **env)  # the second process finds them there, and need not wait
    assert again == place


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users are told apart otherwise here")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    """What is read from the folder is run: it must not be somebody else's."""
    monkeypatch.setattr(_cache.tempfile, "tempdir", str(tmp_path))
    own = _cache._folder_of_ones_own()
    assert _cache._folder_of_ones_own() == own
    own.chmod(0o777)
    assert _cache._folder_of_ones_own() != own
    own.rmdir()
    (tmp_path / "elsewhere").mkdir()
    own.symlink_to(tmp_path / "elsewhere")
    assert _cache._folder_of_ones_own() != own


FITS = """
import sys
from etana.kernels.compiling import Kernel
from numba.core.types import Literal
from sklearn.datasets import load_iris
import etana
X, y = load_iris(return_X_y=True)
etana.AdaptiveClassifier().fit(X, y).predict(X)
for classes in (2, 3):
    some = y < classes
    etana.ETANAClassifier().fit(X[some], y[some]).predict(X)
etana.FETANAClassifier(batch=64, max_iterations=5).fit(X, y)
etana.SequentialClassifier(max_features=2).fit(X, y).predict(X)
used = [
    (f"{name}.{function}", types)
    for name, module in sys.modules.items() if name.startswith("etana.kernels.")
    for function, kernel in vars(module).items() if isinstance(kernel, Kernel)
    for types in [*kernel.overloads, *kernel.part.overloads]
]
print(len(used), *[kernel for kernel, types in used if any(isinstance(t, Literal) for t in types)])
"""


@pytest.mark.slow
def test_no_kernel_is_compiled_for_a_literal(tmp_path):
    """A literal is a type of its own to Numba: one that is handed to a kernel compiles it once more.

    From an empty cache: a kernel that another one calls is not seen where that one is read from disk.
    """
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FITS], env=given, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    n_used, *literal = done.stdout.split()
    assert int(n_used) > 50
    assert not literal
