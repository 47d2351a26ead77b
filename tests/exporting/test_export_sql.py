"""The statement decides as the model does, in every database at hand."""

import sys
from pathlib import Path

import engines
import numpy as np
import pytest
from samples import sample
from test_export_equality import FEW

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
from databases import Postgres, missing

RUN = {"sqlite": engines.in_sqlite, "duckdb": engines.in_duckdb}


@pytest.fixture(scope="module")
def postgres():
    reason = missing()
    if reason:
        pytest.skip(reason)
    server = Postgres()
    yield server
    server.stop()


def check(found, model, rows, max_cost=None) -> None:
    walk = model.acquire(rows, max_cost)
    assert found.labels == walk.labels.tolist()
    counts = [len(f) if isinstance(f, list) else f for f in found.features]
    assert counts == walk.n_features.tolist()
    assert np.array_equal(found.costs, walk.costs)
    assert np.abs(found.posteriors - walk.posteriors).max() <= 1e-9


@pytest.mark.parametrize("engine", RUN)
@pytest.mark.parametrize(("name", "way"), FEW)
def test_decides_as_the_model(name, way, engine, tmp_path):
    if engine == "duckdb":
        pytest.importorskip("duckdb")
        if name == "digits":
            pytest.skip("DuckDB takes half a minute to plan a statement for ten classes and 64 stages")
    clf, rows = sample(name, way)
    rows = rows[-200:]
    check(RUN[engine](clf, rows, tmp_path), clf.model_, rows)


@pytest.mark.parametrize(("name", "way"), FEW)
def test_decides_as_the_model_in_postgresql(name, way, postgres, tmp_path):
    clf, rows = sample(name, way)
    rows = rows[-200:]
    check(engines.in_postgres(clf, rows, tmp_path, postgres.address("postgres")), clf.model_, rows)


@pytest.mark.parametrize(("name", "way"), [("clinic2", "groups"), ("clinic3", "adaptive"), ("clinic15", "groups")])
def test_a_budget_is_kept(name, way, tmp_path):
    clf, rows = sample(name, way)
    for max_cost in (0.0, 0.03):
        check(engines.in_sqlite(clf, rows[:100], tmp_path, max_cost), clf.model_, rows[:100], max_cost)
