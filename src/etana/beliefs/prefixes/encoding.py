"""One feature as numbers: for distances between rows, for logistic regression, and for estimators.

For distances a numeric value becomes its rank among the training values (half way up its ties), divided by the
standard deviation of those ranks: units, skew and outliers no longer matter.  A categorical value becomes one column
per level.  Both are scaled so that the mean squared distance of two training rows is 2.  A missing value lies at the
training median, or at no level.

For logistic regression a numeric value becomes two numbers, its rank and its distance from the mean, and a categorical
one again a column per level; see :mod:`etana.beliefs.prefixes.linear`.

For estimators a numeric value stays as it is, infinities brought back to the training range; a missing one stays
missing if the estimator takes that, and else becomes the training median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from etana.errors import InputError
from etana.kernels.prefixes import encode_rows

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Categories", "Feature", "Numbers", "feature_arrays", "learn_feature", "restore_features"]

_MOST_KNOTS = 512
_EXAMPLES = (0.1, 0.5, 0.9)  # ranks
_FARTHEST = 1e12  # of an encoded value that is read
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
    width: ClassVar[int] = 1  # columns for distances and estimators
    n_inputs: ClassVar[int] = 2  # of logistic regression

    @property
    def ends(self) -> tuple[float, float]:
        """Least and greatest training value."""
        return float(self.knots[0]), float(self.knots[-1])

    def meaning(self, value: float) -> str:
        """Where a value lies among the training rows."""
        return f"above {float(self.shares(np.array([value]))[0]):.0%} of the training rows"

    def examples(self) -> tuple[np.ndarray, list[str]]:
        """A low, a middling and a high value, and the same in words."""
        values = np.unique(np.interp(_EXAMPLES, self.shares(self.knots), self.knots))
        return values, [f"{value:.4g}" for value in values]

    @classmethod
    def learn(cls, values: np.ndarray) -> Numbers:
        """From training values, NaN where missing."""
        present = np.sort(values[~np.isnan(values)])
        if not present.size:
            return cls(np.zeros(1), np.zeros(1), 1.0, 0.0, 0.0, 1.0)
        present = np.clip(present, *_finite_range(present))
        distinct, counts = np.unique(present, return_counts=True)
        # Half way up the ties: equal values share one rank, and 0.5 is the middle whatever the ties are.
        ranks = (np.cumsum(counts) - counts / 2) / present.size
        spread = np.sqrt(max(np.average(ranks**2, weights=counts) - np.average(ranks, weights=counts) ** 2, 0.0))
        spread = float(spread) if spread > 0 else 1.0
        # Between knots ranks are interpolated: a few hundred hold any column, however many rows it has.
        few = np.unique(np.linspace(0, distinct.size - 1, _MOST_KNOTS).round().astype(int))
        median = float(present[(present.size - 1) // 2])
        return cls(distinct[few], ranks[few], spread, median, *_moments(distinct, counts))

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """(n, 1) for distances."""
        return self._encoded(values)[:, :1].astype(np.float32)

    def inputs(self, values: np.ndarray) -> np.ndarray:
        """(n, 2) for logistic regression: the rank, and the value in standard deviations."""
        out = self._encoded(values)
        out[:, 0] -= 0.5 / self.spread
        return out

    def _encoded(self, values: np.ndarray) -> np.ndarray:
        out, values = np.empty((values.size, 2)), np.ascontiguousarray(values, dtype=np.float64)
        encode_rows(values, self.knots, self.ranks, self.spread, self.median, self.mean, self.deviation, out)
        return out

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Share of the training rows that lie below each value, ties counted half."""
        return np.interp(values, self.knots, self.ranks)

    def raw(self, values: np.ndarray, keep_missing: bool) -> np.ndarray:
        """(n, 1) for estimators."""
        inside = np.where(np.isinf(values), np.clip(values, self.knots[0], self.knots[-1]), values)
        return (inside if keep_missing else np.where(np.isnan(values), self.median, inside))[:, None]


