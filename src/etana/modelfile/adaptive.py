"""What a model file holds of a decision graph.

In the ``content``, instead of ``policy``, ``graph``: the numbers ``m`` (null for infinity), ``least``, ``deepest``,
``most``, ``levels``, ``seed``, ``left_out``, what the model expects (``cost``, ``error``, ``n_features``), and
``costs``: strength, steps looked ahead, and the cost of held-out rows of each choice that was tried.
Arrays, with C candidates:

=============================================  =========================================================
``prices.full``, ``.discounted``, ``.group``   prices of all features (K,); group -1 is none
``graph.priors``, ``graph.mistakes``           P(T_i) (N,); misclassification costs (N, N)
``graph.columns``, ``graph.cells``             columns of the candidates (C,), and their P(v | T_i)
``graph.rule``                                 coefficients of the stopping rule
``graph.*``                                    the states that are kept: see :mod:`etana.adaptive.frozen`
=============================================  =========================================================

Training rows are not among them: what they taught is in the states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.adaptive import frozen
from etana.adaptive.evidence import Evidence
from etana.adaptive.fitting import Choice
from etana.adaptive.graph import Graph
from etana.adaptive.model import AdaptiveModel, Expectation
from etana.binning import Binner
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.kernels.graph import N_BASIS
from etana.modelfile.prices import price_arrays, read_costs, read_prices, read_priors
from etana.policies.base import LARGEST_SEED, State
from etana.problem import check_cells

__all__ = ["decode_graph", "encode_graph"]

_MOST = 2**62
_MOST_LEVELS = 4
_MOST_PLANS = 2e9  # that are looked at for one state


def encode_graph(model: AdaptiveModel, costs: dict[Choice, float]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers and arrays; ``costs`` are those of held-out rows for each choice."""
    graph, expects = model.graph, model.expectation
    evidence = graph.evidence
    numbers = {
        "m": _finite(evidence.m), "least": graph.least, "deepest": graph.deepest, "most": graph.most,
        "levels": graph.levels, "seed": int(model.seed), "left_out": evidence.left_out,
        "cost": expects.cost, "error": expects.error, "n_features": expects.n_features,
        "costs": [[_finite(choice.m), int(choice.levels), cost] for choice, cost in costs.items()],
    }  # fmt: skip
    arrays = price_arrays(model.prices) | {
        "graph.priors": graph.priors, "graph.mistakes": graph.mistakes, "graph.rule": graph.rule,
        "graph.columns": evidence.columns, "graph.cells": evidence.table,
    }  # fmt: skip
    return numbers, arrays | {f"graph.{name}": array for name, array in frozen.store(graph).items()}


def decode_graph(
    numbers: dict[str, Any], arrays: dict[str, np.ndarray], binner: Binner, classes: np.ndarray, names: list[str] | None
) -> tuple[AdaptiveModel, dict[Choice, float]]:
    """The model, and the cost of held-out rows for each choice."""
    n = classes.size
    state = State({k.removeprefix("graph."): a for k, a in arrays.items()}, numbers)
    prices, priors = read_prices(state, binner.n_features), read_priors(state, "priors", n)
    mistakes = read_costs(state, "mistakes", (n, n))
    rule = state.array("rule", (N_BASIS,))
    if not np.isfinite(rule).all():
        raise InputError("the stopping rule is not finite")
    evidence = _evidence(state, binner, prices, n)
    deepest, most = state.whole("deepest", 1, _MOST), state.whole("most", 1, _MOST)
    levels = state.whole("levels", 0, _MOST_LEVELS)
    if float(evidence.offsets[-1]) ** levels > _MOST_PLANS:
        raise InputError(f"looking {levels} steps ahead over {evidence.offsets[-1]} values of features takes too long")
    graph = Graph(evidence, priors, mistakes, rule, state.number("least", 0.0), deepest, most, levels)
    frozen.restore(graph, state)
    model = AdaptiveModel(binner, classes, prices, graph, names, state.whole("seed", 0, LARGEST_SEED))
    expects = Expectation(*(float(state.number(name, 0.0)) for name in ("cost", "error", "n_features")))
    vars(model)["expectation"] = expects
    return model, _held_out(numbers["costs"])


def _finite(m: float) -> float | None:
    return float(m) if np.isfinite(m) else None


def _infinite(m: Any) -> float:
    return np.inf if m is None else float(State({}, {"m": m}).number("m", 0.0))


def _held_out(entries: Any) -> dict[Choice, float]:
    if not isinstance(entries, list):
        raise InputError("the costs of held-out rows are not a list")
    out = {}
    for m, levels, cost in entries:
        numbers = State({}, {"levels": levels, "cost": cost})
        out[Choice(_infinite(m), numbers.whole("levels", 0, _MOST_LEVELS))] = float(numbers.number("cost", 0.0))
    return out


def _evidence(state: State, binner: Binner, prices: ResolvedCosts, n: int) -> Evidence:
    columns = state.array("columns", (None,), np.int64)
    if not binner.n_features or (columns < 0).any() or (columns >= binner.n_features).any():
        raise InputError("a candidate is no column")
    sizes = np.diff(binner.cell_offsets)[columns]
    if np.unique(columns).size != columns.size or (sizes < 2).any():
        raise InputError("a candidate comes twice, or has fewer than two values")
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    cells = state.array("cells", (int(offsets[-1]), n))
    check_cells(cells, offsets)
    # Smoothing leaves no zeros; with one, evidence could rule out every class.
    if not (cells > 0).all():
        raise InputError("a likelihood is zero")
    own = ResolvedCosts(prices.full[columns], prices.discounted[columns], prices.group[columns])
    codes, none = np.empty((columns.size, 0), dtype=np.int32), np.empty(0)
    m, left_out = _infinite(state.numbers["m"]), float(state.number("left_out", 0.0))
    return Evidence(columns, offsets, cells, own, codes, none.astype(np.int64), none, m, left_out)
