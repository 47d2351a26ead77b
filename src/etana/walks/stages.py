"""Naive Bayes along a fixed order: all rows of a block stage by stage, in compiled loops and threads."""

from __future__ import annotations

from functools import partial

import numpy as np

from etana.beliefs.naive_bayes import NaiveBayes
from etana.kernels import walk as kernel
from etana.kernels.fitted import quick_of, walk_fitted
from etana.kernels.rules import FITTED, INTERVAL, Rule
from etana.policies.fixed_order import FixedOrder
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes, short_of_money, storage_of
from etana.walks.registry import CompiledWalk, Walked, register

__all__ = ["StageWalk"]

_ROWS_PER_THREAD = 2048


class StageWalk(CompiledWalk):
    """The stages that the policy can reach, as flat arrays."""

    def __init__(self, beliefs: NaiveBayes, order: np.ndarray, columns: np.ndarray, rule: Rule) -> None:
        self.beliefs, self.order, self.rule = beliefs, order, rule
        # Only columns within the horizon: the rest of the table is never looked at, nor made dense.
        self.columns = np.ascontiguousarray(columns, dtype=np.int64)
        self.bins, self.cells = beliefs.in_order(self.columns)
        # Only the loop that serves is compiled.
        if rule.kind == INTERVAL:
            self.loop = partial(kernel.walk_two, rule)
        elif rule.kind == FITTED:
            self.loop = partial(walk_fitted, rule, quick_of(rule, self.cells))
        else:
            self.loop = partial(kernel.walk, rule)

    @classmethod
    def of(cls, beliefs: NaiveBayes, policy: FixedOrder) -> StageWalk | None:
        """For a stopping rule that has a compiled form."""
        rule = policy.stage_rule
        return None if rule is None else cls(beliefs, policy.order, policy.columns, rule)

    def walk(self, table: Table, budget: float = np.inf) -> Walked:
        """Outcomes of all rows, and the order."""
        storage = storage_of(table, self.columns, self.beliefs.levels)
        outcomes = empty_outcomes(table.n_rows, self.beliefs.priors.size)

        def run(first: int, last: int) -> None:
            # Chunks write to different rows of the outcomes, so that the number of threads changes no bit.
            self.loop(storage, self.bins, self.cells, budget, first, last, outcomes)

        over_chunks(run, table.n_rows, _ROWS_PER_THREAD)
        short = short_of_money(outcomes, self.rule.costs[: self.columns.size], budget)
        return Walked(outcomes, self.order, None, short)


register(NaiveBayes, FixedOrder, StageWalk.of)
