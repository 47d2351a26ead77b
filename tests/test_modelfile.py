"""Model files: nothing changes on the way, nothing half written."""

import json
import os
import stat
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors
import safetensors.numpy
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from etana import Binner, ETANAClassifier, FeatureCosts, FETANAClassifier
from etana.errors import CostWarning, ModelFileError
from etana.modelfile import container, load, load_model, read_metadata, save
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver
from modelfile_samples import QUICK, SOLVERS, fitted, frame, wine


def rows_of(X, n=1000):
    """1,000 instances like those of X: rows drawn from it, with noise where there are numbers."""
    rng = np.random.default_rng(5)
    chosen = np.asarray(X)[rng.integers(len(X), size=n)]
    return chosen + rng.normal(0, 0.1, chosen.shape) * np.asarray(X).std(axis=0)


def quick(**given):
    """A fit without a search for order and temperature, for what has nothing to do with them."""
    return ETANAClassifier(**{"ordering": "error", "temperature": 1.0, **given})


def assert_same_walk(a, b):
    assert a.labels.dtype == b.labels.dtype
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist()
    assert a.posteriors.tobytes() == b.posteriors.tobytes()
    assert a.costs.tobytes() == b.costs.tobytes()


def assert_same_policy(a, b):
    assert type(a) is type(b)
    assert repr(a) == repr(b)
    for name in ("table", "index", "costs", "regrets"):
        assert getattr(a.rule, name).tobytes() == getattr(b.rule, name).tobytes()
    for name in ("expected_cost", "expected_n_features", "lower_bound", "gap", "horizon", "random_state"):
        assert getattr(a, name) == getattr(b, name)
    assert a.expectation.reach.tobytes() == b.expectation.reach.tobytes()
    rng = np.random.default_rng(0)
    beliefs = rng.dirichlet(np.full(a.problem.n_classes, 0.5), size=3)
    for stage in {0, 1, a.horizon // 2, max(a.horizon - 1, 0)} & set(range(a.problem.n_features)):
        assert a.value(stage, beliefs).tolist() == b.value(stage, beliefs).tolist()
        assert a.continuation(stage, beliefs).tolist() == b.continuation(stage, beliefs).tolist()
        assert (a.stops(stage, beliefs) == b.stops(stage, beliefs)).all()


def round_trip(clf, tmp_path, X):
    """Save and load; classifier, bare model and prices agree; saving again gives the same bytes."""
    path = tmp_path / "model.etana"
    save(clf, path)
    again, model = load(path), load_model(path)
    assert type(again) is type(clf)
    walk = clf.acquire(X)
    assert_same_walk(walk, again.acquire(X))
    assert_same_walk(walk, model.acquire(X))
    assert_same_policy(clf.policy_, again.policy_)
    for name in ("expected_cost_", "expected_n_features_", "optimality_gap_", "n_features_in_"):
        assert getattr(clf, name) == getattr(again, name)
    assert clf.counts_.cells.tobytes() == again.counts_.cells.tobytes()
    assert clf.classes_.dtype == again.classes_.dtype
    assert sorted(vars(clf)) == sorted(vars(again))
    before = path.read_bytes()
    save(again, path)
    assert path.read_bytes() == before
    return again


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver(name, tmp_path):
    clf, X, y = fitted(name)
    again = round_trip(clf, tmp_path, rows_of(X))
    prices = np.linspace(0.001, 0.02, X.shape[1])
    a, b = clf.with_costs(feature_costs=prices), again.with_costs(feature_costs=prices)
    assert_same_walk(a.acquire(X), b.acquire(X))
    a, b = clf.start(), again.start()
    while a.next_feature is not None:
        assert a.next_feature == b.next_feature
        assert a.expected_cost == b.expected_cost
        assert a.explain() == b.explain()
        a.observe(X[0, a.next_feature])
        b.observe(X[0, b.next_feature])
    assert a.label == b.label
    assert_same_walk(clf.partial_fit(X, y).acquire(X), again.partial_fit(X, y).acquire(X))


def test_nothing_is_solved_or_simulated_again(tmp_path, monkeypatch):
    models = []
    for name in ("auto", "points, fitted", "grid, nearest", "F-ETANA"):
        clf, X, _ = fitted(name)
        save(clf, tmp_path / name)
        announced = [clf.expected_cost_, clf.optimality_gap_, clf.expected_n_features_]
        models.append((clf, X, load(tmp_path / name), load_model(tmp_path / name), announced))

    def refuse(*_, **__):
        raise AssertionError("solved or simulated")

    for solver in (ExactSolver, PointsSolver, GridSolver, ThresholdSolver):
        monkeypatch.setattr(solver, "solve", refuse)
    monkeypatch.setattr("etana.policies.stopping.expect", refuse)
    monkeypatch.setattr("etana.policies.points._certify", refuse)
    for clf, X, again, model, announced in models:
        assert [again.expected_cost_, again.optimality_gap_, again.expected_n_features_] == announced
        own = clf.model_  # what held-out rows paid is the classifier's to tell
        assert [model.expected_cost, model.expected_n_features] == [own.expected_cost, own.expected_n_features]
        assert model.optimality_gap == announced[1]
        assert (again.predict(X) == clf.predict(X)).all()


@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("make", [ETANAClassifier, lambda **p: FETANAClassifier(**p, **QUICK)])
def test_frames_with_labels_and_missing_values(make, missing, tmp_path):
    table, y = frame()
    prices = {name: 0.01 * (k + 1) for k, name in enumerate(table.columns)}
    clf = make(feature_costs=prices, missing=missing, n_bins=np.int32(5)).fit(table, y)
    again = round_trip(clf, tmp_path, table)
    assert again.feature_names_in_.tolist() == table.columns.tolist()
    assert again.feature_names_in_.dtype == object
    assert again.get_params()["feature_costs"] == prices
    assert type(again.n_bins) is np.int32
    assert {k: v.tolist() for k, v in again.binner_.levels.items()} == {
        k: v.tolist() for k, v in clf.binner_.levels.items()
    }
    types = [[type(v) for v in again.binner_.levels[k]] for k in sorted(again.binner_.levels)]
    assert types == [[str] * 4, [bool] * 2, [int] * 3, [float] * 2]
    assert again.start().next_feature == clf.start().next_feature
    with pytest.warns(CostWarning):
        clf.with_costs(misclassification_costs=np.eye(3)).fit(table, y)


def test_odd_costs_do_not_warn_again(tmp_path):
    X, y = wine()
    with pytest.warns(CostWarning):
        clf = ETANAClassifier(misclassification_costs=np.eye(3)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(clf, tmp_path / "m")
        assert_same_walk(load(tmp_path / "m").acquire(X), clf.acquire(X))


def test_sparse_polars_and_weights(tmp_path):
    X, y = load_digits(return_X_y=True)
    matrix = sp.csr_matrix(X)
    round_trip(quick(feature_costs=0.01, n_bins=3).fit(matrix, y), tmp_path, matrix)
    table = pl.DataFrame(X[:, 20:30], schema=[f"p{k}" for k in range(10)])
    weights = np.random.default_rng(0).random(len(y))
    round_trip(ETANAClassifier(0.01).fit(table, y, sample_weight=weights), tmp_path, table)


def test_parameters_of_every_form(tmp_path):
    X, y = wine()
    bins = Binner("quantile", 4).fit(X)
    other = Binner.from_edges([[0.0, 1.0]] * 13, missing="bin")
    groups = FeatureCosts(0.05, groups=["blood"] * 6 + [None] * 7, discounted=[0.01] * 13)
    named = FeatureCosts(np.full(13, 0.05, dtype=">f4"), groups=(1, 1.5, True, "a", None, *"bcdefghi"))
    for parameters in (
        {"binning": bins, "feature_costs": groups, "priors": np.array([0.2, 0.3, 0.5])},
        {"binning": bins, "feature_costs": named, "priors": (0.2, 0.3, 0.5), "random_state": np.int64(7)},
        {"binning": other, "feature_costs": np.float32(0.03), "ordering": np.arange(13)[::-1]},
        {"ordering": list(range(13)), "misclassification_costs": [[0, 1, 2], [3, 0, 1], [1, 1, 0]]},
        {"ordering": np.arange(13, dtype=np.uint8), "misclassification_costs": np.ones((3, 3), order="F") - np.eye(3)},
        {"feature_costs": np.array(0.02), "n_bins": 3, "binning": "uniform", "priors": "uniform"},
        {"feature_costs": pd.Series(np.full(13, 0.02)), "random_state": 2**40},
    ):
        clf = quick(**parameters).fit(X, y)
        again = round_trip(clf, tmp_path, rows_of(X))
        for name, value in parameters.items():
            got = getattr(again, name)
            if isinstance(value, FeatureCosts):
                assert got == value
                assert type(got.groups) is type(value.groups)
                assert [type(g) for g in got.groups] == [type(g) for g in value.groups]
            elif isinstance(value, Binner):
                assert got is again.binner_
            else:
                assert np.array_equal(got, value)
                if not isinstance(value, pd.Series):
                    assert type(got) is type(value)
                    assert getattr(got, "dtype", None) == getattr(value, "dtype", None)
    clf.set_params(binning=other, solver=GridSolver(np.int64(4), tolerance=float("inf")))
    save(clf, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.binning.edges.tolist() == other.edges.tolist()
    assert again.binning.missing_codes.tolist() == other.missing_codes.tolist()
    assert vars(again.solver) == vars(clf.solver)
    save(clf.set_params(binning=Binner("uniform", 3)), tmp_path / "m")
    assert not hasattr(load(tmp_path / "m").binning, "edges")


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 2**62]),
        np.array([3, 1, 2], dtype=">i2"),
        np.array([0, 1, 255], dtype=np.uint8),
        np.array([0.0, 1.0, 2.0], dtype=np.float16),
        np.array(["ä", "b\n", "😀"]),
        np.array(["a", "b", "c"], dtype="<U40"),
        np.array(["x", "yy", "z" * 300], dtype=object),
        np.array([False, True]),
        np.array(["only one"]),
    ],
    ids=lambda a: f"{a.dtype}-{a.size}",
)
def test_labels_keep_their_type(labels, tmp_path):
    X, y = wine()
    again = round_trip(quick().fit(X, labels[y % labels.size]), tmp_path, rows_of(X))
    assert again.classes_.dtype == labels.dtype
    assert again.classes_.tolist() == sorted(labels.tolist())


