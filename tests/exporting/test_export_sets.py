"""All test rows of every set, by every target: labels, features and costs equal, posteriors to 1e-9.

The sets of scikit-learn and made ones have 2 to 15 classes, gaps, categories and groups; the reference data, where they
are at hand, add medical tables and thousands of columns.
"""

import sys
from pathlib import Path

import engines
import pytest
import runners
import test_export_equality as whole_rows
import test_export_sql as statements
from samples import BUNDLED, REFERENCE, sample

from etana.exporting.plan import plan_of

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
from databases import Postgres, missing

pytestmark = pytest.mark.slow

MANY = 500  # columns, beyond which linear thresholds take too long to learn here
LONG = 200  # classes times stages, beyond which DuckDB plans a statement for minutes


@pytest.fixture(scope="module")
def postgres():
    server = None if missing() else Postgres()
    yield server
    if server is not None:
        server.stop()


@pytest.mark.parametrize("way", ["etana", "groups", "thresholds", "adaptive", "adaptive groups"])
@pytest.mark.parametrize("name", BUNDLED + REFERENCE)
def test_all_rows_of_all_sets(name, way, postgres, tmp_path):
    if way == "thresholds" and name in ("mll", "lung2_1543", "car", "dexter", "madelon"):
        pytest.skip(f"thresholds for more than {MANY} columns take too long to learn")
    clf, rows = sample(name, way)
    model = clf.model_
    for run in (runners.in_c, runners.in_node, runners.in_python, runners.by_document):
        whole_rows.check(run(clf, rows, tmp_path), model, rows)
    statements.check(engines.in_sqlite(clf, rows, tmp_path), model, rows)
    if postgres is not None:
        statements.check(engines.in_postgres(clf, rows, tmp_path, postgres.address("postgres")), model, rows)
    stages = plan_of(model, 1).stages
    if stages is None or len(stages.questions) * len(model.classes) < LONG:
        pytest.importorskip("duckdb")
        statements.check(engines.in_duckdb(clf, rows, tmp_path), model, rows)
