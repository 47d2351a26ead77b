"""Fit a classifier on data that no machine holds: two passes over the parts, counts merged along a tree.

The first pass learns what bins are made of and how many rows each class has; the second counts, and draws a sample of
rows for classifiers that choose or learn what does not add up (:mod:`etana.distributed.sampling`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from etana.binning import Binner
from etana.classifiers.base import AcquiringClassifier
from etana.costs import resolve_feature_costs
from etana.distributed.bins import candidate_bins, join_candidates, what_to_learn
from etana.distributed.blocks import BlockSource, Rows, encode, read_part, read_source
from etana.distributed.merging import reduce_parts, reduce_stream
from etana.distributed.sampling import LEAST, Drawn, FittedRows, Quotas, SampleDraw
from etana.distributed.summary import Summary, check_same_columns
from etana.errors import CostWarning, InputError, SampleWarning
from etana.learning.estimators import weight_name
from etana.learning.folds import TrainingRows
from etana.learning.identifiers import resolve_identifiers, warn_of_identifiers
from etana.learning.odd_text import name_text
from etana.likelihood import Counts, rows_worth
from etana.parameters import check_parameters, check_value, either, one_of, whole
from etana.table import Table, plain_value

__all__ = ["SAMPLE_SIZE", "fit", "fit_parts"]

Classifier = TypeVar("Classifier", bound=AcquiringClassifier)

SAMPLE_SIZE = 20_000
_NO_ROWS = "the parts have no rows; give at least one row"


def fit(
    clf: Classifier, X: Any, y: Any = None, *, sample_weight: Any = None, classes: Any = None,
    sketch_size: int | str = "auto", sample_size: int = SAMPLE_SIZE,
) -> Classifier:  # fmt: skip
    """A fitted copy of a classifier, learnt from data in parts.

    Counts add up from parts; the choice among candidates, neighbours, regressions and boosted trees do not. An
    :class:`etana.ETANAClassifier` or :class:`etana.FETANAClassifier` is fitted on all rows. Any other classifier is
    chosen, judged and fitted on a sample, every class in proportion; if what is then used is over counts, its bins and
    counts are those of all rows. ``fitted_rows_`` says which it was.

    Parameters
    ----------
    clf : FrugalClassifier, ETANAClassifier, or any other classifier of etana
        Its parameters count; it is not changed. Its ``random_state`` is the seed of the sample.
    X : Dask array, Dask data frame, or list of blocks
        An array is cut by rows only. A block is ``(X, y)`` or ``(X, y, sample_weight)``, where X is anything that
        ``fit`` takes, sparse matrices among it; it can be delayed, at hand, or a function that returns it. If no block
        is delayed, this process reads one after the other and Dask is not needed.
    y : Dask array or series, array, or the name of a column of the data frame X
        Not for blocks, which bring their own.
    sample_weight : as y, optional
    classes : array, optional
        All labels. With bins that are given, ``binning=Binner.from_edges(...)``, this saves the first of two passes.
    sketch_size : int or "auto"
        Values kept of each column while quantiles are found; see :mod:`etana.distributed.sketch`. "auto" is 20,000,
        what the one-machine fit looks at, in tables of up to 209 columns; less in wider ones, and 1,024 from 4,096 on.
    sample_size : int
        Rows of the sample, for classifiers that need one; a class whose share would be fewer than 100 has 100, or all
        that there are. This process holds it.

    Examples
    --------
    >>> import etana, numpy as np
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> blocks = [(X[rows], y[rows]) for rows in np.array_split(np.arange(len(X)), 5)]
    >>> clf = etana.distributed.fit(etana.ETANAClassifier(), blocks)
    >>> whole = etana.ETANAClassifier().fit(X, y)
    >>> bool((clf.counts_.cells == whole.counts_.cells).all())
    True
    >>> etana.distributed.fit(etana.FrugalClassifier(effort="fast"), blocks).fitted_rows_.words
    'fitted on all 178 rows'
    """
    source = read_source(X, y, sample_weight)
    return fit_parts(clf, source, classes=classes, sketch_size=sketch_size, sample_size=sample_size)


def fit_parts(
    clf: Classifier, source: BlockSource, *, classes: Any = None, sketch_size: int | str = "auto",
    sample_size: int = SAMPLE_SIZE, rename: Callable[[np.ndarray], np.ndarray] = lambda classes: classes,
    seen: Callable[[Summary], object] = lambda summary: None,
) -> Classifier:  # fmt: skip
    """As :func:`fit`, from parts.

    ``rename`` gives the labels found in them their final type; ``seen`` is told what the first pass has learnt.
    """
    known = None if classes is None else np.unique(np.asarray(classes))
    _check(clf, source, known, sketch_size, sample_size)
    new = clone(clf)
    summary = None
    if known is None or _draws(new) or not _bins_given(new):
        summary = _look(new, source, sketch_size)
        known = summary.classes if known is None else known
        seen(summary)
    final = rename(known)
    order = np.argsort(final, kind="stable")
    new.classes_ = final[order]
    labels = _Labels(known, np.argsort(order))
    if _draws(new):
        assert summary is not None
        _choose(new, source, summary, labels, sample_size, clone(clf)._seed())
    else:
        _count(new, source, summary, labels)
        new._model = new._make_model(*new._resolve_costs())
    return new


def _draws(clf: Any) -> bool:
    """Whether a classifier needs rows, and not counts alone."""
    return not hasattr(clf, "partial_fit")


def _bins_given(clf: Any) -> bool:
    return hasattr(clf.bins_wanted(), "edges")


class _Fitting(NamedTuple):
    """What the columns of each block must fit: prices, and bins that are given, for so many columns."""

    prices: Any
    n_binned: int | None

    @classmethod
    def of(cls, clf: Any) -> _Fitting:
        """What a classifier asks of columns."""
        return cls(clf.feature_costs, clf.bins_wanted().n_features if _bins_given(clf) else None)

    def check(self, n_features: int, names: list[str] | None) -> None:
        """Refuse columns that do not fit."""
        if self.n_binned not in (None, n_features):
            raise InputError(
                f"binning has bins for {self.n_binned} columns, but X has {n_features}; "
                "fit the Binner on the same columns"
            )
        resolve_feature_costs(self.prices, n_features, names)


def _check(clf: Any, source: BlockSource, classes: np.ndarray | None, sketch_size: int | str, sample_size: int) -> None:
    """Find what is wrong without the data before anything is read."""
    if not isinstance(clf, AcquiringClassifier):
        raise InputError(
            f"clf is of type {type(clf).__name__}; it must be an ETANAClassifier, a FrugalClassifier or another "
            "classifier of etana"
        )
    check_parameters(clf)
    check_value("sketch_size", sketch_size, either(one_of("auto"), whole(least=2)))
    check_value("sample_size", sample_size, whole(least=2))
    binning = getattr(clf, "binning", None)
    if isinstance(binning, Binner) and not hasattr(binning, "edges"):
        raise InputError("binning is a Binner that was not fitted; call its fit(X, y) first")
    if source.n_features is not None:
        _Fitting.of(clf).check(source.n_features, source.names)
    if classes is not None:
        asked = clone(clf)
        asked.classes_ = classes
        with _no_cost_warnings():
            asked._resolve_mistakes()


@contextmanager
def _no_cost_warnings() -> Iterator[None]:
    """They are given once, when the policy is solved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)
        yield


