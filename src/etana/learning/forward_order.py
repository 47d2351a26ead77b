"""Which feature comes first, when features depend on each other: greedy forward selection by nearest neighbours.

At each step every candidate is tried beside the features chosen before it.  Its *gain* is how much the log loss of
leave-one-out nearest-neighbour votes falls, on the rows that would still be asked: those whose decision is expected
to cost more than the cheapest feature left.  A row counts in proportion to what its worst mistake costs.  The next
feature is the one with the largest

    (gain - half its standard error) / price,

group fees counted as they fall due; where no candidate gains, the one that loses least.  After `PATIENCE` steps in a
row without gain, or when no row would be asked any more, the order ends with the last feature that gained.

Features that mean something only together (an exclusive or) are found as soon as one of them is in.  Where no feature
gains alone, the next is the one that gains most with a second: at the beginning in any case, later only where the two
gain by more than `_CLEAR` standard errors, for among many pairs some gain by chance.  Without that, whether two such
features are found would hang on which others came first, and prices that differ a little would give other orders.

Votes of the chosen features are counted for several numbers of neighbours; at each stage the number with the least
loss is taken.  The row itself has no vote, so they serve as the posteriors of its walk.

:class:`EstimatorSearch` does the same with cross-validated probabilities of any classifier: slower by far, since every
candidate of every step is a fit for every fold.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from etana.beliefs.prefixes.estimators import posteriors_of
from etana.beliefs.prefixes.travel import shares_of
from etana.costs import ResolvedCosts
from etana.kernels import neighbours as kernel
from etana.kernels.neighbours import Alike, Near, Neighbourhood, Voters
from etana.kernels.side_by_side import score_beside
from etana.learning.estimators import fit_one
from etana.learning.folds import in_folds
from etana.policies.regression import stop_costs
from etana.threads import over_chunks

__all__ = ["EstimatorSearch", "Found", "NeighbourSearch"]

PATIENCE = 3
SIZES = np.array([5, 10, 20, 40, 80])
_SCORING = 10  # neighbours that score a candidate
_HALF = 0.5
_SCORED_ROWS = 1500  # rows, evenly spread, on which a candidate is scored
_LISTED = 256  # nearest rows of a row that a list has room for
_WITHIN_REACH = 160  # of them that are meant to be in it: enough for the largest size, and room for ties
_SAMPLED = 384  # distances of a row that say how far the list is to reach
_HALF_KEY = 32  # bits of a distance, and of a row
_LAST_ROW = 2**_HALF_KEY - 1
_ROWS_AT_ONCE = 64  # whose distances stay near the processor
# Work of a millisecond or two, below which a thread of its own takes longer to start than it saves.
_SCORED_AT_ONCE = 2**13  # rows, over all candidates
_DISTANCES_AT_ONCE = 2**16
_PAIRED = 16  # first features that are tried with every second, at the beginning
_MOST_PAIRS = 256  # that are tried later on
_PAIRED_ROWS = 1500  # rows, evenly spread, on which pairs are tried
_CLEAR = 3.0
_FREE = 1e-3  # a free feature is taken to cost this share of the dearest


@dataclass(frozen=True)
class Found:
    """An order, and what nearest neighbours made of it.

    Attributes
    ----------
    features : array (K,)
        Positions among the candidates.
    sizes : array (K,)
        Number of neighbours at each stage; 0 where an estimator searched.
    posteriors : array (K, n, N)
        Posteriors of the rows after each stage, made without the row itself.
    """

    features: np.ndarray
    sizes: np.ndarray
    posteriors: np.ndarray


class Search(metaclass=ABCMeta):
    """A greedy search in progress.

    Parameters
    ----------
    codes : array (n,)
    prices : ResolvedCosts
        Of the candidates.
    mistakes : array (N, N)
    weights : array (n,), optional
        How much each row counts.
    """

    pairs_later: ClassVar[bool]  # whether pairs are affordable at every step

    def __init__(
        self, codes: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        n, n_classes = codes.size, mistakes.shape[0]
        self.codes, self.prices, self.mistakes = codes, prices, mistakes
        self.counted = np.ones(n) if weights is None else weights / weights.mean()
        self.prior = shares_of(codes, n_classes, self.counted)
        # Log loss knows no costs; rows whose class is dear to miss count for more.
        worst = self.counted * mistakes.max(axis=1)[codes]
        self.weights = worst / worst.mean() if worst.any() else self.counted
        self.losses = -self.weights * np.log(self.prior[codes])
        self.beliefs = np.tile(self.prior, (n, 1))
        self.chosen: list[int] = []

    @abstractmethod
    def _score(self, left: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain of each candidate that is left on these rows, and its standard error."""

    @abstractmethod
    def _add(self, feature: int) -> tuple[int, np.ndarray]:
        """Take the feature in; the number of neighbours that serves best now, and the posteriors."""

    def run(
        self, most: int, to_the_end: bool = False, tell: Callable[[int], object] = lambda n_chosen: None,
        start: Sequence[int] = (), pairs: bool = True,
    ) -> Found:  # fmt: skip
        """Choose at most ``most`` features, or exactly as many (if there are) where gains cannot be trusted; those of
        ``start`` come first. ``pairs`` says whether pairs are tried later on, too."""
        if self.codes.size < 2:
            most = 0
        sizes: list[int] = []
        posteriors: list[np.ndarray] = []
        for feature in start:
            size, posterior = self._add(feature)
            sizes.append(size)
            posteriors.append(posterior)
        kept = len(self.chosen)
        pairs = pairs and self.pairs_later and not to_the_end
        while len(self.chosen) < min(most, self.prices.full.size) and len(self.chosen) - kept < PATIENCE:
            rows = np.arange(self.codes.size) if to_the_end else self._rows_that_go_on()
            if not rows.size:
                break
            feature, gained = self._best(rows)
            if not gained and (not self.chosen or (pairs and kept == len(self.chosen))):
                feature = self._first_of_a_pair(feature)
            size, posterior = self._add(feature)
            sizes.append(size)
            posteriors.append(posterior)
            # A few steps without gain may lead to one with; what follows the last gain is dropped.
            kept = len(self.chosen) if gained or to_the_end else kept
            tell(len(self.chosen))
        shape = (kept, self.codes.size, self.prior.size)
        return Found(
            np.array(self.chosen[:kept], dtype=np.int64),
            np.array(sizes[:kept], dtype=np.int64),
            np.array(posteriors[:kept]).reshape(shape),
        )

    def _left(self) -> np.ndarray:
        left = np.ones(self.prices.full.size, dtype=bool)
        left[self.chosen] = False
        return np.flatnonzero(left)

    def _marginal(self, features: np.ndarray) -> np.ndarray:
        """What each feature costs now that others were bought."""
        bought = np.isin(self.prices.group[features], self.prices.group[self.chosen])
        shared = bought & (self.prices.group[features] >= 0)
        return np.where(shared, self.prices.discounted[features], self.prices.full[features])

    def _rows_that_go_on(self) -> np.ndarray:
        # Who risks less than the cheapest feature left would not be asked it, so its loss does not matter.
        cheapest = self._marginal(self._left()).min()
        rows = np.flatnonzero(stop_costs(self.beliefs, self.mistakes) > cheapest)
        return rows[np.linspace(0, rows.size - 1, min(rows.size, _SCORED_ROWS)).astype(np.int64)]

    def _best(self, rows: np.ndarray) -> tuple[int, bool]:
        """The next feature, and whether it gains."""
        left = self._left()
        gains, errors = self._score(left, rows)
        sure = gains - _HALF * errors
        if (sure > 0).any():
            price = self._marginal(left)
            dearest = price.max()
            # Free features have no rate; a small price keeps them comparable, and first.
            rate = sure / np.maximum(price, _FREE * dearest if dearest > 0 else 1.0)
            return int(left[np.argmax(rate)]), True
        return int(left[np.argmax(sure)]), False

    def _first_of_a_pair(self, otherwise: int) -> int:
        """Where no feature tells anything alone: that one of the likeliest which tells most with a second."""
        left = self._left()
        most = _MOST_PAIRS // left.size if self.chosen else _PAIRED
        if left.size < 2 or not most:
            return otherwise
        few = self._on_few_rows()
        rows = few._rows_that_go_on()
        if not rows.size:
            return otherwise
        likely = left[np.argsort(-few._score(left, rows)[0], kind="stable")[:most]]
        gains, errors = np.array([few._gain_of_pair(int(first), rows) for first in likely]).T
        best = int(gains.argmax())
        clear = not self.chosen or gains[best] > _CLEAR * errors[best]
        return int(likely[best]) if clear else otherwise

    def _fork(self) -> Search:
        """The same search, to go on from here without changing this one."""
        trial = copy(self)
        trial.chosen = list(self.chosen)
        return trial

    def _on_few_rows(self) -> Search:
        """The same search on as many rows as pairs are tried on."""
        return self

    def _gain_of_pair(self, first: int, rows: np.ndarray) -> tuple[float, float]:
        """What a feature gains with the best second, and the standard error of what the second adds."""
        # A pair is only tried: the search goes on from where it was.
        trial = self._fork()
        trial._add(first)
        if not trial._left().size:
            return -np.inf, 0.0
        gains, errors = trial._score(trial._left(), rows)
        best = int((gains - _HALF * errors).argmax())
        alone = float((self.losses - trial.losses)[rows].mean())
        return alone + float(gains[best] - _HALF * errors[best]), float(errors[best])


