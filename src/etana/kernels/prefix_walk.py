"""Rows along an order with a committee of classifiers on its prefixes: one row after another, to its stop.

A row alone keeps all that it knows near the processor: its distances to the training rows, its inputs of logistic
regression, its densities, its columns for trees. Each step is that of the travellers
(:mod:`etana.beliefs.prefixes.travel`), with the same functions for one row, so that a row has the same bits whichever
way it goes.

Symbols: K features of the order, of which an instance is asked H at most; N classes; M members; n training rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import clear, copy
from etana.kernels.neighbours import VoteRoom, Voters, add_column, posterior_among
from etana.kernels.prefixes import add_density, as_shares, encoded, onward_from, score, temper_into
from etana.kernels.rules import decide, stop_cost
from etana.kernels.trees import Forest, tree_posterior
from etana.kernels.walk import fetch

__all__ = ["Chain", "Encodings", "Members", "Stops", "walk_prefixes"]

NEIGHBOURS, LINEAR, DENSITIES, TREES = range(4)


class Encodings(NamedTuple):
    """Features as numbers; see :mod:`etana.beliefs.prefixes.encoding`.

    Attributes
    ----------
    knots, ranks : float64 (total,)
        Of feature k those from ``offsets[k]`` to ``offsets[k + 1]``; none of labels.
    offsets : int64 (K + 1,)
    numbers : float64 (K, 4)
        Spread, median, mean and deviation of a number; the scale of labels.
    widths : int64 (K,)
        Columns for distances and trees: 1 of a number, one for each label.
    """

    knots: np.ndarray
    ranks: np.ndarray
    offsets: np.ndarray
    numbers: np.ndarray
    widths: np.ndarray


class Members(NamedTuple):
    """Classifiers on each prefix, at most one of a kind; what belongs to a kind that is not there is empty.

    Attributes
    ----------
    kinds : int64 (M,)
    columns : float32 (D, n)
        Encoded training rows, the columns of one feature below those of the other.
    voters : Voters
    sizes : int64 (K,)
        Neighbours after each feature.
    weights : float64 (total, N)
        Of logistic regression, those of one prefix below those of the other.
    tables : float64 (total, N)
        Of densities, those of one feature below those of the other.
    forest : Forest
    """

    kinds: np.ndarray
    columns: np.ndarray
    voters: Voters
    sizes: np.ndarray
    weights: np.ndarray
    tables: np.ndarray
    forest: Forest


class Chain(NamedTuple):
    """How members are heard.

    Attributes
    ----------
    prior : float64 (N,)
    shares, own : float64 (K, M)
        Share of each member after each feature, and the temperature of its calibration.
    temperatures : float64 (K,)
        Of the calibration of all together.
    floors : float64 (2,)
        Share of the prior in posteriors of a member, and in those of all together.
    """

    prior: np.ndarray
    shares: np.ndarray
    own: np.ndarray
    temperatures: np.ndarray
    floors: np.ndarray


class Stops(NamedTuple):
    """When to stop, by a regression for each stage; see :mod:`etana.policies.regression`.

    Attributes
    ----------
    lines : float64 (H, 3, F)
        Centre, scale and slopes.
    levels, prices, paid : float64 (H,)
        Level of the regression, the price that it knows, and the price that is charged.
    mistakes, regrets : float64 (N, N)
    unit : float
        The dearest mistake.
    """

    lines: np.ndarray
    levels: np.ndarray
    prices: np.ndarray
    paid: np.ndarray
    mistakes: np.ndarray
    regrets: np.ndarray
    unit: float


class _Row(NamedTuple):
    """What is known of a row, and room to work in."""

    apart: np.ndarray  # float32 (n,)
    inputs: np.ndarray  # float64 (most inputs,)
    logs: np.ndarray  # float64 (N,)
    raw: np.ndarray  # float64 (columns of trees,), NaN where nothing is known
    sums: np.ndarray  # float64 (outputs of trees,)
    belief: np.ndarray  # float64 (N,), that of the last stage
    together: np.ndarray  # float64 (N,)
    posterior: np.ndarray  # float64 (1, N), that of one member
    odds: np.ndarray  # float64 (N,)
    functions: np.ndarray  # float64 (F,)
    size: np.ndarray  # int64 (1,)


class _Place(NamedTuple):
    """Where the parts of the next feature begin: its encoded columns, inputs, weights and densities."""

    column: int
    n_inputs: int
    weight: int
    density: int


@njit(nogil=True, cache=True)
def _goes_on(k, row, stops):
    """Whether a row asks for feature k."""
    if stops.prices[k] == 0.0:
        return True  # what costs nothing is asked
    lines, g = stops.lines[k], stop_cost(row.belief, stops.mistakes)
    onward = onward_from(
        row.belief, g, stops.unit, lines[0], lines[1], lines[2], stops.levels[k], stops.prices[k], row.functions
    )
    return onward < g


@njit(nogil=True, cache=True)
def _take_in(k, value, place, encodings, members, row):
    """Add a value to distances, inputs and densities; returns where the parts of the next feature begin."""
    knots, ranks, offsets, numbers, widths = encodings
    column, n_inputs, weight, density = place
    first, last, width, n_voters = offsets[k], offsets[k + 1], widths[k], members.voters.codes.size
    own_knots, own_ranks = knots[first:last], ranks[first:last]
    if last > first:
        rank, deviation = encoded(
            value, own_knots, own_ranks, numbers[k, 0], numbers[k, 1], numbers[k, 2], numbers[k, 3]
        )
        if n_voters:
            add_column(np.float32(rank), members.columns[column], row.apart)
        row.inputs[n_inputs], row.inputs[n_inputs + 1] = rank - 0.5 / numbers[k, 0], deviation
        # Trees know finite numbers only, and take what is missing for missing.
        row.raw[column] = min(max(value, own_knots[0]), own_knots[last - first - 1]) if np.isinf(value) else value
        more, cells = 2, 2
    else:
        for level in range(width):
            here = 1.0 if value == level else 0.0
            if n_voters:
                add_column(np.float32(here * numbers[k, 0]), members.columns[column + level], row.apart)
            row.inputs[n_inputs + level] = row.raw[column + level] = here
        more, cells = width, width
    if members.tables.size:
        add_density(value, own_knots, own_ranks, members.tables[density : density + cells], row.logs)
    return _Place(column + width, n_inputs + more, weight + n_inputs + more + 1, density + cells)


@njit(nogil=True, cache=True)
def _believe(k, place, weight, members, chain, scratch, row):
    """The belief after feature k: each member's posterior made honest, all together, and made honest again."""
    clear(row.together)
    for m in range(members.kinds.size):
        posterior = row.posterior[0]
        if members.kinds[m] == NEIGHBOURS:
            row.size[0] = members.sizes[k]
            posterior_among(row.apart, members.voters, chain.prior, row.size, scratch, row.posterior)
        elif members.kinds[m] == LINEAR:
            score(row.inputs[: place.n_inputs], members.weights[weight : place.weight], posterior)
        elif members.kinds[m] == DENSITIES:
            copy(row.logs, posterior)
            as_shares(posterior)
        else:
            tree_posterior(row.raw, members.forest, chain.prior, row.sums, posterior)
        temper_into(
            posterior, chain.prior, chain.own[k, m], chain.floors[0], chain.shares[k, m], row.odds, row.together
        )
    clear(row.belief)
    temper_into(row.together, chain.prior, chain.temperatures[k], chain.floors[1], 1.0, row.odds, row.belief)


