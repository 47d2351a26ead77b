"""Turning what an origin publishes into the arrays of a set: from raw files put into a folder, or over the network."""

from __future__ import annotations

import urllib.error
from pathlib import Path

from etana.datasets import parsers
from etana.datasets.archive import pack, read, write
from etana.datasets.arrays import DataArrays, check
from etana.datasets.fetch import FetchError, fetch
from etana.datasets.registry import OpenML, Origin
from etana.errors import InputError

__all__ = ["download", "from_raw_files"]


def from_raw_files(origin: Origin, folder: Path) -> DataArrays | None:
    """The set from raw files that somebody put into ``<folder>/<name>/``; None if they are not all there."""
    if isinstance(origin.published, OpenML):
        return None
    paths = [folder / origin.name / raw.filename for raw in origin.published]
    if not all(path.is_file() for path in paths):
        return None
    contents = [read(path, raw.sha256) for path, raw in zip(paths, origin.published)]
    return _arrays(origin, contents, str(paths[0].parent))


def download(origin: Origin, cache: Path) -> DataArrays:
    """The set from where it is published; the converted arrays are put into the cache."""
    if isinstance(origin.published, OpenML):
        arrays = _from_openml(origin, origin.published)
    else:
        contents = [fetch(raw.url, raw.limit, raw.sha256) for raw in origin.published]
        arrays = _fetched(origin, contents, origin.published[0].url)
    write(cache / origin.file, pack(arrays, origin.class_names))
    return arrays


def _fetched(origin: Origin, contents: list[bytes], what: str) -> DataArrays:
    try:
        return _arrays(origin, contents, what)
    except InputError as error:
        raise FetchError(str(error)) from error


def _arrays(origin: Origin, contents: list[bytes], what: str) -> DataArrays:
    arrays = parsers.parse(origin.parser, contents, what)
    check(arrays, origin.facts, what)
    return _named(origin, arrays)


def _named(origin: Origin, arrays: DataArrays) -> DataArrays:
    return arrays._replace(names=None if origin.feature_names is None else list(origin.feature_names))


def _from_openml(origin: Origin, published: OpenML) -> DataArrays:
    from sklearn.datasets import fetch_openml

    what = f"OpenML data set {published.name!r} version {published.version}"
    try:
        # The converted arrays are what is cached, so the client keeps nothing; it compares the file's MD5 itself.
        bunch = fetch_openml(published.name, version=published.version, cache=False, as_frame=False, parser="liac-arff")
        arrays = _named(origin, parsers.pima_of_openml(bunch))
        check(arrays, origin.facts, what)
    except (OSError, ValueError, EOFError) as error:  # no connection; an answer that makes no sense
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise FetchError(f"{what}: {reason}") from error
    return arrays
