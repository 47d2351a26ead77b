"""The estimators: parameters, prices, streams, expectations, and awkward data."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import etana
from etana import Binner, ETANAClassifier, FeatureCosts, FETANAClassifier, Model
from etana.beliefs import NaiveBayes
from etana.costs import resolve_feature_costs
from etana.errors import CostError, CostWarning, InputError
from etana.policies import ExactSolver, FixedOrder, PointsSolver

BOTH = [ETANAClassifier(), FETANAClassifier(batch=128, max_iterations=30)]


def test_public_names():
    assert set(etana.__all__) >= {"ETANAClassifier", "FETANAClassifier", "FeatureCosts", "Problem", "policies"}
    for name in etana.__all__:
        assert getattr(etana, name) is not None
    assert set(etana.__all__) <= set(dir(etana))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = etana.nothing


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_learns(estimator):
    for load, least, most_asked in ((load_breast_cancer, 0.88, 4), (load_wine, 0.85, 6), (load_iris, 0.9, 3)):
        X, y = load(return_X_y=True)
        clf = clone(estimator).fit(X[::2], y[::2])
        walk = clf.acquire(X[1::2])
        assert clf.score(X[1::2], y[1::2]) > least
        assert walk.n_features.mean() < most_asked
        assert (clf.predict(X) == clf.classes_[clf.predict_proba(X).argmax(axis=1)]).all()


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_new_prices_without_a_new_fit(estimator):
    """with_costs is a fresh fit with those costs, order included."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, 5:]
    clf = clone(estimator).fit(X, y)
    rng = np.random.default_rng(0)
    prices = dict(zip(X.columns, rng.random(8) * 0.1, strict=True))
    mistakes = rng.random((3, 3)) * 5 * (1 - np.eye(3))
    for costs in ({"feature_costs": prices}, {"misclassification_costs": mistakes},
                  {"feature_costs": FeatureCosts(0.05, groups=["g"] * 8, discounted=0.01)}):  # fmt: skip
        cheap = clf.with_costs(**costs)
        fresh = clone(estimator).set_params(**costs).fit(X, y)
        assert (cheap.feature_order_ == fresh.feature_order_).all()
        assert cheap.policy_.rule.table.tobytes() == fresh.policy_.rule.table.tobytes()
        assert (cheap.predict(X) == fresh.predict(X)).all()
        assert cheap.get_params()[next(iter(costs))] is costs[next(iter(costs))]
    assert clf.get_params()["feature_costs"] == 0.01
    with pytest.raises(CostError, match="-1"):
        clf.with_costs(feature_costs=-1)


def test_group_fee_is_paid_once():
    X, y = load_wine(return_X_y=True)
    prices = FeatureCosts(0.05, groups=["blood"] * 6 + [None] * 7, discounted=0.01)
    clf = ETANAClassifier(prices).fit(X, y)
    walk = clf.acquire(X)
    for i in range(0, len(X), 10):
        asked = walk.features(i)
        blood = int((asked < 6).sum())
        expected = 0.05 * (len(asked) - blood) + (0.05 + 0.01 * (blood - 1) if blood else 0)
        assert walk.costs[i] == pytest.approx(expected)


def test_expectations():
    """Announced cost and number of features agree with a simulation; the parts add up."""
    X, y = load_digits(return_X_y=True)
    for clf in (ETANAClassifier(0.02).fit(X, y), ETANAClassifier().fit(*load_breast_cancer(return_X_y=True))):
        e, problem = clf.policy_.expectation, clf.problem_
        assert clf.model_.expected_n_features == e.n_features
        assert abs(clf.policy_.expected_cost - e.cost) <= 4.5 * e.standard_error
        assert problem.priors @ e.class_cost == pytest.approx(e.cost)
        assert problem.priors @ e.class_n_features == pytest.approx(e.n_features)
        assert e.reach[0] == pytest.approx(1)
        assert e.reach[1:].sum() == pytest.approx(e.n_features)
        assert all(a >= b - 1e-12 for a, b in pairwise(e.reach))
        assert 0 <= clf.optimality_gap_ <= 0.012 * clf.policy_.expected_cost
        # An independent simulation in NumPy, through the public walk.
        rng = np.random.default_rng(1)
        draws = _draw_codes(problem, rng, 4000)
        bins = Binner.from_edges([np.arange(1, n) - 0.5 for n in np.diff(problem.offsets)])
        beliefs, order = NaiveBayes(bins, problem.cells, problem.priors), np.arange(problem.n_features)
        prices = resolve_feature_costs(problem.feature_costs, problem.n_features)
        policy = FixedOrder(order, clf.policy_, prices, problem.misclassification_costs)
        walk = Model(beliefs, policy, clf.classes_).acquire(draws[0])
        error = walk.n_features.std() / np.sqrt(len(walk))
        assert abs(walk.n_features.mean() - e.n_features) < 4.5 * np.hypot(error, e.n_features_standard_error)
        costs = walk.costs + (walk.labels != draws[1])
        error = costs.std() / np.sqrt(len(walk))
        assert abs(costs.mean() - clf.policy_.expected_cost) < 4.5 * error