@njit(nogil=True, cache=True)
def walk_prefixes(encodings, members, chain, stops, storage, budget, first_row, last_row, outcomes):
    """Take rows first_row..last_row-1 along the order; fill the outcomes. A value is read when it is asked for."""
    kind, dense, data, indices, indptr, columns = storage
    n, n_voters, most = chain.prior.size, members.voters.codes.size, np.int64(1)
    n_columns, n_inputs, asked, spent = np.int64(0), np.int64(0), outcomes.asked, outcomes.spent
    for k in range(encodings.widths.size):
        n_columns += encodings.widths[k]
        n_inputs += max(encodings.widths[k], 2)
    for k in range(columns.size):
        most = max(most, members.sizes[k] if n_voters else 0)
    row = _Row(
        np.empty(n_voters, np.float32), np.empty(n_inputs), np.empty(n), np.empty(n_columns),
        np.empty(members.forest.base.size), np.empty(n), np.empty(n), np.empty((1, n)), np.empty(n),
        np.empty(4 + 2 * n), np.empty(1, np.int64),
    )  # fmt: skip
    scratch = VoteRoom(
        np.empty(most, np.float32), np.empty(0, np.float32), np.empty(n_voters + 1, np.int32), np.empty((2, n))
    )
    for r in range(first_row, last_row):
        clear(row.apart)
        for c in range(n_columns):
            row.raw[c] = np.nan
        copy(chain.prior, row.belief)
        for i in range(n):
            row.logs[i] = np.log(chain.prior[i])
        k, paid, place = np.int64(0), 0.0, _Place(np.int64(0), np.int64(0), np.int64(0), np.int64(0))
        while k < columns.size and paid + stops.paid[k] <= budget and _goes_on(k, row, stops):
            weight, value = place.weight, fetch(kind, dense, data, indices, indptr, r, columns[k])
            place = _take_in(k, value, place, encodings, members, row)
            _believe(k, place, weight, members, chain, scratch, row)
            paid += stops.paid[k]
            k += 1
        asked[r], spent[r] = k, paid
        outcomes.labels[r] = decide(row.belief, stops.regrets)
        copy(row.belief, outcomes.posteriors[r])
