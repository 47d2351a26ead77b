"""The adaptive classifier as users meet it: all kinds of input, cases, costs, budgets, errors, odd data."""

import pickle
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from etana import AdaptiveClassifier, Binner, FeatureCosts
from etana.beliefs import path_counts
from etana.errors import CostError, InputError
from etana.kernels import graph
from etana.learning import instance_choice
from etana.walks.graph import Graph

NAIVE = {"m": np.inf, "walks": "model", "look_ahead": False}


def frame(n=300, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {"size": y + rng.normal(size=n), "count": rng.poisson(y + 1.0), "_noise_$": rng.normal(size=n)}
    )
    table["colour"] = pd.Categorical.from_codes(np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n)), list("rgb"))
    table["smoker"] = rng.random(n) < 0.2 + 0.3 * y
    table.iloc[::7, 0] = np.nan
    table.loc[::5, "colour"] = None
    return table, np.array(["ja", "nein", "vielleicht"])[y]


def same(a, b):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    for i in range(len(a)):
        assert a.features(i).tolist() == b.features(i).tolist()


def run(clf, values, max_cost=None):
    """A case answered from one row; values by column."""
    case = clf.start(max_cost)
    asked = []
    while case.next_feature is not None:
        asked.append(case.next_column)
        case.observe(values[case.next_column])
    return case, asked


def check_cases(clf, X, rows, max_cost=None):
    """One question at a time gives what the batch gives, bit for bit."""
    walk = clf.acquire(X, max_cost=max_cost)
    for i, row in enumerate(rows):
        case, asked = run(clf, row, max_cost)
        assert asked == walk.features(i).tolist()
        assert case.label == walk.labels[i]
        assert case.cost == walk.costs[i]
        assert case.posterior.tobytes() == walk.posteriors[i].tobytes()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X[::2], y[::2]), X[1::2][:150]


# --- the same answers whichever way one asks


def test_cases_and_all_kinds_of_numeric_input(digits):
    clf, X = digits
    walk = clf.acquire(X)
    for other in (
        X.astype(np.float32), np.asfortranarray(X), X.astype(int), X.tolist(), sp.csr_array(X), sp.csc_array(X),
        sp.csr_matrix(X.astype(np.float32)), X[::-1][::-1],
    ):  # fmt: skip
        same(walk, clf.acquire(other))
    check_cases(clf, X, X)
    check_cases(clf, X, X, max_cost=0.025)
    assert (clf.predict(X) == walk.labels).all()
    assert clf.predict_proba(X).tobytes() == walk.posteriors.tobytes()


def test_one_loop_serves_rows_and_columns_that_lie_together(digits):
    """It is the largest of all: compiled once more, for columns, it would cost a first fit two seconds."""
    clf, X = digits
    clf.acquire(X)
    compiled = len(graph.descend.overloads)
    same(clf.acquire(X), clf.acquire(np.asfortranarray(X)))
    assert len(graph.descend.overloads) == compiled


@pytest.mark.parametrize("missing", ["skip", "bin"])
def test_data_frames_with_categories_and_missing_values(missing):
    table, y = frame()
    prices = {"size": 0.02, "count": 0.01, "_noise_$": 0.001, "colour": 0.03, "smoker": 0.005}
    clf = AdaptiveClassifier(prices, missing=missing, m=5.0).fit(table, y)
    rows = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    check_cases(clf, table, rows)
    same(clf.acquire(table), clf.acquire(pl.from_pandas(table)))
    strange = table.copy()
    strange["colour"] = "ultraviolet"
    check_cases(clf, strange, strange.astype(object).where(strange.notna(), None).to_numpy().tolist())


def test_sparse_training_rows_give_the_same_model():
    X, y = load_digits(return_X_y=True)
    dense, sparse = (AdaptiveClassifier(0.02, **NAIVE).fit(data[::3], y[::3]) for data in (X, sp.csr_array(X)))
    same(dense.acquire(X), sparse.acquire(X))


def test_rows_do_not_depend_on_other_rows(digits):
    clf, X = digits
    walk = clf.acquire(X)
    for part in (slice(40, 41), slice(None, None, 7)):
        one = clf.acquire(X[part])
        assert one.posteriors.tobytes() == walk.posteriors[part].tobytes()
        assert [one.features(i).tolist() for i in range(len(one))] == [
            walk.features(i).tolist() for i in np.arange(len(X))[part]
        ]


