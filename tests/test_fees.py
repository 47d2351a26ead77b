"""Fees that are still to come: by a brute-force tree, by the model's own expectation, and by drawing."""

import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import etana
from etana import fees


def by_recursion(model, knowledge):
    """The obvious twin: every answer, to the end."""
    move = model.policy.act(knowledge)
    if move.stops[0]:
        return 0.0
    answers = model.beliefs.possibilities(knowledge, int(move.columns[0]))
    return float(move.prices[0]) + sum(one.chance * by_recursion(model, one.after) for one in answers)


@pytest.fixture(scope="module")
def iris():
    return etana.ETANAClassifier(0.05).fit(*load_iris(return_X_y=True)).model_


def test_every_branch_is_followed_while_they_are_few(iris):
    case = iris.start()
    right = by_recursion(iris, case.knowledge)
    assert case.expected_fees == pytest.approx(right, rel=1e-12)
    assert case.expected_fees == pytest.approx(0.05 * iris.expected_n_features, rel=1e-9)
    case.observe(1.4)
    assert case.expected_fees == pytest.approx(by_recursion(iris, case.knowledge), rel=1e-12)


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_instances_are_drawn_where_they_are_many(load):
    model = etana.ETANAClassifier(0.01, random_state=0).fit(*load(return_X_y=True)).model_
    case = model.start()
    drawn = fees._drawn(case, case.knowledge)
    assert drawn == pytest.approx(0.01 * model.expected_n_features, rel=0.05)
    assert drawn == fees._drawn(model.start(), case.knowledge)  # the same case says the same


def test_an_adaptive_model_is_drawn_too():
    # Prices at which the recursion, which follows every answer, does not go deep.
    model = etana.AdaptiveClassifier(0.03, random_state=0).fit(*load_wine(return_X_y=True)).model_
    case = model.start()
    assert fees._drawn(case, case.knowledge) == pytest.approx(by_recursion(model, case.knowledge), rel=0.1)
    assert 0 < case.expected_fees <= case.expected_cost


def test_a_decided_case_pays_no_more_and_one_without_chances_says_nothing(iris):
    case = iris.start(max_cost=0)
    assert (case.next_feature, case.expected_fees) == (None, 0.0)
    X, y = load_wine(return_X_y=True)
    assert etana.SequentialClassifier(feature_costs=0.02).fit(X, y).start().expected_fees is None
