"""What to do next with some knowledge.

A policy looks at what rows know and gives, for each of them, a :class:`Move`: the column to ask for, its price, whether
it is time to stop, and what is still to be paid. It does not ask, pay or learn: walks (:mod:`etana.walks`) and cases
(:mod:`etana.case`) do. A policy says what it needs of beliefs, and refuses those that do not fit before any work.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.kernels import rules
from etana.kernels.rules import Rule
from etana.policies.decision_graph import DecisionGraph
from etana.policies.expectation import Expectation
from etana.policies.outline import Step
from etana.policies.situation import Situation

if TYPE_CHECKING:
    from etana.modelfile.state import State
    from etana.policies.stopping import OrderStopping

__all__ = ["Askable", "Move", "Policy"]


class Move:
    """What to do next with each of n rows that know the same columns.

    Attributes
    ----------
    columns : array (n,)
        The column to ask for; -1 where none is left that could tell anything.
    prices : array (n,)
        What it costs.
    stops : array (n,)
        Whether it is time to stop.
    exhausted : array (n,)
        Whether nothing is left that could be asked at any price.
    """

    def __init__(
        self, columns: np.ndarray, prices: np.ndarray, stops: np.ndarray, exhausted: np.ndarray,
        onward: Callable[[], np.ndarray],
    ) -> None:  # fmt: skip
        self.columns = columns
        self.prices = prices
        self.stops = stops
        self.exhausted = exhausted
        # Walks need only whether to stop; what lies ahead is worked out for cases and explanations.
        self._work_out = onward

    @cached_property
    def onward(self) -> np.ndarray:
        """Expected cost of asking and going on as the policy does, mistakes included; infinite where it cannot pay."""
        return self._work_out()

    @classmethod
    def none(cls, n_rows: int) -> Move:
        """Nothing is left that could be asked."""
        yes = np.ones(n_rows, dtype=bool)
        return cls(
            np.full(n_rows, -1, dtype=np.int64), np.zeros(n_rows), yes, yes.copy(), lambda: np.full(n_rows, np.inf)
        )

    def where(self, mine: np.ndarray, other: Move) -> Move:
        """This move for some rows (a mask), another one for the rest."""
        return Move(
            np.where(mine, self.columns, other.columns), np.where(mine, self.prices, other.prices),
            np.where(mine, self.stops, other.stops), np.where(mine, self.exhausted, other.exhausted),
            lambda: np.where(mine, self.onward, other.onward),
        )  # fmt: skip

    def stopped(self, rows: np.ndarray) -> Move:
        """The same, but some rows (a mask) stop."""
        return Move(self.columns, self.prices, self.stops | rows, self.exhausted, lambda: self.onward)


class Askable(NamedTuple):
    """A feature as a policy offers it: its column, its price there, and the chance that it is asked (None: unknown)."""

    column: int
    price: float
    chance: float | None


class Policy(metaclass=ABCMeta):
    """What to ask next, and when to stop.

    Attributes
    ----------
    prices : ResolvedCosts
        Of all columns.
    mistakes : array (N, N)
        Misclassification costs.
    most_features : int
        No row is asked more.
    order : array, or None
        Columns in the order in which every instance is asked; None if each has its own.
    """

    prices: ResolvedCosts
    mistakes: np.ndarray
    most_features: int
    order: np.ndarray | None
    needs_likelihoods: ClassVar[bool] = False

    def check(self, beliefs: Beliefs) -> None:
        """Refuse beliefs that this policy cannot work with."""
        # Before any work: what would fail at the first question is refused when the pair is made.
        if self.needs_likelihoods and not beliefs.has_likelihoods:
            raise InputError(
                f"{type(self).__name__} needs to know how likely each answer is, and {type(beliefs).__name__} does not "
                "say; pair it with beliefs over bins (NaiveBayes, PathCounts), or use FixedOrder"
            )
        if beliefs.n_features != self.prices.full.size or beliefs.priors.size != len(self.mistakes):
            raise InputError(
                f"the beliefs have {beliefs.n_features} columns and {beliefs.priors.size} classes, the policy has "
                f"prices for {self.prices.full.size} and costs of mistakes for {len(self.mistakes)}; make both from "
                "the same table"
            )

    @property
    @abstractmethod
    def columns(self) -> np.ndarray:
        """Columns that can be asked for."""

    @abstractmethod
    def act(self, knowledge: Knowledge) -> Move:
        """What to do next with rows that know this."""

    def act_in(self, knowledge: Knowledge, situation: Situation) -> Move:
        """The same where something came unasked, cannot be had, or does not fit the money.

        Unless a policy knows better, rows stop where what they would be asked cannot be had.
        """
        move = self.act(knowledge)
        cannot = np.isin(move.columns, [*situation.barred, *knowledge.known]) | ~situation.fits(move.prices)
        return move.stopped(cannot)

    @property
    def expectation(self) -> Expectation | None:
        """What an instance is expected to pay and to be asked, where the policy knows; None: play it to know."""
        return None

    def announced_cost(self, expectation: Expectation) -> float:
        """The expected cost, where the policy knows it better than by its expectation."""
        return expectation.cost

    def spending(self, expectation: Expectation) -> float | None:
        """What an instance is expected to pay for features alone, where that follows from the expectation."""
        return None

    @abstractmethod
    def questions(self, expectation: Expectation) -> list[Askable]:
        """Columns that may be asked for, in the order in which they come up if there is one."""

    @property
    def words(self) -> str:
        """What kind of policy this is, for people."""
        return type(self).__name__

    @property
    def stages(self) -> OrderStopping | None:
        """When it stops after each number of features, at any belief; None if that depends on more than the belief."""
        return None

    @property
    def stage_rule(self) -> Rule | None:
        """The stop test after each number of features as flat arrays, where that is all there is to it; None if not."""
        return None

    def decision_graph(self, beliefs: Beliefs) -> DecisionGraph | None:
        """All that can happen, where the policy is a graph of questions already; None if states are met on the way."""
        return None

    def outline(self, beliefs: Beliefs) -> list[Step] | None:
        """Its questions in order and where they part, whatever the beliefs know of answers; None if there is no such
        order."""
        return None

    def asking(self, n_features: int) -> Policy | None:
        """The policy that always asks the first so many features; None if there is no first."""
        return None

    def at_prices(self, prices: ResolvedCosts) -> Policy | None:
        """The same policy made again for other prices, without training rows; None if it needs them."""
        return None

    def within(self, budget: float) -> Policy | None:
        """A policy that plans with a budget and never spends more on an instance; None if it needs training rows."""
        return None

    @property
    def gap(self) -> float | None:
        """How far above the least possible its expected cost can be at most, under its model; None: not known."""
        return None

    @property
    def why_next(self) -> str:
        """What is special about the feature that is asked next, as part of a sentence."""
        return "it is next in the order"

    @property
    def why_none(self) -> str:
        """What is known where nothing is worth asking, as part of a sentence."""
        return "nothing that is left is expected to pay for itself"

    @cached_property
    def regrets(self) -> np.ndarray:
        """Misclassification costs above the least of each class, (N, N)."""
        # What no decision avoids is the same for all of them, and would only hide small differences.
        return np.ascontiguousarray(self.mistakes - self.mistakes.min(axis=1, keepdims=True))

    def decide(self, posteriors: np.ndarray) -> np.ndarray:
        """The class (its index) with the least expected cost for each belief (n, N)."""
        out = np.empty(len(posteriors), dtype=np.int64)
        # One function decides, for batches, cases and simulations: ties fall the same way everywhere.
        rules.decide_rows(np.ascontiguousarray(posteriors), self.regrets, out)
        return out

    def stop_cost(self, posteriors: np.ndarray) -> np.ndarray:
        """Expected cost of deciding now, for each belief (n, N)."""
        # g(pi) = min_j M_j . pi, by the paper's Theorem 1 the least that stopping here can cost.
        return (posteriors @ self.mistakes).min(axis=1)

    @abstractmethod
    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and plain values, all that :meth:`restore` needs; prices and mistakes are stored beside them."""

    @classmethod
    @abstractmethod
    def restore(
        cls, stored: State, beliefs: Beliefs, prices: ResolvedCosts, mistakes: np.ndarray, expectation: Expectation
    ) -> Policy:
        """The policy whose :meth:`state` this is; everything in it is checked."""
