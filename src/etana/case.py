"""One instance, any value at any time.

A case holds what is known (:class:`~etana.beliefs.Knowledge`, which never changes) after each event, and asks the
policy what to do next, among what can be had and fits the money. A row that is classified in a batch and a case that is
answered by hand end with the same label, features, cost and posterior, bit for bit.

Values come in five ways, which the history names:

``asked``        it was the feature that the case asked for
``empty``        the same, but it came back without a value: done and paid for
``known``        it was known before the first question (None: known to be missing), and costs nothing
``volunteered``  another result that came in, at its price or for nothing
``unavailable``  it cannot be had: nothing is charged, and it is not asked again

What came unasked is taken into the belief first, by column, and then what was asked for: the order in which results
come in does not matter. Beliefs that are bound to an order take a value when its turn comes; what waits, and what they
cannot use, is said (:attr:`Case.waiting`, :attr:`Case.unused`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from etana.beliefs.base import Knowledge
from etana.case_state import CaseState
from etana.errors import InputError, PlausibilityWarning
from etana.explanation import explain
from etana.fees import expected_fees
from etana.money import about
from etana.notebook import show_case
from etana.panels import Panel, best_panel
from etana.policies.base import Move
from etana.policies.situation import Situation
from etana.suggestions import Suggestion, suggest
from etana.table import plain_value
from etana.walks.acquisition import read_budget

if TYPE_CHECKING:
    from etana.model import Model

__all__ = ["Answer", "Case", "run_case", "wanted", "without_warnings"]

_ASKED = ("asked", "empty")


class Answer(NamedTuple):
    """One event of a case: the feature, the value given, its price, what was understood of the value, and how it came:
    "asked", "empty", "known", "volunteered" or "unavailable"."""

    feature: Any
    value: Any
    price: float
    meaning: str
    came: str = "asked"


class Case:
    """One instance, any value at any time.

    Made by ``clf.start()``. While :attr:`next_feature` is not None, find out its value and :meth:`observe` it. Results
    that nobody asked for come in by ``observe(value, feature=...)``; what cannot be had is :meth:`unavailable`.
    """

    def __init__(
        self, model: Model, max_cost: float | None = None, known: Mapping[Any, Any] | None = None, warn: bool = True
    ) -> None:
        self.model = model
        self.warns = warn
        self.max_cost = None if max_cost is None or max_cost == np.inf else max_cost
        self._history: list[Answer] = []
        state = CaseState(model, Situation(budget=read_budget(max_cost)))
        columns = {self.column_of(feature): (feature, value) for feature, value in (known or {}).items()}
        numbers = {column: self._number(column, value) for column, (_, value) in columns.items()}
        for column, number in sorted(numbers.items()):
            self._warn_of(column, number)
            self._history.append(self._entry(column, columns[column][1], number, 0.0, "known"))
        self._states = [state.told(numbers, 0.0, bought=False) if numbers else state]

    def __repr__(self) -> str:
        state = f"decides {plain_value(self.label)!r}"
        if self.next_feature is not None:
            state = f"asks for {self.next_feature!r}"
        n = self.n_asked
        return f"Case({state} after {n} feature{'s' * (n != 1)}, cost {about(self.cost)})"

    def _repr_html_(self) -> str:
        return show_case(self)

    @property
    def _state(self) -> CaseState:
        return self._states[-1]

    @property
    def history(self) -> tuple[Answer, ...]:
        """What happened so far, in order; each entry says how the value came."""
        return tuple(self._history)

    @property
    def n_asked(self) -> int:
        """How many features were asked for."""
        return len(self._state.asked)

    @property
    def knowledge(self) -> Knowledge:
        """What is known now."""
        return self._state.knowledge

    @property
    def situation(self) -> Situation:
        """What is so besides: what came unasked, what cannot be had, what was spent and what may be."""
        return self._state.situation

    @property
    def move(self) -> Move:
        """What the policy says to that, among what can be had and fits the money."""
        return self._state.move

    @property
    def wish(self) -> Move:
        """What the policy would say if there were no budget."""
        return self._state.wish

    @property
    def cost(self) -> float:
        """What was paid for features so far."""
        return self.situation.spent

    @property
    def posterior(self) -> np.ndarray:
        """Belief in each class now."""
        return self.knowledge.posteriors[0].copy()

    @property
    def beliefs(self) -> list[np.ndarray]:
        """Belief in each class at the start, with what was known, and after each event since."""
        return [state.knowledge.posteriors[0].copy() for state in self._states]

    @property
    def label(self) -> Any:
        """The class that would be decided now."""
        return self.model.classes[self.model.policy.decide(self.knowledge.posteriors)[0]]

    @property
    def waiting(self) -> tuple[Any, ...]:
        """Features whose values are at hand and are taken in when their turn comes."""
        return tuple(self.model.name_of(column) for column in self._state.arrangement.waiting)

    @property
    def unused(self) -> tuple[Any, ...]:
        """Features whose values came in and tell these beliefs nothing."""
        return tuple(self.model.name_of(column) for column in self._state.arrangement.useless)

    @property
    def stopped_by(self) -> str | None:
        """Why no further feature is asked: "policy", "budget", "features" (none is left), or None."""
        if not self.move.stops[0]:
            return None
        if self.situation.limited and not self.wish.stops[0]:
            return "budget"
        return "features" if self.move.exhausted[0] else "policy"

    @property
    def next_feature(self) -> Any:
        """Name (or column index, if there are no names) of the feature to ask for; None when it is time to stop."""
        return None if self.move.stops[0] else self.model.name_of(int(self.move.columns[0]))

    @property
    def next_column(self) -> int | None:
        """Column index of the feature to ask for; None when it is time to stop."""
        return None if self.move.stops[0] else int(self.move.columns[0])

    @property
    def next_price(self) -> float:
        """What the feature that comes next costs, asked or not; 0 if there is none."""
        return float(self.move.prices[0])

    @property
    def stop_cost(self) -> float:
        """Expected cost of deciding now."""
        return float(self.model.policy.stop_cost(self.knowledge.posteriors)[0])

    @property
    def expected_cost(self) -> float:
        """What the whole case is expected to cost, mistakes included: spent so far and still to come.

        A budget is reckoned with from where it begins to choose: as long as what the policy asks fits, it is what the
        policy expects. A policy that was made for the budget (``within_budget``) knows from the start.
        """
        ahead = self.stop_cost if self.move.stops[0] else min(float(self.move.onward[0]), self.stop_cost)
        return self.cost + ahead

    @property
    def expected_fees(self) -> float | None:
        """The part of what is still to come that is paid for features; the rest is the risk of a mistake.

        None where beliefs do not know how likely answers are.
        """
        return expected_fees(self)

    def price_of(self, feature: Any) -> float:
        """What a feature would cost now."""
        return self._price(self.column_of(feature))

    def _price(self, column: int) -> float:
        return self.model.prices.price_of(column, self._bought)

    @property
    def _bought(self) -> list[int]:
        """Columns that were paid for."""
        state = self._state
        bought = [column for column in state.asked if column not in state.situation.free]
        return [*bought, *sorted(state.situation.also_bought)]

    def column_of(self, feature: Any) -> int:
        """Column index of a feature, given by name, or by index if there are no names."""
        return self.model.column_of(feature)

    def suggestions(self, n: int = 3) -> list[Suggestion]:
        """The best features to ask for now, the first is :attr:`next_feature`; none where it is time to stop."""
        return suggest(self, n)

    def panel(self) -> Panel:
        """Features to order together now, by the expected saving of the set; empty where it is time to stop.

        Where waiting has no price (``FeatureCosts(..., round=...)``) it is :attr:`next_feature` alone. What is ordered
        is given by :meth:`observe_panel`.
        """
        return best_panel(self)

    def together(self, columns: Sequence[int]) -> list[float]:
        """What columns cost when they are ordered together now."""
        return self.model.prices.together(columns, self._bought)

    def observe_panel(self, values: Mapping[Any, Any]) -> Case:
        """Give the results of features that were ordered together: waiting is paid once for all of them.

        Each is charged as if it had been asked for; None: it came back empty. What turned out not to be had is left
        out, and told to :meth:`unavailable`.
        """
        columns = {self.column_of(feature): value for feature, value in values.items()}
        numbers = {column: self._number(column, value) for column, value in columns.items()}
        for column in columns:
            self._refuse_known(column)
        prices = self.together(list(columns))
        if not self.situation.fits(total := sum(prices, 0.0)):
            left = max(self.situation.left, 0.0)
            raise InputError(
                f"{', '.join(map(repr, values))} cost {total:g} together, and {left:g} is left of the budget; order "
                "fewer, or start with a larger max_cost"
            )
        for (column, number), price in zip(numbers.items(), prices, strict=True):
            self._warn_of(column, number)
            self._take(column, columns[column], number, price)
        return self

    def observe(self, value: Any, feature: Any = None, price: float | None = None) -> Case:
        """Give a value: of :attr:`next_feature`, or of another feature that came in.

        Parameters
        ----------
        value : number or label
            None or NaN: it was done, paid for, and came back empty.
        feature : name or column index, optional
            The feature that it is the value of; the next one if not given.
        price : float, optional
            What was paid for it, if not its price: 0 if it was free.
        """
        asked = self.next_column
        if feature is None and asked is None:
            raise InputError("the case has stopped and asks for nothing; read its label, or undo() an answer")
        column = asked if feature is None else self.column_of(feature)
        assert column is not None
        self._refuse_known(column)
        number, charged = self._number(column, value), self._charge(column, price)
        self._warn_of(column, number)
        if column == asked:
            self._take(column, value, number, charged)
        else:
            bought = charged > 0.0 or self._price(column) == 0.0
            self._states.append(self._state.told({column: number}, charged, bought))
            self._history.append(self._entry(column, value, number, charged, "volunteered"))
        return self

    def _take(self, column: int, value: Any, number: float, charged: float) -> None:
        """The result of a feature that was asked for."""
        new = self._state.answered(column, number, charged)
        if charged == 0.0 and self._price(column) > 0.0:
            # For nothing: it gives no discount to its group.
            new = new.unpaid(column)
        self._states.append(new)
        came = "empty" if np.isnan(number) else "asked"
        self._history.append(self._entry(column, value, number, charged, came))

    def unavailable(self, feature: Any = None) -> Case:
        """A feature (the next one if not given) cannot be had: it is not charged and not asked again."""
        column = self.next_column if feature is None else self.column_of(feature)
        if column is None:
            raise InputError("the case has stopped and asks for nothing; name the feature that cannot be had")
        self._refuse_known(column)
        if column in self.situation.barred:
            raise InputError(f"{self.model.name_of(column)!r} is marked as unavailable already; undo() takes that back")
        self._history.append(Answer(self.model.name_of(column), None, 0.0, "cannot be had", "unavailable"))
        self._states.append(self._state.without(column))
        return self

    def undo(self) -> Case:
        """Take the last event back, also after the decision; its price is taken back too."""
        if len(self._states) == 1:
            raise InputError("no answer was given yet, so there is none to take back")
        self._history.pop()
        self._states.pop()
        return self

    def explain(self) -> str:
        """Why this feature is next, or why it is time to stop: costs, chances, and what would change it."""
        return explain(self)

    def record(self) -> dict[str, Any]:
        """The case as plain values, for JSON: all that :meth:`replay` needs besides the model."""
        events = [
            {"feature": e.feature, "value": plain_value(e.value), "price": e.price, "came": e.came}
            for e in self._history
        ]
        return {"max_cost": self.max_cost, "events": events}

    @classmethod
    def replay(cls, model: Model, record: Mapping[str, Any]) -> Self:
        """The case that :meth:`record` tells of: the same events happen again."""
        try:
            events = [(e["came"], e["feature"], e["value"], e["price"]) for e in record["events"]]
            limit = record["max_cost"]
        except (KeyError, TypeError) as error:
            raise InputError(f"a record has 'max_cost' and 'events', as Case.record() makes them: {error!r}") from None
        known = {feature: value for came, feature, value, _ in events if came == "known"}
        case = cls(model, limit, known, warn=False)  # whoever gave the values was warned then
        for came, feature, value, price in events:
            case._again(came, feature, value, price)
        case.warns = True
        return case

    def _again(self, came: str, feature: Any, value: Any, price: float) -> None:
        if came == "unavailable":
            self.unavailable(feature)
        elif came in _ASKED:
            # Of a panel, not all that was asked for was next.
            column = self.column_of(feature)
            self._refuse_known(column)
            self._take(column, value, self._number(column, value), self._charge(column, price))
        elif came == "volunteered":
            self.observe(value, feature, price)
        elif came != "known":
            raise InputError(
                f"an event of a record came as {came!r}; it must be 'asked', 'empty', 'known', 'volunteered' or "
                "'unavailable'"
            )

    def _entry(self, column: int, value: Any, number: float, price: float, came: str) -> Answer:
        meaning = self.model.beliefs.meaning(column, number)
        return Answer(self.model.name_of(column), value, price, meaning, came)

    def _refuse_known(self, column: int) -> None:
        """Nothing is taken in twice, nor charged twice."""
        if column in self._state.values:
            raise InputError(
                f"the value of {self.model.name_of(column)!r} is known already; undo() takes answers back, one by one"
            )

    def _charge(self, column: int, price: float | None) -> float:
        """What is charged for a value, within the budget."""
        charged = self._price(column) if price is None else price
        name = self.model.name_of(column)
        if isinstance(charged, bool) or not isinstance(charged, int | float | np.number) or not 0 <= charged < np.inf:
            raise InputError(f"the price of {name!r} is {price!r}; it must be None (its price) or a number >= 0")
        if not self.situation.fits(float(charged)):
            raise InputError(
                f"{name!r} costs {float(charged):g}, and {max(self.situation.left, 0.0):g} is left of the budget; pass "
                "price=0 if it was free, or start with a larger max_cost"
            )
        return float(charged)

    def _warn_of(self, column: int, number: float) -> None:
        """Say that a number lies outside of what is plausible or was seen in training; it is taken all the same."""
        doubt = self.model.doubt(column, number) if self.warns else None
        if doubt is not None:
            advice = "it was taken as it is: check its unit, and undo it if it is a slip"
            warnings.warn(f"{doubt}; {advice}", PlausibilityWarning, stacklevel=3)

    def _number(self, column: int, value: Any) -> float:
        """A value as beliefs take it: the number, or the index of the label."""
        levels = self.model.levels.get(column)
        value = plain_value(value)
        if value is None:
            return np.nan
        if levels is not None:
            return float(next((code for code, label in enumerate(levels) if label == value), np.inf))
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"the value of {self.model.name_of(column)!r} is {value!r}; it must be a number, or None if it is not "
                "to be had"
            ) from None


@contextmanager
def without_warnings() -> Iterator[None]:
    """Nobody is warned of implausible values: those of a table, or of a record, nobody types in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibilityWarning)
        yield


def wanted(case: Case) -> list[Any]:
    """What is to be found out next."""
    if case.model.prices.waiting is not None:
        return case.panel()
    return [] if case.next_feature is None else [case.next_feature]


def run_case(case: Case, fetch: Callable[[Any], Any] | Mapping[Any, Callable[[], Any]]) -> Case:
    """Answer a case by calling ``fetch`` for each feature it asks, and for nothing else.

    Where waiting has a price, features are ordered in panels.
    """
    while panel := wanted(case):
        if isinstance(fetch, Mapping):
            missing = next((feature for feature in panel if feature not in fetch), None)
            if missing is not None:
                raise InputError(f"fetch has no entry for {missing!r}, which is needed now; add one that returns it")
            case.observe_panel({feature: fetch[feature]() for feature in panel})
        else:
            case.observe_panel({feature: fetch(feature) for feature in panel})
    return case
