"""Loops of the points solver: beliefs drawn forwards, costs backed up, and the two-sided certificate.

Beliefs lie side by side, classes by rows (N, n), so that several are worked out at a time; with them go their
logarithms, which add up from answer to answer and need not be taken again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.copying import copy
from etana.kernels.rules import NEGLIGIBLE, stop_cost
from etana.kernels.walk import draw


class BeliefLanes(NamedTuple):
    """Beliefs side by side, and what is worked out of them.

    Attributes
    ----------
    beliefs, logs : float64 (N, n)
    large : float64 (N, n)
        The beliefs without negligible classes.
    mass, stop, value : float64 (n,)
        Chance of the answer that led here, g, and the cost that is asked for.
    """

    beliefs: np.ndarray
    logs: np.ndarray
    large: np.ndarray
    mass: np.ndarray
    stop: np.ndarray
    value: np.ndarray


def make_lanes(n_classes: int, count: int, room: np.ndarray) -> BeliefLanes:
    """Lanes for so many beliefs, in an array that has at least ``count`` (3 N + 3) numbers."""
    parts = room[: count * (3 * n_classes + 3)].reshape(-1, count)
    beliefs, logs, large = parts[: 3 * n_classes].reshape(3, n_classes, count)
    return BeliefLanes(beliefs, logs, large, *parts[3 * n_classes :])


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
def equal_mistakes(regrets):
    """Whether all mistakes cost the same."""
    for i in range(regrets.shape[0]):
        for j in range(regrets.shape[0]):
            if regrets[i, j] != (0.0 if i == j else regrets[0, 1]):
                return False
    return regrets.shape[0] > 1


@njit(nogil=True, cache=True)
def stop_costs(beliefs, regrets, left, value, stop):
    """g of the first ``left`` beliefs (N, n); ``value`` (n,) is scratch."""
    n = regrets.shape[0]
    if equal_mistakes(regrets):
        # The likeliest class is decided, and what the others weigh is at risk.
        for s in range(left):
            stop[s], value[s] = 0.0, 0.0
        for i in range(n):
            for s in range(left):
                p = beliefs[i, s]
                stop[s] += p
                value[s] = p if p > value[s] else value[s]
        for s in range(left):
            stop[s] = regrets[0, 1] * (stop[s] - value[s])
        return
    for s in range(left):
        stop[s] = np.inf
    for j in range(n):
        for s in range(left):
            value[s] = 0.0
        for i in range(n):
            for s in range(left):
                value[s] += regrets[i, j] * beliefs[i, s]
        for s in range(left):
            stop[s] = value[s] if value[s] < stop[s] else stop[s]


@njit(nogil=True, cache=True)
def features(beliefs, logs, regrets, pairs, out, counts):
    """The functions of beliefs (N, n) that :func:`etana.kernels.rules.fitted_cost` combines, in its layout: (L, n).

    ``counts`` bool (L,) become whether a function is other than 0 somewhere.
    """
    n, count = beliefs.shape
    base = 2 * n + 1
    stop_costs(beliefs, regrets, count, out[0], out[n])
    for i in range(n):
        for s in range(count):
            p = beliefs[i, s]
            # Functions that fitted_cost leaves out must be left out of the fit as well.
            out[i, s] = p if p > NEGLIGIBLE else 0.0
            out[n + 1 + i, s] = -p * logs[i, s] if p > NEGLIGIBLE else 0.0
    for r in range(pairs.shape[0]):
        one, other = out[pairs[r, 0]], out[pairs[r, 1]]
        for s in range(count):
            p, q = one[s], other[s]
            both = p * q
            out[base + 2 * r, s] = both / (p + q) if both > 0.0 else 0.0
            out[base + 2 * r + 1, s] = both
    for f in range(counts.size):
        some = False
        for s in range(count):
            some |= out[f, s] != 0.0
        counts[f] = some


@njit(nogil=True, cache=True)
def fitted_costs(lanes, coefficients, pairs, left):
    """The fitted cost to go of the first ``left`` beliefs, whose ``stop`` is known, into ``value``."""
    beliefs, logs, large, _, stop, value = lanes
    n = beliefs.shape[0]
    base = 2 * n + 1
    for s in range(left):
        value[s] = coefficients[n] * stop[s]
    for i in range(n):
        a, b = coefficients[i], coefficients[n + 1 + i]
        for s in range(left):
            p = beliefs[i, s]
            large[i, s] = p if p > NEGLIGIBLE else 0.0
            value[s] += (a - b * logs[i, s]) * p if p > NEGLIGIBLE else 0.0
    for r in range(pairs.shape[0]):
        c, d = coefficients[base + 2 * r], coefficients[base + 2 * r + 1]
        one, other = large[pairs[r, 0]], large[pairs[r, 1]]
        for s in range(left):
            p, q = one[s], other[s]
            # Two classes that are out give 0; nothing is lost to a sum that is not.
            value[s] += p * q * (c / (p + q + 1e-300) + d)


@njit(nogil=True, cache=True)
def answered(parents, likelihoods, log_likelihoods, left, children):
    """The first ``left`` beliefs after an answer with these likelihoods (N,), and the chance of it."""
    beliefs, logs, mass, log_mass = children.beliefs, children.logs, children.mass, children.value
    for s in range(left):
        mass[s] = 0.0
    for i in range(beliefs.shape[0]):
        for s in range(left):
            beliefs[i, s] = parents.beliefs[i, s] * likelihoods[i]
            mass[s] += beliefs[i, s]
    for s in range(left):
        log_mass[s] = np.log(mass[s])
    for i in range(beliefs.shape[0]):
        for s in range(left):
            # An answer that cannot be has no belief; its value is multiplied by its chance, 0.
            beliefs[i, s] = beliefs[i, s] / mass[s] if mass[s] > 0.0 else 0.0
            logs[i, s] = parents.logs[i, s] + log_likelihoods[i] - log_mass[s]


@njit(nogil=True, cache=True)
def back_up(parents, children, delta, log_delta, regrets, coefficients, pairs, price, answers, expected, seen):
    """expected = sum_v P(v | belief) J(belief after v), with J of the next stage, and J after each one's own answer.

    J is what the solver holds: never above stopping, never below the price of the next feature where it goes on; g
    where there are no coefficients. ``answers`` (n,) count from the first value of the feature. Beliefs beyond n wait.
    """
    left, stop, value, mass = expected.size, children.stop, children.value, children.mass
    for s in range(left):
        expected[s] = 0.0
    for v in range(delta.shape[0]):
        answered(parents, delta[v], log_delta[v], left, children)
        stop_costs(children.beliefs, regrets, left, value, stop)
        if coefficients.size:
            fitted_costs(children, coefficients, pairs, left)
            for s in range(left):
                value[s] = min(stop[s], max(value[s], price) if stop[s] > price else stop[s])
        else:
            copy(stop[:left], value)
        for s in range(left):
            expected[s] += mass[s] * value[s]
            seen[s] = value[s] if answers[s] == v else seen[s]


@njit(nogil=True, cache=True)
def first_uniform(seed):
    """Begin to draw, and give the first number."""
    np.random.seed(seed)
    return np.random.random()


@njit(nogil=True, cache=True)
def draw_answers(priors, cells, offsets, costs, regrets, classes, answers, lengths):
    """Answers (n, H) of instances of these classes, until stopping costs no more than the next feature.

    ``lengths`` (n,) says how many answers each has. Drawing goes on from where it is (:func:`first_uniform`).
    """
    belief = np.empty(priors.size)
    for s in range(classes.size):
        copy(priors, belief)
        k = 0
        while k < answers.shape[1] and stop_cost(belief, regrets) > costs[k]:
            cell = draw(cells, offsets[k], offsets[k + 1], classes[s])
            answers[s, k] = cell - offsets[k]
            mass = 0.0
            for i in range(belief.size):
                belief[i] *= cells[cell, i]
                mass += belief[i]
            for i in range(belief.size):
                belief[i] /= mass
            k += 1
        lengths[s] = k
