"""A policy as C99: tables in read-only memory, no allocation, no library but that of mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from etana.exporting.plan import Plan, StagePlan
from etana.exporting.texts import notes, pieces, read_template, wrapped
from etana.policies.decision_graph import DecisionGraph

__all__ = ["c_of", "header_of", "table_bytes"]

# What the stop test of each kind calls.
_HELPERS = {
    "never": ["certain"],
    "interval": [],
    "alpha": ["certain", "stop_cost", "least"],
    "linear": ["certain", "least"],
    "fitted": ["certain", "stop_cost"],
    "grid_nearest": ["certain", "stop_cost"],
    "grid_interpolate": ["certain", "stop_cost"],
}
_MATHS = {"double": ("exp", "log", "floor"), "float": ("expf", "logf", "floorf")}
_SLACK = {"double": "1e-12", "float": "1e-6f"}


def header_of(plan: Plan, stem: str, real: str) -> str:
    """The text of the header."""
    state = (
        f"    {_name(stem)}_real logs[{_name(stem).upper()}_CLASSES]; /* log belief */"
        if plan.stages
        else f"    int path[{_name(stem).upper()}_MOST]; /* columns that were asked for */\n    int node;"
    )
    text = read_template("policy.h.in")
    for mark, value in {
        "REAL": real, "CLASSES": len(plan.classes), "COLUMNS": plan.model.n_features,
        "MOST": max(plan.most_questions, 1), "STATE": state,
    }.items():  # fmt: skip
        text = text.replace(f"@{mark}@", str(value))
    return _named(text, stem)


def c_of(plan: Plan, stem: str, real: str) -> str:
    """The text of the program."""
    code = pieces("policy.c.in", "//:")
    body = _stage_parts(plan.stages) if plan.stages else ["graph"]
    parts = [
        _head(plan, real), _preamble(plan, real), "\n".join(_tables(plan, real)), code["code"],
        *(code[name] for name in body), code["case"], _names(plan, code),
    ]  # fmt: skip
    return _named("\n\n".join(parts), stem)


def _head(plan: Plan, real: str) -> str:
    lines = [
        "A policy that asks for one feature at a time.", "", *notes(plan), "",
        f"Tables: {table_bytes(plan, real):,} bytes, names apart. Compile as ISO C (-std=c99): an extension that fuses",
        "products and sums would round otherwise than the model does.",
    ]  # fmt: skip
    return "/* " + "\n   ".join(line.replace("*/", "* /") for line in lines).replace("   \n", "\n") + " */"


def _stage_parts(stages: StagePlan) -> list[str]:
    kind = stages.kind
    normalise = "normalise" if kind == "fitted" else "normalise_plain"
    grid = ["grid"] if kind.startswith("grid") else []
    return [normalise, *_HELPERS[kind], *grid, kind, "stages"]


def _name(stem: str) -> str:
    """The name of a file as the beginning of names in C."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"policy_{name}"


def _named(text: str, stem: str) -> str:
    name = _name(stem)
    return text.replace("@p@", name).replace("@P@", name.upper()).replace("@file@", stem) + "\n"


def _preamble(plan: Plan, real: str) -> str:
    exp, log, floor = _MATHS[real]
    lines = ["#include <math.h>", "#include <stddef.h>", "#include <stdint.h>"]
    if _has_levels(plan):
        lines.append("#include <string.h>")
    lines += ['#include "@file@.h"', "", "typedef @p@_real real;", "", "#define N @P@_CLASSES"]
    lines += [f"#define QUESTIONS {len(plan.questions)}", f"#define SLACK {_SLACK[real]}"]
    stages = plan.stages
    if stages is None:
        return "\n".join([*lines, "#define CODES(question) codes[question]"])
    lines += [f"#define EXP {exp}", f"#define STAGES {len(stages.questions)}"]
    lines.append("#define CODES(stage) (code_start[(stage) + 1] - code_start[stage])")
    return "\n".join(lines + _limits(stages, log, floor, real))


def _limits(stages: StagePlan, log: str, floor: str, real: str) -> list[str]:
    """How large the tables of a stop test are, and what it calls."""
    kind, (rows, width), index = stages.kind, stages.rule.table.shape, stages.rule.index
    if kind in ("interval", "never"):
        return []
    found: dict[str, Any] = {"ROWS": len(index) if kind == "alpha" else rows}
    if kind == "fitted":
        negligible = "1e-6f" if real == "float" else "1e-6"
        found |= {"LOG": log, "WIDTH": width, "PAIRS": len(index), "NEGLIGIBLE": negligible}
    elif kind.startswith("grid"):
        found |= {"FLOOR": floor, "WIDTH": width, "RESOLUTION": index.shape[1] - 2}
    return [f"#define {name} {value}" for name, value in found.items()]


