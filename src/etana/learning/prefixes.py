"""From training rows to an order, classifiers on each prefix, and honest walks.

A *walk* is what the stopping rule is learnt from: the posteriors of a training row after 0, 1, ..., K features, by
classifiers that were fitted without the row's fold. Where walks are *nested*, the whole of it, screen, order and
classifiers, is done again without the fold: some feature fits few rows by chance, an order chosen on all of them looks
better than it is, and nested walks do not. Nor are the gains that the search sees believed then: the order has full
length, and the walks say how much of it is worth its price. Each fold has an order of its own there; stages are
counted, not features, and have the prices of the final order.

Where no estimator is given, several *members* walk side by side, and their posteriors are pooled
(:mod:`etana.learning.pooling`): nearest neighbours know any shape, logistic regression and naive Bayes need few rows,
boosted trees see thresholds and how features act together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from etana.beliefs.prefixes.belief import Prefixed
from etana.beliefs.prefixes.calibration import fit_temperature, temper
from etana.beliefs.prefixes.densities import fit_densities
from etana.beliefs.prefixes.encoding import Feature, learn_feature
from etana.beliefs.prefixes.linear import fit_linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import PrefixMember, shares_of, travel
from etana.costs import ResolvedCosts
from etana.learning.boosting import fit_boosted, gains_of_trees
from etana.learning.estimators import fit_estimators, takes_missing
from etana.learning.folds import deal_folds, in_folds, sample_rows
from etana.learning.forward_order import EstimatorSearch, Found, NeighbourSearch, out_of_fold
from etana.learning.pooling import fit_pool
from etana.learning.progress import Tell
from etana.learning.screen import screen_features
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import HeldOutWalks, learn_backward, learn_stopping
from etana.table import Table

__all__ = ["LearntPrefixes", "PrefixRows", "PrefixSettings", "best_beginning", "learn_prefixes"]

_HEAD = 7  # features that neighbours choose in any case
_LONGEST = 24  # with those that trees add
MEMBERS = ("neighbours", "linear", "densities", "boosting")


@dataclass(frozen=True)
class PrefixSettings:
    """The parameters of a fit, checked."""

    max_features: int
    screen: Any
    folds: int
    max_rows: int
    search_rows: int  # of these, among which the order is found
    n_jobs: int | None
    seed: int
    estimator: Any = None
    by_estimator: bool = False
    members: tuple[str, ...] = MEMBERS  # where there is no estimator
    nested: Any = "auto"
    few_rows: int = 0  # up to which walks are nested where "auto" says
    order: np.ndarray | None = None  # columns, where nobody has to look for an order
    pairs: bool = True  # whether features that tell only together are looked for behind the first, too


@dataclass(frozen=True)
class PrefixRows:
    """The training rows and what things cost."""

    table: Table
    codes: np.ndarray
    weights: np.ndarray
    levels: dict[int, np.ndarray]
    prices: ResolvedCosts
    mistakes: np.ndarray
    keys: np.ndarray  # of the rows, for dealing folds
    silent: np.ndarray  # columns that are no evidence

    @property
    def n_classes(self) -> int:
        """N."""
        return self.mistakes.shape[0]

    def take(self, rows: np.ndarray) -> PrefixRows:
        """Some of the rows."""
        return replace(
            self, table=self.table.rows(rows), codes=self.codes[rows], weights=self.weights[rows], keys=self.keys[rows]
        )

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
    codes, weights : array (n,)
        Classes and weights of those rows.
    """

    beliefs: Prefixed
    walks: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    def paid(self, training: PrefixRows, known: int = 0, bought: tuple[int, ...] = ()) -> np.ndarray:
        """What each held-out row really pays along the order, (n,), beyond what is known and bought already."""
        prices = training.prices.in_order(self.beliefs.order, bought)
        walked = HeldOutWalks(self.walks, self.codes, self.weights)
        end = walked.stopping(prices.size, training.mistakes)
        return learn_backward(walked, prices, training.mistakes, end, known)[1].realised


