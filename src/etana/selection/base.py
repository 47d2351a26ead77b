"""What the six streaming selectors share.

A streaming selector sees the columns of X one after another, once, in the order in which they arrive; the
instances and their classes are all known from the start.  Two nouns carry this out:

* a :class:`Stream` is the running method: it takes blocks of columns and keeps the list ``selected``;
* a :class:`StreamingSelector` is the scikit-learn face: it checks the input, opens a stream for the classes,
  feeds it, and shows what was selected.

``fit`` opens a stream and feeds it every column; ``partial_fit_features`` opens one at its first call and
feeds the same one afterwards.  A stream keeps the columns that are selected and never those that are not.
What a column contributes does not depend on the block it comes in, so both ways give the same selection.

Sparse input is taken as CSC and handed on in small dense blocks: X is never dense as a whole.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from etana.errors import InputError
from etana.parameters import check_parameters, either, flag, whole
from etana.table import check_labels

__all__ = ["Stream", "StreamingSelector", "Target"]

BLOCK_ENTRIES = 2**17  # entries of X in one block: 1 MiB of float64 stays in a core's cache


@dataclass(frozen=True)
class Target:
    """The classes of the training rows, in the three forms that the methods need.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        As given.
    codes : ndarray of int64, shape (n,)
        0 .. K-1, in the order of the sorted labels.
    numbers : ndarray of float64, shape (n,)
        The labels themselves where they are numbers; else 1 .. K in sorted order.
    """

    labels: np.ndarray
    codes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray) -> Self:
        """Code the labels ``y``; at least two classes are needed."""
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise InputError(
                f"y has one class only ({classes[0]!r}); selection compares classes and needs at least 2. "
                "Check that the training rows contain every class."
            )
        codes = codes.astype(np.int64)
        numbers = y.astype(np.float64) if y.dtype.kind in "biuf" else codes + 1.0
        return cls(labels=y, codes=codes, numbers=numbers)

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return int(self.codes.max()) + 1


class Stream(metaclass=ABCMeta):
    """A selection in progress."""

    def __init__(self) -> None:
        self.selected: list[int] = []

    def check(self, X: Any, first: int) -> None:  # noqa: B027  (most methods take any numbers)
        """Raise InputError if X, dense or CSC, has values that the method cannot take."""

    @abstractmethod
    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block`` (n, b), the ``first``-th of the stream and those after it."""


class StreamingSelector(SelectorMixin, BaseEstimator):
    """Base of the streaming selectors; subclasses say how a stream is opened."""

    _parameters: ClassVar = {"verbose": either(flag, whole(least=0))}

    verbose: int | bool
    n_features_in_: int
    feature_names_in_: np.ndarray

    @abstractmethod
    def _open(self, target: Target) -> Stream:
        """Start the method, the parameters of which are valid, for these classes."""

    def fit(self, X: Any, y: Any) -> Self:
        """Select from all columns of X, taken from left to right.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training rows; numbers without missing values.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_labels(y)
        X, y = validate_data(self, X, y, **self._how_to_validate())
        target = Target.of(y)
        stream = self._open(target)
        stream.check(X, 0)
        self._target = target
        self._stream = stream
        self._feed(X, 0)
        return self

    def partial_fit_features(self, X_block: Any, y: Any) -> Self:
        """Take further columns of the same rows.

        The first call starts a stream, each later one continues it (also the one that ``fit`` started).
        The selection after all blocks is that of one ``fit`` on the blocks side by side.

        Parameters
        ----------
        X_block : array-like, data frame or sparse matrix of shape (n_samples, n_block)
            The columns that arrive now.
        y : array-like of shape (n_samples,)
            Class of each row, the same in every call.

        Returns
        -------
        self
        """
        if not hasattr(self, "_stream"):
            return self.fit(X_block, y)
        # A blank estimator of this class reads the block's width and names; this one adds them to its own.
        reader = type(self)()
        X_block, y = validate_data(reader, X_block, y, **self._how_to_validate())
        self._check_same_rows(y)
        named = hasattr(reader, "feature_names_in_")
        if named != hasattr(self, "feature_names_in_"):
            raise InputError(
                f"this block comes {'with' if named else 'without'} feature names, the earlier ones "
                f"{'without' if named else 'with'}; give every block as a data frame, or none."
            )
        first = self.n_features_in_
        self._stream.check(X_block, first)
        # From here on nothing is refused, so a refused block leaves the stream as it was.
        if named:
            self.feature_names_in_ = np.concatenate([self.feature_names_in_, reader.feature_names_in_])
        self.n_features_in_ = first + reader.n_features_in_
        self._feed(X_block, first)
        return self

    def _how_to_validate(self) -> dict[str, Any]:
        return {"dtype": np.float64, "accept_sparse": "csc", "ensure_min_samples": 2}

    def _check_same_rows(self, y: np.ndarray) -> None:
        if not np.array_equal(y, self._target.labels):
            raise InputError(
                f"y has {y.size} labels that differ from the {self._target.labels.size} of the first block; "
                "every block holds new columns of the same rows in the same order. Call fit to start anew."
            )

    def _feed(self, X: Any, first: int) -> None:
        n, p = X.shape
        width = max(1, BLOCK_ENTRIES // n)
        if self.verbose:
            width = min(width, max(1, p // 100))
        for start in self._announced(range(0, p, width), p, width):
            block = X[:, start : start + width]
            block = block.toarray() if sparse.issparse(block) else block
            self._stream.arrive(np.ascontiguousarray(block), first + start)
        self.selected_ = np.array(self._stream.selected, dtype=np.intp)

    def _announced(self, starts: range, p: int, width: int) -> Iterator[int]:
        """The block starts, with a progress bar if ``verbose``."""
        if not self.verbose:
            yield from starts
            return
        from rich.console import Console  # only who asks for a bar pays for its import
        from rich.progress import Progress

        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(type(self).__name__, total=p)
            for start in starts:
                yield start
                kept = len(self._stream.selected)
                bar.update(task, advance=width, description=f"{type(self).__name__}: {kept} kept")

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
