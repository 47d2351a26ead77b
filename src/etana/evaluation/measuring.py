"""One measurement of one method on one data set: accuracy, features used, seconds.

The paper's protocol (its section V): a *selector* chooses columns on the training rows, and 3 nearest
neighbours classify the test rows with those columns as they are; a *classifier that acquires* decides for
each test row which features it pays for.  Both are measured on a given test part (:class:`HoldOut`) or by
stratified folds (:class:`Folds`), and both give

    accuracy, features per classified row, and the seconds of selection, training and classification.

For a selector "training" is fitting the neighbour classifier; for a classifier that acquires, selection and
classification are one act, so its selection takes 0 seconds and classification holds both (F + C in Table 4).

The neighbour rule matters on whole-number data, where distances tie: equal distances go to the *lowest
training row*, equal votes to the *smallest label* (:class:`LowestRowKNeighbors`).  With it the paper's
figures come out to the digit; scikit-learn's own neighbour search breaks distance ties otherwise.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.typing import ArrayLike, TableLike

__all__ = ["Evaluation", "Fold", "Folds", "HoldOut", "LowestRowKNeighbors", "evaluate", "timed"]


class LowestRowKNeighbors(ClassifierMixin, BaseEstimator):
    """Nearest neighbours with the paper's rules for ties.

    Euclidean distance, unweighted vote; of equally distant training rows the lowest comes first, of equally
    frequent labels the smallest wins.

    Parameters
    ----------
    n_neighbors : int, default=3
        Neighbours that vote; all training rows if there are fewer.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Columns seen in ``fit``.

    Examples
    --------
    >>> from etana.evaluation import LowestRowKNeighbors
    >>> LowestRowKNeighbors(1).fit([[0], [2]], ["a", "b"]).predict([[1]]).tolist()
    ['a']
    """

    def __init__(self, n_neighbors: int = 3) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Remember the training rows."""
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(y)
        if self.n_neighbors < 1:
            raise InputError(f"n_neighbors={self.n_neighbors!r}; at least one neighbour must vote.")
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        self._rows = X.toarray() if sparse.issparse(X) else X
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        X = X.toarray() if sparse.issparse(X) else X
        step = max(1, 2**22 // len(self._rows))  # a few tens of MiB of distances at a time
        parts = [self._vote(X[start : start + step]) for start in range(0, X.shape[0], step)]
        return self.classes_[np.concatenate(parts)]

    def _vote(self, X: np.ndarray) -> np.ndarray:
        # sums of squared differences: exact on whole numbers, so that ties are ties
        distances = cdist(X, self._rows, "sqeuclidean")
        every = np.arange(X.shape[0])
        counts = np.zeros((X.shape[0], self.classes_.size), dtype=np.int64)
        for _ in range(min(self.n_neighbors, len(self._rows))):
            nearest = distances.argmin(axis=1)  # the first minimum: the lowest row
            counts[every, self._codes[nearest]] += 1
            distances[every, nearest] = np.inf
        return counts.argmax(axis=1)  # the first maximum: the smallest label

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class HoldOut:
    """Protocol: train on all rows given, test on these."""

    X_test: TableLike
    y_test: ArrayLike

    def parts(self, X: Any, y: np.ndarray) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray]]:
        """Training rows and labels, test rows and labels: once."""
        yield X, y, _rows(self.X_test), np.asarray(self.y_test)


@dataclass(frozen=True)
class Folds:
    """Protocol: stratified cross-validation, rows shuffled with ``seed``."""

    n_splits: int = 5
    seed: int = 0

    def parts(self, X: Any, y: np.ndarray) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray]]:
        """Training rows and labels, test rows and labels: once for each fold."""
        folds = StratifiedKFold(self.n_splits, shuffle=True, random_state=self.seed)
        for train, test in folds.split(np.zeros(len(y)), y):
            yield _take_rows(X, train), y[train], _take_rows(X, test), y[test]


@dataclass(frozen=True)
class Fold:
    """One training and test part; features, their cost (None for a selector without prices) and that of mistakes are
    per test row."""

    accuracy: float
    n_features: float
    cost: float | None
    mistakes: float
    selection_seconds: float
    training_seconds: float
    classification_seconds: float


@dataclass(frozen=True)
class Evaluation(Fold):
    """Averages over ``folds``, and the folds themselves."""

    folds: tuple[Fold, ...]

    @classmethod
    def of(cls, folds: list[Fold]) -> Self:
        """Average the folds."""
        means = {
            field.name: None if getattr(folds[0], field.name) is None
            else float(np.mean([getattr(fold, field.name) for fold in folds]))
            for field in fields(Fold)
        }  # fmt: skip
        return cls(**means, folds=tuple(folds))  # type: ignore[arg-type]


