"""Steps of arithmetic on log beliefs ``l0, l1, ..`` in SQL, each (name, selection), a later one reading the former.

They are those of :mod:`etana.kernels.rules`, sum by sum in the same order. ``seen`` is 1 once an answer has shifted the
largest logarithm to 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from etana.exporting.plan import StagePlan
from etana.exporting.sql_grid import interpolate_steps, nearest_steps
from etana.exporting.sql_words import number
from etana.kernels.rules import NEGLIGIBLE, TIE

__all__ = ["belief_steps", "decision_steps", "stop_steps"]

_NOTHING = -1e299  # what is below is the logarithm of 0
_LEAST = -700.0  # PostgreSQL takes an exponential below the smallest double for an error


def belief_steps(
    source: str, result: str, n_classes: int, top: float, carry: list[str], shift: bool = False
) -> Iterator[tuple[str, str]]:
    """From log beliefs to beliefs ``p0, p1, ..``; ``shift`` keeps what log beliefs are shifted by."""
    classes = range(n_classes)
    more = "".join(f", {column}" for column in carry)
    start = f"CASE WHEN seen = 1 THEN 0e0 ELSE {number(top)} END"
    powers = ", ".join(
        f"CASE WHEN l{i} - {start} < {number(_LEAST)} THEN 0e0 ELSE exp(l{i} - {start}) END AS e{i}" for i in classes
    )
    logs = ", ".join(f"l{i}" for i in classes)
    yield f"{result}_powers", f"SELECT etana_row, {logs}, seen{more}, {powers} FROM {source}"
    total = " + ".join(f"e{i}" for i in classes)
    yield f"{result}_total", f"SELECT {result}_powers.*, {total} AS total FROM {result}_powers"
    shares = ", ".join(f"e{i} * (1e0 / total) AS p{i}" for i in classes)
    away = f", {start} + ln(total) AS away" if shift else ""
    yield result, f"SELECT etana_row, {logs}, seen{more}, {shares}{away} FROM {result}_total"


def decision_steps(source: str, result: str, regrets: np.ndarray, carry: list[str]) -> Iterator[tuple[str, str]]:
    """From beliefs to the class ``choice`` that costs least, the first of equals to twelve digits."""
    n = len(regrets)
    beliefs = ", ".join(f"p{i}" for i in range(n))
    more = "".join(f", {column}" for column in carry)
    yield f"{result}_costs", f"SELECT etana_row{more}, {beliefs}, {_costs(regrets)} FROM {source}"
    before = f"{result}_costs"
    best, choice = "g0", "0"
    for j in range(1, n):
        here = result if j == n - 1 else f"{result}_{j}"
        better = f"g{j} < {best} * (1e0 - {number(TIE)})"
        later = "".join(f", g{i}" for i in range(j + 1, n))
        yield (
            here,
            (
                f"SELECT etana_row{more}, {beliefs}{later}, CASE WHEN {better} THEN g{j} ELSE {best} END AS best, "
                f"CASE WHEN {better} THEN {j} ELSE {choice} END AS choice FROM {before}"
            ),
        )
        before, best, choice = here, "best", "choice"
    if n == 1:
        yield result, f"SELECT etana_row{more}, {beliefs}, 0 AS choice FROM {before}"


def _costs(regrets: np.ndarray) -> str:
    """What each decision costs at a belief, ``g0, g1, ..``."""
    return ", ".join(f"{_dot(regrets[:, j])} AS g{j}" for j in range(len(regrets)))


def _dot(weights: np.ndarray) -> str:
    """Zero weights are left out: what they add is 0, exactly."""
    terms = [f"{number(w)} * p{i}" for i, w in enumerate(weights.tolist()) if w != 0.0]
    return " + ".join(terms) or "0e0"


def _least(names: list[str]) -> str:
    """The least of some columns."""
    if len(names) == 1:
        return names[0]
    cases = [f"WHEN {' AND '.join(f'{a} <= {b}' for b in names if b != a)} THEN {a}" for a in names[:-1]]
    return f"CASE {' '.join(cases)} ELSE {names[-1]} END"


def stop_steps(stages: StagePlan, stage: int, source: str, result: str) -> Iterator[tuple[str, str]]:
    """Whether rows go on from a stage: the column ``going``, 0 or 1, beside their log beliefs."""
    n = stages.log_priors.size
    kept = "etana_row, " + ", ".join(f"l{i}" for i in range(n)) + ", seen"
    if stages.kind == "interval":
        low, high = (number(x) for x in stages.rule.table[stage].tolist())
        within = f"{low} < l1 - l0 AND l1 - l0 < {high}"
        yield result, f"SELECT {kept}, CASE WHEN {within} THEN 1 ELSE 0 END AS going FROM {source}"
        return
    alive = " + ".join(f"CASE WHEN l{i} > {number(_NOTHING)} THEN 1 ELSE 0 END" for i in range(n))
    free = stages.kind != "linear" and stages.prices[stage] == 0.0
    if stages.kind == "never" or free:
        yield result, f"SELECT {kept}, CASE WHEN {alive} > 1 THEN 1 ELSE 0 END AS going FROM {source}"
        return
    top = float(stages.log_priors.max())
    yield from belief_steps(source, f"{result}_belief", n, top, [], shift=stages.kind == "fitted")
    yield from _TESTS[stages.kind](stages, stage, f"{result}_belief", result, f"{alive} > 1", kept)


def _linear(
    stages: StagePlan, stage: int, source: str, result: str, alive: str, kept: str
) -> Iterator[tuple[str, str]]:
    n = stages.log_priors.size
    passed = [f"{_dot(theta)} > 0e0" for theta in stages.rule.table[stage * n : (stage + 1) * n]]
    test = " AND ".join([alive, *passed])
    yield result, f"SELECT {kept}, CASE WHEN {test} THEN 1 ELSE 0 END AS going FROM {source}"


def _alpha(stages: StagePlan, stage: int, source: str, result: str, alive: str, kept: str) -> Iterator[tuple[str, str]]:
    first, last = stages.rule.index[stage : stage + 2, 0]
    yield from _with_stop_cost(stages, source, result)
    # Some plan costs less than deciding.
    plans = " OR ".join(f"now > {_dot(plan)}" for plan in stages.rule.table[first:last]) or "1 = 0"
    yield result, f"SELECT {kept}, CASE WHEN {alive} AND ({plans}) THEN 1 ELSE 0 END AS going FROM {result}_now"


def _fitted(
    stages: StagePlan, stage: int, source: str, result: str, alive: str, kept: str
) -> Iterator[tuple[str, str]]:
    yield from _with_stop_cost(stages, source, result)
    n, weights = stages.log_priors.size, stages.rule.table[stage].tolist()
    large = [f"CASE WHEN p{i} > {number(NEGLIGIBLE)} THEN p{i} ELSE 0e0 END AS b{i}" for i in range(n)]
    yield f"{result}_large", f"SELECT {result}_now.*, {', '.join(large)} FROM {result}_now"
    terms = [f"{number(weights[n])} * now"]
    terms += [
        f"CASE WHEN b{i} > 0e0 THEN ({number(weights[i])} - {number(weights[n + 1 + i])} * (l{i} - away)) * b{i} "
        "ELSE 0e0 END"
        for i in range(n)
    ]
    for r, (i, j) in enumerate(stages.rule.index.tolist()):
        one, two = number(weights[2 * n + 1 + 2 * r]), number(weights[2 * n + 2 + 2 * r])
        terms.append(f"CASE WHEN b{i} * b{j} > 0e0 THEN b{i} * b{j} * ({one} / (b{i} + b{j}) + {two}) ELSE 0e0 END")
    test = f"{alive} AND now > {number(stages.prices[stage])} AND now > {' + '.join(terms)}"
    yield result, f"SELECT {kept}, CASE WHEN {test} THEN 1 ELSE 0 END AS going FROM {result}_large"


def _with_stop_cost(stages: StagePlan, source: str, result: str) -> Iterator[tuple[str, str]]:
    """What deciding costs at a belief, ``now``."""
    n = stages.log_priors.size
    yield f"{result}_costs", f"SELECT {source}.*, {_costs(stages.rule.regrets)} FROM {source}"
    least = _least([f"g{j}" for j in range(n)])
    yield f"{result}_now", f"SELECT {result}_costs.*, {least} AS now FROM {result}_costs"


_TESTS = {
    "linear": _linear,
    "alpha": _alpha,
    "fitted": _fitted,
    "grid_nearest": nearest_steps,
    "grid_interpolate": interpolate_steps,
}
