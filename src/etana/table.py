"""Reading a user's table: whatever it is, seen as columns of numbers.

Accepted are NumPy arrays, SciPy sparse matrices, pandas and polars frames (and whatever else narwhals reads),
and nested lists. Numeric columns stay as they are; booleans in arrays and lists are the numbers 0 and 1. Text is
*categorical*, and in frames so are booleans, pandas categories and polars enums, whatever their categories are: such
a column is read as the index of each value among the column's levels. NaN, None, NA and null are missing. Sparse
matrices stay sparse; an entry that is not stored is the number 0.
"""

from __future__ import annotations

from reprlib import repr as short
from typing import Any

import numpy as np
import scipy.sparse as sp

from etana.errors import InputError, ValueTypeError
from etana.kernels import walk as kernel

__all__ = ["Table", "check_labels", "code_labels", "plain_value", "read_table"]

_FEW_LABELS, _BLOCK = 2**12, 2**18  # numbers between which labels lie, and labels that are counted at a time
_LARGEST = 2**62
_ROWS_AT_ONCE = 4096


class Table:
    """A table as columns of numbers, with levels for the categorical ones.

    Attributes
    ----------
    n_rows, n_features : int
    names : list of str, or None
        Column names, if the input had any.
    sparse : scipy.sparse matrix or array (CSR or CSC, indices sorted, no duplicates), or None
    dense : 2-D numeric array, or None
    """

    def __init__(self, dense: Any = None, sparse: Any = None, columns: Any = None, names: Any = None) -> None:
        self.dense: np.ndarray | None = dense
        self.sparse: Any = sparse
        self._columns: list[np.ndarray] | None = columns
        self.names: list[str] | None = names
        if columns is not None:
            self.n_features = len(columns)
            self.n_rows = len(columns[0]) if columns else 0
        else:
            self.n_rows, self.n_features = (sparse if dense is None else dense).shape

    def is_categorical(self, column: int) -> bool:
        """Whether the column holds labels and not numbers."""
        return self._columns is not None and self._columns[column].dtype == object

    @property
    def categorical(self) -> list[int]:
        """Indices of the categorical columns."""
        return [k for k, c in enumerate(self._columns or ()) if c.dtype == object]

    def by_column(self) -> Table:
        """The same table, stored so that columns are quick to read."""
        return self if self.sparse is None or self.sparse.format == "csc" else Table(sparse=self.sparse.tocsc())

    def rows(self, index: np.ndarray) -> Table:
        """The table of these rows."""
        if self.sparse is not None:
            return Table(sparse=self.sparse.tocsr()[index])
        if self.dense is not None:
            return Table(dense=self.dense[index], names=self.names)
        assert self._columns is not None
        return Table(columns=[c[index] for c in self._columns], names=self.names)

    def stored(self, weights: np.ndarray) -> np.ndarray:
        """Weight (K,) of the rows of which a sparse table stores a value, by column."""
        by_row = self.sparse.tocsr()
        return np.bincount(by_row.indices, np.repeat(weights, np.diff(by_row.indptr)), minlength=self.n_features)

    def some(self, columns: np.ndarray) -> Table:
        """A table of these columns alone."""
        if self.sparse is not None:
            return Table(sparse=self.sparse.tocsc()[:, columns])
        names = None if self.names is None else [self.names[k] for k in columns]
        if self.dense is not None:
            return Table(dense=self.dense[:, columns], names=names)
        assert self._columns is not None
        return Table(columns=[self._columns[k] for k in columns], names=names)

    def levels(self, column: int, rows: Any = slice(None)) -> np.ndarray:
        """Sorted distinct labels of a categorical column in these rows, missing ones left out."""
        assert self._columns is not None
        values = {v for v in self._columns[column][rows] if v is not None}
        levels = np.empty(len(values), dtype=object)
        levels[:] = sorted(values, key=lambda v: (type(v).__name__, v))
        return levels

    def block(self, columns: Any, levels: dict[int, np.ndarray] | None = None) -> np.ndarray:
        """These columns (a slice or indices) as floats, (rows, columns).

        A label is read as its index among ``levels[column]``, as infinity if it is not among them, and as NaN if
        it is missing.
        """
        chosen = np.arange(self.n_features)[columns]
        known = {c: levels[k] for c, k in enumerate(chosen.tolist()) if k in levels} if levels else {}
        if self._columns is None:
            out = self._numbers(columns)
            if known:
                out = np.array(out, dtype=np.float64, order="F")
        else:
            out = np.empty((self.n_rows, len(chosen)), order="F")
            for c, k in enumerate(chosen):
                if c not in known:
                    out[:, c] = _as_numbers(self._columns[k], k, self.names)
        for c, labels in known.items():
            index = {label: float(code) for code, label in enumerate(labels)}
            values = out[:, c] if self._columns is None else self._columns[chosen[c]]
            out[:, c] = [np.nan if (v := plain_value(x)) is None else index.get(v, np.inf) for x in values]
        return out

    def values(self, column: int, rows: np.ndarray, levels: dict[int, np.ndarray]) -> np.ndarray:
        """The values of these rows in one column as floats, as :meth:`block` gives them; no other value is read."""
        if self._columns is not None:
            part = Table(columns=[self._columns[column][rows]], names=[self.names[column]] if self.names else None)
            return part.block([0], {0: levels[column]} if column in levels else {})[:, 0]
        if self.dense is not None:
            if column not in levels:
                return self.dense[rows, column].astype(np.float64)
            part = Table(dense=self.dense[rows, column][:, None])
            return np.asarray(part.block([0], {0: levels[column]} if column in levels else {}), dtype=np.float64)[:, 0]
        m = self.sparse
        out = np.empty(len(rows))
        kind = kernel.CSR if m.format == "csr" else kernel.CSC
        storage = kernel.Storage(kind, np.empty((0, 0)), m.data, m.indices, m.indptr, np.empty(0, dtype=np.int64))
        kernel.fetch_rows(storage, np.asarray(rows, dtype=np.int64), column, out)
        if column in levels:
            return Table(dense=out[:, None]).block([0], {0: levels[column]})[:, 0]
        return out

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest finite number of each column, (K,) each; (inf, -inf) where there is none."""
        low, high = np.full(self.n_features, np.inf), np.full(self.n_features, -np.inf)
        if not self.n_rows:
            return low, high
        if self.sparse is not None:
            return _sparse_ranges(self.sparse)
        left = set(range(self.n_features)) - set(self.categorical)
        if self.dense is not None:
            # Some rows at a time: a column of an array that is stored by rows takes long to read.
            for first in range(0, self.n_rows, _ROWS_AT_ONCE):
                part = self.dense[first : first + _ROWS_AT_ONCE]
                np.fmin(low, np.fmin.reduce(part, axis=0), out=low)
                np.fmax(high, np.fmax.reduce(part, axis=0), out=high)
            left &= set(np.flatnonzero(np.isinf(low) | np.isinf(high)).tolist())
        for k in left:
            values = self.block([k])[:, 0]
            finite = values[np.isfinite(values)]
            low[k], high[k] = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        return low, high

    def _numbers(self, columns: Any) -> np.ndarray:
        """These columns of an array or a sparse matrix, float32 or float64."""
        if self.sparse is not None:
            return np.asarray(self.sparse[:, columns].toarray(), dtype=np.float64)
        assert self.dense is not None
        array = self.dense[:, columns]
        return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


def _sparse_ranges(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same of a sparse matrix, of whose columns only what is stored is looked at."""
    stored = matrix.tocoo()
    data, columns = stored.data.astype(np.float64), stored.col
    finite = np.isfinite(data)
    # What is not stored is zero.
    full = np.bincount(columns, minlength=matrix.shape[1]) == matrix.shape[0]
    low, high = np.where(full, np.inf, 0.0), np.where(full, -np.inf, 0.0)
    np.minimum.at(low, columns[finite], data[finite])
    np.maximum.at(high, columns[finite], data[finite])
    return low, high


