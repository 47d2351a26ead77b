"""Tables beside the paper's, and the paper's figures themselves."""

import csv
import io

import numpy as np
import pytest
from rich.console import Console

from reproduction.cells import Cell
from reproduction.paper.figures import _crossing, paper_figures
from reproduction.paper.page import reproduction_page
from reproduction.paper.published import ACCURACY, COLUMNS, FEATURES, SECONDS
from reproduction.paper.tables import paper_tables
from reproduction.store import Result
from reproduction.tables import Entry, to_csv, to_html, to_markdown, to_terminal


def measured(cell, **figures):
    seconds = dict.fromkeys(("selection_seconds", "classification_seconds", "training_seconds"), 0.5)
    return Result(
        cell, "done", 1.0, 600.0, [{"part": 0, "cost": None, **seconds, **figures}], **figures.pop("more", {})
    )


def table_cell(name, method, **more):
    return Cell("tables", name, method, {"cost": 0.01, **more})


@pytest.fixture
def results():
    mll, car, slow = table_cell("mll", "etana-published"), table_cell("car", "etana"), table_cell("dexter", "ofs-a3m")
    left, broken = table_cell("car", "saola"), table_cell("mll", "osfs")
    differs = Result(
        car, "done", 1.0, 600.0, [{"part": 0, "accuracy": 0.9, "n_features": 7.0, "selection_seconds": 0.0,
                                   "classification_seconds": 0.1, "training_seconds": 2.0}], differs="Car <differs>.",
    )  # fmt: skip
    return {
        mll: measured(mll, accuracy=1.0, n_features=76 / 15, selection_seconds=0.0),
        car: differs,
        slow: Result(slow, "limit", 600.0, 600.0),
        left: None,
        broken: Result(broken, "failed", 0.1, 600.0, message="ValueError: no"),
    }


def test_ours_the_papers_and_the_difference(results):
    accuracy, features, seconds = paper_tables(results)
    assert accuracy.columns == ["MLL", "Dexter", "Car"]
    rows = dict(accuracy.rows)
    assert rows["ETANA, authors' settings"][0] == Entry(1.0, 1.0, digits=4)
    assert rows["ETANA, our defaults"][2].difference == pytest.approx(0.9 - 0.8217)
    assert rows["OFS-A3M + 3-NN"][1].shown() == "> 600 s"
    assert rows["SAOLA + 3-NN"][2].shown() == "not run"
    assert rows["OSFS + 3-NN"][0].shown() == "failed"
    five = dict(features.rows)["ETANA, authors' settings"][0]
    assert (five.shown(), five.beside()) == ("5.07", "5.07 (0.00)")
    assert "ETANA, authors' settings, F + C" in dict(seconds.rows)
    assert "ETANA, authors' settings, F" not in dict(seconds.rows)
    assert dict(seconds.rows)["ETANA, our defaults, T"][2].beside() == "1168 (−1166)"


def test_a_selector_has_three_times():
    cell = table_cell("mll", "saola")
    seconds = paper_tables({cell: measured(cell, accuracy=0.8, n_features=2.0)})[2]
    assert [label[-3:] for label, _ in seconds.rows] == [", F", ", C", ", T"]
    assert dict(seconds.rows)["SAOLA + 3-NN, F"][0].paper == 3.079


def test_every_form_tells_the_same(results):
    tables = paper_tables(results)
    console = Console(width=200, record=True, file=io.StringIO())
    for table in tables:
        console.print(to_terminal(table))
    terminal = console.export_text()
    lines = list(csv.DictReader(io.StringIO(to_csv(tables))))
    markdown, html = "".join(map(to_markdown, tables)), "".join(map(to_html, tables))
    for text in (terminal, markdown, html):
        assert "5.07" in text
        assert "not run" in text
        assert "failed" in text
        assert "12 days" in text
    assert "> 600 s" in terminal
    assert "&gt; 600 s" in html
    assert "Car <differs>." in markdown
    assert "Car &lt;differs&gt;." in html
    (line,) = [
        e for e in lines if (e["table"], e["data"], e["method"]) == ("table3", "MLL", "ETANA, authors' settings")
    ]
    assert float(line["ours"]) == pytest.approx(76 / 15)
    assert float(line["paper"]) == 5.07


def test_where_data_differs_every_table_says_so(results):
    assert all("Car <differs>." in table.notes for table in paper_tables(results))


def test_exact_agreement_is_bold(results):
    html = to_html(paper_tables(results)[1])
    assert "<b>5.07</b>" in html
    assert "<b>7.00</b>" not in html


def test_the_papers_figures_are_whole():
    for table in (ACCURACY, FEATURES, SECONDS["training_seconds"], SECONDS["classification_seconds"]):
        complete = [key for key in table if key[0] != "news20"]
        assert len(complete) == 6 * len(COLUMNS)
        assert {column for name, column in table if name == "news20"} == {"ETANA", "F-ETANA", "SAOLA"}
    assert len(SECONDS["selection_seconds"]) == 6 * 6 + 1
    assert all(0 < value <= 1 for value in ACCURACY.values())


def test_nothing_is_drawn_from_nothing(results):
    sections = list(paper_figures(dict.fromkeys(results)))
    assert len(sections) == 1  # g needs no cell
    assert "<svg" in sections[0]


def test_the_page_stands_alone(results):
    page = reproduction_page(results, paper_tables(results))
    assert page.count("<svg") == page.count("</svg>") >= 1
    assert "<script" not in page
    assert "src=" not in page
    assert "Car <differs>" not in page


def test_where_a_threshold_crosses_the_simplex():
    points = _crossing(np.array([-1.0, 1.0, 1.0]))
    assert points.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    assert len(_crossing(np.ones(3))) == 0
