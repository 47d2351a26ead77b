"""From training rows to a decision graph: the strength of the shrinkage, the stopping rule, and the states.

There are two ways to choose. *Information*: the feature that tells most per price, with a stopping rule that is fitted
to walks (:mod:`etana.adaptive.stopping`). *Look-ahead*, where there are few enough features: the first step of the
plan of two or three steps that is expected to cost least, and stop if there is none that pays; this sees tests that pay
only together, and prices that differ. Held-out rows decide which way and which strength m. Each fold's rows walk
through a graph learnt from the other folds, bins included; the mean of what they then really pay, features and
mistakes, is the cost of the choice. The cheapest strength of each way is kept, and look-ahead gives way to information
only where information is cheaper by more than one standard error of the difference: with few rows, and mistakes that
are rare and dear, smaller differences are chance. The graph itself is then learnt from all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from etana.acquisition import storage_of
from etana.adaptive.evidence import Evidence
from etana.adaptive.graph import NEVER, Graph, scale_of
from etana.adaptive.stopping import Walks, fit_rule
from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.likelihood import Counts
from etana.table import Table

__all__ = ["Fitted", "Settings", "Training", "fit"]

_STRENGTHS = (np.inf, 50.0, 20.0, 10.0, 5.0, 2.0)
_STRENGTHS_AHEAD = (50.0, 20.0, 10.0, 5.0)  # the fewer, the less chance has to say
_FOLDS = 5
_FEW = 200  # rows below which folds are drawn twice
_LEAST = 0.1  # a walk ends where a mistake is expected to cost less than this share of the next price
_DEEPEST = 64  # and after this many features
_FREE = 1e-9
_WALKS = 4096
_MOST_STEPS = 3  # that are looked ahead
_MOST_WORK = 3e8  # cells that may be looked at for it, over all training rows
_ROWS_AHEAD = 32  # rows that share a path, roughly


class Choice(NamedTuple):
    """Strength of the shrinkage, and steps looked ahead; 0 steps is information and the fitted rule."""

    m: float
    levels: int


@dataclass(frozen=True)
class Training:
    """Training rows, and what things cost."""

    table: Table
    classes: np.ndarray
    weights: np.ndarray
    priors: np.ndarray
    prices: ResolvedCosts
    mistakes: np.ndarray

    def rows(self, index: np.ndarray) -> Training:
        """Some of the rows; class probabilities stay those of all."""
        part = self.table.rows(index), self.classes[index], self.weights[index]
        return Training(*part, self.priors, self.prices, self.mistakes)


@dataclass(frozen=True)
class Settings:
    """Parameters of the classifier that bear on the fit."""

    m: Any
    look_ahead: Any
    walks: str
    max_features: int | None
    max_nodes: int
    binning: Any
    n_bins: Any
    missing: str
    seed: int


@dataclass(frozen=True)
class Fitted:
    """The graph, the choice in use, and the cost of held-out rows for each choice that was tried."""

    graph: Graph
    choice: Choice
    costs: dict[Choice, float]


def fit(training: Training, binner: Binner, counts: Counts, settings: Settings) -> Fitted:
    """Learn the graph from training rows that are binned and counted."""
    evidence = _evidence(training, binner, counts)
    choices = _choices(evidence, settings)
    choice, rule = choices[0], NEVER
    costs: dict[Choice, float] = {}
    if len(choices) > 1 or (settings.walks == "rows" and not choice.levels):
        choice, rule, costs = _by_held_out_rows(training, settings, choices)
    evidence = evidence.with_strength(choice.m)
    if settings.walks == "model" and not choice.levels:
        rule = fit_rule(_drawn(evidence, training, settings))
    deepest = _deepest(settings)
    graph = Graph(evidence, training.priors, training.mistakes, rule, 1.0, deepest, settings.max_nodes, choice.levels)
    _compile(graph, training, binner)
    return Fitted(graph, choice, costs)


def _choices(evidence: Evidence, settings: Settings) -> list[Choice]:
    """What held-out rows choose among; the first of a way wins among equals."""
    steps = [settings.look_ahead]
    if settings.look_ahead == "auto":
        steps = [0, _affordable(evidence)]
    elif isinstance(settings.look_ahead, bool | np.bool_):
        steps = [(_affordable(evidence) or 2) if settings.look_ahead else 0]
    return [Choice(m, n) for n in dict.fromkeys(steps) for m in _strengths(settings.m, n)]


def _strengths(m: Any, levels: int) -> tuple[float, ...]:
    if m != "auto":
        return (float(m),)
    return _STRENGTHS_AHEAD if levels else _STRENGTHS


def _affordable(evidence: Evidence) -> int:
    """Most steps that can be looked ahead at every state in good time; 0 if not even two."""
    n_features, n_rows = evidence.codes.shape
    branching = float(evidence.offsets[-1])
    for levels in range(_MOST_STEPS, 1, -1):
        if n_rows * branching ** (levels - 1) * n_features * _ROWS_AHEAD <= _MOST_WORK:
            return levels
    return 0


def _evidence(training: Training, binner: Binner, counts: Counts) -> Evidence:
    floor = _FREE * scale_of(training.priors, training.mistakes)
    return Evidence.of(binner, counts, training.table, training.classes, training.weights, training.prices, floor)


def _deepest(settings: Settings) -> int:
    return 2**31 - 1 if settings.max_features is None else settings.max_features


def _by_held_out_rows(
    training: Training, settings: Settings, choices: list[Choice]
) -> tuple[Choice, np.ndarray, dict[Choice, float]]:
    parts: dict[Choice, list[Walks]] = {choice: [] for choice in choices}
    truth, weights = [], []
    for learning, held in _folds(training, settings.seed):
        rest = training.rows(held)
        for choice, found in zip(choices, _walks_of(training.rows(learning), rest, settings, choices), strict=True):
            parts[choice].append(found)
        truth.append(rest.classes)
        weights.append(rest.weights)
    scale = scale_of(training.priors, training.mistakes)
    y, w = np.concatenate(truth), np.concatenate(weights)
    walks = {choice: Walks.joined(found) for choice, found in parts.items()}
    rules = {choice: NEVER if choice.levels else fit_rule(walks[choice]) for choice in choices}
    paid = {c: scale * walks[c].costs(rules[c], y, training.mistakes / scale) for c in choices}
    best = _best(paid, w, training.classes.size)
    return best, rules[best], {choice: float(np.average(paid[choice], weights=w)) for choice in choices}


def _best(paid: dict[Choice, np.ndarray], weights: np.ndarray, n_rows: int) -> Choice:
    """The cheapest that looks ahead, unless information is cheaper by more than a standard error."""

    def cheapest(ways: list[Choice]) -> list[Choice]:
        return [min(ways, key=lambda choice: np.average(paid[choice], weights=weights))] if ways else []

    both = cheapest([c for c in paid if c.levels]) + cheapest([c for c in paid if not c.levels])
    if len(both) == 1:
        return both[0]
    ahead, plain = both
    extra = paid[ahead] - paid[plain]
    mean = np.average(extra, weights=weights)
    error = np.sqrt(np.average((extra - mean) ** 2, weights=weights) / n_rows)
    return plain if mean > error else ahead


def _folds(training: Training, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows held out; classes are spread evenly over the folds."""
    n = training.classes.size
    rng = np.random.default_rng(seed)
    for _ in range(2 if n < _FEW else 1):
        shuffled = rng.permutation(n)
        ranked = shuffled[np.argsort(training.classes[shuffled], kind="stable")]
        fold = np.empty(n, dtype=np.int64)
        fold[ranked] = np.arange(n) % _FOLDS
        for k in range(_FOLDS):
            held = np.flatnonzero(fold == k)
            learning = np.flatnonzero(fold != k)
            if held.size and learning.size:
                yield learning, held
        if n == 1:
            yield np.arange(1), np.arange(1)


