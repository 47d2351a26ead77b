"""From training rows to a choice for each instance: the strength of the shrinkage, and the stopping rule.

Held-out rows decide which way to choose (information, or looking ahead: see :mod:`etana.policies.instance_choice`) and
which strength m. Each fold's rows walk by beliefs learnt from the other folds, bins included; the mean of what they
then really pay, features and mistakes, is the cost of the way. The cheapest strength of each way is kept, and
look-ahead gives way to information only where information is cheaper by more than one standard error of the difference:
with few rows, and mistakes that are rare and dear, smaller differences are chance. The beliefs themselves are then
learnt from all rows.

What is learnt from rows (:class:`LearntPaths`) does not depend on prices. New prices let the same held-out rows walk
again, for the way that was chosen. Where all prices change by one factor, and where only mistakes change, each state on
their walks asks what it asked: graphs that were grown before (:class:`Grown`) serve again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from etana.beliefs.path_counts import PathCounts
from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.judgement import HeldOutRows, Judgement, error_of_mean
from etana.kernels import choice
from etana.learning.folds import TrainingRows, deal_folds, in_folds, row_keys, sample_rows
from etana.learning.temperature import coolest
from etana.learning.walks import Walks, fit_rule
from etana.likelihood import Counts, effective_rows
from etana.policies.instance_choice import ASK_ON, InstanceChoice, scale_of
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.graph import Graph

__all__ = [
    "ChoiceSettings",
    "FittedChoice",
    "HeldOut",
    "LearntPaths",
    "Way",
    "fit_choice",
    "held_out_spend",
    "learn_paths",
    "recount_paths",
]

_STRENGTHS = (np.inf, 50.0, 20.0, 10.0, 5.0, 2.0)
_STRENGTHS_AHEAD = (50.0, 10.0)  # the fewer, the less chance has to say
_FOLDS = 5
_FEW = 200  # rows below which folds are drawn twice
_LEAST = 0.1  # a walk ends where a mistake is expected to cost less than this share of the next price
_DEEPEST = 64  # and after this many features
_FREE = 1e-9
_WALKS = 4096
_WALKS_AT_ONCE = 200  # fewer take hardly longer than a thread takes to start
_MOST_STEPS = 2  # that are looked ahead; three pay the same, and take five times as long
_MOST_WORK = 7e7  # cells that may be looked at for it, over all training rows
_ROWS_AHEAD = 32  # rows that share a path, roughly
_USUAL_CLASSES = 3
_NO_LIMIT = 2**31 - 1
_WIDE_ROWS = 2000  # that walk where there are more candidates than can be held
_STATES = 10  # that a walk meets first, roughly
_LARGEST_GROWN = 2**26  # bytes of graphs that are kept for other prices


class Way(NamedTuple):
    """Strength of the shrinkage, and steps looked ahead; 0 steps is information and the fitted rule."""

    m: float
    levels: int


@dataclass(frozen=True)
class HeldOut:
    """Rows that beliefs had not seen when they were learnt: codes (C, n) in their bins, classes and weights (n,).

    ``rows`` are their numbers; ``columns`` are those of the training table that the beliefs know; None: all.
    """

    beliefs: PathCounts
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    rows: np.ndarray
    columns: np.ndarray | None = None

    def prices(self, prices: ResolvedCosts) -> ResolvedCosts:
        """Prices of the columns that the beliefs know."""
        return prices if self.columns is None else prices.of(self.columns)


class Grown:
    """Open graphs of the folds, by strength and temperature."""

    def __init__(self) -> None:
        self._graphs: dict[tuple[float, float], tuple[Graph, ...]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_graphs": {}}  # they grow again; a copy need not be so large

    def remember(self, m: float, temperature: float, graphs: Sequence[Graph]) -> None:
        """Keep these, unless they are too large. Nobody may change them from now on."""
        if sum(graph.nbytes for graph in graphs) <= _LARGEST_GROWN:
            self._graphs[m, temperature] = tuple(graphs)

    def forget(self, m: float, temperature: float) -> None:
        """Let these go."""
        self._graphs.pop((m, temperature), None)

    def keep_only(self, m: float, temperature: float) -> None:
        """Let all others go."""
        kept = self._graphs.get((m, temperature))
        self._graphs = {} if kept is None else {(m, temperature): kept}

    def again(self, m: float, temperature: float, fold: int, policy: InstanceChoice) -> Graph | None:
        """The graph of a fold for another policy; None if there is none that serves."""
        graphs = self._graphs.get((m, temperature))
        return None if graphs is None else graphs[fold].repriced(policy)


@dataclass(frozen=True)
class LearntPaths:
    """What rows taught, whatever the prices: beliefs from all rows, and from the other folds for each fold, of how many
    rows; and graphs that held-out rows walked."""

    beliefs: PathCounts
    held_out: tuple[HeldOut, ...]
    n_rows: float = 0.0
    grown: Grown = field(default_factory=lambda: Grown())


@dataclass(frozen=True)
class ChoiceSettings:
    """Parameters of the classifier that bear on the fit, checked."""

    m: float | str
    look_ahead: bool | int | str
    walks: str
    max_features: int | None
    max_nodes: int
    seed: int
    temperature: float | str

    @property
    def deepest(self) -> int:
        """Most features that are asked."""
        return _NO_LIMIT if self.max_features is None else int(self.max_features)


@dataclass(frozen=True)
class FittedChoice:
    """Beliefs and policy, the way in use, the cost of held-out rows for each way that was tried, and what each paid on
    the way in use, if they walked."""

    beliefs: PathCounts
    policy: InstanceChoice
    way: Way
    costs: dict[Way, float]
    paid: HeldOutRows | None

    @property
    def judgement(self) -> Judgement | None:
        """What the held-out rows paid in the mean."""
        return None if self.paid is None else self.paid.judgement()


def learn_paths(
    rows: tuple[Table, np.ndarray, np.ndarray], numbers: np.ndarray, binner: Binner, counts: Counts,
    priors: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray, settings: ChoiceSettings, bins_given: bool = False,
) -> LearntPaths:  # fmt: skip
    """Beliefs from training rows of these numbers, which are binned and counted. Prices matter only where there are
    more columns than can be held. Bins that were given stay for all folds; others are chosen again, for they have seen
    the labels."""
    per, every = _least_prices(priors, prices, mistakes), TrainingRows(*rows)
    beliefs = PathCounts.learn(binner, counts, every, priors, per)
    ways = _ways(beliefs, settings)
    # Where nothing is chosen and no rule is learnt from rows, no fold is cut.
    needed = len(ways) > 1 or settings.walks == "rows" or settings.temperature == "auto"
    silent = np.array(counts.silent, dtype=np.int64)
    if not needed:
        return LearntPaths(beliefs, ())
    some, most = every, beliefs.candidates.size if beliefs.left_out > 0 else None
    if most is not None and numbers.size > _WIDE_ROWS:
        chosen = sample_rows(every.classes, _WIDE_ROWS, row_keys(every.table, settings.seed))
        some, numbers = every.take(chosen), numbers[chosen]
    held_out = _held_out(some, numbers, binner, bins_given, priors, per, settings.seed, silent, most)
    return LearntPaths(beliefs, tuple(held_out), effective_rows(some.weights))


def recount_paths(
    paths: LearntPaths, rows: TrainingRows, binner: Binner, counts: Counts, priors: np.ndarray,
    prices: ResolvedCosts, mistakes: np.ndarray,
) -> LearntPaths:  # fmt: skip
    """The same held-out rows; beliefs whose bins and naive Bayes are those of more rows than these."""
    some = rows.take(np.flatnonzero(rows.weights > 0))
    per = _least_prices(priors, prices, mistakes)
    return replace(paths, beliefs=PathCounts.learn(binner, counts, some, priors, per))


def _least_prices(priors: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray) -> np.ndarray:
    """What each column costs at least, (K,), and a little where it is free."""
    return np.maximum(np.minimum(prices.full, prices.discounted), _FREE * scale_of(priors, mistakes))


def _held_out(
    every: TrainingRows, numbers: np.ndarray, binner: Binner, bins_given: bool, priors: np.ndarray, per: np.ndarray,
    seed: int, silent: np.ndarray, most: int | None = None,
) -> Iterator[HeldOut]:  # fmt: skip
    for learning, held in _folds(every, seed):
        part, rest = every.take(learning), every.take(held)
        # Supervised bins have seen the labels of held-out rows, which would make these look too good.
        own = binner if bins_given else Binner(binner.method, binner.n_bins, binner.missing)
        columns = None if bins_given else own.divisible(*part, priors.size)
        quiet, paid = silent, per
        if columns is not None:
            part, rest = (rows._replace(table=rows.table.some(columns)) for rows in (part, rest))
            quiet, paid = np.flatnonzero(np.isin(columns, silent)), per[columns]
        count = Counts.of if bins_given else Counts.learn
        counts = count(own, *part, priors.size).without(quiet)
        beliefs = PathCounts.learn(own, counts, part, priors, paid, most)
        codes = own.encode(rest.table, beliefs.candidates).astype(beliefs.codes.dtype)
        yield HeldOut(beliefs, codes, rest.classes, rest.weights, numbers[held], columns)


def _folds(every: TrainingRows, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows held out; classes are spread evenly over the folds."""
    n = every.classes.size
    if n == 1:
        yield np.arange(1), np.arange(1)
        return
    for again in range(2 if n < _FEW else 1):
        keys = row_keys(every.table, seed + again)
        yield from in_folds(deal_folds(every.classes, min(_FOLDS, n), keys))


