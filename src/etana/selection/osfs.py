"""OSFS: online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013).

S is the selection, in order of arrival; f is the column that arrives.

1. *Relevance*: f is passed over unless it depends on the class.
2. S <- S + [f].
3. *Redundancy*: each g of S, oldest first and f last, is dropped if some non-empty subset of the others that
   are left, of at most ``max_conditioning`` columns, makes g independent of the class.

A dropped column never comes back.  The cost is O(|S|^4) tests for each relevant column with three
conditioning columns: :class:`~etana.selection.FastOSFS` asks fewer questions.

This is what the authors' program (LOFS) does, with two repairs.  LOFS passes over columns whose *sum* is 0,
here they must be constant: a centred column is a column like any other.  LOFS inverts the covariance of the
conditioning set as it is, so that with an exactly duplicated column its answer is rounding noise; here a
column that the conditioning set determines is redundant.
"""

from typing import Any, ClassVar

import numpy as np

from etana.parameters import number, one_of, whole
from etana.selection.base import Stream, StreamingSelector, Target
from etana.selection.independence import ConditionalTest, CountTest, FisherZTest

__all__ = ["OSFS", "OSFSStream"]


class OSFS(StreamingSelector):
    """Online streaming feature selection by conditional independence.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of the independence tests.
    max_conditioning : int, default=3
        Largest number of columns to condition on.
    test : {"fisher_z", "g2", "chi2"}, default="fisher_z"
        ``"fisher_z"`` for numbers (the class is taken as a number: with more than two classes their order
        matters); ``"g2"`` or ``"chi2"`` for discrete columns.  :mod:`etana.selection.independence` has the
        formulas.  With few rows the counting tests cannot test and call columns redundant.
    levels : {"observed", "max"}, default="observed"
        Levels of a discrete column: the values seen, or 1 .. greatest value as in LOFS.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    selected_ : ndarray of int
        Selected columns, in order of arrival.
    n_features_in_ : int
        Columns seen so far.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana.selection import OSFS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OSFS().fit(X, y).selected_.tolist()
    [21, 22, 27]
    """

    _parameters: ClassVar = {
        "alpha": number(above=0, below=1),
        "max_conditioning": whole(1, 20),
        "test": one_of("fisher_z", "g2", "chi2"),
        "levels": one_of("observed", "max"),
    }

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        max_conditioning: int = 3,
        test: str = "fisher_z",
        levels: str = "observed",
        verbose: int | bool = False,
    ) -> None:
        self.alpha = alpha
        self.max_conditioning = max_conditioning
        self.test = test
        self.levels = levels
        self.verbose = verbose

    def _open(self, target: Target) -> Stream:
        return OSFSStream(self._conditional_test(target))

    def _conditional_test(self, target: Target) -> ConditionalTest:
        if self.test == "fisher_z":
            return FisherZTest(target, self.alpha, self.max_conditioning)
        return CountTest(target, self.test, self.alpha, self.max_conditioning, self.levels)


class OSFSStream(Stream):
    """OSFS in progress."""

    def __init__(self, test: ConditionalTest) -> None:
        super().__init__()
        self.test = test

    def check(self, X: Any, first: int) -> None:
        """Raise InputError if the test cannot take the values of X."""
        self.test.check(X, first)

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        for j in self.test.relevant(block):
            self.test.push(j)
            self.selected.append(first + j)
            self._drop_redundant()

    def _drop_redundant(self) -> None:
        left = list(range(len(self.selected)))
        for g in range(len(self.selected)):
            others = [h for h in left if h != g]
            if others and self.test.separated(g, others):
                left = others
        self._keep(left)

    def _keep(self, left: list[int]) -> None:
        """Forget all of the selected columns but these."""
        if len(left) < len(self.selected):
            self.test.keep(left)
            self.selected = [self.selected[g] for g in left]
