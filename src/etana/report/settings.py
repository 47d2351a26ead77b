"""What the classifier was told: classes, costs, bins, and the first features it asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from etana.plots import FeatureUsageDisplay
from etana.plots._canvas import clean, counted
from etana.plots._source import Source
from etana.report.page import decimals, number, section, table, text

__all__ = ["settings"]

_N_TOP = 15
_MOST_MATRIX = 12
_NAME = 40


def settings(source: Source, usage: FeatureUsageDisplay) -> str:
    """The section."""
    rows = [[text(name), text(value, 400)] for name, value in _facts(source)]
    out = [table(["", ""], rows)]
    n = source.classes.size
    if n <= _MOST_MATRIX and not _alike(source.mistakes):
        digits = 0 if (source.mistakes == np.round(source.mistakes)).all() else decimals([float(source.mistakes.max())])
        matrix = [
            [text(c, _NAME), *(number(float(v), digits) for v in costs)]
            for c, costs in zip(source.classes, source.mistakes, strict=True)
        ]
        head = ["true \\ decided", *(clean(c, 16) for c in source.classes)]
        out.append(table(head, matrix, range(1, n + 1), "Misclassification costs"))
    if source.problem is not None and source.order is not None:
        out.append(_first_features(source, usage))
    return section("Settings", *out)


def _facts(source: Source) -> Iterator[tuple[str, str]]:
    yield "classifier", type(source.estimator).__name__
    priors, prices = getattr(source.model, "priors", None), source.prices
    if isinstance(priors, np.ndarray):
        shares = (f"{clean(c, _NAME)}: {p:.1%}" for c, p in zip(source.classes, priors, strict=True))
        yield "classes and their priors", ", ".join(shares)
    if prices is not None:
        span = f"{prices.min():g}" if np.ptp(prices) == 0 else f"{prices.min():g} to {prices.max():g}"
        yield "feature prices", f"{span}; all {counted(prices.size, 'feature')} together {source.model.full_price:g}"
    if _alike(source.mistakes):
        yield "misclassification costs", f"{source.mistakes.max():g} for every mistake"
    elif source.mistakes.shape[0] > _MOST_MATRIX:
        yield "misclassification costs", f"{source.mistakes.min():g} to {source.mistakes.max():g}"
    if source.binner is not None:
        bins = np.diff(source.binner.cell_offsets)
        yield (
            "bins",
            f"{source.binner.method}, {bins.min()} to {bins.max()} a feature; missing: {source.binner.missing}",
        )
    if source.policy is not None:
        horizon = counted(source.policy.horizon, "feature")
        yield "policy", f"{type(source.policy).__name__}, asks {horizon} at most"
    for name in ("ordering", "priors", "solver", "m", "look_ahead", "random_state"):
        if hasattr(source.estimator, name):
            yield name.replace("_", " "), _plain(getattr(source.estimator, name))


def _alike(mistakes: np.ndarray) -> bool:
    """Whether every mistake costs the same."""
    return np.array_equal(mistakes, mistakes.max() * (1 - np.eye(len(mistakes))))


def _plain(value: Any) -> str:
    """A parameter as text; objects by their type, because their own text may hold an address."""
    if value is None:
        return "not given"
    simple = isinstance(value, str | int | float | np.number)
    return str(value) if simple else type(value).__name__


def _first_features(source: Source, usage: FeatureUsageDisplay) -> str:
    assert source.problem is not None
    assert source.order is not None
    n, rows = int(usage.class_sizes.sum()), []
    for k, column in enumerate(source.order[:_N_TOP].tolist()):
        asked = int(usage.counts[k].sum()) if k < len(usage.counts) else 0
        rows.append(
            [
                str(k + 1),
                text(source.name(column), _NAME),
                f"{source.problem.feature_costs[k]:.6g}",
                str(source.problem.offsets[k + 1] - source.problem.offsets[k]),
                f"{asked / n:.1%}",
            ]
        )
    head = ["", "feature", "price", "bins", "rows asked"]
    return table(head, rows, (0, 2, 3, 4), f"First {counted(len(rows), 'feature')} in the order of acquisition")
