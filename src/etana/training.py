"""From a table on disk, whole or in parts, to a model file.

A file is read into memory. The parts of a folder are read block by block, twice, by this process or on Dask workers
(:mod:`etana.distributed`), so that neither the table nor a part has to fit into memory. A CSV column that reads as
numbers in some blocks and as text in others is text in all of them, as it would be in one file; that takes a third
reading.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from etana.adaptive.classifier import AdaptiveClassifier
from etana.classifiers import AcquiringClassifier, BinnedClassifier, ETANAClassifier, FETANAClassifier
from etana.costs import FeatureCosts, ResolvedCosts, resolve_feature_costs
from etana.errors import CostError, InputError
from etana.files import check_target
from etana.modelfile import save
from etana.sequential.classifier import SequentialClassifier
from etana.table import Table
from etana.tablefile import MISSING, Block, atomic_text, check_parts, list_parts, read_blocks, read_columns, to_table
from etana.threads import n_cores

__all__ = ["compare_file", "read_costs", "read_mistakes", "select_columns", "train"]


_CELLS = 2_000_000  # of a CSV part that are in memory at once
_NUMBERS = 20_000_000  # of a Parquet part
_LEAST = 10_000  # rows of a Parquet part; with fewer, merging costs more than reading
_ENGINES = ("auto", "memory", "dask")
_PATIENCE = "10s"  # for a scheduler to answer


def train(
    data: str,
    target: str,
    *,
    costs: str,
    mistakes: str | None,
    output: str,
    options: dict[str, Any],
    engine: str = "auto",
    scheduler: str | None = None,
) -> AcquiringClassifier:
    """Fit a classifier on a file or a folder and save it; everything that can be wrong is found before the fit."""
    check_target(output)
    _check_engine(engine, scheduler)
    lazy = engine == "dask" or scheduler is not None
    clf: AcquiringClassifier
    if lazy or Path(data).is_dir():
        clf = _train_on_parts(data, target, costs, mistakes, options, lazy, scheduler)
    else:
        clf = _train_on_file(data, target, costs, mistakes, options)
    save(clf, output)
    return clf


def _check_engine(engine: str, scheduler: str | None) -> None:
    if engine not in _ENGINES:
        raise InputError(f"engine is {engine!r}; it must be one of {', '.join(_ENGINES)}")
    if engine == "memory" and scheduler is not None:
        raise InputError(f"scheduler is {scheduler!r}, but engine 'memory' uses none; take --engine dask")


def _train_on_file(
    data: str, target: str, costs: str, mistakes: str | None, options: dict[str, Any]
) -> AcquiringClassifier:
    block, labels = _read_labelled(data, target)
    table = to_table(block, list(block.columns), data)
    y = _labels(labels)
    matrix = None if mistakes is None else read_mistakes(mistakes, np.unique(y))
    return _classifier(read_costs(costs), matrix, options).fit(table, y)


def _classifier(costs: Any, matrix: np.ndarray | None, options: dict[str, Any]) -> Any:
    chosen = dict(options)
    method = chosen.pop("method", "etana")
    if method not in ("etana", "adaptive", "sequential"):
        raise InputError(
            f"method is {method!r}; it must be 'etana' (a fixed order), 'adaptive' (one for each row) or 'sequential' "
            "(a fixed order, nearest neighbours)"
        )
    kind: Any = ETANAClassifier
    if method == "sequential":
        kind, chosen = SequentialClassifier, _without_bins(chosen)
    elif method == "adaptive":
        kind = AdaptiveClassifier
        chosen = {name: value for name, value in chosen.items() if name not in ("ordering", "solver")}
    elif chosen.get("solver") == "thresholds":
        kind = FETANAClassifier
        chosen.pop("solver")
    return kind(feature_costs=costs, misclassification_costs=matrix, **chosen)


def _without_bins(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a method that has no bins; one that would have no effect is refused."""
    usual = ETANAClassifier().get_params()
    for name, value in options.items():
        if name != "random_state" and value != usual[name]:
            raise InputError(
                f"{name} is {value!r}, which method 'sequential' has no use for: it has no bins; leave it out, or take "
                "another method"
            )
    return {"random_state": options["random_state"]}


