"""What a case is expected to cost, against every branch of every tree: known values, what cannot be had, budgets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etana import Binner, Model, Problem
from etana.beliefs import NaiveBayes
from etana.costs import ResolvedCosts
from etana.policies import FixedOrder
from etana.policies.bounds import best_solver
from problems import optimum, random_problem

SEEDS = st.integers(0, 10**6)


def model_of(problem: Problem) -> Model:
    """A model whose beliefs are those of the problem; value v of a feature is the number v."""
    n_values = int(np.diff(problem.offsets).max())
    binner = Binner.from_edges([np.arange(n_values - 1) + 0.5] * problem.n_features)
    beliefs = NaiveBayes(binner, problem.cells, problem.priors)
    none = np.full(problem.n_features, -1)
    prices = ResolvedCosts(problem.feature_costs, problem.feature_costs, none)
    solution = best_solver(problem.n_classes).solve(problem)
    policy = FixedOrder(np.arange(problem.n_features), solution, prices, problem.misclassification_costs)
    return Model(beliefs, policy, np.arange(problem.n_classes))


def part_of(problem: Problem, stages, priors) -> Problem:
    stages = np.array(stages, dtype=np.int64)
    cells = [problem.stage(k) for k in stages.tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(c) for c in cells], dtype=np.int64)]).astype(np.int64)
    flat = np.concatenate([np.empty((0, problem.n_classes)), *cells])
    return Problem.from_cells(priors, flat, offsets, problem.feature_costs[stages], problem.misclassification_costs)


def followed(case) -> float:
    """What a case is expected to pay from here on, by giving it every answer."""
    column = case.next_column
    if column is None:
        return case.stop_cost
    total = case.next_price
    for code, chance in enumerate(case.knowledge.likelihoods(column)[0] @ case.posterior):
        if chance > 0:
            total += chance * followed(case.observe(float(code)))
            case.undo()
    return total


def situation_of(rng, problem):
    """Some stages known with values that can come, some that cannot be had, and the rest."""
    kind = rng.integers(0, 3, size=problem.n_features)
    belief, known = problem.priors, {}
    for k in np.flatnonzero(kind == 0).tolist():
        cells = problem.stage(k)
        code = int(rng.choice(len(cells), p=cells @ belief / (cells @ belief).sum()))
        known[k] = float(code)
        belief = belief * cells[code] / (belief @ cells[code])
    return known, np.flatnonzero(kind == 1).tolist(), np.flatnonzero(kind == 2), belief


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_two_classes_pay_the_optimum_of_what_is_left(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n_classes=2, most_features=5)
    known, barred, left, belief = situation_of(rng, problem)
    case = model_of(problem).start(known=known)
    for column in barred:
        case.unavailable(column)
    least = optimum(part_of(problem, left, belief))
    tolerance = 1e-4 * problem.scale
    assert case.expected_cost == pytest.approx(least, abs=tolerance)
    assert followed(case) == pytest.approx(least, abs=tolerance)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_more_classes_stay_within_the_announced_gap(seed):
    """Over all that may be known: the mean cost is within the gap of the solution that is used."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n_classes=3, most_features=4)
    _, barred, left, _ = situation_of(rng, problem)
    given_stages = [k for k in range(problem.n_features) if k not in barred and k not in left]
    model = model_of(problem)
    paid, least = 0.0, 0.0

    def over_values(stages, known, weights):
        nonlocal paid, least
        if weights.sum() == 0:
            return
        if not stages:
            case = model.start(known=known)
            for column in barred:
                case.unavailable(column)
            paid += weights.sum() * followed(case)
            least += optimum(part_of(problem, left, weights / weights.sum())) * weights.sum()
            return
        for code, delta in enumerate(problem.stage(stages[0])):
            over_values(stages[1:], {**known, stages[0]: float(code)}, weights * delta)

    over_values(given_stages, {}, problem.priors)
    rest = model.policy._rest
    columns = np.array([*given_stages, *left.tolist()], dtype=np.int64)
    prices = np.concatenate([np.zeros(len(given_stages)), problem.feature_costs[left]])
    gap = rest.solution(columns, prices).gap if left.size else 0.0
    assert least - 1e-9 <= paid <= least + gap + 1e-6 * problem.scale


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.floats(0, 1))
def test_a_budget_is_kept_and_what_fits_is_worth_no_more(seed, share):
    """Never more than the budget on any branch; no stop while one feature that fits would pay for itself."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n_classes=2, most_features=5)
    budget = share * float(problem.feature_costs.sum())
    model = model_of(problem)

    def check(case):
        assert case.cost <= budget * (1 + 1e-9)
        column = case.next_column
        if column is None:
            if case.stopped_by == "budget":
                belief, known = case.posterior, set(case.knowledge.known)
                for k in set(range(problem.n_features)) - known:
                    price = problem.feature_costs[k]
                    if case.cost + price <= budget:
                        ahead = ((problem.stage(k) * belief) @ problem.misclassification_costs).min(axis=1).sum()
                        assert price + ahead >= case.stop_cost - 1e-4 * problem.scale
            return
        for code, chance in enumerate(case.knowledge.likelihoods(column)[0] @ case.posterior):
            if chance > 1e-12:
                check(case.observe(float(code)))
                case.undo()

    check(model.start(max_cost=budget))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_plan_is_the_best_set_that_fits_and_never_rises_with_the_budget(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n_classes=2, most_features=4)
    model, costs = model_of(problem), problem.feature_costs
    free = np.flatnonzero(costs == 0).tolist()
    paid = np.flatnonzero(costs > 0).tolist()
    last = np.inf
    for share in (0.0, 0.2, 0.5, 0.8, 1.0):
        budget = share * float(costs.sum())
        sets = [free + list(s) for n in range(len(paid) + 1) for s in combinations(paid, n)]
        fitting = [s for s in sets if costs[s].sum() <= budget * (1 + 1e-12)]
        least = min(optimum(part_of(problem, s, problem.priors)) for s in fitting)
        planned = model.within_budget(budget)
        assert planned.expected_cost == pytest.approx(least, abs=1e-4 * problem.scale)
        assert followed(planned.start()) == pytest.approx(least, abs=1e-4 * problem.scale)
        assert planned.expected_cost <= last
        last = planned.expected_cost
