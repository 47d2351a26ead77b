"""Runs exported policies with the programs that they are for; all give the same table of what became of rows."""

import importlib.util
import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from samples import numbers_of

import etana
from etana.errors import InputError
from etana.exporting.plan import plan_of

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
HERE = Path(__file__).parent


class Decisions(NamedTuple):
    """Of n rows: classes as labels, columns or names that were asked for, what they cost, and the beliefs."""

    labels: list
    features: list[list]
    costs: np.ndarray
    posteriors: np.ndarray


def decisions(results: list, names: list) -> Decisions:
    labels, features, costs, posteriors = zip(*results, strict=True)
    return Decisions(list(labels), [list(f) for f in features], np.array(costs), np.array(posteriors))


_ROOM: dict = {}  # what was found for a classifier and so many rows


def room_for(clf, rows) -> tuple[int, list[int]]:
    """The least of a few numbers of states with which these rows do not leave them, and the columns asked there."""
    if (clf, len(rows)) not in _ROOM:
        _ROOM[clf, len(rows)] = _look_for_room(clf, rows)
    return _ROOM[clf, len(rows)]


def _look_for_room(clf, rows) -> tuple[int, list[int]]:
    for most in (1024, 4096, 16384, 65536):
        try:
            plan = plan_of(clf.model_, most, rows)
        except InputError:
            continue
        # A table has one column at least, also where nothing is asked.
        return most, sorted({question.column for question in plan.questions}) or [0]
    raise AssertionError("these rows need more states than anybody would export")


def export(clf, path: Path, rows, **wishes) -> None:
    """Export so that these rows do not leave the states."""
    etana.export(clf, path, rows=rows, max_nodes=room_for(clf, rows)[0], **wishes)


def asked_of(clf, rows):
    """The columns that can be asked for at all: a table of thousands is more than a database takes."""
    return rows.iloc[:, room_for(clf, rows)[1]]


def in_c(clf, rows, folder: Path, max_cost=None, options=()) -> Decisions:
    """Compile with the system's compiler, warnings being errors, and let the program read the rows."""
    export(clf, folder / "policy.c", rows)
    program, model = folder / "program", clf.model_
    command = [
        "gcc",
        *STRICT,
        "-O2",
        *options,
        "-I",
        folder,
        "-o",
        program,
        HERE / "main.c",
        folder / "policy.c",
        "-lm",
    ]
    subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, timeout=120)
    budget = "inf" if max_cost is None else repr(max_cost)
    done = subprocess.run(
        [str(program), budget], input=numbers_of(model, rows).tobytes(), check=True, capture_output=True, timeout=120
    )
    return decisions([_parse(line, model) for line in done.stdout.decode().splitlines()], model.names)


def _parse(line: str, model) -> tuple:
    label, cost, posterior, columns = line.split("|")
    names = [model.name_of(int(column)) for column in columns.split()]
    belief = [float.fromhex(p) for p in posterior.split()]
    return model.classes[int(label)], names, float.fromhex(cost), belief


def in_node(clf, rows, folder: Path, max_cost=None, step: bool = False) -> Decisions:
    """Run in Node, by whole rows or step by step."""
    export(clf, folder / "policy.js", rows)
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(HERE / "main.mjs", folder / "main.mjs")
    (folder / "rows.json").write_text(
        json.dumps({"rows": plain_rows(asked_of(clf, rows)), "maxCost": max_cost, "step": step})
    )
    done = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return decisions([(r["label"], r["features"], r["cost"], r["posterior"]) for r in json.loads(done.stdout)], [])


def in_python(clf, rows, folder: Path, max_cost=None) -> Decisions:
    """Import the module and call it."""
    export(clf, folder / "exported.py", rows)
    policy = load_module(folder / "exported.py")
    return decisions([tuple(policy.classify(row, max_cost)) for row in plain_rows(asked_of(clf, rows))], [])


def load_module(path: Path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_rows(rows) -> list[dict]:
    """Rows as mappings with plain values, None for missing ones."""
    found = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return [
        {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()} for row in found
    ]


def by_document(clf, rows, folder: Path, max_cost=None) -> Decisions:
    """Read the JSON by the words of its description, in NumPy; only the stop tests are those of the package."""
    export(clf, folder / "policy.json", rows)
    document = json.loads((folder / "policy.json").read_text(encoding="utf-8"))
    walk = _walk_graph if document["form"] == "graph" else _walk_stages
    budget = math.inf if max_cost is None else max_cost * (1 + 1e-12)
    return decisions([walk(document, row, budget) for row in plain_rows(asked_of(clf, rows))], [])


def _code(question: dict, value) -> int:
    if value is None:
        code = question["missing"]
    else:
        levels = question["levels"]
        if levels is not None:
            value = levels.index(value) if value in levels else math.inf
        code = int((np.array(question["edges"]) <= value).sum())
    return code if 0 <= code < question["codes"] else -1


def _walk_graph(document: dict, row: dict, budget: float) -> tuple:
    graph, node, cost, asked = document["graph"], 0, 0.0, []
    while graph["asks"][node] >= 0 and cost + graph["prices"][node] <= budget:
        question = document["questions"][graph["asks"][node]]
        code = _code(question, row[question["name"]])
        cost += graph["prices"][node]
        asked.append(question["name"])
        node = graph["children"][graph["first"][node] + (code if code >= 0 else question["codes"])]
    return document["classes"][graph["labels"][node]], asked, cost, graph["posteriors"][node]


def _walk_stages(document: dict, row: dict, budget: float) -> tuple:
    from etana.kernels import rules

    stages, regrets = document["stages"], np.array(document["regrets"])
    rule, prices = stages["rule"], np.array(stages["prices"])
    kind = ["never", "interval", "alpha", "fitted", "linear", "grid_nearest", "grid_interpolate"].index(rule["kind"])
    table, index = np.array(rule["table"]), np.array(rule["index"], dtype=np.int64)
    logs, cost, asked = np.array(stages["log_priors"]), 0.0, []
    belief, scratch = np.empty(len(logs)), np.empty(len(logs))
    for k, question in enumerate(document["questions"]):
        # The stop tests are those of the package: that the tables are whole is what is tested here.
        if rules.stops(kind, table, index, prices, regrets, k, logs, belief, scratch) or cost + prices[k] > budget:
            break
        code = _code(question, row[question["name"]])
        if code >= 0:
            logs = logs + np.array(stages["logs"][k][code])
            logs = logs - logs.max()
        cost += prices[k]
        asked.append(question["name"])
    rules.normalise(logs, belief)
    return document["classes"][int(rules.decide(belief, regrets))], asked, float(cost), belief
