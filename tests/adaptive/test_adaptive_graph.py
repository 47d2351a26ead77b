"""The decision graph against one worked out from raw training rows, and what must not change an answer."""

import copy
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from adaptive_twins import FREE, Twin, doubled, learn, made, path_of, rule_of
from hypothesis import given, settings
from hypothesis import strategies as st

from etana import Binner, Model
from etana.beliefs import NaiveBayes, path_counts
from etana.costs import resolve_feature_costs
from etana.kernels import choice
from etana.kernels import graph as kernel
from etana.kernels.choice import Scratch
from etana.kernels.rules import normalise
from etana.likelihood import Counts
from etana.policies.instance_choice import ASK_ON, STOP_THERE, InstanceChoice, scale_of
from etana.policies.situation import Situation
from etana.table import read_table
from etana.walks import generic
from etana.walks import graph as graph_module
from etana.walks.acquisition import read_budget
from etana.walks.graph import Graph, GraphPool

STRENGTHS = (np.inf, 20.0, 2.0, 0.5, 0.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(STRENGTHS), st.sampled_from([1.0, 0.1]), st.sampled_from([2, 2**31 - 1]))
def test_every_state_is_what_the_training_rows_say(seed, m, least, deepest):
    data, rule = made(seed), rule_of(seed)
    graph = data.graph(rule, m, least, deepest)
    data.walk(graph)
    twin = Twin(data, rule, m, least, deepest)
    for node in range(graph.n_nodes):
        check_state(graph, twin, node)


def check_state(graph, twin, node):
    state, path = graph.node(node), path_of(graph, node)
    belief = np.empty(graph.beliefs.priors.size)
    normalise(state.logs, belief)
    np.testing.assert_allclose(belief, twin.belief(path), rtol=1e-9, atol=1e-12)
    assert state.spent == pytest.approx(twin.spent(path), abs=1e-12)
    rates = twin.rates(path)
    best = max(rates.values(), default=0.0)
    if state.feature < 0:
        assert best * FREE * twin.scale < 1e-9
        assert all(twin.price(path, c) > 0 for c in rates)
        return
    column = int(graph.beliefs.candidates[state.feature])
    assert state.price == twin.price(path, column)
    assert rates[column] >= best * (1 - 1e-8) - 1e-9
    assert state.information == pytest.approx(twin.information(path, column), abs=1e-9)
    assert state.n_rows in (0, twin.sharing(path).sum())
    if abs(twin.advantage(path, column)) > 1e-9 and abs(twin.risk(path) - twin.least * state.price) > 1e-12:
        assert state.stops == twin.stops(path, column)
    if not state.stops:
        np.testing.assert_allclose(np.exp(state.answers), twin.likelihoods(path, column), rtol=1e-9, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(STRENGTHS), st.integers(1, 3))
def test_plans_are_the_best_of_all(seed, m, levels):
    """Looking ahead against every plan of so many steps, at states that rows reach."""
    data = made(seed, n_features=1 + seed % 4)
    graph = data.graph(STOP_THERE, m, levels=levels)
    data.walk(graph)
    check_plans(graph, Twin(data, STOP_THERE, m), levels)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2))
def test_plans_know_what_the_rule_expects_where_they_end(seed, levels):
    """Looking ahead against every plan of so many steps that goes on by information and the rule."""
    data, rule = made(seed, n_features=1 + seed % 5, free=False), rule_of(seed)
    graph = data.graph(rule, levels=levels)
    data.walk(graph)
    check_plans(graph, Twin(data, rule, np.inf), levels)


def check_plans(graph, twin, levels):
    for node in range(min(graph.n_nodes, 8)):
        state, path = graph.node(node), path_of(graph, node)
        cost, paying = twin.plan(path, levels)
        if not state.stops and state.price > 0:
            column = int(graph.beliefs.candidates[state.feature])
            assert paying[column] == pytest.approx(cost, rel=1e-9)
            assert graph.nodes.facts[node, choice.AHEAD] == pytest.approx(cost, rel=1e-9)
        elif state.stops:
            assert cost == pytest.approx(twin.risk(path), rel=1e-6, abs=1e-12)


