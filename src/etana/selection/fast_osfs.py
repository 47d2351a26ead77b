"""Fast-OSFS: OSFS with the new column tested first (Wu, Yu, Ding, Wang, Zhu 2013).

S is the selection, in order of arrival; f is the column that arrives.

1. *Relevance*: f is passed over unless it depends on the class.
2. f is discarded if some non-empty subset of S, of at most ``max_conditioning`` columns, makes it
   independent of the class.
3. Otherwise S <- S + [f], and each older g, oldest first, is dropped if some such subset of the others that
   are left, *one that contains f*, makes g independent of the class.  Subsets without f were tried when
   their newest member came.

The cost is O(|S|^3) tests for each relevant column with three conditioning columns.

This is what the authors' program (LOFS) does, with the two repairs that :mod:`etana.selection.osfs` names.
The program tests f itself again at the end of step 3, against subsets that step 2 has passed already; that
changes nothing and is left out.
"""

import numpy as np

from etana.selection.base import Stream, Target
from etana.selection.osfs import OSFS, OSFSStream

__all__ = ["FastOSFS"]


class FastOSFS(OSFS):
    """Fast online streaming feature selection by conditional independence.

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
    >>> from etana.selection import FastOSFS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> FastOSFS().fit(X, y).selected_.tolist()
    [20, 21, 23, 27]
    """

    def _open(self, target: Target) -> Stream:
        return FastOSFSStream(self._conditional_test(target))


class FastOSFSStream(OSFSStream):
    """Fast-OSFS in progress."""

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        for j in self.test.relevant(block):
            old = range(len(self.selected))
            self.test.push(j)
            if self.selected and self.test.separated(len(old), old):
                self.test.keep(old)
            else:
                self.selected.append(first + j)
                self._drop_redundant()

    def _drop_redundant(self) -> None:
        left = list(range(len(self.selected)))
        for g in range(len(self.selected) - 1):
            others = [h for h in left if h != g]
            if self.test.separated(g, others, newest_only=True):
                left = others
        self._keep(left)
