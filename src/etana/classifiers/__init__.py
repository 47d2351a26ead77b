"""Scikit-learn classifiers: thin classes, each of which pairs beliefs with a policy.

==============================  ===========================  ==========================================================
classifier                      beliefs                      policy
==============================  ===========================  ==========================================================
:class:`ETANAClassifier`        naive Bayes                  a fixed order, stopped by the solution of its problem
:class:`FETANAClassifier`       naive Bayes                  a fixed order, stopped by linear thresholds
:class:`AdaptiveClassifier`     path counts                  a choice for each instance
:class:`SequentialClassifier`   any classifier on prefixes   a fixed order, stopped by regression on held-out walks
:class:`CommitteeClassifier`    a committee on prefixes      an order for each region, stopped in the same way
:class:`FrugalClassifier`       those that pay least         of these, chosen on training rows
==============================  ===========================  ==========================================================
"""

from etana.classifiers.adaptive import AdaptiveClassifier
from etana.classifiers.committee import CommitteeClassifier
from etana.classifiers.fixed import ETANAClassifier, FETANAClassifier
from etana.classifiers.frugal import FrugalClassifier
from etana.classifiers.sequential import SequentialClassifier

__all__ = [
    "AdaptiveClassifier", "CommitteeClassifier", "ETANAClassifier", "FETANAClassifier", "FrugalClassifier",
    "SequentialClassifier",
]  # fmt: skip