def test_streams(tmp_path):
    """A classifier that was fed blocks and never solved; classes that did not come yet."""
    X, y = wine()
    clf = ETANAClassifier().partial_fit(X[:40], y[:40], classes=[0, 1, 2, 3])
    again = round_trip(clf, tmp_path, rows_of(X))
    for c in (clf, again):
        c.partial_fit(X[40:], y[40:])
    assert_same_walk(clf.acquire(X), again.acquire(X))


def test_what_cannot_be_stored(tmp_path):
    X, y = wine()
    path = tmp_path / "m"

    def fit():
        return quick().fit(X, y)

    class Stubborn:
        """A policy of somebody else's, which no file can hold."""

        horizon = 0

        def stops(self, stage, beliefs):
            return np.ones(len(beliefs), dtype=bool)

        def decide(self, belief):
            return 1

    class Own:
        def solve(self, problem):
            return ExactSolver().solve(problem) if problem.n_classes == 2 else PointsSolver().solve(problem)

    class Sub(ETANAClassifier):
        pass

    class Odd:
        def solve(self, problem):
            return Stubborn()

    for clf, words in (
        (quick(solver=Odd()).fit(X, y), "solver of your own.*Odd; only ExactSolver"),
        (
            quick(solver=Odd()).fit(X, y).set_params(solver="auto"),
            "ForeignPolicy, which is not one of etana's own",
        ),
        (LogisticRegression(), "LogisticRegression cannot be stored; an object of ETANAClassifier or FETANA"),
        (Sub(ordering="error", temperature=1.0).fit(X, y), "Sub cannot be stored"),
        (BaseEstimator, "cannot be stored"),
        (quick(solver=Own()).fit(X, y), "solver of your own.*Own; only ExactSolver"),
        (quick(random_state=np.random.default_rng(0)).fit(X, y), "random_state.*whole number"),
        (fit().set_params(solver=PointsSolver(8, random_state=np.random.default_rng(0))), "whole number"),
        (fit().set_params(n_bins=object()), "n_bins is object"),
        (fit().set_params(n_bins=-3), "n_bins is -3; it must be"),
        (fit().set_params(solver="best"), "solver is 'best'; it must be"),
        (fit().set_params(missing="drop"), "missing is 'drop'; it must be"),
        (fit().set_params(priors=np.ones(3, complex)), "priors is an array of complex128"),
    ):
        with pytest.raises(ModelFileError, match=words):
            save(clf, path)
    with pytest.raises(NotFittedError):
        save(ETANAClassifier(), path)
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    X, y = wine()
    clf = ETANAClassifier().fit(X, y)
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "m", "No such file or directory"),
        ("/dev/full/m", "Not a directory"),
        (f"{tmp_path}/a\0b", "null"),
        (tmp_path / ("x" * 300), "name too long"),
    ):
        with pytest.raises(ModelFileError, match=words):
            save(clf, path)
    save(clf, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    for broken in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, broken, full)
            with pytest.raises(ModelFileError, match="No space left on device; what was there before is unchanged"):
                save(clf.with_costs(0.02), tmp_path / "m")
    monkeypatch.setattr(container, "LARGEST_HEADER", 1000)
    with pytest.raises(ModelFileError, match="1000 are allowed; shorten"):
        save(clf, tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == before


def test_links_permissions_and_paths(tmp_path, monkeypatch):
    X, y = wine()
    clf = ETANAClassifier().fit(X, y)
    save(clf, str(tmp_path / "m"))
    (tmp_path / "m").chmod(0o640)
    (tmp_path / "link").symlink_to("m")
    save(clf.with_costs(0.02), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640
    assert load(tmp_path / "m").feature_costs == 0.02
    monkeypatch.chdir(tmp_path)
    save(clf, "relative")
    assert load("relative").feature_costs == 0.01


def test_other_tools_read_it(tmp_path):
    X, y = wine()
    clf = ETANAClassifier().fit(X, y)
    save(clf, tmp_path / "m")
    arrays = safetensors.numpy.load_file(tmp_path / "m")
    assert arrays["beliefs.cells"].tolist() == clf.model_.beliefs.cells.tolist()
    assert arrays["policy.order"].tolist() == clf.feature_order_.tolist()
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        metadata = file.metadata()
    assert metadata["estimator"] == "ETANAClassifier"
    said = read_metadata(tmp_path / "m")
    assert said["sha256"] == metadata["sha256"]
    assert said["classes"] == [0, 1, 2]
    assert said["parameters"]["feature_costs"] == 0.01
    assert (said["beliefs"], said["policy"]) == ("NaiveBayes", type(clf.policy_).__name__)
    assert said["expected_n_features"] == clf.model_.expected_n_features
    assert said["lower_bound"] == clf.policy_.lower_bound


def test_classifies_without_scikit_learn(tmp_path):
    X, y = wine()
    clf = ETANAClassifier().fit(X, y)
    save(clf, tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    program = (
        "import sys, numpy as np\nfrom etana.modelfile import load_model\n"
        f"model = load_model({str(tmp_path / 'm')!r})\nwalk = model.acquire(np.load({str(tmp_path / 'X.npy')!r}))\n"
        "case = model.start(); case.explain()\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('sklearn', 'pandas', 'pickletools')]\n"
        "print(walk.labels.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == clf.predict(X).tolist()


# --- kills


# Children that save in a loop are killed at random moments; after each kill the file is whole, old or new.
KILLS = """
import json, os, random, signal, sys, time
from pathlib import Path
from etana.modelfile import load, save

path = Path(sys.argv[1])
models = [load(path), load(path.with_name("other"))]
whole = []
for model in models:
    save(model, path)
    whole.append(path.read_bytes())
draw = random.Random(0)
kills = leftovers = 0
for _ in range(50):
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                save(model, path)
    time.sleep(draw.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
    assert path.read_bytes() in whole
    load(path)
    left = [p.name for p in path.parent.iterdir() if p.name not in (path.name, "other")]
    assert len(left) <= 1 and all(n.startswith(".m.") and n.endswith(".etana-part") for n in left), left
    leftovers += len(left)
print(json.dumps({"kills": kills, "leftovers": leftovers}))
"""


def test_a_kill_leaves_the_old_or_the_new_file(tmp_path):
    X, y = wine()
    path = tmp_path / "m"
    small = ETANAClassifier(0.01).fit(X, y)
    save(small, path)
    save(ETANAClassifier(0.01, solver=GridSolver(60)).fit(X, y), tmp_path / "other")
    done = subprocess.run([sys.executable, "-c", KILLS, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["kills"] == 50
    assert seen["leftovers"] > 2, "no kill hit a save"
    (tmp_path / ".m.0123456789abcdef.etana-part").write_bytes(b"half")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: save(small, path), range(40)))
    save(small, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "other"]
