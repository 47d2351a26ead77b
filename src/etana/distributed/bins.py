"""Bins from a summary of the first pass, and supervised bins from the counts of the second.

Edges come from the functions that choose them on one machine, fed with the summary instead of the column:

* ``"uniform"`` and ``"published"`` see the column's range, which is exact: the bins of the one-machine fit.
* ``"quantile"`` sees the sketch.
* ``"supervised"`` cuts the sketch into up to 256 candidate bins; the second pass counts the classes in them, exactly;
  then candidates are joined as on one machine. No third pass is needed: counts of joined bins are sums.

Where a sketch is exact (no more different values than its size) and the one-machine fit looks at every value (up to
20,000 of a column that are not zero), both give the same bins, bit for bit.
"""

from __future__ import annotations

import numpy as np

from etana.binning import Binner, _log_table, round_ranges
from etana.distributed.summary import Summary
from etana.joining import Joiner
from etana.kernels import columns as kernel
from etana.likelihood import Counts
from etana.parameters import check_parameters
from etana.threads import over_chunks

__all__ = ["candidate_bins", "join_candidates", "what_to_learn"]


def what_to_learn(binning: object) -> str:
    """What the first pass must find out for bins of this kind."""
    if isinstance(binning, Binner):
        return "labels"
    return "ranges" if binning in ("uniform", "published") else "ranks"


def candidate_bins(settings: Binner, summary: Summary, n_classes: int) -> Binner:
    """Bins of the columns; under supervised bins the candidates of which some will be joined."""
    check_parameters(settings)
    bins = (
        kernel.FINE
        if settings.method == "supervised"
        else settings.most_bins(n_classes, summary.weight * summary.worth)
    )
    room = np.empty(2 * bins)
    edges, n_bins = [], np.empty(summary.n_features, dtype=np.int64)
    levels = {k: _sort_levels(labels) for k, labels in summary.levels.items()}
    for k in range(summary.n_features):
        if k in levels:
            n_bins[k] = max(len(levels[k]), 1)
            extra = int(settings.missing == "bin" and summary.holes[k])
            edges.append(np.arange(n_bins[k] + extra) + 0.5)
        else:
            edges.append(room[: _cut(summary, k, settings.method == "published", bins, room)].copy())
            n_bins[k] = edges[-1].size + 1
    has_missing = np.logical_and(summary.holes, settings.missing == "bin")
    made = _binner(settings, edges, n_bins, has_missing, levels, summary.names)
    made.seen = round_ranges(summary.low, summary.high)
    return made


def _cut(summary: Summary, k: int, rounded: bool, bins: int, room: np.ndarray) -> int:
    if summary.sketch is None:
        ends = np.array([summary.low[k], summary.high[k]])
        return int(kernel.uniform_edges(ends, np.ones(2), 2, False, bins, rounded, room))
    values, weights = summary.sketch.column(k)
    return int(kernel.quantile_edges(values, weights, values.size, bins, room))


def _sort_levels(labels: set[object]) -> np.ndarray:
    levels = np.empty(len(labels), dtype=object)
    levels[:] = sorted(labels, key=lambda v: (type(v).__name__, v))
    return levels


def _binner(
    settings: Binner,
    edges: list[np.ndarray],
    n_bins: np.ndarray,
    has_missing: np.ndarray,
    levels: dict[int, np.ndarray],
    names: list[str] | None,
) -> Binner:
    made = Binner(settings.method, settings.n_bins, settings.missing)
    n_edges = np.array([e.size for e in edges], dtype=np.int64)
    made._set(n_edges, np.concatenate([np.empty(0), *edges]), n_bins, has_missing, levels, names)
    return made


def join_candidates(fine: Binner, counts: Counts, summary: Summary) -> tuple[Binner, Counts]:
    """Supervised bins, and the counts in them, from the counts in the candidates."""
    n_classes = counts.classes.size
    most = fine.most_bins(n_classes, summary.weight * summary.worth)
    # The table serves whole weights only; any fraction tells so.
    logs = _log_table(np.array([summary.weight if summary.whole else 0.5]))
    n, has_missing = fine.n_features, fine.missing_codes >= 0
    edges: list[np.ndarray] = [np.empty(0)] * n
    cells: list[np.ndarray] = [np.empty(0)] * n

    def run(first: int, last: int) -> None:
        joiner = Joiner(n_classes, most, logs)
        for k in range(first, last):
            own = fine.edges[fine.edge_offsets[k] : fine.edge_offsets[k + 1]]
            rows = counts.cells[fine.cell_offsets[k] : fine.cell_offsets[k + 1]]
            if k in fine.levels:
                edges[k], cells[k] = own, rows
            else:
                edges[k], joined = joiner(own, rows[: own.size + 1])
                cells[k] = np.concatenate([joined, rows[own.size + 1 :]])

    over_chunks(run, n, 64)
    n_bins = np.array([len(c) for c in cells], dtype=np.int64) - has_missing
    made = _binner(fine, edges, n_bins, has_missing, fine.levels, fine.names)
    made.seen = fine.seen
    return made, Counts(
        np.concatenate([np.empty((0, n_classes)), *cells]), made.cell_offsets, counts.classes, made.pooled
    )
