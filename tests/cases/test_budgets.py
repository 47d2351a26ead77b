"""Budgets: they choose among what fits, plan where they are told to, and hold for a population in the mean."""

import numpy as np
import pytest

import etana
from clinic import NAMES, PRICES, finish, patients
from etana import AdaptiveClassifier, ETANAClassifier, SequentialClassifier
from etana.errors import InputError
from etana.walks import generic


def test_free_features_are_asked_although_the_first_choice_does_not_fit():
    """An adaptive model whose first choice costs 10 asks what is free with a budget of 5."""
    X, y = patients()
    prices = dict.fromkeys(NAMES, 10.0) | {"age": 0.0, "sex": 0.0}
    clf = AdaptiveClassifier(prices, 1000 * (1 - np.eye(2)), look_ahead=False).fit(X, y)
    case = finish(clf.start(max_cost=5), X.iloc[0])
    assert {e.feature for e in case.history} == {"age", "sex"}
    assert case.cost == 0.0
    assert case.stopped_by == "budget"
    assert "budget does not allow" in case.explain()


def test_the_best_that_fits_is_asked():
    """A budget of 20 and a first choice of 30: cheaper features come up instead."""
    X, y = patients()
    prices = {"age": 1, "sex": 1, "crp": 5, "bilirubin": 8, "albumin": 8, "mri": 30}
    for clf in (
        ETANAClassifier(prices, 500 * (1 - np.eye(2)), ordering=[5, 3, 2, 4, 0, 1]),
        AdaptiveClassifier(prices, 500 * (1 - np.eye(2)), look_ahead=False, m=np.inf),
        SequentialClassifier(feature_costs=prices, misclassification_costs=500 * (1 - np.eye(2))),
    ):
        case = finish(clf.fit(X, y).start(max_cost=20), X.iloc[1])
        asked = [e.feature for e in case.history]
        assert asked
        assert "mri" not in asked
        assert 0 < case.cost <= 20


def test_what_could_not_be_had_leaves_the_money(clf, rows):
    """Two tests that could not be had cost nothing of the budget."""
    case = clf.start(max_cost=0.03)
    out = [s.feature for s in case.suggestions(2)]
    for feature in out:
        case.unavailable(feature)
    finish(case, rows[0].iloc[4])
    assert case.cost == sum(e.price for e in case.history if e.came == "asked")
    assert case.cost <= 0.03 * (1 + 1e-9)


def test_a_budget_that_pays_for_all_changes_nothing(clf, rows):
    free, rich = clf.acquire(rows[0]), clf.acquire(rows[0], max_cost=100)
    assert free.posteriors.tobytes() == rich.posteriors.tobytes()
    assert free.costs.tobytes() == rich.costs.tobytes()


def test_known_columns_cost_nothing(clf, rows):
    X, _ = rows
    walk = clf.acquire(X, known=["mri", "crp"])
    assert not any({2, 5} & set(walk.features(i).tolist()) for i in range(len(walk)))
    plain = clf.acquire(X)
    assert walk.costs.mean() <= plain.costs.mean()
    everything = clf.acquire(X, known=NAMES)
    assert (everything.costs == 0).all()
    assert (everything.n_features == 0).all()
    with pytest.raises(InputError, match="no feature"):
        clf.acquire(X, known=["wine"])
    with pytest.raises(InputError, match="list of features"):
        clf.acquire(X, known="mri")


def test_known_columns_of_an_array_are_indices():
    X, y = patients()
    clf = ETANAClassifier(0.01).fit(X.to_numpy(), y)
    walk = clf.acquire(X.to_numpy(), known=[5])
    case = finish(clf.start(known={5: X.iloc[0, 5]}), X.iloc[0].to_numpy())
    assert case.posterior.tobytes() == walk.posteriors[0].tobytes()


def test_a_plan_never_spends_more_and_announces_no_more_with_more_money(clf, rows):
    X, _ = rows
    last, error = np.inf, 0.0
    for budget in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 1.0):
        planned = clf.within_budget(budget)
        walk = planned.acquire(X)
        assert (walk.costs <= budget * (1 + 1e-9)).all()
        # Where what is announced is an average over draws, it is as certain as those.
        here = 0.0 if planned.model_.order is not None else planned.expected_cost_error_
        assert planned.expected_cost_ <= last + 4.5 * np.hypot(here, error)
        last, error = planned.expected_cost_, here
    assert last <= clf.expected_cost_ + 4.5 * np.hypot(error, clf.expected_cost_error_) + 1e-9


def test_many_stages_are_planned_from_rankings():
    """More stages than all sets are looked at for: still within the budget, and never worse with more."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 10)) + np.outer(y, rng.random(10))
    for classes in (2, 3):
        keep = y < classes
        clf = ETANAClassifier(rng.random(10) * 0.05).fit(X[keep], y[keep])
        costs = [clf.within_budget(b).expected_cost_ for b in (0.0, 0.02, 0.05, 0.1, 0.2, 1.0)]
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] <= clf.model_.expected_cost + 1e-9


@pytest.mark.parametrize("n", [1, 2, 3])
def test_money_for_a_few_of_many_stages_is_spent(n):
    """Three classes and forty columns that tell: each feature that can be paid is worth its price."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 40)) + y[:, None]
    clf = ETANAClassifier(feature_costs=0.01, ordering="information", temperature=1.0).fit(X, y)
    assert clf.within_budget(0.01 * n).acquire(X).n_features.max() == n


def test_a_plan_can_be_saved_and_explained(fitted, rows, tmp_path):
    for name in ("etana", "adaptive", "sequential"):
        planned = fitted[name].within_budget(0.03)
        etana.save(planned, tmp_path / "planned.etana")
        again = etana.load(tmp_path / "planned.etana")
        walk, same = planned.acquire(rows[0]), again.acquire(rows[0])
        assert walk.posteriors.tobytes() == same.posteriors.tobytes()
        assert walk.costs.max() <= 0.03 * (1 + 1e-9)
        assert "expected to cost" in again.start().explain()


def test_a_model_alone_of_a_regression_cannot_plan(fitted):
    with pytest.raises(InputError, match="training rows"):
        fitted["sequential"].model_.within_budget(0.03)


@pytest.mark.parametrize("mean_cost", [0.005, 0.015])
def test_a_population_pays_the_mean_that_it_is_given(clf, mean_cost):
    cheap = clf.for_budget(mean_cost)
    price = clf.price_for(mean_cost)
    assert cheap.mean_spend() <= mean_cost * (1 + 1e-9)
    assert cheap.model_.mistakes[0, 1] == pytest.approx(1 / price)
    # A little cheaper, and more is paid, unless all that tells anything is asked already.
    dearer = clf.with_costs(misclassification_costs=clf.model_.mistakes / price * 1.05)
    assert dearer.mean_spend() > mean_cost or price < 1e-5
    assert cheap.acquire(patients(seed=5)[0]).costs.mean() <= 1.5 * mean_cost


def test_no_money_in_the_mean_is_no_paid_feature(clf):
    cheap = clf.for_budget(0.0)
    assert cheap.mean_spend() == 0.0
    for bad in (-1, np.nan, "much", True):
        with pytest.raises(InputError, match="mean_cost"):
            clf.price_for(bad)


def test_what_is_spent_is_what_drawn_instances_spend(fitted):
    model = fitted["etana"].model_
    assert model.expected_spend == pytest.approx(generic.spending(model.beliefs, model.policy), abs=0.004)
    assert PRICES.costs["mri"] >= model.expected_spend > 0
