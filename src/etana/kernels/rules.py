"""The stop test of every kind of policy, on unnormalised log beliefs.

A policy reaches the walk as a :class:`Rule`: a number for its kind and four flat arrays. Each kind has one test, so
that the batch engine, a single case and the simulation decide by the same instructions; and each has a class of its
own, so that a loop is compiled for the test that it needs and not for all of them. The class that is decided has one
function too, :func:`decide`, whatever the beliefs and the policy are.

========  ==========================================  ==============================  =======================
kind      ``table``                                   ``index``                       stops at stage k when
========  ==========================================  ==============================  =======================
NEVER     unused                                      unused                          a corner is reached
INTERVAL  (H, 2) log-odds of class 1                  unused                          outside (lo, hi)
ALPHA     (total, N) vectors                          (H + 1, 1) first row by stage   g <= min alpha . pi
FITTED    (H, L) coefficients                         (P, 2) pairs of classes         g <= fitted cost to go
LINEAR    (H * N, N) thresholds                       unused                          theta_j . pi <= 0, any j
GRID      (H, d) cost to go at grid points            (N + 1, resolution + 2) counts  g <= cost to go there
========  ==========================================  ==============================  =======================

No count of a grid stands in the last column of its ``index``: its first N entries are the classes in the order in which
the parts of a point stand. Of the nearest point that is the order of the problem.

Beyond its H stages every rule stops. ``costs`` are the prices by stage, ``regrets`` the matrix R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from etana.kernels.compiling import PartCompiler, njit

NEVER, INTERVAL, ALPHA, FITTED, LINEAR, GRID_NEAREST, GRID_INTERPOLATE = range(7)

# Two decisions whose costs agree to so many digits are equal; rounding must not choose between them.
TIE = 1e-12

# Below this share a class takes no part in the pair and entropy terms of a fitted cost to go.
NEGLIGIBLE = 1e-6


class Rule(NamedTuple):
    """A stop test as flat arrays; the table above says what each kind holds.

    Attributes
    ----------
    kind : int
    table : float64 (.., ..)
    index : int64 (.., ..)
    costs : float64 (K,)
        Price of each stage.
    regrets : float64 (N, N)
        R of :mod:`etana.problem`.
    """

    kind: int
    table: np.ndarray
    index: np.ndarray  # type: ignore[assignment]  # a tuple has a method of this name
    costs: np.ndarray
    regrets: np.ndarray


class NeverRule(Rule):
    """Of kind NEVER."""


class IntervalRule(Rule):
    """Of kind INTERVAL."""


class AlphaRule(Rule):
    """Of kind ALPHA."""


class FittedRule(Rule):
    """Of kind FITTED."""


class LinearRule(Rule):
    """Of kind LINEAR."""


class NearestRule(Rule):
    """Of kind GRID_NEAREST."""


class InterpolatedRule(Rule):
    """Of kind GRID_INTERPOLATE."""


def make_rule(kind: int, table: np.ndarray, index: np.ndarray, costs: np.ndarray, regrets: np.ndarray) -> Rule:
    """The rule of a kind, in the class of that kind."""
    return _CLASSES[kind](kind, table, index, costs, regrets)


@njit(nogil=True, cache=True)
def normalise(logs, belief):
    """belief = exp(logs) / sum(exp(logs)); returns the shift for which log(belief) = logs - shift."""
    # Shifted by the largest, exp neither overflows nor makes all of them 0.
    top = -np.inf
    for i in range(logs.size):
        if logs[i] > top:
            top = logs[i]
    total = 0.0
    for i in range(logs.size):
        belief[i] = np.exp(logs[i] - top)
        total += belief[i]
    scale = 1.0 / total
    for i in range(logs.size):
        belief[i] *= scale
    return top + np.log(total)


@njit(nogil=True, cache=True)
def decide(belief, regrets):
    """argmin_j R_j . belief (the paper's Theorem 1); the first of equals, to twelve digits."""
    best, choice = np.inf, 0
    for j in range(regrets.shape[1]):
        cost = 0.0
        for i in range(belief.size):
            cost += regrets[i, j] * belief[i]
        if cost < best * (1 - TIE):
            best, choice = cost, j
    return choice


@njit(nogil=True, cache=True)
def decide_rows(beliefs, regrets, labels):
    """:func:`decide` for each row of beliefs (n, N), into labels (n,)."""
    for row in range(beliefs.shape[0]):
        labels[row] = decide(beliefs[row], regrets)


@njit(nogil=True, cache=True)
def normalise_rows(logs, beliefs):
    """:func:`normalise` for each row of logs (n, N), into beliefs (n, N)."""
    for row in range(logs.shape[0]):
        normalise(logs[row], beliefs[row])


@njit(nogil=True, cache=True)
def stop_cost(belief, regrets):
    """g(belief) in regrets."""
    best = np.inf
    n = belief.size
    if n >= 4:
        # Four sums at a time do not wait for one another; the last four may overlap those before.
        for block in range((n + 3) // 4):
            j = min(4 * block, n - 4)
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                p = belief[i]
                a += regrets[i, j] * p
                b += regrets[i, j + 1] * p
                c += regrets[i, j + 2] * p
                d += regrets[i, j + 3] * p
            best = min(best, a, b, c, d)
        return best
    for j in range(n):
        cost = 0.0
        for i in range(belief.size):
            cost += regrets[i, j] * belief[i]
        if cost < best:
            best = cost
    return best


@njit(nogil=True, cache=True)
def at_corner(logs):
    """Whether all belief is on one class."""
    alive = 0
    for i in range(logs.size):
        if logs[i] > -np.inf:
            alive += 1
    return alive <= 1


@njit(nogil=True, cache=True)
def least_alpha(belief, table, first, last):
    """min over rows first..last-1 of alpha . belief."""
    best = np.inf
    for a in range(first, last):
        cost = 0.0
        for i in range(belief.size):
            cost += table[a, i] * belief[i]
        if cost < best:
            best = cost
    return best


@njit(nogil=True, cache=True)
def fitted_cost(belief, logs, shift, stop, coefficients, pairs, large):
    """Fitted cost to go: linear, g, entropy, and two terms for each pair of classes.

    The layout of ``coefficients`` is: N of pi_i, 1 of g, N of -pi_i log pi_i, then for each pair one of
    p q / (p + q) and one of p q. log pi_i is ``logs[i] - shift``. ``large`` is scratch of length N.
    """
    n = belief.size
    cost = coefficients[n] * stop
    alive = 0
    for i in range(n):
        p = belief[i]
        large[i] = 0.0
        if p > NEGLIGIBLE:
            cost += (coefficients[i] - coefficients[n + 1 + i] * (logs[i] - shift)) * p
            large[i] = p
            alive += 1
    if alive < 2:
        return cost
    base = 2 * n + 1
    for r in range(pairs.shape[0]):
        p, q = large[pairs[r, 0]], large[pairs[r, 1]]
        both = p * q
        if both > 0.0:
            cost += both * (coefficients[base + 2 * r] / (p + q) + coefficients[base + 2 * r + 1])
    return cost


@njit(nogil=True, cache=True)
def grid_rank(parts, counts):
    """Index of a composition of r into N parts, in lexicographic order of the parts.

    ``counts[n, r]`` is the number of compositions of r into n parts.
    """
    n = parts.size
    left = 0
    for i in range(n):
        left += parts[i]
    rank = 0
    for i in range(n - 1):
        if parts[i] > 0:
            # Those with a smaller i-th part: counts[n - 1 - i] summed over what is left for the rest.
            rank += counts[n - i, left] - counts[n - i, left - parts[i]]
            left -= parts[i]
    return rank


@njit(nogil=True, cache=True)
def round_to_grid(belief, resolution, parts):
    """Nearest grid point that keeps the sum: round each part, then correct those that were rounded most.

    Of two parts rounded equally, that of the earlier class is corrected: the rule of the authors' program.
    """
    n = belief.size
    excess = -resolution
    for i in range(n):
        if belief[i] == 0.0:
            parts[i] = 0
            continue
        whole = int(np.floor(belief[i] * resolution))
        half = (2 * whole + 1) / (2 * resolution)
        if belief[i] == half:
            # The program rounds decimals by the exact value of the double, which is not quite the half.
            beyond = (16.0 * half - (2 * whole + 1)) + (2 * resolution - 16) * half
            up = beyond > 0.0 or (beyond == 0.0 and whole % 2 == 1)
        else:
            up = belief[i] > half
        parts[i] = whole + up
        excess += parts[i]
    step = -1 if excess > 0 else 1
    for _ in range(abs(excess)):
        most, pick = -np.inf, 0
        for i in range(n):
            rest = step * (belief[i] - parts[i] / resolution)
            if rest > most:
                most, pick = rest, i
        parts[pick] += step


@njit(nogil=True, cache=True)
def grid_interpolate(belief, resolution, values, counts):
    """Barycentric interpolation of grid values in the Freudenthal triangle that holds the belief.

    Points of the grid have their parts in the order of classes that the last column of ``counts`` holds.
    """
    n = belief.size
    classes = counts[:n, resolution + 1]
    base = np.empty(n + 1, dtype=np.int64)
    rest = np.empty(n)
    # Cumulated coordinates turn the simplex grid into a cubic one, in which the triangle is found by sorting.
    tail = 0.0
    for i in range(n - 1, -1, -1):
        # Rounding must not push a sum past the resolution: its triangle would lie outside the grid.
        tail = min(tail + belief[classes[i]] * resolution, float(resolution))
        if i == 0:
            tail = float(resolution)
        base[i] = int(np.floor(tail + 1e-12))
        rest[i] = max(tail - base[i], 0.0)
    base[n] = 0
    order = np.empty(n, dtype=np.int64)
    for i in range(n - 1):
        place = i
        while place > 0 and rest[1 + order[place - 1]] < rest[1 + i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    parts = np.empty(n, dtype=np.int64)
    value = 0.0
    previous = 1.0
    for step in range(n):
        share = previous - (rest[1 + order[step]] if step < n - 1 else 0.0)
        if share > 0:
            for i in range(n):
                parts[i] = base[i] - base[i + 1]
            value += share * values[grid_rank(parts, counts)]
        if step < n - 1:
            previous = rest[1 + order[step]]
            base[1 + order[step]] += 1
    return value


@njit(nogil=True, cache=True)
def interval_stops(table, stage, a, b):
    """Whether the log-odds of two classes, with logs a and b, lie outside the interval of the stage."""
    if stage >= table.shape[0]:
        return True
    # Log-odds are a difference of logs: no exponential, no division, and full precision near certainty.
    return not (table[stage, 0] < b - a < table[stage, 1])


def interval_stops_rows(table: np.ndarray, stage: int, logs: np.ndarray) -> np.ndarray:
    """:func:`interval_stops` for each row of logs (n, 2): one comparison, for which nothing need be compiled."""
    if stage >= len(table):
        return np.ones(len(logs), dtype=bool)
    with np.errstate(invalid="ignore"):
        odds = logs[:, 1] - logs[:, 0]
    return ~((table[stage, 0] < odds) & (odds < table[stage, 1]))


@njit(nogil=True, cache=True)
def interval_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """INTERVAL."""
    return interval_stops(table, stage, logs[0], logs[1])


@njit(nogil=True, cache=True)
def never_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """NEVER."""
    return at_corner(logs) or stage >= costs.size


@njit(nogil=True, cache=True)
def alpha_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """ALPHA."""
    if at_corner(logs) or stage >= index.shape[0] - 1:
        return True
    # A free feature is asked even where ties or rounding make stopping look as good.
    if costs[stage] == 0.0:
        return False
    normalise(logs, belief)
    # Theorem 2 of the paper, J held as a minimum of plans (Lemma 4).
    return stop_cost(belief, regrets) <= least_alpha(belief, table, index[stage, 0], index[stage + 1, 0])


@njit(nogil=True, cache=True)
def linear_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """LINEAR."""
    n = logs.size
    if at_corner(logs) or stage * n >= table.shape[0]:
        return True
    normalise(logs, belief)
    # The paper's Z_theta: stop if theta_j . pi <= 0 for a decision j.
    return least_alpha(belief, table, stage * n, (stage + 1) * n) <= 0.0


@njit(nogil=True, cache=True)
def fitted_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """FITTED."""
    if at_corner(logs) or stage >= table.shape[0]:
        return True
    if costs[stage] == 0.0:
        return False
    shift = normalise(logs, belief)
    now = stop_cost(belief, regrets)
    return now <= costs[stage] or now <= fitted_cost(belief, logs, shift, now, table[stage], index, scratch)


@njit(nogil=True, cache=True)
def nearest_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """GRID_NEAREST."""
    if at_corner(logs) or stage >= table.shape[0]:
        return True
    if costs[stage] == 0.0:
        return False
    normalise(logs, belief)
    resolution = index.shape[1] - 2
    parts = np.empty(logs.size, dtype=np.int64)
    round_to_grid(belief, resolution, parts)
    for i in range(logs.size):
        belief[i] = parts[i] / resolution
    return stop_cost(belief, regrets) <= table[stage, grid_rank(parts, index)]


@njit(nogil=True, cache=True)
def interpolated_test(table, index, costs, regrets, stage, logs, belief, scratch):
    """GRID_INTERPOLATE."""
    if at_corner(logs) or stage >= table.shape[0]:
        return True
    if costs[stage] == 0.0:
        return False
    normalise(logs, belief)
    return stop_cost(belief, regrets) <= grid_interpolate(belief, index.shape[1] - 2, table[stage], index)


# By kind.
_CLASSES = (NeverRule, IntervalRule, AlphaRule, FittedRule, LinearRule, NearestRule, InterpolatedRule)
_TESTS = (never_test, interval_test, alpha_test, fitted_test, linear_test, nearest_test, interpolated_test)


def stops(kind, table, index, costs, regrets, stage, logs, belief, scratch):
    """Whether the rule stops at this stage with these log beliefs.

    All kinds but INTERVAL begin with the corners of the simplex, which stop (Theorem 3 of the paper): no further answer
    can change a certain belief. ``belief`` and ``scratch`` (length N) are overwritten.
    """
    return _TESTS[kind](table, index, costs, regrets, stage, logs, belief, scratch)


def rule_stops(rule, stage, logs, belief, scratch):
    """:func:`stops` for a rule in the class of its kind; within a kernel the class says which test is meant."""
    return stops(*rule, stage, logs, belief, scratch)


@overload(rule_stops, jit_options={"pipeline_class": PartCompiler})
def _rule_stops(rule, stage, logs, belief, scratch):
    test = _TESTS[_CLASSES.index(rule.instance_class)]

    def call(rule, stage, logs, belief, scratch):
        return test(rule.table, rule.index, rule.costs, rule.regrets, stage, logs, belief, scratch)

    return call


@njit(nogil=True, cache=True)
def stops_rows(rule, stage, logs, out):
    """:func:`stops` for each row of logs (n, N), into out (n,)."""
    belief, scratch = np.empty(logs.shape[1]), np.empty(logs.shape[1])
    for row in range(logs.shape[0]):
        out[row] = rule_stops(rule, stage, logs[row], belief, scratch)
