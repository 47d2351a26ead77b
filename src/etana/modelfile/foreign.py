"""Estimators of other libraries inside a model file, written and read by skops.

skops writes an object as JSON and arrays in a ZIP archive, and makes nothing of a file before it has looked at the name
of every type in it. Types that it knows to be harmless load at once; others, named in the error, only where the
caller says that they are trusted. The trees of forests, boosting and nearest neighbours are not among the harmless
ones: their arrays reach compiled code that does not check them.

Archives are stored, not compressed: a small file cannot ask for much memory.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any, NamedTuple

import numpy as np

from etana.errors import InputError, ModelFileError

__all__ = ["Trust", "pack", "types_to_trust", "unpack"]


class Trust(NamedTuple):
    """Types that a caller trusts in a file."""

    types: tuple[str, ...]
    path: str

    @classmethod
    def of(cls, types: Any, path: str) -> Trust:
        """Checked, for one text in place of a list would be taken letter by letter."""
        if isinstance(types, str) or not all(isinstance(name, str) for name in types):
            raise InputError(f"trusted is {types!r}; it must be a list of names of types, such as ['package.Type']")
        return cls(tuple(types), path)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ModelFileError(
            "a model file with an estimator of scikit-learn needs skops, which is not installed; "
            "install the extra 'skops': pip install 'etana[skops]'"
        ) from None
    return skops.io


def pack(thing: Any) -> np.ndarray:
    """An estimator, or a list of them, as bytes."""
    skops = _skops()
    try:
        data = skops.dumps(thing)
        # A type that cannot be found again by its name is written without complaint.
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))
        return np.frombuffer(data, dtype=np.uint8)
    except Exception as error:  # whatever goes wrong in the code of others
        raise InputError(f"skops cannot write the estimator ({error}); joblib.dump can write the classifier") from error


def types_to_trust(packed: np.ndarray) -> list[str]:
    """Names of the types that skops does not trust of itself; nothing is imported or made."""
    skops, data = _skops(), packed.tobytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise InputError("its archive is compressed")
        return list(skops.get_untrusted_types(data=data))
    except Exception as error:
        raise InputError(f"its estimators cannot be read by skops ({error})") from error


def unpack(packed: np.ndarray, trust: Trust) -> Any:
    """What was packed, if all its types are trusted."""
    needed = types_to_trust(packed)
    unknown = [name for name in needed if name not in trust.types]
    if unknown:
        raise ModelFileError(
            f"{trust.path} holds estimators made of types that are not trusted: {', '.join(unknown)}; if you know who "
            f"made the file and what these types are, load it with trusted={needed!r}, or with --trust TYPE for each"
        )
    try:
        return _skops().loads(packed.tobytes(), trusted=list(trust.types))
    except Exception as error:
        raise InputError(f"its estimators cannot be read by skops ({error})") from error
