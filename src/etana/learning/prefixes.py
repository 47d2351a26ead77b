"""From training rows to an order, a classifier on each prefix, and honest walks.

A *walk* is what the stopping rule is learnt from: the posteriors of a training row after 0, 1, ..., K features, made
without that row.  Three ways lead there:

* nearest neighbours: every row is left out of its own vote;
* logistic regression, or an estimator: it is fitted on the other folds, for every prefix;
* *nested*: the whole of it, screen, order and classifier, is done again without the row's fold.  Where there are more
  features than rows, some feature fits the rows by chance, and an order chosen on all of them looks better than it
  is; nested walks do not.  Nor are the gains that the search sees believed then: the order has full length, and the
  walks say how much of it is worth its price.  Each fold has an order of its own there; stages are counted, not
  features, and have the prices of the final order.

Where no estimator is given, nearest neighbours and logistic regression walk side by side, and their posteriors are
blended: the share of logistic regression, between 0 and 1, is the one with which the stopping rule of the walks, at the
prices of the fit, pays least. The first knows any shape, the second needs few rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from etana.beliefs.prefixes.belief import Prefixed
from etana.beliefs.prefixes.calibration import fit_temperature, temper
from etana.beliefs.prefixes.encoding import Feature, learn_feature
from etana.beliefs.prefixes.linear import fit_linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import Blend, PrefixMember, travel
from etana.costs import ResolvedCosts
from etana.learning.estimators import fit_estimators, takes_missing
from etana.learning.folds import deal_folds, in_folds, sample_rows
from etana.learning.forward_order import EstimatorSearch, Found, NeighbourSearch, out_of_fold
from etana.learning.progress import Tell
from etana.learning.screen import screen_features
from etana.policies.regression import learn_stopping
from etana.table import Table

__all__ = ["LearntPrefixes", "PrefixRows", "PrefixSettings", "learn_prefixes"]

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class PrefixSettings:
    """The parameters of a fit, checked."""

    estimator: Any
    by_estimator: bool
    max_features: int
    screen: Any
    nested: Any
    folds: int
    max_rows: int
    n_jobs: int | None
    seed: int


@dataclass(frozen=True)
class PrefixRows:
    """The training rows and what things cost."""

    table: Table
    codes: np.ndarray
    levels: dict[int, np.ndarray]
    prices: ResolvedCosts
    mistakes: np.ndarray
    keys: np.ndarray  # of the rows, for dealing folds

    @property
    def n_classes(self) -> int:
        """N."""
        return self.mistakes.shape[0]

    def values(self, columns: np.ndarray) -> np.ndarray:
        """These columns as floats, (n, columns)."""
        return np.asarray(self.table.block(columns, self.levels), dtype=np.float64)


@dataclass(frozen=True)
class LearntPrefixes:
    """What a fit finds and new prices do not change: beliefs, and the walks that stopping rules are learnt from.

    Attributes
    ----------
    beliefs : Prefixed
    walks : array (K + 1, n, N)
        Calibrated posteriors of training rows by stage.
    codes : array (n,)
        Classes of those rows.
    """

    beliefs: Prefixed
    walks: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class _Route:
    """An order: columns of the table, their encodings, and what the search found."""

    columns: np.ndarray
    features: list[Feature]
    found: Found


def learn_prefixes(training: PrefixRows, settings: PrefixSettings, tell: Tell) -> LearntPrefixes:
    """All of a fit but the stopping rule."""
    rows = sample_rows(training.codes, settings.max_rows, training.keys)
    nested = _is_nested(training, settings, rows)
    # Nested walks say how much of the order pays, so the search itself need not stop early.
    route = _find_route(training, settings, rows, settings.max_features, nested, tell)
    values = training.values(route.columns)
    if nested:
        raw = _nested_walks(training, settings, rows, route.columns.size, tell)
    elif settings.estimator is None:
        raw = [route.found.posteriors, _linear_walks(training, settings, route, values[rows], rows, tell)]
    elif settings.by_estimator:
        raw = [route.found.posteriors]
    else:
        rows = np.arange(training.codes.size)
        raw = [_walks_in_folds(training, settings, route, values, tell)]
    tell("fitting")
    prefixes = _fit_prefixes(training, settings, route, values, _fitting_rows(training, settings, rows))
    if len(prefixes) == 1:
        return _calibrate(training, route.columns, prefixes[0], raw[0], training.codes[rows])
    return _blended(training, route.columns, prefixes, raw, training.codes[rows])


def _fitting_rows(training: PrefixRows, settings: PrefixSettings, rows: np.ndarray) -> np.ndarray:
    return rows if settings.estimator is None else np.arange(training.codes.size)


def _is_nested(training: PrefixRows, settings: PrefixSettings, rows: np.ndarray) -> bool:
    if settings.nested == "auto":
        return training.table.n_features > rows.size
    return bool(settings.nested)


def _find_route(
    training: PrefixRows, settings: PrefixSettings, rows: np.ndarray, most: int, to_the_end: bool, tell: Tell
) -> _Route:
    """Screen, encode and search, on these rows alone."""
    tell("screening")
    codes = training.codes[rows]
    candidates = screen_features(
        training.table, training.codes, rows, training.n_classes, training.prices.full, settings.screen
    )
    values = training.values(candidates)[rows]
    features = [
        learn_feature(values[:, k], training.levels.get(column)) for k, column in enumerate(candidates.tolist())
    ]
    prices = ResolvedCosts(*(x[candidates] for x in vars(training.prices).values()))
    search: NeighbourSearch | EstimatorSearch
    if settings.by_estimator:
        keep = takes_missing(settings.estimator)
        raw = [f.raw(values[:, k], keep) for k, f in enumerate(features)]
        folds = deal_folds(codes, settings.folds, training.keys[rows])
        search = EstimatorSearch(raw, codes, prices, training.mistakes, settings.estimator, folds, settings.n_jobs)
    else:
        scaled = [f.scaled(values[:, k]) for k, f in enumerate(features)]
        search = NeighbourSearch(scaled, codes, prices, training.mistakes)
    found = search.run(most, to_the_end, lambda n_chosen: tell(f"{n_chosen} features in order"))
    return _Route(candidates[found.features], [features[f] for f in found.features], found)


def _fit_prefixes(
    training: PrefixRows, settings: PrefixSettings, route: _Route, values: np.ndarray, rows: np.ndarray
) -> list[PrefixMember]:
    """The estimator's, or those of nearest neighbours and logistic regression."""
    codes, n_classes = training.codes[rows], training.n_classes
    if settings.estimator is not None:
        return [fit_estimators(settings.estimator, route.features, values[rows], codes, n_classes, settings.n_jobs)]
    neighbours = Neighbours.of(route.features, values[rows], codes, route.found.sizes, n_classes)
    return [neighbours, fit_linear(route.features, values[rows], codes, n_classes)]


