"""Loops of the points solver: beliefs drawn forwards, costs backed up, and the two-sided certificate."""

from __future__ import annotations

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import copy
from etana.kernels.rules import NEGLIGIBLE, fitted_cost, stop_cost
from etana.kernels.walk import draw


@njit(nogil=True, cache=True)
def advance(beliefs, uniforms, delta):
    """Replace each belief by one after a further answer, drawn from its own predictive distribution."""
    n = beliefs.shape[1]
    for s in range(beliefs.shape[0]):
        answer = delta.shape[0] - 1
        total = 0.0
        # Inverse of the cumulated chances Delta(v) . pi, the denominators of Lemma 1.
        for v in range(delta.shape[0]):
            for i in range(n):
                total += delta[v, i] * beliefs[s, i]
            if uniforms[s] < total:
                answer = v
                break
        mass = 0.0
        for i in range(n):
            mass += delta[answer, i] * beliefs[s, i]
        if mass > 0.0:
            for i in range(n):
                beliefs[s, i] *= delta[answer, i] / mass


@njit(nogil=True, cache=True)
def features(beliefs, regrets, pairs, out):
    """The functions of the belief that :func:`etana.kernels.rules.fitted_cost` combines, in its layout."""
    n = beliefs.shape[1]
    base = 2 * n + 1
    out[:] = 0.0
    for s in range(beliefs.shape[0]):
        out[s, n] = stop_cost(beliefs[s], regrets)
        for i in range(n):
            p = beliefs[s, i]
            if p > NEGLIGIBLE:
                out[s, i] = p
                out[s, n + 1 + i] = -p * np.log(p)
        for r in range(pairs.shape[0]):
            p, q = beliefs[s, pairs[r, 0]], beliefs[s, pairs[r, 1]]
            # Functions that fitted_cost leaves out must be left out of the fit as well.
            if p > NEGLIGIBLE and q > NEGLIGIBLE:
                out[s, base + 2 * r] = p * q / (p + q)
                out[s, base + 2 * r + 1] = p * q


@njit(nogil=True, cache=True)
def fitted_at(belief, stop, coefficients, pairs, logs, large):
    """The fitted cost to go of a belief that is given without its logarithms."""
    for i in range(belief.size):
        if belief[i] > NEGLIGIBLE:
            logs[i] = np.log(belief[i])
    return fitted_cost(belief, logs, 0.0, stop, coefficients, pairs, large)


@njit(nogil=True, cache=True)
def held_value(belief, regrets, fitted, coefficients, pairs, price, logs, large):
    """J as the solver holds it: never above stopping, never below the price of the next feature."""
    stop = stop_cost(belief, regrets)
    if not fitted or stop <= price:
        return stop
    # J <= g, and J >= the next price where it goes on: the fit is kept to what is known of J.
    return min(stop, max(fitted_at(belief, stop, coefficients, pairs, logs, large), price))


@njit(nogil=True, cache=True)
def back_up(beliefs, delta, cost, regrets, fitted, coefficients, pairs, price, out):
    """out = cost + sum_v P(v | belief) J(belief after v), with J of the next stage."""
    n = beliefs.shape[1]
    child, logs, large = np.empty(n), np.empty(n), np.empty(n)
    for s in range(beliefs.shape[0]):
        total = cost
        for v in range(delta.shape[0]):
            mass = 0.0
            for i in range(n):
                child[i] = delta[v, i] * beliefs[s, i]
                mass += child[i]
            if mass > 0.0:
                for i in range(n):
                    child[i] /= mass
                total += mass * held_value(child, regrets, fitted, coefficients, pairs, price, logs, large)
        out[s] = total


@njit(nogil=True, cache=True)
def certify(priors, cells, offsets, costs, regrets, table, pairs, relaxed, seed, paid, bound):
    """Policy cost and dual bound of instances drawn from the model, with the same martingale under both.

    With D_k = J_k(pi_k) - E[J_k(pi_k) | pi_{k-1}], J the function that the solver holds, and the walk of one
    instance, ``paid`` is c_1 + ... + c_R + g(pi_R) - (D_1 + ... + D_R) at the policy's stop R, and ``bound`` the
    least such value over all R. ``relaxed`` is the cost to go assumed at the end of the table.
    """
    np.random.seed(seed)
    n, horizon, draws = priors.size, table.shape[0], paid.size
    belief, child, logs, large = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    below = priors[0]
    true_class = 0
    shift = np.random.random()
    for s in range(draws):
        # Systematic sampling: classes come in the proportions of the priors.
        while true_class < n - 1 and (s + shift) / draws >= below:
            true_class += 1
            below += priors[true_class]
        copy(priors, belief)
        spent, martingale, least, stopped = 0.0, 0.0, np.inf, False
        for k in range(horizon + 1):
            stop = stop_cost(belief, regrets)
            # The clairvoyant may stop at any k; the martingale takes off what foresight gains, all of it if J is true.
            here = spent + stop - martingale
            least = min(least, here)
            last = k == horizon or stop <= costs[k]
            if k == horizon:
                # Beyond the table one further feature, for its price, would tell the class: no policy does better.
                least = min(least, spent + min(stop, relaxed) - martingale)
            elif not last and not stopped and costs[k] > 0.0:
                stopped = stop <= fitted_at(belief, stop, table[k], pairs, logs, large)
                if stopped:
                    paid[s] = here
            if last:
                if not stopped:
                    paid[s] = here
                break
            answer = draw(cells, offsets[k], offsets[k + 1], true_class)
            price = costs[k + 1] if k + 1 < costs.size else 0.0
            expected, seen = 0.0, 0.0
            for cell in range(offsets[k], offsets[k + 1]):
                mass = 0.0
                for i in range(n):
                    child[i] = cells[cell, i] * belief[i]
                    mass += child[i]
                if mass > 0.0:
                    for i in range(n):
                        child[i] /= mass
                    after = k + 1 < horizon
                    row = table[k + 1] if after else table[k]
                    value = held_value(child, regrets, after, row, pairs, price, logs, large)
                    # Summed over all answers and not sampled: D_k has mean 0 exactly, whatever J is.
                    expected += mass * value
                    if cell == answer:
                        seen = value
            martingale += seen - expected
            spent += costs[k]
            mass = 0.0
            for i in range(n):
                belief[i] *= cells[answer, i]
                mass += belief[i]
            for i in range(n):
                belief[i] /= mass
        bound[s] = least
