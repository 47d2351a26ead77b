"""Which candidate is kept, and what is announced of it, on costs that are given."""

import numpy as np
import pytest

from etana.judgement import Judgement
from etana.learning.folds import TrainingRows
from etana.learning.judging import NOTHING, Candidate, Judged, Known, judge
from etana.table import read_table


def judged(paid, default, folds=None, weights=None):
    n = len(paid[NOTHING])
    numbers = {name: np.asarray(costs, dtype=float) for name, costs in paid.items()}
    asked = {name: np.full(n, float(place)) for place, name in enumerate(paid)}
    right = {name: (costs < 0.5).astype(float) for name, costs in numbers.items()}
    seconds = {name: float(place) for place, name in enumerate(paid)}
    folds = np.arange(n) % 5 if folds is None else folds
    return Judged(numbers, asked, right, np.ones(n) if weights is None else weights, folds, seconds, default)


def costs(mean, n=100, spread=0.1):
    """Costs with this mean, half above and half below."""
    return mean + spread * np.where(np.arange(n) % 2, 1, -1)


def test_the_default_is_kept_in_a_tie():
    same = costs(0.2)
    assert judged({NOTHING: costs(0.5), "other": same, "default": same}, "default").choose() == "default"
    assert judged({NOTHING: costs(0.5), "default": same, "other": same}, "default").choose() == "default"


def test_who_is_clearly_cheaper_takes_its_place():
    paid = {NOTHING: costs(0.5), "default": costs(0.3), "other": costs(0.2), "best": costs(0.1)}
    assert judged(paid, "default").choose() == "best"


def test_who_is_cheaper_by_chance_does_not():
    """The difference has mean -.01 and standard error .1 or .001."""
    for spread, kept in ((1.0, "default"), (0.01, "other")):
        paid = {NOTHING: costs(0.9), "default": costs(0.3, spread=0), "other": costs(0.29, spread=spread)}
        assert judged(paid, "default").choose() == kept


def test_differences_are_between_the_same_rows():
    """Costs that go up and down together: the difference is certain, however much each varies."""
    default = costs(0.5, spread=0.4)
    assert judged({NOTHING: costs(0.9), "default": default, "other": default - 0.01}, "default").choose() == "other"


def test_the_cheapest_of_those_that_are_clearly_cheaper():
    paid = {NOTHING: costs(0.9), "default": costs(0.5, spread=0), "a": costs(0.2, spread=0), "b": costs(0.3, spread=0)}
    assert judged(paid, "default").choose() == "a"
    # The apparent winner is not clear; the next one is.
    paid["a"] = costs(0.2, spread=8.0)
    assert judged(paid, "default").choose() == "b"


@pytest.mark.parametrize(("mean", "chosen"), [(0.3, "default"), (0.5, NOTHING), (0.6, NOTHING)])
def test_asking_has_to_earn_it(mean, chosen):
    one = judged({NOTHING: costs(0.5), "default": costs(mean), "other": costs(0.7)}, "default")
    assert one.choose() == chosen
    assert one.asking == "default"


def test_what_would_ask_is_the_cheapest_where_nothing_is_asked():
    assert judged({NOTHING: costs(0.1), "default": costs(0.5), "other": costs(0.2)}, "default").asking == "other"


def test_weights_decide_which_rows_count():
    first = np.arange(100) < 50
    paid = {NOTHING: np.ones(100), "default": np.where(first, 0.1, 0.5), "other": np.where(first, 0.5, 0.1)}
    assert judged(paid, "default", weights=np.where(first, 1.0, 0.0)).choose() == "default"
    one = judged(paid, "default", weights=np.where(first, 0.0, 3.0))
    assert one.choose() == "other"
    assert one.judgement().cost == pytest.approx(0.1)
    assert [row.cost for row in one.comparison()] == pytest.approx([0.1, 0.5, 1.0])


def test_the_announcement_is_not_that_of_the_winner():
    """Each fold suits another candidate: whoever wins has been lucky, and the fold that it was lucky in says so."""
    folds = np.repeat(np.arange(5), 40)
    lucky = {f"candidate {k}": np.where(folds == k, 0.05 * (k > 0), 0.5) for k in range(5)}
    one = judged({NOTHING: np.full(200, 0.45), "default": np.full(200, 0.44), **lucky}, "default", folds)
    winner = min(row.cost for row in one.comparison())
    assert one.choose() == "candidate 0"
    assert winner == pytest.approx(0.4)
    # Without a fold its lucky one looks like the default or worse: another one is chosen, and pays .5 on the fold.
    announced = one.judgement()
    assert announced.cost == pytest.approx(0.5)
    # Candidate 0 asks for 2 features, and is chosen without each fold but its own.
    assert announced.n_features in [pytest.approx(np.mean([other, 2, 2, 2, 2])) for other in (3, 4, 5, 6)]
    assert announced.accuracy == 0.0
    assert (announced.nothing, announced.pays) == (pytest.approx(0.45), False)


def test_the_announcement_of_a_sure_choice_is_its_cost():
    one = judged({NOTHING: costs(0.5), "default": costs(0.2), "other": costs(0.3)}, "default")
    announced = one.judgement()
    assert announced.cost == pytest.approx(0.2)
    assert announced.standard_error == pytest.approx(0.1 / np.sqrt(100))
    assert announced.pays


