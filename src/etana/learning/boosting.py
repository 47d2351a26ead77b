"""Boosted trees for all prefixes of an order at once: scikit-learn's histogram boosting on rows that are partly hidden.

Each training row is shown several times, each time with its first so many features and the others hidden. How many is
drawn so that short prefixes, where most rows stop, are seen as often as long ones (log-uniform). Two forests are grown,
of small trees and of larger ones, and what they say is averaged: together they are one forest. What was learnt is
taken out of scikit-learn's trees into plain arrays (:class:`etana.kernels.trees.Trees`): they are fast for a single
row, and need neither scikit-learn nor a pickle in a model file.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from etana.beliefs.prefixes.boosting import Boosted
from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import shares_of
from etana.kernels.trees import Trees

__all__ = ["fit_boosted"]

_SHOWN = 4  # times that a row is shown
_MOST_SHOWN = 24_000  # rows in all, if each is shown at least once
_GOLDEN = 0.6180339887498949
_MOST_TREES = 600  # of many rounds; with many classes each round has as many trees


class Growth(NamedTuple):
    """How trees are grown."""

    rounds: int
    leaves: int
    shrinkage: float


_SMALL = Growth(60, 8, 1.0)
# Their sums are averaged. A few thresholds that matter, or a rare class, are best told by small trees; features that
# act together by many larger ones, whose leaves add less.
_FORESTS = (_SMALL, Growth(120, 16, 5.0))
_NONE = np.empty(0, np.int32)
_NO_TREES = Trees(_NONE, np.empty(0), _NONE, _NONE, _NONE, _NONE, _NONE)


def fit_boosted(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray
) -> Boosted:
    """Of training values (n, K) in the order of acquisition."""
    prior = shares_of(codes, n_classes, weights)
    classes = np.flatnonzero(prior > 0)
    if not features or classes.size < 2:
        return Boosted(features, _NO_TREES, np.zeros(1), classes[:1], prior)
    columns, ends = _columns(features, values)
    counted = np.flatnonzero(weights > 0)
    rows, shown = _partly_hidden(columns[counted], ends)
    shown = counted[shown]
    models = [_fit(growth, rows, codes[shown], weights[shown]) for growth in _FORESTS]
    base = np.array([np.ravel(model._baseline_prediction) for model in models], dtype=np.float64).mean(axis=0)
    return Boosted(features, _averaged_trees(models), base, classes, prior)


def gains_of_trees(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray
) -> np.ndarray:
    """How much boosted trees gain by each feature, all of them known, (K,)."""
    counted = np.flatnonzero(weights > 0)
    if np.unique(codes[counted]).size < 2:
        return np.zeros(len(features))
    columns, ends = _columns(features, values)
    model = _fit(_SMALL, columns[counted], codes[counted], weights[counted])
    nodes = np.concatenate([tree.nodes for several in model._predictors for tree in several])
    nodes = nodes[~nodes["is_leaf"].astype(bool)]
    owners = np.searchsorted(ends, nodes["feature_idx"], side="right")
    return np.bincount(owners, nodes["gain"], minlength=len(features))


def _columns(features: list[Feature], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What trees see of the values, and behind which column each feature ends."""
    blocks = [f.raw(values[:, k], keep_missing=True) for k, f in enumerate(features)]
    return np.concatenate(blocks, axis=1), np.cumsum([block.shape[1] for block in blocks])


def _fit(growth: Growth, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Any:
    """Scikit-learn's trees; a column without any value is filled in place."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Of few rows none may show the last features, and scikit-learn cannot cut a column without a value into bins.
    rows[:, np.isnan(rows).all(axis=0)] = 0.0
    n_classes = np.unique(codes).size
    model = HistGradientBoostingClassifier(
        max_iter=min(growth.rounds, max(_SMALL.rounds, _MOST_TREES // n_classes)), max_leaf_nodes=growth.leaves,
        l2_regularization=growth.shrinkage, learning_rate=0.1, early_stopping=False,
    )  # fmt: skip
    # Trees this small gain nothing from threads, which wait for each other at every split of a busy machine.
    with _libraries().limit(limits=1, user_api="openmp"):
        return model.fit(rows, codes, sample_weight=None if (weights == weights[0]).all() else weights)


@cache
def _libraries() -> Any:
    """Libraries with threads of their own, scikit-learn's among them; to look for them takes milliseconds."""
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _partly_hidden(rows: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with some of their last features hidden, and which rows these were."""
    n, n_features = len(rows), ends.size
    times = max(min(_SHOWN, n_features, _MOST_SHOWN // n), 1)
    shown = np.repeat(np.arange(n), times)
    # Evenly spread between 0 and 1, for each row and over the rows.
    spread = (np.tile(np.arange(times) / times, n) + np.repeat(_GOLDEN * np.arange(n), times)) % 1.0
    lengths = np.minimum(np.exp(spread * np.log(n_features + 1)).astype(np.int64), n_features)
    out = rows[shown]
    out[np.arange(rows.shape[1]) >= ends[lengths - 1][:, None]] = np.nan
    return out, shown


def _averaged_trees(models: list[Any]) -> Trees:
    """The trees of fitted models, one after another, whose sums are the means of the models' sums."""
    # Each round has one tree for each sum.
    rounds = [several for model in models for several in model._predictors]
    trees = [(output, tree.nodes) for several in rounds for output, tree in enumerate(several)]
    sizes = np.array([nodes.size for _, nodes in trees])
    roots = np.cumsum(sizes) - sizes
    every = np.concatenate([nodes for _, nodes in trees])
    shift = np.repeat(roots, sizes)
    leaf = every["is_leaf"].astype(bool)
    lefts, rights = every["left"] + shift, every["right"] + shift
    missing = np.where(every["missing_go_to_left"].astype(bool), lefts, rights)
    outputs = np.array([output for output, _ in trees], dtype=np.int32)
    lefts, rights, missing, roots = (index.astype(np.int32) for index in (lefts, rights, missing, roots))
    columns = np.where(leaf, -1, every["feature_idx"]).astype(np.int32)
    values = np.where(leaf, every["value"] / len(models), every["num_threshold"])
    return Trees(columns, values, lefts, rights, missing, roots, outputs)
