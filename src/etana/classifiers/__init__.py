"""Scikit-learn classifiers: thin classes, each of which pairs beliefs with a policy.

==============================  ===========================  ==========================================================
classifier                      beliefs                      policy
==============================  ===========================  ==========================================================
:class:`ETANAClassifier`        naive Bayes                  a fixed order, stopped by the solution of its problem
:class:`FETANAClassifier`       naive Bayes                  a fixed order, stopped by linear thresholds
:class:`AdaptiveClassifier`     path counts                  a choice for each instance
:class:`SequentialClassifier`   any classifier on prefixes   a fixed order, stopped by regression on held-out walks
==============================  ===========================  ==========================================================
"""

from etana.classifiers.adaptive import AdaptiveClassifier
from etana.classifiers.fixed import ETANAClassifier, FETANAClassifier
from etana.classifiers.sequential import SequentialClassifier

__all__ = ["AdaptiveClassifier", "ETANAClassifier", "FETANAClassifier", "SequentialClassifier"]
