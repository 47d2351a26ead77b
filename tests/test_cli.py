"""The command line, through the installed program: answers, errors, exit codes, nothing half written."""

import contextlib
import csv
import io
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from typer.testing import CliRunner

import etana
from etana.cli import app
from reference import ROOT

ETANA = [sys.executable, "-m", "etana.cli"]


def by_the_paper(arguments):
    """A fit is by the quickest method unless a test says otherwise."""
    fast = ("--method", "etana") if arguments[:1] == ("fit",) and "--method" not in arguments else ()
    return [*map(str, arguments), *fast]


def run(*arguments, cwd=".", text=None, code=0):
    """The command in this process: starting Python and importing everything anew takes longer than most commands."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(app, by_the_paper(arguments), input=text)
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done


def run_alone(*arguments, cwd=None, text=None, code=0):
    """The command in a process of its own, as in a shell."""
    done = subprocess.run(
        [*ETANA, *by_the_paper(arguments)], cwd=cwd, input=text, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A folder with training data, new data, and a model: numbers, text, missing cells."""
    folder = tmp_path_factory.mktemp("clinic")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["worst perimeter", "mean texture", "worst concave points", "mean area"]].copy()
    rng = np.random.default_rng(0)
    X["size"] = np.where(X["mean area"] > 700, "large", "small")
    X = X.mask(rng.random(X.shape) < 0.05)
    y = np.where(y == 1, "benign", "malignant")
    train = X[:300].assign(outcome=y[:300])
    train.to_csv(folder / "train.csv", index=False)
    X[300:].to_csv(folder / "new.csv", index=False)
    X[300:].assign(outcome=y[300:]).to_csv(folder / "labelled.csv", index=False)
    run_alone("fit", "train.csv", "--target", "outcome", "-o", "model.etana", "--costs", "0.02", cwd=folder)
    return folder, train, X[300:]


