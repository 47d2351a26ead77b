"""A type checker finds a user's mistakes, and accepts a program without any."""

from pathlib import Path

import pytest

import etana

RIGHT = """
from pathlib import Path
import numpy as np
import etana
from etana.evaluation import Folds, evaluate
from etana.evaluation.comparison import compare
from etana.plots import CostCurveDisplay, FeatureUsageDisplay
from etana.report import make_report
from etana.scoring import CostScorer
from etana.typing import FeatureCostsLike

X, y = np.eye(4), np.array([0, 1, 0, 1])
prices: FeatureCostsLike = etana.FeatureCosts({"a": 1.0, "b": 2}, groups={"a": "blood"})
for given in (0.01, [0.1, 0.2], prices):
    clf = etana.FrugalClassifier(given, misclassification_costs=[[0, 1], [2, 0]], effort="fast", random_state=0)
    walk = clf.fit(X, y).acquire(X, max_cost=3)
    cost: float = float(walk.costs.mean())
case = etana.ETANAClassifier(ordering="cost").fit([[0.0], [1.0]], ["a", "b"]).start(known={"a": 1})
etana.save(clf, "model.etana")
cheap = clf.with_costs(feature_costs=0.1).with_costs(misclassification_costs=None)
display = CostCurveDisplay.from_estimator(cheap, X, y, factors=[1, 2], response="cost")
display.figure_.savefig("curve.svg")
for fitted in (clf, clf.model_):
    FeatureUsageDisplay.from_estimator(fitted, X, y, kind="classes", ax=display.ax_)
    page: str = make_report(fitted, X, y, Path("report.html"), title="A title")
found: float = evaluate(cheap, X, y, protocol=Folds(3, seed=1)).accuracy
compare(X, y, feature_costs={"a": 1.0}, misclassification_costs=[[0, 1], [2, 0]], methods=["etana"])
scorer = CostScorer(feature_costs=0.1)(clf, X, y)
"""
START = """import numpy as np
import etana
from etana import evaluation, plots, report, scoring
clf, X, y = etana.ETANAClassifier(), np.eye(4), np.array([0, 1, 0, 1])"""
WRONG = {
    'etana.FrugalClassifier(feature_cost=0.01)': 'Unexpected keyword argument "feature_cost"',
    'etana.ETANAClassifier(priors="emprical")': 'Argument "priors" to "ETANAClassifier" has incompatible type',
    'etana.AdaptiveClassifier(feature_costs="dear")': 'Argument "feature_costs" to "AdaptiveClassifier"',
    'etana.FeatureCosts(1.0, group=["a"])': 'Unexpected keyword argument "group"',
    "etana.EtanaClassifier()": 'has no attribute "EtanaClassifier"',
    'clf.with_costs(feature_cost=0.1)': 'Unexpected keyword argument "feature_cost" for "with_costs"',
    'clf.with_costs(feature_costs="dear")': 'Argument "feature_costs" to "with_costs"',
    'plots.PolicyDisplay.from_estimator(clf, kind="bars")': 'Argument "kind" to "from_estimator" of "PolicyDisplay"',
    'plots.ConfusionCostDisplay.from_estimator(clf, X, y, value="cost")': 'Unexpected keyword argument "value"',
    'plots.CostCurveDisplay.from_budgets("clf", X, y)': 'Argument 1 to "from_budgets"',
    'report.make_report(clf, X, y, titel="A")': 'Unexpected keyword argument "titel"',
    'evaluation.evaluate(clf, X, y, protocoll=None)': 'Unexpected keyword argument "protocoll"',
    'scoring.CostScorer(feature_costs="dear")': 'Argument "feature_costs" to "CostScorer"',
}  # fmt: skip


def test_the_package_says_that_it_is_typed():
    assert (Path(etana.__file__).parent / "py.typed").is_file()


@pytest.mark.slow
def test_mypy_accepts_what_is_right_and_finds_what_is_wrong(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(etana.__file__).parents[1]))
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(f"{START}\n" + "\n".join(WRONG))
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={tmp_path}"]
    said, _, _ = api.run([*options, str(right), str(wrong)])
    errors = [line for line in said.splitlines() if ": error:" in line]
    assert not [line for line in errors if "right.py" in line], said
    for number, message in enumerate(WRONG.values(), start=START.count("\n") + 2):
        assert any(f"wrong.py:{number}:" in line and message in line for line in errors), (message, said)
    assert len(errors) == len(WRONG)
