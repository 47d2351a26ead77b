import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import raw_formats
from raw_server import closed_address, slow, status, truncated, whole
from scipy import sparse
from sklearn.datasets import _openml

from etana import datasets
from etana.datasets import fetch, parsers, registry
from etana.errors import InputError

SAME_VALUES = ("madelon", "dexter", "mll", "heart", "hepatitis", "thyroid", "bupa", "spambase")

# The first lines of UCI's bupa.data, repeated to its 345 rows where only the shape matters.
BUPA = b"85,92,45,27,31,0.0,1\n85,64,59,32,23,0.0,2\n86,54,33,16,54,0.0,2\n91,78,34,24,36,0.0,2\n"


def bupa_like():
    """345 rows in the format of bupa.data with its class counts, but other values."""
    rows = [f"{85 + i % 9},{60 + i % 40},{20 + i % 50},{15 + i % 20},{10 + i % 60}" for i in range(345)]
    return "".join(f"{row},{0.5 if i < 169 else 6.0},{1 + i % 2}\n" for i, row in enumerate(rows)).encode()


def assert_same(d, reference):
    np.testing.assert_array_equal(d.y, reference.y)
    for mine, theirs in ((d.X, reference.X), (d.X_test, reference.X_test)):
        if sparse.issparse(mine):
            assert (mine != theirs).nnz == 0
        elif mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert (d.names, d.class_names, d.split) == (reference.names, reference.class_names, reference.split)
    assert d.feature_costs == reference.feature_costs


def serve(world, reference, name):
    at_hand = datasets.load(name, data_dir=reference.folder)
    with reference.data(name) as z:
        world.routes |= raw_formats.published(name, z, at_hand)
    return at_hand


@pytest.mark.parametrize("name", SAME_VALUES)
def test_a_download_gives_the_same_set(world, reference, cache, name):
    at_hand = serve(world, reference, name)
    d = datasets.load(name)
    assert_same(d, at_hand)
    assert d.differs is None
    asked = list(world.requests)
    assert_same(datasets.load(name), at_hand)
    assert world.requests == asked, "the second load comes from the cache"
    assert os.listdir(cache) == [f"{name}.fetched.npz"]


def test_pima_comes_from_openml(server, reference, monkeypatch, cache):
    at_hand = datasets.load("pima", data_dir=reference.folder)
    server.routes |= raw_formats.openml_routes(server.url, at_hand)
    point_openml(monkeypatch, server.url)
    d = datasets.load("pima")
    assert_same(d, at_hand)
    assert d.differs is None
    assert os.listdir(cache) == ["pima.fetched.npz"]


def point_openml(monkeypatch, url):
    monkeypatch.setattr(_openml, "_SEARCH_NAME", url + "/list/{}")
    monkeypatch.setattr(_openml, "_DATA_INFO", url + "/info/{}")
    monkeypatch.setattr(_openml, "_DATA_FEATURES", url + "/features/{}")
    monkeypatch.setattr(_openml, "_DATA_QUALITIES", url + "/qualities/{}")


def test_openml_without_the_set(server, monkeypatch, cache):
    point_openml(monkeypatch, server.url)
    server.routes["/list/diabetes/data_version/1"] = status(412)
    server.routes["/list/diabetes/data_version/1/status/deactivated"] = status(412)
    with pytest.raises(InputError, match=r"OpenML data set 'diabetes' version 1: .*put pima.npz"):
        datasets.load("pima")
    assert not cache.exists()


def test_openml_offline(monkeypatch, cache):
    point_openml(monkeypatch, closed_address())
    monkeypatch.setattr(_openml.time, "sleep", lambda seconds: None)
    offline = pytest.raises(InputError, match=r"OpenML data set 'diabetes' version 1: .*refused.*put pima.npz")
    with pytest.warns(UserWarning, match="Retrying"), offline:
        datasets.load("pima")
    assert not cache.exists()


def test_openml_with_another_set(server, reference, monkeypatch, cache):
    bupa = datasets.load("bupa", data_dir=reference.folder)
    pima = datasets.load("pima", data_dir=reference.folder)
    object.__setattr__(pima, "X", pima.X[: len(bupa.y)])
    object.__setattr__(pima, "y", pima.y[: len(bupa.y)])
    server.routes |= raw_formats.openml_routes(server.url, pima)
    point_openml(monkeypatch, server.url)
    with pytest.raises(InputError, match=r"shape \(345, 8\), expected \(768, 8\)"):
        datasets.load("pima")
    assert not cache.exists()


def test_news20_is_the_papers_own(world, cache):
    packed, X, y = raw_formats.news20()
    world.routes["/binary/news20.binary.bz2"] = packed
    d = datasets.load("news20")
    assert (d.name, d.title, d.differs, d.X.shape) == ("news20", "News20", None, (19996, 1355191))
    assert (d.X != X).nnz == 0
    np.testing.assert_array_equal(d.y, y)
    assert datasets.load("news20").X.nnz == X.nnz
    assert len(world.requests) == 1


