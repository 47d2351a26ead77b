"""What every policy offers, whichever solver made it.

A policy says *stop* or *continue* for a belief at a stage (stage k: k features have been asked), decides for a
class, and announces what it expects to pay under its own model. Solvers have one method,
``solve(problem) -> Policy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from etana.errors import InputError
from etana.kernels import rules
from etana.policies.expectation import Expectation, expect
from etana.problem import Problem

__all__ = ["Policy", "Rule", "Solver", "State"]

_NO_INDEX = np.zeros((1, 1), dtype=np.int64)


@runtime_checkable
class Solver(Protocol):
    """Anything that turns a problem into a policy."""

    def solve(self, problem: Problem) -> Policy:
        """Solve the problem."""
        ...


@dataclass(frozen=True)
class Rule:
    """A policy's stop test as flat arrays; see :mod:`etana.kernels.rules`."""

    kind: int
    table: np.ndarray
    index: np.ndarray
    costs: np.ndarray
    regrets: np.ndarray

    def arguments(self) -> tuple[Any, ...]:
        """The leading arguments of the kernels that take a rule."""
        return self.kind, self.table, self.index, self.costs, self.regrets


class State(NamedTuple):
    """What a policy holds besides its problem, as arrays and numbers: what a model file stores of it.

    Reading is by name with what is allowed, so that nothing out of bounds reaches a kernel.
    """

    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]

    def array(self, name: str, shape: tuple[int | None, ...], dtype: Any = np.float64) -> np.ndarray:
        """An array of this type and shape (None: any length) without NaN."""
        array = self.arrays.get(name)
        if array is None:
            raise InputError(f"the array {name!r} is missing")
        fits = array.ndim == len(shape) and all(s in (None, n) for s, n in zip(shape, array.shape, strict=True))
        if not fits or array.dtype != dtype:
            wanted = f"{np.dtype(dtype)} of shape {shape}".replace("None", "any")
            raise InputError(f"the array {name!r} is {array.dtype} of shape {array.shape}; it must be {wanted}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"the array {name!r} has an entry that is not a number")
        return array

    def number(self, name: str, least: float = -np.inf, most: float = np.inf) -> float:
        """A finite number from ``least`` to ``most``."""
        value = self.numbers.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise InputError(f"{name} is {value!r}; it must be a finite number")
        if not least <= value <= most:
            raise InputError(f"{name} is {value!r}; it must lie between {least} and {most}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.number(name, least, most)
        if not isinstance(value, int):
            raise InputError(f"{name} is {value!r}; it must be a whole number")
        return value


LARGEST_SEED = 2**63 - 1


class Policy:
    """A stopping rule for one problem.

    Parameters
    ----------
    problem : Problem
        The problem it was made for.
    kind : int
        One of the kinds of :mod:`etana.kernels.rules`.
    table, index : arrays
        The rule's arrays.
    horizon : int
        The policy never asks more than this many features.
    random_state : int
        Seed of the simulation behind :attr:`expectation`, where one is needed.
    """

    kinds: ClassVar[tuple[int, ...]] = ()  # of rules that a stored policy of this class can have

    def __init__(
        self,
        problem: Problem,
        kind: int,
        table: np.ndarray,
        horizon: int,
        index: np.ndarray = _NO_INDEX,
        random_state: int = 0,
    ) -> None:
        self.problem = problem
        self.horizon = horizon
        self.rule = Rule(
            kind,
            np.ascontiguousarray(table, dtype=np.float64),
            np.ascontiguousarray(index, dtype=np.int64),
            problem.feature_costs,
            problem.regrets,
        )
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_classes={self.problem.n_classes}, horizon={self.horizon})"

    def stops(self, stage: int, belief: Any) -> Any:
        """Whether to stop after ``stage`` features with this belief (N,), or these beliefs (n, N)."""
        rows, single = self._beliefs(belief)
        _check_stage(stage, self.problem.n_features)
        with np.errstate(divide="ignore"):
            logs = np.log(rows)
        b, s = np.empty(rows.shape[1]), np.empty(rows.shape[1])
        out = np.array([rules.stops(*self.rule.arguments(), stage, row, b, s) for row in logs], dtype=bool)
        return bool(out[0]) if single else out

    def decide(self, belief: Any) -> Any:
        """The class (its index) with the least expected cost for this belief, or these beliefs."""
        rows, single = self._beliefs(belief)
        out = np.array([rules.decide(row, self.problem.regrets) for row in rows], dtype=np.int64)
        return int(out[0]) if single else out

    def value(self, stage: int, belief: Any) -> Any:
        """What the solver believes the rest of the walk costs, mistakes included: J_stage(belief)."""
        rows, single = self._beliefs(belief)
        _check_stage(stage, self.problem.n_features)
        stop = self.problem.stop_cost(rows)
        if stage >= self.horizon:
            out = stop
        else:
            out = np.minimum(stop, self._continuation(stage, rows) + rows @ self.problem.floor)
        return float(out[0]) if single else out

    def continuation(self, stage: int, belief: Any) -> Any:
        """Expected cost of asking the next feature and going on as the policy does; infinite at the horizon."""
        rows, single = self._beliefs(belief)
        _check_stage(stage, self.problem.n_features)
        if stage >= self.horizon:
            out = np.full(len(rows), np.inf)
        else:
            out = self._continuation(stage, rows) + rows @ self.problem.floor
        return float(out[0]) if single else out

    def _continuation(self, stage: int, beliefs: np.ndarray) -> np.ndarray:
        """Cost to go in regrets for normalised beliefs; unless a policy knows better, of one feature and a stop."""
        total = np.full(len(beliefs), self.problem.feature_costs[stage])
        for likelihood in self.problem.stage(stage):
            total += ((beliefs * likelihood) @ self.problem.regrets).min(axis=1)
        return total

    @cached_property
    def expectation(self) -> Expectation:
        """What the policy pays and asks under its own model, in total and by class."""
        return expect(self.problem, self.rule, self.horizon, self.random_state)

    @property
    def expected_cost(self) -> float:
        """Mean cost of features and mistakes over instances drawn from the model."""
        return self.expectation.cost

    @property
    def expected_n_features(self) -> float:
        """Mean number of features asked over instances drawn from the model."""
        return self.expectation.n_features

    @cached_property
    def lower_bound(self) -> float:
        """A cost that no policy for this problem can beat."""
        from etana.policies import solver_for

        return min(solver_for("auto", self.problem).solve(self.problem).lower_bound, self.expected_cost)

    @property
    def gap(self) -> float:
        """Expected cost less lower bound: how far from the optimum the policy can be at most."""
        return max(self.expected_cost - self.lower_bound, 0.0)

    def state(self) -> State:
        """All that :meth:`restore` needs besides the problem; what is computed on demand is computed for it."""
        e, rule = self.expectation, self.rule
        arrays = {"table": rule.table, "index": rule.index}
        arrays |= {"class_cost": e.class_cost, "class_n_features": e.class_n_features, "reach": e.reach}
        numbers = {
            "kind": int(rule.kind),
            "horizon": int(self.horizon),
            "random_state": int(self.random_state),
            "lower_bound": float(self.lower_bound),
            "cost": e.cost,
            "n_features": e.n_features,
            "cost_error": e.standard_error,
            "n_features_error": e.n_features_standard_error,
        }
        return State(arrays, numbers)

    @classmethod
    def restore(cls, problem: Problem, state: State) -> Self:
        """The policy whose :meth:`state` this is, without solving or simulating anything again."""
        if state.number("kind") not in cls.kinds:
            raise InputError(f"a {cls.__name__} has no rule of kind {state.numbers['kind']}")
        horizon = state.whole("horizon", 0, problem.n_features)
        self = cls._build(problem, horizon, state)
        n = problem.n_classes
        if not len(state.array("reach", (None,))) <= horizon + 1:
            raise InputError("the array 'reach' is longer than the policy's horizon")
        # Cached properties are looked up in the instance first.
        vars(self)["lower_bound"] = state.number("lower_bound")
        vars(self)["expectation"] = Expectation(
            state.number("cost"),
            state.number("n_features"),
            state.array("class_cost", (n,)),
            state.array("class_n_features", (n,)),
            state.array("reach", (None,)),
            state.number("cost_error", 0.0),
            state.number("n_features_error", 0.0),
        )
        return self

    @classmethod
    def _build(cls, problem: Problem, horizon: int, state: State) -> Self:
        """The bare policy of a state, its rule checked against the problem."""
        seed = state.whole("random_state", 0, LARGEST_SEED)
        table, index = state.array("table", (None, None)), state.array("index", (None, None), np.int64)
        return cls(problem, state.whole("kind", 0, 6), table, horizon, index, seed)

    def _beliefs(self, belief: Any) -> tuple[np.ndarray, bool]:
        rows = np.asarray(belief, dtype=np.float64)
        single = rows.ndim == 1
        rows = np.ascontiguousarray(np.atleast_2d(rows))
        if rows.ndim != 2 or rows.shape[1] != self.problem.n_classes:
            raise InputError(
                f"belief has shape {np.shape(belief)}; it must be ({self.problem.n_classes},) or (n, "
                f"{self.problem.n_classes}), one probability per class"
            )
        sums = rows.sum(axis=1)
        if not np.isfinite(sums).all() or (rows < 0).any() or (sums <= 0).any():
            raise InputError("a belief must be finite, >= 0 and not all zero")
        return rows / sums[:, None], single


def _check_stage(stage: int, n_features: int) -> None:
    if not 0 <= stage <= n_features:
        raise InputError(f"stage is {stage}; it must be between 0 and the number of features, {n_features}")
