"""The exact and the points solver against brute force, and at the sizes they are made for."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from etana import ETANAClassifier, Problem, checks
from etana.errors import CostWarning, InputError, SolverError
from etana.policies import ExactSolver, PointsSolver, solver_for
from etana.policies.bounds import AskingPolicy
from etana.policies.points import FittedPolicy
from problems import carried_out, optimum, random_problem


@pytest.mark.parametrize("seed", range(10))
def test_brute_force(seed):
    """1,000 random problems: bounds hold, the announced cost is the policy's, and it is the optimum."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        problem = random_problem(rng)
        true = optimum(problem)
        solvers = [PointsSolver()] + [ExactSolver()] * (problem.n_classes == 2)
        for solver in solvers:
            policy = solver.solve(problem)
            promise = 1e-5 * problem.scale
            assert policy.lower_bound <= true + 1e-9
            assert true - 1e-9 <= policy.expected_cost <= true + promise
            assert carried_out(problem, policy) == pytest.approx(true, abs=promise)
            assert policy.value(0, problem.priors) == pytest.approx(true, abs=promise)
            assert policy.expectation.cost == pytest.approx(true, abs=promise)


def test_one_feature_by_hand():
    """One feature, two values: asking saves 0.5 - 0.15 and costs 0.05."""
    problem = Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.05)
    for solver in (ExactSolver(), PointsSolver()):
        policy = solver.solve(problem)
        assert policy.expected_cost == pytest.approx(0.05 + 0.5 * 0.2 + 0.5 * 0.1, abs=1e-9)
        assert not policy.stops(0, [0.5, 0.5])
        assert policy.stops(0, [0.95, 0.05])
        assert policy.stops(1, [0.5, 0.5])
    dear = Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.36)
    assert ExactSolver().solve(dear).expected_cost == pytest.approx(0.5)


def _skewed_problem(rng):
    """Rare classes, dear mistakes, and prices that are small beside what is at stake."""
    k, v = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    likelihoods = rng.dirichlet(np.full(v, rng.choice([0.3, 1.0, 3.0])), size=(k, 2)).transpose(0, 2, 1)
    rare = 10 ** rng.uniform(-8, -0.3)
    priors = np.array([1 - rare, rare])[:: rng.choice([1, -1])]
    mistakes = np.array([[0, 10 ** rng.uniform(-3, 6)], [10 ** rng.uniform(-3, 6), 0]])
    at_stake = (priors @ mistakes).min()
    return Problem(priors, likelihoods, at_stake * 10 ** rng.uniform(-4, 0, size=k) * (rng.random(k) > 0.1), mistakes)


