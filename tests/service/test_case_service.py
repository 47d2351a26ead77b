"""The case service without HTTP: cases go as a Case goes, and what does not fit is refused in words."""

import math

import numpy as np
import pytest
from hostile import HOSTILE, HOSTILE_LEVELS

import etana
from etana.errors import InputError
from etana.modelfile import load_model
from etana.service.case_service import CaseService
from etana.service.errors import Busy, Conflict, NotFound
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.store import Store


@pytest.fixture(scope="module")
def cases(folder):
    store = Store(":memory:", 100.0, 1000)
    yield CaseService(Models([folder]), store, Limits(rows=200))
    store.close()


def test_a_case_says_what_the_case_in_memory_says(cases, folder, data):
    X, _ = data["hostile"]
    model = load_model(folder / "hostile.etana")
    for i in range(60):
        case, view = model.start(0.01), cases.start("hostile", 0.01)
        while True:
            assert (view.label, view.cost, view.stopped_by) == (case.label, case.cost, case.stopped_by)
            assert [b.probability for b in view.posterior] == case.posterior.tolist()
            assert [b.label for b in view.posterior] == model.classes.tolist()
            assert view.expected_cost == case.expected_cost
            assert view.expected_remaining == case.expected_cost - case.cost
            assert view.explanation == case.explain()
            assert [(s.feature, s.price, s.meaning) for s in view.history] == [
                (a.feature, a.price, a.meaning) for a in case.history
            ]
            assert cases.get(view.id) == view
            if case.next_feature is None:
                break
            assert view.question.name == case.next_feature
            value = X.iloc[i][case.next_feature]
            value = None if isinstance(value, float) and math.isnan(value) else value
            value = value.item() if isinstance(value, np.generic) else value
            case.observe(value)
            view = cases.answer(view.id, view.question.name, value, view.revision)
        assert view.decided
        assert cases.store.get(view.id).status == "decided"


def test_a_question_tells_what_can_be_answered(cases):
    question = cases.start("hostile").question
    assert (question.name, question.kind) == (HOSTILE, "category")
    assert sorted(question.categories) == sorted(HOSTILE_LEVELS)
    assert question.low is question.high is None
    number = cases.start("wine").question
    assert (number.kind, number.categories) == ("number", None)
    assert number.low < number.high
    assert number.price == 0.02


def test_undo_goes_back_to_the_same_state(cases):
    first = cases.start("wine")
    second = cases.answer(first.id, "flavanoids", 2.0)
    back = cases.undo(first.id, second.revision)
    assert back.revision == 2
    assert (back.question, back.posterior, back.cost, back.history) == (first.question, first.posterior, 0.0, [])
    with pytest.raises(Conflict, match="none to take back"):
        cases.undo(first.id)


def test_what_does_not_fit_the_case_is_a_conflict(cases):
    case = cases.start("wine")
    with pytest.raises(Conflict, match="asks for 'flavanoids' and was told 'alcohol'"):
        cases.answer(case.id, "alcohol", 1.0)
    with pytest.raises(Conflict, match="revision 0, not 5"):
        cases.answer(case.id, "flavanoids", 1.0, revision=5)
    done = cases.start("wine", max_cost=0.0)
    assert done.stopped_by == "budget"
    with pytest.raises(Conflict, match="asks for nothing"):
        cases.answer(done.id, "flavanoids", 1.0)
    cases.delete(case.id)
    for act in (cases.get, cases.undo, cases.delete, lambda i: cases.answer(i, "flavanoids", 1.0)):
        for unknown in (case.id, "", "x" * 10_000, "é\x00/../", "\ud800"):
            with pytest.raises(NotFound, match="no such case"):
                act(unknown)


@pytest.mark.parametrize(
    ("model", "value", "said"),
    [
        ("wine", "2.0", "must be a number"),
        ("wine", True, "must be a number"),
        ("wine", math.nan, "finite"),
        ("wine", math.inf, "finite"),
        ("wine", 10**400, "range of 64-bit"),
        ("wine", [1.0], "a number, text"),
        ("hostile", 3, "must be text"),
        ("hostile", False, "must be text"),
        ("hostile", {"a": 1}, "a number, text"),
    ],
)
def test_a_value_of_a_wrong_kind_is_refused_and_changes_nothing(cases, model, value, said):
    case = cases.start(model)
    with pytest.raises(InputError, match=said):
        cases.answer(case.id, case.question.name, value)
    assert cases.get(case.id) == case
    with pytest.raises(InputError, match=f"row 0: .*{said}"):
        cases.classify([{case.question.name: value}], model)


def test_an_unknown_level_is_no_evidence_as_in_a_table(cases, data):
    X, y = data["hostile"]
    row = X.iloc[[0]].copy()
    row[HOSTILE] = "never seen"
    clf = etana.ETANAClassifier(feature_costs=0.002, ordering=[4, 5, 0, 1, 2, 3], random_state=0).fit(X, y)
    case = cases.start("hostile")
    after = cases.answer(case.id, HOSTILE, "never seen")
    assert after.history[0].meaning == "no evidence"
    assert after.posterior == case.posterior
    walk = clf.acquire(row)
    batch = cases.classify([{k: plain(v) for k, v in row.iloc[0].items()}], "hostile")
    assert batch.rows[0].label == walk.labels[0]
    assert batch.rows[0].posterior == walk.posteriors[0].tolist()