def most_per_price(belief, used, bought, rows, evidence, offers, floor, left):
    """The choice of a search through all candidates, one after the other."""
    best, best_rate, best_gain, best_price, free = -1, 0.0, 0.0, 0.0, -1
    cells = Scratch.over(evidence, 0).cells
    for feature in offers.rank.tolist():
        price = choice.price_of(feature, bought, offers)
        if used[feature] or price > left:
            continue
        free = feature if free < 0 and price == 0.0 else free
        gain, per = choice.told_by(belief, feature, rows, rows.size, evidence, cells), max(price, floor)
        if gain > 1e-12 and gain / per > best_rate * (1 + 1e-12):
            best, best_rate, best_gain, best_price = feature, gain / per, gain, price
    return (best if best >= 0 else free), best_gain, best_price


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((np.inf, 20.0, 2.0, 0.0)), st.sampled_from((12, 100)), st.booleans())
def test_pruning_loses_nothing(seed, m, n_features, twice):
    """The search that passes over candidates finds what a search through all of them finds, bit for bit: with rows on
    the path and without, with columns that are there twice, and with more of them than are bounded beforehand."""
    data = made(seed, n_rows=30, n_features=n_features)
    data = doubled(data) if twice else data
    evidence, policy = data.beliefs.with_strength(m).evidence, data.policy(ASK_ON)
    offers = policy.offers(evidence.radius.max(axis=0, initial=0.0))
    floor, scratch, rng = policy.setting.floor, Scratch.over(evidence, offers.n_groups), np.random.default_rng(seed)
    for _ in range(6):
        belief = rng.dirichlet(np.full(data.priors.size, rng.choice([0.05, 0.5, 20.0])))
        used, bought = rng.random(offers.group.size) < 0.3, rng.integers(0, 2, offers.n_groups)
        rows = np.flatnonzero(rng.random(evidence.classes.size) < rng.choice([0.0, 0.1, 0.6]))
        left = float(rng.choice([np.inf, 0.015]))
        found = choice.choose(belief, used, bought, rows, rows.size, evidence, offers, floor, left, scratch)
        assert found == most_per_price(belief, used, bought, rows, evidence, offers, floor, left)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_feature_that_is_left_out_tells_more_than_is_stated(seed, kept):
    data = made(seed, n_rows=30, n_features=10)
    n, every = data.priors.size, data.beliefs
    floor = FREE * scale_of(data.priors, data.mistakes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_counts, "_MOST_CODES", 30 * kept)
        some = learn(data.binner, data.X, data.y, data.weights, data.priors, data.prices, data.mistakes)
    offers = data.policy(ASK_ON).offers(every.evidence.radius.max(axis=0, initial=0.0))
    assert every.left_out == 0.0
    assert sorted(some.candidates.tolist()) == sorted(every.candidates[offers.rank[:kept]].tolist())
    assert (some.left_out > 0) == (every.candidates.size > kept)
    twin = Twin(data, ASK_ON, np.inf)
    rng = np.random.default_rng(seed)
    for column in every.candidates[offers.rank[kept:]].tolist():
        cheapest = max(min(data.prices.full[column], data.prices.discounted[column]), floor)
        for alpha in (0.1, 1.0, 10.0):
            twin.data.priors = rng.dirichlet(np.full(n, alpha))
            assert twin.information([], column) / cheapest <= some.left_out * (1 + 1e-9)


@pytest.mark.parametrize("m", [np.inf, 2.0, 0.0])
@pytest.mark.parametrize("most", [1, 2, 7, 40])
def test_a_small_memory_changes_no_answer(m, most, monkeypatch):
    """States that are forgotten grow again as they were."""
    monkeypatch.setattr(graph_module, "_FIRST", 4)
    data, rule = made(5, n_rows=60, n_features=8, n_classes=3), ASK_ON
    fresh = np.random.default_rng(0).integers(-1, 5, (200, 8)).astype(float)
    answers, sizes = [], []
    for room in (2**18, most):
        graph = data.graph(rule, m, most=2**18)
        data.walk(graph, data.X[:5])
        graph.keep()
        kept = graph.n_nodes
        graph.most = min(kept + room, 2**18)
        answers += [walked(data, graph, fresh) for _ in range(2)]
        sizes.append(graph.n_nodes)
    assert sizes[1] <= 2 * (kept + max(room, 9))  # a path has 9 states at most
    assert sizes[1] < sizes[0]
    assert all(a == answers[0] for a in answers)


