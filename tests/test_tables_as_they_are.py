"""Tables as people have them: ids, dates, remarks, words among numbers, one class; what is odd is named."""

import csv
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.commands.worth import worth_asking
from etana.errors import InputError, TableWarning
from etana.learning.odd_text import find_dates, find_free_text
from etana.table import read_table
from etana.tablefile import Block, Spellings, read_columns, to_table


def run(*arguments, code=0):
    fast = ("--method", "etana") if arguments[:1] == ("fit",) and "--method" not in arguments else ()
    done = CliRunner().invoke(app, [*map(str, arguments), *fast])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


def warned(done):
    """What was warned of, a line each."""
    return [line for line in done.stderr.splitlines() if line.startswith("etana: warning: ")]


def clinic(n=120, seed=0):
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "age": (50 + 15 * sick + 8 * rng.normal(size=n)).round(0),
            "bp": (120 + 40 * sick + 10 * rng.normal(size=n)).round(0),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "outcome": np.where(sick == 1, "sick", "well"),
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model of two columns that are asked for, one of them text, and one that is too dear."""
    folder = tmp_path_factory.mktemp("clinic")
    frame = clinic()
    frame["smokes"] = np.where((frame["outcome"] == "sick") == (np.arange(len(frame)) % 4 > 0), "yes", "no")
    frame["bp"] += (25 * np.random.default_rng(1).normal(size=len(frame))).round(0)
    frame[["bp", "smokes", "age", "outcome"]].to_csv(folder / "t.csv", index=False)
    (folder / "costs.csv").write_text("feature,cost\nbp,0.05\nsmokes,0\nage,5\n")
    run("fit", folder / "t.csv", "--target", "outcome", "--costs", folder / "costs.csv", "-o", folder / "m.etana")
    return folder


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- columns that are no evidence -------------------------------------------------------------------------------


def messy(folder):
    frame = clinic()
    n = len(frame)
    frame["patient_id"] = np.arange(n) + 1000
    frame["visit"] = pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d")
    frame["remark"] = [f"case {i} came in with pain {i * 7 % 11} times" for i in range(n)]
    frame.to_csv(folder / "messy.csv", index=False)
    return folder / "messy.csv"


def test_ids_dates_and_free_text_are_named(tmp_path):
    lines = warned(run("fit", messy(tmp_path), "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert len(lines) == 3
    assert "'visit': dates" in lines[0]
    assert "'remark': text that is different in most rows" in lines[1]
    assert "numbers of rows: 'patient_id'" in lines[2]


@pytest.mark.parametrize("option", ["--ignore", "--keep"])
def test_ignored_columns_are_no_part_of_the_model(tmp_path, option):
    given = [word for name in ("patient_id", "visit", "remark") for word in (option, name)]
    done = run("fit", messy(tmp_path), "--target", "outcome", "-o", tmp_path / "m.etana", *given)
    assert not warned(done)
    assert etana.load(tmp_path / "m.etana").model_.names == ["age", "bp", "sex"]


def test_prices_and_words_of_ignored_columns_are_passed_over(tmp_path):
    (tmp_path / "costs.csv").write_text(
        "feature,cost,group,discounted\nage,.01,,\nbp,.02,x,.01\nsex,.01,,\npatient_id,9,x,9\n"
    )
    (tmp_path / "words.csv").write_text("name,unit\nbp,mmHg\npatient_id,none\n")
    ignore = ("--ignore", "patient_id", "--ignore", "visit", "--ignore", "remark")
    model = ("--costs", tmp_path / "costs.csv", "--dictionary", tmp_path / "words.csv", "-o", tmp_path / "m.etana")
    run("fit", messy(tmp_path), "--target", "outcome", *model, *ignore)
    assert etana.load(tmp_path / "m.etana").dictionary_["bp"].unit == "mmHg"


@pytest.mark.parametrize(
    ("ignored", "message"),
    [
        ("nix", "--ignore or --keep nix: .* has no such column"),
        ("age,bp", "no such column; name each by an option of its own: --ignore age --ignore bp; its columns"),
        ("outcome", "--ignore or --keep outcome is the column with the class"),
    ],
)
def test_what_cannot_be_ignored(tmp_path, ignored, message):
    done = run("fit", messy(tmp_path), "--target", "outcome", "-o", tmp_path / "m", "--ignore", ignored, code=3)
    assert pd.Series([done.stderr]).str.contains(message).all()


def test_ignored_columns_of_parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = pd.read_csv(messy(tmp_path))
    for part in (0, 1):
        frame[part::2].to_csv(folder / f"{part}.csv", index=False)
    ignore = ("--ignore", "patient_id", "--ignore", "visit", "--ignore", "remark")
    run("fit", folder, "--target", "outcome", "-o", tmp_path / "m.etana", "--missing-values", "age=50", *ignore)
    clf = etana.load(tmp_path / "m.etana")
    assert clf.model_.names == ["age", "bp", "sex"]
    # Of the column in which 50 is missing, that many rows are not counted.
    counted = [clf.counts_.cells[a:b].sum() for a, b in zip(clf.binner_.cell_offsets, clf.binner_.cell_offsets[1:])]
    assert counted[0] == len(frame) - (frame["age"] == 50).sum() < counted[1] == len(frame)


@pytest.mark.parametrize("n_parts", [1, 3])
def test_parts_are_warned_of_as_one_file_is(tmp_path, n_parts):
    """Ids, dates, free text, words among numbers, one class: the same lines, but for where a cell stands."""
    whole, folder = messy(tmp_path), tmp_path / "parts"
    folder.mkdir()
    frame = pd.read_csv(whole, dtype=str)
    frame.loc[[3, 80], "age"] = ["n/a", "-"]
    frame.loc[[5, 90], "bp"] = [">200", "12O"]
    frame.to_csv(whole, index=False)
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_csv(folder / f"{part}.csv", index=False)
    lines = [
        warned(run("fit", data, "--target", "outcome", "-o", tmp_path / f"{data.name}.etana", "--temperature", 1))
        for data in (whole, folder)
    ]
    assert len(lines[0]) == 5
    assert {"'patient_id'", "'visit'", "'remark'", "'bp'", "'age'"} <= set(re.findall(r"'\w+'", " ".join(lines[0])))

    def plain(line):
        return re.sub(r" in line \d+( of \d\.csv)?|/\S+:", "", line)

    assert sorted(map(plain, lines[0])) == sorted(map(plain, lines[1]))
    last, line = n_parts - 1, 90 - (n_parts - 1) * len(frame) // n_parts + 2
    assert any(f"'12O' in line {line} of {last}.csv" in line_ for line_ in lines[1])
    one, other = (etana.load(tmp_path / f"{data.name}.etana") for data in (whole, folder))
    assert "patient_id" in one.feature_names_in_[[k for k in range(6) if k not in one.model_.columns]]
    assert set(one.model_.columns) == set(other.model_.columns)


def test_labels_of_parts_are_warned_of(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in (0, 1):
        clinic(40, part).assign(outcome="sick").to_csv(folder / f"{part}.csv", index=False)
    [line, *_] = warned(run("fit", folder, "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert "'outcome' is 'sick' in every row" in line
    for part in (0, 1):
        frame = clinic(40, part).assign(outcome=np.arange(40) + 0.5)
        frame.to_csv(folder / f"{part}.csv", index=False)
    lines = warned(run("fit", folder, "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert any("'outcome' holds 40 different numbers in 80 rows" in line for line in lines)


def test_who_says_so_keeps_numbers_of_rows(tmp_path):
    frame = clinic().sort_values("outcome")
    frame["id"] = range(len(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana", "--identifiers", "none")
    assert not warned(done)
    model = etana.load(tmp_path / "m.etana").model_
    assert "id" in [model.name_of(k) for k in model.columns]


def test_kept_columns_stand_first_as_they_are(fitted, tmp_path):
    frame = pd.read_csv(fitted / "t.csv").head(5)
    frame.insert(0, "id", ["007", "008", "a;b", "", "é"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    run("classify", fitted / "m.etana", tmp_path / "new.csv", "--keep", "id", "--keep", "age", "-o", tmp_path / "o.csv")
    found = rows_of(tmp_path / "o.csv")
    assert [row["id"] for row in found] == ["007", "008", "a;b", "", "é"]
    assert list(found[0])[:3] == ["id", "age", "label"]
    plain = run("classify", fitted / "m.etana", tmp_path / "new.csv").stdout
    assert [row["label"] for row in found] == [row["label"] for row in csv.DictReader(plain.splitlines())]
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", "--keep", "nix", code=3)
    assert "has no column 'nix', which --keep names" in done.stderr


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["2020-01-31", "2021-02-28 12:30"], True), (["31.01.2020", "1.2.20"], True),
        (["01/31/2020", "2/3/2021"], True), (["3 Jan 2020", "Feb 7, 2021"], True),
        (["mild", "severe"], False), (["1-2", "3-4"], False), (["A1", "B2"], False),
    ],
)  # fmt: skip
def test_what_looks_like_a_date(cells, dates):
    frame = pd.DataFrame({"x": cells * 20})
    assert find_dates(read_table(frame)) == ([0] if dates else [])


def test_categories_are_no_free_text():
    frame = pd.DataFrame(
        {"few": ["a", "b"] * 30, "many": [f"w{i}" for i in range(60)], "some": [f"w{i // 3}" for i in range(60)]}
    )
    assert find_free_text(read_table(frame)) == [1]
    assert find_free_text(read_table(frame[:10])) == []


def test_a_data_frame_is_looked_at_too():
    frame = clinic()
    frame["visit"] = pd.date_range("2020-01-01", periods=len(frame)).strftime("%d/%m/%Y")
    with pytest.warns(TableWarning, match="'visit': dates"):
        etana.ETANAClassifier().fit(frame.drop(columns="outcome"), frame["outcome"])


def test_dates_in_parquet_are_named_before_any_fit(tmp_path, monkeypatch):
    frame = clinic()
    frame["visit"] = pd.date_range("2020-01-01", periods=len(frame))
    frame.to_parquet(tmp_path / "t.parquet")
    fit = etana.ETANAClassifier.fit
    monkeypatch.setattr(etana.ETANAClassifier, "fit", lambda *_: pytest.fail("a fit was begun"))
    done = run("fit", tmp_path / "t.parquet", "--target", "outcome", "-o", tmp_path / "m.etana", code=3)
    assert "column 'visit' holds '2020-01-01 00:00:00' of type datetime" in done.stderr
    assert "days since" in done.stderr
    assert "--ignore" in done.stderr
    monkeypatch.setattr(etana.ETANAClassifier, "fit", fit)
    run("fit", tmp_path / "t.parquet", "--target", "outcome", "-o", tmp_path / "m.etana", "--ignore", "visit")


# --- cells that are no values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["n/a", "N/A", "NULL", "#N/A", " NA ", "-", ".", "unknown", "#DIV/0!"])
def test_one_word_among_numbers_is_missing_and_named(tmp_path, word):
    frame = clinic().astype({"bp": object})
    frame.loc[7, "bp"] = word
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana")
    assert warned(done) == [f"etana: warning: taken as missing: 1 cell {word.strip()!r} of 'bp'"]
    model = etana.load(tmp_path / "m.etana").model_
    assert 1 not in model.levels
    assert 1 in model.columns


def test_words_among_words_are_categories():
    cells = {"a": ["-", "+", "unknown", "NA"], "b": ["none", "unknown", "none", ""], "c": ["1", "-", "unknown", "2"]}
    table = to_table(Block(cells, range(2, 6), True), ["a", "b", "c"], "t.csv")
    assert table.levels(0).tolist() == ["+", "-", "unknown"]
    assert table.levels(1).tolist() == ["none", "unknown"]
    assert table.categorical == [0, 1]
    assert np.isnan(table.block([2])[:, 0]).tolist() == [False, True, True, False]


def test_other_cells_among_numbers_are_counted_and_named(tmp_path):
    frame = clinic().astype({"bp": object})
    frame.loc[7, "bp"] = ">200"
    frame.loc[9, "bp"] = "12O"
    frame.to_csv(tmp_path / "t.csv", index=False)
    [line] = warned(run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert "'bp' holds 118 numbers, but 2 cells are none ('>200' in line 9, '12O' in line 11)" in line
    assert "--missing-values '>200'" in line
    cured = ("--missing-values", ">200", "--missing-values", "bp=12O")
    assert not warned(run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana", *cured))
    assert 1 not in etana.load(tmp_path / "m.etana").model_.levels


@pytest.mark.parametrize("cell", ["${:,}", "{:,}", "{}%", "{} €", "{},5"])
def test_numbers_in_other_dress_are_named(tmp_path, cell):
    frame = clinic()
    frame["income"] = [cell.format(v) for v in np.random.default_rng(2).integers(1000, 90000, len(frame))]
    frame["code"] = [f"{k % 7}a" for k in range(len(frame))]
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines = warned(run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana"))
    [line] = [line for line in lines if "written as" in line]
    assert f"'income' holds numbers that are written as {frame['income'][0]!r} (line 2)" in line
    assert "write plain numbers" in line


def test_spellings_of_ones_own():
    block = Block({"a": ["-9", "-9.0", "9", "x "], "b": [1.0, -9, None, "x"]}, range(4), True)
    assert Spellings(["-9", "x"]).blank(block).columns == {"a": [None, None, "9", None], "b": [1.0, None, None, None]}
    array = Block({"a": np.array([-9.0, 1.0])}, range(2), False)
    np.testing.assert_array_equal(Spellings(["-9"]).blank(array).columns["a"], [np.nan, 1.0])
    with pytest.raises(InputError, match=r"--missing-values nix=0: t\.csv has no column 'nix'"):
        Spellings(["nix=0"]).check(["a"], "t.csv")


def test_spellings_at_classification_and_comparison(fitted, tmp_path):
    frame = pd.read_csv(fitted / "t.csv").head(30)
    frame.loc[3, "bp"] = -999
    frame.to_csv(tmp_path / "new.csv", index=False)
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    assert any("outside of the training range" in line and "-999" in line for line in warned(done))
    spelt = ("--missing-values", "-999")
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", "-o", tmp_path / "o.csv", *spelt)
    assert not warned(done)
    frame["visit"] = "x"
    frame.to_csv(tmp_path / "new.csv", index=False)
    run("compare", tmp_path / "new.csv", "--target", "outcome", "--methods", "etana", "--folds", 2, "--repeats", 1,
        "--ignore", "visit", "--ignore", "smokes", *spelt)  # fmt: skip


def test_a_model_remembers_how_missing_values_were_spelt(tmp_path):
    """What was missing at the fit is missing for every command that reads a table; an option overrules it."""
    frame = clinic()
    frame.loc[::7, "bp"] = -9
    frame.to_csv(tmp_path / "t.csv", index=False)
    spelt = ("--missing-values", "bp=-9", "--missing-values", "outcome=-1", "--missing-values", "sex=-9")
    run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana", "--method", "etana", *spelt)
    clf = etana.load(tmp_path / "m.etana")
    assert clf.dictionary_.missing == ("bp=-9", "sex=-9")  # the target is no part of the model
    assert "missing in its table      bp=-9, sex=-9" in run("show", tmp_path / "m.etana").stdout
    other = clf.with_costs(feature_costs=0.02).describe({"bp": {"unit": "mmHg"}})
    assert other.dictionary_.missing == ("bp=-9", "sex=-9")
    assert clf.model_.training_range(1)[0] > 0

    def classified(*options):
        run("classify", tmp_path / "m.etana", tmp_path / "t.csv", "-o", tmp_path / "o.csv", *options)
        return (tmp_path / "o.csv").read_text()

    remembered = classified()
    assert remembered == classified(*spelt) != classified("--missing-values", "")
    frame.replace({"bp": {-9: None}}).to_csv(tmp_path / "t.csv", index=False)
    assert remembered == classified()
    # A column that a spelling names need not be in the table if the model never asks for it.
    frame.drop(columns="sex").to_csv(tmp_path / "t.csv", index=False)
    assert remembered == classified()
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("report", tmp_path / "m.etana", tmp_path / "t.csv", "-o", tmp_path / "r.html")
    run("report", tmp_path / "m.etana", tmp_path / "t.csv", "-o", tmp_path / "again.html", *spelt[:4])
    run("report", tmp_path / "m.etana", tmp_path / "t.csv", "-o", tmp_path / "other.html", "--missing-values", "")
    pages = [(tmp_path / name).read_text() for name in ("r.html", "again.html", "other.html")]
    pages = [re.sub(r"\d\d:\d\d UTC", "", page) for page in pages]
    assert pages[0] == pages[1] != pages[2]


def test_a_model_file_with_spellings_that_are_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="the spellings of a missing value are 'NA'"):
        etana.Dictionary({}, missing="NA")
    with pytest.raises(InputError, match=r"the spellings of a missing value are \[9\]"):
        etana.Dictionary().with_missing([9])


# --- what a model was not made for -------------------------------------------------------------------------------


def test_unknown_categories_and_values_out_of_range_are_counted(fitted, tmp_path):
    frame = pd.read_csv(fitted / "t.csv").astype({"bp": object})
    frame.loc[[2, 4], "smokes"] = ["sometimes", "maybe"]
    frame.loc[5, "bp"] = 1400
    frame.loc[6, "bp"] = "unknown"
    frame.to_csv(tmp_path / "new.csv", index=False)
    lines = warned(run("classify", fitted / "m.etana", tmp_path / "new.csv", "-o", tmp_path / "o.csv"))
    n = len(frame)
    asked = sum("bp" in row["features"].split(";") for row in rows_of(tmp_path / "o.csv"))
    low, high = pd.read_csv(fitted / "t.csv")["bp"].agg(["min", "max"])
    assert lines == [
        f"etana: warning: 1 of {asked} values of 'bp' outside of the training range, {low:g} to {high:g}: 1400; check "
        "the unit",
        f"etana: warning: 1 of {asked} values of 'bp' taken as missing ('unknown')",
        f"etana: warning: 2 of {n} values of 'smokes' not seen in training ('sometimes', 'maybe'), so no evidence",
    ]  # fmt: skip
    assert not warned(run("classify", fitted / "m.etana", fitted / "t.csv", "-o", tmp_path / "o.csv"))


def test_columns_that_no_row_is_asked_need_not_be_there(fitted, tmp_path):
    whole = pd.read_csv(fitted / "t.csv")
    whole.drop(columns=["age", "outcome"]).to_csv(tmp_path / "new.csv", index=False)
    run("classify", fitted / "m.etana", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    run("classify", fitted / "m.etana", fitted / "t.csv", "-o", tmp_path / "whole.csv")
    assert (tmp_path / "o.csv").read_text() == (tmp_path / "whole.csv").read_text()
    # A budget may turn to other features than the plain policy.
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", "--max-cost", 1, code=3)
    assert "has no column 'age'" in done.stderr


def test_a_row_that_asks_for_an_absent_column_after_all_is_refused(fitted, tmp_path, monkeypatch):
    pd.read_csv(fitted / "t.csv").drop(columns="bp").to_csv(tmp_path / "new.csv", index=False)
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", code=3)
    assert "has no column 'bp', which the model can ask for" in done.stderr
    monkeypatch.setattr("etana.commands.model_table._idle", lambda model: {"bp"})
    done = run("classify", fitted / "m.etana", tmp_path / "new.csv", "-o", tmp_path / "o.csv", code=3)
    assert "'bp' is asked for, but" in done.stderr
    assert "line " in done.stderr
    assert not (tmp_path / "o.csv").exists()


# --- prices and labels -------------------------------------------------------------------------------------------


def test_when_nothing_pays_it_says_what_a_mistake_would_have_to_cost(tmp_path):
    clinic().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\nage,4\nbp,7\nsex,1\n")
    fit = (
        "fit",
        tmp_path / "t.csv",
        "--target",
        "outcome",
        "--costs",
        tmp_path / "costs.csv",
        "-o",
        tmp_path / "m.etana",
    )
    [line] = warned(run(*fit))
    assert "nothing is worth asking at these prices" in line
    assert "A mistake costs 1;" in line
    enough = line.split("give --mistakes ")[1].split()[0]
    run(*fit, "--mistakes", enough)
    assert etana.load(tmp_path / "m.etana").expected_n_features_ > 0
    run(*fit, "--mistakes", float(enough) / 1.2)
    assert etana.load(tmp_path / "m.etana").expected_n_features_ == 0


def test_how_much_dearer_mistakes_would_have_to_be():
    frame = clinic()
    clf = etana.ETANAClassifier(feature_costs=7.0).fit(frame[["bp"]], frame["outcome"])
    # The one question pays when the errors that it spares cost more than it.
    left = clf.with_costs(feature_costs=0.0).model_.expected_cost
    assert worth_asking(clf) == pytest.approx(7.0 / (clf.model_.priors.min() - left), rel=0.05)
    noise = np.random.default_rng(0).normal(size=(len(frame), 1))
    assert (
        worth_asking(etana.ETANAClassifier(feature_costs=7.0, binning="uniform").fit(noise * 0, frame["outcome"]))
        is None
    )


def test_a_classifier_without_columns_says_where_questions_could_begin_to_pay(tmp_path):
    frame = clinic()
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "outcome", "--costs", 7, "--method", "sequential")
    [line] = warned(run(*fit, "-o", tmp_path / "m.etana"))
    least = 7 / (frame["outcome"].value_counts(normalize=True).min())
    assert f"it costs more than {np.ceil(least):g})" in line
    assert "fit again with dearer --mistakes" in line


def test_one_class_and_a_measured_target_are_warned_of(tmp_path):
    frame = clinic()
    frame.assign(outcome="sick").to_csv(tmp_path / "one.csv", index=False)
    [line] = warned(run("fit", tmp_path / "one.csv", "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert "'outcome' is 'sick' in every row" in line
    frame.assign(outcome=np.arange(len(frame)) % 60 + 0.5).to_csv(tmp_path / "many.csv", index=False)
    lines = warned(run("fit", tmp_path / "many.csv", "--target", "outcome", "-o", tmp_path / "m.etana"))
    assert "'outcome' holds 60 different numbers in 120 rows" in lines[0]
    assert not any("unique classes" in line for line in lines)


def test_classes_that_are_numbers_are_no_measurements(tmp_path):
    frame = clinic()
    frame.assign(outcome=(frame["outcome"] == "sick").astype(int)).to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not warned(run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana"))


def test_missing_labels_are_missing_however_they_are_spelt(tmp_path):
    frame = clinic()
    frame.loc[3, "outcome"] = "n/a"
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--target", "outcome", "-o", tmp_path / "m.etana", code=3)
    assert "line 5: the label in column 'outcome' is missing" in done.stderr
    assert read_columns(str(tmp_path / "t.csv")).n_rows == len(frame)
