"""The one to use: candidates are judged on training rows that they had not seen; the one that pays least is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from etana.binning import Binner, bins_for
from etana.classifiers.adaptive import AdaptiveClassifier
from etana.classifiers.base import AcquiringClassifier, BinnedClassifier
from etana.classifiers.committee import CommitteeClassifier
from etana.classifiers.fixed import ETANAClassifier
from etana.classifiers.sequential import SequentialClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.judgement import HeldOutRows, Judgement
from etana.learning.folds import TrainingRows, row_keys, sample_rows
from etana.learning.identifiers import resolve_identifiers
from etana.learning.judging import NOTHING, Candidate, Known, judge
from etana.learning.progress import Tell, progress_bar
from etana.likelihood import Counts
from etana.model import Model
from etana.parameters import anything, either, flag, none, one_of, whole
from etana.table import Table
from etana.typing import (
    ArrayLike,
    BinningLike,
    FeatureCostsLike,
    Identifiers,
    MistakeCostsLike,
    RandomState,
    TableLike,
    Unchanged,
)

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["FrugalClassifier"]

_ONE_ORDER, _BY_INSTANCE, _NAIVE = "naive Bayes, one order", "path counts, by instance", "naive Bayes, by instance"
_COMMITTEE, _PREFIXES = "committee", "neighbours and logistic, one order"
_CANDIDATES = (NOTHING, _ONE_ORDER, _BY_INSTANCE, _NAIVE, _PREFIXES, _COMMITTEE)
_PROGRAMS = {_COMMITTEE, _PREFIXES}  # what cannot be exported
_WALKING = (_COMMITTEE, _BY_INSTANCE, _NAIVE)  # what keeps walks of rows that it had not seen
_FEW = 200  # rows below which a choice leans on what holds in general, and three folds say too little
_MANY = 1000  # rows from which three folds say enough
_MOST_JUDGED = {"fast": 1000, "auto": 3000, "best": 10_000}  # rows
_MOST_SOLVED = 500  # rows up to which one order for more than two classes is solved in good time
_WIDEST = 50_000  # columns that more than one order can look at in good time


class FrugalClassifier(AcquiringClassifier):
    """Asks of each instance only the features that pay, in the way that costs least on these data.

    No single way is best everywhere. Candidates are fitted and judged by the total cost, features and mistakes, of
    training rows that they had not seen: naive Bayes on bins along one order (the paper's method), a choice of the next
    feature for each instance, and a committee of classifiers with an order for each kind of instance. Asking nothing is
    always one of them. A candidate replaces the default only if it is clearly cheaper.

    Under new prices (``with_costs``) the candidate that was chosen stays; whether it is used or nothing is asked is
    decided anew, by what it expects to pay, and ``expected_cost_`` is then its own.

    Parameters
    ----------
    feature_costs : number, array (K,), mapping from feature name to number, or FeatureCosts
        What each feature costs, in the unit of the misclassification costs.
    misclassification_costs : array (N, N), optional
        Row true class, column decided class, classes in sorted order; None means 1 for every mistake.
    effort : {"fast", "auto", "best"}
        How much work the choice is worth: seconds, what the size of the table allows, or minutes.
    n_jobs : int, optional
        Candidates and folds that are worked on at once, as in joblib.
    verbose : bool or int
        Show how far it is, and how long it will take.
    random_state : int, RandomState or Generator, optional
        Seed of folds and samples; None is a fixed seed.
    identifiers : "auto" or sequence
        Columns that number the rows and are no evidence; ``"auto"`` finds them, with a warning, ``[]`` keeps all.
    exportable : bool
        Only candidates over bins, whose policies :func:`etana.export` can write; others are programs, not tables.
    binning : {"supervised", "quantile", "uniform", "published"} or a fitted Binner
        Bins of the candidates over bins; the others see the values themselves.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    best_ : classifier
        The one that was chosen, fitted on all rows.
    comparison_ : list of Candidate
        What each candidate paid on held-out rows: ``name``, ``cost``, ``standard_error``, ``features``, ``accuracy``,
        ``seconds``, ``chosen``; the cheapest first.
    expected_cost_, expected_cost_error_ : float
        What an instance is expected to pay, mistakes included, and one standard error of it: the mean over training
        rows that neither the classifier nor the choice had seen.
    expected_n_features_ : float
        How many features an instance is expected to be asked, likewise.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana import FrugalClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = FrugalClassifier(feature_costs=0.01, effort="fast").fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 5)  # of 30
    True
    >>> sorted(row.name for row in clf.comparison_ if row.cost >= 0.3)  # without a question
    ['ask nothing']
    """

    pairings = tuple(
        dict.fromkeys(
            pair
            for kind in (ETANAClassifier, AdaptiveClassifier, SequentialClassifier, CommitteeClassifier)
            for pair in kind.pairings
        )
    )
    best_: AcquiringClassifier
    comparison_: list[Candidate]
    _asking: tuple[str, AcquiringClassifier] | None  # what is used where asking pays
    _nothing: AcquiringClassifier | None  # what is used where it does not

    def __init__(
        self,
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        effort: str = "auto",
        n_jobs: int | None = None,
        verbose: int | bool = False,
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
        exportable: bool = False,
        binning: BinningLike = "supervised",
    ) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.effort = effort
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.identifiers = identifiers
        self.exportable = exportable
        self.binning = binning

    _parameters: ClassVar = {
        "binning": BinnedClassifier._parameters["binning"],
        "exportable": flag,
        "effort": one_of("fast", "auto", "best"),
        "n_jobs": either(whole(), none),
        "verbose": anything,
    }
    _carried = (*AcquiringClassifier._carried, "comparison_", "_asking", "_nothing")

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Judge the candidates, and fit the one that pays least on all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, K)
        y : array (n,)
        sample_weight : array (n,), optional
            How much each row counts.
        """
        return self._fit(X, y, sample_weight)

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement:
        rows, counting = TrainingRows(table, codes, weights), np.flatnonzero(weights > 0)
        seed, most = self._seed(), _MOST_JUDGED[self.effort]
        names = self._allowed(self._names_of(counting.size, table.n_features, len(mistakes)))
        # Found once, in all rows: a part of them may not show what a number is.
        identifiers = resolve_identifiers(self.identifiers, table).tolist()
        makers = {name: self._maker(name, seed, identifiers) for name in names}
        # A fit that stays has the labels, not their numbers.
        labelled = table, self.classes_[codes], weights
        n_folds, repeats = self._folds(min(counting.size, most))
        walking = [name for name in names if name in _WALKING] if self._is_long(counting.size) else []
        # All rows say whether a committee has regions; where it has none, folds need not look for them.
        first = list(dict.fromkeys([*walking, *({_COMMITTEE} & {*names})]))
        n_fits = len(first) + (len(names) - 1 - len(walking)) * n_folds * repeats + 1
        with progress_bar(type(self).__name__, n_fits, bool(self.verbose)) as tell:
            fitted = {name: _Timed.fit(makers[name](), labelled, tell) for name in first}
            if _COMMITTEE in fitted:
                splits = fitted[_COMMITTEE].clf.n_regions_ > 1
                makers[_COMMITTEE] = self._maker(_COMMITTEE, seed, identifiers, splits)
            counting, walked = _held_out({name: fitted[name] for name in walking}, counting)
            index, judged_rows = _every_class(rows, counting, most, row_keys(table, seed))
            known = {name: _of_rows(*walked[name], index, codes.size, fitted[name].seconds) for name in walked}
            judged = judge(judged_rows, makers, names[1], mistakes, n_folds, repeats, seed, self.n_jobs, tell, known)
            kept = fitted.get(judged.asking) or _Timed.fit(makers[judged.asking](), labelled)
            self._asking = judged.asking, kept.clf
            self._nothing = makers[NOTHING]().fit(*labelled)
            tell("fitted")
        self.comparison_ = judged.comparison()
        self.best_ = self._nothing if judged.choose() == NOTHING else self._asking[1]
        return judged.judgement()

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        return self.best_.model_

    def _repriced(
        self, feature_costs: FeatureCostsLike | Unchanged, misclassification_costs: MistakeCostsLike | Unchanged
    ) -> Self:
        """A copy that asks or asks nothing, whichever expects to pay less at the new prices."""
        if self._asking is None:
            raise InputError(
                "this classifier was loaded from a file and asks nothing, and the file does not hold what would ask at "
                "other prices; use the classifier that was fitted, or fit again"
            )
        new = super()._repriced(feature_costs, misclassification_costs)
        costs = {"feature_costs": new.feature_costs, "misclassification_costs": new.misclassification_costs}
        new._asking = self._asking[0], self._asking[1].with_costs(**costs)
        candidates = [new._asking[1]]
        if self._nothing is not None:
            new._nothing = self._nothing.with_costs(**costs)
            candidates.append(new._nothing)
        new.best_ = min(candidates, key=lambda clf: clf.expected_cost_)
        return new

    def bins_wanted(self) -> Binner | None:
        """Those of its candidates."""
        return bins_for(self.binning)

    def recount(self, binner: Binner, counts: Counts, rows: TrainingRows) -> bool:
        """Bins and counts of more rows for what was chosen, if it is over counts."""
        judgement, fitted = self._solved().judgement, {id(clf): clf for clf in self._fitted()}
        taken = {key: clf.recount(binner, counts, rows) for key, clf in fitted.items()}
        self._model = self.best_.model_.described(self.dictionary_)
        if judgement is not None:
            self._model = self._model.judged(judgement)
        return taken[id(self.best_)]

    def _fitted(self) -> list[AcquiringClassifier]:
        """What asks, and what asks nothing."""
        both = [None if self._asking is None else self._asking[1], self._nothing]
        return [clf for clf in both if clf is not None]

    def within_budget(self, max_cost: float) -> Self:
        """The chosen classifier, with a policy that plans with a budget for each instance."""
        best, new = self._solved_best().within_budget(max_cost), self._copy()
        new.best_ = best
        if self.best_ is self._nothing:
            new._nothing = best
        else:
            assert self._asking is not None
            new._asking = self._asking[0], best
        new._model = best.model_.described(self.dictionary_)
        return new

    def mean_spend(self) -> float:
        """What an instance is expected to pay for features alone, as the chosen classifier knows it."""
        return self._solved_best().mean_spend()

    def _solved_best(self) -> AcquiringClassifier:
        check_is_fitted(self)
        return self.best_

    def _names_of(self, n: int, n_features: int, n_classes: int) -> list[str]:
        """Candidates for a table of this size: asking nothing, the default, and others."""
        if n < 2 or n_features > _WIDEST:
            return [NOTHING, _ONE_ORDER]
        # Two classes are solved exactly, in milliseconds; more take longer than all other candidates together.
        one_order = [_ONE_ORDER] if n_classes == 2 or n <= _MOST_SOLVED else []
        if self.effort == "fast":
            return [NOTHING, _NAIVE, *one_order]
        # With few rows and many columns, what holds in general is trusted: naive Bayes, by instance.
        few = n < _FEW and n_features > n
        names = [_NAIVE, _COMMITTEE, *one_order] if few else [_COMMITTEE, _BY_INSTANCE, *one_order]
        others = [_NAIVE, _BY_INSTANCE, _PREFIXES, _ONE_ORDER] if self.effort == "best" else []
        return [NOTHING, *dict.fromkeys(names + others)]

    def _allowed(self, names: list[str]) -> list[str]:
        """These candidates; where programs may not be chosen, a choice by instance takes their place."""
        if not self.exportable:
            return names
        return [NOTHING, *dict.fromkeys(_BY_INSTANCE if name in _PROGRAMS else name for name in names[1:])]

    def _is_long(self, n_rows: int) -> bool:
        """Whether candidates are judged by the walks that they keep. Then all rows are learnt from, and not a part of
        a part, with which what needs many rows looks worse than it is; what is chosen by these walks, an order, a way,
        does not fit this many rows by chance."""
        return n_rows > _MANY and self.effort != "best"

    def _folds(self, n_rows: int) -> tuple[int, int]:
        """Folds, and how often they are dealt: to deal them again says little that is new, the rows being the same."""
        if self.effort == "fast":
            return (5, 1) if n_rows < _FEW else (3, 1)
        return (5 if n_rows < _MANY else 3), (2 if self.effort == "best" else 1)

    def _maker(self, name: str, seed: int, identifiers: list[int], splits: bool = True) -> Callable[[], Any]:
        """What makes the candidate of a name; ``splits`` says whether a committee looks for regions."""
        given = {
            "feature_costs": self.feature_costs, "misclassification_costs": self.misclassification_costs,
            "identifiers": identifiers, "random_state": seed,
        }  # fmt: skip
        binned = {**given, "binning": self.binning}
        kinds: dict[str, Callable[[], Any]] = {
            NOTHING: lambda: self._asks_nothing(given),
            _ONE_ORDER: lambda: ETANAClassifier(**binned),
            _BY_INSTANCE: lambda: AdaptiveClassifier(**binned),
            _NAIVE: lambda: AdaptiveClassifier(m=np.inf, look_ahead=False, **binned),
            _PREFIXES: lambda: SequentialClassifier(**given),
            _COMMITTEE: lambda: CommitteeClassifier(splits=splits, **given),
        }
        return kinds[name]

    def _asks_nothing(self, given: dict[str, Any]) -> AcquiringClassifier:
        if not self.exportable:
            return SequentialClassifier(max_features=0, **given)
        # Where no column is evidence, naive Bayes asks for none, and can be exported.
        every = list(range(self.n_features_in_))
        return ETANAClassifier(temperature=1.0, **given | {"identifiers": every})

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The comparison, and what the chosen candidate keeps."""
        arrays, values = self._solved_best().learnt_state()
        names = list(_CANDIDATES)
        rows = [[names.index(row.name), *map(float, row[1:])] for row in self.comparison_]
        asks = self.best_ is not self._nothing
        chosen = names.index(self._asking[0] if asks and self._asking else NOTHING)
        return arrays, values | {"comparison": rows, "best": chosen}

    def restore_learnt(self, stored: State) -> None:
        """The same back."""
        names, n = list(_CANDIDATES), len(_CANDIDATES)
        rows = stored.rows("comparison", 7)
        if not all(row[0] in range(n) and row[6] in (0, 1) for row in rows):
            raise InputError("the comparison has a candidate that is not known")
        self.comparison_ = [
            Candidate(names[int(place)], cost, error, features, accuracy, seconds, bool(chosen))
            for place, cost, error, features, accuracy, seconds, chosen in rows
        ]
        name = names[stored.whole("best", 0, n - 1)]
        self.best_ = self._maker(name, self._seed(), [])()
        self.best_.restore_model(self._solved())
        self.best_.restore_learnt(stored)
        self._nothing = self.best_ if name == NOTHING else None
        self._asking = None if name == NOTHING else (name, self.best_)


class _Timed(NamedTuple):
    """A classifier, and the processor seconds of its fit."""

    clf: Any
    seconds: float

    @classmethod
    def fit(cls, clf: Any, rows: tuple[Table, np.ndarray, np.ndarray], tell: Tell = lambda text: None) -> Self:
        """Fit it, and say so."""
        started = time.process_time()
        clf.fit(*rows)
        tell(type(clf).__name__)
        return cls(clf, time.process_time() - started)


def _held_out(
    fitted: dict[str, _Timed], counting: np.ndarray
) -> tuple[np.ndarray, dict[str, tuple[np.ndarray, HeldOutRows]]]:
    """Rows that all of these held out, and what they paid; who held out too few of them is judged like the others."""
    found = {}
    for name, (clf, _) in fitted.items():
        held = clf.held_out()
        shared = counting[:0] if held is None else np.intersect1d(counting, held[0])
        if shared.size > _MANY:
            found[name], counting = held, shared
    return counting, found


def _every_class(
    rows: TrainingRows, counting: np.ndarray, most: int, keys: np.ndarray
) -> tuple[np.ndarray, TrainingRows]:
    """At most so many of the rows that count, and of each class that has none among them one that does not.

    Without a row a class would not be known, and costs of mistakes would not fit.
    """
    some = counting[sample_rows(rows.classes[counting], most, keys[counting])]
    absent = np.setdiff1d(rows.classes, rows.classes[some])
    named = np.array([np.flatnonzero(rows.classes == code)[0] for code in absent.tolist()], dtype=np.int64)
    weights = rows.weights.copy()
    weights[named] = 0.0
    index = np.union1d(some, named)
    return index, rows._replace(weights=weights).take(index)


def _of_rows(rows: np.ndarray, walked: HeldOutRows, index: np.ndarray, n: int, seconds: float) -> Known:
    """What is known of the rows of an index, of n, and how long the fit took; 0 for those of which nothing is known,
    which do not count."""
    every = np.zeros((3, n))
    every[:, rows] = walked[:3]
    paid, asked, right = every[:, index]
    return Known(paid, asked, right, seconds)
