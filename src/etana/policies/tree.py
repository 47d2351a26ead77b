"""An order for each region of a committee: a policy tree.

In a region the columns of its order are asked one after another, and when to stop is learnt from held-out walks, as for
a single order. What a walk pays after a split is what it pays in the half that it falls into, so that a column that
tells nothing itself is asked for what it opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.beliefs.committee import Committee, Parted
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.policies.base import Askable, Move, Policy
from etana.policies.expectation import Expectation
from etana.policies.outline import Step, certainty
from etana.policies.regression import RegressionStopping
from etana.policies.situation import ORDINARY, Situation

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["PolicyTree"]


@dataclass(frozen=True)
class PolicyTree(Policy):
    """What to ask in each region, and when to stop there.

    Attributes
    ----------
    orders : tuple of arrays
        Of each region, as the committee has them.
    rules : tuple of RegressionStopping
        When to stop along each of them.
    reach : array (regions, most columns of an order)
        Chance that a region asks for each column of its order.
    arrivals : array (regions,)
        Chance to come to a region.
    """

    orders: tuple[np.ndarray, ...]
    rules: tuple[RegressionStopping, ...]
    reach: np.ndarray
    arrivals: np.ndarray
    prices: ResolvedCosts
    mistakes: np.ndarray
    known_expectation: Expectation
    order: ClassVar[None] = None  # type: ignore[misc]

    def check(self, beliefs: Beliefs) -> None:
        """Only a committee has regions."""
        super().check(beliefs)
        if not isinstance(beliefs, Committee):
            raise InputError(
                f"PolicyTree needs beliefs with regions, and {type(beliefs).__name__} has none; use Committee"
            )
        same = [np.array_equal(r.chain.order, order) for r, order in zip(beliefs.regions, self.orders, strict=False)]
        if len(beliefs.regions) != len(self.orders) or not all(same):
            raise InputError("the committee has other regions than the policy; make both from the same rows")

    @property
    def most_features(self) -> int:  # type: ignore[override]
        """Columns on the longest way."""
        return self.known_expectation.reach.size - 1

    @cached_property
    def columns(self) -> np.ndarray:
        """Columns of all orders."""
        return np.unique(np.concatenate(self.orders))

    @property
    def words(self) -> str:
        """An order for each region, and how it is stopped."""
        return f"an order for each of {len(self.orders)} regions, stopped by {self.rules[0].words}"

    @property
    def why_next(self) -> str:
        """Part of a sentence."""
        return "it is next in the order of its region"

    @property
    def expectation(self) -> Expectation:
        """Averages over the training walks."""
        return self.known_expectation

    def act(self, knowledge: Knowledge) -> Move:
        """The next column of each row's region."""
        return self.act_in(knowledge, ORDINARY)

    def act_in(self, knowledge: Knowledge, situation: Situation) -> Move:
        """The same, among what can be had and fits the money; what cannot is passed over."""
        assert isinstance(knowledge, Parted)
        out, bought = {*situation.barred, *knowledge.known}, situation.bought(knowledge)
        columns = np.full(knowledge.n_rows, -1, dtype=np.int64)
        prices, onward = np.zeros(knowledge.n_rows), np.full(knowledge.n_rows, np.inf)
        stops, exhausted = np.ones(knowledge.n_rows, dtype=bool), np.ones(knowledge.n_rows, dtype=bool)
        for part in knowledge.parts:
            rule, order = self.rules[part.region], self.orders[part.region]
            for place in range(rule.horizon):
                column = int(order[place])
                price = self.prices.price_of(column, bought) if column not in out else np.inf
                if column in out or not situation.fits(price):
                    continue
                columns[part.rows], prices[part.rows], exhausted[part.rows] = column, price, False
                stops[part.rows] = rule.stops(place, part.posteriors)
                # The rule knows the price of the whole order; a group's fee may be paid already.
                onward[part.rows] = rule.continuation(place, part.posteriors) + price - rule.prices[place]
                break
        return Move(columns, prices, stops, exhausted, lambda: onward)

    def spending(self, expectation: Expectation) -> float:
        """Prices along each order, by the chance that they are paid."""
        pairs = zip(self.rules, self.reach, strict=True)
        return float(sum(reach[: rule.prices.size] @ rule.prices for rule, reach in pairs))

    def questions(self, expectation: Expectation) -> list[Askable]:
        """Region by region, each column where it is first asked for, with the chance that it is."""
        chances: dict[int, float] = {}
        prices: dict[int, float] = {}
        for order, rule, reach in zip(self.orders, self.rules, self.reach, strict=True):
            for column, price, chance in zip(order.tolist(), rule.prices.tolist(), reach.tolist(), strict=False):
                chances[column] = chances.get(column, 0.0) + chance
                prices.setdefault(column, price)
        # What is asked of most comes first.
        ranked = sorted(chances, key=lambda column: -chances[column])
        return [Askable(column, prices[column], min(chances[column], 1.0)) for column in ranked]

    def outline(self, beliefs: Beliefs) -> list[Step]:
        """Region by region: its order, and the halves that it falls into."""
        assert isinstance(beliefs, Committee)
        steps: list[Step] = []
        todo: list[tuple[int, int, str]] = [(0, -1, "")]
        while todo:
            index, parent, answer = todo.pop()
            region, rule = beliefs.regions[index], self.rules[index]
            priors, reach = region.chain.priors, float(self.arrivals[index])
            if rule.horizon <= region.entered:
                steps.append(Step(parent, answer, reach, 0.0, -1, 0.0, priors, np.zeros(priors.size)))
                continue
            for place in range(region.entered, rule.horizon):
                asked, column = float(self.reach[index, place]), int(self.orders[index][place])
                sure = certainty(partial(rule.stops, place), priors)
                steps.append(Step(parent, answer, reach, asked, column, float(rule.prices[place]), priors, sure))
                parent, answer, reach = len(steps) - 1, "", asked
            if region.split is not None:
                inside, outside = beliefs.words_of(region.split)
                todo += [(region.split.outside, parent, outside), (region.split.inside, parent, inside)]
        return steps

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The rules, one beside another; the orders are the committee's."""
        rules = {f"rule{i}": rule for i, rule in enumerate(self.rules)}
        return {"reach": self.reach, "arrivals": self.arrivals}, rules

    @classmethod
    def restore(
        cls, stored: State, beliefs: Beliefs, prices: ResolvedCosts, mistakes: np.ndarray, expectation: Expectation
    ) -> PolicyTree:
        """The policy whose :meth:`state` this is."""
        if not isinstance(beliefs, Committee):
            raise InputError("a policy tree without regions")
        orders = tuple(region.chain.order for region in beliefs.regions)
        most = max(order.size for order in orders)
        longest = max(order.size + len(way) for order, way in zip(orders, beliefs.dropped, strict=True))
        if expectation.reach.size != longest + 1:
            raise InputError(f"the chances to be reached are {expectation.reach.size}, not {longest + 1}")
        reach = stored.within("reach", (len(orders), most), 0.0, 1.0 + 1e-9)
        arrivals = stored.within("arrivals", (len(orders),), 0.0, 1.0 + 1e-9)
        rules = tuple(
            stored.part(
                f"rule{i}", RegressionStopping, prices.in_order(order, beliefs.dropped[i]), mistakes, expectation
            )
            for i, order in enumerate(orders)
        )
        return cls(orders, rules, reach, arrivals, prices, mistakes, expectation)
