"""Laws that every policy obeys, as functions that anyone can run on a policy, a solver or a classifier of their own.

Each function's docstring is its law. A check returns nothing and raises :class:`AssertionError`, naming the beliefs
or numbers at fault.

==========================  ===========================================================================================
:data:`POLICY_CHECKS`       take the solution of a stopping problem
:data:`SOLVER_CHECKS`       take a solver and a problem: how solutions change with the problem
:data:`MODEL_CHECKS`        take a fitted classifier, or its model, and rows
:data:`CLASSIFIER_CHECKS`   take a classifier that is not fitted, rows and labels: how fits change with prices and data
==========================  ===========================================================================================

Solvers that hold a value only approximately pass their own ``tolerance``, in units of cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.beliefs.base import BinnedBeliefs
from etana.case import without_warnings
from etana.model import Model
from etana.policies import Solver, StoppingPolicy
from etana.problem import Problem
from etana.table import read_table
from etana.walks import generic

__all__ = [
    "CLASSIFIER_CHECKS",
    "MODEL_CHECKS",
    "POLICY_CHECKS",
    "SOLVER_CHECKS",
    "check_announced_cost",
    "check_any_walk",
    "check_at_once",
    "check_budget",
    "check_case_and_batch",
    "check_classifier_dearer_features",
    "check_classifier_scaling",
    "check_concave",
    "check_corners_stop",
    "check_dearer_features",
    "check_decision_is_cheapest",
    "check_free_features",
    "check_free_features_are_asked",
    "check_free_features_of_the_table",
    "check_known_columns",
    "check_labels_are_cheapest",
    "check_lower_bound",
    "check_model_expectation",
    "check_no_dearer_than_at_once",
    "check_own_data",
    "check_relabelling",
    "check_renamed_classes",
    "check_row_order",
    "check_scaling",
    "check_value_below_stopping",
]


def _beliefs(n_classes: int, n: int, seed: int) -> np.ndarray:
    """Beliefs from all over the simplex: some spread out, some near edges and corners."""
    rng = np.random.default_rng(seed)
    spread = rng.choice([0.1, 1.0, 5.0], size=n)
    return np.array([rng.dirichlet(np.full(n_classes, s)) for s in spread])


def _stages(problem: Problem, most: int = 8) -> np.ndarray:
    return np.unique(np.linspace(0, problem.n_features, num=most).astype(int))


def check_corners_stop(policy: StoppingPolicy) -> None:
    """Who is certain of the class asks for nothing more."""
    for k in _stages(policy.problem):
        stops = policy.stops(int(k), np.eye(policy.problem.n_classes))
        assert np.all(stops), f"stage {k}: does not stop at corner {int(np.argmin(stops))}"


def check_decision_is_cheapest(policy: StoppingPolicy, seed: int = 0) -> None:
    """The decision is the class with the least expected misclassification cost."""
    beliefs = _beliefs(policy.problem.n_classes, 50, seed)
    cost = beliefs @ policy.problem.misclassification_costs
    taken = cost[np.arange(len(beliefs)), policy.decide(beliefs)]
    worst = int(np.argmax(taken - cost.min(axis=1)))
    assert taken[worst] <= cost[worst].min() + 1e-12 * policy.problem.scale, f"belief {beliefs[worst]}"


def check_value_below_stopping(policy: StoppingPolicy, tolerance: float = 1e-9, seed: int = 0) -> None:
    """J_k <= g: the right to go on is never worth less than nothing."""
    beliefs = _beliefs(policy.problem.n_classes, 50, seed)
    stop = policy.problem.stop_cost(beliefs)
    for k in _stages(policy.problem):
        excess = policy.value(int(k), beliefs) - stop
        assert excess.max() <= tolerance, f"stage {k}: {excess.max()} at {beliefs[int(excess.argmax())]}"


def check_concave(policy: StoppingPolicy, tolerance: float = 1e-9, seed: int = 0) -> None:
    """J_k is concave: to be told which of two beliefs is the right one never costs more than not knowing."""
    n = policy.problem.n_classes
    a, b = _beliefs(n, 50, seed), _beliefs(n, 50, seed + 1)
    share = np.random.default_rng(seed).random((50, 1))
    for k in _stages(policy.problem):
        apart = share[:, 0] * policy.value(int(k), a) + (1 - share[:, 0]) * policy.value(int(k), b)
        lack = apart - policy.value(int(k), share * a + (1 - share) * b)
        assert lack.max() <= tolerance, f"stage {k}: {lack.max()} between {a[lack.argmax()]} and {b[lack.argmax()]}"


def check_lower_bound(policy: StoppingPolicy, tolerance: float = 1e-9) -> None:
    """No policy announces less than its own lower bound."""
    assert policy.lower_bound <= policy.expected_cost + tolerance, f"{policy.lower_bound} > {policy.expected_cost}"


def check_no_dearer_than_at_once(policy: StoppingPolicy, tolerance: float = 1e-9) -> None:
    """No policy announces more than deciding at once costs."""
    at_once = float(policy.problem.stop_cost(policy.problem.priors))
    allowed = at_once + 4.5 * policy.expectation.standard_error + tolerance
    assert policy.expected_cost <= allowed, f"{policy.expected_cost}, and deciding at once costs {at_once}"


def check_announced_cost(policy: StoppingPolicy, tolerance: float = 1e-9) -> None:
    """The cost that a policy announces is its average cost over instances drawn from its own model."""
    seen = policy.expectation
    allowed = 4.5 * seen.standard_error + tolerance
    off = abs(seen.cost - policy.expected_cost)
    assert off <= allowed, f"announced {policy.expected_cost}, average {seen.cost} (allowed difference {allowed})"


def check_free_features(solver: Solver, problem: Problem, seed: int = 0) -> None:
    """If features cost nothing, the decision is that of naive Bayes on all of them."""
    free = _copy(problem, feature_costs=np.zeros(problem.n_features))
    policy = solver.solve(free)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        belief, walked, stopped = free.priors, free.priors, False
        true_class = rng.choice(free.n_classes, p=free.priors)
        for k in range(free.n_features):
            stopped = stopped or policy.stops(k, walked)
            delta = free.stage(k)
            seen = delta[rng.choice(len(delta), p=delta[:, true_class] / delta[:, true_class].sum())]
            belief = belief * seen / (belief * seen).sum()
            walked = walked if stopped else belief
        cost = belief @ free.misclassification_costs
        taken = cost[policy.decide(walked)]
        assert taken <= cost.min() + 1e-9 * free.scale, f"decides {policy.decide(walked)} where costs are {cost}"


def check_scaling(solver: Solver, problem: Problem, factor: float = 4.0, seed: int = 0) -> None:
    """Prices and mistakes in another currency change nothing."""
    scaled = _copy(
        problem,
        feature_costs=problem.feature_costs * factor,
        misclassification_costs=problem.misclassification_costs * factor,
    )
    one, other = solver.solve(problem), solver.solve(scaled)
    beliefs = _beliefs(problem.n_classes, 50, seed)
    for k in _stages(problem):
        different = np.flatnonzero(one.stops(int(k), beliefs) != other.stops(int(k), beliefs))
        assert not different.size, f"stage {k}: another decision at {beliefs[different[0]]}"


def check_relabelling(solver: Solver, problem: Problem, tolerance: float = 1e-9) -> None:
    """Numbering the classes in another order changes nothing but the numbers."""
    order = np.roll(np.arange(problem.n_classes), 1)
    one, other = solver.solve(problem), solver.solve(problem.renumbered(order))
    off = abs(one.expected_cost - other.expected_cost)
    assert off <= tolerance, f"expected cost {one.expected_cost} becomes {other.expected_cost}"


def check_dearer_features(
    solver: Solver, problem: Problem, factor: float = 3.0, tolerance: float = 1e-9, within_gap: bool = False
) -> None:
    """Dearer features never mean more of them in expectation under the model.

    Prices that are close to each other are told apart ``within_gap`` only: a policy within d of the optimum at the
    price c and one within d' at c' could each be used at the other's price, and neither gains more than its gap by
    that, so that (c' - c)(n' - n) <= d + d'.
    """
    if not problem.feature_costs.all():
        return  # free features are asked at any price of the others, so only the paid ones can be compared
    dearer = _copy(problem, feature_costs=problem.feature_costs * factor)
    one, other = solver.solve(problem), solver.solve(dearer)
    cheap, dear = one.expectation, other.expectation
    allowed = 4.5 * np.hypot(cheap.n_features_standard_error, dear.n_features_standard_error) + tolerance
    if within_gap:
        allowed += (one.gap + other.gap) / float((dearer.feature_costs - problem.feature_costs).min())
    assert dear.n_features <= cheap.n_features + allowed, f"{cheap.n_features} became {dear.n_features}"


POLICY_CHECKS: tuple[Any, ...] = (
    check_corners_stop,
    check_decision_is_cheapest,
    check_value_below_stopping,
    check_concave,
    check_lower_bound,
    check_no_dearer_than_at_once,
    check_announced_cost,
)
"""The checks that take a policy."""

SOLVER_CHECKS: tuple[Any, ...] = (
    check_free_features,
    check_scaling,
    check_relabelling,
    check_dearer_features,
)
"""The checks that take a solver and a problem."""


def _copy(problem: Problem, **changes: np.ndarray) -> Problem:
    return Problem.from_cells(
        problem.priors,
        problem.cells,
        problem.offsets,
        changes.get("feature_costs", problem.feature_costs),
        changes.get("misclassification_costs", problem.misclassification_costs),
    )


# --- models


def _model(classifier: Any) -> Model:
    return classifier if isinstance(classifier, Model) else classifier.model_


def check_case_and_batch(classifier: Any, X: Any, budget: float | None = None, known: Any = None) -> None:
    """A case that is answered by hand ends as the same row does in a batch, bit for bit."""
    model, table = _model(classifier), read_table(X)
    walk = model.acquire(table, budget, known)

    def value_of(column: int, row: int) -> Any:
        value: Any = table.values(column, np.array([row]), model.levels)[0]
        if column in model.levels:  # a number there is the place of a label
            return model.levels[column][int(value)] if np.isfinite(value) else None
        return value

    for i in range(min(table.n_rows, 20)):
        with without_warnings():
            case = model.start(budget, {feature: value_of(model.column_of(feature), i) for feature in known or ()})
            while (column := case.next_column) is not None:
                case.observe(value_of(column, i))
        asked = [answer.feature for answer in case.history if answer.came in ("asked", "empty")]
        assert asked == [model.name_of(int(k)) for k in walk.features(i)], f"row {i}: asked {asked}"
        assert case.cost == walk.costs[i], f"row {i}: paid {case.cost}, not {walk.costs[i]}"
        assert case.posterior.tobytes() == walk.posteriors[i].tobytes(), f"row {i}: believes {case.posterior}"
        assert case.label == walk.labels[i], f"row {i}: decides {case.label}"


def check_known_columns(classifier: Any, X: Any) -> None:
    """Columns that are known are not asked and not paid, and cases agree with the batch, whatever the budget."""
    model, table = _model(classifier), read_table(X)
    table = table.rows(np.arange(min(table.n_rows, 10)))
    known = [model.name_of(int(k)) for k in model.columns[1::2][:2]]
    dearest = float(model.acquire(table).costs.max(initial=0.0))
    for budget in (None, 0.5 * dearest):
        check_case_and_batch(model, table, budget, known)
        walk = model.acquire(table, budget, known)
        again = {model.column_of(k) for k in known} & {int(k) for i in range(len(walk)) for k in walk.features(i)}
        assert not again, f"asks for the columns {sorted(again)}, which are known"


def check_any_walk(classifier: Any, X: Any) -> None:
    """The compiled walk of a pair of beliefs and policy is what the loop for any pair makes of the same rows."""
    model, table = _model(classifier), read_table(X)
    table = table.rows(np.arange(min(table.n_rows, 40)))
    walk = model.acquire(table)
    outcomes = generic.walk(model.beliefs, model.policy, table).outcomes
    assert (walk.n_features == outcomes.asked).all(), "other numbers of features"
    assert walk.posteriors.tobytes() == outcomes.posteriors.tobytes(), "other posteriors"
    assert (walk.labels == model.classes[outcomes.labels]).all(), "other labels"


def check_labels_are_cheapest(classifier: Any, X: Any) -> None:
    """The label is the class with the least expected misclassification cost; among equals, the first."""
    model = _model(classifier)
    walk = model.acquire(X)
    costs = walk.posteriors @ model.mistakes
    taken = costs[np.arange(len(walk)), np.searchsorted(model.classes, walk.labels)]
    excess = taken - costs.min(axis=1)
    assert excess.max(initial=0.0) <= 1e-9 * max(model.mistakes.max(), 1e-300), f"row {int(excess.argmax())}"


def check_budget(classifier: Any, X: Any) -> None:
    """Nobody is charged more than the budget, and who stays below it is not touched by it."""
    model = _model(classifier)
    free = model.acquire(X)
    for share in (0.0, 0.3, 0.7):
        budget = share * float(free.costs.max(initial=0.0))
        walk = model.acquire(X, budget)
        assert (walk.costs <= budget * (1 + 1e-9)).all(), f"budget {budget}: {walk.costs.max()} was charged"
        below = free.costs <= budget
        assert (walk.posteriors[below] == free.posteriors[below]).all(), f"budget {budget} changes who is below it"


def check_at_once(classifier: Any, X: Any = None) -> None:
    """A model announces no more than deciding at once costs."""
    model = _model(classifier)
    at_once = model.cost_at_once
    allowed = 4.5 * model.expectation.standard_error + 1e-9 * max(at_once, 1e-300)
    announced = model.expected_cost
    assert announced <= at_once + allowed, f"announced {announced}, and deciding at once costs {at_once}"


def check_model_expectation(classifier: Any, X: Any = None, draws: int = 300) -> None:
    """The announced cost is the average cost of instances that are drawn from the model's own beliefs."""
    model = _model(classifier)
    assert isinstance(model.beliefs, BinnedBeliefs), "these beliefs cannot be drawn from"
    seen = generic.simulate(model.beliefs, model.policy, seed=1, draws=draws)
    allowed = 4.5 * np.hypot(seen.standard_error, model.expectation.standard_error) + 1e-9
    off = abs(seen.cost - model.expected_cost)
    assert off <= allowed, f"announced {model.expected_cost}, average {seen.cost} (allowed difference {allowed})"