def walked(data, graph, X):
    """Paths, costs and beliefs of rows, whatever the graph can remember."""
    out = []
    for first, last, ends in data.spans(graph, X):
        for node in ends[first:last]:
            facts, logs = graph.nodes.facts[node], graph.nodes.logs[node]
            out.append((path_of(graph, node), facts.tobytes(), logs.tobytes()))
    assert len(out) == len(X)
    return out


def test_states_reached_but_not_worked_out_survive_a_small_memory():
    """A graph that is full while it is compiled holds states that are still new; they are worked out when frozen."""
    data = made(5, n_rows=60, n_features=8, n_classes=3)
    graph = data.graph(ASK_ON, 2.0, most=20)
    next(data.spans(graph))
    graph.keep()
    assert (graph.nodes.links[: graph.n_nodes, kernel.STATE] != kernel.NEW).all()
    first = walked(data, graph, data.X)
    assert walked(data, graph, data.X[::-1])[::-1] == first
    assert walked(data, graph, data.X) == first


def test_an_answer_that_rows_rule_out_is_no_evidence():
    """With m = 0 no class may be possible any more; the belief then stays."""
    data = made(11, n_rows=12, n_features=4, n_classes=2, missing="none", grouped=False)
    graph = data.graph(ASK_ON, 0.0)
    data.walk(graph)
    graph.keep()
    rng = np.random.default_rng(0)
    paths = walked(data, graph, rng.integers(0, 4, (300, 4)).astype(float))
    for _, _, logs in paths:
        assert np.frombuffer(logs).max() == 0.0


def test_threads_walk_through_graphs_of_one_pool():
    data = made(8, n_rows=80, n_features=9, n_classes=3)
    graph = data.graph(ASK_ON, 5.0)
    data.walk(graph)
    graph.keep()
    graph.most = graph.n_nodes + 50
    tables = [np.random.default_rng(s).integers(0, 4, (60, 9)).astype(float) for s in range(8)]
    expected = [walked(data, graph.copy(), X) for X in tables]
    found, pool = [None] * len(tables), GraphPool(graph)

    def run(i):
        found[i] = []
        for _ in range(3):
            with pool.lent() as own:
                found[i].append(walked(data, own, tables[i]))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(tables))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, answers in enumerate(expected):
        assert found[i] == [answers] * 3


def test_no_thread_waits_for_another():
    """A walk that is under way does not hold up one that begins meanwhile."""
    data = made(8, n_rows=80, n_features=9, n_classes=3)
    pool = GraphPool(data.graph(ASK_ON, 5.0))
    with pool.lent() as one, pool.lent() as other:
        assert one is not other
        assert walked(data, one, data.X) == walked(data, other, data.X)
    with pool.lent() as again:
        assert again.n_nodes > 1  # what was worked out is not lost


def test_a_graph_can_be_pickled_and_copied():
    data = made(3, n_rows=30, n_features=6)
    graph = data.graph(ASK_ON, 5.0)
    data.walk(graph)
    graph.keep()
    expected = walked(data, graph, data.X)
    for again in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert walked(data, again, data.X) == expected


def test_a_walk_that_nobody_finishes_holds_up_no_other():
    data = made(3, n_rows=30, n_features=6)
    graph = data.graph(ASK_ON, most=8)
    parts = data.spans(graph)
    next(parts)
    parts.close()
    assert walked(data, graph, data.X[:3])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([np.inf, 3.0]))
