"""The file of a model: named arrays and text, checked whole before anything is made of them.

A model file is a safetensors file, which other tools can read, with a fixed beginning:

==============  ========================================================================================
bytes           content
==============  ========================================================================================
8               n, length of the header, little-endian
n               the header: JSON in ASCII, padded with blanks to a multiple of 8. It starts with
                ``{"__metadata__":{"etana_format":"2","sha256":"..."``, then comes further metadata, all of it
                text, then for each array ``"name":{"dtype":...,"shape":[...],"data_offsets":[first,last]}``
the rest        the arrays, little-endian, in the order of the header, without gaps
==============  ========================================================================================

The digest is the SHA-256 of *all bytes of the file*, its own 64 digits read as zeros: no bit can change unnoticed.

Reading trusts nothing. The beginning, the length of the header (at most 64 MiB) and the sizes of all arrays are
compared with the size of the file before memory is taken for them, and the digest before anything is returned.

Writing is atomic; see :mod:`etana.files`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from etana.errors import ModelFileError
from etana.files import replacing

__all__ = ["FORMAT_VERSION", "read", "read_metadata", "write"]

FORMAT_VERSION = 2
LARGEST_HEADER = 64 * 2**20
_MOST_AXES = 8
_CHUNK = 2**20
_ZEROS = "0" * 64
_BEGINNING = re.compile(rb'\{"__metadata__":\{"etana_format":"(\d{1,9})","sha256":"([0-9a-f]{64})"')
_LONGEST_BEGINNING = 128

_TYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2",
    "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
TYPE_NAMES = {code: name for name, code in _TYPES.items()}


class _Entry(NamedTuple):
    """An array as the header announces it."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    first: int
    last: int


def _damaged(path: str, what: str) -> ModelFileError:
    return ModelFileError(f"{path} is damaged: {what}; restore it from a copy, or save the model again")


# --- reading


