"""What can be exported, what cannot and what to do then; files, types, and the command."""

import ast
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import runners
from samples import clinic, sample
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.errors import EtanaError
from etana.exporting.plan import plan_of
from etana.exporting.states import grow
from etana.policies.decision_graph import CutColumn, DecisionGraph

ENDINGS = [".c", ".h", ".js", ".d.ts", ".sql", ".py", ".json", ".html"]


def test_the_ending_says_what_is_written(tmp_path):
    clf, _ = sample("breast_cancer", "etana")
    given = [tmp_path / f"p{ending}" for ending in (".c", ".js", ".sql", ".py", ".json", ".html")]
    written = [path for one in given for path in etana.export(clf, one)]
    assert [path.name for path in written] == [f"p{e}" for e in ENDINGS]
    assert all(path.stat().st_size > 500 for path in written)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "p.rs"}, "let the path end in one of .c, .html, .js, .json, .py, .sql"),
        ({"path": "none/p.c"}, "does not exist; make it first"),
        ({"real": "half"}, "real is 'half'; it must be 'double' or 'float'"),
        ({"max_nodes": 0}, "max_nodes is 0; it must be a whole number >= 1"),
        ({"max_cost": -1.0}, "max_cost is -1.0; it must be None or a finite number >= 0"),
    ],
)
def test_wrong_wishes_are_named_before_any_work(options, words, tmp_path):
    clf, _ = sample("breast_cancer", "etana")
    path = tmp_path / options.pop("path", "p.c")
    with pytest.raises(EtanaError, match=words.replace("(", r"\(")):
        etana.export(clf, path, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_estimator_underneath_cannot_be_exported(tmp_path):
    X, y = clinic(2, 200)
    X = X[["lab 0", "lab 1"]].fillna(0.0)
    clf = etana.SequentialClassifier(feature_costs=0.01).fit(X, y)
    with pytest.raises(EtanaError, match=r"cannot be exported.*ETANAClassifier.*etana serve"):
        etana.export(clf, tmp_path / "p.c")


def test_what_is_not_fitted_is_named(tmp_path):
    with pytest.raises(EtanaError, match="no fitted classifier"):
        etana.export("model.etana", tmp_path / "p.c")


def test_beyond_its_states_a_graph_decides_with_what_is_known(tmp_path):
    """A row goes as far as the graph, the same way as the model; its belief is that of the model there."""
    clf, rows = sample("clinic3", "adaptive")
    model, graph = clf.model_, grow(clf.model_, 60)
    assert graph.asks.size <= 60
    assert graph.open.any()
    assert 0 < graph.beyond < 1
    etana.export(clf, tmp_path / "p.py", max_nodes=60)
    policy, walk = runners.load_module(tmp_path / "p.py"), clf.acquire(rows)
    short = 0
    for i, row in enumerate(runners.plain_rows(rows)):
        found, case = policy.classify(row), model.start()
        for feature in found.features:
            assert feature == case.next_feature
            case.observe(row[feature])
        assert np.abs(np.array(found.posterior) - case.posterior).max() <= 1e-12
        assert found.label == case.label
        short += len(found.features) < walk.n_features[i]
    assert short > 0


def test_rows_that_must_fit_are_refused_where_there_is_no_room(tmp_path):
    clf, rows = sample("clinic3", "adaptive")
    with pytest.raises(EtanaError, match="do not fit into 60 nodes; allow more"):
        etana.export(clf, tmp_path / "p.py", max_nodes=60, rows=rows)
    assert list(tmp_path.iterdir()) == []


def test_a_graph_holds_the_states_of_training_rows():
    X, y = clinic(3)
    clf = etana.AdaptiveClassifier(feature_costs=0.001, m=5.0).fit(X[::2], y[::2])
    graph, walk = grow(clf.model_, 3000), clf.acquire(X[::2])
    assert graph.open.any()
    reached = set()
    columns, codes = clf.model_.beliefs.examples()
    place = {column: c for c, column in enumerate(columns.tolist())}
    for r in range(codes.shape[1]):
        node = 0
        while graph.asks[node] >= 0:
            question = graph.questions[graph.asks[node]]
            code = codes[place[question.column], r]
            node = graph.children[graph.first[node] + (code if code >= 0 else question.n_codes)]
        assert not graph.open[node]
        reached.add(int(node))
    assert len(reached) > 1
    assert len(walk) == codes.shape[1]


def test_a_policy_that_is_a_graph_gives_it_itself(tmp_path, monkeypatch):
    """The door does not ask what kind of policy it is: a stump that cuts a column at 0.5 serves."""
    clf, _ = sample("clinic2", "etana")
    stump = DecisionGraph(
        [CutColumn(0, np.array([0.5]), 2, -1)], np.array([0, -1, -1, -1]), np.array([0, -1, -1, -1]),
        np.array([1, 2, 3]), np.array([0.25, 0.0, 0.0, 0.0]), np.array([0.0, 0.25, 0.25, 0.25]),
        np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), np.zeros(4, dtype=bool), 0.0,
    )  # fmt: skip
    monkeypatch.setattr(type(clf.model_.policy), "decision_graph", lambda self, beliefs: stump)
    etana.export(clf, tmp_path / "p.py")
    policy = runners.load_module(tmp_path / "p.py")
    found = [policy.classify({"lab 0": value}) for value in (0.4, 0.5, None)]
    assert [r.label for r in found] == [clf.classes_[0], clf.classes_[1], clf.classes_[0]]
    assert {r.cost for r in found} == {0.25}
    assert found[0].features == ("lab 0",)


