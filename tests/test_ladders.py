"""Cuts on ladders are those of parts and entropies; columns sorted side by side are those sorted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_shapes import SHAPES, keys_of
from etana.binning import Binner, _log_table
from etana.kernels import columns, cuts, lanes, sorting
from etana.table import read_table


def sorted_in_lanes(turned):
    """Places and keys of each column of numbers, one a row, by the network."""
    count, n = turned.shape
    room = np.empty(n * count, dtype=np.int32)
    lanes.sort_lanes(turned, 0, count, np.empty(n, dtype=np.int64), room)
    for c, column in enumerate(turned):
        values = column[(column != 0) & ~np.isnan(column)]
        scratch = sorting.Sorting(*np.empty((4, n), dtype=np.int64), np.empty((8, 256), dtype=np.int64))
        keys, places = lanes.read_lane(room[c::count], values, values.size, scratch)
        yield values, keys[: values.size], places[: values.size]


@pytest.mark.parametrize("n", [2, 3, 16, 33, 181, lanes.LONGEST])
def test_columns_side_by_side_are_sorted_and_equal_values_stay_in_order(n):
    rng = np.random.default_rng(n)
    turned = np.array([make(rng, n) for make in SHAPES.values()])
    holes = turned.copy()
    holes[rng.random(turned.shape) < 0.2] = np.nan
    holes[rng.random(turned.shape) < 0.2] = 0.0
    for values, keys, places in sorted_in_lanes(np.vstack([turned, holes, np.zeros((1, n)), np.full((1, n), np.nan)])):
        expected = np.argsort(keys_of(values), kind="stable")
        assert np.array_equal(places, expected)
        assert np.array_equal(keys, keys_of(values)[expected])


def test_values_that_agree_in_their_leading_bits_are_sorted_by_all_of_them():
    """One number far away leaves no bits to tell the others apart: the network leaves them as they were."""
    n = lanes.LONGEST
    near = np.append(-1e300, 1 + 1e-9 * np.arange(n - 1)[::-1])
    ((_, _, places),) = sorted_in_lanes(near[None, :])
    assert places.tolist() == [0, *range(n - 1, 0, -1)]


def cut(keys, labels, mass, n_classes, most, table):
    """Edges and counts of rows in order."""
    _, rows, room = cuts.make_room(labels.size, cuts.FINE, n_classes, table)
    for part, known in zip(rows, (keys, labels, mass), strict=False):
        part[: labels.size] = known
    edges, totals = np.empty(2 * cuts.FINE), np.bincount(labels, mass, minlength=n_classes)
    column = columns.Gathered(
        np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)
    )  # read only if it is not all in order
    cutting = columns.Cutting(columns.SUPERVISED, most, 20_000, table)
    made = columns.cut_column(
        column, labels.size, np.zeros(n_classes), rows, labels.size, totals, 0.0, cutting, most, room, edges
    )
    return edges[:made], room.histogram[: made + 1]


@given(
    n=st.integers(1, 700), n_classes=st.integers(1, 5), ties=st.integers(1, 2000), heaviest=st.integers(1, 4),
    told=st.floats(0, 1), most=st.sampled_from([2, 3, 32]), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(deadline=None, max_examples=300)  # the first call may compile
def test_cuts_on_ladders_are_those_of_parts(n, n_classes, ties, heaviest, told, most, seed):
    """Values with and without ties, more than there are candidates and fewer, of rows that weigh one and more."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(1, ties + 1, n)).astype(float)
    by_value = (values * n_classes / (ties + 1)).astype(np.int64)
    labels = np.where(rng.random(n) < told, by_value, rng.integers(0, n_classes, n))
    mass = rng.integers(1, heaviest + 1, n).astype(float)
    given = keys_of(values), labels, mass, n_classes, most
    # Without a table of whole numbers cuts are looked for part by part.
    edges, histogram = cut(*given, np.zeros(1))
    got, counts = cut(*given, _log_table(mass))
    assert np.array_equal(got, edges)
    assert np.array_equal(counts, histogram)


def test_a_column_has_the_same_bins_alone_and_among_many():
    """Columns are sorted side by side only if there are some."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 70)) + y[:, None] * rng.random(70)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.0
    for method in ("supervised", "quantile"):
        many, counts = Binner(method), []
        for block in (X, *(X[:, [k]] for k in range(70))):
            own = many if block is X else Binner(method)
            counts.append(own.fit_count(read_table(block), y, np.ones(200), 3))
        assert np.array_equal(counts[0], np.concatenate(counts[1:]))
        assert many.edge_offsets[-1] > 20
