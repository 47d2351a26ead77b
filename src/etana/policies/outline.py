"""A policy as a reader meets it where answers have no known chances: questions in order, and where they part.

Where beliefs know how likely each answer is, a policy can be read answer by answer (:mod:`etana.reading`). Others know
how many of the training walks came to each question, and how sure one must be to decide there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Step", "certainty"]

_FINENESS = 401  # beliefs that are tried on the way to a corner


class Step(NamedTuple):
    """A question, or the end of a way on which none is asked.

    Attributes
    ----------
    parent : int
        The step before it, which stands before it in the outline too; -1 for the first.
    answer : str
        The answer that leads here; empty where whoever was asked the last question and does not stop goes on.
    reach, asked : float
        Share of the rows that come here, and that are asked and do not stop.
    asks : int
        The column; -1 where nothing is asked.
    price : float
    belief : array (N,)
        Shares of the classes among the rows whose order this is.
    sure : array (N,)
        Instead of asking, each class is decided for from this certainty on, the others being as likely as in
        ``belief``; above 1: never. Who is less sure may be past help, and be decided for too.
    """

    parent: int
    answer: str
    reach: float
    asked: float
    asks: int
    price: float
    belief: np.ndarray
    sure: np.ndarray


def certainty(stops: Callable[[np.ndarray], np.ndarray], belief: np.ndarray) -> np.ndarray:
    """How sure of each class one must be for a rule to stop there and at every greater certainty; 2 if it never does.

    ``stops`` takes beliefs (n, N). Other classes keep the proportions that they have in ``belief``.
    """
    n = belief.size
    levels = np.linspace(0.0, 1.0, _FINENESS)
    out = np.empty(n)
    for i in range(n):
        others = np.where(np.arange(n) == i, 0.0, belief)
        others = others / others.sum() if others.any() else np.where(np.arange(n) == i, 0.0, 1.0 / max(n - 1, 1))
        beliefs = levels[:, None] * (np.arange(n) == i) + (1.0 - levels[:, None]) * others
        beliefs[-1] = np.arange(n) == i
        going = np.flatnonzero(~np.asarray(stops(beliefs)))
        last = -1 if not going.size else int(going[-1])
        out[i] = levels[last + 1] if last + 1 < levels.size else 2.0
    return out
