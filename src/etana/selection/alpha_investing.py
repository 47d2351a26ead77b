"""Alpha-Investing: regression with a budget of false discoveries (Zhou, Foster, Stine, Ungar 2005).

The class is regressed on the kept columns S by least squares; E is the residual sum of squares, n the number
of rows, w the wealth.  For the column at position i = 1, 2, ... of the stream

    a = w / (2 i),   E' = RSS of the class on S + [column],   p = exp((E' - E) / (2 E / n))

and the column is kept if p < a, which is 1 - E'/E > (2/n) ln(1/a).  A kept column earns: w <- w + payout - a;
a refused one costs: w <- w - a.  Nothing is ever dropped.  p is a likelihood ratio taken as a p-value.

Where S begins is the one difference between publication and program:

* ``start="first"``, the authors' program (LOFS): it takes the first column for the constant that nobody puts
  there, so the *first feature is always selected* and there is *no intercept*;
* ``start="intercept"``, the publication: S begins with a constant, and every feature is tested.

The answer depends on the numbers that stand for the classes (also on y + 1 against y, without an intercept)
and on the scale of the columns.  Numeric classes are used as they are; others become 1 .. K in sorted order.

With a first column of zeros the program divides by a singular matrix and from then on refuses everything:
its selection is that one column.  By default (``zero_start="skip"``) columns of zeros are passed over and
the first other one begins S; ``zero_start="stop"`` gives the program's answer.

Numerics: an orthonormal basis of S and the residual of the class are kept.  With x the column, x' its part
orthogonal to S and e the residual, E' = E - (x.e)^2 / x'.x', where x'.x' = x.x - sum_b (b.x)^2.  The
subtraction is precise enough to refuse a column; one that is nearly kept, or nearly inside the span of S, is
orthogonalised in two Gram-Schmidt sweeps, and refused if less than 1e-10 of its length is left.
"""

import math
from typing import ClassVar

import numpy as np

from etana.kernels.correlation import weighted_sums
from etana.parameters import number, one_of
from etana.selection.base import Stream, StreamingSelector, Target

__all__ = ["AlphaInvesting"]

INSIDE_SPAN = 1e-10  # share of a column's length that is rounding noise
CANCELLED = 1e-6  # share of its squared length below which the subtraction is not precise
EXACT_FIT = 1e-24  # share of the class's squared length at which nothing is left to explain


class AlphaInvesting(StreamingSelector):
    """Streamwise feature selection that invests its error budget.

    Parameters
    ----------
    wealth : float, default=0.5
        Initial budget.
    payout : float, default=0.5
        What a kept column adds to it.
    start : {"first", "intercept"}, default="first"
        What the regression begins with: the first feature, without an intercept, as in the authors' program;
        or a constant, as in the publication.
    zero_start : {"skip", "stop"}, default="skip"
        With ``start="first"`` and a first column of zeros: begin with the first other column, or select that
        one column only, as the authors' program does.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    selected_ : ndarray of int
        Selected columns, in order of arrival.
    wealth_ : float
        The budget that is left.
    n_features_in_ : int
        Columns seen so far.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana.selection import AlphaInvesting
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> len(AlphaInvesting().fit(X, y).selected_)
    20
    >>> len(AlphaInvesting(start="intercept").fit(X, y).selected_)
    19
    """

    _parameters: ClassVar = {
        "wealth": number(above=0, most=1),
        "payout": number(above=0, most=1),
        "start": one_of("first", "intercept"),
        "zero_start": one_of("skip", "stop"),
    }

    def __init__(
        self,
        wealth: float = 0.5,
        payout: float = 0.5,
        *,
        start: str = "first",
        zero_start: str = "skip",
        verbose: int | bool = False,
    ) -> None:
        self.wealth = wealth
        self.payout = payout
        self.start = start
        self.zero_start = zero_start
        self.verbose = verbose

    def _open(self, target: Target) -> Stream:
        return InvestingStream(target, self.wealth, self.payout, self.start, self.zero_start)

    @property
    def wealth_(self) -> float:
        """The budget that is left."""
        return self._stream.wealth  # type: ignore[attr-defined]


class InvestingStream(Stream):
    """Alpha-Investing in progress."""

    def __init__(self, target: Target, wealth: float, payout: float, start: str, zero_start: str) -> None:
        super().__init__()
        n = target.numbers.size
        self.wealth = wealth
        self.payout = payout
        self.residual = target.numbers.copy()
        self.error = float(self.residual @ self.residual)
        self.exact = EXACT_FIT * self.error
        self.basis = np.empty((0, n))
        self.begun = start == "intercept"
        self.stops_at_zero = zero_start == "stop"
        self.stopped = False
        if self.begun:
            self._extend(np.full(n, 1.0 / math.sqrt(n)))

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        width = block.shape[1]
        j = 0
        while j < width and not self.begun and not self.stopped:
            self._begin(block[:, j], first + j)
            j += 1
        while j < width and not self.stopped:
            j = self._until_kept(block, j, first)

    def _begin(self, column: np.ndarray, position: int) -> None:
        length = math.sqrt(float(column @ column))
        if length > 0.0:
            self.selected.append(position)
            self._extend(column / length)
            self.begun = True
        elif self.stops_at_zero:
            self.selected.append(position)
            self.stopped = True
        else:
            self.wealth -= self.wealth / (2.0 * (position + 1))

    def _until_kept(self, block: np.ndarray, start: int, first: int) -> int:
        """Refuse columns up to the next one that is kept; the column after it."""
        n, width = block.shape
        sums, squares = np.empty((self.basis.shape[0] + 1, width)), np.empty(width)
        weighted_sums(block, start, np.vstack([self.residual, self.basis]), sums, squares)
        orthogonal = squares - (sums[1:] ** 2).sum(axis=0)
        sure = orthogonal > CANCELLED * squares
        gains = np.divide(sums[0] ** 2, orthogonal, out=np.full(width, math.inf), where=sure)
        for j in range(start, width):
            alpha = self.wealth / (2.0 * (first + j + 1))
            needed = self.error * 2.0 / n * math.log(1.0 / alpha)
            if gains[j] > 0.999 * needed and squares[j] > 0.0 and self._try(block[:, j], needed):
                self.selected.append(first + j)
                self.wealth += self.payout - alpha
                return j + 1
            self.wealth -= alpha
        return width

    def _try(self, column: np.ndarray, needed: float) -> bool:
        """Keep the column if it lowers the error by more than ``needed``."""
        if self.error <= self.exact:
            return False
        left = column - self.basis.T @ (self.basis @ column)
        left -= self.basis.T @ (self.basis @ left)
        length = math.sqrt(float(left @ left))
        if length < INSIDE_SPAN * math.sqrt(float(column @ column)):
            return False
        unit = left / length
        if not float(unit @ self.residual) ** 2 > needed:
            return False
        self._extend(unit)
        return True

    def _extend(self, unit: np.ndarray) -> None:
        self.basis = np.vstack([self.basis, unit])
        self.residual = self.residual - float(unit @ self.residual) * unit
        self.error = float(self.residual @ self.residual)
