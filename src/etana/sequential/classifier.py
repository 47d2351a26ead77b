"""The scikit-learn class over order, prefixes, calibration and stopping rule."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from etana.classifiers import AcquiringClassifier
from etana.costs import ResolvedCosts, resolve_feature_costs, resolve_mistakes
from etana.errors import InputError
from etana.sequential.fitting import check_estimator
from etana.sequential.learning import Settings, Training, learn
from etana.sequential.learnt import Learnt
from etana.sequential.progress import progress
from etana.sequential.stopping import learn_rule
from etana.sequential.walking import SequentialModel

__all__ = ["SequentialClassifier"]

_MOST_FEATURES = 32


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
    selection : {"neighbours", "estimator"}
        What judges candidates for the order: nearest neighbours, or cross-validation of the estimator, which is
        much slower.
    max_features : int or "auto"
        Most features in the order; ``"auto"`` is 32. The order ends before that where nothing more helps, or where
        even the least certain row would not be asked at these prices.
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

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    feature_order_ : array
        Column indices in the order in which they are asked; features that do not help are not in it.
    expected_cost_, expected_n_features_ : float
        What an instance is expected to pay, mistakes included, and to be asked: averages over the training walks.
    rule_ : StoppingRule
        The stopping rule; see :mod:`etana.sequential.stopping`.

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

    _learnt: Learnt
    _model: SequentialModel

    def __init__(
        self,
        estimator: Any = None,
        feature_costs: Any = 0.01,
        misclassification_costs: Any = None,
        selection: str = "neighbours",
        max_features: int | str = "auto",
        screen: int | str | None = "auto",
        nested: bool | str = "auto",
        cv: int = 5,
        max_rows: int = 3000,
        n_jobs: int | None = None,
        verbose: int | bool = False,
        random_state: Any = None,
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

    def fit(self, X: Any, y: Any) -> Self:
        """Find the order, train the classifier on its prefixes, and learn when to stop.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
            Only columns that pass the screen are made dense.
        y : array (n,)
        """
        table, codes, _ = self._read(X, y, None, reset=True)
        settings = self._settings(codes.size)
        prices, mistakes = self._prices()
        self._levels = {k: table.levels(k) for k in table.categorical}
        training = Training(table.by_column(), codes, self._levels, prices, mistakes)
        with progress(type(self).__name__, bool(self.verbose)) as tell:
            self._learnt = learn(training, settings, tell)
        self._model = self._solve()
        return self

    _carried = (*AcquiringClassifier._carried, "_levels", "_learnt")

    @property
    def feature_order_(self) -> np.ndarray:
        """Column indices in the order in which features are asked."""
        check_is_fitted(self)
        return self._learnt.columns

    @property
    def expected_cost_(self) -> float:
        """Average cost of the training walks, features and mistakes."""
        check_is_fitted(self)
        return self._model.rule.expected_cost

    @property
    def expected_n_features_(self) -> float:
        """Average number of features asked on the training walks."""
        check_is_fitted(self)
        return self._model.rule.expected_n_features

    @property
    def rule_(self) -> Any:
        """The stopping rule."""
        check_is_fitted(self)
        return self._model.rule

    def _solve(self) -> SequentialModel:
        learnt, (prices, mistakes) = self._learnt, self._prices()
        if learnt.walks is None or learnt.codes is None:
            raise InputError(
                "this classifier was loaded from a file that does not hold the training walks, which new prices need: "
                "they were too large for it; use the classifier that was fitted, or fit again"
            )
        rule = learn_rule(learnt.walks, learnt.codes, prices.in_order(learnt.columns), mistakes)
        return SequentialModel(learnt, rule, self.classes_, self._levels, prices, self._names())

    def _prices(self) -> tuple[ResolvedCosts, np.ndarray]:
        return (
            resolve_feature_costs(self.feature_costs, self.n_features_in_, self._names()),
            resolve_mistakes(self.misclassification_costs, self.classes_.size),
        )

    def _settings(self, n_rows: int) -> Settings:
        """The parameters, all checked before any work."""
        check_estimator(self.estimator)
        if self.selection not in ("neighbours", "estimator"):
            raise InputError(f"selection is {self.selection!r}; it must be 'neighbours' or 'estimator'")
        if self.selection == "estimator" and self.estimator is None:
            raise InputError("selection is 'estimator', but there is none; pass estimator=, or use 'neighbours'")
        if self.max_features != "auto":
            _check_whole("max_features", self.max_features, 0, " or 'auto'")
        if self.screen is not None and self.screen != "auto":
            _check_whole("screen", self.screen, 1, ", 'auto' or None")
        if self.nested != "auto" and not isinstance(self.nested, bool | np.bool_):
            raise InputError(f"nested is {self.nested!r}; it must be True, False or 'auto'")
        _check_whole("cv", self.cv, 2)
        _check_whole("max_rows", self.max_rows, 2)
        return Settings(
            estimator=self.estimator,
            by_estimator=self.selection == "estimator",
            max_features=_MOST_FEATURES if self.max_features == "auto" else int(self.max_features),
            screen=self.screen,
            nested=self.nested,
            folds=max(min(self.cv, n_rows), 1),
            max_rows=self.max_rows,
            n_jobs=self.n_jobs,
            seed=self._seed(),
        )


def _check_whole(name: str, value: Any, least: int, others: str = "") -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number >= {least}{others}")
