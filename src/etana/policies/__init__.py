"""Solvers turn a problem into a policy.

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
from etana.policies.base import Policy, Solver
from etana.policies.exact import ExactSolver
from etana.policies.expectation import Expectation
from etana.policies.grid import GridSolver
from etana.policies.points import PointsSolver
from etana.policies.thresholds import ThresholdSolver
from etana.problem import Problem

__all__ = [
    "ExactSolver",
    "Expectation",
    "GridSolver",
    "PointsSolver",
    "Policy",
    "Solver",
    "ThresholdSolver",
    "solver_for",
]


def solver_for(solver: Any, problem: Problem, random_state: int = 0) -> Solver:
    """The solver object for a name, or the object itself; ``auto`` takes exact for two classes, else points."""
    if isinstance(solver, str):
        if solver == "auto":
            solver = "exact" if problem.n_classes == 2 else "points"
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
