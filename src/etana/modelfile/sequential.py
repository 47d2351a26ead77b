"""What a model file holds of a sequential classifier.

In the ``content``, instead of ``binner`` and ``policy``, ``sequence``: the numbers ``floor`` (of the calibration),
``cost`` and ``n_features`` (what the rule expects), ``levels`` of categorical columns, and ``prefixes``:
"neighbours", "linear", "blend" of both with the ``share`` of the second, or "estimators" with ``keep_missing``.
Arrays, with K features in the order, n training rows, B functions of a belief and S stages at which going on can pay:

===============================================  =======================================================
``prices.full``, ``.discounted``, ``.group``     prices of all features; group -1 is none
``order``                                        column asked at each stage (K,)
``features.knots``, ``.ranks``, ``.offsets``     training values, their ranks, and where each feature's start (K + 1,)
``features.scales``, ``features.medians``        how far apart values lie (K,); the training median (K,)
``features.means``, ``features.deviations``      of the training values (K,)
``temperatures``                                 of the calibration (K,)
``rule.mistakes``                                misclassification costs (N, N)
``rule.asks``, ``rule.reach``                    stages at which going on can pay (K,); share of walks (K + 1,)
``rule.centre``, ``.scale``, ``.slopes``         regressions of those stages (S, B)
``rule.level``                                   (S,)
``neighbours.columns``                           encoded training rows, features one below another, (W, n)
``neighbours.codes``, ``neighbours.sizes``       their classes (n,); number of neighbours at each stage (K,)
``linear.weights``                               of each prefix one below another, its inputs and a level, (.., N)
``linear.priors``, ``estimators.priors``         share of each class among the training rows (N,), without neighbours
``estimators.fitted``                            a list of K estimators, as skops writes it
``walks.posteriors``                             posteriors of training rows after 1, ..., K features (K, n, N)
``walks.codes``                                  classes of these rows (n,), if there are no neighbours
``parameters.estimator``                         the estimator that was given, as skops writes it
===============================================  =======================================================

Walks are what new prices need. They are left out where they take more than 64 MiB.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.modelfile.foreign import Trust, pack, types_to_trust, unpack
from etana.modelfile.prices import price_arrays, read_costs, read_prices, read_priors
from etana.modelfile.values import Decoder, Encoder
from etana.policies.base import State
from etana.sequential.encoding import Categories, Feature, Numbers
from etana.sequential.learnt import Learnt
from etana.sequential.linear import Linear
from etana.sequential.prefixes import Blend, Estimators, Neighbours, Prefixes
from etana.sequential.stopping import Regression, StoppingRule
from etana.sequential.walking import SequentialModel

__all__ = ["decode_estimator", "decode_sequence", "encode_sequence", "own_types"]

_LARGEST_WALKS = 2**26  # bytes
_MOST_NEIGHBOURS = 2**16
_FARTHEST = 1e12  # of an encoded value; squares of it can be added up in single precision
_STEEPEST = 1e9  # weight of an input; products with the largest inputs stay finite
_SUM_TOLERANCE = 1e-6
_PARAMETER, _FITTED = "parameters.estimator", "estimators.fitted"


# --- writing


def encode_sequence(
    model: SequentialModel, estimator: Any, encoder: Encoder
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers and arrays; ``estimator`` is the parameter."""
    learnt, rule = model.learnt, model.rule
    if (estimator is None) == isinstance(learnt.prefixes, Estimators):
        raise InputError("its parameter estimator was changed after the fit; fit again")
    numbers: dict[str, Any] = {
        "floor": learnt.floor, "cost": rule.expected_cost, "n_features": rule.expected_n_features,
        "levels": encoder.levels(model.levels, "levels"),
    }  # fmt: skip
    arrays = price_arrays(model.prices) | {"order": learnt.columns, "temperatures": learnt.temperatures}
    arrays |= _feature_arrays(learnt.prefixes.features) | _rule_arrays(rule)
    kind, more, parts = _prefix_arrays(learnt.prefixes)
    numbers |= {"prefixes": kind, **more}
    if isinstance(learnt.prefixes, Estimators):
        arrays[_PARAMETER] = pack(estimator)
    return numbers, arrays | parts | _walk_arrays(learnt)


