"""``etana ask``: what is said of each question, and in which order classes stand."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import etana
from etana.cli import app


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 80)
    X = pd.DataFrame({"bp": (130 + 40 * sick + rng.normal(size=80)).round(), "pulse": 70 + rng.normal(size=80)})
    clf = etana.ETANAClassifier(feature_costs=12000.0, misclassification_costs=[[0, 9e5], [9e5, 0]], temperature=1.0)
    clf.fit(X, np.where(sick == 1, "sick", "well"))
    path = tmp_path_factory.mktemp("ask") / "m.etana"
    etana.save(clf, path)
    etana.save(clf.describe({"bp": {"unit": "mmHg"}}), path.with_name("unit.etana"))
    etana.save(clf.describe({"bp": {"unit": "mmHg", "lowest": 60, "highest": 250}}), path.with_name("range.etana"))
    return path, X["bp"]


def ask(path, text):
    done = CliRunner().invoke(app, ["ask", str(path)], input=text)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_range_of_each_question(path):
    path, bp = path
    span = f"{bp.min():g} to {bp.max():g}"
    assert f"bp (price 12000), {span} in training: " in ask(path, "quit\n")
    assert f"bp (price 12000), {span} mmHg in training: " in ask(path.with_name("unit.etana"), "quit\n")
    assert "bp (price 12000), plausible: 60 to 250 mmHg: " in ask(path.with_name("range.etana"), "quit\n")


@pytest.mark.parametrize("value", ["131", "171"])
def test_bars_keep_the_order_of_the_classes(path, value):
    said = ask(path[0], f"{value}\n\n")
    assert re.findall(r"^  (\w+) +█", re.sub(r".*: (?=  )", "", said), re.MULTILINE)[:2] == ["sick", "well"]
    beliefs = re.findall(r"^.*(sick|well) +█* +([\d.]+)%", said, re.MULTILINE)
    assert [name for name, _ in beliefs] == ["sick", "well", "sick", "well"]


def test_words_for_people(path):
    said = ask(path[0], "131\n\n")
    assert "1 feature asked, 12000 spent; the full panel costs 24000." in said
    assert "e+0" not in ask(path[0], "why\n131\nwhy\n\n")


def test_undo_after_the_decision(path):
    said = ask(path[0], "131\nundo\n171\n\n")
    assert re.findall(r"Decision: (\w+)", said) == ["well", "sick"]


def test_what_is_typed_wrong_is_told_in_words_of_the_terminal(path):
    said = ask(path[0], "abc\n?\n131\n\n")
    assert "'abc' is not a number; leave it empty if it came back empty, or write cannot" in said
    assert "None" not in said
    assert said.count("cannot: it cannot be had") == 2
    assert "undo()" not in ask(path[0], "1e9\n\n")


def test_a_missing_value_may_be_spelt_as_in_the_training_table(path, tmp_path):
    clf = etana.load(path[0])
    clf.describe(clf.dictionary_.with_missing(["-9"]))
    etana.save(clf, tmp_path / "spelt.etana")
    assert ask(tmp_path / "spelt.etana", "-9\nquit\n") == ask(path[0], "skip\nquit\n")
