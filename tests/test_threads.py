"""Threads: the same results for any number of them, no more than there are cores, after a fork, from many callers."""

import copy
import multiprocessing
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from etana import AdaptiveClassifier, ETANAClassifier, threads
from etana.walks.graph import GraphPool


@pytest.fixture
def cores(monkeypatch):
    """Pretend that the process may use so many cores."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return lambda n: monkeypatch.setattr(threads, "n_cores", lambda: n)


def bits(walk):
    return walk.labels.tobytes(), walk.n_features.tobytes(), walk.costs.tobytes(), walk.posteriors.tobytes()


@pytest.mark.parametrize(("load", "ordering"), [(load_breast_cancer, "auto"), (load_digits, "information")])
@pytest.mark.parametrize("binning", ["supervised", "quantile", "uniform"])
def test_one_two_and_three_threads_give_the_same_bits(load, ordering, binning, cores):
    X, y = load(return_X_y=True)
    many = np.tile(X, (9000 // len(X) + 1, 1))
    seen = set()
    for n in (1, 2, 3):
        cores(n)
        clf = ETANAClassifier(binning=binning, ordering=ordering, temperature=1.0).fit(X, y)
        parts = clf.counts_.cells, clf.binner_.edges, clf.feature_order_
        seen.add((*(p.tobytes() for p in parts), *bits(clf.acquire(many))))
    assert len(seen) == 1


@pytest.fixture(scope="module")
def many_ways():
    """A classifier that chooses for each instance, and rows most of which leave the states of the training rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 9000)
    X = rng.normal(size=(9000, 12)) + rng.normal(size=(3, 12))[y]
    X[rng.random(X.shape) < 0.05] = np.nan
    clf = AdaptiveClassifier(0.002, m=10.0, look_ahead=False, temperature=1.0).fit(X[:400], y[:400])
    return clf, X


@pytest.mark.parametrize("max_cost", [None, 0.01])
@pytest.mark.parametrize("most_states", [2**18, 1000])
def test_rows_of_a_graph_go_the_same_ways_in_any_number_of_threads(many_ways, most_states, max_cost, cores):
    """As they go in small batches, which are not sorted; also where there is room for a part of the states only."""
    clf, X = many_ways
    seen = set()
    for n in (1, 2, 3):
        cores(n)
        fresh = copy.deepcopy(clf)
        fresh.graph_.most = most_states
        walk = fresh.acquire(X, max_cost=max_cost)
        seen.add((*bits(walk), *(walk.features(i).tobytes() for i in range(len(X)))))
    parts = [copy.deepcopy(clf).acquire(X[a : a + 1000], max_cost=max_cost) for a in range(0, len(X), 1000)]
    joined = [b"".join(each) for each in zip(*(bits(part) for part in parts), strict=True)]
    asked = [part.features(i).tobytes() for part in parts for i in range(len(part))]
    assert seen == {(*joined, *asked)}


def test_threads_hardly_work_out_a_state_twice(many_ways, cores, monkeypatch):
    clf, X = many_ways
    grown, take = {}, GraphPool.take
    for n in (1, 2):
        cores(n)
        all_there = threading.Barrier(n, timeout=60)

        def together(pool, *args, all_there=all_there):
            graph = take(pool, *args)
            all_there.wait()  # a thread that is done at once would leave its graph to the next
            return graph

        monkeypatch.setattr(GraphPool, "take", together)
        fresh = copy.deepcopy(clf)
        kept = fresh.graph_.n_nodes
        fresh.acquire(X)
        graphs = fresh._compiled(fresh.model_).pool._free
        assert len(graphs) == n
        grown[n] = sum(graph.n_nodes - kept for graph in graphs)
        again = [graph.n_nodes for graph in graphs]
        fresh.acquire(X)  # each thread gets the graph that knows its part
        assert sorted(again) == sorted(graph.n_nodes for graph in graphs)
    assert grown[1] <= grown[2] < 1.02 * grown[1]


