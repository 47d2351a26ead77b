"""Solutions of the stopping problem of a fixed order, whichever solver made them.

Such a policy says *stop* or *continue* for a belief at a stage (stage k: k features have been asked), decides for a
class, and announces what it expects to pay under its own model. Solvers have one method,
``solve(problem) -> StoppingPolicy``. :class:`etana.policies.fixed_order.FixedOrder` makes a policy for rows of it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from etana.beliefs.base import Knowledge
from etana.errors import InputError
from etana.kernels import rules
from etana.kernels.rules import INTERVAL, Rule, make_rule
from etana.policies.expectation import Expectation, expect
from etana.problem import Problem

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["LARGEST_SEED", "OrderStopping", "Solver", "StoppingPolicy"]

_NO_INDEX = np.zeros((1, 1), dtype=np.int64)
LARGEST_SEED = 2**63 - 1
_FEW_DRAWS, _CLEARLY = 1024, 5.0  # instances, and standard errors


@runtime_checkable
class Solver(Protocol):
    """Anything that turns a problem into a policy."""

    def solve(self, problem: Problem) -> StoppingPolicy:
        """Solve the problem."""
        ...


class OrderStopping(metaclass=ABCMeta):
    """When to stop along a fixed order: by the solution of a stopping problem, or by what held-out rows taught.

    Attributes
    ----------
    horizon : int
        No more features than this are asked.
    expectation : Expectation
        What an instance is expected to pay and to be asked.
    """

    horizon: int
    expectation: Expectation

    @property
    @abstractmethod
    def regrets(self) -> np.ndarray:
        """Misclassification costs above the least of each class, (N, N)."""

    @property
    def words(self) -> str:
        """What kind of rule this is, for people."""
        return type(self).__name__

    @property
    def expected_cost(self) -> float:
        """Mean cost of features and mistakes."""
        return self.expectation.cost

    @property
    def expected_n_features(self) -> float:
        """Mean number of features asked."""
        return self.expectation.n_features

    @property
    def gap(self) -> float | None:
        """How far from the optimum the cost can be at most; None if that is not known."""
        return None

    @abstractmethod
    def stops_knowing(self, stage: int, knowledge: Knowledge) -> np.ndarray:
        """Whether to stop after ``stage`` features, for each row."""

    @abstractmethod
    def stops(self, stage: int, belief: Any) -> Any:
        """The same for a belief (N,), or beliefs (n, N)."""

    @abstractmethod
    def continuation(self, stage: int, belief: Any) -> Any:
        """Expected cost of asking the next feature and going on; infinite where that cannot pay."""

    @abstractmethod
    def decide(self, belief: Any) -> Any:
        """The class (its index) to decide for."""

    @abstractmethod
    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a model file holds of it."""


