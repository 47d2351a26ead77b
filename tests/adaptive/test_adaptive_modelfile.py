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
from etana.modelfile import container, load, load_model, read_metadata, save
from modelfile_samples import crafted, cut, frame, note, put

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
    assert [a.features(i).tolist() for i in range(len(a))] == [b.features(i).tolist() for i in range(len(b))]


def same_parts(a, b):
    """The same beliefs, policy and announcements; training rows only where they bear on the answers."""
    assert (a.beliefs.m, a.beliefs.left_out, a.beliefs.codes.dtype) == (
        b.beliefs.m, b.beliefs.left_out, b.beliefs.codes.dtype
    )  # fmt: skip
    for name in ("priors", "candidates", "table"):
        assert getattr(a.beliefs, name).tobytes() == getattr(b.beliefs, name).tobytes()
    for name in ("codes", "classes", "weights"):
        given = getattr(a.beliefs, name).tobytes() if a.beliefs.m < np.inf else b""
        assert getattr(b.beliefs, name).tobytes() == given
    assert a.policy.rule.tobytes() == b.policy.rule.tobytes()
    for name in ("least", "most_features", "levels", "most_states", "seed"):
        assert getattr(a.policy, name) == getattr(b.policy, name)
    for name in ("reach", "class_cost", "class_n_features"):
        assert getattr(a.expectation, name).tobytes() == getattr(b.expectation, name).tobytes()
    assert a.questions() == b.questions()
    assert (a.expected_cost, a.expected_n_features) == (b.expected_cost, b.expected_n_features)


@pytest.mark.parametrize("name", [*KINDS, "frame"])
def test_a_loaded_model_gives_the_same_answers(name, saved, tmp_path):
    clf, data, X = saved[name]
    path = tmp_path / "m"
    path.write_bytes(data)
    again, model = load(path), load_model(path)
    assert type(again) is AdaptiveClassifier
    rows = strange(X)
    for budget in (None, 0.025):
        walk = clf.acquire(rows, budget)
        same(walk, again.acquire(rows, budget))
        same(walk, model.acquire(rows, budget))
    same_parts(clf.model_, again.model_)
    same_parts(clf.model_, model)
    for attribute in (
        "expected_cost_", "expected_cost_error_", "expected_n_features_", "m_", "look_ahead_", "cv_costs_",
        "n_features_in_",
    ):  # fmt: skip
        assert getattr(again, attribute) == getattr(clf, attribute)
    assert again.export_text() == clf.export_text()
    assert sorted(vars(clf)) == sorted(vars(again))
    save(again, path)
    assert path.read_bytes() == data
    a, b = clf.start(), model.start()
    while a.next_feature is not None:
        assert (a.next_feature, a.expected_cost, a.explain()) == (b.next_feature, b.expected_cost, b.explain())
        a.observe(None)
        b.observe(None)
    assert b.next_feature is None
    assert a.label == b.label


