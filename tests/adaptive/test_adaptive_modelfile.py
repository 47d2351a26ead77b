"""Model files of decision graphs: nothing changes on the way, and no file that makes no sense reaches a kernel."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from etana import AdaptiveClassifier, FeatureCosts
from etana.errors import InputError, ModelFileError
from etana.modelfile import load, load_model, read_metadata, save
from modelfile_samples import crafted, cut, frame, put

KINDS = {
    "rule": AdaptiveClassifier(0.01, m=5.0, look_ahead=False),
    "naive": AdaptiveClassifier(0.01, m=np.inf, walks="model", look_ahead=False, max_nodes=500),
    "ahead": AdaptiveClassifier(0.02, m=10.0, look_ahead=2),
    "tree": AdaptiveClassifier(0.02, m=0.0, look_ahead=False, max_features=3, random_state=4),
    "free": AdaptiveClassifier(0.0, m=np.inf, walks="model", look_ahead=False),
    "auto": AdaptiveClassifier(0.02),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Classifiers, the bytes of their files, and rows."""
    folder, out = tmp_path_factory.mktemp("saved"), {}
    for name, clf in KINDS.items():
        X, y = (load_iris if name == "auto" else load_wine)(return_X_y=True)
        save(clf.fit(X, y), folder / "m")
        out[name] = clf, (folder / "m").read_bytes(), X
    table, y = frame()
    prices = FeatureCosts(0.01, groups=list("aabbcc"), discounted=0.001)
    clf = AdaptiveClassifier(prices, m=5.0, look_ahead=False).fit(table, y)
    save(clf, folder / "m")
    out["frame"] = clf, (folder / "m").read_bytes(), table
    return out


def strange(X):
    """Rows that training rows are not like."""
    if not isinstance(X, np.ndarray):
        return X
    rng = np.random.default_rng(5)
    rows = X[rng.integers(len(X), size=300)] + rng.normal(0, 1, (300, X.shape[1])) * X.std(axis=0)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    return rows


def same(a, b):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
        assert getattr(a, name).dtype == getattr(b, name).dtype
    assert a._order.tolist() == b._order.tolist()


@pytest.mark.parametrize("name", [*KINDS, "frame"])
def test_a_loaded_model_gives_the_same_answers(name, saved, tmp_path):
    clf, data, X = saved[name]
    path = tmp_path / "m"
    path.write_bytes(data)
    again, model = load(path), load_model(path)
    assert type(again) is AdaptiveClassifier
    rows = strange(X)
    walk = clf.acquire(rows)
    same(walk, again.acquire(rows))
    same(walk, model.acquire(rows))
    kept = clf.graph_.n_kept
    assert again.graph_.n_kept == kept
    for array in ("logs", "facts"):
        assert getattr(again.graph_, array)[:kept].tobytes() == getattr(clf.graph_, array)[:kept].tobytes()
    for attribute in (
        "expected_cost_", "expected_cost_error_", "expected_n_features_", "m_", "look_ahead_", "cv_costs_",
        "n_features_in_",
    ):  # fmt: skip
        assert getattr(again, attribute) == getattr(clf, attribute)
    assert again.export_text() == clf.export_text()
    assert sorted(vars(clf)) == sorted([*vars(again), "_rows"])
    save(again, path)
    assert path.read_bytes() == data
    a, b = clf.start(), model.start()
    while a.next_feature is not None:
        assert (a.next_feature, a.expected_cost, a.explain()) == (b.next_feature, b.expected_cost, b.explain())
        a.observe(None)
        b.observe(None)
    assert b.next_feature is None
    assert a.label == b.label


