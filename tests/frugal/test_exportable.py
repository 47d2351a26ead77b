"""What is fitted to be exported can be exported, whatever is chosen."""

import runpy

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import etana
from etana import FrugalClassifier
from etana.cli import app
from etana.errors import InputError


def rows(told, n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += told * y
    return X, y


@pytest.mark.parametrize(("told", "effort"), [(3.0, "auto"), (0.0, "fast")])
def test_what_is_exportable_is_exported(told, effort, tmp_path):
    X, y = rows(told)
    clf = FrugalClassifier(feature_costs=0.02, effort=effort, exportable=True).fit(X, y)
    assert {row.name for row in clf.comparison_}.isdisjoint({"committee", "neighbours and logistic, one order"})
    new, _ = rows(told, seed=1)
    walk = clf.acquire(new)
    assert bool(walk.n_features.any()) == (told > 0)
    etana.save(clf, tmp_path / "m")
    for one in (clf, etana.load(tmp_path / "m")):
        (written,) = etana.export(one, tmp_path / "policy.py", rows=new)
        classify = runpy.run_path(str(written))["classify"]
        found = [classify(dict(enumerate(row))) if told else classify({}) for row in new.tolist()]
        assert [r.label for r in found] == walk.labels.tolist()
        assert [r.cost for r in found] == walk.costs.tolist()


def test_the_default_where_rows_are_few_stays():
    names = FrugalClassifier(exportable=True)._allowed(["ask nothing", "naive Bayes, by instance", "committee"])
    assert names == ["ask nothing", "naive Bayes, by instance", "path counts, by instance"]
    assert FrugalClassifier()._allowed(names) == names


def test_from_the_command_line(tmp_path):
    X, y = rows(3.0)
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    run = CliRunner().invoke
    fit = ["fit", str(tmp_path / "t.csv"), "--target", "label", "--costs", "0.02", "-o", str(tmp_path / "m")]
    assert run(app, [*fit, "--exportable", "--effort", "fast"]).exit_code == 0
    exported = run(app, ["export", str(tmp_path / "m"), "-o", str(tmp_path / "p.js")])
    assert exported.exit_code == 0, exported.output
    assert run(app, [*fit, "--method", "committee"]).exit_code == 0
    refused = run(app, ["export", str(tmp_path / "m"), "-o", str(tmp_path / "p.js")])
    assert refused.exit_code != 0
    assert "etana fit --exportable" in " ".join(refused.output.split())


def test_it_is_true_or_false():
    with pytest.raises(InputError, match="exportable is 'yes'"):
        FrugalClassifier(exportable="yes").fit(*rows(1.0))
