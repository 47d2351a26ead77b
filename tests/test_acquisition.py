"""The batch walk and the single case: the same answers, and nothing read that was not asked."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from etana import ETANAClassifier, FeatureCosts, FETANAClassifier, threads
from etana.errors import InputError
from etana.policies import ExactSolver, GridSolver, PointsSolver
from etana.policies.situation import Situation
from etana.table import read_table
from etana.walks import StageWalk, generic
from etana.walks.acquisition import read_budget

GIVEN = {"temperature": 1.0}  # what folds would choose is the same to a walk, and takes most of a fit
ESTIMATORS = {
    "exact": (load_breast_cancer, ETANAClassifier()),
    "points": (load_digits, ETANAClassifier(feature_costs=0.02, **GIVEN)),
    "alpha": (load_wine, ETANAClassifier(feature_costs=0.05, n_bins=2, **GIVEN)),
    "grid": (load_wine, ETANAClassifier(solver=GridSolver(8), **GIVEN)),
    "grid-interpolate": (load_wine, ETANAClassifier(solver=GridSolver(8, "interpolate"), **GIVEN)),
    "thresholds": (load_wine, FETANAClassifier(batch=64, max_iterations=20)),
    "free": (load_wine, ETANAClassifier(feature_costs=0, **GIVEN)),
    "groups": (
        load_wine,
        ETANAClassifier(FeatureCosts(0.05, groups=["a", "b"] * 6 + [None], discounted=0.0), **GIVEN),
    ),
}


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request):
    load, estimator = ESTIMATORS[request.param]
    X, y = load(return_X_y=True)
    X = X.copy()
    X[::7, ::3] = np.nan
    return estimator.fit(X[::2], y[::2]), X[1::2], y[1::2]


def _by_hand(clf, row, **options):
    case = clf.start(**options)
    while case.next_feature is not None:
        case.observe(row[case.next_feature])
    return case


@pytest.mark.parametrize("budget", [None, 0.0, 0.03, 0.12])
def test_case_and_batch_agree_bit_for_bit(fitted, budget):
    clf, X, _ = fitted
    walk = clf.acquire(X, max_cost=budget)
    for i, row in enumerate(X[:60]):
        case = _by_hand(clf, row, max_cost=budget)
        assert case.label == walk.labels[i]
        assert [a.feature for a in case.history] == walk.features(i).tolist()
        assert case.cost == walk.costs[i]
        assert case.posterior.tobytes() == walk.posteriors[i].tobytes()


def test_walk_against_a_slow_twin(fitted):
    """The walk from codes, likelihoods and policy.stops alone, in plain NumPy."""
    clf, X, _ = fitted
    codes = clf.binner_.transform(X)
    problem, policy, walk = clf.problem_, clf.policy_, clf.acquire(X)
    for i in range(40):
        belief, paid, k = problem.priors.copy(), 0.0, 0
        while k < problem.n_features and not policy.stops(k, belief):
            code = codes[i, clf.feature_order_[k]]
            if code >= 0:
                belief = belief * problem.stage(k)[code]
                belief /= belief.sum()
            paid += problem.feature_costs[k]
            k += 1
        assert k == walk.n_features[i]
        assert paid == pytest.approx(walk.costs[i])
        np.testing.assert_allclose(belief, walk.posteriors[i], rtol=1e-9, atol=1e-12)
        assert clf.classes_[policy.decide(belief)] == walk.labels[i]


def test_budget_is_hard(fitted):
    clf, X, _ = fitted
    free = clf.acquire(X)
    for budget in (0.0, 0.025, 0.1):
        walk = clf.acquire(X, max_cost=budget)
        assert (walk.costs <= budget * (1 + 1e-9)).all()
        cheap = free.costs <= budget
        assert (walk.labels[cheap] == free.labels[cheap]).all()
    with pytest.raises(InputError, match="max_cost is -1"):
        clf.acquire(X, max_cost=-1)
    with pytest.raises(InputError, match="max_cost is nan"):
        clf.acquire(X, max_cost=float("nan"))


def test_only_asked_values_are_read(fitted):
    """Values that no instance was asked can be anything."""
    clf, X, _ = fitted
    walk = clf.acquire(X)
    spoilt = X.copy()
    for i in range(len(X)):
        spoilt[i, np.setdiff1d(np.arange(X.shape[1]), walk.features(i))] = 1e300
    other = clf.acquire(spoilt)
    assert (other.labels == walk.labels).all()
    assert (other.n_features == walk.n_features).all()


def test_storage_does_not_matter(fitted):
    """Dense of any layout and type, sparse rows or columns, frames: the same walks."""
    clf, X, _ = fitted
    X = np.nan_to_num(np.round(X, 1)).astype(np.float32).astype(np.float64)
    walk = clf.acquire(X)
    for other in (
        np.asfortranarray(X),
        np.ascontiguousarray(np.repeat(X, 2, axis=1))[:, ::2],
        X.astype(np.float32),
        X.astype(object),
        X.tolist(),
        sp.csr_matrix(X),
        sp.csc_array(X),
        sp.coo_array(X),
    ):
        again = clf.acquire(other)
        assert again.posteriors.tobytes() == walk.posteriors.tobytes()
        assert (again.n_features == walk.n_features).all()


def test_threads_do_not_matter(monkeypatch):
    X, y = load_digits(return_X_y=True)
    clf = ETANAClassifier(**GIVEN).fit(X, y)
    many = np.tile(X, (5, 1))
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(threads, "n_cores", lambda cores=cores: cores)
        results.append(clf.acquire(many))
    for other in results[1:]:
        assert other.posteriors.tobytes() == results[0].posteriors.tobytes()
        assert (other.n_features == results[0].n_features).all()


def test_a_policy_without_a_rule():
    """A solver of one's own needs only stops and decide; it walks as the compiled rule does."""

    class Plain:
        def __init__(self, policy):
            self._policy = policy

        def stops(self, stage, belief):
            return self._policy.stops(stage, belief)

        def decide(self, belief):
            return self._policy.decide(belief)

    class Own:
        def solve(self, problem):
            return Plain(ExactSolver().solve(problem))

    X, y = load_breast_cancer(return_X_y=True)
    one = ETANAClassifier().fit(X, y)
    own = ETANAClassifier(solver=Own()).fit(X, y)
    a, b = one.acquire(X, max_cost=0.05), own.acquire(X, max_cost=0.05)
    assert (a.labels == b.labels).all()
    assert (a.n_features == b.n_features).all()
    np.testing.assert_allclose(a.costs, b.costs)
    np.testing.assert_allclose(a.posteriors, b.posteriors)
    case = _by_hand(own, X[3])
    assert (case.label, len(case.history)) == (b.labels[3], one.acquire(X[3:4]).n_features[0])
    # What it does not offer is worked out from what it does.
    assert case.expected_cost == pytest.approx(case.cost + case.posterior.min())
    begin = own.start()
    assert 0 < begin.expected_cost < begin.stop_cost
    assert "Ask for" in begin.explain()
    assert "Stop" in case.explain()
    error = np.hypot(own.expectation_.standard_error, one.expectation_.standard_error)
    assert own.policy_.expected_cost == pytest.approx(one.policy_.expected_cost, abs=4.5 * error + 1e-4)
    assert own.optimality_gap_ == pytest.approx(0, abs=4.5 * error + 1e-3)