def _nested_walks(
    training: PrefixRows,
    settings: PrefixSettings,
    rows: np.ndarray,
    n_stages: int,
    tell: Tell,
) -> list[np.ndarray]:
    """Posteriors (K, n, N) of rows whose fold had no part in order and classifier; one array for each classifier."""
    folds = deal_folds(training.codes[rows], settings.folds, training.keys[rows])

    def one(inside: np.ndarray, held_out: np.ndarray) -> list[np.ndarray]:
        # Everything that looks at labels is inside the fold: screen, encoding, order and classifiers.
        route = _find_route(training, settings, rows[inside], n_stages, True, lambda text: None)
        values = training.values(route.columns)
        fitted = _fit_prefixes(training, settings, route, values, rows[inside])
        return [_stretch(travel(p, values[rows[held_out]]), p.prior, n_stages) for p in fitted]

    parts = list(in_folds(folds))
    # Kernels release the lock, and threads share the table.
    jobs = Parallel(n_jobs=settings.n_jobs, prefer="threads", return_as="generator")(
        delayed(one)(*part) for part in parts
    )
    out = np.empty((2 if settings.estimator is None else 1, n_stages, rows.size, training.n_classes))
    for done, (part, walked) in enumerate(zip(parts, jobs, strict=True), start=1):
        out[:, :, part[1]] = walked
        tell(f"{done} of {len(parts)} folds walked")
    return list(out)


