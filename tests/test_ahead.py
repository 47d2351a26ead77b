"""What is compiled ahead of a first fit is what first fits need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import etana
from etana.kernels._loops import SHIPPED
from etana.kernels.compiling import knows_numba

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not knows_numba(), reason="this Numba's loops do not travel")]
SOURCES = Path(etana.__file__).parent

FIRST = """
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
import etana
for load in (load_breast_cancer, load_wine, load_iris):
    X, y = load(return_X_y=True)
    for kind in ("ETANA", "Adaptive", "Sequential", "Committee"):
        clf = getattr(etana, f"{kind}Classifier")().fit(X[::3], y[::3])
        clf.predict(X)
        case = clf.start()
        print(kind, clf.expected_cost_, case.explain())
    print(etana.FrugalClassifier(effort="fast").fit(X[::3], y[::3]).acquire(X).costs.sum())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A package as a wheel brings it, elsewhere than where its loops were compiled."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCES, site / "etana", ignore=shutil.ignore_patterns("__pycache__"))
    folder = site / "etana" / "kernels" / SHIPPED
    command = [sys.executable, "-m", "etana.ahead", str(folder)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(SOURCES.parent)}, timeout=900)
    assert done.returncode == 0
    assert {path.suffix for path in folder.iterdir()} == {".nbc"}
    return site


def test_first_fits_compile_nothing_and_give_the_same(installed, tmp_path):
    said = []
    for site, cache in ((installed, "installed"), (SOURCES.parent, "plain")):
        given = os.environ | {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        done = subprocess.run([sys.executable, "-c", FIRST], env=given, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        said.append(done)
    assert "compiling loops" not in said[0].stderr
    assert "compiling loops" in said[1].stderr
    assert not [*(tmp_path / "installed").rglob("*.nbc")]
    assert said[0].stdout == said[1].stdout
