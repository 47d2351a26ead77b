"""Regions of instances, each with classifiers of its own.

Where one feature says which others matter, one order cannot serve all. A *region* is a set of instances that know the
same columns and lie on the same side of every split so far; it has an order that begins with those columns, and
classifiers on every prefix of it (:class:`~etana.beliefs.prefixes.belief.Prefixed`). As soon as the column that a
region is split on is known, an instance belongs to one of its two halves.

A value counts at once, whenever it comes: what is not known of the prefix that it ends is taken for missing. So it does
not matter in which order values come. Where only the halves of a region have classifiers for a value, and the column of
the split is not known, the belief is that of both halves, each by its share of the training rows::

    P(class | values) = share_inside P_inside(class | values) + share_outside P_outside(class | values)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge, Possibility
from etana.beliefs.prefixes.belief import Prefixed
from etana.beliefs.prefixes.travel import Traveller
from etana.errors import InputError

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Committee", "Parted", "Region", "Split"]

_MOST_REGIONS = 2**12
_SHARE_TOLERANCE = 1e-9


class Split(NamedTuple):
    """Where a region falls into two: values of a column from ``least`` to ``most``, and all others, missing included.

    ``inside`` and ``outside`` are the regions that follow.
    """

    column: int
    least: float
    most: float
    inside: int
    outside: int

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Which values lie inside."""
        return (values >= self.least) & (values <= self.most)


@dataclass(frozen=True)
class Region:
    """Classifiers along an order, of which ``entered`` columns are known to all who come here; and where it parts.

    ``share`` is what a half has of the training rows of the region that it is a half of.
    """

    chain: Prefixed
    entered: int
    split: Split | None = None
    share: float = 1.0


