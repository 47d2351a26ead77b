"""The methods of :mod:`etana.evaluation`, one more of ours, and programs of others: STreeD and LightGBM."""

from __future__ import annotations

import numpy as np

from etana.classifiers.adaptive import AdaptiveClassifier
from etana.evaluation.methods import METHODS, Method, Setting, method_of, register
from reproduction.measurements.rivals import CostEffectiveBoosting, OptimalTree

__all__ = ["METHODS", "Setting", "method_of"]

for _method in (
    Method(
        "naive-instance",
        "Naive Bayes, by instance",
        lambda s: AdaptiveClassifier(m=np.inf, look_ahead=False, **s.given),
    ),
    Method("streed", "STreeD, depth 3", lambda s: OptimalTree(s.feature_costs, s.misclassification_costs)),
    Method("streed-4", "STreeD, depth 4", lambda s: OptimalTree(s.feature_costs, s.misclassification_costs, 4)),
    Method(
        "lightgbm",
        "LightGBM, cost-effective, once a model",
        lambda s: CostEffectiveBoosting(s.feature_costs, seed=s.seed),
    ),
    Method(
        "lightgbm-lazy",
        "LightGBM, cost-effective, for each row",
        lambda s: CostEffectiveBoosting(s.feature_costs, each_row=True, seed=s.seed),
    ),
):
    register(_method)
