"""The figures that matter most: accuracy and cost, beside those of asking everything and asking nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from etana.model import Model
from etana.plots._canvas import clean
from etana.plots._intervals import mean_interval, wilson
from etana.plots._outcome import Outcome, model_of, walk_labelled
from etana.report.page import cards, decimals, number, paragraph, section, table, text
from etana.typing import ArrayLike, Fitted, TableLike

__all__ = ["EVERYTHING", "NOTHING", "WayOfAsking", "alike", "rivals_of", "summary"]

EVERYTHING, NOTHING = "ask everything", "ask nothing"
_NAME = 30
_MOST_WORK = 3e8  # features times rows that are walked to compare with asking everything
_DRAWS = 20_000  # rows that a policy draws from its model for what it expects


@dataclass(frozen=True)
class WayOfAsking:
    """A way of asking, what came of it, and what its model expects of it."""

    name: str
    outcome: Outcome
    expected: float

    @classmethod
    def of(cls, name: str, estimator: Fitted, X: TableLike, y: ArrayLike) -> WayOfAsking:
        """Walk labelled rows."""
        return cls(name, walk_labelled(estimator, X, y), model_of(estimator).expected_cost)


def rivals_of(model: Model, X: TableLike, y: ArrayLike) -> list[WayOfAsking]:
    """Asking everything and asking nothing, with the same beliefs; what cannot be made or walked is left out."""
    out, k = [], model.n_features
    for name, asked in ((EVERYTHING, k), (NOTHING, 0)):
        rival = model.asking(asked) if asked * (len(np.asarray(y)) + _DRAWS) <= _MOST_WORK else None
        if rival is not None:
            out.append(WayOfAsking.of(name, rival, X, y))
    return out


def summary(model: Model, own: WayOfAsking, rivals: list[WayOfAsking], seed: int) -> str:
    """The section."""
    outcome, n = own.outcome, own.outcome.truth.size
    hits = int(outcome.correct.sum())
    low, high = wilson(hits, n)
    cost_low, cost_high = mean_interval(outcome.totals, seed)
    digits = decimals([outcome.totals.mean()])
    asked = outcome.walk.n_features
    of_all = f" of {model.n_features:,}"
    most = f"median {np.median(asked):g}, most {asked.max()}"
    between = f"{cost_low:,.{digits}f} to {cost_high:,.{digits}f}"
    wrong = f"and {outcome.penalties.mean():,.{digits}f} for mistakes"
    accuracy = _tile("accuracy", f"{hits / n:.1%}", f"{low:.1%} to {high:.1%}")
    features = _tile("features asked of a row", f"{asked.mean():.2f}{of_all}", most)
    cost = [
        _tile("cost of a row", number(outcome.totals.mean(), digits), between),
        _tile("of that, features", number(outcome.walk.costs.mean(), digits), wrong),
    ]
    # Where mistakes differ, accuracy counts what matters little like what matters much.
    tiles = [accuracy, features, *cost]
    if not alike(model.mistakes):
        tiles = [*cost, *(_tile(*found) for found in _found(model, outcome)), features, accuracy]
    return section(
        "Summary",
        cards("tiles", tiles),
        _comparison([own, *rivals], seed),
        paragraph(*_against(own, rivals, seed)),
        paragraph(*_expectation(model, own, (cost_low, cost_high), digits)),
    )


def alike(mistakes: np.ndarray) -> bool:
    """Whether every mistake costs the same."""
    return np.array_equal(mistakes, mistakes.max() * (1 - np.eye(len(mistakes))))


def _found(model: Model, outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    """Of two classes sensitivity and specificity, the class that is dearer to miss first; of more, that class alone."""
    missed = (model.mistakes - np.diag(model.mistakes)[:, None]).max(axis=1)
    order = np.argsort(-missed, kind="stable")
    names = ["sensitivity", "specificity"] if order.size == 2 else ["found"]
    for name, code in zip(names, order, strict=False):
        rows = outcome.truth == code
        title = f"{name}: {clean(model.classes[code], _NAME)} told as such"
        yield title, *_share(int(outcome.correct[rows].sum()), int(rows.sum()))


def _share(hits: int, n: int) -> tuple[str, str]:
    if not n:
        return "–", "no such rows"
    low, high = wilson(hits, n)
    return f"{hits / n:.1%}", f"{low:.1%} to {high:.1%}, {hits:,} of {n:,} rows"


def _tile(name: str, value: str, note: str) -> str:
    return f"<span>{text(name)}</span><b>{text(value)}</b><small>{text(note)}</small>"


def _comparison(methods: Sequence[WayOfAsking], seed: int) -> str:
    digits = decimals([float(m.outcome.totals.mean()) for m in methods])
    rows = []
    for m in methods:
        o = m.outcome
        low, high = wilson(o.correct.sum(), o.truth.size)
        cost_low, cost_high = mean_interval(o.totals, seed)
        rows.append(
            [
                text(m.name),
                number(float(o.totals.mean()), digits),
                f"<small>{number(cost_low, digits)} to {number(cost_high, digits)}</small>",
                number(m.expected, digits),
                number(float(o.walk.costs.mean()), digits),
                number(float(o.penalties.mean()), digits),
                f"{o.walk.n_features.mean():.2f}",
                f"{o.correct.mean():.1%}",
                f"<small>{100 * low:.1f} to {high:.1%}</small>",
            ]
        )
    head = ["", "cost", "interval", "by the model", "features", "mistakes", "asked", "accuracy", "interval"]
    return table(head, rows, numeric=range(1, 9), caption="Means over the rows", own=0)


def _against(own: WayOfAsking, rivals: Sequence[WayOfAsking], seed: int) -> Iterator[str]:
    """How this policy compares, row by row."""
    for rival in rivals:
        saved = rival.outcome.totals - own.outcome.totals
        low, high = mean_interval(saved, seed)
        digits = decimals([low, high])
        if low > 0:
            verdict = f"saves {saved.mean():,.{digits}f} a row"
        elif high < 0:
            verdict = f"costs {-saved.mean():,.{digits}f} more a row"
            low, high = -high, -low
        else:
            yield f"Against “{rival.name}” the difference in total cost is within chance."
            continue
        yield f"Against “{rival.name}” it {verdict} ({low:,.{digits}f} to {high:,.{digits}f})."


def _expectation(model: Model, own: WayOfAsking, interval: tuple[float, float], digits: int) -> Iterator[str]:
    judged = model.judgement
    if judged is not None:
        yield (
            f"Training rows that were held out paid {judged.cost:,.{digits}f} "
            f"(standard error {judged.standard_error:,.{digits}f}); asking nothing, {judged.nothing:,.{digits}f}."
        )
    yield f"The model itself expects a cost of {own.expected:,.{digits}f} a row."
    gap = model.optimality_gap
    if gap is not None:
        yield (
            "No policy for its probabilities, prices and order of features can be expected to cost less than "
            f"{own.expected - gap:,.{digits}f}: the gap is at most {gap:.2g}."
        )
    low, high = interval
    if own.expected < low:
        yield (
            "These rows cost more than the model expects: its probabilities are too sure of themselves here, as "
            "happens when features depend on each other, or when rows differ from the training data."
        )
    elif own.expected > high:
        yield "These rows cost less than the model expects."
