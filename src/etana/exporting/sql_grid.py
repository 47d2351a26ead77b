"""Stop tests that look beliefs up in a grid, in SQL: points of the grid are rows of a table, known by a number.

A point with the parts q_0, q_1, .. of the resolution R has the number sum_i q_i (R + 1)^i.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from etana.errors import InputError
from etana.exporting.plan import StagePlan
from etana.exporting.sql_words import number
from etana.kernels import rules

__all__ = ["check_grid", "grid_tables", "interpolate_steps", "nearest_steps"]

_MOST_POINTS = 50_000  # of all stages


def check_grid(stages: StagePlan) -> None:
    """Refuse a grid that is too large for a statement."""
    if stages.kind.startswith("grid") and stages.rule.table.size > _MOST_POINTS:
        raise InputError(
            f"the grid of the stop test has {stages.rule.table.size:,} points in all stages, a statement holds "
            f"{_MOST_POINTS:,} at most; fit with solver='points' or a lower resolution, or export to .c, .js or .py"
        )


def _resolution(stages: StagePlan) -> int:
    return int(stages.rule.index.shape[1]) - 2


def _points(stages: StagePlan) -> np.ndarray:
    """Parts of every point of the grid, (d, N), by their place."""
    n, resolution = stages.log_priors.size, _resolution(stages)
    bars = np.array(list(combinations_with_replacement(range(resolution + 1), n - 1)), dtype=np.int64)
    bars = bars.reshape(-1, n - 1)
    ends = np.full((len(bars), 1), resolution)
    parts = np.diff(np.hstack([np.zeros_like(ends), bars, ends]), axis=1)
    places = [int(rules.grid_rank(row, stages.rule.index)) for row in parts]
    ordered = np.empty_like(parts)
    ordered[places] = parts
    return ordered


def grid_tables(stages: StagePlan) -> Iterator[tuple[str, str]]:
    """The table of points: for the nearest point whether to go on, else the cost of going on."""
    if not stages.kind.startswith("grid"):
        return
    parts = _points(stages)
    keys = (parts @ _weights(stages)).tolist()
    if stages.kind == "grid_interpolate":
        rows = [
            f"({k}, {key}, {number(cost)})"
            for k, costs in enumerate(stages.rule.table)
            for key, cost in zip(keys, costs.tolist(), strict=True)
        ]
        yield "etana_grid (stage, point, cost)", "VALUES " + ", ".join(rows)
        return
    # Deciding and going on are compared here, once for each point, by the instructions of the walk.
    now = [float(rules.stop_cost(row / _resolution(stages), stages.rule.regrets)) for row in parts]
    going = [f"({k}, {keys[p]})" for k, costs in enumerate(stages.rule.table) for p in np.flatnonzero(now > costs)]
    yield "etana_grid (stage, point)", "VALUES " + (", ".join(going) or "(-1, -1)")


def _weights(stages: StagePlan) -> np.ndarray:
    return (_resolution(stages) + 1) ** np.arange(stages.log_priors.size, dtype=np.int64)


def nearest_steps(
    stages: StagePlan, stage: int, source: str, result: str, alive: str, kept: str
) -> Iterator[tuple[str, str]]:
    """Whether the nearest point of the grid goes on."""
    resolution, classes = _resolution(stages), range(stages.log_priors.size)
    whole = ", ".join(f"floor(p{i} * {resolution}e0) AS w{i}" for i in classes)
    yield f"{result}_whole", f"SELECT {source}.*, {whole} FROM {source}"
    half = ", ".join(f"(2e0 * w{i} + 1e0) / {2 * resolution}e0 AS h{i}" for i in classes)
    yield f"{result}_half", f"SELECT {result}_whole.*, {half} FROM {result}_whole"
    parts = ", ".join(f"{_rounded(i, resolution)} AS q{i}" for i in classes)
    yield f"{result}_parts", f"SELECT {result}_half.*, {parts} FROM {result}_half"
    excess = " + ".join(f"q{i}" for i in classes)
    yield f"{result}_excess", f"SELECT {result}_parts.*, {excess} - {resolution}e0 AS excess FROM {result}_parts"
    # Those that were rounded most in the wrong direction are corrected, the first of equals before the others.
    away = f"(CASE WHEN excess > 0e0 THEN -1e0 ELSE 1e0 END) * (p{{0}} - q{{0}} / {resolution}e0)"
    rests = ", ".join(f"{away.format(i)} AS r{i}" for i in classes)
    yield f"{result}_rests", f"SELECT {result}_excess.*, {rests} FROM {result}_excess"
    point = " + ".join(f"{weight} * ({_corrected(i, classes)})" for i, weight in enumerate(_weights(stages).tolist()))
    yield f"{result}_point", f"SELECT {kept}, CAST({point} AS BIGINT) AS point FROM {result}_rests"
    yield (
        result,
        f"SELECT {', '.join(f'a.{c}' for c in kept.split(', '))}, CASE WHEN {alive} AND g.point IS NOT NULL THEN 1 "
        f"ELSE 0 END AS going FROM {result}_point AS a LEFT JOIN etana_grid AS g ON g.stage = {stage} AND g.point = "
        "a.point",
    )


def _rounded(i: int, resolution: int) -> str:
    """A part, rounded; a half as the exact value of the double has it."""
    beyond = f"(16e0 * h{i} - (2e0 * w{i} + 1e0)) + {number(2 * resolution - 16)} * h{i}"
    odd = f"w{i} - 2e0 * floor(w{i} / 2e0) = 1e0"
    up = f"{beyond} > 0e0 OR ({beyond} = 0e0 AND {odd})"
    return (
        f"CASE WHEN p{i} = 0e0 THEN 0e0 WHEN p{i} > h{i} THEN w{i} + 1e0 WHEN p{i} < h{i} THEN w{i} "
        f"WHEN {up} THEN w{i} + 1e0 ELSE w{i} END"
    )


def _corrected(i: int, classes: range) -> str:
    before = " + ".join(_comes_before(j, i) for j in classes if j != i)
    step = "CASE WHEN excess > 0e0 THEN -1e0 ELSE 1e0 END"
    return f"q{i} + CASE WHEN {before} < abs(excess) THEN {step} ELSE 0e0 END"


def interpolate_steps(
    stages: StagePlan, stage: int, source: str, result: str, alive: str, kept: str
) -> Iterator[tuple[str, str]]:
    """Whether going on costs less than deciding, interpolated in the triangle of the grid that holds the belief."""
    n, resolution, weights = stages.log_priors.size, _resolution(stages), _weights(stages).tolist()
    before, tail, classes = source, "0e0", stages.rule.index[:n, -1].tolist()
    for i in range(n - 1, 0, -1):
        here, summed = f"{result}_tail{i}", f"{tail} + p{classes[i]} * {resolution}e0"
        limited = f"CASE WHEN {summed} > {resolution}e0 THEN {resolution}e0 ELSE {summed} END"
        yield here, f"SELECT {before}.*, {limited} AS t{i} FROM {before}"
        before, tail = here, f"t{i}"
    bases = ", ".join(f"floor(t{i} + {number(1e-12)}) AS b{i}" for i in range(1, n))
    yield f"{result}_base", f"SELECT {before}.*, {bases}, {resolution}e0 AS b0, 0e0 AS b{n} FROM {before}"
    rests = ", ".join(f"CASE WHEN t{i} > b{i} THEN t{i} - b{i} ELSE 0e0 END AS r{i}" for i in range(1, n))
    corner = " + ".join(f"{weight} * (b{i} - b{i + 1})" for i, weight in enumerate(weights))
    yield f"{result}_rests", f"SELECT {result}_base.*, {rests}, {corner} AS point FROM {result}_base"
    ranks = ", ".join(f"{_rank(i, n)} AS k{i}" for i in range(1, n))
    yield f"{result}_ranks", f"SELECT {result}_rests.*, {ranks} FROM {result}_rests"
    sorted_rests = ", ".join(
        f"CASE {' '.join(f'WHEN k{i} = {s} THEN r{i}' for i in range(1, n))} END AS s{s}" for s in range(n - 1)
    )
    # To raise the i-th cumulated part by one moves a unit from the part before to the i-th.
    points = ", ".join(
        "CAST(point"
        + "".join(f" + CASE WHEN k{i} < {s} THEN {weights[i] - weights[i - 1]} ELSE 0 END" for i in range(1, n))
        + f" AS BIGINT) AS v{s}"
        for s in range(n)
    )
    yield f"{result}_corners", f"SELECT {result}_ranks.*, {sorted_rests}, {points} FROM {result}_ranks"
    yield from _compare(stages, stage, result, alive, kept)


def _rank(i: int, n: int) -> str:
    """How many rests come before the i-th, the largest first, the first of equals before the others."""
    return " + ".join(_comes_before(j, i) for j in range(1, n) if j != i) or "0"


def _comes_before(j: int, i: int) -> str:
    """1 if rest j is larger than rest i, or equal and the earlier, else 0."""
    return f"CASE WHEN r{j} {'>=' if j < i else '>'} r{i} THEN 1 ELSE 0 END"


def _compare(stages: StagePlan, stage: int, result: str, alive: str, kept: str) -> Iterator[tuple[str, str]]:
    n = stages.log_priors.size
    shares = [f"({'1e0' if s == 0 else f'a.s{s - 1}'} - {f'a.s{s}' if s < n - 1 else '0e0'})" for s in range(n)]
    value = " + ".join(
        f"CASE WHEN {share} > 0e0 THEN {share} * g{s}.cost ELSE 0e0 END" for s, share in enumerate(shares)
    )
    joins = " ".join(f"LEFT JOIN etana_grid AS g{s} ON g{s}.stage = {stage} AND g{s}.point = a.v{s}" for s in range(n))
    columns = ", ".join(f"a.{c}" for c in [*kept.split(", "), *(f"p{i}" for i in range(n))])
    yield f"{result}_ahead", f"SELECT {columns}, {value} AS ahead FROM {result}_corners AS a {joins}"
    regrets = stages.rule.regrets
    # Deciding in some way costs no more than going on.
    stops = " OR ".join(
        (" + ".join(f"{number(w)} * p{i}" for i, w in enumerate(regrets[:, j].tolist()) if w != 0.0) or "0e0")
        + " <= ahead"
        for j in range(n)
    )
    yield result, f"SELECT {kept}, CASE WHEN {alive} AND NOT ({stops}) THEN 1 ELSE 0 END AS going FROM {result}_ahead"
