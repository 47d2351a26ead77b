"""Counts add up exactly, and become the paper's smoothed probabilities."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from etana import Binner
from etana.errors import InputError
from etana.likelihood import Counts
from etana.table import read_table


def counts_of(binner, X, y, weights=None, n_classes=3):
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return Counts.of(binner, read_table(X), np.asarray(y, dtype=np.int64), weights, n_classes)


def made(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(3, size=n), rng.integers(0, 5, size=n)


@pytest.mark.parametrize("missing", ["skip", "bin"])
def test_counts_and_probabilities_are_those_of_the_definition(missing):
    X, y, weights = made()
    binner = Binner("quantile", 4, missing).fit(X, y, weights)
    counts = counts_of(binner, X, y, weights)
    codes = binner.transform(X)
    likelihoods = counts.likelihoods()
    assert counts.classes.tolist() == [weights[y == i].sum() for i in range(3)]
    np.testing.assert_array_equal(counts.priors(), counts.classes / weights.sum())
    for k in range(5):
        first, last = counts.offsets[k], counts.offsets[k + 1]
        for i in range(3):
            own = [int(weights[(y == i) & (codes[:, k] == v)].sum()) for v in range(last - first)]
            assert counts.cells[first:last, i].tolist() == own
            want = [Fraction(s + 1, sum(own) + len(own)) for s in own]
            assert sum(want) == 1
            np.testing.assert_allclose(likelihoods[first:last, i], [float(p) for p in want], rtol=1e-15)
    sums = np.add.reduceat(likelihoods, counts.offsets[:-1])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-14)


@pytest.mark.parametrize("method", ["quantile", "supervised"])
def test_learning_bins_counts_as_counting_in_the_bins_that_were_learnt(method):
    X, y, weights = made()
    table, weights = read_table(X), weights.astype(float)
    binner = Binner(method, missing="bin")
    learnt = Counts.learn(binner, table, y, weights, 4)
    again = Counts.of(Binner(method, missing="bin").fit(X, y, weights), table, y, weights, 4)
    for name in ("cells", "offsets", "classes"):
        np.testing.assert_array_equal(getattr(learnt, name), getattr(again, name))
    assert learnt.offsets is binner.cell_offsets
    assert learnt.classes.tolist() == [*(weights[y == i].sum() for i in range(3)), 0.0]


def test_rows_without_a_value_are_counted_only_with_a_bin_of_their_own():
    X, y = np.array([[0.0], [1.0], [np.nan], [np.nan]]), [0, 1, 1, 1]
    skip = counts_of(Binner.from_edges([[0.5]], "skip"), X, y, n_classes=2)
    own = counts_of(Binner.from_edges([[0.5]], "bin"), X, y, n_classes=2)
    assert skip.cells.tolist() == [[1, 0], [0, 1]]
    assert own.cells.tolist() == [[1, 0], [0, 1], [0, 2]]
    assert skip.classes.tolist() == own.classes.tolist() == [1, 3]
    np.testing.assert_allclose(skip.likelihoods(), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(own.likelihoods()[:, 1], [1 / 6, 2 / 6, 3 / 6])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 120), max_size=5), sparse=st.booleans())
def test_parts_merge_to_the_whole_bit_for_bit_in_any_order(seed, cuts, sparse):
    X, y, weights = made(seed=seed)
    binner = Binner("supervised", 4, "bin").fit(X, y, weights)
    X = sp.csr_array(X) if sparse else X
    total = counts_of(binner, X, y, weights)
    stops = [0, *sorted(cuts), 120]
    parts = [counts_of(binner, X[a:b], y[a:b], weights[a:b]) for a, b in pairwise(stops) if b > a]
    np.random.default_rng(seed).shuffle(parts)
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    np.testing.assert_array_equal(merged.cells, total.cells)
    np.testing.assert_array_equal(merged.classes, total.classes)
    np.testing.assert_array_equal(merged.likelihoods(), total.likelihoods())


def test_merging_leaves_its_parts_alone():
    binner = Binner.from_edges([[0.5]])
    a, b = (counts_of(binner, [[x]], [0], n_classes=2) for x in (0.0, 1.0))
    a.merge(b)
    assert a.cells.tolist() == [[1, 0], [0, 0]]
    assert b.cells.tolist() == [[0, 0], [1, 0]]


def test_a_class_that_was_never_seen_has_flat_probabilities():
    counts = counts_of(Binner.from_edges([[0.5, 1.5]]), [[0.0], [1.0]], [0, 0], n_classes=2)
    np.testing.assert_allclose(counts.likelihoods()[:, 1], 1 / 3)
    assert counts.priors().tolist() == [1, 0]


def test_no_features_have_no_probabilities():
    counts = counts_of(Binner.from_edges([]), np.empty((3, 0)), [0, 1, 1])
    assert counts.likelihoods().shape == (0, 3)


def test_counts_of_other_bins_or_classes_do_not_merge():
    X, y = [[0.0], [1.0]], [0, 1]
    counts = counts_of(Binner.from_edges([[0.5]]), X, y, n_classes=2)
    for other in (
        counts_of(Binner.from_edges([[0.5, 0.7]]), X, y, n_classes=2),
        counts_of(Binner.from_edges([[0.5]]), X, y, n_classes=3),
        counts_of(Binner.from_edges([[0.5], []]), [[0.0, 1.0]], [0], n_classes=2),
    ):
        with pytest.raises(InputError, match="count both with one Binner"):
            counts.merge(other)