def plain_value(value: Any) -> Any:
    """A label as a plain Python value; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and value != value):
        return None
    # pandas marks a missing value with objects of its own; no need to import it to know them.
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def check_labels(y: Any) -> None:
    """Refuse class labels that have no order: missing ones, and text among numbers."""
    # In a list NumPy would turn NaN beside text into the text 'nan'; the objects themselves tell.
    array = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if array.dtype.kind not in "Of" or array.ndim != 1:
        return
    labels = [plain_value(v) for v in array]
    if None in labels:
        row = labels.index(None)
        raise InputError(
            f"y has no label in row {row}, but {array[row]}: Input y contains NaN, None or NA; "
            "leave out rows without a class, or give them a label of their own"
        )
    text = [v for v in labels if isinstance(v, str | bytes)]
    if text and len(text) < len(labels):
        other = next(v for v in labels if not isinstance(v, str | bytes))
        raise InputError(
            f"y has text and other labels, {short(text[0])} and {short(other)}; give labels of one type: "
            "turn all of them into text, or into numbers"
        )


def code_labels(y: np.ndarray, classes: np.ndarray | None, shared: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The classes, sorted, those that are there unless they are given, and the place of each label among them.

    Places of labels that are none of the given classes are anywhere. With ``shared``, labels that are places already
    are given back as they are, not copied: nothing may be written to them.
    """
    whole = y.dtype.kind in "iu" and y.size > 0
    low, high = (int(y.min()), int(y.max())) if whole else (0, 0)
    if classes is None and high - low < _FEW_LABELS and whole and -_LARGEST < low <= high < _LARGEST:
        # Whole numbers that are close together are counted, which takes less time than sorting or hashing them.
        parts = (y[a : a + _BLOCK].astype(np.int64) - low for a in range(0, y.size, _BLOCK))
        seen = sum(np.bincount(part, minlength=high - low + 1) for part in parts)
        classes = (np.flatnonzero(seen) + low).astype(y.dtype)
    elif classes is None:
        classes = np.unique(y)
    last = classes.size - 1
    places = (
        whole and classes.dtype.kind in "iu" and classes[0] == 0 and classes[-1] == last and 0 <= low <= high <= last
    )
    if shared and places and y.dtype == np.int64 and y.flags.c_contiguous and y.flags.writeable:
        return classes, y
    codes = np.searchsorted(classes, y)
    return classes, np.minimum(codes, last, out=codes)


