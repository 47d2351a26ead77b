"""Every law of etana.checks for classifiers, for every family; what one does not promise has a reason."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.naive_bayes import GaussianNB

from etana import (
    AdaptiveClassifier,
    CommitteeClassifier,
    ETANAClassifier,
    FeatureCosts,
    FETANAClassifier,
    FrugalClassifier,
    SequentialClassifier,
    checks,
)

FAMILIES = {
    "etana": ETANAClassifier(feature_costs=0.01),
    "etana-cost": ETANAClassifier(feature_costs=0.01, ordering="cost"),
    "f-etana": FETANAClassifier(feature_costs=0.01, batch=256, max_iterations=50),
    "adaptive": AdaptiveClassifier(feature_costs=0.01),
    "adaptive-rows": AdaptiveClassifier(feature_costs=0.01, m=5.0, look_ahead=False),
    "adaptive-bayes": AdaptiveClassifier(feature_costs=0.01, m=np.inf, look_ahead=False),
    "sequential": SequentialClassifier(feature_costs=0.01),
    "sequential-estimator": SequentialClassifier(GaussianNB(), feature_costs=0.01, max_features=4, cv=2),
    "committee": CommitteeClassifier(feature_costs=0.01, max_features=4, cv=2),
    "frugal": FrugalClassifier(feature_costs=0.01, effort="fast"),
}
SEQUENTIAL = ("sequential", "sequential-estimator", "committee")

# What a family does not promise, and why.
NOT_PROMISED = {
    **{
        (name, "check_model_expectation"): "a classifier on prefixes knows no chances of answers to draw by"
        for name in SEQUENTIAL
    },
    **{
        (name, "check_free_features_of_the_table"): "the order ends where nothing more is found to help"
        for name in SEQUENTIAL
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return np.round(X[::2, :6], 2), y[::2]


@pytest.fixture(scope="module")
def fitted(data):
    """Each family once."""
    return {name: checks._fit(clf, *data) for name, clf in FAMILIES.items()}


def promised(laws):
    pairs = [(name, law) for name in FAMILIES for law in laws if (name, law.__name__) not in NOT_PROMISED]
    return [pytest.param(name, law, id=f"{name}-{law.__name__}") for name, law in pairs]


@pytest.mark.parametrize(("name", "check"), promised(checks.MODEL_CHECKS))
def test_model_law(name, check, data, fitted):
    check(fitted[name], data[0])


@pytest.mark.parametrize(("name", "check"), promised(checks.CLASSIFIER_CHECKS))
def test_classifier_law(name, check, data):
    check(FAMILIES[name], *data)


def test_every_exception_names_a_family_and_a_law():
    laws = {law.__name__ for law in (*checks.MODEL_CHECKS, *checks.CLASSIFIER_CHECKS)}
    assert all(name in FAMILIES and law in laws for name, law in NOT_PROMISED)


@pytest.mark.parametrize("name", ["etana", "adaptive-rows", "sequential", "committee", "frugal"])
def test_model_laws_hold_with_missing_values_two_classes_and_groups(name):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[::3, :12].copy()
    X[::5, ::2] = np.nan
    prices = FeatureCosts(0.02, groups=list("aabb") * 3, discounted=0.002)
    clf = checks._fit(FAMILIES[name], X, y[::3], feature_costs=prices)
    for check in checks.MODEL_CHECKS:
        if (name, check.__name__) not in NOT_PROMISED:
            check(clf, X)
