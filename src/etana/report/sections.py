"""Sections with pictures: what was asked, what accuracy costs, mistakes, belief, and the policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from etana.model import Model
from etana.money import about
from etana.plots import (
    CalibrationDisplay,
    ConfusionCostDisplay,
    CostCurve,
    CostCurveDisplay,
    FeatureUsageDisplay,
    GraphDisplay,
    PolicyDisplay,
    trace_budgets,
    trace_prices,
)
from etana.plots._canvas import counted
from etana.plots._intervals import wilson
from etana.plots._outcome import model_of
from etana.plots.policy import PolicyKind
from etana.reading import branches, can_be_read
from etana.report.page import decimals, figures, number, paragraph, section, table, text
from etana.report.picture import figure
from etana.report.summary import NOTHING, WayOfAsking
from etana.typing import ArrayLike, Axes, Fitted, TableLike

__all__ = ["asked", "belief", "mistakes", "policy", "trade"]

_N_TOP = 15
_MOST_CLASSES = 20
_NAME = 40
_DEPTH, _LEAST = 3, 0.02  # of a decision graph that is drawn


def asked(usage: FeatureUsageDisplay) -> str:
    """What was asked, in all, by class, and how many."""
    n, names = int(usage.class_sizes.sum()), usage.names
    shares = usage.counts.sum(axis=1) / n
    shown = min(len(names), _N_TOP)
    top = ", ".join(f"{names[k]} {shares[k]:.0%}" for k in range(min(3, shown))) or "none"
    numbers = usage.numbers.sum(axis=1)
    height = 0.9 + 0.22 * max(shown, 4)
    more = f" The first {shown} of {len(names)} that were asked at all." if len(names) > shown else ""
    stats = f"from {np.flatnonzero(numbers)[0]} to {len(numbers) - 1}, most often {numbers.argmax()}"
    return section(
        "What was asked",
        figures(
            figure(
                "usage", partial(usage.plot, n_top=_N_TOP), "How often each feature was asked",
                f"Share of all rows, in the order of acquisition.{more}",
                f"Bar chart of the share of rows that were asked each feature; the first are: {top}.", (4.6, height),
            ),
            figure(
                "classes", partial(usage.plot, kind="classes", n_top=_N_TOP), "By true class",
                "Rows of a class that were asked the feature, in per cent.",
                f"Heat map of the same shares for each of {counted(usage.classes.size, 'true class')}.", (4.6, height),
            ),
            figure(
                "number", partial(usage.plot, kind="number"), "How many features a row was asked",
                "Easy rows stop early; hard ones go on.",
                f"Histogram of the number of features asked: {stats}.",
            ),
            f"<div>{_by_class(usage)}</div>",
        ),
    )  # fmt: skip


def _by_class(usage: FeatureUsageDisplay) -> str:
    """How many features rows of each class were asked."""
    asked, rows = np.arange(len(usage.numbers)), []
    for name, numbers in zip(usage.classes[:_MOST_CLASSES], usage.numbers.T, strict=False):
        n = numbers.sum()
        if not n:
            rows.append([text(name, _NAME), "0", "–", "–", "–"])
            continue
        median = asked[np.searchsorted(numbers.cumsum(), n / 2)]
        rows.append(
            [text(name, _NAME), f"{n:,}", f"{numbers @ asked / n:.2f}", f"{median}", f"{np.flatnonzero(numbers)[-1]}"]
        )
    caption = "Features asked, by true class"
    if usage.classes.size > _MOST_CLASSES:
        caption += f" (the first {_MOST_CLASSES} of {usage.classes.size})"
    return table(["true class", "rows", "mean", "median", "most"], rows, (1, 2, 3, 4), caption)


_PRICES = (
    "One curve shows the policies that are best if features were up to 32 times cheaper or dearer, charged the true "
    "prices; the ring is this policy."
)
_BUDGET = "The curve of budgets keeps this policy, but allows no row more than a budget; it begins with asking nothing."
_EVERYTHING = "Asking everything lies far to the right, at the height of the dashed line."


def trade(estimator: Fitted, X: TableLike, y: ArrayLike, rivals: Sequence[WayOfAsking]) -> str:
    """What accuracy costs: two curves and the two rivals."""
    model = model_of(estimator)
    prices = model.prices.full
    if not prices.any():
        return section("What accuracy costs", paragraph("All features are free, so there is nothing to trade."))
    curves = {"hard budget": trace_budgets(estimator, X, y)}
    words = _BUDGET
    if model.at_prices(model.prices) is not None:
        curves = {"feature prices × 1/32 to 32": trace_prices(estimator, X, y)} | curves
        words = f"{_PRICES} {words} {_EVERYTHING}"
    rival_curves = {rival.name: CostCurve.of([1.0], [rival.outcome]) for rival in rivals if rival.name != NOTHING}
    against: Literal["n_features", "spend"] = "n_features" if np.ptp(prices) == 0 else "spend"
    what = "features asked" if against == "n_features" else "spending"
    first = next(iter(curves.values()))

    def draw(ax: Axes, response: Literal["accuracy", "cost"]) -> None:
        levels = {name: getattr(curve, response)[0] for name, curve in rival_curves.items()}
        CostCurveDisplay.from_curves(curves, against=against, response=response, levels=levels, ax=ax)

    def picture(response: Literal["accuracy", "cost"], heading: str, caption: str) -> str:
        x, v = getattr(first, against), getattr(first, response)
        alt = f"{heading}: from {about(v[-1], 3)} at {about(x[-1], 3)} to {about(v[0], 3)} at {about(x[0], 3)}."
        return figure(f"curve-{response}", partial(draw, response=response), heading, caption, alt)

    return section(
        "What accuracy costs",
        paragraph(words),
        figures(
            picture("accuracy", f"Accuracy against {what}", "Higher and further left is better."),
            picture("cost", f"Total cost against {what}", "Features and mistakes together; lower is better."),
        ),
    )


def mistakes(display: ConfusionCostDisplay) -> str:
    """The confusion matrix, and the dearest mistakes in words."""
    n, total = display.classes.size, float(display.costs.sum())
    side = 3.6 if n <= 4 else 4.4
    off = display.counts.copy()
    np.fill_diagonal(off, 0)
    worst = sorted(np.argwhere(off).tolist(), key=lambda ij: (-display.costs[ij[0], ij[1]], -off[ij[0], ij[1]], ij))
    digits = decimals([total])
    rows = [
        [
            text(display.classes[i], _NAME),
            text(display.classes[j], _NAME),
            f"{off[i, j]:,}",
            number(float(display.costs[i, j]), digits),
            f"{display.costs[i, j] / total:.0%}" if total else "–",
        ]
        for i, j in worst[:8]
    ]
    head = ["true class", "decided class", "rows", "cost", "share of cost"]
    dearest = table(head, rows, (2, 3, 4), "Dearest mistakes") if rows else paragraph("No mistake was made.")
    picture = figure(
        "confusion", display.plot, "Confusion matrix in units of cost",
        "Number of rows and, unless each mistake costs 1, what they cost together; the colour is the cost.",
        f"Confusion matrix of {n} classes: {off.sum()} of {display.counts.sum()} rows were decided wrongly, at a cost "
        f"of {about(total)}.", (4.6, side),
    )  # fmt: skip
    return section("Mistakes", figures(picture, f"<div>{dearest}{_by_true_class(display)}</div>"))


def _by_true_class(display: ConfusionCostDisplay) -> str:
    """How many rows of each class were told as such."""
    rows = []
    for code, name in enumerate(display.classes[:_MOST_CLASSES]):
        n, right = int(display.counts[code].sum()), int(display.counts[code, code])
        low, high = wilson(right, n) if n else (0.0, 0.0)
        share = [f"{right / n:.1%}", f"<small>{100 * low:.1f} to {high:.1%}</small>"] if n else ["–", "–"]
        rows.append([text(name, _NAME), f"{n:,}", f"{right:,}", *share])
    return table(["true class", "rows", "told as such", "share", "interval"], rows, (1, 2, 3, 4), "Found of each class")


def belief(display: CalibrationDisplay) -> str:
    """The reliability diagram and its numbers."""
    filled = display.counts > 0
    points = zip(display.prob_pred[filled], display.prob_true[filled], display.counts[filled], strict=True)
    listed = "; ".join(f"belief {p:.0%}, true {t:.0%} of {c} rows" for p, t, c in points)
    picture = figure(
        "calibration", display.plot, "Belief at the stop and what was true",
        "On the dashed line belief can be taken at its word; below it the model is too sure. Bars are intervals.",
        f"Reliability diagram: {listed}.", (4.6, 4.2),
    )  # fmt: skip
    note = paragraph(
        f"On the average, belief and truth differ by {display.error:.1%} (expected calibration error over "
        "the bins below)."
    )
    rows = [
        [f"{100 * low:g} to {100 * high:g}%", f"{count:,}", f"{belief:.2%}", f"{share:.1%}"]
        for low, high, count, belief, share in zip(
            display.edges, display.edges[1:], display.counts, display.prob_pred, display.prob_true
        )
        if count
    ]
    listing = table(["belief", "rows", "mean belief", "was true"], rows, (1, 2, 3), "Rows by belief at the stop")
    return section("Can its belief be believed?", figures(picture, f"<div>{note}{listing}</div>"))


_POLICY_CAPTIONS = {
    "interval": "Beliefs at which the policy asks on, and those at which it decides, after each feature; "
    "below, the share of rows that the model expects to get there.",
    "simplex": "Every point of a triangle is a belief; its corners are certainty, and are drawn with more room. Dotted "
    "lines: 90% and 99% sure. The dot is the belief at the start.",
    "stages": "Chance, under the model, that a row is asked at least so many features, and exactly so many.",
}


def policy(model: Model) -> str:
    """When the policy stops, stage by stage, or what it asks, as a graph."""
    if model.policy.stages is None:
        return _graph(model)
    display = PolicyDisplay(model.policy.stages, model.classes, model.priors)
    by_size: dict[int, list[PolicyKind]] = {2: ["interval", "stages"], 3: ["simplex", "stages"]}
    kinds = by_size.get(model.classes.size, ["stages"])
    headings = {"interval": "When it stops", "simplex": "When it stops", "stages": "How far rows get"}
    reached = ", ".join(f"{k} features {share:.0%}" for k, share in enumerate(display.reach[:6]))
    pictures = [
        figure(
            f"policy-{kind}", partial(display.plot, kind=kind), headings[kind], _POLICY_CAPTIONS[kind],
            f"{_POLICY_CAPTIONS[kind]} Expected to be reached: {reached}.", (4.6, 4.6 if kind == "simplex" else 3.8),
        )
        for kind in kinds
    ]  # fmt: skip
    return section("The policy", figures(*pictures))


def _graph(model: Model) -> str:
    if not can_be_read(model):
        return section("The policy", paragraph(f"{model.policy.words}. It has no tree of answers to draw."))
    display = GraphDisplay(branches(model, _DEPTH, _LEAST), model.classes, model.names)
    name = "a feature" if display.branches[0].asks < 0 else str(model.name_of(display.branches[0].asks))
    picture = figure(
        "graph", display.plot, "The first questions",
        "From left to right: each box is a question, each line an answer, as wide as the share of rows that the model "
        "expects to give it; coloured boxes are decisions. Dotted boxes go on; rare branches are not drawn. A card is "
        "an order of questions: which share of all rows is asked each, and how sure one must be to decide instead.",
        f"Decision graph of {counted(len(display.branches), 'state')}; the first question is {name}.", display.size,
    )  # fmt: skip
    return section("The policy", picture)