def _draw_codes(problem, rng, n):
    y = rng.choice(problem.n_classes, size=n, p=problem.priors)
    X = np.empty((n, problem.n_features))
    for k in range(problem.n_features):
        delta = problem.stage(k)
        for i in range(problem.n_classes):
            rows = y == i
            X[rows, k] = rng.choice(len(delta), size=rows.sum(), p=delta[:, i] / delta[:, i].sum())
    return X, y


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_blocks_equal_the_whole_bit_for_bit(estimator, order):
    X, y = load_digits(return_X_y=True)
    bins = Binner("quantile", 4).fit(X)
    # The temperature is a matter of rows that are held out, which blocks do not allow.
    given = {"binning": bins, "ordering": "information", "temperature": 1.0}
    whole = clone(estimator).set_params(**given).fit(X, y)
    parts = clone(estimator).set_params(**given)
    blocks = np.array_split(np.arange(len(X)), 3)
    for b in order:
        parts.partial_fit(X[blocks[b]], y[blocks[b]], classes=range(10))
    assert parts.counts_.cells.tobytes() == whole.counts_.cells.tobytes()
    assert parts.policy_.rule.table.tobytes() == whole.policy_.rule.table.tobytes()
    assert parts.predict_proba(X[:100]).tobytes() == whole.predict_proba(X[:100]).tobytes()


def test_stream_without_given_bins_keeps_those_of_the_first_block():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().partial_fit(X[::2], y[::2])
    edges = clf.binner_.edges.copy()
    first = clf.expected_cost_
    clf.partial_fit(X[1::2], y[1::2])
    assert (clf.binner_.edges == edges).all()
    assert clf.counts_.classes.sum() == len(X)
    assert clf.expected_cost_ != first
    with pytest.raises(InputError, match="label 7, which is not among"):
        clf.partial_fit(X[:1], [7])
    with pytest.raises(InputError, match="all blocks share one set"):
        clf.partial_fit(X[:1], [0], classes=[0, 1])


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_weights_are_copies(estimator):
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    repeated = clone(estimator).fit(X[rows], y[rows])
    assert weighted.counts_.cells.tobytes() == repeated.counts_.cells.tobytes()
    assert (weighted.predict(X) == repeated.predict(X)).all()
    with pytest.raises(ValueError, match="at least one non-zero"):
        clone(estimator).fit(X, y, sample_weight=np.zeros(len(X)))


def test_weights_of_nothing_are_refused_with_any_scikit_learn(monkeypatch):
    """Older ones let them pass."""
    monkeypatch.setattr("etana.classifiers.base._check_sample_weight", lambda weights, *_, **__: weights)
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match="sample_weight is 0 for every row; give at least one non-zero weight"):
        ETANAClassifier().fit(X, y, sample_weight=np.zeros(len(X)))


def test_works_with_the_rest_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, 18:]  # two dozen fits: no more columns than that takes
    search = GridSearchCV(ETANAClassifier(), {"feature_costs": [0.001, 0.01, 0.1], "n_bins": ["auto", 4]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.9
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), ETANAClassifier())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.9
    pipe.fit(X, y)
    assert list(pipe[-1].feature_names_in_) == list(X.columns)
    assert pipe[-1].start().next_feature in X.columns
    again = pickle.loads(pickle.dumps(pipe))
    assert (again.predict(X) == pipe.predict(X)).all()


