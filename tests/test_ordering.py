"""Orders against slow NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from etana.errors import InputError
from etana.likelihood import Counts
from etana.ordering import order_features, reorder_cells


def made(seed, n_classes=3, n_features=20):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n_features)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    cells = rng.integers(0, 12, size=(offsets[-1], n_classes)).astype(float)
    priors = rng.dirichlet(np.ones(n_classes))
    return Counts(cells, offsets, np.full(n_classes, 100.0)), priors, rng.uniform(0.5, 2, size=n_features)


def order(ordering, counts, priors=None, costs=None):
    n, k = counts.classes.size, counts.offsets.size - 1
    priors = np.full(n, 1 / n) if priors is None else priors
    costs = np.ones(k) if costs is None else np.asarray(costs, dtype=float)
    return order_features(ordering, counts, counts.likelihoods(), priors, costs).tolist()


def by_feature(counts, array):
    return [array[a:b] for a, b in zip(counts.offsets, counts.offsets[1:])]


def smoothed(s):
    return (s + 1) / (s.sum() + len(s))


def error_twin(counts):
    """Type I + type II error of class against rest, on smoothed pooled counts, summed over the classes."""
    scores = []
    for s in by_feature(counts, counts.cells):
        rest = [np.delete(s, i, axis=1).sum(axis=1) for i in range(s.shape[1])]
        scores.append(sum(np.minimum(smoothed(s[:, i]), smoothed(r)).sum() for i, r in enumerate(rest)))
    return np.array(scores)


def variance_twin(counts):
    return np.array([p.var(axis=1).sum() for p in by_feature(counts, counts.likelihoods())])


def information_twin(counts, priors):
    """H(feature) + H(class) - H(feature, class)."""

    def entropy(p):
        p = p[p > 0]
        return -(p * np.log(p)).sum()

    scores = []
    for p in by_feature(counts, counts.likelihoods()):
        joint = p * priors
        scores.append(entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel()))
    return np.array(scores)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(10))
def test_orders_are_those_of_the_twins(seed, n_classes):
    counts, priors, costs = made(seed, n_classes)
    telling = np.flatnonzero(np.diff(counts.offsets) > 1)  # one-bin features tie; see below
    for name, score in (
        ("error", error_twin(counts) * costs),
        ("variance", -variance_twin(counts)),
        ("information", -information_twin(counts, priors) / costs),
    ):
        got = [k for k in order(name, counts, priors, costs) if k in telling]
        assert got == [k for k in np.argsort(score) if k in telling]


def test_the_error_of_a_perfect_feature_comes_before_that_of_a_useless_one():
    cells = np.array([[5, 5], [5, 5], [10, 0], [0, 10.0]])
    counts = Counts(cells, np.array([0, 2, 4]), np.array([10.0, 10.0]))
    np.testing.assert_allclose(error_twin(counts), [2.0, 4 / 12])
    for name in ("error", "variance", "information"):
        assert order(name, counts) == [1, 0]
    # At thirteen times the price the perfect feature is no longer the better buy by error, nor by information.
    assert order("error", counts, costs=[1, 13]) == [0, 1]
    assert order("variance", counts, costs=[1, 1300]) == [1, 0]


def test_ties_go_to_the_left_column():
    cells = np.tile([[9.0, 1], [1, 9]], (4, 1))
    counts = Counts(cells, np.arange(0, 9, 2), np.array([10.0, 10.0]))
    for name in ("error", "variance", "information"):
        assert order(name, counts) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["error", "information"])
def test_mirrored_and_relabelled_features_tie(name):
    rng = np.random.default_rng(0)
    for _ in range(200):
        one = rng.integers(0, 30, size=(5, 4)).astype(float)
        mirrored = [one, one[::-1], one[rng.permutation(5)], one[::-1]]
        offsets = np.arange(0, 21, 5)
        counts = Counts(np.concatenate(mirrored), offsets, one.sum(axis=0))
        assert order(name, counts, costs=[0.3] * 4) == [0, 1, 2, 3]
        swap = rng.permutation(4)
        renamed = Counts(np.concatenate([one[:, swap], one]), offsets[:3], one.sum(axis=0))
        assert order(name, renamed) == [0, 1]


@pytest.mark.parametrize("name", ["error", "information"])
def test_free_features_come_first_the_most_telling_in_front(name):
    useless, weak, strong = [[5, 5], [5, 5]], [[6, 4], [4, 6]], [[10, 0], [0, 10]]
    cells = np.array([*strong, *weak, *strong, *weak, *useless], dtype=float)
    counts = Counts(cells, np.arange(0, 11, 2), np.array([10.0, 10.0]))
    got = order(name, counts, costs=[1, 0, 0, 1, 1])
    assert got == [2, 1, 0, 3, 4]
    assert order(name, counts, costs=np.zeros(5)) == [0, 2, 1, 3, 4]


@pytest.mark.parametrize("name", ["error", "information"])
@pytest.mark.parametrize("factor", [1e-15, 1 / 3, 7.0, 1e12])
def test_the_unit_of_prices_does_not_matter(name, factor):
    counts, priors, costs = made(4)
    costs = costs.round(1)
    assert order(name, counts, priors, costs * factor) == order(name, counts, priors, costs)


def test_one_class_and_one_feature():
    counts = Counts(np.array([[3.0], [4.0]]), np.array([0, 2]), np.array([7.0]))
    for name in ("error", "variance", "information"):
        assert order(name, counts, np.array([1.0])) == [0]


def test_no_features():
    counts = Counts(np.empty((0, 2)), np.array([0]), np.array([1.0, 1.0]))
    for given in ("error", "variance", "information", []):
        assert order(given, counts) == []


def test_a_class_of_no_weight_is_no_information():
    counts, _, costs = made(2, n_classes=2)
    got = order_features("information", counts, counts.likelihoods(), np.array([1.0, 0.0]), costs)
    assert got.tolist() == list(range(20))


@pytest.mark.parametrize("given", [[2, 0, 1], (2, 0, 1), np.array([2, 0, 1], dtype=np.uint8)])
def test_given_order(given):
    got = order_features(given, *_three())
    assert got.dtype == np.int64
    assert got.tolist() == [2, 0, 1]


def _three():
    counts = made(0, n_features=3)[0]
    return counts, counts.likelihoods(), np.full(3, 1 / 3), np.ones(3)


@pytest.mark.parametrize(
    "given",
    ["best", "", [0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [0.0, 1.0, 2.0], [True, False, True], ["0", "1", "2"]],
)
def test_wrong_orders_are_refused(given):
    allowed = "it must be 'auto', 'error', 'variance', 'information', 'cost' or an array"
    with pytest.raises(InputError, match=f"ordering is .*{allowed}"):
        order_features(given, *_three())


def test_the_order_by_cost_is_no_score():
    with pytest.raises(InputError, match="choose_order"):
        order_features("cost", *_three())


@pytest.mark.parametrize("given", [None, 3, [[0, 1, 2]], [[0], 1, 2], {"a": 0}, [0, 1, None]])
def test_things_that_are_no_order_are_refused(given):
    with pytest.raises(InputError, match="each of the column indices 0 to 2 once"):
        order_features(given, *_three())


def test_cells_move_with_their_features():
    counts, _, _ = made(1)
    new = np.random.default_rng(0).permutation(20)
    cells, offsets = reorder_cells(counts.cells, counts.offsets, new)
    want = [by_feature(counts, counts.cells)[k] for k in new]
    np.testing.assert_array_equal(cells, np.concatenate(want))
    assert np.diff(offsets).tolist() == [len(w) for w in want]
