"""A policy as a graph of questions: what each state asks, where each answer leads, and what is believed there.

A graph decides nothing and needs no arithmetic: it is what exports (:mod:`etana.exporting`) make of a policy that
chooses for each instance. A policy that is a graph from the start gives it by
:meth:`etana.policies.Policy.decision_graph`; that of any other is grown by the export, state by state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["CutColumn", "DecisionGraph"]


class CutColumn(NamedTuple):
    """A column, and how its values are told apart.

    Attributes
    ----------
    column : int
    edges : float64 (E,)
        Increasing; the code of a number is how many of them are at or below it. Labels are numbers from 0 on, and edges
        lie between them.
    n_codes : int
        A code of this or more is no evidence.
    missing : int
        The code of a missing value; -1 where it is no evidence.
    """

    column: int
    edges: np.ndarray
    n_codes: int
    missing: int


class DecisionGraph(NamedTuple):
    """States of a policy, one entry per node; node 0 is where every instance begins.

    Attributes
    ----------
    questions : list of CutColumn
        A column may be asked with other edges in other places.
    asks : int64 (nodes,)
        Number of the question; -1 where the node decides.
    first : int64 (nodes,)
        Where its children begin: a node for each code, and a last one for an answer that is no evidence. Children
        come after their parents.
    children : int64 (pool,)
    prices, spent : float64 (nodes,)
        Price of the question here (0 where the node decides), and what the way here has cost.
    posteriors : float64 (nodes, N)
    open : bool (nodes,)
        Nodes that decide here although the policy would go on.
    beyond : float
        Chance, by the policy's own model, that an instance ends in an open node.
    """

    questions: list[CutColumn]
    asks: np.ndarray
    first: np.ndarray
    children: np.ndarray
    prices: np.ndarray
    spent: np.ndarray
    posteriors: np.ndarray
    open: np.ndarray
    beyond: float

    @property
    def depths(self) -> np.ndarray:
        """How many questions lead to each node."""
        depths = np.zeros(self.asks.size, dtype=np.int64)
        # Children come after their parents.
        for node in np.flatnonzero(self.asks >= 0).tolist():
            first, n = self.first[node], self.questions[self.asks[node]].n_codes + 1
            depths[self.children[first : first + n]] = depths[node] + 1
        return depths
