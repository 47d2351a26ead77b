"""Instances that play the stages of an order: what each trial of the search for an order costs.

Instances lie side by side, classes by rows (N, n), and go through all stages in blocks that stay in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.points import stop_costs

BLOCK = 128


class PlayedStages(NamedTuple):
    """What stopping costs n instances after each of S stages, none first.

    Attributes
    ----------
    stop : float64 (S + 1, n)
        g of each instance.
    level : int64 (S + 1, n)
        The level, of L between 0 and the largest regret, in which it falls.
    stopping : float64 (S + 1, L + 1)
        Their sum up to each level.
    """

    stop: np.ndarray
    level: np.ndarray
    stopping: np.ndarray


def make_stages(stages: int, instances: int, levels: int) -> PlayedStages:
    """Room for so many."""
    shape = stages + 1, instances
    return PlayedStages(np.empty(shape), np.empty(shape, dtype=np.int64), np.empty((stages + 1, levels + 1)))


@njit(nogil=True, cache=True)
def play(start, likely, features, first, regrets, per_level, stages, beliefs):
    """Play these features, the stages after the first so many, from the beliefs ``start`` (N, n) there.

    ``likely`` (features, N, n) are the likelihoods of the answers. Beliefs after each stage are kept in ``beliefs``
    (S + 1, N, n) if there is room.
    """
    stop, level, stopping = stages
    n, count = start.shape
    now, total, value = np.empty((n, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for j in range(features.size):
        for up in range(stopping.shape[1]):
            stopping[first + 1 + j, up] = 0.0
    for a in range(0, count, BLOCK):
        left = min(BLOCK, count - a)
        for i in range(n):
            for s in range(left):
                now[i, s] = start[i, a + s]
        for j in range(features.size):
            k, times = first + 1 + j, likely[features[j]]
            for s in range(left):
                total[s] = 0.0
            for i in range(n):
                for s in range(left):
                    now[i, s] *= times[i, a + s]
                    total[s] += now[i, s]
            for s in range(left):
                total[s] = 1.0 / total[s]
            for i in range(n):
                for s in range(left):
                    now[i, s] *= total[s]
            stop_costs(now, regrets, left, value, total)
            for s in range(left):
                stop[k, a + s] = total[s]
                level[k, a + s] = np.int64(total[s] * per_level)
                stopping[k, level[k, a + s]] += total[s]
            if beliefs.shape[0] > 0:
                for i in range(n):
                    for s in range(left):
                        beliefs[k, i, a + s] = now[i, s]
    for j in range(features.size):
        for up in range(1, stopping.shape[1]):
            stopping[first + 1 + j, up] += stopping[first + 1 + j, up - 1]


@njit(nogil=True, cache=True)
def settle(kept, tried, first, prices, onward):
    """What instances pay from each stage on, last to first; ``onward`` beyond the last of ``prices`` is given.

    Those up to a level stop and the others pay the price and go on: the level for which the mean cost is least. The
    stages up to ``first`` are those that were kept.
    """
    saved = np.empty(kept.stopping.shape[1])
    for k in range(prices.size - 1, -1, -1):
        stop, level, stopping = kept if k <= first else tried
        for up in range(saved.size):
            saved[up] = 0.0
        for s in range(onward.shape[1]):
            onward[k, s] = prices[k] + onward[k + 1, s]
            saved[level[k, s]] += onward[k, s]
        total, most, best = 0.0, 0.0, -1
        for up in range(saved.size):
            total += saved[up]
            if total - stopping[k, up] > most:
                most, best = total - stopping[k, up], up
        for s in range(onward.shape[1]):
            onward[k, s] = stop[k, s] if level[k, s] <= best else onward[k, s]


@njit(nogil=True, cache=True)
def information(beliefs, likely, features, going, classes):
    """Add up what the answers to each feature tell about the classes of the instances that go on: nats, (features,)."""
    out, n = np.zeros(features.size), beliefs.shape[0]
    for j in range(features.size):
        times = likely[features[j]]
        for s in range(classes.size):
            if going[s]:
                chance = 0.0
                for i in range(n):
                    chance += times[i, s] * beliefs[i, s]
                out[j] += np.log(times[classes[s], s] / chance)
    return out
