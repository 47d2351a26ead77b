"""The scikit-learn classifier that chooses the next feature for each instance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.path_counts import PathCounts
from etana.binning import Binner
from etana.classifiers.base import BinnedClassifier
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.judgement import HeldOutRows, Judgement
from etana.learning.folds import TrainingRows
from etana.learning.instance_choice import (
    ChoiceSettings,
    LearntPaths,
    Way,
    fit_choice,
    held_out_spend,
    learn_paths,
    recount_paths,
)
from etana.likelihood import Counts
from etana.model import Model
from etana.parameters import Constraint, either, none, number, one_of, whole
from etana.policies.instance_choice import InstanceChoice
from etana.reading import export_text
from etana.table import Table
from etana.typing import BinningLike, FeatureCostsLike, Identifiers, MistakeCostsLike, Priors, RandomState
from etana.walks.graph import Graph
from etana.walks.graph_walk import GraphWalk

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["AdaptiveClassifier"]


class AdaptiveClassifier(BinnedClassifier):
    """Asks each instance for the feature that is worth most now, and stops when going on would cost more than it saves.

    At every state, the path of answers so far, the next feature is the one with most information about the class per
    unit of price (a group's fee is paid once). What an answer says is learnt from the training rows that share the
    path, shrunk towards naive Bayes; how strongly is chosen by cross-validation. When to stop is found by backward
    regression on walks of held-out training rows, so that it is the total of feature costs and mistakes that is made
    small, looking ahead to the end of the walk. States are compiled into a decision graph.

    Parameters
    ----------
    feature_costs, misclassification_costs, n_bins, binning, priors, missing
        As for :class:`etana.ETANAClassifier`.
    m : float or "auto"
        Strength of the shrinkage: the training rows that share the path are weighed against ``m`` rows of naive Bayes.
        Infinity is naive Bayes; "auto" is the best of infinity, 10 and 2 (50 and 10 where steps are looked ahead) by
        the total cost of held-out training rows.
    look_ahead : bool, int or "auto"
        False: the next feature is the one with most information per price. A number of steps, or True for as many as
        are affordable: it is the first of the plan of so many steps that is expected to cost least, and where no such
        plan pays it is time to stop. Where a plan ends, the stopping rule says what lies beyond. "auto" looks
        ahead where there are few enough features, unless held-out training rows cost less without by more than a
        standard error.
    walks : {"rows", "model"}
        What the stopping rule is learnt from: held-out training rows, or instances drawn from the model.
    max_features : int, optional
        Most features that an instance is asked.
    max_nodes : int
        Most states that are remembered; the path of one instance is, whatever its length.
    random_state : int, RandomState or Generator, optional
        Seed of folds and draws; None is a fixed seed.
    identifiers : "auto" or sequence
        As for :class:`etana.ETANAClassifier`.
    temperature : "auto" or number >= 1
        As for :class:`etana.ETANAClassifier`; of naive Bayes, towards which the rows of a path are shrunk.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    m_, look_ahead_ : float, int
        The strength that is used, and the steps looked ahead.
    cv_costs_ : dict
        Mean cost of held-out training rows, features and mistakes, for each ``(m, look_ahead)`` that was tried.
        ``with_costs`` keeps the pair that was chosen and lets the same held-out rows walk again, for it alone; it is
        empty where no walk was needed.
    graph_ : Graph
        The decision graph; ``export_text()`` writes it out, :class:`etana.plots.GraphDisplay` draws it.
    expected_cost_, expected_cost_error_, expected_n_features_ : float
        What an instance is expected to pay and to be asked: what held-out training rows paid on the way that was
        chosen. Without them (under ``walks="model"``, or loaded and given new prices) it is what the model expects,
        estimated from instances drawn from it, which is always in ``model_``. The error is one standard error.
    temperature_ : float
        The temperature that is used.
    binner_, counts_ : Binner, Counts
        Bins, and training counts in them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from etana import AdaptiveClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = AdaptiveClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 5)  # of 13
    True
    """

    def __init__(
        self,
        feature_costs: FeatureCostsLike = 0.01,
        misclassification_costs: MistakeCostsLike = None,
        n_bins: int | str = "auto",
        binning: BinningLike = "supervised",
        priors: Priors = "empirical",
        missing: str = "skip",
        m: float | str = "auto",
        look_ahead: bool | int | str = "auto",
        walks: str = "rows",
        max_features: int | None = None,
        max_nodes: int = 2**18,
        random_state: RandomState = None,
        identifiers: Identifiers = "auto",
        temperature: float | str = "auto",
    ) -> None:
        self.feature_costs = feature_costs
        self.misclassification_costs = misclassification_costs
        self.n_bins = n_bins
        self.binning = binning
        self.priors = priors
        self.missing = missing
        self.m = m
        self.look_ahead = look_ahead
        self.walks = walks
        self.max_features = max_features
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.identifiers = identifiers
        self.temperature = temperature

    @property
    def graph_(self) -> Graph:
        """The decision graph: the states that are known so far."""
        return self._compiled(self._solved()).pool.first

    def export_text(self, max_depth: int = 4, least: float = 0.01) -> str:
        """The decision graph in words: what is asked, where each answer leads, what is decided.

        Parameters
        ----------
        max_depth : int
            Questions after which a branch is cut short.
        least : float
            Branches that are reached by a smaller share of instances than this are left out.
        """
        return export_text(self._solved(), max_depth, least)

    pairings = ((PathCounts, InstanceChoice),)
    m_: float
    look_ahead_: int
    cv_costs_: dict[Way, float]
    _paths: LearntPaths
    _paid: HeldOutRows | None = None

    _parameters: ClassVar = {
        "m": either(one_of("auto"), number(least=0, infinite=True)).cure("infinity is naive Bayes"),
        "look_ahead": either(
            one_of("auto"), Constraint(("True", "False", "a number of steps up to 4"), lambda v: _is_steps(v))
        ),
        "walks": one_of("rows", "model"),
        "max_features": either(whole(least=1), none),
        "max_nodes": whole(least=1),
    }
    _carried = (*BinnedClassifier._carried, "_paths", "m_", "look_ahead_", "cv_costs_")

    def _learn(
        self, table: Table, codes: np.ndarray, weights: np.ndarray, prices: ResolvedCosts, mistakes: np.ndarray
    ) -> Judgement | None:
        super()._learn(table, codes, weights, prices, mistakes)
        kept = np.flatnonzero(weights > 0)
        rows = table, codes, weights
        if kept.size < codes.size:
            rows = table.rows(kept), codes[kept], weights[kept]
        priors = self._resolve_priors(self.counts_.classes)
        given = isinstance(self.binning, Binner)
        self._paths = learn_paths(
            rows, kept, self.binner_, self.counts_, priors, prices, mistakes, self._settings(), bins_given=given
        )
        self.__dict__.pop("m_", None)  # of a fit before
        return None  # held-out rows walk when prices are there, old or new: see fit_choice

    def recount(self, binner: Binner, counts: Counts, rows: TrainingRows) -> bool:
        """Bins and naive Bayes of more rows; those that share a path are still sought among these."""
        prices, mistakes = self._resolve_costs()
        priors, costs = self._resolve_priors(counts.classes), self.cv_costs_
        counts = replace(counts, silent=self.counts_.silent)
        self._paths = recount_paths(self._paths, rows, binner, counts, priors, prices, mistakes)
        super().recount(binner, counts, rows)
        self.cv_costs_ = costs
        return True

    def _make_model(self, prices: ResolvedCosts, mistakes: np.ndarray) -> Model:
        way = Way(self.m_, self.look_ahead_) if hasattr(self, "m_") else None
        settings = self._settings()
        if way is not None and not way.levels and settings.walks == "rows" and not self._paths.held_out:
            raise InputError(
                "this classifier was loaded from a file, which does not hold the held-out training rows that new "
                "prices need; use the classifier that was fitted, or fit again"
            )
        fitted = fit_choice(self._paths, prices, mistakes, settings, way, None if way is None else self.temperature_)
        (self.m_, self.look_ahead_), self.cv_costs_ = fitted.way, fitted.costs
        self._paid = fitted.paid
        self.temperature_ = fitted.beliefs.temperature
        model = Model(fitted.beliefs, fitted.policy, self.classes_, self._names(), judgement=fitted.judgement)
        self._compiled(model).compile()
        return model

    @staticmethod
    def _compiled(model: Model) -> GraphWalk:
        assert isinstance(model.compiled, GraphWalk)
        return model.compiled

    def _settings(self) -> ChoiceSettings:
        return ChoiceSettings(
            self.m, self.look_ahead, self.walks, self.max_features, self.max_nodes, self._seed(), self.temperature
        )

    def held_out(self) -> tuple[np.ndarray, HeldOutRows] | None:
        """Rows of the fit, and what each paid on the way that was chosen, by beliefs that had not seen it: the mean,
        where it walked more than once."""
        if self._paid is None:
            return None
        rows, walk = np.unique(np.concatenate([part.rows for part in self._paths.held_out]), return_inverse=True)
        times = np.bincount(walk)
        paid, asked, right, nothing, weights = (np.bincount(walk, figures) / times for figures in self._paid[:5])
        return rows, HeldOutRows(paid, asked, right, nothing, weights, self._paid.n_rows)

    def mean_spend(self) -> float:
        """What an instance is expected to pay for features alone: held-out rows, where there are any."""
        policy = self._solved().policy
        assert isinstance(policy, InstanceChoice)
        held_out = held_out_spend(self._paths, policy, self.m_, self.temperature_)
        return super().mean_spend() if held_out is None else held_out

    def learnt_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The counts, and what held-out rows paid."""
        arrays, values = super().learnt_state()
        costs = [[way.m, way.levels, cost] for way, cost in self.cv_costs_.items()]
        return arrays, values | {"cv_costs": costs}

    def restore_learnt(self, stored: State) -> None:
        """The same back."""
        super().restore_learnt(stored)
        model = self._solved()
        self.m_, self.look_ahead_ = model.beliefs.m, model.policy.levels  # type: ignore[attr-defined]
        rows = stored.rows("cv_costs", 3)
        self.cv_costs_ = {Way(float(m), int(levels)): float(cost) for m, levels, cost in rows}
        self._paths, self._paid = LearntPaths(self.model_.beliefs, ()), None  # type: ignore[arg-type]


def _is_steps(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and float(value) in (0.0, 1.0, 2.0, 3.0, 4.0)
