"""The decision graph: states that were reached, what each asks, and where each answer leads.

What a policy that chooses for each instance does at a state follows from the path of answers alone. The graph works it
out when an instance first gets there and looks it up from then on. When it is full, the states that were added after
:meth:`Graph.keep` are forgotten and grow anew where they are needed; what a row is asked does not depend on what is
remembered. A row whose path alone is longer than the graph may be still finds its way: the states on it are kept until
the next row needs the room.

A graph belongs to one thread at a time. :class:`GraphPool` lends graphs of the same policy to threads: each goes on
growing where it was left, none waits for another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np

from etana.beliefs.path_counts import PathCounts
from etana.kernels import choice
from etana.kernels import graph as kernel
from etana.kernels.choice import ChoiceTerms, Offers, Scratch
from etana.kernels.graph import Nodes, Travellers
from etana.kernels.walk import Storage
from etana.policies.instance_choice import InstanceChoice
from etana.walks.acquisition import NOTHING_STORED, turned

__all__ = ["Graph", "GraphPool", "Node"]

_FIRST = 256
_MORE = 4  # a graph like another one takes at most this part more, mostly
_ALIKE = 1e-14  # of factors: rates that agree to twelve digits are equal to a choice
_NO_ANSWERS = np.empty((0, 0))
_NO_ROWS = np.empty(0, dtype=np.int64)


class Node(NamedTuple):
    """What is known of a state: the path into it, what it asks, and the log likelihood of each answer."""

    number: int
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
    """States of a policy over path counts.

    Parameters
    ----------
    beliefs : PathCounts
    policy : InstanceChoice
        Its ``most_states`` is how many are remembered.
    room : int
        States that there is room for at first, at least.
    like : array (3,), optional
        Sizes (:attr:`sizes`) of a graph that this one will be about as large as: there is room for that at once.
    """

    def __init__(
        self, beliefs: PathCounts, policy: InstanceChoice, room: int = 0, like: np.ndarray | None = None
    ) -> None:
        self.beliefs, self.policy = beliefs, policy
        self.home = 0.0  # see GraphPool
        self.most = int(policy.most_states)
        self.evidence = beliefs.evidence
        # The bound that holds at every belief: the largest divergence from the mean over the classes.
        self.offers = policy.offers(self.evidence.radius.max(axis=0, initial=0.0))
        self.setting = policy.setting
        self.scratch = Scratch.over(self.evidence, self.offers.n_groups)
        self._no_codes = self.evidence.codes[:, :0].copy()
        room = max(room, _FIRST)
        rooms = np.array([room, 4 * room, 0])
        if like is not None:
            rooms = np.maximum(rooms, like + like // _MORE)
        nodes, pool, listed = rooms.tolist()
        self.nodes = _room(min(nodes, self.most), pool, min(listed, kernel.MOST_LISTED), beliefs.priors.size)
        self._kept = np.zeros(3, dtype=np.int64)
        self._plant()

    def _plant(self) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(self.beliefs.priors)
        kernel.add(-1, -1, logs - logs.max(), 0.0, self.nodes)

    def copy(self, whole: bool = False) -> Self:
        """Another graph with the states that are kept for good, or with the ``whole`` of them."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new.nodes = Nodes(*(np.array(part) for part in self.nodes))
        new.scratch = Scratch.over(self.evidence, self.offers.n_groups)
        if not whole:
            new._forget()
        return new

    def repriced(self, policy: InstanceChoice) -> Self | None:
        """The same states under other prices, mistakes or another rule; None where candidates are chosen otherwise."""
        offers = policy.offers(self.evidence.radius.max(axis=0, initial=0.0))
        if self.policy.levels or policy.levels or not _in_proportion(self.offers, offers, self.setting, policy.setting):
            return None
        new = self.copy(whole=True)
        new.policy, new.offers, new.setting, new.most = policy, offers, policy.setting, int(policy.most_states)
        kernel.reprice(new.nodes, new.offers, new.setting)
        return new

    @property
    def nbytes(self) -> int:
        """Memory that the states take."""
        return sum(part.nbytes for part in self.nodes)

    @property
    def sizes(self) -> np.ndarray:
        """How many states, children and listed rows there are, (3,)."""
        return self.nodes.sizes.copy()

    @property
    def n_nodes(self) -> int:
        """States that are remembered."""
        return int(self.nodes.sizes[kernel.NODES])

    def keep(self) -> None:
        """Keep the states known now for good."""
        for node in range(self.n_nodes):
            self.node(node)  # one that was reached, but not worked out for want of room
        self._kept = self.nodes.sizes.copy()

    def scout(self, storage: Storage, budget: float, rows: np.ndarray, span: tuple[int, int], ends: np.ndarray) -> None:
        """How far rows get by the states that are kept for good; the last goes into ``ends``. Nothing is changed, so
        that threads may share the graph, also with one that it is lent to."""
        kept = int(self._kept[kernel.NODES])
        ends[slice(*span)] = 0
        if kept:
            self._step(self._travellers(kernel.SCOUTS, rows=rows, known=kept, storage=storage), budget, *span, ends)

    def walk(
        self, storage: Storage, budget: float, rows: np.ndarray, span: tuple[int, int], begins: np.ndarray | None = None
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """Take ``rows[first:last]`` of a table through; yields (first, last, end node of each) for parts whose nodes
        are valid now. They begin at states that are kept for good, or at the root."""
        return self._advance(self._travellers(kernel.STORED, rows=rows, storage=storage), span, budget, begins)

    def retrace(self, codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """The same for rows that are coded already, (C, n)."""
        return self._advance(self._travellers(kernel.CODED, codes=codes), (0, codes.shape[1]))

    def draw(self, draws: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """The same for instances drawn from the model by uniform numbers, one row per instance."""
        return self._advance(self._travellers(kernel.DRAWN, draws=draws), (0, len(draws)))

    def _travellers(self, kind: int, **given: Any) -> Travellers:
        """Of this kind; what they do not have has the types of what others have, so that one loop serves all."""
        none = Travellers(kind, _NO_ROWS, 0, self._no_codes, _NO_ANSWERS, NOTHING_STORED, self.beliefs.bins)
        travellers = none._replace(**given)
        return travellers._replace(storage=turned(travellers.storage))

    def _step(self, travellers: Travellers, budget: float, first: int, last: int, ends: np.ndarray) -> int:
        """Take them through as far as there is room; returns the first that found none."""
        return kernel.descend(
            travellers, budget, first, last, self.nodes, self.evidence, self.offers, self.setting, self.scratch, ends
        )

    def _advance(
        self, travellers: Travellers, span: tuple[int, int], budget: float = np.inf, begins: np.ndarray | None = None
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        first, last = span
        ends = np.zeros(last, dtype=np.int64) if begins is None else begins
        # Rows that are done keep their end nodes; these are reported before nodes are forgotten.
        done = reported = first
        alone = False  # whether a row that finds no room shares the graph with nothing but states kept for good
        while (done := self._step(travellers, budget, done, last, ends)) < last:
            # A row that alone needs more room than there is gets it: every row finds its way.
            if self._make_room(beyond=alone and done == reported):
                continue
            if done > reported:
                yield reported, done, ends
                reported = done
            self._forget()
            alone = True
        if reported < last:
            yield reported, last, ends

    def _make_room(self, beyond: bool = False) -> bool:
        """Double the arrays; False if there would be more nodes than allowed, unless one may go beyond that."""
        old = self.nodes
        # Doubling: what is copied in all stays below twice what is held.
        nodes, pool, widest = len(old.links), old.children.size, len(self.scratch.cells)
        listed, n_rows = old.listed.size, self.evidence.codes.shape[1]
        if old.sizes[kernel.NODES] >= nodes and (beyond or nodes < self.most):
            nodes = 2 * nodes if beyond else min(2 * nodes, self.most)
        elif old.sizes[kernel.POOL] + widest > pool:
            pool = 2 * pool + widest
        elif old.sizes[kernel.LISTED] + n_rows > listed and listed < kernel.MOST_LISTED:
            listed = min(2 * listed + n_rows, kernel.MOST_LISTED)
        else:
            return False
        new = _room(nodes, pool, listed, self.beliefs.priors.size)
        for larger, array in zip(new, old, strict=True):
            larger[: len(array)] = array
        self.nodes = new
        return True

    def _forget(self) -> None:
        """Drop the states added since the graph was kept."""
        nodes, pool, _ = self._kept
        self.nodes.sizes[:] = self._kept
        kept = self.nodes.children[:pool]
        # Links from states that stay to states that are forgotten lead nowhere now.
        kept[kept >= nodes] = -1
        if nodes == 0:
            self._plant()

    def node(self, number: int) -> Node:
        """What is known of a state, worked out if it is new."""
        if self.nodes.links[number, kernel.STATE] == kernel.NEW:
            itself, place = self._travellers(kernel.STATES), np.array([number])
            while self._step(itself, np.inf, 0, 1, place) == 0:
                self._make_room()
        nodes = self.nodes
        parent, code, feature, what, first, depth, n_rows, _ = nodes.links[number].tolist()
        n_values = self.n_values(feature) if feature >= 0 else 0
        return Node(
            number, parent, code, feature, what == kernel.STOPS, depth, n_rows,
            nodes.facts[number, choice.SPENT], nodes.facts[number, choice.PRICE],
            float(nodes.facts[number, choice.INFORMATION]) * np.log(max(self.beliefs.priors.size, 2)),
            nodes.logs[number].copy(), nodes.pool_logs[first : first + n_values] if first >= 0 else _NO_ANSWERS,
        )  # fmt: skip

    def n_values(self, feature: int) -> int:
        """How many codes a candidate has."""
        return int(self.evidence.offsets[feature + 1] - self.evidence.offsets[feature])

    def after(self, number: int, code: int) -> int:
        """The state that an answer leads to; -1 is an answer that is no evidence."""
        n_values = self.n_values(int(self.nodes.links[number, kernel.FEATURE]))
        while (after := kernel.follow(number, code, self.nodes, n_values)) < 0:
            self._make_room(beyond=True)
        return int(after)


def _in_proportion(old: Offers, new: Offers, before: ChoiceTerms, now: ChoiceTerms) -> bool:
    """Whether every candidate's price has changed by one factor: information per price then has the same order."""
    if old.n_groups or new.n_groups or not old.full.size or before.budget < np.inf or now.budget < np.inf:
        return False
    # What is next to free counts as a least price, which does not change with the others.
    if old.cheapest <= before.floor or new.cheapest <= now.floor:
        return False
    factors = new.full / old.full
    return bool(factors.max() - factors.min() <= _ALIKE * factors.max())


class GraphPool:
    """Graphs of one policy, lent to one thread each.

    Parameters
    ----------
    first : Graph
        Those that are lent begin with the states that it keeps for good.
    """

    def __init__(self, first: Graph) -> None:
        self.first = first
        self._free = [first]
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # Others may be walking: a copy begins with what is kept for good.
        return {"first": self.first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["first"].copy())  # type: ignore[misc]

    def take(self, home: float = 0.0) -> Graph:
        """A graph for this thread alone; :meth:`give_back` ends that. Of those that are free it is the one that served
        nearest to this place, from 0 to 1, of sorted rows, and knows most of the states there."""
        with self._lock:
            free = [abs(graph.home - home) for graph in self._free]
            graph = self._free.pop(free.index(min(free))) if free else None
        graph = self.first.copy() if graph is None else graph
        graph.home = home
        return graph

    def give_back(self, graph: Graph) -> None:
        """Let others have it; what it has worked out stays."""
        with self._lock:
            self._free.append(graph)

    @contextmanager
    def lent(self) -> Iterator[Graph]:
        """A graph for this thread alone, as long as the context lasts."""
        graph = self.take()
        try:
            yield graph
        finally:
            self.give_back(graph)


def _room(nodes: int, pool: int, listed: int, n_classes: int) -> Nodes:
    """Arrays for so many nodes, children and listed rows."""
    return Nodes(
        np.empty((nodes, kernel.N_LINKS), dtype=np.int64), np.empty((nodes, n_classes)),
        np.zeros((nodes, choice.N_FACTS)), np.empty(pool, dtype=np.int64), np.empty((pool, n_classes)),
        np.empty(listed, dtype=np.int32), np.zeros(3, dtype=np.int64),
    )  # fmt: skip