class StoppingPolicy(OrderStopping):
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
    compiled: ClassVar[bool] = True  # whether the rule is all there is to its stops and decisions
    rule: Rule

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
        self.rule = make_rule(
            kind,
            np.ascontiguousarray(table, dtype=np.float64),
            np.ascontiguousarray(index, dtype=np.int64),
            problem.feature_costs,
            # Regrets: a cost that no decision avoids adds the same to stopping and to going on.
            problem.regrets,
        )
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_classes={self.problem.n_classes}, horizon={self.horizon})"

    @property
    def regrets(self) -> np.ndarray:
        """Misclassification costs above the least of each class, (N, N)."""
        return self.problem.regrets

    def stops(self, stage: int, belief: Any) -> Any:
        """Whether to stop after ``stage`` features with this belief (N,), or these beliefs (n, N)."""
        rows, single = self._beliefs(belief)
        _check_stage(stage, self.problem.n_features)
        with np.errstate(divide="ignore"):
            out = self.stops_at(stage, np.log(rows))
        return bool(out[0]) if single else out

    def stops_knowing(self, stage: int, knowledge: Knowledge) -> np.ndarray:
        """Whether to stop after ``stage`` features, for each row."""
        return self.stops_at(stage, knowledge.logs)

    def stops_at(self, stage: int, logs: np.ndarray) -> np.ndarray:
        """The same for log beliefs (n, N) as walks carry them, which need not be normalised."""
        if self.rule.kind == INTERVAL:
            return rules.interval_stops_rows(self.rule.table, stage, logs)
        out = np.empty(len(logs), dtype=bool)
        rules.stops_rows(self.rule, stage, logs, out)
        return out

    def decide(self, belief: Any) -> Any:
        """The class (its index) with the least expected cost for this belief, or these beliefs."""
        rows, single = self._beliefs(belief)
        out = np.empty(len(rows), dtype=np.int64)
        rules.decide_rows(rows, self.problem.regrets, out)
        return int(out[0]) if single else out

    def value(self, stage: int, belief: Any) -> Any:
        """What the solver believes the rest of the walk costs, mistakes included: J_stage(belief)."""
        rows, single = self._beliefs(belief)
        _check_stage(stage, self.problem.n_features)
        stop = self.problem.stop_cost(rows)
        if stage >= self.horizon:
            out = stop
        else:
            # Theorem 2 of the paper; what no decision avoids was taken off before solving and comes back here.
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
        # sum_v P(v | pi) g(pi_v): with unnormalised beliefs Delta(v) * pi the chance of v cancels.
        for likelihood in self.problem.stage(stage):
            total += ((beliefs * likelihood) @ self.problem.regrets).min(axis=1)
        return total

    @cached_property
    def expectation(self) -> Expectation:  # type: ignore[override]
        """What the policy pays and asks under its own model, in total and by class."""
        return expect(self.problem, self, self.random_state)

    def depth(self, chance: float, most: int) -> int:
        """The number of stages, counted up to ``most``, that are reached with at least this chance."""
        most = min(most, self.horizon)
        if "expectation" not in vars(self) and most > 0:
            # A few instances often show that the last of them is.
            first = expect(self.problem, self, self.random_state, _FEW_DRAWS)
            if first.reach[most] - _CLEARLY * np.sqrt(first.reach[most] / _FEW_DRAWS) >= chance:
                return most
        return min(int((self.expectation.reach[1:] >= chance).sum()), most)

    @property
    def lower_bound(self) -> float:
        """A cost that no policy for this problem can beat; solvers know of different ones."""
        raise AssertionError("each policy knows a bound")

    def costs_less(self, other: StoppingPolicy) -> bool:
        """Whether this policy is expected to pay less than another."""
        return self.expected_cost < other.expected_cost

    @property
    def gap(self) -> float:
        """Expected cost less lower bound: how far from the optimum the policy can be at most."""
        return max(self.expected_cost - self.lower_bound, 0.0)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """All that :meth:`restore` needs besides the problem and the expectation; what is computed on demand is
        computed for it."""
        arrays = {"table": self.rule.table, "index": self.rule.index}
        numbers = {
            "kind": int(self.rule.kind),
            "horizon": int(self.horizon),
            "random_state": int(self.random_state),
            "lower_bound": float(self.lower_bound),
        }
        return arrays, numbers

    @classmethod
    def restore(cls, stored: State, problem: Problem, expectation: Expectation) -> Self:
        """The policy whose :meth:`state` this is, without solving or simulating anything again."""
        if stored.number("kind") not in cls.kinds:
            raise InputError(f"a {cls.__name__} has no rule of kind {stored.values['kind']}")
        horizon = stored.whole("horizon", 0, problem.n_features)
        self = cls._build(problem, horizon, stored)
        # There is a chance for each stage that can be reached, the first of which is 1.
        if expectation.reach.size != horizon + 1:
            raise InputError(f"the chances to be reached are {expectation.reach.size}, not {horizon + 1}")
        # Cached properties are looked up in the instance first.
        vars(self)["lower_bound"] = stored.number("lower_bound")
        vars(self)["expectation"] = expectation
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
        # Weights of any size are taken: a belief is a direction.
        return rows / sums[:, None], single


def _check_stage(stage: int, n_features: int) -> None:
    if not 0 <= stage <= n_features:
        raise InputError(f"stage is {stage}; it must be between 0 and the number of features, {n_features}")
