import csv
import dataclasses
import hashlib
import io
import os
import shutil

import numpy as np
import pytest
from scipy import sparse

import etana
from etana import datasets
from etana.costs import resolve_feature_costs
from etana.datasets import archive, loading, registry
from etana.datasets.arrays import DataArrays, Facts, check, fingerprint
from etana.datasets.prices import PRICES
from etana.errors import InputError

# Rows, features, class counts, test class counts: as documented for the archives.
SIZES = {
    "madelon": (500, [1000, 1000], [300, 300]),
    "lung": (12533, [150, 31], None),
    "mll": (5848, [20, 17, 20], [4, 3, 8]),
    "dexter": (20000, [150, 150], [150, 150]),
    "car": (9183, [27, 8, 26, 23, 12, 11, 7, 26, 6, 14, 14], None),
    "lung2_1543": (1543, [139, 17, 21, 20, 6], None),
    "news20_rebuilt": (1409654, [9997, 10000], None),
    "heart": (13, [164, 139], None),
    "hepatitis": (19, [32, 123], None),
    "thyroid": (21, [93, 191, 3488], [73, 177, 3178]),
    "pima": (8, [500, 268], None),
    "bupa": (5, [169, 176], None),
    "spambase": (57, [2788, 1813], None),
    "physionet2012": (41, [10293, 1707], None),
}
PRICED = ("heart", "hepatitis", "thyroid", "pima", "bupa")


