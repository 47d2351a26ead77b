"""Loading a set by name: look into the folders, then ask a mirror, then download; or say what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from etana.datasets import archive, locations, published
from etana.datasets.arrays import DataArrays, check, fingerprint
from etana.datasets.dataset import Dataset
from etana.datasets.fetch import FetchError, fetch
from etana.datasets.prices import PRICES
from etana.datasets.registry import Entry, OpenML, Origin, entry_of
from etana.errors import InputError

__all__ = ["load", "registered"]

_ARCHIVE_LIMIT = 2**28

_OTHER_VALUES = (
    "This copy has the documented shape, but not value for value the rows that the documented figures were made with; "
    "results may differ."
)


def load(name: str, data_dir: Any = None) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`; ``"lung2"`` and ``"news20"`` stand for the copy of these sets that is at hand.
    data_dir : path, optional
        Folder with the ``.npz`` files, or with a folder ``data`` that holds them. Without it, the folder that the
        environment variable ``ETANA_DATA`` names is looked into, then the cache; then the set is downloaded.

    Returns
    -------
    Dataset
        Arrays, names, prices, and how the copy differs from the paper's.

    Examples
    --------
    >>> import etana.datasets
    >>> etana.datasets.load("irsi")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    etana.errors.InputError: there is no data set 'irsi'; there are madelon, lung, mll, ...
    """
    entry = entry_of(name)
    # A stand-in that is asked for by its own name is not replaced by what it stands for.
    origin = entry.origin if entry.origin is not None and entry.origin.name == name else None
    for folder in locations.data_folders(data_dir):
        found = _in_folder(folder, entry, origin)
        if found is not None:
            return found
    if data_dir is not None:
        raise InputError(_not_found(entry, origin, [f"{data_dir} has no file {entry.file}"]))
    return _from_network(entry, origin)


def registered(file: str, sha256: str, data_dir: Any = None) -> bytes | None:
    """The bytes of a registered file from the folders or the mirror, verified; None if it is nowhere."""
    for folder in locations.data_folders(data_dir):
        if (folder / file).is_file():
            return archive.read(folder / file, sha256)
    address = locations.mirror()
    if data_dir is not None or address is None:
        return None
    content = fetch(f"{address}/{file}", _ARCHIVE_LIMIT, sha256)
    archive.write(locations.cache_folder() / file, content)
    return content


def _in_folder(folder: Path, entry: Entry, origin: Origin | None) -> Dataset | None:
    """The set from a folder: its archive, what an earlier download left, or raw files put there by hand."""
    if (folder / entry.file).is_file():
        return _of_archive(entry, archive.read(folder / entry.file, entry.sha256))
    if origin is None:
        return None
    if (folder / origin.file).is_file():
        arrays = _downloaded_before(folder / origin.file, origin)
        if arrays is not None:
            return _of_origin(entry, origin, arrays)
    arrays = published.from_raw_files(origin, folder)
    return None if arrays is None else _of_origin(entry, origin, arrays)


def _downloaded_before(path: Path, origin: Origin) -> DataArrays | None:
    """What is in the cache; a damaged file there is as good as none, because it can be had again."""
    try:
        arrays = archive.unpack(archive.read(path))
        check(arrays, origin.facts, str(path))
    except Exception as error:  # damaged bytes can break the reader in any way
        if path.parent == locations.cache_folder():
            return None
        raise InputError(f"{path} is damaged ({error}); remove it, or copy it again") from error
    return arrays


def _from_network(entry: Entry, origin: Origin | None) -> Dataset:
    tried = [f"looked into {', '.join(str(folder) for folder in locations.data_folders())}"]
    try:
        content = registered(entry.file, entry.sha256)
        if content is not None:
            return _of_archive(entry, content)
    except FetchError as error:
        tried.append(str(error))
    if origin is not None:
        try:
            return _of_origin(entry, origin, published.download(origin, locations.cache_folder()))
        except FetchError as error:
            tried.append(str(error))
    raise InputError(_not_found(entry, origin, tried))


def _of_archive(entry: Entry, content: bytes) -> Dataset:
    arrays = archive.unpack(content)
    check(arrays, entry.facts, entry.file)
    return _dataset(entry, entry.name, entry.title, entry.source, arrays, archive.class_names(content), entry.differs)


def _of_origin(entry: Entry, origin: Origin, arrays: DataArrays) -> Dataset:
    known = origin.facts.fingerprint
    differs = None if known is None or fingerprint(arrays) == known else _OTHER_VALUES
    title, source = origin.title or entry.title, origin.source or entry.source
    return _dataset(entry, origin.name, title, source, arrays, list(origin.class_names), differs)


def _dataset(
    entry: Entry, name: str, title: str, source: str, arrays: DataArrays, classes: list[str], differs: str | None
) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        description=entry.description,
        source=source,
        licence=entry.licence,
        X=arrays.X,
        y=arrays.y,
        X_test=arrays.X_test,
        y_test=arrays.y_test,
        class_names=classes,
        differs=differs,
        _names=arrays.names,
        _prices=PRICES.get(entry.name),
    )


def _not_found(entry: Entry, origin: Origin | None, tried: list[str]) -> str:
    """What was tried, and every way to get the set by hand."""
    cures = [
        f"put {entry.file} (sha256 {entry.sha256}) into a folder and name it with data_dir or ETANA_DATA, "
        f"or put it into {locations.cache_folder()}"
    ]
    if origin is None and entry.origin is not None:
        cures.append(f"load {entry.origin.name!r}, which is downloaded from where the paper's own copy is published")
    elif origin is None:
        cures.append("there is no public file in a form that is read here, so it cannot be downloaded")
    elif isinstance(origin.published, OpenML):
        cures.append(f"fetch OpenML's {origin.published.name!r} on a machine with internet access; load() does that")
    else:
        urls = ", ".join(raw.url for raw in origin.published)
        cures.append(f"fetch {urls} by hand and put them into {locations.cache_folder() / origin.name}")
    return f"the data set {entry.name} is not at hand: {'; '.join(tried)}. What helps: {'; or '.join(cures)}."
