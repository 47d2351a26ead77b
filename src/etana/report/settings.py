"""What the classifier was told: classes, costs, bins, and the first features it asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from etana.model import Model
from etana.money import about
from etana.plots import FeatureUsageDisplay
from etana.plots._canvas import clean, counted
from etana.plots._outcome import column_title, model_of
from etana.report.page import decimals, number, section, table, text
from etana.report.provenance import Provenance
from etana.report.summary import alike
from etana.typing import Fitted

__all__ = ["kind_of", "settings"]

_N_TOP = 15
_MOST_MATRIX = 12
_NAME = 40


def kind_of(estimator: Fitted, origin: Provenance) -> str:
    """What kind of classifier it is; of a model that comes without one, what its file says."""
    if isinstance(estimator, Model):
        return origin.classifier or "A model"
    return type(estimator).__name__


def settings(estimator: Fitted, usage: FeatureUsageDisplay, origin: Provenance) -> str:
    """The section."""
    model = model_of(estimator)
    facts = [*origin.facts(), ("classifier", kind_of(estimator, origin)), *_facts(estimator, model)]
    rows = [[text(name), text(value, 400)] for name, value in facts]
    out = [table(["", ""], rows)]
    n = model.classes.size
    if n <= _MOST_MATRIX and not alike(model.mistakes):
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


def _facts(estimator: Fitted, model: Model) -> Iterator[tuple[str, str]]:
    shares = (f"{clean(c, _NAME)}: {p:.1%}" for c, p in zip(model.classes, model.priors, strict=True))
    yield "classes and their priors", ", ".join(shares)
    prices = model.prices.full
    span = " to ".join(dict.fromkeys((about(prices.min(), 6), about(prices.max(), 6))))
    yield "feature prices", f"{span}; all {counted(prices.size, 'feature')} together {about(model.full_price, 6)}"
    if alike(model.mistakes):
        yield "misclassification costs", f"{about(model.mistakes.max(), 6)} for every mistake"
    elif model.mistakes.shape[0] > _MOST_MATRIX:
        yield "misclassification costs", f"{about(model.mistakes.min(), 6)} to {about(model.mistakes.max(), 6)}"
    yield from model.beliefs.facts()
    most = min(model.policy.most_features, model.columns.size)
    yield "policy", f"{model.policy.words}, asks {counted(most, 'feature')} at most"
    for name in ("ordering", "priors", "solver", "m", "look_ahead", "random_state"):
        if estimator is not model and hasattr(estimator, name):
            yield name.replace("_", " "), _plain(getattr(estimator, name))


def _plain(value: Any) -> str:
    """A parameter as text; numbers one by one, objects by their type, because their own text may hold an address."""
    if value is None:
        return "not given"
    if isinstance(value, str | int | float | np.number):
        return str(value)
    if isinstance(value, np.ndarray | list | tuple):
        return ", ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in np.asarray(value).ravel().tolist())
    return f"given, of type {type(value).__name__}"


def _first_features(model: Model, usage: FeatureUsageDisplay) -> str:
    n, rows = int(usage.class_sizes.sum()), []
    for k, question in enumerate(model.questions()[:_N_TOP]):
        asked = int(usage.counts[k].sum()) if k < len(usage.counts) else 0
        title = text(column_title(model, question.column), _NAME)
        rows.append([str(k + 1), title, about(question.price, 6), f"{asked / n:.1%}"])
    head = ["", "feature", "price", "rows asked"]
    return table(head, rows, (0, 2, 3), f"First {counted(len(rows), 'feature')} in the order of acquisition")
