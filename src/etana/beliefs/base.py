"""Beliefs, and what a set of rows knows.

*Beliefs* are learnt once: they say how values bear on the class. *Knowledge* is what some rows know now: it begins with
nothing, and ``after(column, values)`` gives the knowledge of the same rows with one column more. Knowledge never
changes, so that a case can take an answer back by forgetting the last one, and a policy can look at what an answer
would lead to.

All rows of a knowledge know the same columns, each its own values. Rows that are asked different columns part, and go
on as two.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from etana.binning import Binner
from etana.errors import InputError
from etana.kernels import rules
from etana.kernels.walk import Bins, Cells

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Arrangement", "Beliefs", "BinnedBeliefs", "BinnedKnowledge", "Knowledge", "Possibility"]


class Knowledge(metaclass=ABCMeta):
    """What n rows know.

    Attributes
    ----------
    known : tuple of int
        Columns, in the order in which they became known.
    posteriors : array (n, N)
        Probability of each class for each row.
    logs : array (n, N)
        Logarithms of the posteriors, up to a constant for each row.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows there are."""

    # Annotated, not declared abstract: some keep them, others work them out.
    known: tuple[int, ...]
    posteriors: np.ndarray
    logs: np.ndarray
    stage: int = 0  # of an order that binds the beliefs: how much of it lies behind

    @abstractmethod
    def after(self, column: int, values: np.ndarray) -> Knowledge:
        """The same rows, each with its value (n,) of one column more; NaN where it is missing."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Knowledge:
        """Some of the rows: indices or a mask."""

    def before(self, column: int) -> Knowledge:
        """The same rows, just before they take in a column: where an order binds them, what lies between is missing."""
        return self

    def likelihoods(self, column: int) -> np.ndarray:
        """P(value v | class i, what is known) of each row, (n, V, N); only where values fall into bins."""
        raise InputError(f"{type(self).__name__} has no likelihoods: its beliefs put values into no bins")


class Arrangement(NamedTuple):
    """Values at hand, by column: those to take in, in this order, those that wait, and those of no use."""

    taken: tuple[int, ...]
    waiting: tuple[int, ...] = ()
    useless: tuple[int, ...] = ()


class Possibility(NamedTuple):
    """An answer that may come: in words, its chance (None where that is not known), and what would be known then."""

    words: str
    chance: float | None
    after: Knowledge


