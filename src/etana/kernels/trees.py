"""Sums over boosted trees.

All trees lie in one array of nodes. A row goes left at a node where its value is at most the threshold, right where it
is greater, and where a training row without this value would have gone if it has none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear, copy

__all__ = ["Forest", "Trees", "tree_posterior", "tree_posteriors"]


class Trees(NamedTuple):
    """Trees, one after another.

    Attributes
    ----------
    columns : int32 (nodes,)
        Column that a node looks at; -1 for a leaf.
    thresholds : float64 (nodes,)
        Of a leaf, what it adds.
    lefts, rights, missing : int32 (nodes,)
        Nodes that come next: for a value up to the threshold, above it, and for none.
    roots, outputs : int32 (trees,)
        First node of each tree, and which sum it adds to.
    """

    columns: np.ndarray
    thresholds: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    missing: np.ndarray
    roots: np.ndarray
    outputs: np.ndarray


class Forest(NamedTuple):
    """Trees as a classifier.

    Attributes
    ----------
    trees : Trees
    base : float64 (outputs,)
        What sums begin with: one for each class that the trees know, or a single one for two classes.
    classes : int64 (C,)
        Classes that the trees know, sorted.
    """

    trees: Trees
    base: np.ndarray
    classes: np.ndarray


@njit(nogil=True, cache=True)
def _leaf(row, root, trees):
    """What the tree that begins at a node says of a row (columns,)."""
    node = root
    column = trees.columns[node]
    while column >= 0:
        value = row[column]
        if np.isnan(value):
            node = trees.missing[node]
        elif value <= trees.thresholds[node]:
            node = trees.lefts[node]
        else:
            node = trees.rights[node]
        column = trees.columns[node]
    return trees.thresholds[node]


@njit(nogil=True, cache=True)
def _as_posterior(sums, classes, prior, out):
    """Posterior (N,) by sums over trees; a class that no training row had has none."""
    if classes.size < 2:
        copy(prior, out)
        return
    clear(out)
    for c in range(classes.size):
        # A single sum is that of the second class; that of the first is 0.
        out[classes[c]] = sums[c] if sums.size > 1 else c * sums[0]
    most, total = -np.inf, 0.0
    for c in range(classes.size):
        most = max(most, out[classes[c]])
    for c in range(classes.size):
        out[classes[c]] = np.exp(out[classes[c]] - most)
        total += out[classes[c]]
    for c in range(classes.size):
        out[classes[c]] /= total


@njit(nogil=True, cache=True)
def tree_posterior(row, forest, prior, sums, out):
    """Posterior (N,) of a row (columns,), NaN where nothing is known; ``sums`` (outputs,) is scratch."""
    trees, base, classes = forest
    copy(base, sums)
    for t in range(trees.roots.size):
        sums[trees.outputs[t]] += _leaf(row, trees.roots[t], trees)
    _as_posterior(sums, classes, prior, out)


@njit(nogil=True, cache=True)
def tree_posteriors(rows, forest, prior, out):
    """The same of rows (n, columns)."""
    trees, base, classes = forest
    sums = np.empty((rows.shape[0], base.size))
    for i in range(rows.shape[0]):
        copy(base, sums[i])
    # Tree by tree: one that is at hand serves all rows.
    for t in range(trees.roots.size):
        root, output = trees.roots[t], trees.outputs[t]
        for i in range(rows.shape[0]):
            sums[i, output] += _leaf(rows[i], root, trees)
    for i in range(rows.shape[0]):
        _as_posterior(sums[i], classes, prior, out[i])