def _arrays(plan: Plan) -> dict[str, np.ndarray]:
    """Every table by name: whole numbers in the smallest type that holds them, others in that of the case."""
    questions, form = plan.questions, plan.form
    ends = np.cumsum([0, *(q.edges.size for q in questions)])
    tables = {
        "column": np.array([q.column for q in questions], dtype=np.int64),
        "missing": np.array([q.missing for q in questions], dtype=np.int64),
        "edge_start": ends,
        "edges": np.concatenate([np.empty(0), *(q.edges for q in questions)]),
    }
    if isinstance(form, DecisionGraph):
        codes = np.array([q.n_codes for q in questions], dtype=np.int64)
        return tables | {
            "codes": codes, "asks": form.asks, "first": np.maximum(form.first, 0), "children": form.children,
            "price": form.prices, "label": plan.labels, "posterior": form.posteriors,
        }  # fmt: skip
    tables |= {
        "code_start": np.cumsum([0, *(q.n_codes for q in questions)]),
        "logs": np.concatenate([np.empty((0, len(plan.classes))), *form.logs]),
        "log_priors": form.log_priors, "price": form.prices, "regrets": plan.regrets,
    }  # fmt: skip
    if form.kind != "never":
        tables["table"] = form.rule.table
    if form.kind not in ("never", "interval", "linear"):
        tables["index"] = form.rule.index
    return tables


def table_bytes(plan: Plan, real: str) -> int:
    """What the tables take in read-only memory, names apart."""
    return sum(max(array.size, 1) * _width(array, real) for array in _arrays(plan).values())


def _width(array: np.ndarray, real: str) -> int:
    if array.dtype.kind == "f":
        return 8 if real == "double" else 4
    return int(re.findall(r"\d+", _integer(array))[0]) // 8


def _integer(array: np.ndarray) -> str:
    """The smallest type that holds these whole numbers."""
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    for bits in (8, 16, 32):
        if low >= 0 and high < 2**bits:
            return f"uint{bits}_t"
        if -(2 ** (bits - 1)) <= low and high < 2 ** (bits - 1):
            return f"int{bits}_t"
    return "int64_t"


def _tables(plan: Plan, real: str) -> list[str]:
    return [_table(name, array, real) for name, array in _arrays(plan).items()]


def _table(name: str, array: np.ndarray, real: str) -> str:
    flat = array.ravel()
    kind = "real" if array.dtype.kind == "f" else _integer(array)
    # C has no arrays without entries.
    words = _words(flat, real) if flat.size else ["0"]
    return f"static const {kind} {name}[{max(flat.size, 1)}] = {{\n{wrapped(words)}\n}};"


def _words(flat: np.ndarray, real: str) -> Iterable[str]:
    if flat.dtype.kind != "f":
        return map(str, flat.tolist())
    return (_number(x, real) for x in flat.tolist())


def _number(x: float, real: str) -> str:
    """The shortest text that is read as the same number."""
    if np.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    if real == "double":
        return repr(x)
    text = f"{np.float32(x).item():.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


def _has_levels(plan: Plan) -> bool:
    return any(plan.levels_of(question.column) is not None for question in plan.questions)


def _names(plan: Plan, code: dict[str, str]) -> str:
    """Names of classes, columns and labels, unless the program is compiled without them."""
    names = [plan.name_of(question.column) for question in plan.questions]
    parts = [
        "#ifndef @P@_NO_NAMES",
        f"const char *const @p@_classes[N] = {{\n{wrapped(map(_text, plan.classes))}\n}};\n",
        f"static const char *const names[{max(len(names), 1)}] = {{\n{wrapped(map(_text, names or ['']))}\n}};\n",
        code["names"],
        "",
    ]
    if not _has_levels(plan):
        return "\n".join([*parts, code["no_levels"], "#endif"])
    levels = [plan.levels_of(question.column) or [] for question in plan.questions]
    flat = [label for some in levels for label in some]
    starts = np.cumsum([0, *map(len, levels)])
    texts = wrapped(map(_text, flat))
    parts += [
        _table("level_start", starts, "double"),
        f"static const char *const levels[{len(flat)}] = {{\n{texts}\n}};\n",
        code["levels"],
        "#endif",
    ]
    return "\n".join(parts)


def _text(value: Any) -> str:
    """A label as a string of C: bytes that are not plain letters are written as numbers."""
    out = ""
    for byte in str(value).encode("utf-8"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?@'
        # Three octal digits, so that a digit that follows is not taken for one of them.
        out += chr(byte) if plain else f"\\{byte:03o}"
    return f'"{out}"'