@pytest.mark.parametrize("budget", [None, 0.03])
def test_the_compiled_walk_is_that_of_any_pair(fitted, budget):
    """The loop that serves every pair of beliefs and policy is the oracle of the one that is compiled for this one."""
    clf, X, _ = fitted
    model = clf.model_
    assert isinstance(model.compiled, StageWalk)
    walk = model.acquire(X[:80], max_cost=budget)
    situation = Situation(budget=read_budget(budget))
    other, asked, starts, _ = generic.walk(model.beliefs, model.policy, read_table(X[:80]), situation)
    assert walk.costs.tobytes() == other.spent.tobytes()
    assert walk.posteriors.tobytes() == other.posteriors.tobytes()
    for i, first in enumerate(starts):
        assert walk.features(i).tolist() == asked[first : first + other.asked[i]].tolist()


def test_a_budget_is_kept_to_the_cent():
    """Three prices of 0.1 add up to a little more than 0.3, and yet are within it."""
    X, y = load_wine(return_X_y=True)
    assert 0.1 + 0.1 + 0.1 > 0.3
    clf = ETANAClassifier(0.1, 100 * (1 - np.eye(3))).fit(X, y)
    assert clf.acquire(X, max_cost=0.3).n_features.max() == 3
    case = clf.start(max_cost=0.3)
    while case.next_feature is not None:
        case.observe(None)
    assert len(case.history) == 3


def test_a_stopped_case_has_no_next_column(fitted):
    clf, X, _ = fitted
    case = _by_hand(clf, X[0])
    assert case.next_column is None
    assert clf.start(max_cost=0.0).next_column is None or clf.start().next_price == 0.0
    begin = clf.start()
    assert begin.next_column == begin.next_feature


