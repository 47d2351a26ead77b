"""Comparing on a user's table."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from etana import ETANAClassifier, FeatureCosts
from etana.cli import app
from etana.errors import InputError
from etana.evaluation import METHODS, Folds, HoldOut, Method, compare, corrected_interval, evaluate, register
from etana.evaluation.baselines import AcquiringTree, EveryFeature
from etana.evaluation.comparison import COMPARED
from etana.evaluation.complete_numbers import CompleteNumbers, SelectorOnNumbers
from etana.selection import SAOLA


@pytest.fixture(scope="module")
def clinic():
    """Numbers, text and missing cells; labels in words."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["worst perimeter", "mean texture", "worst concave points"]].copy()
    X["size"] = np.where(X["worst perimeter"] > 110, "large", "small")
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    return X, np.where(y == 1, "benign", "malignant")


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


# --- intervals ---------------------------------------------------------------------------------------------


def test_the_corrected_interval_by_hand():
    values = [0.8, 0.9, 1.0, 0.9, 0.85, 0.95]
    found = corrected_interval(values, n_splits=3)
    half = stats.t.ppf(0.975, 5) * np.std(values, ddof=1) * np.sqrt(1 / 6 + 1 / 2)
    assert (found.mean, found.low, found.high) == pytest.approx((0.9, 0.9 - half, 0.9 + half))
    with pytest.raises(InputError, match="1 values make no interval"):
        corrected_interval([0.5], 2)


def test_repeats_never_promise_more_than_one_test_part_can_tell():
    values = np.random.default_rng(0).normal(size=1000)
    found = corrected_interval(values, n_splits=5)
    assert (found.high - found.low) / 2 > 1.96 * values.std(ddof=1) / np.sqrt(5 - 1)


def test_the_interval_covers_the_truth(monkeypatch):
    """Of 40 samples drawn anew, about 95 % of the intervals hold the accuracy on fresh rows, and not much less."""
    monkeypatch.setattr("etana.evaluation.methods.METHODS", dict(METHODS))
    model = ETANAClassifier(feature_costs=0.001, ordering="information", temperature=1.0)
    register(Method("plain", "plain", lambda setting: clone(model)))
    rng = np.random.default_rng(1)

    def draw(n):
        y = rng.integers(0, 2, n)
        return np.round(y[:, None] + rng.normal(size=(n, 2)), 2), y

    held = 0
    X_new, y_new = draw(20_000)
    for repeat in range(40):
        X, y = draw(120)
        lines = compare(X, y, methods=["plain"], folds=4, repeats=2, seed=repeat, feature_costs=0.001).lines
        truth = evaluate(model, X, y, protocol=HoldOut(X_new, y_new)).accuracy
        interval = lines[0].figures["accuracy"]
        held += interval.low <= truth <= interval.high
    assert held >= 34


# --- the comparison ----------------------------------------------------------------------------------------


def test_all_methods_serve_text_and_missing_values(clinic):
    X, y = clinic
    result = compare(X.to_numpy(dtype=object), y, folds=2, repeats=1)
    assert [line.method for line in result.lines] == list(COMPARED)
    for line in result.lines:
        assert line.message is None, line
        assert line.figures["accuracy"].mean > 0.6
        assert line.figures["cost"].mean == pytest.approx(
            0.01 * line.figures["n_features"].mean + 1 - line.figures["accuracy"].mean
        )


def test_a_data_frame_gives_the_figures_of_its_array(clinic):
    X, y = clinic
    names = ["etana", "saola", "decision-tree", "all-features"]
    of_frame, of_array = (compare(form, y, folds=2, repeats=1, methods=names) for form in (X, X.to_numpy(dtype=object)))
    assert [line.figures for line in of_frame.lines] == [line.figures for line in of_array.lines]


def test_the_seed_decides(clinic):
    X, y = clinic
    one, two, other = (compare(X, y, folds=3, repeats=2, methods=["etana"], seed=s).lines[0].figures for s in (1, 1, 2))
    assert one == two != other


def test_figures_are_those_of_evaluate():
    X, y = load_iris(return_X_y=True)
    (line,) = compare(X, y, methods=["etana"], folds=3, repeats=2, seed=5, feature_costs=0.02).lines
    parts = [
        fold
        for seed in (5, 6)
        for fold in evaluate(
            ETANAClassifier(feature_costs=0.02, random_state=5), X, y, protocol=Folds(3, seed=seed)
        ).folds
    ]
    assert line.figures["accuracy"].mean == pytest.approx(np.mean([p.accuracy for p in parts]))
    assert line.figures["n_features"] == corrected_interval([p.n_features for p in parts], 3)


def test_a_group_is_paid_once():
    X, y = load_iris(return_X_y=True)
    prices = FeatureCosts([0.1, 0.1, 0.1, 0.1], groups=["a"] * 4, discounted=0.01)
    (line,) = compare(X, y, feature_costs=prices, methods=["all-features"], folds=2, repeats=1).lines
    assert line.figures["cost"].mean == pytest.approx(0.13 + 1 - line.figures["accuracy"].mean)


def test_prices_by_name_are_resolved_once_for_every_method(clinic):
    X, y = clinic
    frame = X[["worst perimeter", "mean texture"]]
    prices = {"worst perimeter": 0.02, "mean texture": 0.005}
    options = {"methods": ["etana", "decision-tree", "all-features"], "folds": 2, "repeats": 1}
    named = compare(frame, y, feature_costs=prices, **options)
    placed = compare(frame.to_numpy(), y, feature_costs=[0.02, 0.005], **options)
    given = compare(frame.to_numpy(), y, feature_costs=prices, names=list(frame.columns), **options)
    assert [line.message for line in named.lines] == [None] * 3
    assert [line.figures for line in named.lines] == [line.figures for line in placed.lines]
    assert [line.figures for line in given.lines] == [line.figures for line in placed.lines]