def test_every_door_leads_to_the_same_answers(tmp_path):
    """1,000 instances: predict, Case, the loaded model and the command line."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = pd.concat([X, X], ignore_index=True)[:1000].copy()
    X.loc[::9, "worst perimeter"] = np.nan
    y = pd.concat([y, y], ignore_index=True)[:1000]
    clf = etana.ETANAClassifier(feature_costs=0.005).fit(X[:500], y[:500])
    etana.save(clf, tmp_path / "m.etana")
    X.to_csv(tmp_path / "x.csv", index=False)
    walk = clf.acquire(X)
    loaded = etana.load(tmp_path / "m.etana")
    again = loaded.acquire(X)
    run("classify", "m.etana", "x.csv", "-o", "out.csv", cwd=tmp_path)
    out = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert len(out) == 1000
    assert (clf.predict(X) == walk.labels).all()
    for other in (again.labels, out["label"].to_numpy()):
        assert (other == walk.labels).all()
    assert (again.n_features == walk.n_features).all()
    assert (out["n_features"] == walk.n_features).all()
    assert again.costs.tobytes() == walk.costs.tobytes()
    assert out["cost"].to_numpy() == pytest.approx(walk.costs, rel=1e-11)  # money is written to 12 digits
    assert again.posteriors.tobytes() == walk.posteriors.tobytes()
    assert np.ascontiguousarray(out[["p_0", "p_1"]].to_numpy()).tobytes() == walk.posteriors.tobytes()
    for i in range(1000):
        asked = [X.columns[k] for k in walk.features(i)]
        assert out["features"][i] == ";".join(asked)
        case = loaded.ask(lambda name, i=i: X.loc[i, name])
        assert case.label == walk.labels[i]
        assert [a.feature for a in case.history] == asked
        assert case.cost == walk.costs[i]
        assert case.posterior.tobytes() == walk.posteriors[i].tobytes()


def test_show(clinic):
    folder, _, _ = clinic
    text = run("show", "model.etana", cwd=folder).stdout
    for piece in ("benign", "malignant", "worst perimeter", "0.02", "optimality gap", "expected cost"):
        assert piece in text


def test_show_has_no_dust_and_no_empty_table(tmp_path):
    X = pd.DataFrame({"a": [0.0, 1.0] * 20})
    y = np.array(["no", "yes"] * 20)
    clf = etana.ETANAClassifier(0.1).fit(X, y)
    object.__setattr__(clf.policy_, "lower_bound", clf.policy_.lower_bound * (1 - 1e-15))
    etana.save(clf, tmp_path / "m.etana")
    text = run("show", tmp_path / "m.etana").stdout
    assert "optimality gap            0 (0.00% of the expected cost)" in text
    assert "The feature that may be asked" in " ".join(text.split())
    assert "chance to be asked ┃\n" in text  # the last column
    etana.save(etana.ETANAClassifier(0.1).fit(X, np.full(40, "yes")), tmp_path / "one.etana")
    assert "No feature can be asked for" in run("show", tmp_path / "one.etana").stdout


def test_classify_streams_pipes_and_reorders(clinic, tmp_path):
    folder, _, new = clinic
    model = etana.load(folder / "model.etana")
    expected = model.acquire(new)
    piped = run_alone("classify", folder / "model.etana", "-", text=(folder / "new.csv").read_text())
    rows = list(csv.DictReader(piped.stdout.splitlines()))
    assert [r["label"] for r in rows] == expected.labels.tolist()
    shuffled = new[new.columns[::-1]].assign(extra="ignored")
    shuffled.to_csv(tmp_path / "s.csv", index=False)
    shuffled.to_parquet(tmp_path / "s.parquet")
    for name in ("s.csv", "s.parquet"):
        out = run("classify", folder / "model.etana", tmp_path / name, "--max-cost", "0.02").stdout
        rows = list(csv.DictReader(out.splitlines()))
        limited = model.acquire(new, max_cost=0.02)
        assert [r["label"] for r in rows] == limited.labels.tolist()
        assert [int(r["n_features"]) for r in rows] == limited.n_features.tolist()


def test_long_files_take_no_more_memory(clinic, tmp_path):
    """A file of 100,000 rows needs hardly more memory than one of 20,000, which is a block."""
    folder, _, _ = clinic
    lines = (folder / "new.csv").read_text().splitlines(keepends=True)
    peaks = []
    for rows in (20_000, 100_000):
        body = lines[1:] * (rows // len(lines[1:]) + 1)
        (tmp_path / "long.csv").write_text("".join([lines[0], *body[:rows]]))
        code = (
            "import sys; from etana.cli import app; from reproduction.worker import peak_memory\n"
            "try: app(sys.argv[1:])\n"
            "except SystemExit: pass\n"
            "print(peak_memory())"
        )
        args = ["classify", str(folder / "model.etana"), str(tmp_path / "long.csv"), "-o", str(tmp_path / "o.csv")]
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True, cwd=ROOT)
        peaks.append(int(done.stdout))
        assert (tmp_path / "o.csv").read_text().count("\n") == rows + 1
    assert peaks[1] < 1.25 * peaks[0]


def test_ask_in_a_terminal(clinic):
    folder, _, new = clinic
    clf = etana.load(folder / "model.etana")
    row = new.iloc[5]
    answers, case = [], clf.start()
    while case.next_feature is not None:
        value = row[case.next_feature]
        answers.append("" if value is None or value != value else str(value))
        case.observe(value)
    text = "\n".join(["why", "nonsense", "undo", answers[0], "undo", *answers]) + "\n"
    said = run_alone("ask", "model.etana", cwd=folder, text=text).stdout
    assert f"Decision: {case.label}" in said
    assert "'nonsense' is not a number" in said
    assert "no answer was given yet" in said
    assert "Ask for" in said
    left = run("ask", "model.etana", cwd=folder, text="quit\n").stdout
    assert "left without a decision" in left
    assert "left without a decision" in run("ask", "model.etana", cwd=folder, text="").stdout


def test_ask_as_it_happens(clinic):
    """Known values, what cannot be had, another result, suggestions, a slip, and undo after the decision."""
    folder, _, new = clinic
    clf = etana.load(folder / "model.etana")
    numbers = [k for k in range(new.shape[1]) if k not in clf.model_.levels]
    known, told = (new.columns[k] for k in numbers[-2:])
    case = clf.start(known={known: 0.1})
    first = case.next_feature
    text = f"best\ncannot\n{told}=0.2 free\n{told}=1\n{told}=\nundo\nquit\n"
    said = run("ask", "model.etana", "--known", f"{known}=0.1", cwd=folder, text=text).stdout
    assert f"{first} (price" in said
    assert "expected to save" in said
    case.unavailable(first)
    assert f"\n{case.next_feature} (price" in said or f" {case.next_feature} (price" in said
    assert "known already" in said
    assert "spent 0, expected" in said
    done = run("ask", "model.etana", cwd=folder, text="1e9\n" * 40).stdout
    assert "outside of its training range" in done
    answers, case = [], clf.start()
    while case.next_feature is not None:
        answers.append("")
        case.observe(None)
    back = run("ask", "model.etana", cwd=folder, text="\n".join([*answers, "undo", "quit"]) + "\n").stdout
    assert "Decision" in back
    assert back.rstrip().endswith("left without a decision")
    failed = run("ask", "model.etana", "--known", "age", cwd=folder, code=3)
    assert "is no value" in failed.stderr


def test_classify_with_known_columns(clinic):
    folder, _, new = clinic
    clf = etana.load(folder / "model.etana")
    asked = [new.columns[k] for k in clf.model_.columns[:2]]
    new.to_csv(folder / "known.csv", index=False)
    options = [option for name in asked for option in ("--known", name)]
    out = run("classify", "model.etana", "known.csv", *options, "--max-cost", "0.05", cwd=folder).stdout
    rows = list(csv.DictReader(io.StringIO(out)))
    assert not any(set(asked) & set(row["features"].split(";")) for row in rows)
    walk = clf.model_.acquire(new, 0.05, asked)
    assert [float(row["cost"]) for row in rows] == pytest.approx(walk.costs)
    assert "no feature 'zz'" in run("classify", "model.etana", "known.csv", "--known", "zz", cwd=folder, code=3).stderr


def test_rounds_of_waiting_from_a_price_list(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    frame = pd.DataFrame(rng.normal(size=(200, 4)) + y[:, None], columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "p.csv").write_text("feature,cost,delayed\na,0.01,no\nb,0.01,yes\nc,0.01,yes\nd,0.01,yes\n")
    run("fit", "t.csv", "--target", "y", "--costs", "p.csv", "--round", "0.05", "-o", "m.etana", cwd=tmp_path)
    clf = etana.load(tmp_path / "m.etana")
    assert clf.model_.prices.waiting.delayed.tolist() == [False, True, True, True]
    said = run("ask", "m.etana", cwd=tmp_path, text="0.5\n" * 8).stdout
    assert "Order together: " in said
    assert "Decision" in said
    (tmp_path / "p.csv").write_text("feature,cost,delayed\na,0.01,perhaps\n")
    failed = run("fit", "t.csv", "--target", "y", "--costs", "p.csv", "--round", "1", cwd=tmp_path, code=3)
    assert "must be yes or no" in failed.stderr


def test_report(clinic, tmp_path):
    folder, _, _ = clinic
    run("report", folder / "model.etana", folder / "labelled.csv", "--target", "outcome", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    piped = run("report", folder / "model.etana", folder / "labelled.csv", "-o", "-").stdout
    made = re.compile(r"\d+:\d+ UTC")  # the minute may have passed
    assert made.sub("", piped).strip() == made.sub("", page).strip()
    assert "malignant" in page
    assert page.rstrip().endswith("</html>")


@pytest.mark.parametrize("method", ["saola", "osfs", "fast-osfs", "alpha-investing", "ofs-density", "ofs-a3m"])
def test_select(tmp_path, monkeypatch, method):
    """Streaming selection of a table's columns: the same as the selector of that name."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.assign(target=y).to_csv(tmp_path / "d.csv", index=False)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["select", "d.csv", "--target", "target", "--method", method, "-o", "s.csv"])
    assert done.exit_code == 0, done.stderr
    kinds = {k.lower(): getattr(etana.selection, k) for k in etana.selection.__all__}
    selector = kinds[method.replace("-", "")]().fit(X, y)
    kept = [*X.columns[selector.selected_]]
    assert done.stdout.split("\n")[:-1] == kept
    written = pd.read_csv(tmp_path / "s.csv")
    assert list(written.columns) == [*kept, "target"]
    np.testing.assert_array_equal(written.to_numpy(), X[kept].assign(target=y).to_numpy())


