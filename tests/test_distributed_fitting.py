"""Fits on parts against the one-machine fit: the same model file, byte for byte."""

from __future__ import annotations

import sys
import warnings
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

import etana
import etana.distributed as distributed
from etana import Binner, ETANAClassifier, FETANAClassifier
from etana.distributed.merging import FAN_IN, reduce_parts, reduce_stream
from etana.distributed.sketch import automatic_size
from etana.distributed.summary import MixedColumnsError
from etana.errors import CostError, IdentifierWarning, InputError

METHODS = ("uniform", "published", "quantile", "supervised")


@pytest.fixture(scope="module")
def holed():
    """Numbers with missing ones, infinities and zeros among them."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :12].copy()
    X[::7, 0], X[5, 1], X[6, 1], X[:, 2], X[::2, 3] = np.nan, np.inf, -np.inf, np.nan, 0.0
    return X, y


@pytest.fixture(scope="module")
def frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4].copy()
    X["text"] = np.where(X["alcohol"] > 13, "strong", "weak")
    X["kind"] = pd.Categorical(np.where(X["ash"] > 2, "q", "r"), categories=["r", "q", "never"])
    X["flag"] = X["ash"] > 2.4
    X.loc[::5, ["text", "kind", "alcohol"]] = None
    X.loc[:60, "text"] = None  # nothing but missing values in the first parts
    return X, y.map({0: "zero", 1: "o", 2: "two and more"})


def cut(X, y, n, *more):
    return [(X[r], y[r], *(m[r] for m in more)) for r in np.array_split(np.arange(len(y)), n)]


@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("binning", METHODS)
def test_dask_arrays_give_the_one_machine_fit(holed, binning, missing, same_model):
    X, y = holed
    clf = ETANAClassifier(temperature=1.0, binning=binning, missing=missing)
    lazy = da.from_array(X, chunks=(97, -1))
    made = distributed.fit(clf, lazy, da.from_array(y, chunks=50))
    assert not hasattr(clf, "counts_")
    same_model(made, ETANAClassifier(temperature=1.0, binning=binning, missing=missing).fit(X, y))


@pytest.mark.parametrize("binning", METHODS)
def test_sparse_blocks_give_the_one_machine_fit(holed, binning, same_model):
    X, y = holed
    clf = ETANAClassifier(temperature=1.0, binning=binning, missing="bin")
    blocks = [dask.delayed((sp.csr_matrix(a), b)) for a, b in cut(X, y, 6)]
    same_model(distributed.fit(clf, blocks), clf.fit(sp.csr_matrix(X), y))


@pytest.mark.parametrize("missing", ["skip", "bin"])
@pytest.mark.parametrize("binning", ["uniform", "supervised"])
def test_frames_with_text_and_categories(frame, binning, missing, same_model):
    X, y = frame
    clf = ETANAClassifier(
        temperature=1.0, binning=binning, missing=missing, feature_costs=dict.fromkeys(X.columns, 0.02)
    )
    whole = dd.from_pandas(X.assign(target=y), npartitions=7)
    expected = ETANAClassifier(temperature=1.0, binning=binning, missing=missing, feature_costs=clf.feature_costs).fit(
        X, y
    )
    same_model(distributed.fit(clf, whole, "target"), expected)
    same_model(distributed.fit(clf, whole.drop(columns="target"), whole["target"]), expected)


def test_the_other_classifier(frame, same_model):
    X, y = frame
    clf = FETANAClassifier(temperature=1.0, max_iterations=50, random_state=3)
    blocks = [(X[i : i + 40], y[i : i + 40]) for i in range(0, len(X), 40)]
    same_model(distributed.fit(clf, blocks), clf.fit(X, y))


def test_given_bins_need_one_pass(holed, same_model):
    """Each block is read once if bins and classes are known, twice if classes are not."""
    X, y = holed
    edges = [np.quantile(c[np.isfinite(c)], [0.3, 0.6]) if np.isfinite(c).any() else [] for c in np.abs(X.T) + 1]
    bins = Binner.from_edges([np.unique(e) for e in edges], missing="bin")
    reads = []

    def block(rows):
        return lambda: (reads.append(1), (X[rows], y[rows]))[1]

    blocks = [block(r) for r in np.array_split(np.arange(len(y)), 5)]
    expected = ETANAClassifier(temperature=1.0, binning=bins).fit(X, y)
    same_model(distributed.fit(ETANAClassifier(temperature=1.0, binning=bins), blocks, classes=[1, 0]), expected)
    assert len(reads) == 5
    same_model(distributed.fit(ETANAClassifier(temperature=1.0, binning=bins), blocks), expected)
    assert len(reads) == 15


@pytest.mark.parametrize("binning", ["quantile", "supervised"])
def test_few_values_give_the_one_machine_bins_whatever_the_parts(binning, same_model):
    """1,000 different values fit into the sketch, 18,000 rows into the sample of the one-machine fit."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 18_000)
    X = np.round(np.clip(rng.normal(y[:, None] * 0.4, 1, (18_000, 4)), -4.9, 4.9), 2)
    expected = ETANAClassifier(temperature=1.0, binning=binning).fit(X, y)
    for n in (3, 17):
        same_model(distributed.fit(ETANAClassifier(temperature=1.0, binning=binning), cut(X, y, n)), expected)