def test_the_names_are_those_documented():
    assert datasets.names() == list(datasets.NAMES) == list(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_set_is_as_documented(reference, name):
    d = datasets.load(name, data_dir=reference.folder)
    features, counts, test_counts = SIZES[name]
    assert (d.name, d.X.shape) == (name, (sum(counts), features))
    assert d.y.dtype == np.int64
    assert np.bincount(d.y).tolist() == counts
    assert len(d.class_names) == len(counts)
    assert d.split == ("folds" if test_counts is None else "given")
    if test_counts is None:
        assert d.X_test is None
        assert d.y_test is None
    else:
        assert d.X_test.shape == (sum(test_counts), features)
        assert np.bincount(d.y_test).tolist() == test_counts
    assert all((d.title, d.description, d.source, d.licence))
    assert (d.differs is not None) == (name in ("car", "lung2_1543", "news20_rebuilt"))
    assert d.names is None or len(d.names) == features


@pytest.mark.parametrize("name", SIZES)
def test_values_are_those_of_the_archive(reference, name):
    d = datasets.load(name, data_dir=reference.folder / "data")
    X, y, X_test, y_test = reference.split(name)
    with reference.data(name) as z:
        missing = z["missing"] > 0 if "missing" in z else np.zeros((1, 1), dtype=bool)
    np.testing.assert_array_equal(d.y, y)
    if sparse.issparse(X):
        assert isinstance(d.X, sparse.csr_array)
        assert (d.X != X).nnz == 0
        return
    np.testing.assert_array_equal(np.isnan(d.X), np.broadcast_to(missing, X.shape))
    np.testing.assert_array_equal(d.X[~np.isnan(d.X)], X[~np.isnan(d.X)])
    if X_test is not None:
        np.testing.assert_array_equal(d.X_test, X_test)
        np.testing.assert_array_equal(d.y_test, y_test)


@pytest.mark.parametrize("name", SIZES)
def test_the_registry_knows_the_archive(reference, name):
    entry = registry.ENTRIES[name]
    content = archive.read(reference.folder / "data" / entry.file, entry.sha256)
    parts = archive.unpack(content)
    check(parts, entry.facts, name)
    assert fingerprint(parts) == entry.facts.fingerprint
    if entry.origin is not None and entry.origin.facts is entry.facts:
        assert list(entry.origin.class_names) == archive.class_names(content)
        assert parts.names == (None if entry.origin.feature_names is None else list(entry.origin.feature_names))


@pytest.mark.parametrize("name", PRICED)
def test_prices_are_those_of_the_table(reference, name):
    with open(reference.folder / "data" / "costs.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == name]
    d = datasets.load(name, data_dir=reference.folder)
    full = [float(row["cost_cad"]) for row in rows]
    discounted = [float(row["cost_discount_cad"] or row["cost_cad"]) for row in rows]
    labels = [row["group"] for row in rows]
    for costs in (d.feature_costs, d.column_costs):
        found = resolve_feature_costs(costs, len(rows), d.names)
        np.testing.assert_array_equal(found.full, full)
        np.testing.assert_array_equal(found.discounted, discounted)
        same_group = [[a == b != "" for b in labels] for a in labels]
        np.testing.assert_array_equal((found.group[:, None] == found.group) & (found.group >= 0), same_group)
    assert d.names == [row["feature"] for row in rows]
    known = None if name == "thyroid" else [row["feature"] for row in rows if row["delayed"] == "1"]
    assert d.delayed == known


def test_other_sets_have_no_prices(reference):
    d = datasets.load("spambase", data_dir=reference.folder)
    assert d.feature_costs is None
    assert d.column_costs is None
    assert d.delayed is None


def test_a_classifier_takes_the_prices(reference):
    d = datasets.load("heart", data_dir=reference.folder)
    by_name = etana.ETANAClassifier(feature_costs=d.feature_costs).fit(d.as_frame(), d.y)
    by_column = etana.ETANAClassifier(feature_costs=d.column_costs).fit(d.X, d.y)
    assert by_name.expected_cost_ == by_column.expected_cost_


@pytest.mark.parametrize("alias", ["lung2", "news20"])
def test_an_alias_gives_the_copy_at_hand(reference, alias):
    d = datasets.load(alias, data_dir=reference.folder)
    assert d.name == registry.ALIASES[alias]
    assert d.differs


def test_names_of_a_million_features(reference):
    names = datasets.load("news20", data_dir=reference.folder).names
    assert names == sorted(names)
    assert "windows" in set(names)


@pytest.mark.parametrize("name", ["irsi", "", None, 3, ["mll"]])
def test_an_unknown_name_lists_all(name):
    with pytest.raises(InputError, match=r"there are madelon, lung, .*physionet2012.*'news20' for 'news20_rebuilt'"):
        datasets.load(name)


# Splits


def test_folds_are_stratified_and_cover_all_rows(reference):
    d = datasets.load("heart", data_dir=reference.folder)
    folds = list(d.folds(5, seed=1))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(303))
    for train, test in folds:
        assert not set(train) & set(test)
        assert abs(d.y[test].mean() - d.y.mean()) < 0.02
    again, other = list(d.folds(5, seed=1)), list(d.folds(5, seed=2))
    assert all((a[1] == b[1]).all() for a, b in zip(folds, again))
    assert any(a[1].tolist() != b[1].tolist() for a, b in zip(folds, other))


def test_folds_of_a_set_with_a_given_part(reference):
    d = datasets.load("mll", data_dir=reference.folder)
    with pytest.raises(InputError, match="mll has a given test part; train on X, y and test on X_test"):
        d.folds()


@pytest.mark.parametrize("n_splits", [1, 7, 2.5, "5", True])
def test_a_number_of_folds_that_cannot_be(reference, n_splits):
    d = datasets.load("car", data_dir=reference.folder)
    with pytest.raises(InputError, match="the smallest class of car has 6 rows"):
        d.folds(n_splits)


def test_frames_keep_names(reference):
    frame = datasets.load("pima", data_dir=reference.folder).as_frame()
    assert list(frame.columns) == list(PRICES["pima"].full)
    thyroid = datasets.load("thyroid", data_dir=reference.folder).test_as_frame()
    assert thyroid.shape == (3428, 21)
    madelon = datasets.load("madelon", data_dir=reference.folder)
    assert list(madelon.as_frame().columns[:2]) == ["x0", "x1"]
    with pytest.raises(InputError, match="dexter is sparse"):
        datasets.load("dexter", data_dir=reference.folder).as_frame()


# Places


@pytest.fixture
def tiny(monkeypatch):
    """A set of four rows that takes the place of heart, and the bytes of its archive."""
    parts = DataArrays(np.array([[1.0, 2], [3, np.nan], [5, 6], [7, 8]]), np.array([0, 1, 0, 1]), names=["a", "b"])
    file = io.BytesIO()
    np.savez_compressed(file, **archive.pack(parts, ("no", "yes")))
    facts = Facts(4, 2, 2, (2, 2), missing=1)
    digest = hashlib.sha256(file.getvalue()).hexdigest()
    entry = registry.Entry("tiny", "Tiny", "Four rows.", "made up", "none", digest, facts)
    monkeypatch.setitem(registry.ENTRIES, "tiny", entry)
    return file.getvalue()


def put(folder, content, name="tiny.npz"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


@pytest.mark.parametrize("inner", ["", "data"])
def test_a_named_folder(tiny, tmp_path, inner):
    put(tmp_path / "mine" / inner, tiny)
    d = datasets.load("tiny", data_dir=str(tmp_path / "mine"))
    assert (d.title, d.names, d.class_names) == ("Tiny", ["a", "b"], ["no", "yes"])


@pytest.mark.parametrize("inner", ["", "data"])
def test_the_folder_of_the_environment(tiny, tmp_path, inner, monkeypatch):
    put(tmp_path / "mine" / inner, tiny)
    monkeypatch.setenv("ETANA_DATA", str(tmp_path / "mine"))
    assert datasets.load("tiny").X.shape == (4, 2)


def test_the_cache_serves_what_the_environment_lacks(tiny, tmp_path, cache, monkeypatch):
    put(cache, tiny)
    monkeypatch.setenv("ETANA_DATA", str(tmp_path))
    assert datasets.load("tiny").X.shape == (4, 2)


def test_the_conventional_cache(tiny, tmp_path, monkeypatch):
    monkeypatch.delenv("ETANA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    put(tmp_path / "xdg" / "etana", tiny)
    assert datasets.load("tiny").X.shape == (4, 2)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    put(tmp_path / "home" / ".cache" / "etana", b"other")
    with pytest.raises(InputError, match=r"home/\.cache/etana/tiny\.npz is damaged"):
        datasets.load("tiny")


def test_a_named_folder_is_the_only_one(tiny, tmp_path, cache):
    put(cache, tiny)
    with pytest.raises(InputError, match=r"has no file tiny.npz.*put tiny.npz \(sha256 "):
        datasets.load("tiny", data_dir=tmp_path)


def test_a_folder_that_does_not_exist(tiny, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"data_dir is .* which is not a folder"):
        datasets.load("tiny", data_dir=tmp_path / "nowhere")
    monkeypatch.setenv("ETANA_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"ETANA_DATA is .* which is not a folder"):
        datasets.load("tiny")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:60] + bytes([b[60] ^ 1]) + b[61:], lambda b: b""])
def test_a_damaged_archive_is_an_error(tiny, tmp_path, damage):
    put(tmp_path, damage(tiny))
    expected = registry.ENTRIES["tiny"].sha256
    with pytest.raises(InputError, match=f"its sha256 is [0-9a-f]{{64}}, expected {expected}; replace it"):
        datasets.load("tiny", data_dir=tmp_path)


def test_damage_after_the_first_load_is_noticed(tiny, tmp_path):
    put(tmp_path, tiny)
    datasets.load("tiny", data_dir=tmp_path)
    put(tmp_path, tiny[:-1] + b"x")
    os.utime(tmp_path / "tiny.npz", ns=(1, 1))
    with pytest.raises(InputError, match="is damaged"):
        datasets.load("tiny", data_dir=tmp_path)


def test_the_digest_is_computed_once(tiny, tmp_path, monkeypatch):
    put(tmp_path, tiny)
    calls = []
    real = archive.hashlib.sha256
    monkeypatch.setattr(archive.hashlib, "sha256", lambda *a: calls.append(1) or real(*a))
    for _ in range(3):
        datasets.load("tiny", data_dir=tmp_path)
    assert len(calls) == 1


def test_a_file_that_cannot_be_read(tiny, tmp_path, monkeypatch):
    put(tmp_path, tiny)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\); check its permissions"):
        archive.read(tmp_path / "tiny.npz")