def test_a_small_graph_gives_the_same_answers():
    """What is worked out from training rows differs with the room for it; under naive Bayes nothing does."""
    X, y = load_wine(return_X_y=True)
    large = AdaptiveClassifier(0.005, **NAIVE).fit(X[::2], y[::2])
    walk = large.acquire(X)
    for nodes in (1, 20, 60):
        small = AdaptiveClassifier(0.005, max_nodes=nodes, **NAIVE).fit(X[::2], y[::2])
        same(walk, small.acquire(X))
        assert small.graph_.n_nodes <= 2 * (nodes + 14)
        assert small.graph_.n_nodes < large.graph_.n_nodes
    assert small.expected_cost_ == pytest.approx(large.expected_cost_, abs=1e-12)


def test_threads(digits):
    clf, X = digits
    expected, rows = clf.acquire(X), X[:30]
    faults = []

    def work(seed):
        try:
            order = np.random.default_rng(seed).permutation(len(X))
            walk = clf.acquire(X[order])
            assert walk.posteriors.tobytes() == expected.posteriors[order].tobytes()
            for i, row in enumerate(rows):
                assert run(clf, row)[1] == expected.features(i).tolist()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults


def test_undo_takes_a_case_back(digits):
    clf, X = digits
    case = clf.start()
    seen = []
    while case.next_feature is not None:
        seen.append((case.next_feature, case.posterior.tobytes(), case.cost, case.explain(), case.expected_cost))
        case.observe(X[3, case.next_feature])
    end = case.label, case.posterior.tobytes()
    for state in reversed(seen):
        case.undo()
        assert state == (case.next_feature, case.posterior.tobytes(), case.cost, case.explain(), case.expected_cost)
    with pytest.raises(InputError, match="none to take back"):
        case.undo()
    for feature, *_ in seen:
        assert case.next_feature == feature
        case.observe(X[3, feature])
    assert end == (case.label, case.posterior.tobytes())


# --- costs


