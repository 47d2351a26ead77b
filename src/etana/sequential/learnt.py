"""What a fit finds and new prices do not change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from etana.sequential.calibration import temper
from etana.sequential.prefixes import Prefixes

__all__ = ["Learnt"]


@dataclass(frozen=True)
class Learnt:
    """An order, a classifier on each prefix of it, and the walks that stopping rules are learnt from.

    Attributes
    ----------
    columns : array (K,)
        Column indices in the order of acquisition.
    prefixes : Prefixes
    temperatures : array (K,)
    floor : float
    walks : array (K + 1, n, N), or None
        Calibrated posteriors of training rows by stage; None if they were not kept, and new prices are not possible.
    codes : array (n,), or None
        Classes of those rows.
    """

    columns: np.ndarray
    prefixes: Prefixes
    temperatures: np.ndarray
    floor: float
    walks: np.ndarray | None
    codes: np.ndarray | None

    def calibrated(self, k: int, posteriors: np.ndarray) -> np.ndarray:
        """Posteriors after feature k (counted from 0), made honest."""
        return temper(posteriors, self.prefixes.prior, float(self.temperatures[k]), self.floor)