def test_costs_and_mistakes_from_files(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["flavanoids", "proline", "color_intensity"]]
    X.assign(kind=y).to_csv(tmp_path / "w.csv", index=False)
    (tmp_path / "c.csv").write_text(
        "feature,cost,group,discounted\nflavanoids,0.1,lab,0.02\nproline,0.1,lab,0.02\ncolor_intensity,0.03,,\n"
    )
    (tmp_path / "m.csv").write_text("true,0,1,2\n0,0,1,5\n2,3,1,0\n1,1,0,1\n")
    run(
        "fit", "w.csv", "--target", "kind", "--costs", "c.csv", "--mistakes", "m.csv", "-o", "w.etana", "--solver",
        "thresholds", "--bins", "4", "--binning", "quantile", cwd=tmp_path,
    )  # fmt: skip
    clf = etana.load(tmp_path / "w.etana")
    assert type(clf).__name__ == "FETANAClassifier"
    prices = etana.FeatureCosts(
        {"flavanoids": 0.1, "proline": 0.1, "color_intensity": 0.03},
        groups={"flavanoids": "lab", "proline": "lab"},
        discounted={"flavanoids": 0.02, "proline": 0.02},
    )
    same = etana.FETANAClassifier(prices, [[0, 1, 5], [1, 0, 1], [3, 1, 0]], n_bins=4, binning="quantile").fit(X, y)
    assert (clf.predict(X) == same.predict(X)).all()
    np.testing.assert_array_equal(clf.problem_.misclassification_costs, [[0, 1, 5], [1, 0, 1], [3, 1, 0]])


