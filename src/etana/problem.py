"""The stopping problem: all that a solver may see.

Symbols, used in every file of :mod:`etana.policies`:

==================  =====================================================================================
N, K                number of classes, number of features (stages)
V_k                 number of values that feature k can take
p, ``priors``       P(T_i), shape (N,)
Delta_k(v)          [P(F_k = v | T_i)]_i, a row of ``cells``: rows ``offsets[k]`` to ``offsets[k + 1]``
c_k                 price of the k-th feature in the order of acquisition, ``feature_costs[k]``
M_ij                cost of deciding T_j when T_i is true
m_i                 min_j M_ij, the cost that no decision avoids, ``floor``
R_ij                M_ij - m_i, the regret; at least one zero in each row
pi                  belief, a point of the N-simplex
g(pi)               min_j M_j . pi, the cost of stopping
J_k(pi)             least expected cost from stage k on
==================  =====================================================================================

With unnormalised beliefs w the paper's recursion (its Theorem 2) has no division::

    J_K = g        J_k(w) = min( g(w),  c_{k+1} 1.w + sum_v J_{k+1}(Delta_{k+1}(v) * w) )

Subtracting the linear function m.w from every J_k leaves the recursion unchanged, because
``sum_v Delta(v) = 1``. Solvers therefore work with the regret R in place of M, for which the corners of the
simplex cost nothing, and add ``floor . p`` back in what they announce.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.errors import ProblemError

__all__ = ["Problem", "check_cells"]

_SUM_TOLERANCE = 1e-6


class Problem:
    """Priors, likelihoods in the order of acquisition, and costs.

    Parameters
    ----------
    priors : array (N,)
        Probabilities of the classes.
    likelihoods : array (K, V, N)
        ``likelihoods[k, v, i]`` is P(F_k = v | T_i). Values that a feature cannot take have probability 0 under
        every class, so features with fewer values are padded with zeros.
    feature_costs : number, array (K,), or FeatureCosts
        Price of each feature, in the order of acquisition; of a group the first pays in full, the others the
        discounted price.
    misclassification_costs : array (N, N), optional
        Row true class, column decided class; 0/1 if not given.

    Examples
    --------
    >>> import etana
    >>> problem = etana.Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], feature_costs=0.05)
    >>> problem
    Problem(n_classes=2, n_features=1)
    """

    def __init__(self, priors: Any, likelihoods: Any, feature_costs: Any, misclassification_costs: Any = None) -> None:
        table = np.asarray(likelihoods, dtype=np.float64)
        if table.ndim != 3:
            raise ProblemError(f"likelihoods has shape {table.shape}; it must be (K, V, N): feature, value, class")
        n_features, n_values, n_classes = table.shape
        cells = np.ascontiguousarray(table.reshape(n_features * n_values, n_classes))
        offsets = np.arange(n_features + 1, dtype=np.int64) * n_values
        # Features are asked in the order in which they are given, which says who pays the fee of a group.
        prices = resolve_feature_costs(feature_costs, n_features).in_order(np.arange(n_features))
        prior = _probabilities(priors)
        self._set(prior, cells, offsets, prices, resolve_mistakes(misclassification_costs, prior.size))
        check_cells(cells, offsets)

    @classmethod
    def from_cells(
        cls,
        priors: np.ndarray,
        cells: np.ndarray,
        offsets: np.ndarray,
        feature_costs: np.ndarray,
        misclassification_costs: np.ndarray,
    ) -> Problem:
        """Build from likelihoods of differing numbers of values; everything is trusted to be valid already."""
        self = cls.__new__(cls)
        self._set(priors, cells, offsets, feature_costs, misclassification_costs)
        return self

    def _set(
        self, priors: np.ndarray, cells: np.ndarray, offsets: np.ndarray, prices: np.ndarray, mistakes: np.ndarray
    ) -> None:
        if cells.shape[1] != priors.size:
            raise ProblemError(
                f"priors has {priors.size} classes and likelihoods has {cells.shape[1]}; they must agree"
            )
        self.priors = priors
        self.cells = cells
        self.offsets = offsets
        self.feature_costs = prices
        self.misclassification_costs = mistakes

    def __repr__(self) -> str:
        return f"Problem(n_classes={self.n_classes}, n_features={self.n_features})"

    def renumbered(self, classes: np.ndarray) -> Problem:
        """The same problem with its classes in this order."""
        mistakes = np.ascontiguousarray(self.misclassification_costs[np.ix_(classes, classes)])
        cells = np.ascontiguousarray(self.cells[:, classes])
        return Problem.from_cells(self.priors[classes], cells, self.offsets, self.feature_costs, mistakes)

    @cached_property
    def canonical(self) -> np.ndarray:
        """The classes (N,) in an order that does not depend on how they are numbered: by what is true of each."""
        some = self.cells[:4096]
        # A random projection of its likelihoods tells a class from others whatever its number is; priors come first.
        signature = np.random.default_rng(0).random(len(some)) @ some
        return np.lexsort((self.regrets.sum(axis=1), np.round(signature, 10), self.priors))

    @property
    def n_classes(self) -> int:
        """N."""
        return self.priors.size

    @property
    def n_features(self) -> int:
        """K."""
        return self.feature_costs.size

    @cached_property
    def floor(self) -> np.ndarray:
        """m: for each class, the cost that even the best decision has."""
        return self.misclassification_costs.min(axis=1)

    @cached_property
    def regrets(self) -> np.ndarray:
        """R: misclassification costs above the floor, (N, N)."""
        return np.ascontiguousarray(self.misclassification_costs - self.floor[:, None])

    @cached_property
    def scale(self) -> float:
        """The largest regret: the unit in which tolerances are stated. 1 if no decision matters."""
        largest = float(self.regrets.max(initial=0.0))
        return largest if largest > 0 else 1.0

    @property
    def floor_cost(self) -> float:
        """m.p, the expected cost that no policy avoids."""
        return float(self.floor @ self.priors)

    @property
    def likelihoods(self) -> np.ndarray:
        """Likelihoods as one (K, V, N) array, features with fewer values padded with zeros."""
        n_values = np.diff(self.offsets)
        out = np.zeros((self.n_features, int(n_values.max(initial=0)), self.n_classes))
        stage = np.repeat(np.arange(self.n_features), n_values)
        out[stage, np.arange(len(self.cells)) - self.offsets[stage]] = self.cells
        return out

    def stage(self, k: int) -> np.ndarray:
        """Delta_k: likelihoods of the k-th feature asked (from 0), shape (V_k, N)."""
        return self.cells[self.offsets[k] : self.offsets[k + 1]]

    def stop_cost(self, belief: Any) -> np.ndarray:
        """g: expected cost of deciding now, for one belief (N,) or many (n, N)."""
        return (np.asarray(belief, dtype=np.float64) @ self.misclassification_costs).min(axis=-1)


def _probabilities(values: Any) -> np.ndarray:
    p = np.asarray(values, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise ProblemError(f"priors has shape {p.shape}; it must be one probability per class")
    if not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > _SUM_TOLERANCE:
        raise ProblemError(f"priors {p} are not probabilities; they must be >= 0 and sum to 1")
    return p / p.sum()


def check_cells(cells: np.ndarray, offsets: np.ndarray) -> None:
    """Refuse likelihoods that are no probabilities, or do not sum to one for each feature and class."""
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise ProblemError("likelihoods has a negative or non-finite entry; every entry must be a probability")
    if not cells.size:
        return
    sums = np.add.reduceat(cells, offsets[:-1], axis=0)
    wrong = np.argwhere(np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.size:
        k, i = wrong[0]
        raise ProblemError(
            f"likelihoods[{k}, :, {i}] sums to {sums[k, i]:.6g}; for each feature and class the values must sum to 1"
        )
