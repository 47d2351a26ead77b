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
from etana.judgement import HeldOutRows
from etana.learning.folds import deal_folds, in_folds, row_keys, sample_rows
from etana.likelihood import Counts, effective_rows, tempered
from etana.model import Model
from etana.ordering import choose_order
from etana.policies import PointsSolver, solver_for
from etana.policies.fixed_order import FixedOrder, problem_of
from etana.table import Table

__all__ = ["TEMPERATURES", "TemperedRows", "coolest", "hold_out"]

TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 4.5)
_FOLDS = 5
_FEW = 200  # rows of two classes below which folds are dealt twice
_MOST_ROWS = 2000
_LEAST_ROWS = 20  # fewer say nothing about the temperature
_CLEARLY, _HALF = 3.0, 0.5  # standard errors
_DEEPEST = 64  # features that are asked of held-out rows
_POINTS, _REACH = 300, 3e-3  # what a policy is worth is seen from the rows: it needs neither polish nor certificate


def coolest(walk: Callable[[float], HeldOutRows]) -> tuple[float, HeldOutRows]:
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
    """Bins, counts and likelihoods of the other folds; the rows held out, and their classes. ``columns`` are those of
    the training table that these tables have; None: all."""

    binner: Binner
    counts: Counts
    likelihoods: np.ndarray
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
    ) -> HeldOutRows:  # fmt: skip
        """What the held-out rows pay at these prices."""
        # A search in each fold for each temperature would take as long as thirty fits.
        quick = "information" if isinstance(ordering, str) and ordering in ("auto", "cost") else ordering
        costs, asked, right, nothing = [], [], [], []
        for binner, counts, likelihoods, table, truth, columns in self.folds:
            own = prices if columns is None else prices.of(columns)
            priors = priors_of(counts.classes)
            cells = tempered(likelihoods, counts.offsets, priors, temperature)
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
        return HeldOutRows(every[0], every[1], every[2], every[3], self.weights, self.n_rows)


def hold_out(
    rows: tuple[Table, np.ndarray, np.ndarray], binner: Binner, bins_given: bool, silent: np.ndarray, n_classes: int,
    seed: int, every_column: bool = False,
) -> TemperedRows | None:  # fmt: skip
    """Folds of (table, classes, weights), binned and counted; None where there are too few rows. Bins that were given
    stay for all folds; others are chosen again, for they have seen the labels. Columns that cannot tell anything are
    left out unless bins were given or ``every_column`` is needed."""
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
    held = [out for _, out in _dealt(some, codes, seed)]
    # A row is in every fold but those that hold it out.
    parts = np.tile(counted, (len(held), 1))
    for part, out in zip(parts, held, strict=True):
        part[out] = 0.0
    learnt: list[tuple[Binner, np.ndarray, np.ndarray | None]]
    if bins_given:
        learnt = [(binner, binner.count(some, codes, part, n_classes), None) for part in parts]
    else:
        learnt = [*binner.fit_parts(some, codes, parts, n_classes, every_column)]
    folds = [
        _fold(one, some.rows(out), codes, out, part, silent) for one, out, part in zip(learnt, held, parts, strict=True)
    ]
    return TemperedRows(folds, counted[np.concatenate(held)], effective_rows(counted))


def _fold(
    learnt: tuple[Binner, np.ndarray, np.ndarray | None], rest: Table, classes: np.ndarray, held: np.ndarray,
    weights: np.ndarray, silent: np.ndarray,
) -> TemperedFold:  # fmt: skip
    binner, cells, columns = learnt
    if columns is not None:
        rest, silent = rest.some(columns), np.flatnonzero(np.isin(columns, silent))
    counts = Counts.in_bins(binner, cells, classes, weights).without(silent)
    return TemperedFold(binner, counts, counts.likelihoods(), rest, classes[held], columns)


def _dealt(table: Table, classes: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    # For two classes a walk takes milliseconds.
    for again in range(2 if classes.size < _FEW and classes.max() == 1 else 1):
        yield from in_folds(deal_folds(classes, _FOLDS, row_keys(table, seed + again)))
