"""What the classifier was told: classes, costs, bins, and the first features it asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from etana.model import Model
from etana.plots import FeatureUsageDisplay
from etana.plots._canvas import clean, counted
from etana.plots._outcome import column_title, model_of
from etana.report.page import decimals, number, section, table, text

__all__ = ["settings"]

_N_TOP = 15
_MOST_MATRIX = 12
_NAME = 40


def settings(estimator: Any, usage: FeatureUsageDisplay) -> str:
    """The section."""
    model = model_of(estimator)
    rows = [[text(name), text(value, 400)] for name, value in _facts(estimator, model)]
    out = [table(["", ""], rows)]
    n = model.classes.size
    if n <= _MOST_MATRIX and not _alike(model.mistakes):
        digits = 0 if (model.mistakes == np.round(model.mistakes)).all() else decimals([float(model.mistakes.max())])
        matrix = [
            [text(c, _NAME), *(number(float(v), digits) for v in costs)]
            for c, costs in zip(model.classes, model.mistakes, strict=True)
        ]
        head = ["true \\ decided", *(clean(c, 16) for c in model.classes)]
        out.append(table(head, matrix, range(1, n + 1), "Misclassification costs"))
    if model.order is not None:
        out.append(_first_features(model, usage))
    return section("Settings", *out)


def _facts(estimator: Any, model: Model) -> Iterator[tuple[str, str]]:
    yield "classifier", type(estimator).__name__
    shares = (f"{clean(c, _NAME)}: {p:.1%}" for c, p in zip(model.classes, model.priors, strict=True))
    yield "classes and their priors", ", ".join(shares)
    prices = model.prices.full
    span = f"{prices.min():g}" if np.ptp(prices) == 0 else f"{prices.min():g} to {prices.max():g}"
    yield "feature prices", f"{span}; all {counted(prices.size, 'feature')} together {model.full_price:g}"
    if _alike(model.mistakes):
        yield "misclassification costs", f"{model.mistakes.max():g} for every mistake"
    elif model.mistakes.shape[0] > _MOST_MATRIX:
        yield "misclassification costs", f"{model.mistakes.min():g} to {model.mistakes.max():g}"
    yield from model.beliefs.facts()
    most = min(model.policy.most_features, model.columns.size)
    yield "policy", f"{model.policy.words}, asks {counted(most, 'feature')} at most"
    for name in ("ordering", "priors", "solver", "m", "look_ahead", "random_state"):
        if hasattr(estimator, name):
            yield name.replace("_", " "), _plain(getattr(estimator, name))


def _alike(mistakes: np.ndarray) -> bool:
    """Whether every mistake costs the same."""
    return np.array_equal(mistakes, mistakes.max() * (1 - np.eye(len(mistakes))))


def _plain(value: Any) -> str:
    """A parameter as text; objects by their type, because their own text may hold an address."""
    if value is None:
        return "not given"
    simple = isinstance(value, str | int | float | np.number)
    return str(value) if simple else type(value).__name__


def _first_features(model: Model, usage: FeatureUsageDisplay) -> str:
    n, rows = int(usage.class_sizes.sum()), []
    for k, question in enumerate(model.questions()[:_N_TOP]):
        asked = int(usage.counts[k].sum()) if k < len(usage.counts) else 0
        title = text(column_title(model, question.column), _NAME)
        rows.append([str(k + 1), title, f"{question.price:.6g}", f"{asked / n:.1%}"])
    head = ["", "feature", "price", "rows asked"]
    return table(head, rows, (0, 2, 3), f"First {counted(len(rows), 'feature')} in the order of acquisition")
