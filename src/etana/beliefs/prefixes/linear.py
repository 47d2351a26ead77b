"""Logistic regression on each prefix of the order.

A numeric feature has two inputs: its rank, which no outlier moves, and its value in standard deviations from the mean,
which knows how far apart values lie. A categorical feature has one input for each level. The penalty is half the
squared length of the weights, rows counting one each: inputs have a variance of about 1. A prefix starts from the
weights of the one before, so that all of them together take little longer than the last alone.

Weights W (N, p) are found by Newton's steps, each by conjugate gradients: with inputs x, posteriors q and counts n_r of
the rows r,

    slope of class c      G_c = sum_r n_r (q_rc - [r is of c]) x_r + W_c
    curvature along V     (HV)_c = sum_r n_r q_rc (x_r V_c - sum_b q_rb x_r V_b) x_r + V_c

(the levels have no penalty). H is never made. The rank and the value of a feature say much the same, so that gradients
would go to and fro; they are taken along the axes of the inputs, whose lengths, times the mean of q (1 - q), are about
those of H. Rounds end when no slope of the mean log loss is above `_PRECISION`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import PrefixMember, Traveller, shares_of
from etana.kernels.prefixes import bend_rows, score_rows
from etana.threads import one_blas_thread

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Linear", "fit_linear"]

_ROUNDS = 60  # of Newton's steps, and of conjugate gradients in each
_PRECISION = 1e-4  # of the slope of the mean log loss
_INEXACT = 0.03  # share of the squared slope that a step may leave
_RESIDUE = 0.3  # share of the precision
_SUFFICIENT = 1e-4  # share of the expected gain that a step must have
_LEAST_SHARE = 1e-6  # of a step
_MOST_AXES = 256  # inputs that are brought into axes of their own
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
        posteriors = np.empty((len(values), of.prior.size))
        # Not by BLAS, whose last digits depend on how many rows it is given: a case is to agree with a batch.
        score_rows(inputs, of.weights[k], posteriors)
        return _Inputs(of, k + 1, inputs), posteriors


class _Rows(NamedTuple):
    """Training rows of one prefix."""

    inputs: np.ndarray  # (p, n), the first 1 for the levels
    single: np.ndarray  # the same in single precision
    classes: np.ndarray  # (n,)
    counted: np.ndarray  # (n,)
    penalty: np.ndarray  # (p,), of half the square of each weight


class _Axes(NamedTuple):
    """Directions (p, p), one a column, along which inputs hardly hang together, and how long the inputs are there."""

    lengths: np.ndarray
    directions: Any


def fit_linear(
    features: list[Feature], values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> Linear:
    """Of training values (n, K) in the order of acquisition; a weight counts as that many copies of its row."""
    counted = np.ones(codes.size) if weights is None else weights
    prior = shares_of(codes, n_classes, counted)
    known = prior > 0
    classes = (np.cumsum(known) - 1)[codes]
    ends = 1 + np.cumsum([f.n_inputs for f in features], dtype=np.int64)
    inputs, gram = np.ones((int(ends[-1]) if features else 1, codes.size)), np.empty((0, 0))
    single = inputs.astype(np.float32)
    start, fitted = np.log(prior[known])[:, None], []
    with one_blas_thread():  # small products, many of them
        for k, (feature, end) in enumerate(zip(features, ends.tolist(), strict=True)):
            own = slice(end - feature.n_inputs, end)
            inputs[own] = single[own] = feature.inputs(values[:, k]).T
            rows = _Rows(inputs[:end], single[:end], classes, counted, np.minimum(np.arange(end), 1.0))
            gram = _grown(gram, rows)
            # Weights of the prefix before, and zeros for the new inputs.
            start = np.concatenate([start, np.zeros((len(start), feature.n_inputs))], axis=1)
            start = _fit(rows, start, _axes(gram / counted.sum()))
            fitted.append(_with_absent(np.roll(start, -1, axis=1).T, known))
    return Linear(features, fitted, prior)


def _grown(gram: np.ndarray, rows: _Rows) -> np.ndarray:
    """Products (p, p) of the inputs, those of the first known already."""
    known, p = len(gram), len(rows.inputs)
    out = np.empty((p, p))
    out[:known, :known] = gram
    out[:, known:] = (rows.inputs * rows.counted) @ rows.inputs[known:].T
    out[known:] = out[:, known:].T
    return out


def _axes(gram: np.ndarray) -> _Axes:
    if len(gram) <= _MOST_AXES:
        return _Axes(*(part.astype(np.float32) for part in np.linalg.eigh(gram)))
    from scipy.sparse import eye_array

    # Many inputs are labels of many levels, of which each hangs together with few others.
    return _Axes(np.diag(gram).astype(np.float32), eye_array(len(gram), dtype=np.float32))


def _fit(rows: _Rows, weights: np.ndarray, axes: _Axes) -> np.ndarray:
    """Weights (N, p) with the least log loss and penalty, by Newton's steps from these."""
    loss, posteriors = _loss(rows, weights)
    for _ in range(_ROUNDS):
        error = posteriors.copy()
        error[rows.classes, np.arange(rows.classes.size)] -= 1.0
        slope = (error * rows.counted) @ rows.inputs.T + rows.penalty * weights
        if np.abs(slope).max() <= _PRECISION * rows.counted.sum():
            break
        step = _newton_step(rows, posteriors, slope, axes)
        expected, share = float((slope * step).sum()), 1.0
        while (ahead := _loss(rows, weights + share * step))[0] > loss + _SUFFICIENT * share * expected:
            share /= 2
            if share < _LEAST_SHARE:
                return weights
        weights, (loss, posteriors) = weights + share * step, ahead
    return weights


