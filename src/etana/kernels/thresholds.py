"""Linear thresholds: paths of beliefs drawn from the model, their cost, and SPSA.

A *path* holds the beliefs pi_0, ..., pi_H of one instance that is asked H features whatever happens. It
does not depend on the thresholds, so that paths are drawn once and a threshold is judged by a scan. Costs
are regrets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import copy
from etana.kernels.rules import normalise, rule_stops, stop_cost
from etana.kernels.walk import draw, update


class ProblemArrays(NamedTuple):
    """What instances are drawn from.

    Attributes
    ----------
    cells, log_cells : float64 (cells, N)
        P(F_k = v | T_i), and its logarithm for at least the stages that are played.
    offsets : int64 (K + 1,)
        Rows ``offsets[k]`` to ``offsets[k + 1]`` belong to stage k.
    log_priors : float64 (N,)
    """

    cells: np.ndarray
    log_cells: np.ndarray
    offsets: np.ndarray
    log_priors: np.ndarray


class Gains(NamedTuple):
    """a_t = epsilon (t + 1 + shift)^-kappa and b_t = mu (t + 1)^-nu of Algorithm 1."""

    epsilon: float
    shift: float
    kappa: float
    mu: float
    nu: float


@njit(nogil=True, cache=True)
def remainders(model, costs, regrets, per_class, seed, left):
    """left[k]: mean of g(pi_k) over instances for which stopping was not certainly right before stage k.

    It is right where g <= c_{k+1}: another feature costs more than all that can be saved. Stages that no
    instance reaches are left at 0.
    """
    np.random.seed(seed)
    cells, log_cells, offsets, log_priors = model
    n = log_priors.size
    logs, belief = np.empty(n), np.empty(n)
    left[:] = 0.0
    for i in range(n):
        share = np.exp(log_priors[i]) / per_class
        if share == 0.0:
            continue
        for _ in range(per_class):
            copy(log_priors, logs)
            for k in range(left.size):
                normalise(logs, belief)
                now = stop_cost(belief, regrets)
                left[k] += share * now
                if k == left.size - 1 or now <= costs[k]:
                    break
                update(logs, log_cells[draw(cells, offsets[k], offsets[k + 1], i)])


@njit(nogil=True, cache=True)
def draw_paths(model, labels, seed, paths):
    """paths[b, k] = pi_k of an instance of class labels[b]; the priors throughout if that is impossible."""
    np.random.seed(seed)
    cells, log_cells, offsets, log_priors = model
    n = log_priors.size
    logs = np.empty(n)
    for b in range(paths.shape[0]):
        copy(log_priors, logs)
        normalise(logs, paths[b, 0])
        for k in range(paths.shape[1] - 1):
            if log_priors[labels[b]] > -np.inf:
                update(logs, log_cells[draw(cells, offsets[k], offsets[k + 1], labels[b])])
            normalise(logs, paths[b, k + 1])


@njit(nogil=True, cache=True)
def path_costs(paths, regrets, costs):
    """g along every path."""
    for b in range(paths.shape[0]):
        for k in range(paths.shape[1]):
            costs[b, k] = stop_cost(paths[b, k], regrets)


@njit(nogil=True, cache=True)
def fit_levels(costs, order, prices, weights, levels):
    """levels[k]: the t for which "stop where g <= t" is cheapest on the paths, from the last stage back.

    ``costs`` is g along the paths, ``order[k]`` sorts stage k by it. A path that stops at k costs g, one
    that goes on the price and what it costs under the later levels; of the paths sorted by g, the cheapest
    prefix stops. At or below the price stopping is right without asking the paths.
    """
    n_paths = costs.shape[0]
    ahead = costs[:, prices.size].copy()
    for k in range(prices.size - 1, -1, -1):
        level, total, best, previous = prices[k], 0.0, 0.0, 0.0
        for b in order[k]:
            here = costs[b, k]
            # Equal beliefs stop together: a cut is possible only where the cost rises.
            if total < best and here > previous * (1.0 + 1e-9):
                best, level = total, 0.5 * (previous + here)
            total += weights[b] * (here - prices[k] - ahead[b])
            previous = here
        if total < best:
            level = previous * (1.0 + 1e-9)
        levels[k] = max(level, prices[k])
        for b in range(n_paths):
            if prices[k] > 0.0 and costs[b, k] <= levels[k]:
                ahead[b] = costs[b, k]
            else:
                ahead[b] += prices[k]


@njit(nogil=True, cache=True)
def product(a, b):
    """a . b."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True)
def first_stops(theta, paths, halts):
    """First stage at which some threshold theta[k, j] stops each path; H if none does."""
    horizon, n = theta.shape[0], theta.shape[1]
    for b in range(paths.shape[0]):
        k, going = 0, True
        while k < horizon and going:
            for j in range(n):
                if product(theta[k, j], paths[b, k]) <= 0.0:
                    going = False
                    break
            if going:
                k += 1
        halts[b] = k


