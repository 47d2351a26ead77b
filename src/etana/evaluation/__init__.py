"""Measuring methods as the paper does, and comparing them on one's own table."""

from etana.evaluation.comparison import Comparison, compare, corrected_interval
from etana.evaluation.measuring import (
    Evaluation,
    Fold,
    Folds,
    HoldOut,
    LowestRowKNeighbors,
    evaluate,
)
from etana.evaluation.methods import METHODS, Method, Setting, register

__all__ = [
    "METHODS",
    "Comparison",
    "Evaluation",
    "Fold",
    "Folds",
    "HoldOut",
    "LowestRowKNeighbors",
    "Method",
    "Setting",
    "compare",
    "corrected_interval",
    "evaluate",
    "register",
]
