"""One page with what goes beyond the paper: tables, and pictures of accuracy and cost against features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from etana.plots import CostCurveDisplay
from etana.plots._canvas import counted, matplotlib
from etana.report.page import figures, page, paragraph, section
from etana.report.picture import figure
from reproduction.measurements.tables import Points, peer_points
from reproduction.paper.figures import Found
from reproduction.paper.page import footer
from reproduction.tables import TITLES, ResultTable, to_html

__all__ = ["beyond_page"]

_SIZE = (5.4, 4.2)
_PRICE = 0.01
_MOST = 20  # features that are shown


def beyond_page(results: Found, tables: list[ResultTable]) -> str:
    """The page, from stored results alone."""
    matplotlib()
    done = [r for r in results.values() if r is not None]
    return page(
        "Beyond the paper",
        f"The table to beat, total cost in money, and published methods: {counted(len(done), 'cell')} of "
        f"{len(results)} run.",
        _sections(results, tables),
        footer(done),
    )


def _sections(results: Found, tables: list[ResultTable]) -> Iterator[str]:
    for table in tables:
        yield section(table.title, to_html(table))
    drawn = [picture for name, at in peer_points(results).items() for picture in _pictures(name, at)]
    if drawn:
        words = f"Curves over prices; a feature costs {_PRICE} and a mistake 1 in the pictures of cost."
        yield section("Accuracy and cost against features", paragraph(words), figures(*drawn))


def _pictures(name: str, at: dict[str, Points]) -> Iterator[str]:
    """Accuracy and cost of all methods on a set."""
    shown = {title: kept for title, points in at.items() if (kept := [p for p in points if p[0] <= _MOST])}
    accuracy = {title: ([f for f, _ in p], [a for _, a in p]) for title, p in shown.items()}
    cost = {title: ([f for f, _ in p], [1 - a + _PRICE * f for f, a in p]) for title, p in shown.items()}
    for what, points in (("accuracy", accuracy), ("cost", cost)):
        heading = f"{TITLES[name]}: {what}"
        alt = f"Line chart of {what} against features on {TITLES[name]}, methods: {', '.join(shown)}."
        yield figure(f"peers-{name}-{what}", _draw(points, what), heading, "", alt, _SIZE)


def _draw(points: dict[str, Any], what: str) -> Callable[[Any], None]:
    def draw(ax: Any) -> None:
        CostCurveDisplay(points, "features asked, mean", "expected cost" if what == "cost" else what).plot(ax)
        # Far below the best of a set there is nothing to compare.
        best = [v for _, values in points.values() for v in values]
        if what == "accuracy":
            ax.set_ylim(max(min(best), max(best) - 0.2), min(max(best) + 0.01, 1.005))
        else:
            ax.set_ylim(max(min(best) - 0.01, 0), min(max(best), min(best) + 0.2))

    return draw
