"""A cell: one method on one data set with one choice of parameters and seed, and what comes out of it.

A cell's action is that of its experiment, an entry of ``ACTIONS``; it gives records, plain dictionaries. ``measure``
gives one for each training and test part. Loops are compiled, or loaded, on a small problem before the clock starts.
Experiments beyond the paper, ``BEYOND``, have a module each, with ``prepare`` and ``n_parts``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from etana.errors import InputError
from etana.experiments.evaluate import HoldOut, evaluate
from etana.experiments.material import Material, load_material, n_parts
from etana.experiments.methods import Setting, method_of

__all__ = ["ACTIONS", "BEYOND", "Cell", "Record", "warm_up"]

BEYOND = {"target": "targets", "costbench": "costbench", "dollars": "dollars", "peers": "peers"}
_OWN_SPLITS = ("costbench", "peers")  # experiments whose data is not a Material

Value = int | float | str
Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """What is run: experiment, data set, method, parameters and seed.

    Examples
    --------
    >>> from etana.experiments.cells import Cell
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

    @property
    def parts(self) -> int:
        """How many training and test parts it runs through."""
        return self._module().n_parts(self) if self.experiment in BEYOND else n_parts(self.dataset)

    def differs(self, data_dir: str | None) -> str | None:
        """How its data differs from the paper's, if it does."""
        return None if self.experiment in _OWN_SPLITS else load_material(self.dataset, data_dir).differs

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

    def prepare(self, data_dir: str | None) -> Callable[[], list[Record]]:
        """Load data and loops; what is returned does the work that is measured."""
        if self.experiment in BEYOND:
            return self._module().prepare(self, data_dir)
        if self.experiment not in ACTIONS:
            known = ", ".join([*ACTIONS, *BEYOND])
            raise InputError(f"there is no experiment {self.experiment!r}; there are {known}")
        material = load_material(self.dataset, data_dir)
        warm_up(self, material)
        return lambda: ACTIONS[self.experiment](self, material)

    def _module(self) -> Any:
        return importlib.import_module(f"etana.experiments.{BEYOND[self.experiment]}")


def _setting(cell: Cell, n_classes: int) -> Setting:
    given = dict(cell.parameters)
    return Setting(n_classes, given.get("cost", 0.01), given.get("n_bins"), cell.seed)


def measure(cell: Cell, material: Material) -> list[Record]:
    """Accuracy, features, cost and seconds of each part."""
    chosen = material.with_presence() if dict(cell.parameters).get("presence") else material
    X, y, protocol = chosen.training(cell.seed)
    method = method_of(cell.method).make(_setting(cell, len(material.class_names)))
    result = evaluate(method, X, y, protocol=protocol)
    return [{"part": part, **vars(fold)} for part, fold in enumerate(result.folds)]


def regions(cell: Cell, material: Material) -> list[Record]:
    """Where the policy stops on the simplex of three classes, as an image of digits, and F-ETANA's thresholds."""
    from etana.plots import PolicyDisplay

    X, y, _ = material.training(cell.seed)
    setting = _setting(cell, len(material.class_names))
    model = method_of(cell.method).make(setting).fit(X, y)
    linear = method_of("f-etana").make(setting).fit(X, y).policy_.rule.table.reshape(-1, 3, 3)
    display = PolicyDisplay(model.policy_, np.array(material.class_names))
    records = []
    magnify = float(dict(cell.parameters).get("magnify", 1))
    for stage in (int(s) for s in str(dict(cell.parameters)["stages"]).split("+")):
        image = display.regions(stage, resolution=160, magnify=magnify)
        rows = ["".join(" " if v < 0 else str(v) for v in row) for row in image]
        theta = linear[stage].tolist() if stage < len(linear) else None
        shape = {"stage": stage, "classes": material.class_names, "magnify": magnify}
        records.append({**shape, "rows": rows, "thresholds": theta})
    return records


ACTIONS: dict[str, Callable[[Cell, Material], list[Record]]] = {
    "tables": measure,
    "bins": measure,
    "prices": measure,
    "regions": regions,
}


def warm_up(cell: Cell, material: Material) -> None:
    """One run of the method on a few rows of as many classes, stored in the same way."""
    if cell.experiment == "regions":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a handful of rows anything may be strange
        _run_small(cell, material)


def _run_small(cell: Cell, material: Material) -> None:
    n = len(material.class_names)
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(n), 6)
    X: Any = np.round(y[:, None] + rng.normal(size=(y.size, 6)), 3)
    if sparse.issparse(material.X):
        X = type(material.X)(np.abs(X))
    X = X.astype(material.X.dtype)
    setting = Setting(n, 0.01, min(_setting(cell, n).bins, 3), 0)
    # A grid of beliefs grows fast with the classes, and its loops are the same for two.
    keep = np.flatnonzero(y < 2) if n > 4 else np.arange(y.size)
    evaluate(method_of(cell.method).make(setting), X[keep], y[keep] + 1, protocol=HoldOut(X[keep], y[keep] + 1))
