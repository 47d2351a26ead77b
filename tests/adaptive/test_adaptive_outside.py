"""The outside of the house with a decision graph: pictures, the report, the command line, the service."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from etana import AdaptiveClassifier, ETANAClassifier
from etana.cli import app
from etana.errors import InputError
from etana.modelfile import load_model
from etana.plots import ConfusionCostDisplay, FeatureUsageDisplay, GraphDisplay, PolicyDisplay
from etana.plots._outcome import walk_labelled
from etana.report import make_report

NAMES = [f"test {k}" for k in range(13)]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    table = pd.DataFrame(X, columns=NAMES)
    return AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(table, y), table, y


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    X, y = load_wine(return_X_y=True)
    table = pd.DataFrame(X[:, :6], columns=NAMES[:6])
    table["label"] = y
    table.to_csv(folder / "wine.csv", index=False)
    arguments = ["fit", str(folder / "wine.csv"), "--target", "label", "--method", "adaptive", "-o"]
    result = CliRunner().invoke(app, [*arguments, str(folder / "m.etana")])
    assert result.exit_code == 0, result.output
    return folder


# --- pictures


def test_the_picture_shows_every_branch(wine):
    clf, _, _ = wine
    display = GraphDisplay.from_estimator(clf, max_depth=2)
    words = [t.get_text() for t in display.ax_.texts]
    assert len(words) == 2 * len(display.branches) - 1  # a box for each, and an answer for all but the first
    assert any("price 0.01" in w for w in words)
    assert any("sure" in w for w in words)
    assert max(b.depth for b in display.branches) == 2
    for position, branch in enumerate(display.branches):
        assert branch.parent < position
        assert display.positions[position, 0] == branch.depth
    leaves = [p for p in range(len(display.branches)) if all(b.parent != p for b in display.branches)]
    assert display.positions[leaves, 1].tolist() == list(range(len(leaves)))


def test_depth_and_share_choose_what_is_drawn(wine):
    clf, _, _ = wine
    model = clf.model_
    asked = ((0, 0.01), (1, 0.01), (3, 0.2), (3, 0.01))
    sizes = [len(GraphDisplay.from_estimator(model, max_depth=d, least=s).branches) for d, s in asked]
    assert sizes[0] == 1
    assert sizes[0] < sizes[1] < sizes[3]
    assert sizes[2] < sizes[3]
    reaches = [b.reach for b in GraphDisplay.from_estimator(clf, least=0.2).branches]
    assert min(reaches) >= 0.2
    for wrong in ({"max_depth": -1}, {"least": 2.0}):
        with pytest.raises(InputError, match="max_depth is"):
            GraphDisplay.from_estimator(clf, **wrong)


def test_hostile_names_are_text_and_nothing_else():
    X, y = load_wine(return_X_y=True)
    table = pd.DataFrame(X[:, :4], columns=[r"$\frac{", "_x", "a\nb" + "very long " * 20, ""])
    clf = AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(table, np.array(["$x$", "_y", "z" * 90])[y])
    display = GraphDisplay.from_estimator(clf)
    display.figure_.canvas.draw()
    assert all(len(line) < 60 for t in display.ax_.texts for line in t.get_text().split("\n"))


def test_a_fixed_order_has_a_graph_too(wine):
    """A graph of naive Bayes: each answer leads to the next feature of the order, or to a decision."""
    _, table, y = wine
    clf = ETANAClassifier(0.05).fit(table.iloc[:, 6:10], y)
    display = GraphDisplay.from_estimator(clf, max_depth=4, least=0.0)
    reach = np.zeros(clf.policy_.horizon + 1)
    for branch in display.branches:
        reach[branch.depth] += branch.reach
        assert branch.decides == clf.policy_.decide(branch.belief)
        if branch.depth < clf.policy_.horizon:
            stops = clf.policy_.stops(branch.depth, branch.belief)
            assert branch.asks == (-1 if stops else clf.feature_order_[branch.depth])
    np.testing.assert_allclose(reach, clf.expectation_.reach, atol=1e-9)


def test_many_classes_and_models_without_a_graph(wine):
    _, table, y = wine
    rng = np.random.default_rng(0)
    many = AdaptiveClassifier(0.01, m=5.0, look_ahead=False).fit(table, rng.integers(0, 11, len(y)))
    GraphDisplay.from_estimator(many)
    with pytest.raises(InputError, match=r"no fixed order.*GraphDisplay"):
        PolicyDisplay.from_estimator(many)


def test_other_pictures_take_an_adaptive_classifier(wine):
    clf, table, y = wine
    harsh = clf.with_costs(misclassification_costs=3 * (1 - np.eye(3)))
    for estimator in (harsh, harsh.model_):
        assert walk_labelled(estimator, table, y).mistakes.max() == 3.0
        assert ConfusionCostDisplay.from_estimator(estimator, table, y).costs.sum() % 3 == 0
        usage = FeatureUsageDisplay.from_estimator(estimator, table, y)
        assert usage.counts.sum() == harsh.acquire(table).n_features.sum()


def test_a_report(wine):
    clf, table, y = wine
    for estimator in (clf, clf.model_):
        html = make_report(estimator, table, y)
        assert "The first questions" in html
        assert "The model itself expects a cost of" in html
        assert "nothing to trade" not in html
        assert "The curve of budgets keeps this policy" in html
    assert make_report(clf.model_, table, y) == html


# --- the command line


def invoke(*arguments, **options):
    result = CliRunner().invoke(app, [str(a) for a in arguments], **options)
    assert result.exit_code == 0, result.output
    return result.output


def test_show_and_ask(model_file):
    shown = invoke("show", model_file / "m.etana")
    assert "ask 'test" in shown
    assert "cost by the model itself" in shown
    talked = invoke("ask", model_file / "m.etana", input="why\n" + "skip\n" * 8)
    assert "Decision" in talked
    assert "bits" in talked
    back = invoke("ask", model_file / "m.etana", input="1\nundo\n" + "0\n" * 8)
    assert "Decision" in back


def test_classify_and_report(model_file):
    invoke("classify", model_file / "m.etana", model_file / "wine.csv", "-o", model_file / "out.csv")
    with open(model_file / "out.csv") as file:
        rows = list(csv.DictReader(file))
    table = pd.read_csv(model_file / "wine.csv")
    walk = load_model(model_file / "m.etana").acquire(table[NAMES[:6]])
    assert [int(r["label"]) for r in rows] == walk.labels.tolist()
    assert [float(r["cost"]) for r in rows] == pytest.approx(walk.costs.tolist(), rel=1e-11)
    assert rows[0]["features"].split(";") == [NAMES[k] for k in walk.features(0)]
    invoke("report", model_file / "m.etana", model_file / "wine.csv", "-o", model_file / "r.html")
    assert "The first questions" in Path(model_file / "r.html").read_text()


def test_methods_that_cannot_be(model_file):
    data = str(model_file / "wine.csv")
    result = CliRunner().invoke(app, ["fit", data, "--target", "label", "--method", "best"])
    assert result.exit_code == 3
    result = CliRunner().invoke(app, ["fit", str(model_file), "--target", "label", "--method", "adaptive"])
    assert result.exit_code == 3


# --- the service


def test_a_case_at_the_desk_is_the_case_of_the_model(model_file, tmp_path):
    pytest.importorskip("fastapi")
    from etana.service.case_service import CaseService
    from etana.service.limits import Limits
    from etana.service.models import Models
    from etana.service.store import Store

    limits = Limits()
    cases = CaseService(Models([model_file / "m.etana"]), Store(":memory:", limits.case_life, limits.cases), limits)
    about = cases.model()
    assert about.n_features == 6
    assert about.expected_cost == load_model(model_file / "m.etana").expected_cost
    assert about.optimality_gap is None
    values = dict(zip(NAMES, load_wine().data[3].tolist(), strict=True))
    case = load_model(model_file / "m.etana").start()
    view = cases.start()
    while view.question is not None:
        assert view.question.name == case.next_feature
        assert view.question.price == case.next_price
        case.observe(values[case.next_feature])
        view = cases.answer(view.id, view.question.name, values[view.question.name])
    assert view.label == case.label
    assert view.cost == case.cost
    assert [b.probability for b in view.posterior] == case.posterior.tolist()
    batch = cases.classify([{name: values[name] for name in NAMES[:6]}])
    assert batch.rows[0].label == case.label
