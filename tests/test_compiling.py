"""What waits for a compilation, and what does not."""

import gc
import importlib
import operator
import os
import pickle
import pkgutil
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import types
from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import _nrt_python, rtsys

import etana.kernels
from etana.kernels import compiling, rules
from etana.kernels._cache import _Announcement
from etana.kernels._passes import KnownTypes
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


@njit(nogil=True)
def first_of(x):
    return x[0]


@njit(nogil=True)
def sum_of_firsts(table):
    total = 0.0
    for i in range(table.shape[0]):
        total += first_of(table[i])
    return total


@njit(nogil=True)
def sum_of_doubles(x):
    return first_of(x + x)


@njit(nogil=True)
def sum_of_chosen(x):
    return first_of(x[np.array([1, 0])])


@njit(nogil=True)
def sum_of_room(x):
    room = np.empty(x.size)
    room[0] = x[0]
    return first_of(room)


@njit(nogil=True)
def rest_of(x):
    return x[1:]


@njit(nogil=True)
def shifted(x):
    x[1:] = x[:-1]  # copied first, where the two overlap
    return x[-1]


@njit(nogil=True)
def median_of(x):
    return np.median(x)


@njit(nogil=True)
def middle_of(x):
    return x.copy()[len(x) // 2]


def counts_references(kernel):
    (whole,) = kernel.overloads.values()
    return "NRT_" in whole.library.get_llvm_str()


@parts_are_linked
def test_a_kernel_that_makes_no_array_counts_no_references():
    assert sum_of_firsts(np.arange(6.0).reshape(3, 2)) == 6.0
    assert not counts_references(sum_of_firsts)
    assert sum_of_room(np.arange(6.0)) == 0.0
    assert counts_references(sum_of_room)


@parts_are_linked
@pytest.mark.parametrize("kernel", [sum_of_doubles, sum_of_chosen, sum_of_room, rest_of])
def test_what_a_kernel_makes_is_given_back(kernel):
    """By arithmetic on arrays, by indices, by hand, or as what is returned: a part of the argument."""
    x = np.arange(1.0, 6.0)
    kernel(x)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(10):
            kernel(x)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0


@pytest.mark.parametrize("kernel", [shifted, median_of, middle_of])
def test_room_that_numba_takes_for_itself_can_be_had(kernel):
    """For an assignment, in a function of NumPy's, in a method: what comes back is a number."""
    x = np.arange(5.0)
    expected = kernel.py_func(x.copy())
    assert kernel(x) == expected


def test_a_part_of_an_argument_outlives_it():
    rest = rest_of(np.arange(100_000.0))
    assert np.array_equal(rest, np.arange(1, 100_000))


def test_division_by_zero_is_that_of_numpy():
    assert njit(nogil=True)(lambda x, y: x / y)(1.0, 0.0) == np.inf


@parts_are_linked
def test_an_operator_is_looked_for_once():
    asked = []

    class Context:
        def resolve_function_type(self, func, args, kws):
            asked.append((func, args))
            return len(asked)

    context, known = Context(), {}
    some, others = (types.int64, types.int64), (types.int64, types.float64)
    for _ in range(2):  # kernels
        given = KnownTypes(context, known)
        found = [given.resolve_function_type(operator.add, args, {}) for args in (some, others, some)]
        assert found == [1, 2, 1]
    assert asked == [(operator.add, some), (operator.add, others)]
    assert KnownTypes(context, {}).resolve_function_type(operator.add, some, {}) == 3  # other flags


@parts_are_linked
def test_kernels_share_what_is_numbas():
    """Whether they are taken in by others or not."""
    compiled = []

    class Listener(event.Listener):
        def on_start(self, event):
            compiled.append(event.data["dispatcher"].py_func.__qualname__)

        def on_end(self, event):
            pass

    def larger(x, y):
        return max(x, y, 7 * x)

    with event.install_listener("numba:compile", Listener()):
        for options in ({}, {"forceinline": True}):
            assert njit(nogil=True, **options)(larger)(np.float32(1), np.float32(2)) == 7
    assert len(compiled) == len(set(compiled)) + 1  # the kernel itself


def test_a_numba_without_the_passes_still_compiles():
    """The names of its passes are looked for only where they are known to be there."""
    code = (
        "import sys, numba, numba.core.untyped_passes as passes\n"
        "numba.__version__ = '0.99.0'\n"
        "del passes.RewriteDynamicRaises\n"
        "from etana.kernels.compiling import njit\n"
        "assert njit(nogil=True)(lambda x: x + 1)(1) == 2\n"
        "assert 'etana.kernels._passes' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr


FIRST_FIT = """
import sys
from collections import Counter
from numba.core import event
from sklearn.datasets import load_breast_cancer
import etana
from etana.kernels.compiling import Kernel
compiled = Counter()
class Listener(event.Listener):
    def on_start(self, event):
        compiled[event.data["dispatcher"].py_func.__qualname__, str(event.data["args"])] += 1
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
getattr(etana, sys.argv[1])().fit(*load_breast_cancer(return_X_y=True, as_frame=sys.argv[2] == "frame"))
kernels = {
    kernel for name, module in sys.modules.items() if name.startswith("etana.kernels.")
    for kernel in vars(module).values() if isinstance(kernel, Kernel)
}
numbas = sum(n for (name, _), n in compiled.items() if "<locals>" in name)
print(sum(len(k.overloads) for k in kernels), sum(len(k.part.overloads) for k in kernels), numbas)
"""


@parts_are_linked
@pytest.mark.parametrize(
    ("classifier", "table", "most"),
    [("ETANAClassifier", "array", (10, 62, 20)), ("AdaptiveClassifier", "frame", (11, 85, 20))],
)
def test_a_first_fit_compiles_little(tmp_path, classifier, table, most):
    """From an empty cache: what is compiled in full costs most, a kernel for two types costs twice, and so does what
    kernels take from Numba."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_FIT, classifier, table]
    done = subprocess.run(command, env=given, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    kernels, parts, numbas = map(int, done.stdout.split())
    assert 0 < kernels <= most[0]
    assert 0 < parts <= most[1]
    assert 0 < numbas <= most[2]
