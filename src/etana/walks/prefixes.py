"""A pool of classifiers along a fixed order: rows one after another, in compiled loops and threads."""

from __future__ import annotations

import numpy as np

from etana.beliefs.prefixes.belief import Prefixed
from etana.beliefs.prefixes.boosting import Boosted
from etana.beliefs.prefixes.densities import Densities
from etana.beliefs.prefixes.encoding import Feature, feature_arrays
from etana.beliefs.prefixes.linear import Linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import Pool, PrefixMember
from etana.kernels import prefix_walk as kernel
from etana.kernels.neighbours import Voters
from etana.kernels.trees import Forest, Trees
from etana.kernels.walk import DENSE, TURNED, Storage
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import RegressionStopping
from etana.table import Table
from etana.threads import over_chunks
from etana.walks.acquisition import empty_outcomes, short_of_money, storage_of, turned
from etana.walks.registry import CompiledWalk, Walked, register

__all__ = ["PrefixWalk"]

_ROWS_PER_THREAD = 128
_KINDS: dict[type[PrefixMember], int] = {
    Neighbours: kernel.NEIGHBOURS, Linear: kernel.LINEAR, Densities: kernel.DENSITIES, Boosted: kernel.TREES,
}  # fmt: skip

_NONE = np.empty(0, dtype=np.int32)
_NO_FOREST = Forest(
    Trees(_NONE, np.empty(0), _NONE, _NONE, _NONE, _NONE, _NONE), np.empty(0), np.empty(0, dtype=np.int64)
)


class PrefixWalk(CompiledWalk):
    """The stages that a regression can reach, as flat arrays."""

    def __init__(self, beliefs: Prefixed, pool: Pool, policy: FixedOrder, stopping: RegressionStopping) -> None:
        self.beliefs, self.order, self.paid = beliefs, policy.order, policy.stage_prices
        # Only columns within the horizon: the rest of the table is never looked at.
        self.columns = np.ascontiguousarray(policy.columns, dtype=np.int64)
        stages = self.columns.size
        self.given = (
            # Of all features: trees look at the columns of those that are never asked, too.
            _encodings(pool.features), _members(pool, stages), _chain(beliefs, pool, stages),
            _stops(stopping, self.paid, stages),
        )  # fmt: skip

    @classmethod
    def of(cls, beliefs: Prefixed, policy: FixedOrder) -> PrefixWalk | None:
        """For a pool whose members all have compiled steps, one of a kind, and a rule that was learnt from walks."""
        pool, stopping = beliefs.member, policy.stopping
        if not isinstance(pool, Pool) or not isinstance(stopping, RegressionStopping):
            return None
        kinds = [type(member) for member in pool.members]
        fits = len(set(kinds)) == len(kinds) and all(kind in _KINDS for kind in kinds)
        return cls(beliefs, pool, policy, stopping) if fits else None

    def walk(self, table: Table, budget: float = np.inf) -> Walked:
        """Outcomes of all rows, and the order."""
        storage = self._storage(table)
        outcomes = empty_outcomes(table.n_rows, self.beliefs.priors.size)

        def run(first: int, last: int) -> None:
            kernel.walk_prefixes(*self.given, storage, budget, first, last, outcomes)

        over_chunks(run, table.n_rows, _ROWS_PER_THREAD)
        return Walked(outcomes, self.order, None, short_of_money(outcomes, self.paid[: self.columns.size], budget))

    def _storage(self, table: Table) -> Storage:
        """Where values lie, in one of the ways that the loop is compiled for: a loop that looks for neighbours takes
        seconds to compile, and the few columns that can be asked for are soon copied."""
        storage = turned(storage_of(table, self.columns, self.beliefs.levels))
        dense = storage.dense
        if storage.kind in (DENSE, TURNED) and not (
            dense.dtype == np.float64 and dense.flags.c_contiguous and dense.flags.writeable
        ):
            few = dense[:, storage.columns] if storage.kind == DENSE else dense[storage.columns].T
            return storage._replace(
                kind=DENSE, dense=np.array(few, dtype=np.float64, order="C"), columns=np.arange(self.columns.size)
            )
        return storage


def _encodings(features: list[Feature]) -> kernel.Encodings:
    arrays = feature_arrays(features)
    numbers = np.stack([arrays[name] for name in ("scales", "medians", "means", "deviations")], axis=1)
    widths = np.array([feature.width for feature in features], dtype=np.int64)
    return kernel.Encodings(arrays["knots"], arrays["ranks"], arrays["knot_offsets"], numbers, widths)


def _members(pool: Pool, stages: int) -> kernel.Members:
    """The members on the first stages."""
    n = pool.prior.size
    columns, voters = np.empty((0, 0), dtype=np.float32), Voters(np.empty(0, dtype=np.int64), np.empty(0))
    sizes, weights, tables = np.empty(0, dtype=np.int64), np.empty((0, n)), np.empty((0, n))
    forest = _NO_FOREST
    for member in pool.members:
        if isinstance(member, Neighbours):
            voters, sizes = Voters(member.codes, member.weights), np.array(member.sizes[:stages])
            columns = np.concatenate([np.empty((0, member.codes.size), np.float32), *member.columns[:stages]])
        elif isinstance(member, Linear):
            weights = np.concatenate([weights, *member.weights[:stages]])
        elif isinstance(member, Densities):
            tables = np.concatenate([tables, *member.tables[:stages]])
        elif isinstance(member, Boosted):
            forest = member.forest
    kinds = np.array([_KINDS[type(member)] for member in pool.members], dtype=np.int64)
    return kernel.Members(kinds, columns, voters, sizes, weights, tables, forest)


def _chain(beliefs: Prefixed, pool: Pool, stages: int) -> kernel.Chain:
    floors = np.array([pool.floor, beliefs.floor])
    shares, own, temperatures = (
        np.array(part[:stages]) for part in (pool.shares, pool.temperatures, beliefs.temperatures)
    )
    return kernel.Chain(np.array(beliefs.priors), shares, own, temperatures, floors)


def _stops(stopping: RegressionStopping, paid: np.ndarray, stages: int) -> kernel.Stops:
    learnt = [stage for stage in stopping.stages[:stages] if stage is not None]
    lines = np.array([(one.centre, one.scale, one.slopes) for one in learnt], dtype=np.float64)
    mistakes = np.array(stopping.mistakes, dtype=np.float64)
    return kernel.Stops(
        lines.reshape(stages, 3, 4 + 2 * len(mistakes)), np.array([one.level for one in learnt], dtype=np.float64),
        np.array(stopping.prices[:stages], dtype=np.float64), np.array(paid[:stages], dtype=np.float64), mistakes,
        stopping.regrets, stopping.unit,
    )  # fmt: skip


register(Prefixed, FixedOrder, PrefixWalk.of)
