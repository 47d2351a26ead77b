"""A plan as a document of plain values: what ``.json`` holds, and what ``.js``, ``.py`` and ``.html`` carry with them.

==============  ====================================================================================================
``format``      ``"etana-policy"``; ``version`` is 1
``policy``      how it chooses and stops, in words; ``beliefs``, ``coverage`` and ``made_by`` likewise
``classes``     labels, sorted; a class is known by its number in this list
``columns``     how many columns the training table had
``full_price``  what all of these together cost
``mistakes``    (N, N) cost of deciding class j (column) when class i (row) is true
``regrets``     the same above the least of each row: the class decided is argmin_j of sum_i regrets[i][j] p_i, the
                first of equals to twelve digits
``questions``   ``name`` and ``column`` of a feature, ``levels`` (labels, or null for numbers), ``edges``, ``codes``,
                ``missing``: the code of a number is how many edges are at or below it, that of a missing value
                ``missing``; -1, or a code of ``codes`` and more, is no evidence. A label counts as its number among the
                levels, one that is not there as infinity
``form``        ``"stages"`` or ``"graph"``
``stages``      ``prices`` of the questions, asked in their order; ``logs[k][code]`` log likelihoods by class;
                ``log_priors``; ``rule``: ``kind``, ``table``, ``index`` as :mod:`etana.kernels.rules` tells
``graph``       by node, the first is where all begin: ``asks`` the number of a question (-1: decides), ``first`` where
                its ``children`` begin (one for each code, and a last for no evidence), ``prices`` of asking,
                ``labels`` (class decided there), ``posteriors``, ``open`` (nodes that the policy would go on from)
==============  ====================================================================================================

Numbers beyond 1e300 stand for infinity, which JSON has no name for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana import __version__
from etana.exporting.plan import Plan, StagePlan
from etana.policies.decision_graph import CutColumn, DecisionGraph

__all__ = ["document_of"]

_INFINITE = 1e300


def document_of(plan: Plan) -> dict[str, Any]:
    """The document of a plan."""
    model = plan.model
    document = {
        "format": "etana-policy",
        "version": 1,
        "made_by": f"etana {__version__}",
        "policy": model.policy.words,
        "beliefs": model.beliefs.words,
        "coverage": plan.coverage,
        "classes": plan.classes,
        "columns": model.n_features,
        "full_price": model.full_price,
        "mistakes": _numbers(model.mistakes),
        "regrets": _numbers(plan.regrets),
        "questions": [_question(plan, question) for question in plan.questions],
    }
    if isinstance(plan.form, StagePlan):
        return document | {"form": "stages", "stages": _stages(plan.form)}
    return document | {"form": "graph", "graph": _graph(plan, plan.form)}


def _numbers(array: Any) -> Any:
    """Nested lists of numbers, infinities replaced by what stands for them."""
    array = np.asarray(array)
    return (array if array.dtype.kind in "iub" else np.clip(array, -_INFINITE, _INFINITE)).tolist()


def _question(plan: Plan, question: CutColumn) -> dict[str, Any]:
    return {
        "name": plan.name_of(question.column),
        "column": question.column,
        "levels": plan.levels_of(question.column),
        "edges": _numbers(question.edges),
        "codes": question.n_codes,
        "missing": question.missing,
    }


def _stages(stages: StagePlan) -> dict[str, Any]:
    rule = stages.rule
    return {
        "prices": _numbers(stages.prices),
        "logs": [_numbers(logs) for logs in stages.logs],
        "log_priors": _numbers(stages.log_priors),
        "rule": {"kind": stages.kind, "table": _numbers(rule.table), "index": _numbers(rule.index)},
    }


def _graph(plan: Plan, graph: DecisionGraph) -> dict[str, Any]:
    return {
        "asks": _numbers(graph.asks),
        "first": _numbers(graph.first),
        "children": _numbers(graph.children),
        "prices": _numbers(graph.prices),
        "labels": _numbers(plan.labels),
        "posteriors": _numbers(graph.posteriors),
        "open": np.flatnonzero(graph.open).tolist(),
    }
