"""The data of the paper, five medical sets with real prices, and more: loaded by name, verified, with their story.

``load`` gives a :class:`Dataset`; ``names`` lists what there is; ``load_costbench`` gives sets with ready-made splits.
"""

from __future__ import annotations

from etana.datasets.costbench import COSTBENCH, CostBench, load_costbench
from etana.datasets.dataset import Dataset
from etana.datasets.loading import load
from etana.datasets.registry import NAMES, names

__all__ = ["COSTBENCH", "NAMES", "CostBench", "Dataset", "load", "load_costbench", "names"]
