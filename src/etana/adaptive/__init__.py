"""Which feature next, for this instance: a decision graph that grows where instances lead it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etana.adaptive.model import AdaptiveCase, AdaptiveModel

if TYPE_CHECKING:
    from etana.adaptive.classifier import AdaptiveClassifier

__all__ = ["AdaptiveCase", "AdaptiveClassifier", "AdaptiveModel"]


def __getattr__(name: str) -> Any:
    # The classifier imports scikit-learn, which a model that was loaded from a file does not need.
    if name == "AdaptiveClassifier":
        from etana.adaptive.classifier import AdaptiveClassifier

        return AdaptiveClassifier
    raise AttributeError(f"module 'etana.adaptive' has no attribute {name!r}")
