"""Bins against slow, obvious twins; the same bins for the same numbers however they are stored or weighted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import etana.binning
import etana.threads
from binning_twins import code_twin, edges_twin, quantile_twin, supervised_twin
from etana import Binner
from etana.errors import InputError
from etana.kernels import columns as kernel
from etana.table import read_table

METHODS = ("uniform", "published", "quantile", "supervised")


def edges_of(binner, k=0):
    return binner.edges[binner.edge_offsets[k] : binner.edge_offsets[k + 1]].tolist()


def fit_count(binner, X, y, weights=None, n_classes=None):
    table = read_table(X)
    y = np.asarray(y, dtype=np.int64)
    weights = np.ones(table.n_rows) if weights is None else np.asarray(weights, dtype=float)
    return binner.fit_count(table, y, weights, n_classes or int(y.max()) + 1)


def count(binner, X, y, n_classes, weights=None):
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return binner.count(read_table(X), np.asarray(y, dtype=np.int64), weights, n_classes)


def same(a, b):
    """Two fitted binners are the same to the last bit."""
    for name in ("edges", "edge_offsets", "cell_offsets", "missing_codes"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


numbers = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, 1.0 - 2**-53, 5e-324, -5e-324, math.inf, -math.inf, math.nan]),
)


@st.composite
def columns(draw, most=60):
    n = draw(st.integers(1, most))
    values = draw(st.lists(numbers, min_size=n, max_size=n))
    classes = draw(st.lists(st.integers(0, draw(st.integers(0, 3))), min_size=n, max_size=n))
    return values, classes


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=150, deadline=None)
@given(data=columns(), bins=st.integers(1, 9))
def test_edges_counts_and_codes_are_those_of_the_twin(method, data, bins):
    values, classes = data
    want = edges_twin(method, values, classes, bins)
    for missing in ("skip", "bin"):
        binner = Binner(method, bins, missing)
        counts = fit_count(binner, np.array(values)[:, None], classes, n_classes=4)
        assert edges_of(binner) == want
        some_missing = missing == "bin" and any(math.isnan(v) for v in values)
        codes = [code_twin(v, want, len(want) + 1 if some_missing else -1) for v in values]
        assert binner.transform(np.array(values)[:, None])[:, 0].tolist() == codes
        twin = np.zeros((len(want) + 1 + some_missing, 4))
        for v, c in zip(codes, classes):
            if v >= 0:
                twin[v, c] += 1
        np.testing.assert_array_equal(counts, twin)
        np.testing.assert_array_equal(count(binner, np.array(values)[:, None], classes, 4), twin)


@pytest.mark.parametrize("ties", [False, True])
def test_supervised_cuts_of_structured_columns_are_those_of_the_twin(ties):
    rng = np.random.default_rng(0)
    made = 0
    for classes in (2, 3, 7):
        y = rng.integers(classes, size=400)
        for strength in (0.0, 0.5, 2.0, 10.0):
            x = strength * y + rng.normal(size=400)
            x = np.round(x, 1) if ties else x
            for bins in (2, 4, 32):
                binner = Binner("supervised", bins).fit(x[:, None], y)
                want = supervised_twin(x.tolist(), y.tolist(), bins)
                assert edges_of(binner) == want
                made += len(want)
    assert made > 40


def test_more_than_256_values_are_first_cut_into_256_quantiles():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = (x + rng.normal(size=3000) > 0).astype(int) + (x > 1.5)
    binner = Binner().fit(x[:, None], y)
    assert edges_of(binner) == supervised_twin(x.tolist(), y.tolist(), 32)
    assert set(edges_of(binner)) < set(quantile_twin(x.tolist(), 256))


def test_the_price_of_a_cut_stays_finite_for_very_many_classes():
    y = np.repeat(np.arange(700), 4)
    binner = Binner("supervised", 4).fit(y[:, None].astype(float), y)
    assert len(edges_of(binner)) == 3


def test_uniform_bins_are_those_of_linspace():
    x = np.random.default_rng(0).uniform(-3, 8, size=(500, 4))
    binner = Binner("uniform", 7).fit(x)
    for k in range(4):
        want = np.linspace(x[:, k].min(), x[:, k].max(), 8)[1:-1]
        np.testing.assert_allclose(edges_of(binner, k), want, rtol=1e-13)
    published = Binner("published", 4).fit([[0.3], [3.2]])
    assert edges_of(published) == [1.0, 2.0, 3.0]


def test_quantile_bins_hold_equal_shares_of_continuous_data():
    x = np.random.default_rng(0).normal(size=(1200, 1))
    codes = Binner("quantile", 6).fit(x).transform(x)[:, 0]
    assert np.bincount(codes).tolist() == [200] * 6


def test_widest_range_of_floats_has_finite_increasing_edges():
    big = 2.0**1023
    x = np.array([[-big], [big], [0.0], [np.inf], [-np.inf]])
    for method in METHODS:
        edges = edges_of(Binner(method, 4).fit(x, [0, 1, 1, 0, 0]))
        assert np.isfinite(edges).all()
        assert (np.diff(edges) > 0).all()
    assert edges_of(Binner("uniform", 4).fit(x)) == [-big / 2, 0.0, big / 2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [2.5, 0.0, -1.0, np.inf, -np.inf])
def test_a_constant_column_has_one_bin_for_whatever_comes(method, value):
    binner = Binner(method, 5).fit(np.full((6, 1), value), [0, 1, 0, 1, 0, 1])
    assert binner.cell_offsets.tolist() == [0, 1]
    assert binner.transform([[-1e9], [0.0], [np.inf], [np.nan]])[:, 0].tolist() == [0, 0, 0, -1]


@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_missing_values_has_one_bin_beside_theirs(method):
    X = np.full((4, 1), np.nan)
    skip, own = Binner(method, 5), Binner(method, 5, "bin")
    assert fit_count(skip, X, [0, 1, 1, 1]).tolist() == [[0, 0]]
    assert fit_count(own, X, [0, 1, 1, 1]).tolist() == [[0, 0], [1, 3]]
    assert own.transform([[np.nan], [7.0]])[:, 0].tolist() == [1, 0]
    assert skip.transform([[np.nan], [7.0]])[:, 0].tolist() == [-1, 0]


def test_missing_has_a_bin_only_where_training_had_missing_values():
    binner = Binner("quantile", 2, "bin").fit([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0]])
    assert binner.missing_codes.tolist() == [-1, 2]
    assert binner.transform([[np.nan, np.nan]]).tolist() == [[-1, 2]]


@pytest.mark.parametrize("method", METHODS)
def test_values_outside_the_training_range_fall_into_the_outer_bins(method):
    x = np.r_[np.zeros(20), np.ones(20), np.full(20, 2.0)][:, None]
    binner = Binner(method, 3).fit(x, np.repeat([0, 1, 0], 20))
    assert binner.transform([[-9.0], [-np.inf], [9.0], [np.inf]])[:, 0].tolist() == [0, 0, 2, 2]


def test_adjacent_floats_are_told_apart():
    x = np.repeat([1.0, np.nextafter(1.0, 2.0)], 20)[:, None]
    for method in ("quantile", "supervised"):
        binner = Binner(method, 2).fit(x, np.repeat([0, 1], 20))
        assert binner.transform(x)[:, 0].tolist() == [0] * 20 + [1] * 20


@pytest.mark.parametrize("method", METHODS)
def test_one_row_and_no_column(method):
    assert Binner(method, 3).fit([[4.0]], [1]).transform([[4.0]]).tolist() == [[0]]
    empty = Binner(method, 3).fit(np.empty((3, 0)), [0, 1, 1])
    assert empty.n_features == 0
    assert empty.transform(np.empty((2, 0))).shape == (2, 0)


def test_categorical_columns_have_a_bin_per_level():
    frame = pd.DataFrame({"a": ["x", "y", None, "x"], "b": [True, False, True, None], "c": [None, None, None, None]})
    frame["d"] = pd.Series(["only"] * 4, dtype="category").cat.add_categories(["never"])
    frame["c"] = frame["c"].astype("category")
    binner = Binner("supervised", missing="bin")
    counts = fit_count(binner, frame, [0, 1, 1, 1])
    assert {k: v.tolist() for k, v in binner.levels.items()} == {
        0: ["x", "y"],
        1: [False, True],
        2: [],
        3: ["only"],
    }
    assert np.diff(binner.cell_offsets).tolist() == [3, 3, 2, 1]
    a, b, c, d = np.split(counts, binner.cell_offsets[1:-1])
    assert a.tolist() == [[1, 1], [0, 1], [0, 1]]
    assert b.tolist() == [[0, 1], [1, 1], [0, 1]]
    assert c.tolist() == [[0, 0], [1, 3]]
    assert d.tolist() == [[1, 3]]
    np.testing.assert_array_equal(count(binner, frame, [0, 1, 1, 1], 2), counts)
    new = pd.DataFrame(
        {"a": ["z", "y", None], "b": [True, None, False], "c": ["q", None, "r"], "d": ["never", None, "only"]}
    )
    assert binner.transform(new).tolist() == [[-1, 1, -1, -1], [1, 2, 1, -1], [2, 0, -1, 0]]
    assert binner.names == ["a", "b", "c", "d"]


def test_a_label_that_was_not_seen_is_not_counted():
    binner = Binner(missing="skip").fit([["x"], ["y"]], [0, 1])
    assert count(binner, [["x"], ["new"], [None]], [0, 0, 1], 2).tolist() == [[1, 0], [0, 0]]


def test_labels_of_numpy_and_of_python_are_the_same():
    python = Binner().fit([["b"], ["a"], ["b"]], [0, 1, 0])
    numpy = Binner().fit(np.array([["b"], ["a"], ["b"]]), [0, 1, 0])
    mixed = Binner().fit(np.array([[np.str_("b")], ["a"], ["b"]], dtype=object), [0, 1, 0])
    for binner in (python, numpy, mixed):
        assert [type(v) for v in binner.levels[0]] == [str, str]
        assert binner.transform(np.array([["a"], ["b"]]))[:, 0].tolist() == [0, 1]


def test_levels_meet_the_same_values_in_other_kinds_of_table():
    frame = pd.DataFrame({"flag": [True, False, True], "x": [1.0, 2.0, 3.0]})
    binner = Binner("quantile", 3).fit(frame)
    want = binner.transform(frame)
    for other in (frame.to_numpy(dtype=float), frame.to_numpy(dtype=object), sp.csr_array(frame.to_numpy(dtype=float))):
        np.testing.assert_array_equal(binner.transform(other), want)
        np.testing.assert_array_equal(count(binner, other, [0, 1, 1], 2), count(binner, frame, [0, 1, 1], 2))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None)
@given(data=columns(30), bins=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_whole_weights_are_repeated_rows_and_zero_weight_is_no_row(method, data, bins, seed):
    values, classes = np.array(data[0]), np.array(data[1])
    weights = np.random.default_rng(seed).integers(0, 4, size=len(values))
    if not weights.any():
        weights[0] = 1
    again = np.repeat(np.arange(len(values)), weights)
    for X in (values[:, None], sp.csc_array(values[:, None])):
        a, b = Binner(method, bins, "bin"), Binner(method, bins, "bin")
        weighted = fit_count(a, X, classes, weights, 4)
        repeated = fit_count(b, X[again], classes[again], None, 4)
        same(a, b)
        np.testing.assert_array_equal(weighted, repeated)
        np.testing.assert_array_equal(weighted, count(a, X, classes, 4, weights))


def test_weights_are_repeated_rows_for_labels_and_auto_bins_too():
    rng = np.random.default_rng(3)
    X = np.array([["rare" if r == 0 else "ab"[r % 2], float(r)] for r in range(60)], dtype=object)
    y, weights = rng.integers(3, size=60), rng.integers(0, 9, size=60)
    weights[0] = 0
    again = np.repeat(np.arange(60), weights)
    for method in METHODS:
        a, b = Binner(method), Binner(method)
        np.testing.assert_array_equal(fit_count(a, X, y, weights, 3), fit_count(b, X[again], y[again], None, 3))
        same(a, b)
        assert a.levels[0].tolist() == b.levels[0].tolist() == ["a", "b"]


def test_fractional_weights_scale_without_changing_bins():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 3)).round(1), rng.integers(2, size=300)
    weights = rng.integers(1, 4, size=300).astype(float)
    for method in ("uniform", "quantile"):
        a, b = Binner(method, 5), Binner(method, 5)
        counts = fit_count(a, X, y, weights)
        np.testing.assert_allclose(
            fit_count(b, sp.csr_array(X), y, weights * 0.1), counts * 0.1, rtol=1e-12, atol=1e-12
        )
        same(a, b)


def test_rounding_of_fractional_weights_makes_no_zeros_that_are_not_there():
    rng = np.random.default_rng(6)
    for _ in range(50):
        X, y, weights = rng.permutation(9.0 + np.arange(8))[:, None], rng.integers(2, size=8), rng.random(8)
        dense, sparse = Binner("quantile", 20), Binner("quantile", 20)
        np.testing.assert_array_equal(
            fit_count(dense, X, y, weights, 2), fit_count(sparse, sp.csc_array(X), y, weights, 2)
        )
        same(dense, sparse)


def storages(X):
    """The same numbers, stored in every accepted way."""
    rng = np.random.default_rng(0)
    yield "F", np.asfortranarray(X)
    yield "strided", np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    frozen = X.copy()
    frozen.setflags(write=False)
    yield "read-only", frozen
    yield "big-endian", X.astype(">f8")
    yield "object", X.astype(object)
    yield "lists", X.tolist()
    yield "pandas", pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.bsr_array):
        yield kind.__name__, kind(X)
    full = sp.csr_array((X.ravel(), np.tile(np.arange(X.shape[1]), X.shape[0]), np.arange(0, X.size + 1, X.shape[1])))
    yield "explicit zeros", full
    shuffled = sp.csc_array(X)
    for k in range(X.shape[1]):
        own = slice(shuffled.indptr[k], shuffled.indptr[k + 1])
        order = rng.permutation(own.stop - own.start)
        shuffled.indices[own], shuffled.data[own] = shuffled.indices[own][order], shuffled.data[own][order]
    shuffled.has_sorted_indices = False
    yield "unsorted", shuffled
    r, c = np.nonzero(X)
    half = X[r, c] / 2
    yield "duplicates", sp.coo_array((np.r_[half, half], (np.r_[r, r], np.r_[c, c])), shape=X.shape)


@pytest.mark.parametrize("method", METHODS)
def test_every_storage_gives_the_same_bins_counts_and_codes(method):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 6)).round(1) * (rng.random((90, 6)) < 0.5)
    X[:, 0] = 0.0
    X[rng.random((90, 6)) < 0.1] = np.nan
    X[0, 1], X[1, 1] = np.inf, -np.inf
    y, weights = rng.integers(3, size=90), rng.integers(0, 3, size=90)
    want = Binner(method, 4, "bin")
    counts = fit_count(want, X, y, weights)
    codes = want.transform(X)
    for name, other in storages(X):
        binner = Binner(method, 4, "bin")
        np.testing.assert_array_equal(fit_count(binner, other, y, weights), counts, err_msg=name)
        same(binner, want)
        np.testing.assert_array_equal(binner.transform(other), codes, err_msg=name)
        np.testing.assert_array_equal(count(want, other, y, 3, weights), counts, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint16, np.int64, np.bool_])
def test_other_number_types_are_the_floats_they_stand_for(dtype):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2 if dtype == np.bool_ else 9, size=(80, 5)).astype(dtype)
    y = (X[:, 0] > 3).astype(int) + (X[:, 1] > 0)
    for method in METHODS:
        want = Binner(method, 4).fit(X.astype(float), y)
        ways = [X, np.asfortranarray(X)]
        ways += [] if dtype == np.float16 else [sp.csr_array(X), sp.csc_matrix(X)]
        for other in ways:
            binner = Binner(method, 4).fit(other, y)
            same(binner, want)
            np.testing.assert_array_equal(binner.transform(other), want.transform(X.astype(float)))


@pytest.mark.parametrize("method", ["quantile", "supervised"])
def test_long_columns_are_cut_by_a_sample_alike_in_dense_and_sparse(method, monkeypatch):
    monkeypatch.setattr(etana.binning, "SAMPLE", 100)
    rng = np.random.default_rng(9)
    X = rng.normal(size=(2000, 4)).round(2) * (rng.random((2000, 4)) < [1.0, 0.5, 0.04, 0.001])
    X[::7, 0] = np.nan
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] + rng.normal(size=2000) > 0).astype(int)
    dense, sparse = Binner(method, 8), Binner(method, 8)
    counts = fit_count(dense, X, y)
    np.testing.assert_array_equal(fit_count(sparse, sp.csr_array(X), y), counts)
    same(dense, sparse)
    np.testing.assert_array_equal(count(dense, X, y, 2), counts)
    # Twin: of each column's values other than zero, 100 spread evenly over the rows; zeros in proportion.
    if method == "quantile":
        for k in range(4):
            x = X[:, k][(X[:, k] != 0) & ~np.isnan(X[:, k])]
            zeros = int((X[:, k] == 0).sum())
            if len(x) > 100:
                picked = [x[r * len(x) // 100] for r in range(100)]
                want = quantile_twin(np.repeat(picked, len(x)).tolist() + [0.0] * (zeros * 100), 8)
            else:
                want = quantile_twin([*x.tolist(), *[0.0] * zeros], 8)
            assert edges_of(dense, k) == want


def test_a_long_column_keeps_nearly_equal_shares():
    x = np.random.default_rng(0).normal(size=(50_000, 1))
    codes = Binner("quantile", 5).fit(x).transform(x)[:, 0]
    np.testing.assert_allclose(np.bincount(codes) / 50_000, 0.2, atol=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_results(method, monkeypatch):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 500)).round(1)
    y = (X[:, 3] > 0).astype(int)
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(etana.threads, "n_cores", lambda cores=cores: cores)
        for other in (X, sp.csr_array(X)):
            binner = Binner(method)
            counts = fit_count(binner, other, y)
            results.append((counts, count(binner, other, y, 2), binner.transform(X), binner.edges))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


def test_rows_in_another_order_give_the_same_bins():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(200, 5)).round(1), rng.integers(3, size=200)
    order = rng.permutation(200)
    for method in METHODS:
        same(Binner(method).fit(X, y), Binner(method).fit(X[order], y[order]))


def test_classes_in_another_order_give_the_same_cuts():
    rng = np.random.default_rng(13)
    y = rng.integers(5, size=400)
    X = (y[:, None] * rng.normal(size=8) + rng.normal(size=(400, 8))).round(1)
    same(Binner().fit(X, y), Binner().fit(X, rng.permutation(5)[y]))


def test_automatic_number_of_bins():
    x = np.arange(1000.0)[:, None]
    for method in ("uniform", "quantile"):
        assert np.diff(Binner(method).fit(x).cell_offsets) == [10]
        assert np.diff(Binner(method).fit(x, np.arange(1000) % 20).cell_offsets) == [20]
        assert np.diff(Binner(method).fit(x, np.arange(1000) % 50).cell_offsets) == [50]
        assert np.diff(Binner(method).fit(x[:1]).cell_offsets) == [1]
    assert np.diff(Binner("uniform").fit(np.arange(40_000.0)[:, None]).cell_offsets) == [32]
    assert np.diff(Binner("supervised").fit(x, np.arange(1000) // 20).cell_offsets) == [32]


def test_given_edges():
    binner = Binner.from_edges([[1.0, 2.0], [], [0.0]], missing="bin")
    X = [[0.5, 9.0, -1.0], [1.0, np.nan, 0.0], [3.0, -np.inf, np.nan]]
    assert binner.transform(X).tolist() == [[0, 0, 0], [1, 1, 1], [2, 0, 2]]
    assert binner.cell_offsets.tolist() == [0, 4, 6, 9]
    assert count(binner, X, [0, 1, 0], 2).sum() == 9
    assert Binner.from_edges([[1.0]]).transform([[np.nan]]).tolist() == [[-1]]


def test_bins_in_words():
    binner = Binner.from_edges([[1.0, 2.5], []], missing="bin")
    assert [binner.describe(0, v) for v in (0, 1, 2, 3, -1)] == [
        "below 1",
        "1 to 2.5",
        "at least 2.5",
        "missing",
        "no evidence",
    ]
    assert binner.describe(1, 0) == "any value"
    labels = Binner().fit([["x", None], ["y", None]], [0, 1])
    assert labels.describe(0, 1) == "'y'"


@pytest.mark.parametrize("edges", [[[1.0, 1.0]], [[2.0, 1.0]], [[0.0, np.nan]], [[np.inf]]])
def test_edges_that_do_not_increase_are_refused(edges):
    with pytest.raises(InputError, match=r"column 0 .* finite and increasing"):
        Binner.from_edges(edges)


@pytest.mark.parametrize(
    ("binner", "message"),
    [
        (Binner("round"), "binning is 'round'; it must be 'uniform', 'published', 'quantile' or 'supervised'"),
        (Binner(n_bins=0), "n_bins is 0; it must be 'auto' or a whole number >= 1"),
        (Binner(n_bins=2.5), "n_bins is 2.5"),
        (Binner(n_bins=True), "n_bins is True"),
        (Binner(n_bins="many"), "n_bins is 'many'"),
        (Binner(n_bins=None), "n_bins is None"),
        (Binner(["uniform"]), "binning is"),
        (Binner(missing="drop"), "missing is 'drop'; it must be 'skip' or 'bin'"),
        (Binner(missing=None), "missing is None"),
    ],
)
def test_wrong_parameters_are_refused(binner, message):
    with pytest.raises(InputError, match=message):
        binner.fit([[1.0], [2.0]], [0, 1])


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="supervised bins need y"):
        Binner().fit([[1.0]])
    with pytest.raises(InputError, match="y has shape"):
        Binner().fit([[1.0], [2.0]], [0])
    with pytest.raises(InputError, match="sample_weight has shape"):
        Binner("uniform").fit([[1.0], [2.0]], sample_weight=[1.0])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="sample_weight has a negative"):
            Binner("uniform").fit([[1.0], [2.0]], sample_weight=[1.0, bad])
    binner = Binner("uniform").fit([[1.0, 2.0]])
    with pytest.raises(InputError, match="the table has 1 columns, but bins were made for 2"):
        binner.transform([[1.0]])
    with pytest.raises(InputError, match="the table has 3 columns, but bins were made for 2"):
        count(binner, [[1.0, 2.0, 3.0]], [0], 1)
    with pytest.raises(InputError, match=r"column number 1 was numeric .* now holds 'high'"):
        binner.transform([[1.0, "high"]])


@pytest.mark.parametrize("method", ["supervised", "quantile", "uniform"])
@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_that_may_be_divided_are_all_that_are(method, missing, weighted):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    often = rng.random(300) ** 3
    X = (rng.random((400, 300)) < np.minimum(often * (0.4 + y[:, None]), 1)) * rng.normal(1, 1, (400, 300))
    X[:, 200:] *= rng.random((400, 100)) < 0.01
    X[rng.random(X.shape) < 0.0005] = np.nan
    weights = rng.choice([0.0, 1.0, 3.0], 400) if weighted else np.ones(400)
    table, binner = read_table(sp.csr_matrix(X)), Binner(method, missing=missing)
    may = binner.divisible(table, y, weights, 2)
    binner.fit_count(table, y, weights, 2)
    divided = np.flatnonzero(np.diff(binner.cell_offsets) > 1)
    assert np.isin(divided, may).all()
    assert may.size < 300
    assert Binner(method).divisible(read_table(X), y, weights, 2) is None


def test_codes_of_stored_values_are_those_of_all():
    rng = np.random.default_rng(6)
    X = np.where(rng.random((50, 9)) < 0.3, rng.normal(size=(50, 9)), 0.0)
    X[::7, 3] = np.nan
    binner = Binner("quantile", 4, missing="bin").fit(X)
    columns = np.array([8, 3, 0])
    for matrix in (sp.csr_matrix(X), sp.csc_matrix(X.astype(np.float32).astype(np.float64))):
        want = binner.encode(read_table(matrix.toarray()), columns)
        np.testing.assert_array_equal(binner.encode(read_table(matrix), columns), want)


@pytest.mark.parametrize("method", ["supervised", "quantile"])
@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_long_table_read_by_row_has_the_bins_of_its_columns(method, missing, dtype, monkeypatch):
    """Complete columns, columns with zeros, missing values, few values or nothing in them, whole weights, and all."""
    rng = np.random.default_rng(7)
    n = 30_000
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 7)) + 0.4 * y[:, None]
    X[rng.random(n) < 0.1, 1] = 0.0  # more than 20,000 values are left
    X[rng.random(n) < 0.9, 2] = 0.0  # fewer are
    X[rng.random(n) < 0.2, 3] = np.nan
    X[:, 4] = rng.integers(0, 5, n)
    X[:, 5] = 0.0
    X = X.astype(dtype)
    weights = rng.integers(1, 3, n).astype(float)
    wanted = Binner(method, missing=missing)
    by_column = wanted.fit_count(read_table(X), y, weights, 3)
    monkeypatch.setattr("etana.long_tables._LONG", 1000)
    monkeypatch.setattr("etana.long_tables._NUMBERS", 7 * 4000)
    binner = Binner(method, missing=missing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "fit_columns", None)  # nothing is read by column
        by_row = binner.fit_count(read_table(X), y, weights, 3)
    np.testing.assert_array_equal(binner.edges, wanted.edges)
    np.testing.assert_array_equal(binner.cell_offsets, wanted.cell_offsets)
    np.testing.assert_array_equal(by_row, by_column)
    np.testing.assert_array_equal(binner.seen, wanted.seen)
    X[5, 6] = np.inf  # no number that anybody has seen
    binner.fit_count(read_table(X), y, weights, 3)
    np.testing.assert_array_equal(binner.seen, wanted.seen)
    # Fractions do not add up exactly in any order: such weights are counted by column.
    half = Binner(method, missing=missing).fit_count(read_table(X), y, weights / 2, 3)
    np.testing.assert_array_equal(half.sum(axis=0), by_row.sum(axis=0) / 2)


@pytest.mark.parametrize("method", ["supervised", "quantile", "uniform", "published"])
@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "frame"])
def test_bins_of_parts_are_those_of_their_rows_alone(method, missing, kind):
    """Ties, zeros, missing values, columns that tell nothing, whole weights; parts differ in size."""
    rng = np.random.default_rng(11)
    n = 360
    y = rng.integers(0, 3, n)
    X = np.concatenate([rng.normal(size=(n, 3)) + y[:, None], rng.normal(size=(n, 3)), np.zeros((n, 2))], axis=1)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(n) < 0.7, 2] = 0.0
    X[rng.random(n) < 0.2, 4] = np.nan
    X[rng.random(n) < 0.01, 6] = 1.0
    weights = rng.integers(0, 3, n).astype(float)
    parts = np.tile(weights, (4, 1))
    for f, part in enumerate(parts):
        part[rng.random(n) < 0.15 * (f + 1)] = 0.0
    given = X
    if kind == "sparse":
        given = sp.csr_matrix(X)
    elif kind == "frame":
        given = pd.DataFrame(X).assign(label=rng.choice(["a", "b", "c"], n), one="x")
    table, binner = read_table(given), Binner(method, missing=missing)
    for part, found in zip(parts, binner.fit_parts(table, y, parts, 3), strict=True):
        alone = Binner(method, missing=missing)
        cells = alone.fit_count(table, y, part, 3)
        columns = np.flatnonzero(np.diff(alone.cell_offsets) > 1)
        own, counts, of = found
        np.testing.assert_array_equal(of, columns)
        for new, k in enumerate(columns.tolist()):
            np.testing.assert_array_equal(own.edges_of(np.array([new]))[0], alone.edges_of(np.array([k]))[0])
            mine, its = (
                c[b.cell_offsets[i] : b.cell_offsets[i + 1]] for c, b, i in ((counts, own, new), (cells, alone, k))
            )
            np.testing.assert_array_equal(mine, its)
        assert {k: v.tolist() for k, v in own.levels.items()} == {
            new: alone.levels[k].tolist() for new, k in enumerate(columns.tolist()) if k in alone.levels
        }
    for part, (own, counts, of) in zip(parts, binner.fit_parts(table, y, parts, 3, every_column=True), strict=True):
        alone = Binner(method, missing=missing)
        np.testing.assert_array_equal(alone.fit_count(table, y, part, 3), counts)
        np.testing.assert_array_equal(alone.edges, own.edges)
        assert of.size == table.n_features


def test_parts_of_many_rows_are_cut_one_by_one(monkeypatch):
    """Edges of so many rows come from a sample of the part, which the order of all rows does not have."""
    monkeypatch.setattr("etana.binning.SAMPLE", 100)
    rng = np.random.default_rng(12)
    y, X = rng.integers(0, 2, 400), rng.normal(size=(400, 3))
    parts = np.where(rng.random((2, 400)) < 0.5, 0.0, 1.0)
    for part, (own, counts, _) in zip(parts, Binner("quantile").fit_parts(read_table(X), y, parts, 2), strict=True):
        alone = Binner("quantile")
        np.testing.assert_array_equal(alone.fit_count(read_table(X), y, part, 2), counts)
        np.testing.assert_array_equal(alone.edges, own.edges)
