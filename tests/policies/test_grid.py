"""The grid solver against a brute-force tree, NumPy twins, and the outputs of the authors' program."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etana import threads
from etana.errors import InputError, SolverError
from etana.kernels import grid as kernels
from etana.kernels import rules
from etana.policies import grid
from etana.policies.grid import GridSolver
from etana.problem import Problem
from problems import optimum
from problems import random_problem as any_problem


def random_problem(rng: np.random.Generator, zeros: bool = False) -> Problem:
    n, k, v = rng.integers(2, 5), rng.integers(1, 5), rng.integers(2, 4)
    likelihoods = rng.dirichlet(np.ones(v), size=(k, n)).transpose(0, 2, 1)
    if zeros:
        likelihoods[0, :, 0] = np.eye(v)[0]
    mistakes = rng.uniform(0, 2, (n, n)) * (1 - np.eye(n)) + rng.uniform(0, 0.2, (n, 1))
    return Problem(rng.dirichlet(np.ones(n)), likelihoods, rng.uniform(0, 0.1, k), mistakes)


def all_points(n: int, resolution: int) -> np.ndarray:
    rows = [p for p in itertools.product(range(resolution + 1), repeat=n) if sum(p) == resolution]
    return np.array(rows, dtype=np.int64)


def rounded(belief: np.ndarray, resolution: int) -> tuple[int, ...]:
    """Twin of round_to_grid in decimals, for resolution 10: what the authors' program does."""
    assert resolution == 10
    near = [round(float(x), 1) for x in belief]
    parts = [round(10 * x) for x in near]
    excess = sum(parts) - 10
    moved = [float(x) - y for x, y in zip(belief, near)]
    for i in sorted(range(len(parts)), key=lambda i: moved[i] if excess > 0 else -moved[i])[: abs(excess)]:
        parts[i] -= np.sign(excess)
    return tuple(int(p) for p in parts)


def nearest_twin(problem: Problem) -> np.ndarray:
    """Costs to go by dictionaries, resolution 10, nearest."""
    points = [tuple(int(i) for i in p) for p in all_points(problem.n_classes, 10)]
    stop = {q: (np.array(q) / 10 @ problem.regrets).min() for q in points}
    value, table = stop, []
    for k in reversed(range(problem.n_features)):
        go = {}
        for q in points:
            go[q] = problem.feature_costs[k]
            for delta in problem.stage(k):
                child = np.array(q) / 10 * delta
                if child.sum() > 0:
                    go[q] += child.sum() * value[rounded(child / child.sum(), 10)]
        value = {q: min(stop[q], go[q]) for q in points}
        table.insert(0, [go[q] for q in points])
    return np.array(table)


def interpolated_twin(belief: np.ndarray, resolution: int, values: dict) -> float:
    """Interpolation by trying every Freudenthal triangle around the belief until one holds it."""
    n = len(belief)
    x = resolution * belief[::-1].cumsum()[::-1][1:]
    for base in itertools.product(*[sorted({int(np.floor(t)), int(np.ceil(t)) - 1}) for t in x]):
        for order in itertools.permutations(range(n - 1)):
            corners = [np.array(base, dtype=float)]
            for axis in order:
                corners.append(corners[-1] + np.eye(n - 1)[axis])
            system = np.vstack([np.array(corners).T, np.ones(n)])
            share = np.linalg.solve(system, np.append(x, 1.0))
            if share.min() > -1e-12:
                total = 0.0
                for weight, corner in zip(share, corners):
                    if weight > 1e-12:
                        tails = np.concatenate(([resolution], corner, [0]))
                        total += weight * values[tuple(int(t) for t in tails[:-1] - tails[1:])]
                return total
    raise AssertionError("no triangle holds the belief")


@pytest.mark.parametrize(("n", "resolution"), [(1, 4), (2, 1), (2, 10), (3, 5), (5, 3), (9, 2)])
def test_points_are_ranked_in_order(n, resolution):
    counts = grid._counts(n, resolution)
    points = np.empty((comb(resolution + n - 1, n - 1), n), dtype=np.int64)
    kernels.compositions(resolution, points)
    np.testing.assert_array_equal(points, all_points(n, resolution))
    assert [rules.grid_rank(p, counts) for p in points] == list(range(len(points)))
    assert counts.shape == (n + 1, resolution + 2)


