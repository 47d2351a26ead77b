"""A result for every part, merged along a tree of a fixed shape, here or on a cluster.

Neighbours are merged four at a time, then the results of that, and so on. A merge takes no more than four results, and
the shape depends on the number of parts alone: sums of fractions, which depend on the order in which they are added,
come out the same however many machines there are and whichever is the first to finish.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["FAN_IN", "QUIET", "dask", "reduce_parts", "reduce_stream"]

FAN_IN = 4

# Settings of a cluster that is there for fits alone. Workers are watched by the clock, a hundred times a second, which
# costs each of them and the client a fortieth of a core, and more of a share where others use the machine.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}

_Merge = Callable[[Sequence[Any]], Any]


def dask() -> Any:
    """The package, imported when it is first needed."""
    try:
        import dask
        import dask.delayed
    except ImportError:
        raise ImportError(
            "distributed fits need Dask, which is not installed; install the extra 'dask': pip install 'etana[dask]'"
        ) from None
    return dask


def reduce_parts(step: Callable[[Any, Any], Any], parts: Sequence[Any], shared: Any, merge: _Merge, lazy: bool) -> Any:
    """Merge ``step(part, shared)`` of all parts; Dask runs it if ``lazy``, else this process does, part by part."""
    if not lazy:
        return reduce_stream((step(part, shared) for part in parts), merge)
    delayed = dask().delayed
    # Part of the graph and not scattered: what a dead worker held is then made again.
    common = delayed(shared, pure=False, traverse=False)
    level = [delayed(step, pure=False)(part, common) for part in parts]
    while len(level) > 1:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [delayed(merge, pure=False)(group) if len(group) > 1 else group[0] for group in groups]
    with warnings.catch_warnings():
        # Edges of many columns are large, but travel to the scheduler once.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return dask().compute(level[0])[0]


def reduce_stream(results: Any, merge: _Merge) -> Any:
    """Merge results as they come, along the same tree; holds fewer than four of each level."""
    levels: list[list[Any]] = []

    def push(result: Any, depth: int) -> None:
        if depth == len(levels):
            levels.append([])
        levels[depth].append(result)
        if len(levels[depth]) == FAN_IN:
            group, levels[depth] = levels[depth], []
            push(merge(group), depth + 1)

    for result in results:
        push(result, 0)
    depth = 0
    while depth < len(levels) - 1 or len(levels[depth]) > 1:
        if levels[depth]:
            group, levels[depth] = levels[depth], []
            push(merge(group) if len(group) > 1 else group[0], depth + 1)
        depth += 1
    return levels[depth][0]
