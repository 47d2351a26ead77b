"""Features in a fixed order, stopped by the solution of the stopping problem: ETANA and F-ETANA of the paper."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np

from etana.beliefs.naive_bayes import NaiveBayes
from etana.binning import Binner
from etana.classifiers.base import BinnedClassifier
from etana.costs import ResolvedCosts
from etana.errors import CostWarning, InputError
from etana.judgement import Judgement
from etana.learning.temperature import coolest, hold_out
from etana.likelihood import Counts, tempered
from etana.model import Model
from etana.ordering import choose_order
from etana.parameters import check_parameters, either, flag, has_method, none, one_of, sequence, whole
from etana.policies import GridSolver, Solver, StoppingPolicy, ThresholdSolver, solver_for
from etana.policies.bounds import ForeignPolicy
from etana.policies.fixed_order import FixedOrder, problem_of
from etana.problem import Problem
from etana.table import Table
from etana.typing import (
    ArrayLike,
    BinningLike,
    FeatureCostsLike,
    Identifiers,
    MistakeCostsLike,
    Ordering,
    Priors,
    RandomState,
    TableLike,
)

__all__ = ["ETANAClassifier", "FETANAClassifier"]


class _StoppingClassifier(BinnedClassifier):
    """Shared by all classifiers with a fixed order of features."""

    ordering: Any
    _keeps_rows = False
    pairings = ((NaiveBayes, FixedOrder),)

    _parameters: ClassVar = {
        "ordering": either(
            one_of("auto", "error", "variance", "information", "cost"), sequence("an array of all column indices")
        )
    }

    def partial_fit(
        self, X: TableLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a block of training rows.

        Bins are those of the first block (for a stream whose first rows are not typical, pass fitted bins:
        ``binning=Binner(...).fit(...)`` or ``Binner.from_edges(...)``); with the same bins, blocks give the same
        counts as one ``fit`` on all rows, bit for bit. The policy is solved again when it is next needed.

        Parameters
        ----------
        classes : array, optional
            All labels that can occur; needed in the first call unless its block has them all.
        sample_weight : array (n,), optional
            A weight counts as that many copies of the row, whatever the weights of a block sum to: blocks must add up.
        """
        if not hasattr(self, "counts_"):
            check_parameters(self)
            known = None if classes is None else np.unique(np.asarray(classes))
            table, codes, weights = self._read(X, y, sample_weight, reset=True, classes=known)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CostWarning)  # given once, when the policy is solved
                self._resolve_costs()
            self._count_first(table, codes, weights)
        else:
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise InputError(
                    f"classes is {np.unique(np.asarray(classes)).tolist()}, but the first block had "
                    f"{self.classes_.tolist()}; all blocks share one set of classes"
                )
            table, codes, weights = self._read(X, y, sample_weight, reset=False, classes=self.classes_)
            block = Counts.of(self.binner_, table, codes, weights, self.classes_.size)
            self.counts_, self.binner_ = self.counts_.merge(block), self.binner_.seeing(table)
        self._model = None
        return self

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        super()._learn(table, codes, weights, prices, mistakes)
        if self.temperature != "auto":
            return None
        given, silent = isinstance(self.binning, Binner), np.array(self.counts_.silent, dtype=np.int64)
        rows = hold_out(
            (table, codes, weights), self.binner_, given, silent, self.classes_.size, self._seed(),
            every_column=not isinstance(self.ordering, str),
        )  # fmt: skip
        if rows is None:
            return None
        terms = self._resolve_priors, self.ordering, prices, mistakes, self._seed()
        self.temperature_, paid = coolest(lambda t: rows.walk(t, *terms))
        return paid.judgement()

    @property
    def problem_(self) -> Problem:
        """The stopping problem that was solved."""
        return self.policy_.problem

    @property
    def policy_(self) -> StoppingPolicy:
        """The solution of the stopping problem: when to stop, what to decide."""
        return self._solved().policy.stopping  # type: ignore[attr-defined]

    @property
    def feature_order_(self) -> np.ndarray:
        """Column indices in the order in which features are asked."""
        return self._solved().policy.order  # type: ignore[return-value]

    @property
    def optimality_gap_(self) -> float:
        """How far above the least possible expected cost ``policy_.expected_cost`` is at most, in units of cost."""
        return self.policy_.gap

    def _solver(self) -> Solver:
        raise AssertionError("each classifier names its solver")

    _solves_as_searched = False  # whether the search for an order solves problems in the same way

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        counts = self.counts_
        priors = self._resolve_priors(counts.classes)
        likelihoods = tempered(counts.likelihoods(), counts.offsets, priors, self.temperature_)
        order, solution = choose_order(self.ordering, counts, likelihoods, priors, prices, mistakes, self._seed())
        beliefs = NaiveBayes(self.binner_, likelihoods, priors)
        if solution is None or not self._solves_as_searched:
            problem = problem_of(beliefs, order, prices, mistakes)
            solution = self._solver().solve(problem)
            if not isinstance(solution, StoppingPolicy) or solution.problem is not problem:
                solution = ForeignPolicy(problem, solution)
        return Model(beliefs, FixedOrder(order, solution, prices, mistakes), self.classes_, self._names())


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
    ordering : {"auto", "error", "variance", "information", "cost"} or array (K,) of column indices
        Which feature comes first; see :mod:`etana.ordering`. ``"cost"`` searches for an order of low expected cost,
        group discounts and mistakes included, and takes longer, seconds at most; ``"auto"`` does so where it is
        affordable, and takes ``"information"`` per price where it is not. A feature that cannot change the belief is
        not asked, whatever the order.
    priors : {"empirical", "uniform"} or array (N,)
        Class probabilities before any feature is known.
    solver : {"auto", "exact", "points", "grid"} or a solver object
        ``"auto"`` is ``"exact"`` for two classes and ``"points"`` otherwise; see :mod:`etana.policies`.
    missing : {"skip", "bin"}
        A missing value is paid for; it is no evidence, or has a bin of its own.
    random_state : int, RandomState or Generator, optional
        Seed of whatever is drawn; None is a fixed seed.
    identifiers : "auto" or sequence
        Columns that only number the rows and are no evidence. ``"auto"`` finds numbers that are whole, all different
        and in step with the rows (or called ``id`` or the like), warns (:class:`etana.errors.IdentifierWarning`) and
        leaves them out; a sequence of names or indices leaves out these and no others, ``[]`` none.
    temperature : "auto" or number >= 1
        How far evidence is believed: ratios of likelihoods are raised to 1/T. ``"auto"`` takes the T at which held-out
        training rows pay least (:mod:`etana.learning.temperature`); counts alone, as of ``partial_fit``, have T = 1.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    problem_, policy_ : Problem, Policy
        What was solved, and the solution.
    feature_order_ : array
        Column indices in the order in which they are asked; features that tell nothing about the class are not in it.
    expected_cost_, expected_cost_error_, expected_n_features_ : float
        What an instance is expected to pay and to be asked: what training rows paid that were held out to choose the
        temperature. Without them (a temperature that is given, ``partial_fit``, ``with_costs``) it is what the model
        expects, which is always in ``policy_``, by class and by stage in ``policy_.expectation``.
    optimality_gap_ : float
        ``policy_.expected_cost`` less a bound that no policy for this model and order can beat.
    temperature_ : float
        The temperature that is used.
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
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        n_bins: int | str = "auto",
        binning: BinningLike = "supervised",
        ordering: Ordering = "auto",
        priors: Priors = "empirical",
        solver: Any = "auto",
        missing: str = "skip",
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
        temperature: float | str = "auto",
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
        self.identifiers = identifiers
        self.temperature = temperature

    @classmethod
    def as_published(cls, n_bins: int = 3, feature_costs: FeatureCostsLike = 0.01) -> ETANAClassifier:
        """The program of the paper's authors: equal-width bins between whole numbers, uniform priors, features
        ordered by variance, and the stopping problem on a grid of beliefs in steps of a tenth."""
        return cls(
            feature_costs=feature_costs,
            n_bins=n_bins,
            binning="published",
            ordering="variance",
            priors="uniform",
            solver=GridSolver(resolution=10, lookup="nearest"),
            identifiers=(),
            temperature=1.0,
        )

    _parameters: ClassVar = {
        "solver": either(
            one_of("auto", "exact", "points", "grid", "thresholds"),
            has_method("solve", words="an object with a solve(problem) method"),
        )
    }

    def _solver(self) -> Solver:
        return solver_for(self.solver, self.classes_.size, self._seed())

    @property
    def _solves_as_searched(self) -> bool:  # type: ignore[override]
        return isinstance(self.solver, str) and self.solver == "auto"


class FETANAClassifier(_StoppingClassifier):
    """F-ETANA: as :class:`ETANAClassifier`, but stops at linear thresholds on the belief, found by SPSA.

    Parameters
    ----------
    feature_costs, misclassification_costs, n_bins, binning, ordering, priors, missing, random_state
        As for :class:`ETANAClassifier`.
    identifiers, temperature
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
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        n_bins: int | str = "auto",
        binning: BinningLike = "supervised",
        ordering: Ordering = "error",
        priors: Priors = "empirical",
        missing: str = "skip",
        max_iterations: int | None = None,
        batch: int = 1024,
        restarts: int = 1,
        original: bool = False,
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
        temperature: float | str = "auto",
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
        self.identifiers = identifiers
        self.temperature = temperature

    _parameters: ClassVar = {
        "max_iterations": either(whole(least=0), none), "batch": whole(least=1), "restarts": whole(least=1),
        "original": flag,
    }  # fmt: skip

    def _solver(self) -> Solver:
        return ThresholdSolver(
            max_iterations=self.max_iterations,
            batch=self.batch,
            restarts=self.restarts,
            original=self.original,
            random_state=self._seed(),
        )
