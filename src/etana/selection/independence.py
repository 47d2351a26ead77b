"""Tests of independence, plain and conditional, on columns of numbers.

Fisher's z (numbers; the class is one more number)
    a and b given S, |S| = k, n rows.  With the covariance C of the columns [a, b, S],

        P = C[ab,ab] - C[ab,S] C[S,S]^-1 C[S,ab],   r = P01 / sqrt(P00 P11),
        W = sqrt(n - k - 3) atanh(r),   p = 2 (1 - Phi(|W|)).

    *Reliability*: no minimum number of rows; with n <= k + 3, or with a column that is constant or determined
    by S (residual variance at most 1e-12 of the variance), r or W is undefined and the test does not find
    dependence.  Columns of S that determine each other count once.
G2 and chi2 (discrete codes)
    Counts O in a table |a| x |b| for each configuration of S that occurs, E from the margins inside it.

        G2 = 2 sum O ln(O / E)        chi2 = sum (|O - E| - c)^2 / E,   c = 0.5 where E < 10, else 0

    G2 has no correction; empty cells count 0.  *Degrees of freedom*: df = (|a|-1)(|b|-1) prod |s|, at least
    1, not reduced for empty cells or configurations.  p is the chi-squared tail.  *Reliability*: fewer than
    5 df rows are too few to test, and count as independence.  |a| is the number of values seen
    (``levels="observed"``) or the greatest value, all values then being 1, 2, ... (``levels="max"``, the
    rule of the LOFS programs, which also counts levels that never occur).
Symmetrical uncertainty (discrete codes)
    SU = 2 I(a; b) / (H(a) + H(b)), plug-in entropies, between 0 and 1; no test, only a strength.

"Independent" means p >= alpha.  For Fisher's z the streams ask the same as |r| < tanh(z / sqrt(n - k - 3)),
with z the normal quantile of 1 - alpha/2: a cutoff for each k, and no logarithm for each test.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy import sparse, special

from etana.errors import InputError
from etana.kernels import contingency, correlation
from etana.selection.base import Target

__all__ = [
    "CountTest",
    "FisherZTest",
    "IndependenceResult",
    "check_levels",
    "chi2",
    "encode",
    "fisher_z",
    "g2",
    "partial_correlation",
    "symmetrical_uncertainty",
    "uncertainty",
]

ROWS_PER_DOF = 5


@dataclass(frozen=True)
class IndependenceResult:
    """Outcome of a test: ``statistic``, ``p_value``, degrees of freedom (None for z), and ``testable``.

    Where the test is not possible ``testable`` is False, the statistic NaN and the p-value 1.
    """

    statistic: float
    p_value: float
    dof: int | None
    testable: bool

    def independent(self, alpha: float = 0.01) -> bool:
        """Whether the test at level ``alpha`` finds no dependence."""
        return self.p_value >= alpha


# ---------------------------------------------------------------------------------------------------------
# one test at a time


def partial_correlation(a: Any, b: Any, given: Any = None) -> float:
    """Correlation of ``a`` and ``b`` given the columns of ``given`` (n, k); NaN where undefined."""
    columns = np.column_stack([a, b] if given is None else [a, b, given]).astype(np.float64)
    centred = columns - columns.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    if (columns[:, :2] == columns[0, :2]).all(axis=0).any():
        return math.nan
    length[(columns == columns[0]).all(axis=0)] = np.inf  # a constant conditions on nothing
    unit = centred / length
    m = columns.shape[1]
    others = np.arange(2, m)
    return float(correlation.partial_correlation(unit.T @ unit, 0, 1, others, m - 2, np.empty((m, m))))


def fisher_z(a: Any, b: Any, given: Any = None) -> IndependenceResult:
    """Fisher's z test of ``a`` and ``b`` given the columns of ``given`` (n, k)."""
    k = 0 if given is None else np.asarray(given).reshape(len(a), -1).shape[1]
    r = partial_correlation(a, b, given)
    freedom = len(a) - k - 3
    if math.isnan(r) or freedom <= 0:
        return IndependenceResult(math.nan, 1.0, None, False)
    z = math.sqrt(freedom) * math.atanh(r) if abs(r) < 1.0 else math.copysign(math.inf, r)
    return IndependenceResult(z, math.erfc(abs(z) / math.sqrt(2.0)), None, True)


def g2(a: Any, b: Any, given: Any = None, levels: str = "observed") -> IndependenceResult:
    """G2 test of the discrete ``a`` and ``b`` given the columns of ``given`` (n, k)."""
    return _count_test("g2", a, b, given, levels)


def chi2(a: Any, b: Any, given: Any = None, levels: str = "observed") -> IndependenceResult:
    """Chi-squared test of the discrete ``a`` and ``b`` given the columns of ``given`` (n, k)."""
    return _count_test("chi2", a, b, given, levels)


