"""``etana fit``: from a table on disk, whole or in parts, to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etana.classifiers import (
    AdaptiveClassifier,
    CommitteeClassifier,
    ETANAClassifier,
    FETANAClassifier,
    FrugalClassifier,
    SequentialClassifier,
)  # fmt: skip
from etana.classifiers.base import AcquiringClassifier
from etana.commands.dictionary import read_dictionary
from etana.commands.doubts import CellNotes, warn_of_labels
from etana.commands.labels import as_classes, read_labelled
from etana.commands.prices import read_costs, read_mistakes, read_mistakes_file
from etana.dictionary import Dictionary
from etana.errors import InputError
from etana.modelfile import save
from etana.tablefile import Block, Spellings, check_output, to_table

__all__ = ["given_options", "train"]

_ENGINES = ("auto", "memory", "dask")
_METHODS: dict[str, Any] = {
    "frugal": FrugalClassifier,
    "committee": CommitteeClassifier,
    "etana": ETANAClassifier,
    "adaptive": AdaptiveClassifier,
    "sequential": SequentialClassifier,
}
_OPTIONS = {"n_bins": "--bins", "random_state": "--seed"}  # where the option has another name than the parameter


def given_options(bins: str | None, identifiers: str | None, exportable: bool, **others: Any) -> dict[str, Any]:
    """Parameters of classifiers from what was given on the command line; what was not is left out."""
    given = {
        "n_bins": int(bins) if bins is not None and bins.isdigit() else bins,
        "identifiers": [] if identifiers == "none" else identifiers,
        "exportable": exportable or None,
        **others,
    }
    return {name: value for name, value in given.items() if value is not None}


def train(
    data: str,
    target: str,
    *,
    costs: str,
    wait: float = 0.0,
    mistakes: str | None,
    output: str,
    method: str | None = None,
    options: dict[str, Any],
    engine: str = "auto",
    scheduler: str | None = None,
    dictionary: str | None = None,
    ignore: Sequence[str] = (),
    missing_values: Sequence[str] = (),
    sample_size: int | None = None,
) -> AcquiringClassifier:
    """Fit a classifier on a file or a folder and save it; everything that can be wrong is found before the fit.

    ``options`` are the parameters of the classifier that were given; those that it does not take are refused. Columns
    to ``ignore`` are no part of the model; ``missing_values`` are further spellings of a missing value, which the model
    remembers.
    """
    check_output(output, data, mistakes, costs, dictionary)
    _check_engine(engine, scheduler)
    lazy = engine == "dask" or scheduler is not None
    in_parts = lazy or Path(data).is_dir()
    if sample_size is not None and not in_parts:
        raise InputError(
            f"sample_size is {sample_size}, but {data} is one file, which is read whole; leave it out, or give a "
            "folder of parts or --engine dask"
        )
    method = _default(options) if method is None else method
    kind, chosen = _classifier(method, options)
    chosen["feature_costs"] = read_costs(costs, wait, ignore)
    words = None if dictionary is None else read_dictionary(dictionary, ignore)
    clf: AcquiringClassifier
    if in_parts:
        matrix = None if mistakes is None else read_mistakes_file(mistakes)
        made = kind(misclassification_costs=matrix, **chosen)
        from etana.commands.fit_parts import fit_on_parts

        clf = fit_on_parts(made, data, target, mistakes, lazy, scheduler, ignore, missing_values, sample_size)
    else:
        block, labels = read_labelled(data, target, ignore, missing_values)
        clf = _train_on_file(data, block, labels, target, mistakes, kind, chosen, words)
    spelt = Spellings(missing_values).among(clf.model_.column_names)
    if words is not None or spelt:
        clf.describe((words or Dictionary()).with_missing(spelt))
    save(clf, output)
    return clf


def _check_engine(engine: str, scheduler: str | None) -> None:
    if engine not in _ENGINES:
        raise InputError(f"engine is {engine!r}; it must be one of {', '.join(_ENGINES)}")
    if engine == "memory" and scheduler is not None:
        raise InputError(f"scheduler is {scheduler!r}, but engine 'memory' uses none; take --engine dask")


def _default(options: dict[str, Any]) -> str:
    """The one to use; but some options are the paper's method's alone."""
    return "frugal" if set(options) <= set(FrugalClassifier().get_params()) else "etana"


def _classifier(method: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The class of a method, and its parameters; one that it does not have is refused."""
    if method not in _METHODS:
        raise InputError(
            f"method is {method!r}; it must be 'frugal' (what pays least), 'committee', 'adaptive' (an order for each "
            "row), 'sequential' (one order, nearest neighbours) or 'etana' (one order, bins: the paper's)"
        )
    kind, chosen = _METHODS[method], dict(options)
    if method == "etana" and chosen.get("solver") == "thresholds":
        kind = FETANAClassifier
        del chosen["solver"]
    known = kind().get_params()
    for name, value in chosen.items():
        if name not in known:
            raise InputError(
                f"{_OPTIONS.get(name, f'--{name}')} is {value!r}, which method {method!r} has no use for; leave it "
                "out, or take another method"
            )
    return kind, chosen


def _train_on_file(
    data: str, block: Block, labels: list[Any], target: str, mistakes: str | None, kind: Any, chosen: dict[str, Any],
    words: Dictionary | None,
) -> AcquiringClassifier:  # fmt: skip
    if words is not None:
        words.check_names(list(block.columns))
    table = to_table(block, list(block.columns), data)
    y = as_classes(labels)
    matrix = None if mistakes is None else read_mistakes(mistakes, np.unique(y))
    CellNotes.of(block, table).warn(data)
    warn_of_labels(np.unique(y), y.size, target)
    return kind(misclassification_costs=matrix, **chosen).fit(table, y)
