"""The stopping problem over any classifier: features that depend on each other, asked one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etana.sequential.classifier import SequentialClassifier

__all__ = ["SequentialClassifier"]


def __getattr__(name: str) -> Any:
    """The classifier imports scikit-learn, which a model that was loaded need not wait for."""
    if name != "SequentialClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from etana.sequential.classifier import SequentialClassifier

    return SequentialClassifier
