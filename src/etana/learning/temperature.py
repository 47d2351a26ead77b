"""How far evidence is to be believed: the temperature T of the likelihoods, by what held-out rows pay.

Naive Bayes counts every feature as news. Where features repeat each other, or bins were cut to fit the training rows,
it is too sure: it stops early, and announces less than is paid. Ratios of likelihoods raised to 1/T are more careful
(:func:`etana.likelihood.tempered`); T = 1 is naive Bayes as it is.

Each fold's rows walk by bins, counts and a solved problem of the other folds, at one T after the other, until one costs
more than the best so far by three standard errors of the difference. The cheapest is taken, T = 1 unless it is dearer
by half a standard error: what a few rows say is mostly chance. Of many rows a part is taken, every class in proportion,
and the order is one of scores where the fit searches for one, so that long and wide tables stay affordable.

What the held-out rows paid at the T that is taken is what the classifier announces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from etana.beliefs.naive_bayes import NaiveBayes
from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.judgement import Judgement, error_of_mean
from etana.learning.folds import TrainingRows, deal_folds, in_folds, row_keys, sample_rows
from etana.likelihood import Counts, effective_rows, tempered
from etana.model import Model
from etana.ordering import choose_order
from etana.policies import PointsSolver, solver_for
from etana.policies.fixed_order import FixedOrder, problem_of
from etana.table import Table

__all__ = ["TEMPERATURES", "Paid", "TemperedRows", "coolest", "hold_out"]

TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 4.5)
_FOLDS = 5
_FEW = 200  # rows of two classes below which folds are dealt twice
_MOST_ROWS = 2000
_LEAST_ROWS = 20  # fewer say nothing about the temperature
_CLEARLY, _HALF = 3.0, 0.5  # standard errors
_DEEPEST = 64  # features that are asked of held-out rows
_POINTS, _REACH = 300, 3e-3  # what a policy is worth is seen from the rows: it needs neither polish nor certificate


class Paid(NamedTuple):
    """What each held-out row paid, features and mistakes, how many features it was asked, whether it was decided
    right, what it pays if nothing is asked, and its weight; rows that were dealt twice are counted once in ``n_rows``.
    """

    costs: np.ndarray
    asked: np.ndarray
    right: np.ndarray
    nothing: np.ndarray
    weights: np.ndarray
    n_rows: float

    def judgement(self) -> Judgement:
        """Averages over the rows."""
        return Judgement.of_rows(*self)

    def above(self, other: Paid) -> tuple[float, float]:
        """How much dearer than the same rows on another way, and one standard error of that."""
        extra = self.costs - other.costs
        return float(np.average(extra, weights=self.weights)), error_of_mean(extra, self.weights, self.n_rows)


def coolest(walk: Callable[[float], Paid]) -> tuple[float, Paid]:
    """The temperature to take, and what rows paid at it; ``walk`` lets them walk at a temperature."""
    first = best = walk(TEMPERATURES[0])
    chosen = TEMPERATURES[0]
    for temperature in TEMPERATURES[1:]:
        paid = walk(temperature)
        dearer, error = paid.above(best)
        if dearer < 0:
            best, chosen = paid, temperature
        elif dearer > _CLEARLY * error and dearer > 0:
            break
    gain, error = first.above(best)
    return (chosen, best) if gain > _HALF * error else (TEMPERATURES[0], first)


class TemperedFold(NamedTuple):
    """Bins and counts of the other folds; the rows held out, and their classes. ``columns`` are those of the training
    table that these tables have; None: all."""

    binner: Binner
    counts: Counts
    table: Table
    classes: np.ndarray
    columns: np.ndarray | None


@dataclass(frozen=True)
class TemperedRows:
    """Folds of training rows, each with what the others taught.

    Attributes
    ----------
    folds : list of TemperedFold
    weights : array (n,)
        Of the rows, fold after fold.
    n_rows : float
    """

    folds: list[TemperedFold]
    weights: np.ndarray
    n_rows: float

    def walk(
        self, temperature: float, priors_of: Callable[[np.ndarray], np.ndarray], ordering: Any, prices: ResolvedCosts,
        mistakes: np.ndarray, seed: int,
    ) -> Paid:  # fmt: skip
        """What the held-out rows pay at these prices."""
        # A search in each fold for each temperature would take as long as thirty fits.
        quick = "information" if isinstance(ordering, str) and ordering in ("auto", "cost") else ordering
        costs, asked, right, nothing = [], [], [], []
        for binner, counts, table, truth, columns in self.folds:
            own = prices if columns is None else prices.of(columns)
            priors = priors_of(counts.classes)
            cells = tempered(counts.likelihoods(), counts.offsets, priors, temperature)
            order = choose_order(quick, counts, cells, priors, own, mistakes, seed).order[:_DEEPEST]
            beliefs = NaiveBayes(binner, cells, priors)
            solver = solver_for("auto", 2, seed) if priors.size == 2 else PointsSolver(_POINTS, _REACH, seed)
            solution = solver.solve(problem_of(beliefs, order, own, mistakes))
            walked = Model(beliefs, FixedOrder(order, solution, own, mistakes), np.arange(priors.size)).acquire(table)
            costs.append(walked.costs + mistakes[truth, walked.labels])
            asked.append(walked.n_features)
            right.append(walked.labels == truth)
            nothing.append(mistakes[truth, (priors @ mistakes).argmin()])
        every = [np.concatenate(each) for each in (costs, asked, right, nothing)]
        return Paid(every[0], every[1], every[2], every[3], self.weights, self.n_rows)


def hold_out(
    rows: tuple[Table, np.ndarray, np.ndarray], binner: Binner, bins_given: bool, silent: np.ndarray, n_classes: int,
    seed: int, every_column: bool = False,
) -> TemperedRows | None:  # fmt: skip
    """Folds of (table, classes, weights), binned and counted; None where there are too few rows. Bins that were given
    stay for all folds; others are chosen again, for they have seen the labels. Columns of sparse tables that cannot
    tell anything are left out unless ``every_column`` is needed."""
    table, classes, weights = rows
    kept = weights > 0
    if kept.sum() < _LEAST_ROWS or (np.bincount(classes, weights) > 0).sum() < 2:
        return None
    if kept.all():
        chosen = sample_rows(classes, _MOST_ROWS, row_keys(table, seed))
    else:
        index = np.flatnonzero(kept)
        chosen = index[sample_rows(classes[index], _MOST_ROWS, row_keys(table, seed)[index])]
    some = Table(table.dense, table.sparse, table._columns).rows(chosen)
    codes, counted = classes[chosen], weights[chosen]
    folds, order = [], []
    for learning, held in _dealt(some, codes, seed):
        own = binner if bins_given else Binner(binner.method, binner.n_bins, binner.missing)
        part, rest, quiet = (
            TrainingRows(some.rows(learning), codes[learning], counted[learning]),
            some.rows(held),
            silent,
        )
        columns = None if bins_given or every_column else own.divisible(*part, n_classes)
        if columns is not None:
            part, rest = part._replace(table=part.table.some(columns)), rest.some(columns)
            quiet = np.flatnonzero(np.isin(columns, silent))
        count = Counts.of if bins_given else Counts.learn
        counts = count(own, *part, n_classes).without(quiet)
        folds.append(TemperedFold(own, counts, rest, codes[held], columns))
        order.append(held)
    return TemperedRows(folds, counted[np.concatenate(order)], effective_rows(counted))


def _dealt(table: Table, classes: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    # For two classes a walk takes milliseconds.
    for again in range(2 if classes.size < _FEW and classes.max() == 1 else 1):
        yield from in_folds(deal_folds(classes, _FOLDS, row_keys(table, seed + again)))
