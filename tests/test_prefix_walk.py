"""Rows along an order with a pool of classifiers: the compiled walk beside the loop for any pair, bit for bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression

import etana
from etana import CommitteeClassifier, FeatureCosts, SequentialClassifier
from etana.beliefs.prefixes.travel import Pool
from etana.policies.situation import Situation
from etana.table import read_table
from etana.walks import PrefixWalk, compiled_walk, generic


def with_holes(X, share=0.15):
    X = np.array(X, dtype=float)
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    X[0, :3] = np.inf, -np.inf, np.nan
    return X


def with_labels(X, y):
    """Two columns as text, some of it missing; the last row has a label that no other has."""
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    for name in ("c0", "c6"):
        frame[name] = pd.cut(frame[name], 4, labels=list("abcd")).astype(object)
    frame.loc[::9, "c6"] = None
    frame.loc[len(frame) - 1, ["c0", "c6"]] = "e"
    return frame, y


def samples():
    cancer, digits, wine = (load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_wine))
    yield "two classes", SequentialClassifier(), *cancer
    yield "ten classes", SequentialClassifier(max_features=10), digits[0][:600], digits[1][:600]
    yield "missing values", SequentialClassifier(feature_costs=0.003), with_holes(wine[0]), wine[1]
    yield "labels", SequentialClassifier(feature_costs=0.003), *with_labels(*wine)
    fees = FeatureCosts(np.r_[0.0, np.full(12, 0.01)], groups=[0] * 6 + [1] * 7, discounted=np.r_[0.0, [0.002] * 12])
    dear = 5.0 * (1 - np.eye(3)) + np.triu(np.ones((3, 3)), 1)
    yield "free, and in groups", SequentialClassifier(feature_costs=fees, misclassification_costs=dear), *wine
    yield "three members", CommitteeClassifier(feature_costs=0.003, splits=False), with_holes(wine[0]), wine[1]
    yield "three members, labels", CommitteeClassifier(feature_costs=0.003, splits=False), *with_labels(*wine)
    # More than 500 rows to learn from.
    twice, short = [(np.tile(X, (2, 1)), np.tile(y, 2)) for X, y in (cancer, (digits[0][:550], digits[1][:550] % 3))]
    small = {"splits": False, "max_features": 5, "cv": 2}
    yield "with trees", CommitteeClassifier(**small), with_holes(twice[0]), twice[1]
    yield "with trees, three classes", CommitteeClassifier(**small), *short
    yield "nothing pays", SequentialClassifier(feature_costs=2.0), *wine


SAMPLES = {name: given for name, *given in samples()}


@pytest.fixture(scope="module", params=SAMPLES)
def fitted(request):
    clf, X, y = SAMPLES[request.param]
    return request.param, clf.fit(X[::2], y[::2]), X[1::2]


def same(walk, walked, model):
    """Whether an acquisition is what the loop for any pair made of the rows."""
    outcomes, asked, starts, _ = walked
    assert walk.posteriors.tobytes() == outcomes.posteriors.tobytes()
    assert walk.costs.tobytes() == outcomes.spent.tobytes()
    assert (walk.labels == model.classes[outcomes.labels]).all()
    ways = [asked[first : first + many].tolist() for first, many in zip(starts, outcomes.asked, strict=True)]
    assert [walk.features(i).tolist() for i in range(len(walk))] == ways


def test_rows_have_the_bits_of_the_loop_for_any_pair(fitted):
    name, clf, X = fitted
    model = clf.model_
    assert isinstance(model.compiled, PrefixWalk)
    walk = clf.acquire(X)
    assert walk.n_features.max() > 1 or name == "nothing pays"
    same(walk, generic.walk(model.beliefs, model.policy, read_table(X)), model)
    assert len(model.beliefs.member.members) == (4 if "trees" in name else 3 if "three members" in name else 2)


def test_rows_with_little_money_too(fitted):
    _, clf, X = fitted
    model = clf.model_
    for share in (0.0, 0.3, 0.7):
        budget = share * float(clf.acquire(X).costs.max())
        walked = generic.walk(model.beliefs, model.policy, read_table(X), Situation(budget=budget * (1 + 1e-12)))
        same(clf.acquire(X, max_cost=budget), walked, model)


def test_a_row_alone_has_the_bits_of_many(fitted):
    _, clf, X = fitted
    many = clf.acquire(X)
    for i in (0, 1, len(X) - 1):
        alone = clf.acquire(X[i : i + 1])
        assert alone.posteriors.tobytes() == many.posteriors[i].tobytes()
        assert alone.features(0).tolist() == many.features(i).tolist()


@pytest.mark.parametrize("name", ["two classes", "ten classes"])
def test_it_does_not_matter_how_a_table_is_stored(name):
    clf, X, y = SAMPLES[name]
    clf.fit(X[::2], y[::2])
    rows = np.round(X[1::2], 2).astype(np.float32).astype(np.float64)  # exact in both precisions
    rows[rows < np.median(rows)] = 0.0
    expected = clf.acquire(rows)
    fixed = rows.copy()
    fixed.flags.writeable = False
    apart = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    by_column = np.asfortranarray(rows)
    tables = [
        by_column, by_column[:7], fixed, apart, rows.astype(np.float32), np.asfortranarray(rows.astype(np.float32)),
        sp.csr_array(rows), sp.csc_array(rows), pd.DataFrame(rows), rows.tolist(),
    ]  # fmt: skip
    for table in tables:
        walk = clf.acquire(table)
        assert walk.posteriors.tobytes() == expected.posteriors[: len(walk)].tobytes()
        assert (walk.n_features == expected.n_features[: len(walk)]).all()


def test_a_policy_may_end_before_the_beliefs_do():
    clf, X, y = SAMPLES["two classes"]
    short = clf.fit(X[::2], y[::2]).within_budget(0.015)
    model = short.model_
    assert model.policy.order.size < model.beliefs.order.size
    assert isinstance(model.compiled, PrefixWalk)
    same(short.acquire(X), generic.walk(model.beliefs, model.policy, read_table(X)), model)


def test_a_loaded_model_walks_the_same_way(tmp_path):
    clf, X, y = SAMPLES["three members"]
    etana.save(clf.fit(X, y), tmp_path / "model.etana")
    model = etana.load(tmp_path / "model.etana").model_
    assert isinstance(model.compiled, PrefixWalk)
    assert model.acquire(X).posteriors.tobytes() == clf.acquire(X).posteriors.tobytes()


def test_what_has_no_compiled_steps_takes_the_loop_for_any_pair():
    _, X, y = SAMPLES["two classes"]
    by_estimator = SequentialClassifier(LogisticRegression(max_iter=5000), max_features=2).fit(X[:80], y[:80]).model_
    assert by_estimator.compiled is None
    model = SequentialClassifier().fit(X[:80], y[:80]).model_
    pool = model.beliefs.member
    assert isinstance(pool, Pool)
    twice = replace(pool, members=(pool.members[0], pool.members[0]))
    for member in (pool.members[0], twice):
        beliefs = replace(model.beliefs, member=member)
        assert compiled_walk(beliefs, model.policy) is None
        assert len(replace(model, beliefs=beliefs).acquire(X)) == len(X)
