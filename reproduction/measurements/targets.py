"""The table to beat: on the paper's sets, at least so accurate with at most so many features.

The protocol is the paper's. A method gives a curve over prices of a feature; the point that counts is chosen on the
training rows of each part alone: of the prices whose estimated number of features is within the limit (or the one that
asks fewest, if none is), the lowest whose estimated accuracy is within a standard error of the best. Rows do not tell
these apart, features up to the limit are free, and what asks for more of them is rarely less accurate. A classifier
that takes prices without a new fit is also tried between the two prices of the grid where the limit falls. A classifier
that keeps walks is judged by them, any other method by three folds of these rows. The whole curve on test rows is kept
beside it.

Between methods, each at the point that it chose, three folds of the training rows are the same estimate for all. With
few rows the best of several estimates is mostly the luckiest, so that one method is the default and another takes its
place only where it decides more of the held-out rows right by more than a standard error of the difference, row by row.
The default is :class:`etana.FrugalClassifier`'s: the committee, or naive Bayes by instance with fewer than 200 rows and
more columns than rows. There path counts, whose strength has to be chosen as well, take no part, and naive Bayes by
instance takes none elsewhere.

:class:`etana.FrugalClassifier` itself is used as its user would: fitted at 0.01 a feature, and then told the limit.

With ``resplit`` the 72 rows of MLL are split anew, 57 to 15 with classes in proportion, by the cell's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from etana.evaluation.measuring import Folds, HoldOut, timed
from reproduction.cells import Cell, Record
from reproduction.experiment_data import ExperimentData, load_data
from reproduction.experiment_data import n_parts as parts_of
from reproduction.measurements.curves import curve, from_walks, in_folds, prices_of, up_to
from reproduction.methods import Setting, method_of
from reproduction.store import Result
from reproduction.warm_up import warm_up

__all__ = ["PRICES", "TARGETS", "ChosenPoint", "Target", "chosen", "n_parts", "prepare"]

# Close enough together that a limit on features falls near one of them: 1, 1.5, 2, 3, 5 and 7 of each decade.
PRICES = (0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.0015, 0.001)


_DEFAULT, _NAIVE, _BY_INSTANCE = "committee", "naive-instance", "adaptive"
_FEW = 200  # rows below which naive Bayes is trusted if there are more columns than rows
_CLEAR = 1.0  # standard errors by which a method has to be better than the default
_OWN_PRICE = 0.01  # of a feature, at which FrugalClassifier is fitted


@dataclass(frozen=True)
class Target:
    """Least accuracy, and most features for each row on average."""

    accuracy: float
    n_features: float


TARGETS = {
    "madelon": Target(0.85, 4.09),
    "lung": Target(0.989, 2.78),
    "mll": Target(1.0, 5.07),
    "dexter": Target(0.86, 6.32),
    "car": Target(0.91, 13.85),
    "lung2": Target(0.95, 13.77),
    "news20": Target(0.785, 81.7),
}


@dataclass(frozen=True)
class ChosenPoint:
    """Test rows at the points that training rows chose: means over the parts, and the record of each part."""

    accuracy: float
    n_features: float
    records: tuple[Record, ...]

    def meets(self, target: Target) -> bool:
        """Whether it is accurate enough with few enough features."""
        return self.accuracy >= target.accuracy - 1e-9 and self.n_features <= target.n_features + 1e-9


def n_parts(cell: Cell) -> int:
    """Training and test parts of a cell, each with one curve."""
    return 1 if dict(cell.parameters).get("resplit") else parts_of(cell.dataset)


def prepare(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data and loops; what is returned does the work."""
    data = load_data(cell.dataset, data_dir)
    if dict(cell.parameters).get("presence"):
        data = data.with_presence()
    warm_up(cell, data)
    return lambda: list(_records(cell, data))