def _walks_of(part: Training, rest: Training, settings: Settings, choices: list[Choice]) -> Iterator[Walks]:
    """Walks of held-out rows for each choice."""
    n = part.priors.size
    binner, count = settings.binning, Counts.of
    if not isinstance(binner, Binner):
        binner, count = Binner(settings.binning, settings.n_bins, settings.missing), Counts.learn
    counts = count(binner, part.table, part.classes, part.weights, n)
    evidence = _evidence(part, binner, counts)
    for choice in choices:
        graph = _open_graph(evidence.with_strength(choice.m), part, settings, choice.levels)
        ends = _walk(graph, rest.table, binner)
        yield Walks.of(graph, ends)


def _open_graph(evidence: Evidence, training: Training, settings: Settings, levels: int = 0) -> Graph:
    """A graph that asks on and on, or as long as looking ahead finds a plan that pays."""
    deepest = min(_deepest(settings), _DEEPEST)
    least = 1.0 if levels else _LEAST
    return Graph(evidence, training.priors, training.mistakes, NEVER, least, deepest, most=2**31, levels=levels)


def _walk(graph: Graph, table: Table, binner: Binner) -> np.ndarray:
    """Node at which each row ends; all rows that the graph had no room for are left out."""
    columns = graph.evidence.columns
    spans = graph.walk(storage_of(table, columns, binner), binner.edges_of(columns), np.inf, table.n_rows)
    _, last, ends = next(spans)
    return ends[:last]


def _drawn(evidence: Evidence, training: Training, settings: Settings) -> Walks:
    """Walks of instances that are drawn from the model."""
    graph = _open_graph(evidence, training, settings)
    draws = np.random.default_rng([settings.seed, 1]).random((_WALKS, graph.deepest + 1))
    _, last, ends = next(graph.draw(draws))
    return Walks.of(graph, ends[:last])


def _compile(graph: Graph, training: Training, binner: Binner) -> None:
    """Work out every state that a training row reaches, as far as there is room."""
    graph.most = max(graph.most // 2, 1)  # the other half is for states that no training row reaches
    _walk(graph, training.table, binner)
    graph.most *= 2
    graph.freeze()
