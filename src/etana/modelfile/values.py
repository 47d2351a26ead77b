"""Parameters, labels and bins as JSON and arrays.

JSON goes among the metadata of a model file. It has None, truth values,
numbers, text and lists, and these stand for themselves. Everything else is an object that names its type:

=====================  ===============================================================================
``type``               other entries
=====================  ===============================================================================
``float``              ``value``: "inf", "-inf" or "nan"
``bytes``              ``value``: hexadecimal digits
``tuple``              ``items``
``mapping``            ``items``: pairs of key and value, in order
``scalar``             ``dtype``, ``value``: a NumPy scalar
``array``              ``dtype``, and ``name`` of the array in the file, or ``shape`` and ``items``
``FeatureCosts``       ``costs``, ``groups``, ``discounted``, ``round``, ``delayed``
``Binner``             as :meth:`Encoder.binner` writes it; ``fitted bins`` are those of the classifier
``solver``             ``class``, ``parameters``
=====================  ===============================================================================

A mapping comes back as a dict, and whatever else NumPy reads as an array comes back as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from etana.binning import Binner
from etana.costs import FeatureCosts
from etana.errors import InputError
from etana.modelfile.container import TYPE_NAMES
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver

__all__ = ["Decoder", "Encoder"]

_SOLVERS: dict[str, Any] = {s.__name__: s for s in (ExactSolver, GridSolver, PointsSolver, ThresholdSolver)}
_LARGEST_TEXT_ARRAY = 2**26  # bytes


class Encoder:
    """Turns values into JSON; numeric arrays are put aside in :attr:`arrays`."""

    def __init__(self, fitted: Binner | None = None) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._fitted = fitted

    def encode(self, value: Any, name: str) -> Any:
        """JSON for a value; ``name`` is that of the array, if it needs one, and is shown in errors."""
        if isinstance(value, np.generic):
            if not _is_plain(value.dtype):
                raise _not_storable(name, value)
            return {"type": "scalar", "dtype": value.dtype.str, "value": self._plain(value.item(), name)}
        if value is None or isinstance(value, bool | int | float | str | bytes):
            return self._plain(value, name)
        if isinstance(value, list | range):
            return self._items(value, name)
        if isinstance(value, tuple):
            return {"type": "tuple", "items": self._items(value, name)}
        if isinstance(value, Mapping):
            pairs = [[self.encode(k, name), self.encode(v, f"{name}.{i}")] for i, (k, v) in enumerate(value.items())]
            return {"type": "mapping", "items": pairs}
        return self._object(value, name)

    def _items(self, values: Any, name: str) -> list[Any]:
        return [self.encode(v, f"{name}.{i}") for i, v in enumerate(values)]

    def _plain(self, value: Any, name: str) -> Any:
        if isinstance(value, bytes):
            return {"type": "bytes", "value": value.hex()}
        if isinstance(value, float) and not math.isfinite(value):
            return {"type": "float", "value": repr(float(value))}
        # Subclasses (enumerations, for example) are stored as what they stand for.
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        if value is not None:
            raise _not_storable(name, value)
        return None

    def _object(self, value: Any, name: str) -> dict[str, Any]:
        if isinstance(value, FeatureCosts):
            return {"type": "FeatureCosts"} | {k: self.encode(v, f"{name}.{k}") for k, v in vars(value).items()}
        if isinstance(value, Binner):
            return {"type": "fitted bins"} if value is self._fitted else self.binner(value, name)
        kind = type(value).__name__
        if type(value) is _SOLVERS.get(kind):
            parameters = {k: self.encode(v, f"{name}.{k}") for k, v in vars(value).items()}
            return {"type": "solver", "class": kind, "parameters": parameters}
        if hasattr(value, "__array__") and not isinstance(value, type):
            return self._array(np.asarray(value), name)
        raise _not_storable(name, value)

    def _array(self, array: np.ndarray, name: str) -> dict[str, Any]:
        if array.dtype.newbyteorder("<").str in TYPE_NAMES:
            self.arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
            return {"type": "array", "dtype": array.dtype.str, "name": name}
        if array.dtype.kind not in "OUS":
            raise _not_storable(name, array)
        items = [self._plain(_python(v), name) for v in array.ravel()]
        return {"type": "array", "dtype": array.dtype.str, "shape": list(array.shape), "items": items}

    def labels(self, labels: np.ndarray) -> dict[str, Any]:
        """Class labels: always in the JSON, where people can read them."""
        if not _is_plain(labels.dtype):
            raise _not_storable("classes_", labels)
        items = [self._plain(_python(v), "classes_") for v in labels]
        return {"type": "array", "dtype": labels.dtype.str, "shape": list(labels.shape), "items": items}

    def names(self, names: list[str] | None) -> list[str] | None:
        """Feature names."""
        return None if names is None else [str(n) for n in names]

    def binner(self, binner: Binner, name: str) -> dict[str, Any]:
        """A Binner: what it was made with, and if it was fitted, its bins."""
        settings = {k: self.encode(getattr(binner, k), f"{name}.{k}") for k in ("method", "n_bins", "missing")}
        if not hasattr(binner, "edges"):
            return {"type": "Binner", "settings": settings, "name": None}
        self.arrays[f"{name}.edges"] = binner.edges
        self.arrays[f"{name}.edge_offsets"] = binner.edge_offsets
        self.arrays[f"{name}.has_missing"] = binner.missing_codes >= 0
        if binner.seen is not None:
            self.arrays[f"{name}.seen"] = np.concatenate(binner.seen)
        levels = self.levels(binner.levels, f"{name}.levels")
        return {
            "type": "Binner", "settings": settings, "name": name, "levels": levels, "names": self.names(binner.names),
        }  # fmt: skip

    def levels(self, levels: dict[int, np.ndarray], name: str) -> list[Any]:
        """Labels of categorical columns: pairs of column and labels."""
        return [[int(k), self._items(levels[k], name)] for k in sorted(levels)]


class Decoder:
    """Turns JSON back into values, and refuses what no encoder writes."""

    def __init__(self, arrays: dict[str, np.ndarray], fitted: Binner | None = None) -> None:
        self._arrays = arrays
        self._fitted = fitted

    def decode(self, value: Any) -> Any:
        """The value that was encoded."""
        if isinstance(value, list):
            return [self.decode(v) for v in value]
        if not isinstance(value, dict):
            return value
        kind = value["type"]
        if kind in ("float", "bytes"):
            return float(value["value"]) if kind == "float" else bytes.fromhex(value["value"])
        if kind == "tuple":
            return tuple(self.decode(v) for v in value["items"])
        if kind == "mapping":
            return {self.decode(k): self.decode(v) for k, v in value["items"]}
        if kind == "scalar":
            return _text_array(value["dtype"], (), [self.decode(value["value"])])[()]
        if kind == "array":
            return self._array(value)
        return self._object(kind, value)

    def _object(self, kind: str, value: dict[str, Any]) -> Any:
        if kind == "FeatureCosts":
            names = ("costs", "groups", "discounted", "round", "delayed")
            return FeatureCosts(**{k: self.decode(value[k]) for k in names if k in value})
        if kind == "Binner":
            return self.binner(value)
        if kind == "fitted bins" and self._fitted is not None:
            return self._fitted
        if kind == "solver" and value["class"] in _SOLVERS:
            solver = _SOLVERS[value["class"]]()
            given = {k: self.decode(v) for k, v in value["parameters"].items()}
            if not set(given) <= set(vars(solver)):
                raise InputError(f"a {value['class']} has the parameters {', '.join(vars(solver))}, not all given")
            vars(solver).update(given)
            return solver
        raise InputError(f"a value of type {kind!r} is not known to this version of etana")

    def _array(self, value: dict[str, Any]) -> np.ndarray:
        if "name" not in value:
            items = [self.decode(v) for v in value["items"]]
            return _text_array(value["dtype"], tuple(value["shape"]), items)
        array = self._arrays[value["name"]]
        dtype = np.dtype(value["dtype"])
        if dtype.newbyteorder("=") != array.dtype:
            raise InputError(f"the array {value['name']!r} is of type {array.dtype}, not {dtype}")
        return array.astype(dtype, copy=False)

    def labels(self, value: dict[str, Any]) -> np.ndarray:
        """Class labels."""
        labels = self._array({k: v for k, v in value.items() if k != "name"})
        if labels.ndim != 1:
            raise InputError(f"class labels have the shape {labels.shape}")
        return labels

    def names(self, value: Any, n_features: int) -> list[str] | None:
        """Feature names, one for each feature."""
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != n_features or not all(isinstance(v, str) for v in value):
            raise InputError(f"names of features are not {n_features} texts")
        return value

    def binner(self, value: dict[str, Any]) -> Binner:
        """A Binner; its bins are checked so that every code that it can give has a cell."""
        binner = Binner(**{k: self.decode(value["settings"][k]) for k in ("method", "n_bins", "missing")})
        name = value["name"]
        if name is None:
            return binner
        edges = self._named(f"{name}.edges", np.float64)
        offsets = self._named(f"{name}.edge_offsets", np.int64)
        k = offsets.size - 1
        if k < 0 or offsets[0] != 0 or offsets[-1] != edges.size or (offsets[1:] < offsets[:-1]).any():
            raise InputError("the offsets of the bins do not divide the edges")
        has_missing = self._named(f"{name}.has_missing", bool)
        if has_missing.size != k:
            raise InputError(f"there are {has_missing.size} marks of missing values for {k} columns")
        falls = np.flatnonzero(edges[1:] <= edges[:-1]) + 1
        if not np.isfinite(edges).all() or not np.isin(falls, offsets).all():
            raise InputError("the edges of a column are not finite and increasing")
        n_edges = np.diff(offsets)
        n_bins = n_edges + 1
        levels = self.levels(value["levels"], k)
        for column, labels in levels.items():
            n_bins[column] = max(len(labels), 1)
            own = edges[offsets[column] : offsets[column + 1]]
            if not np.array_equal(own, np.arange(n_bins[column] + has_missing[column]) + 0.5):
                raise InputError(f"column {column} has not one bin for each of its levels")
        binner._set(n_edges, edges, n_bins, has_missing, levels, self.names(value["names"], k))
        if f"{name}.seen" in self._arrays:
            seen = self._named(f"{name}.seen", np.float64)
            if seen.size != 2 * k or np.isnan(seen).any():
                raise InputError(f"the training ranges are {seen.size} numbers, not two for each of {k} columns")
            binner.seen = seen[:k], seen[k:]
        return binner

    def _named(self, name: str, dtype: Any) -> np.ndarray:
        array = self._arrays[name]
        if array.ndim != 1 or array.dtype != dtype:
            raise InputError(
                f"the array {name!r} is {array.dtype} of shape {array.shape}; it must be {np.dtype(dtype)}"
            )
        return array

    def levels(self, pairs: list[Any], n_columns: int) -> dict[int, np.ndarray]:
        """Labels of categorical columns, of which there are so many."""
        for column, _ in pairs:
            if type(column) is not int or not 0 <= column < n_columns:
                raise InputError(f"levels are given for column {column!r}, and there are {n_columns} columns")
        return {column: self._levels(labels) for column, labels in pairs}

    def _levels(self, items: list[Any]) -> np.ndarray:
        labels = np.empty(len(items), dtype=object)
        labels[:] = [self.decode(v) for v in items]
        if not all(isinstance(v, str | bytes | int | float) for v in labels) or len(set(labels)) != len(labels):
            raise InputError("levels of a categorical column are not distinct labels")
        return labels


def _is_plain(dtype: np.dtype) -> bool:
    return dtype.kind in "OUS" or dtype.newbyteorder("<").str in TYPE_NAMES


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _text_array(code: str, shape: tuple[int, ...], items: list[Any]) -> np.ndarray:
    """An array of exactly these items; a type that cannot hold one of them is refused."""
    dtype = np.dtype(code)
    if not _is_plain(dtype) or max(dtype.itemsize, 1) * len(items) > _LARGEST_TEXT_ARRAY:
        raise InputError(f"an array of {len(items)} items of type {code!r} cannot be made")
    if not all(v is None or isinstance(v, bool | int | float | str | bytes) for v in items):
        raise InputError("an array holds something that is neither a number nor a text")
    flat = np.empty(len(items), dtype)
    flat[:] = items
    if any(type(a) is not type(b) or (a != b and a == a) for a, b in zip(map(_python, flat), items, strict=True)):
        raise InputError(f"an array of type {code!r} cannot hold its items")
    return flat.reshape(shape)


def _not_storable(name: str, value: Any) -> InputError:
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    if isinstance(value, np.ndarray):
        kind = f"an array of {value.dtype}"
    if hasattr(value, "solve"):
        return InputError(f"{name} is a solver of your own, {kind}; only {', '.join(_SOLVERS)} can be stored")
    cure = "use a whole number as seed" if "random_state" in name else "only values, arrays and etana's objects can be"
    return InputError(f"{name} is {kind}, which has no place in a model file; {cure}")
