"""The scikit-learn class over order, prefixes, calibration and stopping rule."""

from __future__ import annotations

from dataclasses import replace
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from etana.beliefs.prefixes.belief import Prefixed
from etana.classifiers.base import AcquiringClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.learning.estimators import weight_name
from etana.learning.folds import row_keys
from etana.learning.identifiers import resolve_identifiers
from etana.learning.prefixes import LearntPrefixes, PrefixRows, PrefixSettings, best_beginning, learn_prefixes
from etana.learning.progress import progress
from etana.model import Model
from etana.parameters import anything, either, flag, has_method, none, one_of, sequence, whole
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import RegressionStopping, learn_stopping
from etana.table import Table
from etana.typing import ArrayLike, FeatureCostsLike, Identifiers, MistakeCostsLike, RandomState, TableLike
from etana.walks.acquisition import read_budget

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["SequentialClassifier"]

_MOST_FEATURES = 32
_LARGEST_WALKS = 2**26  # bytes of walks in a model file
_SUM_TOLERANCE = 1e-6


class SequentialClassifier(AcquiringClassifier):
    """Asks for features in a fixed order, with any classifier on what it knows, and stops when more would not pay.

    Nothing is assumed about how features depend on each other. The order is found greedily, each feature judged
    beside those before it; the classifier is trained on every prefix of it; and the stopping rule is learnt from the
    walks of training rows that the classifier had not seen (least-squares Monte Carlo).

    Parameters
    ----------
    estimator : scikit-learn classifier with ``predict_proba``, optional
        Trained on each prefix of the order. None is nearest neighbours and logistic regression, blended in the share
        that costs held-out training rows least: the fastest.
    feature_costs : number, array (K,), mapping from feature name to number, or FeatureCosts
        What each feature costs, in the unit of the misclassification costs.
    misclassification_costs : array (N, N), optional
        Row true class, column decided class, classes in sorted order; None means 1 for every mistake.
    selection : {"neighbours", "estimator"} or array of column indices
        What judges candidates for the order: nearest neighbours, or cross-validation of the estimator, which is
        much slower. An array is the order itself, such as that of time.
    max_features : int or "auto"
        Most features in the order; ``"auto"`` is 32, or all of an order that is given. The order ends before that
        where nothing more helps, or where even the least certain row would not be asked at these prices.
    screen : int, "auto" or None
        Most candidates for the order, chosen by what each tells alone; ``"auto"`` is half the number of rows but at
        least 300, None keeps all.
    nested : bool or "auto"
        Whether the walks come from orders found without their rows, too; ``"auto"`` where there are more features
        than rows.
    cv : int
        Number of folds for walks.
    max_rows : int
        Rows among which the order is found and neighbours are looked for; of more rows a part is taken, every class
        in proportion. An estimator is trained on all rows.
    n_jobs : int, optional
        Folds and prefixes that are worked on at once, as in joblib.
    verbose : bool or int
        Show what is being done.
    random_state : int, RandomState or Generator, optional
        Seed of folds and samples; None is a fixed seed.
    identifiers : "auto" or sequence
        As for :class:`etana.ETANAClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    feature_order_ : array
        Column indices in the order in which they are asked; features that do not help are not in it.
    expected_cost_, expected_n_features_ : float
        What an instance is expected to pay, mistakes included, and to be asked: averages over the training walks.
    rule_ : RegressionStopping
        The stopping rule; see :mod:`etana.policies.regression`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana import SequentialClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SequentialClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 4)  # of 30
    True

    With a classifier of your own:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> linear = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = SequentialClassifier(linear, max_features=5).fit(X[::2], y[::2])
    >>> bool(clf.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    pairings = ((Prefixed, FixedOrder),)
    _learnt: LearntPrefixes

    def __init__(
        self,
        estimator: Any = None,
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        selection: Any = "neighbours",
        max_features: int | str = "auto",
        screen: int | str | None = "auto",
        nested: bool | str = "auto",
        cv: int = 5,
        max_rows: int = 3000,
        n_jobs: int | None = None,
        verbose: int | bool = False,
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
    ) -> None:
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.selection = selection
        self.max_features = max_features
        self.screen = screen
        self.nested = nested
        self.cv = cv
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.identifiers = identifiers

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the order, train the classifier on its prefixes, and learn when to stop.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
            Only columns that pass the screen are made dense.
        y : array (n,)
        sample_weight : array (n,), optional
            How much each row counts, wherever rows are counted: in the order, in the vote of a neighbour, in the
            regressions and in the stopping rule; an estimator must take ``sample_weight`` too. Weights that sum to
            less than the rows they stand for, such as shares of one, only say how rows compare.
        """
        return self._fit(X, y, sample_weight)

    _parameters: ClassVar = {
        "estimator": either(
            none, has_method("fit", "predict_proba", words="a scikit-learn classifier with fit and predict_proba")
        ).cure("None is nearest neighbours and logistic regression"),
        "selection": either(one_of("neighbours", "estimator"), sequence("an array of column indices")),
        "max_features": either(whole(least=0), one_of("auto")),
        "screen": either(whole(least=1), one_of("auto"), none),
        "nested": either(flag, one_of("auto")),
        "cv": whole(least=2),
        "max_rows": whole(least=2),
        "n_jobs": either(whole(), none),
        "verbose": anything,
    }
    _carried = (*AcquiringClassifier._carried, "_learnt")

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> None:
        self._check_weights(weights)
        kept = np.flatnonzero(weights > 0)
        if kept.size < codes.size:
            table, codes, weights = table.rows(kept), codes[kept], weights[kept]
        settings = self._settings(codes.size)
        levels = {k: table.levels(k) for k in table.categorical}
        keys = row_keys(table, settings.seed)
        silent = resolve_identifiers(self.identifiers, table)
        training = PrefixRows(table.by_column(), codes, weights, levels, prices, mistakes, keys, silent)
        with progress(type(self).__name__, bool(self.verbose)) as tell:
            self._learnt = learn_prefixes(training, settings, tell)

    def _check_weights(self, weights: np.ndarray) -> None:
        # Rows of weight 0 are left out; with the others counting one each an estimator needs no weights.
        plain = np.isin(weights, (0.0, 1.0)).all()
        if self.estimator is not None and not plain and weight_name(self.estimator) is None:
            raise InputError(
                f"sample_weight was given, but {type(self.estimator).__name__} takes none when it is fitted; use an "
                "estimator whose fit has sample_weight, or leave the weights out"
            )

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        learnt = self._walks()
        order = learnt.beliefs.order
        stopping = learn_stopping(learnt.walks, learnt.codes, prices.in_order(order), mistakes, learnt.weights)
        return Model(learnt.beliefs, FixedOrder(order, stopping, prices, mistakes), self.classes_, self._names())

    def _walks(self) -> LearntPrefixes:
        """What was learnt, with the walks."""
        if not self._learnt.codes.size:
            raise InputError(
                "this classifier was loaded from a file that does not hold the training walks, which new prices need: "
                "they were too large for it; use the classifier that was fitted, or fit again"
            )
        return self._learnt

    def within_budget(self, max_cost: float) -> Self:
        """The same classifier with the beginning of its order that is worth most for the money.

        No instance is charged more. How far it goes is chosen by what held-out rows pay, among all beginnings that can
        be paid whole.
        """
        budget, learnt, model = read_budget(max_cost), self._walks(), self._solved()
        policy = best_beginning(learnt, model.prices, model.mistakes, budget)
        return self._with_model(replace(model, policy=policy))

    @property
    def feature_order_(self) -> np.ndarray:
        """Column indices in the order in which features are asked."""
        return self._solved().policy.order  # type: ignore[return-value]

    @property
    def rule_(self) -> RegressionStopping:
        """The stopping rule."""
        return self._solved().policy.stopping  # type: ignore[attr-defined]

    def _settings(self, n_rows: int) -> PrefixSettings:
        order = None if isinstance(self.selection, str) else self._given_order()
        by_estimator = order is None and self.selection == "estimator"
        if by_estimator and self.estimator is None:
            raise InputError("selection is 'estimator', but there is none; pass estimator=, or use 'neighbours'")
        return PrefixSettings(
            estimator=self.estimator,
            by_estimator=by_estimator,
            members=("neighbours", "linear"),
            max_features=self._most_features(order),
            screen=self.screen,
            nested=self.nested,
            folds=max(min(self.cv, n_rows), 1),
            max_rows=self.max_rows,
            search_rows=self.max_rows,
            n_jobs=self.n_jobs,
            seed=self._seed(),
            order=order,
        )

    def _most_features(self, order: np.ndarray | None) -> int:
        if self.max_features != "auto":
            return int(self.max_features)
        return _MOST_FEATURES if order is None else order.size

    def _given_order(self) -> np.ndarray:
        order = np.asarray(self.selection)
        whole_numbers = order.ndim == 1 and order.dtype.kind in "iu"
        if (
            not whole_numbers
            or not np.isin(order, np.arange(self.n_features_in_)).all()
            or (np.unique(order).size != order.size)
        ):
            raise InputError(
                f"selection is {short(order.tolist())}; an order holds column indices from 0 to "
                f"{self.n_features_in_ - 1}, each once at most"
            )
        return order.astype(np.int64)

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The walks that new prices need, unless they are too large; before the first feature all are at the prior."""
        learnt = self._learnt
        kept = bool(learnt.codes.size) and learnt.walks.nbytes <= _LARGEST_WALKS
        arrays = {"walks": learnt.walks[1:], "codes": learnt.codes, "weights": learnt.weights}
        return (arrays if kept else {}), {"has_walks": kept}

    def restore_learnt(self, stored: State) -> None:
        """The same back."""
        beliefs, n = self._solved().beliefs, self.classes_.size
        walks, codes, weights = np.empty((beliefs.columns.size + 1, 0, n)), np.empty(0, dtype=np.int64), np.empty(0)
        if stored.flag("has_walks"):
            codes = stored.classes("codes", (None,), n)
            weights = stored.within("weights", codes.shape, 0.0, np.finfo(float).max)
            if not 0.0 < weights.sum() < np.inf:
                raise InputError("the walks have no weight, or too much")
            stages = stored.within("walks", (beliefs.columns.size, codes.size, n), 0.0, 1.0)
            if not codes.size or not (np.abs(stages.sum(axis=2) - 1) <= _SUM_TOLERANCE).all():
                raise InputError("a walk has posteriors that are no probabilities")
            walks = np.concatenate([np.tile(beliefs.priors, (1, codes.size, 1)), stages])
        self._learnt = LearntPrefixes(beliefs, walks, codes, weights)  # type: ignore[arg-type]