def test_each_item_is_done_once_and_by_no_more_threads_than_cores(cores):
    for n_cores in (1, 2, 3, 5):
        cores(n_cores)
        done, workers = np.zeros(1000, dtype=int), set()

        def run(first, last, done=done, workers=workers):
            workers.add(threading.get_ident())
            done[first:last] += 1

        threads.over_chunks(run, 1000, 100)
        assert (done == 1).all()
        assert threading.get_ident() in workers
        assert len(workers) <= n_cores


def test_callers_share_the_helpers(cores):
    """Eight callers on three cores: ten threads at work at most, not twenty-four; the helpers come back afterwards."""
    cores(3)
    at_work, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(8)

    def run(first, last):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        # Long enough for all callers to be at work at once.
        threading.Event().wait(0.05)
        with lock:
            at_work -= 1

    def call(_):
        together.wait()
        for _ in range(5):
            threads.over_chunks(run, 100, 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    assert 1 < most <= 10
    seen = []
    threads.over_chunks(lambda first, last: seen.append((first, last)), 9, 1)
    assert sorted(seen) == [(0, 3), (3, 6), (6, 9)]


def test_an_error_in_any_chunk_reaches_the_caller_and_frees_the_helpers(cores):
    cores(2)
    for bad in (0, 50):

        def run(first, last, bad=bad):
            if first == bad:
                raise ZeroDivisionError(first)

        with pytest.raises(ZeroDivisionError, match=str(bad)):
            threads.over_chunks(run, 100, 1)
    seen = []
    threads.over_chunks(lambda first, last: seen.append((first, last)), 100, 1)
    assert sorted(seen) == [(0, 50), (50, 100)]


@pytest.mark.parametrize(("told", "used"), [("1", 1), ("3", 3), ("3,2", 3), ("99", 4), ("0", 4), ("many", 4), ("", 4)])
def test_workers_of_joblib_and_dask_say_how_much_is_theirs(told, used, cores, monkeypatch):
    cores(4)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert threads.n_threads() == used


def test_eight_threads_with_a_thousand_predictions_each():
    X, y = load_breast_cancer(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    expected = clf.predict(X)

    def work(thread):
        rows = np.random.default_rng(thread).integers(0, len(X) - 8, 1000)
        return sum(not np.array_equal(clf.predict(X[r : r + 8]), expected[r : r + 8]) for r in rows.tolist())

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 0


def test_threads_may_be_the_first_to_solve():
    """After partial_fit the policy is solved when it is needed, by whichever thread comes first."""
    X, y = load_wine(return_X_y=True)
    expected = ETANAClassifier(ordering="information", temperature=1.0).fit(X, y).predict(X)
    for _ in range(3):
        clf = ETANAClassifier(ordering="information", temperature=1.0).partial_fit(X, y)
        with ThreadPoolExecutor(4) as pool:
            for labels in pool.map(clf.predict, [X] * 8):
                assert np.array_equal(labels, expected)


def _fit_and_walk(many):
    X, y = load_breast_cancer(return_X_y=True)
    return bits(ETANAClassifier().fit(X, y).acquire(many))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_children_of_a_process_that_has_used_threads(cores):
    """Fork while other threads are inside the engine: the children fit and classify as the parent does."""
    cores(2)
    X, _ = load_breast_cancer(return_X_y=True)
    many = np.tile(X, (20, 1))
    expected = _fit_and_walk(many)
    ended = threading.Event()

    def keep_busy():
        while not ended.is_set():
            _fit_and_walk(many)

    busy = [threading.Thread(target=keep_busy) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of newer Pythons: there are threads, which is the point
            with multiprocessing.get_context("fork").Pool(2) as pool:
                answers = pool.map_async(_fit_and_walk, [many] * 4).get(timeout=120)
    finally:
        ended.set()
        for thread in busy:
            thread.join()
    assert set(answers) == {expected}
