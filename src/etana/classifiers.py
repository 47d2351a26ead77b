"""Scikit-learn classifiers over bins, counts, orders, solvers and walks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from etana.acquisition import Acquisition, Case, Model, run_case
from etana.binning import Binner
from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.errors import CostWarning, InputError
from etana.explanation import plain
from etana.likelihood import Counts
from etana.ordering import order_features, reorder_cells, search_order
from etana.policies import GridSolver, Policy, Solver, ThresholdSolver, solver_for
from etana.problem import Problem
from etana.table import Table, read_table

__all__ = ["AcquiringClassifier", "BinnedClassifier", "ETANAClassifier", "FETANAClassifier"]

_UNCHANGED = object()


class AcquiringClassifier(ClassifierMixin, BaseEstimator):
    """Reading of tables, classification and new prices, shared by all classifiers that acquire features."""

    feature_costs: Any
    misclassification_costs: Any
    random_state: Any

    classes_: np.ndarray
    _model: Any

    # What the same classifier under new prices takes over.
    _carried: tuple[str, ...] = ("classes_", "n_features_in_", "feature_names_in_")

    def acquire(self, X: Any, max_cost: float | None = None) -> Acquisition:
        """Classify rows, asking of each only the features that pay.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
            Only the values that are asked for are read.
        max_cost : float, optional
            No instance is charged more than this for its features.
        """
        model = self._solved()
        table = read_table(X)
        self._note_features(X, table, reset=False)
        return model.acquire(table, max_cost)

    def predict(self, X: Any) -> np.ndarray:
        """Decided class of each row."""
        return self.acquire(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Belief in each class at the stop."""
        return self.acquire(X).posteriors

    def start(self, max_cost: float | None = None) -> Case:
        """A case that asks for one feature at a time."""
        return self._solved().start(max_cost)

    def ask(self, fetch: Callable[[Any], Any] | Mapping[Any, Callable[[], Any]], max_cost: float | None = None) -> Case:
        """Run a case to its end, calling ``fetch(name)``, or ``fetch[name]()``, only for what is needed."""
        return run_case(self.start(max_cost), fetch)

    def with_costs(self, feature_costs: Any = _UNCHANGED, misclassification_costs: Any = _UNCHANGED) -> Self:
        """The same classifier under new prices: no data, no new fit, only what depends on prices is made again."""
        check_is_fitted(self)
        new = clone(self)
        if feature_costs is not _UNCHANGED:
            new.feature_costs = feature_costs
        if misclassification_costs is not _UNCHANGED:
            new.misclassification_costs = misclassification_costs
        for name in self._carried:
            if hasattr(self, name):
                setattr(new, name, getattr(self, name))
        new._model = new._solve()
        return new

    @property
    def model_(self) -> Any:
        """All that classification needs, without scikit-learn."""
        return self._solved()

    def _read(
        self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: np.ndarray | None = None
    ) -> tuple[Table, np.ndarray, np.ndarray]:
        """The table, class codes and weights of training data, all checked; sets what scikit-learn asks for."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; pass the class labels"
            )
        table = read_table(X)
        self._note_features(X, table, reset)
        for size, what in ((table.n_rows, "sample"), (table.n_features, "feature")):
            if size == 0:
                shape = (table.n_rows, table.n_features)
                raise InputError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
        if len(y) != table.n_rows:
            raise InputError(f"X has {table.n_rows} rows and y has {len(y)} labels; give one label per row")
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        self.classes_ = np.unique(y) if classes is None else classes
        codes = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        unknown = np.flatnonzero(self.classes_[codes] != y)
        if unknown.size:
            raise InputError(
                f"y has the label {plain(y[unknown[0]])!r}, which is not among the classes {self.classes_.tolist()}; "
                "name all classes in the first call: partial_fit(X, y, classes=...)"
            )
        return table, codes, weights

    def _note_features(self, X: Any, table: Table, reset: bool) -> None:
        """Remember number and names of the columns, or compare with those remembered."""
        if not isinstance(X, Table):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = table.n_features
            if table.names is not None:
                self.feature_names_in_ = np.array(table.names, dtype=object)

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _seed(self) -> int:
        """An integer seed; None stands for 0, so that the same data gives the same model."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        if hasattr(self.random_state, "integers"):
            return int(self.random_state.integers(2**31 - 1))
        return int(self.random_state.randint(2**31 - 1))

    def _solve(self) -> Any:
        """The model: what classification needs."""
        raise AssertionError("each classifier makes its model")

    def _solved(self) -> Any:
        check_is_fitted(self)
        if self._model is None:
            self._model = self._solve()
        return self._model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class BinnedClassifier(AcquiringClassifier):
    """Bins and counts, shared by all classifiers over binned features."""

    n_bins: Any
    binning: Any
    priors: Any
    missing: Any

    binner_: Binner
    counts_: Counts

    _carried = (*AcquiringClassifier._carried, "binner_", "counts_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
        y : array (n,)
        sample_weight : array (n,), optional
            A weight counts as that many copies of the row.
        """
        table, codes, weights = self._read(X, y, sample_weight, reset=True)
        self._check_parameters()
        self._count_first(table, codes, weights)
        self._keep(table, codes, weights)
        self._model = self._solve()
        return self

    def _check_parameters(self) -> None:
        """Everything that can be wrong without looking at the data is found before any work."""
        n_classes, n_features = self.classes_.size, self.n_features_in_
        resolve_feature_costs(self.feature_costs, n_features, self._names())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CostWarning)  # given once, when the policy is solved
            resolve_mistakes(self.misclassification_costs, n_classes)
        self._resolve_priors(np.ones(n_classes))

    def _keep(self, table: Table, codes: np.ndarray, weights: np.ndarray) -> None:
        """Hold on to what a new solution needs of the training rows; counts are enough for most."""

    def _count_first(self, table: Table, codes: np.ndarray, weights: np.ndarray) -> None:
        """Bins and counts of the first rows."""
        n = self.classes_.size
        if isinstance(self.binning, Binner):
            self._use_given_bins(table)
            self.counts_ = Counts.of(self.binner_, table, codes, weights, n)
            return
        self.binner_ = Binner(self.binning, self.n_bins, self.missing)
        self.counts_ = Counts.learn(self.binner_, table, codes, weights, n)

    def _use_given_bins(self, table: Table) -> None:
        if not hasattr(self.binning, "edges"):
            raise InputError("binning is a Binner that was not fitted; call its fit(X, y) first")
        if self.binning.n_features != table.n_features:
            raise InputError(
                f"binning has bins for {self.binning.n_features} columns, but X has {table.n_features}; "
                "fit the Binner on the same columns"
            )
        self.binner_ = self.binning

    def _resolve_priors(self, counted: np.ndarray) -> np.ndarray:
        n = counted.size
        if isinstance(self.priors, str):
            if self.priors == "empirical":
                return counted / counted.sum()
            if self.priors == "uniform":
                return np.full(n, 1.0 / n)
            raise InputError(f"priors is {self.priors!r}; it must be 'empirical', 'uniform' or one number per class")
        p = np.asarray(self.priors, dtype=np.float64)
        if p.shape != (n,) or not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > 1e-6:
            raise InputError(f"priors is {self.priors!r}; it must be {n} numbers >= 0 that sum to 1, one per class")
        return p / p.sum()


class _StoppingClassifier(BinnedClassifier):
    """Shared by all classifiers with a fixed order of features."""

    ordering: Any
    _model: Model | None

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a block of training rows.

        Bins are those of the first block (for a stream whose first rows are not typical, pass fitted bins:
        ``binning=Binner(...).fit(...)`` or ``Binner.from_edges(...)``); with the same bins, blocks give the same
        counts as one ``fit`` on all rows, bit for bit. The policy is solved again when it is next needed.

        Parameters
        ----------
        classes : array, optional
            All labels that can occur; needed in the first call unless its block has them all.
        """
        if not hasattr(self, "counts_"):
            known = np.unique(y) if classes is None else np.unique(np.asarray(classes))
            table, codes, weights = self._read(X, y, sample_weight, reset=True, classes=known)
            self._check_parameters()
            self._count_first(table, codes, weights)
        else:
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise InputError(
                    f"classes is {np.unique(np.asarray(classes)).tolist()}, but the first block had "
                    f"{self.classes_.tolist()}; all blocks share one set of classes"
                )
            table, codes, weights = self._read(X, y, sample_weight, reset=False, classes=self.classes_)
            block = Counts.of(self.binner_, table, codes, weights, self.classes_.size)
            self.counts_ = self.counts_.merge(block)
        self._model = None
        return self

    @property
    def problem_(self) -> Problem:
        """The stopping problem that was solved."""
        return self._solved().problem

    @property
    def policy_(self) -> Policy:
        """The policy that decides when to stop."""
        return self._solved().policy

    @property
    def feature_order_(self) -> np.ndarray:
        """Column indices in the order in which features are asked."""
        return self._solved().order

    @property
    def expected_cost_(self) -> float:
        """Expected cost of an instance, features and mistakes, under the model."""
        return self.policy_.expected_cost

    @property
    def expected_n_features_(self) -> float:
        """Expected number of features asked of an instance, under the model."""
        return self.policy_.expected_n_features

    @property
    def optimality_gap_(self) -> float:
        """How far above the least possible expected cost ``expected_cost_`` is at most, in units of cost."""
        return self.policy_.gap

    def _solver(self, problem: Problem) -> Solver:
        raise AssertionError("each classifier names its solver")

    def _solve(self) -> Model:
        counts = self.counts_
        prices = resolve_feature_costs(self.feature_costs, self.n_features_in_, self._names())
        priors = self._resolve_priors(counts.classes)
        likelihoods = counts.likelihoods()
        mistakes = resolve_mistakes(self.misclassification_costs, self.classes_.size)
        if isinstance(self.ordering, str) and self.ordering == "cost":
            order = search_order(counts, likelihoods, priors, prices, mistakes, self._seed())
        else:
            order = order_features(self.ordering, counts, likelihoods, priors, prices.full)
        cells, offsets = reorder_cells(likelihoods, counts.offsets, order)
        problem = Problem.from_cells(priors, cells, offsets, prices.in_order(order), mistakes)
        policy = self._solver(problem).solve(problem)
        return Model(self.binner_, self.classes_, order, problem, policy, self._names())


class ETANAClassifier(_StoppingClassifier):
    """Asks for features in a fixed order and stops when the next one would cost more than it saves.

    Class probabilities are those of naive Bayes on binned features. When to stop is the solution of the optimal
    stopping problem over them: the expected total of feature costs and misclassification costs is least.

    Parameters
    ----------
    feature_costs : number, array (K,), mapping from feature name to number, or FeatureCosts
        What each feature costs, in the unit of the misclassification costs.
    misclassification_costs : array (N, N), optional
        Row true class, column decided class, classes in sorted order; None means 1 for every mistake.
    n_bins : int or "auto"
        Number of bins (for supervised bins: the largest number); see :mod:`etana.binning`.
    binning : {"supervised", "quantile", "uniform", "published"} or a fitted Binner
        How numeric columns are cut into bins.
    ordering : {"error", "variance", "information", "cost"} or array (K,) of column indices
        Which feature comes first; see :mod:`etana.ordering`. ``"cost"`` searches for an order of low expected cost,
        group discounts and mistakes included, and takes longer.
    priors : {"empirical", "uniform"} or array (N,)
        Class probabilities before any feature is known.
    solver : {"auto", "exact", "points", "grid"} or a solver object
        ``"auto"`` is ``"exact"`` for two classes and ``"points"`` otherwise; see :mod:`etana.policies`.
    missing : {"skip", "bin"}
        A missing value is paid for; it is no evidence, or has a bin of its own.
    random_state : int, RandomState or Generator, optional
        Seed of whatever is drawn; None is a fixed seed.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    problem_, policy_ : Problem, Policy
        What was solved, and the solution.
    feature_order_ : array (K,)
        Column indices in the order in which they are asked.
    expected_cost_, expected_n_features_ : float
        What the model expects of an instance; by class and by stage in ``policy_.expectation``.
    optimality_gap_ : float
        ``expected_cost_`` less a bound that no policy for this model and order can beat.
    binner_, counts_ : Binner, Counts
        Bins, and training counts in them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana import ETANAClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = ETANAClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 4)  # of 30
    True
    """

    def __init__(
        self,
        feature_costs: Any = 0.01,
        misclassification_costs: Any = None,
        n_bins: int | str = "auto",
        binning: Any = "supervised",
        ordering: Any = "error",
        priors: Any = "empirical",
        solver: Any = "auto",
        missing: str = "skip",
        random_state: Any = None,
    ) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.n_bins = n_bins
        self.binning = binning
        self.ordering = ordering
        self.priors = priors
        self.solver = solver
        self.missing = missing
        self.random_state = random_state

    @classmethod
    def as_published(cls, n_bins: int = 3, feature_costs: Any = 0.01) -> ETANAClassifier:
        """The program of the paper's authors: equal-width bins between whole numbers, uniform priors, features
        ordered by variance, and the stopping problem on a grid of beliefs in steps of a tenth."""
        return cls(
            feature_costs=feature_costs,
            n_bins=n_bins,
            binning="published",
            ordering="variance",
            priors="uniform",
            solver=GridSolver(resolution=10, lookup="nearest"),
        )

    def _solver(self, problem: Problem) -> Solver:
        return solver_for(self.solver, problem, self._seed())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.solver, str) or not isinstance(self.solver, Solver):
            solver_for(self.solver, Problem([1.0], np.empty((0, 1, 1)), np.empty(0)))


