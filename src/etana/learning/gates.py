"""Features that say which others matter.

A *gate* may tell nothing about the class itself: the sign of one column decides which formula holds, a context says
which block of columns holds the answer. Its score is how much better all other features tell the class, each alone,
when the rows are split on it:

    sum over g of  [ log P(class | g, side)  -  log P(class | g) ],   mean over held-out rows

with a normal density of each feature within each class (and side), the densities of a side drawn towards those of
all rows, and the same prior everywhere: what counts is how evidence changes. Rows are dealt into folds. Each fold is
scored by densities learnt from the others, and only features count that gained by more than a standard error there:
chance does not add up over a thousand features that tell nothing. One side may hold a fifth of the rows, and a class an
eighth of that: folds leave densities nearly all rows there are.

A numeric feature is cut at a few quantiles, and where its values leave a wide gap: contexts that are coded as 0 and 1,
with some noise, have any share of the rows.

A score is a reason to try a split and no more: features that tell the same thing many times over gain from each other's
splits. Whether it pays is for held-out rows to say (:mod:`etana.learning.regions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from etana.beliefs.prefixes.densities import positions
from etana.beliefs.prefixes.encoding import Categories, Feature
from etana.learning.folds import deal_folds, in_folds

__all__ = ["Gate", "find_gates", "inside", "refine_gate"]

_FOLDS = 5
_CUTS = (0.2, 0.35, 0.5, 0.65, 0.8)
_FINER = (-0.08, -0.06, -0.04, -0.02, 0.02, 0.04, 0.06, 0.08)
_GAP = 15.0  # mean steps from one value to the next; chance makes six or seven among a few hundred
_MOST_LEVELS = 5
_LEAST_CLEAR = 2.5  # standard errors
_TOWARDS_MEAN, _TOWARDS_SPREAD = 5.0, 10.0  # rows' worth of belief that a side is like all rows
_LEAST_VARIANCE = 0.05
_ROWS_PER_CLASS = 8  # on each side
_LEAST_ROWS = 40


@dataclass(frozen=True)
class Gate:
    """A split on the feature of this position: rows whose value lies between the bounds, and the others."""

    feature: int
    least: float
    most: float
    score: float


def find_gates(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, keys: np.ndarray, most: int
) -> list[Gate]:
    """The best splits of rows with these values (n, K), at most one for each feature; the best first."""
    if codes.size < 2 * _LEAST_ROWS:
        return []
    scoring = _Scoring(features, values, codes, n_classes, keys)
    found: list[Gate] = []
    for f, feature in enumerate(features):
        found += scoring.best(f, values[:, f], _ends(feature, values[:, f]))
    # A better bound may make a better gate of the second best.
    refined = [scoring.refined(gate, values) for gate in _best(found, 2 * most)]
    return _best(refined, most)


def _best(gates: list[Gate], most: int) -> list[Gate]:
    return sorted((gate for gate in gates if gate.score > 0), key=lambda gate: -gate.score)[:most]


def refine_gate(
    gate: Gate, features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, keys: np.ndarray
) -> Gate:
    """The same gate, cut where other rows would cut it: the best of the bounds close to its own."""
    scoring = _Scoring(features, values, codes, n_classes, keys)
    return scoring.refined(scoring.refined(gate, values), values)


def inside(values: np.ndarray, least: float, most: float) -> np.ndarray:
    """Which values lie between the bounds; a missing one does not."""
    return (values >= least) & (values <= most)


def _ends(feature: Feature, values: np.ndarray) -> list[tuple[float, float]]:
    """Bounds that are tried: below a few quantiles, or each of the most frequent levels."""
    known = values[np.isfinite(values)]
    if not known.size:
        return []
    if isinstance(feature, Categories):
        levels, counts = np.unique(known, return_counts=True)
        return [(float(level), float(level)) for level in levels[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]]]
    # A gap in the tails parts too few rows from the others.
    gap = _gap(np.sort(known)[_LEAST_ROWS:-_LEAST_ROWS])
    return _between(np.unique(known), np.concatenate([gap, np.quantile(known, _CUTS)]))


def _between(distinct: np.ndarray, cuts: np.ndarray) -> list[tuple[float, float]]:
    """Bounds half way between two values, so that a value seen again falls on the side it fell on."""
    places = np.searchsorted(distinct, cuts, side="right")
    places = np.unique(places[(places > 0) & (places < distinct.size)])
    return [(-np.inf, float((distinct[place - 1] + distinct[place]) / 2)) for place in places.tolist()]


def _near(gate: Gate, values: np.ndarray) -> list[tuple[float, float]]:
    """Bounds close to those of a gate: a gap between the values where there is one, else finer quantiles."""
    if gate.least > -np.inf:
        return []
    known = np.sort(values[np.isfinite(values[:, gate.feature]), gate.feature])
    share = float((known <= gate.most).mean())
    finer = np.quantile(known, np.clip(share + np.array(_FINER), 0.0, 1.0))
    window = known[(known >= finer[0]) & (known <= finer[-1])]
    return _between(np.unique(known), np.asarray(_gap(window) or finer))


def _gap(known: np.ndarray) -> list[float]:
    """The value below the widest gap between sorted values, if it is no chance.

    Rows on both sides of a wide gap are told apart by any cut in it; new rows are by one in the middle.
    """
    steps = np.diff(known)
    wide = steps.size > 0 and steps.max() > _GAP * steps.sum() / steps.size
    return [float(known[int(steps.argmax())])] if wide else []


class _Sums(NamedTuple):
    """Of the rows of each fold and class: how many (F, N, 1), and sums of columns and of their squares (F, N, D)."""

    counts: np.ndarray
    columns: np.ndarray
    squares: np.ndarray

    def without(self, fold: int) -> _Sums:
        """Of the rows of all other folds, by class."""
        return _Sums(*(part.sum(axis=0) - part[fold] for part in self))

    def less(self, others: _Sums) -> _Sums:
        """Of the rows that are not among others."""
        return _Sums(*(part - other for part, other in zip(self, others, strict=True)))


class _Scoring:
    """Splits, scored by how much better the other features tell the class."""

    def __init__(
        self, features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, keys: np.ndarray
    ) -> None:
        blocks = [_encoded(feature, values[:, k]) for k, feature in enumerate(features)]
        self.owner = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        self.columns = np.concatenate(blocks, axis=1)
        self.codes, self.n_classes = codes, n_classes
        prior = np.bincount(codes, minlength=n_classes) + 1.0
        self.log_prior = np.log(prior / prior.sum())
        self.least = max(_LEAST_ROWS, _ROWS_PER_CLASS * np.unique(codes).size)
        self.folds = deal_folds(codes, _FOLDS, keys)
        self.cells = np.eye(_FOLDS * n_classes)[self.folds * n_classes + codes]
        self.sums = self._sum(np.arange(codes.size))
        self.densities, self.alone = [], np.empty_like(self.columns)
        for fold, (learning, scored) in enumerate(in_folds(self.folds)):
            columns = self.columns[learning]
            own = _densities(self.sums.without(fold), columns.mean(axis=0), columns.var(axis=0) + _LEAST_VARIANCE)
            self.densities.append(own)
            self.alone[scored] = self._log_chances(scored, *own)

    def _sum(self, rows: np.ndarray) -> _Sums:
        cells, columns, shape = self.cells[rows], self.columns[rows], (_FOLDS, self.n_classes, -1)
        sums = cells.sum(axis=0), cells.T @ columns, cells.T @ columns**2
        return _Sums(*(part.reshape(shape) for part in sums))

    def _log_chances(self, rows: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """log P(true class | each column alone), (rows, D)."""
        columns, logs = self.columns[rows], np.empty((len(means), rows.size, self.columns.shape[1]))
        # The logarithm of a normal density is a parabola; coefficients are few, values many.
        bends, slopes = -0.5 / variances, means / variances
        levels = self.log_prior[:, None] - 0.5 * (means * slopes + np.log(variances))
        for own, bend, slope, level in zip(logs, bends, slopes, levels, strict=True):
            np.multiply(columns, bend, out=own)
            own += slope
            own *= columns
            own += level
        logs -= logs.max(axis=0)
        true = logs[self.codes[rows], np.arange(rows.size)]
        return true - np.log(np.exp(logs, out=logs).sum(axis=0))

    def best(self, feature: int, values: np.ndarray, bounds: list[tuple[float, float]]) -> list[Gate]:
        """The best of several splits on a feature, if there are any."""
        tried = [Gate(feature, *ends, self.score(feature, inside(values, *ends))) for ends in bounds]
        return [max(tried, key=lambda gate: gate.score)] if tried else []

    def refined(self, gate: Gate, values: np.ndarray) -> Gate:
        """The best of the bounds close to those of a gate."""
        near = _near(gate, values)
        near = near if len(near) == 1 else [(gate.least, gate.most), *near]
        return self.best(gate.feature, values[:, gate.feature], near)[0]

    def score(self, feature: int, within: np.ndarray) -> float:
        """Of a split; 0 where it is not clear, or a side has too few rows."""
        if min(int(within.sum()), int((~within).sum())) < self.least:
            return 0.0
        gains = self._gains(feature, within)
        rows = (gains * self._counting(gains)[self.folds]).sum(axis=1)
        error = rows.std() / np.sqrt(rows.size)
        return float(rows.mean()) if rows.mean() > _LEAST_CLEAR * error else 0.0

    def _gains(self, feature: int, within: np.ndarray) -> np.ndarray:
        """How much better each column tells the class of each row, (n, D), when rows are split."""
        inner, out = self._sum(np.flatnonzero(within)), np.empty_like(self.alone)
        for side, sums in ((within, inner), (~within, self.sums.less(inner))):
            for fold, known in enumerate(self.densities):
                scored = np.flatnonzero(side & (self.folds == fold))
                out[scored] = self._log_chances(scored, *_densities(sums.without(fold), *known))
        out -= self.alone
        out[:, self.owner == feature] = 0.0
        return out

    def _counting(self, gains: np.ndarray) -> np.ndarray:
        """Which columns count in each fold, (F, D): who does is for the other folds to say."""
        dealt = np.eye(_FOLDS)[self.folds]
        n, total, squares = dealt.sum(axis=0)[:, None], dealt.T @ gains, dealt.T @ gains**2
        n, mean, square = n.sum() - n, total.sum(axis=0) - total, squares.sum(axis=0) - squares
        mean, square = mean / n, square / n
        return mean > np.sqrt(np.maximum(square - mean**2, 0.0) / n)


def _densities(sums: _Sums, means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (N, D) of each class among some rows, drawn towards others."""
    counts, columns, squares = sums
    own = (columns + _TOWARDS_MEAN * means) / (counts + _TOWARDS_MEAN)
    spread = np.maximum(squares - 2 * own * columns + counts * own**2, 0.0)
    return own, np.maximum((spread + _TOWARDS_SPREAD * variances) / (counts + _TOWARDS_SPREAD), _LEAST_VARIANCE)


def _encoded(feature: Feature, values: np.ndarray) -> np.ndarray:
    if isinstance(feature, Categories):
        return feature.inputs(values)
    return positions(feature, np.where(np.isnan(values), feature.median, values))[:, None]
