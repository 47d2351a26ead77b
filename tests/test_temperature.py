"""Evidence is believed as far as held-out rows bear it out, and what they paid is what is announced."""

import numpy as np
import pytest

import etana
from etana import AdaptiveClassifier, ETANAClassifier, FETANAClassifier, distributed
from etana.errors import InputError
from etana.judgement import HeldOutRows
from etana.learning import folds
from etana.learning.temperature import TEMPERATURES, coolest
from etana.likelihood import tempered


def repeated(n=600, copies=6, seed=0):
    """One feature that tells a little, and copies of it with hardly any noise: naive Bayes counts it many times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = y + 1.2 * rng.normal(size=n)
    return x[:, None] + 0.05 * rng.normal(size=(n, copies)), y


def paid(clf, X, y):
    walk = clf.acquire(X)
    return float((walk.costs + (walk.labels != y)).mean())


def test_tempered_likelihoods_by_hand():
    rng = np.random.default_rng(0)
    priors = np.array([0.7, 0.3])
    a, b = rng.dirichlet(np.ones(3), 2).T, rng.dirichlet(np.ones(2), 2).T
    cells, offsets = np.concatenate([a, b]), np.array([0, 3, 5])
    got = tempered(cells, offsets, priors, 2.0)
    for first, last, part in ((0, 3, a), (3, 5, b)):
        want = np.sqrt(part * (part @ priors)[:, None])
        np.testing.assert_allclose(got[first:last], want / want.sum(axis=0))
    assert tempered(cells, offsets, priors, 1.0) is cells
    hot = tempered(cells, offsets, priors, 1e9)
    np.testing.assert_allclose(hot[:, 0], hot[:, 1], rtol=1e-6)
    np.testing.assert_allclose(hot[:, 0], np.concatenate([a @ priors, b @ priors]), rtol=1e-6)


def test_ratios_are_raised_to_one_over_t():
    cells = np.array([[0.01, 0.3], [0.99, 0.7]])
    got = tempered(cells, np.array([0, 2]), np.array([0.7, 0.3]), 2.0)
    assert got[0, 1] / got[0, 0] == pytest.approx(np.sqrt(30), rel=0.05)
    assert got[0] @ [0.7, 0.3] == pytest.approx(cells[0] @ [0.7, 0.3], rel=0.3)  # a rare answer stays rare


@pytest.mark.parametrize("kind", [ETANAClassifier, FETANAClassifier])
def test_copies_of_a_feature_are_believed_less(kind):
    """Who counts one feature six times is too sure of the class that is dear to miss."""
    X, y = repeated(n=4400)
    mistakes = np.array([[0.0, 1.0], [8.0, 0.0]])

    def really(clf):
        walk = clf.acquire(X[400:])
        return float((walk.costs + mistakes[y[400:], walk.labels]).mean())

    clf = kind(0.001, mistakes).fit(X[:400], y[:400])
    assert clf.temperature_ > 1
    own = kind(0.001, mistakes, temperature=1.0).fit(X[:400], y[:400])
    assert own.temperature_ == 1
    assert really(clf) < really(own)
    # Held-out rows announce what is paid; the model alone would announce far less.
    assert clf.expected_cost_ == pytest.approx(really(clf), abs=3 * clf.expected_cost_error_)
    assert own.expected_cost_ < 0.75 * really(own)


def test_adaptive_announces_what_held_out_rows_paid():
    X, y = repeated()
    clf = AdaptiveClassifier(0.002, look_ahead=False).fit(X[:400], y[:400])
    assert clf.expected_cost_ == pytest.approx(paid(clf, X[400:], y[400:]), abs=3 * clf.expected_cost_error_)
    assert clf.model_.expected_cost != clf.expected_cost_
    given = AdaptiveClassifier(0.002, m=np.inf, look_ahead=False, temperature=3.0).fit(X[:400], y[:400])
    assert given.temperature_ == given.model_.beliefs.temperature == 3.0
    assert given.with_costs(feature_costs=0.01).temperature_ == 3.0


@pytest.mark.parametrize("make", [
    lambda: ETANAClassifier(0.002), lambda: FETANAClassifier(0.002), lambda: AdaptiveClassifier(0.002, look_ahead=False)
])  # fmt: skip
def test_what_held_out_rows_paid_is_in_the_model_and_its_file(make, tmp_path):
    X, y = repeated()
    clf = make().fit(X[:400], y[:400])
    judged = clf.model_.judgement
    assert clf.expected_cost_ == judged.cost < judged.nothing
    assert (clf.expected_cost_error_, clf.expected_n_features_) == (judged.standard_error, judged.n_features)
    assert judged.accuracy == pytest.approx(clf.score(X[400:], y[400:]), abs=0.1)
    assert judged.nothing == pytest.approx(1 - np.bincount(y[:400]).max() / 400, abs=0.01)
    # All that a row pays: its mistakes, and its features.
    assert judged.cost == pytest.approx(1 - judged.accuracy + 0.002 * judged.n_features)
    etana.save(clf, tmp_path / "m.etana")
    assert etana.load(tmp_path / "m.etana").expected_cost_ == judged.cost
    assert etana.modelfile.load_model(tmp_path / "m.etana").judgement == judged
    # No row was held out for another policy.
    assert clf.within_budget(0.004).model_.judgement is None
    assert clf.model_.at_prices(clf.model_.prices) is None or clf.model_.at_prices(clf.model_.prices).judgement is None


def test_blocks_that_come_later_are_not_announced_by_rows_held_out_before():
    X, y = repeated()
    clf = ETANAClassifier(0.002).fit(X[:400], y[:400])
    clf.partial_fit(X[400:], y[400:])
    assert clf.model_.judgement is None
    assert clf.expected_cost_ == clf.model_.expected_cost


def at(costs):
    """Rows that pay these on average at each temperature, all moving together."""
    noise = np.random.default_rng(0).normal(size=400)
    noise -= noise.mean()
    walked = []

    def walk(temperature):
        walked.append(temperature)
        k = TEMPERATURES.index(temperature)
        return HeldOutRows(costs[k] + (1 + 0.1 * k) * noise, *np.ones((4, 400)), 400.0)

    return walk, walked


def test_the_cheapest_is_taken_unless_chance_may_have_chosen_it():
    error = 0.1 / np.sqrt(400)  # of the difference between neighbours
    assert coolest(at([0.5, 0.4, 0.3, 0.35, 0.36])[0])[0] == 2.0
    assert coolest(at([0.5, 0.5 - 0.4 * error, 0.5, 0.5, 0.5])[0])[0] == 1.0
    assert coolest(at([0.5, 0.5 - 0.6 * error, 0.5, 0.5, 0.5])[0])[0] == 1.5
    assert coolest(at([0.5] * 5)[0])[0] == 1.0
    walk, walked = at([0.3, 0.5, 0.1, 0.1, 0.1])
    assert coolest(walk)[0] == 1.0
    assert walked == [1.0, 1.5]  # clearly dearer: hotter ones are not tried


def test_counts_alone_keep_what_is_given():
    X, y = repeated()
    blocks = [(X[i::2], y[i::2]) for i in range(2)]
    for temperature, want in (("auto", 1.0), (2.5, 2.5)):
        clf = ETANAClassifier(temperature=temperature)
        stream = ETANAClassifier(temperature=temperature)
        for block in blocks:
            stream.partial_fit(*block)
        made = distributed.fit(clf, blocks)
        assert stream.temperature_ == made.temperature_ == want
        assert stream.expected_cost_ == stream.policy_.expected_cost


def test_files_and_new_prices_keep_it(tmp_path):
    X, y = repeated()
    clf = ETANAClassifier(0.002).fit(X, y)
    etana.save(clf, tmp_path / "m.etana")
    loaded = etana.load(tmp_path / "m.etana")
    assert (loaded.temperature_, loaded.expected_cost_) == (clf.temperature_, clf.expected_cost_)
    dear, again = clf.with_costs(feature_costs=0.01), loaded.with_costs(feature_costs=0.01)
    assert dear.temperature_ == clf.temperature_
    assert dear.expected_cost_ == dear.policy_.expected_cost == again.expected_cost_


def test_wrong_temperatures_are_refused():
    for given in (0.5, "warm", None):
        with pytest.raises(InputError, match=r"temperature is .*1 believes the counts as they are"):
            ETANAClassifier(temperature=given).fit([[1.0], [2.0]], [0, 1])


def test_as_published_believes_its_counts():
    clf = ETANAClassifier.as_published()
    assert (clf.temperature, clf.identifiers) == (1.0, ())


def test_a_sample_of_rows_is_found_some_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(folds, "_BLOCK", 7)
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 500, p=[0.7, 0.2, 0.1])
    keys = rng.integers(0, 2**63, 500, dtype=np.uint64) * np.uint64(2)
    keys[100:200] = keys[:100]  # rows that are alike
    chosen = folds.sample_rows(codes, 60, keys)
    places, order = np.arange(60) * 500 // 60, folds.ranked_rows(codes, keys)
    assert np.array_equal(chosen, np.sort(order[places]))
