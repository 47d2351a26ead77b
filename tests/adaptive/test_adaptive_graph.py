"""The decision graph against one worked out from raw training rows, and what must not change an answer."""

import copy
import pickle
import threading

import numpy as np
import pytest
from adaptive_twins import FREE, Twin, made, path_of, rule_of
from hypothesis import given, settings
from hypothesis import strategies as st

from etana.acquisition import storage_of
from etana.adaptive import evidence as evidence_module
from etana.adaptive import graph as graph_module
from etana.adaptive.evidence import Evidence
from etana.adaptive.graph import NEVER, scale_of
from etana.kernels import graph as kernel
from etana.likelihood import Counts
from etana.table import read_table

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
    state, path = graph.state(node), path_of(graph, node)
    belief = np.empty(graph.priors.size)
    kernel.believe(state.logs, belief)
    np.testing.assert_allclose(belief, twin.belief(path), rtol=1e-9, atol=1e-12)
    assert state.spent == pytest.approx(twin.spent(path), abs=1e-12)
    rates = twin.rates(path)
    best = max(rates.values(), default=0.0)
    if state.feature < 0:
        assert best * FREE * twin.scale < 1e-9
        assert all(twin.price(path, c) > 0 for c in rates)
        return
    column = int(graph.evidence.columns[state.feature])
    assert state.price == twin.price(path, column)
    assert rates[column] >= best * (1 - 1e-8) - 1e-9
    assert state.information == pytest.approx(twin.information(path, column), abs=1e-9)
    assert state.n_rows in (0, twin.sharing(path).sum())
    if abs(twin.advantage(path, column)) > 1e-9 and abs(twin.risk(path) - twin.least * state.price) > 1e-12:
        assert state.stops == twin.stops(path, column)
    if not state.stops:
        np.testing.assert_allclose(np.exp(state.answers), twin.likelihoods(path, column), rtol=1e-9, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(STRENGTHS), st.integers(1, 3))
def test_plans_are_the_best_of_all(seed, m, levels):
    """Looking ahead against every plan of so many steps, at states that rows reach."""
    data = made(seed, n_features=1 + seed % 4)
    graph = data.graph(NEVER, m, levels=levels)
    data.walk(graph)
    twin = Twin(data, NEVER, m)
    for node in range(min(graph.n_nodes, 8)):
        state, path = graph.state(node), path_of(graph, node)
        cost, paying = twin.plan(path, levels)
        if not state.stops and state.price > 0:
            column = int(graph.evidence.columns[state.feature])
            assert paying[column] == pytest.approx(cost, rel=1e-9)
            assert graph.facts[node, kernel.AHEAD] == pytest.approx(cost, rel=1e-9)
        elif state.stops:
            assert cost == pytest.approx(twin.risk(path), rel=1e-6, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_pruning_loses_nothing(seed):
    """The search that ends early finds what a search through all candidates finds, bit for bit."""
    data = made(seed, n_features=12)
    graph = data.graph(NEVER)
    data.walk(graph)
    evidence, prices, setting, _ = graph.arguments
    unbounded = (*evidence[:6], np.full_like(evidence[6], np.inf), np.full_like(evidence[7], np.inf), evidence[8])
    rows, cells = np.empty(0, dtype=np.int64), np.empty((kernel.widest(evidence[3]), graph.priors.size))
    rng = np.random.default_rng(seed)
    for node in range(min(graph.n_nodes, 40)):
        belief = rng.dirichlet(np.full(graph.priors.size, 0.5))
        found = [
            kernel.choose(node, belief, rows, 0, graph.links, e, prices, setting[2], cells)
            for e in (evidence, unbounded)
        ]
        assert found[0] == found[1]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_feature_that_is_left_out_tells_more_than_is_stated(seed, kept):
    data = made(seed, n_rows=30, n_features=10)
    table = read_table(data.X)
    n = data.priors.size
    counts = Counts.of(data.binner, table, data.y, data.weights, n)
    floor = FREE * scale_of(data.priors, data.mistakes)
    every = data.evidence
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence_module, "_MOST_CODES", 30 * kept)
        some = Evidence.of(data.binner, counts, table, data.y, data.weights, data.prices, floor)
    assert every.left_out == 0.0
    assert some.columns.tolist() == every.columns[:kept].tolist()
    assert (some.left_out > 0) == (every.columns.size > kept)
    twin = Twin(data, NEVER, np.inf)
    rng = np.random.default_rng(seed)
    for column in every.columns[kept:].tolist():
        cheapest = max(min(data.prices.full[column], data.prices.discounted[column]), floor)
        for alpha in (0.1, 1.0, 10.0):
            twin.data.priors = rng.dirichlet(np.full(n, alpha))
            assert twin.information([], column) / cheapest <= some.left_out * (1 + 1e-9)


