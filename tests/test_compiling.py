"""What waits for a compilation, and what does not."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

from etana.kernels import rules
from etana.kernels._cache import _Announcement
from etana.kernels.rules import _CLASSES, _TESTS, interval_stops, interval_stops_rows, make_rule, stops, stops_rows


def compilation(function):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def own():
    """A compilation of one of the package's kernels."""
    return compilation(rules.normalise.py_func)


def test_no_garbage_is_collected_while_kernels_are_compiled(own):
    listener = _Announcement()
    assert gc.isenabled()
    listener.on_start(own)
    listener.on_start(compilation(np.sum))  # what the kernel calls
    assert not gc.isenabled()
    listener.on_end(compilation(np.sum))
    assert not gc.isenabled()
    listener.on_end(own)
    assert gc.isenabled()


def test_other_peoples_kernels_are_compiled_as_they_were():
    listener = _Announcement()
    listener.on_start(compilation(np.sum))
    assert gc.isenabled()
    listener.on_end(compilation(np.sum))
    assert gc.isenabled()


def test_who_does_without_collection_is_left_without_it(own):
    listener = _Announcement()
    gc.disable()
    try:
        listener.on_start(own)
        listener.on_end(own)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_rule_has_the_class_and_the_test_of_its_kind():
    """A loop is compiled for the class of the rule: one class for two kinds would take the test of the first."""
    kinds = [rules.NEVER, rules.INTERVAL, rules.ALPHA, rules.FITTED, rules.LINEAR, rules.GRID_NEAREST]
    kinds.append(rules.GRID_INTERPOLATE)
    assert kinds == list(range(len(_CLASSES))) == list(range(len(_TESTS)))
    for kind in kinds:
        rule = make_rule(kind, np.zeros((1, 2)), np.zeros((1, 1), np.int64), np.zeros(1), np.zeros((2, 2)))
        assert type(rule) is _CLASSES[kind]
        assert _CLASSES[kind].__doc__ in (f"Of kind {name}." for name, value in vars(rules).items() if value == kind)
    assert len(set(_CLASSES)) == len(kinds)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_the_comparison_of_intervals_is_that_of_the_loops(stage):
    """Also at the ends of an interval, for classes that are ruled out, and beyond the last stage."""
    table = np.array([[-1.0, 2.0], [0.5, 0.5]])
    rng = np.random.default_rng(0)
    logs = np.concatenate([rng.normal(size=(50, 2)), [[0.0, -1.0], [0.0, 2.0], [-np.inf, 0.0], [0.0, -np.inf]]])
    found = interval_stops_rows(table, stage, logs)
    assert found.tolist() == [interval_stops(table, stage, a, b) for a, b in logs]
    rule = make_rule(rules.INTERVAL, table, np.zeros((1, 1), np.int64), np.ones(3), 1 - np.eye(2))
    out = np.empty(len(logs), dtype=bool)
    stops_rows(rule, stage, logs, out)
    assert out.tolist() == found.tolist()
    assert [stops(*rule, stage, row, np.empty(2), np.empty(2)) for row in logs] == found.tolist()
    assert 0 < found.sum() < len(found) or stage > 0