def test_news20_with_a_packed_file_cut_short(world, cache):
    packed, _, _ = raw_formats.news20()
    world.routes["/binary/news20.binary.bz2"] = packed[: len(packed) // 2]
    with pytest.raises(InputError, match="the packed file is cut short"):
        datasets.load("news20")
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "file", "counts", "features"),
    [
        ("car", "Carcinom.mat", [26, 8, 26, 23, 12, 11, 7, 27, 6, 14, 14], 9182),
        ("lung2", "lung.mat", [139, 21, 20, 6, 17], 3312),
    ],
)
def test_gene_sets_are_the_papers_own(world, name, file, counts, features):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(y.size, features)).astype(np.float32)
    world.routes[f"/{file}"] = raw_formats.mat(X=X, Y=(y + 1)[:, None])
    d = datasets.load(name)
    assert (d.name, d.differs) == (name, None)
    np.testing.assert_array_equal(d.X, X)
    np.testing.assert_array_equal(d.y, y)


def test_other_values_are_said_to_differ(world):
    world.routes["/liver-disorders/bupa.data"] = bupa_like()
    for _ in range(2):
        assert "results may differ" in datasets.load("bupa").differs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BUPA, r"shape \(4, 5\), expected \(345, 5\)"),
        (b"<html>moved</html>", "is not in the format expected of it"),
        (b"", "the file is empty"),
        (bupa_like().replace(b"85,", b"9999,", 1), "values from .* to 9999, expected 4 to 297"),
        (bupa_like().replace(b"85,", b"?,", 1), "missing cells 1, expected 0"),
        (bupa_like() + b"1,2\n", "is not in the format expected of it"),
    ],
)
def test_what_is_no_such_set_is_refused(world, cache, content, message):
    world.routes["/liver-disorders/bupa.data"] = content
    with pytest.raises(InputError, match=message):
        datasets.load("bupa")
    assert not cache.exists()


@pytest.mark.parametrize("answer", [truncated(BUPA), status(404), status(503), slow(BUPA, 1)])
def test_a_failed_download_leaves_nothing(world, cache, answer, monkeypatch):
    monkeypatch.setattr(fetch, "LIMITS", fetch.FetchLimits(timeout=0.2, attempts=2, pause=0.01))
    world.routes["/liver-disorders/bupa.data"] = answer
    with pytest.raises(InputError, match="the data set bupa is not at hand"):
        datasets.load("bupa")
    assert not cache.exists()


def test_a_changed_file_with_a_known_digest(world, reference):
    serve(world, reference, "heart")
    path = "/heart-disease/processed.cleveland.data"
    world.routes[path] = world.routes[path].replace(b"63.0,", b"64.0,", 1)
    with pytest.raises(InputError, match=r"expected a74b7efa387b.*it was changed or damaged"):
        datasets.load("heart")


def test_one_failed_file_of_four_leaves_nothing(world, reference, cache):
    serve(world, reference, "dexter")
    del world.routes["/dexter/dexter_valid.labels"]
    with pytest.raises(InputError, match=r"dexter_valid\.labels: HTTP status 404"):
        datasets.load("dexter")
    assert not cache.exists()


def test_offline_says_what_to_do(cache):
    with pytest.raises(InputError) as caught:
        datasets.load("thyroid")
    message = str(caught.value)
    assert "ann-train.data: [Errno" in message
    assert "refused" in message
    assert f"looked into {cache}" in message
    assert f"put thyroid.npz (sha256 {registry.ENTRIES['thyroid'].sha256})" in message
    assert f"put them into {cache / 'thyroid'}" in message


def test_raw_files_put_there_by_hand(world, reference, cache, tmp_path):
    at_hand = serve(world, reference, "thyroid")
    for folder in (cache, tmp_path / "mine"):
        (folder / "thyroid").mkdir(parents=True)
        for path, content in world.routes.items():
            (folder / "thyroid" / path.rsplit("/", 1)[-1]).write_bytes(content)
    assert_same(datasets.load("thyroid"), at_hand)
    assert_same(datasets.load("thyroid", data_dir=tmp_path / "mine"), at_hand)
    assert world.requests == []
    (tmp_path / "mine" / "thyroid" / "ann-test.data").write_bytes(b"0.5 1\n")
    with pytest.raises(InputError, match=r"ann-test\.data is damaged or another version"):
        datasets.load("thyroid", data_dir=tmp_path / "mine")


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-1500] + b"\0" * 99 + b[-1401:]]
)
def test_a_damaged_download_in_the_cache_is_fetched_again(world, cache, tmp_path, damage):
    world.routes["/liver-disorders/bupa.data"] = bupa_like()
    first = datasets.load("bupa")
    path = cache / "bupa.fetched.npz"
    good = path.read_bytes()
    path.write_bytes(damage(good))
    np.testing.assert_array_equal(datasets.load("bupa").X, first.X)
    assert path.read_bytes() == good
    assert len(world.requests) == 2
    (tmp_path / "bupa.fetched.npz").write_bytes(damage(good))
    with pytest.raises(InputError, match=r"is damaged .* remove it"):
        datasets.load("bupa", data_dir=tmp_path)


