"""Any classifier as beliefs: one for each prefix of an order, its posteriors made honest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.base import Arrangement, Beliefs, Knowledge, Possibility
from etana.beliefs.prefixes.calibration import temper
from etana.beliefs.prefixes.encoding import Feature, feature_arrays, restore_features
from etana.beliefs.prefixes.travel import PrefixMember, Traveller
from etana.errors import InputError

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Prefixed"]

_ROWS_AT_ONCE = 512  # distances of so many rows stay near the processor


@dataclass(frozen=True)
class Prefixed(Beliefs):
    """A classifier on each prefix of an order.

    Columns become known in the order, and no others; one that is passed over counts as missing.

    Attributes
    ----------
    order : array (K,)
        Column indices.
    member : PrefixMember
        The classifiers.
    temperatures : array (K,)
        Of the calibration after each feature; see :mod:`etana.beliefs.prefixes.calibration`.
    floor : float
        Share of the prior in every posterior.
    levels : dict from column to array
        Labels of the categorical columns, of all of the table.
    n_features : int
        Columns that a table must have.
    """

    order: np.ndarray
    member: PrefixMember
    temperatures: np.ndarray
    floor: float
    levels: dict[int, np.ndarray]
    n_features: int
    bound: ClassVar[bool] = True

    @property
    def priors(self) -> np.ndarray:  # type: ignore[override]
        """Share of each class among the training rows."""
        return self.member.prior

    @property
    def words(self) -> str:
        """What these are."""
        return f"{self.member.words} on every prefix of the order"

    @property
    def columns(self) -> np.ndarray:
        """Columns of the order."""
        return self.order

    @property
    def rows_at_once(self) -> int | None:
        """Blocks, unless the classifier wants all rows together."""
        return _ROWS_AT_ONCE if self.member.by_block else None

    @cached_property
    def _places(self) -> dict[int, int]:
        return {column: k for k, column in enumerate(self.order.tolist())}

    def place_of(self, column: int) -> int | None:
        """Where a column stands in the order; None if it is not in it."""
        return self._places.get(column)

    def feature_of(self, column: int) -> Feature | None:
        """The encoding of a column of the order; None for another."""
        place = self._places.get(column)
        return None if place is None else self.member.features[place]

    def calibrated(self, k: int, posteriors: np.ndarray) -> np.ndarray:
        """Posteriors after feature k (counted from 0), made honest."""
        return temper(posteriors, self.priors, float(self.temperatures[k]), self.floor)

    def begin(self, n_rows: int) -> Knowledge:
        """Rows at the priors."""
        return _Along(self, (), self.member.depart(n_rows), np.tile(self.priors, (n_rows, 1)), 0)

    def arranged(self, given: Collection[int], asked: Sequence[int], closed: Collection[int] = ()) -> Arrangement:
        """By the order: a value that came unasked waits until all before it are known or will not be asked."""
        at_hand, reached = {*given, *asked}, max((self._places[column] for column in asked), default=-1)
        taken: list[int] = []
        waiting: list[int] = []
        open_ahead = False
        for place, column in enumerate(self.order.tolist()):
            if column in at_hand:
                (waiting if open_ahead else taken).append(column)
            elif place > reached and column not in closed:
                open_ahead = True
        return Arrangement(tuple(taken), tuple(waiting), tuple(sorted(at_hand.difference(self._places))))

    def meaning(self, column: int, value: float) -> str:
        """Where a number lies among the training rows, or the label."""
        feature = self.feature_of(column)
        return "missing" if np.isnan(value) else "no evidence" if feature is None else feature.meaning(value)

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric feature in the order; None for another."""
        feature = self.feature_of(column)
        return None if feature is None else feature.ends

    def seen_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric feature in the order; None for another."""
        return self.range_of(column)

    def possibilities(self, knowledge: Knowledge, column: int) -> list[Possibility]:
        """A low, a middling and a high number, or each label; how likely they are is not known."""
        feature = self.feature_of(column)
        assert feature is not None
        values, words = feature.examples()
        # One row that gives each answer: the same knowledge as many times as there are answers, taken on at once.
        after = knowledge.take(np.zeros(values.size, dtype=np.int64)).after(column, values)
        return [Possibility(text, None, after.take(np.array([i]))) for i, text in enumerate(words)]

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The order, the encodings, and the classifiers within."""
        arrays = {"order": self.order, "temperatures": self.temperatures} | feature_arrays(self.member.features)
        values = {
            "floor": self.floor, "n_features": self.n_features, "levels": self.levels, "member": self.member,
        }  # fmt: skip
        return arrays, values

    @classmethod
    def restore(cls, stored: State, n_classes: int) -> Prefixed:
        """The beliefs whose :meth:`state` this is."""
        n_features = stored.whole("n_features", 1, 2**53)
        levels = stored.levels("levels", n_features)
        order = stored.array("order", (None,), np.int64)
        if np.unique(order).size != order.size or (order < 0).any() or (order >= n_features).any():
            raise InputError("the order holds a column twice, or one that is not there")
        features = restore_features(stored, [levels.get(column) for column in order.tolist()])
        temperatures = stored.within("temperatures", order.shape, 1e-6, 1e6)
        # Encodings are checked before the classifiers, which are checked against their widths.
        member = stored.part("member", PrefixMember, features, n_classes)
        return cls(order, member, temperatures, stored.number("floor", 1e-15, 1.0), levels, n_features)


@dataclass(frozen=True)
class _Along(Knowledge):
    """Rows that have come so far along the order."""

    beliefs: Prefixed
    known: tuple[int, ...]
    traveller: Traveller
    posteriors: np.ndarray
    stage: int  # features of the order that lie behind, known or passed over

    @property
    def n_rows(self) -> int:
        return len(self.posteriors)

    @cached_property
    def logs(self) -> np.ndarray:  # type: ignore[override]
        with np.errstate(divide="ignore"):
            return np.log(self.posteriors)

    def before(self, column: int) -> Knowledge:
        place = self.beliefs._places.get(column, -1)
        if place < self.stage:
            # There is a classifier for each prefix and for no other set of columns.
            raise InputError(
                f"column {column} cannot be taken in now: the classifier underneath knows the columns "
                f"{self.beliefs.order.tolist()} in this order, and {self.stage} of them lie behind"
            )
        if place == self.stage:
            return self
        here, nothing = self, np.full(self.n_rows, np.nan)
        while here.stage < place:
            here = here._further(nothing, self.known)
        return here

    def after(self, column: int, values: np.ndarray) -> Knowledge:
        here = self.before(column)
        assert isinstance(here, _Along)
        return here._further(values, (*self.known, column))

    def _further(self, values: np.ndarray, known: tuple[int, ...]) -> _Along:
        traveller, posteriors = self.traveller.after(values)
        honest = self.beliefs.calibrated(self.stage, posteriors)
        return _Along(self.beliefs, known, traveller, honest, self.stage + 1)

    def take(self, rows: np.ndarray) -> Knowledge:
        return replace(self, traveller=self.traveller.take(rows), posteriors=self.posteriors[rows])