@dataclass(frozen=True)
class Categories:
    """A categorical feature: its labels, and how far apart two of them lie."""

    labels: np.ndarray
    scale: float
    knots: ClassVar[np.ndarray] = np.empty(0)  # labels have no ranks
    ranks: ClassVar[np.ndarray] = np.empty(0)

    @property
    def width(self) -> int:
        """A column for each label."""
        return len(self.labels)

    @property
    def n_inputs(self) -> int:
        """Of logistic regression."""
        return len(self.labels)

    @property
    def ends(self) -> None:
        """Labels have no range."""
        return None

    def meaning(self, value: float) -> str:
        """The label."""
        return str(self.labels[int(value)]) if np.isfinite(value) else "not seen"

    def examples(self) -> tuple[np.ndarray, list[str]]:
        """Every label."""
        return np.arange(self.width, dtype=np.float64), [str(label) for label in self.labels]

    @classmethod
    def learn(cls, values: np.ndarray, labels: np.ndarray) -> Categories:
        """From level numbers, NaN where missing."""
        known = values[np.isfinite(values)].astype(np.int64)
        shares = np.bincount(known, minlength=len(labels)) / max(known.size, 1)
        # Two rows have different labels with this chance, and then their squared distance is 2 scale^2: 2 on average.
        differ = 1.0 - float((shares**2).sum())
        return cls(labels, 1.0 / np.sqrt(differ) if known.size and differ > 1e-12 else 0.0)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """(n, levels) for distances."""
        return (self._levels(values) * self.scale).astype(np.float32)

    def raw(self, values: np.ndarray, keep_missing: bool) -> np.ndarray:
        """(n, levels) of 0 and 1 for estimators."""
        return self._levels(values)

    def inputs(self, values: np.ndarray) -> np.ndarray:
        """(n, levels) of 0 and 1 for logistic regression."""
        return self._levels(values)

    def _levels(self, values: np.ndarray) -> np.ndarray:
        return (values[:, None] == np.arange(self.width)).astype(np.float64)


Feature = Numbers | Categories


def learn_feature(values: np.ndarray, labels: np.ndarray | None) -> Feature:
    """The encoding of one training column; ``labels`` is None for a numeric one."""
    values = np.asarray(values, dtype=np.float64)
    return Numbers.learn(values) if labels is None else Categories.learn(values, labels)


def feature_arrays(features: list[Feature]) -> dict[str, np.ndarray]:
    """Numbers of all encodings, one after the other; labels are stored elsewhere."""
    numeric = [f if isinstance(f, Numbers) else None for f in features]
    none = np.empty(0)
    return {
        "knots": np.concatenate([none, *(f.knots for f in features)]),
        "ranks": np.concatenate([none, *(f.ranks for f in features)]),
        "knot_offsets": np.concatenate(([0], np.cumsum([f.knots.size for f in features], dtype=np.int64))),
        "scales": np.array([f.spread if isinstance(f, Numbers) else f.scale for f in features], np.float64),
        "medians": np.array([0.0 if f is None else f.median for f in numeric], np.float64),
        "means": np.array([0.0 if f is None else f.mean for f in numeric], np.float64),
        "deviations": np.array([1.0 if f is None else f.deviation for f in numeric], np.float64),
    }


def restore_features(stored: State, labels: list[np.ndarray | None]) -> list[Feature]:
    """The encodings whose :func:`feature_arrays` these are; ``labels`` of each feature, None for a numeric one."""
    shape = (len(labels),)
    knots = stored.array("knots", (None,))
    ranks = stored.within("ranks", knots.shape, 0.0, 1.0)
    offsets = stored.array("knot_offsets", (len(labels) + 1,), np.int64)
    scales, medians = stored.array("scales", shape), stored.array("medians", shape)
    means, deviations = stored.array("means", shape), stored.array("deviations", shape)
    if offsets[0] != 0 or offsets[-1] != knots.size or (offsets[1:] < offsets[:-1]).any():
        raise InputError("the offsets of the features do not divide their training values")
    if not (np.isfinite(knots).all() and np.isfinite(medians).all() and (scales >= 0).all()):
        raise InputError("a training value, median or scale is not finite, or a scale is negative")
    out: list[Feature] = []
    for k, own_labels in enumerate(labels):
        own = slice(offsets[k], offsets[k + 1])
        if own_labels is not None:
            out.append(_restore_categories(own_labels, float(scales[k]), knots[own]))
        else:
            moments = float(medians[k]), float(means[k]), float(deviations[k])
            out.append(_restore_numbers(knots[own], ranks[own], float(scales[k]), *moments))
    return out


def _restore_categories(labels: np.ndarray, scale: float, knots: np.ndarray) -> Categories:
    if knots.size or not scale <= _FARTHEST:
        raise InputError("a categorical feature has numbers for training values, or a scale that is too large")
    return Categories(labels, scale)


def _restore_numbers(
    knots: np.ndarray, ranks: np.ndarray, spread: float, median: float, mean: float, deviation: float
) -> Numbers:
    if not knots.size or (knots[1:] <= knots[:-1]).any() or (ranks[1:] < ranks[:-1]).any():
        raise InputError("the training values of a feature are not increasing, or it has none")
    if not 1 / _FARTHEST <= spread <= _FARTHEST:
        raise InputError(f"the ranks of a feature are spread by {spread}")
    with np.errstate(all="ignore"):
        apart = np.abs(np.array([knots[0], knots[-1], mean]) / deviation) if deviation > 0 else np.array([np.inf])
    if not (apart <= _FARTHEST).all():
        raise InputError(f"the training values of a feature do not lie about {mean} with a deviation of {deviation}")
    return Numbers(knots, ranks, spread, median, mean, deviation)


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