def test_a_small_sketch_gives_nearly_the_same_quantiles():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    made = distributed.fit(
        ETANAClassifier(temperature=1.0, binning="quantile", n_bins=10), cut(X, y, 16), sketch_size=200
    )
    edges = made.binner_.edges.reshape(2, -1)
    shares = np.array([[(X[:, k] < e).mean() for e in edges[k]] for k in range(2)])
    # Two levels of merges: 3 / 200, and the cut lies within a step of 1 / 200 of its neighbour.
    np.testing.assert_allclose(shares, np.tile(np.arange(1, 10) / 10, (2, 1)), atol=4 / 200)
    assert (made.counts_.cells == ETANAClassifier(temperature=1.0, binning=made.binner_).fit(X, y).counts_.cells).all()


def test_whole_weights_are_repeated_rows(holed, same_model):
    X, y = holed
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    made = distributed.fit(
        ETANAClassifier(temperature=1.0), da.from_array(X, chunks=(100, -1)), y, sample_weight=weights
    )
    same_model(made, ETANAClassifier(temperature=1.0).fit(X, y, sample_weight=weights))


def test_fractions_depend_on_the_parts_alone(holed):
    """In threads, which finish in any order, and one after the other: the same bits."""
    X, y = holed
    weights = np.random.default_rng(0).random(len(y))
    here = distributed.fit(ETANAClassifier(temperature=1.0), cut(X, y, 23, weights))
    for _ in range(2):
        lazy = distributed.fit(ETANAClassifier(temperature=1.0), [dask.delayed(b) for b in cut(X, y, 23, weights)])
        assert lazy.counts_.cells.tobytes() == here.counts_.cells.tobytes()
        assert lazy.binner_.edges.tobytes() == here.binner_.edges.tobytes()
    whole = ETANAClassifier(temperature=1.0, binning=here.binner_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(here.counts_.cells, whole.counts_.cells, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 16, 17, 21, 64, 70])
def test_the_tree_has_one_shape(n):
    """Nested lists show who was merged with whom; no merge takes more than four."""
    parts = list(range(n))

    def merge(group):
        assert 1 < len(group) <= FAN_IN
        return list(group)

    here = reduce_stream(iter(parts), merge)
    assert reduce_parts(lambda part, _: part, parts, None, merge, lazy=True) == here
    flat = str(here).replace("[", "").replace("]", "").split(",")
    assert [int(x) for x in flat] == parts


def test_empty_parts_and_rare_classes(frame, same_model):
    X, y = frame
    lazy = dd.from_pandas(X.assign(target=y), npartitions=6)
    kept = lazy[lazy["alcohol"] > 14]
    chosen = X["alcohol"] > 14
    assert min(kept.map_partitions(len).compute()) == 0
    same_model(
        distributed.fit(ETANAClassifier(temperature=1.0), kept, "target"),
        ETANAClassifier(temperature=1.0).fit(X[chosen], y[chosen]),
    )


def test_arrays_with_unknown_chunks(holed, same_model):
    X, y = holed
    lazy, labels = da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=90)
    keep = labels >= 0
    made = distributed.fit(ETANAClassifier(temperature=1.0), lazy[keep], labels[keep])
    same_model(made, ETANAClassifier(temperature=1.0).fit(X, y))


