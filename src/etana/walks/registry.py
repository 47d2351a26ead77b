"""Compiled walks, registered for their pair of beliefs and policy."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from etana.beliefs.base import Beliefs
from etana.kernels.walk import Outcomes
from etana.policies.base import Policy
from etana.policies.expectation import Expectation
from etana.table import Table

__all__ = ["CompiledWalk", "Walked", "compiled_walk", "register"]


class Walked(NamedTuple):
    """What became of rows.

    Attributes
    ----------
    outcomes : Outcomes
    asked : array
        Columns that were asked, flat.
    starts : array (n,), or None
        Where each row's begin; None: all at 0.
    short : array (n,), or None
        Rows that may have stopped for want of money; None: no row did.
    """

    outcomes: Outcomes
    asked: np.ndarray
    starts: np.ndarray | None
    short: np.ndarray | None = None


class CompiledWalk(metaclass=ABCMeta):
    """Takes rows through a policy by compiled loops, with the same outcomes as :func:`etana.walks.generic.walk`."""

    @abstractmethod
    def walk(self, table: Table, budget: float = np.inf) -> Walked:
        """Take all rows through; one whose next feature does not fit the budget stops there and is short of money."""

    def expectation(self) -> Expectation | None:
        """What instances drawn from the beliefs pay and are asked; None if another way is better."""
        return None


# By the types themselves: a subclass may act otherwise, and takes the generic walk unless it registers its own.
_WALKS: dict[tuple[type, type], Callable[..., CompiledWalk | None]] = {}


def register(beliefs: type, policy: type, make: Callable[..., CompiledWalk | None]) -> None:
    """Use ``make(beliefs, policy)`` for this pair; it gives None where the compiled loops do not fit after all."""
    _WALKS[beliefs, policy] = make


def compiled_walk(beliefs: Beliefs, policy: Policy) -> CompiledWalk | None:
    """The compiled walk of a pair; None if there is none."""
    make = _WALKS.get((type(beliefs), type(policy)))
    return None if make is None else make(beliefs, policy)
