"""What to do next with some knowledge, and what solves the stopping problem of a fixed order.

:class:`FixedOrder` asks everybody the same features in the same order, :class:`InstanceChoice` each instance for the
feature that is worth most to it. When a fixed order stops is the solution of its stopping problem, or a regression on
held-out walks (:class:`RegressionStopping`). Solvers turn a problem into such a solution:

======================  ============  ===================================================================
solver                  classes       promise
======================  ============  ===================================================================
:class:`ExactSolver`    two           the optimum within a stated tolerance; two numbers per stage
:class:`PointsSolver`   any           close to the optimum, with a certified lower bound
:class:`GridSolver`     few           the paper's ETANA on a quantised simplex
:class:`ThresholdSolver`  any         the paper's F-ETANA: linear thresholds found by SPSA
======================  ============  ===================================================================
"""

from __future__ import annotations

from typing import Any

from etana.errors import InputError
from etana.policies.base import Askable, Move, Policy
from etana.policies.bounds import best_solver
from etana.policies.exact import ExactSolver
from etana.policies.expectation import Expectation
from etana.policies.fixed_order import FixedOrder
from etana.policies.grid import GridSolver
from etana.policies.instance_choice import InstanceChoice
from etana.policies.points import PointsSolver
from etana.policies.regression import RegressionStopping
from etana.policies.stopping import Solver, StoppingPolicy
from etana.policies.thresholds import ThresholdSolver

__all__ = [
    "Askable",
    "ExactSolver",
    "Expectation",
    "FixedOrder",
    "GridSolver",
    "InstanceChoice",
    "Move",
    "PointsSolver",
    "Policy",
    "RegressionStopping",
    "Solver",
    "StoppingPolicy",
    "ThresholdSolver",
    "solver_for",
]


def solver_for(solver: Any, n_classes: int, random_state: int = 0) -> Solver:
    """The solver object for a name, or the object itself; ``auto`` takes exact for two classes, else points."""
    if isinstance(solver, str):
        if solver == "auto":
            return best_solver(n_classes, random_state)
        if solver == "exact":
            return ExactSolver()
        if solver == "points":
            return PointsSolver(random_state=random_state)
        if solver == "grid":
            return GridSolver()
        if solver == "thresholds":
            return ThresholdSolver(random_state=random_state)
    elif isinstance(solver, Solver):
        return solver
    raise InputError(
        f"solver is {solver!r}; it must be 'auto', 'exact', 'points', 'grid', 'thresholds', "
        "or an object with a solve(problem) method"
    )
