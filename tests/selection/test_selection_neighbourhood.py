"""The neighbourhood kernels against the definition, written out with a full sort."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etana.kernels.neighbourhood import DENSITY, GAP
from etana.selection import OFSA3M, OFSDensity
from etana.selection.base import Target
from etana.selection.dependency import Dependency

# Published with the programs: eight rows, and gamma of some sets of columns under both relations.
X = np.array(
    [
        [3, 5.6, -66, 3.05],
        [5, 6.9, 95, 4.84],
        [8, 5.3, -28, 5.89],
        [13, 12.3, -35, 6.14],
        [6, 15.2, 72, 6.55],
        [5, 2.6, 42, 10.94],
        [9, 6.8, -33, 23.85],
        [15, 8.4, 15, 23.85],
    ]
)
Y = np.array([-1, 1, 1, 1, -1, 1, -1, -1])
VECTORS = {
    GAP: {
        (0,): 0.262500,
        (1,): 0.335417,
        (0, 1): 0.322917,
        (2,): 0.294643,
        (3,): 0.600000,
        (0, 1, 3): 0.553571,
    },
    DENSITY: {
        (0,): 0.395833,
        (1,): 0.166667,
        (0, 1): 0.375893,
        (2,): 0.154167,
        (3,): 0.625000,
        (0, 1, 3): 0.443452,
    },
}


def variance(x):
    """Summed one by one: on whole numbers a gap may equal w, and then the last bit of the variance decides."""
    squares = (x - np.cumsum(x)[-1] / len(x)) ** 2
    return np.cumsum(squares)[-1] / (len(x) - 1)


def gamma_by_definition(columns, labels, relation, parameter):
    n = len(labels)
    squared = np.zeros((n, n))
    for x in columns.T:
        squared += (x[:, None] - x[None, :]) ** 2 * (1.0 / variance(x))
    distances = np.sqrt(squared)
    total = 0.0
    for i in range(n):
        order = sorted(range(n), key=lambda j: (distances[i, j], j))[1:]
        d = [distances[i, j] for j in order]
        size = 1
        if relation == DENSITY:
            while size < n - 1 and (d[size] == 0 or d[size] / (size + 1) <= d[size - 1] / size * (1 + parameter)):
                size += 1
        else:
            width = parameter * (d[-1] - d[0]) / (n - 2) if n > 2 else 0.0
            while size < n - 1 and d[size] - d[size - 1] < width:
                size += 1
        total += sum(labels[j] == labels[i] for j in order[:size]) / size
    return total / n


def dependency(labels, columns, relation, parameter):
    """A Dependency that keeps all ``columns``."""
    result = Dependency(Target.of(np.asarray(labels)), relation, parameter)
    result.load(np.ascontiguousarray(columns, dtype=float))
    for j in range(columns.shape[1]):
        result.push(j)
    return result


@pytest.mark.parametrize(("relation", "parameter"), [(GAP, 1.5), (DENSITY, 1e-10)])
def test_published_values(relation, parameter):
    gamma = dependency(Y, X, relation, parameter).gamma
    for columns, expected in VECTORS[relation].items():
        assert gamma(columns) == pytest.approx(expected, abs=5e-7)


def test_published_selections():
    assert OFSA3M().fit(X, Y).selected_.tolist() == [0, 1, 3]
    assert OFSDensity().fit(X, Y).selected_.tolist() == [3]


@st.composite
def tables(draw):
    """Small tables: whole numbers with many ties and twins, sparse ones, or continuous ones."""
    n = draw(st.integers(2, 40))
    b = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["whole", "sparse", "continuous"]))
    if kind == "continuous":
        columns = rng.normal(size=(n, b))
    else:
        columns = rng.integers(0, draw(st.integers(2, 9)), size=(n, b)).astype(float)
        if kind == "sparse":
            columns *= rng.random((n, b)) < 0.2
    labels = rng.integers(0, draw(st.integers(2, 4)), n)
    labels[:2] = 0, 1
    columns[0] += 10 * (columns == columns[0]).all(axis=0)  # no constant column
    return columns, labels


@settings(max_examples=150, deadline=None)
@given(table=tables(), relation=st.sampled_from([(GAP, 1.5), (GAP, 4.0), (DENSITY, 1e-10)]))
def test_gamma_is_the_definition(table, relation):
    columns, labels = table
    kernel = dependency(labels, columns, *relation)
    every = range(columns.shape[1])
    expected = gamma_by_definition(columns, labels, *relation)
    assert kernel.gamma(every) == pytest.approx(expected, abs=1e-12)
    # a floor below gamma changes nothing, one above gives way at once or at the end
    assert kernel.gamma(every, floor=expected - 1e-6) == pytest.approx(expected, abs=1e-12)
    assert kernel.gamma(every, floor=expected + 1e-3) < expected + 1e-3


@settings(max_examples=60, deadline=None)
@given(table=tables(), relation=st.sampled_from([(GAP, 1.5), (DENSITY, 1e-10)]), strict=st.booleans())
def test_the_next_relevant_column_is_the_first_that_reaches_the_threshold(table, relation, strict):
    columns, labels = table
    kernel = dependency(labels, columns, *relation)
    singles = [kernel.gamma([j]) for j in range(columns.shape[1])]
    for threshold in [*singles, 0.0, 0.5, 1.0]:
        reached = [j for j, g in enumerate(singles) if (g > threshold if strict else g >= threshold)]
        expected = reached[0] if reached else columns.shape[1]
        assert kernel.next_relevant(0, threshold, strict) == expected


def test_many_rows_with_long_neighbourhoods():
    """Neighbourhoods that outgrow the first guess, in rows that differ widely."""
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.normal(size=(150, 12)), 1e3 * rng.normal(size=(150, 12))])
    labels = rng.integers(0, 2, 300)
    for relation, parameter in [(GAP, 1.5), (GAP, 10.0), (DENSITY, 1e-10)]:
        kernel = dependency(labels, columns, relation, parameter)
        expected = gamma_by_definition(columns, labels, relation, parameter)
        assert kernel.gamma(range(12)) == pytest.approx(expected, abs=1e-12)


def test_constant_columns():
    columns = np.column_stack([np.full(8, 0.1), X[:, 3]])
    gap = dependency(Y, columns, GAP, 1.5)
    # the lowest other row: row 0 for all but itself, row 1 for row 0
    expected = (np.sum(Y[1:] == Y[0]) + (Y[1] == Y[0])) / 8
    assert gap.gamma([0]) == gap.gamma([0, 1]) == expected
    assert math.isnan(dependency(Y, columns, DENSITY, 0.0).gamma([0, 1]))


def test_a_row_that_has_a_twin_above_it_is_its_own_neighbour():
    x = np.array([[0.0], [0.0], [5.0], [6.0]])
    # row 1: row 0 is dropped as "the centre" and row 1 stays, so its neighbourhood agrees with it
    shares_of_row_1 = dependency(np.array([0, 1, 0, 1]), x, DENSITY, 0.0)
    assert shares_of_row_1.gamma([0]) == pytest.approx((0 + 1 + 0 + 0) / 4)
