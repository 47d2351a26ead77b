"""A policy as one SQL statement, for SQLite (3.35 or newer), PostgreSQL (12 or newer) and DuckDB alike.

A fixed order is a chain of common table expressions, a few for each stage: those rows that go on are passed to the next
stage, those that stop wait for the end. A graph is a table of nodes and a table of answers, and a recursive expression
that takes every row from node to node. Each expression is materialised, because a database that writes one expression
into the next would write out the same sums again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from etana.errors import InputError
from etana.exporting.plan import Plan, StagePlan
from etana.exporting.sql_beliefs import belief_steps, decision_steps, stop_steps
from etana.exporting.sql_grid import check_grid, grid_tables
from etana.exporting.sql_words import labelled, name, number, text_of
from etana.exporting.texts import notes
from etana.kernels import rules
from etana.policies.decision_graph import CutColumn, DecisionGraph
from etana.walks.acquisition import read_budget

__all__ = ["sql_of"]

_MOST_STAGES = 400  # SQLite joins at most 500 selections


def sql_of(plan: Plan, table: str, max_cost: float | None) -> str:
    """The text of the statement."""
    budget = read_budget(max_cost)
    form = plan.form
    if isinstance(form, DecisionGraph):
        parts, ends = _graph_parts(plan, form, budget)
    else:
        _check(form)
        parts, ends = _stage_parts(plan, form, budget)
    lines = [
        "A policy that asks for one feature at a time. It decides for every row of a table; NULL is a missing value.",
        *notes(plan),
    ]
    if max_cost is not None:
        lines.append(f"No row is charged more than {max_cost:g}.")
    head = "\n".join(f"-- {line}" for line in lines)
    parts = [f"etana_rows AS MATERIALIZED (\n{_rows(table)}\n)", _codes(plan, form.questions), *parts]
    return f"{head}\nWITH RECURSIVE\n" + ",\n".join(parts) + f"\n{ends};\n"


def _check(stages: StagePlan) -> None:
    """Refuse what no database would take."""
    if len(stages.questions) > _MOST_STAGES:
        raise InputError(
            f"the policy asks up to {len(stages.questions)} features; a statement holds {_MOST_STAGES} at most: export "
            "to .c, .js or .py, or let features cost more"
        )
    check_grid(stages)


def _rows(table: str) -> str:
    return f"    SELECT row_number() OVER () AS etana_row, source.* FROM {name(table)} AS source"


def _codes(plan: Plan, questions: list[CutColumn]) -> str:
    """The codes of all columns that may be asked for; -1 is no evidence."""
    columns = "".join(f",\n        {_code(plan, question)} AS c{q}" for q, question in enumerate(questions))
    return f"etana_codes AS MATERIALIZED (\n    SELECT etana_row{columns}\n    FROM etana_rows\n)"


def _code(plan: Plan, question: CutColumn) -> str:
    column = name(plan.column_name(question.column))
    levels = plan.levels_of(question.column)
    missing = question.missing if question.missing < question.n_codes else -1
    if levels is not None:
        cases = [f"WHEN {column} = {text_of(label)} THEN {code}" for code, label in enumerate(levels)]
        return f"CASE WHEN {column} IS NULL THEN {missing} {' '.join(cases)} ELSE -1 END"
    value = f"CAST({column} AS DOUBLE PRECISION)"
    cases = [f"WHEN {value} < {number(edge)} THEN {code}" for code, edge in enumerate(question.edges.tolist())]
    last = question.edges.size if question.edges.size < question.n_codes else -1
    return f"CASE WHEN {column} IS NULL THEN {missing} {' '.join(cases)} ELSE {last} END"


def _stage_parts(plan: Plan, stages: StagePlan, budget: float) -> tuple[list[str], str]:
    n_classes, parts = len(plan.classes), list(_named_steps(grid_tables(stages)))
    horizon = _affordable(stages, budget)
    sums = ", ".join(f"CAST({number(x)} AS DOUBLE PRECISION) AS l{i}" for i, x in enumerate(stages.log_priors.tolist()))
    going = int(horizon > 0 and not _stops_at_once(stages))
    parts.append(
        f"etana_0 AS MATERIALIZED (\n    SELECT etana_row, {sums}, 0 AS seen, {going} AS going FROM etana_codes\n)"
    )
    spent, costs = 0.0, [0.0]
    for k in range(horizon):
        last = k + 1 == horizon
        parts.extend(_stage(stages, k, n_classes, last))
        # Added up as the walk does it: 0.1 + 0.2 is not 0.3 here either.
        costs.append(spent := spent + float(stages.prices[k]))
    parts.append(_ends(n_classes, horizon))
    top = float(stages.log_priors.max())
    parts.extend(_named_steps(belief_steps("etana_end", "etana_belief", n_classes, top, carry=["n"])))
    parts.extend(_named_steps(decision_steps("etana_belief", "etana_decided", plan.regrets, carry=["n"])))
    cost = "CASE d.n " + " ".join(f"WHEN {n} THEN {number(c)}" for n, c in enumerate(costs)) + " END"
    return parts, _result(plan, cost)


def _affordable(stages: StagePlan, budget: float) -> int:
    """Stages that the budget allows: everyone who comes to a stage has paid the same."""
    spent = 0.0
    for k, price in enumerate(stages.prices.tolist()):
        if spent + price > budget:
            return k
        spent += price
    return len(stages.questions)


def _stops_at_once(stages: StagePlan) -> bool:
    out = np.empty(1, dtype=bool)
    rules.stops_rows(stages.rule, 0, np.ascontiguousarray(stages.log_priors[None, :]), out)
    return bool(out[0])


def _stage(stages: StagePlan, k: int, n_classes: int, last: bool) -> Iterator[str]:
    """The rows that go on to stage k, with its answer, and whether they go on from there."""
    classes, before, here = range(n_classes), f"etana_{k}", f"etana_{k + 1}"
    logs = stages.logs[k]
    sums = ", ".join(f"a.l{i} + {_by_code(logs[:, i], f'c.c{k}')} AS s{i}" for i in classes)
    yield (
        f"{here}_sums AS MATERIALIZED (\n    SELECT a.etana_row, {sums},\n        CASE WHEN c.c{k} >= 0 THEN 1 ELSE 0 "
        f"END AS news, a.seen\n    FROM {before} AS a JOIN etana_codes AS c ON c.etana_row = a.etana_row\n"
        "    WHERE a.going = 1\n)"
    )
    # The largest is 0 after an answer; where there was none, nothing is shifted.
    tops = " ".join(f"WHEN {' AND '.join(f's{i} >= s{j}' for j in classes if j != i)} THEN s{i}" for i in classes[:-1])
    top = f"CASE WHEN news = 0 THEN 0e0 {tops} ELSE s{n_classes - 1} END"
    yield f"{here}_top AS MATERIALIZED (\n    SELECT {here}_sums.*, {top} AS top FROM {here}_sums\n)"
    shifted = ", ".join(f"s{i} - top AS l{i}" for i in classes)
    seen = "CASE WHEN news = 1 THEN 1 ELSE seen END AS seen"
    if last:
        yield f"{here} AS MATERIALIZED (\n    SELECT etana_row, {shifted}, {seen}, 0 AS going FROM {here}_top\n)"
        return
    yield f"{here}_logs AS MATERIALIZED (\n    SELECT etana_row, {shifted}, {seen} FROM {here}_top\n)"
    yield from _named_steps(stop_steps(stages, k + 1, f"{here}_logs", here))


def _by_code(values: np.ndarray, code: str) -> str:
    cases = " ".join(f"WHEN {v} THEN {number(x)}" for v, x in enumerate(values.tolist()))
    return f"CASE {code} {cases} ELSE 0e0 END"


def _named_steps(steps: Iterable[tuple[str, str]]) -> Iterator[str]:
    for step, body in steps:
        yield f"{step} AS MATERIALIZED (\n    {body}\n)"


def _ends(n_classes: int, horizon: int) -> str:
    """Rows where they stopped, and after how many features."""
    logs = ", ".join(f"l{i}" for i in range(n_classes))
    parts = [f"SELECT etana_row, {k} AS n, {logs}, seen FROM etana_{k} WHERE going = 0" for k in range(horizon + 1)]
    return "etana_end AS MATERIALIZED (\n    " + "\n    UNION ALL ".join(parts) + "\n)"


def _graph_parts(plan: Plan, graph: DecisionGraph, budget: float) -> tuple[list[str], str]:
    # Where the budget does not allow the next question, the node decides.
    asks = np.where(graph.spent + graph.prices <= budget, graph.asks, -1)
    depths, labels = graph.depths, plan.model.policy.decide(graph.posteriors)
    nodes = ",\n        ".join(
        f"({node}, {asks[node]}, {labels[node]}, {depths[node]}, {number(graph.spent[node])}, "
        f"{', '.join(map(number, graph.posteriors[node].tolist()))})"
        for node in range(asks.size)
    )
    answers = ",\n        ".join(_answers(graph, asks)) or "(-1, -1, -1)"
    beliefs = ", ".join(f"p{i}" for i in range(len(plan.classes)))
    codes = "CASE n.asks " + " ".join(f"WHEN {q} THEN k.c{q}" for q in range(len(graph.questions))) + " END"
    walk = (
        "    SELECT etana_row, 0 FROM etana_codes\n    UNION ALL\n    SELECT w.etana_row, a.child\n"
        "    FROM etana_walk AS w JOIN etana_nodes AS n ON n.node = w.node\n"
        "    JOIN etana_codes AS k ON k.etana_row = w.etana_row\n"
        f"    JOIN etana_answers AS a ON a.parent = w.node AND a.code = {codes if graph.questions else '0'}"
    )
    parts = [
        f"etana_nodes (node, asks, choice, n, cost, {beliefs}) AS MATERIALIZED (\n    VALUES {nodes}\n)",
        f"etana_answers (parent, code, child) AS MATERIALIZED (\n    VALUES {answers}\n)",
        f"etana_walk (etana_row, node) AS (\n{walk}\n)",
        "etana_decided AS MATERIALIZED (\n    SELECT w.etana_row, n.* FROM etana_walk AS w\n"
        "    JOIN etana_nodes AS n ON n.node = w.node WHERE n.asks = -1\n)",
    ]
    return parts, _result(plan, "d.cost")


def _answers(graph: DecisionGraph, asks: np.ndarray) -> Iterator[str]:
    for node in np.flatnonzero(asks >= 0).tolist():
        n_codes = graph.questions[asks[node]].n_codes
        for place, code in enumerate([*range(n_codes), -1]):
            yield f"({node}, {code}, {graph.children[graph.first[node] + place]})"


def _result(plan: Plan, cost: str) -> str:
    """The columns of the table, and what was decided for each row."""
    beliefs = "".join(f", CAST(d.p{i} AS DOUBLE PRECISION) AS etana_p{i}" for i in range(len(plan.classes)))
    return (
        f"SELECT r.*, {labelled('d.choice', plan.classes)} AS etana_label, d.n AS etana_features,\n"
        f"    CAST({cost} AS DOUBLE PRECISION) AS etana_cost{beliefs}\n"
        "FROM etana_rows AS r JOIN etana_decided AS d ON d.etana_row = r.etana_row ORDER BY r.etana_row"
    )