# --- classifiers


def _fit(classifier: Any, X: Any, y: Any, **parameters: Any) -> Any:
    from sklearn.base import clone

    return clone(classifier).set_params(**parameters).fit(X, y)


def check_free_features_are_asked(classifier: Any, X: Any, y: Any) -> None:
    """If features cost nothing, every feature is asked that the beliefs can make use of."""
    clf = _fit(classifier, X, y, feature_costs=0.0)
    walk, useful = clf.acquire(X), set(clf.model_.beliefs.columns.tolist())
    for i in range(min(len(walk), 30)):
        left = useful - set(walk.features(i).tolist())
        certain = walk.posteriors[i].max() == 1.0
        assert not left or certain, f"row {i} is not asked the columns {sorted(left)[:5]}"


def check_free_features_of_the_table(classifier: Any, X: Any, y: Any) -> None:
    """If features cost nothing, every feature of the table is asked that has more than one value."""
    clf, table = _fit(classifier, X, y, feature_costs=0.0), read_table(X)
    walk = clf.acquire(X)
    values = table.block(slice(None))
    useful = {k for k in range(table.n_features) if np.unique(values[:, k]).size > 1}
    left = useful - set(walk.features(0).tolist())
    assert not left, f"row 0 is not asked the columns {sorted(left)[:5]}"


