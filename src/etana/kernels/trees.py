"""Sums over boosted trees.

All trees lie in one array of nodes. A row goes left at a node where its value is at most the threshold, right where it
is greater, and where a training row without this value would have gone if it has none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit

__all__ = ["Trees", "add_trees"]


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


@njit(nogil=True, cache=True)
def add_trees(rows, trees, sums):
    """Add to sums (n, outputs) what the trees say of rows (n, columns)."""
    for t in range(trees.roots.size):
        root, output = trees.roots[t], trees.outputs[t]
        for i in range(rows.shape[0]):
            node = root
            column = trees.columns[node]
            while column >= 0:
                value = rows[i, column]
                if np.isnan(value):
                    node = trees.missing[node]
                elif value <= trees.thresholds[node]:
                    node = trees.lefts[node]
                else:
                    node = trees.rights[node]
                column = trees.columns[node]
            sums[i, output] += trees.thresholds[node]
