"""Fit a classifier on data that no machine holds: two passes over the parts, counts merged along a tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from etana.binning import Binner
from etana.classifiers.fixed import ETANAClassifier, FETANAClassifier
from etana.costs import resolve_feature_costs
from etana.distributed.bins import candidate_bins, join_candidates, what_to_learn
from etana.distributed.blocks import BlockSource, Rows, encode, read_part, read_source
from etana.distributed.merging import reduce_parts, reduce_stream
from etana.distributed.summary import Summary, check_same_columns
from etana.errors import CostWarning, InputError
from etana.learning.identifiers import resolve_identifiers, warn_of_identifiers
from etana.learning.odd_text import name_text
from etana.likelihood import Counts
from etana.parameters import check_parameters, check_value, either, one_of, whole
from etana.table import Table

__all__ = ["fit", "fit_parts"]

Classifier = TypeVar("Classifier", ETANAClassifier, FETANAClassifier)

_NO_ROWS = "the parts have no rows; give at least one row"


def fit(
    clf: Classifier, X: Any, y: Any = None, *, sample_weight: Any = None, classes: Any = None,
    sketch_size: int | str = "auto",
) -> Classifier:  # fmt: skip
    """A fitted copy of a classifier, learnt from data in parts.

    Parameters
    ----------
    clf : ETANAClassifier or FETANAClassifier
        Its parameters count; it is not changed.
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
    """
    source = read_source(X, y, sample_weight)
    return fit_parts(clf, source, classes=classes, sketch_size=sketch_size)


def fit_parts(
    clf: Classifier, source: BlockSource, *, classes: Any = None, sketch_size: int | str = "auto",
    rename: Callable[[np.ndarray], np.ndarray] = lambda classes: classes,
    seen: Callable[[Summary], object] = lambda summary: None,
) -> Classifier:  # fmt: skip
    """As :func:`fit`, from parts.

    ``rename`` gives the labels found in them their final type; ``seen`` is told what the first pass has learnt.
    """
    _check(clf, source, sketch_size)
    new = clone(clf)
    known = None if classes is None else np.unique(np.asarray(classes))
    summary = None
    if known is None or not isinstance(new.binning, Binner):
        summary = _look(new, source, sketch_size)
        known = summary.classes if known is None else known
        seen(summary)
    final = rename(known)
    order = np.argsort(final, kind="stable")
    new.classes_ = final[order]
    _count(new, source, summary, known, np.argsort(order))
    new._model = new._make_model(*new._resolve_costs())
    return new


def _check(clf: Any, source: BlockSource, sketch_size: int | str) -> None:
    """Find what is wrong without the data before anything is read."""
    if not hasattr(clf, "partial_fit"):
        raise InputError(f"clf is of type {type(clf).__name__}; it must be an ETANAClassifier or a FETANAClassifier")
    check_parameters(clf)
    check_value("sketch_size", sketch_size, either(one_of("auto"), whole(least=2)))
    if isinstance(clf.binning, Binner) and not hasattr(clf.binning, "edges"):
        raise InputError("binning is a Binner that was not fitted; call its fit(X, y) first")
    if source.n_features is not None:
        resolve_feature_costs(clf.feature_costs, source.n_features, source.names)


class _Task(NamedTuple):
    """What a counting task needs besides its part."""

    binner: Binner
    classes: np.ndarray  # as they stand in the parts, sorted
    codes: np.ndarray  # their places among the final classes
    labels: frozenset[str]


class _Tally(NamedTuple):
    """Counts of some rows, and the names of their columns."""

    counts: Counts
    names: list[str] | None


def _look(new: Any, source: BlockSource, sketch_size: int | str) -> Summary:
    """The first pass: what bins and classes are made of."""
    step = partial(_summarise, learn=what_to_learn(new.binning), size=sketch_size)
    summary = reduce_parts(step, source.parts, None, Summary.merge, source.lazy)
    if not summary.classes.size:
        raise InputError(_NO_ROWS)
    summary.check_kinds()
    return summary


def _count(new: Any, source: BlockSource, summary: Summary | None, classes: np.ndarray, codes: np.ndarray) -> None:
    """The second pass, or the only one; sets what a fit sets."""
    if summary is not None:
        _set_columns(new, summary.n_features, summary.names)
    bins = new.binning
    if not isinstance(bins, Binner):
        assert summary is not None
        bins = candidate_bins(Binner(new.binning, new.n_bins, new.missing), summary, classes.size)
    labels = frozenset(bins.names[k] for k in bins.levels) if bins.names else frozenset()
    counts, names = reduce_parts(_tally, source.parts, _Task(bins, classes, codes, labels), _merge_tallies, source.lazy)
    if summary is None:
        if not counts.classes.any():
            raise InputError(_NO_ROWS)
        _set_columns(new, bins.n_features, names)
    else:
        counts = counts.times(summary.worth)
        if bins is not new.binning and bins.method == "supervised":
            bins, counts = join_candidates(bins, counts, summary)
    new.binner_, new.counts_ = bins, counts.without(_no_evidence(new, summary, bins.names))
    # No rows are at hand to hold out: a temperature that is given, or none.
    new.temperature_ = 1.0 if isinstance(new.temperature, str) else float(new.temperature)


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
    if isinstance(new.binning, Binner) and new.binning.n_features != n_features:
        raise InputError(
            f"binning has bins for {new.binning.n_features} columns, but X has {n_features}; "
            "fit the Binner on the same columns"
        )
    new.n_features_in_ = n_features
    if names is not None:
        new.feature_names_in_ = np.array(names, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)  # given once, when the policy is solved
        new._resolve_costs()


def _summarise(part: Any, _: None, learn: str, size: int | str) -> Summary:
    return reduce_stream((Summary.of(rows, learn, size) for rows in read_part(part, frozenset())), Summary.merge)


def _tally(part: Any, task: _Task) -> _Tally:
    return reduce_stream((_tally_rows(rows, task) for rows in read_part(part, task.labels)), _merge_tallies)


def _tally_rows(rows: Rows, task: _Task) -> _Tally:
    codes = task.codes[encode(rows.y, task.classes)]
    return _Tally(Counts.of(task.binner, rows.table, codes, rows.weights, task.classes.size), rows.table.names)


def _merge_tallies(tallies: Sequence[_Tally]) -> _Tally:
    counts, names = tallies[0]
    for other in tallies[1:]:
        check_same_columns((counts.offsets.size - 1, names), (other.counts.offsets.size - 1, other.names))
        counts = counts.merge(other.counts)
    return _Tally(counts, names)