def test_a_pairing_of_ones_own_becomes_a_graph(tmp_path):
    """Naive Bayes with a choice for each instance: no classifier of the package makes this pair."""
    from etana.policies import InstanceChoice
    from etana.policies.instance_choice import ASK_ON

    clf, rows = sample("clinic3", "etana")
    old = clf.model_
    choice = InstanceChoice(old.beliefs.columns, old.priors, old.prices, old.mistakes, ASK_ON, most_features=3)
    model = etana.Model(old.beliefs, choice, old.classes, old.names)
    etana.export(model, tmp_path / "p.py", rows=rows, max_nodes=20_000)
    policy, walk = runners.load_module(tmp_path / "p.py"), model.acquire(rows)
    found = [policy.classify(row) for row in runners.plain_rows(rows)]
    assert [r.label for r in found] == walk.labels.tolist()
    assert [r.cost for r in found] == walk.costs.tolist()


def test_the_module_asks_undoes_and_complains(tmp_path):
    clf, _ = sample("clinic3", "etana")
    etana.export(clf, tmp_path / "p.py")
    policy, case = runners.load_module(tmp_path / "p.py"), clf.start()
    mine = policy.start()
    assert mine.next_feature == case.next_feature
    assert clf.classes_.tolist() == policy.CLASSES
    mine.observe(None)
    case.observe(None)
    assert (mine.cost, mine.posterior) == (case.cost, case.posterior.tolist())
    assert mine.undo().cost == 0.0
    with pytest.raises(ValueError, match="no answer was given yet"):
        mine.undo()
    with pytest.raises(ValueError, match="the case has stopped"):
        policy.start(max_cost=0).observe(1.0)
    with pytest.raises(ValueError, match="max_cost is -1"):
        policy.start(max_cost=-1)


def test_the_module_needs_nothing_but_the_standard_library(tmp_path):
    clf, _ = sample("clinic3", "adaptive")
    etana.export(clf, tmp_path / "policy.py")
    # The oldest Python that the how-to promises.
    ast.parse((tmp_path / "policy.py").read_text(encoding="utf-8"), feature_version=(3, 8))
    code = "import policy, sys; print('numpy' in sys.modules, len(policy.FEATURES))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout.split()[0] == "False", done.stderr


def test_models_without_names_are_asked_by_column(tmp_path):
    X, y = clinic(2, 300)
    numbers = X[["lab 0", "lab 1", "lab 2"]].to_numpy()
    clf = etana.ETANAClassifier(feature_costs=0.01).fit(numbers, y)
    etana.export(clf, tmp_path / "p.py")
    etana.export(clf, tmp_path / "p.sql")
    policy, walk = runners.load_module(tmp_path / "p.py"), clf.acquire(numbers)
    found = [policy.classify(row.tolist()) for row in numbers]
    assert [list(r.features) for r in found] == [walk.features(i).tolist() for i in range(len(numbers))]
    assert '"x0"' in (tmp_path / "p.sql").read_text()


def test_a_policy_that_asks_nothing(tmp_path):
    X, y = clinic(2, 300)
    clf = etana.ETANAClassifier(feature_costs=10.0).fit(X, y)
    for ending in (".c", ".js", ".sql", ".py", ".json", ".html"):
        etana.export(clf, tmp_path / f"policy{ending}")
    policy = runners.load_module(tmp_path / "policy.py")
    assert policy.classify({}).label == clf.predict(X[:1])[0]
    if shutil.which("gcc"):
        found = runners.in_c(clf, X[:3], tmp_path)
        assert found.labels == clf.predict(X[:3]).tolist()


def test_the_document_keeps_its_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema_rs")
    schema = json.loads((runners.HERE.parents[1] / "docs" / "policy-schema.json").read_text())
    for name, way in (("clinic3", "adaptive"), ("clinic3", "etana"), ("breast_cancer", "etana"), ("iris", "published")):
        clf, _ = sample(name, way)
        etana.export(clf, tmp_path / "p.json")
        document = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
        jsonschema.validate(schema, document)
        assert len(document["questions"]) == len(plan_of(clf.model_).questions)


def test_the_types_name_labels_and_features(tmp_path):
    clf, _ = sample("clinic3", "adaptive")
    etana.export(clf, tmp_path / "p.js")
    types = (tmp_path / "p.d.ts").read_text(encoding="utf-8")
    assert "export type Label = \"class 0; -- 'it'\" | " in types
    assert '"a \\"quoted\\" name"' in types
    assert "boolean | number | string | null | undefined" in types
    assert "@" not in types


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["export", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stderr


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clf, rows = sample("clinic3", "adaptive")
    etana.save(clf, tmp_path / "model.etana")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    said = run("model.etana", "-o", "policy.c", "--real", "float", "--rows", "rows.csv")
    assert "policy.c written" in said
    assert "policy.h written" in said
    assert "it decides with what is known" in said
    assert "bytes of read-only memory" in said
    run("model.etana", "-o", "policy.sql", "--table", "patients", "--max-cost", "0.02")
    text = (tmp_path / "policy.sql").read_text(encoding="utf-8")
    assert 'FROM "patients" AS source' in text
    assert "No row is charged more than 0.02." in text
    X, y = load_iris(return_X_y=True)
    etana.save(etana.AdaptiveClassifier(0.05, m=10.0, look_ahead=False).fit(X, y), tmp_path / "small.etana")
    said = run("small.etana", "-o", "small.py")
    assert "all that there are: decides as the model does" in said
    said = run("model.etana", "-o", "policy.exe", code=3)
    assert "let the path end in one of" in said
    assert len(said.splitlines()) == 1
