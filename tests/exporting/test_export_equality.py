"""Every exported form decides as the model does: the same labels, features and costs, posteriors to 1e-9."""

import shutil

import numpy as np
import pytest
import runners
from samples import WAYS, sample

from etana.exporting.plan import KINDS, plan_of

FEW = [
    ("breast_cancer", "etana"), ("breast_cancer", "thresholds"), ("breast_cancer", "adaptive"), ("wine", "uneven"),
    ("wine", "grid"), ("iris", "published"), ("clinic3", "interpolated"), ("wine+gaps", "adaptive groups"),
    ("clinic2", "groups"), ("clinic3", "etana"), ("clinic3", "adaptive"), ("clinic15", "groups"), ("digits", "etana"),
]  # fmt: skip
RUN = {"c": runners.in_c, "javascript": runners.in_node, "python": runners.in_python, "json": runners.by_document}
NEEDS = {"c": "gcc", "javascript": "node"}


def check(found: runners.Decisions, model, rows, max_cost=None) -> None:
    walk = model.acquire(rows, max_cost)
    assert found.labels == walk.labels.tolist()
    asked = [[model.name_of(column) for column in walk.features(i)] for i in range(len(rows))]
    assert found.features == asked
    assert np.array_equal(found.costs, walk.costs)
    assert np.abs(found.posteriors - walk.posteriors).max() <= 1e-9


@pytest.mark.parametrize("target", RUN)
@pytest.mark.parametrize(("name", "way"), FEW)
def test_decides_as_the_model(name, way, target, tmp_path):
    if target in NEEDS and shutil.which(NEEDS[target]) is None:
        pytest.skip(f"{NEEDS[target]} is not installed")
    clf, rows = sample(name, way)
    rows = rows[-200:]
    check(RUN[target](clf, rows, tmp_path), clf.model_, rows)


@pytest.mark.parametrize("target", RUN)
@pytest.mark.parametrize(("name", "way"), [("clinic2", "groups"), ("clinic3", "adaptive")])
def test_a_budget_is_kept(name, way, target, tmp_path):
    if target in NEEDS and shutil.which(NEEDS[target]) is None:
        pytest.skip(f"{NEEDS[target]} is not installed")
    clf, rows = sample(name, way)
    for max_cost in (0.0, 0.03):
        check(RUN[target](clf, rows[:100], tmp_path, max_cost), clf.model_, rows[:100], max_cost)


def test_step_by_step_is_as_by_row(tmp_path):
    clf, rows = sample("clinic3", "etana")
    check(runners.in_node(clf, rows[:50], tmp_path, step=True), clf.model_, rows[:50])


def test_the_few_have_every_way_and_every_stop_test():
    assert {way for _, way in FEW} == set(WAYS)
    plans = [plan_of(sample(*one).clf.model_) for one in FEW]
    assert {plan.stages.kind for plan in plans if plan.stages} == set(KINDS.values())
