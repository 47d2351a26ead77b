"""Every accepted kind of table is read as the same numbers; what cannot be read is refused in clear words."""

from __future__ import annotations

import datetime
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from etana import AdaptiveClassifier, Binner, ETANAClassifier
from etana.errors import InputError
from etana.selection import SAOLA
from etana.table import check_labels, code_labels, read_table

NAN = np.nan


def whole(data):
    """The whole table as floats, labels by their index among the levels, and the categorical columns."""
    table = read_table(data)
    return table.block(slice(None), {k: table.levels(k) for k in table.categorical}), table.categorical


def assert_reads(data, want, categorical=(), names=None):
    got, labels = whole(data)
    np.testing.assert_array_equal(np.asarray(got, dtype=float), np.array(want, dtype=float))
    table = read_table(data)
    assert labels == list(categorical)
    assert [k for k in range(table.n_features) if table.is_categorical(k)] == labels
    assert table.names == names
    assert (table.n_rows, table.n_features) == np.array(want).shape


NUMBERS = [[1.0, 0.0, 3.0], [4.0, 5.0, 0.0]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "longdouble", "i1", "i8", "u2", ">f8", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numbers(dtype, order):
    array = np.array(NUMBERS, dtype=dtype, order=order)
    assert_reads(array, NUMBERS)
    assert_reads(np.repeat(array, 2, axis=1)[:, ::2], NUMBERS)
    block = read_table(array).block([2, 0])
    assert block.dtype in (np.float32, np.float64)
    assert block.tolist() == [[3.0, 1.0], [0.0, 4.0]]


def test_arrays_are_not_copied():
    array = np.zeros((3, 2))
    assert read_table(array).dense is array
    assert read_table(read_table(array)).dense is array


def test_booleans_in_arrays_and_lists_are_numbers():
    for data in (np.array([[True, False]]), [[True, False]], np.array([[True, False]], dtype=object)):
        assert_reads(data, [[1.0, 0.0]])


def test_lists_and_object_arrays():
    assert_reads(NUMBERS, NUMBERS)
    assert_reads([[1, None], [NAN, 2.5]], [[1, NAN], [NAN, 2.5]])
    assert_reads(np.array([[1, pd.NA], [Decimal("0.5"), np.float32(NAN)]], dtype=object), [[1, NAN], [0.5, NAN]])


def test_numbers_beside_text_in_a_list_stay_numbers():
    assert_reads([[10, "b"], [9, "a"], [None, None]], [[10, 1], [9, 0], [NAN, NAN]], categorical=[1])


def test_text():
    want = [[1, 0], [0, 0], [1, NAN]]
    rows = [["b", "x"], ["a", "x"], ["b", None]]
    assert_reads(rows, want, [0, 1])
    assert_reads(np.array(rows, dtype=object), want, [0, 1])
    assert_reads(np.array([["b"], ["a"]]), [[1], [0]], [0])
    assert_reads(np.array([[b"b"], [b"a"]]), [[1], [0]], [0])
    assert_reads(np.array([["b"], ["a"]], dtype=np.dtypes.StringDType()), [[1], [0]], [0])
    assert_reads(np.array([["b"], [np.float32(NAN)], [pd.NA]], dtype=object), [[0], [NAN], [NAN]], [0])


def test_mixed_labels_are_sorted_by_type_first():
    table = read_table(np.array([["1"], [1], [2.5], ["a"], [1.0]], dtype=object))
    assert table.levels(0).tolist() == [2.5, 1, "1", "a"]
    assert table.levels(0, np.array([0, 3])).tolist() == ["1", "a"]


def test_masked_entries_are_missing():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert_reads(masked, [[1, NAN], [3, 4]])


PANDAS = {
    "int": (pd.Series([1, 2, 3]), [1, 2, 3], False),
    "nullable int": (pd.Series([1, None, 3], dtype="Int64"), [1, NAN, 3], False),
    "nullable float": (pd.Series([1.5, None, 3], dtype="Float32"), [1.5, NAN, 3], False),
    "float": (pd.Series([1.5, NAN, 3], dtype="float32"), [1.5, NAN, 3], False),
    "arrow int": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), [1, NAN, 3], False),
    "object numbers": (pd.Series([1, None, pd.NA], dtype=object), [1, NAN, NAN], False),
    "bool": (pd.Series([True, False, True]), [1, 0, 1], True),
    "nullable bool": (pd.Series([True, False, None], dtype="boolean"), [1, 0, NAN], True),
    "object bool": (pd.Series([True, None, False], dtype=object), [1, NAN, 0], True),
    "text": (pd.Series(["b", None, "a"]), [1, NAN, 0], True),
    "object text": (pd.Series(["b", NAN, "a"], dtype=object), [1, NAN, 0], True),
    "arrow text": (pd.Series(["b", None, "a"], dtype="string[pyarrow]"), [1, NAN, 0], True),
    "category": (pd.Series(["b", None, "a"], dtype="category"), [1, NAN, 0], True),
    "category of numbers": (pd.Series([7, None, 5], dtype="category"), [1, NAN, 0], True),
    "category of booleans": (pd.Series([True, False, None], dtype="category"), [1, 0, NAN], True),
    "all missing": (pd.Series([None, None, None], dtype=object), [NAN, NAN, NAN], False),
}