def _same_walk(one: Any, other: Any, what: str, to: Any = None) -> None:
    labels = other.labels if to is None else to(other.labels)
    differ = np.flatnonzero((one.labels != labels) | (one.n_features != other.n_features))
    assert not differ.size, f"{what} changes {differ.size} of {len(one)} rows, the first is row {differ[0]}"


def check_classifier_scaling(classifier: Any, X: Any, y: Any, factor: float = 4.0) -> None:
    """Prices and mistakes in another currency change nothing."""
    clf = _fit(classifier, X, y)
    prices, mistakes = clf.model_.prices.full, clf.model_.mistakes
    one, other = (
        _fit(classifier, X, y, feature_costs=prices * f, misclassification_costs=mistakes * f) for f in (1.0, factor)
    )
    _same_walk(one.acquire(X), other.acquire(X), f"a currency {factor:g} times smaller")


def check_classifier_dearer_features(classifier: Any, X: Any, y: Any, factor: float = 5.0) -> None:
    """Dearer features never mean more of them in expectation."""
    clf = _fit(classifier, X, y)
    prices = clf.model_.prices.full
    cheap, dear = (clf.with_costs(feature_costs=prices * f).expectation_ for f in (1.0, factor))
    allowed = 4.5 * np.hypot(cheap.n_features_standard_error, dear.n_features_standard_error) + 1e-9
    assert dear.n_features <= cheap.n_features + allowed, f"{cheap.n_features} became {dear.n_features}"


