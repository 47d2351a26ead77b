"""One page that tells how a classifier did on labelled rows: what it asked, what it paid, and where it failed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from etana import __version__
from etana.files import check_target, replacing
from etana.model import Model
from etana.plots import CalibrationDisplay, ConfusionCostDisplay, ExamplePathsDisplay, FeatureUsageDisplay
from etana.plots._canvas import clean, counted, matplotlib
from etana.plots._outcome import check_labels, model_of
from etana.report.examples import examples
from etana.report.page import page
from etana.report.provenance import Provenance
from etana.report.sections import asked, belief, mistakes, policy, trade
from etana.report.settings import kind_of, settings
from etana.report.summary import WayOfAsking, rivals_of, summary
from etana.table import read_table
from etana.typing import ArrayLike, Fitted, TableLike

__all__ = ["make_report"]

_NAME = 40
_MOST_CLASSES = 6


def make_report(
    estimator: Fitted, X: TableLike, y: ArrayLike, path: str | os.PathLike[str] | None = None,
    title: str | None = None, seed: int = 0, origin: Provenance | None = None,
) -> str:  # fmt: skip
    """Tell how a classifier did on labelled rows, best ones it was not trained on, in a self-contained HTML page.

    Parameters
    ----------
    estimator : fitted classifier, or etana.Model
    X : array, sparse matrix or data frame, (n, K)
    y : array (n,)
        True labels.
    path : path-like, optional
        File to write. It is replaced at once, when the page is complete.
    title : str, optional
    seed : int
        Seed of the bootstrap intervals; the same input and seed give the same bytes.
    origin : Provenance, optional
        Files that the model and the rows come from, and the time, to be named in the page.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import ETANAClassifier
    >>> from etana.report import make_report
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ETANAClassifier(feature_costs=0.02).fit(X[::2], y[::2])
    >>> html = make_report(clf, X[1::2], y[1::2], title="Iris")
    >>> html.startswith("<!DOCTYPE html>")
    True
    """
    if path is not None:
        check_target(path)
    model = model_of(estimator)
    truth = check_labels(y, read_table(X).n_rows, model.classes)
    matplotlib()
    origin = Provenance() if origin is None else origin
    html = page(
        title if title is not None else "etana report",
        _subtitle(estimator, model, truth.size, origin),
        _sections(estimator, model, X, y, seed, origin),
        f"Made by etana {__version__}. Intervals are 95% intervals: Wilson's for shares; for means bootstrap "
        f"percentiles (seed {seed}) or, for more than 10,000 rows, normal ones.",
    )
    if path is not None:
        with replacing(path) as file:
            file.write(html.encode())
    return html


def _subtitle(estimator: Fitted, model: Model, n_rows: int, origin: Provenance) -> str:
    """What the page is about: the classifier, the rows and their classes, and where they come from."""
    names = [clean(c, _NAME) for c in model.classes]
    listed = f" ({', '.join(names)})" if len(names) <= _MOST_CLASSES else ""
    what = f"{counted(n_rows, 'row')} of {counted(len(names), 'class')}{listed}"
    return ". ".join(part for part in (f"{kind_of(estimator, origin)} on {what}", origin.words) if part)


def _sections(
    estimator: Fitted, model: Model, X: TableLike, y: ArrayLike, seed: int, origin: Provenance
) -> Iterator[str]:
    own, rivals = WayOfAsking.of("this policy", estimator, X, y), rivals_of(model, X, y)
    outcome = own.outcome
    usage = FeatureUsageDisplay.from_outcome(model, outcome)
    yield summary(model, own, rivals, seed)
    yield asked(usage)
    yield trade(estimator, X, y, rivals)
    yield mistakes(ConfusionCostDisplay.from_outcome(model, outcome))
    yield belief(CalibrationDisplay.from_outcome(outcome))
    yield policy(model)
    yield examples(ExamplePathsDisplay.from_outcome(model, outcome, X))
    yield settings(estimator, usage, origin)
