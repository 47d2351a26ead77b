"""The next feature chosen for each instance, by what it has answered so far.

There are two ways to choose. *Information*: the feature that tells most about the class per unit of price, until a
linear rule on a few numbers of the state says that going on would cost no less than stopping
(:func:`etana.kernels.choice.describe`; :mod:`etana.learning.walks` fits the rule to walks of held-out rows).
*Look-ahead*: the first step of the plan of a few steps that is expected to cost least, and stop where no plan pays;
this sees tests that pay only together, and prices that differ. Where a plan ends, going on by information and the rule
is worth what the rule says: a rare class may need more answers to come in doubt than can be looked ahead.

Any beliefs with likelihoods serve. For :class:`~etana.beliefs.PathCounts` what is chosen at a state is worked out by
compiled loops; for others by the same arithmetic on the likelihoods that they give, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from etana.beliefs.base import Beliefs, Knowledge
from etana.beliefs.path_counts import PathCounts, PathKnowledge
from etana.costs import ResolvedCosts
from etana.errors import InputError
from etana.kernels import choice as kernel
from etana.kernels.choice import ChoiceTerms, Offers, Scratch
from etana.kernels.rules import stop_cost
from etana.policies.base import Askable, Move, Policy
from etana.policies.expectation import Expectation
from etana.policies.situation import ORDINARY, Situation

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["ASK_ON", "STOP_THERE", "InstanceChoice", "scale_of"]

ASK_ON = np.array([-1.0, *np.zeros(kernel.N_BASIS - 1)])  # the rule that never stops
STOP_THERE = np.zeros(kernel.N_BASIS)  # the rule that always does: with it, plans end after so many steps
_FREE = 1e-9
_NO_LIMIT = 2**31 - 1
_REMEMBERED = 2**14  # states
_MOST_LEVELS = 4
_MOST_PLANS = 2e9  # that are looked at for one state
_TINY = 1e-12


def scale_of(priors: np.ndarray, mistakes: np.ndarray) -> float:
    """The unit of the stopping rule: what deciding at once is expected to cost, or 1 if that is nothing."""
    return float(stop_cost(priors, np.ascontiguousarray(mistakes, dtype=np.float64))) or 1.0


@dataclass(frozen=True)
class InstanceChoice(Policy):
    """The feature that is worth most now, and whether it is worth its price.

    Attributes
    ----------
    candidates : array (C,)
        Columns that can be asked for, ascending.
    priors : array (N,)
    rule : array (8,)
        Coefficients of the stopping rule on the basis of :func:`etana.kernels.choice.describe`; where steps are looked
        ahead, of what lies beyond them.
    least : float
        A state stops if its expected cost of a mistake is at most this many times the next price.
    most_features : int
        Most features that are asked of an instance.
    levels : int
        Steps that are looked ahead; 0 is information per price and the rule.
    most_states : int
        States that the compiled form may remember.
    seed : int
        Of the instances that are drawn for the expectation.
    budget : float
        Most that is spent on an instance: what does not fit is not asked, nor part of a plan.
    """

    candidates: np.ndarray
    priors: np.ndarray
    prices: ResolvedCosts
    mistakes: np.ndarray
    rule: np.ndarray
    least: float = 1.0
    most_features: int = _NO_LIMIT
    levels: int = 0
    most_states: int = 2**18
    seed: int = 0
    budget: float = np.inf
    needs_likelihoods: ClassVar[bool] = True
    order: ClassVar[None] = None  # type: ignore[misc]

    @property
    def columns(self) -> np.ndarray:
        """The candidates."""
        return self.candidates

    @cached_property
    def scale(self) -> float:
        """The unit of the stopping rule."""
        return scale_of(self.priors, self.mistakes)

    @cached_property
    def setting(self) -> ChoiceTerms:
        """Costs and rule, as the kernels take them."""
        mistakes = np.ascontiguousarray(self.mistakes, dtype=np.float64)
        rule = np.asarray(self.rule, dtype=np.float64)
        return ChoiceTerms(
            mistakes, self.regrets, rule, self.scale, _FREE * self.scale, float(self.least), int(self.most_features),
            int(self.levels), float(self.budget),
        )  # fmt: skip

    @cached_property
    def _groups(self) -> np.ndarray:
        """Groups of the candidates, in the order in which :meth:`offers` numbers them anew; -1 stands for none."""
        return np.unique(self.prices.group[self.candidates])

    def offers(self, radius: np.ndarray) -> Offers:
        """Prices, and the order in which candidates are looked at; ``radius`` (C,) is the most that each can tell."""
        full, discounted = self.prices.full[self.candidates], self.prices.discounted[self.candidates]
        # Radius is the most a candidate can tell, its lower price the least it can cost: their ratio bounds its rate at
        # every state. Sorted by it, a search ends at the first candidate whose bound is below the best rate found.
        lower = np.minimum(full, discounted)
        rate = radius / np.maximum(lower, self.setting.floor)
        rank = np.argsort(-rate, kind="stable")
        # Groups are numbered anew among the candidates, so that counts of them stay short.
        _, group = np.unique(self.prices.group[self.candidates], return_inverse=True)
        group = np.where(self.prices.group[self.candidates] < 0, -1, group).astype(np.int64)
        n_groups, cheapest = int(group.max(initial=-1)) + 1, float(lower.min(initial=np.inf))
        return Offers(full, discounted, group, rank, rate[rank], n_groups, cheapest)

    def __getstate__(self) -> dict[str, Any]:
        # What can be worked out again is not copied: the memory of a service is not for a file.
        return {name: value for name, value in vars(self).items() if name not in ("_ranked", "_memory")}

    def _offers_over(self, beliefs: PathCounts) -> Offers:
        """The same, worked out once for the beliefs that the policy is used with."""
        known = self.__dict__.get("_ranked")
        if known is None or known[0] is not beliefs.evidence:
            known = beliefs.evidence, self.offers(beliefs.evidence.radius.max(axis=0, initial=0.0))
            self.__dict__["_ranked"] = known
        return known[1]

    def _remembered(self, beliefs: PathCounts) -> dict[Any, tuple[int, bool, np.ndarray]]:
        """What was worked out at states of these beliefs, by the path that leads there."""
        known = self.__dict__.get("_memory")
        if known is None or known[0] is not beliefs:
            known = self.__dict__["_memory"] = (beliefs, {})
        return known[1]

    def with_rule(self, rule: np.ndarray) -> InstanceChoice:
        """The same choice of features with another stopping rule."""
        return replace(self, rule=rule)

    @property
    def words(self) -> str:
        """How features are chosen."""
        how = f"looking {self.levels} steps ahead" if self.levels else "by information per price"
        return f"a choice for each instance, {how}"

    def at_prices(self, prices: ResolvedCosts) -> Policy | None:
        """The same plans at other prices; None where a rule was fitted, for that needs walks."""
        return replace(self, prices=prices) if self.levels and not self.rule.any() else None

    def within(self, budget: float) -> Policy:
        """The same choice among what fits; plans know what is left of the money."""
        return replace(self, budget=budget)

    @property
    def why_next(self) -> str:
        """How it is chosen."""
        if self.levels:
            return f"it begins the best plan of up to {self.levels} features"
        return "of all features it tells most per price here"

    @property
    def why_none(self) -> str:
        """What was looked for."""
        if self.levels:
            return f"no plan of up to {self.levels} further features is expected to pay for itself"
        return "no feature that is left tells anything more about the class"

    def act(self, knowledge: Knowledge) -> Move:
        """The best candidate of each row."""
        return self._move(knowledge, ORDINARY)

    def act_in(self, knowledge: Knowledge, situation: Situation) -> Move:
        """The best candidate that can be had and fits the money."""
        return self._move(knowledge, situation)

    def _move(self, knowledge: Knowledge, situation: Situation) -> Move:
        columns, stops, facts = self.settle(knowledge, situation)
        # A plan of some steps that does not pay says nothing about what lies beyond them.
        out = [*knowledge.known, *situation.barred]
        seen_all = not self.levels or np.isin(self.candidates, out).all()
        exhausted = (columns < 0) & seen_all
        return Move(columns, facts[:, kernel.PRICE], stops, exhausted, lambda: self._onward(facts, stops))

    def _onward(self, facts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """What going on is expected to cost; where it is time to stop, what the rule thinks of it all the same."""
        if self.levels:
            return np.where(stops, np.inf, facts[:, kernel.AHEAD])
        # How much dearer than stopping the rule takes going on to be; at least, the next price has to be paid.
        extra = self.scale * np.maximum(facts[:, kernel.BASIS :] @ self.rule, 0.0)
        against = np.maximum(facts[:, kernel.AHEAD] + extra, facts[:, kernel.PRICE])
        return np.where(stops, against, facts[:, kernel.AHEAD])

    def settle(
        self, knowledge: Knowledge, situation: Situation = ORDINARY
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column (n,), stop (n,) and facts (n, N_FACTS) of each row: see :mod:`etana.kernels.choice`."""
        n = knowledge.n_rows
        columns, stops = np.empty(n, dtype=np.int64), np.empty(n, dtype=bool)
        facts = np.zeros((n, kernel.N_FACTS))
        facts[:, kernel.SPENT] = self._spent(knowledge) if situation is ORDINARY else situation.spent
        posteriors = knowledge.posteriors
        for row in range(n):
            one = knowledge if n == 1 else knowledge.take(np.array([row]))
            if isinstance(one, PathKnowledge):
                feature, stops[row] = self._on_path(one, situation, posteriors[row], facts[row])
            else:
                feature, stops[row] = self._by_column(one, situation, posteriors[row], facts[row])
            columns[row] = self.candidates[feature] if feature >= 0 else -1
        return columns, stops, facts

    def _spent(self, knowledge: Knowledge) -> float:
        """What the columns that are known cost, where that matters."""
        if self.budget == np.inf:
            return 0.0
        # One after the other, as walks add prices up.
        return sum(self.prices.in_order(np.array(knowledge.known, dtype=np.int64)).tolist(), 0.0)

    def _terms(self, situation: Situation) -> ChoiceTerms:
        """The setting, with the money of the situation."""
        return self.setting._replace(budget=min(self.setting.budget, float(situation.budget)))

    def _on_path(
        self, knowledge: PathKnowledge, situation: Situation, belief: np.ndarray, facts: np.ndarray
    ) -> tuple[int, bool]:
        """By compiled loops over the candidates and the training rows that share the path."""
        # Cases come the same ways again and again; what is worked out there does not change.
        memory, key = self._remembered(knowledge.beliefs), (knowledge.known, knowledge.codes[0], situation)
        found = memory.get(key)
        if found is not None:
            facts[:] = found[2]
            return found[0], found[1]
        evidence, rows = knowledge.beliefs.evidence, knowledge.rows[0]
        offers = self._offers_over(knowledge.beliefs)
        used, bought = self._bought(knowledge, situation, offers)
        scratch = Scratch.over(evidence, offers.n_groups)
        depth, terms = len(situation.asked(knowledge)), self._terms(situation)
        feature, stop = kernel.settle(
            belief, used, bought, depth, rows, rows.size, evidence, offers, terms, scratch, facts
        )
        if len(memory) >= _REMEMBERED:
            memory.clear()
        memory[key] = int(feature), bool(stop), facts.copy()
        return int(feature), bool(stop)

    def _bought(self, knowledge: Knowledge, situation: Situation, offers: Offers) -> tuple[np.ndarray, np.ndarray]:
        """Candidates that are known or cannot be had, and how many of each group were paid for."""
        used = np.isin(self.candidates, np.array([*knowledge.known, *situation.barred], dtype=np.int64))
        if not offers.n_groups:
            return used, np.zeros(0, dtype=np.int64)
        paid = self.prices.group[situation.bought(knowledge)]
        return used, ((paid == self._groups[:, None]) & (paid >= 0)).sum(axis=1)

    def _by_column(
        self, knowledge: Knowledge, situation: Situation, belief: np.ndarray, facts: np.ndarray
    ) -> tuple[int, bool]:
        """By the likelihoods that the beliefs give, one candidate after the other."""
        # No bound is known for beliefs in general, so every candidate is looked at, in the order of columns.
        offers = self.offers(np.full(self.candidates.size, np.inf))
        used, bought = self._bought(knowledge, situation, offers)
        s, depth, ahead = self._terms(situation), len(situation.asked(knowledge)), 0.0
        left = s.budget - facts[kernel.SPENT]
        if self.levels:
            more = max(s.deepest - depth, 0)
            feature, gain, price, ahead = self._plan(knowledge, belief, used, bought, offers, more, left)
        else:
            feature, gain, price = self._most_per_price(knowledge, belief, used, bought, offers, left)
        kernel.describe(belief, s.mistakes, s.scale, price, gain, facts)
        stop = float(stop_cost(belief, s.mistakes))
        facts[kernel.AHEAD] = stop
        if feature < 0 or kernel.stops(facts, depth, s):
            return feature, True
        facts[kernel.AHEAD] = ahead if self.levels else kernel.estimate(stop, price, facts, s.rule, s.scale)
        return feature, False

    def _most_per_price(
        self,
        knowledge: Knowledge,
        belief: np.ndarray,
        used: np.ndarray,
        bought: np.ndarray,
        offers: Offers,
        left: float,
    ) -> tuple[int, float, float]:
        best, best_rate, best_gain, best_price, free = -1, 0.0, 0.0, 0.0, -1
        for feature in np.flatnonzero(~used).tolist():
            price = float(kernel.price_of(feature, bought, offers))
            if price > left:
                continue
            per = max(price, self.setting.floor)
            free = feature if free < 0 and price == 0.0 else free
            cells = np.ascontiguousarray(knowledge.likelihoods(int(self.candidates[feature]))[0])
            gain = float(kernel.information(belief, cells, len(cells)))
            # Rates that agree to twelve digits are equal: rounding must not choose, the first in the order does.
            if gain > _TINY and gain / per > best_rate * (1 + _TINY):
                best, best_rate, best_gain, best_price = feature, gain / per, gain, price
        return (best if best >= 0 else free), best_gain, best_price

    def _plan(
        self,
        knowledge: Knowledge,
        belief: np.ndarray,
        used: np.ndarray,
        bought: np.ndarray,
        offers: Offers,
        more: int,
        left: float,
    ) -> tuple[int, float, float, float]:
        levels, beyond = min(self.levels, more), more > self.levels and bool(self.rule.any())
        ahead, feature, price = self._look_ahead(knowledge, belief, used, bought, offers, levels, beyond, left)
        if feature < 0:
            free = [f for f in np.flatnonzero(~used).tolist() if kernel.price_of(f, bought, offers) == 0.0]
            if not free:
                return -1, 0.0, 0.0, ahead
            feature, price = free[0], 0.0
        cells = np.ascontiguousarray(knowledge.likelihoods(int(self.candidates[feature]))[0])
        return feature, float(kernel.information(belief, cells, len(cells))), price, ahead

    def _look_ahead(
        self,
        knowledge: Knowledge,
        belief: np.ndarray,
        used: np.ndarray,
        bought: np.ndarray,
        offers: Offers,
        levels: int,
        beyond: bool,
        left: float,
    ) -> tuple[float, int, float]:
        """Least expected cost of plans of so many steps, the first feature of the best (-1: stop), and its price."""
        best, best_feature, least_price = float(stop_cost(belief, self.setting.mistakes)), -1, 0.0
        if levels == 0:
            if beyond:
                best = self._leaf_cost(knowledge, belief, used, bought, offers, left)
            return best, best_feature, least_price
        beliefs = knowledge.beliefs  # type: ignore[attr-defined]
        for feature in np.flatnonzero(~used).tolist():
            price, column = float(kernel.price_of(feature, bought, offers)), int(self.candidates[feature])
            # Nothing that lies behind a price can cost less than it.
            if price >= best or price > left:
                continue
            total, known, paid = price, used.copy(), bought.copy()
            known[feature] = True
            if offers.group[feature] >= 0:
                paid[offers.group[feature]] += 1
            for code, likelihood in enumerate(knowledge.likelihoods(column)[0]):
                chance = float(belief @ likelihood)
                if chance > 0:
                    after = beliefs.after_code(knowledge, column, code)
                    then = after, after.posteriors[0], known, paid, offers, levels - 1, beyond, left - price
                    total += chance * self._look_ahead(*then)[0]
            # Of equal plans the first stands; stopping before all others.
            if total < best * (1 - _TINY):
                best, best_feature, least_price = total, feature, price
        return best, best_feature, least_price

    def _leaf_cost(
        self,
        knowledge: Knowledge,
        belief: np.ndarray,
        used: np.ndarray,
        bought: np.ndarray,
        offers: Offers,
        left: float,
    ) -> float:
        """What a state is worth where a plan ends; see :func:`etana.kernels.choice.leaf_cost`."""
        s, facts = self.setting, np.zeros(kernel.N_FACTS)
        stop = float(stop_cost(belief, s.mistakes))
        feature, gain, price = self._most_per_price(knowledge, belief, used, bought, offers, left)
        if feature < 0 or stop <= price:
            return stop
        kernel.describe(belief, s.mistakes, s.scale, price, gain, facts)
        return float(kernel.estimate(stop, price, facts, s.rule, s.scale))

    def questions(self, expectation: Expectation) -> list[Askable]:
        """The candidates at full price; which of them is asked depends on the answers."""
        return [Askable(k, float(self.prices.full[k]), None) for k in self.candidates.tolist()]

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Candidates and priors are those of the beliefs."""
        values = {
            "least": float(self.least), "most_features": int(self.most_features), "levels": int(self.levels),
            "most_states": int(self.most_states), "seed": int(self.seed),
        } | ({"budget": float(self.budget)} if self.budget < np.inf else {})  # fmt: skip
        return {"rule": self.rule}, values

    @classmethod
    def restore(
        cls, stored: State, beliefs: Beliefs, prices: ResolvedCosts, mistakes: np.ndarray, expectation: Expectation
    ) -> InstanceChoice:
        """The policy whose :meth:`state` this is."""
        rule = stored.array("rule", (kernel.N_BASIS,))
        if not np.isfinite(rule).all():
            raise InputError("the stopping rule is not finite")
        levels = stored.whole("levels", 0, _MOST_LEVELS)
        if levels and np.array_equal(rule, ASK_ON):
            rule = STOP_THERE  # a file from when plans knew of nothing beyond their end
        # A plan for every answer to every candidate, levels deep: a file must not be able to stop the machine.
        values = float(np.diff(beliefs.binner.cell_offsets)[beliefs.columns].sum())  # type: ignore[attr-defined]
        if values**levels > _MOST_PLANS:
            raise InputError(f"looking {levels} steps ahead over {values:.0f} values of features takes too long")
        return cls(
            beliefs.columns, beliefs.priors, prices, mistakes, rule, stored.number("least", 0.0),
            stored.whole("most_features", 1, 2**62), levels, stored.whole("most_states", 1, 2**62),
            stored.whole("seed", 0, 2**63 - 1),
            stored.number("budget", 0.0) if "budget" in stored.values else np.inf,
        )  # fmt: skip
