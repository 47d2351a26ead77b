"""From training rows to a policy tree: where rows are split, and an order and classifiers for each region.

A node has rows that came here and columns that they know. It is either a region with an order of its own, or is split
on a *gate* (:mod:`etana.learning.gates`), which is then asked next. A split is tried on at most :data:`_TRIED_ROWS`
rows: orders and classifiers are learnt for the whole and for both halves, and what held-out rows really pay decides.
Where the halves pay less by more than :data:`_CLEAR` standard errors of the difference, the price of the gate left out,
they are tried in the same way. The split, with all that is split behind it, is kept where rows then pay less by as
much, prices of gates included: so no gate is invented, and none is missed whose worth shows only behind others. When
the splits are settled, regions are learnt from all their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from etana.beliefs.committee import Committee, Region, Split
from etana.beliefs.prefixes.encoding import Feature, learn_feature
from etana.costs import ResolvedCosts
from etana.judgement import error_of_mean
from etana.learning.folds import ranked_rows, sample_rows
from etana.learning.gates import Gate, find_gates, inside, refine_gate
from etana.learning.prefixes import LearntPrefixes, PrefixRows, PrefixSettings, learn_prefixes
from etana.learning.progress import Tell
from etana.learning.screen import screen_features
from etana.likelihood import effective_rows
from etana.policies.expectation import Expectation
from etana.policies.regression import HeldOutWalks, Onward, RegressionStopping, learn_backward
from etana.policies.tree import PolicyTree

__all__ = ["LearntRegions", "best_within", "learn_regions", "learn_tree_stopping"]

_TRIED_ROWS = 1200
_TRIED_GATES = 3
# What a trial is made with: members that are quickly fitted, and an order that is quickly found. The whole and its
# halves are tried alike, so that only their difference has to be right.
_TRIED_MEMBERS = ("neighbours", "densities")
_TRIED_SEARCH = 600  # rows
_SCREENED = 64  # columns that are looked at for gates
_CLEAR = 2.0
_DEEPEST = 6


@dataclass(frozen=True)
class _Node:
    """Columns that are known here, and the split, if there is one."""

    known: tuple[int, ...]
    gate: Gate | None = None
    inside: _Node | None = None
    outside: _Node | None = None


@dataclass(frozen=True)
class LearntRegions:
    """What a fit finds and new prices do not change.

    Attributes
    ----------
    beliefs : Committee
    walks : tuple of LearntPrefixes
        Of each region.
    rows : tuple of arrays
        Which of the training rows each region has.
    sources : array, optional
        Which of the rows of the fit these training rows are; None where nobody remembers.
    """

    beliefs: Committee
    walks: tuple[LearntPrefixes, ...]
    rows: tuple[np.ndarray, ...]
    sources: np.ndarray | None = None

    @classmethod
    def of(cls, learnt: LearntPrefixes) -> LearntRegions:
        """One region, which has all rows."""
        return cls(Committee((Region(learnt.beliefs, 0),)), (learnt,), (np.arange(learnt.codes.size),))


def learn_regions(training: PrefixRows, settings: PrefixSettings, splits: bool, tell: Tell) -> LearntRegions:
    """All of a fit but the stopping rules; ``splits`` says whether regions are looked for."""
    rows = sample_rows(training.codes, settings.max_rows, training.keys)
    # In an order of their own: what a tree is shown of a row, and sums to the last bit, depend on where the row stands.
    rows = rows[ranked_rows(training.codes[rows], training.keys[rows])]
    training = training.take(rows)
    root = _Node(())
    quick = replace(settings, nested=False, members=_TRIED_MEMBERS, search_rows=_TRIED_SEARCH, pairs=False)
    if splits:
        tried = training.take(sample_rows(training.codes, _TRIED_ROWS, training.keys))
        root, _ = _grow(tried, quick, tell, (), _paid(tried, quick, ()))
    regions: list[Region] = []
    walks: list[LearntPrefixes] = []
    held: list[np.ndarray] = []

    def learn(node: _Node, own: np.ndarray) -> int:
        start, limit, gate = node.known, settings, node.gate
        if gate is not None:
            # All rows know better than those of the trial where to cut.
            gate = _refined(training.take(own), gate)
            # A region that is split asks for its gate and no more.
            start = (*node.known, gate.feature)
            limit = replace(settings, max_features=len(start))
        part, entered = training.take(own), len(node.known)
        if gate is None and node.known:
            part, start = _with_what_helps(part, quick, node.known)
            entered = len(start)
        learnt = learn_prefixes(part, limit, tell, start)
        place = len(regions)
        regions.append(Region(learnt.beliefs, entered))
        walks.append(learnt)
        held.append(own)
        if gate is not None:
            assert node.inside is not None
            assert node.outside is not None
            within = _within(training, gate, own)
            halves = learn(node.inside, own[within]), learn(node.outside, own[~within])
            share = float(training.weights[own[within]].sum() / training.weights[own].sum())
            for half, of_rows in zip(halves, (share, 1.0 - share), strict=True):
                regions[half] = replace(regions[half], share=of_rows)
            split = Split(gate.feature, gate.least, gate.most, *halves)
            regions[place] = replace(regions[place], split=split)
        return place

    learn(root, np.arange(training.codes.size))
    return LearntRegions(Committee(tuple(regions)), tuple(walks), tuple(held), rows)


def _with_what_helps(
    training: PrefixRows, quick: PrefixSettings, known: tuple[int, ...]
) -> tuple[PrefixRows, tuple[int, ...]]:
    """Rows of a region, and the columns that its order begins with: those that are known, or none of them.

    A gate that has done its work may tell nothing more, and would only make neighbours of rows that are none.
    """
    tried = training.take(sample_rows(training.codes, _TRIED_ROWS, training.keys))
    if _paid(_without(tried, known), quick, (), known).mean() < _paid(tried, quick, known).mean():
        return _without(training, known), ()
    return training, known


def _without(training: PrefixRows, columns: tuple[int, ...]) -> PrefixRows:
    """The same rows, where some columns are no evidence."""
    return replace(training, silent=np.union1d(training.silent, columns).astype(np.int64))


def _within(training: PrefixRows, gate: Gate, rows: np.ndarray) -> np.ndarray:
    values = training.values(np.array([gate.feature]))[rows, 0]
    return inside(values, gate.least, gate.most)


def _grow(
    training: PrefixRows, settings: PrefixSettings, tell: Tell, known: tuple[int, ...], whole: np.ndarray
) -> tuple[_Node, np.ndarray]:
    """Split as long as held-out rows would pay less if gates were free, and keep what pays less though they are not.

    Several gates may be needed before the first is worth its price. ``whole`` (n,) is what rows pay where nothing is
    split; returned with the node is what they pay by it.
    """
    leaf = _Node(known), whole
    gates = _gates(training, known) if len(known) < _DEEPEST else []
    if not gates:
        return leaf
    tell(f"{len(known)} splits, {len(gates)} to be tried")
    trials = [_Trial.of(training, settings, known, gate) for gate in gates]
    hopeful = [trial for trial in trials if _clearly_less(trial.paid, whole, training.weights)]
    if not hopeful:
        return leaf
    gate, price, within, paid = min(
        hopeful, key=lambda trial: trial.price + np.average(trial.paid, weights=training.weights)
    )
    onward, halves = (*known, gate.feature), []
    for side in (np.flatnonzero(within), np.flatnonzero(~within)):
        half, paid[side] = _grow(training.take(side), settings, tell, onward, paid[side])
        halves.append(half)
    paid += price
    return (_Node(known, gate, *halves), paid) if _clearly_less(paid, whole, training.weights) else leaf


class _Trial(NamedTuple):
    """A gate, its price, which rows lie inside, and what each row pays in its half, (n,), for what is asked there."""

    gate: Gate
    price: float
    within: np.ndarray
    paid: np.ndarray

    @classmethod
    def of(cls, training: PrefixRows, settings: PrefixSettings, known: tuple[int, ...], gate: Gate) -> _Trial:
        """Split the rows, and let both halves walk."""
        every, bought = np.arange(training.codes.size), (*known, gate.feature)
        within, paid = _within(training, gate, every), np.empty(every.size)
        for side in (within, ~within):
            # Gates that have done their work take no part in a trial: they would only make neighbours of rows that
            # are none.
            paid[side] = _paid(_without(training.take(every[side]), bought), settings, (), bought)
        return cls(gate, training.prices.price_of(gate.feature, known), within, paid)


def _clearly_less(paid: np.ndarray, whole: np.ndarray, weights: np.ndarray) -> bool:
    less = whole - paid
    # Where few rows have most of the weight, few rows say that the split pays.
    error = error_of_mean(less, weights, effective_rows(weights))
    return float(np.average(less, weights=weights)) > _CLEAR * error


def _gates(training: PrefixRows, known: tuple[int, ...]) -> list[Gate]:
    """Splits that are worth a try, on columns that are not known yet."""
    columns = np.setdiff1d(_screened(training), known)
    if not columns.size:
        return []
    found = find_gates(*_encoded(training, columns), training.codes, training.n_classes, training.keys, _TRIED_GATES)
    return [replace(gate, feature=int(columns[gate.feature])) for gate in found]


def _refined(training: PrefixRows, gate: Gate) -> Gate:
    """The same gate, cut where these rows say."""
    columns = np.union1d(_screened(training), [gate.feature])
    place = replace(gate, feature=int(np.searchsorted(columns, gate.feature)))
    refined = refine_gate(place, *_encoded(training, columns), training.codes, training.n_classes, training.keys)
    return replace(refined, feature=gate.feature)


def _screened(training: PrefixRows) -> np.ndarray:
    every = np.arange(training.codes.size)
    return screen_features(
        training.table,
        training.codes,
        training.weights,
        every,
        training.n_classes,
        training.prices.full,
        _SCREENED,
        training.silent,
    )


def _encoded(training: PrefixRows, columns: np.ndarray) -> tuple[list[Feature], np.ndarray]:
    values = training.values(columns)
    return [learn_feature(values[:, k], training.levels.get(c)) for k, c in enumerate(columns.tolist())], values


def _paid(
    training: PrefixRows, settings: PrefixSettings, known: tuple[int, ...], bought: tuple[int, ...] = ()
) -> np.ndarray:
    """What each held-out row really pays in a region of its own, beyond what is known and bought already."""
    learnt = learn_prefixes(training, settings, lambda text: None, known)
    return learnt.paid(training, len(known), bought)


def learn_tree_stopping(
    learnt: LearntRegions, prices: ResolvedCosts, mistakes: np.ndarray, budget: float = np.inf
) -> PolicyTree:
    """When to stop in each region: halves first, so that a region knows what lies behind its split.

    No way through the tree costs more than ``budget``: an order ends where it would.
    """
    regions = learnt.beliefs.regions
    n = learnt.walks[0].codes.size
    ahead = Onward(np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64))
    stages, bought = {}, learnt.beliefs.dropped
    # Halves stand behind the region that they are halves of.
    for i in range(len(regions) - 1, -1, -1):
        region, walks, rows = regions[i], learnt.walks[i], learnt.rows[i]
        own = prices.in_order(region.chain.order, bought[i])
        walked = HeldOutWalks(walks.walks, walks.codes, walks.weights)
        fitting = int(np.searchsorted(_spent(region, prices, bought[i]), budget, side="right"))
        end = walked.stopping(fitting, mistakes)
        if region.split is not None and fitting == own.size:
            end = Onward(*(part[rows] for part in ahead))
        stages[i], whole = learn_backward(walked, own[:fitting], mistakes, end, region.entered)
        stages[i] += [None] * (own.size - fitting)
        for kept, new in zip(ahead, whole, strict=True):
            kept[rows] = new
    first = learnt.walks[0]
    weights = first.weights / first.weights.sum()
    shape = len(mistakes), max(r.chain.order.size + len(way) for r, way in zip(regions, bought, strict=True))
    expectation = Expectation.of_walks(ahead.realised, ahead.asked, first.codes, weights, shape)
    for i, region in enumerate(regions):
        # What lies behind is known to all who come here, and does not end the order.
        stages[i][: region.entered] = stages[i][region.entered : region.entered + 1] * region.entered
    rules = [
        RegressionStopping(prices.in_order(region.chain.order, bought[i]), mistakes, tuple(stages[i]), expectation)
        for i, region in enumerate(regions)
    ]
    reach, arrivals = _reach(learnt, ahead.asked, weights, bought)
    orders = tuple(region.chain.order for region in regions)
    return PolicyTree(orders, tuple(rules), reach, arrivals, prices, mistakes, expectation)


def best_within(learnt: LearntRegions, prices: ResolvedCosts, mistakes: np.ndarray, budget: float) -> PolicyTree:
    """The policy that is worth most for the money, by what held-out rows pay."""
    beliefs = learnt.beliefs
    sums = [_spent(region, prices, way) for region, way in zip(beliefs.regions, beliefs.dropped, strict=True)]
    ends = np.unique(np.concatenate([[0.0], *sums]))
    trees = [learn_tree_stopping(learnt, prices, mistakes, float(end)) for end in ends[ends <= budget]]
    return min(trees, key=lambda tree: tree.known_expectation.cost)


def _spent(region: Region, prices: ResolvedCosts, dropped: list[int]) -> np.ndarray:
    """What was spent after each column of a region's order, the way there included."""
    before = prices.total(np.array(dropped, dtype=np.int64))
    return before + np.cumsum(prices.in_order(region.chain.order, dropped))


def _reach(
    learnt: LearntRegions, asked: np.ndarray, weights: np.ndarray, bought: list[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Share of the rows that each region asks for each column of its order, and that come to it."""
    regions = learnt.beliefs.regions
    out = np.zeros((len(regions), max(region.chain.order.size for region in regions)))
    arrivals = np.zeros(len(regions))
    for i, region in enumerate(regions):
        own, known = weights[learnt.rows[i]], asked[learnt.rows[i]] - len(bought[i])
        arrivals[i] = own[known >= region.entered].sum()
        for place in range(region.entered, region.chain.order.size):
            out[i, place] = own[known > place].sum()
    return out, arrivals
