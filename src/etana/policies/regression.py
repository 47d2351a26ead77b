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

A feature that costs nothing is always asked.

What the rule announces (its ``expectation``) is the average over the same walks, with the mistakes
that were really made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.beliefs.base import Knowledge
from etana.kernels import rules
from etana.kernels.prefixes import onward_rows
from etana.policies.expectation import Expectation
from etana.policies.stopping import OrderStopping

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = [
    "HeldOutWalks",
    "Onward",
    "Regression",
    "RegressionStopping",
    "learn_backward",
    "learn_stopping",
    "stop_costs",
]  # fmt: skip

_RIDGE = 10.0


@dataclass(frozen=True)
class Regression:
    """A linear function of standardised inputs."""

    centre: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    level: float

    @classmethod
    def fit(cls, inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> Regression:
        """Ridge regression; inputs that do not vary take no part. A weight counts as that many copies of its row."""
        each = np.ones(len(inputs)) if weights is None else weights
        share = each / each.sum()
        centre = share @ inputs
        scale = np.sqrt(share @ (inputs - centre) ** 2)
        # Divided by infinity an input is 0 everywhere, and its slope too.
        scale = np.where(scale > 1e-9, scale, np.inf)
        z = (inputs - centre) / scale
        level = float(share @ targets)
        weighted = z * each[:, None]
        # Ten rows' worth of belief that nothing matters: early stages have many rows, late ones few.
        slopes = np.linalg.solve(z.T @ weighted + _RIDGE * np.eye(z.shape[1]), weighted.T @ (targets - level))
        return cls(centre, scale, slopes, level)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """What going on adds, for each row of inputs."""
        return self.level + ((inputs - self.centre) / self.scale) @ self.slopes


@dataclass(frozen=True)
class RegressionStopping(OrderStopping):
    """Stop or go on, for beliefs at a stage.

    Attributes
    ----------
    prices : array (K,)
    mistakes : array (N, N)
    stages : tuple
        What going on adds, by stage; None where no training row went on, so every row stops.
    expectation : Expectation
        Averages over the training walks.
    """

    prices: np.ndarray
    mistakes: np.ndarray
    stages: tuple[Regression | None, ...]
    expectation: Expectation

    @cached_property
    def horizon(self) -> int:  # type: ignore[override]
        """Most features that an instance can be asked."""
        return next((k for k, stage in enumerate(self.stages) if stage is None), len(self.stages))

    @property
    def words(self) -> str:
        """What kind of rule this is."""
        return "regression on held-out walks"

    @cached_property
    def regrets(self) -> np.ndarray:
        """Misclassification costs above the least of each class."""
        return np.ascontiguousarray(self.mistakes - self.mistakes.min(axis=1, keepdims=True))

    @property
    def unit(self) -> float:
        """The dearest mistake: in units of it another currency gives the same numbers."""
        return _unit(self.mistakes)

    def stop_cost(self, beliefs: np.ndarray) -> np.ndarray:
        """g: expected cost of deciding now."""
        return stop_costs(beliefs, self.mistakes)

    def decide(self, belief: Any) -> Any:
        """The class (its index) with the least expected cost for this belief (N,), or these beliefs (n, N)."""
        rows = np.ascontiguousarray(np.atleast_2d(belief), dtype=np.float64)
        out = np.empty(len(rows), dtype=np.int64)
        rules.decide_rows(rows, self.regrets, out)
        return out if np.ndim(belief) == 2 else int(out[0])

    def stops_knowing(self, stage: int, knowledge: Knowledge) -> np.ndarray:
        """Whether to stop after ``stage`` features, for each row."""
        return self.stops(stage, knowledge.posteriors)

    def stops(self, stage: int, belief: Any) -> Any:
        """Whether to stop after ``stage`` features with this belief (N,), or these beliefs (n, N)."""
        rows = np.atleast_2d(np.asarray(belief, dtype=np.float64))
        # Theorem 2 of the paper: stop where g is no greater than what going on costs.
        g, onward = self._continuation(stage, rows)
        out = onward >= g
        if stage < self.horizon and self.prices[stage] == 0.0:
            out[:] = False  # what costs nothing is asked
        return out if np.ndim(belief) == 2 else bool(out[0])

    def continuation(self, stage: int, belief: Any) -> Any:
        """Expected cost of asking for the next feature and going on; infinity where it cannot pay."""
        rows = np.atleast_2d(np.asarray(belief, dtype=np.float64))
        out = self._continuation(stage, rows)[1]
        return out if np.ndim(belief) == 2 else float(out[0])

    def _continuation(self, k: int, beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What stopping costs rows, and the same."""
        stage = self.stages[k] if k < len(self.stages) else None
        if stage is None:
            return self.stop_cost(beliefs), np.full(len(beliefs), np.inf)
        stop, onward = np.empty(len(beliefs)), np.empty(len(beliefs))
        price, unit = float(self.prices[k]), self.unit
        beliefs = np.ascontiguousarray(beliefs)
        onward_rows(
            beliefs, self._costs, unit, stage.centre, stage.scale, stage.slopes, stage.level, price, stop, onward
        )
        return stop, onward

    @cached_property
    def _costs(self) -> np.ndarray:
        return np.ascontiguousarray(self.mistakes, dtype=np.float64)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The regressions, one below another."""
        asking = [stage for stage in self.stages if stage is not None]
        shape = (len(asking), _n_functions(len(self.mistakes)))
        rows = {name: np.array([getattr(r, name) for r in asking]) for name in ("centre", "scale", "slopes")}
        arrays = {name: array.reshape(shape) for name, array in rows.items()}
        arrays["asks"] = np.array([stage is not None for stage in self.stages], dtype=bool)
        arrays["level"] = np.array([r.level for r in asking], dtype=np.float64)
        return arrays, {}

    @classmethod
    def restore(
        cls, stored: State, prices: np.ndarray, mistakes: np.ndarray, expectation: Expectation
    ) -> RegressionStopping:
        """The rule whose :meth:`state` this is; bounds are such that no regression can overflow."""
        asks = stored.array("asks", prices.shape, bool)
        shape = (int(asks.sum()), _n_functions(len(mistakes)))
        centre = stored.within("centre", shape, -1e3, 1e3)
        scale = stored.within("scale", shape, 1e-9, np.inf)
        slopes = stored.within("slopes", shape, -1e290, 1e290)
        level = stored.within("level", shape[:1], -1e290, 1e290)
        learnt = (Regression(*row) for row in zip(centre, scale, slopes, level.tolist(), strict=True))
        stages = tuple(next(learnt) if ask else None for ask in asks.tolist())
        return cls(prices, mistakes, stages, expectation)


def stop_costs(beliefs: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
    """g(pi) = min_j M_j . pi, of each row."""
    return (beliefs @ mistakes).min(axis=1)


def _unit(mistakes: np.ndarray) -> float:
    """The dearest mistake: in units of it another currency gives the same numbers."""
    return max(float(mistakes.max()), 1e-300)


def belief_functions(beliefs: np.ndarray, mistakes: np.ndarray) -> np.ndarray:
    """What the regression sees of a belief."""
    g = stop_costs(beliefs, mistakes)[:, None] / _unit(mistakes)
    entropy = -(beliefs * np.log(np.maximum(beliefs, 1e-12))).sum(axis=1, keepdims=True)
    return np.concatenate([g, g**2, entropy, g * entropy, beliefs, beliefs * g], axis=1)


def _n_functions(n_classes: int) -> int:
    return 4 + 2 * n_classes


class Onward(NamedTuple):
    """What each walk pays from some stage on: as the beliefs expect it, really, and for how many features."""

    expected: np.ndarray
    realised: np.ndarray
    asked: np.ndarray


class HeldOutWalks(NamedTuple):
    """Walks (stages, n, N) of posteriors, and the classes and weights of their rows."""

    posteriors: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    def stopping(self, stage: int, mistakes: np.ndarray) -> Onward:
        """What each pays that stops there."""
        beliefs = np.ascontiguousarray(self.posteriors[stage])
        decided = np.empty(self.codes.size, dtype=np.int64)
        rules.decide_rows(beliefs, np.ascontiguousarray(mistakes - mistakes.min(axis=1, keepdims=True)), decided)
        nothing = np.zeros(self.codes.size, dtype=np.int64)
        return Onward(stop_costs(beliefs, mistakes), mistakes[self.codes, decided], nothing)


def learn_stopping(
    walks: np.ndarray, codes: np.ndarray, prices: np.ndarray, mistakes: np.ndarray, counted: np.ndarray | None = None
) -> RegressionStopping:
    """The rule for walks (K + 1, n, N) of posteriors, the classes of their rows, and these prices (K,); ``counted``
    (n,) are the weights of the rows."""
    n_stages = prices.size
    walked = HeldOutWalks(walks, codes, np.ones(codes.size) if counted is None else counted)
    stages, whole = learn_backward(walked, prices, mistakes, walked.stopping(n_stages, mistakes))
    weights = walked.weights / walked.weights.sum()
    shape = len(mistakes), n_stages
    expectation = Expectation.of_walks(whole.realised, whole.asked, codes, weights, shape)
    return RegressionStopping(prices, mistakes, tuple(stages), expectation)


def learn_backward(
    walked: HeldOutWalks, prices: np.ndarray, mistakes: np.ndarray, ahead: Onward, first: int = 0
) -> tuple[list[Regression | None], Onward]:
    """What going on adds at each stage from ``first`` on, and what each walk pays from there; ``ahead`` is what it pays
    after the last price."""
    stages: list[Regression | None] = [None] * prices.size
    for k in range(prices.size - 1, first - 1, -1):
        stop, free = walked.stopping(k, mistakes), prices[k] == 0.0
        onward = prices[k] + ahead.expected
        can_gain = (stop.expected > prices[k]) | free
        going = np.zeros(walked.codes.size, dtype=bool)
        if can_gain.any():
            functions = belief_functions(walked.posteriors[k], mistakes)
            # The beliefs' own expectation for the regression, what mistakes really cost for what is announced:
            # regressing on single mistakes, which are 0 or dear, would take many more rows.
            regression = Regression.fit(
                functions[can_gain], (onward - stop.expected)[can_gain], walked.weights[can_gain]
            )
            going = can_gain & ((regression(functions) < 0) | free)
        # Where nobody goes on, the order ends for all: later stages are not reached.
        stages[k] = regression if going.any() else None
        # What the rule pays, not what the regression guessed: errors of fits do not pile up from stage to stage.
        ahead = Onward(
            np.where(going, onward, stop.expected),
            np.where(going, prices[k] + ahead.realised, stop.realised),
            np.where(going, 1 + ahead.asked, 0),
        )
    return stages, ahead