def test_names_and_order_of_classes_and_rows_change_nothing(seed, m):
    data, rule = made(seed, n_rows=25, n_features=5), rule_of(seed)
    rng = np.random.default_rng(seed)
    to, rows = rng.permutation(data.priors.size), rng.permutation(25)
    other = copy.deepcopy(data)
    back = np.argsort(to)
    other.y, other.priors = to[data.y][rows], data.priors[back]
    other.mistakes = np.ascontiguousarray(data.mistakes[back][:, back])
    other.weights, other.X = data.weights[rows], data.X[rows]
    other.beliefs = learn(other.binner, other.X, other.y, other.weights, other.priors, other.prices, other.mistakes)
    assert other.beliefs.candidates.tolist() == data.beliefs.candidates.tolist()
    graphs = [d.graph(rule, m) for d in (data, other)]
    ends = [d.walk(g, data.X) for d, g in zip((data, other), graphs, strict=True)]
    for a, b in zip(*ends, strict=True):
        paths = path_of(graphs[0], a), path_of(graphs[1], b)
        if paths[0] != paths[1]:  # only where two features are worth the same
            assert tied(Twin(data, rule, m), *paths)
            continue
        one, two = (np.exp(g.nodes.logs[end]) for g, end in zip(graphs, (a, b), strict=True))
        np.testing.assert_allclose(one[back], two, rtol=1e-9, atol=1e-12)


def tied(twin, one, two):
    """Whether two paths part where the policy has no preference."""
    k = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    rates = twin.rates(one[:k])
    top = max(rates.values())
    close = sum(r >= top * (1 - 1e-9) - 1e-9 for r in rates.values()) > 1
    best = max(rates, key=rates.get)
    return close or abs(twin.advantage(one[:k], best)) < 1e-9 or top * FREE * twin.scale < 1e-9


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(STRENGTHS), st.integers(0, 2), st.sampled_from([np.inf, 0.03]), st.booleans()
)
def test_the_graph_walks_as_the_loop_for_any_pair_does(seed, m, levels, budget, planned):
    """Compiled and generic walk: the same labels, features, costs and posteriors, bit for bit, whether a budget is the
    caller's or the policy's own."""
    data = made(seed, n_rows=20, n_features=5)
    beliefs = data.beliefs.with_strength(m)
    policy = data.policy(rule_of(seed), levels=levels)
    policy = replace(policy, budget=budget) if planned else policy
    table = read_table(np.random.default_rng(seed).integers(-1, 5, (25, 5)).astype(float))
    model = Model(beliefs, policy, np.arange(data.priors.size))
    limit = None if planned else budget
    walk = model.acquire(table, limit)
    outcomes, asked, starts, _ = generic.walk(beliefs, policy, table, Situation(budget=read_budget(limit)))
    assert walk.labels.tolist() == outcomes.labels.tolist()
    assert walk.costs.tobytes() == outcomes.spent.tobytes()
    assert walk.posteriors.tobytes() == outcomes.posteriors.tobytes()
    assert (walk.costs <= read_budget(budget)).all()
    for i, first in enumerate(starts.tolist()):
        assert walk.features(i).tolist() == asked[first : first + outcomes.asked[i]].tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_a_choice_over_likelihoods_is_the_compiled_one(seed, levels):
    """The same policy over naive Bayes, which gives likelihoods column by column and has no compiled walk with it."""
    data = made(seed, n_rows=20, n_features=5, missing="none")
    policy = data.policy(rule_of(seed), levels=levels)
    counts = Counts.of(data.binner, read_table(data.X), data.y, data.weights, data.priors.size)
    plain = NaiveBayes(data.binner, counts.likelihoods(), data.priors)
    classes = np.arange(data.priors.size)
    one, two = Model(plain, policy, classes), Model(data.beliefs, policy, classes)
    assert one.compiled is None
    X = np.random.default_rng(seed).integers(0, 5, (15, 5)).astype(float)
    a, b = one.acquire(X), two.acquire(X)
    twin = Twin(data, policy.rule, np.inf)
    for i in range(15):
        if a.features(i).tolist() != b.features(i).tolist():  # rounding may choose among equals
            codes = data.binner.transform(X[i : i + 1])[0]
            paths = [[(int(c), int(codes[c])) for c in walk.features(i)] for walk in (a, b)]
            assert levels or tied(twin, *paths)
        else:
            assert a.costs[i] == pytest.approx(b.costs[i], abs=1e-12)
            np.testing.assert_allclose(a.posteriors[i], b.posteriors[i], rtol=1e-9, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((20.0, 2.0, 0.5, 0.0)), st.booleans())