@dataclass(frozen=True)
class _PartFile:
    """A file of a folder, as :mod:`etana.distributed` wants its parts."""

    path: str
    target: str
    names: list[str]
    text: frozenset[str]

    def blocks(self, labels: frozenset[str]) -> Iterator[tuple[Table, np.ndarray]]:
        """Tables and labels, the labels as text."""
        width = len(self.names) + 1
        rows = max(_CELLS // width, 1) if self.path.endswith(".csv") else max(_NUMBERS // width, _LEAST)
        for block in read_blocks(self.path, rows, self.names):
            y = block.columns.pop(self.target)
            _check_labels(y, block, self.target, self.path)
            table = to_table(block, self.names, self.path, text=self.text | labels)
            yield table, np.array([str(c).strip() for c in y], dtype=str)


def _train_on_parts(
    data: str,
    target: str,
    costs: str,
    mistakes: str | None,
    options: dict[str, Any],
    lazy: bool,
    scheduler: str | None,
) -> BinnedClassifier:
    if data == "-":
        raise InputError("standard input can be read only once; give a file or a folder of parts")
    paths = list_parts(data) if Path(data).is_dir() else [str(Path(data).resolve())]
    names = check_parts(paths)
    if target not in names:
        raise InputError(f"{paths[0]} has no column {target!r}; its columns are {', '.join(map(repr, names))}")
    names.remove(target)
    clf = _classifier(read_costs(costs), None if mistakes is None else read_mistakes(mistakes), options)
    if isinstance(clf, AdaptiveClassifier | SequentialClassifier):
        raise InputError(
            f"method {options['method']!r} needs all rows at once, not a folder of parts; join them into one file"
        )

    def rename(labels: np.ndarray) -> np.ndarray:
        classes = _labels(labels.tolist())
        if mistakes is not None:
            read_mistakes(mistakes, np.unique(classes))
        return classes

    from etana.distributed.blocks import Source
    from etana.distributed.fitting import fit_parts
    from etana.distributed.summary import MixedColumnsError

    def fit(text: list[str]) -> BinnedClassifier:
        parts = [_PartFile(path, target, names, frozenset(text)) for path in paths]
        return fit_parts(clf, Source(parts, lazy, len(names), names), rename=rename)

    with _cluster(scheduler, len(paths)) if lazy else contextlib.nullcontext():
        try:
            return fit([])
        except MixedColumnsError as error:
            return fit(error.columns)


@contextlib.contextmanager
def _cluster(scheduler: str | None, n_parts: int) -> Iterator[None]:
    """The cluster at an address, or processes on this machine, for as long as the work lasts."""
    from etana.distributed.trees import dask

    dask()
    from distributed import Client, LocalCluster

    if scheduler is None:
        workers = min(n_cores(), n_parts)
        local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
        with local, Client(local, set_as_default=False) as client, client.as_current():
            yield
        return
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r} ({error}); give the address that 'dask scheduler' prints"
        ) from None
    with client, client.as_current():
        yield


def _read_labelled(data: str, target: str) -> tuple[Block, list[Any]]:
    """A whole file, the column with the labels set apart."""
    block = read_columns(data)
    if target not in block.columns:
        raise InputError(f"{data} has no column {target!r}; its columns are {', '.join(map(repr, block.columns))}")
    labels = block.columns.pop(target)
    _check_labels(labels, block, target, data)
    return block, labels


def _check_labels(labels: list[Any], block: Block, target: str, path: str) -> None:
    for r, label in enumerate(labels):
        if label is None or (block.text and label in MISSING):
            raise InputError(
                f"{path}, line {block.first_line + r}: the label in column {target!r} is missing; "
                "give it, or leave the row out"
            )


def _labels(cells: list[Any]) -> np.ndarray:
    """Labels as integers if all of them are, else as text."""
    texts = [str(c).strip() for c in cells]
    try:
        numbers = [int(t) for t in texts]
    except ValueError:
        return np.array(texts)
    return np.array(numbers) if [str(n) for n in numbers] == texts else np.array(texts)


def select_columns(data: str, target: str, method: str, output: str | None = None) -> list[str]:
    """Names of the columns that a streaming selector keeps; writes them and the target to ``output``."""
    from etana import selection

    kinds = {name.lower(): getattr(selection, name) for name in selection.__all__}
    if method.replace("-", "").lower() not in kinds:
        raise InputError(
            f"method is {method!r}; it must be saola, osfs, fast-osfs, alpha-investing, ofs-density or ofs-a3m"
        )
    if output is not None and output != "-":
        check_target(output)
    block, labels = _read_labelled(data, target)
    names = list(block.columns)
    table = to_table(block, names, data)
    if table.categorical:
        raise InputError(
            f"{data}: column {names[table.categorical[0]]!r} holds text; the streaming selectors take numbers only"
        )
    X = np.asarray(table.block(slice(None)), dtype=np.float64)
    holes = np.argwhere(np.isnan(X))
    if holes.size:
        row, column = holes[0]
        raise InputError(
            f"{data}, line {block.first_line + row}: column {names[column]!r} has a missing value; "
            "the streaming selectors need complete rows: fill it or leave the row out"
        )
    selector = kinds[method.replace("-", "").lower()](verbose=True).fit(X, _labels(labels))
    kept = [names[k] for k in selector.selected_]
    if output is not None:
        with atomic_text(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*kept, target])
            writer.writerows(zip(*(block.columns[name] for name in kept), labels, strict=True))
    return kept