def test_a_cache_that_cannot_be_written(world, tmp_path, monkeypatch):
    world.routes["/liver-disorders/bupa.data"] = bupa_like()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ETANA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="set ETANA_CACHE to a folder that can be written to"):
        datasets.load("bupa")


def test_threads_that_download_at_once(world, cache):
    world.routes["/liver-disorders/bupa.data"] = slow(bupa_like(), 0.02, 5)
    found = []
    threads = [threading.Thread(target=lambda: found.append(datasets.load("bupa").X)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all((found[0] == X).all() for X in found)
    assert os.listdir(cache) == ["bupa.fetched.npz"]


PROGRAM = """
import sys
from etana import datasets
from etana.datasets import registry
registry.BASES["uci"] = sys.argv[1]
print(datasets.load("bupa").X.sum())
"""


def start_program(url):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, url], stdout=subprocess.PIPE, text=True)


def test_processes_that_download_at_once(world, cache):
    world.routes["/liver-disorders/bupa.data"] = slow(bupa_like(), 0.05, 5)
    programs = [start_program(world.url) for _ in range(2)]
    printed = [program.communicate(timeout=60)[0] for program in programs]
    assert [float(text) for text in printed] == [datasets.load("bupa").X.sum()] * 2
    assert os.listdir(cache) == ["bupa.fetched.npz"]


def test_a_download_that_is_killed_leaves_nothing(world, cache):
    started = threading.Event()

    def endless(request):
        started.set()
        slow(bupa_like(), 0.2, 1000)(request)

    world.routes["/liver-disorders/bupa.data"] = endless
    program = start_program(world.url)
    assert started.wait(60)
    program.kill()
    program.communicate()
    assert not cache.exists()
    world.routes["/liver-disorders/bupa.data"] = whole(bupa_like())
    assert datasets.load("bupa").X.shape == (345, 5)


def test_every_origin_has_a_reader_and_an_address():
    origins = [entry.origin for entry in registry.ENTRIES.values() if entry.origin is not None]
    assert len(origins) == 12
    for origin in origins:
        if isinstance(origin.published, registry.OpenML):
            continue
        assert origin.parser in parsers.PARSERS
        assert all(raw.url.startswith("http") for raw in origin.published)


def test_a_mirror_that_is_down_does_not_stop_a_download(world, monkeypatch):
    monkeypatch.setenv("ETANA_MIRROR", closed_address())
    world.routes["/liver-disorders/bupa.data"] = bupa_like()
    assert datasets.load("bupa").X.shape == (345, 5)


# Real first lines of the published files


def test_lines_of_cleveland():
    raw = (
        b"63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n"
        b"53.0,0.0,3.0,128.0,216.0,0.0,2.0,115.0,0.0,0.0,1.0,0.0,?,0\n"
        b"67.0,1.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,3.0,3.0,2\n"
    )
    parts = parsers.parse("heart", [raw], "cleveland")
    assert parts.y.tolist() == [0, 0, 1]
    assert parts.X[0, :4].tolist() == [63, 1, 1, 145]
    assert parts.X[0, 9] == np.float32(2.3)
    assert np.argwhere(np.isnan(parts.X)).tolist() == [[1, 12]]


def test_lines_of_hepatitis():
    raw = b"2,30,2,1,2,2,2,2,1,2,2,2,2,2,1.00,85,18,4.0,?,1\n1,51,1,1,2,1,2,1,2,2,1,1,2,2,?,?,?,?,?,1\n"
    parts = parsers.parse("hepatitis", [raw], "hepatitis")
    assert parts.y.tolist() == [1, 0]
    assert parts.X[0, :3].tolist() == [30, 2, 1]
    assert int(np.isnan(parts.X).sum()) == 6


def test_lines_of_bupa():
    parts = parsers.parse("bupa", [BUPA + b"92,70,24,13,26,3.0,1\n"], "bupa")
    assert parts.X[0].tolist() == [85, 92, 45, 27, 31]
    assert parts.y.tolist() == [0, 0, 0, 0, 1]


def test_lines_of_dexter():
    data = b"10:105 39:85 431:122 \n\n"
    parts = parsers.parse("dexter", [data, b"1\n-1\n", data, b"-1\n1\n"], "dexter")
    assert parts.X.shape == (2, 20000)
    assert parts.X[[0]].indices.tolist() == [9, 38, 430]
    assert parts.y.tolist() == [1, 0]
    assert parts.y_test.tolist() == [0, 1]