def test_free_features_are_all_asked_and_decided_as_naive_bayes_does():
    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        clf = AdaptiveClassifier(0.0, **NAIVE).fit(X[::2], y[::2])
        walk = clf.acquire(X)
        assert (walk.n_features == clf.model_.columns.size).all()
        assert set(walk.features(0).tolist()) == set(np.flatnonzero(np.diff(clf.binner_.cell_offsets) > 1).tolist())
        codes, logs = clf.binner_.transform(X), np.log(clf.counts_.likelihoods())
        joint = np.tile(np.log(clf.counts_.priors()), (len(X), 1))
        for k in range(X.shape[1]):
            joint += logs[clf.binner_.cell_offsets[k] + codes[:, k]]
        assert (walk.labels == clf.classes_[joint.argmax(axis=1)]).all()
        joint -= joint.max(axis=1, keepdims=True)
        beliefs = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(walk.posteriors, beliefs, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("settings", [{"m": 10.0}, {"m": 5.0, "look_ahead": 2}, NAIVE])
def test_dearer_features_mean_fewer(settings):
    X, y = load_wine(return_X_y=True)
    clfs = [AdaptiveClassifier(c, **settings).fit(X[::2], y[::2]) for c in (0.0005, 0.005, 0.05, 0.6)]
    expected = [c.expected_n_features_ for c in clfs]
    asked = [c.acquire(X[1::2]).n_features.mean() for c in clfs]
    assert expected == sorted(expected, reverse=True)
    assert asked == sorted(asked, reverse=True)
    assert asked[-1] == 0.0


def test_the_unit_of_costs_does_not_matter():
    X, y = load_wine(return_X_y=True)
    prices = np.linspace(0.005, 0.03, 13)
    a = AdaptiveClassifier(prices, 1 - np.eye(3), m=10.0).fit(X[::2], y[::2])
    for factor in (4.0, 1e6, 1e-9):
        b = AdaptiveClassifier(prices * factor, (1 - np.eye(3)) * factor, m=10.0).fit(X[::2], y[::2])
        one, two = a.acquire(X), b.acquire(X)
        assert (one.labels == two.labels).all()
        assert [one.features(i).tolist() for i in range(len(X))] == [two.features(i).tolist() for i in range(len(X))]
        assert b.expected_cost_ == pytest.approx(factor * a.expected_cost_)


def test_budgets(digits):
    clf, X = digits
    free = clf.acquire(X)
    for budget in (0.0, 0.01, 0.035, 1.0):
        walk = clf.acquire(X, max_cost=budget)
        assert (walk.costs <= budget + 1e-12).all()
        for i in range(0, len(X), 11):
            assert walk.features(i).tolist() == free.features(i).tolist()[: walk.n_features[i]]
    assert clf.acquire(X, max_cost=0.03).n_features.max() == 3  # to the cent
    case = clf.start(max_cost=0.0)
    assert case.stopped_by == "budget"
    assert "budget does not allow" in case.explain()
    with pytest.raises(InputError, match="max_cost"):
        clf.acquire(X, max_cost=-1)


def test_a_group_pays_its_fee_once():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.ascontiguousarray(X[:, ::3])
    groups = ["blood"] * 4 + ["scan"] * 4 + [None] * 2
    full = np.linspace(0.01, 0.02, 10)
    discounted = np.where(np.arange(10) < 8, full / 10, full)
    clf = AdaptiveClassifier(FeatureCosts(full, groups, discounted), m=10.0).fit(X[::2], y[::2])
    walk = clf.acquire(X)
    assert walk.n_features.max() > 2
    for i in range(len(X)):
        paid, total = set(), 0.0
        for k in walk.features(i).tolist():
            total += discounted[k] if groups[k] in paid else full[k]
            paid |= {groups[k]} - {None}
        assert walk.costs[i] == pytest.approx(total, abs=1e-12)
    case, _ = run(clf, X[int(walk.n_features.argmax())])
    assert case.history[0].price in full.tolist()
    alone = AdaptiveClassifier(full, m=10.0).fit(X[::2], y[::2]).acquire(X)
    assert walk.n_features.mean() > alone.n_features.mean()


def test_new_prices_without_new_data():
    X, y = load_wine(return_X_y=True)
    clf = AdaptiveClassifier(0.01, m=10.0).fit(X[::2], y[::2])
    again = clf.with_costs(feature_costs=0.2)
    fresh = AdaptiveClassifier(0.2, m=10.0, look_ahead=clf.look_ahead_).fit(X[::2], y[::2])
    same(again.acquire(X), fresh.acquire(X))
    assert clf.feature_costs == 0.01
    harsh = clf.with_costs(misclassification_costs=[[0, 1, 1], [50, 0, 50], [1, 1, 0]])
    assert (harsh.predict(X[1::2]) == 1).sum() >= (clf.predict(X[1::2]) == 1).sum()


HARSH = [[0, 1, 3], [5, 0, 5], [1, 1, 0]]


@pytest.mark.parametrize(
    ("changes", "served"),
    [
        ({"feature_costs": 0.05}, True),
        ({"feature_costs": 0.003}, True),
        ({"misclassification_costs": HARSH}, True),
        ({"feature_costs": 0.03, "misclassification_costs": HARSH}, True),
        ({"feature_costs": np.linspace(0.01, 0.05, 13)}, False),
        ({"feature_costs": 0.0}, False),
        ({"feature_costs": FeatureCosts(np.full(13, 0.02), groups=[0] * 13, discounted=np.full(13, 0.01))}, False),
    ],
    ids=["dearer", "cheaper", "mistakes", "both", "other shares", "free", "groups"],
)
def test_graphs_that_are_kept_for_new_prices_change_nothing(changes, served, monkeypatch):
    """A copy has no graphs and grows them: rule, judgement and walks are the same to the bit."""
    X, y = load_wine(return_X_y=True)
    clf = AdaptiveClassifier(0.01, m=5.0, look_ahead=False, temperature=1.0).fit(X[::2], y[::2])
    found = []
    repriced = Graph.repriced
    monkeypatch.setattr(Graph, "repriced", lambda *given: found.append(repriced(*given)) or found[-1])
    grown = pickle.loads(pickle.dumps(clf)).with_costs(**changes)
    assert not found
    again = clf.with_costs(**changes)
    assert found
    assert all((graph is not None) == served for graph in found)
    same(again.acquire(X), grown.acquire(X))
    assert again.model_.judgement == grown.model_.judgement
    assert again.model_.policy.rule.tobytes() == grown.model_.policy.rule.tobytes()
    # What is kept is not changed by its use.
    same(clf.with_costs(**changes).acquire(X), grown.acquire(X))
    same(clf.with_costs(feature_costs=0.01).acquire(X), clf.acquire(X))


def test_the_most_features(digits):
    _, X = digits
    y = load_digits().target[1::2][:150]
    for most in (1, 2):
        clf = AdaptiveClassifier(0.001, max_features=most, m=10.0, look_ahead=False).fit(X, y)
        walk = clf.acquire(X)
        assert walk.n_features.max() == most
        case, _ = run(clf, X[int(walk.n_features.argmax())])
        assert f"no more than {most} features" in case.explain()


# --- seeds, weights, folds


def test_the_same_seed_gives_the_same_bytes():
    X, y = load_wine(return_X_y=True)
    a, b = (AdaptiveClassifier(0.01, random_state=3).fit(X[::2], y[::2]) for _ in range(2))
    same(a.acquire(X), b.acquire(X))
    assert a.cv_costs_ == b.cv_costs_
    assert (a.expected_cost_, a.m_) == (b.expected_cost_, b.m_)
    for seed in (np.random.RandomState(0), np.random.default_rng(0)):
        AdaptiveClassifier(0.01, random_state=seed, **NAIVE).fit(X, y)


@pytest.mark.parametrize("m", [np.inf, 4.0])
def test_a_weight_is_so_many_rows(m):
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    clf = AdaptiveClassifier(0.01, m=m, walks="model", look_ahead=False, temperature=1.0)
    a = clf.fit(X, y, sample_weight=weights).acquire(X)
    b = clf.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).acquire(X)
    np.testing.assert_allclose(a.posteriors, b.posteriors, rtol=1e-12)
    assert (a.n_features == b.n_features).all()


