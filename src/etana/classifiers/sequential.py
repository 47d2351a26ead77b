"""The scikit-learn class over order, prefixes, calibration and stopping rule."""

from __future__ import annotations

from dataclasses import replace
from reprlib import repr as short
from typing import Any, ClassVar, Self

import numpy as np

from etana.beliefs.prefixes.belief import Prefixed
from etana.classifiers.prefixed import PrefixClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.judgement import Judgement
from etana.learning.estimators import weight_name
from etana.learning.prefixes import PrefixRows, PrefixSettings, learn_prefixes
from etana.learning.progress import Tell
from etana.learning.regions import LearntRegions
from etana.parameters import either, flag, has_method, none, one_of, sequence
from etana.policies.fixed_order import FixedOrder
from etana.policies.regression import RegressionStopping
from etana.table import Table
from etana.typing import ArrayLike, FeatureCostsLike, Identifiers, MistakeCostsLike, RandomState, TableLike

__all__ = ["SequentialClassifier"]

_MEMBERS = ("neighbours", "linear")


class SequentialClassifier(PrefixClassifier):
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
        Whether the walks come from orders found without their rows, too; ``"auto"`` where an order fits the rows by
        chance: up to 1,000 of them, or where there are more features than rows.
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
        Column indices in the order in which they are asked; features that do not help are not in it. ``with_costs``
        keeps it: it learns the stopping rule again, from the same walks.
    expected_cost_, expected_n_features_ : float
        What an instance is expected to pay, mistakes included, and to be asked: averages over the training walks, by
        stopping rules that were learnt without them.
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
        "nested": either(flag, one_of("auto")),
    }

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        self._check_weights(weights)
        return super()._learn(table, codes, weights, prices, mistakes)

    def _learn_regions(self, training: PrefixRows, settings: PrefixSettings, tell: Tell) -> LearntRegions:
        return LearntRegions.of(learn_prefixes(training, settings, tell))

    def _check_weights(self, weights: np.ndarray) -> None:
        # Rows of weight 0 are left out; with the others counting one each an estimator needs no weights.
        plain = np.isin(weights, (0.0, 1.0)).all()
        if self.estimator is not None and not plain and weight_name(self.estimator) is None:
            raise InputError(
                f"sample_weight was given, but {type(self.estimator).__name__} takes none when it is fitted; use an "
                "estimator whose fit has sample_weight, or leave the weights out"
            )

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
        shared = super()._settings(n_rows)
        if order is not None and self.max_features == "auto":
            shared = replace(shared, max_features=order.size)
        return replace(
            shared, estimator=self.estimator, by_estimator=by_estimator, members=_MEMBERS, nested=self.nested,
            order=order,
        )  # fmt: skip

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
