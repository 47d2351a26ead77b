"""What a model file holds of one part of a model, read by name with what is allowed.

Parts (beliefs, policies, and what they are made of) write themselves as arrays and plain values, ``state()``, and are
made again from a :class:`State`, ``restore(stored, ...)``. Nothing that is read is trusted: every array is asked for by
type and shape, every number by its bounds, so that nothing out of bounds reaches a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from etana.binning import Binner
from etana.costs import ResolvedCosts, Waiting
from etana.errors import InputError
from etana.modelfile.foreign import Trust, unpack
from etana.modelfile.values import Decoder
from etana.problem import check_cells

__all__ = ["OpenFile", "State"]

_SUM_TOLERANCE = 1e-6


class OpenFile(NamedTuple):
    """Where a file is read from: all its arrays, the types that are trusted, and the classes that parts may have."""

    arrays: Mapping[str, np.ndarray]
    trust: Trust
    parts: Mapping[str, type]


@dataclass(frozen=True)
class State:
    """Arrays and values of one part.

    Attributes
    ----------
    source : OpenFile
    name : str
        Names of its arrays begin with this and a dot.
    values : dict
        Its JSON.
    """

    source: OpenFile
    name: str
    values: dict[str, Any]

    def _array(self, name: str) -> np.ndarray:
        array = self.source.arrays.get(f"{self.name}.{name}")
        if array is None:
            raise InputError(f"the array '{self.name}.{name}' is missing")
        return array

    def array(self, name: str, shape: tuple[int | None, ...], dtype: Any = np.float64) -> np.ndarray:
        """An array of this type and shape (None: any length) without NaN."""
        array = self._array(name)
        fits = array.ndim == len(shape) and all(s in (None, n) for s, n in zip(shape, array.shape, strict=True))
        if not fits or array.dtype != dtype:
            wanted = f"{np.dtype(dtype)} of shape {shape}".replace("None", "any")
            raise InputError(f"the array {name!r} is {array.dtype} of shape {array.shape}; it must be {wanted}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"the array {name!r} has an entry that is not a number")
        return array

    def integers(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """An array of signed whole numbers of any size."""
        array = self._array(name)
        if array.dtype.kind != "i" or array.shape != shape:
            raise InputError(f"the array {name!r} is {array.dtype} of shape {array.shape}; it must be whole, {shape}")
        return array

    def within(self, name: str, shape: tuple[int | None, ...], least: float, most: float) -> np.ndarray:
        """An array of floats from ``least`` to ``most``."""
        array = self.array(name, shape)
        if not ((array >= least) & (array <= most)).all():
            raise InputError(f"the array {name!r} has an entry that is not between {least} and {most}")
        return array

    def costs(self, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """Costs: finite and not negative."""
        array = self.array(name, shape)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise InputError("a cost is negative or not finite")
        return array

    def classes(self, name: str, shape: tuple[int | None, ...], n_classes: int) -> np.ndarray:
        """Classes of rows, as numbers."""
        codes = self.array(name, shape, np.int64)
        if (codes < 0).any() or (codes >= n_classes).any():
            raise InputError("a training row has a class that is not there")
        return codes

    def priors(self, n_classes: int) -> np.ndarray:
        """Probabilities of the classes."""
        priors = self.array("priors", (n_classes,))
        if not (priors >= 0).all() or not abs(priors.sum() - 1) <= _SUM_TOLERANCE:
            raise InputError("priors are no probabilities")
        return priors

    def likelihoods(self, name: str, offsets: np.ndarray, n_classes: int) -> np.ndarray:
        """P(v | class) of several features, ``offsets`` their first cells."""
        cells = self.array(name, (int(offsets[-1]), n_classes))
        check_cells(cells, offsets)
        # Smoothing leaves no zeros; with one, evidence could rule out every class.
        if not (cells > 0).all():
            raise InputError("a likelihood is zero")
        return cells

    def prices(self) -> ResolvedCosts:
        """Prices of all features."""
        full = self.costs("full", (None,))
        discounted = self.costs("discounted", full.shape)
        group = self.array("group", full.shape, np.int64)
        if (group < -1).any() or (discounted > full).any():
            raise InputError("a discounted price is above the full one, or a group is negative")
        return ResolvedCosts(full, discounted, group, self._waiting(full.shape))

    def _waiting(self, shape: tuple[int, ...]) -> Waiting | None:
        """What waiting costs; in files without it, nothing."""
        if f"{self.name}.round" not in self.source.arrays:
            return None
        return Waiting(float(self.costs("round", (1,))[0]), self.array("delayed", shape, bool))

    def number(self, name: str, least: float = -np.inf, most: float = np.inf, finite: bool = True) -> float:
        """A number from ``least`` to ``most``; always a float, for kernels are compiled for each type anew."""
        return float(self._number(name, least, most, finite))

    def _number(self, name: str, least: float, most: float, finite: bool) -> float | int:
        value = Decoder({}).decode(self.values.get(name))
        if isinstance(value, bool) or not isinstance(value, int | float) or (finite and not np.isfinite(value)):
            raise InputError(f"{name} is {value!r}; it must be a finite number")
        if not least <= value <= most:
            raise InputError(f"{name} is {value!r}; it must lie between {least} and {most}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._number(name, least, most, finite=True)
        if not isinstance(value, int):
            raise InputError(f"{name} is {value!r}; it must be a whole number")
        return value

    def flag(self, name: str) -> bool:
        """True or False."""
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise InputError(f"{name} is {value!r}; it must be true or false")
        return value

    def rows(self, name: str, width: int) -> list[list[float]]:
        """A list of rows of so many numbers, none of them negative or NaN."""
        rows = Decoder({}).decode(self.values.get(name))
        if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == width for row in rows):
            raise InputError(f"{name} is no list of rows of {width} numbers")
        for entry in (entry for row in rows for entry in row):
            if isinstance(entry, bool) or not isinstance(entry, int | float) or not entry >= 0:
                raise InputError(f"{name} has the entry {entry!r}; it must be a number >= 0")
        return rows

    def binner(self, name: str) -> Binner:
        """Bins that were fitted."""
        binner = Decoder(dict(self.source.arrays)).binner(self.values[name])
        if not hasattr(binner, "edges") or not binner.n_features:
            raise InputError("there are no bins")
        return binner

    def levels(self, name: str, n_columns: int) -> dict[int, np.ndarray]:
        """Labels of categorical columns, of which there are so many columns in all."""
        return Decoder({}).levels(self.values[name], n_columns)

    def foreign(self, name: str) -> Any:
        """An object of another library, as far as its types are trusted."""
        return unpack(self.array(name, (None,), np.uint8), self.source.trust)

    def part(self, name: str, kind: type, *given: Any) -> Any:
        """A part within this one, of this kind; ``given`` is what its ``restore`` takes besides its state."""
        return restore_part(self.source, f"{self.name}.{name}", self.values[name], kind, *given)


def restore_part(source: OpenFile, name: str, content: Any, kind: type, *given: Any) -> Any:
    """The part that a file holds under a name."""
    found = source.parts.get(content["class"])
    if found is None or not issubclass(found, kind):
        raise InputError(f"its {name} {content['class']!r} is not known to this version of etana; upgrade etana")
    restore: Callable[..., Any] = found.restore  # type: ignore[attr-defined]
    return restore(State(source, name, content["values"]), *given)
