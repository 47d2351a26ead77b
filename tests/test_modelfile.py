"""Model files: nothing changes on the way, nothing half written, nothing damaged or crafted gets in."""

import json
import os
import stat
import subprocess
import sys
import time
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
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from etana import Binner, ETANAClassifier, FeatureCosts, FETANAClassifier
from etana.errors import CostWarning, EtanaError, ModelFileError
from etana.modelfile import container, load, load_model, read_metadata, save
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver

QUICK = {"batch": 64, "max_iterations": 20}


def rows_of(X, n=1000):
    """1,000 instances like those of X: rows drawn from it, with noise where there are numbers."""
    rng = np.random.default_rng(5)
    chosen = np.asarray(X)[rng.integers(len(X), size=n)]
    return chosen + rng.normal(0, 0.1, chosen.shape) * np.asarray(X).std(axis=0)


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


def wine():
    return load_wine(return_X_y=True)


SOLVERS = {
    "auto": (ETANAClassifier(0.01), load_breast_cancer),
    "exact": (ETANAClassifier(0.002, solver=ExactSolver(1e-4, 4096)), load_breast_cancer),
    "exact, free": (ETANAClassifier(0.0), load_breast_cancer),
    "points, a tree": (ETANAClassifier(0.05), load_iris),
    "points, fitted": (ETANAClassifier(0.002, n_bins=4, random_state=3), load_digits),
    "points, free": (ETANAClassifier(0.0, solver=PointsSolver(random_state=2)), load_digits),
    "grid, nearest": (ETANAClassifier(0.01, solver="grid"), load_wine),
    "grid, interpolate": (ETANAClassifier(0.01, solver=GridSolver(7, "interpolate")), load_wine),
    "thresholds": (ETANAClassifier(0.01, solver=ThresholdSolver(max_iterations=5, batch=64)), load_wine),
    "published": (ETANAClassifier.as_published(), load_wine),
    "F-ETANA": (FETANAClassifier(0.01, **QUICK), load_wine),
    "F-ETANA, free": (FETANAClassifier(0.0, **QUICK), load_wine),
    "F-ETANA, original": (FETANAClassifier(0.01, original=True, max_iterations=50), load_iris),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver(name, tmp_path):
    clf, data = SOLVERS[name]
    X, y = data(return_X_y=True)
    again = round_trip(clf.fit(X, y), tmp_path, rows_of(X))
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
        clf, data = SOLVERS[name]
        X, y = data(return_X_y=True)
        models.append((clf.fit(X, y), X))
        save(clf, tmp_path / name)
        models[-1] += (load(tmp_path / name), [clf.expected_cost_, clf.optimality_gap_, clf.expected_n_features_])

    def refuse(*_, **__):
        raise AssertionError("solved or simulated")

    for solver in (ExactSolver, PointsSolver, GridSolver, ThresholdSolver):
        monkeypatch.setattr(solver, "solve", refuse)
    monkeypatch.setattr("etana.policies.base.expect", refuse)
    monkeypatch.setattr("etana.policies.points.kernel.certify", refuse)
    for clf, X, again, announced in models:
        assert [again.expected_cost_, again.optimality_gap_, again.expected_n_features_] == announced
        assert (again.predict(X) == clf.predict(X)).all()


def frame():
    rng = np.random.default_rng(1)
    n = 400
    colour = rng.choice(["rot", "grün", "bläu", "黄"], n)
    data = {
        'größe ✓ "quoted" \\ 😀': rng.normal(size=n),
        "colour": colour,
        "smoker": rng.random(n) < 0.4,
        "": rng.integers(0, 5, n),
    }
    table = pd.DataFrame(data)
    table["stage"] = pd.Categorical.from_codes(rng.integers(0, 3, n), [1, 2, 3])
    table["dose"] = pd.Categorical.from_codes(rng.integers(0, 2, n), [0.5, float("inf")])
    table.loc[::7, "colour"] = None
    table.iloc[::5, 0] = np.nan
    y = np.where(colour == "rot", "ja", np.where(rng.random(n) < 0.5, "nein", "vielleicht"))
    return table, y


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
    round_trip(ETANAClassifier(0.01, n_bins=3).fit(matrix, y), tmp_path, matrix)
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
        clf = ETANAClassifier(**parameters).fit(X, y)
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
    again = round_trip(ETANAClassifier().fit(X, labels[y % labels.size]), tmp_path, rows_of(X))
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

    class Own:
        def solve(self, problem):
            return ExactSolver().solve(problem) if problem.n_classes == 2 else PointsSolver().solve(problem)

    class Sub(ETANAClassifier):
        pass

    for clf, words in (
        (LogisticRegression(), "LogisticRegression cannot be stored; an object of ETANAClassifier or FETANA"),
        (Sub().fit(X, y), "Sub cannot be stored"),
        (BaseEstimator, "cannot be stored"),
        (ETANAClassifier(solver=Own()).fit(X, y), "solver of your own.*Own; only ExactSolver"),
        (ETANAClassifier(random_state=np.random.default_rng(0)).fit(X, y), "random_state.*whole number"),
        (ETANAClassifier(0.001, n_bins=5, solver=PointsSolver(8, random_state=None)).fit(X, y), "whole number"),
        (ETANAClassifier().fit(X, y).set_params(n_bins=object()), "n_bins is object"),
        (ETANAClassifier().fit(X, y).set_params(priors=np.ones(3, complex)), "priors is an array of complex128"),
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
    assert arrays["problem.cells"].tolist() == clf.problem_.cells.tolist()
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        metadata = file.metadata()
    assert metadata["estimator"] == "ETANAClassifier"
    said = read_metadata(tmp_path / "m")
    assert said["sha256"] == metadata["sha256"]
    assert said["classes"] == [0, 1, 2]
    assert said["parameters"]["feature_costs"] == 0.01
    assert said["policy"] == type(clf.policy_).__name__
    assert said["expected_n_features"] == clf.expected_n_features_
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
for _ in range(100):
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
    assert seen["kills"] == 100
    assert seen["leftovers"] > 5, "no kill hit a save"
    (tmp_path / ".m.0123456789abcdef.etana-part").write_bytes(b"half")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: save(small, path), range(40)))
    save(small, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "other"]