def test_nothing_of_dask_is_needed_for_blocks_at_hand(holed, monkeypatch):
    X, y = holed
    monkeypatch.setitem(sys.modules, "dask", None)
    clf = distributed.fit(ETANAClassifier(temperature=1.0), cut(X, y, 3))
    with pytest.raises(ImportError, match=r"pip install 'etana\[dask\]'"):
        distributed.predict(clf, [X])


WRONG = [
    (lambda X, y: (ETANAClassifier(temperature=1.0), X, y), "list of blocks"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), (b for b in [(X, y)])), "a generator will not do"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), []), "empty"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), [(X, y)], y), "bring their own labels"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), [(X,)]), "must be \\(X, y\\)"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), [(X, y[1:])]), "one label per row"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), [(X[:0], y[:0])]), "no rows"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), [(X, y), (X[:, 1:], y)]), "the same columns"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), da.from_array(X, chunks=(100, 3)), y), r"rechunk\(\{1: -1\}\)"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), da.from_array(X, chunks=(100, -1))), "y is None"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), da.from_array(X, chunks=(100, -1)), y[1:]), "one per row"),
    (lambda X, y: (ETANAClassifier(temperature=1.0), da.from_array(y, chunks=100), y), "must have 2"),
    (
        lambda X, y: (ETANAClassifier(temperature=1.0), dd.from_pandas(pd.DataFrame(X), npartitions=3), y),
        "same partitions",
    ),
    (
        lambda X, y: (ETANAClassifier(temperature=1.0), dd.from_pandas(pd.DataFrame(X), npartitions=3), "target"),
        "no such column",
    ),
    (lambda X, y: (ETANAClassifier(temperature=1.0, binning=Binner()), [(X, y)]), "was not fitted"),
    (lambda X, y: (ETANAClassifier(temperature=1.0, binning="kmeans"), [(X, y)]), "binning is 'kmeans'"),
    (lambda X, y: (ETANAClassifier(temperature=1.0, missing="drop"), [(X, y)]), "missing is 'drop'"),
    (
        lambda X, y: (ETANAClassifier(temperature=1.0, binning=Binner.from_edges([[0.0]])), [(X, y)]),
        "bins for 1 columns",
    ),
    (lambda X, y: (etana.Binner(), [(X, y)]), "must be an ETANAClassifier"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_errors_say_what_to_do(holed, make, message):
    with pytest.raises(InputError, match=message):
        distributed.fit(*make(*holed))


def test_parameters_are_checked_before_any_part_is_read():
    def never():
        raise AssertionError("a part was read")

    for clf in (ETANAClassifier(temperature=1.0, n_bins=0), ETANAClassifier(temperature=1.0, binning="no")):
        with pytest.raises(InputError):
            distributed.fit(clf, [never])
    lazy = da.from_delayed(dask.delayed(never)(), shape=(5, 3), dtype=float)
    with pytest.raises(CostError):
        distributed.fit(ETANAClassifier(temperature=1.0, feature_costs=[1.0, 2.0]), lazy, np.zeros(5, dtype=int))
    with pytest.raises(InputError, match="sketch_size is 1"):
        distributed.fit(ETANAClassifier(temperature=1.0), [never], sketch_size=1)


@pytest.mark.parametrize("name", ["costs", "named", "bins", "once"])
@pytest.mark.parametrize("lazy", [False, True])
def test_what_no_column_fits_is_refused_at_the_first_block(holed, name, lazy):
    """Of blocks nothing is known before one is read; no other is."""
    X, y = holed
    given = Binner.from_edges([[0.0]] * X.shape[1])
    clf, message, classes = {
        "costs": (ETANAClassifier(feature_costs=[0.1, 0.2]), "12 features", None),
        "named": (etana.FrugalClassifier(feature_costs={"age": 0.1}), "has no names", None),
        "bins": (ETANAClassifier(binning=Binner.from_edges([[0.0]])), "bins for 1 columns", None),
        "once": (ETANAClassifier(binning=given, feature_costs=[0.1, 0.2]), "12 features", [0, 1]),
    }[name]
    reads = []

    def read(part):
        reads.append(part)
        return X[part::9], y[part::9]

    blocks = [dask.delayed(read)(part) if lazy else partial(read, part) for part in range(9)]
    with dask.config.set(scheduler="synchronous"), pytest.raises(InputError, match=message):
        distributed.fit(clf, blocks, classes=classes)
    assert len(reads) == 1


@pytest.mark.parametrize("wrong", [{"misclassification_costs": np.eye(3)}, {"priors": [0.2, 0.3, 0.5]}])
def test_what_known_classes_do_not_fit_is_refused_before_any_part_is_read(wrong):
    with pytest.raises(InputError, match=r"must be|2 classes"):
        distributed.fit(ETANAClassifier(**wrong), [lambda: pytest.fail("a part was read")], classes=[0, 1])


def test_labels_outside_the_classes(holed):
    X, y = holed
    with pytest.raises(InputError, match="label 1, which is not among"):
        distributed.fit(ETANAClassifier(temperature=1.0), [(X, y)], classes=[0, 2])


def test_columns_of_two_kinds():
    blocks = [(pd.DataFrame({"a": ["x", None], "b": [1.0, 2.0]}), [0, 1])]
    blocks.append((pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), [0, 1]))
    with pytest.raises(MixedColumnsError, match="'a' holds numbers in some parts and text in others") as caught:
        distributed.fit(ETANAClassifier(temperature=1.0), blocks)
    assert caught.value.columns == ["a"]


