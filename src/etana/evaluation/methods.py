"""The methods that are compared, by name. A further method is a further entry of ``METHODS``.

An entry makes an estimator for a :class:`Setting`: one that acquires features, or a selector, which
:func:`etana.evaluation.measuring` follows with 3 nearest neighbours. Methods ``...-published`` are what the paper's
authors ran; the same names without it have our defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from etana.classifiers.adaptive import AdaptiveClassifier
from etana.classifiers.committee import CommitteeClassifier
from etana.classifiers.fixed import ETANAClassifier, FETANAClassifier
from etana.classifiers.frugal import FrugalClassifier
from etana.classifiers.sequential import SequentialClassifier
from etana.errors import InputError
from etana.evaluation.baselines import AcquiringTree, EveryFeature, Nothing
from etana.selection import OFSA3M, OSFS, SAOLA, AlphaInvesting, FastOSFS, OFSDensity

__all__ = ["METHODS", "Method", "Setting", "method_of", "register"]


@dataclass(frozen=True)
class Setting:
    """What an estimator is made for: number of classes, prices, number of bins (None: one for each class), seed; for
    some, costs of mistakes (None: 1 for each) and bins that are given (None: they are learnt)."""

    n_classes: int
    feature_costs: Any = 0.01
    n_bins: int | None = None
    seed: int = 0
    misclassification_costs: Any = None
    binner: Any = None

    @property
    def given(self) -> dict[str, Any]:
        """Prices, costs of mistakes, seed and bins, by the names that our classifiers have for them."""
        bins = {} if self.binner is None else {"binning": self.binner}
        costs = {"feature_costs": self.feature_costs, "misclassification_costs": self.misclassification_costs}
        return {**costs, "random_state": self.seed, **bins}

    @property
    def bins(self) -> int:
        """V, which is N unless it is given."""
        return self.n_classes if self.n_bins is None else self.n_bins


@dataclass(frozen=True)
class Method:
    """A name, a title for people, what makes the estimator, and the paper's column that it answers to."""

    name: str
    title: str
    make: Callable[[Setting], Any]
    paper: str | None = None


METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method to the comparison; a name is given once."""
    if method.name in METHODS:
        raise InputError(f"there is a method {method.name!r} already; give the new one a name of its own")
    METHODS[method.name] = method
    return method


def method_of(name: str) -> Method:
    """The method of a name; an unknown name is an error that lists all."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


def _published_thresholds(setting: Setting) -> FETANAClassifier:
    return FETANAClassifier(
        feature_costs=setting.feature_costs,
        n_bins=setting.bins,
        binning="published",
        ordering="variance",
        priors="uniform",
        original=True,
        random_state=setting.seed,
        identifiers=(),
        temperature=1.0,
    )


def _without_bins(kind: Any, setting: Setting) -> Any:
    return kind(**{name: value for name, value in setting.given.items() if name != "binning"})


for _method in (
    Method(
        "etana-published",
        "ETANA, authors' settings",
        lambda s: ETANAClassifier.as_published(n_bins=s.bins, feature_costs=s.feature_costs),
        paper="ETANA",
    ),
    Method(
        "etana",
        "ETANA, our defaults",
        lambda s: ETANAClassifier(n_bins="auto" if s.n_bins is None else s.n_bins, **s.given),
        paper="ETANA",
    ),
    Method("f-etana-published", "F-ETANA, authors' settings", _published_thresholds, paper="F-ETANA"),
    Method(
        "f-etana",
        "F-ETANA, our defaults",
        lambda s: FETANAClassifier(feature_costs=s.feature_costs, random_state=s.seed),
        paper="F-ETANA",
    ),
    Method("ofs-density", "OFS-Density + 3-NN", lambda s: OFSDensity(), paper="OFS-Density"),
    Method("ofs-a3m", "OFS-A3M + 3-NN", lambda s: OFSA3M(), paper="OFS-A3M"),
    Method("saola", "SAOLA + 3-NN", lambda s: SAOLA(), paper="SAOLA"),
    Method("fast-osfs", "Fast-OSFS + 3-NN", lambda s: FastOSFS(), paper="Fast-OSFS"),
    Method("osfs", "OSFS + 3-NN", lambda s: OSFS(), paper="OSFS"),
    Method(
        "alpha-investing-published",
        "Alpha-Investing + 3-NN",
        lambda s: AlphaInvesting(zero_start="stop"),
        paper="Alpha-Investing",
    ),
    Method("alpha-investing", "Alpha-Investing + 3-NN", lambda s: AlphaInvesting()),
    Method(
        "decision-tree",
        "Decision tree",
        lambda s: AcquiringTree(feature_costs=s.feature_costs, random_state=s.seed),
    ),
    Method("all-features", "Naive Bayes, all features", lambda s: EveryFeature(feature_costs=s.feature_costs)),
    Method("adaptive", "AdaptiveClassifier", lambda s: AdaptiveClassifier(**s.given)),
    Method("sequential", "SequentialClassifier", lambda s: _without_bins(SequentialClassifier, s)),
    Method("committee", "CommitteeClassifier", lambda s: _without_bins(CommitteeClassifier, s)),
    Method("frugal", "FrugalClassifier", lambda s: FrugalClassifier(**s.given)),
    Method(
        "etana-information", "ETANA, information order", lambda s: ETANAClassifier(ordering="information", **s.given)
    ),
    Method("etana-cost", "ETANA, searched order", lambda s: ETANAClassifier(ordering="cost", **s.given)),
    Method("nothing", "Buy nothing", lambda s: Nothing(s.misclassification_costs)),
):
    register(_method)
