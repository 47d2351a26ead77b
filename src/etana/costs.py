"""What things cost: the price of each feature and the price of each mistake.

Feature costs are given as one number, one number per feature, a mapping from feature name to number, or a
:class:`FeatureCosts`, which adds groups: a feature costs its *discounted* price once another feature of its
group was bought, so that a blood draw or an API call is paid once.

Misclassification costs are a matrix ``M`` with ``M[i, j]`` the cost of deciding class ``j`` when class ``i`` is
true. ``None`` stands for the 0/1 matrix. A matrix in which some mistake is cheaper than the right answer is
allowed, because there are honest reasons for it, but it draws a :class:`~etana.errors.CostWarning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from etana.errors import CostError, CostWarning
from etana.table import plain_value

__all__ = ["FeatureCosts", "ResolvedCosts", "resolve_feature_costs", "resolve_mistakes"]


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
    ) -> None:
        self.costs = costs
        self.groups = groups
        self.discounted = discounted

    def __repr__(self) -> str:
        extra = "".join(f", {n}=..." for n in ("groups", "discounted") if getattr(self, n) is not None)
        return f"FeatureCosts({self.costs!r}{extra})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureCosts):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(_same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class ResolvedCosts:
    """Validated prices, one row per feature: full price, discounted price, group number (-1 for none)."""

    def __init__(self, full: np.ndarray, discounted: np.ndarray, group: np.ndarray) -> None:
        self.full = full
        self.discounted = discounted
        self.group = group

    def in_order(self, order: np.ndarray) -> np.ndarray:
        """Price of each stage when features are bought in this order: a group's first pays in full."""
        price = self.full[order].copy()
        group = self.group[order]
        grouped = np.flatnonzero(group >= 0)
        if grouped.size:
            _, first = np.unique(group[grouped], return_index=True)
            later = np.delete(grouped, first)
            price[later] = self.discounted[order][later]
        return price

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
    if given.discounted is None:
        return ResolvedCosts(full, full, group)
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
    return ResolvedCosts(full, np.where(group >= 0, discounted, full), group)


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
