"""How notebooks show what was asked: a batch of rows, and a case. Plain HTML without scripts; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from etana.money import about, money
from etana.table import plain_value

__all__ = ["show_acquisition", "show_case"]

_MOST_ROWS = 10
_MOST_CLASSES = 8
_MOST_NAMED = 8  # features of a row
_LEFT = ' style="text-align: left"'


def show_acquisition(walk: Any) -> str:
    """The means of a batch, and its first rows."""
    n = len(walk)
    if not n:
        return "<div><b>Acquisition</b> of no rows</div>"
    means = f"{_plural(n, 'row')} (means: features {walk.n_features.mean():.4g}, cost {about(walk.costs.mean())})"
    rows = [
        [plain_value(walk.labels[i]), f"{walk.posteriors[i].max():.1%}", int(walk.n_features[i]), money(walk.costs[i]),
         _asked(walk.features(i), walk.names)]
        for i in range(min(n, _MOST_ROWS))
    ]  # fmt: skip
    more = f"<div>and {_plural(n - _MOST_ROWS, 'more row')}</div>" if n > _MOST_ROWS else ""
    head = ["label", "largest belief", "features", "cost", "asked, in order"]
    return f"<div><b>Acquisition</b> of {escape(means)}{_table(head, rows)}{more}</div>"


def _asked(columns: np.ndarray, names: Sequence[str] | None) -> str:
    shown = [str(names[k]) if names is not None else str(k) for k in columns[:_MOST_NAMED].tolist()]
    return ", ".join(shown) + (", ..." if len(columns) > _MOST_NAMED else "")


def show_case(case: Any) -> str:
    """What a case asks for or decides, its belief as bars, and what happened so far."""
    label = escape(repr(plain_value(case.label)))
    state = f"decides {label}"
    if case.next_feature is not None:
        state = f"asks for <b>{escape(str(case.next_feature))}</b> (price {money(case.next_price)})"
    asked = _plural(case.n_asked, "feature")
    spent = f"{asked} asked, {money(case.cost)} spent, {about(case.expected_cost)} expected in all"
    head = ["feature", "value", "understood as", "price", "came"]
    history = [[e.feature, "" if e.value is None else e.value, e.meaning, money(e.price), e.came] for e in case.history]
    return (
        f"<div><b>Case</b> {state}; {escape(spent)}{_bars(case.model.classes, case.posterior)}"
        f"{_table(head, history) if history else ''}</div>"
    )


def _bars(classes: np.ndarray, belief: np.ndarray) -> str:
    """A bar for each class, in the order of the classes; of many, for the most likely."""
    lines = []
    for i in sorted((-belief).argsort(kind="stable")[:_MOST_CLASSES].tolist()):
        bar = f'<div style="background: #0072b2; height: .8em; width: {10 * belief[i]:.2f}em"></div>'
        name, share = escape(str(plain_value(classes[i]))), f"{belief[i]:.1%}"
        lines.append(f"<tr><td{_LEFT}>{name}</td><td{_LEFT}>{bar}</td><td>{share}</td></tr>")
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f"<th{_LEFT}>{escape(cell)}</th>" for cell in head)
    lines = ("".join(f"<td{_LEFT}>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