def _prefix_arrays(prefixes: Prefixes) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """The kind of prefixes, its numbers and its arrays."""
    if isinstance(prefixes, Neighbours):
        return "neighbours", {}, _neighbour_arrays(prefixes)
    if isinstance(prefixes, Linear):
        return "linear", {}, _linear_arrays(prefixes) | {"linear.priors": prefixes.prior}
    if isinstance(prefixes, Blend) and isinstance(prefixes.first, Neighbours) and isinstance(prefixes.second, Linear):
        arrays = _neighbour_arrays(prefixes.first) | _linear_arrays(prefixes.second)
        return "blend", {"share": prefixes.share}, arrays
    assert isinstance(prefixes, Estimators)
    arrays = {"estimators.priors": prefixes.prior, _FITTED: pack(prefixes.fitted)}
    return "estimators", {"keep_missing": prefixes.keep_missing}, arrays


def own_types(arrays: dict[str, np.ndarray]) -> list[str]:
    """Types to trust in arrays that were just made here."""
    return [name for packed in (_PARAMETER, _FITTED) if packed in arrays for name in types_to_trust(arrays[packed])]


def _feature_arrays(features: list[Feature]) -> dict[str, np.ndarray]:
    numeric = [f if isinstance(f, Numbers) else None for f in features]
    none = np.empty(0)
    sizes = [0 if f is None else f.knots.size for f in numeric]
    return {
        "features.knots": np.concatenate([none, *(f.knots for f in numeric if f is not None)]),
        "features.ranks": np.concatenate([none, *(f.ranks for f in numeric if f is not None)]),
        "features.offsets": np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        "features.scales": np.array([f.spread if isinstance(f, Numbers) else f.scale for f in features], np.float64),
        "features.medians": np.array([0.0 if f is None else f.median for f in numeric], np.float64),
        "features.means": np.array([0.0 if f is None else f.mean for f in numeric], np.float64),
        "features.deviations": np.array([1.0 if f is None else f.deviation for f in numeric], np.float64),
    }


def _rule_arrays(rule: StoppingRule) -> dict[str, np.ndarray]:
    asking = [stage for stage in rule.stages if stage is not None]
    width = _n_functions(len(rule.mistakes))
    rows = {name: np.array([getattr(r, name) for r in asking]) for name in ("centre", "scale", "slopes")}
    return {
        "rule.mistakes": rule.mistakes, "rule.reach": rule.reach,
        "rule.asks": np.array([stage is not None for stage in rule.stages], dtype=bool),
        "rule.level": np.array([r.level for r in asking], dtype=np.float64),
        **{f"rule.{name}": array.reshape(len(asking), width) for name, array in rows.items()},
    }  # fmt: skip


def _neighbour_arrays(of: Neighbours) -> dict[str, np.ndarray]:
    none = np.empty((0, of.codes.size), dtype=np.float32)
    return {
        "neighbours.columns": np.concatenate([none, *of.columns]),
        "neighbours.codes": of.codes,
        "neighbours.sizes": of.sizes,
    }


def _linear_arrays(of: Linear) -> dict[str, np.ndarray]:
    return {"linear.weights": np.concatenate([np.empty((0, of.prior.size)), *of.weights])}


def _walk_arrays(learnt: Learnt) -> dict[str, np.ndarray]:
    if learnt.walks is None or learnt.codes is None or learnt.walks.nbytes > _LARGEST_WALKS:
        return {}
    # Before the first feature every walk is at the prior.
    arrays = {"walks.posteriors": learnt.walks[1:]}
    return arrays if _has_neighbours(learnt.prefixes) else arrays | {"walks.codes": learnt.codes}


def _has_neighbours(prefixes: Prefixes) -> bool:
    return isinstance(prefixes, Neighbours | Blend)


# --- reading


def decode_sequence(
    numbers: dict[str, Any],
    arrays: dict[str, np.ndarray],
    classes: np.ndarray,
    names: Any,
    trust: Trust,
) -> SequentialModel:
    """The model; ``trust`` says what its estimators may be made of."""
    state, decoder, n = State(arrays, numbers), Decoder(arrays), classes.size
    prices = read_prices(state, None)
    n_features = prices.full.size
    levels = decoder.levels(numbers["levels"], n_features)
    order = state.array("order", (None,), np.int64)
    if not n_features or (order < 0).any() or (order >= n_features).any() or np.unique(order).size != order.size:
        raise InputError("the order has a column that is not there, or one twice")
    features = _features(state, order, levels)
    temperatures = _between(state, "temperatures", order.shape, 1e-6, 1e6)
    prefixes = _prefixes(state, features, n, trust)
    walks, codes = _walks(state, prefixes, order.size)
    learnt = Learnt(order, prefixes, temperatures, float(state.number("floor", 1e-15, 1.0)), walks, codes)
    rule = _rule(state, prices, order, n)
    return SequentialModel(learnt, rule, classes, levels, prices, decoder.names(names, n_features))