@pytest.mark.parametrize("kind", PANDAS)
def test_pandas_columns(kind):
    series, want, categorical = PANDAS[kind]
    assert_reads(pd.DataFrame({"a": series}), np.c_[want], [0] if categorical else [], ["a"])
    beside = pd.DataFrame({"n": [0.5, 1.5, 2.5], "a": series, "t": ["x", "y", "x"]})
    wide = np.c_[[0.5, 1.5, 2.5], want, [0, 1, 0]]
    assert_reads(beside, wide, [1, 2] if categorical else [2], ["n", "a", "t"])


POLARS = {
    "int": (pl.Series([1, None, 3]), [1, NAN, 3], False),
    "float": (pl.Series([1.5, None, NAN]), [1.5, NAN, NAN], False),
    "decimal": (pl.Series(["1.5", None, "3"]).cast(pl.Decimal(10, 2)), [1.5, NAN, 3], False),
    "null": (pl.Series([None, None, None]), [NAN, NAN, NAN], False),
    "bool": (pl.Series([True, None, False]), [1, NAN, 0], True),
    "text": (pl.Series(["b", None, "a"]), [1, NAN, 0], True),
    "categorical": (pl.Series(["b", None, "a"], dtype=pl.Categorical), [1, NAN, 0], True),
    "enum": (pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a", "c"])), [1, NAN, 0], True),
}


@pytest.mark.parametrize("kind", POLARS)
def test_polars_columns(kind):
    series, want, categorical = POLARS[kind]
    assert_reads(pl.DataFrame({"a": series}), np.c_[want], [0] if categorical else [], ["a"])
    beside = pl.DataFrame({"n": [0.5, 1.5, 2.5], "a": series})
    assert_reads(beside, np.c_[[0.5, 1.5, 2.5], want], [1] if categorical else [], ["n", "a"])


def test_frames_and_arrays_of_the_same_numbers_have_the_same_bins():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-5, 6, size=(60, 4)), rng.integers(2, size=60)
    want = Binner("quantile", 4).fit(X.astype(float), y)
    names = ["a", "b", "c", "d"]
    frames = [pd.DataFrame(X, columns=names), pd.DataFrame(X, columns=names).astype("Int64")]
    for frame in [*frames, pl.DataFrame(X, schema=names)]:
        binner = Binner("quantile", 4).fit(frame, y)
        np.testing.assert_array_equal(binner.edges, want.edges)
        np.testing.assert_array_equal(binner.transform(frame), want.transform(X))
        assert binner.names == names


def test_names_that_are_not_text_are_no_names():
    assert read_table(pd.DataFrame(NUMBERS)).names is None
    assert read_table(pd.DataFrame({1: ["a"], 2: [0.5]})).names is None


