"""Pictures of a classifier at work, as ``Display`` objects in the manner of scikit-learn.

===============================  =========================================================================
display                          shows
===============================  =========================================================================
:class:`FeatureUsageDisplay`     how often each feature was asked, in all and by class, and how many
:class:`CostCurveDisplay`        accuracy or cost against features asked or money spent
:class:`ConfusionCostDisplay`    which mistakes were made, and what they cost
:class:`CalibrationDisplay`      whether the belief at the stop can be believed
:class:`PolicyDisplay`           when the policy stops
:class:`ExamplePathsDisplay`     the way of a few telling instances, question by question
:class:`GraphDisplay`            what is asked, as a graph
===============================  =========================================================================

Each is made by ``from_estimator`` from a fitted classifier or an :class:`etana.Model`, keeps the numbers
that it draws as attributes, and can be drawn again, on other axes, by ``plot``. They need matplotlib, which the extra
``plot`` installs: ``pip install 'etana[plot]'``.
"""

from etana.plots.calibration import CalibrationDisplay
from etana.plots.confusion import ConfusionCostDisplay
from etana.plots.curve import CostCurve, CostCurveDisplay, trace_budgets, trace_prices
from etana.plots.graph import GraphDisplay
from etana.plots.paths import ExamplePathsDisplay
from etana.plots.policy import PolicyDisplay
from etana.plots.usage import FeatureUsageDisplay

__all__ = [
    "CalibrationDisplay",
    "ConfusionCostDisplay",
    "CostCurve",
    "CostCurveDisplay",
    "ExamplePathsDisplay",
    "FeatureUsageDisplay",
    "GraphDisplay",
    "PolicyDisplay",
    "trace_budgets",
    "trace_prices",
]
