"""The parts that a model can be made of, and how they are written into a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.beliefs import Committee, NaiveBayes, PathCounts, Prefixed
from etana.beliefs.prefixes.boosting import Boosted
from etana.beliefs.prefixes.densities import Densities
from etana.beliefs.prefixes.estimators import Estimators, ForeignObject
from etana.beliefs.prefixes.linear import Linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import Pool
from etana.binning import Binner
from etana.errors import InputError
from etana.judgement import Judgement
from etana.modelfile.foreign import pack
from etana.modelfile.values import Encoder
from etana.policies.exact import ExactPolicy
from etana.policies.expectation import Expectation
from etana.policies.fixed_order import FixedOrder
from etana.policies.grid import GridPolicy
from etana.policies.instance_choice import InstanceChoice
from etana.policies.points import AlphaPolicy, FittedPolicy, FreePolicy
from etana.policies.regression import RegressionStopping
from etana.policies.thresholds import ThresholdPolicy
from etana.policies.tree import PolicyTree

__all__ = ["PARTS", "encode_part", "encode_values"]

PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        NaiveBayes, PathCounts, Prefixed, Committee, Neighbours, Linear, Densities, Boosted, Pool, Estimators,
        FixedOrder, InstanceChoice, PolicyTree, RegressionStopping, AlphaPolicy, ExactPolicy, FittedPolicy, FreePolicy,
        GridPolicy, ThresholdPolicy, Expectation, Judgement,
    )
}  # fmt: skip


def encode_part(part: Any, name: str, encoder: Encoder) -> dict[str, Any]:
    """JSON of a part; its arrays are put aside under its name."""
    kind = type(part).__name__
    if type(part) is not PARTS.get(kind):
        raise InputError(f"its {name} is a {kind}, which is not one of etana's own; only those can be stored")
    own: Any = part
    arrays, values = own.state()
    return {"class": kind, "values": encode_values(arrays, values, name, encoder)}


def encode_values(arrays: dict[str, np.ndarray], values: dict[str, Any], name: str, encoder: Encoder) -> dict[str, Any]:
    """JSON of the values; the arrays are put aside."""
    encoder.arrays |= {f"{name}.{key}": array for key, array in arrays.items()}
    return {key: _encode(value, f"{name}.{key}", encoder) for key, value in values.items()}


def _encode(value: Any, name: str, encoder: Encoder) -> Any:
    if isinstance(value, ForeignObject):
        encoder.arrays[name] = pack(value.thing)
        return None
    if isinstance(value, Binner):
        return encoder.binner(value, name)
    if hasattr(value, "state"):
        return encode_part(value, name, encoder)
    if isinstance(value, dict):
        return encoder.levels(value, name)
    return encoder.encode(value, name)
