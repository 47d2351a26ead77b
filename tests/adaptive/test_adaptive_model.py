"""What the model announces, against an independent simulation and against the best fixed order."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from etana import AdaptiveClassifier, Binner, ETANAClassifier

LOADERS = {"wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris}


def simulated(clf, n, seed):
    """Costs and numbers of features of instances drawn from the beliefs: class, then each answer that is asked."""
    rng, model = np.random.default_rng(seed), clf.model_
    costs, asked = np.empty(n), np.empty(n)
    seen = {}
    for i in range(n):
        truth, knowledge, path, spent = rng.choice(model.priors.size, p=model.priors), model.beliefs.begin(1), (), 0.0
        while True:
            if path not in seen:
                move = model.policy.act(knowledge)
                column = int(move.columns[0])
                chances = None if move.stops[0] else knowledge.likelihoods(column)[0]
                decided = int(model.policy.decide(knowledge.posteriors)[0])
                seen[path] = knowledge, column, chances, float(move.prices[0]), decided
            knowledge, column, chances, price, decided = seen[path]
            if chances is None:
                break
            code = int(rng.choice(len(chances), p=chances[:, truth] / chances[:, truth].sum()))
            spent, path = spent + price, (*path, code)
            if path not in seen:
                knowledge = model.beliefs.after_code(knowledge, column, code)
        costs[i] = spent + model.mistakes[truth, decided]
        asked[i] = len(path)
    return costs, asked


@pytest.mark.parametrize("m", [np.inf, 5.0])
@pytest.mark.parametrize("name", ["wine", "iris"])
def test_expected_cost_is_the_mean_over_instances_of_the_model(name, m):
    X, y = LOADERS[name](return_X_y=True)
    clf = AdaptiveClassifier(0.01, m=m, look_ahead=False).fit(X, y)
    costs, asked = simulated(clf, 4000, seed=1)
    error = np.hypot(costs.std() / np.sqrt(costs.size), clf.expectation_.standard_error)
    assert abs(costs.mean() - clf.model_.expected_cost) < 4 * error
    assert abs(asked.mean() - clf.model_.expected_n_features) < 0.25
    assert 0 < clf.expectation_.standard_error < 0.02


def made_problem(seed):
    """A data set of noisy copies of hidden causes, with prices that differ."""
    rng = np.random.default_rng(seed)
    n_classes, k = int(rng.integers(2, 5)), int(rng.integers(4, 12))
    y = rng.integers(0, n_classes, 300)
    centres = rng.normal(size=(n_classes, k)) * rng.choice([0.5, 1.0, 2.0], k)
    X = np.round(centres[y] + rng.normal(size=(300, k)))
    mistakes = (0.3 + rng.random((n_classes, n_classes))) * (1 - np.eye(n_classes))
    return X, y, rng.choice([0.002, 0.01, 0.05], k), mistakes


def against_fixed_order(X, y, prices, mistakes, look_ahead=False):
    """Expected cost under naive Bayes and its error, and that of the best stopping in each of two orders."""
    bins = Binner().fit(X, y)
    settings = {"binning": bins, "m": np.inf, "walks": "model", "look_ahead": look_ahead, "temperature": 1.0}
    clf = AdaptiveClassifier(prices, mistakes, **settings).fit(X, y)
    fixed = [
        ETANAClassifier(prices, mistakes, binning=bins, ordering=ordering, temperature=1.0).fit(X, y).expected_cost_
        for ordering in ("information", "error")
    ]
    return clf.model_.expected_cost, clf.expectation_.standard_error, min(fixed)


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("price", [0.002, 0.01, 0.05])
def test_no_worse_than_the_best_fixed_order_under_the_same_model(name, price):
    X, y = LOADERS[name](return_X_y=True)
    cost, error, fixed = against_fixed_order(X, y, price, None)
    assert cost <= fixed + 3 * error + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_no_worse_than_the_best_fixed_order_on_made_problems(seed):
    cost, error, fixed = against_fixed_order(*made_problem(seed))
    assert cost <= fixed + 3 * error + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_plans_to_the_end_are_no_worse_than_any_fixed_order(seed):
    X, y, prices, mistakes = made_problem(seed)
    cost, error, fixed = against_fixed_order(X[:, :4], y, prices[:4], mistakes, look_ahead=4)
    assert cost <= fixed + 3 * error + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_plans_of_three_steps_are_no_worse_than_the_best_fixed_order(seed):
    cost, error, fixed = against_fixed_order(*made_problem(seed), look_ahead=3)
    assert cost <= fixed + 3 * error + 1e-12
