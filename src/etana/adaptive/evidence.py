"""What an answer says about the class, given the answers before it.

At a state reached by a path of answers

    P(F = v | T_i, path) = (n_iv(path) + m P(v | T_i)) / (n_i(path) + m)

with n counting the training rows that share the path. m infinite is naive Bayes, m = 0 a decision tree.

Only *candidates* are ever asked: features with at least two bins. Under naive Bayes no feature can tell more about the
class, at any belief, than its *radius* max_i KL(P_i || Q), where Q is the mean of the P_i over the classes; candidates
are sorted by radius per price, so that a search for the best can end early without loss. Where there are more
candidates than can be held (``most``), those with the largest radius per price are kept, and ``left_out`` is the
largest radius per price among the rest: under naive Bayes no feature that was left out is ever worth more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.likelihood import Counts
from etana.table import Table

__all__ = ["Evidence"]

_MOST_CODES = 2**27  # codes of training rows that are held at most


@dataclass(frozen=True)
class Evidence:
    """Likelihoods of the candidates, their prices, and the training rows as codes.

    Attributes
    ----------
    columns : array (C,)
        Column index of each candidate, in descending order of radius per price.
    offsets, table : arrays (C + 1,), (cells, N)
        P(v | T_i) of each candidate.
    prices : ResolvedCosts
        Of the candidates.
    codes : array (C, n)
        Training rows; without rows (n = 0) every state is naive Bayes.
    classes, weights : arrays (n,)
    m : float
    left_out : float
        Bound on the information per price of features that are not candidates; 0 if all are.
    """

    columns: np.ndarray
    offsets: np.ndarray
    table: np.ndarray
    prices: ResolvedCosts
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    m: float = np.inf
    left_out: float = 0.0

    @classmethod
    def of(
        cls, binner: Binner, counts: Counts, table: Table, classes: np.ndarray, weights: np.ndarray,
        prices: ResolvedCosts, floor: float,
    ) -> Evidence:  # fmt: skip
        """Candidates and their likelihoods from training rows; ``floor`` is the least price that counts."""
        likelihoods = counts.likelihoods()
        radius = _radius(likelihoods, counts.offsets).max(axis=1, initial=0.0)
        rate = radius / np.maximum(np.minimum(prices.full, prices.discounted), floor)
        several = np.flatnonzero((np.diff(counts.offsets) > 1) & (radius > 0))
        order = several[np.argsort(-rate[several], kind="stable")]
        most = max(_MOST_CODES // max(table.n_rows, 1), 1)
        columns = order[:most]
        sizes = np.diff(counts.offsets)[columns]
        offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        cells = np.repeat(counts.offsets[columns] - offsets[:-1], sizes) + np.arange(offsets[-1])
        own = ResolvedCosts(prices.full[columns], prices.discounted[columns], prices.group[columns])
        left_out = float(rate[order[most]]) if order.size > most else 0.0
        codes = binner.encode(table, columns)
        return cls(columns, offsets, likelihoods[cells], own, codes, classes, weights, left_out=left_out)

    def with_strength(self, m: float) -> Evidence:
        """The same rows, shrunk with another strength."""
        return replace(self, m=float(m))

    def without_rows(self) -> Evidence:
        """Naive Bayes only, as at states that no training row has reached."""
        none = np.empty((self.columns.size, 0), dtype=self.codes.dtype)
        return replace(self, codes=none, classes=self.classes[:0], weights=self.weights[:0])

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What the kernels take: see :mod:`etana.kernels.graph`."""
        cells = np.where(self.table > 0, self.table * np.log(np.maximum(self.table, 1e-300)), 0.0)
        negentropy = _sums(cells, self.offsets)
        radius = _radius(self.table, self.offsets)
        return (
            self.codes, self.classes, self.weights, self.offsets, self.table, negentropy, radius, self.m
        )  # fmt: skip

    def bound(self, floor: float) -> np.ndarray:
        """Largest information per price of each candidate, and so of all that come after it."""
        per = np.maximum(np.minimum(self.prices.full, self.prices.discounted), floor)
        rate = self.arguments[6].max(axis=1, initial=0.0) / per
        return np.maximum.accumulate(rate[::-1])[::-1]


def _sums(cells: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    if offsets.size == 1:
        return np.empty((0, cells.shape[1]))
    return np.add.reduceat(cells, offsets[:-1], axis=0)


def _radius(table: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """KL(P_i || Q) of each feature and class, Q the mean over the classes."""
    mean = table.mean(axis=1, keepdims=True)
    ratio = np.divide(table, mean, out=np.ones_like(table), where=(mean > 0) & (table > 0))
    return np.maximum(_sums(table * np.log(ratio), offsets), 0.0)