@pytest.mark.parametrize("binning", ["quantile", "supervised"])
def test_columns_of_thousands_of_values_have_the_bins_of_one_machine(binning):
    """As many different values as rows: a sketch holds them all where there is room."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    X = rng.normal(size=(6000, 4)) + y[:, None] * [0.0, 0.5, 1.0, 2.0]
    clf = ETANAClassifier(temperature=1.0, binning=binning, ordering="error")
    parts, whole = distributed.fit(clf, cut(X, y, 7)), clf.fit(X, y)
    assert parts.binner_.edges.tobytes() == whole.binner_.edges.tobytes()
    assert parts.counts_.cells.tobytes() == whole.counts_.cells.tobytes()
    short = distributed.fit(clf, cut(X, y, 7), sketch_size=200)
    assert short.binner_.edges.tobytes() != whole.binner_.edges.tobytes()


def test_sketches_share_the_room():
    assert [automatic_size(n) for n in (1, 209, 210, 4096, 10**6)] == [20_000, 20_000, 19_972, 1024, 1024]


def test_physionet2012_has_the_bins_of_one_machine(reference):
    """12,000 rows of 41 columns, of up to 10,599 different values."""
    z = reference.data("physionet2012")
    X, y = z["X"].astype(float), z["y"].astype(int)
    clf = ETANAClassifier(temperature=1.0, ordering="error")
    parts, whole = distributed.fit(clf, cut(X, y, 12)), clf.fit(X, y)
    assert parts.binner_.edges.tobytes() == whole.binner_.edges.tobytes()
    assert parts.acquire(X).n_features.tobytes() == whole.acquire(X).n_features.tobytes()


@pytest.mark.parametrize("n", [1, 4, 60])
def test_columns_that_number_the_rows_are_left_out(same_model, n):
    """In step with the rows, or called an id, as in a fit on all rows; not where a number comes twice."""

    def in_blocks(X, y, n):
        return [(X.iloc[rows], y.iloc[rows]) for rows in np.array_split(np.arange(len(y)), n)]

    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :3].copy()
    X["running"] = np.arange(len(X)) * 3.0
    X["falling"] = -np.arange(len(X))
    X["patient_id"] = np.random.default_rng(0).permutation(len(X))
    X["again"] = np.arange(len(X)) % 89
    clf = ETANAClassifier(ordering="information", temperature=1.0)
    with pytest.warns(IdentifierWarning, match="'running', 'falling', 'patient_id'"):
        parts = distributed.fit(clf, in_blocks(X, y, n))
    with pytest.warns(IdentifierWarning, match="'running', 'falling', 'patient_id'"):
        whole = clone(clf).fit(X, y)
    same_model(parts, whole)
    few = slice(None, None, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distributed.fit(clf, in_blocks(X[few], y[few], 3))  # fewer than twenty rows say too little
