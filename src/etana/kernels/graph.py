"""Loops over a decision graph that grows as instances reach states nobody has reached before.

A *state* is the path of answers that leads to it. Its belief, the feature worth asking there, and whether it is time
to stop follow from the path alone (:func:`etana.kernels.choice.settle`), so they are worked out once, when the state is
first reached, and looked up afterwards. The graph decides nothing: it remembers.

``evidence``, ``offers``, ``setting`` and ``scratch`` are the tuples of :mod:`etana.kernels.choice`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.choice import (
    AHEAD,
    INFORMATION,
    PRICE,
    SPENT,
    answer,
    describe,
    estimate,
    path_likelihoods,
    settle,
    stops,
)
from etana.kernels.compiling import njit
from etana.kernels.copying import copy
from etana.kernels.rules import decide, normalise, stop_cost
from etana.kernels.walk import Bins, Storage, bin_of, fetch

PARENT, CODE, FEATURE, STATE, CHILD, DEPTH, ROWS, FIRST_ROW = range(8)
N_LINKS = 8
NEW, ASKS, STOPS = range(3)
NODES, POOL, LISTED = range(3)
STORED, CODED, DRAWN, STATES, SCOUTS = range(5)
MOST_LISTED = 2**22  # rows that states remember, all together


class Travellers(NamedTuple):
    """Who goes through the graph; which arrays are used follows from the kind.

    Attributes
    ----------
    kind : int
        ``STORED``: rows of a table. ``CODED``: rows that are coded already. ``DRAWN``: instances drawn from the model
        itself. ``STATES``: the states themselves, which are worked out and go nowhere. ``SCOUTS``: rows of a table
        that go no further than states which are known; the graph stays as it is.
    rows : int64 (n,)
        Of rows of a table: their numbers, in the order in which they go.
    known : int
        States below this number are those that scouts may enter.
    codes : int (C, n)
        -1 where a value is no evidence.
    draws : float64 (n, steps)
        Uniform numbers, the first for the true class, the others for each answer that is asked.
    storage, bins
        Those of :mod:`etana.kernels.walk` for the candidates.
    """

    kind: int
    rows: np.ndarray
    known: int
    codes: np.ndarray
    draws: np.ndarray
    storage: Storage
    bins: Bins


class Nodes(NamedTuple):
    """States of the graph, one row per node, and the pool of their children.

    Attributes
    ----------
    links : int64 (nodes, N_LINKS)
        Parent, code of the answer that led here, candidate to ask (-1 if none), state, first child, depth, number of
        training rows that share the path (-1 while the state is new), and the place of the first of them in ``listed``
        (-1 if they are not listed).
    logs : float64 (nodes, N)
        Log belief, largest 0.
    facts : float64 (nodes, N_FACTS)
        What was spent, the price of the candidate to ask, the expected cost from here on, and the basis of the stopping
        rule.
    children : int64 (pool,)
        Of a node that asks: a node for each code of its candidate and a last one for an answer that is no evidence; -1
        if nobody has given that answer yet.
    pool_logs : float64 (pool, N)
        Log likelihood of each answer.
    listed : int32 (rows,)
        Training rows of the states that ask, one state after the other: states below look among these alone.
    sizes : int64 (3,)
        How many nodes, children and listed rows there are.
    """

    links: np.ndarray
    logs: np.ndarray
    facts: np.ndarray
    children: np.ndarray
    pool_logs: np.ndarray
    listed: np.ndarray
    sizes: np.ndarray


@njit(nogil=True, cache=True)
def shares_path(row, node, above, links, codes):
    """Whether a training row gave every answer on the path from a node above to this one."""
    while node != above:
        parent = links[node, PARENT]
        if codes[links[parent, FEATURE], row] != links[node, CODE]:
            return False
        node = parent
    return True


@njit(nogil=True, cache=True)
def sharing(node, nodes, codes, rows):
    """Training rows that gave every answer on the path to a node; returns how many."""
    links, listed = nodes.links, nodes.listed
    # Up to the nearest state whose rows are listed, or to the root, which all rows share.
    above = node
    while links[above, PARENT] >= 0 and links[above, FIRST_ROW] < 0:
        above = links[above, PARENT]
    first = links[above, FIRST_ROW]
    count = 0
    for place in range(links[above, ROWS] if first >= 0 else codes.shape[1]):
        row = np.int64(listed[first + place]) if first >= 0 else place
        if shares_path(row, node, above, links, codes):
            rows[count] = row
            count += 1
    return count


@njit(nogil=True, cache=True)
def list_rows(node, nodes, rows, n_rows):
    """Remember the rows of a state for those below; False if there is no room yet."""
    links, listed, sizes = nodes.links, nodes.listed, nodes.sizes
    first = sizes[LISTED]
    if n_rows == 0:
        return True
    if first + n_rows > listed.size:
        return listed.size >= MOST_LISTED
    for r in range(n_rows):
        listed[first + r] = rows[r]
    sizes[LISTED] += n_rows
    links[node, FIRST_ROW] = first
    return True


@njit(nogil=True, cache=True)
def known(node, links, group, used, bought):
    """Mark the candidates asked on the path to a node, and count those of each group."""
    used[:] = False
    bought[:] = 0
    while links[node, PARENT] >= 0:
        node = links[node, PARENT]
        feature = links[node, FEATURE]
        used[feature] = True
        if group[feature] >= 0:
            bought[group[feature]] += 1


@njit(nogil=True, cache=True)
def add(parent, code, logs_of, spent, nodes):
    """A new node with this log belief."""
    links, logs, facts, sizes = nodes.links, nodes.logs, nodes.facts, nodes.sizes
    node = sizes[NODES]
    sizes[NODES] += 1
    links[node, PARENT], links[node, CODE], links[node, FEATURE] = parent, code, -1
    links[node, STATE], links[node, CHILD], links[node, ROWS], links[node, FIRST_ROW] = NEW, -1, -1, -1
    links[node, DEPTH] = links[parent, DEPTH] + 1 if parent >= 0 else 0
    copy(logs_of, logs[node])
    facts[node, SPENT] = spent
    return node


@njit(nogil=True, cache=True)
def expand(node, nodes, evidence, offers, setting, scratch):
    """Work out what a new state asks, or that it stops; False if there is no room for its children."""
    links, logs, facts, children, pool_logs, _, sizes = nodes
    offsets, rows, cells = evidence.offsets, scratch.rows, scratch.cells
    normalise(logs[node], scratch.belief)
    parent = links[node, PARENT]
    n_rows = 0
    # Where the parent shares its path with no row, no state below it does.
    if evidence.m != np.inf and (parent < 0 or links[parent, ROWS] > 0):
        n_rows = sharing(node, nodes, evidence.codes, rows)
    known(node, links, offers.group, scratch.used, scratch.bought)
    feature, stopped = settle(
        scratch.belief, scratch.used, scratch.bought, links[node, DEPTH], rows, n_rows, evidence, offers, setting,
        scratch, facts[node],
    )  # fmt: skip
    if stopped:
        links[node, FEATURE], links[node, ROWS], links[node, STATE] = feature, n_rows, STOPS
        return True
    n_values = offsets[feature + 1] - offsets[feature]
    first = sizes[POOL]
    if first + n_values + 1 > children.size or not list_rows(node, nodes, rows, n_rows):
        return False
    # One place more than there are values: for an answer that is no evidence.
    sizes[POOL] += n_values + 1
    # Kept as logarithms beside the links: whoever comes by again only adds them up.
    path_likelihoods(feature, rows, n_rows, evidence, cells)
    for v in range(n_values + 1):
        children[first + v] = -1
        for i in range(logs.shape[1]):
            pool_logs[first + v, i] = np.log(cells[v, i]) if v < n_values else 0.0
    links[node, FEATURE], links[node, ROWS] = feature, n_rows
    links[node, CHILD], links[node, STATE] = first, ASKS
    return True


@njit(nogil=True, cache=True)
def reprice(nodes, offers, setting):
    """Take other prices, mistakes and another rule into states that would choose the same candidates by them: what was
    spent, what a state knows of itself, and whether it stops. One that goes on now, and had stopped, is new again."""
    links, logs, facts, sizes = nodes.links, nodes.logs, nodes.facts, nodes.sizes
    belief = np.empty(logs.shape[1])
    for node in range(sizes[NODES]):
        own, parent, feature = facts[node], links[node, PARENT], links[node, FEATURE]
        own[SPENT] = facts[parent, SPENT] + facts[parent, PRICE] if parent >= 0 else 0.0
        if feature < 0 or links[node, STATE] == NEW:
            links[node, STATE] = NEW
            continue
        normalise(logs[node], belief)
        price, information = offers.full[feature], own[INFORMATION]
        describe(belief, setting.mistakes, setting.scale, price, 0.0, own)
        own[INFORMATION] = information
        stop = stop_cost(belief, setting.mistakes)
        if stops(own, links[node, DEPTH], setting):
            links[node, STATE], own[AHEAD] = STOPS, stop
        else:
            links[node, STATE] = ASKS if links[node, CHILD] >= 0 else NEW
            own[AHEAD] = estimate(stop, price, own, setting.rule, setting.scale)


@njit(nogil=True, cache=True)
def follow(node, code, nodes, n_values):
    """The state that an answer leads to; -1 if it is new and there is no room for it."""
    links, logs, facts, children, pool_logs, _, sizes = nodes
    slot = links[node, CHILD] + (code if 0 <= code < n_values else n_values)
    if children[slot] < 0:
        if sizes[NODES] >= links.shape[0]:
            return -1
        # A node is made when somebody gets there, so the graph holds what was met and not what could be.
        known_code = code if 0 <= code < n_values else -1
        children[slot] = add(node, known_code, logs[node], facts[node, SPENT] + facts[node, PRICE], nodes)
        answer(logs[children[slot]], pool_logs[slot])
    return children[slot]


@njit(nogil=True, cache=True)
def draw_class(left, belief):
    """The class at a uniform number, by the inverse of the cumulated belief."""
    truth = 0
    while truth < belief.size - 1 and left >= belief[truth]:
        left -= belief[truth]
        truth += 1
    return truth


@njit(nogil=True, cache=True)
def draw_code(left, truth, pool_logs, first, n_values):
    """The answer at a uniform number, by the likelihoods ``pool_logs[first:first + n_values]`` of a class."""
    code = 0
    chance = np.exp(pool_logs[first, truth])
    while code < n_values - 1 and left >= chance:
        left -= chance
        code += 1
        chance = np.exp(pool_logs[first + code, truth])
    return code


@njit(nogil=True, cache=True)
def descend(travellers, budget, first, last, nodes, evidence, offers, setting, scratch, ends):
    """Take travellers through the graph, growing it where they leave it; returns the first that found no room.

    One stops where it asks for more than is left of the budget. ``ends`` (n,) has the node that each begins at, and is
    filled with that at which it ends. One loop for all kinds of :class:`Travellers`: each of its own would be compiled
    with all that a choice takes.
    """
    kind, rows, known_states, codes, draws, storage, bins = travellers
    place, dense, data, indices, indptr, columns = storage
    edges, edge_offsets, missing = bins
    links, logs, facts, offsets, children = nodes.links, nodes.logs, nodes.facts, evidence.offsets, nodes.children
    truth = np.int64(0)
    for t in range(first, last):
        if kind == DRAWN:
            normalise(logs[0], scratch.belief)
            truth = draw_class(draws[t, 0], scratch.belief)
        node, step = ends[t], 1
        while True:
            if links[node, STATE] == NEW and not expand(node, nodes, evidence, offers, setting, scratch):
                return t
            if links[node, STATE] == STOPS:
                break
            # What was spent belongs to the path and is looked up; the budget belongs to the caller.
            if budget < np.inf and facts[node, SPENT] + facts[node, PRICE] > budget:
                break
            if kind == STATES or (kind == DRAWN and step >= draws.shape[1]):
                break
            feature = links[node, FEATURE]
            n_values = offsets[feature + 1] - offsets[feature]
            if kind == CODED:
                code = np.int64(codes[feature, t])
            elif kind == DRAWN:
                code = draw_code(draws[t, step], truth, nodes.pool_logs, links[node, CHILD], n_values)
            else:
                value = fetch(place, dense, data, indices, indptr, rows[t], columns[feature])
                code = bin_of(value, edges, edge_offsets[feature], edge_offsets[feature + 1], missing[feature])
            if kind == SCOUTS:
                after = children[links[node, CHILD] + (code if 0 <= code < n_values else n_values)]
                if not 0 <= after < known_states:
                    break
            else:
                after = follow(node, code, nodes, n_values)
                if after < 0:
                    return t
            node = after
            step += 1
        ends[t] = node
    return last


@njit(nogil=True, cache=True)
def results(ends, first, last, rows, nodes, regrets, outcomes):
    """What each traveller was decided, asked and charged, by the number of its row; see
    :class:`etana.kernels.walk.Outcomes`."""
    labels, asked, spent, posteriors = outcomes
    for t in range(first, last):
        node, row = ends[t], rows[t]
        normalise(nodes.logs[node], posteriors[row])
        labels[row] = decide(posteriors[row], regrets)
        asked[row], spent[row] = nodes.links[node, DEPTH], nodes.facts[node, SPENT]


@njit(nogil=True, cache=True)
def paths(ends, first, last, links, offsets, features):
    """Candidates that each row was asked, in order; row r fills ``features[offsets[r]:offsets[r + 1]]``."""
    for row in range(first, last):
        node = ends[row]
        # Links point upwards: a path is read from its end.
        for position in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            node = links[node, PARENT]
            features[position] = links[node, FEATURE]


@njit(nogil=True, cache=True)
def trace(ends, links, stops, nodes):
    """Nodes that each row passed, the root first; those of row r end before ``nodes[stops[r]]``."""
    for row in range(ends.size):
        node = ends[row]
        # Links point upwards: a path is read from its end.
        for position in range(stops[row] - 1, stops[row] - links[node, DEPTH] - 2, -1):
            nodes[position] = node
            node = links[node, PARENT]