@pytest.mark.parametrize("seed", range(5))
def test_skewed_costs_against_brute_force(seed):
    """The tolerance is a share of the cost, however rare a class and however dear its mistakes."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        problem = _skewed_problem(rng)
        policy, true = ExactSolver().solve(problem), optimum(problem)
        at_stake = (problem.priors @ problem.misclassification_costs).min()
        allowed = ExactSolver().tolerance * max(true, 1e-4 * at_stake)
        assert policy.lower_bound <= true + 1e-3 * allowed
        assert true - 1e-3 * allowed <= policy.expected_cost <= policy.lower_bound + allowed
        assert carried_out(problem, policy) == pytest.approx(policy.expected_cost, abs=allowed)


def test_one_in_a_million():
    """Sixty-four weak tests at a price of 1 are not worth it where deciding at once costs 1."""
    weak = np.tile([[[0.6, 0.4], [0.4, 0.6]]], (64, 1, 1))
    policy = ExactSolver().solve(Problem([1 - 1e-6, 1e-6], weak, 1, [[0, 100], [1e6, 0]]))
    assert policy.expected_cost == pytest.approx(1.0, rel=1e-12)
    assert policy.expectation.cost == pytest.approx(1.0, rel=1e-12)
    rare = ExactSolver().solve(Problem([1 - 1e-4, 1e-4], weak, 0.1, [[0, 100], [1e6, 0]]))
    assert 0 <= rare.gap <= ExactSolver().tolerance * rare.expected_cost
    seen = rare.expectation
    assert rare.expected_cost == pytest.approx(seen.cost, abs=4.5 * seen.standard_error)


def test_thresholds_by_hand():
    """With one feature the continuation interval ends where asking and stopping cost the same."""
    problem = Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.05)
    low, high = 1 / (1 + np.exp(-ExactSolver().solve(problem).thresholds[0]))
    # x < peak: 0.05 + 0.1 (1 - x) + 0.2 x = x;  x > peak: 0.05 + 0.1 (1 - x) + 0.2 x = 1 - x
    assert low == pytest.approx(0.15 / 0.9)
    assert high == pytest.approx(0.85 / 1.1)


def test_exact_on_1_400_000_stages():
    """Memory of two numbers per stage, and the stated tolerance; the horizon is found, not solved through."""
    rng = np.random.default_rng(0)
    likelihoods = rng.dirichlet(np.ones(2), size=(1_400_000, 2)).transpose(0, 2, 1)
    policy = ExactSolver().solve(Problem([0.4, 0.6], likelihoods, 0.001))
    assert 0 <= policy.gap <= 1e-5
    assert policy.horizon < 2000
    assert policy.expected_cost == pytest.approx(policy.expectation.cost, abs=5 * policy.expectation.standard_error)
    free = ExactSolver().solve(Problem([0.4, 0.6], likelihoods, 0.0))
    assert free.horizon == 1_400_000
    assert free.gap <= 1e-5
    assert not free.stops(1_000_000, [1e-12, 1 - 1e-12])


def test_horizon_is_part_of_the_gap():
    """Where every stage matters a little, a short horizon shows as a gap, and the bounds still enclose."""
    rng = np.random.default_rng(1)
    weak = 0.5 + 0.1 * rng.standard_normal((300, 2))
    likelihoods = np.stack([weak, 1 - weak], axis=1)
    problem = Problem([0.5, 0.5], likelihoods, 1e-3)
    exact = ExactSolver().solve(problem)
    points = PointsSolver(n_points=200).solve(problem)
    assert points.lower_bound <= exact.expected_cost
    assert points.expected_cost >= exact.lower_bound - 4 * points.certificate.cost_error
    short = PointsSolver(n_points=200, min_reach=0.9).solve(problem)
    assert short.horizon < points.horizon
    assert short.gap > points.gap
    assert short.lower_bound <= exact.expected_cost


def test_points_agree_with_exact_where_both_serve():
    rng = np.random.default_rng(2)
    likelihoods = rng.dirichlet(np.ones(4), size=(40, 2)).transpose(0, 2, 1)
    problem = Problem([0.3, 0.7], likelihoods, 0.01, [[0, 5], [1, 0]])
    exact, points = ExactSolver().solve(problem), PointsSolver().solve(problem)
    assert isinstance(points, FittedPolicy)
    error = points.certificate.cost_error
    assert exact.lower_bound - 4 * error <= points.expected_cost <= exact.expected_cost * 1.01 + 4 * error
    assert points.lower_bound <= exact.expected_cost
    assert points.gap <= 0.01 * points.expected_cost


def test_the_certificate_allows_for_chance():
    """The mean of the drawn bounds is above the optimum in a good share of seeds; what is certified never is."""
    rng = np.random.default_rng(7)
    problem = Problem([0.3, 0.7], rng.dirichlet(np.ones(4), size=(30, 2)).transpose(0, 2, 1), 0.02)
    optimal = ExactSolver(tolerance=1e-7).solve(problem).expected_cost
    solved = [PointsSolver(n_points=100, random_state=seed).solve(problem) for seed in range(40)]
    bare = np.array([policy.certificate.bound for policy in solved]) + problem.floor_cost
    assert (bare > optimal).mean() >= 0.1
    assert max(policy.lower_bound for policy in solved) <= optimal
    # It allows for no more than it must: the bound stays close.
    assert min(policy.lower_bound for policy in solved) > 0.99 * optimal


@pytest.fixture(scope="module")
def wine_problem():
    X, y = load_wine(return_X_y=True)
    return ETANAClassifier(1e-5, ordering="error", temperature=1.0).fit(X, y).problem_


@pytest.mark.parametrize("factor", [1.2, 1.8, 3.0])
def test_dearer_features_are_not_asked_more_than_the_gap_allows(wine_problem, factor):
    """Prices of 1e-5 and a little more, where stops differ by the errors of the fits."""
    checks.check_dearer_features(PointsSolver(), wine_problem, factor, within_gap=True)


def test_the_gap_does_not_excuse_everything(wine_problem):
    """A solver that asks for everything at the dearer price is caught."""

    with pytest.raises(AssertionError, match="became"):
        checks.check_dearer_features(_AsksMoreWhenDear(), wine_problem, 2000.0, within_gap=True)


class _AsksMoreWhenDear:
    """Asks for nothing at the cheap price, and for all that fits a horizon at the dear one; says that it is right."""

    def solve(self, problem):
        policy = AskingPolicy(problem, 0 if problem.feature_costs[0] < 1e-4 else problem.n_features)
        vars(policy)["lower_bound"] = policy.expected_cost
        return policy


def _naive_bayes_problem(reference, name, cost=0.01):
    """The paper's set-up on a reference data set: V = N equal-width bins, error order."""
    z = reference.data(name)
    y = z["y"].astype(int)
    clf = ETANAClassifier(feature_costs=cost, n_bins=int(y.max()) + 1, binning="uniform")
    clf.set_params(solver=_Nothing()).fit(z["X"].astype(float), y)
    return clf.problem_


