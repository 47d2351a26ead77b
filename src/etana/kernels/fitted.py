"""The walk with many classes and a fitted cost to go: rows side by side, and most stops settled without an exponential.

The test of the rule (:func:`etana.kernels.rules.fitted_test`) takes an exponential for each class and a division for
each pair of classes. Here it is first worked out roughly: beliefs are carried as products beside their logarithms,
rows lie side by side so that several are computed at a time, and pairs are added up in single precision. What that can
be off by is bounded beforehand (:func:`quick_of`). Where stopping and going on differ by more, the rough answer is the
answer of the test; where they do not, the test itself is asked. So every stop is that of the test, and posteriors come
from the logarithms, bit for bit those of any other walk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.rules import NEGLIGIBLE, TIE, Rule, fitted_test
from etana.kernels.walk import CSR, DENSE, Cells, bin_of, sparse_value

GO_ON, STOP, UNSURE = range(3)
BLOCK = 512  # rows that walk side by side: late stages, which few rows reach, still fill the lanes

_SINGLE = 2.0**-24  # rounding in single precision, relative
_DOUBLE = 1e-7  # more than rounding makes of beliefs and sums in double precision after ten thousand features


class Quick(NamedTuple):
    """A fitted rule in units of the largest regret, for H stages, N classes and P pairs of them.

    Attributes
    ----------
    logs, likelihoods : float64 (N, cells + 1)
        What each value says, as logarithms and as they are; the last column is that of a value that says nothing.
    belief : float64 (N,)
        That before the first answer.
    prices, margins : float64 (H,)
        Price of each stage, and what the rough cost to go can be off by.
    regrets : float64 (N, N)
    equal : bool
        Whether all mistakes cost the same.
    linear, entropy : float64 (H, N)
        Coefficients of pi_i and of -pi_i log pi_i.
    stop : float64 (H,)
        Coefficient of g.
    pairs : float32 (H, P, 2)
        Coefficients of p q / (p + q) and of p q.
    """

    logs: np.ndarray
    likelihoods: np.ndarray
    belief: np.ndarray
    prices: np.ndarray
    margins: np.ndarray
    regrets: np.ndarray
    equal: bool
    linear: np.ndarray
    entropy: np.ndarray
    stop: np.ndarray
    pairs: np.ndarray


class Lanes(NamedTuple):
    """Rows that walk side by side, a lane each; those that have stopped are the last.

    Attributes
    ----------
    rows, answers : int64 (BLOCK,), uint64 (BLOCK,)
        Number of the row, and its last answer as a column of ``Quick.logs``.
    logs, beliefs : float64 (N, BLOCK)
        Log belief as other walks carry it, and the belief itself.
    large : float32 (N, BLOCK)
        The belief without negligible classes.
    tops, totals, best, now, ahead : float64 (BLOCK,)
        Largest log belief, sum of the belief, its largest entry, and the costs of stopping and of going on.
    sums : float32 (BLOCK,)
        What the pairs add to the cost of going on.
    verdicts : int8 (BLOCK,)
    """

    rows: np.ndarray
    answers: np.ndarray
    logs: np.ndarray
    beliefs: np.ndarray
    large: np.ndarray
    tops: np.ndarray
    totals: np.ndarray
    best: np.ndarray
    now: np.ndarray
    ahead: np.ndarray
    sums: np.ndarray
    verdicts: np.ndarray


def quick_of(rule: Rule, cells: Cells) -> Quick:
    """The rough form of a rule of kind FITTED.

    With sum pi = 1 the pair terms add up to at most (N - 1) / 4 and 1 / 2 times the largest coefficients, and each sum
    of P numbers in single precision is off by P roundings. A class whose share is NEGLIGIBLE to rounding may count in
    one form and not in the other, with all of its terms.
    """
    scale, n = float(rule.regrets.max()), rule.regrets.shape[0]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        table, regrets, prices = rule.table / scale, rule.regrets / scale, rule.costs[: len(rule.table)] / scale
        linear, stop, entropy = table[:, :n], rule.table[:, n], table[:, n + 1 : 2 * n + 1]
        pairs = table[:, 2 * n + 1 :].reshape(len(table), -1, 2)
        a, b = (np.abs(part).max(axis=1) for part in (linear, entropy))
        c, d = (np.abs(pairs[:, :, half]).max(axis=1, initial=0.0) for half in range(2))
        margins = (pairs.shape[1] + 10) * _SINGLE * ((n - 1) / 4 * c + d / 2)
        margins += n * NEGLIGIBLE * (a - b * np.log(NEGLIGIBLE) + (n - 1) * (c + d))
        margins += _DOUBLE * (1.0 + np.abs(stop) + a - b * np.log(NEGLIGIBLE) + n * (c + d))
        priors = np.exp(cells.log_priors)
        logs = np.ascontiguousarray(np.vstack([cells.logs, np.zeros(n)]).T)
        return Quick(
            logs, np.exp(logs), priors / priors.sum(), prices, margins, regrets,
            bool((regrets == 1.0 - np.eye(n)).all()), np.ascontiguousarray(linear), np.ascontiguousarray(entropy),
            np.ascontiguousarray(stop), pairs.astype(np.float32),
        )  # fmt: skip


@njit(nogil=True, cache=True)
def take_answers(quick, lanes, left):
    """Take the last answer of each lane into its belief; logarithms as :func:`etana.kernels.walk.update` does it."""
    log_cells, likelihoods, answers = quick.logs, quick.likelihoods, lanes.answers
    logs, beliefs, tops, totals = lanes.logs, lanes.beliefs, lanes.tops, lanes.totals
    nothing = np.uint64(log_cells.shape[1] - 1)
    for g in range(left):
        tops[g], totals[g] = -np.inf, 0.0
    for i in range(logs.shape[0]):
        more, times = log_cells[i], likelihoods[i]
        for g in range(left):
            x, p = logs[i, g] + more[answers[g]], beliefs[i, g] * times[answers[g]]
            logs[i, g], beliefs[i, g] = x, p
            tops[g] = x if x > tops[g] else tops[g]
            totals[g] += p
    for g in range(left):
        # Who learns nothing is not shifted either.
        shift = tops[g] if answers[g] != nothing and tops[g] > -np.inf else 0.0
        tops[g] -= shift
        lanes.best[g] = shift
        totals[g] = 1.0 / totals[g]
    for i in range(logs.shape[0]):
        for g in range(left):
            logs[i, g] -= lanes.best[g]
            beliefs[i, g] *= totals[g]


@njit(nogil=True, cache=True)
def least_regrets(quick, lanes, left):
    """g of each lane, into ``now``; ``best`` becomes the largest entry of its belief."""
    beliefs, best, now, ahead, regrets = lanes.beliefs, lanes.best, lanes.now, lanes.ahead, quick.regrets
    n = beliefs.shape[0]
    for g in range(left):
        best[g] = 0.0
    for i in range(n):
        for g in range(left):
            p = beliefs[i, g]
            lanes.large[i, g] = p if p > NEGLIGIBLE else 0.0
            best[g] = p if p > best[g] else best[g]
    for g in range(left):
        now[g] = 1.0 - best[g] if quick.equal else np.inf
    if quick.equal:
        return
    for j in range(n):
        for g in range(left):
            ahead[g] = 0.0
        for i in range(n):
            for g in range(left):
                ahead[g] += regrets[i, j] * beliefs[i, g]
        for g in range(left):
            now[g] = ahead[g] if ahead[g] < now[g] else now[g]


@njit(nogil=True, cache=True)
def judge(quick, classes, stage, lanes, left):
    """Whether each lane stops at this stage, as far as the rough cost to go can tell, into ``verdicts``."""
    logs, large, tops, best, now = lanes.logs, lanes.large, lanes.tops, lanes.best, lanes.now
    ahead, sums = lanes.ahead, lanes.sums
    price, margin = quick.prices[stage], quick.margins[stage]
    least_regrets(quick, lanes, left)
    for g in range(left):
        best[g] = np.log(best[g]) - tops[g]  # what log pi_i is above the log belief
        ahead[g] = quick.stop[stage] * now[g]
        sums[g] = 0.0
    for i in range(logs.shape[0]):
        a, b = quick.linear[stage, i], quick.entropy[stage, i]
        for g in range(left):
            ahead[g] += (a - b * (logs[i, g] + best[g])) * large[i, g]
    for r in range(classes.shape[0]):
        c, d = quick.pairs[stage, r, 0], quick.pairs[stage, r, 1]
        one, other = large[classes[r, 0]], large[classes[r, 1]]
        for g in range(left):
            p, q = one[g], other[g]
            # Two classes that are out give 0; nothing is lost to a sum that is not.
            sums[g] += p * q * (c / (p + q + np.float32(1e-30)) + d)
    for g in range(left):
        cost = ahead[g] + sums[g]
        stops = (now[g] + _DOUBLE < price) | (now[g] + margin < cost)
        goes = (now[g] > price + _DOUBLE) & (now[g] > cost + margin)
        lanes.verdicts[g] = STOP if stops else (GO_ON if goes else UNSURE)


@njit(nogil=True, cache=True)
def exchange(one, other, lanes):
    """Let two lanes change places."""
    rows, logs, beliefs = lanes.rows, lanes.logs, lanes.beliefs
    rows[one], rows[other] = rows[other], rows[one]
    for i in range(logs.shape[0]):
        logs[i, one], logs[i, other] = logs[i, other], logs[i, one]
        beliefs[i, one] = beliefs[i, other]


@njit(nogil=True, cache=True)
def conclude_lanes(regrets, lanes, count, outcomes):
    """Posteriors and decisions of all lanes: :func:`etana.kernels.rules.normalise` and ``decide``, step by step."""
    rows, logs, beliefs, tops, totals = lanes.rows, lanes.logs, lanes.beliefs, lanes.tops, lanes.totals
    best, now, choice = lanes.best, lanes.now, lanes.answers
    n = logs.shape[0]
    for g in range(count):
        tops[g], totals[g], best[g], choice[g] = -np.inf, 0.0, np.inf, 0
    for i in range(n):
        for g in range(count):
            tops[g] = logs[i, g] if logs[i, g] > tops[g] else tops[g]
    for i in range(n):
        for g in range(count):
            p = np.exp(logs[i, g] - tops[g])
            beliefs[i, g] = p
            totals[g] += p
    for g in range(count):
        totals[g] = 1.0 / totals[g]
    for i in range(n):
        for g in range(count):
            beliefs[i, g] *= totals[g]
            outcomes.posteriors[rows[g], i] = beliefs[i, g]
    for j in range(n):
        for g in range(count):
            now[g] = 0.0
        for i in range(n):
            for g in range(count):
                now[g] += regrets[i, j] * beliefs[i, g]
        for g in range(count):
            better = now[g] < best[g] * (1 - TIE)
            choice[g] = j if better else choice[g]
            best[g] = now[g] if better else best[g]
    for g in range(count):
        outcomes.labels[rows[g]] = choice[g]


@njit(nogil=True, cache=True)
def walk_fitted(rule, quick, storage, bins, cells, budget, first_row, last_row, outcomes):
    """:func:`etana.kernels.walk.walk` for a rule of kind FITTED."""
    _, table, index, costs, regrets = rule
    place, dense, data, indices, indptr, columns = storage
    edges, edge_offsets, missing = bins
    _, cell_offsets, log_priors = cells
    n, nothing = log_priors.size, quick.logs.shape[1] - 1
    belief, scratch, own = np.empty(n), np.empty(n), np.empty(n)
    lanes = Lanes(
        np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64), np.empty((n, BLOCK)), np.empty((n, BLOCK)),
        np.empty((n, BLOCK), np.float32), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK),
        np.empty(BLOCK), np.empty(BLOCK, np.float32), np.empty(BLOCK, np.int8),
    )  # fmt: skip
    rows, answers, logs, asked, spent = lanes.rows, lanes.answers, lanes.logs, outcomes.asked, outcomes.spent
    begins = not fitted_test(table, index, costs, regrets, np.int64(0), log_priors, belief, scratch)
    most = columns.size if begins else 0
    for start in range(first_row, last_row, BLOCK):
        left = count = min(BLOCK, last_row - start)
        for g in range(left):
            rows[g] = start + g
            for i in range(n):
                logs[i, g], lanes.beliefs[i, g] = log_priors[i], quick.belief[i]
        k, paid = 0, 0.0
        while left > 0 and k < most and paid + costs[k] <= budget:
            first_edge, last_edge, first_cell = edge_offsets[k], edge_offsets[k + 1], cell_offsets[k]
            n_cells, column, lost = cell_offsets[k + 1] - first_cell, columns[k], missing[k]
            paid += costs[k]
            k += 1
            for g in range(left):
                row = rows[g]
                if place == DENSE:
                    value = np.float64(dense[row, column])
                elif place == CSR:
                    value = sparse_value(data, indices, indptr[row], indptr[row + 1], column)
                else:
                    value = sparse_value(data, indices, indptr[column], indptr[column + 1], row)
                code = bin_of(value, edges, first_edge, last_edge, lost)
                answers[g] = first_cell + code if 0 <= code < n_cells else nothing
            take_answers(quick, lanes, left)
            if k >= most:
                break
            rough = k < table.shape[0] and costs[k] > 0.0
            if rough:
                judge(quick, index, k, lanes, left)
            # From the last lane down: the one that changes places with another has been looked at.
            for g in range(left - 1, -1, -1):
                if rough and lanes.verdicts[g] == GO_ON:
                    continue
                stopped = rough and lanes.verdicts[g] == STOP
                if not stopped:
                    for i in range(n):
                        own[i] = logs[i, g]
                    stopped = fitted_test(table, index, costs, regrets, k, own, belief, scratch)
                if stopped:
                    left -= 1
                    asked[rows[g]], spent[rows[g]] = k, paid
                    exchange(g, left, lanes)
        for g in range(left):
            asked[rows[g]], spent[rows[g]] = k, paid
        conclude_lanes(regrets, lanes, count, outcomes)
