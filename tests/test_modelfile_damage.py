"""Model files that were damaged, cut short, made by other programs, or made by hand: none gets in unnoticed."""

import json
import os
import time

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from etana import ETANAClassifier, FeatureCosts
from etana.errors import EtanaError, ModelFileError
from etana.modelfile import load, load_model, read_metadata, save
from etana.table import read_table
from modelfile_samples import NEIGHBOURS, SOLVERS, crafted, cut, frame, put


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of several kinds of model, as bytes."""
    folder = tmp_path_factory.mktemp("saved")
    out = []
    names = ("auto", "points, a tree", "points, fitted", "grid, nearest", "F-ETANA", "points, free")
    for k, (clf, data) in enumerate([*(SOLVERS[n] for n in names), NEIGHBOURS]):
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
        with np.errstate(over="ignore"):  # 1e308 is infinite in single precision
            array.flat[int(rng.integers(array.size))] = odd[int(rng.integers(len(odd)))]
        return array
    if kind == 2:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 3:
        return array.reshape(-1) if array.ndim > 1 else np.concatenate([array, array])
    return rng.permutation(array) if rng.random() < 0.7 else array.astype(np.float32)


def note(*keys, value):
    def change(content, _):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


AUTO, TREE, FITTED, GRID, LINEAR, FREE, SEQUENCE, FRAME = range(8)


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
        (SEQUENCE, put("order", 0, 13), "a column that is not there"),
        (SEQUENCE, put("order", 0, -1), "a column that is not there"),
        (SEQUENCE, put("order", slice(None), 0), "one twice"),
        (SEQUENCE, cut("order"), "features.offsets"),
        (SEQUENCE, put("features.offsets", 1, 10**6), "do not divide"),
        (SEQUENCE, put("features.offsets", 1, -(2**63)), "do not divide"),
        (SEQUENCE, put("features.knots", 1, -1e9), "not increasing"),
        (SEQUENCE, put("features.knots", 0, -np.inf), "not finite"),
        (SEQUENCE, put("features.ranks", 0, 2.0), "not between 0.0 and 1.0"),
        (SEQUENCE, put("features.ranks", 0, 0.9), "not increasing"),
        (SEQUENCE, put("features.scales", 0, 0.0), "spread by 0.0"),
        (SEQUENCE, put("features.scales", 0, -1.0), "scale is negative"),
        (SEQUENCE, put("features.medians", 0, np.inf), "not finite"),
        (SEQUENCE, put("temperatures", 0, -1.0), "'temperatures'"),
        (SEQUENCE, put("neighbours.codes", 5, 3), "class that is not there"),
        (SEQUENCE, put("neighbours.codes", 5, -1), "class that is not there"),
        (SEQUENCE, cut("neighbours.codes"), "neighbours.columns"),
        (SEQUENCE, put("neighbours.columns", (0, 0), np.inf), "too far away"),
        (SEQUENCE, cut("neighbours.columns"), "neighbours.columns"),
        (SEQUENCE, put("neighbours.sizes", 0, 0), "number of neighbours"),
        (SEQUENCE, put("neighbours.sizes", 0, 2**62), "number of neighbours"),
        (SEQUENCE, put("rule.asks", 0, False), "rule.centre"),
        (SEQUENCE, put("rule.centre", (0, 0), 1e300), "rule.centre"),
        (SEQUENCE, put("rule.scale", (0, 0), 0.0), "rule.scale"),
        (SEQUENCE, put("rule.slopes", (0, 0), -np.inf), "rule.slopes"),
        (SEQUENCE, put("rule.level", 0, np.inf), "rule.level"),
        (SEQUENCE, put("rule.mistakes", (0, 1), -1.0), "cost is negative"),
        (SEQUENCE, put("rule.reach", 0, 1.5), "rule.reach"),
        (SEQUENCE, put("prices.full", 0, -0.1), "cost is negative"),
        (SEQUENCE, put("prices.discounted", 0, 5.0), "above the full one"),
        (SEQUENCE, put("walks.posteriors", (0, 0, 0), 0.9999), "no probabilities"),
        (SEQUENCE, put("walks.posteriors", (0, 0, 0), -0.1), "walks.posteriors"),
        (SEQUENCE, cut("walks.posteriors"), "walks.posteriors"),
        (SEQUENCE, note("sequence", "floor", value=0), "floor is 0"),
        (SEQUENCE, note("sequence", "cost", value=-1), "cost is -1"),
        (SEQUENCE, note("sequence", "prefixes", value="trees"), "'keep_missing' is missing|does not know"),
        (SEQUENCE, note("sequence", "prefixes", value="estimators"), "'keep_missing' is missing"),
        (SEQUENCE, note("sequence", "levels", value=[[13, ["a"]]]), "levels are given for column 13"),
        (SEQUENCE, note("names", value=["a"]), "13 texts"),
        (FRAME, note("binner", "levels", 0, 1, value=["a", "a", "b", "c"]), "distinct labels"),
        (FRAME, note("binner", "levels", 0, 1, value=["a"]), "one bin for each"),
        (FRAME, note("binner", "levels", 0, 0, value=17), "levels are given for column 17"),
    ],
)
def test_content_that_makes_no_sense(saved, tmp_path, kind, change, words):
    crafted(saved[kind][0], tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=f"holds no valid model.*({words}).*; restore it"):
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
        rows = read_table(X[:20])
        rows.names = clf.model_.names  # which may be what was changed
        walk = clf.model_.acquire(rows)
        assert np.isfinite(walk.posteriors).all()
        assert (walk.n_features <= clf.n_features_in_).all()
        assert np.isin(walk.labels, clf.classes_).all()
        clf.start().explain()
        assert load_model(path).acquire(rows).labels.tolist() == walk.labels.tolist()
    assert loaded > 100
    assert refused > 500
