"""A scorer that says what rows pay, at the prices that hold."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import etana
from etana.errors import CostError, InputError
from etana.scoring import CostScorer


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    shifts = {"a": 2, "b": 1, "c": 1, "d": 0.5}
    X = pd.DataFrame({name: shift * y + rng.normal(size=y.size) for name, shift in shifts.items()})
    return X, np.where(y == 1, "yes", "no")


def quick(**given):
    return etana.ETANAClassifier(ordering="information", temperature=1.0, **given)


def test_rows_pay_for_features_and_mistakes(rows):
    X, y = rows
    clf = quick(feature_costs=0.02).fit(X, y)
    walk = clf.acquire(X)
    mistakes = [[0, 5], [1, 0]]
    paid = 0.3 * walk.n_features + np.where(walk.labels == y, 0, np.where(y == "no", 5, 1))
    scorer = CostScorer(0.3, mistakes)
    np.testing.assert_allclose(scorer.costs(clf, X, y), paid)
    assert scorer(clf, X, y) == pytest.approx(-paid.mean())
    weights = np.arange(len(y))
    assert scorer(clf, X, y, weights) == pytest.approx(-np.average(paid, weights=weights))
    assert pickle.loads(pickle.dumps(scorer))(clf, X, y) == scorer(clf, X, y)


def test_groups_are_paid_once(rows):
    X, y = rows
    costs = etana.FeatureCosts(0.05, groups={"a": "lab", "b": "lab"}, discounted={"a": 0.0, "b": 0.01})
    clf = quick(feature_costs=costs).fit(X, y)
    walk = clf.acquire(X)
    np.testing.assert_allclose(CostScorer(costs).costs(clf, X, y), walk.costs + (walk.labels != y))
    assert np.unique(walk.n_features).size > 1  # or there is nothing to share


def test_a_search_does_not_choose_price_nothing(rows):
    X, y = rows
    prices = {"feature_costs": [0.0, 0.05, 0.5]}
    search = GridSearchCV(quick(), prices, scoring=CostScorer(0.05), cv=3).fit(X, y)
    assert search.best_params_ == {"feature_costs": 0.05}


def test_candidates_that_set_their_own_prices_would(rows):
    X, y = rows

    def own_prices(clf, X, y):
        return CostScorer(clf.feature_costs)(clf, X, y)

    own = GridSearchCV(quick(), {"feature_costs": [0.0, 0.05]}, cv=3, scoring=own_prices)
    assert own.fit(X, y).best_params_ == {"feature_costs": 0.0}


def test_of_a_pipeline_the_last_step_is_charged(rows):
    X, y = rows
    scaled = StandardScaler().set_output(transform="pandas")
    prices = {"a": 0.1, "b": 0.01, "c": 0.01, "d": 0.01}
    pipe = make_pipeline(scaled, make_pipeline(quick(feature_costs=prices))).fit(X, y)
    walk = pipe[-1][-1].acquire(pipe[:-1].transform(X))
    np.testing.assert_allclose(CostScorer(prices).costs(pipe, X, y), walk.costs + (walk.labels != y))
    assert np.isfinite(cross_val_score(pipe, X, y, scoring=CostScorer(prices), cv=3)).all()


def test_who_cannot_acquire_pays_for_everything(rows):
    X, y = rows
    clf = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(CostScorer(0.05).costs(clf, X, y), 0.2 + (clf.predict(X) != y))


def test_classes_that_a_fold_lacks(rows):
    X, y = rows
    clf = quick().fit(X, np.where(y == "yes", "yes", "no"))
    other = np.where(np.arange(len(y)) == 3, "maybe", y)
    assert CostScorer(0.0).costs(clf, X, other)[3] == 1.0


def test_what_cannot_be_scored(rows):
    X, y = rows
    with pytest.raises(InputError, match="LogisticRegression does not say how many features"):
        CostScorer(1)(LogisticRegression(), X, y)
    with pytest.raises(CostError, match="names 'nix'"):
        CostScorer({"nix": 1})(quick().fit(X, y), X, y)
    assert repr(CostScorer(0.1, [[0, 1], [1, 0]])) == "CostScorer(0.1, misclassification_costs=...)"