def symmetrical_uncertainty(a: Any, b: Any) -> float:
    """SU of two discrete columns: 0 for independent ones, 1 where each determines the other."""
    return uncertainty(encode(np.asarray(a)), encode(np.asarray(b)))


# ---------------------------------------------------------------------------------------------------------
# discrete columns

Codes = tuple[np.ndarray, int]  # int64 codes from 0, and the number of levels


def encode(column: np.ndarray, levels: str = "observed") -> Codes:
    """Codes from 0, and their number, of a column that ``check_levels`` accepts."""
    if levels == "observed":
        values, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.int64), values.size
    return column.astype(np.int64) - 1, int(column.max())


def check_levels(X: Any, first: int, levels: str) -> None:
    """Raise InputError unless X, dense or CSC, holds whole numbers, for ``levels="max"`` from 1 on."""
    if sparse.issparse(X):
        values, column_of = X.data, np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        empty = np.flatnonzero(np.diff(X.indptr) < X.shape[0])  # columns with a 0 that is not stored
    else:
        values, column_of, empty = X, np.broadcast_to(np.arange(X.shape[1]), X.shape), np.array([])
    fractions = column_of[values != np.floor(values)]
    if fractions.size:
        raise InputError(
            f"column {first + fractions.min()} holds values that are not whole numbers; counting tests need "
            "discrete columns. Bin the data first (sklearn.preprocessing.KBinsDiscretizer), or use "
            "test='fisher_z'."
        )
    low = np.concatenate([column_of[values < 1], empty])
    if levels == "max" and low.size:
        raise InputError(
            f"column {first + int(low.min())} holds values below 1; levels='max' counts the levels 1 .. "
            "greatest value. Add a constant to the data, or use levels='observed'."
        )


def _count_test(kind: str, a: Any, b: Any, given: Any, levels: str) -> IndependenceResult:
    columns = np.column_stack([a, b] if given is None else [a, b, given])
    check_levels(columns, 0, levels)
    first, second, *others = (encode(column, levels) for column in columns.T)
    return _test_counts(kind, first, second, others)


def _test_counts(kind: str, a: Codes, b: Codes, given: Sequence[Codes]) -> IndependenceResult:
    n = a[0].size
    strata_levels = math.prod(levels for _, levels in given)
    dof = max(1, (a[1] - 1) * (b[1] - 1) * strata_levels)
    if n < ROWS_PER_DOF * dof:
        return IndependenceResult(math.nan, 1.0, dof, False)
    if a[1] == 1 or b[1] == 1:  # a constant is independent of everything; its table may be any size
        return IndependenceResult(0.0, 1.0, dof, True)
    strata = np.zeros(n, dtype=np.int64)
    for codes, levels in given:
        strata = strata * levels + codes
    table = np.empty((strata_levels, a[1], b[1]), dtype=np.int64)
    contingency.tabulate(a[0], b[0], strata, table)
    count = contingency.g2_statistic if kind == "g2" else contingency.chi2_statistic
    statistic = float(count(table))
    return IndependenceResult(statistic, float(special.gammaincc(dof / 2.0, statistic / 2.0)), dof, True)


def uncertainty(a: Codes, b: Codes) -> float:
    """Symmetrical uncertainty of two coded columns."""
    table = np.empty((1, a[1], b[1]), dtype=np.int64)
    contingency.tabulate(a[0], b[0], np.zeros(a[0].size, dtype=np.int64), table)
    return float(contingency.symmetrical_uncertainty(table))


# ---------------------------------------------------------------------------------------------------------
# the same tests over a stream of columns


class ConditionalTest(Protocol):
    """Kept columns, oldest first, and the questions that OSFS and Fast-OSFS ask about them."""

    def check(self, X: Any, first: int) -> None:
        """Raise InputError if the test cannot take the values of X, dense or CSC."""

    def relevant(self, block: np.ndarray) -> Iterator[int]:
        """The columns of ``block`` that depend on the class; the block is forgotten at the end."""

    def push(self, j: int) -> None:
        """Keep column ``j`` of the block that ``relevant`` walks through."""

    def keep(self, positions: Sequence[int]) -> None:
        """Forget all kept columns but these (ascending)."""

    def separated(self, v: int, others: Sequence[int], newest_only: bool = False) -> bool:
        """Whether some subset of ``others`` makes kept column ``v`` independent of the class.

        Subsets are non-empty and bounded in size; with ``newest_only`` they contain the last of ``others``.
        """


