"""The classifier on each prefix of the order, and rows on their way along it.

A *traveller* is a set of rows that have been asked the same number of features.  It does not change: ``after(values)``
gives the traveller that knows one feature more, with the posteriors there; ``take(rows)`` some of its rows.
Three kinds of classifier serve, and two of them may travel together (``Blend``):

* nearest neighbours, which need no fit: a traveller keeps distances to the training rows and adds to them;
* logistic regression (:mod:`etana.sequential.linear`): a traveller keeps its inputs;
* any scikit-learn classifier, fitted on each prefix: a traveller keeps the columns seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from etana.kernels import neighbours as kernel
from etana.sequential.encoding import Feature

__all__ = [
    "Blend", "Estimators", "Neighbours", "Prefixes", "Traveller", "deal_folds", "in_folds", "posteriors_of", "travel",
]  # fmt: skip


class Traveller(Protocol):
    """Rows that know the same features."""

    def take(self, rows: np.ndarray) -> Traveller:
        """Some of the rows."""

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        """The rows with one feature more, and their posteriors (m, N)."""


class Prefixes(Protocol):
    """A classifier for each stage."""

    @property
    def features(self) -> list[Feature]:
        """Their encodings, in the order of acquisition."""

    @property
    def prior(self) -> np.ndarray:
        """Share of each class among the training rows."""

    @property
    def by_block(self) -> bool:
        """Whether rows are best taken in blocks, in threads; an estimator wants them all at once."""

    def depart(self, n_rows: int) -> Traveller:
        """Rows that know nothing yet."""


@dataclass(frozen=True)
class Neighbours:
    """Nearest neighbours among the training rows, ``sizes[k]`` of them after feature k."""

    features: list[Feature]
    columns: list[np.ndarray]
    codes: np.ndarray
    sizes: np.ndarray
    prior: np.ndarray
    by_block: ClassVar[bool] = True

    @classmethod
    def of(
        cls, features: list[Feature], values: np.ndarray, codes: np.ndarray, sizes: np.ndarray, n_classes: int
    ) -> Neighbours:
        """Of training values (n, K) in the order of acquisition."""
        columns = [np.ascontiguousarray(f.scaled(values[:, k]).T) for k, f in enumerate(features)]
        return cls(features, columns, codes, sizes, np.bincount(codes, minlength=n_classes) / codes.size)

    def depart(self, n_rows: int) -> Traveller:
        """Rows at distance 0 from everything."""
        return _Distances(self, 0, np.zeros((n_rows, self.codes.size), dtype=np.float32))


@dataclass(frozen=True)
class _Distances:
    neighbours: Neighbours
    stage: int
    distances: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Distances(self.neighbours, self.stage, self.distances[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.neighbours, self.stage
        added = of.features[k].scaled(values)
        distances = self.distances.copy()
        votes = np.empty((len(values), of.prior.size))

        kernel.nearest(distances, added, of.columns[k], of.codes, int(of.sizes[k]), votes)
        posteriors = (votes + of.prior) / (votes.sum(axis=1, keepdims=True) + 1.0)
        return _Distances(of, k + 1, distances), posteriors


@dataclass(frozen=True)
class Blend:
    """Two classifiers on the same order; the posteriors are ``1 - share`` of the first and ``share`` of the second."""

    first: Prefixes
    second: Prefixes
    share: float

    @property
    def features(self) -> list[Feature]:
        """Their encodings, in the order of acquisition."""
        return self.first.features

    @property
    def prior(self) -> np.ndarray:
        """Share of each class among the training rows."""
        return self.first.prior

    @property
    def by_block(self) -> bool:
        """Whether rows are best taken in blocks."""
        return self.first.by_block and self.second.by_block

    def depart(self, n_rows: int) -> Traveller:
        """Rows that set out twice."""
        return _Together(self.first.depart(n_rows), self.second.depart(n_rows), self.share)


@dataclass(frozen=True)
class _Together:
    first: Traveller
    second: Traveller
    share: float

    def take(self, rows: np.ndarray) -> Traveller:
        return _Together(self.first.take(rows), self.second.take(rows), self.share)

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        first, one = self.first.after(values)
        second, other = self.second.after(values)
        return _Together(first, second, self.share), (1.0 - self.share) * one + self.share * other


@dataclass(frozen=True)
class Estimators:
    """A fitted classifier for each prefix."""

    features: list[Feature]
    fitted: list[Any]
    prior: np.ndarray
    keep_missing: bool
    by_block: ClassVar[bool] = False

    def depart(self, n_rows: int) -> Traveller:
        """Rows without columns."""
        return _Columns(self, 0, np.empty((n_rows, 0)))


@dataclass(frozen=True)
class _Columns:
    estimators: Estimators
    stage: int
    columns: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Columns(self.estimators, self.stage, self.columns[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.estimators, self.stage
        columns = np.concatenate([self.columns, of.features[k].plain(values, of.keep_missing)], axis=1)
        return _Columns(of, k + 1, columns), posteriors_of(of.fitted[k], columns, of.prior)


def posteriors_of(fitted: Any, X: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Posteriors (m, N); a class that the estimator never saw has none, and no estimator means the prior."""
    if fitted is None or not len(X):
        return np.tile(prior, (len(X), 1))
    out = np.zeros((len(X), prior.size))
    out[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(X)
    return out


def travel(prefixes: Prefixes, values: np.ndarray) -> np.ndarray:
    """Posteriors (K, n, N) of rows that are asked everything."""
    traveller = prefixes.depart(len(values))
    stages = []
    for k in range(len(prefixes.features)):
        traveller, posteriors = traveller.after(values[:, k])
        stages.append(posteriors)
    return np.array(stages).reshape(len(stages), len(values), prefixes.prior.size)


def deal_folds(codes: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """A fold for each row, classes dealt out evenly."""
    shuffled = rng.permutation(codes.size)
    folds = np.empty(codes.size, dtype=np.int64)
    folds[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(codes.size) % n_folds
    return folds


def in_folds(folds: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Training rows and held-out rows of each fold."""
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
