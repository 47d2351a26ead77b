"""Compiled steps of rows along prefixes, beside NumPy's."""

import numpy as np
import pytest

from etana.beliefs.prefixes.calibration import temper
from etana.beliefs.prefixes.encoding import learn_feature
from etana.kernels.prefixes import add_tempered, onward_rows, score_rows
from etana.policies.regression import Regression, belief_functions, stop_costs


def beliefs(n=200, n_classes=3, seed=0):
    made = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), n)
    made[0] = np.eye(n_classes)[0]
    return made


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_tempered_posteriors(n_classes):
    made, prior = beliefs(n_classes=n_classes), np.full(n_classes, 1 / n_classes)
    powers = (0.99 * made + 0.01 * prior) ** 1.7
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(temper(made, prior, 1.7, 0.01), expected, rtol=1e-12)
    out = np.ones_like(made)
    add_tempered(made, prior, 1.7, 0.01, 0.25, out)
    np.testing.assert_allclose(out, 1.0 + 0.25 * expected, rtol=1e-12)


def test_a_class_without_prior_stays_impossible():
    prior = np.array([0.5, 0.5, 0.0])
    assert (temper(np.array([[0.2, 0.8, 0.0]]), prior, 0.7, 0.01)[0, 2]) == 0.0


def test_scores_of_logistic_regression():
    rng = np.random.default_rng(1)
    inputs, weights, out = rng.normal(size=(50, 6)), rng.normal(size=(7, 4)), np.empty((50, 4))
    score_rows(inputs, weights, out)
    odds = np.exp(inputs @ weights[:-1] + weights[-1])
    np.testing.assert_allclose(out, odds / odds.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("price", [0.0, 0.2])
def test_what_going_on_costs(n_classes, price):
    rng = np.random.default_rng(2)
    made, mistakes = beliefs(n_classes=n_classes), rng.random((n_classes, n_classes)) * (1 - np.eye(n_classes))
    functions = belief_functions(made, mistakes)
    fitted = Regression.fit(functions, rng.normal(size=len(made)))
    stop, onward = np.empty(len(made)), np.empty(len(made))
    given = fitted.centre, fitted.scale, fitted.slopes, fitted.level
    onward_rows(made, mistakes, float(mistakes.max()), *given, price, stop, onward)
    g = stop_costs(made, mistakes)
    np.testing.assert_allclose(stop, g, rtol=1e-12, atol=1e-15)
    expected = np.where((g > price) | (price == 0.0), np.maximum(g + fitted(functions), price), np.inf)
    np.testing.assert_allclose(onward, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["any", "whole", "one value"])
def test_values_of_a_feature_as_ranks_and_deviations(kind):
    rng = np.random.default_rng(3)
    values = {"any": rng.normal(size=900), "whole": rng.integers(0, 4, 900) * 1.0, "one value": np.full(9, 2.0)}[kind]
    feature = learn_feature(values, None)
    asked = np.concatenate([values, values + 0.1, [np.nan, np.inf, -np.inf]])
    known = np.clip(np.where(np.isnan(asked), feature.median, asked), *feature.ends)
    ranks = np.interp(known, feature.knots, feature.ranks)
    got = feature.inputs(asked)
    np.testing.assert_allclose(got[:, 0], (ranks - 0.5) / feature.spread, atol=1e-12)
    np.testing.assert_allclose(got[:, 1], (known - feature.mean) / feature.deviation, atol=1e-12)
    assert np.array_equal(feature.scaled(asked)[:, 0], (ranks / feature.spread).astype(np.float32))


def test_one_row_has_the_bits_of_many():
    rng = np.random.default_rng(4)
    made, prior, values = beliefs(), np.full(3, 1 / 3), rng.normal(size=200)
    feature = learn_feature(values, None)
    inputs, many, one = feature.inputs(values), np.empty((200, 3)), np.empty((1, 3))
    weights = rng.normal(size=(3, 3))
    score_rows(inputs, weights, many)
    for r in (0, 7, 199):
        score_rows(feature.inputs(values[r : r + 1]), weights, one)
        assert one.tobytes() == many[r].tobytes()
        assert temper(made[r : r + 1], prior, 0.8, 0.01).tobytes() == temper(made, prior, 0.8, 0.01)[r].tobytes()
