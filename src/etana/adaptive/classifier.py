"""The scikit-learn classifier that chooses the next feature for each instance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

import etana
from etana.adaptive.export import export_text
from etana.adaptive.fitting import Settings, Training, fit
from etana.adaptive.graph import Graph
from etana.adaptive.model import AdaptiveModel
from etana.classifiers import BinnedClassifier
from etana.costs import resolve_feature_costs, resolve_mistakes
from etana.errors import InputError
from etana.table import Table

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
        Infinity is naive Bayes; "auto" is the best of infinity, 50, 20, 10, 5 and 2 (50 to 5 where steps are looked
        ahead) by the cost of held-out training rows.
    look_ahead : bool, int or "auto"
        False: the next feature is the one with most information per price. A number of steps, or True for as many as
        are affordable: it is the first of the plan of so many steps that is expected to cost least, and where no such
        plan pays it is time to stop. "auto" looks ahead where there are few enough features, unless held-out training
        rows cost less without by more than a standard error.
    walks : {"rows", "model"}
        What the stopping rule is learnt from: held-out training rows, or instances drawn from the model.
    max_features : int, optional
        Most features that an instance is asked.
    max_nodes : int
        Most states that are remembered; the path of one instance is, whatever its length.
    random_state : int, RandomState or Generator, optional
        Seed of folds and draws; None is a fixed seed.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    m_, look_ahead_ : float, int
        The strength that is used, and the steps looked ahead.
    cv_costs_ : dict
        Mean cost of held-out training rows, features and mistakes, for each ``(m, look_ahead)`` that was tried.
    graph_ : Graph
        The decision graph; ``export_text()`` writes it out, ``plot()`` draws it.
    expected_cost_, expected_cost_error_, expected_n_features_ : float
        What the model expects of an instance, estimated from instances drawn from it; the error is one standard error.
    binner_, counts_ : Binner, Counts
        Bins, and training counts in them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from etana import AdaptiveClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = AdaptiveClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    >>> walk = clf.acquire(X[1::2])
    >>> bool(walk.n_features.mean() < 4)  # of 13
    True
    """

    def __init__(
        self,
        feature_costs: Any = 0.01,
        misclassification_costs: Any = None,
        n_bins: int | str = "auto",
        binning: Any = "supervised",
        priors: Any = "empirical",
        missing: str = "skip",
        m: float | str = "auto",
        look_ahead: bool | int | str = "auto",
        walks: str = "rows",
        max_features: int | None = None,
        max_nodes: int = 2**18,
        random_state: Any = None,
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

    @property
    def graph_(self) -> Graph:
        """The decision graph."""
        return self._solved().graph

    @property
    def expected_cost_(self) -> float:
        """Expected cost of an instance, features and mistakes, under the model."""
        return self._solved().expectation.cost

    @property
    def expected_cost_error_(self) -> float:
        """One standard error of ``expected_cost_``."""
        return self._solved().expectation.error

    @property
    def expected_n_features_(self) -> float:
        """Expected number of features asked of an instance, under the model."""
        return self._solved().expectation.n_features

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

    def plot(self, ax: Any = None, max_depth: int = 3, least: float = 0.01) -> Any:
        """Draw the decision graph; gives an :class:`etana.plots.GraphDisplay`."""
        return etana.plots.GraphDisplay.from_estimator(self, ax=ax, max_depth=max_depth, least=least)

    _carried = (*BinnedClassifier._carried, "_rows")

    def _keep(self, table: Table, codes: np.ndarray, weights: np.ndarray) -> None:
        kept = np.flatnonzero(weights > 0)
        self._rows = (table, codes, weights)
        if kept.size < codes.size:
            self._rows = (table.rows(kept), codes[kept], weights[kept])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = self.m == "auto" if isinstance(self.m, str) else isinstance(self.m, Real) and self.m >= 0
        if not known:
            raise InputError(f"m is {self.m!r}; it must be 'auto' or a number >= 0, infinity for naive Bayes")
        steps = self.look_ahead
        if steps != "auto" and (not isinstance(steps, Real) or steps != int(steps) or not 0 <= steps <= 4):
            raise InputError(f"look_ahead is {steps!r}; it must be 'auto', True, False or a number of steps up to 4")
        if self.walks not in ("rows", "model"):
            raise InputError(f"walks is {self.walks!r}; it must be 'rows' or 'model'")
        for name in ("max_features", "max_nodes"):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
            if not whole and not (value is None and name == "max_features"):
                raise InputError(f"{name} is {value!r}; it must be a whole number of at least 1")

    def _solve(self) -> AdaptiveModel:
        if not hasattr(self, "_rows"):
            raise InputError(
                "this classifier was loaded from a file, which does not hold the training rows that new prices need; "
                "use the classifier that was fitted, or fit again"
            )
        prices = resolve_feature_costs(self.feature_costs, self.n_features_in_, self._names())
        mistakes = resolve_mistakes(self.misclassification_costs, self.classes_.size)
        training = Training(*self._rows, self._resolve_priors(self.counts_.classes), prices, mistakes)
        settings = Settings(
            self.m,
            self.look_ahead,
            self.walks,
            self.max_features,
            self.max_nodes,
            self.binning,
            self.n_bins,
            self.missing,
            self._seed(),
        )
        fitted = fit(training, self.binner_, self.counts_, settings)
        (self.m_, self.look_ahead_), self.cv_costs_ = fitted.choice, fitted.costs
        return AdaptiveModel(self.binner_, self.classes_, prices, fitted.graph, self._names(), settings.seed)