class _Nothing:
    def solve(self, problem):
        return PointsSolver().solve(Problem(problem.priors, np.empty((0, 1, problem.n_classes)), np.empty(0)))


# The made data below has six classes and hundreds of features, and takes a second.
@pytest.mark.parametrize(
    "name", ["mll", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lung2_1543", "car"))]
)
def test_certified_gap_under_one_percent(reference, name):
    """3, 5 and 11 classes, thousands of features: a certified relative gap below 1 %."""
    policy = PointsSolver().solve(_naive_bayes_problem(reference, name))
    assert policy.gap < 0.01 * policy.expected_cost
    seen = policy.expectation
    assert abs(seen.cost - policy.expected_cost) < 4.5 * seen.standard_error


def test_certified_gap_on_made_data():
    """The same without reference data: 6 classes, 300 features of 5 values."""
    rng = np.random.default_rng(3)
    likelihoods = rng.dirichlet(np.full(5, 0.8), size=(300, 6)).transpose(0, 2, 1)
    policy = PointsSolver().solve(Problem(np.full(6, 1 / 6), likelihoods, 0.01))
    assert isinstance(policy, FittedPolicy)
    assert policy.gap < 0.015 * policy.expected_cost


def test_seeds():
    rng = np.random.default_rng(4)
    problem = Problem(np.full(3, 1 / 3), rng.dirichlet(np.ones(5), size=(50, 3)).transpose(0, 2, 1), 0.01)
    one, two, other = (PointsSolver(random_state=s).solve(problem) for s in (7, 7, 8))
    assert one.rule.table.tobytes() == two.rule.table.tobytes()
    assert one.expected_cost == two.expected_cost
    assert one.rule.table.tobytes() != other.rule.table.tobytes()


def test_impossible_values_and_classes():
    """Likelihoods of exactly zero, and a class that cannot occur."""
    likelihoods = np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]] * 3)
    problem = Problem([0.5, 0.5, 0.0], likelihoods, 0.01)
    policy = PointsSolver().solve(problem)
    assert policy.expected_cost == pytest.approx(0.01)
    two = Problem([0.5, 0.5], likelihoods[:, :, :2], 0.01)
    assert ExactSolver().solve(two).expected_cost == pytest.approx(0.01)


def test_no_decision_to_take():
    """One class, no features, or one decision that is always right: stop at once."""
    one = Problem([1.0], np.ones((3, 1, 1)), 0.1)
    none = Problem([0.5, 0.5], np.empty((0, 2, 2)), np.empty(0))
    with pytest.warns(CostWarning, match="deciding class 0 when class 1 is true costs 1"):
        same = Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.0, [[1, 2], [1, 2]])
    assert PointsSolver().solve(one).stops(0, [1.0])
    for problem, cost in ((none, 0.5), (same, 1.0)):
        for solver in (ExactSolver(), PointsSolver()):
            policy = solver.solve(problem)
            assert policy.expected_cost == pytest.approx(cost)
            assert policy.expected_n_features == 0


def test_errors_name_the_cure():
    three = Problem([0.2, 0.3, 0.5], np.full((2, 2, 3), 0.5), 0.1)
    with pytest.raises(SolverError, match=r"two classes.*has 3.*'points'"):
        ExactSolver().solve(three)
    with pytest.raises(InputError, match="tolerance is -1"):
        ExactSolver(tolerance=-1).solve(Problem([0.5, 0.5], np.full((1, 2, 2), 0.5), 0.1))
    with pytest.raises(InputError, match="n_points is 1"):
        PointsSolver(n_points=1).solve(three)
    with pytest.raises(InputError, match="random_state is None; it must be a whole number >= 0"):
        PointsSolver(random_state=None).solve(three)
    with pytest.raises(InputError, match="solver is 'best'"):
        solver_for("best", three)
    policy = PointsSolver().solve(three)
    with pytest.raises(InputError, match="stage is 3"):
        policy.stops(3, [0.2, 0.3, 0.5])
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        policy.stops(0, [0.5, 0.5])
    with pytest.raises(InputError, match="not all zero"):
        policy.decide([0.0, 0.0, 0.0])


@pytest.mark.parametrize("mistakes", [[[0, 1e17], [1, 0]], [[0, 1e308], [1e308, 0]], [[0, 1], [1e-300, 0]]])
def test_mistakes_of_absurd_size(mistakes):
    """A policy comes out, and its bounds are honest about what it does not know."""
    policy = ExactSolver().solve(Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.05, mistakes))
    assert 0 <= policy.lower_bound <= policy.expected_cost <= policy.problem.stop_cost([0.5, 0.5]) * (1 + 1e-9)