def read(path: str, keep: Callable[[str], bool]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Metadata, and the arrays whose names are to be kept; the digest covers all of them."""
    with _opened(path) as (file, size):
        header, metadata, entries = _read_header(file, size, path)
        digest = hashlib.sha256(header.replace(metadata["sha256"].encode(), _ZEROS.encode(), 1))
        arrays: dict[str, np.ndarray] = {}
        for entry in entries:
            if keep(entry.name):
                arrays[entry.name] = _read_array(file, entry, digest, path)
            else:
                _skip(file, entry.last - entry.first, digest, path)
        if digest.hexdigest() != metadata["sha256"]:
            raise _damaged(path, "its content does not match its checksum")
    for name, array in arrays.items():
        # A byte other than 0 and 1 is neither true nor false, and compiled code may do anything with it.
        if array.dtype == bool and (array.view(np.uint8) > 1).any():
            raise _damaged(path, f"the array {name!r} of truth values holds something else")
    return metadata, arrays


def read_metadata(path: str) -> dict[str, str]:
    """The metadata alone; only the header is read, so the digest is not checked."""
    with _opened(path) as (file, size):
        return _read_header(file, size, path)[1]


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    try:
        # A named pipe would block, and a device has no end: look at what it is before reading.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as f:
            status = os.fstat(f.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError(f"{path} is not a file; give the path of a file that etana.save wrote")
            yield f, status.st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{path} cannot be read: {reason}; check the path and its permissions") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} needs more memory than there is; load it on a larger machine") from error


def _read_header(file: BinaryIO, size: int, path: str) -> tuple[bytes, dict[str, str], list[_Entry]]:
    """The raw header with its length, its metadata, and its arrays in the order of their bytes."""
    start = file.read(8 + _LONGEST_BEGINNING)
    beginning = _BEGINNING.match(start, 8)
    if beginning is None:
        what = "is empty" if size == 0 else "is not an etana model, or its beginning is damaged"
        raise ModelFileError(f"{path} {what}; give a file that etana.save wrote")
    version = int(beginning[1])
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {version}, and this etana reads format {FORMAT_VERSION}; "
            "upgrade etana, or fit and save the model again with this version"
        )
    length = int.from_bytes(start[:8], "little")
    if not len(beginning[0]) <= length <= LARGEST_HEADER:
        raise _damaged(path, f"its header has {length} bytes, more than the {LARGEST_HEADER} that are allowed")
    if 8 + length > size:
        raise _damaged(path, f"it ends after {size} bytes, inside its header of {length}")
    header = start[: 8 + length] + file.read(max(8 + length - len(start), 0))
    metadata, entries = _parse(header[8:], path)
    if metadata.get("sha256") != beginning[2].decode():
        raise _damaged(path, "it has two checksums")
    expected = 8 + length + (entries[-1].last if entries else 0)
    if size != expected:
        raise _damaged(path, f"it has {size} bytes and its header announces {expected}")
    file.seek(8 + length)
    return header, metadata, entries


def _parse(text: bytes, path: str) -> tuple[dict[str, str], list[_Entry]]:
    try:
        parts = json.loads(text.decode("ascii"))
        metadata = parts.pop("__metadata__")
        entries = [_entry(name, part) for name, part in parts.items()]
        entries.sort(key=lambda e: (e.first, e.last))
        ends = [0, *(e.last for e in entries)]
        if any(e.first != end for e, end in zip(entries, ends, strict=False)):
            raise ValueError("arrays overlap or leave gaps")
        if not all(isinstance(value, str) for value in metadata.values()):
            raise TypeError("metadata is not text")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"its header makes no sense ({error})") from error
    return metadata, entries


def _entry(name: str, part: dict[str, Any]) -> _Entry:
    dtype, shape, (first, last) = np.dtype(_TYPES[part["dtype"]]), part["shape"], part["data_offsets"]
    if len(part) != 3 or len(shape) > _MOST_AXES or any(type(n) is not int for n in [*shape, first, last]):
        raise ValueError(f"array {name!r} is not described as it should be")
    if min([*shape, first], default=0) < 0 or math.prod(shape) * dtype.itemsize != last - first:
        raise ValueError(f"the size of array {name!r} does not fit its place")
    if math.prod(max(n, 1) for n in shape) > 2**48:  # an empty array can announce any length
        raise ValueError(f"array {name!r} is too long")
    return _Entry(name, dtype, tuple(shape), first, last)


def _read_array(file: BinaryIO, entry: _Entry, digest: Any, path: str) -> np.ndarray:
    array = np.empty(entry.shape, entry.dtype)
    flat = array.reshape(-1).view(np.uint8)
    if file.readinto(flat) != flat.size:  # type: ignore[attr-defined]
        raise _damaged(path, "it became shorter while it was read")
    digest.update(flat)
    return array.astype(entry.dtype.newbyteorder("="), copy=False)


def _skip(file: BinaryIO, size: int, digest: Any, path: str) -> None:
    while size > 0:
        chunk = file.read(min(size, _CHUNK))
        if not chunk:
            raise _damaged(path, "it became shorter while it was read")
        digest.update(chunk)
        size -= len(chunk)


# --- writing


def write(path: str, metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file that :func:`read` reads; the same content always gives the same bytes."""
    # Arrays of wide types come first, so that each lies at a multiple of its width.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    blocks = [_little_endian(arrays[name]) for name in names]
    entries: dict[str, Any] = {}
    end = 0
    for name, block in zip(names, blocks, strict=True):
        first, end = end, end + block.nbytes
        dtype = TYPE_NAMES[block.dtype.str]
        entries[name] = {"dtype": dtype, "shape": list(block.shape), "data_offsets": [first, end]}
    start = {"etana_format": str(FORMAT_VERSION), "sha256": _ZEROS}
    text = json.dumps({"__metadata__": start | dict(metadata)} | entries, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > LARGEST_HEADER:
        raise ModelFileError(
            f"names, labels and parameters of the model take {len(text)} bytes, and {LARGEST_HEADER} are allowed; "
            "shorten the feature names, or pass costs as arrays"
        )
    header = len(text).to_bytes(8, "little") + text
    digest: Any = hashlib.sha256(header)
    flat = [block.reshape(-1).view(np.uint8) for block in blocks]
    for part in flat:
        digest.update(part)
    _replace(path, [header.replace(_ZEROS.encode(), digest.hexdigest().encode(), 1), *flat])


def _little_endian(array: np.ndarray) -> np.ndarray:
    # ascontiguousarray would turn an array without axes into one with an axis.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _replace(path: str, parts: list[Any]) -> None:
    """Put a file of these parts in place of whatever is at the path, in one step."""
    try:
        if os.path.isdir(path):
            raise ModelFileError(f"{path} is a folder; give the path of a file")
        with replacing(path) as file:
            for part in parts:
                file.write(part)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(
            f"{path} cannot be written: {reason}; what was there before is unchanged: "
            "check the folder, its permissions and the space left"
        ) from error
