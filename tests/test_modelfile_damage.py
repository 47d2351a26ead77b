"""Model files that were damaged, cut short, made by other programs, or made by hand: none gets in unnoticed."""

import json
import os
import time

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from etana import ETANAClassifier, FeatureCosts, FrugalClassifier
from etana.beliefs.prefixes.travel import Pool
from etana.errors import EtanaError, ModelFileError
from etana.modelfile import load, load_model, read_metadata, save
from etana.table import read_table
from gated_rows import gated
from modelfile_samples import REGIONS_APART, SEQUENTIAL, crafted, cut, fitted, frame, note, put


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of several kinds of model, as bytes."""
    folder = tmp_path_factory.mktemp("saved")
    out = []
    for name in ("auto", "points, a tree", "points, fitted", "grid, nearest", "F-ETANA", "points, free"):
        clf, X, _ = fitted(name)
        save(clf, folder / name)
        out.append(((folder / name).read_bytes(), X))
    clf, data = SEQUENTIAL
    X, y = data(return_X_y=True)
    save(clf.fit(X, y), folder / "sequential")
    assert isinstance(clf.model_.beliefs.member, Pool)  # so that both are among what is changed
    out.append(((folder / "sequential").read_bytes(), X))
    X, y = gated(520)  # enough for a committee with boosted trees
    for name, made in (("regions", REGIONS_APART), ("chosen", FrugalClassifier(0.01, effort="fast"))):
        save(made.fit(X, y), folder / name)
        out.append(((folder / name).read_bytes(), X))
    assert REGIONS_APART.n_regions_ == 2
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
    for trial in range(2000):
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
    other = safetensors.numpy.save({"a": np.zeros(3)}, {"etana_format": "2"})
    deep = b'{"__metadata__":{"etana_format":"2","sha256":"' + b"0" * 64 + b'"},"a":' + b"[" * 100_000
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
        (data.replace(b'"etana_format":"2"', b'"etana_format":"3"', 1), "has format 3.*upgrade etana"),
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
    text = '{"__metadata__":{"etana_format":"2","sha256":"' + "0" * 64 + '"},"a":' + json.dumps(tensor) + "}"
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
        odd = [0, -1.0, 2.0, np.nan, np.inf, -np.inf, 1e308]
        if array.dtype.kind in "ib":
            odd = [0, 1, -1, 2, 7, 1 if array.dtype.kind == "b" else min(np.iinfo(array.dtype).max, 2**40)]
        with np.errstate(over="ignore"):  # 1e308 is infinite in single precision
            array.flat[int(rng.integers(array.size))] = odd[int(rng.integers(len(odd)))]
        return array
    if kind == 2:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 3:
        return array.reshape(-1) if array.ndim > 1 else np.concatenate([array, array])
    return rng.permutation(array) if rng.random() < 0.7 else array.astype(np.float32)


def as_another(name, **learnt):
    """The same content under the name of another classifier, as well as it can be made to fit."""

    def change(content, _):
        content["parameters"] = {}
        content["learnt"].update(learnt)
        return name

    return change


def several(*changes):
    def change(content, arrays):
        for one in changes:
            one(content, arrays)

    return change


def backwards(name):
    def change(_, arrays):
        arrays[name] = np.ascontiguousarray(arrays[name][::-1])

    return change


AUTO, TREE, FITTED, GRID, LINEAR, FREE, SEQUENCE, REGIONS, CHOSEN, FRAME = range(10)
BELIEFS, STOPPING, MEMBER = ("beliefs", "values"), ("policy", "values", "stopping"), ("beliefs", "values", "member")
NEIGHBOURS, REGRESSION = "beliefs.member.member0", "beliefs.member.member1"
CHAIN, TREES = ("beliefs", "values", "chain1", "values"), "beliefs.chain1.member.member3"


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (AUTO, put("beliefs.cells", (0, 0), 0.7), "sums to"),
        (AUTO, put("beliefs.cells", (0, 0), np.nan), "not a number"),
        (AUTO, put("beliefs.cells", (0, 0), -0.1), "negative"),
        (AUTO, several(put("beliefs.cells", (0, 0), 0.0), put("beliefs.cells", (1, 0), 1.0)), "is zero|sums to"),
        (AUTO, cut("beliefs.cells"), "'cells'"),
        (AUTO, put("beliefs.priors", 0, 0.9), "priors are no probabilities"),
        (AUTO, put("beliefs.priors", 0, -0.1), "priors are no probabilities"),
        (AUTO, cut("beliefs.priors"), "'priors'"),
        (AUTO, put("prices.full", 3, -0.1), "cost is negative"),
        (AUTO, put("prices.full", 3, np.inf), "not finite"),
        (AUTO, put("prices.discounted", 3, 5.0), "above the full one"),
        (AUTO, put("prices.group", 3, -2), "group is negative"),
        (AUTO, cut("prices.group"), "'group'"),
        (AUTO, several(*(cut(f"prices.{name}") for name in ("full", "discounted", "group"))), "prices for 29 features"),
        (AUTO, put("costs.mistakes", (0, 1), np.inf), "not finite"),
        (AUTO, put("costs.mistakes", (0, 1), -1.0), "cost is negative"),
        (AUTO, cut("costs.mistakes"), "'mistakes'"),
        (AUTO, put("policy.order", 0, 30), "a column twice, or one that is not there"),
        (AUTO, put("policy.order", 0, -1), "a column twice, or one that is not there"),
        (AUTO, put("policy.order", slice(None), 0), "a column twice, or one that is not there"),
        (AUTO, cut("policy.order"), "horizon is 27|'table'"),
        (AUTO, put("beliefs.binner.edge_offsets", 1, 10**6), "offsets of the bins"),
        (AUTO, put("beliefs.binner.edge_offsets", 1, -(2**63)), "offsets of the bins"),
        (AUTO, put("beliefs.binner.edges", 1, -1e9), "not finite and increasing"),
        (AUTO, put("beliefs.binner.has_missing", 0, True), "'cells'"),
        (AUTO, note(*BELIEFS, "binner", "name", value=None), "no bins"),
        (AUTO, put("learnt.cells", 0, -1), "training count"),
        (AUTO, put("learnt.classes", 0, np.inf), "training count"),
        (AUTO, cut("learnt.cells"), "cells.*must be float64 of shape"),
        (AUTO, cut("policy.stopping.table"), "'table'"),
        (AUTO, note(*STOPPING, "values", "tau", value=0), "tau is 0"),
        (AUTO, note(*STOPPING, "values", "max_points", value=2**40), "max_points is"),
        (AUTO, note(*STOPPING, "values", "horizon", value=31), "horizon is 31"),
        (AUTO, note(*STOPPING, "values", "horizon", value=26), "'table'|chances to be reached are 28"),
        (AUTO, note(*STOPPING, "values", "kind", value=4), "no rule of kind 4"),
        (AUTO, note(*STOPPING, "values", "lower_bound", value=None), "lower_bound is None"),
        (AUTO, note(*STOPPING, "class", value="OwnPolicy"), "'OwnPolicy' is not known"),
        (AUTO, note(*STOPPING, "class", value="NaiveBayes"), "'NaiveBayes' is not known"),
        (AUTO, note(*STOPPING, "class", value="FixedOrder"), "'FixedOrder' is not known"),
        (
            AUTO,
            note(*STOPPING, "class", value="RegressionStopping"),
            ".RegressionStopping. is not known",
        ),
        (AUTO, note(*STOPPING, "class", value="FreePolicy"), "no rule of kind 1"),
        (AUTO, note(*STOPPING, "class", value=["ExactPolicy"]), "unhashable"),
        (AUTO, note("policy", "class", value="ExactPolicy"), "not made of 'NaiveBayes' and 'ExactPolicy'"),
        (AUTO, note("policy", "class", value="InstanceChoice"), "not made of 'NaiveBayes' and 'InstanceChoice'"),
        (AUTO, note("beliefs", "class", value="FixedOrder"), "not made of 'FixedOrder'"),
        (AUTO, note("beliefs", "class", value="PathCounts"), "not made of 'PathCounts'"),
        (AUTO, note("beliefs", value=None), "subscriptable"),
        (AUTO, note("expectation", "class", value="NaiveBayes"), "'NaiveBayes' is not known"),
        (AUTO, put("expectation.reach", 0, 1.5), "'reach'"),
        (AUTO, put("expectation.reach", 0, 0.0), "do not fall"),
        (AUTO, backwards("expectation.reach"), "do not fall"),
        (AUTO, cut("expectation.reach"), "chances to be reached are 27, not 28"),
        (AUTO, cut("expectation.class_cost"), "'class_cost'"),
        (AUTO, note("expectation", "values", "cost", value=-1), "cost is -1"),
        (AUTO, note("expectation", "values", "n_features", value=None), "n_features is None"),
        (AUTO, note("expectation", "values", "standard_error", value=-0.5), "standard_error is -0.5"),
        (AUTO, as_another("AdaptiveClassifier", m=1.0, look_ahead=0, cv_costs=[]), "not made of 'NaiveBayes'"),
        (AUTO, as_another("SequentialClassifier", has_walks=False), "not made of 'NaiveBayes'"),
        (AUTO, as_another("LogisticRegression"), "'LogisticRegression' is not known"),
        (AUTO, note("classes", "items", value=[1, 1]), "sorted and distinct"),
        (AUTO, note("classes", "items", value=[1, 0]), "sorted and distinct"),
        (AUTO, note("classes", "dtype", value="<U500000000"), "cannot be made"),
        (AUTO, note("classes", "items", value=[0, "1"]), "cannot hold"),
        (AUTO, note("names", value=["a"]), "30 texts"),
        (AUTO, note("parameters", "colour", value=1), "no parameter 'colour'"),
        (AUTO, note("parameters", "n_bins", value=-3), "n_bins is -3"),
        (AUTO, note("parameters", "solver", value={"type": "solver", "class": "os.system"}), "not known"),
        (AUTO, note("parameters", "solver", value={"type": "foreign"}), "parameters.solver"),
        (AUTO, note("parameters", "n_bins", value={"type": "array", "dtype": "|O", "name": "policy.order"}), "type"),
        (TREE, put("policy.stopping.index", -1, 10**6), "do not divide the table of plans"),
        (TREE, put("policy.stopping.index", 0, -1), "do not divide the table of plans"),
        (FITTED, put("policy.stopping.index", (0, 1), 10), "a class that is not there"),
        (FITTED, put("policy.stopping.index", (0, 1), -1), "a class that is not there"),
        (FITTED, cut("policy.stopping.index"), "'table'"),
        (FITTED, note(*STOPPING, "values", "certified_draws", value=0), "certified_draws is 0"),
        (GRID, put("policy.stopping.index", (1, 1), 2), "one column for each grid point"),
        (GRID, cut("policy.stopping.index"), "'index'"),
        (LINEAR, cut("policy.stopping.table"), "'table'"),
        (LINEAR, cut("policy.stopping.iterations"), "'iterations'"),
        (LINEAR, note(*STOPPING, "values", "random_state", value=-1), "random_state is -1"),
        (FREE, note(*STOPPING, "values", "horizon", value=2.0), "whole number"),
        (SEQUENCE, put("beliefs.order", 0, 13), "a column twice, or one that is not there"),
        (SEQUENCE, put("beliefs.order", 0, -1), "a column twice, or one that is not there"),
        (SEQUENCE, put("beliefs.order", slice(None), 0), "a column twice, or one that is not there"),
        (SEQUENCE, cut("beliefs.order"), "knot_offsets"),
        (SEQUENCE, backwards("beliefs.order"), "in this order, and the beliefs know"),
        (SEQUENCE, put("policy.order", 0, 13), "a column twice, or one that is not there"),
        (SEQUENCE, put("policy.order", slice(None), 0), "a column twice, or one that is not there"),
        (SEQUENCE, backwards("policy.order"), "in this order, and the beliefs know"),
        (SEQUENCE, cut("policy.order"), "chances to be reached are 5, not 4"),
        (SEQUENCE, put("beliefs.knot_offsets", 1, 10**6), "do not divide"),
        (SEQUENCE, put("beliefs.knot_offsets", 1, -(2**63)), "do not divide"),
        (SEQUENCE, put("beliefs.knot_offsets", 1, 0), "not increasing, or it has none"),
        (SEQUENCE, put("beliefs.knots", 1, -1e9), "not increasing"),
        (SEQUENCE, put("beliefs.knots", 0, -np.inf), "not finite"),
        (SEQUENCE, cut("beliefs.knots"), "'ranks'"),
        (SEQUENCE, put("beliefs.ranks", 0, 2.0), "not between 0.0 and 1.0"),
        (SEQUENCE, put("beliefs.ranks", 0, 0.9), "not increasing"),
        (SEQUENCE, put("beliefs.scales", 0, 0.0), "spread by 0.0"),
        (SEQUENCE, put("beliefs.scales", 0, -1.0), "scale is negative"),
        (SEQUENCE, put("beliefs.medians", 0, np.inf), "not finite"),
        (SEQUENCE, put("beliefs.means", 0, np.nan), "not a number"),
        (SEQUENCE, put("beliefs.deviations", 0, 0.0), "deviation of 0.0"),
        (SEQUENCE, put("beliefs.deviations", 0, 1e-300), "deviation of 1e-300"),
        (SEQUENCE, put("beliefs.temperatures", 0, -1.0), "'temperatures'"),
        (SEQUENCE, put("beliefs.temperatures", 0, 1e9), "'temperatures'"),
        (SEQUENCE, cut("beliefs.temperatures"), "'temperatures'"),
        (SEQUENCE, put(f"{NEIGHBOURS}.codes", 5, 3), "class that is not there"),
        (SEQUENCE, put(f"{NEIGHBOURS}.codes", 5, -1), "class that is not there"),
        (SEQUENCE, cut(f"{NEIGHBOURS}.codes"), "'weights'"),
        (SEQUENCE, put(f"{NEIGHBOURS}.columns", (0, 0), np.inf), "too far away"),
        (SEQUENCE, cut(f"{NEIGHBOURS}.columns"), "'columns'"),
        (SEQUENCE, put(f"{NEIGHBOURS}.sizes", 0, 0), "number of neighbours"),
        (SEQUENCE, put(f"{NEIGHBOURS}.sizes", 0, 2**62), "number of neighbours"),
        (SEQUENCE, put(f"{REGRESSION}.weights", (0, 0), np.nan), "'weights'"),
        (SEQUENCE, put(f"{REGRESSION}.weights", (0, 0), 1e300), "'weights'"),
        (SEQUENCE, cut(f"{REGRESSION}.weights"), "'weights'"),
        (SEQUENCE, put(f"{REGRESSION}.priors", 0, 0.9), "priors are no probabilities"),
        (SEQUENCE, put("policy.stopping.asks", 0, False), "'centre'"),
        (SEQUENCE, put("policy.stopping.centre", (0, 0), 1e300), "'centre'"),
        (SEQUENCE, put("policy.stopping.scale", (0, 0), 0.0), "'scale'"),
        (SEQUENCE, put("policy.stopping.slopes", (0, 0), -np.inf), "'slopes'"),
        (SEQUENCE, put("policy.stopping.level", 0, np.inf), "'level'"),
        (SEQUENCE, put("costs.mistakes", (0, 1), -1.0), "cost is negative"),
        (SEQUENCE, put("expectation.reach", 0, 1.5), "'reach'"),
        (SEQUENCE, backwards("expectation.reach"), "do not fall"),
        (SEQUENCE, cut("expectation.reach"), "chances to be reached are 4, not 5"),
        (SEQUENCE, put("prices.full", 0, -0.1), "cost is negative"),
        (SEQUENCE, put("prices.discounted", 0, 5.0), "above the full one"),
        (SEQUENCE, put("learnt.walks0", (0, 0, 0), 0.9999), "no probabilities"),
        (SEQUENCE, put("learnt.walks0", (0, 0, 0), -0.1), "'walks0'"),
        (SEQUENCE, cut("learnt.walks0"), "'walks0'"),
        (SEQUENCE, put("learnt.codes", 0, 3), "class that is not there"),
        (SEQUENCE, note("learnt", "has_walks", value=1), "has_walks is 1"),
        (SEQUENCE, note(*BELIEFS, "floor", value=0), "floor is 0"),
        (SEQUENCE, note(*BELIEFS, "n_features", value=14), "prices for 13 features, and 14"),
        (SEQUENCE, note(*BELIEFS, "n_features", value=13.0), "whole number"),
        (SEQUENCE, note(*BELIEFS, "levels", value=[[13, ["a"]]]), "levels are given for column 13"),
        (SEQUENCE, note(*MEMBER, "class", value="Trees"), "'Trees' is not known"),
        (SEQUENCE, note(*MEMBER, "class", value="NaiveBayes"), "'NaiveBayes' is not known"),
        (SEQUENCE, note(*MEMBER, "class", value="Estimators"), "keep_missing is None"),
        (SEQUENCE, note(*MEMBER, "class", value="Neighbours"), "'beliefs.member.codes' is missing"),
        (SEQUENCE, note(*MEMBER, "class", value="Linear"), "'beliefs.member.weights' is missing"),
        (SEQUENCE, put("beliefs.member.shares", (0, 0), 1.5), "'shares'"),
        (SEQUENCE, put("beliefs.member.shares", 0, 0.0), "do not sum to 1"),
        (SEQUENCE, put("beliefs.member.temperatures", (0, 0), 0.0), "'temperatures'"),
        (SEQUENCE, note(*MEMBER, "values", "n_members", value=17), "n_members is 17"),
        (SEQUENCE, note(*MEMBER, "values", "n_members", value=3), "'shares'"),
        (
            SEQUENCE,
            note(*MEMBER, "values", "member0", "class", value="Linear"),
            "'weights' is",
        ),
        (SEQUENCE, note(*MEMBER, "values", "member1", "class", value="FixedOrder"), "'FixedOrder' is not known"),
        (SEQUENCE, note(*STOPPING, "class", value="ExactPolicy"), "policy.stopping .ExactPolicy. is not known"),
        (SEQUENCE, note("policy", "class", value="InstanceChoice"), "not made of 'Prefixed' and 'InstanceChoice'"),
        (SEQUENCE, as_another("ETANAClassifier"), "not made of 'Prefixed'"),
        (SEQUENCE, note("names", value=["a"]), "13 texts"),
        (REGIONS, put("beliefs.split", (0, 0), 6), "split on a column that it does not know, or leads nowhere"),
        (REGIONS, put("beliefs.split", (0, 0), 0), "split on a column that it does not know, or leads nowhere"),
        (REGIONS, put("beliefs.split", (0, 1), 0), "split on a column that it does not know, or leads nowhere"),
        (REGIONS, put("beliefs.split", (0, 2), 3), "split on a column that it does not know, or leads nowhere"),
        (REGIONS, put("beliefs.bounds", (0, 1), np.nan), "not a number"),
        (REGIONS, put("beliefs.entered", 1, 9), "region 1 knows 9 columns"),
        (REGIONS, put("beliefs.entered", 1, -1), "region 1 knows -1 columns"),
        (REGIONS, cut("beliefs.entered"), "'entered'"),
        (REGIONS, put("beliefs.share", 1, 0.9), "halves of region 0 have 0.9 and"),
        (REGIONS, put("beliefs.share", 1, -0.1), "'share'"),
        (REGIONS, cut("beliefs.share"), "'share'"),
        (REGIONS, note(*BELIEFS, "n_regions", value=0), "n_regions is 0"),
        (REGIONS, note(*BELIEFS, "n_regions", value=4), "'chain3' is missing"),
        (REGIONS, note(*CHAIN, "n_features", value=7), "other columns or labels than the first"),
        (REGIONS, note(*CHAIN, "levels", value=[[5, ["a", "b"]]]), "other columns or labels than the first"),
        (REGIONS, put("beliefs.chain1.order", 0, 6), "a column twice, or one that is not there"),
        (REGIONS, put("beliefs.chain1.member.member2.tables", (1, 0), 0.01), "narrower than any that is learnt"),
        (REGIONS, put("beliefs.chain1.member.member2.tables", (0, 0), 1e9), "'tables'"),
        (REGIONS, cut("beliefs.chain1.member.member2.tables"), "'tables'"),
        (REGIONS, put(f"{TREES}.columns", 0, 60), "a column that is not there"),
        (REGIONS, put(f"{TREES}.lefts", 0, 0), "leads nowhere or back"),
        (REGIONS, put(f"{TREES}.rights", 0, -1), "leads nowhere or back"),
        (REGIONS, put(f"{TREES}.missing", 0, 2**30), "leads nowhere or back"),
        (REGIONS, put(f"{TREES}.roots", 0, -1), "begins nowhere"),
        (REGIONS, put(f"{TREES}.outputs", 0, 1), "adds to no class"),
        (REGIONS, put(f"{TREES}.thresholds", slice(None), 1e9), "adds too much"),
        (REGIONS, cut(f"{TREES}.thresholds"), "'thresholds'"),
        (REGIONS, put(f"{TREES}.classes", 0, 1), "a class twice, or one that is not there"),
        (REGIONS, put(f"{TREES}.classes", 1, 2), "a class twice, or one that is not there"),
        (REGIONS, put(f"{TREES}.base", 0, np.inf), "'base'"),
        (REGIONS, put("policy.reach", (0, 0), 1.5), "'reach'"),
        (REGIONS, cut("policy.reach"), "'reach'"),
        (REGIONS, cut("policy.rule1.asks"), "'asks'"),
        (REGIONS, cut("expectation.reach"), "chances to be reached are"),
        (REGIONS, note("policy", "class", value="FixedOrder"), "not made of 'Committee' and 'FixedOrder'"),
        (REGIONS, as_another("SequentialClassifier"), "not made of 'Committee'"),
        (REGIONS, put("learnt.rows1", 0, 500), "twice, or one that is not there"),
        (REGIONS, put("learnt.rows1", 1, 0), "twice, or one that is not there|do not share its training rows"),
        (REGIONS, backwards("learnt.rows1"), "twice, or one that is not there"),
        (REGIONS, cut("learnt.rows1"), "'walks1'"),
        (REGIONS, put("learnt.walks1", (0, 0, 0), 0.9999), "no probabilities"),
        (REGIONS, put("learnt.weights", slice(None), 0.0), "no training row counts"),
        (REGIONS, put("learnt.codes", 0, 2), "class that is not there"),
        (CHOSEN, note("learnt", "best", value=6), "best is 6"),
        (CHOSEN, note("learnt", "best", value=0), "a SequentialClassifier is not made of"),
        (CHOSEN, note("learnt", "comparison", 0, 0, value=6), "a candidate that is not known"),
        (CHOSEN, note("learnt", "comparison", 0, 6, value=2), "a candidate that is not known"),
        (CHOSEN, note("learnt", "comparison", value=[[0.0]]), "comparison"),
        (CHOSEN, note("judgement", "values", "cost", value=-1), "cost is -1"),
        (CHOSEN, note("judgement", "values", "accuracy", value=1.5), "accuracy is 1.5"),
        (CHOSEN, note("judgement", "values", "nothing", value=None), "nothing is None"),
        (CHOSEN, note("judgement", "class", value="NaiveBayes"), "'NaiveBayes' is not known"),
        (CHOSEN, note("parameters", "effort", value="much"), "effort is 'much'"),
        (FRAME, note(*BELIEFS, "binner", "levels", 0, 1, value=["a", "a", "b", "c"]), "distinct labels"),
        (FRAME, note(*BELIEFS, "binner", "levels", 0, 1, value=["a"]), "one bin for each"),
        (FRAME, note(*BELIEFS, "binner", "levels", 0, 0, value=17), "levels are given for column 17"),
        (FRAME, note(*BELIEFS, "binner", "names", value=["a"]), "6 texts"),
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

    for trial in range(800):
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
    assert loaded > 60
    assert refused > 260
