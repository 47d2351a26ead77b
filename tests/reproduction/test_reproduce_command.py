"""``etana reproduce`` from the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import etana
from etana.cli import app
from reference import reference_folder
from reproduction.paper import plan
from reproduction.store import ResultStore

ETANA = [sys.executable, "-m", "etana.cli", "reproduce"]
# Every method once, and some cells of each experiment.
SOME = (
    "tables/iris/*", "tables/mll/etana-published/*", "bins/wine/*/n_bins=[23]", "prices/wine/etana/cost=0.1",
    "regions/*",
)  # fmt: skip


def run(*arguments, code=0):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["reproduce", *map(str, arguments)])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


def run_quick(folder, *only):
    """A quick run in a process of its own, with MLL where it is at hand; the options to go on with it."""
    found = reference_folder()
    options = ["--data-dir", found] if found else []
    environment = {**os.environ, "ETANA_CACHE": str(folder / "none"), "COLUMNS": "200"}
    patterns = [text for pattern in only if found or "/mll/" not in pattern for text in ("--only", pattern)]
    command = [*ETANA, "--quick", "-o", folder, "--markdown", *options, *patterns]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done, [*options, "--quick", "-o", folder]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Part of a quick run."""
    folder = tmp_path_factory.mktemp("results")
    return folder, *run_quick(folder, *SOME)


@pytest.mark.slow
def test_all_cells_of_a_quick_run_are_done(tmp_path):
    run_quick(tmp_path)
    results = list(ResultStore(tmp_path / "cells"))
    assert {r.ended for r in results} == {"done"}
    assert len(results) >= len(plan.quick())


def test_a_quick_run_writes_all_there_is(quick):
    folder, done, _ = quick
    results = list(ResultStore(folder / "cells"))
    assert {r.ended for r in results} == {"done"}
    assert {"tables", "bins", "prices", "regions"} == {r.cell.experiment for r in results}
    page = (folder / "index.html").read_text()
    assert page.count("<svg") >= 6
    for table in ("Table 2", "Table 3", "Table 4"):
        assert table in done.stdout
        assert table in page
        assert table in (folder / "tables.md").read_text()
    assert (folder / "tables.csv").read_text().startswith("table,method,data,ours,paper,difference,remark\n")


def test_the_papers_mll_row_comes_out_exactly(quick):
    folder, _, _ = quick
    if reference_folder() is None:
        pytest.skip("MLL is not at hand")
    lines = (folder / "tables.csv").read_text().splitlines()
    (accuracy,) = [line for line in lines if line.startswith('table2,"ETANA, authors\' settings",MLL')]
    (features,) = [line for line in lines if line.startswith('table3,"ETANA, authors\' settings",MLL')]
    assert accuracy.split(",")[-4:] == ["1.0", "1.0", "0.0", ""]
    assert f"{float(features.split(',')[-4]):.2f}" == "5.07"


def test_tables_are_drawn_without_running(quick):
    folder, done, options = quick
    before = {p: p.stat().st_mtime_ns for p in (folder / "cells").iterdir()}
    page = (folder / "index.html").read_bytes()
    again = run(*options, "--tables")
    assert again.stdout == done.stdout
    assert (folder / "index.html").read_bytes() == page  # the same results, the same bytes
    assert {p: p.stat().st_mtime_ns for p in (folder / "cells").iterdir()} == before


def test_one_cell_is_made_again(quick):
    folder, _, options = quick
    before = {p.name: p.stat().st_mtime_ns for p in (folder / "cells").iterdir()}
    run(*options, "--only", "iris", "--again", "tables/iris/saola/*")
    after = {p.name: p.stat().st_mtime_ns for p in (folder / "cells").iterdir()}
    (changed,) = [name for name in after if after[name] != before[name]]
    assert changed.startswith("tables.iris.saola.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "nosuch"], "--only is 'nosuch'"),
        (["--again", "nosuch"], "--again is 'nosuch'"),
        (["--time-limit", "0"], "the time limit is 0.0"),
        (["--time-limit", "nan"], "the time limit is nan"),
        (["--time-limit", "inf"], "the time limit is inf"),
        (["--jobs", "0"], "jobs is 0"),
        (["--data-dir", "nowhere"], "'nowhere' does not exist"),
    ],
)
def test_bad_options_are_refused_before_work(tmp_path, options, message):
    done = run("--quick", "-o", tmp_path / "out", *options, code=3)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("out/cells/*"))


def test_a_limit_shows_in_the_table(tmp_path):
    done = run("--quick", "-o", tmp_path, "--only", "tables/breast_cancer/ofs-a3m/*", "--time-limit", "0.01")
    assert "> 0 s" in done.stdout
    assert "ended at its limit" in done.stderr
    (result,) = ResultStore(tmp_path / "cells")
    assert result.ended == "limit"


def test_without_the_papers_sets_nothing_claims_to_be_the_papers(tmp_path, monkeypatch):
    monkeypatch.delenv("ETANA_DATA", raising=False)
    monkeypatch.setenv("ETANA_CACHE", str(tmp_path / "none"))
    only = ["--only", "tables/iris/saola/*", "--only", "bins/*", "--only", "regions/*"]
    done = run("--quick", "-o", tmp_path, "--markdown", *only)
    page = (tmp_path / "index.html").read_text()
    for text in (page, done.stdout, (tmp_path / "tables.md").read_text()):
        assert "the paper's" not in text
        assert "of the paper, made again" not in text
        assert "Table 2" not in text
        assert "Accuracy" in text
    assert "No set of the paper is at hand" in page
    assert page.count("<svg") >= 4


def test_an_installed_etana_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("etana.commands.reproduce._CHECKOUT", tmp_path)
    done = run("--quick", "-o", tmp_path / "out", code=3)
    assert f"the folder 'reproduction' is not at {tmp_path}" in done.stderr
    assert "get the source of etana" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_folder_is_found_from_anywhere(tmp_path):
    """Neither the working folder nor a path that a test set is needed to find it."""
    command = [*ETANA, "--quick", "--tables", "-o", str(tmp_path)]
    source = str(Path(etana.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "ETANA_CACHE": str(tmp_path / "none")}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not run" in done.stdout


def test_a_missing_matplotlib_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("--quick", "-o", tmp_path / "out", code=3)
    assert "pip install 'etana[plot]'" in done.stderr
    assert not (tmp_path / "out").exists()
