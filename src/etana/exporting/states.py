"""From a policy that chooses for each instance to a graph of questions.

States are worked out one after the other: first those on the ways of rows, the training rows that the beliefs hold and
any that are given, then the one that is likeliest under the beliefs, until every way ends or there is no room for more.
What lies beyond a state for which there was no room is not known to the graph: an instance that gets there is decided
with what is known.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etana.beliefs.base import BinnedBeliefs, Knowledge
from etana.errors import InputError
from etana.model import Model
from etana.policies.decision_graph import CutColumn, DecisionGraph
from etana.table import read_table
from etana.walks.acquisition import check_columns

__all__ = ["grow"]

_NO_EVIDENCE = 0.01  # chance that an answer is missing, or unheard of; beliefs have none for it


def grow(model: Model, most: int, rows: Any = None) -> DecisionGraph:
    """The graph of a model over bins, of at most so many nodes; the states that ``rows`` reach come first."""
    growth = _Growth(model, most)
    # Given rows before those of the training: who names rows wants these to be decided as the model does.
    if rows is not None and not growth.follow(*_codes(model, rows)):
        raise InputError(
            f"the states that these rows reach do not fit into {most:,} nodes; allow more (max_nodes, --max-nodes), or "
            "leave the rows out: then an instance that leaves the graph is decided with what is known"
        )
    examples = model.beliefs.examples()
    if examples is not None:
        growth.follow(*examples)
    growth.spread()
    return growth.graph()


def _codes(model: Model, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    beliefs, table = model.beliefs, read_table(rows)
    assert isinstance(beliefs, BinnedBeliefs)
    check_columns(table, model.n_features, model.names)
    return model.columns, beliefs.binner.encode(table, model.columns)


@dataclass
class _State:
    """A node while the graph grows: ``column`` is -1 where it decides, ``first`` is -1 until it has children."""

    knowledge: Knowledge | None
    spent: float
    reach: float
    column: int
    price: float
    posterior: np.ndarray
    first: int = -1


@dataclass
class _Growth:
    """Nodes so far, their children, and those that wait, the likeliest first."""

    model: Model
    most: int
    states: list[_State] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    waiting: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._add(self.model.beliefs.begin(1), 0.0, 1.0)

    def _add(self, knowledge: Knowledge, spent: float, reach: float) -> int:
        move, number = self.model.policy.act(knowledge), len(self.states)
        column = -1 if move.stops[0] else int(move.columns[0])
        price = float(move.prices[0]) if column >= 0 else 0.0
        kept = knowledge if column >= 0 else None
        self.states.append(_State(kept, spent, reach, column, price, knowledge.posteriors[0].copy()))
        if column >= 0:
            heapq.heappush(self.waiting, (-reach, number))
        return number

    def _n_codes(self, column: int) -> int:
        offsets = self.model.beliefs.binner.cell_offsets  # type: ignore[attr-defined]
        return int(offsets[column + 1] - offsets[column])

    def expand(self, number: int) -> bool:
        """Give a node that asks its children; False if there is no room for them."""
        state = self.states[number]
        if state.first >= 0:
            return True
        n_codes = self._n_codes(state.column)
        if len(self.states) + n_codes + 1 > self.most:
            return False
        beliefs, knowledge = self.model.beliefs, state.knowledge
        assert isinstance(beliefs, BinnedBeliefs)
        assert knowledge is not None
        chances = knowledge.likelihoods(state.column)[0] @ knowledge.posteriors[0] * (1 - _NO_EVIDENCE)
        # What is known along a path is looked at once more, by its children, and never again.
        state.first, state.knowledge = len(self.children), None
        self.children.extend([-1] * (n_codes + 1))
        for place, code in enumerate([*range(n_codes), -1]):
            after = beliefs.after_code(knowledge, state.column, code)
            chance = float(chances[code]) if code >= 0 else _NO_EVIDENCE
            child = self._add(after, state.spent + state.price, state.reach * chance)
            self.children[state.first + place] = child
        return True

    def follow(self, columns: np.ndarray, codes: np.ndarray) -> bool:
        """Work out the states on the ways of rows, as codes (C, n); whether there was room for all of them."""
        place, fits = {column: c for c, column in enumerate(columns.tolist())}, True
        for row in np.unique(codes, axis=1).T.tolist():
            number = 0
            while (state := self.states[number]).column >= 0:
                if not self.expand(number):
                    fits = False
                    break
                n_codes, code = self._n_codes(state.column), row[place[state.column]]
                number = self.children[state.first + (code if 0 <= code < n_codes else n_codes)]
        return fits

    def spread(self) -> None:
        """Work out further states, the likeliest first, as far as there is room."""
        while self.waiting:
            self.expand(heapq.heappop(self.waiting)[1])

    def graph(self) -> DecisionGraph:
        """The nodes as arrays; one that has no children decides."""
        states, binner = self.states, self.model.beliefs.binner  # type: ignore[attr-defined]
        columns = sorted({state.column for state in states if state.first >= 0})
        number = {column: q for q, column in enumerate(columns)}
        questions = [_question(binner, column, self._n_codes(column)) for column in columns]
        asked = [state.first >= 0 for state in states]
        opened = np.array([state.column >= 0 and state.first < 0 for state in states])
        return DecisionGraph(
            questions,
            np.array([number[s.column] if ask else -1 for s, ask in zip(states, asked, strict=True)], dtype=np.int64),
            np.array([s.first for s in states], dtype=np.int64),
            np.array(self.children, dtype=np.int64),
            np.array([s.price if ask else 0.0 for s, ask in zip(states, asked, strict=True)]),
            np.array([s.spent for s in states]),
            np.stack([s.posterior for s in states]),
            opened,
            float(np.array([s.reach for s in states])[opened].sum()),
        )


def _question(binner: Any, column: int, n_codes: int) -> CutColumn:
    edges, _, missing = binner.edges_of(np.array([column]))
    return CutColumn(column, edges, n_codes, int(missing[0]))
