"""The states of a graph that are kept for good, as arrays: what a model file stores of them, and the way back.

Stored are, of each state, its parent, the answer that led to it, the candidate it would ask for, whether it stops, how
many training rows shared its path, how much the candidate tells, what is expected to be paid from there on, and, if it
asks, the log likelihoods of the answers. All else (belief, price, what was spent, depth, children) follows from these
by the arithmetic that made it, bit for bit.

Nothing that is read is trusted: parents come before their children, answers and candidates exist, no feature is asked
twice on a path, and likelihoods are probabilities.
"""

from __future__ import annotations

import numpy as np

from etana.adaptive.graph import Graph
from etana.errors import InputError
from etana.kernels import graph as kernel
from etana.policies.base import State

__all__ = ["restore", "store"]

_SUM_TOLERANCE = 1e-6
_LINKS = {"parent": kernel.PARENT, "code": kernel.CODE, "feature": kernel.FEATURE, "state": kernel.STATE,
          "rows": kernel.ROWS}  # fmt: skip
_FACTS = [kernel.INFORMATION, kernel.AHEAD]


def store(graph: Graph) -> dict[str, np.ndarray]:
    """Arrays of the states that are kept for good."""
    links = graph.links[: graph.n_kept]
    asks = np.flatnonzero(links[:, kernel.STATE] == kernel.ASKS)
    n_values = np.diff(graph.evidence.offsets)[links[asks, kernel.FEATURE]]
    slots = _spread(links[asks, kernel.CHILD], n_values)
    return {
        **{name: links[:, column].copy() for name, column in _LINKS.items()},
        "numbers": graph.facts[: graph.n_kept][:, _FACTS],
        "answers": graph.pool_logs[slots],
    }


def restore(graph: Graph, state: State) -> None:
    """Fill an empty graph with states that were stored, and freeze it."""
    parts = {name: state.array(name, (None,), np.int64) for name in _LINKS}
    n_nodes = parts["parent"].size
    for name in _LINKS:
        state.array(name, (n_nodes,), np.int64)
    numbers = state.array("numbers", (n_nodes, len(_FACTS)))
    n_values = _check(graph, parts, numbers)
    asks = parts["state"] == kernel.ASKS
    answers = state.array("answers", (int(n_values[asks].sum()), graph.priors.size))
    _check_answers(answers, n_values[asks])
    graph.reserve(n_nodes, answers.shape[0] + int(asks.sum()))
    links = np.stack([parts[name] for name in _LINKS], axis=1)
    wrong = kernel.restore(links, numbers, answers, n_values, graph.arrays, graph.sizes, *graph.arguments[1:3])
    if wrong >= 0:
        raise InputError(f"state {wrong} of the graph is not one that its path can lead to")
    graph.keep()


def _check(graph: Graph, parts: dict[str, np.ndarray], numbers: np.ndarray) -> np.ndarray:
    """Refuse links that lead nowhere; returns the number of values of the candidate of each state, 0 if it has none."""
    parent, code, feature, what = (parts[name] for name in ("parent", "code", "feature", "state"))
    n_candidates = graph.evidence.columns.size
    if not parent.size or parent[0] != -1 or code[0] != -1:
        raise InputError("the graph has no first state")
    if (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, parent.size)).any():
        raise InputError("a state of the graph does not come after the one that leads to it")
    if not np.isin(what, (kernel.ASKS, kernel.STOPS)).all() or (parts["rows"] < 0).any():
        raise InputError("a state of the graph neither asks nor stops, or has a negative number of rows")
    if (feature < -1).any() or (feature >= n_candidates).any() or ((what == kernel.ASKS) & (feature < 0)).any():
        raise InputError("a state of the graph asks for a feature that is not there")
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InputError("the information or the cost of a state is negative or not finite")
    n_values = np.append(np.diff(graph.evidence.offsets), 0)[feature]
    above = parent[1:]
    if (what[above] != kernel.ASKS).any() or (code[1:] < -1).any() or (code[1:] >= n_values[above]).any():
        raise InputError("a state of the graph follows an answer that cannot be given")
    if np.unique(np.stack([above, code[1:]]), axis=1).shape[1] != above.size:
        raise InputError("an answer leads to two states of the graph")
    return n_values


def _check_answers(answers: np.ndarray, n_values: np.ndarray) -> None:
    if not answers.size:
        return
    starts = np.concatenate(([0], np.cumsum(n_values)[:-1]))
    sums = np.add.reduceat(np.exp(answers), starts, axis=0)
    if (answers > 0).any() or (np.abs(sums - 1) > _SUM_TOLERANCE).any():
        raise InputError("the answers of a state of the graph have chances that are no probabilities")


def _spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """starts[0], starts[0] + 1, ..., starts[1], ...: so many from each start."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if ends.size else 0)
