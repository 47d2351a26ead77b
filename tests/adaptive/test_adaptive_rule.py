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
    return flat(basis, risks, prices, spent, rng.integers(2, steps + 1, n))


def flat(basis, risks, prices, spent, lengths):
    """Walks of arrays (n, steps), of each of which the first states count."""
    there = np.arange(risks.shape[1]) < lengths[:, None]
    states = basis[there], risks[there], prices[there], spent[there]
    return Walks(*states, np.zeros(there.sum(), dtype=np.int64), lengths)


def slow_rule(walks):
    """The same rounds, state by state."""
    last = set((np.cumsum(walks.lengths) - 1).tolist())
    paid = [d for d in range(walks.risks.size) if d not in last and walks.prices[d] > 0]
    basis = walks.basis[paid]
    weights = 1 / (walks.risks[paid] + 0.02)
    ridge = learning._RIDGE * len(paid) / walks.lengths.size * np.eye(basis.shape[1])
    gram = basis.T @ (basis * weights[:, None]) + ridge

    def onward(d, rule):
        """What the walk pays after its next feature, stopping as the policy does."""
        total = 0.0
        while True:
            total += walks.prices[d]
            d += 1
            pays = walks.risks[d] > walks.prices[d] and (rule is None or walks.basis[d] @ rule < 0)
            if d in last or not (pays or walks.prices[d] == 0):
                return total + walks.risks[d]

    rule, met = None, []
    for _ in range(learning._ROUNDS):
        extra = np.array([onward(d, rule) - walks.risks[d] for d in paid])
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
    first = np.cumsum(walks.lengths) - walks.lengths
    assert walks.play(rule)[1][first].mean() == pytest.approx(walks.expected(rule))