class _Labels(NamedTuple):
    """Labels as they stand in the parts, sorted, and their places among the final classes."""

    classes: np.ndarray
    codes: np.ndarray


class _Task(NamedTuple):
    """What a task of the second pass needs besides its part: bins, if rows are counted, how they are drawn, if they
    are, and what columns must fit, if no pass has looked at them before."""

    binner: Binner | None
    labels: _Labels
    text: frozenset[str]
    draw: SampleDraw | None = None
    fitting: _Fitting | None = None


class _Tally(NamedTuple):
    """Counts of some rows, those drawn for the sample, and the names of their columns."""

    counts: Counts | None
    drawn: Drawn | None
    n_features: int
    names: list[str] | None


def _look(new: Any, source: BlockSource, sketch_size: int | str) -> Summary:
    """The first pass: what bins and classes are made of."""
    bins = new.bins_wanted()
    # Kinds of columns and labels in them are seen on the way.
    learn = "ranges" if bins is None else "labels" if _bins_given(new) else what_to_learn(bins.method)
    step = partial(_summarise, learn=learn, size=sketch_size)
    summary = reduce_parts(step, source.parts, _Fitting.of(new), Summary.merge, source.lazy)
    if not summary.classes.size:
        raise InputError(_NO_ROWS)
    summary.check_kinds()
    return summary