@njit(nogil=True, cache=True)
def mean_cost(theta, paths, costs, spent, first, last):
    """Function H of the paper over paths first..last-1.

    A path stops at the first k with theta[k] . pi_k <= 0, or at the horizon; it costs what was spent until
    then and ``costs`` there.
    """
    total = 0.0
    for b in range(first, last):
        k = 0
        while k < theta.shape[0] and product(theta[k], paths[b, k]) > 0.0:
            k += 1
        total += spent[k] + costs[b, k]
    return total / (last - first)


@njit(nogil=True, cache=True)
def spsa(theta, corners, free, paths, costs, spent, gains, tolerance, iterations, single):
    """Algorithm 1 of the paper, in place; the number of iterations made.

    ``theta`` float64 (H, N) is the threshold of one decision; ``corners`` int64 are classes whose corner it keeps,
    theta[k, corner] <= 0, and if there are any, the cheapest theta that was met is returned in place of the last one.
    ``free`` bool (H,) stages are not touched. ``paths`` float64 (P, H + 1, N) and ``costs`` float64 (P, H + 1) are
    beliefs and what stopping there costs, ``spent`` float64 (H + 1,) what was paid until then. ``gains`` are those of
    :class:`Gains`. ``single`` estimates each gradient on one path, drawn at random, in place of all of them. The caller
    seeds the generator.
    """
    epsilon, shift, kappa, mu, nu = gains
    signs, plus, minus, best = np.zeros_like(theta), theta.copy(), theta.copy(), theta.copy()
    first, last = np.int64(0), paths.shape[0]
    least = mean_cost(theta, paths, costs, spent, first, last)
    size = np.sqrt(float(theta.size))
    for t in range(iterations):
        step, width = epsilon * (t + 1 + shift) ** -kappa, mu * (t + 1.0) ** -nu
        if single:
            first = int(np.random.random() * paths.shape[0])
            last = first + 1
        draw_signs(free, signs)
        step_to(theta, width, signs, corners, free, plus)
        step_to(theta, -width, signs, corners, free, minus)
        up = mean_cost(plus, paths, costs, spent, first, last)
        down = mean_cost(minus, paths, costs, spent, first, last)
        slope = (up - down) / (2.0 * width)
        step_to(theta, -step * slope, signs, corners, free, theta)
        if corners.size > 0:
            here = mean_cost(theta, paths, costs, spent, first, last)
            cheapest = min(here, up, down)
            if cheapest < least:
                least = cheapest
                met = theta if here == least else (plus if up == least else minus)
                step_to(met, 0.0, signs, corners, free, best)
        if abs(slope) * size <= tolerance:
            iterations = t + 1
            break
    if corners.size > 0:
        step_to(best, 0.0, signs, corners, free, theta)
    return iterations


@njit(nogil=True, cache=True)
def draw_signs(free, signs):
    """Random signs, and 0 at free stages."""
    for k in range(signs.shape[0]):
        for i in range(signs.shape[1]):
            sign = 1.0 if np.random.random() < 0.5 else -1.0
            signs[k, i] = 0.0 if free[k] else sign


@njit(nogil=True, cache=True)
def step_to(theta, length, signs, corners, free, out):
    """out = theta + length signs, with out[k, corner] <= 0 for the corners, at stages that are not free."""
    for k in range(theta.shape[0]):
        for i in range(theta.shape[1]):
            out[k, i] = theta[k, i] + length * signs[k, i]
        if not free[k]:
            for corner in corners:
                out[k, corner] = min(out[k, corner], 0.0)


@njit(nogil=True, cache=True)
def seed_generator(seed):
    """Seed the generator that compiled functions draw from."""
    np.random.seed(seed)


@njit(nogil=True, cache=True)
def roll_out(rule, model, horizon, stage, beliefs, per_class, seed, out):
    """Mean cost of asking the feature of this stage and then following the rule, for each belief.

    ``rule`` is a :class:`etana.kernels.rules.Rule` in the class of its kind.
    ``beliefs`` float64 (rows, N), ``out`` float64 (rows,); ``per_class`` walks for each belief and class.
    """
    costs, regrets = rule.costs, rule.regrets
    cells, log_cells, offsets = model.cells, model.log_cells, model.offsets
    n = beliefs.shape[1]
    start, logs = np.empty(n), np.empty(n)
    belief, scratch = np.empty(n), np.empty(n)
    for row in range(beliefs.shape[0]):
        np.random.seed(seed)  # the same draws for every belief, so that their costs compare
        out[row] = 0.0
        for i in range(n):
            start[i] = np.log(beliefs[row, i]) if beliefs[row, i] > 0.0 else -np.inf
        for i in range(n):
            if beliefs[row, i] == 0.0:
                continue
            total = 0.0
            for _ in range(per_class):
                copy(start, logs)
                k = stage
                while k == stage or (k < horizon and not rule_stops(rule, k, logs, belief, scratch)):
                    update(logs, log_cells[draw(cells, offsets[k], offsets[k + 1], i)])
                    total += costs[k]
                    k += 1
                normalise(logs, belief)
                total += stop_cost(belief, regrets)
            out[row] += beliefs[row, i] * total / per_class
