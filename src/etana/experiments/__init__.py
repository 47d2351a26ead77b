"""Measuring methods the way the paper does."""

from etana.experiments.evaluate import (
    Evaluation,
    Fold,
    Folds,
    HoldOut,
    LowestRowKNeighbors,
    evaluate,
)

__all__ = ["Evaluation", "Fold", "Folds", "HoldOut", "LowestRowKNeighbors", "evaluate"]