@dataclass(frozen=True)
class _Route:
    """An order: columns of the table, their encodings, and what the search found."""

    columns: np.ndarray
    features: list[Feature]
    found: Found
    candidates: np.ndarray  # columns that it was chosen from


def learn_prefixes(
    training: PrefixRows, settings: PrefixSettings, tell: Tell, start: tuple[int, ...] = ()
) -> LearntPrefixes:
    """All of a fit but the stopping rule. The columns of ``start`` stand first in the order."""
    rows = sample_rows(training.codes, settings.max_rows, training.keys)
    nested = _is_nested(training, settings, rows)
    # Where there are more columns than rows no gain can be trusted: the order has full length, and nested walks say how
    # much of it pays.
    whole = nested and (settings.nested is True or training.table.n_features > rows.size)
    route = _find_route(training, settings, rows, settings.max_features, whole, tell, start)
    if settings.estimator is not None and not nested:
        if not settings.by_estimator:
            rows = np.arange(training.codes.size)
        raw = [
            route.found.posteriors
            if settings.by_estimator
            else _cross_validated(training, settings, route, training.values(route.columns), tell)
        ]
    else:
        search = partial(_find_route, most=route.columns.size, to_the_end=whole, tell=lambda text: None, start=start)
        raw = _walks(training, settings, rows, search if nested else lambda *_: route, route.columns.size, tell)
    learnt = _learn_along(training, settings, route, rows, raw, tell)
    longer = None if nested else _with_a_tail(training, settings, rows, route, start)
    if longer is None:
        return learnt
    raw = _walks(training, settings, rows, lambda *_: longer, longer.columns.size, tell)
    other = _learn_along(training, settings, longer, rows, raw, tell)
    return min(learnt, other, key=lambda one: np.average(one.paid(training, len(start)), weights=one.weights))


def _learn_along(
    training: PrefixRows, settings: PrefixSettings, route: _Route, rows: np.ndarray, raw: list[np.ndarray], tell: Tell
) -> LearntPrefixes:
    """Classifiers on the prefixes of an order, made honest by the held-out walks along it."""
    tell("fitting")
    fitting = rows if settings.estimator is None else np.arange(training.codes.size)
    members = _fit_members(training, settings, route, training.values(route.columns), fitting)
    return _calibrated(training, route.columns, members, raw, rows)


def _with_a_tail(
    training: PrefixRows, settings: PrefixSettings, rows: np.ndarray, route: _Route, start: tuple[int, ...]
) -> _Route | None:
    """The beginning of an order, and behind it what trees gain most by; None where trees have no say.

    Neighbours find features that tell only together, a few at a time. Among many features nearest rows are far away,
    and an order that they choose ends, or goes on with the wrong ones, where trees still gain.
    """
    if settings.estimator is not None or settings.order is not None or "boosting" not in settings.members:
        return None
    most = min(settings.max_features, _LONGEST)
    head = route.columns[: max(_HEAD, len(start))]
    others = np.setdiff1d(route.candidates, head)
    if most <= head.size or not others.size:
        return None
    some = rows[sample_rows(training.codes[rows], settings.search_rows, training.keys[rows])]
    columns = np.concatenate([head, others])
    values = training.values(columns)[some]
    features = [learn_feature(values[:, k], training.levels.get(c)) for k, c in enumerate(columns.tolist())]
    gains = gains_of_trees(features, values, training.codes[some], training.n_classes, training.weights[some])
    gains = gains[head.size :] / np.maximum(training.prices.full[others], np.finfo(float).tiny)
    tail = others[np.argsort(-gains, kind="stable")[: min(int((gains > 0).sum()), most - head.size)]]
    order = np.concatenate([head, tail])
    if not tail.size or np.array_equal(order, route.columns):
        return None
    return _find_route(training, replace(settings, order=order), rows, order.size, False, lambda text: None)