def test_ten_thousand_features_do_not_underflow():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 10_000)) + 0.3 * y[:, None]
    plain = {"binning": "quantile", "ordering": "error", "temperature": 1.0}  # none of which is searched for
    for estimator in (
        ETANAClassifier(0.0, n_bins=4, **plain),
        FETANAClassifier(0.0, batch=64, max_iterations=5, **plain),
    ):
        clf = estimator.fit(X, y)
        walk = clf.acquire(X)
        assert (walk.n_features == 10_000).all()
        assert np.isfinite(walk.posteriors).all()
        np.testing.assert_allclose(walk.posteriors.sum(axis=1), 1)
        assert (walk.labels == y).mean() > 0.99


def test_case_in_words_and_undo():
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = ETANAClassifier(feature_costs=0.03).fit(X, np.array(["low", "mid", "high"])[y])
    case = clf.start()
    first = case.next_feature
    assert first in X.columns
    text = case.explain()
    assert f"Ask for {first!r} (price 0.03)" in text
    assert "asks for" in text or "decides" in text
    before = case.posterior
    assert case.expected_cost == pytest.approx(clf.model_.expected_cost, rel=0.1)
    case.observe(X[first].iloc[0])
    assert case.history[0].feature == first
    assert case.cost == 0.03
    case.undo()
    assert case.posterior.tobytes() == before.tobytes()
    assert case.cost == 0
    with pytest.raises(InputError, match="no answer was given"):
        case.undo()
    with pytest.raises(InputError, match=f"the value of '{first}' is 'blue'; it must be a number"):
        case.observe("blue")
    while case.next_feature is not None:
        case.observe(X[case.next_feature].iloc[0])
    assert case.label in {"low", "mid", "high"}
    assert "Stop" in case.explain()
    assert "decides" in repr(case)
    assert case.expected_cost == pytest.approx(case.cost + 1 - case.posterior.max())
    with pytest.raises(InputError, match="asks for nothing"):
        case.observe(1.0)


def test_explains_budget_and_last_feature():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(feature_costs=0.001).fit(X[:, :2], y)
    assert "budget does not allow" in clf.start(max_cost=0.0).explain()
    case = clf.start()
    while case.next_feature is not None:
        case.observe(None)
    assert case.stopped_by == "features"
    assert "no feature is left" in case.explain()
    assert [a.meaning for a in case.history] == ["missing"] * 2
    assert case.cost == pytest.approx(0.002)


def test_ask_fetches_only_what_is_needed():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = ETANAClassifier().fit(X, y)
    row, fetched = X.iloc[0], []

    def fetch(name):
        fetched.append(name)
        return row[name]

    done = clf.ask(fetch)
    walk = clf.acquire(X.iloc[:1])
    assert fetched == [X.columns[k] for k in walk.features(0)]
    assert done.label == walk.labels[0]
    shelf = {name: (lambda value=row[name]: value) for name in X.columns}
    assert clf.ask(shelf).posterior.tobytes() == done.posterior.tobytes()
    with pytest.raises(InputError, match=f"no entry for '{fetched[0]}'"):
        clf.ask({})


def test_categories_missing_values_and_unseen_labels_in_a_case():
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(np.where(rng.random(n) < 0.8, np.where(y, "red", "blue"), "green")),
            "flag": rng.random(n) < 0.3 + 0.4 * y,
            "size": rng.normal(size=n) + y,
        }
    )
    frame.loc[::5, "size"] = np.nan
    clf = ETANAClassifier(feature_costs=0.001).fit(frame, y)
    test = frame.iloc[:50].copy()
    test["colour"] = test["colour"].astype(object)
    test.loc[3, "colour"] = "violet"
    test.loc[4, "colour"] = None
    walk = clf.acquire(test)
    for i in range(50):
        row = test.iloc[i]
        case = clf.ask(lambda name, row=row: row[name])
        assert case.posterior.tobytes() == walk.posteriors[i].tobytes()
        assert case.label == walk.labels[i]


def test_repr_and_length():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(solver=PointsSolver()).fit(X, y)
    walk = clf.acquire(X[:5])
    assert len(walk) == 5
    assert "n=5" in repr(walk)
    assert repr(clf.acquire(X[:0])) == "Acquisition(n=0)"


def test_a_model_refuses_other_columns():
    """A model on its own, without scikit-learn's checks around it, reads no value that is not there."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = ETANAClassifier().fit(X, y).model_
    assert (model.acquire(X.to_numpy()).labels == model.acquire(X).labels).all()
    for other in (X.to_numpy()[:, :5], sp.csr_array(X.to_numpy()[:, :5]), X[X.columns[::-1]], X.iloc[:, 1:]):
        with pytest.raises(InputError, match="give the same columns in the same order"):
            model.acquire(other)
