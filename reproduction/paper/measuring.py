"""The experiments of the paper: what a cell of each does.

``measure`` gives a record for each training and test part; ``regions`` an image of where the policy stops.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etana.evaluation import evaluate
from reproduction.cells import Cell, Record
from reproduction.experiment_data import ExperimentData, load_data
from reproduction.methods import method_of
from reproduction.warm_up import setting_of, warm_up

__all__ = ["prepare_measurement", "prepare_regions"]


def prepare_measurement(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data and loops; what is returned measures every part."""
    data = load_data(cell.dataset, data_dir)
    warm_up(cell, data)
    return lambda: _measure(cell, data)


def prepare_regions(cell: Cell, data_dir: str | None) -> Callable[[], list[Record]]:
    """Load data; what is returned draws the regions. Nothing is timed, so no loops are warmed."""
    data = load_data(cell.dataset, data_dir)
    return lambda: _regions(cell, data)


def _measure(cell: Cell, data: ExperimentData) -> list[Record]:
    """Accuracy, features, cost and seconds of each part."""
    chosen = data.with_presence() if dict(cell.parameters).get("presence") else data
    X, y, protocol = chosen.training(cell.seed)
    method = method_of(cell.method).make(setting_of(cell, len(data.class_names)))
    result = evaluate(method, X, y, protocol=protocol)
    return [{"part": part, **vars(fold)} for part, fold in enumerate(result.folds)]


def _regions(cell: Cell, data: ExperimentData) -> list[Record]:
    """Where the policy stops on the simplex of three classes, as an image of digits, and F-ETANA's thresholds."""
    from etana.plots import PolicyDisplay

    X, y, _ = data.training(cell.seed)
    setting = setting_of(cell, len(data.class_names))
    model = method_of(cell.method).make(setting).fit(X, y)
    linear = method_of("f-etana").make(setting).fit(X, y).policy_.rule.table.reshape(-1, 3, 3)
    display = PolicyDisplay(model.policy_, np.array(data.class_names))
    records = []
    magnify = float(dict(cell.parameters).get("magnify", 1))
    for stage in (int(s) for s in str(dict(cell.parameters)["stages"]).split("+")):
        image = display.regions(stage, resolution=160, magnify=magnify)
        rows = ["".join(" " if v < 0 else str(v) for v in row) for row in image]
        theta = linear[stage].tolist() if stage < len(linear) else None
        shape = {"stage": stage, "classes": data.class_names, "magnify": magnify}
        records.append({**shape, "rows": rows, "thresholds": theta})
    return records
