"""Accuracy against features beside published methods, on four sets with unit prices.

Splits: ``train_test_split`` twice, stratified, into 60, 20 and 20 percent, seeds 0 to 4. Models are fitted on the first
part, the test part is reported, and the part between is not used. Each price gives a point of the curve; no point is
chosen. ``PUBLISHED`` has the points of other systems, measured with the same splits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from reproduction.cells import Cell, Record
from reproduction.measurements.curves import PricedModel, curve, prices_of
from reproduction.methods import Setting, method_of

__all__ = ["BOOSTING_PRICES", "METHODS", "PRICES", "PUBLISHED", "SETS", "n_parts", "prepare"]

SETS = ("breast_cancer", "wine", "spambase", "digits")
METHODS = ("frugal", "committee", "sequential", "adaptive", "etana", "decision-tree", "lightgbm", "lightgbm-lazy")
PRICES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
BOOSTING_PRICES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 0.003)
_SEEDS = 5
_DECISIONS = 2000  # of which one is timed

# (features, accuracy) of other systems, measured with these splits.
PUBLISHED: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {
    "DIME, penalty stop": {
        "breast_cancer": ((1.28, 0.954), (1.70, 0.965), (2.34, 0.971)),
        "wine": ((1.99, 0.950), (2.82, 0.978), (4.26, 0.989)),
        "spambase": ((2.22, 0.889), (3.18, 0.907), (5.37, 0.914)),
        "digits": ((5.7, 0.806), (10.0, 0.871), (18.3, 0.905)),
    },
    "GDFS, fixed number": {
        "breast_cancer": ((1, 0.919), (2, 0.946), (3, 0.967), (5, 0.970), (10, 0.974)),
        "wine": ((2, 0.944), (3, 0.972), (5, 0.989), (7, 0.994)),
        "spambase": ((2, 0.831), (3, 0.896), (5, 0.906), (10, 0.929), (15, 0.935)),
        "digits": ((3, 0.572), (5, 0.783), (7, 0.903), (10, 0.925), (15, 0.936)),
    },
    "LightGBM, as measured elsewhere": {
        "breast_cancer": ((1.46, 0.914), (2.27, 0.951), (8.45, 0.956)),
        "wine": ((3.48, 0.956), (6.1, 0.967)),
        "spambase": ((1.5, 0.833), (4.3, 0.905), (9.0, 0.930), (17.7, 0.944), (39.5, 0.950)),
        "digits": ((11.6, 0.887), (15.5, 0.926), (28, 0.943)),
    },
    "CWCF, reduced": {
        "breast_cancer": ((2.07, 0.956), (2.46, 0.939), (5.97, 0.965)),
        "wine": ((2.03, 0.972), (2.44, 0.972)),
        "spambase": ((14.9, 0.928),),
    },
    "AACO, re-hosted": {"breast_cancer": ((1.82, 0.958),), "wine": ((2.81, 0.986), (5.68, 1.0))},
}


@lru_cache(maxsize=1)
def _load(name: str, data_dir: str | None) -> tuple[Any, np.ndarray]:
    if name == "spambase":
        from etana import datasets

        found = datasets.load(name, data_dir=data_dir)
        return found.X, found.y
    from sklearn import datasets as bundled

    return getattr(bundled, f"load_{name}")(return_X_y=True)


def n_parts(cell: Cell) -> int:
    """Splits that a cell runs through."""
    return int(dict(cell.parameters).get("splits", _SEEDS))


def prepare(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data and loops; what is returned runs the splits."""
    X, y = _load(cell.dataset, data_dir)
    prices = prices_of(dict(cell.parameters).get("prices"), _default_prices(cell.method))
    setting = Setting(int(np.unique(y).size), seed=cell.seed)
    method = method_of(cell.method)

    def make(price: float) -> Any:
        return method.make(replace(setting, feature_costs=price))

    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)])
    make(max(prices)).fit(X[few], y[few]).acquire(X[few])
    return lambda: [record for part in range(n_parts(cell)) for record in _part(X, y, part, make, prices)]


def _default_prices(method: str) -> tuple[float, ...]:
    return BOOSTING_PRICES if method.startswith("lightgbm") else PRICES


def _part(X: Any, y: np.ndarray, seed: int, make: Callable[[float], Any], prices: list[float]) -> Iterator[Record]:
    X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    X_train, _, y_train, _ = train_test_split(X_rest, y_rest, test_size=0.25, stratify=y_rest, random_state=seed)
    for fitted in curve(make, prices, X_train, y_train):
        walk = fitted.model.acquire(X_test)
        yield {
            "part": seed,
            "price": fitted.price,
            "accuracy": float(np.mean(walk.labels == y_test)),
            "n_features": float(np.mean(walk.n_features)),
            "training_seconds": fitted.seconds,
            "decision_microseconds": _microseconds(fitted, X_test),
            "without": float(np.mean(y_test == np.unique(y_train)[np.unique(y_train, return_counts=True)[1].argmax()])),
        }


def _microseconds(fitted: PricedModel, X: Any) -> float:
    """Time for a decision when many rows are decided at once."""
    rows = np.resize(np.arange(len(X)), _DECISIONS)
    many = X[rows]
    start = time.perf_counter()
    fitted.model.predict(many)
    return 1e6 * (time.perf_counter() - start) / len(rows)