class FisherZTest:
    """Fisher's z over a stream.  Holds centred columns of unit length and their correlations; row 0 is y."""

    def __init__(self, target: Target, alpha: float, max_conditioning: int) -> None:
        n = target.numbers.size
        centred = target.numbers - target.numbers.mean()
        self._cutoffs = correlation_cutoffs(n, alpha, max_conditioning)
        self._columns = np.empty((8, n))
        self._columns[0] = centred / math.sqrt(float(centred @ centred))
        self._R = np.eye(8)
        self._size = 1
        self._scratch = (
            np.empty((2, max_conditioning + 1), dtype=np.int64),
            np.empty((max_conditioning + 3, max_conditioning + 3)),
        )

    def check(self, X: Any, first: int) -> None:
        """Any numbers will do."""

    def relevant(self, block: np.ndarray) -> Iterator[int]:
        """The columns of ``block`` that depend on the class."""
        b = block.shape[1]
        means, squares, products, varies = np.empty(b), np.empty(b), np.empty(b), np.empty(b, dtype=bool)
        correlation.column_means(block, means, varies)
        correlation.centred_moments(block, means, self._columns[0], squares, products)
        lengths = np.sqrt(squares)
        with np.errstate(invalid="ignore"):  # squares beyond the range of floats: undefined
            r = np.divide(products, lengths, out=np.zeros(b), where=varies & (lengths > 0))
        self._block = block, means, lengths, r
        yield from np.flatnonzero(np.abs(r) >= self._cutoffs[0]).tolist()
        del self._block

    @property
    def cutoff(self) -> float:
        """|r| from which two columns are dependent."""
        return float(self._cutoffs[0])

    def strength(self, j: int) -> float:
        """|r| between column ``j`` of the block and the class."""
        return abs(float(self._block[3][j]))

    def push(self, j: int) -> None:
        """Keep column ``j`` of the block."""
        block, means, lengths, r_y = self._block
        m = self._size
        if m == self._columns.shape[0]:
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
            wider = np.eye(2 * m)
            wider[:m, :m] = self._R
            self._R = wider
        column = self._columns[m]
        np.subtract(block[:, j], means[j], out=column)
        column /= lengths[j]
        r = self._columns[:m] @ column
        r[0] = r_y[j]
        self._R[m, :m] = r
        self._R[:m, m] = r
        self._size = m + 1

    def newest_against_older(self) -> np.ndarray:
        """|r| between the newest kept column and each older one."""
        m = self._size - 1
        return np.abs(self._R[m, 1:m])

    def keep(self, positions: Sequence[int]) -> None:
        """Forget all kept columns but these."""
        m = len(positions) + 1
        if m < self._size and (m == 1 or positions[-1] != m - 2):  # not simply the oldest m - 1
            rows = np.concatenate([[0], np.asarray(positions, dtype=np.int64) + 1])
            self._columns[:m] = self._columns[rows]
            self._R[:m, :m] = self._R[np.ix_(rows, rows)]
        self._size = m

    def separated(self, v: int, others: Sequence[int], newest_only: bool = False) -> bool:
        """Whether a subset of ``others`` makes kept column ``v`` independent of the class."""
        ids = np.array(others, dtype=np.int64)
        ids += 1
        return bool(correlation.separated(self._R, v + 1, ids, self._cutoffs, newest_only, *self._scratch))


def correlation_cutoffs(n: int, alpha: float, max_conditioning: int) -> np.ndarray:
    """|r| from which Fisher's z finds dependence, for 0 .. ``max_conditioning`` conditioning columns.

    |W| < z is |r| < tanh(z / sqrt(n - k - 3)); infinite where there are too few rows.
    """
    z = float(special.ndtri(1.0 - alpha / 2.0))
    freedom = n - 3.0 - np.arange(max_conditioning + 1)
    return np.array([math.tanh(z / math.sqrt(f)) if f > 0 else math.inf for f in freedom])


class CountTest:
    """G2 or chi2 over a stream.  Holds the codes of the kept columns."""

    def __init__(self, target: Target, kind: str, alpha: float, max_conditioning: int, levels: str) -> None:
        self._y: Codes = (target.codes, target.n_classes)
        self._kind, self._alpha, self._max, self._levels = kind, alpha, max_conditioning, levels
        self._kept: list[Codes] = []

    def check(self, X: Any, first: int) -> None:
        """Raise InputError unless X holds whole numbers."""
        check_levels(X, first, self._levels)

    def relevant(self, block: np.ndarray) -> Iterator[int]:
        """The columns of ``block`` that depend on the class."""
        for j in range(block.shape[1]):
            self._new = encode(block[:, j], self._levels)
            if not self._independent(self._new, ()):
                yield j
        del self._new

    def push(self, j: int) -> None:
        """Keep column ``j`` of the block."""
        self._kept.append(self._new)

    def keep(self, positions: Sequence[int]) -> None:
        """Forget all kept columns but these."""
        self._kept = [self._kept[p] for p in positions]

    def separated(self, v: int, others: Sequence[int], newest_only: bool = False) -> bool:
        """Whether a subset of ``others`` makes kept column ``v`` independent of the class."""
        return any(
            self._independent(self._kept[v], [self._kept[s] for s in subset])
            for k in range(1, min(self._max, len(others)) + 1)
            for subset in combinations(others, k)
            if not newest_only or subset[-1] == others[-1]
        )

    def _independent(self, column: Codes, given: Sequence[Codes]) -> bool:
        return _test_counts(self._kind, column, self._y, given).p_value >= self._alpha
