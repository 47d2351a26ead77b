"""The paper's figures, drawn from stored results; a figure whose cells were not run is left out.

They are pieces of HTML with SVG inside, made by :func:`etana.report.picture.figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from etana.plots._canvas import CLASS_COLOURS, INK, MUTED, PALE, label, matplotlib, quiet_axes
from etana.report.page import figures, paragraph, section
from etana.report.picture import figure
from reproduction.cells import Cell
from reproduction.store import Result
from reproduction.tables import TITLES

__all__ = ["Lines", "g_section", "lines_of", "paper_figures"]

Found = dict[Cell, Result | None]
Lines = dict[str, list[tuple[float, Result]]]
_HEIGHT = np.sqrt(3) / 2
_SIZE = (4.6, 3.4)
_WIDE = (4.6, 4.2)


def paper_figures(results: Found) -> Iterator[str]:
    """Sections with the figures, in the order of the paper."""
    yield g_section()
    yield from _bins(results)
    yield from _prices(results)
    yield from _regions(results)
    yield from _classes(results)


def lines_of(results: Found, experiment: str, parameter: str) -> Lines:
    """Finished cells of an experiment by data set and method, in the order of a parameter."""
    out: Lines = {}
    many = len({c.method for c in results if c.experiment == experiment}) > 1
    for cell, result in results.items():
        if cell.experiment == experiment and result is not None and result.ended == "done":
            suffix = ", authors'" if cell.method.endswith("-published") else ", ours"
            name = TITLES[cell.dataset] + (suffix if many else "")
            out.setdefault(name, []).append((float(dict(cell.parameters)[parameter]), result))
    return {name: sorted(points, key=lambda p: p[0]) for name, points in sorted(out.items())}


def _colour(name: str, names: list[str]) -> str:
    """One colour for each data set."""
    bases = list(dict.fromkeys(n.partition(",")[0] for n in names))
    return CLASS_COLOURS[bases.index(name.partition(",")[0]) % len(CLASS_COLOURS)]


def _plot(ax: Any, lines: Lines, x: Callable[[float, Result], float], y: str, xlabel: str, ylabel: str) -> None:
    names = list(lines)
    for name, points in lines.items():
        ax.plot(
            [x(value, result) for value, result in points], [result.mean(y) for _, result in points],
            marker="o", markersize=3.5, linewidth=1.3, color=_colour(name, names), label=name,
            linestyle="--" if name.endswith("authors'") else "-",
        )  # fmt: skip
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.legend(frameon=False, fontsize="small")
    quiet_axes(ax)


def _words(lines: Lines, y: str) -> str:
    """The ends of each line, for those who cannot see the picture."""
    ends = [f"{name} from {p[0][1].mean(y):.4g} to {p[-1][1].mean(y):.4g}" for name, p in lines.items()]
    return "; ".join(ends)


def _bins(results: Found) -> Iterator[str]:
    lines = lines_of(results, "bins", "n_bins")
    if not lines:
        return
    panels = (
        ("accuracy", "accuracy", "Accuracy against the number of bins"),
        ("n_features", "features per row", "Features against the number of bins"),
        ("training_seconds", "training, seconds", "Training time against the number of bins"),
    )

    def draw(name: str, ylabel: str) -> Callable[[Any], None]:
        def plot(ax: Any) -> None:
            _plot(ax, lines, lambda value, _: value, name, "V, number of bins", ylabel)
            ax.set_xscale("log")
            ax.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
            ax.minorticks_off()
            if name == "training_seconds":
                ax.set_yscale("log")

        return plot

    yield section(
        "The number of bins",
        paragraph("ETANA with the authors' settings, and V equal-width bins, as the paper varies them."),
        figures(
            *(
                figure(f"bins-{n}", draw(n, ylabel), heading, "", f"Line chart: {_words(lines, n)}.", _SIZE)
                for n, ylabel, heading in panels
            )
        ),
    )


def _prices(results: Found) -> Iterator[str]:
    lines = lines_of(results, "prices", "cost")
    if not lines:
        return

    def draw(ax: Any) -> None:
        _plot(ax, lines, lambda _, r: max(r.mean("n_features") or 0.0, 0.1), "accuracy", "features per row", "accuracy")
        ax.set_xscale("log")

    yield section(
        "What accuracy costs",
        paragraph(
            "Accuracy against the average number of features; each point is a price of a feature, from 0.1 to 0. "
            "Dashed: the authors' settings."
        ),
        figure(
            "prices", draw, "Accuracy against features", "At a price of 0 all features are asked.",
            f"Line chart of accuracy: {_words(lines, 'accuracy')}.", (7.2, 4.2),
        ),
    )  # fmt: skip


def _regions(results: Found) -> Iterator[str]:
    found = [r for c, r in results.items() if c.experiment == "regions" and r is not None and r.ended == "done"]
    for result in found:
        panels = [
            figure(
                f"regions-{record['stage']}", partial(_draw_regions, record),
                f"After {record['stage']} feature{'s' if record['stage'] > 1 else ''}",
                "Coloured: stop and decide; pale: ask on. Lines: F-ETANA's thresholds.",
                f"Simplex of beliefs in {', '.join(record['classes'])} with the regions where the policy stops.", _WIDE,
            )
            for record in result.records
        ]  # fmt: skip
        yield section(
            f"Stop or continue: {TITLES[result.cell.dataset]}",
            paragraph(
                "Beliefs in three classes. The regions are those of our solver, which is optimal up to a certified "
                "gap; a threshold of F-ETANA is a plane, and stops on the side of its own corner. Probabilities are "
                "drawn as their cube roots: policies stop near the corners, which so get more room."
            ),
            figures(*panels),
        )


def _corners() -> np.ndarray:
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])


def _triangle(ax: Any, classes: list[str]) -> None:
    patches = matplotlib().patches
    ax.add_patch(patches.Polygon(_corners(), closed=True, fill=False, edgecolor=INK, linewidth=1.0))
    places = ((0.0, -0.04, "center", "top"), (1.0, -0.04, "center", "top"), (0.5, _HEIGHT + 0.03, "center", "bottom"))
    for name, (x, y, ha, va) in zip(classes, places, strict=True):
        ax.text(x, y, label(name, 16), ha=ha, va=va, color=INK)
    ax.set_aspect("equal")
    ax.set_xlim(-0.08, 1.08)
    ax.set_ylim(-0.12, _HEIGHT + 0.12)
    ax.set_axis_off()


def _draw_regions(record: dict[str, Any], ax: Any) -> None:
    colours = matplotlib().colors
    palette = np.array([colours.to_rgb(c) for c in (*CLASS_COLOURS[:3], PALE, "white")])
    image = palette[np.array([[4 if c == " " else int(c) for c in row] for row in record["rows"]])]
    ax.imshow(image, origin="lower", extent=(0, 1, 0, _HEIGHT), interpolation="none")
    for theta in record["thresholds"] or ():
        ends = _crossing(np.array(theta))
        if len(ends) == 2:
            share = np.linspace(0, 1, 101)[:, None] ** 3  # more points near the first end, where the line may bend
            line = np.vstack([(1 - share) * ends[0] + share * ends[1], (1 - share) * ends[1] + share * ends[0]])
            drawn = line[np.argsort(line @ (ends[1] - ends[0]))] ** (1 / record["magnify"])
            path = drawn / drawn.sum(axis=1, keepdims=True) @ _corners()
            ax.plot(*path.T, color="white", linewidth=3.4)
            ax.plot(*path.T, color=INK, linewidth=1.5)
    _triangle(ax, record["classes"])


def _crossing(theta: np.ndarray) -> np.ndarray:
    """Where theta . pi = 0 meets the edges of the simplex: two beliefs, or none."""
    points = []
    for i, j in ((0, 1), (1, 2), (0, 2)):
        if theta[i] * theta[j] < 0:
            share = theta[i] / (theta[i] - theta[j])
            belief = np.zeros(3)
            belief[i], belief[j] = 1 - share, share
            points.append(belief)
    return np.array(points).reshape(-1, 3)


def g_section() -> str:
    """The cost of the best decision on the simplex of three classes; 0/1 costs."""

    def draw(ax: Any) -> None:
        n = 200
        across = (np.arange(n) + 0.5) / n
        x, height = np.meshgrid(across, across)
        beliefs = np.stack([1 - x - height / 2, x - height / 2, height], axis=-1)
        g = np.where((beliefs < 0).any(axis=-1), np.nan, 1 - beliefs.max(axis=-1))
        drawn = ax.contourf(across, _HEIGHT * across, g, np.linspace(0, 2 / 3, 21), cmap="cividis")
        ax.figure.colorbar(drawn, ax=ax, ticks=[0, 1 / 3, 2 / 3], format=lambda v, _: f"{v:.2f}", shrink=0.7)
        _triangle(ax, ["class 1", "class 2", "class 3"])
        ax.plot(0.5, _HEIGHT / 3, marker="o", markersize=4, color=MUTED)

    return section(
        "The cost of deciding now",
        figures(
            figure(
                "g", draw, "g on the simplex",
                "Expected cost of the best decision at a belief, mistakes costing 1: nothing at the corners, most "
                "(2/3) in the middle; concave and made of flat pieces (a lemma of the paper).",
                "Simplex of three classes shaded by g, which is 0 at the corners and 2/3 in the middle.", _WIDE,
            )
        ),
    )  # fmt: skip


_CLASS_SETS = (("dexter", 2), ("mll", 3), ("lung2", 5), ("car", 11))
_PAIRS = (
    ("etana-published", "ETANA, authors'", 0, "-"),
    ("f-etana-published", "F-ETANA, authors'", 1, "-"),
    ("etana", "ETANA, ours", 0, ":"),
    ("f-etana", "F-ETANA, ours", 1, ":"),
)


def _classes(results: Found) -> Iterator[str]:
    found = {(c.dataset, c.method): r for c, r in results.items() if c.experiment == "tables" and not c.seed
             and r is not None and r.ended == "done" and not dict(c.parameters).get("presence")}  # fmt: skip
    sets = [(name, n) for name, n in _CLASS_SETS if all((name, m) in found for m, *_ in _PAIRS)]
    if len(sets) < 2:
        return

    def draw(figure_name: str, ylabel: str, log: bool) -> Callable[[Any], None]:
        def plot(ax: Any) -> None:
            for method, title, colour, style in _PAIRS:
                values = [found[name, method].mean(figure_name) for name, _ in sets]
                ax.plot([n for _, n in sets], values, marker="o", markersize=4, color=CLASS_COLOURS[colour],
                        linestyle=style, label=title)  # fmt: skip
            ax.set_xticks([n for _, n in sets], [f"{n}\n{TITLES[name]}" for name, n in sets])
            ax.set_xlabel("classes")
            ax.set_ylabel(ylabel)
            if log:
                ax.set_yscale("log")
            ax.legend(frameon=False, fontsize="small")
            quiet_axes(ax)

        return plot

    yield section(
        "F-ETANA against ETANA",
        paragraph("A grid of beliefs grows fast with the number of classes; thresholds, and our solver, do not."),
        figures(
            figure("classes-seconds", draw("training_seconds", "training, seconds", True), "Training time", "",
                   "Line chart of training seconds over the number of classes.", _SIZE),
            figure("classes-accuracy", draw("accuracy", "accuracy", False), "Accuracy", "",
                   "Line chart of accuracy over the number of classes.", _SIZE),
        ),
    )  # fmt: skip
