"""What classifiers on prefixes announce is what rows pay that neither order, nor classifiers, nor rule had seen."""

import numpy as np
import pytest

from benchmarks.made_sets import switch
from etana import CommitteeClassifier, SequentialClassifier
from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.learning import judged_walks
from etana.learning.forward_order import NeighbourSearch
from etana.learning.judged_walks import _part, _walk
from etana.learning.regions import learn_tree_stopping
from gated_rows import gated


def announced_on_noise(**given):
    """Announced, paid by fresh rows, and paid by the same training rows if nothing is asked; means over a few seeds."""
    out = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(150, 20)), np.arange(150) % 2
        clf = SequentialClassifier(feature_costs=0.01, max_features=4, **given).fit(X, y)
        new = rng.normal(size=(2000, 20))
        walk = clf.acquire(new)
        # Half of the rows are of each class, whatever is decided.
        out.append((clf.expected_cost_, walk.costs.mean() + 0.5, clf.model_.judgement.nothing))
    return np.mean(out, axis=0)


def test_on_noise_as_much_is_announced_as_is_paid():
    announced, paid, _ = announced_on_noise()
    assert 0.93 < paid / announced < 1.07
    # An order that has seen all rows promises more than it keeps.
    seen, paid, _ = announced_on_noise(nested=False)
    assert paid / seen > 1.1


@pytest.mark.parametrize("kind", [SequentialClassifier, CommitteeClassifier])
def test_where_there_is_signal_as_much_is_announced_as_is_paid(kind):
    X, y = gated(300)
    clf = kind(feature_costs=0.02, max_features=4).fit(X, y)
    new, truth = gated(4000, seed=5)
    walk = clf.acquire(new)
    paid = walk.costs + (walk.labels != truth)
    error = np.hypot(clf.expected_cost_error_, paid.std() / np.sqrt(truth.size))
    assert abs(paid.mean() - clf.expected_cost_) < 4 * error
    assert clf.model_.judgement.accuracy == pytest.approx((walk.labels == truth).mean(), abs=0.08)
    assert clf.model_.judgement.nothing == pytest.approx(0.5, abs=0.05)


def test_walks_under_a_rule_pay_what_the_rule_says_that_they_pay():
    """A policy that was learnt from walks takes them as its backward pass did, region by region."""
    X, y = gated(500)
    learnt = CommitteeClassifier(feature_costs=0.02, max_features=3).fit(X, y)._learnt
    assert len(learnt.walks) == 3
    prices, mistakes = resolve_feature_costs(0.02, 6), resolve_mistakes(None, 2)
    tree = learn_tree_stopping(learnt, prices, mistakes)
    whole = _part(learnt, np.arange(500), [one.beliefs.priors for one in learnt.walks])
    spent, asked, decided = _walk(whole, tree)
    codes = learnt.walks[0].codes
    assert (spent + mistakes[codes, decided]).mean() == pytest.approx(tree.expectation.cost)
    assert asked.mean() == pytest.approx(tree.expectation.n_features)
    assert spent == pytest.approx(0.02 * asked)


def test_the_rule_that_judges_a_fold_was_learnt_without_it(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    learnt = SequentialClassifier(feature_costs=0.01, selection=np.arange(3)).fit(X, y)._learnt
    seen = []

    def rows_of(part):
        return {tuple(row) for row in part.walks[0].walks[1:].transpose(1, 0, 2).reshape(-1, 6)}

    def learns(part, *given):
        seen.append(rows_of(part))
        return learn_tree_stopping(part, *given)

    def walks(part, tree):
        assert not seen[-1] & rows_of(part)
        seen[-1] |= rows_of(part)
        return _walk(part, tree)

    monkeypatch.setattr(judged_walks, "learn_tree_stopping", learns)
    monkeypatch.setattr(judged_walks, "_walk", walks)
    prices, mistakes = resolve_feature_costs(0.01, 3), resolve_mistakes(None, 2)
    assert judged_walks.judge_walks(learnt, prices, mistakes).nothing > 0
    assert [len(rows) for rows in seen] == [80] * 5
    alone = _part(learnt, np.arange(1), [np.full(2, 0.5)])
    assert judged_walks.judge_walks(alone, prices, mistakes) is None


def test_features_that_tell_only_together_are_found_behind_others():
    """Columns 0 and 1 tell by their product alone, and only half of the rows; 6 and 10 come first."""
    X, y = switch(1200, 2, 12)
    search = NeighbourSearch(
        [X[:, [k]].astype(np.float32) for k in range(11)],
        y,
        resolve_feature_costs(0.005, 11),
        resolve_mistakes(None, 2),
    )
    order = search.run(11, start=[6, 10]).features.tolist()
    assert {0, 1} <= set(order)


def test_pairs_of_noise_are_not_taken_for_signal():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 12)), rng.integers(0, 2, 400)
    search = NeighbourSearch(
        [X[:, [k]].astype(np.float32) for k in range(12)], y, resolve_feature_costs(0.01, 12), resolve_mistakes(None, 2)
    )
    tried = []
    search._first_of_a_pair = lambda otherwise: (
        tried.append((otherwise, NeighbourSearch._first_of_a_pair(search, otherwise))) or otherwise
    )
    search.run(12, start=[0])
    assert tried
    assert all(otherwise == found for otherwise, found in tried)
