"""A cell: one method on one data set with one choice of parameters and seed.

What a cell does is told by its experiment, see :mod:`reproduction.experiments`; it gives records, plain dictionaries.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from etana.errors import InputError

__all__ = ["Cell", "Record"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """What is run: experiment, data set, method, parameters and seed.

    Examples
    --------
    >>> from reproduction.cells import Cell
    >>> cell = Cell("bins", "mll", "etana-published", {"n_bins": 5})
    >>> cell.key
    'bins/mll/etana-published/n_bins=5'
    >>> Cell.of(cell.fields()) == cell
    True
    """

    experiment: str
    dataset: str
    method: str
    parameters: Any = ()
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(sorted(dict(self.parameters).items())))

    @property
    def key(self) -> str:
        """A name for people, and for patterns such as ``tables/mll/*``."""
        settings = [f"{name}={value}" for name, value in self.parameters]
        if self.seed:
            settings.append(f"seed={self.seed}")
        return "/".join([self.experiment, self.dataset, self.method, *settings])

    @property
    def digest(self) -> str:
        """A short name for files, different for different cells."""
        return hashlib.sha256(json.dumps(self.fields(), sort_keys=True).encode()).hexdigest()[:12]

    def fields(self) -> Record:
        """As a plain dictionary."""
        return {
            "experiment": self.experiment,
            "dataset": self.dataset,
            "method": self.method,
            "parameters": dict(self.parameters),
            "seed": self.seed,
        }

    @classmethod
    def of(cls, fields: Any) -> Self:
        """From such a dictionary; anything else is an error."""
        kinds = {"experiment": str, "dataset": str, "method": str, "parameters": dict, "seed": int}
        if not isinstance(fields, dict) or any(not isinstance(fields.get(n), kind) for n, kind in kinds.items()):
            raise InputError(f"{fields!r} does not describe a cell; it must have {', '.join(kinds)}")
        return cls(**{name: fields[name] for name in kinds})
