"""Intervals for a share and for a mean."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["mean_interval", "wilson"]

_Z = 1.959963984540054  # 95 %
_RESAMPLES = 2000
_BLOCK = 2**16
_MOST_RESAMPLED = 10_000


def wilson(hits: Any, n: Any) -> tuple[Any, Any]:
    """Wilson's 95 % interval for a share: ``hits`` of ``n``, numbers or arrays; n of at least 1."""
    hits, n = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    share, spread = hits / n, _Z**2 / n
    centre = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * np.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends the formula gives 0 and 1 up to rounding.
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def mean_interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % interval for a mean: bootstrap percentiles; of many rows the normal one, which is then as good."""
    n = values.size
    if n > _MOST_RESAMPLED:
        half = _Z * float(values.std(ddof=1)) / np.sqrt(n)
        return float(values.mean() - half), float(values.mean() + half)
    rng = np.random.default_rng(seed)
    # Blocks of draws: few enough numbers to stay in the cache, enough to make loops in Python rare.
    block = max(_BLOCK // n, 1)
    sizes = [min(block, _RESAMPLES - first) for first in range(0, _RESAMPLES, block)]
    means = np.concatenate([values[rng.integers(n, size=(size, n), dtype=np.int32)].mean(axis=1) for size in sizes])
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
