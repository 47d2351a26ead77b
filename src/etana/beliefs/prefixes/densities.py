"""Naive Bayes with a smooth density for each feature and class.

A number counts by the logarithm of the odds of its rank, r / (1 - r), which no outlier moves; within a class these are
taken to be normal, each class with a mean of its own. Deviations are drawn strongly towards the one that all classes
share: a few rows of a class say little about its spread, and who believes them is far too sure. Where classes differ in
spread and not in the middle, hundreds of rows say so. A label counts by its share within the class, drawn towards its
share among all rows. A missing value says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.prefixes.encoding import Categories, Feature, Numbers
from etana.beliefs.prefixes.travel import PrefixMember, Traveller, shares_of
from etana.errors import InputError
from etana.kernels.prefixes import density_rows, log_odds_rows, share_rows

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Densities", "fit_densities"]

_TOWARDS_MEAN = 1.0  # rows' worth of belief that a class is like the others
_TOWARDS_SPREAD = 100.0  # that it has the spread of the others
_TOWARDS_SHARE = 2.0
_LEAST_DEVIATION = 0.05


@dataclass(frozen=True)
class Densities(PrefixMember):
    """Densities of each feature within each class.

    Attributes
    ----------
    tables : list of arrays
        (2, N) for a number: means and deviations. (levels, N) for labels: logarithms of their shares.
    """

    features: list[Feature]
    tables: list[np.ndarray]
    prior: np.ndarray

    @property
    def words(self) -> str:
        """What it is."""
        return "naive Bayes"

    def depart(self, n_rows: int) -> Traveller:
        """Rows at the prior."""
        with np.errstate(divide="ignore"):
            return _Logs(self, 0, np.tile(np.log(self.prior), (n_rows, 1)))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """All tables, one below another."""
        return {"tables": np.concatenate([np.empty((0, self.prior.size)), *self.tables]), "priors": self.prior}, {}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Densities:
        """The densities whose :meth:`state` this is."""
        sizes = [f.width if isinstance(f, Categories) else 2 for f in features]
        every = stored.within("tables", (sum(sizes), n_classes), -1e3, 1e3)
        ends = np.cumsum(sizes, dtype=np.int64)
        tables = [every[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        for feature, table in zip(features, tables, strict=True):
            if not isinstance(feature, Categories) and not (table[1] >= _LEAST_DEVIATION).all():
                raise InputError("a density is narrower than any that is learnt")
        return cls(features, tables, stored.priors(n_classes))


@dataclass(frozen=True)
class _Logs(Traveller):
    densities: Densities
    stage: int
    logs: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Logs(self.densities, self.stage, self.logs[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.densities, self.stage
        logs, posteriors = self.logs.copy(), np.empty_like(self.logs)
        _add_evidence(of.features[k], of.tables[k], values, logs)
        share_rows(logs, posteriors)
        return _Logs(of, k + 1, logs), posteriors


def evidence(feature: Feature, table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Logarithm of the density of each value within each class, (n, N); 0 for a missing value."""
    out = np.zeros((values.size, table.shape[1]))
    _add_evidence(feature, table, values, out)
    return out


def _add_evidence(feature: Feature, table: np.ndarray, values: np.ndarray, logs: np.ndarray) -> None:
    density_rows(np.ascontiguousarray(values, dtype=np.float64), feature.knots, feature.ranks, table, logs)


def positions(feature: Numbers, values: np.ndarray) -> np.ndarray:
    """Log odds of the rank of each number."""
    out = np.empty(values.size)
    log_odds_rows(np.ascontiguousarray(values, dtype=np.float64), feature.knots, feature.ranks, out)
    return out


def fit_densities(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray
) -> Densities:
    """Of training values (n, K) in the order of acquisition."""
    counted = weights / weights.mean()
    tables = [_table(f, values[:, k], codes, n_classes, counted) for k, f in enumerate(features)]
    return Densities(features, tables, shares_of(codes, n_classes, weights))


def _table(feature: Feature, values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    if isinstance(feature, Categories):
        known = np.isfinite(values)
        counts = np.zeros((feature.width, n_classes))
        np.add.at(counts, (values[known].astype(np.int64), codes[known]), weights[known])
        # One row's worth for each label keeps every share above 0.
        overall = (counts.sum(axis=1) + 1.0) / (counts.sum() + feature.width)
        shares = counts + _TOWARDS_SHARE * overall[:, None]
        return np.log(shares / shares.sum(axis=0))
    known = ~np.isnan(values)
    z, own, w = positions(feature, values[known]), codes[known], weights[known]

    def totals(numbers: np.ndarray) -> np.ndarray:
        return np.bincount(own, w * numbers, minlength=n_classes)

    count = totals(np.ones(z.size))
    centre = float(np.average(z, weights=w)) if w.sum() > 0 else 0.0
    mean = (totals(z) + _TOWARDS_MEAN * centre) / (count + _TOWARDS_MEAN)
    squares = totals((z - mean[own]) ** 2)
    pooled = (squares.sum() + 1.0) / (count.sum() + 1.0)
    spread = np.sqrt((squares + _TOWARDS_SPREAD * pooled) / (count + _TOWARDS_SPREAD))
    return np.stack([mean, np.maximum(spread, _LEAST_DEVIATION)])
