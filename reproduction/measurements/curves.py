"""A method over several prices of a feature: what it does on test rows, and what training rows alone say about it.

One price is one point of the trade between features and mistakes; all features cost the same and a mistake costs 1. A
:class:`etana.SequentialClassifier`, :class:`etana.CommitteeClassifier` or :class:`etana.FrugalClassifier`, or an
:class:`etana.AdaptiveClassifier` whose strength is given, is fitted once, at the lowest price, and takes the others
without a new fit; any other method is fitted anew at each price.

What training rows say is what a point of the curve is chosen by. :func:`in_folds` fits and measures a method on three
folds of the training rows, an :class:`etana.AdaptiveClassifier` with the strength that was chosen on all of them: the
same for every method, and which of the rows were decided right is kept, so that methods are compared row by row.
:func:`from_walks` is what a classifier that is fitted once announces: averages over the walks of
rows that its own folds held out, which costs nothing. So does :func:`up_to`, which looks for the price at which such a
classifier asks just as many features as a limit allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etana.classifiers.adaptive import AdaptiveClassifier
from etana.classifiers.base import AcquiringClassifier
from etana.classifiers.frugal import FrugalClassifier
from etana.classifiers.prefixed import PrefixClassifier
from etana.evaluation.measuring import Folds

__all__ = ["Estimate", "PricedModel", "area", "at_features", "curve", "from_walks", "in_folds", "prices_of", "up_to"]

_INNER_FOLDS = 3
_HALVINGS = 4  # of the way between two prices: 1.04 times as dear is the next one, where it was 2 times


@dataclass(frozen=True)
class PricedModel:
    """A model at a price of a feature, and the seconds that it took to make it."""

    price: float
    model: Any
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """What training rows say about unseen ones: accuracy, and features for each; and which rows were decided right, in
    the order in which they were held out, where single rows are known."""

    accuracy: float
    n_features: float
    right: np.ndarray | None = None


def prices_of(text: Any, default: Sequence[float]) -> list[float]:
    """Prices of a cell's parameter such as ``"0.1+0.01"``; the default where there is none."""
    return list(default) if text is None else [float(price) for price in str(text).split("+")]


def curve(
    make: Callable[[float], Any], prices: Sequence[float], X: Any, y: np.ndarray, once: bool | None = None
) -> Iterator[PricedModel]:
    """Models for these prices, from the lowest up; ``make`` gives the estimator for a price, and ``once`` says whether
    it is fitted once for all; None: where it can be."""
    prices = sorted(prices)
    for place, price in enumerate(prices):
        start = time.perf_counter()
        model = make(price).fit(X, y)
        yield PricedModel(price, model, time.perf_counter() - start)
        if _takes_prices(model) if once is None else once:
            yield from _at_prices(model, prices[place + 1 :])
            return


def _keeps_walks(clf: Any) -> bool:
    """Whether it keeps walks of held-out rows, and nothing is chosen again at other prices."""
    return isinstance(clf, PrefixClassifier) or (isinstance(clf, AdaptiveClassifier) and clf.m != "auto")


def _takes_prices(clf: Any) -> bool:
    return _keeps_walks(clf) or isinstance(clf, FrugalClassifier)


def up_to(limit: float, models: Sequence[PricedModel]) -> list[PricedModel]:
    """The same models, lowest price first, and more between the two prices where the limit on features falls.

    Only of a classifier that takes prices without a new fit; of any other method the models as they are.
    """
    models = sorted(models, key=lambda fitted: fitted.price)
    asked = [expected.n_features for fitted in models if (expected := from_walks(fitted)) is not None]
    beyond = [place for place, n_features in enumerate(asked) if n_features > limit]
    if not beyond or beyond[-1] + 1 == len(models):
        return models
    below, above = models[beyond[-1]], models[beyond[-1] + 1]
    between = []
    for _ in range(_HALVINGS):
        (middle,) = _at_prices(models[0].model, [float(np.sqrt(below.price * above.price))])
        expected = from_walks(middle)
        assert expected is not None
        below, above = (below, middle) if expected.n_features <= limit else (middle, above)
        between.append(middle)
    return sorted([*models, *between], key=lambda fitted: fitted.price)


def _at_prices(kept: AcquiringClassifier, prices: Sequence[float]) -> Iterator[PricedModel]:
    for price in prices:
        start = time.perf_counter()
        model = kept.with_costs(feature_costs=price)
        yield PricedModel(price, model, time.perf_counter() - start)


def in_folds(
    models: Sequence[PricedModel], make: Callable[[float], Any], X: Any, y: np.ndarray, seed: int
) -> list[Estimate]:
    """Accuracy and features of each model's method on three folds of the training rows."""
    settings = {f.price: _settings(f.model) for f in models}
    once = _takes_prices(models[0].model)
    found: dict[float, list[Estimate]] = {f.price: [] for f in models}
    for X_fit, y_fit, X_held, y_held in Folds(_INNER_FOLDS, seed=seed).parts(X, y):
        for fitted in curve(lambda price: make(price).set_params(**settings[price]), list(found), X_fit, y_fit, once):
            walk = fitted.model.acquire(X_held)
            right = walk.labels == y_held
            found[fitted.price].append(Estimate(float(np.mean(right)), float(np.mean(walk.n_features)), right))
    return [_mean(found[f.price]) for f in models]


def _settings(model: Any) -> dict[str, Any]:
    """What was chosen on all training rows and need not be chosen again."""
    choosing = isinstance(model, AdaptiveClassifier) and model.m == "auto"
    return {"m": model.m_, "look_ahead": model.look_ahead_} if choosing else {}


def _mean(parts: list[Estimate]) -> Estimate:
    accuracies, features = [p.accuracy for p in parts], [p.n_features for p in parts]
    right = np.concatenate([p.right for p in parts if p.right is not None])
    return Estimate(float(np.mean(accuracies)), float(np.mean(features)), right)


def from_walks(fitted: PricedModel) -> Estimate | None:
    """What a classifier with held-out walks announces; None for any other model."""
    model = fitted.model
    if not _keeps_walks(model):
        return None
    mistakes = model.expected_cost_ - fitted.price * model.expected_n_features_
    return Estimate(float(np.clip(1 - mistakes, 0, 1)), model.expected_n_features_)


def at_features(points: Sequence[tuple[float, float]], features: Any, without: float) -> np.ndarray:
    """Accuracy at numbers of features: straight lines between (features, accuracy) points, from ``without`` at none.

    Examples
    --------
    >>> from reproduction.measurements.curves import at_features
    >>> at_features([(4, 0.9), (2, 0.8)], [1, 3, 9], without=0.6).tolist()
    [0.7, 0.85, 0.9]
    """
    known = sorted([(0.0, without), *((float(f), float(a)) for f, a in points if f > 0)])
    return np.round(np.interp(features, [f for f, _ in known], [a for _, a in known]), 12)


def area(points: Sequence[tuple[float, float]], without: float, most: int = 20) -> float:
    """Mean accuracy over 1, 2, ..., ``most`` features, see :func:`at_features`."""
    return float(at_features(points, np.arange(1, most + 1), without).mean())
