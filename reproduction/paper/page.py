"""One self-contained page with the paper's tables and figures, ours beside the paper's.

A quick run without any of the paper's sets has nothing that stands in the paper, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from etana import __version__
from etana.plots._canvas import counted, matplotlib
from etana.report.page import cards, number, page, paragraph, section, text
from reproduction.paper.figures import Found, paper_figures
from reproduction.paper.plan import has_paper_sets
from reproduction.paper.published import ACCURACY, FEATURES
from reproduction.store import Result
from reproduction.tables import TITLES, ResultTable, to_html

__all__ = ["footer", "reproduction_page"]

_SETTINGS = (
    "Methods “authors' settings” do what the authors of ETANA ran: a grid of 10 steps, uniform priors, features "
    "ordered by variance, as many equal-width bins as classes."
)
_COMPARED = (
    "Each entry is our figure; below it the paper's, and ours less the paper's in brackets. A figure in bold agrees "
    f"with the paper's to the last digit that is printed. {_SETTINGS}"
)
_NOT_COMPARED = (
    "No set of the paper is at hand, so that these are small sets bundled with scikit-learn, and no figure here stands "
    "in the paper. With --data-dir, or the environment variable ETANA_DATA, name a folder that holds mll.npz. "
    f"{_SETTINGS}"
)


def reproduction_page(results: Found, tables: list[ResultTable]) -> str:
    """The page, from stored results alone."""
    matplotlib()
    done = [r for r in results.values() if r is not None]
    return page(
        "The experiments of the paper, made again" if has_paper_sets(results) else "Methods compared on small sets",
        f"ETANA and F-ETANA against six streaming selectors and a decision tree: {counted(len(done), 'cell')} of "
        f"{len(results)} run.",
        _sections(results, tables),
        footer(done),
    )


def _sections(results: Found, tables: list[ResultTable]) -> Iterator[str]:
    yield _tiles(results)
    yield section("How to read the tables", paragraph(_COMPARED if has_paper_sets(results) else _NOT_COMPARED))
    for table in tables:
        yield section(table.title.partition(":")[0], to_html(table))
    yield from paper_figures(results)


def _tiles(results: Found) -> str:
    """The authors' settings at a glance: one tile for each set of the paper."""
    blocks = []
    for cell, result in results.items():
        plain = cell.experiment == "tables" and not dict(cell.parameters).get("presence")
        if not plain or cell.method != "etana-published" or result is None or result.ended != "done":
            continue
        paper, features = ACCURACY.get((cell.dataset, "ETANA")), FEATURES.get((cell.dataset, "ETANA"))
        beside = "" if paper is None else f"; paper {paper:.4f} with {features:.2f}"
        blocks.append(
            f"<span>{text(TITLES[cell.dataset])}, authors' settings</span><b>{number(result.mean('accuracy'))}</b>"
            f"<small>with {number(result.mean('n_features'), 2)} features{text(beside)}</small>"
        )
    return cards("tiles", blocks) if blocks else ""


def footer(done: list[Result]) -> str:
    """Versions, machines, seeds and days, as the files tell."""
    versions = {f"{n} {v}" for r in done for n, v in r.about.get("versions", {}).items()}
    machines = {f"{m['processor']}, {m['cores']} cores" for r in done if (m := r.about.get("machine"))}
    days = sorted({str(r.about["when"])[:10] for r in done if "when" in r.about})
    seeds = sorted({r.cell.seed for r in done})
    when = f"{days[0]} to {days[-1]}" if len(days) > 1 else "".join(days)
    return (
        f"Drawn by etana {__version__} from stored results. Run {when} with {', '.join(sorted(versions))}; "
        f"machine: {'; '.join(sorted(machines))}; seed {', '.join(map(str, seeds))}."
    )