def test_the_order_of_training_rows_does_not_matter_under_naive_bayes():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    same(*(AdaptiveClassifier(0.01, **NAIVE).fit(X[o], y[o]).acquire(X) for o in (order, np.arange(len(y)))))


def test_strength_is_chosen_by_held_out_rows():
    """Of two features that tell the class only together, naive Bayes learns nothing."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (600, 4)).astype(float)
    y = (X[:, 0] + X[:, 1]) % 2
    bins = Binner.from_edges([[0.5]] * 4)
    clf = AdaptiveClassifier(0.01, binning=bins).fit(X, y)
    assert clf.m_ < np.inf
    assert clf.cv_costs_[clf.m_, clf.look_ahead_] == min(clf.cv_costs_.values())
    assert {m for m, _ in clf.cv_costs_} > {np.inf, 2.0}
    assert (clf.predict(X) == y).all()


# --- odd data and odd parameters


@pytest.mark.parametrize("m", ["auto", np.inf, 0.0])
@pytest.mark.parametrize("walks", ["rows", "model"])
def test_odd_training_sets(m, walks):
    rng = np.random.default_rng(0)
    full = rng.normal(size=(20, 3))
    for X, y in (
        (full, np.zeros(20)),  # one class
        (full[:1], [1]),  # one row
        (full[:2], [0, 1]),
        (np.ones((20, 3)), np.arange(20) % 2),  # constant columns
        (np.full((20, 3), np.nan), np.arange(20) % 2),  # nothing known
        (np.full((20, 3), np.inf), np.arange(20) % 2),
        (full[:8], np.arange(8)),  # a class for each row
    ):
        for missing in ("skip", "bin"):
            clf = AdaptiveClassifier(0.01, m=m, walks=walks, missing=missing, binning="quantile").fit(X, y)
            walk = clf.acquire(np.vstack([X, full, np.full((2, 3), np.nan)]))
            assert np.isfinite(walk.posteriors).all()
            np.testing.assert_allclose(walk.posteriors.sum(axis=1), 1.0)
            assert np.isin(walk.labels, clf.classes_).all()
            assert clf.start().explain()
            assert clf.export_text()
            assert np.isfinite(clf.expected_cost_)


def test_no_rows_to_classify(digits):
    clf, X = digits
    walk = clf.acquire(X[:0])
    assert len(walk) == 0
    assert walk.posteriors.shape == (0, 10)


def test_zero_priors_and_free_mistakes():
    X, y = load_wine(return_X_y=True)
    clf = AdaptiveClassifier(0.01, priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert (clf.predict_proba(X)[:, 2] == 0).all()
    nothing = AdaptiveClassifier(0.01, np.zeros((3, 3))).fit(X, y)
    assert nothing.acquire(X).n_features.max() == 0
    assert nothing.expected_cost_ == 0.0


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("m", [-1, "many", None, np.nan, [1]], "m is .*; it must be 'auto' or a number >= 0"),
        ("look_ahead", ["far", 5, -1, 1.5, None], "look_ahead is .*; it must be 'auto'"),
        ("walks", ["row", None, 3], "walks is .*; it must be 'rows' or 'model'"),
        ("max_features", [0, -1, 1.5, "all", True], "max_features is .*; it must be a whole number"),
        ("max_nodes", [0, None, 2.0, False], "max_nodes is .*; it must be a whole number"),
        ("priors", ["flat"], "priors is"),
        ("binning", ["best"], "binning is"),
        ("missing", ["drop"], "missing is"),
    ],
)
def test_parameters_that_cannot_be(name, values, words):
    X, y = load_iris(return_X_y=True)
    for value in values:
        with pytest.raises(InputError, match=words):
            AdaptiveClassifier(**{name: value}).fit(X, y)


def test_costs_and_columns_that_cannot_be():
    table, y = frame(60)
    with pytest.raises(CostError, match="no price for"):
        AdaptiveClassifier({"size": 1.0}).fit(table, y)
    with pytest.raises(CostError, match=r"below|>= 0"):
        AdaptiveClassifier(-1.0).fit(table, y)
    clf = AdaptiveClassifier(0.01, **NAIVE).fit(table, y)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(table[table.columns[::-1]])
    case = clf.start()
    number = next(n for n in ("size", "count", "_noise_$") if n)
    while case.next_feature not in (number, "count", None):
        case.observe(None)
    if case.next_feature is not None:
        with pytest.raises(InputError, match="must be a number"):
            case.observe("large")


def test_ask_fetches_only_what_is_needed(digits):
    clf, X = digits
    fetched = []

    def fetch(k):
        fetched.append(k)
        return X[0, k]

    case = clf.ask(fetch)
    assert fetched == clf.acquire(X[:1]).features(0).tolist()
    assert case.next_feature is None


def test_many_features_and_eleven_classes():
    """5,000 columns, of which a few hundred tell something; candidates are found without looking at all of them."""
    rng = np.random.default_rng(0)
    y = np.arange(220) % 11
    X = rng.normal(size=(220, 5_000)).astype(np.float32)
    X[:, :300] += (y[:, None] * np.arange(1, 301)[None, :] % 11) * 0.7
    clf = AdaptiveClassifier(0.01, **NAIVE).fit(X[::2], y[::2])
    walk = clf.acquire(X[1::2])
    assert (walk.labels == y[1::2]).mean() > 0.6
    assert walk.n_features.mean() < 30
    check_cases(clf, X[1:40:2], X[1:40:2])


# --- in words


def test_explanations_and_text(digits):
    clf, X = digits
    case, _ = run(clf, X[0])
    assert "Stop" in case.explain()
    words = clf.start().explain()
    assert "of all features it tells most per price" in words
    assert words.count("%") > 3
    text = clf.export_text(max_depth=2, least=0.05)
    assert text.startswith("ask ")
    assert "decide " in clf.export_text(max_depth=20)
    assert len(clf.export_text(max_depth=3, least=0.02).splitlines()) > len(text.splitlines())
    depths = [line.count("|") for line in text.splitlines()]
    assert max(depths) == 2
    assert all(b <= a + 1 for a, b in pairwise(depths))


@pytest.mark.parametrize("dense", [False, True])
def test_of_very_many_candidates_few_are_kept_and_few_rows_walk(dense, monkeypatch):
    """A table of words: bins, candidates and walks of the folds know the columns by their own numbers."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    words = (rng.random((400, 300)) < 0.02 + 0.25 * (np.arange(300) % 20 == 7) * y[:, None]).astype(float)
    X = words if dense else sp.csr_matrix(words)
    prices = np.where(np.arange(300) == 47, 5.0, 0.01)
    every = AdaptiveClassifier(prices).fit(X, y)
    assert every._paths.beliefs.left_out == 0.0
    assert sum(part.classes.size for part in every._paths.held_out) == 400
    monkeypatch.setattr(path_counts, "_WIDE_CODES", 100)
    monkeypatch.setattr(path_counts, "_WIDE", 6)
    monkeypatch.setattr(instance_choice, "_WIDE_ROWS", 250)
    clf = AdaptiveClassifier(prices).fit(X, y)
    kept = clf._paths.beliefs.candidates
    assert kept.size == 6
    assert (kept % 20 == 7).all()
    assert 47 not in kept  # dear
    assert clf._paths.beliefs.left_out > 0
    assert sum(part.classes.size for part in clf._paths.held_out) == clf._paths.n_rows == 250
    assert all(part.beliefs.candidates.size <= 6 for part in clf._paths.held_out)
    for part in clf._paths.held_out:
        columns = part.beliefs.candidates if part.columns is None else part.columns[part.beliefs.candidates]
        assert (columns % 20 == 7).all()
        assert 47 not in columns
        np.testing.assert_array_equal(part.prices(clf.model_.policy.prices).full[part.beliefs.candidates], 0.01)
    assert clf.expected_cost_ < 0.3
    assert clf.mean_spend() < 0.1
    dearer = clf.with_costs(feature_costs=0.2)
    assert dearer.acquire(X).n_features.mean() < clf.acquire(X).n_features.mean()