def test_training_rows_are_not_stored(saved, tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 4)) + 1e6 * np.pi
    clf = AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X, X[:, 0] > X[:, 0].mean())
    save(clf, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    assert len(data) < X.nbytes / 4
    assert X[17].tobytes() not in data
    with pytest.raises(InputError, match=r"does not hold the training rows.*fit again"):
        load(tmp_path / "m").with_costs(feature_costs=0.1)


def test_what_a_file_says_of_itself(saved, tmp_path):
    clf, data, _ = saved["frame"]
    (tmp_path / "m").write_bytes(data)
    found = read_metadata(tmp_path / "m")
    assert found["estimator"] == "AdaptiveClassifier"
    assert found["policy"] == "Graph"
    assert found["lower_bound"] is None
    assert found["expected_n_features"] == clf.expected_n_features_
    assert found["classes"] == clf.classes_.tolist()
    assert found["feature_names"] == list(clf.feature_names_in_)


def test_classification_needs_no_scikit_learn(saved, tmp_path):
    (tmp_path / "m").write_bytes(saved["rule"][1])
    code = (
        "import sys; from etana.modelfile import load_model; import numpy as np; m = load_model(sys.argv[1]); "
        "m.acquire(np.zeros((3, 13))); m.start().explain(); sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=False).returncode == 0


# --- files that were made by hand


def note(key, value):
    def change(content, _):
        content["graph"][key] = value

    return change


def empty(content, arrays):
    for name in ("parent", "code", "feature", "state", "rows", "numbers"):
        arrays[f"graph.{name}"] = arrays[f"graph.{name}"][:0]


def repeat_feature(_, arrays):
    arrays["graph.feature"][:] = arrays["graph.feature"][0]


def no_graph(content, _):
    del content["graph"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("graph.parent", 0, 0), "no first state"),
        (put("graph.parent", 5, 5), "does not come after"),
        (put("graph.parent", 5, 2**40), "does not come after"),
        (put("graph.parent", 5, -1), "does not come after"),
        (put("graph.code", 3, 99), "cannot be given"),
        (put("graph.code", 3, -2), "cannot be given"),
        (put("graph.feature", 0, 10**6), "feature that is not there"),
        (put("graph.feature", 0, -1), "feature that is not there"),
        (put("graph.state", 0, 0), "neither asks nor stops"),
        (put("graph.state", 0, 2), "cannot be given"),
        (put("graph.rows", 0, -5), "negative number of rows"),
        (put("graph.numbers", (1, 0), -1.0), "negative or not finite"),
        (put("graph.numbers", (1, 1), np.inf), "negative or not finite"),
        (put("graph.answers", (0, 0), 0.5), "no probabilities"),
        (put("graph.answers", (0, 0), -3.0), "no probabilities"),
        (put("graph.answers", (0, 0), np.nan), "not a number"),
        (cut("graph.answers"), "'answers'"),
        (cut("graph.code"), "'code'"),
        (cut("graph.numbers"), "'numbers'"),
        (repeat_feature, "'answers'|its path can lead to|cannot be given"),
        (empty, "no first state"),
        (put("graph.columns", 0, 13), "no column"),
        (put("graph.columns", 0, -1), "no column"),
        (put("graph.columns", slice(None), 0), "comes twice"),
        (put("graph.cells", (0, 0), 0.99), "sums to"),
        (put("graph.rule", 0, np.inf), "not finite"),
        (put("graph.priors", 0, 0.9), "priors are no probabilities"),
        (put("graph.mistakes", (0, 1), -1.0), "cost is negative"),
        (put("prices.full", 0, -1.0), "cost is negative"),
        (put("prices.discounted", 0, 5.0), "above the full one"),
        (put("prices.group", 0, -2), "group is negative"),
        (note("m", -1), "m is -1"),
        (note("m", "inf"), "m is 'inf'"),
        (note("least", None), "least is None"),
        (note("deepest", 1), "its path can lead to"),
        (note("most", 0), "most is 0"),
        (note("levels", 9), "levels is 9"),
        (note("seed", -1), "seed is -1"),
        (note("cost", "x"), "cost is 'x'"),
        (note("costs", [[None, 0]]), "not enough values|unpack"),
        (note("left_out", -1), "left_out is -1"),
        (no_graph, "'graph' is missing"),
        (lambda content, arrays: "ETANAClassifier", "missing"),
        (lambda content, arrays: "OwnClassifier", "'OwnClassifier' is not known"),
    ],
)
def test_content_that_makes_no_sense(saved, tmp_path, change, words):
    crafted(saved["rule"][1], tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=f"holds no valid model.*({words}).*; restore it"):
        load(tmp_path / "m")


def test_plans_that_take_too_long_are_refused(saved, tmp_path, monkeypatch):
    monkeypatch.setattr("etana.modelfile.adaptive._MOST_PLANS", 1000.0)
    crafted(saved["rule"][1], tmp_path / "m", note("levels", 4))
    with pytest.raises(ModelFileError, match=r"looking 4 steps ahead over .* takes too long"):
        load(tmp_path / "m")


ODD = [0, -1, 1, 2, 0.5, 1e300, 2**31, 2**62, True, None, "x", [], {}]


def edit(content, arrays, rng):
    if rng.random() < 0.4:
        key = sorted(content["graph"])[int(rng.integers(len(content["graph"])))]
        content["graph"][key] = ODD[int(rng.integers(len(ODD)))]
        return
    names = [name for name in sorted(arrays) if name.startswith(("graph.", "prices."))]
    name = names[int(rng.integers(len(names)))]
    array = arrays[name].copy()
    kind = rng.integers(5)
    if kind <= 1 and array.size:
        odd = [0, 1, -1, 2, 7, 2**40] if array.dtype.kind == "i" else [0, -1.0, 2.0, np.nan, np.inf, -np.inf, 1e308]
        array.flat[int(rng.integers(array.size))] = odd[int(rng.integers(len(odd)))]
    elif kind == 2:
        array = array[: len(array) // 2]
    elif kind == 3:
        array = rng.permutation(array)
    else:
        array = np.concatenate([array, array])
    arrays[name] = array


def test_crafted_content_is_valid_or_refused(saved, tmp_path, monkeypatch):
    """With a right checksum: an error, or a model whose walks end and stay in bounds."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    rng = np.random.default_rng(21)
    kinds = [saved[name] for name in ("rule", "naive", "ahead", "tree", "frame")]
    loaded = refused = 0
    for trial in range(600):
        _, data, X = kinds[trial % len(kinds)]
        crafted(data, tmp_path / "m", lambda content, arrays: edit(content, arrays, rng))
        try:
            model = load_model(tmp_path / "m")
        except ModelFileError:
            refused += 1
            continue
        loaded += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            walk = model.acquire(X[:15])
        assert np.isfinite(walk.posteriors).all()
        assert (walk.n_features <= model.n_features).all()
        assert np.isin(walk.labels, model.classes).all()
        model.start().explain()
    assert loaded > 40
    assert refused > 200


def test_no_mutation_gets_through(saved, tmp_path):
    rng = np.random.default_rng(3)
    data = saved["rule"][1]
    for _ in range(300):
        at = int(rng.integers(len(data)))
        changed = data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
        (tmp_path / "m").write_bytes(changed)
        with pytest.raises(ModelFileError):
            load(tmp_path / "m")