def _read_again(
    source: BlockSource, bins: Binner | None, levels: dict[int, Any], names: list[str] | None, labels: _Labels,
    draw: SampleDraw | None = None, fitting: _Fitting | None = None,
) -> _Tally:  # fmt: skip
    """The second pass, or the only one."""
    text = frozenset(names[k] for k in levels) if names else frozenset()
    task = _Task(bins, labels, text, draw, fitting)
    return reduce_parts(_tally, list(enumerate(source.parts)), task, _merge_tallies, source.lazy)


def _bins_for(new: Any, summary: Summary | None, n_classes: int) -> Binner | None:
    """Bins to count in: those that are given, or candidates."""
    wanted = new.bins_wanted()
    if wanted is None or _bins_given(new):
        return wanted
    assert summary is not None
    return candidate_bins(wanted, summary, n_classes)


def _settle(new: Any, bins: Binner, counts: Counts, summary: Summary) -> tuple[Binner, Counts]:
    """The bins of the model, and the counts in them, from those of the second pass."""
    counts = counts.times(summary.worth)
    if bins.method == "supervised" and not _bins_given(new):
        return join_candidates(bins, counts, summary)
    return bins, counts


def _count(new: Any, source: BlockSource, summary: Summary | None, labels: _Labels) -> None:
    """Fit what is over counts; sets what a fit sets."""
    if summary is not None:
        _set_columns(new, summary.n_features, summary.names)
    bins = _bins_for(new, summary, labels.classes.size)
    assert bins is not None
    unseen = _Fitting.of(new) if summary is None else None
    tally = _read_again(source, bins, bins.levels, bins.names, labels, fitting=unseen)
    counts = tally.counts
    assert counts is not None
    if summary is None:
        if not counts.classes.any():
            raise InputError(_NO_ROWS)
        _set_columns(new, bins.n_features, tally.names)
    else:
        bins, counts = _settle(new, bins, counts, summary)
    new.binner_, new.counts_ = bins, counts.without(_no_evidence(new, summary, bins.names))
    # No rows are at hand to hold out: a temperature that is given, or none.
    new.temperature_ = 1.0 if isinstance(new.temperature, str) else float(new.temperature)


def _choose(
    new: Any, source: BlockSource, summary: Summary, labels: _Labels, sample_size: int, seed: int
) -> None:  # fmt: skip
    """Fit on a sample, and take over the counts of all rows where that is of use."""
    members = _members(summary, labels)
    final = new.classes_
    _set_columns(new, summary.n_features, summary.names)
    quotas = Quotas.of(members, sample_size, LEAST if _takes_weights(new) else 1)
    bins = _bins_for(new, summary, labels.classes.size)
    levels = summary.levels if bins is None else bins.levels
    tally = _read_again(source, bins, levels, summary.names, labels, quotas.draw(members, seed))
    assert tally.drawn is not None
    table, codes, weights = tally.drawn.chosen(quotas, sorted(levels))
    given, new.identifiers = new.identifiers, _no_evidence(new, summary, summary.names).tolist()
    new.fit(table, final[codes], weights)
    new.identifiers = given
    counted = False
    if bins is not None:
        assert tally.counts is not None
        rows = TrainingRows(table, codes, rows_worth(weights))
        counted = new.recount(*_settle(new, bins, tally.counts, summary), rows)
    new.fitted_rows_ = FittedRows(int(members.sum()), codes.size, counted)
    if codes.size < members.sum() and not counted:
        warnings.warn(new.fitted_rows_.words + "; sample_size= takes more", SampleWarning, stacklevel=4)