def test_frames_keep_names():
    X, y = load_wine(return_X_y=True, as_frame=True)
    prices, plain = dict.fromkeys(X.columns, 0.01), {"ordering": "error", "temperature": 1.0}
    pandas_clf = ETANAClassifier(prices, **plain).fit(X, y)
    polars_clf = ETANAClassifier(prices, **plain).fit(pl.from_pandas(X), y)
    array_clf = ETANAClassifier(**plain).fit(X.to_numpy(), y)
    walks = [pandas_clf.acquire(X), polars_clf.acquire(pl.from_pandas(X)), array_clf.acquire(X.to_numpy())]
    for walk in walks[1:]:
        assert walk.posteriors.tobytes() == walks[0].posteriors.tobytes()
    assert pandas_clf.start().next_feature == polars_clf.start().next_feature == X.columns[walks[0].features(0)[0]]
    with pytest.raises(ValueError, match="feature names"):
        pandas_clf.predict(X[X.columns[::-1]])


def test_sparse_fit_equals_dense_fit():
    X, y = load_digits(return_X_y=True)
    X, y = X[::3], y[::3]
    for binning in ("supervised", "quantile", "uniform", "published"):
        # One of them with a temperature that is searched for, which takes ten times as long.
        options = {} if binning == "supervised" else {"temperature": 1.0}
        made = ETANAClassifier(binning=binning, ordering="error", **options)
        dense = clone(made).fit(X, y)
        for form in (sp.csr_matrix, sp.csc_array):
            sparse = clone(made).fit(form(X), y)
            assert sparse.counts_.cells.tobytes() == dense.counts_.cells.tobytes()
            assert sparse.predict_proba(form(X)).tobytes() == dense.predict_proba(X).tobytes()


def test_row_order_does_not_matter():
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    one, two = ETANAClassifier().fit(X, y), ETANAClassifier().fit(X[rows], y[rows])
    assert one.policy_.rule.table.tobytes() == two.policy_.rule.table.tobytes()
    assert (one.predict(X) == two.predict(X)).all()


def test_label_names_do_not_matter():
    X, y = load_wine(return_X_y=True)
    names = np.array(["b", "c", "a"])
    one, two = ETANAClassifier().fit(X, y), ETANAClassifier().fit(X, names[y])
    assert (names[one.predict(X)] == two.predict(X)).mean() > 0.99
    assert one.expected_cost_ == pytest.approx(two.expected_cost_, rel=0.01)


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
class TestAwkwardData:
    def test_one_class(self, estimator):
        clf = clone(estimator).fit([[1.0], [2.0]], ["only", "only"])
        assert clf.predict([[5.0]])[0] == "only"
        assert clf.expected_cost_ == 0
        assert clf.acquire([[5.0]]).n_features[0] == 0

    def test_one_feature(self, estimator):
        X = np.r_[np.zeros(50), np.ones(50)][:, None]
        clf = clone(estimator).fit(X, X[:, 0].astype(int))
        assert clf.score(X, X[:, 0]) == 1

    def test_one_row(self, estimator):
        assert clone(estimator).fit([[1.0, 2.0]], [3]).predict([[0.0, 0.0]])[0] == 3

    def test_constant_data(self, estimator):
        clf = clone(estimator).fit(np.ones((10, 3)), [0] * 6 + [1] * 4)
        walk = clf.acquire(np.ones((2, 3)))
        assert walk.labels.tolist() == [0, 0]
        assert walk.n_features.tolist() == [0, 0]

    def test_all_missing(self, estimator):
        X = np.full((10, 2), np.nan)
        clf = clone(estimator).fit(X, [0] * 6 + [1] * 4)
        assert clf.predict(X[:1])[0] == 0

    def test_eleven_classes_of_six_rows(self, estimator):
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(11), 6)
        X = rng.normal(size=(66, 40)) + 2 * rng.normal(size=(11, 40))[y]
        clf = clone(estimator).set_params(binning="quantile", n_bins=4).fit(X, y)
        assert clf.score(X, y) > 0.6
        assert clf.optimality_gap_ >= 0

    def test_ties(self, estimator):
        """Every feature is the same: order by column, lowest class on a tie."""
        X = np.tile(np.r_[np.zeros(5), np.ones(5)][:, None], (1, 4))
        assert clone(estimator).fit(X, [0] * 5 + [1] * 5).feature_order_.tolist() == [0, 1, 2, 3]
        assert clone(estimator).fit(X, [0, 1] * 5).predict(X[:1])[0] == 0

    def test_infinities(self, estimator):
        X = np.r_[np.full(5, -np.inf), np.full(5, np.inf)][:, None]
        assert clone(estimator).fit(X, [0] * 5 + [1] * 5).predict(X).tolist() == [0] * 5 + [1] * 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_costs": -1}, "must be a finite number >= 0"),
        ({"feature_costs": [1, 2]}, r"shape \(2,\), but there are 4 features"),
        ({"feature_costs": {"a": 1}}, "has no names"),
        ({"misclassification_costs": np.ones((2, 2))}, r"shape \(2, 2\), but there are 3 classes"),
        ({"n_bins": 0}, "n_bins is 0"),
        ({"binning": "magic"}, "binning is 'magic'"),
        ({"binning": Binner()}, "not fitted"),
        ({"binning": Binner.from_edges([[1.0]])}, "bins for 1 columns, but X has 4"),
        ({"ordering": "random"}, "ordering is 'random'"),
        ({"ordering": [0, 0, 1, 2]}, "each of the column indices"),
        ({"priors": "flat"}, "priors is 'flat'"),
        ({"priors": [0.5, 0.5]}, "3 numbers"),
        ({"solver": "best"}, "solver is 'best'"),
        ({"solver": 3}, "solver is 3"),
        ({"missing": "drop"}, "missing is 'drop'"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=message):
        ETANAClassifier(**parameters).fit(X, y)


