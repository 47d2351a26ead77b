"""The stopping problem over any classifier: features that depend on each other, asked one after another."""

from etana.sequential.classifier import SequentialClassifier

__all__ = ["SequentialClassifier"]