def _as_numbers(values: np.ndarray, column: int, names: list[str] | None) -> np.ndarray:
    """A column that was numeric in training; text that reads as a number is taken as one."""
    if values.dtype != object:
        return values
    out = np.empty(len(values))
    for r, value in enumerate(values):
        try:
            out[r] = np.nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            where = repr(names[column]) if names else f"number {column}"
            raise InputError(
                f"column {where} was numeric when the model was fitted and now holds {short(value)}; "
                "give numbers, or NaN for a missing value"
            ) from None
    return out


def read_table(data: Any) -> Table:
    """Read any accepted input; no value of a numeric array is looked at."""
    if isinstance(data, Table):
        return data
    if sp.issparse(data):
        return _read_sparse(data)
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "fiub":
        return _read_array(np.where(np.ma.getmaskarray(data), np.nan, data.data))
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        return _read_array(np.asarray(data))
    if hasattr(data, "collect") and hasattr(data, "collect_schema") and not hasattr(data, "to_numpy"):
        raise InputError(f"{type(data).__name__} is a lazy frame; call its collect() first")
    if hasattr(data, "columns") or hasattr(data, "__dataframe__") or hasattr(data, "__narwhals_dataframe__"):
        frame = _read_frame(data)
        if frame is not None:
            return frame
    return _read_array(_as_array(data))


