"""A policy tree, and a single order without chances of answers, can be read and drawn."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from etana import CommitteeClassifier, SequentialClassifier, load, save
from etana.beliefs.committee import Split
from etana.plots import GraphDisplay
from etana.policies.outline import certainty
from etana.reading import branches, can_be_read, decided_from, export_text
from etana.report import make_report
from gated_rows import gated

mpl.use("Agg")


@pytest.fixture(scope="module")
def tree():
    X, y = gated()
    clf = CommitteeClassifier(feature_costs=0.01, max_features=3).fit(
        pd.DataFrame(X, columns=list("abcdef")), np.array(["no", "yes"])[y]
    )
    assert clf.n_regions_ == 2
    return clf


@pytest.fixture(scope="module")
def line():
    """One order, in which some stop before others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = y[:, None] + rng.normal(size=(400, 3))
    return SequentialClassifier(feature_costs=0.03).fit(X, y), X, y


def test_a_tree_is_read_gate_by_gate_and_order_by_order(tree):
    states = list(branches(tree.model_, 3, 0.0))
    gate, *rest = states
    assert (tree.feature_names_in_[gate.asks], gate.depth, gate.asked) == ("d", 0, pytest.approx(1.0))
    heads = [state for state in rest if state.answer]
    assert [states[head.parent] for head in heads] == [gate, gate]
    assert sum(head.reach for head in heads) == pytest.approx(1.0)
    assert {tree.feature_names_in_[head.asks] for head in heads} == {"a", "b"}
    assert heads[0].answer.startswith("≤ ")
    assert heads[1].answer.endswith(" or missing")
    for state in rest:
        if not state.answer:
            before = states[state.parent]
            assert state.goes_on_from(before)
            assert state.reach == before.asked >= state.asked


def test_shares_are_those_of_the_rows(tree):
    """Fresh rows are asked each column as often as the outline says, within what chance allows."""
    X, _ = gated(4000, seed=1)
    walk = tree.acquire(pd.DataFrame(X, columns=list("abcdef")))
    asked = np.bincount(np.concatenate([walk.features(i) for i in range(len(X))]), minlength=6) / len(X)
    told = np.zeros(6)
    for state in branches(tree.model_, 3, 0.0):
        told[state.asks] += state.asked
    np.testing.assert_allclose(told, asked, atol=0.06)


def test_rows_stop_where_the_outline_says(line):
    clf, X, _ = line
    steps = clf.model_.policy.outline(clf.model_.beliefs)
    knowledge = clf.model_.beliefs.begin(len(X))
    for step in steps:
        stops, sure = clf.model_.policy.act(knowledge).stops, knowledge.posteriors
        assert stops[(sure >= step.sure).any(axis=1)].all()
        # And a little below it somebody goes on.
        for i in range(2):
            below = np.insert([1 - step.sure[i] + 0.004], i, step.sure[i] - 0.004)
            assert not clf.rule_.stops(step.parent + 1, below)
        knowledge = knowledge.after(step.asks, X[:, step.asks])
    assert [step.asks for step in steps] == clf.feature_order_[: len(steps)].tolist()
    assert [step.asked for step in steps] == pytest.approx(clf.expectation_.reach[1 : len(steps) + 1])
    assert steps[-1].asked < steps[0].asked


def test_certainty_by_hand():
    belief = np.array([0.2, 0.3, 0.5])
    assert certainty(lambda p: p.max(axis=1) >= 0.8, belief) == pytest.approx([0.8, 0.8, 0.8], abs=0.003)
    assert certainty(lambda p: p[:, 0] > 0.999, belief).tolist() == [1.0, 2.0, 2.0]
    assert certainty(lambda p: np.ones(len(p), bool), np.array([1.0, 0.0])).tolist() == [0.0, 0.0]
    assert decided_from(["a", "b"], np.array([0.8, 0.9])) == "80% a or 90% b"
    assert decided_from(["a", "b"], np.array([0.8, 0.8])) == "80%"
    assert decided_from(["a", "b", "c"], np.array([0.7, 0.9, 0.8])) == "70% to 90%, by class"
    assert decided_from(["a", "b"], np.array([0.8, 2.0])) == "never: it is free"


def test_splits_in_words(tree):
    words = tree.model_.beliefs.words_of
    assert words(Split(0, -np.inf, 1.25, 1, 2)) == ("≤ 1.25", "> 1.25 or missing")
    assert words(Split(0, 1.25, np.inf, 1, 2)) == ("≥ 1.25", "< 1.25 or missing")
    assert words(Split(0, 1.0, 2.0, 1, 2)) == ("1 to 2", "another or missing")


def test_text(tree, line):
    first, *rest = export_text(tree.model_, least=0.0).splitlines()
    assert first.startswith("ask 'd' (price 0.01, 100% are asked, decides from ")
    assert [text[:4] for text in rest if "ask" in text[:60] and "|--" in text] == ["|-- ", "|-- "]
    assert all(text.startswith(("|-- ", "|   then '")) for text in rest)
    lines = export_text(line[0].model_, least=0.0).splitlines()
    assert [text.split()[0] for text in lines] == ["ask", *["then"] * (len(lines) - 1)]


def test_cut_short_and_rare(tree):
    (only,) = branches(tree.model_, 0, 0.0)
    assert only.cut
    assert all(state.reach >= 0.2 for state in branches(tree.model_, 3, 0.2))


def test_nothing_to_ask_is_drawn_too():
    rng = np.random.default_rng(0)
    clf = SequentialClassifier(max_features=0).fit(rng.normal(size=(20, 2)), np.arange(20) % 2)
    assert can_be_read(clf.model_)
    assert export_text(clf.model_) == "decide"
    assert words_of(GraphDisplay.from_estimator(clf)) == ["decide"]


def words_of(display):
    words = [text.get_text() for text in display.figure_.findobj(mpl.text.Text)]
    mpl.pyplot.close(display.figure_)
    return [text for text in words if text]


def test_pictures(tree, line, tmp_path):
    display = GraphDisplay.from_estimator(tree, least=0.0)
    words = words_of(display)
    assert any(text.startswith("d?") for text in words)
    assert words.count("ask in this order") == 2
    assert {"a", "b"} <= set(words)
    # A card has room of its own: none stands on another.
    tops = sorted({place for column, place in display.positions.tolist() if column == 1})
    assert len(tops) == 2
    assert tops[1] - tops[0] > 1
    assert words_of(GraphDisplay.from_estimator(line[0])).count("ask in this order") == 1
    save(tree, tmp_path / "m")
    again = load(tmp_path / "m")
    assert export_text(again.model_, least=0.0) == export_text(tree.model_, least=0.0)
    assert np.array_equal(GraphDisplay.from_estimator(again, least=0.0).positions, display.positions)
    mpl.pyplot.close("all")


def test_the_report_and_the_service_draw_the_tree(tree, tmp_path):
    from etana.service.pages.pictures import _draw

    assert b"ask in this order" in _draw(tree.model_)
    X, y = gated(80, seed=2)
    make_report(tree, pd.DataFrame(X, columns=list("abcdef")), np.array(["no", "yes"])[y], tmp_path / "r.html")
    assert "ask in this order" in (tmp_path / "r.html").read_text()


def test_a_case_of_the_tree_is_explained(tree):
    case = tree.start()
    case.observe(1.0)
    assert case.next_feature == "b"
    assert "next in the order of its region" in str(case.explain())
