"""Small clinics: every family of classifiers on the same patients, with prices and groups."""

import numpy as np
import pandas as pd

from etana import (
    AdaptiveClassifier,
    CommitteeClassifier,
    ETANAClassifier,
    FeatureCosts,
    FETANAClassifier,
    FrugalClassifier,
    SequentialClassifier,
)

NAMES = ["age", "sex", "crp", "bilirubin", "albumin", "mri"]
PRICES = FeatureCosts(
    {"age": 0.0, "sex": 0.0, "crp": 0.01, "bilirubin": 0.02, "albumin": 0.02, "mri": 0.06},
    groups={"bilirubin": "blood", "albumin": "blood"}, discounted={"bilirubin": 0.005, "albumin": 0.005},
)  # fmt: skip

FAMILIES = {
    "etana": ETANAClassifier(PRICES),
    "f-etana": FETANAClassifier(PRICES, batch=64, max_iterations=20),
    "grid": ETANAClassifier(PRICES, solver="grid"),
    "adaptive": AdaptiveClassifier(PRICES, look_ahead=False, m=5.0),
    "adaptive-ahead": AdaptiveClassifier(PRICES, look_ahead=2),
    "adaptive-bayes": AdaptiveClassifier(PRICES, look_ahead=False, m=np.inf),
    "sequential": SequentialClassifier(feature_costs=PRICES),
    "committee": CommitteeClassifier(PRICES, max_features=4, cv=2),
    "frugal": FrugalClassifier(PRICES, effort="fast"),
}


def patients(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    noise = rng.normal(size=(n, len(NAMES)))
    X = noise + np.outer(y, [0.5, 0.4, 0.8, 0.9, 0.7, 1.6])
    return pd.DataFrame(X.round(2), columns=NAMES), y


def finish(case, row):
    """Answer a case to its end."""
    while (feature := case.next_feature) is not None:
        case.observe(row[feature])
    return case
