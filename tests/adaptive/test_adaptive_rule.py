"""The stopping rule of walks, against a slow twin that takes every walk as the policy would."""

import numpy as np
import pytest

from etana.learning import walks as learning
from etana.learning.walks import Walks, fit_rule


def made(n=80, steps=6, seed=0):
    """Walks whose next price is sometimes above what a mistake is expected to cost, and sometimes nothing."""
    rng = np.random.default_rng(seed)
    risks = rng.beta(0.7, 1.0, (n, steps)) * np.linspace(1, 0.2, steps)
    basis = np.stack([np.ones_like(risks), risks, *rng.normal(size=(3, n, steps))], axis=2)
    prices = rng.choice([0.0, 0.02, 0.5], size=(n, steps), p=[0.1, 0.75, 0.15])
    spent = np.cumsum(prices, axis=1) - prices
    return Walks(basis, risks, prices, spent, np.zeros((n, steps), dtype=np.int64), rng.integers(2, steps + 1, n))


def slow_rule(walks):
    """The same rounds, state by state."""
    paid = [(i, d) for i, n in enumerate(walks.lengths) for d in range(n - 1) if walks.prices[i, d] > 0]
    basis = np.array([walks.basis[at] for at in paid])
    weights = np.array([1 / (walks.risks[at] + 0.02) for at in paid])
    ridge = learning._RIDGE * len(paid) / walks.lengths.size * np.eye(basis.shape[1])
    gram = basis.T @ (basis * weights[:, None]) + ridge

    def onward(i, d, rule):
        """What the walk pays after its next feature, stopping as the policy does."""
        total = 0.0
        while True:
            total += walks.prices[i, d]
            d += 1
            pays = walks.risks[i, d] > walks.prices[i, d] and (rule is None or walks.basis[i, d] @ rule < 0)
            if d == walks.lengths[i] - 1 or not (pays or walks.prices[i, d] == 0):
                return total + walks.risks[i, d]

    rule, met = None, []
    for _ in range(learning._ROUNDS):
        extra = np.array([onward(i, d, rule) - walks.risks[i, d] for i, d in paid])
        rule = np.linalg.solve(gram, basis.T @ (weights * extra))
        met.append((walks.expected(rule), len(met), rule))
    return min(met)[2], met


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_costs_to_go_are_those_of_the_policy_in_every_round(seed):
    walks = made(seed=seed)
    slow, met = slow_rule(walks)
    assert min(met)[1] > 0  # a later round finds the rule
    np.testing.assert_allclose(fit_rule(walks), slow, rtol=1e-7, atol=1e-9)


def test_what_is_to_go_at_the_beginning_is_what_is_expected():
    walks = made(seed=9)
    rule = fit_rule(walks)
    assert learning._to_go(walks, walks.going(rule))[:, 0].mean() == pytest.approx(walks.expected(rule))
