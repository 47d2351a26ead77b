"""A classifier for each prefix of an order, and rows on their way along it.

A *traveller* is a set of rows that have been asked the same number of features.  It does not change: ``after(values)``
gives the traveller that knows one feature more, with the posteriors there; ``take(rows)`` some of its rows. Those that
can travel:

* nearest neighbours (:mod:`etana.beliefs.prefixes.neighbours`): a traveller keeps distances to the training rows and
  adds to them;
* logistic regression (:mod:`etana.beliefs.prefixes.linear`): a traveller keeps its inputs;
* any scikit-learn classifier (:mod:`etana.beliefs.prefixes.estimators`): a traveller keeps the columns seen;
* boosted trees (:mod:`etana.beliefs.prefixes.boosting`), which take what is not known for missing;
* naive Bayes with smooth densities (:mod:`etana.beliefs.prefixes.densities`): a traveller adds up evidence;
* several of them together (:class:`Pool`).
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.errors import InputError
from etana.kernels.prefixes import add_tempered

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Pool", "PrefixMember", "Traveller", "shares_of", "travel"]

_SUM_TOLERANCE = 1e-6


def shares_of(codes: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    """Share of each class among weighted rows, (N,)."""
    return np.bincount(codes, weights, minlength=n_classes) / weights.sum()


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
class Pool(PrefixMember):
    """Several members on the same order, each made honest and heard by its share.

    Attributes
    ----------
    members : tuple of PrefixMember
    shares : array (K, M)
        Of each member after each feature; they sum to 1.
    temperatures : array (K, M)
        Of each member's own calibration; see :mod:`etana.beliefs.prefixes.calibration`.
    floor : float
        Share of the prior in every posterior.
    """

    members: tuple[PrefixMember, ...]
    shares: np.ndarray
    temperatures: np.ndarray
    floor: float

    @property
    def features(self) -> list[Feature]:  # type: ignore[override]
        """Their encodings, in the order of acquisition."""
        return self.members[0].features

    @property
    def prior(self) -> np.ndarray:  # type: ignore[override]
        """Share of each class among the training rows."""
        return self.members[0].prior

    @property
    def by_block(self) -> bool:  # type: ignore[override]
        """Whether rows are best taken in blocks."""
        return all(member.by_block for member in self.members)

    @property
    def words(self) -> str:
        """What it is, with the mean share of each."""
        means = self.shares.mean(axis=0) if len(self.shares) else np.full(len(self.members), 1 / len(self.members))
        parts = [f"{m.words} ({share:.0%})" for m, share in zip(self.members, means.tolist(), strict=True)]
        return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]

    def depart(self, n_rows: int) -> Traveller:
        """Rows that set out with every member."""
        return _Together(self, 0, tuple(member.depart(n_rows) for member in self.members))

    def pooled(self, k: int, posteriors: list[np.ndarray]) -> np.ndarray:
        """The members' posteriors after feature k, as one."""
        out = np.zeros(posteriors[0].shape)
        # A linear pool, not a product: where one is sure and wrong, the others are still heard.
        for one, share, t in zip(posteriors, self.shares[k].tolist(), self.temperatures[k].tolist(), strict=True):
            add_tempered(one, self.prior, t, self.floor, share, out)
        return out

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """All of them, one inside the other."""
        members = {f"member{i}": member for i, member in enumerate(self.members)}
        arrays = {"shares": self.shares, "temperatures": self.temperatures}
        return arrays, {"floor": self.floor, "n_members": len(self.members)} | members

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Pool:
        """The pool whose :meth:`state` this is."""
        n_members = stored.whole("n_members", 1, 16)
        shape = len(features), n_members
        shares = stored.within("shares", shape, 0.0, 1.0)
        if not (np.abs(shares.sum(axis=1) - 1.0) <= _SUM_TOLERANCE).all():
            raise InputError("the shares of the members do not sum to 1")
        # All are read with the same encodings; what they are made of checks itself.
        members = tuple(stored.part(f"member{i}", PrefixMember, features, n_classes) for i in range(n_members))
        temperatures = stored.within("temperatures", shape, 1e-6, 1e6)
        return cls(members, shares, temperatures, stored.number("floor", 1e-15, 1.0))


@dataclass(frozen=True)
class _Together(Traveller):
    pool: Pool
    stage: int
    travellers: tuple[Traveller, ...]

    def take(self, rows: np.ndarray) -> Traveller:
        return _Together(self.pool, self.stage, tuple(one.take(rows) for one in self.travellers))

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        steps = [one.after(values) for one in self.travellers]
        posteriors = self.pool.pooled(self.stage, [posteriors for _, posteriors in steps])
        return _Together(self.pool, self.stage + 1, tuple(traveller for traveller, _ in steps)), posteriors


def travel(member: PrefixMember, values: np.ndarray) -> np.ndarray:
    """Posteriors (K, n, N) of rows that are asked everything."""
    traveller = member.depart(len(values))
    stages = []
    for k in range(len(member.features)):
        # Feature by feature, as a case goes: what a walk learns from is what a case will see.
        traveller, posteriors = traveller.after(values[:, k])
        stages.append(posteriors)
    return np.array(stages).reshape(len(stages), len(values), member.prior.size)
