"""How much each member of a pool is heard."""

import numpy as np
import pytest

from etana.beliefs.prefixes.calibration import temper
from etana.beliefs.prefixes.densities import fit_densities
from etana.beliefs.prefixes.encoding import learn_feature
from etana.learning.pooling import fit_pool

FLOOR = 1e-3


def members(n_members, n=10):
    x = np.linspace(0, 1, n)
    return [fit_densities([learn_feature(x, None)], x[:, None], np.arange(n) % 2, 2, np.ones(n))] * n_members


def saying(y, right, rng=None):
    """Posteriors (1, n, 2) that give the true class this chance."""
    right = np.broadcast_to(right, y.shape)
    return np.where(np.eye(2, dtype=bool)[y], right[:, None], 1 - right[:, None])[None]


def shares_of(held_out, y, weights=None):
    weights = np.ones(y.size) if weights is None else weights
    return fit_pool(members(len(held_out)), held_out, y, FLOOR, weights)[0].shares


def test_shares_sum_to_1_and_the_pool_is_the_sum():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    held_out = [np.concatenate([saying(y, rng.uniform(0.2, 0.9, 60)) for _ in range(4)]) for _ in range(3)]
    pool, pooled = fit_pool(members(3), held_out, y, FLOOR, np.ones(60))
    assert pool.shares.shape == pool.temperatures.shape == (4, 3)
    assert np.allclose(pool.shares.sum(axis=1), 1, atol=1e-12)
    assert (pool.shares > 0).all()
    for k in range(4):
        honest = [temper(one[k], pool.prior, pool.temperatures[k, m], FLOOR) for m, one in enumerate(held_out)]
        assert np.allclose(pooled[k], np.tensordot(pool.shares[k], honest, 1), atol=1e-12)
        assert np.allclose(pool.pooled(k, [one[k] for one in held_out]), pooled[k], atol=1e-12)


def test_who_says_the_same_is_heard_alike():
    y = np.arange(500) % 2
    assert np.allclose(shares_of([saying(y, 0.8)] * 4, y), 0.25)


def alternating(n):
    """A member that is right three times in four, and one that tosses a coin, both as sure."""
    y = np.arange(n) % 2
    good = np.where(np.arange(n) // 2 % 4 < 3, 0.75, 0.25)
    poor = np.where(np.arange(n) // 2 % 2 < 1, 0.75, 0.25)
    return y, [saying(y, good), saying(y, poor)]


def test_the_better_member_is_heard_more_the_more_rows_there_are():
    heard = []
    for n in (8, 80, 8000):
        y, held_out = alternating(n)
        heard.append(float(shares_of(held_out, y)[0, 0]))
    assert 0.5 < heard[0] < heard[1] < heard[2]
    assert heard[0] < 0.6
    assert heard[2] > 0.9


def test_weights_count():
    """Rows on which one member is right weigh more: it is heard more, as if there were more of them."""
    y = np.arange(400) % 2
    first = np.arange(400) < 200
    held_out = [saying(y, np.where(first, 0.9, 0.2)), saying(y, np.where(first, 0.2, 0.9))]
    assert np.allclose(shares_of(held_out, y), 0.5, atol=1e-9)
    weights = np.where(first, 1.6, 0.4)
    weighted = shares_of(held_out, y, weights)
    assert weighted[0, 0] > 0.6
    assert np.allclose(shares_of(held_out, y, 64 * weights), weighted, rtol=1e-12)


def test_a_stage_has_shares_of_its_own_drawn_towards_those_of_all():
    y, (good, poor) = alternating(4000)
    shares = shares_of([np.concatenate([good] * 5 + [poor]), np.concatenate([poor] * 5 + [good])], y)
    assert (shares[:5, 0] > 0.85).all()
    assert shares[5, 0] < 0.3
    y, (good, poor) = alternating(40)
    few = shares_of([np.concatenate([good] * 5 + [poor]), np.concatenate([poor] * 5 + [good])], y)
    assert few[5, 0] > 0.4  # forty rows are not enough to part with the others


@pytest.mark.parametrize("n_members", [1, 3])
def test_no_stage(n_members):
    y = np.arange(6) % 2
    pool, pooled = fit_pool(members(n_members), [np.empty((0, 6, 2))] * n_members, y, FLOOR, np.ones(6))
    assert pool.shares.shape == (0, n_members)
    assert pooled.shape == (0, 6, 2)
    assert "naive Bayes" in pool.words
