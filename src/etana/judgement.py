"""What a model paid on rows that it had not seen, beside what it expects itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Judgement"]


@dataclass(frozen=True)
class Judgement:
    """Means over training rows that neither the model nor the choice of its kind had seen.

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
        cost, error, n_features, nothing = (
            stored.number(name, 0.0) for name in ("cost", "standard_error", "n_features", "nothing")
        )
        return cls(cost, error, n_features, stored.number("accuracy", 0.0, 1.0 + 1e-9), nothing)
