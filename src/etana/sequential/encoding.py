"""One feature as numbers: for distances between rows, for logistic regression, and for estimators.

For distances a numeric value becomes its rank among the training values (half way up its ties), divided by the
standard deviation of those ranks: units, skew and outliers no longer matter.  A categorical value becomes one column
per level.  Both are scaled so that the mean squared distance of two training rows is 2.  A missing value lies at the
training median, or at no level.

For logistic regression a numeric value becomes two numbers, its rank and its distance from the mean, and a categorical
one again a column per level; see :mod:`etana.sequential.linear`.

For estimators a numeric value stays as it is, infinities brought back to the training range; a missing one stays
missing if the estimator takes that, and else becomes the training median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Categories", "Feature", "Numbers", "learn_feature"]

_MOST_KNOTS = 512
_LEAST_DEVIATION = 1e-9  # of the largest value: below it all values are one


@dataclass(frozen=True)
class Numbers:
    """A numeric feature: its training values and their ranks between 0 and 1, at a few hundred knots."""

    knots: np.ndarray
    ranks: np.ndarray
    spread: float
    median: float
    mean: float
    deviation: float

    @classmethod
    def learn(cls, values: np.ndarray) -> Numbers:
        """From training values, NaN where missing."""
        present = np.sort(values[~np.isnan(values)])
        if not present.size:
            return cls(np.zeros(1), np.zeros(1), 1.0, 0.0, 0.0, 1.0)
        present = np.clip(present, *_finite_range(present))
        distinct, counts = np.unique(present, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2) / present.size
        spread = np.sqrt(max(np.average(ranks**2, weights=counts) - np.average(ranks, weights=counts) ** 2, 0.0))
        spread = float(spread) if spread > 0 else 1.0
        few = np.unique(np.linspace(0, distinct.size - 1, _MOST_KNOTS).round().astype(int))
        median = float(present[(present.size - 1) // 2])
        return cls(distinct[few], ranks[few], spread, median, *_moments(distinct, counts))

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """(n, 1) for distances."""
        known = np.where(np.isnan(values), self.median, values)
        return (self.shares(known) / self.spread).astype(np.float32)[:, None]

    def inputs(self, values: np.ndarray) -> np.ndarray:
        """(n, 2) for logistic regression: the rank, and the value in standard deviations."""
        known = np.clip(np.where(np.isnan(values), self.median, values), self.knots[0], self.knots[-1])
        apart = known / self.deviation - self.mean / self.deviation
        return np.stack([(self.shares(known) - 0.5) / self.spread, apart], axis=1)

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Share of the training rows that lie below each value, ties counted half."""
        return np.interp(values, self.knots, self.ranks)

    def plain(self, values: np.ndarray, keep_missing: bool) -> np.ndarray:
        """(n, 1) for estimators."""
        inside = np.clip(values, self.knots[0], self.knots[-1]) if np.isinf(values).any() else values
        return (inside if keep_missing else np.where(np.isnan(values), self.median, inside))[:, None]


@dataclass(frozen=True)
class Categories:
    """A categorical feature: how many levels there are, and how far apart two of them lie."""

    width: int
    scale: float

    @classmethod
    def learn(cls, values: np.ndarray, n_levels: int) -> Categories:
        """From level numbers, NaN where missing."""
        known = values[np.isfinite(values)].astype(np.int64)
        shares = np.bincount(known, minlength=n_levels) / max(known.size, 1)
        differ = 1.0 - float((shares**2).sum())
        return cls(n_levels, 1.0 / np.sqrt(differ) if known.size and differ > 1e-12 else 0.0)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """(n, levels) for distances."""
        return (self._levels(values) * self.scale).astype(np.float32)

    def plain(self, values: np.ndarray, keep_missing: bool) -> np.ndarray:
        """(n, levels) of 0 and 1 for estimators."""
        return self._levels(values)

    def inputs(self, values: np.ndarray) -> np.ndarray:
        """(n, levels) of 0 and 1 for logistic regression."""
        return self._levels(values)

    def _levels(self, values: np.ndarray) -> np.ndarray:
        return (values[:, None] == np.arange(self.width)).astype(np.float64)


Feature = Numbers | Categories


def learn_feature(values: np.ndarray, n_levels: int | None) -> Feature:
    """The encoding of one training column; ``n_levels`` is None for a numeric one."""
    values = np.asarray(values, dtype=np.float64)
    return Numbers.learn(values) if n_levels is None else Categories.learn(values, n_levels)


def _moments(values: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation, in which the largest values do not overflow; 1 for a deviation of nothing."""
    size = max(float(np.abs(values).max()), 1e-300)
    shares = values / size
    mean = float(np.average(shares, weights=counts))
    deviation = float(np.sqrt(np.average((shares - mean) ** 2, weights=counts)))
    return mean * size, deviation * size if deviation > _LEAST_DEVIATION else max(size, 1.0)


def _finite_range(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