def test_nothing_is_learnt_or_simulated_again(saved, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("learnt or simulated")

    monkeypatch.setattr("etana.walks.graph.Graph.draw", refuse)
    monkeypatch.setattr("etana.model.simulate", refuse)
    monkeypatch.setattr("etana.learning.instance_choice.fit_rule", refuse)
    for clf, data, X in saved.values():
        (tmp_path / "m").write_bytes(data)
        again, model = load(tmp_path / "m"), load_model(tmp_path / "m")
        assert again.expected_cost_ == clf.expected_cost_
        assert again.model_.expected_cost == model.expected_cost == clf.model_.expected_cost
        assert (again.predict(X) == clf.predict(X)).all()


def test_new_prices_where_no_held_out_rows_are_needed(saved, tmp_path):
    """Plans, and rules that are learnt from draws, are made again from what a file holds; other rules are not."""
    path = tmp_path / "m"
    for name, (clf, data, X) in saved.items():
        path.write_bytes(data)
        again = load(path)
        if name in ("rule", "tree", "frame") or (name == "auto" and not clf.look_ahead_):
            with pytest.raises(InputError, match=r"does not hold the held-out training rows.*fit again"):
                again.with_costs(feature_costs=0.1)
            continue
        new = {"feature_costs": 0.003, "misclassification_costs": 3 * (1 - np.eye(3))}
        one, other = clf.with_costs(**new), again.with_costs(**new)
        if clf.look_ahead_:
            # What lies beyond the plans is learnt from draws then: the plans are the same, their ends are valued anew.
            one = clf.set_params(walks="model").with_costs(**new)
        same(one.acquire(strange(X)), other.acquire(strange(X)))
        assert (one.m_, one.look_ahead_) == (other.m_, other.look_ahead_)
        assert one.model_.expected_cost == other.model_.expected_cost


def test_training_rows_are_stored_as_bins_or_not_at_all(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 4)) + 1e6 * np.pi
    y = X[:, 0] > X[:, 0].mean()
    clf = AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(X, y)
    save(clf, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    assert not [x for x in X[::50].ravel() if x.tobytes() in data]
    _, arrays = container.read(str(tmp_path / "m"), lambda name: True)
    assert arrays["beliefs.codes"].dtype == np.int8
    save(clf.set_params(m=np.inf, walks="model").fit(X, y), tmp_path / "m")
    _, arrays = container.read(str(tmp_path / "m"), lambda name: True)
    assert max(array.size for array in arrays.values()) < 100
    assert (tmp_path / "m").stat().st_size < 10_000 < len(data)


def test_numbers_of_any_type_are_stored(tmp_path):
    """Parameters of NumPy types, and costs so large that their squares are infinite."""
    X, y = load_wine(return_X_y=True)
    odd = {"m": np.float32(5), "look_ahead": np.bool_(False), "max_features": np.int8(3), "max_nodes": np.int64(400)}
    with np.errstate(over="ignore"):
        large = AdaptiveClassifier(1e200, 1e203 * (1 - np.eye(3)), m=5.0, look_ahead=False).fit(X, y)
        assert large.expected_cost_error_ == np.inf
    for clf in (AdaptiveClassifier(0.01, **odd, random_state=np.uint16(7)).fit(X, y), large):
        save(clf, tmp_path / "m")
        again = load(tmp_path / "m")
        same(clf.acquire(X), again.acquire(X))
        assert again.expected_cost_error_ == clf.expected_cost_error_
        for name, value in clf.get_params().items():
            assert type(getattr(again, name)) is type(value)


def test_what_a_file_says_of_itself(saved, tmp_path):
    clf, data, _ = saved["frame"]
    (tmp_path / "m").write_bytes(data)
    found = read_metadata(tmp_path / "m")
    assert found["estimator"] == "AdaptiveClassifier"
    assert (found["beliefs"], found["policy"]) == ("PathCounts", "InstanceChoice")
    assert found["lower_bound"] is None
    assert found["expected_n_features"] == clf.model_.expected_n_features
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


def belief(key, value):
    return note("beliefs", "values", key, value=value)


def policy(key, value):
    return note("policy", "values", key, value=value)


def learnt(key, value):
    return note("learnt", key, value=value)


def swap_candidates(_, arrays):
    arrays["beliefs.candidates"][[0, 1]] = arrays["beliefs.candidates"][[1, 0]]


def constant_candidate(_, arrays):
    """Bins of the first column taken away, so that it has one value only."""
    offsets = arrays["beliefs.binner.edge_offsets"]
    arrays["beliefs.binner.edges"] = np.ascontiguousarray(arrays["beliefs.binner.edges"][offsets[1] :])
    offsets[1:] -= offsets[1]


def without_rows(_, arrays):
    arrays["beliefs.classes"] = arrays["beliefs.classes"][:0]


def larger_codes(_, arrays):
    arrays["beliefs.codes"] = arrays["beliefs.codes"].astype(np.int64)
    arrays["beliefs.codes"][0, 0] = 2**62


def unsigned_codes(_, arrays):
    arrays["beliefs.codes"] = arrays["beliefs.codes"].astype(np.uint8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("beliefs.codes", (0, 0), 100), "a code that its column does not have"),
        (put("beliefs.codes", (0, 0), -2), "a code that its column does not have"),
        (put("beliefs.codes", (12, 177), 4), "a code that its column does not have"),
        (larger_codes, "a code that its column does not have"),
        (unsigned_codes, "'codes' is uint8"),
        (cut("beliefs.codes"), "'codes'"),
        (put("beliefs.classes", 0, 3), "class that is not there"),
        (put("beliefs.classes", 0, -1), "class that is not there"),
        (put("beliefs.classes", 0, 2**62), "class that is not there"),
        (cut("beliefs.classes"), "'weights'"),
        (without_rows, "'weights'"),
        (put("beliefs.weights", 0, -1.0), "'weights'"),
        (put("beliefs.weights", 0, np.inf), "'weights'"),
        (put("beliefs.weights", 0, np.nan), "not a number"),
        (put("beliefs.weights", slice(2), 1.7e308), "weights of the training rows are too large"),
        (cut("beliefs.weights"), "'weights'"),
        (put("beliefs.candidates", 12, 13), "no columns in ascending order"),
        (put("beliefs.candidates", 0, -1), "no columns in ascending order"),
        (put("beliefs.candidates", 0, -(2**63)), "no columns in ascending order"),
        (put("beliefs.candidates", slice(None), 0), "no columns in ascending order"),
        (swap_candidates, "no columns in ascending order"),
        (cut("beliefs.candidates"), "'table'"),
        (constant_candidate, "fewer than two values"),
        (put("beliefs.table", (0, 0), 0.99), "sums to"),
        (put("beliefs.table", (0, 0), np.nan), "not a number"),
        (put("beliefs.table", (0, 0), -0.5), "negative"),
        (cut("beliefs.table"), "'table'"),
        (put("beliefs.priors", 0, 0.9), "priors are no probabilities"),
        (put("beliefs.binner.edges", 1, -1e9), "not finite and increasing"),
        (put("beliefs.binner.edge_offsets", 1, 10**6), "offsets of the bins"),
        (belief("m", -1), "m is -1"),
        (belief("m", "inf"), "m is 'inf'"),
        (belief("m", {"type": "float", "value": "nan"}), "m is nan"),
        (belief("m", 10**400), "too large"),
        (belief("left_out", -1), "left_out is -1"),
        (note("beliefs", "class", value="NaiveBayes"), "not made of 'NaiveBayes'"),
        (note("beliefs", "class", value="Graph"), "not made of 'Graph'"),
        (lambda content, arrays: content.pop("beliefs") and None, "'beliefs' is missing"),
        (lambda content, arrays: content.pop("learnt") and None, "'learnt' is missing"),
        (put("policy.rule", 0, np.inf), "not finite"),
        (put("policy.rule", 0, np.nan), "not a number"),
        (cut("policy.rule"), "'rule'"),
        (policy("least", None), "least is None"),
        (policy("least", -1), "least is -1"),
        (policy("most_features", 0), "most_features is 0"),
        (policy("most_features", 1.5), "whole number"),
        (policy("most_states", 0), "most_states is 0"),
        (policy("most_states", 2**63), "most_states is"),
        (policy("levels", 9), "levels is 9"),
        (policy("levels", True), "levels is True"),
        (policy("seed", -1), "seed is -1"),
        (note("policy", "class", value="FixedOrder"), "not made of 'PathCounts' and 'FixedOrder'"),
        (put("costs.mistakes", (0, 1), -1.0), "cost is negative"),
        (put("prices.full", 0, -1.0), "cost is negative"),
        (put("prices.discounted", 0, 5.0), "above the full one"),
        (put("prices.group", 0, -2), "group is negative"),
        (put("expectation.reach", 0, 0.5), "do not fall"),
        (put("expectation.reach", 0, 1.5), "'reach'"),
        (lambda content, arrays: arrays.update({"expectation.reach": np.empty(0)}), "do not fall"),
        (note("expectation", "values", "cost", value="x"), "cost is 'x'"),
        (learnt("cv_costs", [[None, 0]]), "rows of 3 numbers"),
        (learnt("cv_costs", [[1.0, 0, -1.0]]), "must be a number >= 0"),
        (learnt("cv_costs", [[1.0, {"type": "float", "value": "inf"}, 1.0]]), "infinity"),
        (put("learnt.cells", (0, 0), -1.0), "training count"),
        (lambda content, arrays: "ETANAClassifier", "not made of 'PathCounts'"),
        (lambda content, arrays: "OwnClassifier", "'OwnClassifier' is not known"),
    ],
)
def test_content_that_makes_no_sense(saved, tmp_path, change, words):
    crafted(saved["rule"][1], tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=f"holds no valid model.*({words}).*; restore it"):
        load(tmp_path / "m")