BAD = {
    "no such file": (["fit", "none.csv", "--target", "y"], "none.csv does not exist"),
    "a folder": (["fit", ".", "--target", "y"], "is a folder"),
    "no such column": (["fit", "ok.csv", "--target", "z"], "no column 'z'; its columns are 'a', 'b', 'y'"),
    "empty": (["fit", "empty.csv", "--target", "y"], "is empty; the first line must hold the column names"),
    "header only": (["fit", "header.csv", "--target", "y"], "header.csv has a header but no rows"),
    "header only, compared": (["compare", "header.csv", "--target", "y"], "header.csv has a header but no rows"),
    "header only, reported": (["report", "m.etana", "header.csv"], "header.csv has a header but no rows"),
    "header only, prices": (
        ["fit", "ok.csv", "--target", "y", "--costs", "noprice.csv"],
        "noprice.csv has a header but no rows",
    ),
    "option of another method": (
        ["fit", "ok.csv", "--target", "y", "--method", "adaptive", "--solver", "grid"],
        "--solver is 'grid', which method 'adaptive' has no use for",
    ),
    "ragged": (["fit", "ragged.csv", "--target", "y"], "line 3: 2 cells, but the header has 3"),
    "not UTF-8": (["fit", "latin.csv", "--target", "y"], "is not UTF-8"),
    "doubled": (["fit", "doubled.csv", "--target", "y"], "two columns named 'a'"),
    "label missing": (["fit", "nolabel.csv", "--target", "y"], "line 3: the label in column 'y' is missing"),
    "bad costs": (["fit", "ok.csv", "--target", "y", "--costs", "-1"], "must be a finite number >= 0"),
    "no costs file": (["fit", "ok.csv", "--target", "y", "--costs", "cheap"], "cheap does not exist"),
    "costs of whom": (["fit", "ok.csv", "--target", "y", "--costs", "ok.csv"], "no column 'feature'"),
    "unknown price": (["fit", "ok.csv", "--target", "y", "--costs", "price.csv"], "names 'zz'"),
    "bad mistakes": (["fit", "ok.csv", "--target", "y", "--mistakes", "ok.csv"], "true classes ['0', '1']"),
    "bad solver": (["fit", "ok.csv", "--target", "y", "--solver", "best"], "solver is 'best'"),
    "bad bins": (["fit", "ok.csv", "--target", "y", "--bins", "many"], "n_bins is 'many'"),
    "no folder": (
        ["fit", "ok.csv", "--target", "y", "-o", "none/m.etana"],
        "folder 'none' of none/m.etana does not exist",
    ),
    "not a model": (["show", "ok.csv"], "ok.csv"),
    "no model": (["show", "none.etana"], "none.etana"),
    "column missing": (["classify", "m.etana", "short.csv"], "no column 'a', which the model can ask for"),
    "bad number": (["classify", "m.etana", "text.csv"], "line 3: 'x' in column 'a' is not a number"),
    "unknown label": (["report", "m.etana", "newlabel.csv", "--target", "y"], "line 2: the label '7' is not among"),
    "which label": (["report", "m.etana", "text.csv"], "0 columns that are no features of the model"),
    "select text": (["select", "words.csv", "--target", "y"], "column 'b' holds text"),
    "select missing": (["select", "hole.csv", "--target", "y"], "line 3: column 'a' has a missing value"),
    "select how": (["select", "ok.csv", "--target", "y", "--method", "best"], "method is 'best'"),
    "bad parquet": (["fit", "bad.parquet", "--target", "y"], "cannot be read as Parquet"),
}


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    pd.DataFrame({"a": a, "b": rng.normal(size=60), "y": (a > 0).astype(int)}).to_csv(folder / "ok.csv", index=False)
    for name, text in {
        "empty.csv": "",
        "header.csv": "a,b,y\n",
        "ragged.csv": "a,b,y\n1,2,0\n1,2\n",
        "doubled.csv": "a,a,y\n1,2,0\n",
        "nolabel.csv": "a,b,y\n1,2,0\n1,2,\n",
        "noprice.csv": "feature,cost\n",
        "price.csv": "feature,cost\na,1\nb,1\nzz,1\n",
        "short.csv": "b\n1\n",
        "text.csv": "a,b\n1,2\nx,2\n",
        "newlabel.csv": "a,b,y\n1,2,7\n",
        "words.csv": "a,b,y\n1,x,0\n2,z,1\n",
        "hole.csv": "a,b,y\n1,1,0\n,2,1\n",
        "bad.parquet": "PAR1 no",
    }.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes("a,b,y\n1,2,bl\xe4h\n".encode("latin-1"))
    run("fit", "ok.csv", "--target", "y", "-o", "m.etana", cwd=folder)
    return folder


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_line_with_the_cure(bad_files, monkeypatch, case):
    arguments, message = BAD[case]
    before = sorted(os.listdir(bad_files))
    monkeypatch.chdir(bad_files)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 3
    assert done.stderr.startswith("etana: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert sorted(os.listdir(bad_files)) == before


def test_wrong_options_and_help():
    assert CliRunner().invoke(app, ["fit"]).exit_code == 2
    assert CliRunner().invoke(app, ["classify", "m", "d", "--max-cost", "-1"]).exit_code == 2
    text = CliRunner().invoke(app, ["--help"]).stdout
    for command in ("demo", "fit", "classify", "ask", "show", "report", "select"):
        assert command in text
    assert "Exit codes" in text


def test_interrupt_leaves_nothing_half_written(clinic, tmp_path):
    folder, _, _ = clinic
    lines = (folder / "new.csv").read_text().splitlines(keepends=True)
    (tmp_path / "long.csv").write_text("".join([lines[0], *(lines[1:] * 3000)]))
    (tmp_path / "out.csv").write_text("precious")
    job = subprocess.Popen(
        [*ETANA, "classify", str(folder / "model.etana"), "long.csv", "-o", "out.csv"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    # Some blocks are written: loops that are loaded just then would swallow the signal.
    while not any(p.stat().st_size for p in tmp_path.glob(".out.csv*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    job.send_signal(signal.SIGINT)
    _, said = job.communicate(timeout=60)
    assert job.returncode == 130
    assert said.strip().splitlines()[-1] == "etana: interrupted; nothing was written"
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["long.csv", "out.csv"]


LOST = """
import ctypes, os, signal, sys, time
import typer
from etana.commands.complaints import one_line_errors
lose = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT) or time.sleep(0.1))
try:
    with one_line_errors():
        try:
            lose()
            print("lost", flush=True)
            time.sleep(30)
        finally:
            time.sleep(0.8)
            print("tidied", flush=True)
except typer.Exit as end:
    sys.exit(end.exit_code if signal.getsignal(signal.SIGINT) is signal.default_int_handler else 1)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such clock")
def test_an_interrupt_that_a_callback_swallows_is_heard():
    """As loops do that are compiled or loaded just then. Once it is heard, what is tidied up is not disturbed."""
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=25)
    assert done.stdout.split() == ["lost", "tidied"]
    assert (done.returncode, done.stderr.splitlines()[-1]) == (130, "etana: interrupted; nothing was written")


def test_help_is_quick_and_light():
    code = "import sys; from etana.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass\n" \
           "print([m for m in ('numpy', 'numba', 'sklearn', 'rich') if m in sys.modules])"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_classify_does_not_import_scikit_learn(clinic):
    folder, _, _ = clinic
    code = "import sys; from etana.cli import app\ntry: app(sys.argv[1:])\nexcept SystemExit: pass\n" \
           "print('sklearn' in sys.modules)"  # fmt: skip
    args = ["classify", str(folder / "model.etana"), str(folder / "new.csv"), "-o", str(folder / "unused.csv")]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_demo(monkeypatch):
    # Two of the four sets; the first hour of a newcomer shows them all.
    monkeypatch.setattr("etana.datasets.bundled.BUNDLED", ("wine", "iris"))
    text = run("demo", "--cost", "0.02", "--seed", "1").stdout
    for piece in ("wine", "iris", "the paper's", "announced", "How a case begins", "Ask for"):
        assert piece in text


def test_fit_chooses_what_pays_least(tmp_path):
    """Without a method: the candidates are judged, and it is said which figure is which."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X[["worst perimeter", "mean texture"]].assign(y=y)[::3].to_csv(tmp_path / "t.csv", index=False)
    found = CliRunner().invoke(
        app, ["fit", str(tmp_path / "t.csv"), "--target", "y", "--effort", "fast", "-o", str(tmp_path / "m.etana")]
    )
    assert found.exit_code == 0, found.output
    clf = etana.load(tmp_path / "m.etana")
    assert type(clf).__name__ == "FrugalClassifier"
    assert f"{clf.expected_cost_:.6g}" in found.output
    for words in ("cost of held-out rows", "cost by the model itself", "cost of asking nothing"):
        assert words in found.output


def test_fit_warns_where_nothing_pays(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.normal(size=80), "y": rng.integers(2, size=80)}).to_csv(tmp_path / "t.csv", index=False)
    found = CliRunner().invoke(
        app, ["fit", str(tmp_path / "t.csv"), "--target", "y", "--effort", "fast", "-o", str(tmp_path / "m.etana")]
    )
    assert found.exit_code == 0, found.output
    assert "nothing is worth asking" in found.output