def _stretch(walked: np.ndarray, prior: np.ndarray, n_stages: int) -> np.ndarray:
    """Walks of a shorter order stay where they ended."""
    if not len(walked):
        return np.tile(prior, (n_stages, walked.shape[1], 1))
    # A fold may find nothing more to ask before the others do.
    return walked[np.minimum(np.arange(n_stages), len(walked) - 1)]


def _linear_walks(
    training: PrefixRows, settings: PrefixSettings, route: _Route, values: np.ndarray, rows: np.ndarray,
    tell: Tell,
) -> np.ndarray:  # fmt: skip
    """Posteriors (K, n, N) of these rows by logistic regression, fitted on the other folds."""
    tell("logistic regression")
    codes, n_classes = training.codes[rows], training.n_classes
    prior = np.bincount(codes, minlength=n_classes) / codes.size
    out = np.tile(prior, (len(route.features), codes.size, 1))
    for inside, held_out in in_folds(deal_folds(codes, settings.folds, training.keys[rows])):
        if inside.size:
            linear = fit_linear(route.features, values[inside], codes[inside], n_classes)
            out[:, held_out] = travel(linear, values[held_out])
    return out


def _blended(
    training: PrefixRows, columns: np.ndarray, prefixes: list[PrefixMember], raw: list[np.ndarray], codes: np.ndarray
) -> LearntPrefixes:
    """The share of the second classifier with which the walks pay least; the first among equals."""
    prices, found = training.prices.in_order(columns), []
    first, second = prefixes
    for share in _SHARES:
        both = (1.0 - share) * raw[0] + share * raw[1]
        learnt = _calibrate(training, columns, _blend(first, second, share), both, codes)
        # By what it is for, the cost of the walks and not their log loss; few shares, so that chance has little to say.
        cost = learn_stopping(learnt.walks, codes, prices, training.mistakes).expected_cost
        found.append((cost, learnt))
    return min(found, key=lambda one: one[0])[1]


def _blend(first: PrefixMember, second: PrefixMember, share: float) -> PrefixMember:
    if share in (0.0, 1.0):
        return second if share else first
    return Blend(first, second, share)


def _walks_in_folds(
    training: PrefixRows,
    settings: PrefixSettings,
    route: _Route,
    values: np.ndarray,
    tell: Tell,
) -> np.ndarray:
    """Posteriors (K, n, N) by the estimator on each prefix, fitted on the other folds."""
    codes = training.codes
    prior = np.bincount(codes, minlength=training.n_classes) / codes.size
    folds = deal_folds(codes, settings.folds, training.keys)
    keep = takes_missing(settings.estimator)
    blocks = [f.raw(values[:, k], keep) for k, f in enumerate(route.features)]
    jobs = Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        delayed(out_of_fold)(settings.estimator, np.concatenate(blocks[: k + 1], axis=1), codes, prior, folds)
        for k in range(len(blocks))
    )
    out = np.empty((len(blocks), codes.size, training.n_classes))
    for k, posteriors in enumerate(jobs):
        out[k] = posteriors
        tell(f"{k + 1} of {len(blocks)} prefixes cross-validated")
    return out


def _calibrate(
    training: PrefixRows, columns: np.ndarray, member: PrefixMember, raw: np.ndarray, codes: np.ndarray
) -> LearntPrefixes:
    # One row's worth of doubt: what was not seen in n rows has a chance of about 1/n.
    floor = 1.0 / (codes.size + member.prior.size)
    temperatures = np.array([fit_temperature(stage, member.prior, codes, floor) for stage in raw])
    honest = [temper(stage, member.prior, t, floor) for stage, t in zip(raw, temperatures, strict=True)]
    # Stage 0: before any feature every row is at the prior.
    walks = np.stack([np.tile(member.prior, (codes.size, 1)), *honest])
    beliefs = Prefixed(columns, member, temperatures, floor, training.levels, training.table.n_features)
    return LearntPrefixes(beliefs, walks, codes)