def test_plans_that_take_too_long_are_refused(saved, tmp_path, monkeypatch):
    monkeypatch.setattr("etana.policies.instance_choice._MOST_PLANS", 1000.0)
    crafted(saved["rule"][1], tmp_path / "m", policy("levels", 4))
    with pytest.raises(ModelFileError, match=r"looking 4 steps ahead over .* takes too long"):
        load(tmp_path / "m")


ODD = [0, -1, 1, 2, 0.5, 1e300, 2**31, 2**62, True, None, "x", [], {}]


def edit(content, arrays, rng):
    if rng.random() < 0.4:
        part = ("beliefs", "policy", "expectation", "learnt")[int(rng.integers(4))]
        values = content[part] if part == "learnt" else content[part]["values"]
        key = sorted(values)[int(rng.integers(len(values)))]
        values[key] = ODD[int(rng.integers(len(ODD)))]
        return
    name = sorted(arrays)[int(rng.integers(len(arrays)))]
    array = arrays[name].copy()
    kind = rng.integers(5)
    if kind <= 1 and array.size:
        odd = [0, -1.0, 2.0, np.nan, np.inf, -np.inf, 1e308]
        if array.dtype.kind in "ib":
            odd = [0, 1, -1, 2, 7, 1 if array.dtype.kind == "b" else min(np.iinfo(array.dtype).max, 2**40)]
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
    for trial in range(400):
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
    assert refused > 130


def test_no_mutation_gets_through(saved, tmp_path):
    rng = np.random.default_rng(3)
    data = saved["rule"][1]
    for _ in range(300):
        at = int(rng.integers(len(data)))
        changed = data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
        (tmp_path / "m").write_bytes(changed)
        with pytest.raises(ModelFileError):
            load(tmp_path / "m")
