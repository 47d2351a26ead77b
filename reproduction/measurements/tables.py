"""Tables of what goes beyond the paper, from stored results; what was not run is left out or said.

A point "0.95 @ 2.3" is an accuracy at an average number of features for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reproduction.cells import Cell, Record
from reproduction.measurements import costbench
from reproduction.measurements.curves import area, at_features
from reproduction.measurements.peers import PUBLISHED
from reproduction.measurements.plan import OWN_METHODS, TARGET_METHODS
from reproduction.measurements.targets import TARGETS, ChosenPoint, Target, chosen
from reproduction.methods import method_of
from reproduction.store import Result
from reproduction.tables import TITLES, Entry, ResultTable

__all__ = ["BUDGETS", "beyond_tables", "peer_points"]

Found = dict[Cell, Result | None]
Points = list[tuple[float, float]]
BUDGETS = (1, 2, 3, 5, 8, 12, 20)
_CHOSEN = "etana, chosen on training rows"
_PRICE = 0.01  # of a feature, for the cost of a point
_POINT = "accuracy @ features"
_SLACK = 1.02


def beyond_tables(results: Found) -> list[ResultTable]:
    """All tables that there are results for."""
    tables = (
        _targets, _curves, _repeats, _costbench, _costbench_summary, _dollars, _peers, _areas, _seconds, _budgets,
    )  # fmt: skip
    return [table for make in tables for table in make(results)]


def _of(results: Found, experiment: str) -> dict[Cell, Result]:
    """Finished cells of an experiment."""
    return {
        cell: result
        for cell, result in results.items()
        if cell.experiment == experiment and result is not None and result.ended == "done"
    }


def _words(words: str) -> Entry:
    return Entry(None, None, words)


def _point(accuracy: float, n_features: float, digits: int = 4) -> str:
    return f"{accuracy:.{digits}f} @ {n_features:.2f}"


def _unfinished(results: Found, experiment: str) -> list[str]:
    """What a note says about cells that ended otherwise."""
    bad = [r for c, r in results.items() if c.experiment == experiment and r is not None and r.ended != "done"]
    ended = [f"{r.cell.key} ({r.message or f'ended at {r.limit:g} s for each part'})" for r in bad]
    missing = sum(1 for c, r in results.items() if c.experiment == experiment and r is None)
    notes = [f"Not finished: {'; '.join(ended)}."] if ended else []
    return notes + ([f"{missing} cells were not run."] if missing else [])


# The table to beat.


def _first_seed(results: Found) -> dict[tuple[str, str], Result]:
    """The plain cells of the table, by set and method."""
    found = _of(results, "target")
    least = min((cell.seed for cell in found), default=0)
    plain = {c: r for c, r in found.items() if c.seed == least and not dict(c.parameters).get("resplit")}
    return {(cell.dataset, cell.method): result for cell, result in plain.items()}


def _target(name: str) -> Target:
    return TARGETS.get(name, Target(1.0, float("inf")))


def _choice_entry(choice: ChosenPoint | None, name: str) -> Entry | None:
    if choice is None:
        return None
    met = " (met)" if choice.meets(_target(name)) else ""
    return _words(_point(choice.accuracy, choice.n_features) + met)


def _targets(results: Found) -> Iterator[ResultTable]:
    plain = _first_seed(results)
    if not plain:
        return
    sets = [name for name in TITLES if any(name == s for s, _ in plain)]
    rows: list[tuple[str, list[Entry | None]]] = [
        ("to beat", [_words(_point(t.accuracy, t.n_features)) for t in map(_target, sets)])
    ]
    for label, methods in [(method_of(m).title, (m,)) for m in TARGET_METHODS] + [(_CHOSEN, OWN_METHODS)]:
        entries = []
        for name in sets:
            curves = [plain[name, m] for m in methods if (name, m) in plain]
            entries.append(_choice_entry(chosen(curves, _target(name).n_features) if curves else None, name))
        rows.append((label, entries))
    notes = [
        "The price of a feature is chosen on the training rows of each part, for the best estimated accuracy with at "
        "most as many features as the target allows.",
        *dict.fromkeys(r.differs for r in plain.values() if r.differs),
        *_unfinished(results, "target"),
    ]
    yield ResultTable(
        "targets", "The table to beat", [TITLES[s] for s in sets], rows, notes, _POINT, "Accuracy @ features."
    )


def _curves(results: Found) -> Iterator[ResultTable]:
    plain = {key: _on_the_grid(result.records) for key, result in _first_seed(results).items()}
    prices = sorted({r["price"] for records in plain.values() for r in records}, reverse=True)
    if not plain:
        return
    rows: list[tuple[str, list[Entry | None]]] = []
    for name in TITLES:
        for method in TARGET_METHODS:
            if (name, method) in plain:
                points = _mean_points(plain[name, method])
                entries = [_words(_point(*points[p][::-1], 3)) if p in points else None for p in prices]
                rows.append((f"{TITLES[name]}, {method_of(method).title}", list(entries)))
    notes = ["Test rows at every price; nothing is chosen here."]
    columns = [f"c = {price:g}" for price in prices]
    yield ResultTable("curves", "The whole curves", columns, rows, notes, _POINT, "Accuracy @ features.")


def _on_the_grid(records: Sequence[Record]) -> list[Record]:
    """Without prices that were tried for one part alone, to come near a limit."""
    return [record for record in records if record.get("of_grid", True)]


def _mean_points(records: Sequence[Record]) -> dict[float, tuple[float, float]]:
    """(features, accuracy) by price, means over the parts."""
    out = {}
    for price in sorted({r["price"] for r in records}):
        at = [r for r in records if r["price"] == price]
        out[price] = (float(np.mean([r["n_features"] for r in at])), float(np.mean([r["accuracy"] for r in at])))
    return out


def _repeats(results: Found) -> Iterator[ResultTable]:
    found = _of(results, "target")
    rows: list[tuple[str, list[Entry | None]]] = []
    for name, resplit, label in (("mll", True, "MLL, 57 and 15 of 72 rows anew"), ("lung", False, "Lung, folds anew")):
        cells = {
            (c.method, c.seed): r
            for c, r in found.items()
            if c.dataset == name and bool(dict(c.parameters).get("resplit")) == resplit
        }
        for title, methods in [(method_of(m).title, (m,)) for m in OWN_METHODS] + [(_CHOSEN, OWN_METHODS)]:
            seeds = sorted(s for _, s in cells if all((m, s) in cells for m in methods))
            picks = [chosen([cells[m, s] for m in methods], _target(name).n_features) for s in dict.fromkeys(seeds)]
            rows += _spread(f"{label}, {title}", [p for p in picks if p is not None], _target(name))
    if rows:
        columns = ["repetitions", "accuracy", "features", "met in"]
        notes = ["Mean ± standard deviation over repetitions with other seeds, points chosen on training rows."]
        yield ResultTable(
            "repeats", "The same with other splits", columns, rows, notes, "", "Mean ± standard deviation."
        )


def _spread(label: str, choices: list[ChosenPoint], target: Target) -> Iterator[tuple[str, list[Entry | None]]]:
    if len(choices) > 1:
        accuracy, features = [c.accuracy for c in choices], [c.n_features for c in choices]
        shown = (
            str(len(choices)),
            f"{np.mean(accuracy):.4f} ± {np.std(accuracy, ddof=1):.4f}",
            f"{np.mean(features):.2f} ± {np.std(features, ddof=1):.2f}",
            f"{sum(c.meets(target) for c in choices)} of {len(choices)}",
        )
        yield label, [_words(w) for w in shown]


# Money.


def _by_row(found: dict[Cell, Result], parameter: str) -> dict[tuple[str, str], dict[str, Result]]:
    """Results by (set, parameter), then by method."""
    out: dict[tuple[str, str], dict[str, Result]] = {}
    for cell, result in found.items():
        out.setdefault((cell.dataset, str(dict(cell.parameters)[parameter])), {})[cell.method] = result
    return out


def _methods(found: dict[Cell, Result]) -> list[str]:
    return list(dict.fromkeys(cell.method for cell in found))


def _costbench(results: Found) -> Iterator[ResultTable]:
    found = _of(results, "costbench")
    if not found:
        return
    methods = _methods(found)
    rows: list[tuple[str, list[Entry | None]]] = []
    for (name, level), at in _by_row(found, "level").items():
        known = costbench.STREED[name][costbench.LEVELS.index(level)]
        entries: list[Entry | None] = [
            Entry(at[m].mean("cost"), known if m == "streed" else None, digits=2) if m in at else None for m in methods
        ]
        rows.append((f"{TITLES[name]}, {level}", entries))
    notes = [
        "Tests and mistakes as a share of what buying everything costs plus the largest mistake on the rarer classes, "
        "in percent; mean over the splits; lower is better. Beside STreeD: the same as it was measured elsewhere.",
        *_unfinished(results, "costbench"),
    ]
    columns = [method_of(m).title for m in methods]
    yield ResultTable(
        "costbench", "Total cost on nine sets with prices", columns, rows, notes, "cost, %", "Cost in percent."
    )


def _costbench_summary(results: Found) -> Iterator[ResultTable]:
    found = _of(results, "costbench")
    rows_of = _by_row(found, "level")
    whole = {key: at for key, at in rows_of.items() if {"nothing", "streed"} <= set(at)}
    if not whole:
        return
    rows: list[tuple[str, list[Entry | None]]] = []
    for method in _methods(found):
        triples = [
            tuple(at[m].mean("cost") or 0.0 for m in (method, "streed", "nothing"))
            for at in whole.values()
            if method in at
        ]
        seconds = [at[method].mean("training_seconds") or 0.0 for at in whole.values() if method in at]
        if len(triples) == len(whole):
            less = _beyond_streed(method, list(whole.values()))
            mean, *counts = _summary(triples, float(np.mean(seconds)))
            rows.append((method_of(method).title, [mean, less, *counts]))
    columns = [
        f"mean of {len(whole)} cells", "less STreeD, depth 3", "cells 2 % above STreeD", "cells above buying nothing",
        "fit, seconds",
    ]  # fmt: skip
    title = "Total cost: summary"
    notes = ["The difference to STreeD with one standard error: the mean over the cells, split by split."]
    yield ResultTable("costbench-summary", title, columns, rows, notes, "", "Means over sets and levels.")


def _beyond_streed(method: str, cells: Sequence[dict[str, Result]]) -> Entry | None:
    """What it pays more than STreeD, mean over cells, and a standard error over the splits that all cells have."""
    parts = set.intersection(*({r["part"] for r in at[m].records} for at in cells for m in (method, "streed")))
    costs = {
        m: np.array([[r["cost"] for r in at[m].records if r["part"] in parts] for at in cells])
        for m in (method, "streed")
    }
    if method == "streed" or len(parts) < 2:
        return None
    extra = (costs[method] - costs["streed"]).mean(axis=0)
    return _words(f"{extra.mean():+.2f} ± {extra.std(ddof=1) / np.sqrt(extra.size):.2f}")


def _summary(triples: Sequence[tuple[float, ...]], seconds: float) -> list[Entry | None]:
    above = sum(own > _SLACK * streed for own, streed, _ in triples)
    worse = sum(own > nothing + 1e-9 for own, _, nothing in triples)
    mean = float(np.mean([own for own, _, _ in triples]))
    return [Entry(mean, None, digits=2), Entry(above, None, digits=0), Entry(worse, None, digits=0),
            Entry(seconds, None, digits=3)]  # fmt: skip


def _dollars(results: Found) -> Iterator[ResultTable]:
    found = _of(results, "dollars")
    if not found:
        return
    methods = _methods(found)
    rows: list[tuple[str, list[Entry | None]]] = []
    for (name, multiple), at in _by_row(found, "multiple").items():
        panel = next(iter(at.values())).mean("panel") or 0.0
        label = f"{TITLES[name]}, mistake ${float(multiple) * panel:.2f} ({float(multiple):g} panels)"
        rows.append((label, [Entry(at[m].mean("dollars"), None, digits=2) if m in at else None for m in methods]))
    notes = [
        "Canadian dollars for each patient, tests and mistakes together; mean over five folds, Thyroid on its given "
        "test part. A mistake costs a multiple of the whole panel of tests.",
        *_unfinished(results, "dollars"),
    ]
    columns = [method_of(m).title for m in methods]
    yield ResultTable(
        "dollars", "Medical sets in dollars", columns, rows, notes, "dollars", "Dollars for each patient."
    )


# Beside published methods.


def peer_points(results: Found) -> dict[str, dict[str, Points]]:
    """(features, accuracy) by set, then by title of the method; ours first, then published ones."""
    out: dict[str, dict[str, Points]] = {}
    for cell, result in _of(results, "peers").items():
        points = sorted(_mean_points(result.records).values())
        out.setdefault(cell.dataset, {})[method_of(cell.method).title] = points
    for title, sets in PUBLISHED.items():
        for name, known in sets.items():
            if name in out:
                out[name][title] = list(known)
    return out


def _without(results: Found) -> dict[str, float]:
    """Accuracy without any feature, by set."""
    return {cell.dataset: result.mean("without") or 0.0 for cell, result in _of(results, "peers").items()}


def _titles(points: dict[str, dict[str, Points]]) -> list[str]:
    return list(dict.fromkeys(title for at in points.values() for title in at))


def _peers(results: Found) -> Iterator[ResultTable]:
    points = peer_points(results)
    if not points:
        return
    rows: list[tuple[str, list[Entry | None]]] = []
    for title in _titles(points):
        shown = [" ".join(f"{a:.3f}@{f:.2f}" for f, a in points[name].get(title, [])) for name in points]
        rows.append((title, [_words(words) if words else None for words in shown]))
    notes = [
        "Every point of every curve, on test rows; nothing is chosen. A row's features in LightGBM are the distinct "
        "ones on its paths through all trees. Rows from DIME on were measured elsewhere with the same splits.",
        *_unfinished(results, "peers"),
    ]
    yield ResultTable(
        "peers", "Accuracy for each feature", [TITLES[s] for s in points], rows, notes, _POINT, "Accuracy @ features."
    )


def _areas(results: Found) -> Iterator[ResultTable]:
    points, without = peer_points(results), _without(results)
    if not points:
        return
    rows: list[tuple[str, list[Entry | None]]] = []
    for title in _titles(points):
        entries = [
            Entry(area(at[title], without[name]), None) if len(at.get(title, [])) > 1 else None
            for name, at in points.items()
        ]
        rows.append((title, list(entries)))
    notes = [
        "Mean accuracy over 1, 2, ..., 20 features: straight lines between the points of a curve, from the most "
        "frequent class at no feature, level after the last point. Few points "
        "are a disadvantage at the left end."
    ]
    title = "Area under accuracy against features"
    yield ResultTable(
        "areas", title, [TITLES[s] for s in points], rows, notes, "area", "Mean accuracy over 1 to 20 features."
    )


def _seconds(results: Found) -> Iterator[ResultTable]:
    found = _of(results, "peers")
    if not found:
        return
    sets = list(dict.fromkeys(cell.dataset for cell in found))
    at = {(cell.method, cell.dataset): result for cell, result in found.items()}
    rows: list[tuple[str, list[Entry | None]]] = []
    for method in _methods(found):
        entries = [_speed(at[method, name]) if (method, name) in at else None for name in sets]
        rows.append((method_of(method).title, list(entries)))
    notes = [
        "Seconds of the longest fit of a curve, mean over the splits (SequentialClassifier is fitted once for all "
        "prices), and microseconds for a decision when 2,000 rows are decided at once."
    ]
    title = "Seconds of a fit, microseconds of a decision"
    yield ResultTable("seconds", title, [TITLES[s] for s in sets], rows, notes, "s / µs", "Seconds / microseconds.")


def _speed(result: Result) -> Entry:
    parts = {r["part"] for r in result.records}
    longest = [max(r["training_seconds"] for r in result.records if r["part"] == part) for part in parts]
    return _words(f"{np.mean(longest):.2f} / {result.mean('decision_microseconds') or 0:.1f}")


def _budgets(results: Found) -> Iterator[ResultTable]:
    points, without = peer_points(results), _without(results)
    if not points:
        return
    rows: list[tuple[str, list[Entry | None]]] = []
    for name, at in points.items():
        for title, curve in at.items():
            if len(curve) > 1:
                accuracy = at_features(curve, BUDGETS, without[name])
                most = max(f for f, _ in curve)
                entries = [_words(f"{a:.3f} / {1 - a + _PRICE * min(b, most):.3f}") for a, b in zip(accuracy, BUDGETS)]
                rows.append((f"{TITLES[name]}, {title}", list(entries)))
    columns = ["1 feature", *(f"{b} features" for b in BUDGETS[1:])]
    notes = [
        "Accuracy / expected cost, a feature costing 0.01 and a mistake 1, read off the curves at an average number of "
        "features; after its last point a curve is level and asks no more."
    ]
    title = "Accuracy and expected cost against budget"
    yield ResultTable("budgets", title, columns, rows, notes, "accuracy / cost", "Accuracy / expected cost.")