def best_beginning(learnt: LearntPrefixes, prices: ResolvedCosts, mistakes: np.ndarray, budget: float) -> FixedOrder:
    """The beginning of the order that is worth most for the money, by what held-out rows pay."""
    order = learnt.beliefs.order
    own = prices.in_order(order)
    fitting = int(np.searchsorted(np.cumsum(own), budget, side="right"))
    rules = [
        learn_stopping(learnt.walks[: k + 1], learnt.codes, own[:k], mistakes, learnt.weights)
        for k in range(fitting + 1)
    ]
    best = min(range(fitting + 1), key=lambda k: rules[k].expected_cost)
    return FixedOrder(order[:best], rules[best], prices, mistakes)


def _is_nested(training: PrefixRows, settings: PrefixSettings, rows: np.ndarray) -> bool:
    if settings.order is not None:
        return False  # nothing was chosen by looking at rows
    if settings.nested == "auto":
        return training.table.n_features > rows.size or rows.size <= settings.few_rows
    return bool(settings.nested)


def _find_route(
    training: PrefixRows, settings: PrefixSettings, rows: np.ndarray, most: int, to_the_end: bool, tell: Tell,
    start: tuple[int, ...] = (),
) -> _Route:  # fmt: skip
    """Screen, encode and search, on these rows alone; or the order that is given."""
    if settings.order is not None:
        # What is given stands first, and nothing comes behind it.
        start = tuple(settings.order[:most].tolist()) if rows.size > 1 else ()
        most = len(start)
    if not most:
        n = training.n_classes
        nothing = np.empty(0, np.int64)
        return _Route(nothing, [], Found(nothing, nothing, np.empty((0, rows.size, n))), nothing)
    tell("screening")
    rows = rows[sample_rows(training.codes[rows], settings.search_rows, training.keys[rows])]
    codes, weights = training.codes[rows], training.weights[rows]
    candidates = np.unique(np.array(start, dtype=np.int64))
    if most > candidates.size:
        passed = screen_features(
            training.table, training.codes, training.weights, rows, training.n_classes, training.prices.full,
            settings.screen, training.silent,
        )  # fmt: skip
        candidates = np.union1d(candidates, passed)
    values = training.values(candidates)[rows]
    features = [
        learn_feature(values[:, k], training.levels.get(column)) for k, column in enumerate(candidates.tolist())
    ]
    first = np.searchsorted(candidates, start).tolist()
    # Neither is looked for: the order is given, and neighbours have no vote beside an estimator.
    if settings.order is not None and settings.estimator is not None:
        found = Found(
            np.array(first, dtype=np.int64), np.zeros(most, np.int64), np.empty((most, 0, training.n_classes))
        )
        return _Route(candidates[found.features], [features[f] for f in found.features], found, candidates)
    prices = training.prices.of(candidates)
    search: NeighbourSearch | EstimatorSearch
    if settings.by_estimator:
        keep = takes_missing(settings.estimator)
        raw = [f.raw(values[:, k], keep) for k, f in enumerate(features)]
        folds = deal_folds(codes, settings.folds, training.keys[rows])
        search = EstimatorSearch(
            raw, codes, prices, training.mistakes, settings.estimator, folds, settings.n_jobs, weights
        )
    else:
        scaled = [f.scaled(values[:, k]) for k, f in enumerate(features)]
        search = NeighbourSearch(scaled, codes, prices, training.mistakes, weights)
    found = search.run(most, to_the_end, lambda n_chosen: tell(f"{n_chosen} features in order"), first, settings.pairs)
    return _Route(candidates[found.features], [features[f] for f in found.features], found, candidates)


def _fit_members(
    training: PrefixRows, settings: PrefixSettings, route: _Route, values: np.ndarray, rows: np.ndarray
) -> list[PrefixMember]:
    """The estimator, or the members, on every prefix."""
    given = route.features, values[rows], training.codes[rows]
    n, weights = training.n_classes, training.weights[rows]
    if settings.estimator is not None:
        return [fit_estimators(settings.estimator, *given, weights, n, settings.n_jobs)]
    fits: dict[str, Callable[[], PrefixMember]] = {
        "neighbours": lambda: Neighbours.of(*given, route.found.sizes, n, weights),
        "linear": lambda: fit_linear(*given, n, weights),
        "densities": lambda: fit_densities(*given, n, weights),
        "boosting": lambda: fit_boosted(*given, n, weights),
    }
    return [fits[name]() for name in settings.members]


