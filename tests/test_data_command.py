"""``etana data``: tables that anybody has, as the files that the other commands read."""

import csv

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from etana import datasets
from etana.cli import app
from etana.commands.prices import read_costs
from etana.costs import resolve_feature_costs
from etana.datasets import locations
from etana.errors import InputError


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["data", *map(str, arguments)])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


@pytest.fixture(autouse=True)
def nothing_but_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("ETANA_CACHE", str(tmp_path / "no cache"))
    for name in ("ETANA_DATA", "ETANA_MIRROR"):
        monkeypatch.delenv(name, raising=False)


def rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(("name", "missing"), [("heart", 6), ("hepatitis", 167)])
def test_sets_that_travel_with_the_package_are_the_published_ones(name, missing):
    """Their values have the digest of the archive that the documented figures were made with."""
    data = datasets.load(name)
    assert data.differs is None
    assert int(np.isnan(data.X).sum()) == missing
    assert "CC BY 4.0" in data.licence
    assert "CC BY 4.0" in (locations.PACKAGED / "README.md").read_text()


def test_training_and_test_rows_are_all_rows_once(tmp_path):
    done = run("heart", "-o", tmp_path)
    assert [line.split()[1].rpartition("/")[2] for line in done.output.splitlines()] == [
        *("heart.csv", "heart-test.csv", "costs.csv")
    ]
    (header, *train), (same, *test) = rows(tmp_path / "heart.csv"), rows(tmp_path / "heart-test.csv")
    data = datasets.load("heart")
    assert header == same == [*data.names, "disease"]
    assert (len(train), len(test)) == (181, 122)
    assert abs(np.mean([r[-1] == "yes" for r in train]) - np.mean([r[-1] == "yes" for r in test])) < 0.01
    written = sorted([[float(c or "nan") for c in r[:-1]] + [float(r[-1] == "yes")] for r in train + test])
    known = sorted([*x, float(code)] for x, code in zip(data.X.tolist(), data.y))
    np.testing.assert_array_equal(np.float32(np.sort(written, axis=0)), np.float32(np.sort(known, axis=0)))


def test_prices_read_back_are_those_of_the_set(tmp_path):
    run("heart", "-o", tmp_path)
    data = datasets.load("heart")
    read, known = (
        resolve_feature_costs(given, 13, data.names)
        for given in (read_costs(str(tmp_path / "costs.csv")), data.feature_costs)
    )
    for field in ("full", "discounted", "group"):
        np.testing.assert_array_equal(getattr(read, field), getattr(known, field))


def test_a_set_of_scikit_learn(tmp_path):
    run("wine", "-o", tmp_path)
    header, *train = rows(tmp_path / "wine.csv")
    assert header[-1] == "class"
    assert {r[-1] for r in train} == {"class_0", "class_1", "class_2"}
    assert not (tmp_path / "costs.csv").exists()


def test_nobodys_file_is_replaced(tmp_path):
    (tmp_path / "costs.csv").write_text("mine\n")
    done = run("heart", "-o", tmp_path, code=3)
    assert "costs.csv is there already with other content" in done.output
    assert [path.name for path in tmp_path.glob("*.csv")] == ["costs.csv"]
    (tmp_path / "costs.csv").unlink()
    run("heart", "-o", tmp_path)
    run("heart", "-o", tmp_path)  # the same again is no harm
    assert "make it first" in run("heart", "-o", tmp_path / "nowhere", code=3).output


def test_a_set_that_is_too_wide_for_csv(tmp_path, monkeypatch):
    from etana.commands import data as command

    wide = datasets.Dataset(
        *("dexter", "", "", "", ""), X=csr_array((2, 9)), y=np.array([0, 1]),
        X_test=None, y_test=None, class_names=["a", "b"], differs=None,
    )  # fmt: skip
    monkeypatch.setattr(command, "load", lambda name, data_dir: wide)
    with pytest.raises(InputError, match="sparse with 9 columns"):
        command.write_data("dexter", str(tmp_path))
