"""Example paths: a few rows, question by question."""

from __future__ import annotations

import numpy as np

from etana.money import about
from etana.plots import ExamplePathsDisplay
from etana.plots._canvas import CLASS_COLOURS, class_colour, counted
from etana.plots.paths import ExamplePath, Step
from etana.report.page import bar, cards, figures, paragraph, section, table, text
from etana.report.picture import figure

__all__ = ["examples"]

_MOST_STEPS = 14
_NAME = 40
_NOT_WORTH_SAYING = 0.005


def examples(display: ExamplePathsDisplay) -> str:
    """The section: one card for each path, and all of them as lines."""
    n = display.classes.size
    key = ""
    if class_colour(0, n) is not None:
        marks = (
            f'<span class="w"><i class="key" style="background:{CLASS_COLOURS[i]}"></i>{text(c, _NAME)}</span>'
            for i, c in enumerate(display.classes)
        )
        key = f'<p class="muted">Bars show the belief in {"&ensp; ".join(marks)}</p>'
    picture = figure(
        "paths", display.plot, "The same rows as lines", "Belief in the true class after each feature.",
        f"Line chart of the belief in the true class along {counted(len(display.paths), 'path')}.",
    )  # fmt: skip
    shown = [_path(path, display.classes) for path in display.paths]
    return section(
        "Example paths",
        paragraph("Rows chosen to differ: short and long ones, mistakes, doubtful and typical ones."),
        key,
        cards("cards", shown),
        figures(picture),
    )


def _path(path: ExamplePath, classes: np.ndarray) -> str:
    verdict = f'<span class="{"right" if path.correct else "wrong"}">{"right" if path.correct else "wrong"}</span>'
    mistake = f" and {about(path.penalty, 6)} for the mistake" if path.penalty else ""
    rows = [["start", "", "", _beliefs(path.prior, classes)]]
    rows += [_step(step, classes) for step in path.steps]
    if len(rows) > _MOST_STEPS + 1:
        hidden = len(rows) - _MOST_STEPS
        rows[_MOST_STEPS - 4 : -4] = [[f"<small>{hidden} more features</small>", "", "", ""]]
    return (
        f"<h3>Row {path.row}: {text(path.reason, 60)}</h3>"
        f"<p>Decided <b>{text(classes[path.decided], _NAME)}</b>, truth <b>{text(classes[path.truth], _NAME)}</b>: "
        f"{verdict}. Paid {about(path.spent, 6)} for {counted(len(path.steps), 'feature')}{mistake}.</p>"
        + table(["feature", "answer", "price", "belief after it"], rows, numeric=[2])
    )


def _step(step: Step, classes: np.ndarray) -> list[str]:
    value = f"{step.value:.6g}" if isinstance(step.value, float) else step.value
    missing = step.meaning == "missing"
    meaning = "" if missing or step.meaning == repr(step.value) else f"<small>{text(step.meaning, _NAME)}</small>"
    answer = "missing" if missing else text(value, _NAME)
    return [text(step.feature, _NAME), answer + meaning, about(step.price), _beliefs(step.belief, classes)]


def _beliefs(belief: np.ndarray, classes: np.ndarray) -> str:
    """The two most likely classes in words, and all in a bar."""
    likely = np.argsort(-belief, kind="stable")[: 1 if classes.size == 2 else 2]
    likely = likely[belief[likely] >= _NOT_WORTH_SAYING]
    last = len(likely) - 1
    words = " ".join(
        f'<span class="w">{text(classes[i], 14)}: {_percent(float(belief[i]))}{"," if place < last else ""}</span>'
        for place, i in enumerate(likely)
    )
    if class_colour(0, classes.size) is not None:
        return f"{words}{bar((float(b), CLASS_COLOURS[i]) for i, b in enumerate(belief))}"
    return f"{words}{bar([(float(belief.max()), CLASS_COLOURS[0])])}"


def _percent(share: float) -> str:
    """Near certainty is not rounded to certainty."""
    return f"{100 * share:.0f}%" if share < 0.99 else f"{min(100 * share, 99.99):.2f}%"
