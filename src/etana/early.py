"""Early classification of time series: the order of features is that of time, and their price that of waiting.

:class:`EarlyClassifier` has the methods of the early classifiers of aeon and sktime, so that it takes its place among
them: ``predict`` gives labels and whether they are final, for series that may be shorter than those of the training;
``update_predict`` goes on when more has arrived; ``score`` is harmonic mean, accuracy and earliness.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from etana.classifiers.sequential import SequentialClassifier
from etana.errors import InputError
from etana.parameters import anything, check_parameters, number, whole

__all__ = ["EarlyClassifier"]


class EarlyClassifier(BaseEstimator):
    """Watches a series point by point and decides when waiting longer would not pay.

    Parameters
    ----------
    classifier : SequentialClassifier or ETANAClassifier, optional
        What it decides with; prices and order are set here. None is a :class:`~etana.SequentialClassifier`.
    waiting_cost : float
        What it costs to wait for one further point in time, in units of a mistake.
    step : int
        Looks at every so many points; the last of them is always the last point.

    Attributes
    ----------
    classes_ : array
    points_ : array
        Points in time that are looked at, in order.
    classifier_ : fitted classifier
        A row of its table is the points of a series, one after the other, all channels of a point together.

    Examples
    --------
    >>> import numpy as np
    >>> from etana.early import EarlyClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = np.where(np.arange(40) >= 10, y[:, None], 0.5) + 0.3 * rng.standard_normal((60, 40))
    >>> early = EarlyClassifier(waiting_cost=0.005, step=2).fit(X, y)
    >>> labels, final = early.predict(X[:, :8])          # nothing to see before point 10
    >>> bool(final.any())
    False
    >>> mean, accuracy, earliness = early.score(X, y)
    >>> bool(accuracy > 0.9), bool(earliness < 0.5)
    (True, True)
    """

    _parameters: ClassVar = {
        "classifier": anything, "waiting_cost": number(least=0.0), "step": whole(least=1),
    }  # fmt: skip

    def __init__(self, classifier: Any = None, waiting_cost: float = 0.01, step: int = 1) -> None:
        self.classifier = classifier
        self.waiting_cost = waiting_cost
        self.step = step

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from whole series: X (n, points) or (n, channels, points), y (n,)."""
        check_parameters(self)
        series = _read_series(X)
        _, self.n_channels_, self.n_points_ = series.shape
        # The last point is among them, so that whole series are decided with all that there is.
        self.points_ = np.arange(self.n_points_ - 1, -1, -self.step)[::-1]
        self.classifier_ = self._made().fit(self._rows(series), y)
        self.classes_ = self.classifier_.classes_
        self.n_classes_ = self.classes_.size
        self.state_info: np.ndarray | None = None
        return self

    def _made(self) -> Any:
        """The classifier, with the order of time and the price of waiting."""
        made = SequentialClassifier() if self.classifier is None else clone(self.classifier)
        names, n = made.get_params(deep=False), self.points_.size * self.n_channels_
        order = next((name for name in ("selection", "ordering") if name in names), None)
        if order is None or "feature_costs" not in names:
            raise InputError(
                f"classifier is {self.classifier!r}, which asks in no order that could be that of time; give a "
                "SequentialClassifier or an ETANAClassifier"
            )
        prices = np.zeros((self.points_.size, self.n_channels_))
        # Who waits for a point has all its channels.
        prices[:, 0] = self.waiting_cost * np.diff(self.points_, prepend=-1)
        return made.set_params(**{order: np.arange(n), "feature_costs": prices.ravel()})

    def _rows(self, series: np.ndarray) -> np.ndarray:
        """Series (n, channels, points) as rows in the order of time; what has not come yet is missing."""
        n, channels, points = series.shape
        if channels != self.n_channels_ or points > self.n_points_:
            raise InputError(
                f"the series have {channels} channels and {points} points; those of the training have "
                f"{self.n_channels_} channels and {self.n_points_} points, and none may be longer"
            )
        whole_series = np.full((n, channels, self.n_points_), np.nan)
        whole_series[:, :, :points] = series
        return whole_series[:, :, self.points_].transpose(0, 2, 1).reshape(n, -1)

    def _decide(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, beliefs, and whether a decision was reached with the points that are there."""
        check_is_fitted(self, "classifier_")
        series = _read_series(X)
        walk = self.classifier_.acquire(self._rows(series))
        # A walk may end among the channels of a point, which were all waited for.
        looked_at = -(-walk.n_features // self.n_channels_)
        waited = np.concatenate(([0], self.points_ + 1))[looked_at]
        final = waited <= series.shape[2]
        labels = np.where(final, np.searchsorted(self.classes_, walk.labels), -1)
        self.state_info = np.column_stack([np.where(final, waited, series.shape[2]), labels])
        return walk.labels, walk.posteriors, final

    def predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels of series so far, and which of them are final; a label that is not final is -1."""
        labels, _, final = self._decide(X)
        if final.all():
            return labels, final
        undecided = "-1" if labels.dtype.kind in "US" else -1
        return np.where(final, labels, undecided), final

    def update_predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The same when more has arrived of those series that were not decided yet."""
        # What is decided follows from the points so far alone, so there is nothing to remember.
        return self.predict(X)

    def predict_proba(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Belief in each class, and which are final; that of a series that is not decided is -1 throughout."""
        _, posteriors, final = self._decide(X)
        return np.where(final[:, None], posteriors, -1.0), final

    def update_predict_proba(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The same when more has arrived."""
        return self.predict_proba(X)

    def score(self, X: Any, y: Any) -> tuple[float, float, float]:
        """Harmonic mean of accuracy and what was not waited for; accuracy; earliness, the share waited for."""
        labels, _ = self.predict(X)
        assert self.state_info is not None
        accuracy = float(np.mean(labels == np.asarray(y)))
        earliness = float(self.state_info[:, 0].mean() / self.n_points_)
        together = accuracy + 1.0 - earliness
        return (2.0 * accuracy * (1.0 - earliness) / together if together else 0.0), accuracy, earliness

    def get_state_info(self) -> np.ndarray | None:
        """Of each series last seen: points waited for, and number of the class decided (-1: none yet)."""
        return self.state_info

    def reset_state_info(self) -> None:
        """Forget it."""
        self.state_info = None


def _read_series(X: Any) -> np.ndarray:
    """Series as floats, (n, channels, points)."""
    series = np.asarray(X, dtype=np.float64)
    if series.ndim not in (2, 3):
        raise InputError(
            f"X has shape {series.shape}; it must be (series, points) or (series, channels, points), all of one length"
        )
    return series[:, None, :] if series.ndim == 2 else series
