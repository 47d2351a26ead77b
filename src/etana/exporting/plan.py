"""What every target is written from: a policy as plain tables, in one of two forms.

*Stages*: every instance is asked the same features in the same order. A belief is a sum of tabulated logarithms, and a
stop test of one of the kinds of :mod:`etana.kernels.rules` says when it is enough. *Graph*: a table of states, each
with its question, the state that each answer leads to, and the belief there; no arithmetic is needed to follow it.

A model is asked for what it can give, and not which classifier made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etana.errors import InputError
from etana.exporting.states import grow
from etana.kernels import rules
from etana.kernels.rules import Rule
from etana.model import Model
from etana.policies.decision_graph import CutColumn, DecisionGraph
from etana.table import plain_value

__all__ = ["MOST_NODES", "Plan", "StagePlan", "plan_of"]

MOST_NODES = 4096
_MOST_NUMBERS = 2_000_000  # of a stop test; a file of them has some forty megabytes
KINDS = {
    rules.NEVER: "never", rules.INTERVAL: "interval", rules.ALPHA: "alpha", rules.FITTED: "fitted",
    rules.LINEAR: "linear", rules.GRID_NEAREST: "grid_nearest", rules.GRID_INTERPOLATE: "grid_interpolate",
}  # fmt: skip


@dataclass(frozen=True)
class StagePlan:
    """A fixed order.

    Attributes
    ----------
    questions : list of CutColumn
        In the order of asking.
    prices : float64 (H,)
    logs : list of float64 (codes, N)
        log P(code | class) of each question.
    log_priors : float64 (N,)
    rule : Rule
    """

    questions: list[CutColumn]
    prices: np.ndarray
    logs: list[np.ndarray]
    log_priors: np.ndarray
    rule: Rule

    @property
    def kind(self) -> str:
        """The kind of stop test, in a word."""
        return KINDS[self.rule.kind]


@dataclass(frozen=True)
class Plan:
    """A policy as tables, and how its classes and columns are called.

    Attributes
    ----------
    model : Model
    form : StagePlan or DecisionGraph
    """

    model: Model
    form: StagePlan | DecisionGraph

    @property
    def stages(self) -> StagePlan | None:
        """The fixed order, if it is one."""
        return self.form if isinstance(self.form, StagePlan) else None

    @property
    def graph(self) -> DecisionGraph | None:
        """The graph, if it is one."""
        return self.form if isinstance(self.form, DecisionGraph) else None

    @property
    def questions(self) -> list[CutColumn]:
        """Everything that may be asked."""
        return self.form.questions

    @cached_property
    def classes(self) -> list[Any]:
        """Labels of the classes."""
        return [plain_value(label) for label in self.model.classes]

    @cached_property
    def regrets(self) -> np.ndarray:
        """Costs of mistakes above the least of each class: what decisions are made by."""
        return self.form.rule.regrets if isinstance(self.form, StagePlan) else self.model.policy.regrets

    @cached_property
    def labels(self) -> np.ndarray:
        """The class that each node of a graph decides."""
        assert isinstance(self.form, DecisionGraph)
        return self.model.policy.decide(self.form.posteriors)

    @property
    def most_questions(self) -> int:
        """No instance is asked more."""
        if isinstance(self.form, StagePlan):
            return len(self.form.questions)
        return int(self.form.depths.max())

    def name_of(self, column: int) -> Any:
        """Name of a column, or its number if there are no names."""
        return self.model.name_of(column)

    def column_name(self, column: int) -> str:
        """Name of a column as text; x and its number if there are no names."""
        return f"x{column}" if self.model.names is None else self.model.names[column]

    def levels_of(self, column: int) -> list[Any] | None:
        """Labels of a column, or None if it has numbers."""
        levels = self.model.levels.get(column)
        return None if levels is None else [plain_value(label) for label in levels]

    @property
    def coverage(self) -> str:
        """What the tables know of the policy, in a sentence."""
        graph = self.graph
        if graph is None:
            return "Decides as the model does, for every row."
        nodes = f"{graph.asks.size:,} states"
        if not graph.open.any():
            return f"{nodes}, all that there are: decides as the model does, for every row."
        return (
            f"{nodes}. Beyond them, where {graph.beyond:.2g} of all instances get by the model's own account, it "
            "decides with what is known."
        )


def plan_of(model: Model, max_nodes: int = MOST_NODES, rows: Any = None) -> Plan:
    """The tables of a model; ``max_nodes`` and ``rows`` are those of :func:`etana.exporting.export`."""
    given = model.policy.decision_graph(model.beliefs)
    if given is not None:
        return Plan(model, given)
    rule, tables = model.policy.stage_rule, model.beliefs.in_order(model.columns)
    if rule is not None and tables is not None:
        return Plan(model, _stages(model, rule, *tables))
    if not model.beliefs.has_likelihoods:
        raise InputError(
            f"a model of {model.beliefs.words} cannot be exported: its beliefs are a program and no table. Fit with "
            "`etana fit --exportable` or FrugalClassifier(exportable=True), or --method adaptive or etana "
            "(AdaptiveClassifier, ETANAClassifier), or keep this one in Python with etana.save or etana serve"
        )
    return Plan(model, grow(model, max_nodes, rows))


def _stages(model: Model, rule: Rule, bins: Any, cells: Any) -> StagePlan:
    if rule.table.size > _MOST_NUMBERS:
        raise InputError(
            f"the stop test has {rule.table.size:,} numbers, at most {_MOST_NUMBERS:,} are written to a file; fit with "
            "solver='points', or with a lower resolution of the grid"
        )
    questions = [
        CutColumn(column, bins.edges[a:b], int(n_codes), int(missing))
        for column, a, b, n_codes, missing in zip(
            model.columns.tolist(), bins.offsets[:-1], bins.offsets[1:], np.diff(cells.offsets), bins.missing,
            strict=True,
        )
    ]  # fmt: skip
    logs = [cells.logs[a:b] for a, b in zip(cells.offsets[:-1], cells.offsets[1:], strict=True)]
    return StagePlan(questions, rule.costs[: len(questions)], logs, cells.log_priors, rule)
