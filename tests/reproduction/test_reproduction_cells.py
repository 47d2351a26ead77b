"""Cells: names, and what comes out of them."""

import numpy as np
import pytest

from etana.errors import InputError
from etana.evaluation import METHODS, Method, Setting, evaluate, register
from etana.selection import SAOLA
from reproduction.cells import Cell
from reproduction.experiment_data import load_data, n_parts
from reproduction.experiments import EXPERIMENTS, prepare
from reproduction.methods import method_of
from reproduction.paper.plan import TABLE_METHODS, full, is_slow, quick


def test_a_cell_is_its_fields():
    cell = Cell("bins", "mll", "etana-published", {"n_bins": 5, "cost": 0.01}, seed=3)
    assert cell.key == "bins/mll/etana-published/cost=0.01/n_bins=5/seed=3"
    assert Cell.of(cell.fields()) == cell
    assert cell == Cell("bins", "mll", "etana-published", {"cost": 0.01, "n_bins": 5}, seed=3)
    others = [Cell("bins", "mll", "etana-published", {"n_bins": 5, "cost": 0.01}), Cell("bins", "mll", "etana")]
    assert len({c.digest for c in (cell, *others)}) == 3


@pytest.mark.parametrize("fields", [None, [], {"experiment": "tables"}, {**Cell("a", "b", "c").fields(), "seed": "0"}])
def test_what_is_no_cell_is_refused(fields):
    with pytest.raises(InputError, match="does not describe a cell"):
        Cell.of(fields)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (Cell("tabels", "iris", "saola"), "no experiment 'tabels'"),
        (Cell("tables", "iris", "soala"), "no method 'soala'"),
        (Cell("tables", "irsi", "saola"), "no data set 'irsi'"),
    ],
)
def test_unknown_names_are_named(cell, message):
    with pytest.raises(InputError, match=message):
        prepare(cell, None)


def test_a_measured_cell_is_the_evaluation():
    cell = Cell("tables", "breast_cancer", "saola", {"cost": 0.01}, seed=4)
    records = prepare(cell, None)()
    X, y, protocol = load_data("breast_cancer").training(4)
    assert set(np.unique(y)) == {-1, 1}
    expected = evaluate(SAOLA(), X, y, protocol=protocol)
    assert [r["accuracy"] for r in records] == [fold.accuracy for fold in expected.folds]
    assert [r["part"] for r in records] == list(range(n_parts("breast_cancer")))


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_every_method_measures_and_repeats_itself(method):
    cell = Cell("tables", "iris", method, {"cost": 0.02})
    first, second = prepare(cell, None)(), prepare(cell, None)()
    for a, b in zip(first, second, strict=True):
        assert (a["accuracy"], a["n_features"], a["cost"]) == (b["accuracy"], b["n_features"], b["cost"])
        assert 0.5 < a["accuracy"] <= 1
        assert 0 < a["n_features"] <= 4


def test_parameters_reach_the_estimator():
    made = method_of("etana-published").make(Setting(3, 0.05, 7))
    assert (made.n_bins, made.feature_costs) == (7, 0.05)
    assert method_of("etana-published").make(Setting(3)).n_bins == 3
    dear = prepare(Cell("prices", "iris", "etana", {"cost": 0.3}), None)()
    cheap = prepare(Cell("prices", "iris", "etana", {"cost": 0.01}), None)()
    assert np.mean([r["n_features"] for r in dear]) < np.mean([r["n_features"] for r in cheap])


def test_presence_replaces_values():
    data = load_data("wine").with_presence()
    assert set(np.unique(data.X)) <= {0.0, 1.0}
    (record, *_) = prepare(Cell("tables", "iris", "etana", {"presence": 1}), None)()
    assert record["n_features"] == 0  # every value is there, so that none informs


def test_regions_are_those_of_the_policy():
    records = prepare(Cell("regions", "iris", "etana", {"cost": 0.01, "stages": "0+1"}), None)()
    assert [r["stage"] for r in records] == [0, 1]
    for record in records:
        assert set("".join(record["rows"])) <= set("0123 ")
        corners = record["rows"][0].strip()
        assert (corners[0], corners[-1]) == ("0", "1")  # corners of the simplex stop
        assert set("".join(record["rows"][-2:]).strip()) == {"2"}
        assert np.array(record["thresholds"]).shape == (3, 3)


def test_a_further_method_is_an_entry(monkeypatch):
    monkeypatch.setattr("etana.evaluation.methods.METHODS", dict(METHODS))
    register(Method("strict-saola", "SAOLA, strict", lambda setting: SAOLA(alpha=1e-6)))
    records = prepare(Cell("tables", "iris", "strict-saola"), None)()
    assert len(records) == 5
    with pytest.raises(InputError, match="there is a method 'saola' already"):
        register(Method("saola", "again", lambda setting: SAOLA()))


def test_the_paper_is_covered():
    cells = full()
    assert len(set(cells)) == len(cells)
    assert {(c.dataset, c.method) for c in cells if c.experiment == "tables"} == {
        (name, method)
        for name in ("madelon", "lung", "mll", "dexter", "car", "lung2", "news20")
        for method in TABLE_METHODS
    }
    assert {dict(c.parameters)["cost"] for c in cells if c.dataset == "news20"} == {0.001}
    assert {dict(c.parameters)["n_bins"] for c in cells if c.experiment == "bins"} == {2, 3, 5, 10, 20, 30, 40, 50, 100}
    prices = {dict(c.parameters)["cost"] for c in cells if c.experiment == "prices"}
    assert prices == {0.1, 0.08, 0.06, 0.04, 0.02, 0.01, 0.001, 0}
    assert all(c.experiment in EXPERIMENTS for c in (*cells, *quick()))
    assert any(is_slow(c) for c in cells)
    assert not any(is_slow(c) for c in quick())