def fit_choice(
    paths: LearntPaths, prices: ResolvedCosts, mistakes: np.ndarray, settings: ChoiceSettings, way: Way | None = None,
    temperature: float | None = None,
) -> FittedChoice:  # fmt: skip
    """The policy for these prices; with a ``way`` and a ``temperature`` only its stopping rule is learnt, else held-out
    rows choose them, the way first."""
    ways = _ways(paths.beliefs, settings) if way is None else [way]
    chosen, rule, paid = ways[0], ASK_ON, None
    costs: dict[Way, float] = {}
    heat = temperature or (1.0 if isinstance(settings.temperature, str) else float(settings.temperature))
    if paths.held_out:
        held = _HeldOutWalks(paths, prices, mistakes, settings, heat)
        chosen, costs = held.choose(ways, heat)
        if temperature is None and settings.temperature == "auto":
            heat, _ = coolest(lambda t: held.paid(chosen, t))
        paid, rule = held.paid(chosen, heat), held.rule(chosen, heat)
        paths.grown.keep_only(chosen.m, heat)
    beliefs = paths.beliefs.with_strength(chosen.m).at_temperature(heat)
    if settings.walks == "model" or not paths.held_out:
        rule = fit_rule(_drawn(beliefs, prices, mistakes, settings))
        # Held-out rows walked by another rule, where the rule alone says when to stop.
        paid = paid if chosen.levels else None
    policy = InstanceChoice(
        beliefs.candidates, beliefs.priors, prices, mistakes, rule, most_features=settings.deepest,
        levels=chosen.levels, most_states=settings.max_nodes, seed=settings.seed,
    )  # fmt: skip
    return FittedChoice(beliefs, policy, chosen, costs, paid)