def decode_estimator(numbers: dict[str, Any], arrays: dict[str, np.ndarray], trust: Trust) -> Any:
    """The estimator that was given to the classifier."""
    if numbers["prefixes"] != "estimators":
        return None
    estimator = unpack(State(arrays, numbers).array(_PARAMETER, (None,), np.uint8), trust)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")):
        raise InputError(f"its estimator is a {type(estimator).__name__}, which is no classifier")
    return estimator


def _between(state: State, name: str, shape: tuple[int | None, ...], least: float, most: float) -> np.ndarray:
    array = state.array(name, shape)
    if not ((array >= least) & (array <= most)).all():
        raise InputError(f"the array {name!r} has an entry that is not between {least} and {most}")
    return array


def _features(state: State, order: np.ndarray, levels: dict[int, np.ndarray]) -> list[Feature]:
    """Encodings of the features in the order."""
    knots = state.array("features.knots", (None,))
    ranks = _between(state, "features.ranks", knots.shape, 0.0, 1.0)
    offsets = state.array("features.offsets", (order.size + 1,), np.int64)
    scales, medians = state.array("features.scales", order.shape), state.array("features.medians", order.shape)
    means, deviations = state.array("features.means", order.shape), state.array("features.deviations", order.shape)
    if offsets[0] != 0 or offsets[-1] != knots.size or (offsets[1:] < offsets[:-1]).any():
        raise InputError("the offsets of the features do not divide their training values")
    if not (np.isfinite(knots).all() and np.isfinite(medians).all() and (scales >= 0).all()):
        raise InputError("a training value, median or scale is not finite, or a scale is negative")
    out: list[Feature] = []
    for k, column in enumerate(order.tolist()):
        own = slice(offsets[k], offsets[k + 1])
        if column in levels:
            out.append(_categories(levels[column].size, float(scales[k]), knots[own]))
        else:
            moments = float(medians[k]), float(means[k]), float(deviations[k])
            out.append(_numbers(knots[own], ranks[own], float(scales[k]), *moments))
    return out


def _categories(width: int, scale: float, knots: np.ndarray) -> Categories:
    if knots.size or not scale <= _FARTHEST:
        raise InputError("a categorical feature has numbers for training values, or a scale that is too large")
    return Categories(width, scale)


def _numbers(
    knots: np.ndarray, ranks: np.ndarray, spread: float, median: float, mean: float, deviation: float
) -> Numbers:
    if not knots.size or (knots[1:] <= knots[:-1]).any() or (ranks[1:] < ranks[:-1]).any():
        raise InputError("the training values of a feature are not increasing, or it has none")
    if not 1 / _FARTHEST <= spread <= _FARTHEST:
        raise InputError(f"the ranks of a feature are spread by {spread}")
    with np.errstate(all="ignore"):
        apart = np.abs(np.array([knots[0], knots[-1], mean]) / deviation) if deviation > 0 else np.array([np.inf])
    if not (apart <= _FARTHEST).all():
        raise InputError(f"the training values of a feature do not lie about {mean} with a deviation of {deviation}")
    return Numbers(knots, ranks, spread, median, mean, deviation)


def _prefixes(state: State, features: list[Feature], n: int, trust: Trust) -> Prefixes:
    kind = state.numbers["prefixes"]
    if kind == "neighbours":
        return _neighbours(state, features, n)
    if kind == "linear":
        return _linear(state, features, read_priors(state, "linear.priors", n))
    if kind == "blend":
        neighbours = _neighbours(state, features, n)
        return Blend(neighbours, _linear(state, features, neighbours.prior), float(state.number("share", 0.0, 1.0)))
    if kind != "estimators" or not isinstance(state.numbers["keep_missing"], bool):
        raise InputError(f"its prefixes are {kind!r}, which this version of etana does not know; upgrade etana")
    priors = read_priors(state, "estimators.priors", n)
    fitted = unpack(state.array(_FITTED, (None,), np.uint8), trust)
    widths = np.cumsum([1 if isinstance(f, Numbers) else f.width for f in features]).tolist()
    if not isinstance(fitted, list) or len(fitted) != len(widths):
        raise InputError(f"its estimators are not a list of {len(widths)}")
    keep = state.numbers["keep_missing"]
    for one, width in zip(fitted, widths, strict=True):
        if one is not None:  # which stands for the prior
            _check_fitted(one, width, n, keep)
    return Estimators(features, fitted, priors, keep)