@pytest.mark.parametrize("m", [np.inf, 2.0, 0.0])
@pytest.mark.parametrize("most", [1, 2, 7, 40])
def test_a_small_memory_changes_no_answer(m, most, monkeypatch):
    """States that are forgotten grow again as they were."""
    monkeypatch.setattr(graph_module, "_FIRST", 4)
    data, rule = made(5, n_rows=60, n_features=8, n_classes=3), NEVER
    fresh = np.random.default_rng(0).integers(-1, 5, (200, 8)).astype(float)
    answers, sizes = [], []
    for room in (2**18, most):
        graph = data.graph(rule, m, most=2**18)
        data.walk(graph, data.X[:5])
        graph.freeze()
        kept = graph.n_nodes
        graph.most = min(kept + room, 2**18)
        answers += [walked(data, graph, fresh) for _ in range(2)]
        sizes.append(graph.n_nodes)
    assert sizes[1] <= 2 * (kept + max(room, 9))  # a path has 9 states at most
    assert sizes[1] < sizes[0]
    assert all(a == answers[0] for a in answers)


def walked(data, graph, X):
    """Paths, costs and beliefs of rows, whatever the graph can remember."""
    table, columns = read_table(X), data.evidence.columns
    out = []
    for first, last, ends in graph.walk(
        storage_of(table, columns, data.binner), data.binner.edges_of(columns), np.inf, len(X)
    ):
        for node in ends[first:last]:
            out.append((path_of(graph, node), graph.facts[node].tobytes(), graph.logs[node].tobytes()))
    assert len(out) == len(X)
    return out


def test_states_reached_but_not_worked_out_survive_a_small_memory():
    """A graph that is full while it is compiled holds states that are still new; they are worked out when frozen."""
    data = made(5, n_rows=60, n_features=8, n_classes=3)
    graph = data.graph(NEVER, 2.0, most=20)
    table, columns = read_table(data.X), data.evidence.columns
    next(graph.walk(storage_of(table, columns, data.binner), data.binner.edges_of(columns), np.inf, 60))
    graph.freeze()
    assert (graph.links[: graph.n_nodes, kernel.STATE] != kernel.NEW).all()
    first = walked(data, graph, data.X)
    assert walked(data, graph, data.X[::-1])[::-1] == first
    assert walked(data, graph, data.X) == first


def test_an_answer_that_rows_rule_out_is_no_evidence():
    """With m = 0 no class may be possible any more; the belief then stays."""
    data = made(11, n_rows=12, n_features=4, n_classes=2, missing="none", grouped=False)
    graph = data.graph(NEVER, 0.0)
    data.walk(graph)
    graph.freeze()
    rng = np.random.default_rng(0)
    paths = walked(data, graph, rng.integers(0, 4, (300, 4)).astype(float))
    for _, _, logs in paths:
        assert np.frombuffer(logs).max() == 0.0


def test_threads_share_a_graph():
    data = made(8, n_rows=80, n_features=9, n_classes=3)
    graph = data.graph(NEVER, 5.0)
    data.walk(graph)
    graph.freeze()
    graph.most = graph.n_nodes + 50
    tables = [np.random.default_rng(s).integers(0, 4, (60, 9)).astype(float) for s in range(8)]
    expected = [walked(data, copy.deepcopy(graph), X) for X in tables]
    found = [None] * len(tables)

    def run(i):
        found[i] = [walked(data, graph, tables[i]) for _ in range(3)]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(tables))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, answers in enumerate(expected):
        assert found[i] == [answers] * 3


def test_a_graph_can_be_pickled_and_copied():
    data = made(3, n_rows=30, n_features=6)
    graph = data.graph(NEVER, 5.0)
    data.walk(graph)
    graph.freeze()
    expected = walked(data, graph, data.X)
    for again in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert walked(data, again, data.X) == expected


def test_a_walk_that_nobody_finishes_holds_up_no_other():
    data = made(3, n_rows=30, n_features=6)
    graph = data.graph(NEVER, most=8)
    table, columns = read_table(data.X), data.evidence.columns
    parts = graph.walk(storage_of(table, columns, data.binner), data.binner.edges_of(columns), np.inf, 30)
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
    table = read_table(other.X)
    counts = Counts.of(other.binner, table, other.y, other.weights, to.size)
    floor = FREE * scale_of(other.priors, other.mistakes)
    other.evidence = Evidence.of(other.binner, counts, table, other.y, other.weights, other.prices, floor)
    if sorted(other.evidence.columns.tolist()) != sorted(data.evidence.columns.tolist()):
        raise AssertionError("the candidates differ")
    graphs = [d.graph(rule, m) for d in (data, other)]
    ends = [d.walk(g, data.X) for d, g in zip((data, other), graphs, strict=True)]
    for a, b in zip(*ends, strict=True):
        paths = path_of(graphs[0], a), path_of(graphs[1], b)
        if paths[0] != paths[1]:  # only where two features are worth the same
            assert tied(Twin(data, rule, m), *paths)
            continue
        np.testing.assert_allclose(np.exp(graphs[0].logs[a])[back], np.exp(graphs[1].logs[b]), rtol=1e-9, atol=1e-12)


def tied(twin, one, two):
    """Whether two paths part where the policy has no preference."""
    k = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    rates = twin.rates(one[:k])
    top = max(rates.values())
    close = sum(r >= top * (1 - 1e-9) - 1e-9 for r in rates.values()) > 1
    best = max(rates, key=rates.get)
    return close or abs(twin.advantage(one[:k], best)) < 1e-9 or top * FREE * twin.scale < 1e-9