# --- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of several kinds of model, as bytes."""
    folder = tmp_path_factory.mktemp("saved")
    out = []
    for k, (clf, data) in enumerate(
        SOLVERS[n] for n in ("auto", "points, a tree", "points, fitted", "grid, nearest", "F-ETANA", "points, free")
    ):
        X, y = data(return_X_y=True)
        save(clf.fit(X, y), folder / str(k))
        out.append(((folder / str(k)).read_bytes(), X))
    table, y = frame()
    save(ETANAClassifier(FeatureCosts(0.01, groups=list("aabbcc"))).fit(table, y), folder / "frame")
    return [*out, ((folder / "frame").read_bytes(), table)]


def mutated(data: bytes, rng) -> bytes:
    """One random change of the bytes: a bit, a byte, a cut, an insertion, a swap, or an edit of the header."""
    header = 8 + int.from_bytes(data[:8], "little")
    # Half of the changes hit the header, which is small.
    at = int(rng.integers(header if rng.random() < 0.5 else len(data)))
    kind = rng.integers(7)
    if kind == 0:
        return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + rng.bytes(1) + data[at + 1 :]
    if kind == 2:
        return data[:at]
    if kind == 3:
        return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]
    if kind == 4:
        return data[:at] + data[at + int(rng.integers(1, 9)) :]
    if kind == 5:
        other = int(rng.integers(len(data) - 8))
        return data[:at] + data[other : other + 8] + data[at + 8 :]
    length = [0, 1, 2**16, 2**26, 2**27, 2**40, 2**63, 2**64 - 1][int(rng.integers(8))]
    return length.to_bytes(8, "little") + data[8:]


def test_no_mutation_gets_through(saved, tmp_path):
    rng = np.random.default_rng(20)
    path = tmp_path / "m"
    seen = set()
    for trial in range(4000):
        data, _ = saved[trial % len(saved)]
        changed = mutated(data, rng)
        if changed == data:
            continue
        path.write_bytes(changed)
        with pytest.raises(ModelFileError) as caught:
            (load, load_model)[trial % 2](path)
        message = str(caught.value)
        assert message.startswith(str(path))
        assert "; " in message
        seen.add(message.split(str(path))[1][:40])
    assert len(seen) > 8


