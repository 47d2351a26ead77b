"""What things cost: the price of each feature and the price of each mistake.

Feature costs are given as one number, one number per feature, a mapping from feature name to number, or a
:class:`FeatureCosts`, which adds groups: a feature costs its *discounted* price once another feature of its
group was bought, so that a blood draw or an API call is paid once. It also adds waiting: a round of questions can
have a price of its own, which is paid once for all that are asked together (:meth:`etana.Case.panel`).

Misclassification costs are a matrix ``M`` with ``M[i, j]`` the cost of deciding class ``j`` when class ``i`` is
true. ``None`` stands for the 0/1 matrix. A matrix in which some mistake is cheaper than the right answer is
allowed, because there are honest reasons for it, but it draws a :class:`~etana.errors.CostWarning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from etana.errors import CostError, CostWarning
from etana.table import plain_value

__all__ = ["FeatureCosts", "ResolvedCosts", "Waiting", "resolve_feature_costs", "resolve_mistakes"]


class FeatureCosts:
    """Prices of features with group discounts.

    Parameters
    ----------
    costs : number, sequence of K numbers, or mapping from feature name to number
        Full price of each feature.
    groups : sequence of K labels, or mapping from feature name to label, optional
        Features with the same label share a fee. A label that is missing (``None``, NaN, ``pandas.NA``) means no
        group; in a mapping, features that are not named have none either.
    discounted : number, sequence of K numbers, or mapping, optional
        Price of a feature once another one of its group was bought. Features without an entry in a mapping keep
        their full price, and so do features without a group. It may not exceed the full price.
    round : number
        What waiting for results costs, once for all that are ordered together. Asked alone, a delayed feature costs its
        price and this.
    delayed : sequence of feature names, mapping from feature name to bool, or sequence of K bools, optional
        Features whose results come only with the next round; the others are at hand at once. None: all of them wait.

    Examples
    --------
    >>> from etana import FeatureCosts
    >>> prices = FeatureCosts({"age": 1, "glucose": 17.6, "insulin": 22.8},
    ...                       groups={"glucose": "blood", "insulin": "blood"},
    ...                       discounted={"glucose": 15.5, "insulin": 20.7})
    >>> prices
    FeatureCosts({'age': 1, 'glucose': 17.6, 'insulin': 22.8}, groups=..., discounted=...)
    """

    def __init__(
        self,
        costs: float | Sequence[float] | np.ndarray | Mapping[str, float],
        groups: Sequence[Any] | Mapping[str, Any] | None = None,
        discounted: float | Sequence[float] | np.ndarray | Mapping[str, float] | None = None,
        round: float = 0.0,
        delayed: Sequence[Any] | np.ndarray | Mapping[str, bool] | None = None,
    ) -> None:
        self.costs = costs
        self.groups = groups
        self.discounted = discounted
        self.round = round
        self.delayed = delayed

    def with_round(self, round: float, delayed: Any = None) -> FeatureCosts:
        """The same prices, and one for each round of waiting."""
        return FeatureCosts(self.costs, self.groups, self.discounted, round, delayed)

    def __repr__(self) -> str:
        extra = "".join(f", {n}=..." for n in ("groups", "discounted") if getattr(self, n) is not None)
        wait = f", round={self.round!r}" if self.round != 0 else ""
        return f"FeatureCosts({self.costs!r}{extra}{wait}{', delayed=...' if self.delayed is not None else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureCosts):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(_same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class Waiting(NamedTuple):
    """What a round costs, and which columns (K,) wait for one."""

    price: float
    delayed: np.ndarray


class ResolvedCosts:
    """Validated prices, one row per feature: full price, discounted price, group number (-1 for none).

    Prices are those of features that are asked one by one: where waiting has a price, a delayed feature costs its own
    and that of a round. ``waiting`` says what is spared when features are ordered together; None: nothing.
    """

    def __init__(
        self, full: np.ndarray, discounted: np.ndarray, group: np.ndarray, waiting: Waiting | None = None
    ) -> None:
        self.full = full
        self.discounted = discounted
        self.group = group
        self.waiting = waiting

    @cached_property
    def _grouped(self) -> bool:
        return bool((self.group >= 0).any())

    def of(self, columns: np.ndarray) -> ResolvedCosts:
        """Prices of some columns."""
        wait = None if self.waiting is None else self.waiting._replace(delayed=self.waiting.delayed[columns])
        return ResolvedCosts(self.full[columns], self.discounted[columns], self.group[columns], wait)

    def times(self, factor: float) -> ResolvedCosts:
        """All prices multiplied."""
        wait = None if self.waiting is None else self.waiting._replace(price=self.waiting.price * factor)
        return ResolvedCosts(self.full * factor, self.discounted * factor, self.group, wait)

    def together(self, columns: Sequence[int], bought: Sequence[int] = ()) -> list[float]:
        """What each of some features costs when they are ordered together: the first that is delayed pays the round."""
        prices = self.in_order(np.array(columns, dtype=np.int64), bought)
        if self.waiting is not None:
            later = np.flatnonzero(self.waiting.delayed[list(columns)])[1:]
            # Never below nothing: a round was added to the price before, and rounding took part.
            prices[later] = np.maximum(prices[later] - self.waiting.price, 0.0)
        return prices.tolist()

    def in_order(self, order: np.ndarray, bought: Sequence[int] = ()) -> np.ndarray:
        """Price of each stage when features are bought in this order: a group's first pays in full, unless one of it
        was bought before."""
        price = self.full[order]
        if not self._grouped:
            return price
        group = self.group[order]
        grouped = np.flatnonzero(group >= 0)
        if grouped.size:
            _, first = np.unique(group[grouped], return_index=True)
            paid = np.isin(group[grouped][first], self.group[np.array(bought, dtype=np.int64)])
            later = np.delete(grouped, first[~paid])
            price[later] = self.discounted[order][later]
        return price

    def price_of(self, column: int, bought: Sequence[int] = ()) -> float:
        """What a feature costs now, when these were bought."""
        group = self.group[column]
        shared = group >= 0 and bool((self.group[list(bought)] == group).any()) if len(bought) else False
        return float(self.discounted[column] if shared else self.full[column])

    def now(self, columns: np.ndarray, bought: Sequence[int] = ()) -> np.ndarray:
        """What each of some features would cost now, when these were bought."""
        if not len(bought):
            return self.full[columns]
        paid = np.unique(self.group[list(bought)])
        shared = np.isin(self.group[columns], paid[paid >= 0])
        return np.where(shared, self.discounted[columns], self.full[columns])

    def total(self, features: np.ndarray) -> float:
        """Price of buying these features, group fees paid once."""
        return float(self.in_order(np.asarray(features, dtype=np.int64)).sum())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) or isinstance(b, Mapping) or a is None or b is None:
        return bool(a == b)
    return np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object))


def resolve_feature_costs(given: Any, n_features: int, names: Sequence[str] | None = None) -> ResolvedCosts:
    """Turn any accepted form of feature costs into three arrays of length K, or say what is wrong."""
    if not isinstance(given, FeatureCosts):
        given = FeatureCosts(given)
    full = _numbers(given.costs, n_features, names, "feature_costs", None)
    group = _groups(given.groups, n_features, names)
    waiting = _waiting(given, n_features, names)
    wait = 0.0 if waiting is None else np.where(waiting.delayed, waiting.price, 0.0)
    if given.discounted is None:
        return ResolvedCosts(full + wait, full + wait, group, waiting)
    if given.groups is None:
        raise CostError("discounted prices were given without groups; pass groups= to say what is shared")
    discounted = _numbers(given.discounted, n_features, names, "discounted", full)
    if not isinstance(given.discounted, Mapping) and np.ndim(given.discounted) == 0:
        discounted = np.where(group >= 0, discounted, full)  # one price for all means for all that share
    dearer = np.flatnonzero(discounted > full)
    if dearer.size:
        k = int(dearer[0])
        raise CostError(
            f"the discounted price {discounted[k]:g} of feature {_name(k, names)} is above its full price "
            f"{full[k]:g}; a discount may only lower the price"
        )
    return ResolvedCosts(full + wait, np.where(group >= 0, discounted, full) + wait, group, waiting)


def _waiting(given: FeatureCosts, n_features: int, names: Sequence[str] | None) -> Waiting | None:
    price = _as_floats(given.round, "round", "a number, what a round of questions costs")
    if price.ndim or not np.isfinite(price) or price < 0:
        raise CostError(f"round is {given.round!r}; it must be a finite number >= 0, what a round of questions costs")
    delayed = _delayed(given.delayed, n_features, names)
    return Waiting(float(price), delayed) if price > 0 and delayed.any() else None


def _delayed(given: Any, n_features: int, names: Sequence[str] | None) -> np.ndarray:
    if given is None:
        return np.ones(n_features, dtype=bool)
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise CostError(
            f"delayed is {given!r}; it must be the names of the features whose results have to be waited for, a "
            "mapping from feature name to bool, or one bool for each feature"
        )
    items, named = list(given), isinstance(given, Mapping)
    if not named and len(items) == n_features and all(isinstance(v, bool | np.bool_) for v in items):
        return np.array(items, dtype=bool)
    wanted = {name: bool(given[name]) for name in items} if named else dict.fromkeys(items, True)
    position = _check_names(wanted, names, "delayed")
    out = np.zeros(n_features, dtype=bool)
    out[[position[name] for name, waits in wanted.items() if waits]] = True
    return out


def _name(k: int, names: Sequence[str] | None) -> str:
    return repr(names[k]) if names is not None else str(k)


def _check_names(given: Mapping[str, Any], names: Sequence[str] | None, what: str) -> dict[str, int]:
    if names is None:
        raise CostError(
            f"{what} is a mapping by feature name, but the data has no names; "
            "fit on a data frame, or pass one number per column"
        )
    position = {name: k for k, name in enumerate(names)}
    unknown = [name for name in given if name not in position]
    if unknown:
        raise CostError(
            f"{what} names {', '.join(map(repr, unknown[:5]))}, which the data does not have; "
            f"its features are {', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}"
        )
    return position


def _numbers(
    given: Any, n_features: int, names: Sequence[str] | None, what: str, default: np.ndarray | None
) -> np.ndarray:
    if isinstance(given, Mapping):
        position = _check_names(given, names, what)
        missing = [name for name in position if name not in given]
        if missing and default is None:
            raise CostError(
                f"{what} has no price for {', '.join(map(repr, missing[:5]))}"
                f"{', ...' if len(missing) > 5 else ''}; give every feature a price (0 for a free one)"
            )
        array = np.empty(n_features) if default is None else default.copy()
        for name, price in given.items():
            number = _as_floats(price, f"{what}[{name!r}]", "a number")
            if number.ndim:
                raise CostError(f"{what}[{name!r}] is {price!r}; a feature has one price, so give one number")
            array[position[name]] = number
    else:
        array = _as_floats(given, what, _FORMS)
    if array.ndim == 0:
        array = np.full(n_features, float(array))
    if array.shape != (n_features,):
        raise CostError(
            f"{what} has shape {array.shape}, but there are {n_features} features; "
            f"pass one number, or an array of shape ({n_features},)"
        )
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if bad.size:
        k = int(bad[0])
        raise CostError(f"{what} of feature {_name(k, names)} is {array[k]}; a price must be a finite number >= 0")
    return array


_FORMS = "a number, one number per feature, a mapping from feature name to number, or etana.FeatureCosts"


def _as_floats(given: Any, what: str, allowed: str) -> np.ndarray:
    """An array of floats; text is refused even where it reads as a number."""
    try:
        array = np.asarray(given)
        if array.dtype.kind == "O" and not any(isinstance(v, str | bytes | None) for v in array.flat):
            array = array.astype(np.float64)  # fractions, decimals
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        raise CostError(f"{what} must be {allowed}; got {given!r}")
    return array.astype(np.float64)


def _groups(given: Any, n_features: int, names: Sequence[str] | None) -> np.ndarray:
    if given is None:
        return np.full(n_features, -1, dtype=np.int64)
    if isinstance(given, Mapping):
        position = _check_names(given, names, "groups")
        labels: list[Any] = [None] * n_features
        for name, label in given.items():
            labels[position[name]] = label
    elif isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise CostError(
            f"groups is {given!r}; it must be one label per feature (None for no group), "
            "or a mapping from feature name to label"
        )
    else:
        labels = list(given)
    if len(labels) != n_features:
        raise CostError(f"groups has {len(labels)} labels, but there are {n_features} features; give one for each")
    number: dict[Any, int] = {}
    out = np.full(n_features, -1, dtype=np.int64)
    for k, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise CostError(f"the group of feature {_name(k, names)} is {label!r}; a label is text or a number")
        if plain_value(label) is not None:
            out[k] = number.setdefault(label, len(number))
    return out


def resolve_mistakes(given: Any, n_classes: int) -> np.ndarray:
    """The (N, N) matrix of misclassification costs, validated; row true class, column decided class."""
    if given is None:
        return 1.0 - np.eye(n_classes)
    matrix = _as_floats(given, "misclassification_costs", "None or an array of numbers")
    if matrix.shape != (n_classes, n_classes):
        raise CostError(
            f"misclassification_costs has shape {matrix.shape}, but there are {n_classes} classes; "
            f"pass an array of shape ({n_classes}, {n_classes}), row true class, column decided class"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        i, j = np.argwhere(~np.isfinite(matrix) | (matrix < 0))[0]
        raise CostError(
            f"misclassification_costs[{i}, {j}] is {matrix[i, j]}; every entry must be a finite number >= 0"
        )
    cheaper = np.argwhere(matrix < np.diag(matrix)[:, None])
    if cheaper.size:
        i, j = cheaper[0]
        warnings.warn(
            f"deciding class {j} when class {i} is true costs {matrix[i, j]:g}, less than the right answer's "
            f"{matrix[i, i]:g}; check that rows are true classes and columns decided ones",
            CostWarning,
            stacklevel=2,
        )
    return matrix