def _as_array(data: Any) -> np.ndarray:
    try:
        array = np.asarray(data)
    except ValueError:  # rows of unequal length
        return np.asarray(data, dtype=object)
    # A list with numbers and text becomes all text in NumPy; its numbers are to stay numbers.
    return np.asarray(data, dtype=object) if array.dtype.kind in "US" else array


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise InputError(
            f"Expected 2D array, got {len(shape)}D array instead (shape {shape}). Reshape your data: "
            "array.reshape(1, -1) for one instance, array.reshape(-1, 1) for one feature"
        )


def _check_type(dtype: np.dtype, allowed: str) -> None:
    if dtype.kind == "c":
        raise InputError("Complex data not supported; pass real numbers")
    if dtype.kind not in allowed:
        raise InputError(f"data of type {dtype} cannot be read; pass numbers or text")


def _read_sparse(data: Any) -> Table:
    _check_shape(data.shape)
    _check_type(data.dtype, "fiub")
    matrix = data if data.format in ("csr", "csc") else data.tocsr()
    if not matrix.has_canonical_format:  # unsorted, or with entries that are stored twice
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return Table(sparse=matrix)


def _read_array(array: np.ndarray) -> Table:
    _check_shape(array.shape)
    if array.dtype.kind in "fiub":
        return Table(dense=array)
    _check_type(array.dtype, "OUST")
    columns = [_column(array[:, c], f"column {c}") for c in range(array.shape[1])]
    if columns and all(c.dtype != object for c in columns):
        return Table(dense=np.stack(columns, axis=1))
    return Table(columns=columns) if columns else Table(dense=np.empty(array.shape))


def _column(values: Any, where: str) -> np.ndarray:
    """Floats if every present value is a number, else an object array of labels with None for missing."""
    labels = [plain_value(v) for v in values]
    if any(isinstance(v, str | bytes) for v in labels):
        return _labels(labels, where)
    out = np.empty(len(labels))
    for r, value in enumerate(labels):
        if isinstance(value, complex):
            raise InputError(f"{where} holds {value!r}. Complex data not supported; pass real numbers")
        try:
            out[r] = np.nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            raise _wrong_value(value, where) from None
    return out


def _labels(labels: list[Any], where: str) -> np.ndarray:
    """An object array of labels, each one text or a number."""
    bad = next((v for v in labels if not isinstance(v, str | bytes | int | float | None)), None)
    if bad is not None:
        raise _wrong_value(bad, where)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def _wrong_value(value: Any, where: str) -> ValueTypeError:
    return ValueTypeError(
        f"{where} holds {short(value)} of type {type(value).__name__}; argument must be a string or a number, "
        "or None for a missing value"
    )


def _read_frame(data: Any) -> Table | None:
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"{error}; rename columns so that each name occurs once") from None
    if not isinstance(frame, nw.DataFrame):
        return None
    schema = frame.schema
    names = list(schema) if all(isinstance(c, str) for c in schema) else None
    if schema and all(t.is_numeric() for t in schema.values()):
        array = np.asarray(frame.to_numpy())
        if array.dtype.kind in "fiu":
            return Table(dense=array, names=names)
    if not schema:
        return Table(dense=np.empty(frame.shape), names=names)
    # Not by name: where names are numbers, frame[name] is a row.
    return Table(columns=[_read_series(s, s.dtype) for s in frame.iter_columns()], names=names)


def _read_series(series: Any, dtype: Any) -> np.ndarray:
    import narwhals as nw

    where = f"column {series.name!r}"
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    if dtype.is_temporal() or dtype.is_nested() or dtype == nw.Binary:
        raise ValueTypeError(
            f"{where} is of type {dtype}; argument must be a string or a number: turn dates into numbers "
            "(days since a day that matters), and lists into columns of their own"
        )
    values = series.to_list()
    labels = [plain_value(v) for v in values]
    # pandas keeps booleans with missing ones among them as objects.
    boolean = dtype == nw.Boolean or (
        any(isinstance(v, bool) for v in labels) and all(isinstance(v, bool | None) for v in labels)
    )
    if boolean or dtype in (nw.Categorical, nw.Enum):
        return _labels(labels, where)
    return _column(values, where)
