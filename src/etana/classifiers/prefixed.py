"""What classifiers on the prefixes of orders share: how they are fitted, stopped, stored and loaded.

All that they learn from rows is regions (:class:`~etana.learning.regions.LearntRegions`), each with an order,
classifiers on its prefixes, and walks of held-out rows. One order for all is one region.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.beliefs.committee import Committee, Region
from etana.beliefs.prefixes.belief import Prefixed
from etana.classifiers.base import AcquiringClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.judgement import HeldOutRows, Judgement
from etana.learning.folds import row_keys
from etana.learning.identifiers import resolve_identifiers
from etana.learning.judged_walks import judge_walks, take_through
from etana.learning.prefixes import LearntPrefixes, PrefixRows, PrefixSettings, best_beginning
from etana.learning.progress import Tell, progress
from etana.learning.regions import LearntRegions, best_within, learn_tree_stopping
from etana.model import Model
from etana.parameters import anything, either, none, one_of, whole
from etana.policies.base import Policy
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import learn_stopping
from etana.table import Table
from etana.walks.acquisition import read_budget

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["PrefixClassifier"]

_MOST_FEATURES = 32
_FEW_ROWS = 1000  # up to which an order fits them by chance
_LARGEST_WALKS = 2**26  # bytes of walks in a model file
_SUM_TOLERANCE = 1e-6


class PrefixClassifier(AcquiringClassifier):
    """Regions with orders, classifiers on their prefixes, and stopping rules learnt from held-out walks."""

    max_features: Any
    screen: Any
    cv: Any
    max_rows: Any
    n_jobs: Any
    verbose: Any

    _learnt: LearntRegions

    _parameters: ClassVar = {
        "max_features": either(whole(least=0), one_of("auto")),
        "screen": either(whole(least=1), one_of("auto"), none),
        "cv": whole(least=2),
        "max_rows": whole(least=2),
        "n_jobs": either(whole(), none),
        "verbose": anything,
    }
    _carried = (*AcquiringClassifier._carried, "_learnt")

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        kept = np.flatnonzero(weights > 0)
        if kept.size < codes.size:
            table, codes, weights = table.rows(kept), codes[kept], weights[kept]
        settings = self._settings(codes.size)
        levels = {k: table.levels(k) for k in table.categorical}
        keys = row_keys(table, settings.seed)
        silent = resolve_identifiers(self.identifiers, table)
        training = PrefixRows(table.by_column(), codes, weights, levels, prices, mistakes, keys, silent)
        with progress(type(self).__name__, bool(self.verbose)) as tell:
            self._learnt = self._learn_regions(training, settings, tell)
        if self._learnt.sources is not None:
            self._learnt = replace(self._learnt, sources=kept[self._learnt.sources])
        return None  # held-out rows walk when prices are there, old or new

    def _learn_regions(self, training: PrefixRows, settings: PrefixSettings, tell: Tell) -> LearntRegions:
        """All of a fit but the stopping rules."""
        raise AssertionError("each classifier learns in its own way")

    def _settings(self, n_rows: int) -> PrefixSettings:
        """The parameters that all of these classifiers have."""
        return PrefixSettings(
            max_features=_MOST_FEATURES if self.max_features == "auto" else int(self.max_features),
            screen=self.screen,
            folds=max(min(self.cv, n_rows), 1),
            max_rows=self.max_rows,
            search_rows=self.max_rows,
            n_jobs=self.n_jobs,
            seed=self._seed(),
            few_rows=_FEW_ROWS,
        )

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        learnt, given = self._walks(), (self.classes_, self._names())
        judgement = judge_walks(learnt, prices, mistakes)
        if len(learnt.walks) > 1:
            policy = learn_tree_stopping(learnt, prices, mistakes)
            return Model(learnt.beliefs, policy, *given, judgement=judgement)
        # One region is one order: all that is made for those serves it.
        first = learnt.walks[0]
        order = first.beliefs.order
        stopping = learn_stopping(first.walks, first.codes, prices.in_order(order), mistakes, first.weights)
        return Model(first.beliefs, FixedOrder(order, stopping, prices, mistakes), *given, judgement=judgement)

    def _walks(self) -> LearntRegions:
        """What was learnt, with the walks."""
        if not self._learnt.walks[0].codes.size:
            raise InputError(
                "this classifier was loaded from a file that does not hold the training walks, which new prices need: "
                "they were too large for it; use the classifier that was fitted, or fit again"
            )
        return self._learnt

    def held_out(self) -> tuple[np.ndarray, HeldOutRows] | None:
        """Rows of the fit that it learnt from, and what each paid when neither classifiers nor rule had seen it."""
        learnt, model = self._learnt, self._solved()
        if learnt.sources is None:
            return None
        return learnt.sources, take_through(learnt, model.prices, model.mistakes)

    def within_budget(self, max_cost: float) -> Self:
        """The same classifier with orders that end where the money does, or before if that is worth more.

        No instance is charged more. How far to go is chosen by what held-out rows pay, among all beginnings that can be
        paid whole.
        """
        budget, learnt, model = read_budget(max_cost), self._walks(), self._solved()
        policy: Policy
        if len(learnt.walks) > 1:
            policy = best_within(learnt, model.prices, model.mistakes, budget)
        else:
            policy = best_beginning(learnt.walks[0], model.prices, model.mistakes, budget)
        return self._with_model(model.with_policy(policy))

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The walks that new prices need, unless they are too large; before the first feature all are at the prior."""
        walks, rows = self._learnt.walks, self._learnt.rows
        kept = bool(walks[0].codes.size) and sum(one.walks.nbytes for one in walks) <= _LARGEST_WALKS
        if not kept:
            return {}, {"has_walks": False}
        arrays = {"codes": walks[0].codes, "weights": walks[0].weights}
        arrays |= {f"walks{i}": one.walks[1:] for i, one in enumerate(walks)}
        # The first region has all rows.
        return arrays | {f"rows{i}": own for i, own in enumerate(rows) if i}, {"has_walks": True}

    def restore_learnt(self, stored: State) -> None:
        """The same back."""
        beliefs, n = self._solved().beliefs, self.classes_.size
        # A model of one region is stored as one order.
        regions = beliefs.regions if isinstance(beliefs, Committee) else (Region(beliefs, 0),)  # type: ignore[arg-type]
        none = np.empty(0, dtype=np.int64)
        walks = [LearntPrefixes(r.chain, np.empty((r.chain.order.size + 1, 0, n)), none, np.empty(0)) for r in regions]
        rows = [none for _ in regions]
        if stored.flag("has_walks"):
            codes = stored.classes("codes", (None,), n)
            weights = stored.within("weights", codes.shape, 0.0, np.finfo(float).max)
            if not 0.0 < weights.sum() < np.inf:
                raise InputError("no training row counts, or all together count too much")
            for i, region in enumerate(regions):
                rows[i] = stored.array(f"rows{i}", (None,), np.int64) if i else np.arange(codes.size)
                if (np.diff(rows[i]) <= 0).any() or (rows[i] < 0).any() or (rows[i] >= codes.size).any():
                    raise InputError("a region has a training row twice, or one that is not there")
                walks[i] = _restore_walks(stored, f"walks{i}", region.chain, codes[rows[i]], weights[rows[i]])
            _check_halves(regions, rows)
        self._learnt = LearntRegions(Committee(tuple(regions)), tuple(walks), tuple(rows))


def _restore_walks(stored: State, name: str, chain: Prefixed, codes: np.ndarray, weights: np.ndarray) -> LearntPrefixes:
    n = chain.priors.size
    stages = stored.within(name, (chain.order.size, codes.size, n), 0.0, 1.0)
    if not codes.size or not (np.abs(stages.sum(axis=2) - 1) <= _SUM_TOLERANCE).all():
        raise InputError("a walk has posteriors that are no probabilities")
    walks = np.concatenate([np.tile(chain.priors, (1, codes.size, 1)), stages])
    return LearntPrefixes(chain, walks, codes, weights)


def _check_halves(regions: tuple[Region, ...], rows: list[np.ndarray]) -> None:
    """Halves share the rows of the region that they are halves of."""
    for i, region in enumerate(regions):
        if region.split is not None:
            both = np.concatenate([rows[region.split.inside], rows[region.split.outside]])
            if not np.array_equal(np.sort(both), rows[i]):
                raise InputError("the halves of a region do not share its training rows")
