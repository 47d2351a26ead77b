"""The outside of the house with a sequential classifier: the command line, pictures and the report."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

import etana
from etana import SequentialClassifier
from etana.cli import app
from etana.modelfile import load_model
from etana.plots import FeatureUsageDisplay
from etana.report import make_report

NAMES = [f"test {k}" for k in range(6)]
TREE = "sklearn.tree._tree.Tree"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with text in a column, and a model fitted on it by the command line."""
    folder = tmp_path_factory.mktemp("files")
    X, y = load_wine(return_X_y=True)
    table = pd.DataFrame(X[:, 6:12], columns=NAMES)
    table["test 4"] = (table["test 4"] > 1).map({True: "high", False: "low"})
    table["label"] = y
    table.to_csv(folder / "wine.csv", index=False)
    invoke("fit", folder / "wine.csv", "--target", "label", "--method", "sequential", "-o", folder / "m.etana")
    return folder


def invoke(*arguments, code=0, **options):
    result = CliRunner().invoke(app, [str(a) for a in arguments], **options)
    assert result.exit_code == code, result.output
    return result.output


def test_fit_is_the_fit_of_the_classifier(folder):
    table = pd.read_csv(folder / "wine.csv")
    clf = etana.load(folder / "m.etana")
    assert type(clf) is SequentialClassifier
    same = SequentialClassifier(random_state=0).fit(table[NAMES], table["label"])
    assert clf.acquire(table[NAMES]).posteriors.tolist() == same.acquire(table[NAMES]).posteriors.tolist()


def test_show_and_ask(folder):
    clf = etana.load(folder / "m.etana")
    shown = invoke("show", folder / "m.etana")
    assert f"The first {clf.feature_order_.size} features" in shown
    assert shown.index(NAMES[clf.feature_order_[0]]) < shown.index(NAMES[clf.feature_order_[1]])
    assert f"{clf.expectation_.reach[1]:.1%}" in shown
    talked = invoke("ask", folder / "m.etana", input="why\n" + "skip\n" * 8)
    assert "Decision" in talked
    assert "Going on with it is expected to cost" in " ".join(talked.split())


def test_classify_and_report(folder):
    invoke("classify", folder / "m.etana", folder / "wine.csv", "-o", folder / "out.csv", "--max-cost", "0.02")
    with open(folder / "out.csv") as file:
        rows = list(csv.DictReader(file))
    walk = load_model(folder / "m.etana").acquire(pd.read_csv(folder / "wine.csv")[NAMES], 0.02)
    assert [int(r["label"]) for r in rows] == walk.labels.tolist()
    assert [float(r["cost"]) for r in rows] == walk.costs.tolist()
    assert [r["features"].split(";") for r in rows] == [[NAMES[k] for k in walk.features(i)] for i in range(len(rows))]
    invoke("report", folder / "m.etana", folder / "wine.csv", "-o", folder / "r.html")
    assert "The model itself expects a cost of" in Path(folder / "r.html").read_text()


def test_options_that_cannot_be(folder):
    fit = ("fit", folder / "wine.csv", "--target", "label", "--method")
    assert "'sequential' (one order, nearest neighbours)" in invoke(*fit, "best", code=3)
    assert "--bins is 4, which method 'sequential' has no use for" in invoke(*fit, "sequential", "--bins", 4, code=3)
    assert "no use for" in invoke(*fit, "sequential", "--ordering", "variance", code=3)
    assert "--sample-size" not in invoke(*fit, "sequential", "-o", folder / "x.etana")
    assert "is one file, which is read whole" in invoke(*fit, "sequential", "--sample-size", 50, code=3)


def test_a_folder_of_one_part_is_the_file(folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "a.csv").write_bytes((folder / "wine.csv").read_bytes())
    for data, output in (("parts", "p.etana"), ("wine.csv", "w.etana")):
        invoke("fit", folder / data, "--target", "label", "--method", "sequential", "-o", folder / output)
    assert (folder / "p.etana").read_bytes() == (folder / "w.etana").read_bytes()
    small = invoke("fit", folder / "parts", "--target", "label", "--method", "sequential", "--sample-size", 60,
                   "-o", folder / "s.etana")  # fmt: skip
    assert "fitted on 60 of 178 rows, every class among them" in " ".join(small.split())


def test_trusted_types_on_the_command_line(folder):
    table = pd.read_csv(folder / "wine.csv")
    forest = RandomForestClassifier(5, random_state=0)
    clf = SequentialClassifier(forest, max_features=2, cv=2).fit(table[NAMES], table["label"])
    etana.save(clf, folder / "forest.etana")
    refused = invoke("classify", folder / "forest.etana", folder / "wine.csv", code=3)
    assert f"not trusted: {TREE}" in refused
    assert "--trust TYPE" in refused
    output = invoke("classify", folder / "forest.etana", folder / "wine.csv", "--trust", TREE)
    labels = [int(line.split(",")[0]) for line in output.splitlines()[1:]]
    assert labels == clf.predict(table[NAMES]).tolist()
    assert "cost by the model itself" in invoke("show", folder / "forest.etana", "--trust", TREE)


def test_pictures_and_a_report_of_classifier_and_model(folder):
    clf, table = etana.load(folder / "m.etana"), pd.read_csv(folder / "wine.csv")
    X, y = table[NAMES], table["label"]
    for estimator in (clf, clf.model_):
        usage = FeatureUsageDisplay.from_estimator(estimator, X, y)
        assert usage.counts.sum() == clf.acquire(X).n_features.sum()
        assert "The model itself expects a cost of" in make_report(estimator, X, y)
