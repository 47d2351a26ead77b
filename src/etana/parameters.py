"""What a parameter may be, declared once and checked in one way.

A class says what its parameters may be in a table, ``_parameters``; whoever does the work calls
:func:`check_parameters` first::

    class Binner:
        _parameters: ClassVar = {
            "n_bins": either(one_of("auto"), whole(least=1)),
            "missing": one_of("skip", "bin"),
        }

        def fit(self, X):
            check_parameters(self)      # InputError: n_bins is 'x'; it must be 'auto' or a whole number >= 1

A table extends that of the parent class: only what is new or differs is written again. NumPy's scalars count as the
numbers that they are; a bool is no number. ``allowed.cure("...")`` adds what to do about a wrong value, and
``allowed.called("...")`` names the parameter as most users know it.

=====================  ==========================================================================================
constraint             allows
=====================  ==========================================================================================
``one_of(...)``        these texts
``whole(...)``         whole numbers within bounds: ``least``, ``most``
``number(...)``        numbers within bounds: ``least``, ``most``, ``above``, ``below``; ``infinite=True`` for inf
``flag``               True and False
``none``               None
``seed``               None, whole numbers >= 0, NumPy's generators
``instance_of(...)``   objects of a type, with words for it
``has_method(...)``    objects with these methods
``sequence(...)``      lists, tuples, arrays; their entries are the affair of whoever reads them
``anything``           whatever there is; what it means is checked by whoever reads it
``either(...)``        what one of several constraints allows
=====================  ==========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

import numpy as np

from etana.errors import InputError

__all__ = [
    "Constraint",
    "anything",
    "check_parameters",
    "check_value",
    "either",
    "flag",
    "has_method",
    "instance_of",
    "none",
    "number",
    "one_of",
    "parameters_of",
    "seed",
    "sequence",
    "whole",
]


@dataclass(frozen=True)
class Constraint:
    """What a parameter may be.

    Attributes
    ----------
    words : tuple of str
        The alternatives, as they stand after "it must be".
    allows : callable
        Whether a value is allowed.
    remedy : str
        What to do about a value that is not; may be empty.
    public_name : str
        What messages call the parameter, if not by its own name.
    """

    words: tuple[str, ...]
    allows: Callable[[Any], bool]
    remedy: str = ""
    public_name: str = ""

    def __str__(self) -> str:
        *first, last = self.words
        return f"{', '.join(first)} or {last}" if first else last

    def cure(self, remedy: str) -> Constraint:
        """The same constraint, whose message ends with what to do."""
        return replace(self, remedy=remedy)

    def called(self, name: str) -> Constraint:
        """The same constraint, whose message uses the name by which most users know the parameter."""
        return replace(self, public_name=name)


def _within(x: float, least: float | None, most: float | None) -> bool:
    return (least is None or x >= least) and (most is None or x <= most)


def _bounds(bounds: dict[str, float | None]) -> str:
    # Whole bounds in full; others as short as they are exact.
    given = [
        f"{sign} {bound if isinstance(bound, int) else format(bound, '.15g')}"
        for sign, bound in bounds.items()
        if bound is not None
    ]
    return " " + " and ".join(given) if given else ""


def one_of(*allowed: str) -> Constraint:
    """One of these texts."""
    return Constraint(tuple(map(repr, allowed)), lambda value: isinstance(value, str) and value in allowed)


def whole(least: int | None = None, most: int | None = None) -> Constraint:
    """A whole number, of NumPy's kinds too, within bounds that belong to it."""
    words = "a whole number" + _bounds({">=": least, "<=": most})

    def allows(value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and _within(int(value), least, most)

    return Constraint((words,), allows)


def number(
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    infinite: bool = False,
) -> Constraint:
    """A number, but not NaN: from ``least`` to ``most``, or strictly between ``above`` and ``below``."""
    # A number that is bounded above is finite anyway; to say so would only lengthen the message.
    kind = "a number" if infinite or most is not None or below is not None else "a finite number"
    words = kind + _bounds({">=": least, ">": above, "<=": most, "<": below})

    def allows(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        x = float(value)
        if math.isnan(x) or (math.isinf(x) and not infinite):
            return False
        return _within(x, least, most) and (above is None or x > above) and (below is None or x < below)

    return Constraint((words,), allows)


def instance_of(kind: type | tuple[type, ...], words: str) -> Constraint:
    """An object of this type, or of one of these types; ``words`` stand for it after "it must be"."""
    return Constraint((words,), lambda value: isinstance(value, kind))


def has_method(*names: str, words: str | None = None) -> Constraint:
    """An object, and not a class, that has all these methods."""
    said = words or f"an object with the method{'s' * (len(names) > 1)} {' and '.join(names)}"

    def allows(value: Any) -> bool:
        return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)

    return Constraint((said,), allows)


def sequence(words: str) -> Constraint:
    """Anything with a length that is neither text nor a mapping: lists, tuples, arrays, series."""

    def allows(value: Any) -> bool:
        return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)

    return Constraint((words,), allows)


def either(*constraints: Constraint) -> Constraint:
    """What at least one of these constraints allows."""
    words = tuple(w for c in constraints for w in c.words)
    remedy = next((c.remedy for c in constraints if c.remedy), "")
    return Constraint(words, lambda value: any(c.allows(value) for c in constraints), remedy)


flag = Constraint(("True", "False"), lambda value: isinstance(value, bool | np.bool_))
none = Constraint(("None",), lambda value: value is None)
anything = Constraint(("anything",), lambda value: True)
seed = either(
    none,
    whole(least=0),
    instance_of((np.random.Generator, np.random.RandomState), "a NumPy Generator or RandomState"),
)


def parameters_of(kind: type) -> dict[str, Constraint]:
    """The table of a class: its parents' tables, extended and overruled by its own."""
    table: dict[str, Constraint] = {}
    for parent in reversed(kind.__mro__):
        table |= vars(parent).get("_parameters", {})
    return table


def check_parameters(holder: Any, *names: str) -> None:
    """Raise InputError if an attribute of this object is not what its class's table allows.

    With ``names`` only these parameters are checked. A table may be attached to any class whose instances have the
    named attributes; parameters that are not in it are not checked.
    """
    table = parameters_of(type(holder))
    for name in names or table:
        check_value(name, getattr(holder, name), table[name])


def check_value(name: str, value: Any, allowed: Constraint) -> None:
    """Raise InputError unless this value is allowed."""
    if not allowed.allows(value):
        remedy = f"; {allowed.remedy}" if allowed.remedy else ""
        raise InputError(f"{allowed.public_name or name} is {_SHORT.repr(value)}; it must be {allowed}{remedy}")


# Long enough for a name or an object, too short for an array that was given by mistake.
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100