def _check_fitted(estimator: Any, width: int, n: int, keep_missing: bool) -> None:
    """Refuse an estimator that cannot have been fitted on a prefix of this width."""
    classes = np.asarray(getattr(estimator, "classes_", None))
    if not hasattr(estimator, "predict_proba") or classes.ndim != 1 or classes.dtype.kind not in "iu":
        raise InputError(f"one of its estimators is a {type(estimator).__name__} that is no fitted classifier")
    if np.unique(classes).size != classes.size or not classes.size or classes.min() < 0 or classes.max() >= n:
        raise InputError("one of its estimators has classes that are not there")
    if getattr(estimator, "n_features_in_", width) != width:
        raise InputError(f"one of its estimators does not take the {width} columns that it is given")
    if keep_missing and not estimator.__sklearn_tags__().input_tags.allow_nan:
        raise InputError("one of its estimators takes no missing values, and would be given them")


def _neighbours(state: State, features: list[Feature], n: int) -> Neighbours:
    codes = _codes(state, "neighbours.codes", (None,), n)
    if not codes.size:
        raise InputError("there are no neighbours")
    widths = [1 if isinstance(f, Numbers) else f.width for f in features]
    columns = state.array("neighbours.columns", (sum(widths), codes.size), np.float32)
    if not (np.abs(columns) <= _FARTHEST).all():
        raise InputError("a neighbour is too far away")
    sizes = state.array("neighbours.sizes", (len(features),), np.int64)
    if (sizes < 1).any() or (sizes > _MOST_NEIGHBOURS).any():
        raise InputError(f"the number of neighbours is not between 1 and {_MOST_NEIGHBOURS}")
    ends = np.cumsum(widths, dtype=np.int64)
    parts = [np.ascontiguousarray(columns[end - width : end]) for width, end in zip(widths, ends, strict=True)]
    return Neighbours(features, parts, codes, sizes, np.bincount(codes, minlength=n) / codes.size)


def _linear(state: State, features: list[Feature], priors: np.ndarray) -> Linear:
    sizes = np.cumsum([2 if isinstance(f, Numbers) else f.width for f in features], dtype=np.int64) + 1
    weights = _between(state, "linear.weights", (int(sizes.sum()), priors.size), -_STEEPEST, _STEEPEST)
    ends = np.cumsum(sizes)
    return Linear(features, [weights[end - size : end] for size, end in zip(sizes, ends, strict=True)], priors)


def _codes(state: State, name: str, shape: tuple[int | None, ...], n: int) -> np.ndarray:
    codes = state.array(name, shape, np.int64)
    if (codes < 0).any() or (codes >= n).any():
        raise InputError("a training row has a class that is not there")
    return codes


def _walks(state: State, prefixes: Prefixes, n_stages: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Walks and the classes of their rows, if the file has them."""
    n, own = prefixes.prior.size, _has_neighbours(prefixes)
    if "walks.posteriors" not in state.arrays:
        return None, None
    codes = _codes(state, "neighbours.codes" if own else "walks.codes", (None,), n)
    stages = _between(state, "walks.posteriors", (n_stages, codes.size, n), 0.0, 1.0)
    if not codes.size or not (np.abs(stages.sum(axis=2) - 1) <= _SUM_TOLERANCE).all():
        raise InputError("a walk has posteriors that are no probabilities")
    return np.concatenate([np.tile(prefixes.prior, (1, codes.size, 1)), stages]), codes


def _n_functions(n: int) -> int:
    """How many functions of a belief in n classes a regression sees; see :mod:`etana.sequential.stopping`."""
    return 4 + 2 * n


def _rule(state: State, prices: ResolvedCosts, order: np.ndarray, n: int) -> StoppingRule:
    mistakes = read_costs(state, "rule.mistakes", (n, n))
    asks = state.array("rule.asks", order.shape, bool)
    shape = (int(asks.sum()), _n_functions(n))
    # Bounds within which no regression can overflow; functions of a belief are small numbers.
    centre = _between(state, "rule.centre", shape, -1e3, 1e3)
    scale = _between(state, "rule.scale", shape, 1e-9, np.inf)
    slopes = _between(state, "rule.slopes", shape, -1e290, 1e290)
    level = _between(state, "rule.level", shape[:1], -1e290, 1e290)
    reach = _between(state, "rule.reach", (order.size + 1,), 0.0, 1.0)
    learnt = (Regression(*row) for row in zip(centre, scale, slopes, level.tolist(), strict=True))
    stages = tuple(next(learnt) if ask else None for ask in asks.tolist())
    cost, n_features = float(state.number("cost", 0.0)), float(state.number("n_features", 0.0))
    return StoppingRule(prices.in_order(order), mistakes, stages, cost, n_features, reach)