@dataclass(frozen=True)
class Committee(Beliefs):
    """Regions; all instances begin in the first.

    Attributes
    ----------
    regions : tuple of Region
        Halves stand behind the region that they are halves of.
    """

    regions: tuple[Region, ...]

    @property
    def _first(self) -> Prefixed:
        return self.regions[0].chain

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns that a table must have."""
        return self._first.n_features

    @property
    def levels(self) -> dict[int, np.ndarray]:  # type: ignore[override]
        """Labels of the categorical columns."""
        return self._first.levels

    @property
    def priors(self) -> np.ndarray:  # type: ignore[override]
        """Share of each class among the training rows."""
        return self._first.priors

    @property
    def words(self) -> str:
        """What these are."""
        return f"{self._first.member.words}, apart in {sum(r.split is None for r in self.regions)} regions"

    @cached_property
    def columns(self) -> np.ndarray:
        """Columns of all orders."""
        return np.unique(np.concatenate([region.chain.order for region in self.regions]))

    @property
    def rows_at_once(self) -> int | None:
        """As the first region."""
        return self._first.rows_at_once

    @cached_property
    def dropped(self) -> list[list[int]]:
        """Columns that are known to all who come to a region, and that its order does without; of each region."""
        out: list[list[int]] = [[] for _ in self.regions]
        for i, region in enumerate(self.regions):
            if region.split is not None:
                way = [*out[i], *region.chain.order.tolist()]
                for half in (region.split.inside, region.split.outside):
                    out[half] = [column for column in way if column not in self.regions[half].chain.order]
        return out

    @cached_property
    def behind(self) -> list[frozenset[int]]:
        """Columns that only orders behind the split of a region have; of each region."""
        out: list[frozenset[int]] = [frozenset()] * len(self.regions)
        # Halves stand behind the region that they are halves of.
        for i in range(len(self.regions) - 1, -1, -1):
            split = self.regions[i].split
            if split is not None:
                orders = (self.regions[half].chain.order.tolist() for half in (split.inside, split.outside))
                both = out[split.inside].union(out[split.outside], *orders)
                out[i] = both.difference(self.regions[i].chain.order.tolist())
        return out

    def begin(self, n_rows: int) -> Knowledge:
        """Rows at the priors."""
        return Parted(self, (), {}, (self._arrive(0, np.arange(n_rows), {}),))

    def _arrive(self, index: int, rows: np.ndarray, values: dict[int, np.ndarray]) -> Part:
        """Some rows in a region, by all that is known of them."""
        region = self.regions[index]
        order = region.chain.order.tolist()
        stage = max((place + 1 for place, column in enumerate(order) if column in values), default=region.entered)
        traveller = region.chain.member.depart(rows.size)
        posteriors = np.tile(region.chain.priors, (rows.size, 1))
        nothing = np.full(rows.size, np.nan)
        for place in range(stage):
            known = values.get(order[place])
            traveller, raw = traveller.after(nothing if known is None else known[rows])
            if place == stage - 1:
                posteriors = region.chain.calibrated(place, raw)
        return Part(index, rows, stage, traveller, posteriors)

    def settled(self, part: Part, values: dict[int, np.ndarray]) -> list[Part]:
        """Rows of a region and of those that follow it, each as far as what is known leads."""
        split = self.regions[part.region].split
        if split is None:
            return [part]
        if split.column not in values:
            return [part if self.behind[part.region].isdisjoint(values) else self._blended(part, values)]
        within = split.holds(values[split.column][part.rows])
        out = []
        for side, index in ((within, split.inside), (~within, split.outside)):
            if side.any():
                out += self.settled(self._arrive(index, part.rows[side], values), values)
        return out

    def halves(self, part: Part, values: dict[int, np.ndarray]) -> list[tuple[float, Part]]:
        """Rows of a region that is split, as if all were inside and as if all were outside, and the share of each."""
        split = self.regions[part.region].split
        assert split is not None
        return [
            (self.regions[half].share, settled)
            for half in (split.inside, split.outside)
            for settled in self.settled(self._arrive(half, part.rows, values), values)
        ]

    def _blended(self, part: Part, values: dict[int, np.ndarray]) -> Part:
        """The same rows with the belief of both halves, for those whose side is not known."""
        posteriors = np.zeros_like(part.posteriors)
        for share, half in self.halves(part, values):
            posteriors[np.searchsorted(part.rows, half.rows)] += share * half.posteriors
        return part._replace(posteriors=posteriors)

    def words_of(self, split: Split) -> tuple[str, str]:
        """What lies inside of a split, and what outside."""
        labels = self.levels.get(split.column)
        if labels is not None:
            within = [str(label) for code, label in enumerate(labels) if split.least <= code <= split.most]
            return " or ".join(within), "another or missing"
        if split.least == -np.inf:
            return f"≤ {split.most:.4g}", f"> {split.most:.4g} or missing"
        if split.most == np.inf:
            return f"≥ {split.least:.4g}", f"< {split.least:.4g} or missing"
        return f"{split.least:.4g} to {split.most:.4g}", "another or missing"

    def _chain_of(self, column: int) -> Prefixed | None:
        return next((region.chain for region in self.regions if column in region.chain.order), None)

    def meaning(self, column: int, value: float) -> str:
        """Where a number lies among the training rows, or the label."""
        chain = self._chain_of(column)
        return self._first.meaning(column, value) if chain is None else chain.meaning(column, value)

    def range_of(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric feature; None for another."""
        chain = self._chain_of(column)
        return None if chain is None else chain.range_of(column)

    def seen_range(self, column: int) -> tuple[float, float] | None:
        """Least and greatest training value of a numeric feature; None for another."""
        return self.range_of(column)

    def possibilities(self, knowledge: Knowledge, column: int) -> list[Possibility]:
        """A low, a middling and a high number, or each label; how likely they are is not known."""
        assert isinstance(knowledge, Parted)
        chain = self.regions[knowledge.parts[0].region].chain
        feature = chain.feature_of(column) or self._chain_of(column).feature_of(column)  # type: ignore[union-attr]
        values, words = feature.examples()  # type: ignore[union-attr]
        after = knowledge.take(np.zeros(values.size, dtype=np.int64)).after(column, values)
        return [Possibility(text, None, after.take(np.array([i]))) for i, text in enumerate(words)]

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The regions, one beside another, and their splits."""
        splits = [region.split or Split(-1, 0.0, 0.0, -1, -1) for region in self.regions]
        arrays = {
            "entered": np.array([region.entered for region in self.regions], dtype=np.int64),
            "share": np.array([region.share for region in self.regions], dtype=np.float64),
            "split": np.array([[s.column, s.inside, s.outside] for s in splits], dtype=np.int64),
            "bounds": np.array([[s.least, s.most] for s in splits], dtype=np.float64),
        }
        chains = {f"chain{i}": region.chain for i, region in enumerate(self.regions)}
        return arrays, {"n_regions": len(self.regions)} | chains

    @classmethod
    def restore(cls, stored: State, n_classes: int) -> Committee:
        """The beliefs whose :meth:`state` this is."""
        n = stored.whole("n_regions", 1, _MOST_REGIONS)
        chains = [stored.part(f"chain{i}", Prefixed, n_classes) for i in range(n)]
        entered = stored.array("entered", (n,), np.int64).tolist()
        shares = stored.within("share", (n,), 0.0, 1.0).tolist()
        split, bounds = stored.array("split", (n, 3), np.int64).tolist(), stored.array("bounds", (n, 2)).tolist()
        regions = []
        for i, chain in enumerate(chains):
            column, inside, outside = split[i]
            parts = column >= 0
            # Halves stand behind: no instance can go round in a circle.
            if parts and not (column in chain.order and i < inside < n and i < outside < n):
                raise InputError(f"region {i} is split on a column that it does not know, or leads nowhere")
            if chain.n_features != chains[0].n_features or not _same_labels(chain.levels, chains[0].levels):
                raise InputError(f"region {i} has other columns or labels than the first")
            if not 0 <= entered[i] <= chain.order.size:
                raise InputError(f"region {i} knows {entered[i]} columns of an order of {chain.order.size}")
            if parts and abs(shares[inside] + shares[outside] - 1.0) > _SHARE_TOLERANCE:
                raise InputError(f"the halves of region {i} have {shares[inside]} and {shares[outside]} of its rows")
            least, most = bounds[i]
            halves = Split(column, least, most, inside, outside) if parts else None
            regions.append(Region(chain, entered[i], halves, shares[i]))
        return cls(tuple(regions))


def _same_labels(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(labels, other[k]) for k, labels in one.items())


class Part(NamedTuple):
    """Some of the rows: their region, how far along its order they are, and their posteriors there."""

    region: int
    rows: np.ndarray
    stage: int
    traveller: Traveller
    posteriors: np.ndarray


@dataclass(frozen=True)
class Parted(Knowledge):
    """Rows that know the same columns, each in its region."""

    beliefs: Committee
    known: tuple[int, ...]
    values: dict[int, np.ndarray]
    parts: tuple[Part, ...]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(part.rows.size for part in self.parts)

    @cached_property
    def posteriors(self) -> np.ndarray:  # type: ignore[override]
        """Probability of each class for each row."""
        out = np.empty((self.n_rows, self.beliefs.priors.size))
        for part in self.parts:
            out[part.rows] = part.posteriors
        return out

    @cached_property
    def logs(self) -> np.ndarray:  # type: ignore[override]
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.posteriors)

    def after(self, column: int, values: np.ndarray) -> Knowledge:
        """The same rows, each with its value of one column more, and each in the region where that leads."""
        known = {**self.values, column: np.asarray(values, dtype=np.float64)}
        parts = [new for part in self.parts for new in self.beliefs.settled(self._further(part, column, known), known)]
        return Parted(self.beliefs, (*self.known, column), known, tuple(parts))

    def _further(self, part: Part, column: int, values: dict[int, np.ndarray]) -> Part:
        """A part with a column more."""
        chain = self.beliefs.regions[part.region].chain
        place = chain.place_of(column)
        if place is None:
            return part
        if place != part.stage:
            # Out of turn: all of the way is gone again, with what is known now.
            return self.beliefs._arrive(part.region, part.rows, values)
        traveller, raw = part.traveller.after(values[column][part.rows])
        return Part(part.region, part.rows, place + 1, traveller, chain.calibrated(place, raw))

    def take(self, rows: np.ndarray) -> Knowledge:
        """Some of the rows."""
        index = np.arange(self.n_rows)[rows]
        parts = []
        for part in self.parts:
            # Where each row of this part stands among those that are taken, which may hold a row several times.
            place = np.full(self.n_rows, -1)
            place[part.rows] = np.arange(part.rows.size)
            own = np.flatnonzero(place[index] >= 0)
            if own.size:
                within = place[index[own]]
                parts.append(Part(part.region, own, part.stage, part.traveller.take(within), part.posteriors[within]))
        values = {column: held[index] for column, held in self.values.items()}
        return Parted(self.beliefs, self.known, values, tuple(parts))