def test_a_method_that_cannot_serve_says_why_and_the_others_go_on():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(26), 4)
    X = np.round(y[:, None] + rng.normal(size=(104, 3)), 1)
    broken, good = compare(X, y, methods=["etana-published", "saola"], folds=2, repeats=1).lines
    assert "grid points" in broken.message
    assert good.message is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds is 1"),
        ({"folds": 51}, "has 50 rows, so give 2 to 50"),
        ({"repeats": 0}, "repeats is 0"),
        ({"methods": ["magic"]}, "no method 'magic'"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=message):
        compare(X, y, **options)


def test_one_class_is_nothing_to_compare():
    with pytest.raises(InputError, match="1 class"):
        compare(np.eye(4), [0, 0, 0, 0])


# --- what stands in the comparison -------------------------------------------------------------------------


def test_plain_numbers():
    X = np.array([[1.0, "b"], [None, "a"], [4.0, None]], dtype=object)
    encoder = CompleteNumbers().fit(X)
    assert encoder.transform(X).tolist() == [[1.0, 1.0], [2.5, 0.0], [4.0, -1.0]]
    assert encoder.transform(np.array([[np.nan, "new"]], dtype=object)).tolist() == [[2.5, -1.0]]
    assert np.isnan(CompleteNumbers(fill=False).fit(X).transform(X)[1, 0])
    matrix = sparse.csr_array(np.eye(3))
    assert CompleteNumbers().fit(matrix).transform(matrix) is matrix


def test_an_encoded_selector_selects_columns_of_the_table(clinic):
    X, y = clinic
    support = SelectorOnNumbers(SAOLA()).fit(X, y).get_support(indices=True)
    expected = SAOLA().fit(CompleteNumbers().fit_transform(X), y).get_support(indices=True)
    assert support.tolist() == expected.tolist()


def test_the_tree_asks_what_is_on_the_path():
    X, y = load_breast_cancer(return_X_y=True)
    tree = AcquiringTree(feature_costs=0.02).fit(X[::2], y[::2])
    walk = tree.acquire(X[1::2])
    twin = DecisionTreeClassifier(max_depth=tree.depth_, random_state=0).fit(X[::2], y[::2])
    assert walk.labels.tolist() == twin.predict(X[1::2]).tolist()
    paths = twin.decision_path(X[1::2])
    asked = [{f for f in twin.tree_.feature[p.indices] if f >= 0} for p in paths]
    assert walk.n_features.tolist() == [len(a) for a in asked]
    assert walk.costs == pytest.approx(0.02 * walk.n_features)


def test_dear_features_make_low_trees():
    X, y = load_breast_cancer(return_X_y=True)
    assert AcquiringTree(feature_costs=0.2).fit(X, y).depth_ <= AcquiringTree(feature_costs=0.0).fit(X, y).depth_
    alone = np.r_[0, np.ones(9, dtype=int)]  # a class with one row cannot be cross-validated
    assert AcquiringTree().fit(np.arange(10.0)[:, None], alone).depth_ >= 1


def test_a_sparse_tree_is_the_dense_one():
    X, y = load_iris(return_X_y=True)
    dense, thin = AcquiringTree().fit(X, y), AcquiringTree().fit(sparse.csr_array(X), y)
    assert dense.acquire(X).labels.tolist() == thin.acquire(sparse.csr_array(X)).labels.tolist()


def test_every_feature_is_paid():
    X, y = load_iris(return_X_y=True)
    walk = EveryFeature(feature_costs=[0.1, 0.2, 0.3, 0.4]).fit(X, y).acquire(X)
    assert set(walk.n_features) == {4}
    assert walk.costs == pytest.approx(1.0)


# --- the command line --------------------------------------------------------------------------------------


def test_from_a_file_to_a_page(clinic, tmp_path):
    X, y = clinic
    X.assign(outcome=y).to_csv(tmp_path / "t.csv", index=False)
    prices = pd.DataFrame(
        {"feature": X.columns, "cost": 0.02, "group": ["a", "a", "", ""], "discounted": [0.01, 0.01, None, None]}
    )
    prices.to_csv(tmp_path / "prices.csv", index=False)
    done = run(
        tmp_path / "t.csv", "--target", "outcome", "--costs", tmp_path / "prices.csv", "--folds", 3, "--repeats", 2,
        "--methods", "etana,saola", "-o", tmp_path / "page.html", "--csv", tmp_path / "out.csv",
    )  # fmt: skip
    assert "Nadeau" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "Methods compared on t.csv" in page
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert [row["method"] for row in rows] == ["etana", "saola"]
    given = FeatureCosts([0.02] * 4, groups=["a", "a", None, None], discounted=[0.01, 0.01, 0.02, 0.02])
    expected = compare(X, y, feature_costs=given, folds=3, repeats=2, methods=["etana", "saola"]).lines
    for row, line in zip(rows, expected, strict=True):
        assert float(row["cost"]) == line.figures["cost"].mean
        assert float(row["accuracy_low"]) == line.figures["accuracy"].low


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "nothing"], "has no column 'nothing'"),
        (["--target", "y", "--methods", "magic"], "no method 'magic'"),
        (["--target", "y", "--folds", "9"], "folds is 9"),
        (["--target", "y", "--costs", "-1"], "a price must be a finite number"),
        (["--target", "y", "-o", "nowhere/page.html"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(tmp_path, options, message):
    (tmp_path / "t.csv").write_text("a,y\n1,u\n2,u\n3,v\n4,v\n")
    done = run(tmp_path / "t.csv", *options, code=3)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
