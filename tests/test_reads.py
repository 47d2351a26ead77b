"""The walk reads what it asks for and nothing else: reads are counted, not timed.

The kernel runs as plain Python over arrays that count, so that one read too many is an error, whatever it costs. What
the compiled kernel touches is checked with memory that must not be touched.
"""

import inspect
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

from etana import ETANAClassifier, SequentialClassifier
from etana.kernels import walk as kernel
from etana.kernels.walk import Outcomes, Storage
from etana.table import read_table
from etana.walks import generic
from etana.walks.acquisition import storage_of


class Counting:
    """An array that notes each index that is read; it knows nothing that could be read without a note."""

    def __init__(self, array):
        self._array = array
        self.reads = []

    def __getitem__(self, index):
        self.reads.append(index)
        return self._array[index]


@pytest.fixture(scope="module", params=[load_breast_cancer, load_wine], ids=["two classes", "three"])
def fitted(request):
    X, y = request.param(return_X_y=True)
    return ETANAClassifier(feature_costs=0.005).fit(X[::2], y[::2]), np.ascontiguousarray(X[1::2])


def count(clf, X, max_cost=np.inf, walk=None):
    """Run the walk as Python; returns the reads of each array by name, and how many features each row was asked."""
    stages, n = clf.model_.compiled, X.shape[0]
    walk = stages.loop.func.py_func if walk is None else walk
    names = ("dense", "data", "indices", "indptr")
    kind, *arrays, columns = storage_of(read_table(X), stages.columns, clf.model_.levels)
    counted = dict(zip(names, map(Counting, arrays), strict=True))
    asked = np.empty(n, dtype=np.int64)
    outcomes = Outcomes(np.empty(n, dtype=np.int64), asked, np.empty(n), np.empty((n, clf.classes_.size)))
    storage = Storage(kind, *counted.values(), columns)
    walk(*stages.loop.args, storage, stages.bins, stages.cells, max_cost, 0, n, outcomes)
    expected = clf.acquire(X, None if max_cost == np.inf else max_cost)
    assert np.array_equal(asked, expected.n_features)
    assert np.array_equal(outcomes.posteriors, expected.posteriors)
    return {name: array.reads for name, array in counted.items()}, asked


def home(clf):
    """The module of the loop that a classifier walks by."""
    return sys.modules[clf.model_.compiled.loop.func.py_func.__module__]


@pytest.mark.parametrize("max_cost", [np.inf, 0.012, 0.0])
def test_a_value_is_read_once_if_it_is_asked_for_and_never_else(fitted, max_cost):
    clf, X = fitted
    reads, asked = count(clf, X, max_cost)
    wanted = [(row, int(column)) for row in range(len(X)) for column in clf.feature_order_[: asked[row]]]
    assert sorted((int(r), int(c)) for r, c in reads["dense"]) == sorted(wanted)
    assert len(wanted) == asked.sum() < X.size / 2
    assert not any(reads[name] for name in ("data", "indices", "indptr"))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_a_sparse_row_is_searched_and_not_read_through(fitted, form, monkeypatch):
    """For each question two ends, a binary search and at most one value."""
    clf, X = fitted
    monkeypatch.setattr(home(clf), "sparse_value", kernel.sparse_value.py_func)
    matrix = form(X * (np.arange(X.size).reshape(X.shape) % 3 > 0))
    reads, asked = count(clf, matrix)
    longest = np.diff(matrix.indptr).max()
    assert len(reads["data"]) <= asked.sum() == len(reads["indptr"]) / 2
    assert len(reads["indices"]) <= asked.sum() * (math.ceil(math.log2(longest + 1)) + 1)
    assert not reads["dense"]


def test_edges_are_read_for_the_features_that_are_asked(fitted, monkeypatch):
    """Each question reads each edge of its feature once at most, and belongs to one stage."""
    looked_up = []
    compiled = kernel.bin_of

    def noting(value, edges, first, last, missing):
        looked_up.append(last - first)
        return compiled(value, edges, first, last, missing)

    clf, X = fitted
    monkeypatch.setattr(home(clf), "bin_of", noting)
    _, asked = count(clf, X)
    widths = np.diff(clf.binner_.edge_offsets)[clf.feature_order_]
    assert sum(looked_up) == sum(widths[:k].sum() for k in asked)


