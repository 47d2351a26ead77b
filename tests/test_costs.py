"""Every accepted form of prices, and every form that is refused, with words that help."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etana import FeatureCosts, Problem
from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.errors import CostError, CostWarning, InputError
from etana.policies import ExactSolver

NAMES = ["age", "glucose", "insulin"]


def resolve(given, names=NAMES):
    return resolve_feature_costs(given, 3, names)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (2, [2, 2, 2]),
        (0.5, [0.5, 0.5, 0.5]),
        (0, [0, 0, 0]),
        (np.float32(0.5), [0.5, 0.5, 0.5]),
        (np.array(3), [3, 3, 3]),
        (Decimal("0.25"), [0.25, 0.25, 0.25]),
        ([1, 2.5, 0], [1, 2.5, 0]),
        ((1, 2, 3), [1, 2, 3]),
        (np.array([1, 2, 3], dtype=np.int8), [1, 2, 3]),
        ([Fraction(1, 2), Decimal(2), 3], [0.5, 2, 3]),
        ({"insulin": 3, "age": 1.0, "glucose": np.float64(2)}, [1, 2, 3]),
        (FeatureCosts([1, 2, 3]), [1, 2, 3]),
        (FeatureCosts(4), [4, 4, 4]),
    ],
)
def test_accepted_forms(given, want):
    prices = resolve(given)
    for array in (prices.full, prices.discounted):
        assert array.dtype == np.float64
        assert array.tolist() == want
    assert prices.group.tolist() == [-1, -1, -1]
    assert prices.in_order(np.array([2, 0, 1])).tolist() == [want[2], want[0], want[1]]


def test_the_callers_array_is_not_kept():
    given = np.array([1.0, 2.0, 3.0])
    prices = resolve(given)
    given[:] = -1
    assert prices.full.tolist() == [1, 2, 3]
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    mistakes = resolve_mistakes(matrix, 2)
    matrix[:] = -1
    assert mistakes.tolist() == [[0, 1], [1, 0]]


FORMS = "must be a number, one number per feature, a mapping from feature name to number, or etana.FeatureCosts"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-0.01, "feature_costs of feature 'age' is -0.01; a price must be a finite number >= 0"),
        ([1, np.nan, 1], "feature_costs of feature 'glucose' is nan; a price must be"),
        ([1, 1, np.inf], "feature_costs of feature 'insulin' is inf"),
        ([1, 2], r"feature_costs has shape \(2,\), but there are 3 features; pass one number, or an array"),
        ([[1, 2, 3]], r"feature_costs has shape \(1, 3\)"),
        ([], r"feature_costs has shape \(0,\)"),
        ("cheap", f"feature_costs {FORMS}; got 'cheap'"),
        ("0.5", FORMS),
        (["1", "2", "3"], FORMS),
        ([1, "2", 3], FORMS),
        (np.array(["1", "2", "3"]), FORMS),
        (b"1", FORMS),
        (None, f"{FORMS}; got None"),
        ([1, None, 3], FORMS),
        (1j, FORMS),
        (np.array([1j, 2, 3]), FORMS),
        ([1, [2], 3], FORMS),
        ({1, 2, 3}, FORMS),
        (object(), FORMS),
        (np.array(["2020"], dtype="M8[Y]"), FORMS),
        ({"age": 1, "glucose": 2}, "feature_costs has no price for 'insulin'; give every feature a price"),
        ({"age": 1}, "no price for 'glucose', 'insulin'"),
        ({"agee": 1}, "feature_costs names 'agee', which the data does not have; its features are 'age', 'glucose'"),
        ({"age": -1, "glucose": 1, "insulin": 1}, "feature_costs of feature 'age' is -1.0"),
        ({"age": "1", "glucose": 1, "insulin": 1}, r"feature_costs\['age'\] must be a number; got '1'"),
        ({"age": None, "glucose": 1, "insulin": 1}, r"feature_costs\['age'\] must be a number; got None"),
        ({"age": [1, 2], "glucose": 1, "insulin": 1}, r"feature_costs\['age'\] is \[1, 2\]; a feature has one price"),
        (FeatureCosts(-1), "feature_costs of feature 'age' is -1"),
    ],
)
def test_refused_forms(given, message):
    with pytest.raises(CostError, match=message):
        resolve(given)


def test_names_are_needed_for_a_mapping():
    for prices in ({"age": 1}, FeatureCosts(1, groups={"age": "a"}), FeatureCosts(1, [1, 1, 1], {"age": 1})):
        with pytest.raises(CostError, match="is a mapping by feature name, but the data has no names; fit on a data"):
            resolve(prices, names=None)
    with pytest.raises(CostError, match="of feature 1 is -2"):
        resolve([1, -2, 3], names=None)


def test_long_lists_of_names_are_cut_short():
    names = [f"f{k}" for k in range(100)]
    with pytest.raises(CostError) as error:
        resolve_feature_costs({"f0": 1}, 100, names)
    assert len(str(error.value)) < 150
    with pytest.raises(CostError) as error:
        resolve_feature_costs({"nothing": 1}, 100, names)
    assert len(str(error.value)) < 250


def test_groups():
    costs = {"age": 1, "glucose": 17.6, "insulin": 22.8}
    prices = resolve(FeatureCosts(costs, {"glucose": "blood", "insulin": "blood"}, {"glucose": 15.5, "insulin": 20.7}))
    assert prices.group.tolist() == [-1, 0, 0]
    assert prices.in_order(np.array([0, 1, 2])).tolist() == [1, 17.6, 20.7]
    assert prices.in_order(np.array([2, 0, 1])).tolist() == [22.8, 1, 15.5]
    assert prices.in_order(np.array([1])).tolist() == [17.6]
    assert prices.total([2, 1]) == pytest.approx(22.8 + 15.5)
    assert prices.total([]) == 0
    as_arrays = resolve(FeatureCosts([1, 17.6, 22.8], [None, "blood", "blood"], [1, 15.5, 20.7]))
    np.testing.assert_array_equal(as_arrays.discounted, prices.discounted)
    np.testing.assert_array_equal(as_arrays.group, prices.group)


def test_a_group_without_a_discount_changes_no_price():
    prices = resolve(FeatureCosts([1, 2, 3], ["a", "a", "a"]))
    assert prices.in_order(np.array([2, 1, 0])).tolist() == [3, 2, 1]


def test_one_discounted_price_is_for_those_that_share():
    prices = resolve(FeatureCosts([1, 5, 6], [np.nan, "blood", "blood"], 2))
    assert prices.group.tolist() == [-1, 0, 0]
    assert prices.discounted.tolist() == [1, 2, 2]


@pytest.mark.parametrize("missing", [None, np.nan, np.float32("nan"), float("nan"), pd.NA, pd.NaT])
def test_a_missing_label_is_no_group(missing):
    for groups in ([missing, "blood", missing], {"age": missing, "glucose": "blood", "insulin": missing}):
        prices = resolve(FeatureCosts([1, 5, 6], groups, 0.5))
        assert prices.group.tolist() == [-1, 0, -1]
        assert prices.in_order(np.array([0, 2, 1])).tolist() == [1, 6, 5]
    column = pd.Series([missing, "blood", missing], dtype=object)
    assert resolve(FeatureCosts(1, column)).group.tolist() == [-1, 0, -1]


def test_a_problem_prices_groups_in_its_own_order():
    """A feature that is worth its discounted price alone, behind one that pays the fee."""
    likelihoods = np.array([[[0.8, 0.3], [0.2, 0.7]], [[0.7, 0.1], [0.3, 0.9]]])
    prices = FeatureCosts([0.1, 0.3], groups=["blood", "blood"], discounted=[0.02, 0.01])
    problem = Problem([0.5, 0.5], likelihoods, prices)
    assert problem.feature_costs.tolist() == [0.1, 0.01]
    plain = Problem([0.5, 0.5], likelihoods, [0.1, 0.01])
    assert ExactSolver().solve(problem).expected_cost == ExactSolver().solve(plain).expected_cost
    turned = Problem([0.5, 0.5], likelihoods[::-1], FeatureCosts([0.3, 0.1], ["blood"] * 2, [0.01, 0.02]))
    assert turned.feature_costs.tolist() == [0.3, 0.02]


@given(data=st.data())
def test_group_fees_are_paid_once_in_any_order(data):
    n = data.draw(st.integers(1, 8))
    labels = data.draw(st.lists(st.sampled_from([None, "a", "b", 7]), min_size=n, max_size=n))
    full = data.draw(st.lists(st.integers(5, 9), min_size=n, max_size=n))
    less = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    bought, want = set(), []
    for k in order:
        want.append(less[k] if labels[k] is not None and labels[k] in bought else full[k])
        bought.add(labels[k])
    prices = resolve_feature_costs(FeatureCosts(full, labels, less), n)
    assert prices.in_order(np.array(order, dtype=np.int64)).tolist() == want
    assert prices.total(order) == sum(want)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FeatureCosts(1, discounted=0.5), "discounted prices were given without groups; pass groups="),
        (FeatureCosts(1, ["a", "a", None], 2), "discounted price 2 of feature 'age' is above its full price 1"),
        (FeatureCosts([1, 2, 3], ["a", "a", "a"], [1, 2, 4]), "discounted price 4 of feature 'insulin'"),
        (FeatureCosts(1, ["a", "a", "a"], -1), "discounted of feature 'age' is -1"),
        (FeatureCosts(1, ["a", "a", "a"], [0, np.nan, 0]), "discounted of feature 'glucose' is nan"),
        (FeatureCosts(1, ["a", "a", "a"], [0, 0]), r"discounted has shape \(2,\)"),
        (FeatureCosts(1, ["a", "a", "a"], "half"), "discounted must be .*got 'half'"),
        (FeatureCosts(1, ["a", "a", "a"], {"agee": 0}), "discounted names 'agee'"),
        (FeatureCosts(1, ["a", "a"]), "groups has 2 labels, but there are 3 features; give one for each"),
        (FeatureCosts(1, {"agee": "a"}), "groups names 'agee'"),
        (FeatureCosts(1, "abc"), "groups is 'abc'; it must be one label per feature"),
        (FeatureCosts(1, 3), "groups is 3; it must be one label per feature"),
        (FeatureCosts(1, [["a"], "b", "c"]), r"the group of feature 'age' is \['a'\]; a label is text or a number"),
    ],
)
def test_refused_groups_and_discounts(given, message):
    with pytest.raises(CostError, match=message):
        resolve(given)


def test_feature_costs_compare_and_print():
    assert FeatureCosts([1, 2], ["a", None]) == FeatureCosts(np.array([1, 2]), ["a", None])
    assert FeatureCosts([1, 2]) != FeatureCosts([1, 3])
    assert FeatureCosts({"a": 1}) == FeatureCosts({"a": 1})
    assert FeatureCosts({"a": 1}) != FeatureCosts([1])
    assert FeatureCosts(1) != FeatureCosts(1, [None])
    assert FeatureCosts(1) != 1
    assert repr(FeatureCosts(1, ["a"], 0.5)) == "FeatureCosts(1, groups=..., discounted=...)"


def test_mistakes():
    assert resolve_mistakes(None, 3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert resolve_mistakes(None, 1).tolist() == [[0]]
    given = [[0, 5], [Decimal(1), 0]]
    assert resolve_mistakes(given, 2).tolist() == [[0, 5], [1, 0]]
    assert resolve_mistakes(np.full((2, 2), 3), 2).tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 1]], r"misclassification_costs has shape \(1, 2\), but there are 2 classes; pass an array of shape"),
        (1.0, r"misclassification_costs has shape \(\)"),
        (np.zeros((3, 3)), r"shape \(3, 3\)"),
        ([[0, -1], [1, 0]], r"misclassification_costs\[0, 1\] is -1.0; every entry must be a finite number >= 0"),
        ([[0, 1], [np.nan, 0]], r"misclassification_costs\[1, 0\] is nan"),
        ([[0, np.inf], [1, 0]], r"misclassification_costs\[0, 1\] is inf"),
        ("zero-one", "misclassification_costs must be None or an array of numbers; got 'zero-one'"),
        ([["0", "1"], ["1", "0"]], "must be None or an array of numbers"),
        ([[0, 1], [1]], "must be None or an array of numbers"),
        ([[0, None], [1, 0]], "must be None or an array of numbers"),
        ({"a": 1}, "must be None or an array of numbers"),
        (np.eye(2) * 1j, "must be None or an array of numbers"),
    ],
)
def test_refused_mistakes(given, message):
    with pytest.raises(CostError, match=message):
        resolve_mistakes(given, 2)


def test_a_mistake_cheaper_than_the_right_answer_draws_a_warning():
    with pytest.warns(
        CostWarning, match="deciding class 0 when class 1 is true costs 1, less than the right answer's 2"
    ):
        matrix = resolve_mistakes([[0, 5], [1, 2]], 2)
    assert matrix.tolist() == [[0, 5], [1, 2]]


def test_cost_errors_are_input_errors():
    assert issubclass(CostError, InputError)
    assert issubclass(CostError, ValueError)
