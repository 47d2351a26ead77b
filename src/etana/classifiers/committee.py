"""The scikit-learn class over a committee, its regions and their stopping rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.beliefs.committee import Committee, Region
from etana.beliefs.prefixes.belief import Prefixed
from etana.classifiers.base import AcquiringClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.learning.folds import row_keys
from etana.learning.identifiers import resolve_identifiers
from etana.learning.prefixes import MEMBERS, LearntPrefixes, PrefixRows, PrefixSettings, best_beginning
from etana.learning.progress import progress
from etana.learning.regions import LearntRegions, best_within, learn_regions, learn_tree_stopping
from etana.model import Model
from etana.parameters import anything, either, flag, none, one_of, whole
from etana.policies.base import Policy
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import learn_stopping
from etana.policies.tree import PolicyTree
from etana.table import Table
from etana.typing import ArrayLike, FeatureCostsLike, Identifiers, MistakeCostsLike, RandomState, TableLike
from etana.walks.acquisition import read_budget

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["CommitteeClassifier"]

_MOST_FEATURES = 32
_SEARCH_ROWS = 2000  # more find hardly another order, and take their square in time
_LARGEST_WALKS = 2**26  # bytes of walks in a model file
_SUM_TOLERANCE = 1e-6


class CommitteeClassifier(AcquiringClassifier):
    """Asks along an order for each kind of instance, with a committee of classifiers on what it knows.

    Nearest neighbours, logistic regression, naive Bayes and boosted trees are trained on every prefix of an order and
    heard by the shares that held-out rows give them. Where a feature says which others matter (a *gate*), rows are
    split on it, and each half has an order and a committee of its own; a split is kept only where held-out rows clearly
    pay less for it. When to stop is learnt from walks of training rows that the committee had not seen.

    Parameters
    ----------
    feature_costs : number, array (K,), mapping from feature name to number, or FeatureCosts
        What each feature costs, in the unit of the misclassification costs.
    misclassification_costs : array (N, N), optional
        Row true class, column decided class, classes in sorted order; None means 1 for every mistake.
    splits : bool
        Whether regions are looked for; without, there is one order for all.
    max_features : int or "auto"
        Most features in an order; ``"auto"`` is 32.
    screen : int, "auto" or None
        Most candidates for the order, chosen by what each tells alone; ``"auto"`` is half the number of rows but at
        least 300, None keeps all.
    cv : int
        Number of folds for walks.
    max_rows : int
        Rows that are learnt from; of more rows a part is taken, every class in proportion.
    n_jobs : int, optional
        Folds that are worked on at once, as in joblib.
    verbose : bool or int
        Show what is being done.
    random_state : int, RandomState or Generator, optional
        Seed of folds and samples; None is a fixed seed.
    identifiers : "auto" or sequence
        Columns that number the rows and are no evidence; ``"auto"`` finds them, with a warning, ``[]`` keeps all.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    expected_cost_, expected_n_features_ : float
        What an instance is expected to pay, mistakes included, and to be asked: averages over the training walks.
    n_regions_ : int
        Kinds of instances that are told apart; 1 where no split pays.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana import CommitteeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = CommitteeClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 4)  # of 30
    True
    """

    pairings = ((Prefixed, FixedOrder), (Committee, PolicyTree))
    _learnt: LearntRegions

    def __init__(
        self,
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        splits: bool = True,
        max_features: int | str = "auto",
        screen: int | str | None = "auto",
        cv: int = 5,
        max_rows: int = 3000,
        n_jobs: int | None = None,
        verbose: int | bool = False,
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
    ) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.splits = splits
        self.max_features = max_features
        self.screen = screen
        self.cv = cv
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.identifiers = identifiers

    _parameters: ClassVar = {
        "splits": flag,
        "max_features": either(whole(least=0), one_of("auto")),
        "screen": either(whole(least=1), one_of("auto"), none),
        "cv": whole(least=2),
        "max_rows": whole(least=2),
        "n_jobs": either(whole(), none),
        "verbose": anything,
    }
    _carried = (*AcquiringClassifier._carried, "_learnt")

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find regions and orders, train the committee on their prefixes, and learn when to stop.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
            Only columns that pass the screen are made dense.
        y : array (n,)
        sample_weight : array (n,), optional
            How much each row counts.
        """
        return self._fit(X, y, sample_weight)

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> None:
        kept = np.flatnonzero(weights > 0)
        if kept.size < codes.size:
            table, codes, weights = table.rows(kept), codes[kept], weights[kept]
        settings = self._settings(codes.size)
        levels = {k: table.levels(k) for k in table.categorical}
        keys = row_keys(table, settings.seed)
        silent = resolve_identifiers(self.identifiers, table)
        training = PrefixRows(table.by_column(), codes, weights, levels, prices, mistakes, keys, silent)
        with progress(type(self).__name__, bool(self.verbose)) as tell:
            self._learnt = learn_regions(training, settings, bool(self.splits), tell)

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        learnt = self._walks()
        if len(learnt.walks) > 1:
            policy = learn_tree_stopping(learnt, prices, mistakes)
            return Model(learnt.beliefs, policy, self.classes_, self._names())
        # One region is one order: all that is made for those serves it.
        first = learnt.walks[0]
        order = first.beliefs.order
        stopping = learn_stopping(first.walks, first.codes, prices.in_order(order), mistakes, first.weights)
        return Model(first.beliefs, FixedOrder(order, stopping, prices, mistakes), self.classes_, self._names())

    def _walks(self) -> LearntRegions:
        """What was learnt, with the walks."""
        if not self._learnt.walks[0].codes.size:
            raise InputError(
                "this classifier was loaded from a file that does not hold the training walks, which new prices need: "
                "they were too large for it; use the classifier that was fitted, or fit again"
            )
        return self._learnt

    def within_budget(self, max_cost: float) -> Self:
        """The same classifier with orders that end where the money does, or before if that is worth more.

        No instance is charged more. How far to go is chosen by what held-out rows pay.
        """
        budget, learnt, model = read_budget(max_cost), self._walks(), self._solved()
        policy: Policy
        if len(learnt.walks) > 1:
            policy = best_within(learnt, model.prices, model.mistakes, budget)
        else:
            policy = best_beginning(learnt.walks[0], model.prices, model.mistakes, budget)
        return self._with_model(replace(model, policy=policy))

    @property
    def n_regions_(self) -> int:
        """Kinds of instances that are told apart."""
        return sum(region.split is None for region in self._learnt.beliefs.regions)

    def _settings(self, n_rows: int) -> PrefixSettings:
        return PrefixSettings(
            estimator=None,
            by_estimator=False,
            members=MEMBERS,
            max_features=_MOST_FEATURES if self.max_features == "auto" else int(self.max_features),
            screen=self.screen,
            nested="auto",
            folds=max(min(self.cv, n_rows), 1),
            max_rows=self.max_rows,
            search_rows=_SEARCH_ROWS,
            n_jobs=self.n_jobs,
            seed=self._seed(),
        )

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The walks that new prices need, unless they are too large; before the first feature all are at the prior."""
        walks, rows = self._learnt.walks, self._learnt.rows
        kept = bool(walks[0].codes.size) and sum(one.walks.nbytes for one in walks) <= _LARGEST_WALKS
        if not kept:
            return {}, {"has_walks": False}
        arrays = {"codes": walks[0].codes, "weights": walks[0].weights}
        arrays |= {f"walks{i}": one.walks[1:] for i, one in enumerate(walks)}
        return arrays | {f"rows{i}": own for i, own in enumerate(rows)}, {"has_walks": True}

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
            weights = stored.within("weights", codes.shape, 0.0, np.inf)
            if not codes.size or not weights.any() or not np.isfinite(weights).all():
                raise InputError("no training row counts")
            for i, region in enumerate(regions):
                rows[i] = stored.array(f"rows{i}", (None,), np.int64)
                if (np.diff(rows[i]) <= 0).any() or (rows[i] < 0).any() or (rows[i] >= codes.size).any():
                    raise InputError("a region has a training row twice, or one that is not there")
                walks[i] = _restore_walks(stored, f"walks{i}", region.chain, codes[rows[i]], weights[rows[i]])
            _check_halves(regions, rows, codes.size)
        self._learnt = LearntRegions(Committee(tuple(regions)), tuple(walks), tuple(rows))


def _restore_walks(stored: State, name: str, chain: Prefixed, codes: np.ndarray, weights: np.ndarray) -> LearntPrefixes:
    n = chain.priors.size
    stages = stored.within(name, (chain.order.size, codes.size, n), 0.0, 1.0)
    if not codes.size or not (np.abs(stages.sum(axis=2) - 1) <= _SUM_TOLERANCE).all():
        raise InputError("a walk has posteriors that are no probabilities")
    walks = np.concatenate([np.tile(chain.priors, (1, codes.size, 1)), stages])
    return LearntPrefixes(chain, walks, codes, weights)


def _check_halves(regions: tuple[Region, ...], rows: list[np.ndarray], n_rows: int) -> None:
    """The first region has all rows, and halves share those of the region that they are halves of."""
    if rows[0].size != n_rows:
        raise InputError("the first region does not have all training rows")
    for i, region in enumerate(regions):
        if region.split is not None:
            both = np.concatenate([rows[region.split.inside], rows[region.split.outside]])
            if not np.array_equal(np.sort(both), rows[i]):
                raise InputError("the halves of a region do not share its training rows")
