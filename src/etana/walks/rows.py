"""Rows of a table through a model, by the walk that serves: compiled where there is one, else the loop for any pair.

With a budget the compiled walk goes first. Rows that it does not stop are done: a budget changes nothing for them.
Those that are short of money go again, and are asked the best of what fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from etana.policies.situation import Situation
from etana.table import Table
from etana.walks import generic
from etana.walks.registry import Walked

if TYPE_CHECKING:
    from etana.model import Model

__all__ = ["walk_rows"]


def walk_rows(model: Model, table: Table, situation: Situation, known: Sequence[int] = ()) -> Walked:
    """Outcomes of all rows, and the columns that each was asked."""
    if model.compiled is None or known:
        return generic.walk(model.beliefs, model.policy, table, situation, known)
    walked = model.compiled.walk(table, situation.budget)
    if walked.short is None or not walked.short.any():
        return walked
    rows = np.flatnonzero(walked.short)
    return _joined(walked, generic.walk(model.beliefs, model.policy, table.rows(rows), situation), rows)


def _joined(walked: Walked, again: Walked, rows: np.ndarray) -> Walked:
    """What was walked, with some rows as they came out when they went again."""
    outcomes, asked, starts, _ = walked
    starts = np.zeros(outcomes.asked.size, dtype=np.int64) if starts is None else starts.copy()
    assert again.starts is not None
    starts[rows] = asked.size + again.starts
    for whole, part in zip(outcomes, again.outcomes, strict=True):
        whole[rows] = part
    return Walked(outcomes, np.concatenate([asked, again.asked]), starts)