def _records(cell: Cell, data: ExperimentData) -> Iterator[Record]:
    given = dict(cell.parameters)
    prices = prices_of(given.get("prices"), PRICES)
    X, y, protocol = _split(cell, data)
    setting = Setting(len(data.class_names), seed=cell.seed)
    method = method_of(cell.method)

    def make(price: float) -> Any:
        return method.make(replace(setting, feature_costs=price))

    for part, (X_train, y_train, X_test, y_test) in enumerate(protocol.parts(X, y)):
        if cell.method == "frugal":
            yield {"part": part, **_told_the_limit(make(_OWN_PRICE), cell, X_train, y_train, X_test, y_test)}
            continue
        models = list(curve(make, prices, X_train, y_train))
        if cell.dataset in TARGETS:
            models = up_to(TARGETS[cell.dataset].n_features, models)
        folds = in_folds(models, make, X_train, y_train, cell.seed)
        for fitted, inner in zip(models, folds, strict=True):
            expected = from_walks(fitted) or inner
            walk = fitted.model.acquire(X_test)
            yield {
                "part": part,
                "price": fitted.price,
                "of_grid": fitted.price in prices,
                "accuracy": float(np.mean(walk.labels == y_test)),
                "n_features": float(np.mean(walk.n_features)),
                "estimated_accuracy": expected.accuracy,
                "estimated_n_features": expected.n_features,
                "estimated_error": float(np.sqrt(expected.accuracy * (1 - expected.accuracy) / len(y_train))),
                "folds_accuracy": inner.accuracy,
                "folds_n_features": inner.n_features,
                "folds_right": "" if inner.right is None else "".join(map(str, inner.right.astype(int).tolist())),
                "few_rows": len(y_train) < min(_FEW, X_train.shape[1]),
                "training_seconds": fitted.seconds,
            }


def _told_the_limit(made: Any, cell: Cell, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Record:
    """A classifier that is fitted once, and then asks as many features as it may."""
    clf, seconds = timed(lambda: made.fit(X, y))
    limit = TARGETS[cell.dataset].n_features if cell.dataset in TARGETS else X.shape[1]
    price = clf.price_for(limit * _OWN_PRICE)
    clf = clf.for_budget(limit * _OWN_PRICE)
    walk = clf.acquire(X_test)
    mistakes = price * (clf.expected_cost_ - _OWN_PRICE * clf.expected_n_features_)
    return {
        "price": price * _OWN_PRICE,
        "of_grid": False,
        "accuracy": float(np.mean(walk.labels == y_test)),
        "n_features": float(np.mean(walk.n_features)),
        "estimated_accuracy": 1 - mistakes,
        "estimated_n_features": clf.mean_spend() / _OWN_PRICE,
        "estimated_error": float(clf.expected_cost_error_) * price,
        "training_seconds": seconds,
    }


def _split(cell: Cell, data: ExperimentData) -> tuple[Any, np.ndarray, HoldOut | Folds]:
    if not dict(cell.parameters).get("resplit"):
        return data.training(cell.seed)
    from sklearn.model_selection import train_test_split

    X, y = np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    held = len(data.y_test)
    X, X_test, y, y_test = train_test_split(X, y, test_size=held, stratify=y, random_state=cell.seed)
    return X, y, HoldOut(X_test, y_test)


def chosen(results: Sequence[Result], limit: float) -> ChosenPoint | None:
    """The points that training rows choose among these methods' curves; None where a curve is missing."""
    if not results or any(result.ended != "done" for result in results):
        return None
    parts = sorted({record["part"] for result in results for record in result.records})
    picked = []
    for part in parts:
        own = {r.cell.method: _pick([record for record in r.records if record["part"] == part], limit) for r in results}
        picked.append(_choose(own))
    return ChosenPoint(
        float(np.mean([r["accuracy"] for r in picked])),
        float(np.mean([r["n_features"] for r in picked])),
        tuple(picked),
    )


def _choose(own: dict[str, Record]) -> Record:
    """The default method's record, unless another one is clearly better on the same folds."""
    if len(own) == 1:
        return next(iter(own.values()))
    few = next(iter(own.values()))["few_rows"]
    left_out = _BY_INSTANCE if few else _NAIVE
    own = {name: record for name, record in own.items() if name != left_out}
    default = _NAIVE if few else _DEFAULT
    best = own[default] if default in own else next(iter(own.values()))
    least, compared = 0.0, _right(best)
    for record in own.values():
        better = _right(record) - compared
        mean = float(better.mean())
        if mean > max(least, _CLEAR * float(better.std() / np.sqrt(better.size))):
            best, least = record, mean
    return best


def _right(record: Record) -> np.ndarray:
    """1 for each row of the three folds that was decided right."""
    return np.array(list(record["folds_right"]), dtype=np.float64)


def _pick(records: list[Record], limit: float) -> Record:
    within = [r for r in records if r["estimated_n_features"] <= limit]
    if not within:
        return min(records, key=lambda r: r["estimated_n_features"])
    best = max(within, key=lambda r: r["estimated_accuracy"])
    least = best["estimated_accuracy"] - best["estimated_error"]
    return min((r for r in within if r["estimated_accuracy"] >= least), key=lambda r: r["price"])
