"""The decision graph: states that were reached, what each asks, and where each answer leads.

Nodes are worked out when an instance first reaches them and looked up from then on. When the graph is full, the nodes
that were added after :meth:`Graph.freeze` are forgotten and grow anew where they are needed; what a row is asked does
not depend on what is remembered. A row whose path alone is longer than the graph may be still finds its way: the states
on it are kept until the next row needs the room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from etana.adaptive.evidence import Evidence
from etana.kernels import graph as kernel

__all__ = ["NEVER", "Graph", "State", "scale_of"]

NEVER = np.array([-1.0, *np.zeros(kernel.N_BASIS - 1)])  # the rule that never stops
_FIRST = 256
_FREE = 1e-9
_NO_ANSWERS = np.empty((0, 0))


class State(NamedTuple):
    """What is known of a node: the path into it, what it asks, and the log likelihood of each answer."""

    node: int
    parent: int
    code: int
    feature: int
    stops: bool
    depth: int
    n_rows: int
    spent: float
    price: float
    information: float
    logs: np.ndarray
    answers: np.ndarray


class Graph:
    """States of a policy that asks for the feature with most information per price and stops by a linear rule.

    Parameters
    ----------
    evidence : Evidence
    priors : array (N,)
    mistakes : array (N, N)
    rule : array
        Coefficients of the stopping rule on the basis of :func:`etana.kernels.graph.describe`.
    least : float
        A state stops if its expected cost of a mistake is at most this many times the next price.
    deepest : int
        Most features that are asked of an instance.
    most : int
        Most nodes that are remembered.
    """

    def __init__(
        self, evidence: Evidence, priors: np.ndarray, mistakes: np.ndarray, rule: np.ndarray,
        least: float = 1.0, deepest: int = 2**31 - 1, most: int = 2**18, levels: int = 0,
    ) -> None:  # fmt: skip
        self.evidence = evidence
        self.priors = np.asarray(priors, dtype=np.float64)
        self.mistakes = np.ascontiguousarray(mistakes, dtype=np.float64)
        self.rule = np.asarray(rule, dtype=np.float64)
        self.least, self.deepest, self.most, self.levels = float(least), int(deepest), int(most), int(levels)
        self.scale = scale_of(self.priors, self.mistakes)
        self._lock = threading.Lock()
        first = _arrays(min(_FIRST, self.most), 4 * _FIRST, self.priors.size)
        self.links, self.logs, self.facts, self.children, self.pool_logs = first
        self.sizes = np.zeros(2, dtype=np.int64)
        self._frozen = np.zeros(2, dtype=np.int64)
        self._plant()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name not in ("_lock", "_arguments")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for name in ("links", "logs", "facts", "children", "pool_logs", "sizes"):
            setattr(self, name, np.array(state[name]))  # joblib may hand over read-only maps of a file
        self._lock = threading.Lock()

    def _plant(self) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(self.priors)
        kernel.add(-1, -1, logs - logs.max(), 0.0, self.arrays, self.sizes)

    @property
    def n_nodes(self) -> int:
        """States that are remembered."""
        return int(self.sizes[kernel.NODES])

    @property
    def n_kept(self) -> int:
        """States that are kept for good."""
        return int(self._frozen[kernel.NODES])

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Links, logs, facts, children and their log likelihoods, as the kernels take them."""
        return self.links, self.logs, self.facts, self.children, self.pool_logs

    def freeze(self) -> None:
        """Keep the states known now for good, and take new ones to be naive Bayes: training rows are let go."""
        for node in range(self.n_nodes):
            self.state(node)  # one that was reached, but not worked out for want of room
        self.evidence = self.evidence.without_rows()
        self.__dict__.pop("_arguments", None)
        self.keep()

    def keep(self) -> None:
        """Keep the states known now for good."""
        self._frozen = self.sizes.copy()

    def reserve(self, nodes: int, pool: int) -> None:
        """Empty the graph, and make room for so many nodes and children."""
        arrays = _arrays(max(nodes, min(_FIRST, self.most)), max(pool, 4 * _FIRST), self.priors.size)
        self.links, self.logs, self.facts, self.children, self.pool_logs = arrays
        self.sizes[:] = 0
        self._plant()

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Evidence, prices, setting and rule, as the kernels take them."""
        if "_arguments" not in self.__dict__:
            floor = _FREE * self.scale
            codes, classes, weights, offsets, table, negentropy, radius, m = self.evidence.arguments
            evidence = codes, classes, weights, offsets, table, negentropy, radius, self.evidence.bound(floor), m
            prices = self.evidence.prices
            setting = self.mistakes, self.scale, floor, self.least, self.deepest, self.levels
            self._arguments = evidence, (prices.full, prices.discounted, prices.group), setting, self.rule
        return self._arguments

    def walk(self, storage: Any, bins: Any, budget: float, n: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """Take n rows through; yields (first, last, end node of each row) for spans whose nodes are valid now."""

        def step(first: int, ends: np.ndarray) -> int:
            return kernel.descend(storage, bins, budget, first, n, self.arrays, self.sizes, *self.arguments, ends)

        return self._advance(step, n)

    def draw(self, draws: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """The same for instances drawn from the model by uniform numbers, one row per instance."""

        def step(first: int, ends: np.ndarray) -> int:
            return kernel.simulate(draws, first, len(draws), self.arrays, self.sizes, *self.arguments, ends)

        return self._advance(step, len(draws))

    def _advance(self, step: Callable[[int, np.ndarray], int], n: int) -> Iterator[tuple[int, int, np.ndarray]]:
        ends = np.empty(n, dtype=np.int64)
        with self._lock:
            done = reported = 0
            alone = False  # whether a row that finds no room shares the graph with nothing but states kept for good
            while (done := step(done, ends)) < n:
                if self._make_room(beyond=alone and done == reported):
                    continue
                if done > reported:
                    yield reported, done, ends
                    reported = done
                self._forget()
                alone = True
            if reported < n:
                yield reported, n, ends

    def _make_room(self, beyond: bool = False) -> bool:
        """Double the arrays; False if there would be more nodes than allowed, unless one may go beyond that."""
        nodes, pool, widest = len(self.links), self.children.size, kernel.widest(self.evidence.offsets)
        if self.sizes[kernel.NODES] >= nodes and (beyond or nodes < self.most):
            nodes = 2 * nodes if beyond else min(2 * nodes, self.most)
        elif self.sizes[kernel.POOL] + widest > pool:
            pool = 2 * pool + widest
        else:
            return False
        old = self.arrays
        new = _arrays(nodes, pool, self.priors.size)
        for larger, array in zip(new, old, strict=True):
            larger[: len(array)] = array
        # Only now, when they are filled: cases read states that are kept for good while others walk.
        self.links, self.logs, self.facts, self.children, self.pool_logs = new
        return True

    def _forget(self) -> None:
        """Drop the states added since the freeze."""
        nodes, pool = self._frozen
        self.sizes[:] = self._frozen
        kept = self.children[:pool]
        kept[kept >= nodes] = -1
        if nodes == 0:
            self._plant()

    def state(self, node: int) -> State:
        """What is known of a node, worked out if it is new."""
        if self.links[node, kernel.STATE] == kernel.NEW:
            rows = np.empty(self.evidence.codes.shape[1], dtype=np.int64)
            cells = np.empty((kernel.widest(self.evidence.offsets), self.priors.size))
            while not kernel.expand(node, self.arrays, self.sizes, *self.arguments, rows, cells):
                self._make_room()
        parent, code, feature, what, first, depth, n_rows = self.links[node].tolist()
        n_values = int(self.evidence.offsets[feature + 1] - self.evidence.offsets[feature]) if feature >= 0 else 0
        return State(
            node, parent, code, feature, what == kernel.STOPS, depth, n_rows,
            self.facts[node, kernel.SPENT], self.facts[node, kernel.PRICE],
            float(self.facts[node, kernel.INFORMATION]) * np.log(max(self.priors.size, 2)),
            self.logs[node].copy(), self.pool_logs[first : first + n_values] if first >= 0 else _NO_ANSWERS,
        )  # fmt: skip

    def after(self, node: int, code: int) -> int:
        """The node that an answer leads to; -1 is an answer that is no evidence."""
        feature = self.links[node, kernel.FEATURE]
        n_values = self.evidence.offsets[feature + 1] - self.evidence.offsets[feature]
        while True:
            after = kernel.follow(node, code, self.arrays, self.sizes, n_values, self.facts[node, kernel.PRICE])
            if after >= 0:
                return int(after)
            self._make_room(beyond=True)

    def known(self, node: int, code: int) -> int:
        """The same among the states that are kept for good; -1 if the answer leads out of them."""
        feature, first = self.links[node, kernel.FEATURE], self.links[node, kernel.CHILD]
        n_values = self.evidence.offsets[feature + 1] - self.evidence.offsets[feature]
        after = self.children[first + (code if 0 <= code < n_values else n_values)]
        return int(after) if after < self._frozen[kernel.NODES] else -1

    def twig(self) -> Graph:
        """An empty graph of the same policy, for one case: what others do cannot change it."""
        new = Graph(self.evidence, self.priors, self.mistakes, self.rule, self.least, self.deepest, levels=self.levels)
        new._arguments = self.arguments
        new.copy_node(0, self, 0)
        return new

    def copy_node(self, node: int, source: Graph, other: int) -> None:
        """Let a node be what it is in another graph of the same policy."""
        for k in (kernel.FEATURE, kernel.STATE, kernel.ROWS):
            self.links[node, k] = source.links[other, k]
        self.facts[node] = source.facts[other]
        first, feature = source.links[other, kernel.CHILD], source.links[other, kernel.FEATURE]
        if first < 0:
            return
        n = int(self.evidence.offsets[feature + 1] - self.evidence.offsets[feature]) + 1
        start = int(self.sizes[kernel.POOL])
        while start + n > self.children.size:
            self._make_room()
        self.sizes[kernel.POOL] += n
        self.links[node, kernel.CHILD] = start
        self.children[start : start + n] = -1
        self.pool_logs[start : start + n] = source.pool_logs[first : first + n]


def _arrays(nodes: int, pool: int, n_classes: int) -> tuple[np.ndarray, ...]:
    """Room for so many nodes and children: links, logs, facts, children and their log likelihoods."""
    return (
        np.empty((nodes, kernel.N_LINKS), dtype=np.int64), np.empty((nodes, n_classes)),
        np.zeros((nodes, kernel.N_FACTS)), np.empty(pool, dtype=np.int64), np.empty((pool, n_classes)),
    )  # fmt: skip


def scale_of(priors: np.ndarray, mistakes: np.ndarray) -> float:
    """The unit of the stopping rule: what deciding at once is expected to cost, or 1 if that is nothing."""
    return float(kernel.risk(priors, np.ascontiguousarray(mistakes, dtype=np.float64))) or 1.0
