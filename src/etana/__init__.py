"""Classification that asks for one feature at a time and stops when the next would cost more than it saves."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors, which cannot look behind __getattr__
    from etana import beliefs as beliefs
    from etana import checks as checks
    from etana import datasets as datasets
    from etana import distributed as distributed
    from etana import errors as errors
    from etana import evaluation as evaluation
    from etana import plots as plots
    from etana import policies as policies
    from etana import report as report
    from etana import scoring as scoring
    from etana import selection as selection
    from etana import typing as typing
    from etana.binning import Binner as Binner
    from etana.case import Case as Case
    from etana.classifiers.adaptive import AdaptiveClassifier as AdaptiveClassifier
    from etana.classifiers.committee import CommitteeClassifier as CommitteeClassifier
    from etana.classifiers.fixed import ETANAClassifier as ETANAClassifier
    from etana.classifiers.fixed import FETANAClassifier as FETANAClassifier
    from etana.classifiers.frugal import FrugalClassifier as FrugalClassifier
    from etana.classifiers.sequential import SequentialClassifier as SequentialClassifier
    from etana.costs import FeatureCosts as FeatureCosts
    from etana.dictionary import Dictionary as Dictionary
    from etana.exporting import export as export
    from etana.model import Model as Model
    from etana.modelfile import load as load
    from etana.modelfile import save as save
    from etana.problem import Problem as Problem
    from etana.walks import Acquisition as Acquisition

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
    "selection", "typing",
)  # fmt: skip

__all__ = [*sorted(_HOMES), *_MODULES]


if not TYPE_CHECKING:  # a type checker would take any name for an existing one

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(f"etana.{_HOMES[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(f"etana.{name}")
        raise AttributeError(f"module 'etana' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
