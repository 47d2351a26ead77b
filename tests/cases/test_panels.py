"""Panels: which features are ordered together, against every set and every answer."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_brute_force import model_of

import etana
from clinic import NAMES, patients
from etana import AdaptiveClassifier, ETANAClassifier, FeatureCosts, Model, Problem, SequentialClassifier
from etana.costs import ResolvedCosts, Waiting, resolve_feature_costs
from etana.errors import CostError, InputError
from etana.panels import answers
from problems import random_problem

COSTS = dict(zip(NAMES, [0.0, 0.0, 0.01, 0.012, 0.012, 0.03], strict=True))
LAB = ["crp", "bilirubin", "albumin", "mri"]


def with_round(problem: Problem, price: float) -> Model:
    """A model whose every feature waits for a round at this price."""
    dearer = Problem.from_cells(
        problem.priors, problem.cells, problem.offsets, problem.feature_costs + price, problem.misclassification_costs
    )
    model = model_of(dearer)
    old = model.prices
    waiting = Waiting(price, np.ones(problem.n_features, dtype=bool))
    prices = ResolvedCosts(old.full, old.discounted, old.group, waiting)
    policy = type(model.policy)(model.policy.order, model.policy.stopping, prices, model.policy.mistakes)
    return Model(model.beliefs, policy, model.classes)


def one_by_one(problem, price, left, w):
    """Least cost of going on along the order from an unnormalised belief, each question with its round."""
    stop = float((w @ problem.misclassification_costs).min())
    if not left:
        return stop
    ahead = sum(one_by_one(problem, price, left[1:], w * d) for d in problem.stage(left[0]))
    return min(stop, (problem.feature_costs[left[0]] + price) * w.sum() + ahead)


def cost_of(problem, price, chosen, n):
    """What a set costs when it is ordered together, every answer followed, and one by one from there."""
    left = [k for k in range(n) if k not in chosen]
    total = problem.feature_costs[list(chosen)].sum() + price
    for codes in product(*(range(len(problem.stage(k))) for k in chosen)):
        w = problem.priors.copy()
        for k, code in zip(chosen, codes, strict=True):
            w = w * problem.stage(k)[code]
        total += one_by_one(problem, price, left, w)
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.003, 0.02, 0.1]))
def test_a_panel_is_the_best_of_all_sets(seed, price):
    problem = random_problem(np.random.default_rng(seed), n_classes=2, most_features=4, zero_costs=False)
    n = problem.n_features
    case = with_round(problem, price).start()
    stop = float((problem.priors @ problem.misclassification_costs).min())
    sets = [s for size in range(1, n + 1) for s in combinations(range(n), size)]
    least = min(min(cost_of(problem, price, s, n) for s in sets), stop)
    panel = case.panel()
    tolerance = 1e-4 * problem.scale
    assert panel.saving == pytest.approx(stop - least, abs=tolerance)
    if panel:
        assert cost_of(problem, price, tuple(panel), n) == pytest.approx(least, abs=tolerance)
        assert panel.price == pytest.approx(problem.feature_costs[list(panel)].sum() + price)
    else:
        assert stop <= least + tolerance


def played(case, problem):
    """What a case that orders panels is expected to pay from here on, by giving it every answer."""
    panel = list(case.panel())
    if not panel:
        return case.stop_cost
    before, total = case.cost, 0.0
    for codes in product(*(range(len(problem.stage(k))) for k in panel)):
        w = case.posterior
        for k, code in zip(panel, codes, strict=True):
            w = w * problem.stage(k)[code]
        if w.sum() > 0:
            case.observe_panel({k: float(code) for k, code in zip(panel, codes, strict=True)})
            total += w.sum() * (case.cost - before + played(case, problem))
            for _ in panel:
                case.undo()
    return total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.003, 0.02, 0.1]))
def test_panels_save_what_they_announce_or_more(seed, price):
    problem = random_problem(np.random.default_rng(seed), n_classes=2, most_features=4, zero_costs=False)
    case = with_round(problem, price).start()
    tolerance = 1e-4 * problem.scale
    every = list(range(problem.n_features))
    assert played(case, problem) <= case.stop_cost - case.panel().saving + tolerance
    assert played(case, problem) <= one_by_one(problem, price, every, problem.priors) + tolerance


def families(prices):
    return {
        "etana": ETANAClassifier(prices),
        "adaptive": AdaptiveClassifier(prices, look_ahead=False, m=5.0),
        "adaptive-ahead": AdaptiveClassifier(prices, look_ahead=2),
        "sequential": SequentialClassifier(feature_costs=prices),
    }


@pytest.fixture(scope="module", params=["etana", "adaptive", "adaptive-ahead", "sequential"])
def both(request):
    """The same classifier with and without a price for waiting."""
    X, y = patients()
    plain, waits = FeatureCosts(COSTS), FeatureCosts(COSTS, round=0.03, delayed=LAB)
    return families(plain)[request.param].fit(X, y), families(waits)[request.param].fit(X, y), X


def test_without_a_price_for_waiting_a_panel_is_one_feature(both):
    clf, _, X = both
    case = clf.start()
    while case.next_feature is not None:
        assert case.panel() == [case.next_feature]
        case.observe(X.iloc[0][case.next_feature])
    assert case.panel() == []


def test_what_is_at_hand_is_asked_by_itself_and_the_lab_is_ordered_together(both):
    _, clf, X = both
    case, sizes = clf.start(), []
    while panel := case.panel():
        if panel[0] not in LAB:
            assert len(panel) == 1
        else:
            assert set(panel) <= set(LAB)
            sizes.append(len(panel))
        before = case.cost
        case.observe_panel({feature: X.iloc[3][feature] for feature in panel})
        assert case.cost - before == pytest.approx(panel.price)
        prices = sum(COSTS[feature] for feature in panel) + (0.03 if panel[0] in LAB else 0.0)
        assert panel.price == pytest.approx(prices)
        assert case.history[-1].came == "asked"
    assert sizes
    again = clf.model_.replay(case.record())
    assert again.history == case.history
    assert again.posterior.tobytes() == case.posterior.tobytes()


def test_asked_one_by_one_every_delayed_feature_pays_its_round(both):
    _, clf, X = both
    case = clf.start()
    assert case.price_of("crp") == pytest.approx(0.04)
    assert case.price_of("age") == 0.0
    walk = clf.acquire(X[:10])
    for i in range(10):
        lab = sum(NAMES[k] in LAB for k in walk.features(i))
        paid = sum(COSTS[NAMES[k]] for k in walk.features(i))
        assert walk.costs[i] == pytest.approx(paid + 0.03 * lab)


def test_ask_orders_panels_and_pays_less_for_waiting(both):
    _, clf, X = both
    alone = clf.acquire(X[:60])
    together = [clf.ask(lambda name, row=row: row[name]) for _, row in X[:60].iterrows()]
    rounds = [sum(e.price for e in case.history) for case in together]
    assert np.mean(rounds) < 1.3 * alone.costs.mean()
    asked = np.mean([case.n_asked for case in together])
    assert asked >= alone.n_features.mean() - 0.5


def test_a_panel_keeps_the_budget(both):
    _, clf, X = both
    for budget in (0.0, 0.045, 0.06):
        case = clf.ask(lambda name: X.iloc[5][name], max_cost=budget)
        assert case.cost <= budget * (1 + 1e-9)
    case = clf.start(max_cost=0.045)
    with pytest.raises(InputError, match=r"cost 0\.052 together"):
        case.observe_panel({"crp": 1.0, "bilirubin": 1.0})
    with pytest.raises(InputError, match="known already"):
        clf.start(known={"crp": 1.0}).observe_panel({"crp": 1.0})


def test_waiting_is_kept_in_files(both, tmp_path):
    _, clf, _ = both
    etana.save(clf, tmp_path / "clf.etana")
    again = etana.load(tmp_path / "clf.etana")
    assert again.model_.prices.waiting.price == 0.03
    assert again.feature_costs == clf.feature_costs
    assert again.start().panel() == clf.start().panel()


def test_answers_of_many_features_are_drawn_without_bias(fitted):
    knowledge = fitted["adaptive-bayes"].start().knowledge
    columns = tuple(range(6))
    after, chances = answers(knowledge, columns)
    assert chances.sum() == pytest.approx(1)
    assert len(chances) <= 1024
    assert chances @ after.posteriors == pytest.approx(knowledge.posteriors[0], abs=0.05)
    few, exact = answers(knowledge, columns[:2])
    assert exact @ few.posteriors == pytest.approx(knowledge.posteriors[0], abs=1e-12)


def test_more_than_two_classes_order_panels_too():
    X, y = patients(n_classes=3)
    clf = ETANAClassifier(FeatureCosts(COSTS, round=0.05, delayed=LAB)).fit(X, y)
    case = clf.ask(lambda name: X.iloc[2][name])
    assert case.next_feature is None or case.panel() == []
    assert len({e.feature for e in case.history}) == len(case.history)


@pytest.mark.parametrize(
    ("given", "delayed"),
    [(None, [True] * 3), (["b"], [False, True, False]), ({"a": True, "b": False}, [True, False, False]),
     ([False, True, True], [False, True, True])],
)  # fmt: skip
def test_who_waits(given, delayed):
    prices = resolve_feature_costs(FeatureCosts([1.0, 2.0, 3.0], round=0.5, delayed=given), 3, ["a", "b", "c"])
    assert prices.waiting.delayed.tolist() == delayed
    assert prices.full.tolist() == [p + 0.5 * d for p, d in zip([1.0, 2.0, 3.0], delayed, strict=True)]
    assert prices.times(2.0).waiting.price == 1.0
    assert prices.of(np.array([1])).waiting.delayed.tolist() == delayed[1:2]


@pytest.mark.parametrize(
    ("costs", "words"),
    [(FeatureCosts(1, round=-1), "round is -1"), (FeatureCosts(1, round="x"), "round must be"),
     (FeatureCosts(1, round=np.inf), "round is inf"), (FeatureCosts(1, round=1, delayed="a"), "delayed is 'a'"),
     (FeatureCosts(1, round=1, delayed=["z"]), "delayed names 'z'")],
)  # fmt: skip
def test_waiting_that_makes_no_sense_is_refused(costs, words):
    with pytest.raises(CostError, match=words):
        resolve_feature_costs(costs, 3, ["a", "b", "c"])


def test_prices_show_and_take_a_round():
    prices = FeatureCosts({"a": 1.0}).with_round(2.0, ["a"])
    assert repr(prices) == "FeatureCosts({'a': 1.0}, round=2.0, delayed=...)"
    assert prices != FeatureCosts({"a": 1.0})
    assert resolve_feature_costs(FeatureCosts(1.0, delayed=["a"]), 1, ["a"]).waiting is None
