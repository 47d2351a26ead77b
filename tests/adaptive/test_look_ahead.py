"""Looking a few steps ahead where the answers that matter lie beyond them: a rare class, and many weak tests."""

import numpy as np
import pytest

from etana import AdaptiveClassifier
from etana.binning import Binner
from etana.learning.instance_choice import _affordable

N_FEATURES, ACCURACY, RARE, PRICE = 15, 0.7, 0.05, 0.001


def optimum() -> float:
    """Least expected cost over all plans. Tests are alike, so that a state is how many were asked and how many say the
    rare class; backwards from the last test."""
    after = None
    for asked in range(N_FEATURES, -1, -1):
        yes = np.arange(asked + 1)
        odds = RARE / (1 - RARE) * (ACCURACY / (1 - ACCURACY)) ** (2 * yes - asked)
        belief = odds / (1 + odds)
        cost = np.minimum(belief, 1 - belief)
        if after is not None:
            chance = belief * ACCURACY + (1 - belief) * (1 - ACCURACY)
            cost = np.minimum(cost, PRICE + chance * after[1:] + (1 - chance) * after[:-1])
        after = cost
    return float(after[0])


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < RARE).astype(int)
    return np.where(rng.random((n, N_FEATURES)) < ACCURACY, y[:, None], 1 - y[:, None]).astype(float), y


def paid(clf, X, y) -> float:
    walk = clf.acquire(X)
    return float((walk.costs + (walk.labels != y)).mean())


@pytest.fixture(scope="module")
def information():
    return AdaptiveClassifier(PRICE, m=np.inf, look_ahead=False, temperature=1.0).fit(*rows(2000, 0))


@pytest.mark.parametrize("walks", ["rows", "model"])
def test_two_steps_ahead_lose_nothing_to_the_rule_that_sees_the_whole_walk(information, walks):
    """No plan of two tests pays at the start; the best plan of up to fifteen costs half as much as asking nothing."""
    clf = AdaptiveClassifier(PRICE, m=np.inf, look_ahead=2, walks=walks, temperature=1.0).fit(*rows(2000, 0))
    X, y = rows(40_000, 1)
    ahead, by_rule = paid(clf, X, y), paid(information, X, y)
    assert clf.look_ahead_ == 2
    assert optimum() < 0.0245
    # A standard error of these means is .0008, of their difference less: the same rows walk both ways.
    assert ahead <= by_rule + 0.0005
    assert ahead <= optimum() * 1.1
    assert clf.start().next_feature is not None


def test_plans_end_where_no_more_may_be_asked():
    """With two features at most, two steps are all that is seen, and no two tests pay here."""
    clf = AdaptiveClassifier(PRICE, m=np.inf, look_ahead=2, max_features=2, temperature=1.0).fit(*rows(2000, 0))
    assert clf.start().next_feature is None


def test_a_loaded_classifier_takes_new_prices(tmp_path, information):
    import etana

    clf = AdaptiveClassifier(PRICE, m=np.inf, look_ahead=2, temperature=1.0).fit(*rows(500, 0))
    etana.save(clf, tmp_path / "m")
    dearer = etana.load(tmp_path / "m").with_costs(0.004)
    X, _ = rows(500, 2)
    assert 0 < dearer.acquire(X).n_features.mean() < clf.acquire(X).n_features.mean()


def test_with_many_classes_fewer_steps_are_affordable():
    """A cell takes longer the more classes it has: what two and three classes allow, thirty do not."""
    rng = np.random.default_rng(0)
    X, steps = rng.integers(0, 4, (240, 30)).astype(float), {}
    for n_classes in (2, 3, 30):
        y = np.arange(240) % n_classes
        clf = AdaptiveClassifier(0.01, m=10.0, look_ahead=False, binning=Binner.from_edges([[0.5, 1.5, 2.5]] * 30)).fit(
            X, y
        )
        steps[n_classes] = _affordable(clf.model_.beliefs)
    assert steps == {2: 2, 3: 2, 30: 0}