def test_the_counter_notices_one_read_too_many(fitted):
    clf, X = fitted
    loop = clf.model_.compiled.loop.func.py_func
    source = textwrap.dedent(inspect.getsource(loop))
    place = "                code = bin_of("
    assert source.count(place) == 1
    worse = source[source.index("def ") :].replace(place, "                dense[row, 0]\n" + place)
    space = dict(vars(home(clf)))
    exec(worse, space)
    reads, asked = count(clf, X, walk=space[loop.__name__])
    assert len(reads["dense"]) == 2 * asked.sum()


GUARDED = """
import ctypes, mmap, sys
import numpy as np
from sklearn.datasets import load_breast_cancer
from etana import ETANAClassifier, SequentialClassifier

X, y = load_breast_cancer(return_X_y=True)
clf = {"etana": ETANAClassifier, "sequential": SequentialClassifier}[sys.argv[2]](feature_costs=0.02).fit(X, y)
rows = mmap.PAGESIZE // 8
X = X[:rows]
walk = clf.acquire(X)
never = np.setdiff1d(np.arange(X.shape[1]), clf.feature_order_[: walk.n_features.max()])
assert never.size >= 5
# Each column on pages of its own; those that are never asked for must not be touched.
memory = mmap.mmap(-1, X.shape[1] * mmap.PAGESIZE)
guarded = np.frombuffer(memory, dtype=np.float64).reshape(X.shape[1], rows).T[: len(X)]
guarded[:] = X
libc = ctypes.CDLL(None, use_errno=True)
for column in never.tolist():
    page = ctypes.c_void_p(guarded[:, column].ctypes.data)
    assert libc.mprotect(page, mmap.PAGESIZE, 0) == 0
if sys.argv[1] == "touch":
    print(guarded[0, never[0]])
assert np.array_equal(clf.predict(guarded), walk.labels)
print("untouched")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="guards pages with mprotect")
@pytest.mark.parametrize("method", ["etana", "sequential"])
def test_the_compiled_walk_touches_no_column_that_is_never_asked_for(method):
    def run(mode):
        command = [sys.executable, "-c", GUARDED, mode, method]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    done = run("leave")
    assert done.stdout == "untouched\n", done.stderr
    assert run("touch").returncode < 0  # killed: the guard works


class Watched:
    """A dense table that notes which values are read."""

    def __init__(self, X):
        self._table = read_table(X)
        self.n_rows, self.n_features, self.names = self._table.n_rows, self._table.n_features, None
        self.read = set()

    def values(self, column, rows, levels):
        self.read |= {(int(row), int(column)) for row in rows}
        return self._table.values(column, rows, levels)


def test_any_classifier_reads_only_what_it_asks_for():
    """The loop for any pair of beliefs and policy takes values through one door, and only those that are asked for."""
    X, y = load_wine(return_X_y=True)
    model = SequentialClassifier(feature_costs=0.01).fit(X[::2], y[::2]).model_
    table = Watched(X[1::2])
    outcomes, asked, starts, _ = generic.walk(model.beliefs, model.policy, table)
    wanted = {(row, int(c)) for row, first in enumerate(starts) for c in asked[first : first + outcomes.asked[row]]}
    assert table.read == wanted
    assert len(wanted) < X[1::2].size / 3


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array, lambda X: X.astype(int)])
def test_one_column_of_some_rows(form):
    X = np.random.default_rng(0).integers(0, 3, (30, 7)).astype(float)
    rows = np.array([3, 29, 4, 4])
    assert read_table(form(X)).values(5, rows, {}).tolist() == X[rows, 5].tolist()
    labels = np.array([2.0, 0.0], dtype=object)
    expected = [np.inf if v == 1 else float([2.0, 0.0].index(v)) for v in X[rows, 5]]
    assert read_table(form(X)).values(5, rows, {5: labels}).tolist() == expected
