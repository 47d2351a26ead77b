"""Descriptions of features: what can be said, where it is kept, and what it never changes."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.errors import InputError, ModelFileError
from etana.modelfile import container, load_model

WORDS = {
    "alcohol": {"description": "Alcohol by volume", "unit": "%", "lowest": 5, "highest": 20},
    "hue": {"unit": "hue", "choices": {"1": "pale", 2.0: "deep"}},
}


@pytest.fixture(scope="module")
def data():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def clf(data):
    return etana.ETANAClassifier(0.02).fit(*data)


def mixed():
    X = pd.DataFrame({"age": [20.0, 30, 60, 70, np.nan], "sex": ["f", "m", "f", "m", "f"]})
    return X, np.array([0, 0, 1, 1, 1])


def test_every_kind_of_classifier_keeps_it_through_files_and_new_prices(data, tmp_path):
    X, y = data
    kinds = etana.ETANAClassifier, etana.AdaptiveClassifier, etana.SequentialClassifier
    for clf in (kind(feature_costs=0.02) for kind in kinds):
        path = tmp_path / "model.etana"
        etana.save(clf.fit(X, y).describe(WORDS), path)
        for known in (etana.load(path).model_, load_model(path), etana.load(path).with_costs(0.05).model_):
            assert known.dictionary == clf.dictionary_
            assert known.description_of(0).range_words() == "5 to 20 %"
            assert known.description_of(10).words_of(2) == "deep"
            assert known.training_range(0) == (X["alcohol"].min(), X["alcohol"].max())


def test_it_changes_nothing_that_is_decided(data, tmp_path):
    X, y = data
    plain = etana.ETANAClassifier(0.02).fit(X, y)
    etana.save(etana.ETANAClassifier(0.02).fit(X, y).describe(WORDS), tmp_path / "m.etana")
    before, after = plain.acquire(X), load_model(tmp_path / "m.etana").acquire(X)
    np.testing.assert_array_equal(before.posteriors, after.posteriors)
    np.testing.assert_array_equal(before.costs, after.costs)


def test_a_new_fit_forgets_it_and_more_rows_do_not(data):
    X, y = data
    clf = etana.ETANAClassifier(0.02).fit(X[::2], y[::2]).describe(WORDS)
    clf.partial_fit(X[1::2], y[1::2])
    assert clf.dictionary_["alcohol"].unit == "%"
    assert clf.model_.training_range(0) == (X["alcohol"].min(), X["alcohol"].max())
    assert len(clf.fit(X, y).dictionary_) == 0


def test_a_file_without_it_loads(clf, tmp_path):
    path = tmp_path / "m.etana"
    etana.save(clf, path)
    metadata, arrays = container.read(str(path), lambda name: True)
    assert "dictionary" not in json.loads(metadata["content"])
    arrays = {name: array for name, array in arrays.items() if not name.endswith("seen")}  # as files were before
    kept = {name: metadata[name] for name in ("package_version", "estimator", "content")}
    container.write(str(path), kept, arrays)
    model = load_model(path)
    assert len(model.dictionary) == 0
    assert model.training_range(0) is None
    assert model.doubt(0, 1e9) is None


@pytest.mark.parametrize("dictionary", [{"alcool": {}}, {"hue": {"unit": 3}}, [], {"hue": {"choices": ["red"]}}])
def test_a_file_with_a_wrong_one_is_refused(clf, tmp_path, dictionary):
    path = tmp_path / "m.etana"
    etana.save(clf, path)
    metadata, arrays = container.read(str(path), lambda name: True)
    content = json.dumps(json.loads(metadata["content"]) | {"dictionary": dictionary})
    kept = {name: metadata[name] for name in ("package_version", "estimator")} | {"content": content}
    container.write(str(path), kept, arrays)
    with pytest.raises(ModelFileError, match="holds no valid model"):
        load_model(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"alcohl": {}}, "did you mean 'alcohol'"),
        ({"xyz": {}}, "its features are"),
        ({"hue": {"units": "%"}}, "has 'units'; it may have description, unit, lowest, highest, choices"),
        ({"hue": "colour"}, "must be a mapping"),
        ({"hue": {"lowest": 3, "highest": 2}}, "exchange them"),
        ({"hue": {"lowest": "low"}}, "'low'; it must be a finite number"),
        ({"hue": {"highest": np.inf}}, "must be a finite number"),
        ({"hue": {"highest": True}}, "must be a finite number"),
        ({"hue": {"unit": "x" * 1001}}, "at most 1000 characters"),
        ({"hue": {"choices": ["red"]}}, "the feature takes numbers"),
        ({"hue": {"choices": [1, 1.0]}}, "name each of them once"),
        ({"hue": {"choices": "red"}}, "must be at most 1000 values"),
        ([1], "must be a mapping from feature names"),
    ],
)
def test_what_cannot_be_said_is_refused_and_changes_nothing(clf, words, said):
    before = clf.dictionary_
    with pytest.raises(InputError, match=said):
        clf.describe(words)
    assert clf.dictionary_ == before


def test_choices_of_labels_are_those_of_training():
    clf = etana.ETANAClassifier(0.01).fit(*mixed())
    assert clf.describe({"sex": {"choices": {"f": "female"}}}).dictionary_["sex"].words_of("f") == "female"
    with pytest.raises(InputError, match="'x', which training has not seen; it has seen"):
        clf.describe({"sex": {"choices": ["x"]}})


def test_a_doubt_names_the_plausible_range_or_that_of_training():
    clf = etana.ETANAClassifier(0.01).fit(*mixed())
    model = clf.model_
    assert model.doubt(0, 630.0) == "'age' is 630, outside of its training range, 20 to 70"
    assert model.doubt(0, 45) is model.doubt(1, "f") is model.doubt(0, float("nan")) is model.doubt(0, None) is None
    model = clf.describe({"age": {"unit": "years", "lowest": 0, "highest": 120}}).model_
    assert model.doubt(0, 630.0) == "'age' is 630, outside of its plausible range, 0 to 120 years"
    assert model.doubt(0, 99.0) is None  # above training, but plausible
    open_ended = clf.describe({"age": {"lowest": 0}}).model_
    assert open_ended.doubt(0, -1).endswith("at least 0")
    assert open_ended.doubt(0, 1e6) is None


def test_rows_of_a_frame_make_one(data):
    frame = pd.DataFrame({"name": ["alcohol", "hue"], "unit": ["%", None], "lowest": [5, np.nan]})
    words = etana.Dictionary.of_rows(frame.to_dict("records"))
    assert words.state() == {"alcohol": {"unit": "%", "lowest": 5.0}, "hue": {}}
    with pytest.raises(InputError, match="twice"):
        etana.Dictionary.of_rows([{"name": "a"}, {"name": "a "}])
    with pytest.raises(InputError, match="row 1 of the dictionary has no name"):
        etana.Dictionary.of_rows([{"unit": "%"}])


FILE = "name,description,unit,lowest,highest,choices\nage,Age at admission,years,0,120,\nsex,,,,,f=female | m=male\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = mixed()
    X.assign(outcome=y).to_csv("patients.csv", index=False)
    (tmp_path / "features.csv").write_text(FILE)
    return tmp_path


def run(*arguments, text=None):
    return CliRunner().invoke(app, [*arguments], input=text)


def test_the_command_line_takes_a_file(folder):
    done = run("fit", "patients.csv", "--target", "outcome", "--dictionary", "features.csv", "--costs", "0.001")
    assert done.exit_code == 0, done.output
    words = load_model("model.etana").dictionary
    assert words.state() == {
        "age": {"description": "Age at admission", "unit": "years", "lowest": 0.0, "highest": 120.0},
        "sex": {"choices": [["f", "female"], ["m", "male"]]},
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("feature,unit\nage,years\n", "has a column 'feature'; it may have name, description"),
        ("unit\nyears\n", "has no column 'name'"),
        ("name,lowest\nage,low\n", "'low'; it must be a finite number"),
        ("name,unit\nage,years\nage,y\n", "describes 'age' twice"),
        ("name,unit\nagee,years\n", "did you mean 'age'"),
        ("name,unit\n,years\n", "row 1 of the dictionary has no name"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_before_the_fit(folder, content, said):
    (folder / "features.csv").write_text(content)
    done = run("fit", "patients.csv", "--target", "outcome", "--dictionary", "features.csv")
    assert done.exit_code == 3
    assert said in done.stderr
    assert not (folder / "model.etana").exists()


def test_the_file_is_not_overwritten(folder):
    done = run("fit", "patients.csv", "--target", "outcome", "--dictionary", "features.csv", "-o", "features.csv")
    assert done.exit_code == 3
    assert (folder / "features.csv").read_text() == FILE


def test_ask_shows_it_and_warns_of_an_implausible_value(folder):
    run("fit", "patients.csv", "--target", "outcome", "--dictionary", "features.csv", "--costs", "0.001")
    said = " ".join(run("ask", "model.etana", text="630\nundo\n63\n").stdout.split())
    assert "age (price 0.001), Age at admission, plausible: 0 to 120 years:" in said
    assert "'age' is 630, outside of its plausible range, 0 to 120 years" in said
    assert "Decision: 1" in said


def test_ask_warns_of_a_value_beyond_training_and_takes_it(folder):
    run("fit", "patients.csv", "--target", "outcome", "--costs", "0.001")
    said = " ".join(run("ask", "model.etana", text="630\n").stdout.split())
    assert "outside of its training range, 20 to 70" in said
    assert "Decision: 1" in said
