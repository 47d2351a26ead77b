"""Regions of a committee: values in any order, cases and batches, budgets, files, and what must not matter."""

from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import etana
from etana import CommitteeClassifier, FeatureCosts, checks
from etana.beliefs import Committee, Prefixed
from etana.beliefs.prefixes.boosting import Boosted
from etana.beliefs.prefixes.densities import Densities
from etana.beliefs.prefixes.linear import Linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.commands.show import show_model
from etana.errors import InputError
from etana.modelfile import load_model
from etana.policies.tree import PolicyTree
from gated_rows import gated

GATE = 3


def quick(**given):
    return CommitteeClassifier(**{"feature_costs": 0.02, "max_features": 3, "cv": 2, **given})


@cache
def parted():
    """Two regions, told apart by the sign of column 3."""
    clf = quick().fit(*gated(500))
    assert clf.n_regions_ == 2
    return clf


@cache
def in_groups():
    """The same, with missing values, and prices of which the gate shares the fee of a group."""
    X, y = gated(1000)
    X[::19, 0], X[::23, GATE] = np.nan, np.nan
    prices = FeatureCosts([0.03, 0.02, 0.01, 0.01, 0.01, 0.01], groups=["a", "a", "b", "a", "b", "c"], discounted=0.005)
    clf = quick(feature_costs=prices).fit(X, y)
    assert clf.n_regions_ == 2
    return clf


