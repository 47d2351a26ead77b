"""What waits for a compilation, and what does not."""

import gc
import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import etana.kernels
from etana.kernels import compiling, rules
from etana.kernels._cache import _Announcement
from etana.kernels.compiling import Kernel, knows_numba, njit
from etana.kernels.rules import _CLASSES, _TESTS, interval_stops, interval_stops_rows, make_rule, stops, stops_rows


def compilation(function):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def own():
    """A compilation of one of the package's kernels."""
    return compilation(rules.normalise.py_func)


def test_no_garbage_is_collected_while_kernels_are_compiled(own):
    listener = _Announcement()
    assert gc.isenabled()
    listener.on_start(own)
    listener.on_start(compilation(np.sum))  # what the kernel calls
    assert not gc.isenabled()
    listener.on_end(compilation(np.sum))
    assert not gc.isenabled()
    listener.on_end(own)
    assert gc.isenabled()


def test_other_peoples_kernels_are_compiled_as_they_were():
    listener = _Announcement()
    listener.on_start(compilation(np.sum))
    assert gc.isenabled()
    listener.on_end(compilation(np.sum))
    assert gc.isenabled()


def test_who_does_without_collection_is_left_without_it(own):
    listener = _Announcement()
    gc.disable()
    try:
        listener.on_start(own)
        listener.on_end(own)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_rule_has_the_class_and_the_test_of_its_kind():
    """A loop is compiled for the class of the rule: one class for two kinds would take the test of the first."""
    kinds = [rules.NEVER, rules.INTERVAL, rules.ALPHA, rules.FITTED, rules.LINEAR, rules.GRID_NEAREST]
    kinds.append(rules.GRID_INTERPOLATE)
    assert kinds == list(range(len(_CLASSES))) == list(range(len(_TESTS)))
    for kind in kinds:
        rule = make_rule(kind, np.zeros((1, 2)), np.zeros((1, 1), np.int64), np.zeros(1), np.zeros((2, 2)))
        assert type(rule) is _CLASSES[kind]
        assert _CLASSES[kind].__doc__ in (f"Of kind {name}." for name, value in vars(rules).items() if value == kind)
    assert len(set(_CLASSES)) == len(kinds)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_the_comparison_of_intervals_is_that_of_the_loops(stage):
    """Also at the ends of an interval, for classes that are ruled out, and beyond the last stage."""
    table = np.array([[-1.0, 2.0], [0.5, 0.5]])
    rng = np.random.default_rng(0)
    logs = np.concatenate([rng.normal(size=(50, 2)), [[0.0, -1.0], [0.0, 2.0], [-np.inf, 0.0], [0.0, -np.inf]]])
    found = interval_stops_rows(table, stage, logs)
    assert found.tolist() == [interval_stops(table, stage, a, b) for a, b in logs]
    rule = make_rule(rules.INTERVAL, table, np.zeros((1, 1), np.int64), np.ones(3), 1 - np.eye(2))
    out = np.empty(len(logs), dtype=bool)
    stops_rows(rule, stage, logs, out)
    assert out.tolist() == found.tolist()
    assert [stops(*rule, stage, row, np.empty(2), np.empty(2)) for row in logs] == found.tolist()
    assert 0 < found.sum() < len(found) or stage > 0


@njit(nogil=True)
def half(x):
    return x / 2.0


@njit(nogil=True)
def quarter(x):
    return half(half(x))


@njit(nogil=True)
def sum_to(n):
    return n + sum_to(n - 1) if n > 0 else 0


parts_are_linked = pytest.mark.skipif(not knows_numba(), reason="this version of Numba compiles in its own way")


@pytest.mark.parametrize(
    ("version", "known"),
    [("0.60.3", False), ("0.61.0", True), ("0.68.1rc1", True), ("0.69.0dev0", False), ("1.0.0", False)],
)
def test_versions_of_numba_that_were_tried_are_known(version, known):
    assert knows_numba(version) == known


def test_another_numba_compiles_in_its_own_way(monkeypatch):
    monkeypatch.setattr(compiling, "knows_numba", lambda: False)
    plain = njit(nogil=True)(lambda x: x / 2.0)
    assert isinstance(plain, Dispatcher)
    assert not isinstance(plain, Kernel)
    assert njit(nogil=True)(lambda x: plain(x) + 1.0)(10.0) == 6.0


@parts_are_linked
def test_a_part_is_linked_and_is_nothing_by_itself():
    """Machine code and an entry for Python are made of the kernel that Python calls, and of nothing below it."""
    assert quarter(10.0) == 2.5
    (whole,), (part,) = quarter.overloads.values(), half.part.overloads.values()
    assert [each.library._compiled for each in (whole, part)] == [True, False]
    wrapped = [each.fndesc.llvm_cpython_wrapper_name in each.library.get_llvm_str() for each in (whole, part)]
    assert wrapped == [True, False]
    assert not half.overloads
    assert half(3.0) == 1.5  # called from Python, it is a kernel like others
    assert len(half.overloads) == 1


def test_kernels_travel_by_name_and_those_without_one_as_they_are():
    """To workers of a cluster, which hold no kernel twice."""
    assert pickle.loads(pickle.dumps(rules.normalise)) is rules.normalise
    nameless = njit(nogil=True)(lambda x: quarter(x) + 2.0)
    again = pickle.loads(pickle.dumps(nameless))
    assert again(10.0) == 4.5


def test_functions_that_are_no_kernels_can_call_kernels():
    assert numba.njit(lambda x: quarter(x) + 1.0)(10.0) == 3.5


def test_a_kernel_can_call_itself():
    assert sum_to(4) == 10


@parts_are_linked
def test_every_loop_is_a_kernel():
    for found in pkgutil.iter_modules(etana.kernels.__path__):
        module = importlib.import_module(f"etana.kernels.{found.name}")
        for name, value in vars(module).items():
            assert isinstance(value, Kernel) or not isinstance(value, Dispatcher), f"{found.name}.{name}"


FIRST_FIT = """
import sys
from sklearn.datasets import load_breast_cancer
import etana
from etana.kernels.compiling import Kernel
etana.ETANAClassifier().fit(*load_breast_cancer(return_X_y=True))
kernels = {
    kernel for name, module in sys.modules.items() if name.startswith("etana.kernels.")
    for kernel in vars(module).values() if isinstance(kernel, Kernel)
}
print(sum(len(kernel.overloads) for kernel in kernels), sum(len(kernel.part.overloads) for kernel in kernels))
"""


@parts_are_linked
def test_a_first_fit_compiles_few_kernels(tmp_path):
    """From an empty cache: what is compiled in full costs most, and a kernel for two types costs twice."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_FIT]
    done = subprocess.run(command, env=given, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    kernels, parts = map(int, done.stdout.split())
    assert 0 < kernels <= 10
    assert 0 < parts <= 48
