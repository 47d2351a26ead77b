"""A classifier for each prefix of an order, and rows on their way along it.

A *traveller* is a set of rows that have been asked the same number of features.  It does not change: ``after(values)``
gives the traveller that knows one feature more, with the posteriors there; ``take(rows)`` some of its rows. Those that
can travel:

* nearest neighbours (:mod:`etana.beliefs.prefixes.neighbours`): a traveller keeps distances to the training rows and
  adds to them;
* logistic regression (:mod:`etana.beliefs.prefixes.linear`): a traveller keeps its inputs;
* any scikit-learn classifier (:mod:`etana.beliefs.prefixes.estimators`): a traveller keeps the columns seen;
* two of them together (:class:`Blend`).
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.prefixes.encoding import Feature

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Blend", "PrefixMember", "Traveller", "travel"]


class Traveller(metaclass=ABCMeta):
    """Rows that know the same features."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Traveller:
        """Some of the rows."""

    @abstractmethod
    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        """The rows with one feature more, and their posteriors (m, N)."""


class PrefixMember(metaclass=ABCMeta):
    """A classifier for each stage of an order.

    Attributes
    ----------
    features : list of Feature
        Encodings of the columns, in the order of acquisition.
    prior : array (N,)
        Share of each class among the training rows.
    by_block : bool
        Whether rows are best taken in blocks, in threads; an estimator wants them all at once.
    """

    features: list[Feature]
    prior: np.ndarray
    by_block: ClassVar[bool] = True

    @property
    @abstractmethod
    def words(self) -> str:
        """What kind of classifier this is, for people."""

    @abstractmethod
    def depart(self, n_rows: int) -> Traveller:
        """Rows that know nothing yet."""

    @abstractmethod
    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and plain values of it; features are stored beside it."""

    @classmethod
    @abstractmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> PrefixMember:
        """The member whose :meth:`state` this is."""


@dataclass(frozen=True)
class Blend(PrefixMember):
    """Two members on the same order; the posteriors are ``1 - share`` of the first and ``share`` of the second."""

    first: PrefixMember
    second: PrefixMember
    share: float

    @property
    def features(self) -> list[Feature]:  # type: ignore[override]
        """Their encodings, in the order of acquisition."""
        return self.first.features

    @property
    def prior(self) -> np.ndarray:  # type: ignore[override]
        """Share of each class among the training rows."""
        return self.first.prior

    @property
    def by_block(self) -> bool:  # type: ignore[override]
        """Whether rows are best taken in blocks."""
        return self.first.by_block and self.second.by_block

    @property
    def words(self) -> str:
        """What it is."""
        return f"{self.first.words} and {self.second.words} ({self.share:.0%})"

    def depart(self, n_rows: int) -> Traveller:
        """Rows that set out twice."""
        return _Together(self.first.depart(n_rows), self.second.depart(n_rows), self.share)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Both, one inside the other."""
        return {}, {"share": self.share, "first": self.first, "second": self.second}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Blend:
        """The blend whose :meth:`state` this is."""
        # Both are read with the same encodings; what they are made of checks itself.
        first, second = (stored.part(name, PrefixMember, features, n_classes) for name in ("first", "second"))
        return cls(first, second, stored.number("share", 0.0, 1.0))


@dataclass(frozen=True)
class _Together(Traveller):
    first: Traveller
    second: Traveller
    share: float

    def take(self, rows: np.ndarray) -> Traveller:
        return _Together(self.first.take(rows), self.second.take(rows), self.share)

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        first, one = self.first.after(values)
        second, other = self.second.after(values)
        # A linear pool, not a product: where one of the two is sure and wrong, the other is still heard.
        return _Together(first, second, self.share), (1.0 - self.share) * one + self.share * other


def travel(member: PrefixMember, values: np.ndarray) -> np.ndarray:
    """Posteriors (K, n, N) of rows that are asked everything."""
    traveller = member.depart(len(values))
    stages = []
    for k in range(len(member.features)):
        # Feature by feature, as a case goes: what a walk learns from is what a case will see.
        traveller, posteriors = traveller.after(values[:, k])
        stages.append(posteriors)
    return np.array(stages).reshape(len(stages), len(values), member.prior.size)
