"""Features that say which others matter are found, and none is invented."""

from itertools import product

import numpy as np
import pytest

from benchmarks.made_sets import cube_nm, switch
from etana import CommitteeClassifier
from etana.beliefs.prefixes.encoding import learn_feature
from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.learning import regions
from etana.learning.folds import row_keys
from etana.learning.gates import find_gates, inside
from etana.learning.prefixes import PrefixRows
from etana.table import read_table
from gated_rows import gated

LABELS = np.array(["a", "b", "c"], dtype=object)


def additive(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X @ [1.5, 1.0, 0.7, 0.4, 0, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def noise(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)), rng.integers(0, 2, n)


def gates_of(X, y, labels=None, most=10):
    features = [learn_feature(X[:, k], (labels or {}).get(k)) for k in range(X.shape[1])]
    return find_gates(features, X, y, int(y.max()) + 1, row_keys(read_table(X)), most)


@pytest.mark.parametrize("seed", range(3))
def test_the_gate_is_the_first_that_is_found(seed):
    best, *others = gates_of(*gated(seed=seed))
    assert best.feature == 3
    assert best.least == -np.inf
    assert abs(best.most) < 0.2
    # Where one of the two columns is large it says that the sign of the gate matters less: no more than half a gate.
    assert all(other.feature in (0, 1) and other.score < best.score for other in others if other.score > 0.02)


def test_a_label_can_be_a_gate():
    X, y = gated()
    X[:, 3] = np.where(X[:, 3] < 0, 1.0, np.random.default_rng(1).choice([0.0, 2.0], len(X)))
    best = gates_of(X, y, {3: LABELS})[0]
    assert (best.feature, best.least, best.most) == (3, 1.0, 1.0)


def test_a_gate_with_missing_values_is_found_and_they_lie_outside():
    X, y = gated(900)
    X[::10, 3] = np.nan
    best = gates_of(X, y)[0]
    assert best.feature == 3
    assert inside(np.array([best.most, best.most + 1e-9, np.nan, -np.inf]), -np.inf, best.most).tolist() == [
        True, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_hardly_a_gate(seed):
    assert max((gate.score for gate in gates_of(*noise(seed=seed))), default=0.0) < 0.02


def test_contexts_come_before_all_else():
    X, y = cube_nm(600, n_contexts=3, block=10)
    assert sorted(gate.feature for gate in gates_of(X, y)[:3]) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_contexts_are_found_behind_others_whatever_their_share_of_the_rows(seed):
    # Four contexts with a quarter of the rows each, fifteen rows a class: no quantile that is tried lies between them.
    X, y = cube_nm(600, seed=20_000 + seed)
    left = X[:, 0] < 0.5
    best = gates_of(X[left], y[left], most=3)  # as many as are tried
    assert {gate.feature for gate in best} < {1, 2, 3, 4}
    assert all(0.3 < gate.most < 0.7 for gate in best)


def test_a_side_with_few_rows_is_no_half():
    X, y = gated(70)
    assert gates_of(X, y) == []


def test_no_more_than_asked_for_and_the_best_first():
    X, y = gated()
    X = np.column_stack([X, X[:, 3] + 0.3 * np.random.default_rng(2).normal(size=len(X))])
    every = gates_of(X, y)
    assert every[0].feature == 3
    assert 6 in [gate.feature for gate in every]
    assert len({gate.feature for gate in every}) == len(every)
    assert gates_of(X, y, most=1) == every[:1]


def test_the_column_of_the_switch_is_the_first_gate():
    assert gates_of(*switch(1200, 3))[0].feature == 10


# --- what survives in a classifier


def quick(**given):
    return CommitteeClassifier(**{"feature_costs": 0.02, "max_features": 3, "cv": 2, **given})


@pytest.mark.parametrize(("made", "seed"), [*product((noise, additive), range(3))])
def test_where_no_feature_says_which_others_matter_there_is_one_region(made, seed):
    X, y = made(300, seed)
    assert quick().fit(X, y).n_regions_ == 1


def test_the_gate_is_asked_first_and_each_half_what_tells_there():
    X, y = gated(500)
    clf = quick().fit(X, y)
    assert clf.n_regions_ == 2
    fresh, truth = gated(400, seed=7)
    walk = clf.acquire(fresh)
    asked = [walk.features(i).tolist()[:2] for i in range(len(walk))]
    assert {tuple(a) for a in asked} == {(3, 0), (3, 1)}
    away = np.abs(fresh[:, 3]) > 0.3  # the bound is found from five hundred rows
    assert all(a[1] == (0 if x < 0 else 1) for a, x in zip(np.array(asked)[away], fresh[away, 3], strict=True))
    assert (walk.labels == truth).mean() > 0.8
    one = quick(splits=False).fit(X, y)
    assert one.n_regions_ == 1
    paid = [w.costs.mean() + (w.labels != truth).mean() for w in (walk, one.acquire(fresh))]
    assert paid[0] < paid[1]


def test_contexts_are_asked_and_their_blocks_after_them():
    X, y = cube_nm(400, n_contexts=2)
    clf = quick(max_features=4).fit(X, y)
    assert clf.n_regions_ >= 2
    fresh, _ = cube_nm(100, seed=5, n_contexts=2)
    walk = clf.acquire(fresh)
    context = fresh[:, :2].argmax(axis=1)
    blocks = [{(k - 2) // 10 for k in walk.features(i).tolist() if k >= 2} for i in range(len(walk))]
    assert all(own <= {c} for own, c in zip(blocks, context.tolist(), strict=True))
    assert walk.n_features.mean() > 2


def rows_to_split(price=0.0, weights=None):
    X = np.random.default_rng(0).normal(size=(300, 2))
    return PrefixRows(
        read_table(X), np.arange(300) % 2, np.ones(300) if weights is None else weights, {},
        resolve_feature_costs(price, 2), resolve_mistakes(None, 2), row_keys(read_table(X), 0), np.empty(0, np.int64),
    )  # fmt: skip


@pytest.mark.parametrize(("heavy", "kept"), [(300, True), (3, False)])
def test_a_split_that_few_rows_with_much_weight_ask_for_is_not_kept(monkeypatch, heavy, kept):
    """Rows that count pay .2 less in halves, more or less; three rows could do so by chance."""
    training = rows_to_split(weights=np.where(np.arange(300) < heavy, 1.0, 1e-4))
    gate = regions.Gate(0, -np.inf, 0.0, 1.0)
    monkeypatch.setattr(regions, "_gates", lambda training, known: [] if known else [gate])
    monkeypatch.setattr(regions, "_paid", lambda training, *_: np.zeros(training.codes.size))
    whole = np.r_[0.0, 0.0, 0.6, 0.2 + 0.5 * np.random.default_rng(1).normal(size=297)]
    root, paid = regions._grow(training, None, lambda text: None, (), whole)
    assert (root.gate is not None) == kept
    np.testing.assert_array_equal(paid, 0.0 if kept else whole)


@pytest.mark.parametrize(("behind", "kept"), [(0.3, True), (0.5, False)])
def test_a_gate_may_show_its_worth_only_behind_another(monkeypatch, behind, kept):
    """A gate costs .1. Rows pay .6; one split leaves .55, which is not worth its price; a second leaves ``behind``."""
    monkeypatch.setattr(
        regions,
        "_gates",
        lambda training, known: [regions.Gate(len(known), -np.inf, 0.0, 1.0)] if len(known) < 2 else [],
    )
    left = {1: 0.55, 2: behind}
    monkeypatch.setattr(
        regions, "_paid", lambda training, settings, start, bought: np.full(training.codes.size, left[len(bought)])
    )
    root, paid = regions._grow(rows_to_split(0.1), None, lambda text: None, (), np.full(300, 0.6))
    assert (root.gate is not None and root.inside.gate is not None) == kept
    np.testing.assert_allclose(paid, behind + 0.2 if kept else 0.6)