class NeighbourSearch(Search):
    """Candidates judged by nearest neighbours; ``encoded`` has an array (n, w) for each, scaled for distances."""

    pairs_later = True

    def __init__(
        self, encoded: list[np.ndarray], codes: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(codes, prices, mistakes, weights)
        n = codes.size
        self.offsets = np.concatenate(([0], np.cumsum([block.shape[1] for block in encoded], dtype=np.int64)))
        self.columns = np.empty((int(self.offsets[-1]), n), dtype=np.float32)
        for k, block in enumerate(encoded):
            self.columns[self.offsets[k] : self.offsets[k + 1]] = block.T
        # More neighbours than a third of the rows are hardly neighbours.
        self.sizes = SIZES[max(n // 3, SIZES[0]) >= SIZES]
        self.even = bool((self.counted == 1.0).all())  # whether all rows have one vote
        self.distances = np.zeros((n, n), dtype=np.float32)
        self.lines = np.argsort(self.columns, axis=1, kind="stable").astype(np.int32)
        # Before the first feature nothing tells rows apart, and no row is nearer than another.
        self.groups = np.zeros(n, dtype=np.int64)
        self.near = Near(np.empty((n, 0), np.float32), np.empty((n, 0), np.uint32), np.full(n, -1.0, np.float32))

    def _on_few_rows(self) -> Search:
        n = self.codes.size
        if n <= _PAIRED_ROWS:
            return self
        some = np.linspace(0, n - 1, _PAIRED_ROWS).astype(np.int64)
        encoded = [self.columns[a:b, some].T for a, b in pairwise(self.offsets.tolist())]
        few = NeighbourSearch(encoded, self.codes[some], self.prices, self.mistakes, self.counted[some])
        # What is known after the last feature does not depend on what was known between the others.
        for feature in self.chosen[:-1]:
            kernel.bring_apart(few._rows, *few._own(feature), 0, _PAIRED_ROWS)
            few._tell_apart(feature)
        few.chosen = self.chosen[:-1]
        for feature in self.chosen[-1:]:
            few._add(feature)
        return few

    def _fork(self) -> Search:
        trial = super()._fork()
        assert isinstance(trial, NeighbourSearch)
        trial.distances = self.distances.copy()
        # Of a trial no more is asked than the loss that candidates are to beat.
        trial.sizes = self.sizes[self.sizes <= _SCORING][-1:]
        return trial

    @property
    def _rows(self) -> Neighbourhood:
        """The rows and their distances, as the kernels take them."""
        return Neighbourhood(self.distances, self.columns, Voters(self.codes, self.counted))

    def _scoring(self) -> kernel.Scoring:
        return kernel.Scoring(self.weights, self.losses, self.prior)

    def _own(self, feature: int) -> tuple[int, int]:
        """Where the columns of a feature begin and end."""
        return int(self.offsets[feature]), int(self.offsets[feature + 1])

    def _alike(self, k: int) -> Alike:
        """The groups, with gaps around those of more than k rows."""
        sizes = np.bincount(self.groups)
        gaps = np.zeros(sizes.size, dtype=np.float32)
        for group in np.flatnonzero(sizes > k).tolist():
            inside = self.groups == group
            gaps[group] = self.distances[inside.argmax()][~inside].min(initial=np.inf)
        return Alike(self.groups, np.concatenate(([0], np.cumsum(sizes))), gaps, self.lines)

    def _score(self, left: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.chosen and (np.diff(self.offsets)[left] == 1).all():
            rows = np.arange(self.codes.size)  # along lines all of them cost little
        drops, gains, errors = np.full((left.size, rows.size), np.nan), np.empty(left.size), np.empty(left.size)
        self._drops(left, rows, drops)
        kernel.mean_drops(drops, gains, errors)
        return gains, errors

    def _drops(self, left: np.ndarray, rows: np.ndarray, drops: np.ndarray) -> None:
        """How much the loss of each row drops by each candidate, into ``drops``, which are all NaN."""
        k, scoring = min(_SCORING, self.codes.size - 1), self._scoring()
        alike = self._alike(k)
        if self.even and (np.diff(self.offsets)[left] == 1).all():
            table = np.ascontiguousarray(self.columns[self.offsets[left]].T)
            # Rows that many others are like are soon found on a line.
            alone = np.where(np.diff(alike.starts)[alike.groups[rows]] <= k, rows, -1)
            over_chunks(
                lambda first, last: score_beside(
                    self.near, self.codes, scoring, table, alone, k, first, last, drops
                ),
                rows.size, -(-_SCORED_AT_ONCE // left.size),
            )  # fmt: skip
        given = self._rows, self.near, alike, self.offsets, scoring, rows, k, left
        over_chunks(
            lambda first, last: kernel.score_candidates(*given, first, last, drops),
            left.size, -(-_SCORED_AT_ONCE // rows.size),
        )  # fmt: skip

    def _add(self, feature: int) -> tuple[int, np.ndarray]:
        """Take the feature in; the number of neighbours that serves best now, and their posteriors."""
        n = self.codes.size
        votes = np.empty((n, self.sizes.size, self.prior.size))
        shape = (n, min(_LISTED, n))
        self.near = Near(np.empty(shape, np.float32), np.empty(shape, np.uint32), np.empty(n, np.float32))

        def run(first: int, last: int) -> None:
            for a in range(first, last, _ROWS_AT_ONCE):
                block = a, min(a + _ROWS_AT_ONCE, last)
                kernel.bring_apart(self._rows, *self._own(feature), *block)
                self._list_near(slice(*block))
                kernel.leave_one_out(self._rows, self.near, self.sizes, *block, votes)

        over_chunks(run, n, max(_ROWS_AT_ONCE, _DISTANCES_AT_ONCE // n))
        self._tell_apart(feature)
        self.chosen.append(feature)
        # As the beliefs do (beliefs.prefixes.neighbours): one further vote, spread like the prior.
        votes = np.ascontiguousarray(votes.transpose(1, 0, 2))
        posteriors = (votes + self.prior) / (votes.sum(axis=2, keepdims=True) + 1.0)
        losses = -self.weights * np.log(posteriors[:, np.arange(n), self.codes])
        best = int(losses.mean(axis=1).argmin())
        # Candidates are scored with a fixed number of neighbours, so the loss to beat has the same.
        self.losses = np.ascontiguousarray(losses[int(np.flatnonzero(self.sizes <= _SCORING)[-1])])
        self.beliefs = posteriors[best]
        return int(self.sizes[best]), posteriors[best]

    def _tell_apart(self, feature: int) -> None:
        """Split groups whose rows the feature tells apart."""
        for c in range(*self._own(feature)):
            values = np.unique(self.columns[c], return_inverse=True)[1]
            self.groups = np.unique(self.groups * (values.max() + 1) + values, return_inverse=True)[1]

    def _list_near(self, rows: slice) -> None:
        """List the nearest rows of each of these, the nearest first."""
        n, (distances, order, reach) = self.codes.size, self.near
        if n <= _LISTED:
            reach[rows] = np.inf
        else:
            # Some distances say how far about as many rows lie as are wanted: much faster than to sort them all.
            sample = np.sort(self.distances[rows, :: max(n // _SAMPLED, 1)], axis=1)
            reach[rows] = sample[:, sample.shape[1] * _WITHIN_REACH // n]
        kernel.list_near(self._rows, rows.start, rows.stop, self.near)
        # Bits of numbers that are not negative sort as the numbers do: with the row behind them one sort is enough.
        keys = distances[rows].view(np.int32).astype(np.int64) << _HALF_KEY | order[rows]
        keys.sort(axis=1)
        distances[rows] = (keys >> _HALF_KEY).astype(np.int32).view(np.float32)
        order[rows] = keys & _LAST_ROW


class EstimatorSearch(Search):
    """Candidates judged by an estimator; ``encoded`` has an array (n, w) for each, as the estimator takes it."""

    pairs_later = False

    def __init__(
        self,
        encoded: list[np.ndarray],
        codes: np.ndarray,
        prices: ResolvedCosts,
        mistakes: np.ndarray,
        estimator: Any,
        folds: np.ndarray,
        n_jobs: int | None,
        weights: np.ndarray,
    ) -> None:
        super().__init__(codes, prices, mistakes, weights)
        self.copies = weights
        self.encoded, self.estimator, self.folds, self.n_jobs = encoded, estimator, folds, n_jobs
        self.floor = 1.0 / (codes.size + self.prior.size)

    def _score(self, left: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses = Parallel(n_jobs=self.n_jobs)(delayed(self._losses)(int(feature)) for feature in left)
        gains = np.array([self.losses[rows] - loss[rows] for loss in losses])
        return gains.mean(axis=1), gains.std(axis=1) / np.sqrt(rows.size)

    def _add(self, feature: int) -> tuple[int, np.ndarray]:
        self.losses, self.beliefs = self._losses(feature), self._posteriors(feature)
        self.chosen.append(feature)
        return 0, self.beliefs

    def _losses(self, feature: int) -> np.ndarray:
        posterior = self._posteriors(feature)[np.arange(self.codes.size), self.codes]
        floor = self.floor * self.prior[self.codes]
        return -self.weights * np.log((1 - self.floor) * posterior + floor)

    def _posteriors(self, feature: int) -> np.ndarray:
        X = np.concatenate([self.encoded[f] for f in (*self.chosen, feature)], axis=1)
        return out_of_fold(self.estimator, X, self.codes, self.copies, self.prior, self.folds)


def out_of_fold(
    estimator: Any, X: np.ndarray, codes: np.ndarray, weights: np.ndarray, prior: np.ndarray, folds: np.ndarray
) -> np.ndarray:
    """Posteriors (n, N) of each row by the estimator fitted on the other folds."""
    out = np.empty((codes.size, prior.size))
    for training, held_out in in_folds(folds):
        fitted = fit_one(estimator, X[training], codes[training], weights[training])
        out[held_out] = posteriors_of(fitted, X[held_out], prior)
    return out