def test_arrays_come_back_from_an_archive(tmp_path):
    X = sparse.csr_array(np.array([[0, 0.5], [1, 0]]))
    parts = DataArrays(X, np.array([0, 1]), X[[0]], np.array([1]), ["a", "b"])
    archive.write(tmp_path / "deep" / "x.npz", archive.pack(parts, ("no", "yes")))
    again = archive.unpack((tmp_path / "deep" / "x.npz").read_bytes())
    assert fingerprint(again) == fingerprint(parts)
    assert again.names == ["a", "b"]


# A mirror of the archives


def test_a_mirror(tiny, server, cache, monkeypatch):
    monkeypatch.setenv("ETANA_MIRROR", server.url + "/etana/")
    server.routes["/etana/tiny.npz"] = tiny
    assert datasets.load("tiny").X.shape == (4, 2)
    assert (cache / "tiny.npz").read_bytes() == tiny
    assert datasets.load("tiny").X.shape == (4, 2)
    assert server.requests == ["/etana/tiny.npz"]


def test_a_mirror_with_another_file(tiny, server, cache, monkeypatch):
    monkeypatch.setenv("ETANA_MIRROR", server.url)
    server.routes["/tiny.npz"] = b"something else"
    with pytest.raises(InputError, match="it was changed or damaged"):
        datasets.load("tiny")
    assert not cache.exists()


