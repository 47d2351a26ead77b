"""The small kernels against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etana.kernels import contingency, correlation
from etana.kernels.lazysort import sort_next


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) + 100
    X[:, 3] = 0.1
    return X


def test_moments_are_numpys(X):
    y = np.random.default_rng(1).normal(size=50)
    means, squares, products, varies = np.empty(7), np.empty(7), np.empty(7), np.empty(7, dtype=bool)
    correlation.column_means(X, means, varies)
    correlation.centred_moments(X, means, y, squares, products)
    centred = X - X.mean(axis=0)
    assert means == pytest.approx(X.mean(axis=0))
    assert varies.tolist() == [True, True, True, False, True, True, True]
    assert squares == pytest.approx((centred**2).sum(axis=0), abs=1e-12)
    assert products == pytest.approx(y @ centred, abs=1e-12)


def test_weighted_sums_are_a_matrix_product(X):
    weights = np.random.default_rng(1).normal(size=(3, 50))
    sums, squares = np.empty((3, 7)), np.empty(7)
    correlation.weighted_sums(X, 0, weights, sums, squares)
    assert sums == pytest.approx(weights @ X)
    assert squares == pytest.approx((X**2).sum(axis=0))
    later = np.empty((3, 7))
    correlation.weighted_sums(X, 4, weights, later, squares)
    assert np.array_equal(later[:, 4:], sums[:, 4:])


def test_a_columns_sums_do_not_depend_on_its_block(X):
    weights = np.random.default_rng(1).normal(size=(2, 50))
    whole, alone, squares = np.empty((2, 7)), np.empty((2, 1)), np.empty(7)
    correlation.weighted_sums(X, 0, weights, whole, squares)
    for j in range(7):
        correlation.weighted_sums(np.ascontiguousarray(X[:, [j]]), 0, weights, alone, squares[:1])
        assert np.array_equal(alone[:, 0], whole[:, j])  # bit by bit


def test_tables_are_counts():
    rng = np.random.default_rng(0)
    a, b, s = rng.integers(0, 3, 90), rng.integers(0, 2, 90), rng.integers(0, 4, 90)
    table = np.empty((4, 3, 2), dtype=np.int64)
    contingency.tabulate(a, b, s, table)
    expected = np.zeros((4, 3, 2), dtype=np.int64)
    np.add.at(expected, (s, a, b), 1)
    assert np.array_equal(table, expected)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 20), max_size=300).map(lambda v: np.array(v, dtype=float)),
    st.floats(0, 1),
)
def test_a_lazy_sort_is_final_as_far_as_it_went(keys, share):
    expected = np.sort(keys)
    bounds = np.empty(max(2, keys.size), dtype=np.int64)
    bounds[0] = keys.size
    ready, depth = 0, 1
    for t in range(int(share * keys.size)):
        while ready <= t:
            ready, depth = sort_next(keys, ready, bounds, depth)
        assert keys[t] == expected[t]
    assert np.array_equal(np.sort(keys), expected)