def evaluate(
    method: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    protocol: HoldOut | Folds | None = None,
    classifier: Any = None,
    prices: ResolvedCosts | None = None,
    mistakes: np.ndarray | None = None,
) -> Evaluation:
    """Measure a selector, or a classifier that acquires features, by the paper's protocol.

    Parameters
    ----------
    method : estimator
        Either a selector (it has ``fit`` and ``get_support``), or a classifier with ``acquire(X)`` that
        returns an object with arrays ``labels``, ``n_features`` and ``costs``.  It is cloned, never changed.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The rows; for :class:`HoldOut`, the training rows.
    y : array-like of shape (n_samples,)
        Their classes.
    protocol : HoldOut or Folds, default=Folds()
        How training and test rows are chosen.
    classifier : estimator, default=LowestRowKNeighbors(3)
        What classifies with the selected columns; not used for a classifier that acquires.
    prices : ResolvedCosts, optional
        Prices of the features, for the cost of a selection; a classifier that acquires has its own.
    mistakes : array (N, N), optional
        What each mistake costs, classes in sorted order; 1 if not given.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana.evaluation import Folds, evaluate
    >>> from etana.selection import SAOLA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = evaluate(SAOLA(), X, y, protocol=Folds(5, seed=0))
    >>> round(result.n_features, 1), len(result.folds)
    (2.0, 5)
    """
    protocol = Folds() if protocol is None else protocol
    measure: Callable[..., Fold]
    if hasattr(method, "acquire"):
        measure = partial(_measure_acquisition, _Mistakes(y, mistakes))
    elif hasattr(method, "get_support"):
        follower = LowestRowKNeighbors(3) if classifier is None else classifier
        measure = partial(_measure_selection, _Mistakes(y, mistakes), follower, prices)
    else:
        raise InputError(
            f"{type(method).__name__} neither selects nor acquires features; evaluate takes a selector with "
            "get_support (such as those of etana.selection) or a classifier with acquire (such as "
            "etana.ETANAClassifier)."
        )
    rows, labels = indexable(_rows(X), np.asarray(y))
    folds = [measure(clone(method), *part) for part in protocol.parts(rows, labels)]
    return Evaluation.of(folds)


class _Mistakes:
    """What rows pay that are decided wrongly."""

    def __init__(self, y: Any, costs: np.ndarray | None) -> None:
        self.classes, self.costs = np.unique(np.asarray(y)), costs

    def mean(self, truth: np.ndarray, labels: Any) -> float:
        """Of these rows."""
        decided = np.broadcast_to(np.asarray(labels), truth.shape)
        if self.costs is None:
            return float(np.mean(decided != truth))
        return float(self.costs[np.searchsorted(self.classes, truth), np.searchsorted(self.classes, decided)].mean())


def _measure_selection(
    mistakes: _Mistakes, classifier: Any, prices: ResolvedCosts | None, selector: Any, X: Any, y: np.ndarray,
    X_test: Any, y_test: np.ndarray,
) -> Fold:  # fmt: skip
    _, selection = timed(lambda: selector.fit(X, y))
    columns = selector.get_support(indices=True)
    if columns.size:
        model, training = timed(lambda: clone(classifier).fit(_take_columns(X, columns), y))
        labels, classification = timed(lambda: model.predict(_take_columns(X_test, columns)))
    else:  # nothing to compare rows by: the most frequent class, and of equally frequent ones the smallest
        classes, counts = np.unique(y, return_counts=True)
        labels, training, classification = classes[counts.argmax()], 0.0, 0.0
    accuracy = float(np.mean(labels == y_test))
    cost = None if prices is None else prices.total(columns)
    wrong = mistakes.mean(y_test, labels)
    return Fold(accuracy, float(columns.size), cost, wrong, selection, training, classification)


def _measure_acquisition(
    mistakes: _Mistakes, model: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray
) -> Fold:
    _, training = timed(lambda: model.fit(X, y))
    walk, classification = timed(lambda: model.acquire(X_test))
    return Fold(
        accuracy=float(np.mean(np.asarray(walk.labels) == y_test)),
        n_features=float(np.mean(walk.n_features)),
        cost=float(np.mean(walk.costs)),
        mistakes=mistakes.mean(y_test, walk.labels),
        selection_seconds=0.0,
        training_seconds=training,
        classification_seconds=classification,
    )


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action gives, and the seconds it took."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def _rows(X: Any) -> Any:
    """X as something whose rows can be taken: a data frame, a CSR matrix or an array."""
    if hasattr(X, "columns"):
        return X
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)


def _take_rows(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _take_columns(X: Any, columns: np.ndarray) -> np.ndarray:
    chosen = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    return chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)