def test_foreign_files(saved, tmp_path):
    path = tmp_path / "m"
    data = saved[0][0]
    header = 8 + int.from_bytes(data[:8], "little")
    other = safetensors.numpy.save({"a": np.zeros(3)}, {"etana_format": "1"})
    deep = b'{"__metadata__":{"etana_format":"1","sha256":"' + b"0" * 64 + b'"},"a":' + b"[" * 100_000
    for content, words in (
        (b"", "is empty; give a file"),
        (b"hello", "is not an etana model"),
        (b"\x80\x04\x95" + b"pickle" * 100, "is not an etana model"),
        (other, "is not an etana model"),
        (data[:header], "bytes and its header announces"),
        (data[:-1], "bytes and its header announces"),
        (data + b"\0", "bytes and its header announces"),
        ((2**40).to_bytes(8, "little") + data[8:], "more than the 67108864 that are allowed"),
        ((2**25).to_bytes(8, "little") + data[8:], "inside its header"),
        (data.replace(b'"etana_format":"1"', b'"etana_format":"2"', 1), "has format 2.*upgrade etana"),
        (len(deep).to_bytes(8, "little") + deep, "header makes no sense"),
    ):
        path.write_bytes(content)
        for reader in (load, load_model, read_metadata):
            with pytest.raises(ModelFileError, match=words) as caught:
                reader(path)
            assert isinstance(caught.value, EtanaError)
            assert str(path) in str(caught.value)
    os.mkfifo(tmp_path / "pipe")
    for place, words in (
        (tmp_path / "none", "No such file"), (tmp_path, "Is a directory"), (tmp_path / "pipe", "is not a file"),
        ("/dev/zero", "is not a file"), ("a\0b", "null byte"),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match=words):
            load(place)


def test_announced_sizes_take_no_memory(saved, tmp_path):
    """A header that announces a terabyte, and a sparse file of many gigabytes, are refused at once."""
    tensor = {"dtype": "F64", "shape": [2**37], "data_offsets": [0, 2**40]}
    text = '{"__metadata__":{"etana_format":"1","sha256":"' + "0" * 64 + '"},"a":' + json.dumps(tensor) + "}"
    path = tmp_path / "m"
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode())
    with pytest.raises(ModelFileError, match="announces 1099511"):
        load(path)
    path.write_bytes(saved[0][0])
    os.truncate(path, 2**36)
    began = time.perf_counter()
    with pytest.raises(ModelFileError, match="announces"):
        load(path)
    assert time.perf_counter() - began < 1


# --- files that were made by hand


ODD_NUMBERS = [0, -1, 1, 2, 0.5, -0.5, 1e-300, 1e300, 2**31, 2**62, -(2**63), 10**30, True, None, "x", [], {}]


