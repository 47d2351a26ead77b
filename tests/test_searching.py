"""The order by cost: against all permutations, against the orders by score, and what must not matter to it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from typer.testing import CliRunner

import etana
from etana import ETANAClassifier, FeatureCosts, FETANAClassifier
from etana.cli import app
from etana.costs import ResolvedCosts
from etana.likelihood import Counts
from etana.ordering import order_features, reorder_cells, search
from etana.ordering.search import _Model, _Played, search_order
from etana.policies import solver_for
from etana.policies.exact import RoughBounds
from etana.problem import Problem


class Made:
    """A random model with groups, discounts and mistakes of many prices."""

    def __init__(self, seed, n_classes, n_features=None):
        rng = np.random.default_rng(seed)
        n, k = n_classes, n_features or int(rng.integers(2, 6))
        sizes = rng.integers(2, 4, size=k)
        cells = np.concatenate([60 * rng.dirichlet(np.full(v, 0.7), size=n).T for v in sizes])
        self.counts = Counts(cells, np.concatenate(([0], np.cumsum(sizes))), np.full(n, 60.0))
        full = rng.choice([0.01, 0.03, 0.1, 0.2], size=k) * rng.uniform(0.5, 1.5, k)
        group = rng.integers(-1, 2, size=k)
        discounted = np.where(group >= 0, full * rng.choice([0.1, 0.5, 1], size=k), full)
        self.prices = ResolvedCosts(full, discounted, group)
        self.mistakes = (1 - np.eye(n)) * rng.uniform(0.5, 2, (n, n))
        self.priors = rng.dirichlet(np.full(n, 3.0))

    def found(self):
        return search_order(self.counts, self.counts.likelihoods(), self.priors, self.prices, self.mistakes).order

    def ranked(self, name):
        return order_features(name, self.counts, self.counts.likelihoods(), self.priors, self.prices.full)

    def cost(self, order):
        order = np.array(order)
        cells, offsets = reorder_cells(self.counts.likelihoods(), self.counts.offsets, order)
        problem = Problem.from_cells(self.priors, cells, offsets, self.prices.in_order(order), self.mistakes)
        return solver_for("auto", problem).solve(problem).expected_cost

    def least(self):
        return min(self.cost(order) for order in itertools.permutations(range(self.prices.full.size)))

    def permuted(self, columns):
        """The same model with its columns in another order."""
        other = object.__new__(Made)
        cells, offsets = reorder_cells(self.counts.cells, self.counts.offsets, columns)
        p = self.prices
        other.counts = Counts(cells, offsets, self.counts.classes)
        other.prices = ResolvedCosts(p.full[columns], p.discounted[columns], p.group[columns])
        other.mistakes, other.priors = self.mistakes, self.priors
        return other

    def relabelled(self, classes):
        """The same model with its classes in another order."""
        other = object.__new__(Made)
        other.counts = Counts(self.counts.cells[:, classes], self.counts.offsets, self.counts.classes[classes])
        other.prices, other.priors = self.prices, self.priors[classes]
        other.mistakes = np.ascontiguousarray(self.mistakes[np.ix_(classes, classes)])
        return other

    def scaled(self, factor):
        """The same model in another unit of cost."""
        other = object.__new__(Made)
        p = self.prices
        other.counts, other.priors, other.mistakes = self.counts, self.priors, factor * self.mistakes
        other.prices = ResolvedCosts(factor * p.full, factor * p.discounted, p.group)
        return other


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_costs_little_more_than_the_best_of_all_permutations(n_classes):
    excess = [made.cost(made.found()) / made.least() - 1 for made in (Made(seed, n_classes) for seed in range(40))]
    worst, equal = {2: (0.001, 0.95), 3: (0.01, 0.85)}[n_classes]
    assert max(excess) < worst
    assert np.mean(np.array(excess) < 1e-4) >= equal


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_it_never_costs_more_than_the_orders_by_score(seed, n_classes):
    made = Made(seed, n_classes, n_features=8)
    order = made.found()
    cost = made.cost(order)
    assert sorted(order.tolist()) == list(range(8))
    for name in ("error", "information"):
        assert cost <= made.cost(made.ranked(name))


def test_it_is_cheaper_where_scores_of_single_features_mislead():
    gain = [min(made.cost(made.ranked(n)) for n in ("error", "information")) / made.cost(made.found()) - 1
            for made in (Made(seed, 2, n_features=8) for seed in range(10))]  # fmt: skip
    assert max(gain) > 0.02
    assert min(gain) >= 0


def single_moves(order):
    """Every order with one feature elsewhere, or with two exchanged."""
    for i, j in itertools.permutations(range(len(order)), 2):
        moved = list(order)
        moved.insert(j, moved.pop(i))
        exchanged = list(order)
        exchanged[i], exchanged[j] = order[j], order[i]
        yield from (moved, exchanged)


def test_two_of_a_group_go_to_the_front_together_where_neither_pays_alone():
    made = object.__new__(Made)
    right = np.array([860, 850, 860, 900])
    cells = np.concatenate([[[r, 1000 - r], [1000 - r, r]] for r in right]).astype(float)
    made.counts = Counts(cells, np.arange(0, 9, 2), np.array([1000.0, 1000.0]))
    full, discounted = np.array([0.07, 0.07, 0.15, 0.13]), np.array([0.07, 0.07, 0.0, 0.01])
    made.prices = ResolvedCosts(full, discounted, np.array([-1, -1, 0, 0]))
    made.mistakes, made.priors = 1 - np.eye(2), np.array([0.5, 0.5])
    start = made.ranked("information").tolist()
    assert start == [0, 1, 3, 2]
    assert min(made.cost(order) for order in single_moves(start)) >= made.cost(start) - 1e-9
    assert made.found().tolist() == [3, 2, 0, 1]
    assert made.cost([3, 2, 0, 1]) < 0.91 * made.cost(start)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_must_not_matter(n_classes):
    rng = np.random.default_rng(0)
    for seed in range(3):
        made = Made(seed, n_classes, n_features=7)
        order = made.found().tolist()
        assert made.found().tolist() == order
        columns, classes = rng.permutation(7), rng.permutation(n_classes)
        assert columns[made.permuted(columns).found()].tolist() == order
        assert made.relabelled(classes).found().tolist() == order
        assert made.scaled(2.0**-20).found().tolist() == order


def test_played_moves_cost_what_the_whole_order_costs():
    """Only the stages that a move touches are played again, with the result of playing all of them."""
    made, rng = Made(1, 4, n_features=12), np.random.default_rng(0)
    model = _Model(made.counts, made.counts.likelihoods(), made.priors, made.prices, made.mistakes, 0)
    window = np.arange(12)
    kept, afresh = _Played(model, window), _Played(model, window)
    kept.keep(window[:8])
    for order in (window, *single_moves(window), *(rng.permutation(12) for _ in range(5))):
        stages = np.array(order)[:8]
        afresh.keep(stages)
        assert kept.cost(stages) == pytest.approx(afresh.onward[0].mean(), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_played_cost_is_near_the_optimum(seed):
    """Thresholds on the stop cost are not the best policy, but near it; draws add an error of either sign."""
    made = Made(seed, 3, n_features=5)
    model = _Model(made.counts, made.counts.likelihoods(), made.priors, made.prices, made.mistakes, 0)
    order = made.ranked("information")
    trials = _Played(model, order)
    trials.keep(order)
    assert trials.cost(order) == pytest.approx(made.cost(order), rel=0.05)


def test_nothing_to_decide():
    made = Made(0, 3, n_features=5)
    made.mistakes = np.ones((3, 3))
    assert made.found().tolist() == made.ranked("error").tolist()
    for n_features in (0, 1):
        counts = Counts(np.ones((2 * n_features, 2)), np.arange(n_features + 1) * 2, np.ones(2))
        prices = ResolvedCosts(*np.ones((2, n_features)), np.full(n_features, -1))
        got = search_order(counts, counts.likelihoods(), np.array([0.5, 0.5]), prices, 1 - np.eye(2)).order
        assert got.tolist() == list(range(n_features))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_free_features_and_classes_of_no_weight(n_classes):
    made = Made(3, n_classes, n_features=7)
    made.prices = ResolvedCosts(np.zeros(7), np.zeros(7), np.full(7, -1))
    assert sorted(made.found().tolist()) == list(range(7))
    made = Made(3, n_classes, n_features=7)
    made.priors = np.eye(n_classes)[0]
    assert sorted(made.found().tolist()) == list(range(7))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_classifiers(load):
    X, y = load(return_X_y=True)
    cost = {name: ETANAClassifier(0.03, ordering=name).fit(X, y) for name in ("error", "information", "cost")}
    expected = {name: clf.policy_.expected_cost for name, clf in cost.items()}
    assert expected["cost"] <= min(expected["error"], expected["information"])
    groups = FeatureCosts(0.03, groups=["lab"] * 5 + [None] * (X.shape[1] - 5), discounted=0.001)
    dearer = cost["cost"].with_costs(feature_costs=groups)
    again = ETANAClassifier(groups, ordering="cost").fit(X, y)
    assert dearer.feature_order_.tolist() == again.feature_order_.tolist()
    assert dearer.feature_order_.tolist() != cost["cost"].feature_order_.tolist()
    assert dearer.expected_cost_ <= cost["information"].with_costs(feature_costs=groups).expected_cost_


def test_model_files_keep_it(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = FETANAClassifier(0.05, ordering="cost", max_iterations=50).fit(X, y)
    assert clf.feature_order_.tolist() == ETANAClassifier(0.05, ordering="cost").fit(X, y).feature_order_.tolist()
    etana.save(clf, tmp_path / "m.etana")
    loaded = etana.load(tmp_path / "m.etana")
    assert loaded.ordering == "cost"
    assert loaded.feature_order_.tolist() == clf.feature_order_.tolist()
    cheaper = loaded.with_costs(feature_costs=[0.01, 0.02, 0.2, 0.3])
    assert cheaper.feature_order_.tolist() == clf.with_costs([0.01, 0.02, 0.2, 0.3]).feature_order_.tolist()


@pytest.mark.parametrize(("n_classes", "share"), [(2, 0.5), (11, 1.0)])
def test_twenty_thousand_sparse_features(n_classes, share):
    rng = np.random.default_rng(0)
    y = np.arange(330) % n_classes
    X = sp.random_array((330, 20_000), density=0.01, rng=rng, format="lil")
    for k in range(60):
        X[(y == k % n_classes) & (rng.random(330) < share), 300 * k] = 1.0
    X = X.tocsr()
    clf = ETANAClassifier(0.02, binning="uniform", n_bins=2, ordering="cost").fit(X, y)
    assert np.array_equal(np.sort(clf.feature_order_), clf.model_.beliefs.columns)
    assert clf.feature_order_.size > 10_000
    assert (
        clf.policy_.expected_cost
        <= ETANAClassifier(0.02, binning="uniform", n_bins=2, ordering="error").fit(X, y).policy_.expected_cost
    )


def test_command_line(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.assign(species=y).to_csv(tmp_path / "iris.csv", index=False)
    model = str(tmp_path / "m.etana")
    given = ["fit", str(tmp_path / "iris.csv"), "--target", "species", "-o", model, "--costs", "0.05"]
    done = CliRunner().invoke(app, [*given, "--ordering", "cost"])
    assert done.exit_code == 0, done.output
    want = ETANAClassifier(0.05, ordering="cost").fit(X, y)
    assert etana.load(model).feature_order_.tolist() == want.feature_order_.tolist()


@pytest.mark.parametrize("name", ["breast cancer", "random"])
def test_trials_that_are_given_up_early_change_no_order(name, monkeypatch):
    """The order is that of a search which solves every trial to the end; fewer of them are."""
    if name == "random":
        rng = np.random.default_rng(4)
        y = rng.integers(0, 2, 400)
        X = rng.normal(size=(400, 12)) + y[:, None] * rng.random(12)
        prices = rng.choice([0.0, 0.01, 0.03], 12)
    else:
        (X, y), prices = load_breast_cancer(return_X_y=True), 0.01
    solved = []
    solve = search._Solved.cost
    monkeypatch.setattr(search._Solved, "cost", lambda *given: solved.append(solve(*given)) or solved[-1])
    orders, finite = [], []
    for rough in (search._ROUGH, ()):
        solved.clear()
        monkeypatch.setattr(search, "_ROUGH", rough)
        orders.append(ETANAClassifier(prices, ordering="cost", temperature=1.0).fit(X, y).feature_order_)
        finite.append((len(solved), int(np.isfinite(solved).sum())))
    np.testing.assert_array_equal(*orders)
    (tried, fewer), (as_many, all_of_them) = finite
    assert tried == as_many == all_of_them > 2 * fewer


@pytest.mark.parametrize("seed", range(5))
def test_rough_bounds_are_bounds(seed):
    model = Made(seed, 2)
    priced = model.prices.in_order(np.arange(model.prices.full.size))
    problem = Problem.from_cells(model.priors, model.counts.likelihoods(), model.counts.offsets, priced, model.mistakes)
    tolerances = (0.1, 0.01, 1e-4)
    best, bounds = solver_for("auto", 2).solve(problem), RoughBounds(problem, tolerances)
    order = np.arange(problem.n_features)
    other = order.copy()
    other[:2] = order[1::-1]
    bounds.keep(bounds.stages(other, model.prices.in_order(other)))
    for rung, tolerance in enumerate(tolerances):
        bound = bounds.lower(rung, bounds.stages(order, priced), 2)
        assert bound == bounds.lower(rung, bounds.stages(order, priced), problem.n_features)  # the same from 2 on
        assert bound <= best.expected_cost * (1 + 1e-12)
        assert bound >= best.expected_cost * (1 - 5 * tolerance) - 1e-4