def test_no_feature_tells_more_than_its_bound(seed, m, shared):
    """The bounds by which features are passed over, at beliefs of any kind, with rows on the path and without."""
    evidence = made(seed).beliefs.with_strength(m).evidence
    scratch = Scratch.over(evidence, 0)
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet(np.full(evidence.table.shape[1], rng.choice([0.05, 1.0, 20.0])))
    rows = np.flatnonzero(rng.random(evidence.classes.size) < 0.2) if shared else np.empty(0, dtype=np.int64)
    choice.tally_rows(rows, rows.size, evidence, scratch)
    choice.bound_on_path(belief, evidence, scratch)
    on_path = scratch.most.copy()
    choice.bound_without_rows(belief, evidence, scratch)
    for feature in range(evidence.offsets.size - 1):
        told = choice.told_by(belief, feature, rows, rows.size, evidence, scratch.cells)
        assert told <= on_path[feature] <= 1e-12 or told < on_path[feature]
        # A bound that is far away would pass nothing over.
        assert on_path[feature] <= 1e-12 + told * 4 / belief[belief > 0].min()
        assert rows.size or told <= scratch.most[feature]


def test_near_certainty_the_bound_is_what_a_feature_tells():
    """To first order in the doubt: a candidate is passed over by little more than what it tells."""
    evidence = made(5, n_rows=40, n_features=6, n_classes=2).beliefs.evidence
    belief, scratch = np.array([1e-4, 1 - 1e-4]), Scratch.over(evidence, 0)
    choice.bound_without_rows(belief, evidence, scratch)
    for feature, most in enumerate(scratch.most.tolist()):
        told = choice.told_by(belief, feature, scratch.rows, 0, evidence, scratch.cells)
        assert told <= most <= 1.01 * told


@pytest.mark.parametrize("most", [0, 40, kernel.MOST_LISTED])
def test_it_does_not_matter_how_many_rows_states_remember(most):
    data = made(3, n_rows=60, n_features=6)
    graph = data.graph(ASK_ON, 2.0)
    if most < kernel.MOST_LISTED:  # a list that is all but full
        full = np.zeros(kernel.MOST_LISTED, dtype=np.int32)
        graph.nodes = graph.nodes._replace(listed=full)
        graph.nodes.sizes[kernel.LISTED] = full.size - most
    data.walk(graph)
    twin = Twin(data, ASK_ON, 2.0)
    for node in range(graph.n_nodes):
        check_state(graph, twin, node)
    assert (graph.nodes.links[: graph.n_nodes, kernel.FIRST_ROW] >= 0).any() == (most > 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((20.0, 2.0, 0.0)))
def test_lists_of_unusual_codes_change_no_state(seed, m):
    """States of rows that are listed by their unusual codes are those of rows that are counted one by one, to the
    bit."""
    rng = np.random.default_rng(seed)
    n, k = 60, 80
    y = rng.integers(0, 2, n)
    X = (rng.random((n, k)) < 0.05 + 0.1 * (y[:, None] == np.arange(k) % 3)) * rng.integers(1, 3, (n, k))
    binner = Binner.from_edges([[0.5, 1.5]] * k)
    prices, priors, mistakes = resolve_feature_costs(rng.choice([0.01, 0.02], k), k), np.full(2, 0.5), 1 - np.eye(2)
    beliefs = learn(binner, X.astype(float), y, np.ones(n), priors, prices, mistakes).with_strength(m)
    assert beliefs.unusual is not None
    graphs = []
    for given_lists in (beliefs, replace(beliefs, unusual=None)):
        graph = Graph(given_lists, InstanceChoice(beliefs.candidates, priors, prices, mistakes, ASK_ON))
        list(graph.retrace(given_lists.codes))
        graphs.append(graph)
    listed, plain = graphs
    assert listed.n_nodes == plain.n_nodes > 1
    for one, other in zip(listed.nodes[:3], plain.nodes[:3], strict=True):
        np.testing.assert_array_equal(one[: listed.n_nodes], other[: plain.n_nodes])