def test_a_stand_in_is_not_replaced_by_what_it_stands_for(world):
    with pytest.raises(InputError, match="load 'lung2', which is downloaded"):
        datasets.load("lung2_1543")
    assert world.requests == []


def test_a_set_that_nobody_publishes(cache):
    with pytest.raises(InputError, match=r"the data set lung is not at hand.*put lung.npz .*cannot be downloaded"):
        datasets.load("lung")


def test_a_wrong_structure_names_what_is_wrong(tiny):
    parts = archive.unpack(tiny)
    wrong = dataclasses.replace(registry.ENTRIES["tiny"].facts, rows=5, counts=(1, 3), bounds=(0, 7))
    with pytest.raises(InputError, match=r"shape \(4, 2\), expected \(5, 2\); class counts .*; values from 1 to 8"):
        check(parts, wrong, "tiny")
    unnamed = parts._replace(X=np.where(np.isnan(parts.X), np.inf, parts.X))
    with pytest.raises(InputError, match="values from 1 to inf"):
        check(unnamed, dataclasses.replace(registry.ENTRIES["tiny"].facts, missing=0), "tiny")


# Costbench


@pytest.mark.parametrize("name", datasets.COSTBENCH)
def test_costbench(reference, name):
    d = datasets.load_costbench(name, data_dir=reference.folder)
    with np.load(reference.folder / "data" / "costbench" / f"{name}.npz") as z:
        np.testing.assert_array_equal(d.X_train, z["X_train"])
        np.testing.assert_array_equal(d.y_test, z["y_test"])
        np.testing.assert_array_equal(d.mistakes["middle"], z["M_middle"])
        for costs in (d.feature_costs, d.column_costs):
            found = resolve_feature_costs(costs, len(d.names), d.names)
            np.testing.assert_array_equal(found.full, z["test_cost"])
            np.testing.assert_array_equal(found.discounted, z["test_cost_discounted"])
            np.testing.assert_array_equal(found.group >= 0, z["group"] != "x")
    assert d.X_train.shape[0] == d.X_test.shape[0] == 20
    assert list(d.mistakes) == ["low", "middle", "high"]


def test_costbench_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"costbench/iris.npz is not at hand: looked into .*; put it \(sha256 5930b"):
        datasets.load_costbench("iris", data_dir=tmp_path)


def test_costbench_from_a_mirror(reference, server, cache, monkeypatch):
    monkeypatch.setenv("ETANA_MIRROR", server.url)
    server.routes["/costbench/iris.npz"] = (reference.folder / "data" / "costbench" / "iris.npz").read_bytes()
    assert datasets.load_costbench("iris").names == ["sl", "sw", "pl", "pw"]
    assert (cache / "costbench" / "iris.npz").is_file()
    with pytest.raises(InputError, match="HTTP status 404"):
        datasets.load_costbench("wine")


def test_a_copy_of_the_folder_serves(reference, tmp_path):
    shutil.copy(reference.folder / "data" / "bupa.npz", tmp_path)
    assert datasets.load("bupa", data_dir=tmp_path).X.shape == (345, 5)
    assert loading.load is datasets.load
