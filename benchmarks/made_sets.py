"""Made sets whose best policy is known: each has columns that say which other columns matter, or that differ by class.

* CUBE: 8 classes, 20 columns, all normal with mean 0.5 and deviation 0.3, but columns y, y + 1 and y + 2 have the three
  bits of the class y as means. Which columns tell depends on the class.
* CUBE-NM: one of several contexts. A column for each has mean 1 in its own context and 0 in the others, deviation 0.1;
  then follows a block of columns for each, of which that of the context is a CUBE and the others are noise.
* SWITCH 1, 2, 3: 11 standard normal columns; the sign of the last one says which of two formulas gives the log-odds
  against class 1.
"""

from __future__ import annotations

import numpy as np

__all__ = ["cube", "cube_nm", "switch"]

_MIDDLE, _DEVIATION, _SHARP = 0.5, 0.3, 0.1
_CLASSES = 8
_BITS = np.arange(3)


def cube(n: int, seed: int = 0, n_columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, n_columns) and classes (n,)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(_CLASSES, size=n)
    means = np.full((n, n_columns), _MIDDLE)
    means[np.arange(n)[:, None], y[:, None] + _BITS] = (y[:, None] >> _BITS) & 1
    return rng.normal(means, _DEVIATION), y


def cube_nm(n: int, seed: int = 0, n_contexts: int = 5, block: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, n_contexts * (1 + block)) and classes (n,)."""
    rng = np.random.default_rng(seed)
    context = rng.integers(n_contexts, size=n)
    told, y = cube(n, seed + 1, block)
    blocks = rng.normal(_MIDDLE, _DEVIATION, (n, n_contexts, block))
    blocks[np.arange(n), context] = told
    contexts = rng.normal(context[:, None] == np.arange(n_contexts), _SHARP)
    return np.concatenate([contexts, blocks.reshape(n, -1)], axis=1), y


def switch(n: int, which: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 11) and classes (n,); ``which`` is 1, 2 or 3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 11))
    product = 4 * X[:, 0] * X[:, 1]
    sphere = 1.2 * (X[:, 2:6] ** 2).sum(axis=1) - 4.2
    waves = -10 * np.sin(0.2 * X[:, 6]) + np.abs(X[:, 7]) + X[:, 8] + np.exp(-X[:, 9]) - 2.4
    negative, positive = {1: (product, sphere), 2: (product, waves), 3: (sphere, waves)}[which]
    against = np.where(X[:, 10] < 0, negative, positive)
    return X, (rng.random(n) < 1 / (1 + np.exp(against))).astype(np.int64)