class FETANAClassifier(_StoppingClassifier):
    """F-ETANA: as :class:`ETANAClassifier`, but stops at linear thresholds on the belief, found by SPSA.

    Parameters
    ----------
    feature_costs, misclassification_costs, n_bins, binning, ordering, priors, missing, random_state
        As for :class:`ETANAClassifier`.
    max_iterations : int, optional
        Most iterations of Algorithm 1 for each class; None leaves it to :class:`etana.policies.ThresholdSolver`.
    batch : int
        Instances on which the cost of thresholds is estimated.
    restarts : int
        Searches from different seeds; the best is kept.
    original : bool
        Train as the authors' program does, one instance at a time.

    Attributes
    ----------
    problem_, policy_, feature_order_, expected_cost_, expected_n_features_, optimality_gap_
        As for :class:`ETANAClassifier`; the gap is measured against the optimum's lower bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import FETANAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FETANAClassifier(feature_costs=0.02).fit(X[::2], y[::2])
    >>> bool(clf.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        feature_costs: Any = 0.01,
        misclassification_costs: Any = None,
        n_bins: int | str = "auto",
        binning: Any = "supervised",
        ordering: Any = "error",
        priors: Any = "empirical",
        missing: str = "skip",
        max_iterations: int | None = None,
        batch: int = 1024,
        restarts: int = 1,
        original: bool = False,
        random_state: Any = None,
    ) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.n_bins = n_bins
        self.binning = binning
        self.ordering = ordering
        self.priors = priors
        self.missing = missing
        self.max_iterations = max_iterations
        self.batch = batch
        self.restarts = restarts
        self.original = original
        self.random_state = random_state

    def _solver(self, problem: Problem) -> Solver:
        return ThresholdSolver(
            max_iterations=self.max_iterations,
            batch=self.batch,
            restarts=self.restarts,
            original=self.original,
            random_state=self._seed(),
        )