def test_sparse_matrices_stay_sparse():
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array):
        matrix = kind(NUMBERS)
        assert read_table(matrix).sparse is matrix
        assert_reads(matrix, NUMBERS)
        by_column = read_table(matrix).by_column()
        assert by_column.sparse.format == "csc"
        assert by_column.block([2]).tolist() == [[3.0], [0.0]]
    for kind in (sp.coo_array, sp.lil_matrix, sp.dok_array, sp.dia_array, sp.bsr_matrix):
        assert read_table(kind(NUMBERS)).sparse.format == "csr"
        assert_reads(kind(NUMBERS), NUMBERS)


def test_a_sparse_matrix_is_put_in_order_without_touching_the_callers():
    matrix = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    before = matrix.data.copy(), matrix.indices.copy()
    assert_reads(matrix, [[2.0, 0.0, 4.0]])
    assert read_table(matrix).sparse.has_sorted_indices
    np.testing.assert_array_equal(matrix.data, before[0])
    np.testing.assert_array_equal(matrix.indices, before[1])


def test_a_wide_sparse_matrix_is_never_made_dense():
    shape, stored = (1000, 1_000_000), 200_000
    rng = np.random.default_rng(0)
    where = rng.integers(shape[0], size=stored), rng.integers(shape[1], size=stored)
    matrix = sp.coo_array((np.ones(stored), where), shape=shape).tocsr()
    y = rng.integers(2, size=shape[0])
    tracemalloc.start()
    try:
        table = read_table(matrix)
        binner = Binner("supervised")
        counts = binner.fit_count(table, y, np.ones(shape[0]), 2)
        again = binner.count(table, y, np.ones(shape[0]), 2)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(counts, again)
    assert counts.sum() == shape[0] * shape[1]
    assert most < 400e6  # all of it dense would be 8,000e6


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1.0, 2.0], r"Expected 2D array, got 1D array instead \(shape \(2,\)\). Reshape your data"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D"),
        (3.0, "Expected 2D array, got 0D"),
        (None, "Expected 2D array"),
        (pd.Series([1.0, 2.0]), "Expected 2D array, got 1D"),
        ([[1.0, 2.0], [3.0]], "Expected 2D array, got 1D"),
        (sp.coo_array(np.ones(3)), "Expected 2D array, got 1D"),
        (np.zeros(3, dtype=[("a", "f8")]), "Expected 2D array"),
        (np.array([[1j]]), "Complex data not supported"),
        ([[1.0, 1j]], "Complex data not supported"),
        (np.array([[1j]], dtype=object), "column 0 holds 1j. Complex data not supported"),
        (sp.csr_array(np.array([[1j]])), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), r"data of type datetime64\[D\] cannot be read"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "rename columns"),
        (pl.DataFrame({"a": [1]}).lazy(), "lazy frame; call its collect"),
    ],
)
def test_tables_of_a_wrong_kind_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        read_table(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([[{"a": 1}]], dtype=object), "column 0 holds .* of type dict; argument must be a string or a number"),
        (np.array([["a"], [{}]], dtype=object), "column 0 holds {} of type dict"),
        (np.array([[datetime.date(2020, 1, 1)]], dtype=object), "column 0 holds .* of type date"),
        (np.array([[10**400]], dtype=object), "column 0 holds .* of type int"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), "column 'when' is of type Datetime.*turn dates"),
        (pd.DataFrame({"o": pd.Series([1, {}], dtype=object)}), "column 'o' holds {}"),
        (pl.DataFrame({"when": [datetime.date(2020, 1, 1)]}), "column 'when' is of type Date"),
        (pl.DataFrame({"many": [[1, 2]]}), "column 'many' is of type List"),
    ],
)
def test_values_of_a_wrong_type_are_refused(data, message):
    with pytest.raises(TypeError, match=message):
        read_table(data)


