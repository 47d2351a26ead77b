"""Columns of all shapes, for whatever puts numbers in order."""

import numpy as np

SHAPES = {
    "normal": lambda rng, m: rng.normal(size=m),
    "skewed": lambda rng, m: np.exp(4 * rng.normal(size=m)),
    "negative": lambda rng, m: -np.exp(4 * rng.normal(size=m)),
    "ties": lambda rng, m: rng.integers(-3, 4, m).astype(float),
    "one value": lambda rng, m: np.full(m, 7.0),
    "far apart": lambda rng, m: rng.normal(size=m) * 10.0 ** rng.integers(-300, 300, m),
    "infinite": lambda rng, m: rng.choice([-np.inf, -1.0, 2.0, np.inf], m),
    "tiny": lambda rng, m: rng.normal(size=m) * 1e-320,
    "one outlier": lambda rng, m: np.append(rng.normal(size=m - 1), 1e300),
}


def keys_of(values):
    """Integers in the order of floats."""
    bits = values.view(np.int64)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
