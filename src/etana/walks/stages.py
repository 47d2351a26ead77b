"""Naive Bayes along a fixed order: all rows of a block stage by stage, in compiled loops and threads."""

from __future__ import annotations

import numpy as np

from etana.beliefs.naive_bayes import NaiveBayes
from etana.kernels import walk as kernel
from etana.kernels.rules import Rule
from etana.kernels.walk import Outcomes
from etana.policies.fixed_order import FixedOrder
from etana.policies.stopping import StoppingPolicy
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes, storage_of
from etana.walks.registry import CompiledWalk, register

__all__ = ["StageWalk"]

_ROWS_PER_THREAD = 2048


class StageWalk(CompiledWalk):
    """The stages that the policy can reach, as flat arrays."""

    def __init__(self, beliefs: NaiveBayes, order: np.ndarray, columns: np.ndarray, rule: Rule) -> None:
        self.beliefs, self.order, self.rule = beliefs, order, rule
        # Only columns within the horizon: the rest of the table is never looked at, nor made dense.
        self.columns = np.ascontiguousarray(columns, dtype=np.int64)
        self.bins, self.cells = beliefs.in_order(self.columns)

    @classmethod
    def of(cls, beliefs: NaiveBayes, policy: FixedOrder) -> StageWalk | None:
        """For a stopping rule that has a compiled form."""
        stopping = policy.stopping
        # A rule that is Python, somebody's own or a regression, has no place in a compiled loop.
        if not isinstance(stopping, StoppingPolicy) or not stopping.compiled:
            return None
        return cls(beliefs, policy.order, policy.columns, stopping.rule)

    def walk(self, table: Table, budget: float) -> tuple[Outcomes, np.ndarray, np.ndarray | None]:
        """Outcomes of all rows, and the order."""
        storage = storage_of(table, self.columns, self.beliefs.levels)
        outcomes = empty_outcomes(table.n_rows, self.beliefs.priors.size)

        def run(first: int, last: int) -> None:
            # Chunks write to different rows of the outcomes, so that the number of threads changes no bit.
            kernel.walk(self.rule, storage, self.bins, self.cells, budget, first, last, outcomes)

        over_chunks(run, table.n_rows, _ROWS_PER_THREAD)
        return outcomes, self.order, None


register(NaiveBayes, FixedOrder, StageWalk.of)
