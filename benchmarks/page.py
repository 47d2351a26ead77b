"""Make docs/speed.md and its pictures again from the figures in benchmarks/results.

    python benchmarks/page.py

The page keeps its prose; what stands between ``<!-- NAME -->`` and ``<!-- end -->`` is written anew. A block whose
figures are not there stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "etana"

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from bench_tools import HERE, RESULTS

DOCS = HERE.parent / "docs"
PAGE, PICTURES = DOCS / "speed.md", DOCS / "speed"


def results(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["results"] if path.exists() else None


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headings = list(headings)
    lines = ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def seconds(s: float) -> str:
    """Three figures that count."""
    return f"{s:.0f}" if s >= 100 else f"{s:.1f}" if s >= 10 else f"{s:.2f}" if s >= 1 else f"{s:.3f}"


def limits(found: list[dict]) -> str:
    def row(m: dict) -> list[str]:
        fit = [f"{1e3 * m['fit limit']:.1f}"]
        for how in ("plain fit", "fit"):
            fit += [f"{1e3 * m[how]:.1f}", f"**{m[how] / m['fit limit']:.1f}**"]
        if "row" not in m:
            return [m["data"], m["bins"], *fit, "", "", "", ""]
        walk = [f"{1e9 * m['row']:.0f}", f"{1e9 * m['row limit']:.0f}", f"**{m['row'] / m['row limit']:.1f}**"]
        return [m["data"], m["bins"], *fit, *walk, f"{m['asked']:.1f}"]

    fits = ("limit, ms", "plain fit", "ratio", "default fit", "ratio")
    headings = ("data", "bins", *fits, "a row, ns", "limit", "ratio", "asked")
    return table(headings, map(row, found))


def news20(found: dict) -> str:
    base = found["methods"]["BernoulliNB"]["fit"]["cpu"]

    def row(name: str, m: dict) -> list[str]:
        fit = [seconds(m["fit"]["cpu"]), f"{m['fit']['cpu'] / base:.1f}", seconds(m["walk"]["cpu"])]
        memory = [f"{m['memory'][step]:,.0f}" for step in ("data", "fit", "classification")]
        return [name, *fit, *memory, f"{m['features']:.1f}" if "features" in m else f"{found['shape'][1]:,}"]

    headings = ("method", "fit, s", "times BernoulliNB", "classify all rows, s", "peak MB: data", "fit", "classify")
    return table((*headings, "features"), (row(*item) for item in found["methods"].items()))


def fits(found: dict) -> str:
    rows = [
        [
            r["what"],
            r["data"],
            seconds(r["fit"]),
            r["rival"],
            seconds(r["rival fit"]),
            f"**{r['fit'] / r['rival fit']:.1f}**",
        ]
        for r in found["pairs"]
    ]
    rows += [["`with_costs`, Adaptive", name, seconds(s), "", "", ""] for name, s in found["prices"].items()]
    if "long" in found:
        size, memory, blocks = f"made, {found['long']['rows']:,} x 50", found["long"]["memory"], found["long"]["blocks"]
        ratio = f"**{memory['fit'] / blocks['fit']:.1f}**"
        rows.append(
            ["fit in memory", size, seconds(memory["fit"]), "the same in blocks", seconds(blocks["fit"]), ratio]
        )
        share = f"**{memory['megabytes'] / memory['data']:.2f}**"
        rows.append(["its peak, MB", size, f"{memory['megabytes']:,.0f}", "the data", f"{memory['data']:,.0f}", share])
    return table(("what", "data", "s", "against", "s", "ratio"), rows)


def growth(found: dict) -> str:
    draw_growth(found)

    def row(kind: str, r: dict) -> list[str]:
        sizes, e = [p["size"] for p in r["points"]], r["exponents"]
        last = r["points"][-1]
        cells = [kind, f"{sizes[0]:,} to {sizes[-1]:,}"]
        for what in ("fit", "row", "megabytes"):
            cells.append(f"{e[what]['all']:.2f} ({e[what]['last']:.2f})" if what in e else "")
        return [*cells, seconds(last["fit"]), f"{last['megabytes']:,.0f}"]

    headings = ("growth in", "from, to", "fit", "a row", "peak memory", "largest: fit, s", "peak MB")
    return table(headings, (row(*item) for item in found.items())) + "\n\n![Growth](speed/growth.svg)"


def draw_growth(found: dict) -> None:
    kinds = ("rows", "features", "classes", "bins")
    figure, axes = plt.subplots(2, 4, figsize=(13, 5.5), layout="constrained")
    for (top, bottom), kind in zip(axes.T, kinds, strict=True):
        points = found[kind]["points"]
        sizes = np.array([p["size"] for p in points], dtype=float)
        fit = [p["fit"] for p in points]
        top.loglog(sizes, fit, "o-", label="fit, s")
        top.loglog(sizes, [1e6 * p["row"] for p in points], "s--", label="a row, µs")
        top.loglog(sizes, fit[-1] * sizes / sizes[-1], ":", color="0.6", label="linear")
        bottom.semilogx(sizes, [p["megabytes"] for p in points], "o-", label="all in memory")
        if kind == "rows" and "rows in blocks" in found:
            blocks = found["rows in blocks"]["points"]
            bottom.semilogx([p["size"] for p in blocks], [p["megabytes"] for p in blocks], "s--", label="in blocks")
            bottom.legend(frameon=False)
        bottom.set_ylim(0, 1.1 * bottom.dataLim.ymax)
        for axis in (top, bottom):
            axis.xaxis.set_minor_formatter(NullFormatter())
        if kind in ("classes", "bins"):
            bottom.set_xticks(sizes, [f"{size:g}" for size in sizes])
            top.set_xticks(sizes, [f"{size:g}" for size in sizes])
        top.set_title(kind)
        bottom.set_xlabel(kind)
    axes[0, 0].legend(frameon=False)
    axes[0, 0].set_ylabel("processor time")
    axes[1, 0].set_ylabel("peak MB")
    keep(figure, "growth")


def growth_classes(found: dict) -> str:
    e = found["classes"]["exponents"]
    parts = ("bins and counts", "order and policy", "row")
    return table((*parts[:2], "a row"), [[f"{e[p]['all']:.2f} ({e[p]['last']:.2f})" for p in parts]])


def cores(found: dict) -> str:
    def row(m: dict) -> list[str]:
        return [m["data"], m["what"], seconds(m["one"]), seconds(m["two"]), f"{m['one'] / m['two']:.2f}"]

    return table(("data", "what", "1 thread, s", "2 threads, s", "times faster"), map(row, found["cores"]))


def solvers(found: list[dict]) -> str:
    def row(r: dict) -> list[str]:
        m, paper = r["measured"], f"{r['paper']:g}" if r["paper"] else ""
        if m is None:
            return [r["data"], r["solver"], f"given up after {r['patience']:g} s", "", "", "", "", paper]
        gap = f"{(m['cost'] - m['lower']) / m['cost']:.2%}"
        times = seconds(m["fit cpu"]), seconds(m["solve cpu"])
        return [r["data"], r["solver"], *times, f"{m['cost']:.4f}", gap, f"{m['features']:.1f}", paper]

    headings = ("data", "solver", "fit, s", "of it the policy", "expected cost", "gap", "features", "paper, s")
    return table(headings, map(row, found))


def alternatives(found: dict) -> str:
    draw_alternatives(found)

    def rows():
        for name, r in found.items():
            for method, m in r["methods"].items() if r else ():
                if "failed" in m:
                    yield [name, method, m["failed"], *[""] * 5]
                    continue
                figures = f"{m['accuracy']:.3f}", f"{m['features']:,.1f}", f"{m['rows per second']:,.0f}"
                yield [name, method, seconds(m["fit"]["cpu"]), *figures, f"{m['p50']:,.0f}", f"{m['p99']:,.0f}"]

    headings = ("data", "method", "fit, s", "accuracy", "features", "rows a second", "one row, µs", "99 %")
    return table(headings, rows()) + "\n\n![Rows a second and features read](speed/alternatives.svg)"


def draw_alternatives(found: dict) -> None:
    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    series: dict[str, list[tuple[float, float]]] = {}
    for r in found.values():
        for method, m in r["methods"].items() if r else ():
            if "failed" not in m:
                kind = "selector + 3-NN" if "+ 3-NN" in method else method
                series.setdefault(kind, []).append((m["features"], m["rows per second"]))
    for marker, (kind, points) in zip("o^vsDx", series.items(), strict=False):
        axis.loglog(*zip(*points, strict=True), marker, label=kind, alpha=0.8)
    axis.set_xlabel("features read of an instance")
    axis.set_ylabel("rows a second, one thread")
    axis.legend(frameon=False, fontsize=8)
    keep(figure, "alternatives")


def selectors(found: list[dict]) -> str:
    def row(m: dict) -> list[str]:
        times = seconds(m["seconds"]), f"{m['paper']:g}", f"{m['paper'] / m['seconds']:,.0f}"
        return [m["data"], m["method"], str(m["features"]), *times]

    return table(("data", "selector", "features", "etana, s", "paper, s", "times faster"), map(row, found))


def start(found: dict) -> str:
    return table(found["start"], [[f"{s:.2f}" for s in found["start"].values()]])


def cold(found: dict) -> str:
    def row(method: str, m: dict) -> list[str]:
        compiling, times = (sum(loop[k] for loop in m["loops"]) for k in (1, 2))
        installed, imports = m["installed"]["seconds"], m["import"]
        of_wheel = [f"{installed:.1f}", f"{imports:.2f}", f"**{installed / imports:.1f}**"]
        return [method, *of_wheel, f"{m['seconds']:.1f}", f"{compiling:.1f}", str(times)]

    heads = (
        "method", "first fit, s", "import sklearn.ensemble, s", "ratio", "nothing compiled, s", "of it compiling",
        "compilations",
    )  # fmt: skip
    return table(heads, (row(*item) for item in found.items()))


def prices(found: dict) -> str:
    return table(found["prices"], [[f"{1e3 * s:.1f}" for s in found["prices"].values()]])


def one_row(found: dict) -> str:
    kinds = next(iter(found["one row"].values()))
    rows = ([name, *(f"{m['p50']:.0f} ({m['p99']:.0f})" for m in r.values())] for name, r in found["one row"].items())
    return table(("data", *(f"`{kind}`" for kind in kinds)), rows)


def useless(found: dict) -> str:
    rows = ([f"{r['features']:,}", f"{r['asked']:.2f}", f"{1e9 * r['row']:.0f}"] for r in found["useless"])
    return table(("features", "asked", "a row, ns"), rows)


BLOCKS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "limits": ("limits", limits),
    "news20": ("news20", news20),
    "fits": ("fits", fits),
    "growth": ("growth", growth),
    "growth in classes": ("growth", growth_classes),
    "cores": ("cores", cores),
    "solvers": ("solvers", solvers),
    "alternatives": ("alternatives", alternatives),
    "selectors": ("selectors", selectors),
    "start": ("startup", start),
    "cold": ("cold", cold),
    "prices": ("startup", prices),
    "one row": ("startup", one_row),
    "useless": ("startup", useless),
}


def keep(figure, name: str) -> None:
    """Without a date, so that the same figures are the same bytes."""
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def rewrite(page: Path) -> list[str]:
    """Write the blocks anew; returns the names of those that were."""
    text, made = page.read_text(), []
    for block, (source, render) in BLOCKS.items():
        pattern = re.compile(rf"(<!-- {re.escape(block)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{page} has no block {block!r}")
        found = results(source)
        if found is not None:
            new = render(found)
            text = pattern.sub(lambda m, new=new: m[1] + "\n" + new + "\n\n" + m[2], text)
            made.append(block)
    page.write_text(text)
    return made


if __name__ == "__main__":
    print("docs/speed.md:", ", ".join(rewrite(PAGE)))
