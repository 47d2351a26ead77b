"""JSON that comes from outside, read in steps, so that nobody can make one call last long.

A short body is parsed at once. A long one is walked: its fields one by one, its rows one by one, a long row value by
value, each step a short call between which other threads run. The walk ends at the first thing that cannot be right: a
row too many, a value too many in a row, a handful of unknown fields. What is left of the body is then not even looked
at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import pydantic_core

from etana.errors import InputError
from etana.service.errors import Malformed

__all__ = ["MOST_UNKNOWN", "read_fields"]

MOST_UNKNOWN = 10
_SHORT = 256 * 2**10  # bytes that are parsed in one call
_STEPS = (2**11, 2**16)  # characters of one row that are parsed in one call
_BLANK = re.compile(r"[ \t\n\r]*")
_HALF_PAIR = re.compile(r"[\ud800-\udfff]")


# NaN and infinity are read, as they are by the short way; whoever needs a number refuses them with their place.
_decode = json.JSONDecoder().raw_decode


def read_fields(body: bytes, known: Collection[str], rows: int, cells: int) -> Any:
    """A body as JSON; at most so many ``rows``, each of at most so many ``cells``.

    Returns the fields, unknown ones among them, up to a handful of those; or whatever else the body holds.
    """
    if len(body) <= _SHORT:
        try:
            return pydantic_core.from_json(body)
        except ValueError as error:
            raise _unreadable(str(error)) from None
    try:
        return _Walk(body.decode("utf-8"), rows, cells).read(known)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise _unreadable(str(error)) from None


def _unreadable(why: str) -> Malformed:
    # Python's own words may quote what was sent, and need not be valid Unicode.
    plain = why[:200].encode("ascii", "backslashreplace").decode()
    return Malformed(f"the body cannot be read. Invalid JSON: {plain}; send JSON in UTF-8")


class _Walk:
    """A position in a text, and what is read from there."""

    def __init__(self, text: str, rows: int, cells: int) -> None:
        self._text, self._rows, self._cells = text, rows, cells
        self._at = 0

    def read(self, known: Collection[str]) -> Any:
        """The fields of the object that the text is."""
        found: dict[str, Any] = {}
        unknown = 0
        self._skip()
        if not self._sees("{"):
            # Nothing else is ever right, so nothing else is read.
            return None
        for name in self._names():
            unknown += name not in known
            if unknown >= MOST_UNKNOWN:
                return found | {name: None}
            found[name] = self._read_rows() if name == "rows" and self._sees("[") else self._value()
        self._skip()
        if self._at != len(self._text):
            raise ValueError(f"more follows at character {self._at}")
        return found

    def _read_rows(self) -> list[Any]:
        rows: list[Any] = []
        for _ in self._elements():
            if len(rows) >= self._rows:
                raise InputError(f"more than {self._rows} rows were sent, which is what is allowed; send several parts")
            rows.append(self._value())
        return rows

    def _value(self) -> Any:
        """The value that begins here, in one call if it is short."""
        for step in _STEPS:
            piece = self._text[self._at : self._at + step]
            try:
                value, end = _decode(piece)
            except ValueError:
                continue
            # A number near the end of a piece may go on behind it: 1.5e, cut before its exponent, is no 1.5.
            if piece[end : end + 1] in (".", "e", "E"):
                continue
            if end < len(piece) or self._at + end == len(self._text):
                self._at += end
                _check_pairs(piece[:end], value)
                return value
        return self._long_value()

    def _long_value(self) -> Any:
        if self._sees("{"):
            named: dict[str, Any] = {}
            for name in self._names():
                if len(named) >= self._cells:
                    raise self._too_wide()
                named[name] = self._cell()
            return named
        if self._sees("["):
            listed: list[Any] = []
            for _ in self._elements():
                if len(listed) >= self._cells:
                    raise self._too_wide()
                listed.append(self._cell())
            return listed
        return self._cell()

    def _cell(self) -> Any:
        """A value within a long row, which can only be a plain one."""
        if self._sees("{") or self._sees("["):
            raise InputError("a row holds an object or a list; values are numbers, text, true, false or null")
        if self._sees('"'):
            value, end = scanstring(self._text, self._at + 1, True)
            _check_pairs(value, value)
        else:
            value, end = _decode(self._text, self._at)
        self._at = end
        return value

    def _too_wide(self) -> InputError:
        return InputError(f"a row has more than {self._cells} values, which is what the widest model has features")

    def _names(self) -> Any:
        """The names of an object that begins here; each value is read between two of them."""
        for _ in self._parts("}"):
            if not self._sees('"'):
                raise ValueError(f"a name is missing at character {self._at}")
            name, self._at = scanstring(self._text, self._at + 1, True)
            _check_pairs(name, name)
            self._skip()
            self._expect(":")
            yield name

    def _elements(self) -> Any:
        return self._parts("]")

    def _parts(self, end: str) -> Any:
        self._at += 1
        self._skip()
        if self._sees(end):
            self._at += 1
            return
        while True:
            yield
            self._skip()
            if self._sees(end):
                self._at += 1
                return
            self._expect(",")

    def _sees(self, character: str) -> bool:
        return self._text.startswith(character, self._at)

    def _expect(self, character: str) -> None:
        if not self._sees(character):
            raise ValueError(f"expected {character!r} at character {self._at}")
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]


def _check_pairs(written: str, value: Any) -> None:
    """Half a surrogate pair cannot be sent back; Python's reader lets it pass."""
    if isinstance(value, str):
        halves = _HALF_PAIR.search(value) is not None
    else:
        halves = "\\ud" in written.lower() and _HALF_PAIR.search(json.dumps(value, ensure_ascii=False)) is not None
    if halves:
        raise ValueError("a text holds half a surrogate pair")
