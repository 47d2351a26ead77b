"""Lazy classification against the one-machine walk."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

import etana
import etana.distributed as distributed
from etana.errors import InputError
from etana.modelfile import load_model


@pytest.fixture(scope="module")
def array():
    X, y = load_breast_cancer(return_X_y=True)
    return etana.ETANAClassifier(feature_costs=0.005).fit(X[::2], y[::2]), X


@pytest.fixture(scope="module")
def frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X["text"] = np.where(X["alcohol"] > 13, "strong", "weak")
    return etana.ETANAClassifier(feature_costs=0.005).fit(X, y.map({0: "a", 1: "b", 2: "c"})), X


def same_walk(lazy, walk):
    labels, asked, costs, beliefs = dask.compute(lazy.labels, lazy.n_features, lazy.costs, lazy.posteriors)
    assert (labels == walk.labels).all()
    assert (asked == walk.n_features).all()
    assert costs.tobytes() == walk.costs.tobytes()
    assert beliefs.tobytes() == walk.posteriors.tobytes()


@pytest.mark.parametrize("max_cost", [None, 0.012])
def test_arrays(array, max_cost):
    clf, X = array
    lazy = distributed.acquire(clf, da.from_array(X, chunks=(100, -1)), max_cost)
    assert lazy.posteriors.shape == (569, 2)
    assert lazy.labels.dtype == clf.classes_.dtype
    same_walk(lazy, clf.acquire(X, max_cost))


def test_sparse_chunks(array):
    clf, X = array
    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(sp.csr_matrix)
    same_walk(distributed.acquire(clf, lazy), clf.acquire(sp.csr_matrix(X)))


def test_unknown_chunks(array):
    clf, X = array
    lazy = da.from_array(X, chunks=(100, -1))
    same_walk(distributed.acquire(clf, lazy[lazy[:, 0] > 12]), clf.acquire(X[X[:, 0] > 12]))


def test_frames(frame):
    clf, X = frame
    X = X.set_index(pd.Index(np.arange(len(X)) * 3 + 1))
    lazy = dd.from_pandas(X, npartitions=5)
    table, walk = distributed.acquire(clf, lazy), clf.acquire(X)
    out = table.compute()
    assert list(out.columns) == list(table.columns) == ["label", "p_a", "p_b", "p_c", "n_features", "cost"]
    assert (out.dtypes == table.dtypes).all()
    assert (out.index == X.index).all()
    assert (out["label"].to_numpy() == walk.labels).all()
    assert (out["n_features"].to_numpy() == walk.n_features).all()
    assert out["cost"].to_numpy().tobytes() == walk.costs.tobytes()
    assert (out[["p_a", "p_b", "p_c"]].to_numpy() == walk.posteriors).all()
    assert (distributed.predict(clf, lazy).compute().to_numpy() == walk.labels).all()
    assert (distributed.predict_proba(clf, lazy).compute().to_numpy() == walk.posteriors).all()


def test_blocks_and_a_model_from_a_file(array, tmp_path):
    clf, X = array
    etana.save(clf, tmp_path / "m.etana")
    model = load_model(tmp_path / "m.etana")
    blocks = [dask.delayed(X[:300]), X[300:]]
    (first, second) = dask.compute(*distributed.acquire(model, blocks))
    assert (np.concatenate([first.labels, second.labels]) == clf.predict(X)).all()
    assert (np.concatenate(dask.compute(*distributed.predict(clf, blocks))) == clf.predict(X)).all()
    assert (np.concatenate(dask.compute(*distributed.predict_proba(clf, blocks))) == clf.predict_proba(X)).all()
    same_walk(distributed.acquire(model, da.from_array(X, chunks=(200, -1))), clf.acquire(X))


def test_nothing_is_computed_and_errors_come_at_once(array, frame):
    def never():
        raise AssertionError("a part was read")

    clf, X = array
    lazy = da.from_delayed(dask.delayed(never)(), shape=X.shape, dtype=float)
    assert distributed.predict(clf, lazy).shape == (569,)
    assert distributed.predict_proba(clf, lazy).shape == (569, 2)
    with pytest.raises(ValueError, match="features"):
        distributed.predict(clf, lazy[:, :5])
    with pytest.raises(InputError, match="max_cost"):
        distributed.acquire(clf, lazy, max_cost=-1)
    with pytest.raises(InputError, match="rechunk"):
        distributed.predict(clf, da.from_array(X, chunks=(100, 10)))
    with pytest.raises(InputError, match=r"call clf\.acquire"):
        distributed.predict(clf, X)
    named, table = frame
    with pytest.raises(ValueError, match="feature names"):
        distributed.predict(named, dd.from_pandas(table.rename(columns={"alcohol": "spirit"}), npartitions=2))
