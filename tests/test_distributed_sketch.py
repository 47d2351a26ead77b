"""Sketches against the columns themselves: ranks within the stated bound, exact where they can be."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from etana.distributed import Sketch
from etana.distributed.columns import Column, SortingRoom
from etana.distributed.merging import FAN_IN, reduce_stream
from etana.kernels import sketches as kernel
from etana.table import read_table


def sketch(X, weights=None, size=16):
    table = read_table(X)
    return Sketch.of(table, np.ones(table.n_rows) if weights is None else np.asarray(weights, dtype=float), size)


def rank(values, weights, x):
    return weights[values <= x].sum()


@st.composite
def weighted_parts(draw):
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 25))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["normal", "whole", "heavy", "sorted"]))
    parts = []
    for p in range(n):
        m = int(rng.integers(0, 80))
        values = {
            "normal": rng.normal(size=m),
            "whole": rng.integers(0, 30, m).astype(float),
            "heavy": np.where(rng.random(m) < 0.6, 0.0, rng.normal(size=m)),
            "sorted": p + np.linspace(0, 1, m),
        }[kind]
        parts.append((values, rng.integers(0, 4, m).astype(float)))
    return parts, draw(st.sampled_from([2, 5, 16]))


@settings(max_examples=150, deadline=None)
@given(weighted_parts())
def test_ranks_are_within_the_stated_bound(case):
    """0 <= rank - estimate <= errors <= (levels + 1) / size of the weight, for every value."""
    parts, size = case
    merged = reduce_stream((sketch(v[:, None], w, size) for v, w in parts), Sketch.merge)
    values, weights = (np.concatenate(x) for x in zip(*parts, strict=True))
    total = weights.sum()
    levels = math.ceil(math.log(len(parts), FAN_IN) - 1e-9) if len(parts) > 1 else 0
    assert merged.errors[0] <= (levels + 1) / size * total
    assert merged.values.size <= size
    assert merged.weights.sum() == total
    for x in values:
        assert 0 <= rank(values, weights, x) - merged.rank(0, x) <= merged.errors[0]


def test_the_bound_is_used():
    """A sketch that must shorten has an error; the bound is no empty promise."""
    values = np.random.default_rng(0).normal(size=10_000)
    short = sketch(values[:, None], size=50)
    worst = max(rank(values, np.ones(10_000), x) - short.rank(0, x) for x in values)
    assert 100 < worst == short.errors[0] <= 200


def test_few_values_are_kept_as_they_are():
    values = np.random.default_rng(1).integers(-8, 8, 5000).astype(float)
    values[::3] = np.nan
    merged = Sketch.merge([sketch(values[i::7, None], size=16) for i in range(7)])
    seen, counts = np.unique(values[values == values], return_counts=True)
    np.testing.assert_array_equal(merged.values, seen)
    np.testing.assert_array_equal(merged.weights, counts)
    assert merged.errors[0] == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_columns_have_one_sketch(weighted):
    rng = np.random.default_rng(2)
    X = np.where(rng.random((300, 5)) < 0.8, 0.0, rng.normal(size=(300, 5)))
    X[::11, 1], X[:, 2], X[:, 3] = np.nan, 0.0, -np.inf
    weights = rng.integers(0, 3, 300) if weighted else None
    dense = sketch(X, weights)
    for other in (sp.csr_matrix(X), sp.csc_array(X)):
        again = sketch(other, weights)
        for name in ("values", "weights", "offsets", "errors"):
            np.testing.assert_array_equal(getattr(again, name), getattr(dense, name))


def test_zero_has_one_sign():
    made = sketch(np.array([[-0.0], [0.0], [1.0]]))
    assert made.values.tolist() == [0.0, 1.0]
    assert not np.signbit(made.values[0])


def shorten_slowly(values, weights, size):
    """Of the values whose ranks end in one of ``size`` cells only the last stays, and takes over the others' weight."""
    reached = np.cumsum(weights)
    cells = np.floor(reached * (size / reached[-1]))
    cells[-1] = size
    stay = np.flatnonzero(np.diff(cells, prepend=0.0) > 0)
    taken = np.diff(reached[stay], prepend=0.0)
    return values[stay], taken, (taken - weights[stay]).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.booleans())
