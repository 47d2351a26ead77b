"""The classifier that chooses: honest on noise, asks where it pays, and serves every door of the others."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import etana
from etana import Binner, FeatureCosts, FrugalClassifier
from etana.classifiers import frugal
from etana.errors import IdentifierWarning, InputError
from etana.learning import boosting
from etana.learning.judging import NOTHING
from etana.modelfile import load_model
from modelfile_samples import frame


def noise(n=200, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.integers(0, 2, n)


def signal(n=200, seed=0):
    """Columns 0 and 1 tell the class, 2 and 3 do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    return X, (X[:, 0] + 0.6 * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def fast(**given):
    return FrugalClassifier(**{"feature_costs": 0.02, "effort": "fast", **given})


@cache
def fitted(made=signal):
    return fast().fit(*made())


@pytest.fixture
def quick(monkeypatch):
    """Less work for the choice among all candidates: few trees."""
    monkeypatch.setattr(boosting, "_FORESTS", (boosting.Growth(5, 8, 1.0),))


def paid(clf, X, y):
    walk = clf.acquire(X)
    return (
        walk.costs + clf.model_.mistakes[np.searchsorted(clf.classes_, y), np.searchsorted(clf.classes_, walk.labels)]
    )


def same(one, other):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


# --- the choice


@pytest.mark.parametrize("seed", range(4))
def test_on_noise_nothing_is_asked_and_the_announcement_is_what_fresh_rows_pay(seed):
    clf = fast(feature_costs=0.01).fit(*noise(seed=seed))
    assert [row.name for row in clf.comparison_ if row.chosen] == [NOTHING]
    fresh = paid(clf, *noise(5000, seed=100 + seed))
    error = np.hypot(clf.expected_cost_error_, fresh.std() / np.sqrt(fresh.size))
    assert abs(fresh.mean() - clf.expected_cost_) <= 2 * error
    assert clf.expected_cost_error_ < 0.05
    assert clf.expected_n_features_ == 0


def test_all_candidates_see_that_noise_is_noise(quick):
    clf = FrugalClassifier(0.01).fit(*noise(150))
    assert clf.start().next_feature is None
    at_once = next(row.cost for row in clf.comparison_ if row.name == NOTHING)
    assert all(row.cost >= at_once for row in clf.comparison_)


@pytest.mark.parametrize("seed", range(2))
def test_where_there_is_signal_it_asks_and_announces_what_fresh_rows_pay(seed):
    clf = fast().fit(*signal(400, seed=seed))
    assert clf.start().next_feature == 0
    fresh = paid(clf, *signal(4000, seed=50 + seed))
    error = np.hypot(clf.expected_cost_error_, fresh.std() / np.sqrt(fresh.size))
    assert abs(fresh.mean() - clf.expected_cost_) <= 3 * error
    assert fresh.mean() < 0.3
    assert clf.expected_n_features_ == pytest.approx(clf.acquire(signal(4000, seed=9)[0]).n_features.mean(), abs=0.6)


@pytest.mark.parametrize(("effort", "n_candidates"), [("fast", 3), ("auto", 4)])
def test_the_comparison_has_a_row_for_each_candidate(effort, n_candidates, quick):
    rows = fast(effort=effort).fit(*signal(120)).comparison_
    assert len({row.name for row in rows}) == len(rows) == n_candidates
    assert NOTHING in [row.name for row in rows]
    assert sum(row.chosen for row in rows) == 1
    assert [row.cost for row in rows] == sorted(row.cost for row in rows)
    for row in rows:
        assert row["cost"] == row.cost == row[1]
        assert (row.features == 0) == (row.name == NOTHING)
        assert 0 < row["standard_error"] < 0.1
        assert 0.4 < row.accuracy <= 1
    assert all(row.seconds > 0 for row in rows if row.name != NOTHING)


def test_the_candidates_are_those_for_the_size_of_the_table():
    """With few rows and more columns naive Bayes by instance is the default, else the committee; with a single row, or
    more columns than others can look at, there is one order or nothing. One order for many classes and rows is left
    to those who have the time."""
    few, many, wide, single = (60, 500, 2), (500, 20, 2), (500, 60_000, 2), (1, 3, 1)
    defaults = {size: FrugalClassifier()._names_of(*size)[1] for size in (few, many, wide, single)}
    assert defaults == {
        few: "naive Bayes, by instance", many: "committee",
        wide: "naive Bayes, one order", single: "naive Bayes, one order",
    }  # fmt: skip
    solved = {
        (effort, n): "naive Bayes, one order" in FrugalClassifier(effort=effort)._names_of(n, 20, 3)
        for effort in ("fast", "auto", "best") for n in (500, 501)
    }  # fmt: skip
    assert [size for size, found in solved.items() if not found] == [("fast", 501), ("auto", 501)]
    names = {effort: FrugalClassifier(effort=effort)._names_of(*many) for effort in ("fast", "auto", "best")}
    assert len(names["fast"]) < len(names["auto"]) < len(names["best"]) == len(set(names["best"])) == 6
    assert all(found[0] == NOTHING for found in names.values())


@pytest.mark.parametrize(("effort", "dealt"), [("fast", [5, 3, 3]), ("auto", [5, 5, 3]), ("best", [5, 5, 5, 5, 3, 3])])
def test_folds_are_dealt_once_and_twice_by_who_has_the_time(effort, dealt):
    """However few the rows are: each candidate is fitted once without each fold."""
    folds = [FrugalClassifier(effort=effort)._folds(n) for n in (100, 500, 1500)]
    assert [n for n, repeats in folds for _ in range(repeats)] == dealt


def test_the_best_is_the_classifier_that_serves():
    X, y = signal()
    clf = fitted()
    same(clf.acquire(X), clf.best_.acquire(X))
    assert clf.best_.classes_.tolist() == clf.classes_.tolist() == [0, 1]
    assert (clf.predict(X) == y).mean() > 0.85


# --- new prices and budgets


def test_new_prices_turn_to_asking_nothing_and_back():
    clf = fitted()
    assert clf.start().next_feature is not None
    dear = clf.with_costs(5.0)
    assert dear.start().next_feature is None
    assert dear.expected_cost_ == pytest.approx(min(clf.model_.priors), abs=0.02)
    back = dear.with_costs(0.02)
    same(back.acquire(signal()[0]), clf.acquire(signal()[0]))
    assert clf.with_costs(0.001).expected_cost_ < back.expected_cost_
    harsh = dear.with_costs(misclassification_costs=1000 * (1 - np.eye(2)))
    assert harsh.start().next_feature is not None
    assert clf.feature_costs == 0.02  # unchanged


def test_what_asks_nothing_asks_at_a_low_price():
    X, y = signal()
    clf = fast(feature_costs=0.9).fit(X, y)
    assert clf.start().next_feature is None
    cheap = clf.with_costs(0.01)
    assert cheap.start().next_feature == 0
    assert (cheap.predict(X) == y).mean() > 0.8


def test_what_was_loaded_and_asks_nothing_says_that_it_cannot_ask(tmp_path):
    clf = fitted(noise)
    etana.save(clf, tmp_path / "m")
    again = etana.load(tmp_path / "m")
    assert (again.expected_cost_, again.expected_cost_error_) == (clf.expected_cost_, clf.expected_cost_error_)
    with pytest.raises(InputError, match="fit again"):
        again.with_costs(0.001)


def test_budgets():
    X, _ = signal()
    clf = fitted()
    for budget in (0.0, 0.02, 0.04):
        planned = clf.within_budget(budget)
        assert planned.acquire(X).costs.max() <= budget * (1 + 1e-9)
        assert planned.expected_cost_ == planned.best_.expected_cost_
    mean = clf.mean_spend() / 2
    assert clf.price_for(mean) > 1
    assert clf.for_budget(mean).mean_spend() <= mean * (1 + 1e-9)
    assert clf.for_budget(4 * mean).mean_spend() > mean


@pytest.mark.parametrize("made", [signal, noise])
@pytest.mark.parametrize("change", [lambda c: c, lambda c: c.within_budget(0.03), lambda c: c.for_budget(0.01)])
def test_files_bring_everything_back(made, change, tmp_path):
    X, _ = made()
    clf = change(fitted(made))
    etana.save(clf, tmp_path / "m")
    again, model = etana.load(tmp_path / "m"), load_model(tmp_path / "m")
    for one in (again, model):
        same(clf.acquire(X), one.acquire(X))
    assert again.comparison_ == clf.comparison_
    assert type(again.best_) is type(clf.best_)
    for name in ("expected_cost_", "expected_cost_error_", "expected_n_features_", "effort"):
        assert getattr(again, name) == getattr(clf, name)
    assert again.start().explain() == clf.start().explain()
    if again.start().next_feature is not None:
        same(again.with_costs(0.005).acquire(X), clf.with_costs(0.005).acquire(X))
    before = (tmp_path / "m").read_bytes()
    etana.save(again, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    # What was loaded can be changed and stored again.
    etana.save(again.within_budget(0.01), tmp_path / "m")
    assert etana.load(tmp_path / "m").acquire(X).costs.max() <= 0.01 * (1 + 1e-9)


def test_descriptions_stay_under_new_prices_and_budgets():
    clf = fast().fit(*signal())
    clf.describe({"0": {"unit": "mg"}})
    for one in (clf, clf.with_costs(0.01), clf.within_budget(0.05), clf.for_budget(0.01)):
        assert one.dictionary_["0"].unit == "mg"


# --- cases


def test_a_case_is_asked_as_its_row_is():
    X, _ = signal()
    clf, walk = fitted(), fitted().acquire(X)
    for i in range(10):
        done = clf.ask(lambda k, i=i: X[i, k])
        assert done.posterior.tobytes() == walk.posteriors[i].tobytes()
        assert (done.label, done.cost) == (walk.labels[i], walk.costs[i])
    case = clf.start(known={0: 2.5}, max_cost=0.02)
    assert case.next_feature != 0
    assert "most likely class is" in case.explain()


# --- tables of every kind


def test_labels_missing_values_groups_and_mistakes():
    table, y = frame()
    prices = FeatureCosts(0.01, groups=list("aabbcc"), discounted=0.001)
    mistakes = np.array([[0, 2.0, 1], [1, 0, 1], [3, 1, 0]])
    clf = fast(feature_costs=prices, misclassification_costs=mistakes).fit(table, y)
    walk = clf.acquire(table)
    assert "colour" in {table.columns[k] for i in range(50) for k in walk.features(i)}
    codes = np.searchsorted(clf.classes_, walk.labels)
    assert (codes == (walk.posteriors @ mistakes).argmin(axis=1)).all()
    at_once = (np.bincount(np.searchsorted(clf.classes_, y)) / y.size @ mistakes).min()
    assert paid(clf, table, y).mean() < at_once
    assert clf.classes_.tolist() == ["ja", "nein", "vielleicht"]


def test_given_bins_are_those_of_the_candidates_over_bins_alone(tmp_path):
    """Four codes, every second of one class: bins that join neighbours hide it from those who use them."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 240)
    y = codes % 2
    X = np.stack([codes, rng.integers(0, 3, 240)], axis=1).astype(float)
    joined = Binner.from_edges([[1.5], [0.5, 1.5]])
    costs = {}
    for name, binning in (("each", Binner.from_edges([[0.5, 1.5, 2.5], [0.5, 1.5]])), ("joined", joined)):
        clf = FrugalClassifier(0.01, binning=binning, exportable=True).fit(X, y)
        costs[name] = {row.name: row.cost for row in clf.comparison_}
        etana.save(clf, tmp_path / "model.etana")
        np.testing.assert_array_equal(etana.load(tmp_path / "model.etana").predict(X), clf.predict(X))
    asking = [name for name in costs["each"] if name != NOTHING]
    assert all(costs["each"][name] == pytest.approx(0.01) for name in asking)
    assert all(costs["joined"][name] > 0.4 for name in asking)
    committee = next(r for r in FrugalClassifier(0.01, binning=joined).fit(X, y).comparison_ if r.name == "committee")
    assert committee.cost == pytest.approx(0.01, abs=0.01)


def test_sparse_is_as_dense():
    X, y = signal()
    X[:, 2] = np.where(X[:, 2] > 1, X[:, 2], 0)
    dense, thin = fast().fit(X, y), fast().fit(sparse.csr_array(X), y)
    same(dense.acquire(X), thin.acquire(sparse.csr_array(X)))
    assert dense.expected_cost_ == thin.expected_cost_


@pytest.mark.parametrize("effort", ["fast", "auto"])
def test_a_weight_of_0_is_as_good_as_no_row(effort, quick):
    X, y = signal(90)
    weights = np.ones(90)
    weights[60:] = 0
    one, other = fast(effort=effort).fit(X, y, weights), fast(effort=effort).fit(X[:60], y[:60])
    same(one.acquire(X), other.acquire(X))
    assert one.expected_cost_ == other.expected_cost_


def test_equal_weights_of_any_size_below_one_are_no_weights():
    X, y = signal(90)
    plain = fast().fit(X, y)
    for scale in (1 / 90, 0.5):
        shares = fast().fit(X, y, np.full(90, scale))
        same(plain.acquire(X), shares.acquire(X))
        assert shares.expected_cost_ == plain.expected_cost_


def test_weights_count_in_the_choice_and_in_the_announcement():
    """Where rows with signal weigh next to nothing, nothing is asked."""
    X, y = signal(400)
    y = np.where(np.arange(400) < 200, y, np.random.default_rng(3).integers(0, 2, 400))
    told = fast().fit(X, y, np.where(np.arange(400) < 200, 1.0, 1e-6))
    not_told = fast().fit(X, y, np.where(np.arange(400) < 200, 1e-6, 1.0))
    assert told.expected_cost_ < 0.25
    assert not_told.expected_cost_ > 0.4
    assert not_told.start().next_feature is None


def test_a_class_of_which_no_row_counts_stays_a_class():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)
    mistakes = np.array([[0, 1.0, 2], [1, 0, 2], [9, 9, 0]])
    clf = fast(misclassification_costs=mistakes).fit(X, y, weights)
    assert clf.predict_proba(X).shape == (150, 3)
    assert clf.classes_.tolist() == clf.best_.classes_.tolist() == [0, 1, 2]
    assert clf.expected_cost_ < 0.1


def test_classes_with_one_row_each_among_many_rows():
    """More rows than are judged, and rare classes that the part which is judged misses."""
    X, y = signal(2600)
    y[:6] = np.arange(2, 8)
    clf = fast(misclassification_costs=1 - np.eye(8)).fit(X, y)
    assert clf.predict_proba(X[:5]).shape == (5, 8)
    assert clf.expected_cost_ < 0.3


@pytest.mark.parametrize("effort", ["fast", "auto"])
def test_few_rows_and_few_classes(effort, quick):
    X, y = signal(40)
    with_one = np.append(y, 2), np.concatenate([X, [[9.0, 9, 9, 9]]])
    assert fast(effort=effort).fit(with_one[1], with_one[0]).predict_proba(X).shape == (40, 3)
    for n in (1, 2, 3):
        clf = fast(effort=effort).fit(X[:n], np.arange(n))
        assert np.allclose(clf.predict_proba(X[:1]), 1 / n)
        assert clf.start().next_feature is None
    only = fast(effort=effort).fit(X, np.full(40, "same"))
    assert set(only.predict(X)) == {"same"}
    assert (only.expected_cost_, only.expected_n_features_) == (0.0, 0.0)


# --- what must not matter


def test_threads_rows_and_names_do_not_matter(quick):
    X, y = signal(80)
    one = FrugalClassifier(0.02).fit(X, y)
    walk = one.acquire(X)
    two = FrugalClassifier(0.02, n_jobs=2).fit(X, y)
    same(walk, two.acquire(X))
    assert [row[:5] for row in one.comparison_] == [row[:5] for row in two.comparison_]
    order = np.random.default_rng(1).permutation(80)
    mixed = FrugalClassifier(0.02).fit(X[order], np.array(["yes", "no"])[y[order]])
    other = mixed.acquire(X)
    assert (other.labels == np.array(["yes", "no"])[walk.labels]).all()
    assert (other.n_features == walk.n_features).all()
    assert mixed.expected_cost_ == pytest.approx(one.expected_cost_, abs=1e-12)


def test_the_same_seed_gives_the_same_bytes_and_another_other_folds(tmp_path):
    X, y = signal(150)
    costs = []
    for seed in (0, 0, 1, np.random.RandomState(5)):
        clf = fast(random_state=seed).fit(X, y)
        costs.append([row.cost for row in sorted(clf.comparison_)])
    assert costs[0] == costs[1] != costs[2]
    assert costs[3] not in costs[:3]
    assert fast(random_state=None).fit(X, y).expected_cost_ == fast(random_state=0).fit(X, y).expected_cost_


def test_a_column_of_numbers_of_rows_is_left_out_with_one_warning():
    X, y = signal(100)
    order = np.argsort(y, kind="stable")
    table = pd.DataFrame(X[order], columns=list("abcd")).assign(patient_id=np.arange(100))
    with pytest.warns(IdentifierWarning, match="patient_id") as caught:
        clf = fast().fit(table, y[order])
    assert len(caught) == 1
    walk = clf.acquire(table)
    assert not any(4 in walk.features(i) for i in range(100))
    kept = fast(identifiers=[]).fit(table, y[order])
    assert kept.start().next_feature == "patient_id"


def test_progress_is_shown_on_standard_error(capsys):
    X, y = signal(60)
    fast().fit(X, y)
    assert capsys.readouterr() == ("", "")
    fast(verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "FrugalClassifier: fitted" in err
    assert "11/11" in err  # two candidates, five folds, and the last fit


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"effort": "much"}, "effort is 'much'; it must be 'fast', 'auto' or 'best'"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"feature_costs": -1.0}, "a price must be a finite number >= 0"),
    ],
)
def test_parameters_are_refused_before_any_work(given, words):
    with pytest.raises(ValueError, match=words):
        fast(**given).fit(*signal(20))


MANY = {"feature_costs": 0.01, "misclassification_costs": [[0, 1], [4, 0]]}


def many():
    """Rows of which some count for nothing."""
    weights = np.ones(240)
    weights[::6] = 0.0
    return *signal(240), weights


@pytest.mark.parametrize("name", ["committee", "path counts, by instance"])
def test_of_many_rows_candidates_are_judged_by_their_own_held_out_walks(name, quick, monkeypatch):
    monkeypatch.setattr(frugal, "_MANY", 150)
    X, y, weights = many()
    clf = FrugalClassifier(**MANY).fit(X, y, weights)
    candidate = clf._maker(name, clf._seed(), [])().fit(X, y, weights)
    row = next(row for row in clf.comparison_ if row.name == name)
    # What the candidate announces itself, of the rows that count.
    assert row.cost == pytest.approx(candidate.expected_cost_)
    assert row.features == pytest.approx(candidate.expected_n_features_)
    assert row.seconds > 0


@pytest.mark.parametrize("kind", [etana.CommitteeClassifier, etana.AdaptiveClassifier])
@pytest.mark.parametrize("n", [240, 120])  # of the fewer, rows walk twice
def test_what_is_said_of_single_rows_is_theirs(kind, n, quick):
    X, y, weights = (part[:n] for part in many())
    clf = kind(**MANY).fit(X, y, weights)
    rows, walked = clf.held_out()
    assert sorted(rows) == np.flatnonzero(weights).tolist()
    # Each row has the figures of its own class: who asks nothing decides for class 1, and a mistake then costs 1.
    assert (walked.nothing == (y[rows] == 0)).all()
    wrong = np.where(y[rows] == 0, 1.0, 4.0) * (1 - walked.right)
    assert np.allclose(walked.paid, wrong + 0.01 * walked.asked)
    assert walked.paid.mean() == pytest.approx(clf.expected_cost_)
    assert walked.judgement().cost == pytest.approx(clf.expected_cost_)
    assert (walked.weights == weights[rows]).all()
    assert walked.n_rows == rows.size


def test_rows_that_a_candidate_did_not_hold_out_are_not_known(tmp_path):
    X, y, weights = many()
    assert etana.ETANAClassifier(**MANY).fit(X, y).held_out() is None
    assert etana.AdaptiveClassifier(**MANY, walks="model", look_ahead=False, m=5.0).fit(X, y).held_out() is None
    clf = etana.AdaptiveClassifier(**MANY).fit(X, y, weights)
    etana.save(clf, tmp_path / "model.etana")
    assert etana.load(tmp_path / "model.etana").held_out() is None


def test_where_few_rows_are_shared_folds_judge(monkeypatch):
    """Of wide tables each candidate holds out a part of the rows of its own."""
    monkeypatch.setattr(frugal, "_MANY", 100)
    figures = etana.judgement.HeldOutRows(*np.ones((5, 120)), 120.0)
    clf = type("Walking", (), {"held_out": lambda self: (np.arange(120) + self.first, figures)})
    one, near, far = (frugal._Timed(clf(), 0.0) for _ in range(3))
    one.clf.first, near.clf.first, far.clf.first = 0, 10, 60
    counting, found = frugal._held_out({"one": one, "near": near, "far": far}, np.arange(200))
    assert list(found) == ["one", "near"]
    assert counting.tolist() == list(range(10, 120))
