"""What held-out walks say a classifier on prefixes will pay, by stopping rules that had not seen them.

Walks of training rows are honest about classifiers and orders, but the stopping rule is learnt from them, and a rule
pays less on the walks that it was learnt from than on others. So their rows are dealt into folds once more: each fold
walks by a rule that was learnt from the others, and begins at the shares that the classes have among the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from etana.beliefs.prefixes.travel import shares_of
from etana.costs import ResolvedCosts
from etana.judgement import HeldOutRows, Judgement
from etana.learning.folds import deal_folds, in_folds, row_keys
from etana.learning.regions import LearntRegions, learn_tree_stopping
from etana.likelihood import effective_rows
from etana.policies.tree import PolicyTree
from etana.table import read_table

__all__ = ["judge_walks", "take_through"]

_FOLDS = 5
_DIGITS = 6  # of posteriors: what tells rows apart must not hang on the last bits


def judge_walks(learnt: LearntRegions, prices: ResolvedCosts, mistakes: np.ndarray) -> Judgement | None:
    """What rows pay at these prices that neither classifiers nor stopping rule had seen; None of a single row."""
    if learnt.walks[0].weights.size < 2:
        return None
    return take_through(learnt, prices, mistakes).judgement()


def take_through(learnt: LearntRegions, prices: ResolvedCosts, mistakes: np.ndarray) -> HeldOutRows:
    """Every row by a rule that had not seen it."""
    first = learnt.walks[0]
    n, codes = first.codes.size, first.codes
    # By what is believed in the class of the row, which has the same place whatever the classes are called.
    own = np.round(first.walks[:, np.arange(n), codes].T, _DIGITS)
    folds = deal_folds(codes, min(_FOLDS, n), row_keys(read_table(own)))
    paid, asked, right, nothing = (np.empty(n) for _ in range(4))
    for learning, held in in_folds(folds):
        priors = [_shares(learnt, i, learning, len(mistakes)) for i in range(len(learnt.walks))]
        tree = learn_tree_stopping(_part(learnt, learning, priors), prices, mistakes)
        spent, asked[held], decided = _walk(_part(learnt, held, priors), tree)
        paid[held], right[held] = spent + mistakes[codes[held], decided], codes[held] == decided
        nothing[held] = mistakes[codes[held], (priors[0] @ mistakes).argmin()]
    return HeldOutRows(paid, asked, right, nothing, first.weights, effective_rows(first.weights))


def _shares(learnt: LearntRegions, region: int, rows: np.ndarray, n_classes: int) -> np.ndarray:
    """Shares of the classes among some rows of a region; of all its rows, where it has none of them."""
    walks, some = learnt.walks[region], np.isin(learnt.rows[region], rows)
    some |= not some.any()
    return shares_of(walks.codes[some], n_classes, walks.weights[some])


def _part(learnt: LearntRegions, rows: np.ndarray, priors: list[np.ndarray]) -> LearntRegions:
    """Some of the rows, numbered anew, which begin at these shares in each region."""
    walks, numbers = [], []
    for own, one, prior in zip(learnt.rows, learnt.walks, priors, strict=True):
        some = np.isin(own, rows)
        begun = np.concatenate([np.tile(prior, (1, int(some.sum()), 1)), one.walks[1:, some]])
        walks.append(replace(one, walks=begun, codes=one.codes[some], weights=one.weights[some]))
        numbers.append(np.searchsorted(rows, own[some]))
    return LearntRegions(learnt.beliefs, tuple(walks), tuple(numbers))


def _walk(part: LearntRegions, tree: PolicyTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each row spends and is asked under a policy, and the class that it decides."""
    regions, n = part.beliefs.regions, part.walks[0].codes.size
    spent, asked, decided = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    here = [np.arange(n), *(np.empty(0, dtype=np.int64) for _ in regions[1:])]
    # Halves stand behind the region that they are halves of.
    for region, rule, walks, own, rows in zip(regions, tree.rules, part.walks, part.rows, here, strict=True):
        for place in range(region.entered, rule.horizon + 1):
            beliefs = np.ascontiguousarray(walks.walks[place][np.searchsorted(own, rows)])
            if place == rule.horizon and region.split is not None and rule.horizon == region.chain.order.size:
                for half in (region.split.inside, region.split.outside):
                    here[half] = np.intersect1d(rows, part.rows[half])
                break
            stops = rule.stops(place, beliefs) if place < rule.horizon else np.ones(rows.size, dtype=bool)
            decided[rows[stops]] = rule.decide(beliefs[stops])
            rows = rows[~stops]
            if place < rule.horizon:
                spent[rows] += rule.prices[place]
                asked[rows] += 1
    return spent, asked, decided
