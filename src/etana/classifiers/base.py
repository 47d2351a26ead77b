"""What all classifiers share: reading tables, checking parameters, classification, new prices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from etana.beliefs.base import Beliefs
from etana.binning import Binner, bins_for
from etana.case import Case, run_case
from etana.classifiers.budgets import at_price, price_for
from etana.costs import ResolvedCosts, resolve_feature_costs, resolve_mistakes
from etana.dictionary import Dictionary
from etana.errors import CostWarning, InputError
from etana.judgement import HeldOutRows, Judgement
from etana.learning.folds import TrainingRows
from etana.learning.identifiers import resolve_identifiers
from etana.likelihood import Counts, rows_worth
from etana.model import Model
from etana.parameters import anything, check_parameters, either, instance_of, number, one_of, seed, sequence, whole
from etana.policies.base import Policy
from etana.policies.expectation import Expectation
from etana.table import Table, check_labels, code_labels, plain_value, read_table
from etana.typing import ArrayLike, FeatureCostsLike, MistakeCostsLike, TableLike, Unchanged
from etana.walks import Acquisition

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["UNCHANGED", "AcquiringClassifier", "BinnedClassifier"]

UNCHANGED = Unchanged.UNCHANGED


class AcquiringClassifier(ClassifierMixin, BaseEstimator):
    """Reading of tables, classification and new prices, shared by all classifiers that acquire features."""

    feature_costs: Any
    misclassification_costs: Any
    random_state: Any
    identifiers: Any

    classes_: np.ndarray
    _model: Model | None
    _dictionary: Dictionary | None = None

    _parameters: ClassVar = {
        "feature_costs": anything, "misclassification_costs": anything, "random_state": seed,
        "identifiers": either(one_of("auto"), sequence("columns that number the rows")),
    }  # fmt: skip

    _keeps_rows: ClassVar[bool] = True  # whether training rows are remembered beyond the fit
    pairings: ClassVar[tuple[tuple[type[Beliefs], type[Policy]], ...]]  # what its models may be made of

    # What the same classifier under new prices takes over.
    _carried: tuple[str, ...] = ("classes_", "n_features_in_", "feature_names_in_", "_dictionary")

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check everything, learn from the rows, and make the model."""
        check_parameters(self)
        table, codes, weights = self._read(X, y, sample_weight, reset=True)
        weights = rows_worth(weights)
        prices, mistakes = self._resolve_costs()
        judgement = self._learn(table, codes, weights, prices, mistakes)
        model = self._named_model(prices, mistakes)
        self._model = model if judgement is None else model.judged(judgement)
        return self

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        """Learn from training rows what new prices do not change; what rows paid at these, if some were held out."""
        raise AssertionError("each classifier learns in its own way")

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        """Beliefs and a policy for these prices."""
        raise AssertionError("each classifier makes its model")

    def _named_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        """The model, with what is said of its features."""
        words = Dictionary() if self._dictionary is None else self._dictionary
        return self._make_model(prices, mistakes).described(words)

    def _resolve_costs(self) -> tuple[ResolvedCosts, np.ndarray]:
        prices = resolve_feature_costs(self.feature_costs, self.n_features_in_, self._names())
        return prices, self._resolve_mistakes()

    def _resolve_mistakes(self) -> np.ndarray:
        """What depends on the number of classes, (N, N)."""
        return resolve_mistakes(self.misclassification_costs, self.classes_.size)

    def acquire(self, X: TableLike, max_cost: float | None = None, known: Sequence[Any] | None = None) -> Acquisition:
        """Classify rows, asking of each only the features that pay.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
            Only the values that are asked for are read.
        max_cost : float, optional
            No instance is charged more than this for its features; of what fits the money left, the best is asked.
        known : sequence of features, optional
            Names (or indices, if there are no names) of columns that are there for all rows and cost nothing.
        """
        model = self._solved()
        table = read_table(X)
        self._note_features(X, table, reset=False)
        return model.acquire(table, max_cost, known)

    def predict(self, X: TableLike) -> np.ndarray:
        """Decided class of each row."""
        return self.acquire(X).labels

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Belief in each class at the stop."""
        return self.acquire(X).posteriors

    def start(self, max_cost: float | None = None, known: Mapping[Any, Any] | None = None) -> Case:
        """A case: one instance, any value at any time.

        Parameters
        ----------
        max_cost : float, optional
            The case is charged no more than this.
        known : mapping from feature to value, optional
            What is known before the first question; it costs nothing.
        """
        return self._solved().start(max_cost, known)

    def ask(
        self, fetch: Callable[[Any], Any] | Mapping[Any, Callable[[], Any]], max_cost: float | None = None,
        known: Mapping[Any, Any] | None = None,
    ) -> Case:  # fmt: skip
        """Run a case to its end, calling ``fetch(name)``, or ``fetch[name]()``, only for what is needed."""
        return run_case(self.start(max_cost, known), fetch)

    def with_costs(
        self, feature_costs: FeatureCostsLike | Unchanged = UNCHANGED,
        misclassification_costs: MistakeCostsLike | Unchanged = UNCHANGED,
    ) -> Self:  # fmt: skip
        """The same classifier under new prices: no data, no new fit, only what depends on prices is made again.

        When to stop always is. Bins, counts and beliefs never are. What else the fit chose stays as it was chosen, at
        the old prices: the order of a :class:`etana.SequentialClassifier` or :class:`etana.CommitteeClassifier` and the
        features in it, the strength and the steps of an :class:`etana.AdaptiveClassifier`, the candidate of a
        :class:`etana.FrugalClassifier`, and temperatures. Only :class:`etana.ETANAClassifier` and
        :class:`etana.FETANAClassifier` order features anew. Where prices change so much that another order would be
        better, fit again.
        """
        check_is_fitted(self)
        new = self._repriced(feature_costs, misclassification_costs)
        new._model = new._named_model(*new._resolve_costs())
        return new

    def _repriced(
        self, feature_costs: FeatureCostsLike | Unchanged, misclassification_costs: MistakeCostsLike | Unchanged
    ) -> Self:
        """A copy with new prices, which has no model yet."""
        new = self._copy()
        if feature_costs is not UNCHANGED:
            new.feature_costs = feature_costs
        if misclassification_costs is not UNCHANGED:
            new.misclassification_costs = misclassification_costs
        return new

    def _copy(self) -> Self:
        """The same parameters, and what was learnt whatever the prices."""
        new = clone(self)
        for name in self._carried:
            if hasattr(self, name):
                setattr(new, name, getattr(self, name))
        return new

    def within_budget(self, max_cost: float) -> Self:
        """The same classifier with a policy that plans with a budget for each instance, and never spends more on it.

        It is made for this budget: its ``expected_cost_`` is what it really expects to pay. A larger budget never has
        a larger one, under the model. ``acquire(X, max_cost=...)`` keeps the policy as it is, and turns to what fits
        only where the policy asks for what does not.
        """
        return self._with_model(self._solved().within_budget(max_cost))

    def _with_model(self, model: Model) -> Self:
        new = self._copy()
        new._model = model
        return new

    def price_for(self, mean_cost: float) -> float:
        """What a unit of money must count for against mistakes, so that instances pay no more than this in the mean.

        Found on held-out walks where the classifier has them, else by its own expectation. At 1 prices are as they
        are; see :mod:`etana.classifiers.budgets`.
        """
        return price_for(self, mean_cost)

    def for_budget(self, mean_cost: float) -> Self:
        """The same classifier at the price at which instances pay no more than ``mean_cost`` for features in the mean.

        Features cost what they cost; mistakes are divided by :meth:`price_for`.
        """
        return at_price(self, price_for(self, mean_cost))

    def held_out(self) -> tuple[np.ndarray, HeldOutRows] | None:
        """Rows of the fit, and what each paid when what it walked by had not seen it; None where nothing is known of
        single rows: none were held out, or the classifier was loaded."""
        return None

    def bins_wanted(self) -> Binner | None:
        """Bins that are given, or an unfitted binner that says which to choose; None where nothing is counted."""
        return None

    def recount(self, binner: Binner, counts: Counts, rows: TrainingRows) -> bool:
        """Take over bins and counts of more rows than these, which it was fitted on; False if it has no use for them.

        What was chosen on the rows, and what they paid when they were held out, stays.
        """
        return False

    def mean_spend(self) -> float:
        """What an instance is expected to pay for features alone."""
        return self._solved().expected_spend

    def describe(self, dictionary: Dictionary | Mapping[str, Any]) -> Self:
        """Say what the features are: words, units, plausible ranges, choices, by name.

        They are shown wherever a question is asked, travel in the model file and change nothing that is decided. A new
        fit forgets them.

        Parameters
        ----------
        dictionary : Dictionary, or what makes one
            A mapping from names of features to mappings; features may be left out.
        """
        model = self._solved()
        words = dictionary if isinstance(dictionary, Dictionary) else Dictionary(dictionary)
        # How the training table spelt a missing value stays known, unless the new words know better.
        self._dictionary = words if words.missing else words.with_missing(model.dictionary.missing)
        self._model = model.described(self._dictionary)
        return self

    @property
    def dictionary_(self) -> Dictionary:
        """What is said of the features; see :meth:`describe`."""
        return self._solved().dictionary

    @property
    def model_(self) -> Model:
        """All that classification needs, without scikit-learn."""
        return self._solved()

    @property
    def expectation_(self) -> Expectation:
        """What an instance is expected to pay and to be asked: in all, by class, and by number of features."""
        return self._solved().expectation

    @property
    def expected_cost_(self) -> float:
        """Expected cost of an instance, features and mistakes: what held-out training rows paid, where some were held
        out, else what the model expects (``model_.expected_cost``)."""
        model = self._solved()
        return model.expected_cost if model.judgement is None else model.judgement.cost

    @property
    def expected_cost_error_(self) -> float:
        """One standard error of the expected cost; 0 where it is exact."""
        model = self._solved()
        return model.expectation.standard_error if model.judgement is None else model.judgement.standard_error

    @property
    def expected_n_features_(self) -> float:
        """Expected number of features asked of an instance, as for the expected cost."""
        model = self._solved()
        return model.expected_n_features if model.judgement is None else model.judgement.n_features

    @classmethod
    def check_made_of(cls, beliefs: str, policy: str) -> None:
        """Refuse names of beliefs and a policy that no model of this classifier has."""
        if (beliefs, policy) not in [tuple(part.__name__ for part in pairing) for pairing in cls.pairings]:
            raise InputError(f"a {cls.__name__} is not made of {beliefs!r} and {policy!r}")

    def restore_model(self, model: Model) -> None:
        """Take over a model that was read from a file, if it is one that this classifier makes."""
        self.check_made_of(type(model.beliefs).__name__, type(model.policy).__name__)
        self.classes_, self.n_features_in_, self._model = model.classes, model.n_features, model
        if model.names is not None:
            self.feature_names_in_ = np.array(model.names, dtype=object)
        self._dictionary = model.dictionary

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a model file holds of the fit besides the model."""
        return {}, {}

    def restore_learnt(self, stored: State) -> None:
        """Take over what :meth:`learnt_state` gave; the model is there already."""

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
        check_labels(y)
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        if len(y) != table.n_rows:
            raise InputError(f"X has {table.n_rows} rows and y has {len(y)} labels; give one label per row")
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():  # which scikit-learn refuses from 1.7 on
            raise InputError("sample_weight is 0 for every row; give at least one non-zero weight")
        self.classes_, codes = code_labels(y, classes, shared=not self._keeps_rows)
        if y.dtype.kind in "iub" and 2 * self.classes_.size > y.size:
            check_classification_targets(y)  # warns of so many classes, and has nothing else against whole numbers
        unknown = np.empty(0, np.int64) if classes is None else np.flatnonzero(self.classes_[codes] != y)
        if unknown.size:
            raise InputError(
                f"y has the label {plain_value(y[unknown[0]])!r}, which is not among the classes "
                f"{self.classes_.tolist()}; name all classes in the first call: partial_fit(X, y, classes=...)"
            )
        if reset:
            self._dictionary = None  # of the features that were there before
        return table, codes, weights

    def _note_features(self, X: Any, table: Table, reset: bool) -> None:
        """Remember number and names of the columns, or compare with those remembered."""
        if not reset and type(X) is np.ndarray and table.n_features == self.n_features_in_ and self._names() is None:
            return  # all that is compared below, without the time that it takes
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

    def _solved(self) -> Model:
        model = getattr(self, "_model", None)
        if model is None:
            check_is_fitted(self)
            model = self._model = self._named_model(*self._resolve_costs())
        return model

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

    temperature: Any

    binner_: Binner
    counts_: Counts
    temperature_: float

    _parameters: ClassVar = {
        "n_bins": either(one_of("auto"), whole(least=1)),
        "binning": either(
            one_of("supervised", "quantile", "uniform", "published"), instance_of(Binner, "a fitted etana.Binner")
        ),
        "missing": one_of("skip", "bin"),
        "priors": anything,
        "temperature": either(one_of("auto"), number(least=1.0)).cure("1 believes the counts as they are"),
    }
    _carried = (*AcquiringClassifier._carried, "binner_", "counts_", "temperature_")

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
        y : array (n,)
        sample_weight : array (n,), optional
            A weight counts as that many copies of the row; weights that sum to less than the rows they stand for,
            such as shares of one, only say how rows compare (:func:`etana.likelihood.rows_worth`).
        """
        return self._fit(X, y, sample_weight)

    def bins_wanted(self) -> Binner:
        """Bins that are given, or which are to be chosen."""
        return bins_for(self.binning, self.n_bins, self.missing)

    def recount(self, binner: Binner, counts: Counts, rows: TrainingRows) -> bool:
        """Bins and counts of more rows; columns that are no evidence are the same."""
        judgement = self._solved().judgement
        self.binner_, self.counts_ = binner, replace(counts, silent=self.counts_.silent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CostWarning)  # given when it was fitted
            model = self._named_model(*self._resolve_costs())
        self._model = model if judgement is None else model.judged(judgement)
        return True

    def _resolve_mistakes(self) -> np.ndarray:
        self._resolve_priors(np.ones(self.classes_.size))
        return super()._resolve_mistakes()

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        self._count_first(table, codes, weights)
        return None

    def _count_first(self, table: Table, codes: np.ndarray, weights: np.ndarray) -> None:
        """Bins and counts of the first rows."""
        n = self.classes_.size
        if isinstance(self.binning, Binner):
            self._use_given_bins(table)
            counts = Counts.of(self.binner_, table, codes, weights, n)
        else:
            self.binner_ = self.bins_wanted()
            counts = Counts.learn(self.binner_, table, codes, weights, n)
        self.counts_ = counts.without(resolve_identifiers(self.identifiers, table))
        self.temperature_ = 1.0 if isinstance(self.temperature, str) else float(self.temperature)

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

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The counts."""
        silent = np.array(self.counts_.silent, dtype=np.int64)
        arrays = {"cells": self.counts_.cells, "classes": self.counts_.classes, "silent": silent}
        return arrays, {"temperature": self.temperature_}

    def restore_learnt(self, stored: State) -> None:
        """The counts; bins are those of the beliefs."""
        self.binner_ = self.model_.beliefs.binner  # type: ignore[attr-defined]
        offsets, n = self.binner_.cell_offsets, self.classes_.size
        cells, totals = stored.array("cells", (int(offsets[-1]), n)), stored.array("classes", (n,))
        for counts in (cells, totals):
            if not (np.isfinite(counts).all() and (counts >= 0).all()):
                raise InputError("a training count is negative or not finite")
        silent = stored.array("silent", (None,), np.int64)
        if (silent < 0).any() or (silent >= self.binner_.n_features).any():
            raise InputError("a column that is no evidence is not there")
        self.counts_ = Counts(cells, offsets, totals, self.binner_.pooled).without(silent)
        self.temperature_ = stored.number("temperature", 1.0)
