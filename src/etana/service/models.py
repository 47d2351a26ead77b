"""The models that are served, by name, and how they are replaced while requests go on.

A model has the name of its file without the suffix, or one that is given (``name=path``). A folder stands for all files
``*.etana`` in it. :meth:`Models.reload` reads the files again and swaps the whole table of models in one assignment, so
a request sees the old models or the new ones. A new file that cannot be used leaves the old model in its place.

A model is known by the SHA-256 of its file, its *digest*. An open case remembers the digest it was started with, and
goes on with that model only.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from etana.errors import EtanaError, InputError, ModelFileError
from etana.model import Model
from etana.modelfile import load_model, read_metadata
from etana.policies.base import Askable
from etana.reading import questions_by_chance
from etana.service.errors import NotFound
from etana.table import Table

__all__ = ["Models", "Served", "json_label"]

_log = logging.getLogger("etana.service")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Served:
    """A model with its name, the digest of its file, and the time it was loaded (seconds since 1970)."""

    name: str
    digest: str
    model: Model
    loaded: float = field(default_factory=time.time)

    @cached_property
    def features(self) -> list[str]:
        """Names of the columns; their numbers, as text, if the model was fitted on an array."""
        return self.model.column_names

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each name."""
        return {name: k for k, name in enumerate(self.features)}

    @cached_property
    def labels(self) -> list[Any]:
        """Class labels as JSON can write them."""
        return [json_label(c) for c in self.model.classes]

    @cached_property
    def questions(self) -> list[Askable]:
        """What may be asked, the first questions first."""
        return questions_by_chance(self.model)

    def categories(self, column: int) -> list[Any] | None:
        """Levels of a categorical column as JSON can write them; None for a numeric one."""
        levels = self.model.levels.get(column)
        return None if levels is None else [json_label(level) for level in levels]


def json_label(label: Any) -> Any:
    """A class label or level as a JSON value."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, bytes):
        return label.decode("utf-8", "backslashreplace")
    if isinstance(label, float) and not np.isfinite(label):
        return str(label)
    return label if isinstance(label, bool | int | float | str) else str(label)


class Models:
    """A table of models by name.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, or ``name=path``.
    trusted : sequence of str
        Types that scikit-learn estimators in the files may be made of; see :func:`etana.load`.

    Attributes
    ----------
    failures : int
        How many files could not be reloaded since the start.
    reloads : int
        How many reloads have ended.
    """

    def __init__(self, sources: Sequence[str | os.PathLike[str]], trusted: Sequence[str] = ()) -> None:
        self._sources, self._trusted = [os.fsdecode(s) for s in sources], tuple(trusted)
        self._lock = threading.Lock()
        self.failures = self.reloads = 0
        self._table = {name: _load(name, path, self._trusted) for name, path in _find(self._sources).items()}
        if not self._table:
            raise InputError(
                "there is no model to serve; give a file made by 'etana fit', or a folder with *.etana files"
            )

    def __iter__(self) -> Iterator[Served]:
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return list(self._table)

    def get(self, name: str | None = None) -> Served:
        """The model of this name; no name is needed where there is only one."""
        table = self._table
        if name is None:
            if len(table) > 1:
                raise InputError(f"several models are served; say which: {', '.join(table)}")
            return next(iter(table.values()))
        if name not in table:
            raise NotFound(f"no model has the name {name[:100]!r}; there is {', '.join(table)}", "no_model")
        return table[name]

    def reload(self) -> list[str]:
        """Read all files again; returns what went wrong, one line for each model that stays as it was."""
        with self._lock:
            old, new, problems = self._table, {}, []
            try:
                found = _find(self._sources)
                if not found:
                    raise InputError(f"no model file is left in {', '.join(self._sources)}")
            except (EtanaError, OSError) as error:
                found, problems = {}, [str(error)]
                new = dict(old)
            for name, path in found.items():
                try:
                    new[name] = _load(name, path, self._trusted, old.get(name))
                except (EtanaError, OSError) as error:
                    problems.append(f"model {name}: {error}")
                    if name in old:
                        new[name] = old[name]
            self._table = new or old
            self.failures += len(problems)
            self.reloads += 1
            for line in problems:
                _log.error("reload: %s; the old model stays", line)
            _log.info("reload: serving %s", ", ".join(f"{s.name} {s.digest[:12]}" for s in self))
            return problems


def _find(sources: Sequence[str]) -> dict[str, str]:
    """Names and paths of all model files."""
    found: dict[str, str] = {}
    for source in sources:
        for name, path in _expand(source):
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot name a model; use letters, digits, dots, dashes and underscores: name=path"
                )
            if name in found:
                raise InputError(f"two models have the name {name!r} ({found[name]}, {path}); name one: name=path")
            found[name] = path
    return found


def _expand(source: str) -> list[tuple[str, str]]:
    path = Path(source)
    if path.is_dir():
        return [(p.stem, str(p)) for p in sorted(path.glob("*.etana")) if not p.name.startswith(".")]
    name, equals, rest = source.partition("=")
    if equals and _NAME.fullmatch(name) and not path.exists():
        return [(name, rest)]
    return [(path.stem, source)]


def _load(name: str, path: str, trusted: Sequence[str], old: Served | None = None) -> Served:
    """The model in a file; the old one if the file still holds it."""
    for _ in range(3):
        digest = read_metadata(path)["sha256"]
        if old is not None and digest == old.digest:
            # An unchanged header says nothing about damage behind it, but the model in memory is sound.
            return old
        model = load_model(path, trusted)
        if read_metadata(path)["sha256"] == digest:
            served = Served(name, digest, model)
            _check_text(served, path)
            _warm_up(served)
            return served
    raise ModelFileError(f"{path} changes while it is read; write it once, then reload")


def _check_text(served: Served, path: str) -> None:
    """Names and labels must be fit for JSON; half a surrogate pair is not."""
    levels = (served.categories(k) or () for k in served.model.levels)
    for text in (*served.features, *served.labels, *(label for column in levels for label in column)):
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise ModelFileError(f"{path}: the name {text!r} is no valid Unicode; rename it and fit again") from None


def _warm_up(served: Served) -> None:
    """Compile what requests will run, and find a model that cannot run, before the first request does."""
    model = served.model
    empty = np.full(1, np.nan)
    columns: list[Any] = [empty] * len(served.features)
    for k in model.levels:
        columns[k] = np.array([None], dtype=object)
    model.acquire(Table(columns=columns, names=model.names))
    case = model.start()
    if case.next_feature is not None:
        case.observe(None)
    case.explain()
    _ = case.expected_cost, model.expected_cost, served.questions
