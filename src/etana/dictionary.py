"""What people may want to know of a feature before they give its value: words, unit, plausible range, choices.

A dictionary describes some or all features of a model by their names. It travels in the model file and is shown
wherever a question is asked. It changes no probability and no price: the model decides the same with it and without.

It also keeps how the cells of the training table said that there is no value, for tables that come later.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from etana.errors import InputError

__all__ = ["FIELDS", "Description", "Dictionary"]

FIELDS = ("description", "unit", "lowest", "highest", "choices")
_LONGEST = 1000
_MOST_CHOICES = 1000


@dataclass(frozen=True)
class Description:
    """What is said of one feature.

    Attributes
    ----------
    description : str
        What it is, for people.
    unit : str
        What a number counts: ``"mg/dl"``.
    lowest, highest : float or None
        The plausible range; a value outside is accepted, after a warning.
    choices : tuple of (str, str)
        Values that can be given, as text, each with words for people, which may be empty.
    """

    description: str = ""
    unit: str = ""
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, fields: Any) -> Description:
        """From a mapping with some of the fields, everything checked."""
        if isinstance(fields, cls):
            return fields
        if not isinstance(fields, Mapping):
            raise InputError(
                f"the description of {name!r} is {short(fields)}; it must be a mapping with some of {', '.join(FIELDS)}"
            )
        for field in fields:
            if field not in FIELDS:
                raise InputError(f"the description of {name!r} has {field!r}; it may have {', '.join(FIELDS)}")
        lowest, highest = (_number(name, field, fields.get(field)) for field in ("lowest", "highest"))
        if lowest is not None and highest is not None and lowest > highest:
            raise InputError(f"the lowest of {name!r} is {lowest:g} and its highest {highest:g}; exchange them")
        description, unit = (_text(name, field, fields.get(field)) for field in ("description", "unit"))
        return cls(description, unit, lowest, highest, _choices(name, fields.get("choices")))

    @property
    def has_range(self) -> bool:
        """Whether there is a plausible range, open to one side perhaps."""
        return self.lowest is not None or self.highest is not None

    def is_plausible(self, value: float) -> bool:
        """Whether a number is in the plausible range."""
        return not (
            (self.lowest is not None and value < self.lowest) or (self.highest is not None and value > self.highest)
        )

    def range_words(self) -> str:
        """The plausible range in words, with the unit."""
        return words_of_range(self.lowest, self.highest, self.unit)

    def words_of(self, value: Any) -> str:
        """What a choice means, or an empty text."""
        return next((words for choice, words in self.choices if _same(choice, value)), "")

    def has_choice(self, value: Any) -> bool:
        """Whether a value is one of the choices."""
        return any(_same(choice, value) for choice, _ in self.choices)

    def state(self) -> dict[str, Any]:
        """The fields that say something, as JSON can write them."""
        found = {field: getattr(self, field) for field in FIELDS}
        found["choices"] = [list(choice) for choice in self.choices]
        return {field: value for field, value in found.items() if value not in ("", None, [])}


def words_of_range(lowest: float | None, highest: float | None, unit: str = "") -> str:
    """A range in words.

    >>> from etana.dictionary import words_of_range
    >>> words_of_range(0, 120, "years"), words_of_range(None, 1.5), words_of_range(2, None, "mg")
    ('0 to 120 years', 'at most 1.5', 'at least 2 mg')
    """
    if lowest is not None and highest is not None:
        words = f"{lowest:.6g} to {highest:.6g}"
    elif highest is not None:
        words = f"at most {highest:.6g}"
    else:
        words = f"at least {lowest:.6g}"
    return f"{words} {unit}".strip()


class Dictionary(Mapping[str, Description]):
    """Descriptions by feature name.

    Parameters
    ----------
    descriptions : mapping from name to mapping
        Of each feature some of ``description``, ``unit``, ``lowest``, ``highest`` and ``choices``; these are a mapping
        from value to words, or a list of values.
    missing : sequence of str
        Cells of a table file that mean a missing value, besides the usual ones: ``"-9"``, or in one column,
        ``"glucose=0"``.

    Examples
    --------
    >>> import etana
    >>> words = etana.Dictionary({"age": {"description": "Age at admission", "unit": "years", "lowest": 0,
    ...                                   "highest": 120}, "sex": {"choices": {"f": "female", "m": "male"}}})
    >>> words["age"].range_words(), words["sex"].words_of("f"), words["weight"].unit
    ('0 to 120 years', 'female', '')
    """

    def __init__(self, descriptions: Mapping[str, Any] | None = None, missing: Sequence[str] = ()) -> None:
        given = {} if descriptions is None else descriptions
        if not isinstance(given, Mapping):
            raise InputError(f"the dictionary is {short(given)}; it must be a mapping from feature names")
        self._descriptions = {str(name): Description.of(str(name), fields) for name, fields in given.items()}
        self.missing = _spellings(missing)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Dictionary:
        """From a mapping for each feature, with its ``name`` and the fields: a data frame's rows, say."""
        found: dict[str, Any] = {}
        for number, row in enumerate(rows, 1):
            fields = {key: value for key, value in row.items() if key != "name" and not _is_empty(value)}
            if _is_empty(row.get("name")):
                raise InputError(f"row {number} of the dictionary has no name; say which feature it describes")
            name = str(row["name"]).strip()
            if name in found:
                raise InputError(f"the dictionary describes {name!r} twice; keep one of the rows")
            found[name] = fields
        return cls(found)

    def with_missing(self, missing: Sequence[str]) -> Dictionary:
        """The same descriptions, with these spellings of a missing value."""
        return Dictionary(self._descriptions, missing)

    def __getitem__(self, name: str) -> Description:
        """The description of a feature; an empty one if nothing is said of it."""
        return self._descriptions.get(name, _NOTHING)

    def __contains__(self, name: object) -> bool:
        return name in self._descriptions

    def __iter__(self) -> Iterator[str]:
        return iter(self._descriptions)

    def __len__(self) -> int:
        return len(self._descriptions)

    def __repr__(self) -> str:
        return f"Dictionary({short(self.state())})"

    def check(self, names: Sequence[str], levels: Mapping[int, np.ndarray]) -> None:
        """Refuse descriptions of features that a model does not have, and choices that its features do not take."""
        self.check_names(names)
        columns = {name: k for k, name in enumerate(names)}
        for name, description in self._descriptions.items():
            for choice, _ in description.choices:
                _check_choice(name, choice, levels.get(columns[name]))

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse descriptions of features that are not among these."""
        known = set(names)
        for name in self._descriptions:
            if name not in known:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"its features are {short(list(names))}"
                raise InputError(f"the dictionary describes {name!r}, which is no feature of the model; {hint}")

    def state(self) -> dict[str, Any]:
        """As JSON can write it; what :class:`Dictionary` takes."""
        return {name: description.state() for name, description in self._descriptions.items()}


_NOTHING = Description()


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _spellings(given: Any) -> tuple[str, ...]:
    if not _is_list(given) or not all(isinstance(one, str) and len(one) <= _LONGEST for one in given):
        raise InputError(
            f"the spellings of a missing value are {short(given)}; they must be a list of texts of at most {_LONGEST} "
            "characters"
        )
    return tuple(given)


def _text(name: str, field: str, value: Any) -> str:
    if _is_empty(value):
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InputError(f"the {field} of {name!r} is {short(value)}; it must be text of at most {_LONGEST} characters")
    return value.strip()


def _number(name: str, field: str, value: Any) -> float | None:
    if _is_empty(value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise InputError(f"the {field} of {name!r} is {value!r}; it must be a finite number, or be left out")
    return number


def _choices(name: str, given: Any) -> tuple[tuple[str, str], ...]:
    if _is_empty(given):
        return ()
    pairs: list[Any] = list(given.items()) if isinstance(given, Mapping) else list(given) if _is_list(given) else [None]
    pairs = [tuple(pair) if _is_list(pair) else (pair, "") for pair in pairs]
    if len(pairs) > _MOST_CHOICES or any(len(pair) != 2 or _is_empty(pair[0]) for pair in pairs):
        raise InputError(
            f"the choices of {name!r} are {short(given)}; they must be at most {_MOST_CHOICES} values, or a mapping "
            "from values to words"
        )
    found = [(_choice_text(value), _text(name, "choices", words)) for value, words in pairs]
    if len({choice for choice, _ in found}) < len(found):
        raise InputError(f"the choices of {name!r} are {short(given)}; name each of them once")
    return tuple(found)


def _is_list(given: Any) -> bool:
    return isinstance(given, list | tuple)


def _choice_text(value: Any) -> str:
    # 1.0 and 1 are the same choice; JSON and spreadsheets turn the one into the other.
    return f"{value:.15g}" if isinstance(value, float) else str(value).strip()


def _same(choice: str, value: Any) -> bool:
    """Whether a value is this choice: by its text, or as a number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(choice) == value
        except ValueError:
            return False
    return choice == str(value)


def _check_choice(name: str, choice: str, levels: np.ndarray | None) -> None:
    if levels is None:
        try:
            fits = math.isfinite(float(choice))
        except ValueError:
            fits = False
        if not fits:
            raise InputError(f"the choices of {name!r} have {choice!r}; the feature takes numbers: leave it out")
    elif not any(_same(choice, level) for level in levels):
        known = short([str(level) for level in levels])
        raise InputError(
            f"the choices of {name!r} have {choice!r}, which training has not seen; it has seen {known}: leave it out"
        )