def held_out_spend(paths: LearntPaths, policy: InstanceChoice, m: float, temperature: float) -> float | None:
    """What held-out rows pay for features in the mean under a policy; None if none were held out."""
    total = weight = 0.0
    for part in paths.held_out:
        beliefs = part.beliefs.with_strength(m).at_temperature(temperature)
        own = replace(policy, candidates=beliefs.candidates, prices=part.prices(policy.prices), most_states=_NO_LIMIT)
        graph = Graph(beliefs, own)
        _, last, ends = next(graph.retrace(part.codes))
        total += float(part.weights @ graph.nodes.facts[ends[:last], choice.SPENT])
        weight += float(part.weights.sum())
    return total / weight if weight else None


def _ways(beliefs: PathCounts, settings: ChoiceSettings) -> list[Way]:
    """What held-out rows choose among; the first of equals wins."""
    steps: list[Any] = [settings.look_ahead]
    if settings.look_ahead == "auto":
        steps = [0, _affordable(beliefs)]
    elif isinstance(settings.look_ahead, bool | np.bool_):
        steps = [(_affordable(beliefs) or 2) if settings.look_ahead else 0]
    return [Way(m, int(n)) for n in dict.fromkeys(steps) for m in _strengths(settings.m, n)]


def _strengths(m: Any, levels: int) -> tuple[float, ...]:
    if m != "auto":
        return (float(m),)
    return _STRENGTHS_AHEAD if levels else _STRENGTHS