def test_rounding_is_that_of_the_authors_program():
    rng = np.random.default_rng(0)
    parts = np.empty(3, dtype=np.int64)
    for _ in range(20_000):
        # Small fractions times grid points: halves, exact and by one bit, are common.
        w = rng.integers(0, 11, 3) * rng.integers(1, 24, 3) / 23
        if w.sum() > 0:
            rules.round_to_grid(w / w.sum(), 10, parts)
            assert tuple(parts) == rounded(w / w.sum(), 10)


@pytest.mark.parametrize("resolution", [1, 2, 7, 10, 33])
def test_rounding_keeps_the_sum_and_moves_less_than_one_step(resolution):
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 11):
        parts = np.empty(n, dtype=np.int64)
        for belief in rng.dirichlet(np.full(n, 0.3), 300):
            rules.round_to_grid(belief, resolution, parts)
            assert parts.sum() == resolution
            assert parts.min() >= 0
            assert np.abs(parts - resolution * belief).max() < 1


@pytest.mark.parametrize(("n", "resolution"), [(2, 7), (3, 4), (4, 3), (12, 2)])
def test_interpolation_is_exact_for_linear_functions(n, resolution):
    rng = np.random.default_rng(2)
    counts, slope = grid._counts(n, resolution), rng.normal(size=n)
    points = np.empty((comb(resolution + n - 1, n - 1), n), dtype=np.int64)
    kernels.compositions(resolution, points)
    values = points / resolution @ slope
    beliefs = np.vstack([rng.dirichlet(np.full(n, 0.2), 300), np.eye(n)])
    out = np.empty(len(beliefs))
    kernels.look_up(False, beliefs, resolution, values, counts, out)
    np.testing.assert_allclose(out, beliefs @ slope, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "resolution"), [(2, 6), (3, 4), (4, 3)])
def test_interpolation_against_its_twin(n, resolution):
    rng = np.random.default_rng(3)
    points, counts = all_points(n, resolution), grid._counts(n, resolution)
    values = rng.normal(size=len(points))
    named = {tuple(int(i) for i in p): v for p, v in zip(points, values)}
    for belief in rng.dirichlet(np.ones(n), 40):
        expected = interpolated_twin(belief, resolution, named)
        assert rules.grid_interpolate(belief, resolution, values, counts) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("resolution", [1, 3, 10, 12])