def compare_file(
    data: str,
    target: str,
    *,
    costs: str,
    folds: int,
    repeats: int,
    methods: list[str] | None,
    seed: int,
    page: str | None,
    table: str | None,
    console: Any,
) -> Any:
    """Compare all methods on a file, with a progress bar; writes a page and a CSV file if they are wanted."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from etana.experiments.compare import COMPARED, compare

    for path in (page, table):
        if path is not None and path != "-":
            check_target(path)
    block, labels = _read_labelled(data, target)
    names = list(block.columns)
    X = _as_array(to_table(block, names, data))
    prices = _by_position(resolve_feature_costs(read_costs(costs), len(names), names))
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=repeats * len(methods or COMPARED), completed=-1)
        comparison = compare(
            X, _labels(labels), feature_costs=prices, folds=folds, repeats=repeats, methods=methods, seed=seed,
            begin=lambda method, repeat: progress.update(task, advance=1, description=f"{method}, repeat {repeat + 1}"),
        )  # fmt: skip
    title = f"Methods compared on {Path(data).name}"
    for path, write in ((page, lambda: comparison.to_html(title)), (table, comparison.to_csv)):
        if path is not None:
            with atomic_text(path) as file:
                file.write(write())
    return comparison


def _as_array(table: Table) -> np.ndarray:
    """Numbers, or objects where a column holds text, so that rows can be taken."""
    texts = set(table.categorical)
    if not texts:
        return np.asarray(table.block(slice(None)), dtype=np.float64)
    out = np.empty((table.n_rows, table.n_features), dtype=object)
    for k in range(table.n_features):
        if k not in texts:
            out[:, k] = table.block([k])[:, 0]
            continue
        levels = table.levels(k)
        codes = table.block([k], {k: levels})[:, 0]
        out[:, k] = [None if np.isnan(code) else levels[int(code)] for code in codes]
    return out


def _by_position(prices: ResolvedCosts) -> FeatureCosts:
    """Prices for an array, which has no names."""
    if (prices.group < 0).all():
        return FeatureCosts(prices.full)
    groups = [None if group < 0 else int(group) for group in prices.group]
    return FeatureCosts(prices.full, groups=groups, discounted=prices.discounted)


def read_costs(given: str) -> Any:
    """One price for all, or the prices in a CSV file by feature name, with groups if there are any."""
    try:
        return float(given)
    except ValueError:
        pass
    block = read_columns(given)
    for column in ("feature", "cost"):
        if column not in block.columns:
            raise CostError(
                f"{given} has no column {column!r}; it must have the columns feature and cost, and may have group and "
                "discounted"
            )
    names = [str(n).strip() for n in block.columns["feature"]]
    prices = dict(zip(names, to_table(block, ["cost"], given, {"cost"}).block([0])[:, 0], strict=True))
    if "group" not in block.columns:
        return {name: float(price) for name, price in prices.items()}
    labels = zip(names, block.columns["group"], strict=True)
    groups = {name: str(group).strip() for name, group in labels if group is not None and group not in MISSING}
    lower = None
    if "discounted" in block.columns:
        values = to_table(block, ["discounted"], given, {"discounted"}).block([0])[:, 0]
        lower = {n: float(v) for n, v in zip(names, values, strict=True) if not np.isnan(v)}
    return FeatureCosts({n: float(p) for n, p in prices.items()}, groups=groups, discounted=lower)


def read_mistakes(path: str, classes: np.ndarray | None = None) -> np.ndarray:
    """The cost of each mistake: a column of true classes first, then one column per decided class, by name.

    Rows and columns come in the order of ``classes``; if they are not known yet, in that of the file's labels, sorted.
    """
    block = read_columns(path)
    names = list(block.columns)
    rows = [str(c).strip() for c in block.columns[names[0]]]
    wanted = [str(c) for c in (np.unique(_labels(rows)) if classes is None else classes)]
    if sorted(rows) != sorted(wanted) or sorted(names[1:]) != sorted(wanted):
        raise CostError(
            f"{path} has rows {rows} and columns {names[1:]}; the first column must hold the true classes {wanted}, "
            "and the others must be named after the decided ones"
        )
    values = to_table(block, wanted, path, set(wanted)).block(slice(None))
    return values[[rows.index(c) for c in wanted]]
