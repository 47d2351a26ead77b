"""The command line and files as people have them: nothing that is read is replaced, and other kinds of CSV are read."""

import csv
import gzip
import io
import os
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.errors import InputError
from etana.tablefile import check_output, list_parts, read_blocks, read_columns


def run(*arguments, code=0):
    # A fit is by the quickest method unless a test says otherwise.
    fast = ("--method", "etana") if arguments[:1] == ("fit",) and "--method" not in arguments else ()
    done = CliRunner().invoke(app, [*map(str, arguments), *fast])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


def table(seed=0, n=60):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n).round(3)
    return pd.DataFrame({"a": a, "b": rng.normal(size=n).round(3), "y": np.where(a > 0, "yes", "no")})


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table().to_csv(folder / "t.csv", index=False)
    (folder / "prices.csv").write_text("feature,cost\na,100.5\nb,16.67\n")
    (folder / "mistakes.csv").write_text("true,no,yes\nno,0,4000\nyes,4000,0\n")
    run("fit", folder / "t.csv", "--target", "y", "-o", folder / "m.etana")
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    """A fresh copy, in which anything may be replaced."""
    for file in fitted.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


# --- nothing that is read is replaced ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "t.csv", "--target", "y", "-o", "t.csv"],
        ["fit", "t.csv", "--target", "y", "--costs", "prices.csv", "-o", "prices.csv"],
        ["fit", "t.csv", "--target", "y", "--mistakes", "mistakes.csv", "-o", "mistakes.csv"],
        ["fit", "t.csv", "--target", "y", "-o", "linked.csv"],
        ["fit", "t.csv", "--target", "y", "-o", "hard.csv"],
        ["fit", "linked.csv", "--target", "y", "-o", "t.csv"],
        ["fit", "t.csv", "--target", "y", "-o", "sub/../t.csv"],
        ["fit", "parts", "--target", "y", "-o", "parts/1.csv"],
        ["classify", "m.etana", "t.csv", "-o", "t.csv"],
        ["classify", "m.etana", "t.csv", "-o", "m.etana"],
        ["classify", "m.etana", "hard.csv", "-o", "linked.csv"],
        ["report", "m.etana", "t.csv", "-o", "t.csv"],
        ["export", "m.json", "-o", "m.json"],
        ["export", "m.etana", "--rows", "rows.py", "-o", "rows.py"],
        ["select", "t.csv", "--target", "y", "-o", "t.csv"],
        ["compare", "t.csv", "--target", "y", "-o", "t.csv"],
        ["compare", "t.csv", "--target", "y", "--csv", "hard.csv"],
    ],
)
def test_an_output_that_is_an_input_is_refused(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    (folder / "linked.csv").symlink_to("t.csv")
    os.link("t.csv", "hard.csv")
    (folder / "sub").mkdir()
    (folder / "parts").mkdir()
    table().to_csv(folder / "parts" / "1.csv", index=False)
    for name, copy in (("m.etana", "m.json"), ("t.csv", "rows.py")):
        (folder / copy).write_bytes((folder / name).read_bytes())
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    said = run(*command, code=3).stderr
    assert "would be replaced" in said
    assert said.count("\n") == 1
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_two_outputs_are_two_files(folder):
    said = run("compare", folder / "t.csv", "--target", "y", "-o", folder / "o", "--csv", folder / "o", code=3).stderr
    assert "name two files" in said


def test_where_case_does_not_count_names_of_one_file_are_one(folder, monkeypatch):
    """Such a file system gives both names the same number, which is what is compared."""
    lower, real = str(folder / "t.csv"), os.stat
    monkeypatch.setattr(os, "stat", lambda path, **more: real(lower if str(path).lower() == lower else path, **more))
    with pytest.raises(InputError, match="would be replaced"):
        check_output(str(folder / "T.CSV"), lower)


def test_other_files_may_be_replaced(folder):
    (folder / "old.csv").write_text("old")
    run("classify", folder / "m.etana", folder / "t.csv", "-o", folder / "old.csv")
    assert (folder / "old.csv").read_text().startswith("label,")
    check_output("-", "-")
    check_output(None, lower := str(folder / "t.csv"), lower)


# --- version, extras, money --------------------------------------------------------------------------------


def test_the_version():
    assert run("--version").stdout == f"etana {etana.__version__}\n"


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("uvicorn", ["serve", "m.etana"], "serve"),
        ("fastapi", ["serve", "m.etana"], "serve"),
        ("matplotlib", ["report", "m.etana", "t.csv"], "plot"),
        ("matplotlib", ["compare", "t.csv", "--target", "y", "-o", "page.html"], "plot"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(fitted, monkeypatch, package, command, extra):
    for name in [m for m in sys.modules if m.startswith("etana.service")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(fitted)
    said = run(*command, code=3).stderr
    assert f"pip install 'etana[{extra}]'" in said
    assert package in said
    assert said.count("\n") == 1
    assert not (fitted / "page.html").exists()


def test_money_has_no_dust(folder):
    out = folder / "priced.etana"
    options = ["--costs", folder / "prices.csv", "--mistakes", folder / "mistakes.csv", "-o", out]
    run("fit", folder / "t.csv", "--target", "y", *options)
    costs = {row["cost"] for row in csv.DictReader(io.StringIO(run("classify", out, folder / "t.csv").stdout))}
    assert costs <= {"0", "100.5", "16.67", "117.17"}
    assert costs & {"100.5", "117.17"}


# --- other kinds of CSV ------------------------------------------------------------------------------------


def written(folder, kind):
    frame = table(1)
    name = folder / ("n.csv.gz" if kind == "gz" else "n.csv")
    text = frame.to_csv(
        index=False,
        sep={"semicolon": ";", "decimal comma": ";", "tab": "\t", "excel": "\t", "bar": "|"}.get(kind, ","),
        decimal="," if kind == "decimal comma" else ".",
    )
    encoding = {"excel": "utf-16", "mark": "utf-8-sig"}.get(kind, "utf-8")
    content = text.encode(encoding)
    name.write_bytes(gzip.compress(content, mtime=0) if kind == "gz" else content)
    return name


KINDS = ("comma", "semicolon", "decimal comma", "tab", "bar", "gz", "excel", "mark")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_model_and_labels(folder, kind):
    data = written(folder, kind)
    run("fit", data, "--target", "y", "-o", folder / "k.etana")
    expected = etana.ETANAClassifier(random_state=0).fit(table(1)[["a", "b"]], table(1)["y"])
    assert etana.load(folder / "k.etana").expected_cost_ == expected.expected_cost_
    rows = list(csv.DictReader(io.StringIO(run("classify", folder / "k.etana", data).stdout)))
    assert [row["label"] for row in rows] == expected.predict(table(1)[["a", "b"]]).tolist()


def test_text_with_commas_stays_text_where_semicolons_separate(tmp_path):
    (tmp_path / "t.csv").write_text('a;b\n1,5;"x, y"\n2;1,2,3\n')
    assert read_columns(str(tmp_path / "t.csv")).columns == {"a": ["1.5", "2"], "b": ["x, y", "1,2,3"]}


def test_a_comma_that_splits_the_header_wins(tmp_path):
    (tmp_path / "t.csv").write_text("a,b;c;d\n1,2\n")
    assert list(read_columns(str(tmp_path / "t.csv")).columns) == ["a", "b;c;d"]


@pytest.mark.parametrize("before", ["\n\r\n  \n", ",,\n\n,,\n", "\ufeff\n\n\n"])
def test_blank_lines_before_the_header_are_passed_over(tmp_path, before):
    (tmp_path / "t.csv").write_text(before + "a,b,c\n1,2,3\n", encoding="utf-8")
    block = read_columns(str(tmp_path / "t.csv"))
    assert block.columns == {"a": ["1"], "b": ["2"], "c": ["3"]}
    assert block.lines == [5]
    (tmp_path / "t.csv").write_text(before, encoding="utf-8")
    with pytest.raises(InputError, match="is empty; the first line must hold the column names"):
        read_columns(str(tmp_path / "t.csv"))


def test_columns_without_a_name_are_named_by_their_place(tmp_path):
    """A frame that was written with its index, and a sheet with an empty column at its end."""
    frame = table()
    frame.to_csv(tmp_path / "t.csv", lineterminator=",\n")
    assert list(read_columns(str(tmp_path / "t.csv")).columns) == ["Unnamed: 0", "a", "b", "y", "Unnamed: 4"]
    done = run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.etana")
    assert "left out as numbers of rows: 'Unnamed: 0'" in done.stderr
    assert etana.load(tmp_path / "m.etana").model_.columns.tolist() == [1]


def test_what_stands_before_the_header_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("# heart, 2021\na,b,c\n1,2,3\n")
    with pytest.raises(InputError, match="line 2: 3 cells, but the header has 2; remove what stands before the line"):
        read_columns(str(tmp_path / "t.csv"))


def test_one_column_needs_no_separator(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert read_columns(str(tmp_path / "t.csv")).columns == {"a": ["1", "2"]}


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"PK\x03\x04rest", "t.csv", "is a spreadsheet or a zip archive; export the table as CSV"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "t.csv", "is compressed; unpack it"),
        (gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-20], "t.csv.gz", "damaged or cut short"),
        (b"a,b\n1,2\n", "t.csv.gz", "cannot be unpacked"),
        (b"PAR1 and more", "t.csv", "is a Parquet file"),
        ("a,b\n1,2\n".encode("utf-16-le"), "t.csv", "holds zero bytes"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "t.csv", "is not the UTF-16 that its first bytes announce"),
        ("a,b\n1,\xe4\n".encode("latin-1"), "t.csv", "iconv -f WINDOWS-1252 -t UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_named_with_its_cure(tmp_path, content, name, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_blocks(str(tmp_path / name)))


def test_a_folder_of_compressed_parts(tmp_path):
    (tmp_path / "parts").mkdir()
    frame = table(2, 90)
    for k in range(3):
        frame[30 * k : 30 * (k + 1)].to_csv(tmp_path / "parts" / f"{k}.csv.gz", index=False)
    assert len(list_parts(str(tmp_path / "parts"))) == 3
    run("fit", tmp_path / "parts", "--target", "y", "-o", tmp_path / "p.etana")
    frame.to_csv(tmp_path / "whole.csv", index=False)
    run("fit", tmp_path / "whole.csv", "--target", "y", "-o", tmp_path / "w.etana")
    parts, whole = etana.load(tmp_path / "p.etana"), etana.load(tmp_path / "w.etana")
    assert (parts.counts_.cells == whole.counts_.cells).all()


# --- line numbers ------------------------------------------------------------------------------------------


def test_lines_count_blank_and_quoted_ones(tmp_path):
    text = 'a,b\n\n1,"x\ny\nz"\n\n\n2,w\n'
    (tmp_path / "t.csv").write_text(text)
    assert read_columns(str(tmp_path / "t.csv")).lines == [3, 8]
    blocks = list(read_blocks(str(tmp_path / "t.csv"), rows=1))
    assert [list(block.lines) for block in blocks] == [[3], [8]]


@pytest.mark.parametrize(
    ("command", "rows", "message"),
    [
        (["classify", "m.etana"], '\n1,"2\n"\n\nx,2\n', "line 6: 'x' in column 'a' is not a number"),
        (["fit", "--target", "b", "-o", "new.etana"], "\n1,2\n\n\n1,\n", "line 6: the label in column 'b' is missing"),
        (["fit", "--target", "b", "-o", "new.etana"], '"1\n\n",2\n\n1,2,3\n', "line 6: 3 cells, but the header has 2"),
        (["select", "--target", "b"], "\n1,0\n\n,1\n", "line 5: column 'a' has a missing value"),
    ],
)
def test_messages_name_the_line_of_an_editor(folder, monkeypatch, command, rows, message):
    monkeypatch.chdir(folder)
    (folder / "bad.csv").write_text("a,b\n" + rows)
    assert message in run(*command, "bad.csv", code=3).stderr
