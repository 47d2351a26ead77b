"""What the values seen so far say about the class.

==============================  =======================================================================================
:class:`NaiveBayes`             features are independent given the class; takes any column at any time
:class:`PathCounts`             training rows that share the answers so far, and naive Bayes; takes any column
:class:`Prefixed`               any classifier, fitted on every prefix of an order; takes columns in that order
:class:`Committee`              the same in regions, each with an order of its own; takes any column at any time
==============================  =======================================================================================
"""

from etana.beliefs.base import Beliefs, Knowledge, Possibility
from etana.beliefs.committee import Committee
from etana.beliefs.naive_bayes import NaiveBayes
from etana.beliefs.path_counts import PathCounts
from etana.beliefs.prefixes.belief import Prefixed

__all__ = ["Beliefs", "Committee", "Knowledge", "NaiveBayes", "PathCounts", "Possibility", "Prefixed"]
