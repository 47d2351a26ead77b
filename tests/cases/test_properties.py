"""Whatever happens to a case, in whatever order: the same belief, nothing paid twice, budgets kept, the same replay."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clinic import NAMES, finish
from etana import checks

VALUES = st.sampled_from([-1.5, -0.3, 0.4, 1.1, 2.4])
# Fitted classifiers do not change when a case is played, so that examples may share them.
MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def results(draw):
    """Values of some features, and another order of the same."""
    features = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    values = {feature: draw(VALUES) for feature in features}
    return values, draw(st.permutations(features))


KINDS = st.sampled_from(["answer", "empty", "told", "free", "unavailable", "undo"])
EVENTS = st.lists(st.tuples(KINDS, st.sampled_from(NAMES), VALUES), max_size=8)


def play(case, events):
    """Let events happen as far as they make sense."""
    for kind, feature, value in events:
        known = {e.feature for e in case.history}
        if kind in ("answer", "empty") and case.next_feature is not None:
            case.observe(value if kind == "answer" else None)
        elif kind == "told" and feature not in known and case.situation.fits(case.price_of(feature)):
            case.observe(value, feature=feature)
        elif kind == "free" and feature not in known:
            case.observe(value, feature=feature, price=0)
        elif kind == "unavailable" and feature not in known:
            case.unavailable(feature)
        elif kind == "undo" and any(e.came != "known" for e in case.history):
            case.undo()
    return case


@MANY
@given(results())
def test_the_order_in_which_results_come_in_does_not_matter(clf, given_results):
    values, order = given_results
    at_once = clf.start(known=values)
    backwards = clf.start(known={feature: values[feature] for feature in order})
    # The feature that is asked for first is told last: it would be an answer, which belongs to the questions.
    first = clf.start().next_feature
    one_by_one = clf.start(known={first: values[first]} if first in values else None)
    for feature in order:
        if feature != first and feature != one_by_one.next_feature:
            one_by_one.observe(values[feature], feature=feature, price=0)
        elif feature != first:
            one_by_one = clf.start(known=values)
            break
    for other in (backwards, one_by_one):
        assert other.posterior.tobytes() == at_once.posterior.tobytes()
        assert (other.next_feature, other.label, other.cost) == (at_once.next_feature, at_once.label, 0.0)


@MANY
@given(results())
def test_naive_bayes_takes_answers_and_results_alike(fitted, given_results):
    values, order = given_results
    for name in ("etana", "adaptive-bayes"):
        case = fitted[name].start()
        for feature in order:
            case.observe(values[feature], feature=feature)
        assert case.posterior == pytest.approx(fitted[name].start(known=values).posterior, abs=1e-12)


@MANY
@given(EVENTS, st.sampled_from([None, 0.0, 0.012, 0.05]), st.booleans())
def test_whatever_happens(clf, events, budget, with_known):
    case = play(clf.start(known={"age": 0.4} if with_known else None, max_cost=budget), events)
    finish(case, dict.fromkeys(NAMES, 0.4))
    features = [e.feature for e in case.history if e.came != "unavailable"]
    assert len(set(features)) == len(features), "a feature is known, and charged, once"
    assert case.cost == pytest.approx(sum(e.price for e in case.history))
    assert case.cost <= (np.inf if budget is None else budget * (1 + 1e-9))
    assert all(e.price == 0.0 for e in case.history if e.came in ("known", "unavailable"))
    again = clf.model_.replay(json.loads(json.dumps(case.record())))
    assert again.history == case.history
    assert again.posterior.tobytes() == case.posterior.tobytes()
    assert (again.cost, again.label, again.stopped_by) == (case.cost, case.label, case.stopped_by)
    assert again.record() == case.record()


@MANY
@given(EVENTS)
def test_undo_is_as_if_it_had_not_happened(clf, events):
    case = clf.start()
    for event in events:
        before = case.history, case.posterior.tobytes(), case.next_feature, case.cost
        n = len(case.history)
        play(case, [event])
        if len(case.history) > n:
            case.undo()
            assert (case.history, case.posterior.tobytes(), case.next_feature, case.cost) == before
            play(case, [event])


@pytest.mark.parametrize("known", [None, ["age"], ["mri", "crp"], ["bilirubin"]])
@pytest.mark.parametrize("budget", [None, 0.0, 0.012, 0.03, 0.07])
def test_a_batch_is_asked_as_cases_are(clf, rows, known, budget):
    checks.check_case_and_batch(clf, rows[0][:20], budget, known)