class Beliefs(metaclass=ABCMeta):
    """How values bear on the class.

    Attributes
    ----------
    n_features : int
        Columns that a table must have.
    priors : array (N,)
        Probability of each class before anything is known.
    levels : dict from column to array
        Labels of the categorical columns.
    """

    n_features: int
    priors: np.ndarray
    levels: dict[int, np.ndarray]
    has_likelihoods: ClassVar[bool] = False
    bound: ClassVar[bool] = False  # whether columns can be taken in along one order only

    @property
    @abstractmethod
    def words(self) -> str:
        """What kind of beliefs these are, for people."""

    def facts(self) -> list[tuple[str, str]]:
        """What people may want to know of them: names and values."""
        return [("beliefs", self.words)]

    @property
    def rows_at_once(self) -> int | None:
        """How many rows are best taken together; None for all of them."""
        return None

    @property
    @abstractmethod
    def columns(self) -> np.ndarray:
        """Columns that tell anything about the class."""

    @abstractmethod
    def begin(self, n_rows: int) -> Knowledge:
        """Rows that know nothing."""

    def arranged(self, given: Collection[int], asked: Sequence[int], closed: Collection[int] = ()) -> Arrangement:
        """How values at hand are taken in: those that came unasked (in any order), and those that were asked for.

        ``closed`` are columns that will not be asked. Unless an order binds the beliefs, what came unasked is taken in
        first, by column, so that the order in which it came does not matter.
        """
        # All is taken in: a column that tells nothing leaves the belief as it is.
        useless = sorted(set(given).difference(self.columns.tolist()))
        return Arrangement((*sorted(given), *asked), (), tuple(useless))

    def in_order(self, columns: np.ndarray) -> tuple[Bins, Cells] | None:
        """Bins and log likelihoods of some columns, as the kernels take them, where these add up to the belief whatever
        else is known; None where an answer means more or less after others."""
        return None

    def examples(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Training rows that these beliefs hold, as columns (C,) and codes (C, n); None if they hold none."""
        return None

    @abstractmethod
    def meaning(self, column: int, value: float) -> str:
        """What is understood of a value, in words."""

    @abstractmethod
    def range_of(self, column: int) -> tuple[float, float] | None:
        """Between which values it matters where a number lies; None for labels, or where it does not matter."""

    def seen_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric column; None for labels, or where that is not known."""
        return None

    @abstractmethod
    def possibilities(self, knowledge: Knowledge, column: int) -> list[Possibility]:
        """Answers that one row may give when it is asked for a column."""

    @abstractmethod
    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and plain values, all that :meth:`restore` needs: what a model file holds of these beliefs."""

    @classmethod
    @abstractmethod
    def restore(cls, stored: State, n_classes: int) -> Beliefs:
        """The beliefs whose :meth:`state` this is; everything in it is checked."""


class BinnedBeliefs(Beliefs):
    """Beliefs over values that fall into bins: they know the chance of every answer."""

    binner: Binner
    has_likelihoods: ClassVar[bool] = True

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns that a table must have."""
        return self.binner.n_features

    @property
    def levels(self) -> dict[int, np.ndarray]:  # type: ignore[override]
        """Labels of the categorical columns."""
        return self.binner.levels

    def facts(self) -> list[tuple[str, str]]:
        """The beliefs, and their bins."""
        bins, binner = np.diff(self.binner.cell_offsets), self.binner
        words = f"{binner.method}, {bins.min()} to {bins.max()} a feature; missing: {binner.missing}"
        return [*super().facts(), ("bins", words)]

    def range_of(self, column: int) -> tuple[float, float] | None:
        """The outermost edges of a column's bins; None for labels, or where all values share a bin."""
        return self.binner.range_of(column)

    def seen_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric column; None for labels, or where that is not known."""
        return self.binner.seen_range(column)

    def meaning(self, column: int, value: float) -> str:
        """The bin that a value falls into."""
        # Labels that were not seen, and what else is no evidence, have the code -1; the binner has words for that.
        code = int(self.binner.codes_of(column, np.array([value]))[0])
        return "missing" if np.isnan(value) else self.binner.describe(column, code)

    def possibilities(self, knowledge: Knowledge, column: int) -> list[Possibility]:
        """One for each bin that can come, in the order of values."""
        # P(v) = Delta(v) . pi, the denominator of the paper's Lemma 1: what each answer is weighed by in its Theorem 2.
        chances = (knowledge.likelihoods(column)[0] @ knowledge.posteriors[0]).tolist()
        return [
            Possibility(self.binner.describe(column, code), chances[code], self.after_code(knowledge, column, code))
            for code in range(len(chances))
            # An answer that no class gives cannot come, and would leave a belief that is nowhere.
            if chances[code] > 0
        ]

    def after_code(self, knowledge: Knowledge, column: int, code: int) -> Knowledge:
        """What is known when a column has a value of this code."""
        assert isinstance(knowledge, BinnedKnowledge)
        return knowledge.answered(column, np.full(knowledge.n_rows, code, dtype=np.int64))


class BinnedKnowledge(Knowledge):
    """What rows know whose values fall into bins: log beliefs, and answers as codes."""

    beliefs: BinnedBeliefs

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.logs)

    @cached_property
    def posteriors(self) -> np.ndarray:  # type: ignore[override]
        """Probability of each class for each row."""
        out = np.empty_like(self.logs)
        # By the instructions of the compiled walks, so that a case and a batch agree to the last bit.
        rules.normalise_rows(self.logs, out)
        return out

    def after(self, column: int, values: np.ndarray) -> Knowledge:
        """The same rows, each with its value of one column more."""
        return self.answered(column, self.beliefs.binner.codes_of(column, values))

    @abstractmethod
    def answered(self, column: int, codes: np.ndarray) -> Knowledge:
        """The same for answers that are coded already (n,); -1 is no evidence."""
