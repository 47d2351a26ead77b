"""What a model paid on rows that it had not seen, beside what it expects itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["HeldOutRows", "Judgement", "error_of_mean"]


class HeldOutRows(NamedTuple):
    """What rows paid by something that had not seen them: what each pays, features and mistakes, how many features it
    is asked, whether it is decided right, what it pays if nothing is asked, and its weight; rows that were dealt
    several times are counted once in ``n_rows``."""

    paid: np.ndarray
    asked: np.ndarray
    right: np.ndarray
    nothing: np.ndarray
    weights: np.ndarray
    n_rows: float

    def judgement(self) -> Judgement:
        """Averages over the rows."""
        cost, *others = (float(np.average(numbers, weights=self.weights)) for numbers in self[:4])
        return Judgement(cost, error_of_mean(self.paid, self.weights, self.n_rows), *others)

    def above(self, other: HeldOutRows) -> tuple[float, float]:
        """How much dearer than the same rows on another way, and one standard error of that."""
        extra = self.paid - other.paid
        return float(np.average(extra, weights=self.weights)), error_of_mean(extra, self.weights, self.n_rows)


@dataclass(frozen=True)
class Judgement:
    """Means over training rows that were held out: what they walked by had not seen them.

    A classifier that was chosen among several has rows that the choice had not seen either.

    Attributes
    ----------
    cost, standard_error : float
        Paid for features and mistakes.
    n_features, accuracy : float
    nothing : float
        What the same rows pay if nothing is asked.
    """

    cost: float
    standard_error: float
    n_features: float
    accuracy: float
    nothing: float

    @property
    def pays(self) -> bool:
        """Whether asking is cheaper than asking nothing."""
        return self.cost < self.nothing

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a model file holds of it."""
        return {}, asdict(self)

    @classmethod
    def restore(cls, stored: State) -> Judgement:
        """The judgement whose :meth:`state` this is."""
        cost, n_features, nothing = (stored.number(name, 0.0) for name in ("cost", "n_features", "nothing"))
        error = stored.number("standard_error", 0.0, finite=False)  # of costs beyond 1e150 it is infinite
        return cls(cost, error, n_features, stored.number("accuracy", 0.0, 1.0 + 1e-9), nothing)


def error_of_mean(numbers: np.ndarray, weights: np.ndarray, n_rows: float) -> float:
    """One standard error of a weighted mean over so many rows."""
    mean = np.average(numbers, weights=weights)
    return float(np.sqrt(np.average((numbers - mean) ** 2, weights=weights) / n_rows))
