"""When to stop: backward regression on walks.

A *walk* is an instance that was asked on and on, without stopping. At its d-th state, stopping would cost g_d, the
expected cost of the best decision; going on costs the next price c_d and then whatever the rule pays from there:

    W_d = g_d if the rule stops there, else c_d + W_(d+1)

The rule estimates what going on costs beyond stopping, c_d + W_(d+1) - g_d, by least squares on a few numbers of the
state (:func:`etana.kernels.choice.describe`), and stops where the estimate is not negative. Walks under the new rule
give new costs to regress on; of all rules met, the one whose walks cost least is kept. The regression is over states of
all depths at once: at which step a state is reached does not matter for what is best there.

Walks of held-out training rows know how features depend on each other; walks that are drawn from a model tell what is
best under that model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.kernels import choice
from etana.kernels import graph as kernel
from etana.kernels.rules import decide_rows
from etana.policies.instance_choice import ASK_ON, InstanceChoice
from etana.table import Table
from etana.walks.graph import Graph

__all__ = ["Walks", "fit_rule", "follow"]

_ROUNDS = 10
_RIDGE = 0.1


@dataclass(frozen=True)
class Walks:
    """Walks to their end, the states (S,) of one walk after those of the other; a walk of d features has d + 1 states.

    Attributes
    ----------
    basis : array (S, F)
    risks, prices, spent : arrays (S,)
        In units of the graph's scale.
    decisions : array (S,)
        Class that would be decided at each state.
    lengths : array (walks,)
        States of each walk.
    """

    basis: np.ndarray
    risks: np.ndarray
    prices: np.ndarray
    spent: np.ndarray
    decisions: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, graph: Graph, ends: np.ndarray) -> Walks:
        """The walks that ended at these nodes."""
        links, setting = graph.nodes.links, graph.setting
        lengths = links[ends, kernel.DEPTH] + 1
        nodes = np.empty(int(lengths.sum()), dtype=np.int64)
        kernel.trace(ends, links, np.cumsum(lengths), nodes)
        decided = np.empty(graph.n_nodes, dtype=np.int64)
        decide_rows(np.exp(graph.nodes.logs[: graph.n_nodes]), setting.regrets, decided)
        return cls._of_states(graph.nodes.facts[nodes], decided[nodes], lengths, setting.scale)

    @classmethod
    def _of_states(cls, facts: np.ndarray, decided: np.ndarray, lengths: np.ndarray, scale: float) -> Walks:
        """From the facts (S, N_FACTS) of all states; see :mod:`etana.kernels.choice`."""
        return cls(
            np.ascontiguousarray(facts[:, choice.BASIS :]), facts[:, choice.RISK].copy(),
            facts[:, choice.PRICE] / scale, facts[:, choice.SPENT] / scale, decided, lengths,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: list[Walks]) -> Walks:
        """Walks of several graphs together."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__))

    @cached_property
    def _last(self) -> np.ndarray:
        """The last state of each walk."""
        return np.cumsum(self.lengths) - 1

    def play(self, rule: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state at which a walk that has come to a state ends under a rule, (S,), and W_d, what it pays from there.

        A walk stops where the rule says so, if there is something to pay, and at its last state at the latest.
        """
        ends, to_go = np.empty(self.risks.size, dtype=np.int64), np.empty(self.risks.size)
        choice.walk_back(rule, self.basis, self.risks, self.prices, self.spent, self.lengths, ends, to_go)
        return ends, to_go

    @cached_property
    def _first(self) -> np.ndarray:
        """The first state of each walk."""
        return self._last - self.lengths + 1

    def _stopped(self, rule: np.ndarray) -> np.ndarray:
        """The state at which each walk stops under a rule."""
        return self.play(rule)[0][self._first]

    def stops(self, rule: np.ndarray) -> np.ndarray:
        """Position at which each walk stops under a rule."""
        return self._stopped(rule) - self._first

    def decided(self, rule: np.ndarray) -> np.ndarray:
        """The class that each walk decides for under a rule."""
        return self.decisions[self._stopped(rule)]

    def costs(self, rule: np.ndarray, truth: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
        """What each walk really pays under a rule, features and mistakes, its class being known; ``mistakes`` in
        units of the scale."""
        at = self._stopped(rule)
        return self.spent[at] + mistakes[truth, self.decisions[at]]

    def expected(self, rule: np.ndarray, weights: np.ndarray | None = None) -> float:
        """Mean cost under a rule, mistakes as the beliefs expect them; ``weights`` say how much each walk counts."""
        at = self._stopped(rule)
        return float(np.average(self.spent[at] + self.risks[at], weights=weights))


def fit_rule(walks: Walks, counted: np.ndarray | None = None) -> np.ndarray:
    """The rule with the least expected cost among those that backward regression meets; ``counted`` (walks,) says how
    much each walk counts, all alike if it is not given."""
    # Free features are asked whatever the rule says, so their states teach it nothing.
    charged = walks.prices > 0
    charged[walks._last] = False
    if not charged.any():
        return ASK_ON.copy()
    share = np.ones(walks.lengths.size) if counted is None else counted / counted.mean()
    states = np.where(charged, np.repeat(share, walks.lengths), 0.0)
    # What remains to be paid varies about as much as the risk there; near certainty, where stops are decided, small
    # differences count. 0.02 keeps states that are all but certain from counting for everything.
    weights = states / (walks.risks + 0.02)
    weighted = walks.basis * np.sqrt(weights)[:, None]
    # The ridge is counted in walks: states of one walk are not independent of each other.
    ridge = _RIDGE * states.sum() / walks.lengths.size * np.eye(weighted.shape[1])
    gram, sums = weighted.T @ weighted + ridge, np.empty(weighted.shape[1])
    # The first round asks as long as the next feature could pay at all.
    ends, to_go = walks.play(ASK_ON)
    best, least = None, np.inf
    for _ in range(_ROUNDS):
        # Longstaff and Schwartz: costs to go are those of the walks themselves; only the decision is taken by the fit.
        choice.sum_extra(walks.basis, weights, walks.risks, walks.prices, to_go, sums)
        rule = np.linalg.solve(gram, sums)
        before, (ends, to_go) = ends, walks.play(rule)
        cost = np.average(to_go[walks._first], weights=share)
        # Rounds need not come closer and closer; the best rule met is kept.
        if cost < least:
            best, least = rule, cost
        if np.array_equal(ends, before):
            break  # all rounds that would follow are this one again
    assert best is not None
    return best


def follow(beliefs: Beliefs, policy: InstanceChoice, table: Table) -> Walks:
    """Walks of the rows of a table, for any beliefs that have likelihoods: each row asked as long as the policy asks.

    A policy with the rule :data:`~etana.policies.instance_choice.ASK_ON` asks on and on. For path counts a graph is
    much faster (:meth:`Walks.of`).
    """
    n = table.n_rows
    states: list[list[tuple[np.ndarray, int]]] = [[] for _ in range(n)]
    todo: list[tuple[np.ndarray, Knowledge, np.ndarray]] = [(np.arange(n), beliefs.begin(n), np.zeros(n))]
    while todo:
        rows, knowledge, spent = todo.pop()
        columns, stops, facts = policy.settle(knowledge)
        facts[:, choice.SPENT] = spent
        decided = policy.decide(knowledge.posteriors)
        for i, row in enumerate(rows.tolist()):
            states[row].append((facts[i], int(decided[i])))
        for column in np.unique(columns[~stops]).tolist():
            index = np.flatnonzero(~stops & (columns == column))
            after = knowledge.take(index).after(column, table.values(column, rows[index], beliefs.levels))
            todo.append((rows[index], after, (spent + facts[:, choice.PRICE])[index]))
    lengths = np.array([len(walk) for walk in states])
    every = np.array([facts for walk in states for facts, _ in walk]).reshape(-1, choice.N_FACTS)
    decisions = np.array([decision for walk in states for _, decision in walk], dtype=np.int64)
    return Walks._of_states(every, decisions, lengths, policy.scale)