def _walks(
    training: PrefixRows, settings: PrefixSettings, rows: np.ndarray,
    find: Callable[[PrefixRows, PrefixSettings, np.ndarray], _Route], n_stages: int, tell: Tell,
) -> list[np.ndarray]:  # fmt: skip
    """Posteriors (K, n, N) of rows whose fold had no part in the classifiers, one array for each classifier; ``find``
    gives the order for some rows."""
    folds = deal_folds(training.codes[rows], settings.folds, training.keys[rows])

    def one(inside: np.ndarray, held_out: np.ndarray) -> list[np.ndarray]:
        # Where walks are nested, all that looks at labels is inside the fold: screen, encoding, order and classifiers.
        own = find(training, settings, rows[inside])
        values = training.values(own.columns)
        fitted = _fit_members(training, settings, own, values, rows[inside])
        return [_stretch(travel(p, values[rows[held_out]]), p.prior, n_stages) for p in fitted]

    # A single row has no other fold to learn from, and stays at the prior.
    parts = [part for part in in_folds(folds) if part[0].size]
    # Kernels release the lock, and threads share the table.
    jobs = Parallel(n_jobs=settings.n_jobs, prefer="threads", return_as="generator")(
        delayed(one)(*part) for part in parts
    )
    n_members = len(settings.members) if settings.estimator is None else 1
    prior = shares_of(training.codes[rows], training.n_classes, training.weights[rows])
    out = np.tile(prior, (n_members, n_stages, rows.size, 1))
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


def _cross_validated(
    training: PrefixRows,
    settings: PrefixSettings,
    route: _Route,
    values: np.ndarray,
    tell: Tell,
) -> np.ndarray:
    """Posteriors (K, n, N) by the estimator on each prefix, fitted on the other folds."""
    codes, weights = training.codes, training.weights
    prior = shares_of(codes, training.n_classes, weights)
    folds = deal_folds(codes, settings.folds, training.keys)
    keep = takes_missing(settings.estimator)
    blocks = [f.raw(values[:, k], keep) for k, f in enumerate(route.features)]
    jobs = Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        delayed(out_of_fold)(settings.estimator, np.concatenate(blocks[: k + 1], axis=1), codes, weights, prior, folds)
        for k in range(len(blocks))
    )
    out = np.empty((len(blocks), codes.size, training.n_classes))
    for k, posteriors in enumerate(jobs):
        out[k] = posteriors
        tell(f"{k + 1} of {len(blocks)} prefixes cross-validated")
    return out


def _calibrated(
    training: PrefixRows, columns: np.ndarray, members: list[PrefixMember], raw: list[np.ndarray], rows: np.ndarray
) -> LearntPrefixes:
    """The members as one, made honest by held-out rows."""
    codes, weights = training.codes[rows], training.weights[rows]
    # One row's worth of doubt: what was not seen in n rows has a chance of about 1/n.
    floor = 1.0 / (codes.size + training.n_classes)
    member, walks = members[0], raw[0]
    if len(members) > 1:
        member, walks = fit_pool(members, raw, codes, floor, weights)
    temperatures = np.array([fit_temperature(stage, member.prior, codes, floor, weights) for stage in walks])
    honest = [temper(stage, member.prior, t, floor) for stage, t in zip(walks, temperatures, strict=True)]
    # Stage 0: before any feature every row is at the prior.
    walks = np.stack([np.tile(member.prior, (codes.size, 1)), *honest])
    beliefs = Prefixed(columns, member, temperatures, floor, training.levels, training.table.n_features)
    return LearntPrefixes(beliefs, walks, codes, weights)