def test_labels_where_numbers_were():
    table = read_table(pd.DataFrame({"x": ["1.5", "high"]}))
    with pytest.raises(InputError, match="column 'x' was numeric when the model was fitted and now holds 'high'"):
        table.block(slice(None))
    assert read_table([["1.5"], [None]]).block([0])[0].tolist() == [1.5]


def test_labels_that_are_not_among_the_levels_are_infinite():
    levels = {0: np.array(["a", "b"], dtype=object)}
    assert read_table([["b"], ["c"], [None]]).block([0], levels)[:, 0].tolist()[:2] == [1.0, np.inf]
    numbers = read_table([[1.0, 5.0], [NAN, 6.0]]).block([1, 0], levels)
    np.testing.assert_array_equal(numbers, [[5.0, np.inf], [6.0, NAN]])


def test_tables_without_columns_or_rows():
    assert read_table(np.empty((3, 0))).n_features == 0
    assert read_table(np.empty((3, 0), dtype=object)).n_rows == 3
    assert read_table(pd.DataFrame(index=range(3))).n_rows == 3
    assert read_table(np.empty((0, 2))).block(slice(None)).shape == (0, 2)


@pytest.mark.parametrize("missing", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("make", [list, lambda y: pd.Series(y, dtype=object), lambda y: np.array(y, dtype=object)])
def test_a_missing_class_label_is_named(missing, make):
    y = make(["a", "b", missing, "a"])
    for refuse in (check_labels, lambda y: Binner().fit(np.eye(4), y), lambda y: SAOLA().fit(np.eye(4), y)):
        with pytest.raises(InputError, match=r"y has no label in row 2.*leave out rows without a class"):
            refuse(y)


def test_labels_of_two_types_are_named():
    for y in (["a", 1, "b"], np.array(["a", 1, "b"], dtype=object)):
        with pytest.raises(InputError, match=r"y has text and other labels, 'a' and 1; give labels of one type"):
            Binner().fit(np.eye(3), y)


@pytest.mark.parametrize(
    "y", [[0, 1], ["a", "b"], [True, False], [0.5, 1], np.array(["a", "b"]), np.array([b"a", b"b"]), None, [[0], [1]]]
)
def test_labels_of_one_type_pass(y):
    check_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        np.array([2, 0, 2, 5]), np.array([0, 1, 1]), np.array([-3, 4, -3], dtype=np.int8),
        np.array([2**63 + 5, 2**63, 2**63 + 5], dtype=np.uint64), np.array([0, 10**15]), np.array([True, False, True]),
        np.array(["b", "a", "b"]), np.array([0.5, -1.0]), np.arange(0, 300_000) % 3, np.array([1, 2, 1]),
    ],
)  # fmt: skip
def test_classes_and_places_of_labels(y):
    classes, codes = code_labels(y, None)
    want, places = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, want)
    np.testing.assert_array_equal(codes, places)
    assert codes.dtype == np.int64
    for shared in (False, True):
        np.testing.assert_array_equal(code_labels(y, want, shared)[1], places)


def test_labels_that_are_places_are_shared_only_where_that_is_wanted():
    y = np.array([1, 0, 2, 0])
    assert code_labels(y, None, shared=True)[1] is y
    assert not np.shares_memory(code_labels(y, None)[1], y)
    assert not np.shares_memory(code_labels(y[::-1], None, shared=True)[1], y)
    assert not np.shares_memory(code_labels(y + 1, None, shared=True)[1], y)
    # A label that is none of the classes is no place.
    assert code_labels(y, np.array([0, 1]), shared=True)[1].max() == 1


def test_an_adaptive_classifier_has_labels_of_its_own():
    """It remembers training rows, which must not change with the caller's array; other classifiers only read it."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    X[:, 0] += 2 * y
    before = y.copy()
    clf = AdaptiveClassifier().fit(X, y)
    ETANAClassifier().fit(X, y)
    np.testing.assert_array_equal(y, before)
    want = clf.with_costs(feature_costs=0.02).predict(X)
    y[:] = 0
    np.testing.assert_array_equal(clf.with_costs(feature_costs=0.02).predict(X), want)