def test_both_lookups_read_the_value_of_a_grid_point_there(resolution):
    points, counts = all_points(3, resolution), grid._counts(3, resolution)
    values = np.random.default_rng(4).normal(size=len(points))
    for nearest in (True, False):
        out = np.empty(len(points))
        kernels.look_up(nearest, points / resolution, resolution, values, counts, out)
        np.testing.assert_allclose(out, values, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_nearest_against_its_twin(seed):
    problem = random_problem(np.random.default_rng(seed), zeros=seed % 2 == 1)
    policy = GridSolver(10).solve(problem)
    np.testing.assert_allclose(policy.rule.table, nearest_twin(problem), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_interpolation_never_exceeds_the_optimum(seed):
    rng = np.random.default_rng(100 + seed)
    problem = random_problem(rng, zeros=seed % 5 == 0)
    beliefs = np.vstack([problem.priors, rng.dirichlet(np.ones(problem.n_classes), 8)])
    for resolution in (1, 2, 5):
        policy = GridSolver(resolution, "interpolate").solve(problem)
        for stage in range(problem.n_features + 1):
            true = [optimum(problem, stage, b) for b in beliefs]
            assert (policy.value(stage, beliefs) <= np.array(true) + 1e-12).all()
        assert policy.expected_cost >= optimum(problem, 0, problem.priors) - 1e-12


def test_interpolation_converges_to_the_optimum():
    errors = []
    for seed in range(20):
        problem = random_problem(np.random.default_rng(200 + seed))
        true = optimum(problem, 0, problem.priors)
        errors.append([true - GridSolver(r, "interpolate").solve(problem).value(0, problem.priors) for r in (2, 8, 32)])
    coarse, middle, fine = np.mean(errors, axis=0)
    assert coarse > 3 * middle > 9 * fine
    assert np.max(errors, axis=0)[2] < 0.02


@pytest.mark.parametrize("lookup", ["nearest", "interpolate"])
def test_a_short_horizon_is_within_its_stated_error(lookup, monkeypatch):
    rng = np.random.default_rng(5)
    likelihoods = rng.dirichlet(np.ones(3), size=(300, 3)).transpose(0, 2, 1)
    problem = Problem([0.2, 0.3, 0.5], likelihoods, 0.02)
    solver = GridSolver(6, lookup)
    whole = solver.solve(problem)
    monkeypatch.setattr(grid, "_WHOLE", 0)
    monkeypatch.setattr(grid, "_FIRST_HORIZON", 4)
    short = solver.solve(problem)
    assert short.horizon < whole.horizon == 300
    assert 0 < short.truncation <= 1e-6
    error = short.value(0, problem.priors) - whole.value(0, problem.priors)
    assert -1e-15 <= error <= short.truncation + 1e-15
    assert whole.truncation == 0
    assert short.stops(short.horizon, problem.priors)


@pytest.mark.parametrize("lookup", ["nearest", "interpolate"])
def test_threads_give_the_same_bits(lookup, monkeypatch):
    rng = np.random.default_rng(3)
    problem = Problem(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3), (12, 4)).transpose(0, 2, 1), 0.01)
    alone = GridSolver(resolution=10, lookup=lookup).solve(problem)
    monkeypatch.setattr(grid, "_POINTS_PER_THREAD", 16)
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    several = GridSolver(resolution=10, lookup=lookup).solve(problem)
    assert np.array_equal(alone.rule.table, several.rule.table)