def test_bad_data():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="150 rows and y has 3 labels"):
        ETANAClassifier().fit(X, [0, 1, 2])
    with pytest.raises(InputError, match="0 sample"):
        ETANAClassifier().fit(X[:0], y[:0])
    clf = ETANAClassifier().fit(X, y)
    with pytest.raises(ValueError, match="3 features, but ETANAClassifier is expecting 4"):
        clf.predict(X[:, :3])


def test_seeds():
    X, y = load_digits(return_X_y=True)

    def table(seed):
        # Ten columns have too many answers to follow them all, so that chance has a say.
        clf = ETANAClassifier(0.002, n_bins=4, ordering="error", temperature=1.0, random_state=seed)
        return clf.fit(X[:, 20:30], y).policy_.rule.table.tobytes()

    assert table(1) == table(1) != table(2)
    assert table(None) == table(0)
    assert table(np.random.RandomState(0)) == table(np.random.RandomState(0))
    assert table(np.random.default_rng(0)) == table(np.random.default_rng(0))


def test_solver_choice():
    X, y = load_wine(return_X_y=True)
    assert type(ETANAClassifier().fit(X, y).policy_) is type(PointsSolver().solve(ETANAClassifier().fit(X, y).problem_))
    two = ETANAClassifier().fit(X[y < 2], y[y < 2])
    assert type(two.policy_) is type(ExactSolver().solve(two.problem_))


def test_missing_as_evidence():
    """Where absence tells the class, a bin of its own uses it and skipping does not."""
    y = np.arange(200) % 2
    X = np.where(y == 1, np.nan, 0.0)[:, None]
    assert ETANAClassifier(missing="bin").fit(X, y).score(X, y) == 1
    skip = ETANAClassifier(missing="skip").fit(X, y)
    assert skip.score(X, y) == 0.5


def test_feature_names_of_a_frame_with_number_names():
    X, y = load_iris(return_X_y=True)
    clf = ETANAClassifier().fit(pd.DataFrame(X), y)
    assert isinstance(clf.start().next_feature, int)


def test_sparse_rows_for_a_model_with_categories():
    """A category column keeps its meaning when the same numbers come sparse."""
    frame = pd.DataFrame({"kind": pd.Categorical([5, 7] * 20), "size": np.tile([0.0, 1.0, 0.0, 1.0], 10)})
    y = np.array([0, 1] * 20)
    clf = ETANAClassifier(ordering=[0, 1]).fit(frame, y)
    numbers = frame.astype(float).to_numpy()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (clf.predict(sp.csr_array(numbers)) == y).all()


def test_a_suspicious_cost_matrix_warns_once():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(CostWarning) as caught:
        ETANAClassifier(misclassification_costs=[[1, 0, 1], [1, 0, 1], [1, 1, 0]]).fit(X, y)
    assert len(caught) == 1
