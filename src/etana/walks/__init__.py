"""Rows on their way through a policy: one loop for any pair of beliefs and policy, compiled ones for those worth it."""

from etana.walks.acquisition import Acquisition
from etana.walks.graph_walk import GraphWalk
from etana.walks.prefixes import PrefixWalk
from etana.walks.registry import CompiledWalk, compiled_walk, register
from etana.walks.stages import StageWalk

__all__ = ["Acquisition", "CompiledWalk", "GraphWalk", "PrefixWalk", "StageWalk", "compiled_walk", "register"]