def rows(n=40, seed=3):
    X, _ = gated(n, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X


def same(one, other):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_it_is_a_tree_over_a_committee():
    model = parted().model_
    assert isinstance(model.beliefs, Committee)
    assert isinstance(model.policy, PolicyTree)
    assert "apart in 2 regions" in model.beliefs.words
    assert model.order is None
    one = quick(splits=False).fit(*gated(200)).model_
    assert isinstance(one.beliefs, Prefixed)


@pytest.mark.parametrize(("n", "given", "boosts"), [(500, {}, False), (501, {}, True), (501, {"max_rows": 500}, False)])
def test_boosted_trees_are_heard_where_rows_are_many(n, given, boosts):
    X, y = gated(502)
    counting = (np.arange(502) < n).astype(float)
    members = quick(splits=False, **given).fit(X, y, counting).model_.beliefs.member.members
    assert [type(member) for member in members] == [Neighbours, Linear, Densities] + [Boosted] * boosts


# --- beliefs


def test_values_in_any_order_give_the_same_posteriors_bit_for_bit():
    beliefs, X = parted().model_.beliefs, rows()
    for columns in ((GATE, 0, 1), (GATE, 0, 1, 2), (0, 1), (5, GATE)):
        seen = set()
        for order in permutations(columns):
            knowledge = beliefs.begin(len(X))
            for column in order:
                knowledge = knowledge.after(column, X[:, column])
            assert knowledge.known == order
            seen.add(knowledge.posteriors.tobytes())
        assert len(seen) == 1


def test_some_rows_of_knowledge_are_those_rows():
    beliefs, X = parted().model_.beliefs, rows()
    chosen = np.array([7, 3, 3, 20, 0])
    mask = np.arange(40) % 3 == 0
    for columns in ((), (0,), (GATE,), (0, GATE, 1)):
        whole = beliefs.begin(40)
        for column in columns:
            whole = whole.after(column, X[:, column])
        for some in (chosen, mask):
            part = whole.take(some)
            assert part.posteriors.tobytes() == whole.posteriors[some].tobytes()
            # They go on as they would have among the others.
            on = part.after(2, X[some, 2]).after(5, X[some, 5])
            assert on.posteriors.tobytes() == whole.after(2, X[:, 2]).after(5, X[:, 5]).posteriors[some].tobytes()
        assert np.allclose(whole.posteriors.sum(axis=1), 1)
        assert (whole.logs == np.log(whole.posteriors)).all()


def test_a_missing_gate_leads_outside():
    beliefs = parted().model_.beliefs
    split = beliefs.regions[0].split
    assert (split.column, split.least) == (GATE, -np.inf)
    known = beliefs.begin(3).after(GATE, np.array([split.most, np.nan, split.most + 1e-9]))
    assert {part.region: part.rows.tolist() for part in known.parts} == {split.inside: [0], split.outside: [1, 2]}


def test_a_column_of_no_order_changes_nothing():
    beliefs = parted().model_.beliefs
    other = next(k for k in range(6) if k not in beliefs.columns)
    before = beliefs.begin(2)
    assert (before.after(other, np.array([1.0, 2.0])).posteriors == before.posteriors).all()


# --- walks and cases


@pytest.mark.parametrize("made", [parted, in_groups])
def test_laws_of_models(made):
    for law in checks.MODEL_CHECKS:
        if law is not checks.check_model_expectation:  # it knows no chances of answers to draw by
            law(made(), rows())


@pytest.mark.parametrize("made", [parted, in_groups])
@pytest.mark.parametrize("budget", [None, 0.0, 0.01, 0.03, 0.06])
def test_nothing_is_charged_twice_and_the_budget_is_kept(made, budget):
    clf, X = made(), rows()
    prices = clf.model_.prices
    for known in ((), (GATE,), (0, 5)):
        walk = clf.acquire(X, max_cost=budget, known=list(known))
        for i in range(len(X)):
            asked = walk.features(i).tolist()
            assert len(set(asked) | set(known)) == len(asked) + len(known)
            # What is known was not paid for, and gives no discount.
            due = sum(prices.price_of(column, asked[:place]) for place, column in enumerate(asked))
            assert walk.costs[i] == pytest.approx(due)
            assert budget is None or walk.costs[i] <= budget + 1e-12
            case = clf.start(max_cost=budget, known={k: X[i, k] for k in known})
            while (column := case.next_column) is not None:
                case.observe(X[i, column])
            assert case.cost == walk.costs[i]
            assert case.posterior.tobytes() == walk.posteriors[i].tobytes()


def test_results_that_come_out_of_turn():
    clf, X, contradicting = parted(), gated(30, seed=4)[0], 0
    for row in X:
        case = clf.start()
        case.observe(row[0], feature=0, price=0)
        case.observe(row[1], feature=1)
        assert case.cost == pytest.approx(0.02)
        # Where both say the same, it does not matter which of them is to be believed.
        assert case.next_feature == (GATE if case.stop_cost > 0.02 else None)
        contradicting += case.next_feature == GATE
        case.observe(row[GATE], feature=GATE)
        knowledge = clf.model_.beliefs.begin(1)
        for column in (1, GATE, 0):
            knowledge = knowledge.after(column, row[[column]])
        assert case.posterior.tobytes() == knowledge.posteriors[0].tobytes()
        assert case.next_feature not in (0, 1, GATE)
        assert case.undo().next_feature in (GATE, None)
    assert 10 <= contradicting < 30


def test_a_gate_that_is_known_is_a_question_less_and_not_worse():
    X, y = gated(400, seed=6)
    plain, told = parted().acquire(X), parted().acquire(X, known=[GATE])
    assert plain.costs.mean() - told.costs.mean() == pytest.approx(0.02)
    same_way = (plain.labels == told.labels).mean()
    assert same_way == 1.0
    assert (told.labels == y).mean() > 0.8


def test_a_gate_that_is_too_dear_to_ask_still_parts_those_who_know_it():
    clf, X = parted().with_costs([0.02, 0.02, 0.02, 5.0, 0.02, 0.02]), gated(20, seed=8)[0]
    assert clf.start().next_feature is None
    for row in X:
        assert clf.start(known={GATE: row[GATE]}).next_feature == (0 if row[GATE] < 0 else 1)


def test_a_gate_that_cannot_be_had_is_not_asked_again_and_not_charged():
    case = parted().start()
    assert case.next_feature == GATE
    case.unavailable(GATE)
    assert case.next_feature != GATE
    assert case.cost == 0
    assert case.label in (0, 1)


# --- a gate that cannot be had


def test_values_of_halves_count_by_shares_where_the_gate_is_not_known():
    beliefs, X = parted().model_.beliefs, rows(20)
    split = beliefs.regions[0].split
    blend = 0.0
    for half in (split.inside, split.outside):
        region = beliefs.regions[half]
        own = region.chain.begin(len(X))
        for column in region.chain.order.tolist():
            own = own.after(column, X[:, column] if column in (0, 1) else np.full(len(X), np.nan))
        blend = blend + region.share * own.posteriors
    known = beliefs.begin(len(X)).after(1, X[:, 1]).after(0, X[:, 0])
    assert known.posteriors == pytest.approx(blend, abs=1e-12)
    assert np.ptp(known.posteriors[:, 1]) > 0.3
    assert known.take(np.array([7, 3])).posteriors.tobytes() == known.posteriors[[7, 3]].tobytes()
    inside = (gated(500)[0][:, GATE] <= split.most).mean()
    assert [beliefs.regions[half].share for half in (split.inside, split.outside)] == pytest.approx(
        [inside, 1 - inside]
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_what_helps_the_larger_half_is_asked_first(swapped):
    X, y = gated(700)
    # Seven of ten rows lie on one side of the gate, whichever that is.
    kept = (X[:, GATE] < 0) != swapped
    kept[np.flatnonzero(~kept)[::2]] = True
    clf = quick().fit(X[kept], y[kept])
    assert clf.n_regions_ == 2
    case = clf.start().unavailable(GATE)
    assert case.next_feature == (1 if swapped else 0)
    # The other column is worth its price too: by its own half's account, times its share, less the price elsewhere.
    assert case.observe(0.0).next_feature == (0 if swapped else 1)


def test_without_the_gate_a_case_goes_on_and_pays_less_than_one_that_ends():
    (X, y), paid = gated(100, seed=9), []
    for row, truth in zip(X, y.tolist(), strict=True):
        case = parted().start().unavailable(GATE)
        while (column := case.next_column) is not None:
            assert case.expected_cost <= case.cost + case.stop_cost
            case.observe(row[column])
        paid.append(case.cost + (case.label != truth))
    ended = (y != parted().start().label).mean()
    # With both columns known and the gate unknown three of four can be right; without any, half of them.
    assert np.mean(paid) < ended - 0.1


def test_where_the_gate_does_not_fit_the_money_the_rest_is_asked():
    clf, (X, y) = parted().with_costs([0.02, 0.02, 0.02, 0.2, 0.02, 0.02]), gated(100, seed=9)
    assert clf.start().next_feature == GATE
    walk = clf.acquire(X, max_cost=0.05)
    assert walk.n_features.min() >= 1
    assert walk.costs.max() <= 0.05
    assert not any(GATE in walk.features(i) for i in range(len(X)))
    assert (walk.costs + (walk.labels != y)).mean() < (y != clf.start().label).mean() - 0.1


def test_what_a_column_saves_is_counted_by_the_shares_of_the_halves():
    model = parted().model_
    tree, beliefs = model.policy, model.beliefs
    split = beliefs.regions[0].split
    saved = {0: 0.0, 1: 0.0}
    for half in (split.inside, split.outside):
        region, rule = beliefs.regions[half], tree.rules[half]
        first, belief = int(region.chain.order[0]), region.chain.begin(1).posteriors
        for column in saved:
            own = float((belief @ tree.mistakes).min() - rule.continuation(0, belief)[0])
            saved[column] += region.share * (max(own, -0.02) if column == first else -0.02)
    case = parted().start().unavailable(GATE)
    best = max(saved, key=lambda column: saved[column])
    assert case.next_column == best
    assert case.stop_cost - case.expected_cost == pytest.approx(saved[best])
    # What costs more than it saves is not asked, and what costs nothing is.
    dear = parted().with_costs([0.6, 0.6, 0.6, 0.001, 0.6, 0.6]).start().unavailable(GATE)
    assert dear.next_feature is None
    free = parted().with_costs([0.6, 0.0, 0.6, 0.001, 0.6, 0.6]).start().unavailable(GATE)
    assert free.next_feature == 1


def test_cases_are_explained():
    case = parted().start()
    assert f"Ask for {GATE} (price 0.02): it is next in the order of its region" in case.explain()
    assert case.suggestions(3)[0].feature == GATE
    case.observe(-1.0)
    assert "Ask for 0" in case.explain()
    assert {question.column for question in parted().model_.questions()} >= {0, 1, GATE}
    chances = {question.column: question.chance for question in parted().model_.questions()}
    assert chances[GATE] == pytest.approx(1.0)
    assert chances[0] + chances[1] == pytest.approx(1.0, abs=0.05)


def test_the_announced_figures_are_those_of_the_walks():
    """Fresh rows pay what is announced, within what chance allows."""
    clf = parted()
    X, y = gated(4000, seed=9)
    walk = clf.acquire(X)
    paid = walk.costs + (walk.labels != y)
    error = np.hypot(clf.expected_cost_error_, paid.std() / np.sqrt(y.size))
    assert abs(paid.mean() - clf.expected_cost_) < 4 * error
    assert clf.expected_n_features_ == pytest.approx(walk.n_features.mean(), abs=0.2)
    assert clf.mean_spend() == pytest.approx(0.02 * clf.model_.expected_n_features)


# --- budgets


@pytest.mark.parametrize("made", [parted, in_groups])
def test_a_plan_for_a_budget(made):
    clf, X = made(), gated(300, seed=5)[0]
    last = np.inf
    for budget in (0.0, 0.03, 0.05, 0.1, 1.0):
        planned = clf.within_budget(budget)
        assert planned.acquire(X).costs.max() <= budget * (1 + 1e-9)
        assert planned.expected_cost_ <= last
        last = planned.expected_cost_
    # Both as the rules expect it; what the classifier announces is judged by rows that its rules had not seen.
    assert last <= clf.model_.policy.known_expectation.cost + 1e-12
    assert clf.for_budget(0.03).mean_spend() <= 0.03 * (1 + 1e-9)


# --- files


@pytest.mark.parametrize("made", [parted, in_groups, lambda: parted().within_budget(0.04)])
def test_files_bring_everything_back(made, tmp_path):
    clf, X = made(), rows()
    etana.save(clf, tmp_path / "m")
    again, model = etana.load(tmp_path / "m"), load_model(tmp_path / "m")
    assert type(again) is CommitteeClassifier
    for one in (again, model):
        for budget in (None, 0.03):
            same(clf.acquire(X, budget), one.acquire(X, budget))
    assert again.n_regions_ == clf.n_regions_ == 2
    assert (again.expected_cost_, again.mean_spend()) == (clf.expected_cost_, clf.mean_spend())
    assert again.model_.questions() == clf.model_.questions()
    assert again.start().explain() == clf.start().explain()
    mistakes = np.array([[0, 3.0], [1.0, 0]])
    same(clf.with_costs(0.004, mistakes).acquire(X), again.with_costs(0.004, mistakes).acquire(X))
    same(clf.within_budget(0.03).acquire(X), again.within_budget(0.03).acquire(X))
    before = (tmp_path / "m").read_bytes()
    etana.save(again, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


def test_a_single_region_is_stored_too(tmp_path):
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = np.nan
    clf = quick().fit(X, y)
    assert clf.n_regions_ == 1
    etana.save(clf, tmp_path / "m")
    again = etana.load(tmp_path / "m")
    same(clf.acquire(X), again.acquire(X))
    same(clf.with_costs(0.001).acquire(X), again.with_costs(0.001).acquire(X))
    assert again.n_regions_ == 1


def test_walks_that_are_too_large_are_left_out(tmp_path, monkeypatch):
    from etana.classifiers import prefixed

    monkeypatch.setattr(prefixed, "_LARGEST_WALKS", 10)
    etana.save(parted(), tmp_path / "m")
    again = etana.load(tmp_path / "m")
    same(parted().acquire(rows()), again.acquire(rows()))
    for change in (lambda: again.with_costs(0.1), lambda: again.within_budget(0.1)):
        with pytest.raises(InputError, match="does not hold the training walks"):
            change()


def test_a_policy_refuses_other_regions():
    clf = parted()
    first, one, other = clf.model_.beliefs.regions
    with pytest.raises(InputError, match="PolicyTree needs beliefs with regions, and Prefixed has none"):
        etana.Model(first.chain, clf.model_.policy, clf.classes_)
    with pytest.raises(InputError, match="the committee has other regions than the policy"):
        etana.Model(Committee((first, other, one)), clf.model_.policy, clf.classes_)


# --- what must not matter, and tables of every kind


def test_rows_names_and_threads_do_not_matter():
    X, y = gated(500)
    walk = parted().acquire(X)
    order = np.random.default_rng(1).permutation(500)
    mixed = quick(n_jobs=2).fit(X[order], y[order])
    same(walk, mixed.acquire(X))
    named = quick().fit(X, np.array(["yes", "no"])[y]).acquire(X)
    assert (named.labels == np.array(["yes", "no"])[walk.labels]).all()
    assert (named.n_features == walk.n_features).all()
    assert np.allclose(named.posteriors[:, ::-1], walk.posteriors)


def test_weights():
    X, y = gated(300)
    weights = np.ones(300)
    weights[200:] = 0
    some = quick(splits=False).fit(X[:200], y[:200])
    same(some.acquire(X), quick(splits=False).fit(X, y, weights).acquire(X))
    same(some.acquire(X), quick(splits=False).fit(X[:200], y[:200], np.full(200, 0.01)).acquire(X))
    # Rows in which column 2 gives the class away, and weigh most.
    told = X.copy()
    told[:100, 2] = 4 * y[:100] - 2
    assert quick(splits=False).fit(told, y, np.where(np.arange(300) < 100, 50.0, 1.0)).start().next_feature == 2


def test_labels_groups_missing_values_and_sparse_tables():
    X, y = gated(500, seed=2)
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["d"] = np.where(X[:, GATE] < 0, "left", "right")
    table.loc[::19, "c"] = np.nan
    clf = quick(feature_costs=dict.fromkeys(table, 0.02)).fit(table, y)
    assert clf.start().next_feature == "d"
    assert clf.start(known={"d": "left"}).next_feature == "a"
    assert clf.start(known={"d": "right"}).next_feature == "b"
    thin = quick(splits=False).fit(sparse.csr_array(X), y)
    same(thin.acquire(sparse.csr_array(X)), quick(splits=False).fit(X, y).acquire(X))


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_few_rows(n):
    X, y = gated(n)
    y[: min(n, 2)] = np.arange(min(n, 2))
    clf = CommitteeClassifier().fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert clf.n_regions_ == 1


def test_seeds_give_other_folds_and_the_same_seed_the_same():
    X, y = gated(200)
    costs = [quick(splits=False, random_state=seed).fit(X, y).expected_cost_ for seed in (None, 0, 1)]
    assert costs[0] == costs[1] != costs[2]


def test_progress_is_shown_on_standard_error(capsys):
    quick(splits=False, verbose=True).fit(*gated(60))
    out, err = capsys.readouterr()
    assert out == ""
    assert "CommitteeClassifier: fitting" in err


@pytest.mark.parametrize(
    ("given", "words"),
    [({"cv": 1}, "cv is 1"), ({"splits": "no"}, "splits is 'no'"), ({"max_features": -1}, "max_features is -1")],
)
def test_parameters_are_refused_before_any_work(given, words):
    with pytest.raises(InputError, match=words):
        quick(**given).fit(*gated(20))


def test_a_tree_is_shown(capsys):
    model = parted().model_
    show_model(model)
    out = " ".join(capsys.readouterr().out.split())
    inside, outside = model.beliefs.words_of(model.beliefs.regions[0].split)
    assert f"|-- {inside} (" in out
    assert f"|-- {outside} (" in out
