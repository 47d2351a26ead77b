"""SAOLA: selection by pairwise comparison (Yu, Wu, Ding, Pei 2014).

S is the selection, in order of arrival; f is the column that arrives; dep(.) is the strength of a column's
dependence on the class, and rho(f, g) that between two columns.

1. *Relevance*: f is passed over unless it depends on the class.
2. S <- S + [f].  For each older g, oldest first:

   * if f and g are independent, nothing happens;
   * if dep(g) >= dep(f) and rho(f, g) > dep(f), f is dropped and the loop ends;
   * if dep(f) > dep(g) and rho(f, g) > dep(g), g is dropped and the loop goes on.

What f has pushed out stays out, even if f is dropped later in the same loop.  Two strengths are offered:

* ``"fisher_z"``: |r|, and Fisher's z test at level ``alpha`` says what is independent;
* ``"su"``: symmetrical uncertainty of discrete columns; a value of at most ``threshold`` is independence, and
  the first rule asks for dep(g) > dep(f), so equal strengths keep both.

This is what the authors' program (LOFS) does; the publication bounds mutual information instead and drops f
for rho(f, g) >= dep(f).  LOFS passes over columns whose sum is 0, here they must be constant.  LOFS floors
the values for ``"su"``; here they must be whole numbers, so floor them first to get the same.  Two
uncertainties closer than 1e-12 count as equal, which makes ``"su"`` independent of how levels are coded.
"""

import math
from typing import Any, ClassVar

import numpy as np

from etana.parameters import number, one_of
from etana.selection.base import Stream, StreamingSelector, Target
from etana.selection.independence import Codes, FisherZTest, check_levels, encode, uncertainty

__all__ = ["SAOLA"]

EQUAL = 1e-12


class SAOLA(StreamingSelector):
    """Scalable and accurate online feature selection by pairwise dependence.

    Parameters
    ----------
    alpha : float, default=0.01
        Level of Fisher's z test; not used by ``test="su"``.
    test : {"fisher_z", "su"}, default="fisher_z"
        Strength of dependence: ``|r|`` for numbers (the class is taken as a number: with more than two classes
        their order matters), or symmetrical uncertainty for discrete columns.
    threshold : float, default=0.0
        Symmetrical uncertainty up to which columns count as independent; not used by ``test="fisher_z"``.
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
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from etana.selection import SAOLA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SAOLA().fit(X, y).selected_.tolist()
    [21, 27]
    >>> model = make_pipeline(SAOLA(), KNeighborsClassifier(3)).fit(X, y)
    """

    _parameters: ClassVar = {
        "alpha": number(above=0, below=1),
        "test": one_of("fisher_z", "su"),
        "threshold": number(least=0, below=1),
    }

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        test: str = "fisher_z",
        threshold: float = 0.0,
        verbose: int | bool = False,
    ) -> None:
        self.alpha = alpha
        self.test = test
        self.threshold = threshold
        self.verbose = verbose

    def _open(self, target: Target) -> Stream:
        if self.test == "fisher_z":
            return CorrelationStream(target, self.alpha)
        return UncertaintyStream(target, self.threshold)


class CorrelationStream(Stream):
    """SAOLA by |r| in progress."""

    def __init__(self, target: Target, alpha: float) -> None:
        super().__init__()
        self.test = FisherZTest(target, alpha, 0)
        self.strengths: list[float] = []

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        for j in self.test.relevant(block):
            self.test.push(j)
            self.selected.append(first + j)
            self.strengths.append(self.test.strength(j))
            self._compare()

    def _compare(self) -> None:
        new = self.strengths[-1]
        rho = self.test.newest_against_older()
        # Only pairs that are dependent and stronger than the weaker of the two can change anything.
        rivals = np.flatnonzero((rho >= self.test.cutoff) & (rho > np.minimum(self.strengths[:-1], new)))
        if rivals.size == 0:
            return
        gone = set()
        for g in rivals.tolist():
            if self.strengths[g] >= new:  # rho > new
                gone.add(len(self.selected) - 1)
                break
            gone.add(g)
        left = [g for g in range(len(self.selected)) if g not in gone]
        self.test.keep(left)
        self.selected = [self.selected[g] for g in left]
        self.strengths = [self.strengths[g] for g in left]


class UncertaintyStream(Stream):
    """SAOLA by symmetrical uncertainty in progress."""

    def __init__(self, target: Target, threshold: float) -> None:
        super().__init__()
        self.y: Codes = (target.codes, target.n_classes)
        self.threshold = threshold
        self.kept: list[tuple[int, float, Codes]] = []  # column, strength, codes

    def check(self, X: Any, first: int) -> None:
        """Raise InputError unless X holds whole numbers."""
        check_levels(X, first, "observed")

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        for j in range(block.shape[1]):
            codes = encode(block[:, j])
            strength = uncertainty(codes, self.y)
            if strength > self.threshold:
                self._compare(first + j, strength, codes)
        self.selected = [column for column, _, _ in self.kept]

    def _compare(self, column: int, strength: float, codes: Codes) -> None:
        left: list[tuple[int, float, Codes]] = []
        for t, old in enumerate(self.kept):
            rho = uncertainty(codes, old[2])
            difference = strength - old[1]
            equal = math.isclose(difference, 0.0, abs_tol=EQUAL)
            if rho > self.threshold and not equal and rho > min(strength, old[1]) + EQUAL:
                if difference < 0:
                    self.kept = left + self.kept[t:]
                    return
                continue
            left.append(old)
        self.kept = [*left, (column, strength, codes)]
