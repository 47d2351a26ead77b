"""Votes of the nearest training rows, on each prefix of the order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import PrefixMember, Traveller, shares_of
from etana.errors import InputError
from etana.kernels import neighbours as kernel

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Neighbours"]

_MOST_NEIGHBOURS = 2**16
_FARTHEST = 1e12  # of an encoded value; squares of it can be added up in single precision


@dataclass(frozen=True)
class Neighbours(PrefixMember):
    """Nearest neighbours among the training rows, ``sizes[k]`` of them after feature k.

    Attributes
    ----------
    columns : list of arrays (w, n)
        Encoded training rows, one array for each feature.
    codes, weights : array (n,)
        Their classes, and how much the vote of each counts: 1 on average.
    sizes : array (K,)
    """

    features: list[Feature]
    columns: list[np.ndarray]
    codes: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    prior: np.ndarray

    @classmethod
    def of(
        cls, features: list[Feature], values: np.ndarray, codes: np.ndarray, sizes: np.ndarray, n_classes: int,
        weights: np.ndarray | None = None,
    ) -> Neighbours:  # fmt: skip
        """Of training values (n, K) in the order of acquisition."""
        columns = [np.ascontiguousarray(f.scaled(values[:, k]).T) for k, f in enumerate(features)]
        votes = np.ones(codes.size) if weights is None else weights / weights.mean()
        return cls(features, columns, codes, votes, sizes, shares_of(codes, n_classes, votes))

    @property
    def words(self) -> str:
        """What it is."""
        return "nearest neighbours"

    def depart(self, n_rows: int) -> Traveller:
        """Rows at distance 0 from everything."""
        return _Distances(self, 0, np.zeros((n_rows, self.codes.size), dtype=np.float32))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Training rows are part of it."""
        none = np.empty((0, self.codes.size), dtype=np.float32)
        arrays = {"columns": np.concatenate([none, *self.columns]), "codes": self.codes, "weights": self.weights}
        return arrays | {"sizes": self.sizes}, {}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Neighbours:
        """The neighbours whose :meth:`state` this is."""
        codes = stored.classes("codes", (None,), n_classes)
        if not codes.size:
            raise InputError("there are no neighbours")
        weights = stored.within("weights", codes.shape, 0.0, float(codes.size))
        if not weights.any():
            raise InputError("no neighbour has a vote")
        widths = [f.width for f in features]
        columns = stored.array("columns", (sum(widths), codes.size), np.float32)
        # Squares of differences are summed in single precision, and must not overflow there.
        if not (np.abs(columns) <= _FARTHEST).all():
            raise InputError("a neighbour is too far away")
        sizes = stored.array("sizes", (len(features),), np.int64)
        if (sizes < 1).any() or (sizes > _MOST_NEIGHBOURS).any():
            raise InputError(f"the number of neighbours is not between 1 and {_MOST_NEIGHBOURS}")
        ends = np.cumsum(widths, dtype=np.int64)
        parts = [np.ascontiguousarray(columns[end - width : end]) for width, end in zip(widths, ends, strict=True)]
        return cls(features, parts, codes, weights, sizes, shares_of(codes, n_classes, weights))


@dataclass(frozen=True)
class _Distances(Traveller):
    neighbours: Neighbours
    stage: int
    distances: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Distances(self.neighbours, self.stage, self.distances[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.neighbours, self.stage
        added = of.features[k].scaled(values)
        # Squared distances add up feature by feature; the copy keeps the traveller that came here as it was.
        distances = self.distances.copy()
        posteriors = np.empty((len(values), of.prior.size))
        voters = kernel.Voters(of.codes, of.weights)
        kernel.nearest(distances, added, of.columns[k], voters, of.prior, int(of.sizes[k]), posteriors)
        return _Distances(of, k + 1, distances), posteriors