def test_the_comparison_has_a_row_for_each_the_cheapest_first():
    one = judged({NOTHING: costs(0.5), "default": costs(0.3), "other": costs(0.1)}, "default")
    rows = one.comparison()
    assert [row.name for row in rows] == ["other", "default", NOTHING]
    assert [row.chosen for row in rows] == [True, False, False]
    assert [row["features"] for row in rows] == [2.0, 1.0, 0.0]
    assert [row.seconds for row in rows] == [2.0, 1.0, 0.0]
    assert [row.accuracy for row in rows] == [1.0, 1.0, 0.5]
    assert rows[0]["standard_error"] == rows[0].standard_error == pytest.approx(0.01)
    assert rows[0][0] == rows[0]["name"] == "other"
    assert rows[0][1:3] == (rows[0].cost, rows[0].standard_error)
    with pytest.raises(AttributeError):
        rows[0]["colour"]
    assert rows[0]._fields == Candidate._fields == (
        "name", "cost", "standard_error", "features", "accuracy", "seconds", "chosen",
    )  # fmt: skip


# --- rows are held out


class Memory:
    """Knows the class of every row that it was fitted on, and takes any other for class 0; asks for one feature."""

    def fit(self, table, classes, weights):
        self.seen = dict(zip(table.block([0])[:, 0].tolist(), classes.tolist(), strict=True))
        self.weights = weights
        return self

    def acquire(self, table):
        keys = table.block([0])[:, 0].tolist()
        assert not set(keys) & set(self.seen), "a row was seen before"
        return Walked(np.array([self.seen.get(key, 0) for key in keys]))


class Walked:
    def __init__(self, labels):
        self.labels, self.costs, self.n_features = labels, np.full(labels.size, 0.25), np.ones(labels.size)


def judge_memory(y, weights=None, n_folds=5, repeats=1, n_jobs=None, mistakes=None):
    n = len(y)
    rows = TrainingRows(
        read_table(np.arange(n)[:, None] * 1.0), np.asarray(y), np.ones(n) if weights is None else weights
    )
    mistakes = 1 - np.eye(int(max(y)) + 1) if mistakes is None else mistakes
    told = []
    given = {NOTHING: None, "memory": Memory}
    return judge(rows, given, "memory", mistakes, n_folds, repeats, 0, n_jobs, told.append), told


def test_what_is_known_already_needs_no_fit():
    y = np.arange(40) % 2
    rows = TrainingRows(read_table(np.arange(40)[:, None] * 1.0), y, np.ones(40))
    known = {"walked": Known(costs(0.1, 40), np.full(40, 2.0), np.ones(40), 7.0)}
    told = []
    given = {NOTHING: None, "memory": Memory, "walked": None}
    one = judge(rows, given, "memory", 1 - np.eye(2), 5, 1, 0, None, told.append, known)
    assert told == ["memory"] * 5
    assert (one.paid["walked"] == costs(0.1, 40)).all()
    assert one.choose() == "walked"
    row = next(row for row in one.comparison() if row.chosen)
    assert (row.features, row.accuracy, row.seconds) == pytest.approx((2.0, 1.0, 7.0))


@pytest.mark.parametrize("repeats", [1, 3])
def test_no_row_is_judged_by_what_had_seen_it(repeats):
    y = np.arange(40) % 2
    mistakes = np.array([[0, 1.0], [3.0, 0]])
    one, told = judge_memory(y, repeats=repeats, mistakes=mistakes)
    assert np.allclose(one.paid["memory"], 0.25 + 3.0 * y)
    assert np.allclose(one.asked["memory"], 1)
    assert np.allclose(one.right["memory"], y == 0)
    # Half of each class among the others: class 1 is the cheaper decision.
    assert np.allclose(one.paid[NOTHING], 1.0 * (y == 0))
    assert (one.asked[NOTHING] == 0).all()
    assert len(told) == 5 * repeats
    assert one.seconds[NOTHING] == 0.0


def test_the_only_row_of_a_class_stays_in_training_and_does_not_count():
    y = np.array([0] * 10 + [1] * 10 + [2])
    one, _ = judge_memory(y)
    assert one.weights.tolist() == [1.0] * 20 + [0.0]
    assert one.paid["memory"][20] == 0


def test_rows_of_weight_0_are_not_held_out():
    weights = np.where(np.arange(30) < 20, 2.0, 0.0)
    one, _ = judge_memory(np.arange(30) % 2, weights)
    assert one.weights.tolist() == weights.tolist()
    assert (one.paid["memory"][20:] == 0).all()


def test_classes_of_one_row_each_are_all_kept():
    one, told = judge_memory(np.arange(4))
    assert told == []
    assert one.choose() == NOTHING
    assert one.judgement() == Judgement(0.0, 0.0, 0.0, 0.0, 0.0)


def test_threads_change_nothing():
    y = np.arange(40) % 3
    one, two = (judge_memory(y, n_jobs=n)[0] for n in (1, 2))
    assert all((one.paid[name] == two.paid[name]).all() for name in one.paid)