def plain(value):
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def test_rows_by_name_by_position_and_with_holes_agree(cases):
    model = cases.models.get("wine").model
    row = dict.fromkeys(model.names, 1.0)
    by_name = cases.classify([row], "wine").rows[0]
    assert by_name == cases.classify([list(row.values())], "wine").rows[0]
    assert by_name == cases.classify([dict(reversed(row.items()))], "wine").rows[0]
    assert cases.classify([{}], "wine").rows[0] == cases.classify([[None] * 13], "wine").rows[0]
    assert cases.classify([], "wine").rows == []


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """A case service with a model that can ask for few of its features only: the others say nothing about the class."""
    path = tmp_path_factory.mktemp("narrow") / "narrow.etana"
    X, y = np.random.default_rng(0).normal(size=(60, 100)), np.arange(60) % 2
    X[:, 7] += 5 * y
    etana.save(etana.ETANAClassifier(feature_costs=0.2, ordering="error", temperature=1.0).fit(X, y), path)
    store = Store(":memory:", 100.0, 10)
    yield CaseService(Models([path]), store, Limits())
    store.close()


@pytest.mark.parametrize("odd", [math.nan, math.inf, 10**400, True, "1", [1.0]], ids=lambda v: str(v)[:4])
def test_one_odd_value_among_many_rows_is_found_wherever_it_is(narrow, odd):
    served = narrow.models.get()
    asked = served.model.columns.tolist()
    never = next(k for k in range(100) if k not in asked)
    for column in (asked[0], never):
        rows = [[float(k) for k in range(100)] for _ in range(100)]
        rows[57][column] = odd
        for sent in (rows, [dict(zip(served.features, row, strict=True)) for row in rows]):
            with pytest.raises(InputError, match=f"row 57: the value of '{served.features[column]}'"):
                narrow.classify(sent)


def test_values_too_large_to_add_up_are_still_read(cases):
    rows = [[1e308] * 13, [-1e308] * 13, [None] * 13, [0] * 13, [10**30] * 13]
    walk = cases.models.get("wine").model.acquire(np.array(rows, dtype=float))
    answers = cases.classify(rows, "wine").rows
    assert [a.posterior for a in answers] == walk.posteriors.tolist()
    assert [a.posterior for a in cases.classify(rows[1:2] + rows[3:], "wine").rows] == walk.posteriors[
        [1, 3, 4]
    ].tolist()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"alcool": 1.0}, "'alcool' is not a feature of model wine"),
        ([1.0], "row 0 has 1 values and the model 13"),
        (5, "row 0 is 5"),
        ("alcohol", "row 0 is 'alcohol'"),
        (None, "row 0 is None"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(cases, row, said):
    with pytest.raises(InputError, match=said):
        cases.classify([row], "wine")


def test_too_many_rows_are_refused(cases):
    with pytest.raises(InputError, match="201 rows were sent and 200 are allowed"):
        cases.classify([{}] * 201, "wine")


def test_rows_of_a_model_with_many_features_are_fewer(folder):
    store = Store(":memory:", 100.0, 10)
    cases = CaseService(Models([folder / "wine.etana"]), store, Limits(rows=100, cells=30))
    horizon = cases.models.get().model.columns.size
    assert len(cases.classify([{}] * (30 // horizon)).rows) == 30 // horizon
    with pytest.raises(InputError, match=f"{30 // horizon} are allowed at once"):
        cases.classify([{}] * (30 // horizon + 1))
    store.close()


def test_a_case_does_not_go_on_with_another_model(folder, tmp_path, data):
    import shutil

    shutil.copy(folder / "wine.etana", tmp_path)
    shutil.copy(folder / "digits.etana", tmp_path)
    store = Store(":memory:", 100.0, 1000)
    cases = CaseService(Models([tmp_path]), store, Limits())
    wine, digits = cases.start("wine"), cases.start("digits")
    etana.save(
        etana.ETANAClassifier(feature_costs=0.3, ordering="error", temperature=1.0).fit(*data["wine"]),
        tmp_path / "wine.etana",
    )
    (tmp_path / "digits.etana").unlink()
    cases.models.reload()
    for act in (cases.get, lambda i: cases.answer(i, "flavanoids", 1.0), cases.undo):
        with pytest.raises(Conflict, match="model wine has changed since the case was started; start again"):
            act(wine.id)
    with pytest.raises(Conflict, match="no longer served"):
        cases.get(digits.id)
    cases.delete(wine.id)
    shutil.copy(folder / "wine.etana", tmp_path / "wine.etana")
    shutil.copy(folder / "digits.etana", tmp_path)
    cases.models.reload()
    assert cases.get(digits.id) == digits  # the same file again: the case goes on
    store.close()


def test_no_case_beyond_the_limit(folder):
    store = Store(":memory:", 100.0, 2)
    cases = CaseService(Models([folder / "wine.etana"]), store, Limits())
    first = cases.start()
    cases.start()
    with pytest.raises(Busy, match="2 cases are kept"):
        cases.start()
    cases.delete(first.id)
    assert cases.start().question
    store.close()


def test_a_wide_model_takes_no_memory_for_columns_it_never_asks(folder, tmp_path):
    import tracemalloc

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20_000)).astype(np.float32), np.arange(60) % 2
    X[:, 7] += 5 * y
    etana.save(
        etana.ETANAClassifier(feature_costs=0.2, ordering="error", temperature=1.0).fit(X, y), tmp_path / "wide.etana"
    )
    store = Store(":memory:", 100.0, 2)
    cases = CaseService(Models([tmp_path]), store, Limits())
    cases.classify([{}], "wide")
    tracemalloc.start()
    assert len(cases.classify([{"7": 4.0}] * 10_000).rows) == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # 10,000 x 20,000 numbers would be 1,600 MB
    store.close()