@pytest.mark.parametrize("lookup", ["nearest", "interpolate"])
def test_degenerate_problems(lookup):
    solver = GridSolver(5, lookup)
    one_class = Problem([1.0], np.full((2, 2, 1), 0.5), 0.1)
    assert solver.solve(one_class).expected_n_features == 0
    no_features = Problem([0.5, 0.5], np.empty((0, 2, 2)), 0.1)
    assert solver.solve(no_features).expected_cost == 0.5
    impossible_class = Problem([0.5, 0.5, 0.0], [[[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]], 0.01)
    policy = solver.solve(impossible_class)
    assert policy.expected_cost == pytest.approx(0.11)
    assert policy.stops(0, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("lookup", ["nearest", "interpolate"])
def test_free_features_are_all_asked(lookup):
    rng = np.random.default_rng(6)
    likelihoods = rng.dirichlet(np.ones(2), size=(6, 2)).transpose(0, 2, 1)
    policy = GridSolver(10, lookup).solve(Problem([0.4, 0.6], likelihoods, 0.0))
    assert policy.expected_n_features == pytest.approx(6)
    assert policy.expected_cost == pytest.approx(optimum(policy.problem, 0, policy.problem.priors))


def test_mistakes_that_no_decision_avoids_are_added_back():
    likelihoods = [[[0.9, 0.2], [0.1, 0.8]]]
    plain = GridSolver(10, "interpolate").solve(Problem([0.5, 0.5], likelihoods, 0.05))
    raised = GridSolver(10, "interpolate").solve(Problem([0.5, 0.5], likelihoods, 0.05, [[2, 3], [4, 3]]))
    np.testing.assert_allclose(raised.rule.table, plain.rule.table)
    assert raised.continuation(0, [0.5, 0.5]) == pytest.approx(plain.continuation(0, [0.5, 0.5]) + 2.5)


@pytest.mark.parametrize(
    "solver",
    [GridSolver(0), GridSolver(2.5), GridSolver(True), GridSolver(10, "linear"), GridSolver(tolerance=0)],
)
def test_bad_parameters_are_refused(solver):
    with pytest.raises(InputError, match=r"must be"):
        solver.solve(Problem([0.5, 0.5], [[[0.9, 0.2], [0.1, 0.8]]], 0.05))


def test_a_table_that_does_not_fit_is_refused_before_work():
    problem = Problem(np.full(40, 1 / 40), np.full((3, 2, 40), 0.5), 0.01)
    with pytest.raises(SolverError, match=r"d = 8,217,822,536 .* K = 3 stages .* GiB.*solver='points'"):
        GridSolver(10).solve(problem)


# Outputs of the authors' program; every test row of every run agrees.
RUNS = ["madelon_V2", "madelon_V3", "madelon_V5", "mll_V2", "mll_V3", "mll_V3_c0.001", "mll_V5"]


def published_model(x: np.ndarray, y: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inner edges (V - 1, K), likelihoods (K, V, N), and the order, as the authors' program makes them."""
    x = x.astype(np.float64)
    # Bins are equally wide and closed on the left, and the outermost have no end: a test value outside the
    # training range falls in one of them.
    edges = np.linspace(np.floor(x.min(axis=0)), np.ceil(x.max(axis=0)), n_bins + 1)[1:-1]
    codes = (x[None] >= edges[:, None]).sum(axis=0)
    table = np.empty((x.shape[1], n_bins, y.max() + 1))
    for i in range(table.shape[2]):
        rows = codes[y == i]
        for v in range(n_bins):
            table[:, v, i] = ((rows == v).sum(axis=0) + 1) / (len(rows) + n_bins)
    spread = table.var(axis=2)
    score = sum(spread[:, v] for v in range(n_bins))  # from left to right: ties are ties of doubles
    return edges, table, np.argsort(-score, kind="stable")


@pytest.mark.parametrize("run", RUNS)
def test_outputs_of_the_authors_program(reference, run):
    expected = reference.oracle(f"etana/{run}")
    settings = expected["settings"]
    with reference.data(expected["dataset"]) as data:
        x, y, x_test = data["X"], data["y"], data["X_test"]
    edges, table, order = published_model(x, y, settings["n_bins"])
    assert order[:50].tolist() == expected["order_first_50"]

    n = table.shape[2]
    problem = Problem(np.full(n, 1 / n), table[order], settings["feature_cost"])
    policy = GridSolver(settings["simplex_resolution"], "nearest").solve(problem)
    assert policy.horizon == problem.n_features
    labels, asked = [], []
    belief, scratch = np.empty(n), np.empty(n)
    for row in (x_test[:, order][None] >= edges[:, None, order]).sum(axis=0):
        logs, k = np.log(problem.priors), 0
        while not rules.stops(*policy.rule, k, logs, belief, scratch):
            logs = logs + np.log(problem.stage(k)[row[k]])
            k += 1
        labels.append(policy.decide(np.exp(logs - logs.max())))
        asked.append(k)
    assert asked == expected["n_features"]
    assert labels == expected["predictions"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 5))
def test_interpolation_does_not_depend_on_how_classes_are_numbered(seed, n):
    """The same values and stops at the same beliefs; from four classes on, triangles depend on an order of classes."""
    rng = np.random.default_rng(seed)
    problem = any_problem(rng, n_classes=n, most_features=4)
    order = rng.permutation(n)
    solver = GridSolver(resolution=6, lookup="interpolate")
    one, other = solver.solve(problem), solver.solve(problem.renumbered(order))
    beliefs = rng.dirichlet(np.full(n, 0.6), 60)
    for stage in range(problem.n_features):
        np.testing.assert_allclose(
            one.value(stage, beliefs), other.value(stage, beliefs[:, order]), rtol=1e-9, atol=1e-9 * problem.scale
        )
        away = np.abs(one.continuation(stage, beliefs) - problem.stop_cost(beliefs)) > 1e-9 * problem.scale
        same = one.stops(stage, beliefs) == other.stops(stage, beliefs[:, order])
        assert same[away].all()
    assert order[other.decide(beliefs[:, order])].tolist() == one.decide(beliefs).tolist()