def _loss(rows: _Rows, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Log loss with its penalty, and posteriors (N, n)."""
    scores = weights @ rows.inputs
    scores -= scores.max(axis=0)
    odds = np.exp(scores)
    total = odds.sum(axis=0)
    true = scores[rows.classes, np.arange(rows.classes.size)]
    loss = rows.counted @ (np.log(total) - true) + 0.5 * (rows.penalty * weights**2).sum()
    return float(loss), odds / total


def _newton_step(rows: _Rows, posteriors: np.ndarray, slope: np.ndarray, axes: _Axes) -> np.ndarray:
    """Where the slope is nothing if curvature stays as it is: conjugate gradients, as exact as the next step needs.

    In single precision, of means over the rows: a step leads somewhere near, and what is there is worked out in double.
    """
    n = float(rows.counted.sum())
    near = posteriors.astype(np.float32)
    counted = near * (rows.counted / n).astype(np.float32)
    penalty = (rows.penalty / n).astype(np.float32)
    spread = (counted * (1.0 - near)).sum(axis=1, keepdims=True)
    lengths = spread * axes.lengths + np.float32(1.0 / n)
    residue = (slope / -n).astype(np.float32)
    step, direction = np.zeros_like(residue), _shortened(residue, lengths, axes.directions)
    size = _product(residue, direction)
    least, enough = _INEXACT * size, _RESIDUE * _PRECISION
    moved, mean = np.empty_like(near), np.empty(near.shape[1], dtype=np.float32)
    for _ in range(_ROUNDS):
        np.matmul(direction, rows.single, out=moved)
        bend_rows(moved, near, counted, mean)
        curvature = moved @ rows.single.T + penalty * direction
        share = np.float32(size / _product(direction, curvature))
        step += share * direction
        residue -= share * curvature
        ahead = _shortened(residue, lengths, axes.directions)
        before, size = size, _product(residue, ahead)
        if size <= least or np.abs(residue).max() <= enough:
            break
        direction = ahead + np.float32(size / before) * direction
    return step.astype(np.float64)


def _shortened(residue: np.ndarray, lengths: np.ndarray, directions: Any) -> np.ndarray:
    """A residue (N, p) divided by about what curvature would multiply it with."""
    return ((residue @ directions) / lengths) @ directions.T


def _product(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.vdot(a, b))


def _with_absent(weights: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Columns for classes that no training row has, which get no probability."""
    out = np.zeros((len(weights), known.size))
    out[-1, ~known] = _IMPOSSIBLE
    out[:, known] = weights
    return out
