"""An order for each region of a committee: a policy tree.

In a region the columns of its order are asked one after another, and when to stop is learnt from held-out walks, as for
a single order. What a walk pays after a split is what it pays in the half that it falls into, so that a column that
tells nothing itself is asked for what it opens.

Where the column of a split cannot be had, or does not fit the money, nobody knows which half's order is right. A column
f that is next in some of them is then worth what it saves there, by their shares, less its price elsewhere::

    saving(f) = sum_h share_h s_h(f)        s_h(f) = max(g(pi_h) - onward_h, -c_f) where f is next in h, else -c_f

The column that saves most is asked, as long as it saves anything. Each answer counts in both halves
(:mod:`etana.beliefs.committee`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.beliefs.committee import Committee, Part, Parted
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


class _Offer(NamedTuple):
    """What some rows are offered: a column, its price, whether they stop, and what going on is expected to cost."""

    rows: np.ndarray
    column: int
    price: float
    stops: np.ndarray
    onward: np.ndarray


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
        """The same, among what can be had and fits the money; what cannot is passed over.

        Where that is the column of a split, it is not known which half's order is right, and the column with the
        largest saving by the shares of both is asked.
        """
        assert isinstance(knowledge, Parted)
        offers = _Offers(self, knowledge, situation)
        columns = np.full(knowledge.n_rows, -1, dtype=np.int64)
        prices, onward = np.zeros(knowledge.n_rows), np.full(knowledge.n_rows, np.inf)
        stops, exhausted = np.ones(knowledge.n_rows, dtype=bool), np.ones(knowledge.n_rows, dtype=bool)
        for part in knowledge.parts:
            for offer in offers.of(part):
                rows = offer.rows
                columns[rows], prices[rows], exhausted[rows] = offer.column, offer.price, False
                stops[rows], onward[rows] = offer.stops, offer.onward
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


class _Offers:
    """What rows that know the same columns can be asked in a situation."""

    def __init__(self, tree: PolicyTree, knowledge: Parted, situation: Situation) -> None:
        self.tree, self.beliefs, self.values = tree, knowledge.beliefs, knowledge.values
        self.situation, self.bought = situation, situation.bought(knowledge)
        self.out = {*situation.barred, *knowledge.known}

    def of(self, part: Part) -> list[_Offer]:
        """Of the rows of a part; none where nothing is left."""
        place = self._place(part.region)
        if place is not None:
            column, price = self._at(part.region, place)
            stops = self.tree.rules[part.region].stops(place, part.posteriors)
            return [_Offer(part.rows, column, price, stops, self._onward(part, place))]
        return self._past_the_gate(part) if self._is_shut(part.region) else []

    def _can(self, column: int) -> bool:
        return column not in self.out and bool(self.situation.fits(self.tree.prices.price_of(column, self.bought)))

    def _place(self, region: int) -> int | None:
        """Where in a region's order the next column stands that can be asked."""
        order, rule = self.tree.orders[region].tolist(), self.tree.rules[region]
        return next((place for place in range(rule.horizon) if self._can(order[place])), None)

    def _at(self, region: int, place: int) -> tuple[int, float]:
        column = int(self.tree.orders[region][place])
        return column, self.tree.prices.price_of(column, self.bought)

    def _onward(self, part: Part, place: int) -> np.ndarray:
        rule = self.tree.rules[part.region]
        # The rule knows the price of the whole order; a group's fee may be paid already.
        less = rule.prices[place] - self._at(part.region, place)[1]
        return np.asarray(rule.continuation(place, part.posteriors)) - less

    def _is_shut(self, region: int) -> bool:
        """Whether a region is split on a column that cannot be had."""
        split = self.beliefs.regions[region].split
        # A gate that could be had and does not pay ends an order, as any column does.
        return split is not None and not self._can(split.column)

    def _ends(self, part: Part) -> list[tuple[float, Part, int | None]]:
        """Where rows behind a shut gate may be, with the share of each and the place of what is asked there."""
        place = self._place(part.region)
        if place is not None or not self._is_shut(part.region):
            return [(1.0, part, place)]
        return [
            (share * of_half, end, asked)
            for share, half in self.beliefs.halves(part, self.values)
            for of_half, end, asked in self._ends(half)
        ]

    def _past_the_gate(self, part: Part) -> list[_Offer]:
        """The column that saves most, each half's saving counted by its share; see the docstring of the module."""
        ends = self._ends(part)
        offered = sorted({self._at(end.region, place)[0] for _, end, place in ends if place is not None})
        if not offered:
            return []
        prices = np.array([self.tree.prices.price_of(column, self.bought) for column in offered])
        savings = np.zeros((len(offered), part.rows.size))
        for share, end, place in ends:
            # Who is not helped by an answer has paid for it, and stops.
            least = -np.tile(prices[:, None], end.rows.size)
            if place is not None:
                row = offered.index(self._at(end.region, place)[0])
                saved = self.tree.stop_cost(end.posteriors) - self._onward(end, place)
                least[row] = np.maximum(saved, least[row])
            savings[:, np.searchsorted(part.rows, end.rows)] += share * least
        # What costs nothing is asked whatever it saves.
        best = np.where((prices == 0.0)[:, None], np.inf, savings).argmax(axis=0)
        now = self.tree.stop_cost(part.posteriors)
        out = []
        for k in np.unique(best).tolist():
            own, price = np.flatnonzero(best == k), float(prices[k])
            stops = (savings[k, own] <= 0.0) & (price > 0.0)
            out.append(_Offer(part.rows[own], offered[k], price, stops, now[own] - savings[k, own]))
        return out
