"""Classification that asks for one feature at a time and stops when the next would cost more than it saves."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Names are imported when they are first used: scikit-learn and Numba take a second that `etana --help`, or a
# program that only catches etana's errors, need not wait for.
_HOMES = {
    "Acquisition": "walks",
    "AdaptiveClassifier": "classifiers.adaptive",
    "Binner": "binning",
    "Case": "case",
    "CommitteeClassifier": "classifiers.committee",
    "Dictionary": "dictionary",
    "ETANAClassifier": "classifiers.fixed",
    "FETANAClassifier": "classifiers.fixed",
    "FrugalClassifier": "classifiers.frugal",
    "FeatureCosts": "costs",
    "Model": "model",
    "Problem": "problem",
    "SequentialClassifier": "classifiers.sequential",
    "export": "exporting",
    "load": "modelfile",
    "save": "modelfile",
}
_MODULES = (
    "beliefs", "checks", "datasets", "distributed", "errors", "evaluation", "plots", "policies", "report", "scoring",
    "selection",
)  # fmt: skip

__all__ = [*sorted(_HOMES), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"etana.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"etana.{name}")
    raise AttributeError(f"module 'etana' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
