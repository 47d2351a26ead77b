"""Reading and writing the ``.npz`` archives of data sets.

Dense sets hold ``X``, ``y`` and perhaps ``X_test``, ``y_test``; sparse ones the CSR parts ``data``, ``indices``,
``indptr``, ``shape`` in place of ``X``. Where there is ``missing``, it marks the cells that the source does not have;
the archive holds a filled value there, which is never handed on: such cells are NaN.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from etana.datasets.arrays import DataArrays
from etana.errors import InputError
from etana.files import replacing

__all__ = ["check_digest", "class_names", "pack", "read", "unpack", "write"]

_digests: dict[tuple[str, int, int], str] = {}


def read(path: Path, sha256: str | None = None) -> bytes:
    """The bytes of a file; with a digest, a file that has another one is an error that names both."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error
    if sha256 is not None:
        # A digest of 20 MB takes a noticeable time; it is computed once while the file stays as it is.
        key = (os.path.realpath(path), status.st_mtime_ns, status.st_size)
        if key not in _digests or status.st_size != len(content):
            _digests[key] = hashlib.sha256(content).hexdigest()
        check_digest(_digests[key], sha256, path)
    return content


def check_digest(found: str, expected: str, path: Path) -> None:
    """Refuse a copy that is not the registered one: a damaged file must not silently give figures."""
    if found != expected:
        raise InputError(
            f"{path} is damaged or another version: its sha256 is {found}, expected {expected}; "
            "replace it with an undamaged copy, or remove it"
        )


def unpack(content: bytes) -> DataArrays:
    """The arrays in the bytes of an archive."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        y = archive["y"].astype(np.int64)
        y_test = archive["y_test"].astype(np.int64) if "y_test" in archive else None
        X_test = None if y_test is None else _matrix(archive, "_test")
        return DataArrays(_matrix(archive, ""), y, X_test, y_test, _names(archive))


def class_names(content: bytes) -> list[str]:
    """The names of the classes, in the order of their codes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return list(archive["class_names"].tolist())


def _matrix(archive: Any, suffix: str) -> Any:
    if "data" + suffix in archive:
        parts = archive["data" + suffix].astype(np.float64), archive["indices" + suffix], archive["indptr" + suffix]
        return sparse.csr_array(parts, shape=tuple(archive["shape" + suffix].tolist()))
    X = archive["X" + suffix].astype(np.float64)
    if "missing" + suffix in archive:
        X[archive["missing" + suffix] != 0] = np.nan
    return X


def _names(archive: Any) -> list[str] | bytes | None:
    if "feature_names_ascii" in archive:
        return bytes(archive["feature_names_ascii"])
    return list(archive["feature_names"].tolist()) if "feature_names" in archive else None


def pack(parts: DataArrays, classes: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of an archive, by name; missing cells stay NaN."""
    arrays: dict[str, Any] = {"y": parts.y, "class_names": np.array(classes)}
    if parts.names is not None:
        arrays["feature_names"] = np.array(parts.names)
    for suffix, X in (("", parts.X), ("_test", parts.X_test)):
        if sparse.issparse(X):
            arrays |= {"data" + suffix: X.data.astype(np.float32), "indices" + suffix: X.indices}
            arrays |= {"indptr" + suffix: X.indptr, "shape" + suffix: np.array(X.shape)}
        elif X is not None:
            arrays["X" + suffix] = X.astype(np.float32)
    if parts.y_test is not None:
        arrays["y_test"] = parts.y_test
    return arrays


def write(path: Path, content: bytes | dict[str, np.ndarray]) -> None:
    """Put a file into the cache, whole or not at all; the folder is made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                np.savez_compressed(file, **content)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}); set ETANA_CACHE to a folder that can be written to"
        ) from error