def edit_json(value, rng):
    """Change one leaf, or drop or double one entry, somewhere in the tree."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = sorted(value)[int(rng.integers(len(value)))]
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: edit_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1 :] * (1 + int(rng.random() < 0.5))
        return [*value[:at], edit_json(value[at], rng), *value[at + 1 :]]
    return ODD_NUMBERS[int(rng.integers(len(ODD_NUMBERS)))]


def edit_array(array, rng):
    """Change one entry, the shape or the type."""
    array = array.copy()
    kind = rng.integers(5)
    if kind <= 1 and array.size:
        odd = [0, 1, -1, 2, 7, 2**40] if array.dtype.kind in "ib" else [0, -1.0, 2.0, np.nan, np.inf, -np.inf, 1e308]
        array.flat[int(rng.integers(array.size))] = odd[int(rng.integers(len(odd)))]
        return array
    if kind == 2:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 3:
        return array.reshape(-1) if array.ndim > 1 else np.concatenate([array, array])
    return rng.permutation(array) if rng.random() < 0.7 else array.astype(np.float32)


def crafted(data, path, change):
    """Write a file with changed content and a right checksum; change(content, arrays) edits in place."""
    path.write_bytes(data)
    metadata, arrays = container.read(str(path), lambda name: True)
    content = json.loads(metadata["content"])
    change(content, arrays)
    metadata = {"package_version": "0", "estimator": metadata["estimator"], "content": json.dumps(content)}
    container.write(str(path), metadata, arrays)


def put(name, at, value):
    def change(_, arrays):
        arrays[name][at] = value

    return change


def cut(name):
    def change(_, arrays):
        arrays[name] = np.ascontiguousarray(arrays[name][:-1])

    return change


def note(*keys, value):
    def change(content, _):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


AUTO, TREE, FITTED, GRID, LINEAR, FREE, FRAME = range(7)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (AUTO, put("problem.cells", (0, 0), 0.7), "sums to"),
        (AUTO, put("problem.cells", (0, 0), np.nan), "not a number"),
        (AUTO, put("problem.cells", (0, 0), -0.1), "negative"),
        (AUTO, put("problem.priors", 0, 0.9), "priors are no probabilities"),
        (AUTO, put("problem.feature_costs", 3, -0.1), "cost is negative"),
        (AUTO, put("problem.feature_costs", 3, np.inf), "not finite"),
        (AUTO, put("problem.misclassification_costs", (0, 1), np.inf), "not finite"),
        (AUTO, put("order", 0, 30), "every column once"),
        (AUTO, put("order", slice(None), 0), "every column once"),
        (AUTO, put("binner.edge_offsets", 1, 10**6), "offsets of the bins"),
        (AUTO, put("binner.edge_offsets", 1, -(2**63)), "offsets of the bins"),
        (AUTO, put("binner.edges", 1, -1e9), "not finite and increasing"),
        (AUTO, put("binner.has_missing", 0, True), "problem.cells"),
        (AUTO, put("counts.cells", 0, -1), "training count"),
        (AUTO, put("counts.classes", 0, np.inf), "training count"),
        (AUTO, cut("counts.cells"), "counts.cells.*must be float64 of shape"),
        (AUTO, cut("policy.table"), "'table'"),
        (AUTO, note("policy", "numbers", "tau", value=0), "tau is 0"),
        (AUTO, note("policy", "numbers", "max_points", value=2**40), "max_points is"),
        (AUTO, note("policy", "numbers", "horizon", value=31), "horizon is 31"),
        (AUTO, note("policy", "numbers", "kind", value=4), "no rule of kind 4"),
        (AUTO, note("policy", "class", value="OwnPolicy"), "'OwnPolicy' is not known"),
        (AUTO, note("classes", "items", value=[1, 1]), "sorted and distinct"),
        (AUTO, note("classes", "items", value=[1, 0]), "sorted and distinct"),
        (AUTO, note("classes", "dtype", value="<U500000000"), "cannot be made"),
        (AUTO, note("classes", "items", value=[0, "1"]), "cannot hold"),
        (AUTO, note("names", value=["a"]), "30 texts"),
        (AUTO, note("parameters", "colour", value=1), "no parameter 'colour'"),
        (AUTO, note("parameters", "solver", value={"type": "solver", "class": "os.system"}), "not known"),
        (AUTO, note("parameters", "n_bins", value={"type": "array", "dtype": "|O", "name": "order"}), "type"),
        (TREE, put("policy.index", -1, 10**6), "do not divide the table of plans"),
        (TREE, put("policy.index", 0, -1), "do not divide the table of plans"),
        (FITTED, put("policy.index", (0, 1), 10), "a class that is not there"),
        (FITTED, put("policy.index", (0, 1), -1), "a class that is not there"),
        (FITTED, cut("policy.index"), "'table'"),
        (GRID, put("policy.index", (1, 1), 2), "one column for each grid point"),
        (GRID, cut("policy.index"), "'index'"),
        (LINEAR, cut("policy.table"), "'table'"),
        (LINEAR, note("policy", "numbers", "random_state", value=-1), "random_state is -1"),
        (FREE, note("policy", "numbers", "horizon", value=2.0), "whole number"),
        (FRAME, note("binner", "levels", 0, 1, value=["a", "a", "b", "c"]), "distinct labels"),
        (FRAME, note("binner", "levels", 0, 1, value=["a"]), "one bin for each"),
        (FRAME, note("binner", "levels", 0, 0, value=17), "levels are given for column 17"),
    ],
)
def test_content_that_makes_no_sense(saved, tmp_path, kind, change, words):
    crafted(saved[kind][0], tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=f"holds no valid model.*{words}.*; restore it"):
        load(tmp_path / "m")


def test_crafted_content_is_valid_or_refused(saved, tmp_path, monkeypatch):
    """With a right checksum: an error, or a model whose walks stay in bounds."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # thousands of files that need not last
    rng = np.random.default_rng(21)
    path = tmp_path / "m"
    loaded = refused = 0

    def edit(content, arrays):
        if rng.random() < 0.5:
            key = sorted(content)[int(rng.integers(len(content)))]
            content[key] = edit_json(content[key], rng)
        else:
            name = sorted(arrays)[int(rng.integers(len(arrays)))]
            arrays[name] = edit_array(arrays[name], rng)

    for trial in range(1500):
        data, X = saved[trial % len(saved)]
        crafted(data, path, edit)
        try:
            clf = load(path)
        except ModelFileError:
            refused += 1
            continue
        loaded += 1
        walk = clf.model_.acquire(X[:20])
        assert np.isfinite(walk.posteriors).all()
        assert (walk.n_features <= clf.n_features_in_).all()
        assert np.isin(walk.labels, clf.classes_).all()
        clf.start().explain()
        assert load_model(path).acquire(X[:20]).labels.tolist() == walk.labels.tolist()
    assert loaded > 100
    assert refused > 500
