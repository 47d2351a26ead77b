"""The scikit-learn class over a committee, its regions and their stopping rules."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from etana.beliefs.committee import Committee
from etana.beliefs.prefixes.belief import Prefixed
from etana.classifiers.prefixed import PrefixClassifier
from etana.learning.prefixes import MEMBERS, PrefixRows, PrefixSettings
from etana.learning.progress import Tell
from etana.learning.regions import LearntRegions, learn_regions
from etana.parameters import flag
from etana.policies.fixed_order import FixedOrder
from etana.policies.tree import PolicyTree
from etana.typing import ArrayLike, FeatureCostsLike, Identifiers, MistakeCostsLike, RandomState, TableLike

__all__ = ["CommitteeClassifier"]

_SEARCH_ROWS = 2000  # more find hardly another order, and take their square in time
_FEW_ROWS = 500  # up to which boosted trees tell nothing that the others do not, and take half of the time
_MEMBERS_OF_FEW = MEMBERS[:3]


class CommitteeClassifier(PrefixClassifier):
    """Asks along an order for each kind of instance, with a committee of classifiers on what it knows.

    Nearest neighbours, logistic regression, naive Bayes and, where there are more than 500 rows, boosted trees are
    trained on every prefix of an order and heard by the shares that held-out rows give them. Where a feature says which
    others matter (a *gate*), rows are split on it, and each half has an order and a committee of its own; a split is
    kept only where held-out rows clearly pay less for it. When to stop is learnt from walks of training rows that the
    committee had not seen.

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
        What an instance is expected to pay, mistakes included, and to be asked: averages over the training walks, by
        stopping rules that were learnt without them.
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

    _parameters: ClassVar = {"splits": flag}

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

    def _learn_regions(self, training: PrefixRows, settings: PrefixSettings, tell: Tell) -> LearntRegions:
        return learn_regions(training, settings, bool(self.splits), tell)

    @property
    def n_regions_(self) -> int:
        """Kinds of instances that are told apart."""
        return sum(region.split is None for region in self._learnt.beliefs.regions)

    def _settings(self, n_rows: int) -> PrefixSettings:
        shared = super()._settings(n_rows)
        members = _MEMBERS_OF_FEW if min(n_rows, self.max_rows) <= _FEW_ROWS else MEMBERS
        return replace(shared, members=members, search_rows=_SEARCH_ROWS)
