"""Short cuts of the loops over columns: sorting, and columns that are too light to be cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_shapes import SHAPES, keys_of
from etana.binning import Binner, _log_table
from etana.kernels import columns as kernel
from etana.kernels import cuts, sorting
from etana.kernels.scores import Entries, Sides, supervised_cuts
from etana.table import read_table


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("m", [1, 2, 32, 33, 181, 3000])
def test_sorting_keeps_equal_keys_in_order(shape, m):
    values = SHAPES[shape](np.random.default_rng(m), m) + 0.0
    keys, places = keys_of(values), np.arange(m)
    others = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    got = sorting.sort_keys(values, keys.copy(), places, m, *others, np.empty((8, 256), dtype=np.int64))
    expected = np.argsort(keys, kind="stable")
    assert np.array_equal(got[1][:m], expected)
    assert np.array_equal(got[0][:m], keys[expected])


def test_keys_that_are_badly_spread_are_sorted_by_their_bytes():
    """One outlier puts all other keys into one place, from which moving them one by one is given up."""
    values = SHAPES["one outlier"](np.random.default_rng(0), 3000)
    keys, places = keys_of(values), np.arange(3000)
    roughly = np.empty(3000, dtype=np.int64), np.empty(3000, dtype=np.int64)
    assert sorting.spread(values, keys, places, 3000, *roughly, np.empty(2048, dtype=np.int64))
    assert not sorting.insertion_sort(*roughly, 3000, sorting.PATIENCE * 3000)


@given(
    classes=st.lists(st.integers(1, 60), min_size=2, max_size=4),
    weight=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None)  # the first call may compile
def test_no_column_below_the_bound_has_a_cut_that_pays(classes, weight, seed):
    """Few values other than zero, put so that they tell the classes apart as well as can be."""
    rng = np.random.default_rng(seed)
    totals = np.array(classes, dtype=float) * weight
    table = _log_table(np.full(int(sum(classes)), float(weight)))
    bound = kernel.least_weight_that_pays(totals, table)
    favoured = rng.permutation(len(classes))
    taken = np.zeros(len(classes))
    for i in np.repeat(favoured, 3):
        if (taken.sum() + weight) < bound and taken[i] + weight <= totals[i]:
            taken[i] += weight
    histogram = np.empty((256, len(classes)))
    histogram[0], histogram[1] = totals - taken, taken
    n = len(classes)
    entries = Entries(np.empty(256 * n, np.int64), np.empty(256 * n), np.empty(257, np.int64), np.empty(257, np.int64))
    sides = Sides(*np.empty((5, n)))
    assert supervised_cuts(histogram, 2, 32, table, entries, sides, np.empty(32, np.int64)) == 0


def test_the_bound_is_near_the_truth():
    """It spares the work for rare words: of 2 x 10,000 rows a word in six is never cut, one in all of a class is."""
    totals = np.array([10_000.0, 10_000.0])
    bound = kernel.least_weight_that_pays(totals, _log_table(np.ones(20_000)))
    assert 6 < bound < 7
    assert kernel.least_weight_that_pays(totals, np.zeros(1)) == 0.0
    assert kernel.least_weight_that_pays(np.array([5.0, 0.0]), _log_table(np.ones(5))) == 0.0


def test_a_light_column_is_counted_in_one_bin_unless_values_are_missing():
    y = np.arange(400) % 2
    X = np.zeros((400, 3))
    X[:4, 0] = 1.0
    X[:300, 1] = np.where(y[:300] == 1, 1.0, -1.0)
    X[:4, 2], X[4:300, 2] = 1.0, np.nan
    binner = Binner("supervised")
    cells = binner.fit_count(read_table(X), y, np.ones(400), 2)
    assert np.diff(binner.cell_offsets).tolist() == [1, 3, 1]
    assert cells.tolist() == [[200, 200], [150, 0], [50, 50], [0, 150], [52, 52]]


@pytest.mark.parametrize("spacing", ["even", "random", "crowded", "wide"])
@pytest.mark.parametrize("n_edges", [3, 4, 63, 64, 255])
def test_counts_by_a_guide_are_those_of_a_search(n_edges, spacing):
    rng = np.random.default_rng(n_edges)
    edges = {
        "even": np.linspace(-1, 1, n_edges),
        "random": np.unique(rng.normal(size=n_edges)),
        "crowded": np.unique(np.exp(6 * rng.normal(size=n_edges))),
        "wide": np.linspace(-1, 1, n_edges) * 1.7e308,
    }[spacing]
    beside = [np.nextafter(edges, side) for side in (-np.inf, np.inf)]
    spread = rng.uniform(edges[0], edges[-1], 3000) if spacing != "wide" else rng.uniform(-1.7e308, 0, 3000)
    values = np.concatenate([edges, *beside, spread, [np.inf, -np.inf]])
    labels, mass = rng.integers(0, 3, values.size), rng.random(values.size)
    room, histogram = np.empty(2 * (edges.size + 1)), np.zeros((edges.size + 1, 3))
    room[: edges.size] = edges
    kernel.add_counts(values, labels, mass, values.size, np.zeros(3), room, edges.size, histogram)
    expected = np.zeros_like(histogram)
    np.add.at(expected, (np.searchsorted(edges, values, side="right"), labels), mass)
    assert np.array_equal(histogram, expected)


@given(
    classes=st.lists(st.integers(0, 3), min_size=8, max_size=60),
    ties=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None)  # the first call may compile
def test_no_cut_gains_more_than_the_bound_without_logarithms_allows(classes, ties, seed):
    """The gain of every cut of rows in order, by entropies."""
    rng = np.random.default_rng(seed)
    labels, n_classes = np.array(classes), max(classes) + 1
    mass = rng.integers(1, 4, labels.size).astype(float)
    keys = np.sort(rng.integers(1, ties + 1, labels.size))
    _, rows, room = cuts.make_room(labels.size, 32, n_classes, np.zeros(1))
    for part, known in zip(rows, (keys, labels, mass), strict=False):
        part[: labels.size] = known
    by_row = np.eye(n_classes)[labels] * mass[:, None]

    def bits(weights):
        present = weights[weights > 0]
        return -float((present * np.log2(present / present.sum())).sum())

    places = np.flatnonzero(np.diff(keys)) + 1
    whole, totals = bits(by_row.sum(axis=0)), by_row.sum(axis=0)
    gains = [whole - bits(by_row[:p].sum(axis=0)) - bits(by_row[p:].sum(axis=0)) for p in places.tolist()]
    most = max(gains, default=0.0)
    if most > 1e-6:
        assert cuts.may_gain(rows, labels.size, totals, most * (1 - 1e-9), room.sides)
    assert not cuts.may_gain(rows, labels.size, totals, 1e6, room.sides)