def _affordable(beliefs: PathCounts) -> int:
    """Most steps that can be looked ahead at every state in good time; 0 if not even two."""
    n_features, n_rows = beliefs.codes.shape
    branching = float(beliefs.offsets[-1])
    # The limit was set with two and three classes; a cell of more takes longer.
    cells = n_rows * n_features * _ROWS_AHEAD * max(beliefs.priors.size / _USUAL_CLASSES, 1.0)
    for levels in range(_MOST_STEPS, 1, -1):
        # Of deeper plans fewer are given up early: a cell of three steps takes twice as long as one of two.
        if (levels - 1) * branching ** (levels - 1) * cells <= _MOST_WORK:
            return levels
    return 0


class _HeldOutWalks:
    """Held-out rows on their walks; each way at each temperature is walked once."""

    def __init__(
        self, paths: LearntPaths, prices: ResolvedCosts, mistakes: np.ndarray, settings: ChoiceSettings, first: float
    ) -> None:
        self.paths, self.prices, self.mistakes, self.settings = paths, prices, mistakes, settings
        self.truth = np.concatenate([part.classes for part in paths.held_out])
        self.weights = np.concatenate([part.weights for part in paths.held_out])
        self.n_rows = paths.n_rows
        self.nothing = mistakes[self.truth, (paths.beliefs.priors @ mistakes).argmin()]
        self._known: dict[tuple[Way, float], tuple[HeldOutRows, np.ndarray]] = {}
        self._first = first
        self._cheapest: dict[bool, tuple[float, tuple[float, float]]] = {}

    def paid(self, way: Way, temperature: float) -> HeldOutRows:
        """What each row pays, features and mistakes, with the rule that is best for these walks."""
        return self._walked(way, temperature)[0]

    def rule(self, way: Way, temperature: float) -> np.ndarray:
        """That rule."""
        return self._walked(way, temperature)[1]

    def choose(self, ways: list[Way], temperature: float) -> tuple[Way, dict[Way, float]]:
        """The way to take, and the mean cost of each."""
        paid = {way: self.paid(way, temperature).paid for way in ways}
        best = cheapest_way(paid, self.weights, self.n_rows)
        return best, {way: float(np.average(paid[way], weights=self.weights)) for way in ways}

    def _walked(self, way: Way, temperature: float) -> tuple[HeldOutRows, np.ndarray]:
        if (way, temperature) not in self._known:
            self._known[way, temperature] = self._walk(way, temperature)
        return self._known[way, temperature]

    def _walk(self, way: Way, temperature: float) -> tuple[HeldOutRows, np.ndarray]:
        parts: dict[int, Walks] = {}
        graphs: dict[int, Graph] = {}
        # What plans do not see is worth what information and the rule make of it.
        beyond = self.rule(Way(way.m, 0), temperature) if way.levels else ASK_ON

        def run(first: int, last: int) -> None:
            for fold in range(first, last):
                part = self.paths.held_out[fold]
                graph = graphs[fold] = self._graph(fold, way, temperature, beyond)
                # A graph without limit holds all rows at once, so the first part is the whole.
                _, n_rows, ends = next(graph.retrace(part.codes))
                parts[fold] = Walks.of(graph, ends[:n_rows])

        n_folds = len(self.paths.held_out)
        over_chunks(run, n_folds, _WALKS_AT_ONCE * n_folds // self.truth.size + 1)
        walks = Walks.joined([parts[fold] for fold in range(len(parts))])
        rule = ASK_ON if way.levels else fit_rule(walks, self.weights)
        scale = scale_of(self.paths.beliefs.priors, self.mistakes)
        stops, decided = walks.stops(rule), walks.decided(rule)
        costs = scale * walks.costs(rule, self.truth, self.mistakes / scale)
        judged = HeldOutRows(costs, stops, decided == self.truth, self.nothing, self.weights, self.n_rows)
        if not way.levels:
            self._remember(way.m, temperature, costs, [graphs[fold] for fold in range(len(graphs))])
        return judged, beyond if way.levels else rule

    def _remember(self, m: float, temperature: float, costs: np.ndarray, graphs: list[Graph]) -> None:
        """Keep graphs that may be those of the way that is chosen: the cheapest at the first temperature, and the
        cheapest at any other."""
        mean, first = float(np.average(costs, weights=self.weights)), temperature == self._first
        least, key = self._cheapest.get(first, (np.inf, (m, temperature)))
        if mean < least:
            self.paths.grown.forget(*key)
            self.paths.grown.remember(m, temperature, graphs)
            self._cheapest[first] = mean, (m, temperature)

    def _graph(self, fold: int, way: Way, temperature: float, beyond: np.ndarray) -> Graph:
        """An open graph for the rows of a fold."""
        part = self.paths.held_out[fold]
        beliefs = part.beliefs.with_strength(way.m).at_temperature(temperature)
        policy = _open(beliefs, part.prices(self.prices), self.mistakes, self.settings, way.levels, beyond)
        known = self.paths.grown.again(way.m, temperature, fold, policy)
        return Graph(beliefs, policy, _STATES * part.classes.size) if known is None else known


def cheapest_way(paid: dict[Way, np.ndarray], weights: np.ndarray, n_rows: float) -> Way:
    """The cheapest that looks ahead, unless information is cheaper by more than a standard error."""

    def cheapest(ways: list[Way]) -> list[Way]:
        return [min(ways, key=lambda way: np.average(paid[way], weights=weights))] if ways else []

    both = cheapest([way for way in paid if way.levels]) + cheapest([way for way in paid if not way.levels])
    if len(both) == 1:
        return both[0]
    ahead, information = both
    # The same rows walked both ways: the error of the difference is far smaller than that of either cost.
    extra = paid[ahead] - paid[information]
    mean = np.average(extra, weights=weights)
    # By the number of rows, not of walks: rows that were dealt twice are no further evidence.
    return information if mean > error_of_mean(extra, weights, n_rows) else ahead


def _open(
    beliefs: PathCounts, prices: ResolvedCosts, mistakes: np.ndarray, settings: ChoiceSettings, levels: int = 0,
    rule: np.ndarray = ASK_ON,
) -> InstanceChoice:  # fmt: skip
    """A policy that asks on and on, or as long as looking ahead finds a plan that pays."""
    return InstanceChoice(
        beliefs.candidates, beliefs.priors, prices, mistakes, rule, least=1.0 if levels else _LEAST,
        most_features=min(settings.deepest, _DEEPEST), levels=levels, most_states=_NO_LIMIT,
    )  # fmt: skip


def _drawn(beliefs: PathCounts, prices: ResolvedCosts, mistakes: np.ndarray, settings: ChoiceSettings) -> Walks:
    """Walks of instances that are drawn from the model."""
    graph = Graph(beliefs, _open(beliefs, prices, mistakes, settings))
    steps = min(settings.deepest, _DEEPEST) + 1
    # Another stream than the one the expectation is drawn from: a rule is not judged by what it was learnt from.
    draws = np.random.default_rng([settings.seed, 1]).random((_WALKS, steps))
    _, last, ends = next(graph.draw(draws))
    return Walks.of(graph, ends[:last])
