"""One case as it happens: known values, results that nobody asked for, what cannot be had, undo and replay."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import etana
from clinic import NAMES, finish, patients
from etana import ETANAClassifier
from etana.binning import round_ranges
from etana.errors import InputError, PlausibilityWarning
from etana.table import read_table


def test_what_is_known_costs_nothing_and_is_not_asked(clf, rows):
    row = rows[0].iloc[3]
    case = clf.start(known={"age": row["age"], "crp": row["crp"]})
    assert case.cost == 0.0
    assert [(e.feature, e.price, e.came) for e in case.history] == [("age", 0.0, "known"), ("crp", 0.0, "known")]
    finish(case, row)
    asked = [e.feature for e in case.history if e.came == "asked"]
    assert not {"age", "crp"} & set(asked)
    assert len(asked) == case.n_asked
    assert case.cost == pytest.approx(sum(e.price for e in case.history))


def test_another_result_counts_as_if_it_had_been_known(clf, rows):
    row = rows[0].iloc[5]
    told = clf.start().observe(row["albumin"], feature="albumin", price=0)
    known = clf.start(known={"albumin": row["albumin"]})
    assert told.history[0].came == ("asked" if clf.start().next_feature == "albumin" else "volunteered")
    assert told.posterior.tobytes() == known.posterior.tobytes()
    assert told.next_feature == known.next_feature
    assert told.cost == known.cost == 0.0


def test_a_result_that_came_in_is_charged_at_its_price(clf, rows):
    row = rows[0].iloc[5]
    case = clf.start().observe(row["mri"], feature="mri")
    assert case.cost == 0.06
    assert clf.start().observe(row["mri"], feature="mri", price=0.03).cost == 0.03


def test_nothing_is_taken_twice(clf, rows):
    row = rows[0].iloc[5]
    case = clf.start(known={"age": row["age"]})
    with pytest.raises(InputError, match="known already"):
        case.observe(3.0, feature="age")
    with pytest.raises(InputError, match="known already"):
        case.unavailable("age")
    case.observe(row["crp"], feature="crp")
    with pytest.raises(InputError, match="known already"):
        case.observe(row["crp"], feature="crp")


def test_what_cannot_be_had_is_neither_charged_nor_asked_again(clf, rows):
    row, case = rows[0].iloc[7], clf.start()
    out = []
    while case.next_feature is not None and len(out) < 3:
        out.append(case.next_feature)
        case.unavailable(case.next_feature)
    assert case.cost == 0.0
    assert [e.came for e in case.history] == ["unavailable"] * len(out)
    finish(case, row)
    assert not set(out) & {e.feature for e in case.history if e.came == "asked"}
    with pytest.raises(InputError, match="marked as unavailable already"):
        case.unavailable(out[0])


def test_a_result_can_still_come_in_of_what_could_not_be_had(clf, rows):
    row = rows[0].iloc[7]
    late = clf.start().unavailable("mri").observe(row["mri"], feature="mri", price=0)
    at_once = clf.start().observe(row["mri"], feature="mri", price=0)
    assert late.posterior.tobytes() == at_once.posterior.tobytes()
    assert late.next_feature == at_once.next_feature


def test_empty_is_paid_for_and_unavailable_is_not(clf):
    case = clf.start()
    while case.next_price == 0.0:
        case.observe(0.3)
    feature, price, before = case.next_feature, case.next_price, case.cost
    assert case.observe(None).cost == before + price
    assert case.history[-1].came == "empty"
    assert case.undo().unavailable().cost == before
    assert case.history[-1][0] == feature


def test_undo_takes_any_event_back(clf, rows):
    row = rows[0].iloc[1]
    case = clf.start(known={"sex": row["sex"]}, max_cost=0.2)
    seen = [(case.posterior.tobytes(), case.cost, case.next_feature)]
    case.observe(row["crp"], feature="crp")
    seen.append((case.posterior.tobytes(), case.cost, case.next_feature))
    case.unavailable("bilirubin")
    seen.append((case.posterior.tobytes(), case.cost, case.next_feature))
    finish(case, row)
    while len(case.history) > 4:
        case.undo()
    while len(case.history) > 1:
        now = case.posterior.tobytes(), case.cost, case.next_feature
        if len(case.history) <= 3:
            assert now == seen[len(case.history) - 1]
        case.undo()
    assert (case.posterior.tobytes(), case.cost, case.next_feature) == seen[0]
    with pytest.raises(InputError, match="none to take back"):
        case.undo()


def test_undo_after_the_decision(clf, rows):
    case = finish(clf.start(), rows[0].iloc[1])
    asked = [e.feature for e in case.history]
    assert case.undo().next_feature == asked[-1]


def test_a_record_goes_through_json(clf, rows):
    row = rows[0].iloc[9]
    case = clf.start(known={"age": row["age"]}, max_cost=0.1).unavailable("bilirubin")
    case.observe(row["albumin"], feature="albumin", price=0)
    if case.next_feature is not None:
        case.observe(None)
    again = clf.model_.replay(json.loads(json.dumps(case.record())))
    assert again.history == case.history
    assert again.posterior.tobytes() == case.posterior.tobytes()
    assert (again.cost, again.next_feature, again.stopped_by) == (case.cost, case.next_feature, case.stopped_by)
    assert finish(again, row).history == finish(case, row).history


@pytest.mark.parametrize(
    ("record", "words"),
    [({}, "max_cost"), ({"max_cost": None, "events": [{"feature": "age"}]}, "came"),
     ({"max_cost": None, "events": [{"feature": "age", "value": 1, "price": 0, "came": "guessed"}]}, "guessed")],
)  # fmt: skip
def test_a_record_that_is_none_is_refused(fitted, record, words):
    with pytest.raises(InputError, match=words):
        fitted["etana"].model_.replay(record)


def test_suggestions_begin_with_the_next_feature(clf, rows):
    case = clf.start(known={"age": rows[0].iloc[0]["age"]})
    for _ in range(3):
        if case.next_feature is None:
            break
        best = case.suggestions(4)
        assert best[0].feature == case.next_feature
        assert best[0].price == case.next_price
        assert len({s.feature for s in best}) == len(best) <= 4
        assert not {s.feature for s in best} & {e.feature for e in case.history}
        savings = [s.saving for s in best[1:] if s.saving is not None]
        assert savings == sorted(savings, reverse=True)
        case.observe(rows[0].iloc[0][case.next_feature])
    assert finish(case, rows[0].iloc[0]).suggestions() == []
    with pytest.raises(InputError, match="whole number"):
        case.suggestions(0)


def test_what_a_suggestion_saves_is_what_going_on_saves(fitted):
    case = fitted["etana"].start()
    while case.next_price == 0.0:
        case.observe(0.0)
    first = case.suggestions(1)[0]
    assert first.saving == pytest.approx(case.stop_cost - case.move.onward[0], abs=1e-4)
    assert case.expected_cost == pytest.approx(case.cost + case.stop_cost - first.saving, abs=1e-4)


def test_beliefs_on_prefixes_say_what_waits_and_what_is_of_no_use(fitted, rows):
    clf = fitted["sequential"]
    order = [NAMES[k] for k in clf.feature_order_]
    last = order[-1]
    case = clf.start(known={last: 1.0})
    assert case.waiting == (last,)
    assert "Waiting for their turn in the order" in case.explain()
    # Once all before it are known or cannot be had, it is taken in, at no charge.
    before = case.posterior
    for feature in order[:-1]:
        case.unavailable(feature)
    assert case.waiting == ()
    assert not np.array_equal(case.posterior, before)
    assert case.cost == 0.0
    X, y = rows
    short = type(clf)(feature_costs=0.01, max_features=2).fit(X, y)
    (useless, *_) = set(NAMES) - {NAMES[k] for k in short.feature_order_}
    case = short.start(known={useless: 1.0})
    assert case.unused == (useless,)
    assert "Of no use to these beliefs" in case.explain()


def test_a_constant_column_is_of_no_use(rows):
    X, y = rows
    clf = ETANAClassifier(0.01).fit(X.assign(ward=1.0), y)
    case = clf.start(known={"ward": 1.0})
    assert case.unused == ("ward",)
    assert case.posterior == pytest.approx(clf.start().posterior)


def test_known_members_of_a_group_give_no_discount_unless_bought(clf, rows):
    row = rows[0].iloc[2]
    assert clf.start(known={"bilirubin": row["bilirubin"]}).price_of("albumin") == 0.02
    free = clf.start().observe(row["bilirubin"], feature="bilirubin", price=0)
    assert free.price_of("albumin") == 0.02
    paid = clf.start().observe(row["bilirubin"], feature="bilirubin")
    assert paid.price_of("albumin") == 0.005
    assert paid.observe(row["albumin"], feature="albumin").cost == 0.02 + 0.005


def test_ask_takes_known_values_and_a_budget(clf, rows):
    row = rows[0].iloc[11]
    done = clf.ask(lambda name: row[name], known={"crp": row["crp"]}, max_cost=0.02)
    assert done.next_feature is None
    assert done.cost <= 0.02
    assert done.history[0].came == "known"


@pytest.mark.parametrize(
    ("call", "words"),
    [(lambda clf: clf.start(known={"wine": 1}), "no feature 'wine'"), (lambda clf: clf.start(known=["age"]), "mapping"),
     (lambda clf: clf.start().observe(1, feature=3), "no feature 3"),
     (lambda clf: clf.start(known={"age": "old"}), "must be a number"),
     (lambda clf: clf.start().observe(1, price=-1), "price"),
     (lambda clf: clf.start().observe(1, price=True), "price"),
     (lambda clf: clf.start(max_cost=0.01).observe(1, feature="mri"), "left of the budget"),
     (lambda clf: clf.start(max_cost=-1), "max_cost")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(fitted, call, words):
    with pytest.raises(InputError, match=words):
        call(fitted["etana"])


def test_old_calls_keep_working(fitted):
    clf = fitted["etana"]
    case = clf.start(0.05)
    feature = case.next_feature
    assert case.observe(None).history[0][:2] == (feature, None)
    assert case.undo().cost == 0.0
    assert clf.ask(lambda name: None, 0.05).cost <= 0.05


def test_three_classes_take_known_values_too():
    X, y = patients(n_classes=3)
    clf = ETANAClassifier(0.01).fit(X, y)
    case = clf.start(known={"mri": 3.0})
    assert case.posterior[2] > clf.start().posterior[2]
    assert "mri" not in [e.feature for e in finish(case, X.iloc[0]).history if e.came == "asked"]


def test_what_is_known_to_be_missing_is_not_asked(clf, rows):
    case = clf.start(known={"age": None})
    assert case.history[0][:5] == ("age", None, 0.0, "missing", "known")
    assert case.posterior == pytest.approx(clf.start().posterior)
    assert "age" not in [e.feature for e in finish(case, rows[0].iloc[0]).history if e.came == "asked"]


def test_values_within_the_training_range_draw_no_warning(clf, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlausibilityWarning)
        finish(clf.start(known={"age": rows[0]["age"].max()}), rows[0].iloc[0])


def test_a_value_outside_of_the_training_range_is_taken_with_a_warning(clf, rows):
    low, high = clf.model_.beliefs.seen_range(5)
    assert low <= rows[0]["mri"].min() <= low + 0.02
    assert high - 0.02 <= rows[0]["mri"].max() <= high
    with pytest.warns(PlausibilityWarning, match=f"'mri' is 400, outside of its training range, {low:g} to {high:g}"):
        case = clf.start().observe(400.0, feature="mri", price=0)
    with pytest.warns(PlausibilityWarning, match="'mri'"):
        assert clf.start(known={"mri": -400.0}).history[0].value == -400.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clf.model_.replay(case.record()).posterior.tobytes() == case.posterior.tobytes()


def test_the_training_range_is_kept_in_files_and_grows_with_blocks(fitted, tmp_path):
    clf = fitted["etana"]
    etana.save(clf, tmp_path / "clf.etana")
    again = etana.load(tmp_path / "clf.etana")
    for k in range(len(NAMES)):
        assert again.model_.beliefs.seen_range(k) == clf.model_.beliefs.seen_range(k)
    X, y = patients()
    blocks = ETANAClassifier(0.01).partial_fit(X, y)
    bins = blocks.binner_
    blocks.partial_fit(X + 100, y)
    assert blocks.binner_.seen_range(0)[1] == pytest.approx(X["age"].max() + 100, abs=1.01)
    assert bins.seen_range(0) == pytest.approx((X["age"].min(), X["age"].max()), abs=0.02)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_array, lambda X: pd.DataFrame(X).convert_dtypes()])
def test_ranges_are_those_of_the_finite_numbers(make):
    X = np.array([[1.0, 0.0, np.nan, -2.0], [3.0, 0.0, np.nan, 0.0], [0.5, 4.0, np.nan, -5.0]])
    low, high = read_table(make(X)).ranges()
    assert low.tolist() == [0.5, 0.0, np.inf, -5.0]
    assert high.tolist() == [3.0, 4.0, -np.inf, 0.0]
    X[0, 0] = np.inf
    assert [end[0] for end in read_table(X).ranges()] == [0.5, 3.0]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_ranges_are_rounded_outwards(values):
    """No training value is given away, and none lies outside."""
    low, high = (np.array([end(values)]) for end in (min, max))
    down, up = round_ranges(low, high)
    assert down[0] <= low[0] <= high[0] <= up[0]
    width = max(high[0] - low[0], abs(high[0]) * 1e-3, 1e-290)
    assert up[0] - down[0] <= 1.05 * width + 4 * np.spacing(max(abs(low[0]), abs(high[0])))
