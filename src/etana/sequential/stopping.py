"""When to stop, learnt from walks: least-squares Monte Carlo.

Training rows were taken along the whole order without their labels' help (out of fold), so that for each row and
each stage k there is a calibrated posterior pi_k.  Deciding at stage k is expected to cost

    g(pi) = min_j M_j . pi

and Y_k is what the row is expected to pay from stage k on under the rule for the later stages.  Backward, from the
last stage, where Y_K = g(pi_K):

    A_k(pi)  =  ridge regression of  c_{k+1} + Y_{k+1} - g(pi_k)  on functions of pi_k      (what going on adds)
    go on iff  g(pi) > c_{k+1}  and  A_k(pi) < 0;   Y_k = c_{k+1} + Y_{k+1} if so, else g(pi_k)

Only rows with g > c take part: the others cannot gain by any answer.  The functions are g, g^2, the entropy H, g H,
and for each class pi_i and pi_i g: the same number for every stage, few enough for fifty rows.  Classes may be
renamed and costs scaled without any change.

What the rule announces (`expected_cost`, `expected_n_features`) is the average over the same walks, with the mistakes
that were really made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["StoppingRule", "learn_rule", "stop_costs"]

_RIDGE = 10.0


@dataclass(frozen=True)
class Regression:
    """A linear function of standardised inputs."""

    centre: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    level: float

    @classmethod
    def fit(cls, inputs: np.ndarray, targets: np.ndarray) -> Regression:
        """Ridge regression; inputs that do not vary take no part."""
        centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
        scale = np.where(scale > 1e-9, scale, np.inf)
        z = (inputs - centre) / scale
        level = float(targets.mean())
        slopes = np.linalg.solve(z.T @ z + _RIDGE * np.eye(z.shape[1]), z.T @ (targets - level))
        return cls(centre, scale, slopes, level)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return self.level + ((inputs - self.centre) / self.scale) @ self.slopes


@dataclass(frozen=True)
class StoppingRule:
    """Stop or go on, for beliefs at a stage.

    Attributes
    ----------
    prices : array (K,)
    mistakes : array (N, N)
    stages : tuple
        What going on adds, by stage; None where no training row went on, so every row stops.
    expected_cost, expected_n_features : float
        Averages over the training walks.
    reach : array (K + 1,)
        Share of the training walks that were asked at least 0, 1, ..., K features.
    """

    prices: np.ndarray
    mistakes: np.ndarray
    stages: tuple[Regression | None, ...]
    expected_cost: float
    expected_n_features: float
    reach: np.ndarray

    @property
    def horizon(self) -> int:
        """Most features that an instance can be asked."""
        return next((k for k, stage in enumerate(self.stages) if stage is None), len(self.stages))

    def stop_cost(self, beliefs: np.ndarray) -> np.ndarray:
        """g: expected cost of deciding now."""
        return stop_costs(beliefs, self.mistakes)

    def decide(self, beliefs: np.ndarray) -> np.ndarray:
        """The class with the least expected cost."""
        return (beliefs @ self.mistakes).argmin(axis=1)

    def stops(self, k: int, beliefs: np.ndarray) -> np.ndarray:
        """Whether to stop after k features."""
        return self.continuation(k, beliefs) >= self.stop_cost(beliefs)

    def continuation(self, k: int, beliefs: np.ndarray) -> np.ndarray:
        """Expected cost of asking for feature k + 1 and going on; infinity where it cannot pay."""
        stage = self.stages[k] if k < len(self.stages) else None
        g = self.stop_cost(beliefs)
        if stage is None:
            return np.full(len(beliefs), np.inf)
        # Nothing that lies ahead costs less than the next price.
        onward = np.maximum(g + stage(belief_functions(beliefs, self.mistakes)), self.prices[k])
        return np.where(g > self.prices[k], onward, np.inf)


def stop_costs(beliefs: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
    """g(pi) = min_j M_j . pi, of each row."""
    return (beliefs @ mistakes).min(axis=1)


def belief_functions(beliefs: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
    """What the regression sees of a belief."""
    g = stop_costs(beliefs, mistakes)[:, None] / max(float(mistakes.max()), 1e-300)
    entropy = -(beliefs * np.log(np.maximum(beliefs, 1e-12))).sum(axis=1, keepdims=True)
    return np.concatenate([g, g**2, entropy, g * entropy, beliefs, beliefs * g], axis=1)


def learn_rule(walks: np.ndarray, codes: np.ndarray, prices: np.ndarray, mistakes: np.ndarray) -> StoppingRule:
    """The rule for walks (K + 1, n, N) of posteriors, the classes of their rows, and these prices."""
    n_stages = prices.size
    stages: list[Regression | None] = [None] * n_stages
    ahead = stop_costs(walks[n_stages], mistakes)
    realised, asked = _realised(walks[n_stages], codes, mistakes), np.zeros(codes.size)
    for k in range(n_stages - 1, -1, -1):
        stop, onward = stop_costs(walks[k], mistakes), prices[k] + ahead
        can_gain = stop > prices[k]
        going = np.zeros(codes.size, dtype=bool)
        if can_gain.any():
            functions = belief_functions(walks[k], mistakes)
            regression = Regression.fit(functions[can_gain], (onward - stop)[can_gain])
            going = can_gain & (regression(functions) < 0)
        stages[k] = regression if going.any() else None
        ahead = np.where(going, onward, stop)
        realised = np.where(going, prices[k] + realised, _realised(walks[k], codes, mistakes))
        asked = np.where(going, 1 + asked, 0)
    reach = (asked >= np.arange(n_stages + 1)[:, None]).mean(axis=1)
    return StoppingRule(prices, mistakes, tuple(stages), float(realised.mean()), float(asked.mean()), reach)


def _realised(beliefs: np.ndarray, codes: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
    return mistakes[codes, (beliefs @ mistakes).argmin(axis=1)]