def _members(summary: Summary, labels: _Labels) -> np.ndarray:
    """Rows of each of the final classes, (N,); each has some."""
    encode(summary.classes, labels.classes)  # refuses those that are not among the classes
    members = summary.members_of(labels.classes)
    absent = labels.classes[members == 0]
    if absent.size:
        raise InputError(
            f"classes has {plain_value(absent[0])!r}, which no row has; what learns from rows can only know "
            "classes that occur: leave it out, or take an ETANAClassifier"
        )
    return members[np.argsort(labels.codes)]


def _takes_weights(new: Any) -> bool:
    """Whether rows of rare classes can be taken beyond their share, and weigh less."""
    estimator = getattr(new, "estimator", None)
    return estimator is None or weight_name(estimator) is not None


def _no_evidence(new: Any, summary: Summary | None, names: list[str] | None) -> np.ndarray:
    """Columns that number the rows, given or found; what is found is named, and so is text that says little."""
    if not isinstance(new.identifiers, str) or summary is None:
        given = () if isinstance(new.identifiers, str) else new.identifiers
        return resolve_identifiers(given, Table(dense=np.empty((0, new.n_features_in_)), names=names))
    signs, levels = summary.signs, summary.levels
    name_text(signs.dates(levels), signs.free_text(levels), names, stacklevel=7)
    found = signs.identifiers()
    warn_of_identifiers(found, names, stacklevel=6)
    return found


def _set_columns(new: Any, n_features: int, names: list[str] | None) -> None:
    """Remember the columns, and check the parameters against them and the classes."""
    new.n_features_in_ = n_features
    if names is not None:
        new.feature_names_in_ = np.array(names, dtype=object)
    with _no_cost_warnings():
        new._resolve_costs()


def _summarise(part: Any, fitting: _Fitting, learn: str, size: int | str) -> Summary:
    def look(rows: Rows) -> Summary:
        fitting.check(rows.table.n_features, rows.table.names)
        return Summary.of(rows, learn, size)

    return reduce_stream(map(look, read_part(part, frozenset())), Summary.merge)


def _tally(numbered: tuple[int, Any], task: _Task) -> _Tally:
    number, part = numbered
    keys = None if task.draw is None else task.draw.keys_of(number)
    return reduce_stream((_tally_rows(rows, task, keys) for rows in read_part(part, task.text)), _merge_tallies)


def _tally_rows(rows: Rows, task: _Task, keys: np.random.Generator | None) -> _Tally:
    table = rows.table
    if task.fitting is not None:
        task.fitting.check(table.n_features, table.names)
    codes = task.labels.codes[encode(rows.y, task.labels.classes)]
    counts = drawn = None
    if task.binner is not None:
        counts = Counts.of(task.binner, table, codes, rows.weights, task.labels.classes.size)
    if task.draw is not None and keys is not None:
        drawn = task.draw.of(keys.random(codes.size), table, codes, rows.weights)
    return _Tally(counts, drawn, table.n_features, table.names)


def _merge_tallies(tallies: Sequence[_Tally]) -> _Tally:
    first = tallies[0]
    counts = first.counts
    for other in tallies[1:]:
        check_same_columns((first.n_features, first.names), (other.n_features, other.names))
        if counts is not None and other.counts is not None:
            counts = counts.merge(other.counts)
    drawn = [tally.drawn for tally in tallies if tally.drawn is not None]
    return _Tally(counts, Drawn.merge(drawn) if drawn else None, first.n_features, first.names)
