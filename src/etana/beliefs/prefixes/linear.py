"""Logistic regression on each prefix of the order.

A numeric feature has two inputs: its rank, which no outlier moves, and its value in standard deviations from the mean,
which knows how far apart values lie. A categorical feature has one input for each level. The penalty is half the
squared length of the weights, rows counting one each: inputs have a variance of about 1. A prefix starts from the
weights of the one before, so that all of them together take little longer than the last alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import PrefixMember, Traveller, shares_of

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Linear", "fit_linear"]

_ROUNDS = 60
_PRECISION = 1e-4  # of the slope of the mean log loss
_STEEPEST = 1e9  # weight of an input that is read; products with the largest inputs stay finite
_IMPOSSIBLE = -1e6  # the level of a class that no training row has


@dataclass(frozen=True)
class Linear(PrefixMember):
    """Weights (inputs + 1, N) for each prefix, the last row being the level of each class."""

    features: list[Feature]
    weights: list[np.ndarray]
    prior: np.ndarray

    @property
    def words(self) -> str:
        """What it is."""
        return "logistic regression"

    def depart(self, n_rows: int) -> Traveller:
        """Rows without inputs."""
        return _Inputs(self, 0, np.empty((n_rows, 0)))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Weights of all prefixes, one below another."""
        weights = np.concatenate([np.empty((0, self.prior.size)), *self.weights])
        return {"weights": weights, "priors": self.prior}, {}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Linear:
        """The regressions whose :meth:`state` this is."""
        sizes = np.cumsum([f.n_inputs for f in features], dtype=np.int64) + 1
        weights = stored.within("weights", (int(sizes.sum()), n_classes), -_STEEPEST, _STEEPEST)
        ends = np.cumsum(sizes)
        parts = [weights[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        return cls(features, parts, stored.priors(n_classes))


@dataclass(frozen=True)
class _Inputs(Traveller):
    linear: Linear
    stage: int
    inputs: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Inputs(self.linear, self.stage, self.inputs[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.linear, self.stage
        inputs = np.concatenate([self.inputs, of.features[k].inputs(values)], axis=1)
        weights = of.weights[k]
        # Not by BLAS, whose last digits depend on how many rows it is given: a case is to agree with a batch.
        scores = np.einsum("ij,jk->ik", inputs, weights[:-1]) + weights[-1]
        return _Inputs(of, k + 1, inputs), _softmax(scores)


def fit_linear(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> Linear:
    """Of training values (n, K) in the order of acquisition; a weight counts as that many copies of its row."""
    from threadpoolctl import threadpool_limits

    truth = np.zeros((codes.size, n_classes))
    truth[np.arange(codes.size), codes] = 1.0
    counted = np.ones(codes.size) if weights is None else weights
    prior = shares_of(codes, n_classes, counted)
    known = prior > 0
    start = np.log(prior[known])[None, :]
    inputs, fitted = np.empty((codes.size, 0)), []
    with threadpool_limits(limits=1, user_api="blas"):  # small products, many of them
        for k, feature in enumerate(features):
            added = feature.inputs(values[:, k])
            inputs = np.concatenate([inputs, added], axis=1)
            # Weights of the prefix before, zeros for the new inputs, and the levels again last.
            start = np.concatenate([start[:-1], np.zeros((added.shape[1], start.shape[1])), start[-1:]])
            start = _fit(inputs, truth[:, known], counted, start)
            fitted.append(_with_absent(start, known))
    return Linear(features, fitted, prior)


def _fit(inputs: np.ndarray, truth: np.ndarray, counted: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Weights with the least log loss and penalty."""
    from scipy.optimize import minimize

    n, each = counted.sum(), counted[:, None]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(start.shape)
        scores = inputs @ weights[:-1] + weights[-1]
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        total = odds.sum(axis=1, keepdims=True)
        log_loss = (each * (np.log(total) - (scores * truth).sum(axis=1, keepdims=True))).sum()
        value = (log_loss + 0.5 * (weights[:-1] ** 2).sum()) / n
        error = each * (odds / total - truth) / n
        slope = np.concatenate([inputs.T @ error + weights[:-1] / n, error.sum(axis=0)[None, :]])
        return float(value), slope.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS, "gtol": _PRECISION})
    return found.x.reshape(start.shape)


def _with_absent(weights: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Columns for classes that no training row has, which get no probability."""
    out = np.zeros((len(weights), known.size))
    out[-1, ~known] = _IMPOSSIBLE
    out[:, known] = weights
    return out


def _softmax(scores: np.ndarray) -> np.ndarray:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