def test_lists_are_shortened_as_the_slow_twin_does(seed, size, whole):
    rng = np.random.default_rng(seed)
    values = np.unique(rng.normal(size=rng.integers(size + 1, 300)))
    weights = rng.integers(1, 9, values.size).astype(float) if whole else rng.random(values.size)
    out, mass = np.empty(size), np.empty(size)
    n, error = kernel.shorten(values, weights, size, out, mass)
    expected = shorten_slowly(values, weights, size)
    assert out[:n].tobytes() == expected[0].tobytes()
    assert mass[:n].tobytes() == expected[1].tobytes()
    assert error == expected[2]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([1, 9]))
def test_lists_are_merged_as_the_slow_twin_does(seed, n_lists, decimals):
    """Fractions too, to the last bit, wherever a value is in several lists."""
    rng = np.random.default_rng(seed)
    lists = [np.unique(rng.normal(size=rng.integers(0, 60)).round(decimals)) for _ in range(n_lists)]
    values, weights = np.concatenate(lists), rng.random(sum(v.size for v in lists))
    ends = np.cumsum([v.size for v in lists])
    out, mass = np.empty(values.size), np.empty(values.size)
    n = kernel.merge_sorted(values, weights, ends - [v.size for v in lists], ends, out, mass)
    order = np.argsort(values, kind="stable")
    expected, firsts = np.unique(values[order], return_index=True)
    assert out[:n].tobytes() == expected.tobytes()
    if values.size:
        assert mass[:n].tobytes() == np.add.reduceat(weights[order], firsts).tobytes()


SPREADS = {
    "even": lambda rng, m: rng.random(m),
    "normal": lambda rng, m: rng.normal(size=m),
    "skewed": lambda rng, m: np.exp(3 * rng.normal(size=m)),
    "skewed with zeros": lambda rng, m: np.where(rng.random(m) < 0.3, -0.0, np.exp(3 * rng.normal(size=m))),
    "two heaps": lambda rng, m: np.where(rng.random(m) < 0.5, 1.0, 1e300) * (1 + 1e-12 * rng.random(m)),
    "heavy tails": lambda rng, m: rng.standard_cauchy(m),
    "whole": lambda rng, m: rng.integers(-5, 5, m).astype(float),
    "one": lambda rng, m: np.full(m, 2.5),
    "infinite": lambda rng, m: rng.choice([-np.inf, 0.0, 3.0, np.inf], m),
    "the ends of floats": lambda rng, m: rng.choice([-1.79e308, -5e-324, 0.0, 5e-324, 1.79e308], m),
    "tiny": lambda rng, m: rng.choice([0.0, 5e-324, 1e-323], m),
}


@pytest.mark.parametrize("m", [1, 2, 3, 40, 3000])
@pytest.mark.parametrize("spread", SPREADS)
def test_values_are_sorted_and_counted_however_they_lie(spread, m):
    values = SPREADS[spread](np.random.default_rng(m), m)
    np.testing.assert_array_equal(SortingRoom(m).sort(values), np.sort(values))
    seen, mass = Column(0, values, None, 0.0, False).distinct()
    expected = np.unique(values + 0.0, return_counts=True)
    assert seen.tobytes() == expected[0].tobytes()
    assert (mass == expected[1]).all()


@pytest.mark.parametrize("spread", ["even", "normal", "skewed", "skewed with zeros", "whole"])
def test_values_that_lie_as_usual_are_put_into_drawers(spread):
    """The rest is sorted by NumPy; these are what the drawers are for."""
    values = SPREADS[spread](np.random.default_rng(0), 5000)
    assert kernel.sort_spread(values, np.empty(5000, np.int32), np.empty(5001, np.int32), np.empty(5000))
