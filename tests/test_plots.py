"""Displays: the numbers they hold against independent computations, and that they can be drawn."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from etana import AdaptiveClassifier, ETANAClassifier, FeatureCosts, FETANAClassifier, SequentialClassifier
from etana.beliefs import NaiveBayes
from etana.costs import resolve_feature_costs
from etana.errors import InputError
from etana.model import Model
from etana.plots import (
    CalibrationDisplay,
    ConfusionCostDisplay,
    CostCurveDisplay,
    ExamplePathsDisplay,
    FeatureUsageDisplay,
    PolicyDisplay,
    trace_budgets,
    trace_prices,
)
from etana.plots._canvas import clean, label
from etana.plots._intervals import mean_interval, wilson
from etana.plots._outcome import at_prices
from etana.policies import GridSolver
from etana.policies.fixed_order import FixedOrder

HOSTILE = ["<script>alert(1)</script>", "\"&'", "$x^$ $\\frac$", "_hidden", "new\nline\x00\u202e", "a" * 300]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _ask_mistakes(n):
    costs = 1.0 + np.arange(n * n).reshape(n, n) % 5
    np.fill_diagonal(costs, 0)
    return costs


@pytest.fixture(scope="module", params=[load_breast_cancer, load_wine, load_digits])
def fitted(request):
    """Two, three and ten classes; mistakes of different costs; names and prices that differ."""
    data = request.param(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    prices = {name: 0.01 * (1 + k % 3) for k, name in enumerate(X.columns)}
    # An order by scores stays when all prices are multiplied, as that of a bare model does.
    clf = ETANAClassifier(prices, _ask_mistakes(data.target_names.size), ordering="error").fit(X[::2], y[::2])
    return clf, X[1:800:2], y[1:800:2]


def as_model(clf):
    """The bare model, made of parts that know nothing of the classifier."""
    names = getattr(clf, "feature_names_in_", None)
    beliefs = NaiveBayes(clf.binner_, clf.counts_.likelihoods(), clf.problem_.priors)
    prices = resolve_feature_costs(clf.feature_costs, clf.n_features_in_, names)
    policy = FixedOrder(clf.feature_order_, clf.policy_, prices, clf.problem_.misclassification_costs)
    return Model(beliefs, policy, clf.classes_, None if names is None else list(names))


def texts(figure):
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text)]


# Feature usage


def test_usage_counts_what_rows_were_asked(fitted):
    clf, X, y = fitted
    display = FeatureUsageDisplay.from_estimator(clf, X, y)
    walk = clf.acquire(X)
    table, numbers = {}, np.zeros_like(display.numbers)
    for i, truth in enumerate(y):
        code = int(np.flatnonzero(clf.classes_ == truth)[0])
        numbers[len(walk.features(i)), code] += 1
        for column in walk.features(i):
            table.setdefault(int(column), np.zeros(clf.classes_.size, int))[code] += 1
    assert set(display.features.tolist()) == set(table)
    for column, name, counts in zip(display.features, display.names, display.counts, strict=True):
        assert counts.tolist() == table[int(column)].tolist()
        assert name == X.columns[column]
    assert np.array_equal(display.numbers, numbers)
    assert display.class_sizes.sum() == len(y)
    assert display.features.tolist() == clf.feature_order_[: len(table)].tolist()


@pytest.fixture(scope="module")
def others():
    """Classifiers of the other kinds, over two, three and three classes, with rows."""
    X, y = load_wine(return_X_y=True)
    two = y < 2
    return [
        (SequentialClassifier(feature_costs=0.01, max_features=4).fit(X[two], y[two]), X[two], y[two]),
        (SequentialClassifier(feature_costs=0.01, max_features=4).fit(X, y), X, y),
        (AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X, y), X, y),
        (AdaptiveClassifier(0.01, m=5.0, look_ahead=2).fit(X[:, :5], y), X[:, :5], y),
    ]


def test_usage_of_a_classifier_without_fixed_order(others):
    """What has no order is counted row by row, the features that were asked most often first."""
    clf, X, y = others[2]
    walk, counts = clf.acquire(X), np.zeros((13, 3), int)
    for i, truth in enumerate(y):
        counts[walk.features(i), truth] += 1
    for estimator in (clf, clf.model_):
        free = FeatureUsageDisplay.from_estimator(estimator, X, y)
        assert set(free.features.tolist()) == set(np.flatnonzero(counts.any(axis=1)).tolist())
        assert free.counts.tolist() == counts[free.features].tolist()
        assert free.counts.sum(axis=1).tolist() == sorted(free.counts.sum(axis=1).tolist(), reverse=True)
        with pytest.raises(InputError, match=r"no fixed order.*GraphDisplay"):
            PolicyDisplay.from_estimator(estimator)


def test_what_has_no_model_is_refused(fitted):
    clf, X, y = fitted

    class Bare:
        classes_, acquire = clf.classes_, staticmethod(clf.acquire)

    for display in (FeatureUsageDisplay, ConfusionCostDisplay, CalibrationDisplay, ExamplePathsDisplay):
        with pytest.raises(InputError, match="Bare has no model; pass a fitted etana classifier"):
            display.from_estimator(Bare(), X, y)


def test_every_picture_takes_every_classifier(others):
    for clf, X, y in others:
        for display in (FeatureUsageDisplay, ConfusionCostDisplay, CalibrationDisplay, ExamplePathsDisplay):
            display.from_estimator(clf, X, y)
        walk = clf.acquire(X)
        for path in ExamplePathsDisplay.from_estimator(clf, X, y).paths:
            assert [step.feature for step in path.steps] == [f"feature {k}" for k in walk.features(path.row)]
            last = path.steps[-1].belief if path.steps else path.prior
            assert last.tolist() == walk.posteriors[path.row].tolist()
        assert trace_prices(clf, X, y, [1.0]).cost[0] == pytest.approx((walk.costs + (walk.labels != y)).mean())
        assert trace_budgets(clf.model_, X, y, [0.01]).spend[0] == clf.acquire(X, max_cost=0.01).costs.mean()


def test_models_at_other_prices(others):
    """Rules that were learnt from walks cannot be made again without rows."""
    for clf, X, y in others:
        with pytest.raises(InputError, match=r"cannot be made for other prices.*pass the fitted classifier"):
            trace_prices(clf.model_, X, y, [2.0])


@pytest.mark.parametrize("kind", ["features", "classes", "number"])
def test_usage_pictures(fitted, kind):
    clf, X, y = fitted
    display = FeatureUsageDisplay.from_estimator(clf, X, y, kind=kind, n_top=5)
    figure, ax = plt.subplots()
    assert display.plot(ax, kind=kind, n_top=5).ax_ is ax
    assert display.figure_ is figure
    if kind == "features":
        widths = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(widths, 100 * display.counts[:5].sum(axis=1) / len(y))
        assert [t.get_text() for t in ax.get_yticklabels()] == [label(n, 24) for n in display.names[:5]]
    elif kind == "classes":
        shares = 100 * display.counts[:5] / display.class_sizes
        np.testing.assert_allclose(np.asarray(ax.collections[0].get_array()).reshape(shares.shape), shares)
    else:
        assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(len(y))


def test_usage_when_nothing_is_asked():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(feature_costs=10.0).fit(X, y)
    for kind in ("features", "classes", "number"):
        display = FeatureUsageDisplay.from_estimator(clf, X, y, kind=kind)
        display.figure_.draw_without_rendering()
    assert display.counts.shape == (0, 3)
    assert display.numbers.tolist() == [np.bincount(y).tolist()]
    with pytest.raises(InputError, match="kind is 'x'"):
        display.plot(kind="x")


# Cost curves


def test_prices_are_scaled_and_charged_as_they_are(fitted):
    clf, X, y = fitted
    curve = trace_prices(clf, X, y, factors=[4.0, 1.0, 0.25])
    codes = np.searchsorted(clf.classes_, y)
    for k, factor in enumerate([0.25, 1.0, 4.0]):
        dearer = clf.with_costs(feature_costs={name: price * factor for name, price in clf.feature_costs.items()})
        walk = dearer.acquire(X)
        spend = np.mean([sum(clf.feature_costs[X.columns[c]] for c in walk.features(i)) for i in range(len(y))])
        wrong = clf.misclassification_costs[codes, np.searchsorted(clf.classes_, walk.labels)].mean()
        assert curve.n_features[k] == walk.n_features.mean()
        assert curve.spend[k] == pytest.approx(spend)
        assert curve.accuracy[k] == np.mean(walk.labels == y)
        assert curve.cost[k] == pytest.approx(spend + wrong)
    assert curve.settings.tolist() == [0.25, 1.0, 4.0]
    assert curve.own == 1


def test_a_model_is_traced_as_its_classifier(fitted):
    clf, X, y = fitted
    factors = [0.5, 1.0, 2.0]
    by_class, by_model = trace_prices(clf, X, y, factors), trace_prices(as_model(clf), X, y, factors)
    for field in ("n_features", "spend", "accuracy", "cost"):
        np.testing.assert_allclose(getattr(by_model, field), getattr(by_class, field))


def test_prices_in_every_form_are_scaled():
    X, y = load_wine(return_X_y=True)
    groups = FeatureCosts(0.02, groups=["a", "b"] * 6 + [None], discounted=0.01)
    for costs in (0.01, np.full(13, 0.01), groups):
        clf = ETANAClassifier(costs, ordering="error").fit(X, y)
        for doubled in (at_prices(clf, 2.0).model_, at_prices(clf.model_, 2.0)):
            np.testing.assert_allclose(doubled.policy.stopping.problem.feature_costs, 2 * clf.problem_.feature_costs)
            assert doubled.order.tolist() == clf.feature_order_.tolist()


def test_budgets(fitted):
    clf, X, y = fitted
    curve = trace_budgets(clf, X, y, budgets=[0.0, 0.03, 10.0])
    for k, budget in enumerate([0.0, 0.03, 10.0]):
        walk = clf.acquire(X, max_cost=budget)
        assert curve.spend[k] == walk.costs.mean()
        assert curve.accuracy[k] == np.mean(walk.labels == y)
    assert curve.n_features[0] == 0
    assert trace_budgets(clf, X, y).spend[-1] == pytest.approx(clf.acquire(X).costs.mean())


@pytest.mark.parametrize(("against", "response"), [("n_features", "accuracy"), ("spend", "cost")])
def test_curve_pictures(fitted, against, response):
    clf, X, y = fitted
    display = CostCurveDisplay.from_estimator(clf, X, y, factors=[0.5, 1, 2], against=against, response=response)
    curve = trace_prices(clf, X, y, [0.5, 1, 2])
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), getattr(curve, against))
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), getattr(curve, response))
    budget = CostCurveDisplay.from_budgets(clf, X, y, budgets=[0, 0.1], against=against, response=response)
    assert budget.points["ETANAClassifier"][0].size == 2
    both = CostCurveDisplay.from_curves({"a": curve, "_b": curve}, levels={"$": 0.5}, ax=display.ax_)
    assert [t.get_text() for t in both.ax_.get_legend().get_texts()][-3:] == ["a", " _b", r"\$"]
    both.figure_.draw_without_rendering()


def test_curves_from_points_and_wrong_ones():
    display = CostCurveDisplay.from_points({"tree": ([1, 2], [0.5, 0.6]), "one": ([3], [0.7])}, ylabel="accuracy")
    assert display.ax_.get_ylabel() == "accuracy"
    with pytest.raises(InputError, match="equally many"):
        CostCurveDisplay.from_points({"tree": ([1, 2], [0.5])})
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    for wrong in ([], [0.0], [np.inf], [-1]):
        with pytest.raises(InputError, match="factors"):
            trace_prices(clf, X, y, wrong)
    with pytest.raises(InputError, match="budgets"):
        trace_budgets(clf, X, y, [-1.0])
    with pytest.raises(InputError, match="against"):
        CostCurveDisplay.from_curves({}, against="time")


# Confusion


def test_confusion_by_hand(fitted):
    clf, X, y = fitted
    display = ConfusionCostDisplay.from_estimator(clf, X, y)
    decided = clf.predict(X)
    for i, truth in enumerate(clf.classes_):
        for j, choice in enumerate(clf.classes_):
            rows = np.sum((y == truth) & (decided == choice))
            assert display.counts[i, j] == rows
            assert display.costs[i, j] == rows * clf.misclassification_costs[i, j]
    # Charged together, features and mistakes are what the curve says at the true prices.
    spent = clf.acquire(X).costs.sum()
    assert trace_prices(clf, X, y, [1.0]).cost[0] * len(y) == pytest.approx(display.costs.sum() + spent)
    shown = np.asarray(display.ax_.collections[0].get_array()).reshape(display.costs.shape)
    np.testing.assert_array_equal(shown, display.costs)
    shown = ConfusionCostDisplay.from_estimator(clf, X, y, values="count").ax_.collections[0].get_array()
    np.testing.assert_array_equal(np.asarray(shown).reshape(display.counts.shape), display.counts)


def test_confusion_text():
    display = ConfusionCostDisplay([[8, 2], [1, 9]], [[0, 1], [50, 0]], ["well", "ill"]).plot()
    assert {"8", "2\ncost 2", "1\ncost 50", "9"} <= set(texts(display.figure_))
    plain = ConfusionCostDisplay([[8, 2], [1, 9]], 1 - np.eye(2), ["well", "ill"]).plot()
    assert {"8", "2", "1", "9"} <= set(texts(plain.figure_))
    many = ConfusionCostDisplay(np.eye(60, dtype=int), 1 - np.eye(60), np.arange(60)).plot()
    assert len(many.ax_.get_xticks()) <= 24
    with pytest.raises(InputError, match="both must be"):
        ConfusionCostDisplay([[1]], [[0, 1], [1, 0]], ["a", "b"])


# Calibration


@pytest.mark.parametrize("bins", ["fine", 10, [0.0, 0.6, 0.95, 1.0]])
def test_calibration_by_hand(fitted, bins):
    clf, X, y = fitted
    display = CalibrationDisplay.from_estimator(clf, X, y, bins=bins, scale="log-odds" if bins != 10 else "linear")
    posteriors = clf.predict_proba(X)
    belief, hit = posteriors.max(axis=1), clf.classes_[posteriors.argmax(axis=1)] == y
    error = 0.0
    for b in range(display.counts.size):
        inside = (belief > display.edges[b]) & (belief <= display.edges[b + 1])
        assert display.counts[b] == inside.sum()
        if inside.any():
            assert display.prob_pred[b] == pytest.approx(belief[inside].mean())
            assert display.prob_true[b] == pytest.approx(hit[inside].mean())
            error += abs(belief[inside].sum() - hit[inside].sum())
        else:
            assert np.isnan(display.prob_true[b])
    assert display.counts.sum() == len(y)
    assert display.error == pytest.approx(error / len(y))
    display.figure_.draw_without_rendering()


def test_a_belief_on_an_edge_belongs_below_it():
    assert CalibrationDisplay([0.0, 0.5, 0.75, 1.0], [True] * 4, bins=[0.0, 0.5, 0.75, 1.0]).counts.tolist() == [
        2,
        1,
        1,
    ]


def test_calibration_refuses():
    with pytest.raises(InputError, match="one belief and one hit"):
        CalibrationDisplay([0.5], [True, False])
    for bins in (0, "coarse", [0.2, 1.0], [0.0, 0.5, 0.5, 1.0]):
        with pytest.raises(InputError, match="bins"):
            CalibrationDisplay([0.5], [True], bins)
    with pytest.raises(InputError, match="scale"):
        CalibrationDisplay([0.5], [True]).plot(scale="log")
    CalibrationDisplay([0.0, 1.0], [True, True]).plot().figure_.draw_without_rendering()


# Policy


def test_interval_is_that_of_the_exact_policy():
    X, y = load_breast_cancer(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    display = PolicyDisplay.from_estimator(clf)
    for stage in range(display.reach.size):
        low, high = display.interval(stage)
        odds = np.log([low / (1 - low), high / (1 - high)])
        assert np.abs(odds - clf.policy_.thresholds[stage]).max() < 0.0101  # the step of the scan
    np.testing.assert_allclose(display.reach + 0, clf.policy_.expectation.reach[: display.reach.size])


def test_stopping_chances(fitted):
    clf, _, _ = fitted
    display = PolicyDisplay.from_estimator(clf, kind="stages")
    reach = clf.policy_.expectation.reach
    exactly = [reach[k] - (reach[k + 1] if k + 1 < len(reach) else 0) for k in range(display.stop.size)]
    np.testing.assert_allclose(display.stop, exactly)
    np.testing.assert_allclose([bar.get_height() for bar in display.ax_.patches], 100 * np.array(exactly))
    PolicyDisplay.from_estimator(clf).figure_.draw_without_rendering()


@pytest.mark.parametrize("magnify", [1.0, 3.0])
def test_regions_of_the_simplex(magnify):
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(feature_costs=0.05).fit(X, y)
    display = PolicyDisplay.from_estimator(clf, stages=[0, 2])
    size = 40
    image = display.regions(2, resolution=size, magnify=magnify)
    rng = np.random.default_rng(0)
    for _ in range(200):
        row, column = rng.integers(size, size=2)
        x, top = (column + 0.5) / size, (row + 0.5) / size
        drawn = np.array([1 - x - top / 2, x - top / 2, top])
        if (drawn < 0).any():
            assert image[row, column] == -1
            continue
        belief = drawn**magnify / (drawn**magnify).sum()
        expected = clf.policy_.decide(belief) if clf.policy_.stops(2, belief) else 3
        assert image[row, column] == expected
    assert set(np.unique(image)) == {-1, 0, 1, 2, 3}


@pytest.mark.parametrize(
    "clf",
    [
        FETANAClassifier(batch=64, max_iterations=10),
        ETANAClassifier(solver=GridSolver(8)),
        ETANAClassifier(feature_costs=0.0),
        ETANAClassifier(feature_costs=5.0),
    ],
    ids=["thresholds", "grid", "free", "dear"],
)
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_policies_of_every_kind_can_be_drawn(clf, load):
    X, y = load(return_X_y=True)
    clf.fit(X, y)
    for kind in ("auto", "stages"):
        PolicyDisplay.from_estimator(clf, kind=kind).figure_.draw_without_rendering()


def test_policy_of_a_sequential_classifier(others):
    """Where it stops, by the same numbers as the rule itself."""
    two, X, _ = others[0]
    display = PolicyDisplay.from_estimator(two)
    assert display.reach.tolist() == two.expectation_.reach[: display.reach.size].tolist()
    low, high = display.interval(0)
    inside = np.linspace(low, high, 50)
    assert not two.rule_.stops(0, np.column_stack([1 - inside, inside])).any()
    for outside in (low - 0.01, high + 0.01):
        assert two.rule_.stops(0, np.array([1 - outside, outside]))
    three, X, _ = others[1]
    display = PolicyDisplay.from_estimator(three.model_, stages=[0, 1])
    assert (display.regions(1, resolution=20) == 3).any()
    asked = three.acquire(X).n_features
    display = PolicyDisplay.from_estimator(three, kind="stages")
    np.testing.assert_allclose(display.stop, np.bincount(asked, minlength=display.stop.size) / len(X), atol=0.15)


def test_policy_refuses_a_kind_that_does_not_fit():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match="there are 3 classes"):
        PolicyDisplay.from_estimator(ETANAClassifier().fit(X, y), kind="interval")


# Example paths


def test_paths_retrace_the_walk(fitted):
    clf, X, y = fitted
    display = ExamplePathsDisplay.from_estimator(clf, X, y)
    walk = clf.acquire(X)
    assert len({path.row for path in display.paths}) == len(display.paths) == 10
    for path in display.paths:
        columns = walk.features(path.row)
        assert [step.feature for step in path.steps] == [X.columns[c] for c in columns]
        assert [step.value for step in path.steps] == X.iloc[path.row, columns].tolist()
        assert [step.price for step in path.steps] == pytest.approx([clf.feature_costs[X.columns[c]] for c in columns])
        last = path.steps[-1].belief if path.steps else path.prior
        assert last.tolist() == walk.posteriors[path.row].tolist()
        assert clf.classes_[path.decided] == walk.labels[path.row]
        assert clf.classes_[path.truth] == y[path.row]
        assert path.spent == walk.costs[path.row]
        assert path.penalty == clf.misclassification_costs[path.truth, path.decided]
    right = walk.labels == y
    asked = {path.reason: len(path.steps) for path in display.paths}
    assert asked["fewest features"] == walk.n_features[right].min()
    assert asked["most features"] == walk.n_features[right].max()
    assert any(not path.correct for path in display.paths) == (not right.all())
    again = ExamplePathsDisplay.from_estimator(clf, X, y)
    assert [p.row for p in again.paths] == [p.row for p in display.paths]


def test_paths_of_labels_missing_values_and_sparse_rows():
    frame = pd.DataFrame({"colour": ["red", "blue", None, "red"] * 10, "size": [1.0, 5.0, np.nan, 2.0] * 10})
    y = np.array([0, 1, 1, 0] * 10)
    clf = ETANAClassifier(feature_costs=0.001, ordering=[0, 1]).fit(frame, y)
    values = {s.feature: [] for p in ExamplePathsDisplay.from_estimator(clf, frame, y).paths for s in p.steps}
    for path in ExamplePathsDisplay.from_estimator(clf, frame, y).paths:
        for step in path.steps:
            values[step.feature].append(step.value)
            assert (step.meaning == "missing") == (step.value is None or step.value != step.value)
    assert {"red", "blue", None} >= set(values["colour"])
    X, y = load_digits(return_X_y=True)
    sparse = ETANAClassifier(feature_costs=0.02).fit(sp.csr_matrix(X), y)
    dense = ExamplePathsDisplay.from_estimator(sparse, X[:50], y[:50]).paths
    for path, twin in zip(ExamplePathsDisplay.from_estimator(sparse, sp.csr_matrix(X[:50]), y[:50]).paths, dense):
        assert [s.value for s in path.steps] == [s.value for s in twin.steps]


def test_fewer_rows_than_paths():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    assert len(ExamplePathsDisplay.from_estimator(clf, X[:3], y[:3]).paths) == 3


# What all share


def test_labels_are_checked_before_any_work():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    for wrong, message in (
        (None, "y is None"),
        (y[:5], r"178 rows and y has shape \(5,\)"),
        (y[:, None], "one label per row"),
        (y + 1, "label .*3.* in row 130"),
        (y.astype(str), "not among the classes"),
    ):
        with pytest.raises(InputError, match=message):
            ConfusionCostDisplay.from_estimator(clf, X, wrong)
    with pytest.raises(InputError, match="no rows"):
        ConfusionCostDisplay.from_estimator(clf, X[:0], y[:0])
    for stranger in (ETANAClassifier(), object()):
        with pytest.raises(InputError, match="fitted etana classifier"):
            PolicyDisplay.from_estimator(stranger)
    # Labels of another type that mean the same are the same.
    assert ConfusionCostDisplay.from_estimator(clf, X, pd.Series(y.astype(float))).counts.sum() == len(y)


def test_names_are_drawn_as_they_are():
    X, y = load_digits(return_X_y=True)
    names = [f"{HOSTILE[k % 6]}{k}" for k in range(64)]
    frame = pd.DataFrame(X, columns=names)
    classes = np.array([*HOSTILE, "6", "7", "8", "9"])
    for n in (2, 3, 10):
        some = (y < n) & (np.arange(len(y)) < 500)
        rows, truth = frame[some], classes[y[some]]
        clf = ETANAClassifier(feature_costs=0.02, ordering="information", temperature=1.0).fit(rows, truth)
        for kind in ("features", "classes", "number"):
            FeatureUsageDisplay.from_estimator(clf, rows, truth, kind=kind).figure_.draw_without_rendering()
        ConfusionCostDisplay.from_estimator(clf, rows, truth).figure_.draw_without_rendering()
        PolicyDisplay.from_estimator(clf).figure_.draw_without_rendering()
    assert clean("new\nline\x00\u202e") == "new line"
    assert len(clean("a" * 300, 24)) == 24
    drawn = plt.figure().text(0, 0, label(r"$a$ \$ b"))
    assert drawn._preprocess_math(drawn.get_text()) == (r"$a$ \$ b", False)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (3, 7), (90, 100)])
def test_wilson_against_scipy(hits, n):
    found = wilson(hits, n)
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(found, (expected.low, expected.high), atol=1e-12)


def test_mean_intervals_cover_as_they_should():
    rng = np.random.default_rng(1)
    inside = 0
    for trial in range(40):
        low, high = mean_interval(rng.exponential(size=60), seed=trial)
        inside += low < 1 < high
    assert inside >= 32
    many = rng.normal(size=20_000)
    low, high = mean_interval(many, seed=0)
    assert (high - low) / 2 == pytest.approx(1.96 / np.sqrt(20_000), rel=0.03)
    assert mean_interval(many[:50], 3) == mean_interval(many[:50], 3)


def test_matplotlib_is_imported_late_and_its_absence_explained():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import etana.plots as p\n"
        "try: p.ConfusionCostDisplay([[1]], [[0]], ['a']).plot()\n"
        "except ImportError as e: print(e)\n"
        "print('sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "pip install 'etana[plot]'" in out[0]
    assert out[1] == "False"
