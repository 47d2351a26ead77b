"""The report: one file that needs nothing else, says what is so, and cannot be made to say more."""

import hashlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from typer.testing import CliRunner

from etana import ETANAClassifier, FETANAClassifier, save
from etana.beliefs import NaiveBayes
from etana.cli import app
from etana.costs import resolve_feature_costs
from etana.errors import InputError
from etana.model import Model
from etana.modelfile.container import read_metadata
from etana.plots._intervals import mean_interval, wilson
from etana.policies.fixed_order import FixedOrder
from etana.report import make_report
from etana.table import read_table

VOID = {"meta", "br", "img", "link", "input", "hr"}
HOSTILE = ["<script>alert(1)</script>", "\"&'", "$x^$ $\\frac$", "_hidden", "new\nline\x00\u202e", "</svg></style>"]


class Page(HTMLParser):
    """Reads a page: fails on tags that are not balanced, keeps what the tests ask for."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def as_model(clf):
    """The bare model, made of parts that know nothing of the classifier."""
    names = getattr(clf, "feature_names_in_", None)
    beliefs = NaiveBayes(clf.binner_, clf.counts_.likelihoods(), clf.problem_.priors)
    prices = resolve_feature_costs(clf.feature_costs, clf.n_features_in_, names)
    policy = FixedOrder(clf.feature_order_, clf.policy_, prices, clf.problem_.misclassification_costs)
    return Model(beliefs, policy, clf.classes_, None if names is None else list(names))


@pytest.fixture(scope="module", params=[load_breast_cancer, load_wine, load_digits])
def reported(request, tmp_path_factory):
    data = request.param(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    mistakes = 2.0 - 2.0 * np.eye(data.target_names.size)
    mistakes[0, 1] = 5.0
    clf = ETANAClassifier(0.02, mistakes, ordering="information").fit(X[::2], y[::2])
    path = tmp_path_factory.mktemp("report") / "report.html"
    html = make_report(clf, X[1::2], y[1::2], path, title="A & B")
    assert path.read_bytes() == html.encode()
    return clf, X[1::2], y[1::2], html


def test_page_is_whole_and_needs_nothing_else(reported):
    *_, html = reported
    page = Page(html)
    assert "script" not in page.tags
    assert not [a for a in page.attributes if a[1].startswith("on")]
    for _, name, value in page.attributes:
        if name in ("src", "href", "srcset", "action", "data"):
            assert value.startswith(("#", "data:image/png;base64,"))
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:url\(|href=")#([\w-]+)', html)
    assert used
    assert set(used) <= set(ids)


def test_every_figure_has_words(reported):
    *_, html = reported
    page = Page(html)
    pictures = page.tags.count("svg")
    assert pictures == page.tags.count("figure") == page.tags.count("figcaption") >= 8
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert len(labels) == pictures
    assert min(map(len, labels)) > 30
    for heading in ("Summary", "What was asked", "What accuracy costs", "Mistakes", "The policy", "Example paths"):
        assert heading in page.text


def test_numbers_are_right(reported):
    clf, X, y, html = reported
    text = Page(html).text
    walk, codes = clf.acquire(X), np.searchsorted(clf.classes_, y)
    right = walk.labels == y
    low, high = wilson(right.sum(), len(y))
    assert f"accuracy {right.mean():.1%} {low:.1%} to {high:.1%}" in text
    assert f"{walk.n_features.mean():.2f} of {X.shape[1]}" in text
    penalties = clf.misclassification_costs[codes, np.searchsorted(clf.classes_, walk.labels)]
    totals = walk.costs + penalties
    digits = 4 if totals.mean() < 1 else 3
    low, high = mean_interval(totals, 0)
    assert f"cost of a row {totals.mean():.{digits}f} {low:.{digits}f} to {high:.{digits}f}" in text
    assert f"and {penalties.mean():.{digits}f} for mistakes" in text
    assert f"expects a cost of {clf.model_.expected_cost:.{digits}f} a row" in text
    assert f"the gap is at most {clf.optimality_gap_:.2g}" in text


def test_rivals_ask_everything_and_nothing(reported):
    clf, X, y, html = reported
    text = Page(html).text
    full = clf.with_costs(feature_costs=0.0).acquire(X)
    assert (full.n_features == clf.model_.beliefs.columns.size).all()
    rows = dict(re.findall(r"(ask everything|ask nothing) ((?:[\d.%]+ (?:to [\d.%]+ )?)+)", text))
    everything, nothing = rows["ask everything"].split(), rows["ask nothing"].split()
    assert f"{np.mean(full.labels == y):.1%}" in everything
    assert f"{clf.model_.beliefs.columns.size:.2f}" in everything
    blind = clf.acquire(X, max_cost=0.0)
    assert f"{np.mean(blind.labels == y):.1%}" in nothing
    assert "0.00" in nothing


def test_ten_paths_with_their_steps(reported):
    clf, X, y, html = reported
    text = Page(html).text
    rows = [int(r) for r in re.findall(r"Row (\d+):", text)]
    assert len(rows) == len(set(rows)) == 10
    walk = clf.acquire(X)
    for row in rows:
        verdict = "right" if walk.labels[row] == y[row] else "wrong"
        assert re.search(rf"Row {row}: .{{1,80}}Decided {walk.labels[row]} , truth {y[row]} : {verdict}", text)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(0.02, ordering="information").fit(X[::2], y[::2])
    return clf, X[1::2], y[1::2], make_report(clf, X[1::2], y[1::2])


def test_same_input_same_bytes(wine):
    clf, X, y, html = wine
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert make_report(clf, X, y) == html
    code = (
        "import hashlib\nfrom sklearn.datasets import load_wine\nfrom etana import ETANAClassifier\n"
        "from etana.report import make_report\nX, y = load_wine(return_X_y=True)\n"
        "clf = ETANAClassifier(0.02, ordering='information').fit(X[::2], y[::2])\n"
        "print(hashlib.sha256(make_report(clf, X[1::2], y[1::2]).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == hashlib.sha256(html.encode()).hexdigest()


def test_model_without_estimator(wine):
    """The same page but for the settings; another seed moves the intervals of the summary and nothing else."""
    clf, X, y, html = wine
    bare, full = Page(make_report(as_model(clf), read_table(X), y, seed=1)).text, Page(html).text
    assert "A model on 89 rows of 3 classes (0, 1, 2)" in bare
    assert "classifier A model" in bare
    summaries = [page[page.index("Summary") : page.index("What was asked")] for page in (bare, full)]
    assert summaries[0] != summaries[1]
    for words in summaries:
        assert f"{clf.acquire(X).n_features.mean():.2f} of 13" in words
    rest = [page[page.index("What was asked") : page.index("Settings")] for page in (bare, full)]
    assert rest[0] == rest[1]


@pytest.fixture(scope="module")
def unequal(tmp_path_factory):
    """A report on two classes, one of which is dearer to miss, from files."""
    folder = tmp_path_factory.mktemp("unequal")
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 90)
    X = pd.DataFrame({"bp": 130 + 20 * sick + 12 * rng.normal(size=90), "age": 50 + 9 * sick + 9 * rng.normal(size=90)})
    y = np.where(sick == 1, "sick", "well")
    mistakes = np.array([[0.0, 90000.0], [21000.0, 0.0]])
    clf = ETANAClassifier(20.0, misclassification_costs=mistakes, priors=np.array([0.25, 0.75])).fit(X, y)
    save(clf, folder / "m.etana")
    X.assign(outcome=y).to_csv(folder / "t.csv", index=False)
    return folder, clf, X, y, make_report(clf, X, y)


def test_where_mistakes_differ_their_cost_and_who_is_missed_come_first(unequal):
    _, clf, X, y, html = unequal
    text = Page(html).text
    labels = clf.predict(X)
    order = ["cost of a row", "sensitivity: sick told as such", "specificity: well told as such", "accuracy"]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    for words, name in zip(order[1:3], ("sick", "well"), strict=True):
        right, n = int((labels[y == name] == name).sum()), int((y == name).sum())
        low, high = wilson(right, n)
        assert f"{words} {right / n:.1%} {low:.1%} to {high:.1%}, {right} of {n} rows" in text
        assert f"{name} {n} {right} {right / n:.1%} {100 * low:.1f} to {high:.1%}" in text


def test_words_for_people(unequal):
    _, _, _, _, html = unequal
    assert "e+0" not in re.sub(r' (d|transform)="[^"]*"', "", html)
    text = Page(html).text
    assert "ETANAClassifier on 90 rows of 2 classes (sick, well)" in text
    assert "priors 0.25, 0.75" in text
    assert "ndarray" not in text


def test_a_page_from_files_says_which_and_when(unequal):
    folder, *_ = unequal
    out = folder / "r.html"
    done = CliRunner().invoke(app, ["report", str(folder / "m.etana"), str(folder / "t.csv"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    text = Page(out.read_text()).text
    assert re.search(r"m\.etana on t\.csv; \d\d \w+ \d{4}, \d\d:\d\d UTC", text)
    assert f"data file t.csv, SHA-256 {hashlib.sha256((folder / 't.csv').read_bytes()).hexdigest()}" in text
    assert f"model file m.etana, digest {read_metadata(str(folder / 'm.etana'))['sha256']}" in text
    assert "classifier ETANAClassifier" in text
    assert str(folder) not in text


def _hostile(n_classes):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500, 16:36], y[:500]
    keep = y < n_classes
    names = [f"{HOSTILE[k % len(HOSTILE)]}{k}" for k in range(20)]
    classes = np.array([f"{HOSTILE[k % len(HOSTILE)]}{k}" for k in range(10)])
    frame = pd.DataFrame(X[keep], columns=names)
    # Labels are as hostile as names: the first column that is asked holds them.
    frame[names[5]] = np.array(HOSTILE)[(X[keep, 5] // 3).astype(int)]
    return frame, classes[y[keep]], [5, *(k for k in range(20) if k != 5)]


@pytest.mark.parametrize("n_classes", [3, 10])
def test_hostile_names_stay_text(n_classes):
    X, y, order = _hostile(n_classes)
    clf = ETANAClassifier(feature_costs=0.02, ordering=order).fit(X, y)
    html = make_report(clf, X, y, title=HOSTILE[0] + '" onload="x')
    page = Page(html)
    assert "script" not in page.tags
    assert page.tags.count("style") == 1
    assert page.tags.count("svg") == html.count("<svg")
    assert not [a for a in page.attributes if a[1].startswith("on")]
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "<script>alert(1)</script>0" in page.text
    assert "\"&'1" in page.text
    assert "$x^$ $\\frac$" in page.text


def test_awkward_data():
    """Sparse rows, missing values, free features, one class only among the rows, nothing asked, other solvers."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300, 16:40], y[:300]
    holes = X.copy()
    holes[::3, ::2] = np.nan
    one, few = y == 3, y < 4
    sparse = sp.csr_matrix(X[few])
    for clf, rows, truth in (
        (ETANAClassifier(0.05, ordering="information").fit(sparse, y[few]), sparse, y[few]),
        (ETANAClassifier(0.0, missing="bin").fit(holes[:, :6], y), holes[:, :6], y),
        (ETANAClassifier(50.0).fit(X, y), X[one], y[one]),
        (FETANAClassifier(0.1, batch=32, max_iterations=5).fit(X[:, :8], y), X[:1, :8], y[:1]),
    ):
        text = Page(make_report(clf, rows, truth)).text
        assert "nan" not in text.replace("ETANA", "").lower().split()


def test_errors_come_before_work(tmp_path, monkeypatch):
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)

    def never(*_, **__):
        raise AssertionError("work was begun")

    monkeypatch.setattr(ETANAClassifier, "acquire", never)
    with pytest.raises(InputError, match="does not exist; make it first"):
        make_report(clf, X, y, tmp_path / "no" / "report.html")
    with pytest.raises(InputError, match="is a folder"):
        make_report(clf, X, y, tmp_path)
    with pytest.raises(InputError, match="y is None"):
        make_report(clf, X, None)
    with pytest.raises(InputError, match="one label per row"):
        make_report(clf, X, y[:-1])
    with pytest.raises(InputError, match="not among the classes"):
        make_report(clf, X, np.array(["x"] * len(y)))
    with pytest.raises(InputError, match="fitted etana classifier"):
        make_report(ETANAClassifier(), X, y)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier(feature_costs=0.3, ordering="information").fit(X[::3], y[::3])
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        make_report(clf, X[:20], y[:20], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_importing_it_needs_neither_sklearn_nor_matplotlib():
    code = "import sys, etana.report; print([m for m in ('sklearn', 'matplotlib', 'jinja2') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
