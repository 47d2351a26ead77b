"""Classify lazily, partition by partition, with a classifier that was fitted anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.distributed.blocks import _kind
from etana.distributed.merging import dask
from etana.errors import InputError
from etana.table import plain_value

__all__ = ["LazyAcquisition", "acquire", "predict", "predict_proba"]


@dataclass(frozen=True)
class LazyAcquisition:
    """What :class:`etana.Acquisition` holds, as Dask arrays; ``dask.compute`` of several walks each row once."""

    labels: Any
    n_features: Any
    costs: Any
    posteriors: Any


def acquire(clf: Any, X: Any, max_cost: float | None = None) -> Any:
    """Classify, asking of each row only the features that pay; nothing is computed yet.

    Parameters
    ----------
    clf : a fitted classifier of etana, or a model from ``etana.modelfile.load_model``
    X : Dask array, Dask data frame, or list of blocks
        Blocks are tables without labels, delayed or at hand.
    max_cost : float, optional
        No instance is charged more than this for its features.

    Returns
    -------
    LazyAcquisition for an array; for a data frame one with columns ``label``, ``p_`` and the class, ``n_features`` and
    ``cost``; for blocks a list of delayed :class:`etana.Acquisition`

    Examples
    --------
    >>> import dask.array as da, etana
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = etana.ETANAClassifier().fit(X, y)
    >>> walk = etana.distributed.acquire(clf, da.from_array(X, chunks=(50, -1)))
    >>> walk.n_features
    dask.array<concatenate, shape=(178,), dtype=int64, chunksize=(50,), chunktype=numpy.ndarray>
    >>> bool((walk.labels.compute() == clf.predict(X)).all())
    True
    """
    kind = _kind(X)
    if kind == "array":
        return _acquire_array(clf, X, max_cost)
    if kind == "frame":
        meta = _walk_frame(X._meta, clf, max_cost)
        return X.map_partitions(_walk_frame, _lazy(clf), max_cost, meta=meta)
    if not isinstance(X, list | tuple):
        raise InputError(
            f"X is of type {type(X).__name__}; it must be a Dask array or data frame, or a list of blocks; "
            "for a table in memory call clf.acquire(X)"
        )
    model = _lazy(clf)
    return [dask().delayed(_walk, pure=False)(model, block, max_cost) for block in X]


def predict(clf: Any, X: Any) -> Any:
    """Decided classes, lazily: an array, a series, or a list of delayed arrays, after what X is."""
    walk = acquire(clf, X)
    if isinstance(walk, list):
        return [w.labels for w in walk]
    return walk.labels if isinstance(walk, LazyAcquisition) else walk["label"]


def predict_proba(clf: Any, X: Any) -> Any:
    """Beliefs at the stop, lazily: an array, a frame with a column for each class, or a list of delayed arrays."""
    walk = acquire(clf, X)
    if isinstance(walk, list):
        return [w.posteriors for w in walk]
    return walk.posteriors if isinstance(walk, LazyAcquisition) else walk[_belief_names(clf)]


def _lazy(clf: Any) -> Any:
    """The model, without what only a new fit needs, in the graph once."""
    return dask().delayed(getattr(clf, "model_", clf), pure=False, traverse=False)


def _classes(clf: Any) -> np.ndarray:
    return clf.classes_ if hasattr(clf, "classes_") else clf.classes


def _belief_names(clf: Any) -> list[str]:
    return [f"p_{plain_value(c)}" for c in _classes(clf)]


def _walk(model: Any, X: Any, max_cost: float | None) -> Any:
    return model.acquire(X, max_cost)


def _walk_frame(X: Any, clf: Any, max_cost: float | None) -> Any:
    """A partition's walk as a frame with the partition's index."""
    import pandas as pd

    walk = clf.acquire(X, max_cost)
    beliefs = pd.DataFrame(walk.posteriors, columns=_belief_names(clf), index=X.index)
    # The type that all classes have together; a partition's own labels, or none, might suggest another.
    beliefs.insert(0, "label", pd.Series(walk.labels, index=X.index, dtype=pd.Series(_classes(clf)).dtype))
    return beliefs.assign(n_features=walk.n_features, cost=walk.costs)


def _acquire_array(clf: Any, X: Any, max_cost: float | None) -> LazyAcquisition:
    import dask.array as da

    if X.ndim != 2 or len(X.chunks[1]) != 1:
        raise InputError(
            f"X is a Dask array with chunks {X.chunks}; it must have two dimensions and whole rows in each chunk: "
            "X.rechunk({1: -1})"
        )
    clf.acquire(np.empty((0, X.shape[1])), max_cost)  # what is wrong with it is found now, not on a worker
    model, classes = _lazy(clf), _classes(clf)
    walks = [dask().delayed(_walk, pure=False)(model, block, max_cost) for block in X.to_delayed().ravel()]

    def column(name: str, dtype: Any, *width: int) -> Any:
        pieces = zip(walks, X.chunks[0], strict=True)
        return da.concatenate(
            [da.from_delayed(getattr(walk, name), shape=(rows, *width), dtype=dtype) for walk, rows in pieces],
            allow_unknown_chunksizes=True,
        )

    return LazyAcquisition(
        column("labels", classes.dtype),
        column("n_features", np.dtype(np.int64)),
        column("costs", np.dtype(np.float64)),
        column("posteriors", np.dtype(np.float64), classes.size),
    )
