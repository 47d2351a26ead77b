"""From the files that the world publishes to arrays: one small reader for each format.

A reader takes the raw bytes of the files of a set, in the order of the registry, and gives :class:`DataArrays`. Values
go through single precision, as in the archives that etana's figures were made with, so that both give the same numbers.
"""

from __future__ import annotations

import bz2
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from etana.datasets.arrays import DataArrays
from etana.errors import InputError

__all__ = ["PARSERS", "parse"]

_UNPACKED_LIMIT = 2**30  # bytes; news20.binary unpacks to about an eighth of it


def parse(kind: str, raw: Sequence[bytes], what: str) -> DataArrays:
    """Read raw files of a named format, or say that they are not in it."""
    try:
        return PARSERS[kind](raw)
    except InputError:
        raise
    except Exception as error:  # foreign bytes can break a reader in any way
        raise InputError(f"{what} is not in the format expected of it ({type(error).__name__}: {error})") from error


def _table(text: bytes, delimiter: str | None = ",") -> np.ndarray:
    """Numbers in lines; a question mark is a missing value."""
    if not text.strip():
        raise InputError("the file is empty")
    return np.loadtxt(io.BytesIO(text.replace(b"?", b"nan")), delimiter=delimiter, ndmin=2)


def _values(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32).astype(np.float64)


def _codes(labels: np.ndarray) -> np.ndarray:
    """Class codes in the order of the labels."""
    if np.isnan(labels).any():
        raise InputError("a class label is missing")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _madelon(raw: Sequence[bytes]) -> DataArrays:
    X, y, X_test, y_test = (_table(text, None) for text in raw)
    return DataArrays(_values(X), _codes(y.ravel()), _values(X_test), _codes(y_test.ravel()))


def _dexter(raw: Sequence[bytes]) -> DataArrays:
    data, labels, data_test, labels_test = raw
    y, y_test = (_codes(_table(text, None).ravel()) for text in (labels, labels_test))
    # The files are svmlight without labels.
    X, X_test = (
        _svmlight(b"".join(b"0 " + line + b"\n" for line in d.splitlines()), 20000)[0] for d in (data, data_test)
    )
    return DataArrays(X, y, X_test, y_test)


def _svmlight(text: bytes, n_features: int) -> tuple[sparse.csr_array, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(io.BytesIO(text), n_features=n_features, dtype=np.float32, zero_based=False)
    X.sort_indices()
    parts = X.data.astype(np.float64), X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=X.shape), labels


def _news20(raw: Sequence[bytes]) -> DataArrays:
    unpacker = bz2.BZ2Decompressor()
    text = unpacker.decompress(raw[0], max_length=_UNPACKED_LIMIT)
    if not unpacker.eof:
        raise InputError(f"the packed file is cut short, or unpacks to more than {_UNPACKED_LIMIT} bytes")
    X, labels = _svmlight(text, 1355191)
    return DataArrays(X, _codes(labels))


def _heart(raw: Sequence[bytes]) -> DataArrays:
    table = _table(raw[0])
    return DataArrays(_values(table[:, :13]), (table[:, 13] > 0).astype(np.int64))


def _hepatitis(raw: Sequence[bytes]) -> DataArrays:
    table = _table(raw[0])
    return DataArrays(_values(table[:, 1:]), _codes(table[:, 0]))


def _bupa(raw: Sequence[bytes]) -> DataArrays:
    table = _table(raw[0])
    # The seventh column splits the rows into two parts; it is not a label. The sixth is drinks per day.
    return DataArrays(_values(table[:, :5]), (table[:, 5] >= 3).astype(np.int64))


def _spambase(raw: Sequence[bytes]) -> DataArrays:
    table = _table(raw[0])
    return DataArrays(_values(table[:, :57]), _codes(table[:, 57]))


def _thyroid(raw: Sequence[bytes]) -> DataArrays:
    train, test = (_table(text, None) for text in raw)
    return DataArrays(_values(train[:, :21]), _codes(train[:, 21]), _values(test[:, :21]), _codes(test[:, 21]))


def _matlab(raw: Sequence[bytes], keys: Sequence[str]) -> list[np.ndarray]:
    from scipy.io import loadmat

    archive = loadmat(io.BytesIO(raw[0]), variable_names=keys)
    return [np.asarray(archive[key], dtype=np.float64) for key in keys]


def _gene(raw: Sequence[bytes]) -> DataArrays:
    X, y = _matlab(raw, ["X", "Y"])
    return DataArrays(_values(X), _codes(y.ravel()))


def _mll(raw: Sequence[bytes]) -> DataArrays:
    X, y, X_test, y_test = _matlab(raw, ["train_data", "train_label", "test_data", "test_label"])
    return DataArrays(_values(X), _codes(y[:, 0]), _values(X_test), _codes(y_test[:, 0]))


def pima_of_openml(bunch: Any) -> DataArrays:
    """The answer of scikit-learn's OpenML client."""
    y = (np.asarray(bunch.target).astype(str) == "tested_positive").astype(np.int64)
    return DataArrays(_values(np.asarray(bunch.data, dtype=np.float64)), y)


PARSERS: dict[str, Callable[[Sequence[bytes]], DataArrays]] = {
    "madelon": _madelon,
    "dexter": _dexter,
    "news20": _news20,
    "heart": _heart,
    "hepatitis": _hepatitis,
    "bupa": _bupa,
    "spambase": _spambase,
    "thyroid": _thyroid,
    "gene": _gene,
    "mll": _mll,
}
