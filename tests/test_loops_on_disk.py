"""Files of compiled loops: they belong to the sources and to the processor, and damaged ones are not used."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import etana.kernels
from etana.kernels import _loops
from etana.kernels._loops import SHIPPED, source_stamp
from etana.kernels.compiling import Kernel, knows_numba, njit

pytestmark = pytest.mark.skipif(not knows_numba(), reason="this version of Numba keeps loops in its own way")

PART = """
from etana.kernels.compiling import njit

@njit(nogil=True, cache=True)
def step(x):
    return x + 1.0
"""
WHOLE = """
from etana.kernels.compiling import njit
from tiny.part import step

@njit(nogil=True, cache=True)
def two_steps(x):
    return step(step(x))
"""
RUN = """
from numba.core import event
class Listener(event.Listener):
    count = 0
    def on_start(self, event):
        self.count += 1
    def on_end(self, event):
        pass
listener = Listener()
event.register("numba:compile", listener)
from tiny.whole import two_steps
print(two_steps(1.0), listener.count)
"""


@pytest.fixture
def tiny(tmp_path):
    return make_tiny(tmp_path / "site")


def make_tiny(site):
    """A package with a kernel that is made of another one, in another file."""
    package = site / "tiny"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "part.py").write_text(PART)
    (package / "whole.py").write_text(WHOLE)
    return package


def run(package, cache, **env):
    """What the kernel gives for 1, and whether something was compiled, in a new process."""
    path = os.pathsep.join([str(package.parent), str(Path(etana.__file__).parents[1])])
    given = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"} | env
    done = subprocess.run([sys.executable, "-c", RUN], env=given, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    result, compiled = done.stdout.split()
    return float(result), int(compiled) > 0


def loops(folder):
    return sorted(path for path in folder.rglob("*.nbc"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What is compiled where the package is built."""
    folder = tmp_path_factory.mktemp("build")
    assert run(make_tiny(folder), folder / "loops") == (3.0, True)
    (loop,) = loops(folder / "loops")
    return loop


@pytest.fixture
def shipped(tiny, built):
    """The loop in the package, elsewhere and newer, as from a wheel."""
    for source in tiny.glob("*.py"):
        os.utime(source, (2e9, 2e9))
    (tiny / SHIPPED).mkdir()
    return Path(shutil.copy(built, tiny / SHIPPED))


def test_an_edit_of_a_part_in_another_file_is_heard(tiny, tmp_path):
    """Numba's own cache looks at the file of the kernel alone, and would give 3 again."""
    cache = tmp_path / "cache"
    assert run(tiny, cache) == (3.0, True)
    assert run(tiny, cache) == (3.0, False)
    (tiny / "part.py").write_text(PART.replace("1.0", "2.0"))
    assert run(tiny, cache) == (5.0, True)
    assert run(tiny, cache) == (5.0, False)
    assert len(loops(cache)) == 1  # the old loop is not left behind


def test_the_stamp_is_that_of_content(tmp_path):
    def stamp(**files):
        for path in tmp_path.iterdir():
            path.unlink()
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        source_stamp.cache_clear()
        return source_stamp(tmp_path)

    found = stamp(a="x = 1", b="y = 2")
    os.utime(tmp_path / "a.py", (1e9, 1e9))
    source_stamp.cache_clear()
    assert source_stamp(tmp_path) == found
    others = [
        stamp(a="x = 2", b="y = 2"), stamp(a="x = 1", b="y = 1"), stamp(a="x = 1"), stamp(a="x = 1", c="y = 2"),
        stamp(a="x = 1y = 2"), stamp(a="x = 1", b="y = 2", c=""),
    ]  # fmt: skip
    assert len({found, *others}) == 1 + len(others)
    source_stamp.cache_clear()


def test_kernels_take_nothing_from_outside_of_what_is_stamped():
    """A number from elsewhere would be compiled into loops that do not change with it."""
    for path in sorted(Path(etana.kernels.__file__).parent.glob("*.py")):
        taken = {
            name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom | ast.Import)
            for name in ([node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
            if name.startswith("etana") and not name.startswith("etana.kernels")
        }
        assert taken == ({"etana.files"} if path.name == "_loops.py" else set()), path.name


def test_loops_of_the_package_are_used_where_none_are_kept(shipped, tmp_path):
    package, before = shipped.parents[1], shipped.stat()
    assert run(package, tmp_path / "cache") == (3.0, False)
    assert loops(tmp_path / "cache") == []
    assert loops(package) == [shipped]
    assert (shipped.stat().st_mtime_ns, shipped.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def cut(content):
    return content[:-100]


def flip(content):
    return content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]


@pytest.mark.parametrize("damage", [cut, flip, lambda content: content[:40], lambda content: b""])
def test_damaged_loops_of_the_package_are_compiled_again(shipped, tmp_path, damage):
    damaged = damage(shipped.read_bytes())
    shipped.write_bytes(damaged)
    assert run(shipped.parents[1], tmp_path / "cache") == (3.0, True)
    assert shipped.read_bytes() == damaged  # nobody writes there


def test_damaged_loops_that_were_kept_are_replaced(tiny, tmp_path):
    cache = tmp_path / "cache"
    assert run(tiny, cache) == (3.0, True)
    (kept,) = loops(cache)
    kept.write_bytes(flip(kept.read_bytes()))
    assert run(tiny, cache) == (3.0, True)
    assert run(tiny, cache) == (3.0, False)


def test_loops_of_other_sources_are_not_used(shipped, tmp_path):
    (shipped.parents[1] / "part.py").write_text(PART.replace("1.0", "2.0"))
    assert run(shipped.parents[1], tmp_path / "cache") == (5.0, True)


@pytest.mark.parametrize(
    "setting", [{"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, {"NUMBA_BOUNDSCHECK": "1"}]
)
def test_loops_for_another_processor_or_with_other_settings_are_not_used(shipped, tmp_path, setting):
    package, cache = shipped.parents[1], tmp_path / "cache"
    assert run(package, cache, **setting) == (3.0, True)
    assert len(loops(cache)) == 1
    assert run(package, cache) == (3.0, False)  # both have their place


@pytest.fixture
def kept_in(tmp_path, monkeypatch):
    """Where loops of this file are kept during a test."""
    folder = tmp_path / "kept"
    monkeypatch.setitem(_loops._places, Path(__file__).parent, str(folder))
    return folder


def test_a_loop_that_cannot_be_kept_runs(kept_in, caplog):
    kernel = njit(nogil=True, cache=True)(_plus_one)
    assert kernel(2.0) == 3.0
    assert [record.message for record in caplog.records if "cannot be kept" in record.message]
    assert not kept_in.exists()


def test_what_has_addresses_in_it_is_not_kept(kept_in):
    """A large array is not copied into a loop: its address is, and another process has something else there."""
    kept_in.mkdir()
    assert njit(nogil=True, cache=True)(_of_large)(5) == 5.0
    assert loops(kept_in) == []
    kernel = njit(nogil=True, cache=True)(_plus_one)
    kernel(2.0)
    assert len(loops(kept_in)) == 1
    kernel.recompile()
    assert kernel(2.0) == 3.0
    assert len(loops(kept_in)) == 1


def test_what_more_than_its_source_makes_is_numbas_business(kept_in):
    def with_closure(x):
        return x + kept

    kept = 1.0
    kernel = Kernel(with_closure)
    assert with_closure.__closure__ is not None
    kernel.enable_caching()
    assert not isinstance(kernel._cache, _loops.LoopFiles)


def _plus_one(x):
    return x + 1.0


LARGE = np.arange(200_000.0)


def _of_large(i):
    return LARGE[i]
