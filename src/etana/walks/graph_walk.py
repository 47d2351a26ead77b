"""Path counts with a choice for each instance: rows descend a decision graph, in compiled loops and threads.

Many rows go first as far as the states that are kept for good lead, which all threads look up in one graph. Sorted by
where they got to, they go on in graphs of which each thread has its own: rows that come the same way are in the same
part, so that hardly a state is worked out by two threads, and the states of a part stay at hand.
"""

from __future__ import annotations

import numpy as np

from etana.beliefs.path_counts import PathCounts
from etana.kernels import choice
from etana.kernels import graph as kernel
from etana.kernels.walk import Storage
from etana.policies.expectation import Expectation
from etana.policies.instance_choice import InstanceChoice
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes, storage_of
from etana.walks.graph import Graph, GraphPool
from etana.walks.registry import CompiledWalk, Walked, register

__all__ = ["GraphWalk"]

_DRAWS = 4096
_BLOCK = 2**20  # random numbers at once
_ROWS_PER_THREAD = 1024
_SCATTER = 40503  # 2^16 over the golden ratio: multiples of it are scattered evenly over two bytes


class GraphWalk(CompiledWalk):
    """A pool of decision graphs of one policy."""

    def __init__(self, beliefs: PathCounts, policy: InstanceChoice) -> None:
        self.beliefs, self.policy = beliefs, policy
        self.pool = GraphPool(Graph(beliefs, policy))

    def compile(self) -> None:
        """Work out every state that a training row reaches, as far as there is room, and keep it for good."""
        graph = self.pool.first
        graph.most = max(graph.most // 2, 1)  # the other half is for states that no training row reaches
        next(graph.retrace(self.beliefs.codes), None)
        graph.keep()
        graph.most *= 2

    def walk(self, table: Table, budget: float = np.inf) -> Walked:
        """Outcomes of all rows, and the columns that each was asked."""
        n, columns = table.n_rows, self.beliefs.candidates
        outcomes = empty_outcomes(n, self.beliefs.priors.size)
        storage = storage_of(table, columns, self.beliefs.levels)
        rows, begins = self._sorted(storage, budget, n)
        asked: dict[int, np.ndarray] = {}
        short = np.zeros(n, dtype=bool)

        def run(first: int, last: int) -> None:
            graph = self.pool.take(first / max(n, 1))  # it grows while rows descend it: no two threads may share one
            try:
                for start, end, ends in graph.walk(storage, budget, rows, (first, last), begins):
                    kernel.results(ends, start, end, rows, graph.nodes, graph.setting.regrets, outcomes)
                    short[rows[start:end]] = graph.nodes.links[ends[start:end], kernel.STATE] != kernel.STOPS
                    asked[start] = columns[_asked(graph, ends[start:end])]
            finally:
                self.pool.give_back(graph)

        over_chunks(run, n, _ROWS_PER_THREAD)
        every = (
            asked[0] if len(asked) == 1 else np.concatenate([columns[:0], *(asked[start] for start in sorted(asked))])
        )
        starts, depths = np.empty(n, dtype=np.int64), outcomes.asked[rows]
        starts[rows] = depths.cumsum() - depths
        return Walked(outcomes, every, starts, short)

    def _sorted(self, storage: Storage, budget: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The order in which rows go, and the state that each begins at: the last one that is kept for good."""
        rows, ends = np.arange(n), np.zeros(n, dtype=np.int64)
        if n < 2 * _ROWS_PER_THREAD:
            return rows, ends
        graph = self.pool.first
        over_chunks(lambda a, b: graph.scout(storage, budget, rows, (a, b), ends), n, _ROWS_PER_THREAD)
        # States that were met late lead to longer ways: scattered, they are about as many in any part. Numbers of two
        # bytes are sorted by their digits.
        rows = np.argsort((ends * _SCATTER).astype(np.uint16), kind="stable")
        return rows, ends[rows]

    def expectation(self) -> Expectation:
        """Averages over instances drawn from the beliefs."""
        beliefs, policy = self.beliefs, self.policy
        rng, priors = np.random.default_rng(policy.seed), beliefs.priors
        steps = min(beliefs.candidates.size, policy.most_features) + 1
        costs, asked, truth = [], [], []
        with self.pool.lent() as graph:
            for begin in range(0, _DRAWS, rows := max(_BLOCK // steps, 1)):
                draws = rng.random((min(rows, _DRAWS - begin), steps))
                # The class that the kernel draws by the same number.
                truth.append(np.minimum(np.searchsorted(np.cumsum(priors), draws[:, 0], "right"), priors.size - 1))
                for first, last, ends in graph.draw(draws):
                    paid, depths = _paid(graph, ends[first:last])
                    costs.append(paid)
                    asked.append(depths)
        paid, depths = np.concatenate(costs), np.concatenate(asked)
        shape = (priors.size, int(depths.max(initial=0)))
        weights = np.full(paid.size, 1.0 / paid.size)
        return Expectation.of_walks(paid, depths, np.concatenate(truth), weights, shape)


def _paid(graph: Graph, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What was spent until each node and is expected to be lost there, and its depth."""
    facts = graph.nodes.facts[ends]
    costs = facts[:, choice.SPENT] + graph.setting.scale * facts[:, choice.RISK]
    return costs, graph.nodes.links[ends, kernel.DEPTH]


def _asked(graph: Graph, ends: np.ndarray) -> np.ndarray:
    """Candidates that were asked on the way to each node, one node after the other."""
    starts = np.zeros(ends.size + 1, dtype=np.int64)
    graph.nodes.links[ends, kernel.DEPTH].cumsum(out=starts[1:])
    features = np.empty(starts[-1], dtype=np.int64)
    kernel.paths(ends, 0, ends.size, graph.nodes.links, starts, features)
    return features


register(PathCounts, InstanceChoice, GraphWalk)
