"""Nine sets with prices and ready-made splits, for comparisons with other cost-sensitive learners.

Attributes are category codes; each set has twenty splits into training and test rows, prices with group discounts, and
three matrices of misclassification costs. They come from the data published with STreeD (MIT licence).
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etana.costs import FeatureCosts
from etana.datasets import locations
from etana.datasets.fetch import FetchError
from etana.datasets.loading import registered
from etana.errors import InputError

__all__ = ["COSTBENCH", "CostBench", "load_costbench"]

COSTBENCH = {
    "heart": "ff1b295f7aa930fca4b99e2f8ed286b0470a138b57135b4dbfd432d1cd6026e7",
    "hepatitis": "ceb08cffe1705cb3202ea0caf07dc02c57a604fc407ca777d3f798556cadd109",
    "diabetes": "0cc9453a56bc753b62c4db2c08fe61989ece7216b53e5b469b5302e8e00a8a95",
    "iris": "5930bfb358c2b246e61f9c63994ffe9bbf5cb74e4958eefeb35ec0048b811e6f",
    "glass": "109e52b7908524fe2c7d5baed3d01d18a65e688ceb7b754ef288ff1906e1a640",
    "wine": "f88899e2da6d3212ca55bde794dcf0bde08e6fd9cd25da9a2bf899630d349c3d",
    "tictactoe": "64f6088a094111de276e1b2c4044ed478a9419e16a3704dd35a3107956d29aa9",
    "flare": "33a2e5027e8fef0da2f3ff1b73a340f5bae10a23f69e48ce0b01e6b4d1cfba36",
    "car_evaluation": "ae6e4e60c1a3f6d776ba41b4bb055b390c47fad0a749fad6ff0cb076e4291d91",
}


@dataclass(frozen=True, eq=False)
class CostBench:
    """Twenty splits of a set with prices.

    ``X_train`` has shape (20, n, K), ``X_test`` (20, m, K), labels accordingly; ``feature_costs`` is by name,
    ``column_costs`` the same by position; ``mistakes`` maps ``"low"``, ``"middle"`` and ``"high"`` to matrices of
    misclassification costs, row true class, column decided class.
    """

    name: str
    X_train: np.ndarray = field(repr=False)
    y_train: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)
    names: list[str]
    feature_costs: FeatureCosts = field(repr=False)
    column_costs: FeatureCosts = field(repr=False)
    mistakes: dict[str, np.ndarray] = field(repr=False)


def load_costbench(name: str, data_dir: Any = None) -> CostBench:
    """Load one of the nine sets with prices and splits, from a folder, ``ETANA_DATA`` or the cache.

    Examples
    --------
    >>> import etana.datasets
    >>> etana.datasets.load_costbench("chess")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    etana.errors.InputError: there is no costbench set 'chess'; there are heart, hepatitis, ...
    """
    if name not in COSTBENCH:
        raise InputError(f"there is no costbench set {name!r}; there are {', '.join(COSTBENCH)}")
    file = f"costbench/{name}.npz"
    reason = ""
    try:
        content = registered(file, COSTBENCH[name], data_dir)
    except FetchError as error:
        content, reason = None, f" ({error})"
    if content is None:
        raise InputError(
            f"{file} is not at hand{reason}: looked into {', '.join(map(str, locations.data_folders(data_dir)))}; "
            f"put it (sha256 {COSTBENCH[name]}) into a folder and name the folder that holds costbench/ "
            "with data_dir or ETANA_DATA"
        )
    return _unpacked(name, content)


def _unpacked(name: str, content: bytes) -> CostBench:
    with np.load(io.BytesIO(content), allow_pickle=False) as z:
        names = z["feature_names"].tolist()
        groups = [None if group == "x" else group for group in z["group"].tolist()]
        full, discounted = z["test_cost"].tolist(), z["test_cost_discounted"].tolist()
        by_name = FeatureCosts(dict(zip(names, full)), dict(zip(names, groups)), dict(zip(names, discounted)))
        by_column = FeatureCosts(full, groups, discounted)
        mistakes = {level: z[f"M_{level}"] for level in ("low", "middle", "high")}
        parts = {part: z[part].astype(np.int64) for part in ("X_train", "y_train", "X_test", "y_test")}
    return CostBench(name=name, names=names, feature_costs=by_name, column_costs=by_column, mistakes=mistakes, **parts)