def check_renamed_classes(classifier: Any, X: Any, y: Any) -> None:
    """Other names of the classes, in another order, change nothing but the names."""
    names = np.unique(y)
    backward = dict(zip(names.tolist(), [f"class {names.size - k:03d}" for k in range(names.size)], strict=True))
    back = {new: old for old, new in backward.items()}
    one = _fit(classifier, X, y).acquire(X)
    other = _fit(classifier, X, np.array([backward[label] for label in np.asarray(y).tolist()])).acquire(X)
    _same_walk(one, other, "renaming the classes", lambda labels: np.array([back[label] for label in labels]))


def check_row_order(classifier: Any, X: Any, y: Any) -> None:
    """Training rows in another order change nothing."""
    one = _fit(classifier, X, y).acquire(X)
    other = _fit(classifier, np.asarray(X)[::-1], np.asarray(y)[::-1]).acquire(X)
    _same_walk(one, other, "reversing the training rows")


def check_own_data(classifier: Any, X: Any, y: Any) -> None:
    """A fit changes nothing that it is given, and keeps nothing that the caller may change afterwards."""
    given, labels = np.array(X), np.array(y)
    clf = _fit(classifier, given, labels)
    assert np.array_equal(given, X, equal_nan=True), "the fit changed X"
    assert np.array_equal(labels, y), "the fit changed y"
    before, announced = clf.acquire(X), clf.with_costs(feature_costs=0.02).expected_cost_
    given[:], labels[:] = 0, labels[0]
    _same_walk(before, clf.acquire(X), "changing the caller's array after the fit")
    after = clf.with_costs(feature_costs=0.02).expected_cost_
    assert after == announced, f"with_costs announced {announced}, and {after} once the caller's array was changed"


MODEL_CHECKS: tuple[Any, ...] = (
    check_case_and_batch,
    check_known_columns,
    check_any_walk,
    check_labels_are_cheapest,
    check_budget,
    check_at_once,
    check_model_expectation,
)
"""The checks that take a fitted classifier, or its model, and rows."""

CLASSIFIER_CHECKS: tuple[Any, ...] = (
    check_free_features_are_asked,
    check_free_features_of_the_table,
    check_classifier_scaling,
    check_classifier_dearer_features,
    check_renamed_classes,
    check_row_order,
    check_own_data,
)
"""The checks that take a classifier that is not fitted, rows and labels."""
