"""Classification by a decision graph: many rows at once, or one question at a time. Knows nothing of estimators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etana.acquisition import Acquisition, Case, check_columns, read_budget, storage_of
from etana.adaptive.explanation import explain
from etana.adaptive.graph import Graph, State
from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.kernels import graph as kernel
from etana.kernels.walk import bin_of
from etana.table import read_table

__all__ = ["AdaptiveCase", "AdaptiveModel", "Expectation", "Paths"]

_DRAWS = 4096
_BLOCK = 2**20  # random numbers at once


class Paths(Acquisition):
    """What a batch of instances was asked when each is asked features of its own."""

    def __init__(
        self, labels: np.ndarray, n_features: np.ndarray, costs: np.ndarray, posteriors: np.ndarray, asked: np.ndarray
    ) -> None:
        super().__init__(labels, n_features, costs, posteriors, asked)
        self._offsets = np.concatenate(([0], np.cumsum(n_features)))

    def features(self, i: int) -> np.ndarray:
        """Column indices that instance i was asked, in order."""
        return self._order[self._offsets[i] : self._offsets[i + 1]]


@dataclass(frozen=True)
class Expectation:
    """What the model expects of an instance, from instances drawn from the model; ``error`` is one standard error
    of the cost."""

    cost: float
    error: float
    n_features: float


@dataclass(frozen=True)
class AdaptiveModel:
    """Bins, prices and the decision graph."""

    binner: Binner
    classes: np.ndarray
    prices: ResolvedCosts
    graph: Graph
    names: list[str] | None = None
    seed: int = 0

    @property
    def n_features(self) -> int:
        """Columns that a table must have."""
        return self.binner.n_features

    @property
    def levels(self) -> dict[int, np.ndarray]:
        """Labels of each categorical column."""
        return self.binner.levels

    def range_of(self, column: int) -> tuple[float, float] | None:
        """The outermost edges of a column's bins; None for labels, or where all values share a bin."""
        return self.binner.range_of(column)

    @property
    def columns(self) -> np.ndarray:
        """Column indices that can be asked for."""
        return self.graph.evidence.columns

    @property
    def mistakes(self) -> np.ndarray:
        """Misclassification costs."""
        return self.graph.mistakes

    @property
    def priors(self) -> np.ndarray:
        """Probability of each class before anything is asked."""
        return self.graph.priors

    @property
    def expected_cost(self) -> float:
        """What an instance is expected to cost, features and mistakes."""
        return self.expectation.cost

    @property
    def expected_n_features(self) -> float:
        """How many features are expected to be asked."""
        return self.expectation.n_features

    @property
    def full_price(self) -> float:
        """What all features together cost."""
        return self.prices.total(np.arange(self.n_features))

    @cached_property
    def bins(self) -> tuple[np.ndarray, ...]:
        """Edges of the candidates, their offsets, and the codes of missing values."""
        return self.binner.edges_of(self.columns)

    @cached_property
    def expectation(self) -> Expectation:
        """Expected cost and number of features, from instances drawn from the model."""
        rng, graph = np.random.default_rng(self.seed), self.graph
        steps = min(self.columns.size, graph.deepest) + 1
        totals, asked = [], []
        for begin in range(0, _DRAWS, rows := max(_BLOCK // steps, 1)):
            draws = rng.random((min(rows, _DRAWS - begin), steps))
            for first, last, ends in graph.draw(draws):
                nodes = ends[first:last]
                totals.append(graph.facts[nodes, kernel.SPENT] + graph.scale * graph.facts[nodes, kernel.RISK])
                asked.append(graph.links[nodes, kernel.DEPTH])
        total = np.concatenate(totals)
        error = float(total.std() / np.sqrt(total.size))
        return Expectation(float(total.mean()), error, float(np.concatenate(asked).mean()))

    def acquire(self, X: Any, max_cost: float | None = None) -> Paths:
        """Take every row through the graph; no instance is charged more than ``max_cost``."""
        budget = read_budget(max_cost)
        table = read_table(X)
        check_columns(table, self.n_features, self.names)
        n = table.n_rows
        labels, asked = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        spent, posteriors = np.empty(n), np.empty((n, self.classes.size))
        features: list[np.ndarray] = []
        storage = storage_of(table, self.columns, self.binner)
        graph = self.graph
        for first, last, ends in graph.walk(storage, self.bins, budget, n):
            kernel.results(ends, first, last, graph.arrays, graph.mistakes, labels, asked, spent, posteriors)
            features.append(self._asked(ends[first:last], asked[first:last]))
        every = np.concatenate([np.empty(0, dtype=np.int64), *features])
        return Paths(self.classes[labels], asked, spent, posteriors, every)

    def _asked(self, ends: np.ndarray, asked: np.ndarray) -> np.ndarray:
        offsets = np.concatenate(([0], np.cumsum(asked)))
        features = np.empty(offsets[-1], dtype=np.int64)
        kernel.paths(ends, 0, ends.size, self.graph.links, offsets, features)
        return self.columns[features]

    def start(self, max_cost: float | None = None) -> AdaptiveCase:
        """A case that asks for one value at a time."""
        return AdaptiveCase(self, read_budget(max_cost))

    def name_of(self, column: int) -> Any:
        """Name of a column, or its index if there are no names."""
        return self.names[column] if self.names is not None else column


class AdaptiveCase(Case):
    """One instance, asked one feature at a time, each chosen for this instance."""

    _model: AdaptiveModel  # type: ignore[assignment]

    def __init__(self, model: AdaptiveModel, budget: float = np.inf) -> None:
        self._model = model
        self._budget = budget
        self._twig = model.graph.twig()
        self._nodes = [(0, 0)]  # in the case's own graph, and in the shared one (-1: not kept there)
        self._spent = [0.0]
        self._history = []

    @property
    def state(self) -> State:
        """The state of the decision graph that the case is in."""
        return self._twig.state(self._nodes[len(self._history)][0])

    @property
    def posterior(self) -> np.ndarray:
        """Belief in each class now."""
        belief = np.empty(self._model.classes.size)
        kernel.believe(self.state.logs, belief)
        return belief

    @property
    def label(self) -> Any:
        """The class that would be decided now."""
        return self._model.classes[kernel.decide(self.posterior, self._model.mistakes)]

    @property
    def stopped_by(self) -> str | None:
        """Why no further feature is asked: "policy", "budget", "features" (none left that tells anything), or None."""
        state = self.state
        if state.feature < 0 and (not self._twig.levels or state.depth >= self._model.columns.size):
            return "features"
        if state.stops:
            return "policy"
        return "budget" if self._spent[-1] + state.price > self._budget else None

    @property
    def next_feature(self) -> Any:
        """Name (or column index, if there are no names) of the feature to ask for; None when it is time to stop."""
        return None if self.stopped_by else self._model.name_of(self.next_column)

    @property
    def next_column(self) -> int:
        """Column index of the feature that comes next, asked or not."""
        return int(self._model.columns[self.state.feature])

    @property
    def next_price(self) -> float:
        """What the feature that comes next costs."""
        return float(self.state.price)

    @property
    def stop_cost(self) -> float:
        """Expected cost of deciding now."""
        return float(kernel.risk(self.posterior, self._model.mistakes))

    @property
    def expected_cost(self) -> float:
        """What the whole case is expected to cost, mistakes included, by the estimate that the policy stops by."""
        if self.stopped_by:
            return self.cost + self.stop_cost
        return self.cost + float(self._twig.facts[self.state.node, kernel.AHEAD])

    def explain(self) -> str:
        """Why this feature is next, or why it is time to stop: costs, chances, and what would change it."""
        return explain(self)

    def _advance(self, number: float) -> int:
        node, shared = self._nodes[len(self._history)]
        edges, offsets, missing = self._model.bins
        feature = self._twig.state(node).feature
        code = int(bin_of(number, edges, offsets[feature], offsets[feature + 1], missing[feature]))
        cells = self._model.graph.evidence.offsets
        code = code if 0 <= code < cells[feature + 1] - cells[feature] else -1
        self._nodes[len(self._history) + 1 :] = [self.answer(node, shared, code)]
        return code

    def _retreat(self) -> None:
        """The state follows from the number of answers that are left."""

    def answer(self, node: int, shared: int, code: int) -> tuple[int, int]:
        """Where an answer leads, in the case's own graph and in the shared one."""
        other = self._model.graph.known(shared, code) if shared >= 0 else -1
        new = self._twig.links[(after := self._twig.after(node, code)), kernel.STATE] == kernel.NEW
        if new and other >= 0:
            self._twig.copy_node(after, self._model.graph, other)
        return after, other
